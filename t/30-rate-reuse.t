use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use TestArena;
use TestBuckets;
use Test::More;

use Shared::Arena;

# A table takes as many keys as it has slots. Room is made by buckets that have refilled, before any other is touched;
# then by the one that has spent least.

sub limiter { my (%option) = @_; return Shared::Arena->create(size => 4096, regions => 1)->rate('l', %option) }

subtest 'a table of 64 slots holds any 64 keys' => sub {
    my @wrong;
    for my $round (1 .. 200) {
        my $rate = limiter(limit => 2, window => 1000, slots => 64);
        at_tick(1000);
        $rate->allow("$round $_") for 1 .. 64;
        my %stats = $rate->stats;
        push @wrong, "round $round: $stats{evicted} evicted" if $stats{evicted};
        push @wrong, "round $round: $stats{keys} keys" if $stats{keys} != 64;
        push @wrong, "round $round: a bucket was lost" if grep { $rate->remaining("$round $_") != 1 } 1 .. 64;
    }
    is_deeply \@wrong, [], 'two hundred times, in as many arenas';
};

subtest 'the 65th takes the place of the least spent' => sub {
    my @wrong;
    for my $round (1 .. 200) {
        srand $round;
        my $rate = limiter(limit => 1000, window => 100_000, slots => 64);
        at_tick(1000);
        my $poorest = 1 + int rand 64;
        $rate->allow("$round $_", $_ == $poorest ? 100 : 101 + rand 800) for 1 .. 64;
        $rate->allow("$round new", 200);
        push @wrong, "round $round: not the one" if $rate->remaining("$round $poorest") != 1000;
        push @wrong, "round $round: others too"  if grep { $_ != $poorest && $rate->remaining("$round $_") > 900 } 1 .. 64;
        push @wrong, "round $round: no bucket for the new one" if $rate->remaining("$round new") != 800;
        push @wrong, "round $round: a wrong count" if $rate->stats->{evicted} != 1 || $rate->stats->{keys} != 64;
    }
    is_deeply \@wrong, [], 'wherever that lies';
};

subtest 'one refilled bucket among 63' => sub {
    my @wrong;
    for my $round (1 .. 200) {
        srand $round;
        my $rate = limiter(limit => 10, window => 10, slots => 64);
        at_tick(1000);
        my $refilled = 1 + int rand 64;
        $rate->allow("$round $_", $_ == $refilled ? 1 : 2 + int rand 9) for 1 .. 64;
        at_tick(1000 + TICKS);
        $rate->allow("$round new", 10);
        my %stats = $rate->stats;
        push @wrong, "round $round: $stats{evicted} evicted, $stats{keys} keys" if $stats{evicted} || $stats{keys} != 64;
        at_tick(1000 + 2 * TICKS - 1);    # just before the next ones have refilled
        $rate->allow("$round next", 10);
        push @wrong, "round $round: none was evicted" if $rate->stats->{evicted} != 1;
    }
    is_deeply \@wrong, [], 'is the one whose slot is taken';
};

subtest 'after any history' => sub {
    my (@wrong, %seen);
    for my $seed (1 .. 25) {
        my ($seen, $wrong) = TestBuckets::history($seed);
        $seen{$_} += $seen->{$_} for keys %$seen;
        push @wrong, "seed $seed, $wrong" if defined $wrong;
    }
    is_deeply \@wrong, [], 'a new key evicts only if all 64 slots are live, and then the least spent one';
    cmp_ok $seen{evictions}, '>', 500, "$seen{evictions} evictions";
    cmp_ok $seen{reuses}, '>', 1000, "$seen{reuses} new keys without one";
};

real_clock();
done_testing;
