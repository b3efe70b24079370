use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/../t/lib";
use TestArena;
use TestTorture;
use Test::More;

use Shared::Arena;

# t/50-crash-torture.t with two thousand kills: each round from other random moments and with other calls.

watchdog(900);

my $seed = $ENV{ARENA_TEST_SEED} || time;

my %slots = ('a slot for every key' => undef, 'fewer slots than keys' => 48);
for my $name (sort keys %slots) {
    my $torture  = TestTorture->new(slots => $slots{$name}, seed => $seed);
    my @mistakes = $torture->run(1010);
    is_deeply \@mistakes, [], "$name: old or new, whole, counted right" or diag "ARENA_TEST_SEED=$seed";
    cmp_ok $torture->kills, '>=', 1010, 'so many kills' if !@mistakes;
    is_deeply [$torture->missed_points], [], 'at every named point' if !@mistakes;
    note $torture->summary;
}

done_testing;
