use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use TestArena;
use TestFailpoint;
use POSIX ();
use Test::More;

use Shared::Arena;

# Killed, or stopped, at each point of a check: when its slot is claimed, when it is about to become a bucket, when a
# request has been paid. Needs a core that has them: perl Makefile.PL FAILPOINTS=1.

plan skip_all => 'this build has no failpoints' unless Shared::Arena::_failpoints();

my @beginning = ('bucket.claimed', 'bucket.settled');    # of a bucket that is not there yet
my @points    = (@beginning, 'bucket.spent');
my $limit     = 10;

sub limiter { return Shared::Arena->create(size => 16 * 1024)->rate('l', limit => $limit, window => 1000, slots => 64) }

# A child that is to be killed or stopped at the point while it asks; it ends with status 0 if it was allowed.
sub asks { my ($point, $action, $ask) = @_; return child($point, $action, sub { POSIX::_exit($ask->() ? 0 : 1) }) }

# Lets a stopped child go on. Whether it was allowed what it had asked for.
sub finish {
    my ($pid) = @_;
    my $status = resume($pid);
    return defined $status ? $status == 0 : !!fail('the child has not stopped');
}

sub drained { my ($rate, $key) = @_; my $allowed = 0; $allowed++ while $allowed < 2 * $limit && $rate->allow($key); return $allowed }

set_clock(undef, 1000);

subtest 'each point is there and is met' => sub {
    my %there = map { $_ => 1 } Shared::Arena::_failpoint_names();
    is_deeply [grep {/\Abucket/} sort keys %there], [sort @points], 'these and no others';
    for my $point (@points) {
        my $rate = limiter();
        $rate->allow('k') if $point eq 'bucket.spent';
        is +(asks($point, 'kill', sub { $rate->allow('k') }))[1], 'killed', $point;
    }
};

subtest 'killed while it evicts' => sub {
    my $rate = limiter();
    $rate->allow("old $_") for 1 .. 64;
    my (undef, $how) = child('bucket.claimed', 'kill', sub { $rate->allow('new') });
    is $how, 'killed', 'at its claim of a slot that was in use';
    my %stats = $rate->stats;
    is_deeply [@stats{qw(keys evicted)}], [63, 1], 'the bucket that it took is told of';
};

subtest 'killed while a bucket begins' => sub {
    for my $point (@beginning) {
        my $rate = limiter();
        asks($point, 'kill', sub { $rate->allow('k', 3) });
        is $rate->stats->{keys}, 0, "at $point: there is no bucket";
        is_deeply { $rate->headers('k') }, { 'RateLimit-Limit' => $limit, 'RateLimit-Remaining' => $limit, 'RateLimit-Reset' => 0 }, 'its key is a new one';
        is $rate->reset('k') + $rate->forget('k'), 0, 'with nothing to fill up or give back';
        is drained($rate, 'k'), $limit, 'it is allowed its limit, no more';
        my %stats = $rate->stats;
        is_deeply [@stats{qw(keys evicted contended)}], [1, 0, 0], 'out of one bucket';
        is $rate->forget('k') . $rate->forget('k'), '10', 'which is there once';
    }
};

subtest 'killed after it has paid' => sub {
    my $rate = limiter();
    $rate->allow('k', 2);
    asks('bucket.spent', 'kill', sub { $rate->allow('k', 3) });
    is $rate->headers('k')->{'RateLimit-Remaining'}, $limit - 5, 'what it has paid is gone';
    is drained($rate, 'k'), $limit - 5, 'the rest is there';
    is $rate->stats->{allowed}, 1 + $limit - 5, 'and only its count is missing';
};

subtest 'a table full of what the dead have begun' => sub {
    for my $point (@beginning) {
        my $rate = limiter();
        my $deaths = grep { my $n = $_; (asks($point, 'kill', sub { $rate->allow("dead $n") }))[1] eq 'killed' } 1 .. 64;
        is $deaths, 64, "sixty-four killed at $point";
        is_deeply [grep { drained($rate, "new $_") != $limit } 1 .. 64], [], 'leave room for 64 others, and whole buckets';
        my %stats = $rate->stats;
        is_deeply [@stats{qw(keys evicted)}], [64, 0], 'none of which is evicted';
        $rate->allow('one more');
        is $rate->stats->{evicted}, 1, 'as the next one is';
    }
};

