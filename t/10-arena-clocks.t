use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use TestArena;
use Test::More;

use Shared::Arena;

# What becomes of deadlines and limits when the machine sleeps, or somebody sets its clock. Deadlines go by the wall
# clock, limiters by the monotonic one, which stands still while the machine is suspended and which nobody can set.

use constant { WALL => 1_700_000_000, UP => 5000 };

my $arena = Shared::Arena->create(size => 64 * 1024);

sub at { my ($wall, $up) = @_; set_clock(WALL + $wall, UP + $up); return }

# A limiter that is spent and an entry with a minute to live, both new.
sub begin {
    our $count++;
    at(0, 0);
    my $rate = $arena->rate("l $count", limit => 10, window => 60, slots => 64);
    my $map  = $arena->map("m $count", slots => 16);
    $rate->allow('k', 10) or die 'not allowed';
    $map->store('k', 'v', ttl => 60) == 1 or die 'not stored';
    $map->incr('n', 1, ttl => 60);
    return ($rate, $map);
}

subtest 'a machine that is suspended for an hour' => sub {
    my ($rate, $map) = begin();
    at(3600, 0);
    ok !$map->exists('k'), 'a deadline that has passed meanwhile has passed';
    is $map->incr('n', 1, ttl => 60), 1, 'a counter begins again';
    ok !$rate->allow('k'), 'a bucket is as empty as before';
    is $rate->retry_after('k'), 6, 'for as long as if no time had passed';
    at(3606, 6);
    ok $rate->allow('k'), 'and refills while the machine runs';
    ok !$rate->allow('k'), 'by what is due for that';
};

subtest 'a clock that is set forward' => sub {
    my ($rate, $map) = begin();
    at(61, 1);
    ok !$map->exists('k'), 'ends entries early';
    ok !$rate->allow('k'), 'and gives no limiter a request';
    is $rate->retry_after('k'), 5, 'sooner';
};

subtest 'a clock that is set back' => sub {
    my ($rate, $map) = begin();
    at(-3600, 59);
    ok $map->exists('k'), 'lets entries live';
    at(-3600, 3659);
    ok $map->exists('k'), 'longer by so much';
    is $map->incr('n', 1, ttl => 60), 2, 'counters too, which goes on with their window';
    at(60, 3720);
    ok !$map->exists('k'), 'until it is past the deadline again';
    is $rate->remaining('k'), 10, 'while a limiter has long refilled';
};

subtest 'an entry that was stored while the clock was wrong' => sub {
    my (undef, $map) = begin();
    at(86_400, 0);
    $map->store('early', 1, ttl => 60);
    at(1, 1);
    ok $map->exists('early'), 'lives on';
    at(86_459, 86_459);
    ok $map->exists('early'), 'to the moment that it was given';
    at(86_460, 86_460);
    ok !$map->exists('early'), 'and no longer';
};

real_clock();
done_testing;
