use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use TestArena;
use TestBuckets;
use Test::More;

use Shared::Arena;

# More keys than slots: somebody gets more than he should, nobody less, and it is counted. See xt/rate-flood.t for more.

my $slots = 4096;
sub limiter { my (%option) = @_; return Shared::Arena->create(size => 256 * 1024, regions => 1)->rate('l', slots => $slots, %option) }

subtest 'a hundred thousand random keys' => sub {
    is_deeply [TestBuckets::flood(seed => 1, keys => 100_000, slots => $slots)], [],
        'no key is refused what its bucket holds, and who has spent most has exactly his rate';
};

subtest 'each new key beyond a full table evicts one' => sub {
    # Nothing refills, and a key's only request leaves its bucket empty: whoever is allowed has begun a bucket.
    my $rate = limiter(limit => 1, window => 3e8);
    at_tick(1000);
    srand 2;
    my @wrong;
    my $allowed = 0;
    for my $n (1 .. 50_000) {
        $allowed += $rate->allow('key ' . int rand 20_000);
        next if $n % 5000;
        my %stats = $rate->stats;
        push @wrong, "$stats{allowed} counted, but $allowed allowed" if $stats{allowed} != $allowed;
        push @wrong, "$allowed allowed, $stats{keys} there, $stats{evicted} evicted" if $stats{keys} + $stats{evicted} != $allowed;
    }
    is_deeply \@wrong, [], 'as many as were allowed are there or were evicted';
    my %stats = $rate->stats;
    is $stats{keys}, $slots, 'and every slot has its key';
    my $before = $stats{evicted};
    $rate->allow("another $_") for 1 .. 1000;
    is $rate->stats->{evicted}, $before + 1000, 'a thousand more evict a thousand';
    is $rate->stats->{keys}, $slots, 'of a table that stays full';
};

subtest 'who has spent more stays' => sub {
    my $rate = limiter(limit => 10, window => 3e8);
    at_tick(1000);
    # So few that no group of slots is full of them alone.
    my @heavy = map {"heavy $_"} 1 .. 1500;
    $rate->allow($_, 10) for @heavy;
    $rate->allow("light $_", 1 + $_ % 5) for 1 .. 20_000;
    is $rate->stats->{keys}, $slots, 'when the table is full';
    is scalar(grep { $rate->allow($_) } @heavy), 0, 'none of those who have spent all has been given more';
    $rate->forget($_) for @heavy;
    is $rate->stats->{keys}, $slots - @heavy, 'each of them still has its slot, once';
};

subtest 'when the buckets have refilled the table is empty' => sub {
    my $rate = limiter(limit => 10, window => 10);
    at_tick(1000);
    $rate->allow("flood $_") for 1 .. 20_000;
    at_tick(1000 + TICKS);
    is $rate->stats->{keys}, 0, 'no key is left';
    my $before = $rate->stats->{evicted};
    $rate->allow("new $_", 5) for 1 .. 2000;
    is $rate->stats->{evicted}, $before, 'and two thousand others evict none';
    is $rate->stats->{keys}, 2000, 'and are there';
};

real_clock();
done_testing;