subtest 'the dead begin the keys that others ask for' => sub {
    # One key, begun and left by many, beside live ones.
    for my $point (@beginning) {
        my $rate = limiter();
        $rate->allow("live $_", 5) for 1 .. 63;
        for my $death (1 .. 30) {
            asks($point, 'kill', sub { $rate->allow('k') });
            $rate->forget('k') if $death % 3 == 0;
        }
        is drained($rate, 'k'), $limit, "thirty deaths at $point take nothing from it";
        my %stats = $rate->stats;
        is_deeply [@stats{qw(keys evicted)}], [64, 0], 'nor from others';
        is_deeply [grep { $rate->headers("live $_")->{'RateLimit-Remaining'} != $limit - 5 } 1 .. 63], [], 'who have what they had';
    }
};

subtest 'stopped while a bucket begins, and others ask for its key' => sub {
    for my $point (@beginning) {
        my $rate = limiter();
        my ($pid, $how) = asks($point, 'stop', sub { $rate->allow('k') });
        is $how, 'stopped', "at $point";
        is $rate->headers('k')->{'RateLimit-Remaining'}, $limit, 'it has spent nothing yet';
        is drained($rate, 'k'), $limit, 'others do not wait for it, and get the limit';
        ok !finish($pid), 'when it goes on, it is refused';
        my %stats = $rate->stats;
        is_deeply [@stats{qw(keys allowed denied evicted contended)}], [1, $limit, 2, 0, 0], 'and all is counted';

        ($pid) = asks($point, 'stop', sub { $rate->allow('other') });
        $rate->allow('other') for 1 .. 4;
        ok finish($pid), 'when something is left, it gets that';
        is drained($rate, 'other'), $limit - 5, 'and pays for it';
    }
};

subtest 'stopped while a bucket begins, and others take its slot' => sub {
    for my $point (@beginning) {
        my $rate = limiter();
        my ($pid) = asks($point, 'stop', sub { $rate->allow('k', 3) });
        $rate->allow("other $_", 5) for 1 .. 64;
        my %stats = $rate->stats;
        is_deeply [@stats{qw(keys evicted)}], [64, 0], "at $point: there is room for 64 others";
        ok finish($pid), 'when it goes on, it is allowed';
        %stats = $rate->stats;
        is_deeply [@stats{qw(keys evicted)}], [64, 1], 'in the place of one of them';
        is $rate->headers('k')->{'RateLimit-Remaining'}, $limit - 3, 'and pays, once';
    }
};

subtest 'stopped while a bucket begins, and others give the key back' => sub {
    for my $point (@beginning) {
        my $rate = limiter();
        my ($pid) = asks($point, 'stop', sub { $rate->allow('k', 3) });
        $rate->allow('k', 5);
        is $rate->forget('k'), 1, "at $point: a bucket that another has begun is given back";
        ok finish($pid), 'when it goes on, it is allowed';
        is $rate->headers('k')->{'RateLimit-Remaining'}, $limit - 3, 'and pays into a new one';
        is $rate->stats->{keys}, 1, 'of which there is one';
    }
};

subtest 'two stopped while they begin one key' => sub {
    # The second finds the claim of the first, and goes on with that one.
    for my $first (@beginning) {
        for my $order ([0, 1], [1, 0]) {
            my $rate = limiter();
            my @pids = map { my $point = $_; (asks($point, 'stop', sub { $rate->allow('k', 3) }))[0] } $first, 'bucket.settled';
            is scalar(grep { finish($pids[$_]) } @$order), 2, "at $first and after it: both are allowed";
            is $rate->headers('k')->{'RateLimit-Remaining'}, $limit - 6, 'and both have paid';
            is $rate->forget('k') . $rate->forget('k'), '10', 'out of one bucket';
            my %stats = $rate->stats;
            is_deeply [@stats{qw(keys allowed evicted contended)}], [0, 2, 0, 0], 'and nothing else is left';
        }
    }
};

subtest 'stopped by a clock that is behind' => sub {
    # By the clock of the one, a slot is free that by the other's is not: they begin one key in two places.
    for my $point (@beginning) {
        my $rate = limiter();
        $rate->allow("old $_", 1) for 1 .. 60;
        my ($pid) = asks($point, 'stop', sub { set_clock(undef, 1000 + 150); $rate->allow('k', $limit) });
        is $rate->allow('k', $limit), 1, "at $point: whoever is first is allowed";
        ok !finish($pid), 'and not the other';
        is $rate->forget('k') . $rate->forget('k'), '10', 'and there is one bucket';
    }
};

real_clock();
done_testing;
