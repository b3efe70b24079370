use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use TestArena;
use Test::More;

use Shared::Arena;

# Buckets are filled up and given back while many processes spend from them: each time gives the key its limit once more,
# and other keys have nothing of it. Nothing refills by itself.

my $window = 315_576_000;
sub limiter { my (%option) = @_; return Shared::Arena->create(size => 128 * 1024)->rate('l', window => $window, %option) }

my @others = map {"other $_"} 1 .. 40;

# One process fills up or gives back the key `rounds` times, whenever `due` says so, while others spend from it and from
# keys of their own. Returns how often it did, and how often each key was allowed.
sub contest {
    my ($rate, $rounds, $due, @methods) = @_;
    my $board = Shared::Arena->create->map('board', slots => 4);
    my ($done, %allowed) = (0);
    my ($first, @answers) = in_children(5, sub {
        my ($number) = @_;
        if ($number == 0) {
            my $done = 0;
            for my $round (1 .. $rounds) {
                1 until $due->($rate);
                my $method = $methods[$round % @methods];
                $done += $rate->$method('k');
            }
            $board->incr('over');
            return $done;
        }
        my %yes = (k => 0);
        my $n = $number;
        until ($board->counter('over')) {
            my $before = $yes{k};
            for (1 .. 20) { $yes{k}++ if $rate->allow('k') }
            select undef, undef, undef, 0.0001 if $yes{k} == $before;    # so that there is something again
            my $other = $others[$n++ % @others];
            $yes{$other}++ if $rate->allow($other);
        }
        # What is left when all is over belongs to the sum.
        for my $key ('k', @others) { while ($rate->allow($key)) { $yes{$key}++ } }
        return %yes;
    });
    for my $answer (@answers) {
        my %yes = @$answer;
        $allowed{$_} += $yes{$_} for keys %yes;
    }
    return ($first->[0], \%allowed);
}

sub others_ok {
    my ($rate, $limit, $allowed) = @_;
    local $Test::Builder::Level = $Test::Builder::Level + 1;
    is_deeply [grep { $allowed->{$_} != $limit } @others], [], "the other keys are allowed $limit each, not one more or less";
    my %stats = $rate->stats;
    my $sum   = 0;
    $sum += $_ for values %$allowed;
    is_deeply [@stats{qw(keys allowed evicted contended)}], [1 + @others, $sum, 0, 0], 'every request is counted, and every key is there once';
    return;
}

for my $methods (['reset'], ['forget'], ['reset', 'forget']) {
    my $what = join ' and ', @$methods;
    for my $slots (64, 4096) {
        subtest "$what of a key that is drained, $slots slots" => sub {
            my ($limit, $rounds) = (30, 300);
            my $rate = limiter(limit => $limit, slots => $slots);
            my ($done, $allowed) = contest($rate, $rounds, sub { $_[0]->retry_after('k') > 0 }, @$methods);
            is $done, $rounds, 'finds its bucket each time';
            is $allowed->{k}, $limit * ($rounds + 1), 'gives it exactly its limit each time';
            others_ok $rate, $limit, $allowed;
        };
    }

    subtest "$what at any moment" => sub {
        my ($limit, $rounds) = (30, 1000);
        my $rate = limiter(limit => $limit, slots => 64);
        my ($done, $allowed) = contest($rate, $rounds, sub { $_[0]->remaining('k') < rand $limit }, @$methods);
        cmp_ok $allowed->{k}, '<=', $limit * ($done + 1), "gives it at most its limit, $done times";
        cmp_ok $allowed->{k}, '>=', $done, 'and something each time, since it had spent';
        is $done, $rounds, 'and so finds its bucket';
        others_ok $rate, $limit, $allowed;
    };
}

subtest 'all of them, by all processes, on keys that come and go' => sub {
    # Each call that finds a bucket may give its key the limit once more, and only then.
    my ($limit, @keys) = (5, map {"key $_"} 1 .. 50);
    my $rate = limiter(limit => $limit, slots => 64);
    my (%allowed, %filled);
    for my $answer (in_children(6, sub {
        my ($number) = @_;
        srand $number;
        my (%allowed, %filled);
        for my $n (1 .. 20_000) {
            my $key    = $keys[rand @keys];
            my $method = (('allow') x 8, 'reset', 'forget')[rand 10];
            my $answer = $rate->$method($key);
            ($method eq 'allow' ? \%allowed : \%filled)->{$key} += $answer;
        }
        return (\%allowed, \%filled);
    })) {
        $allowed{$_} += $answer->[0]{$_} for keys %{ $answer->[0] };
        $filled{$_}  += $answer->[1]{$_} for keys %{ $answer->[1] };
    }
    is_deeply [grep { $allowed{$_} > $limit * ($filled{$_} + 1) } @keys], [], 'no key is allowed more than its limit for each';
    my %stats = $rate->stats;
    is_deeply [@stats{qw(evicted contended)}], [0, 0], 'fifty keys in 64 slots evict none';
    my $sum = 0;
    $sum += $_ for values %allowed;
    is $stats{allowed}, $sum, 'and every request is counted';
    $rate->forget($_) for @keys;
    is $rate->stats->{keys}, 0, 'each key was there once';
    is_deeply [grep { $rate->forget($_) } @keys], [], 'and has no second bucket';
};

done_testing;
