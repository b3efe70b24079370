use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use TestArena;
use Test::More;

use Shared::Arena;

# The table of a limiter: full buckets give their slots back by themselves, and one that is too small never refuses a new key.

sub limiter { my (%option) = @_; return Shared::Arena->create(size => 1024 * 1024, regions => 1)->rate('l', %option) }

subtest 'buckets that are full again are no keys' => sub {
    my $rate = limiter(limit => 2, window => 10, slots => 64);
    set_clock(undef, 100);
    $rate->allow("key $_") for 1 .. 16;
    is $rate->stats->{keys}, 16, 'sixteen keys have spent';
    set_clock(undef, 110);
    $rate->allow("key $_", 2) for 1 .. 5;
    set_clock(undef, 115.5);
    my %stats = $rate->stats;
    is $stats{keys}, 5, 'those that are still refilling';
    set_clock(undef, 200);
    is $rate->stats->{keys}, 0, 'none, later';
};

subtest 'the table drains itself' => sub {
    my $rate = limiter(limit => 1, window => 1, slots => 64);
    for my $round (0 .. 49) {
        set_clock(undef, 1000 + $round * 2);
        $rate->allow("round $round key $_") for 1 .. 64;
    }
    my %stats = $rate->stats;
    is_deeply [@stats{qw(allowed denied evicted)}], [3200, 0, 0], 'three thousand keys in 64 slots, 64 at a time, and none was evicted';
};

subtest 'a table that is too small' => sub {
    my $rate = limiter(limit => 5, window => 1e6, slots => 64);
    set_clock(undef, 100);
    my $refused = grep { !$rate->allow("new $_") } 1 .. 2000;
    is $refused, 0, 'never refuses a new key';
    my %stats = $rate->stats;
    is $stats{evicted}, 2000 - 64, 'but takes over the buckets of others, and counts it';
    is $stats{keys}, 64, 'as many keys as slots';
    is $stats{allowed}, 2000, 'every request is counted';
    # Whoever lost a bucket has more, never fewer.
    my @poorer = grep { $rate->remaining("new $_") < 4 - 1e-6 } 1 .. 2000;
    is_deeply \@poorer, [], 'nobody has less than what is left of his own';
};

subtest 'different keys never share a bucket' => sub {
    my $rate = limiter(limit => 1, window => 1e6, slots => 16_384);
    set_clock(undef, 100);
    my @keys = ((map {"user:$_"} 1 .. 1000), (map { sprintf '10.0.%d.%d', $_ / 250, $_ % 250 } 0 .. 999), (map { pack 'Q', $_ << 32 } 1 .. 1000));
    is scalar(grep { $rate->allow($_) } @keys), 3000, 'three thousand keys each get their request';
    is scalar(grep { $rate->allow($_) } @keys), 0, 'and no second';
    my %stats = $rate->stats;
    is_deeply [@stats{qw(keys allowed denied evicted contended)}], [3000, 3000, 3000, 0, 0], 'as the figures say';
};

subtest 'forget makes room' => sub {
    my $rate = limiter(limit => 1, window => 1e6, slots => 64);
    set_clock(undef, 100);
    for my $round (1 .. 200) {
        $rate->allow("round $round key $_") for 1 .. 64;
        $rate->forget("round $round key $_") for 1 .. 64;
    }
    my %stats = $rate->stats;
    is_deeply [@stats{qw(keys allowed evicted)}], [0, 12_800, 0], 'twelve thousand keys came and went without an eviction';
};

real_clock();
done_testing;
