use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib", "$FindBin::Bin/../t/lib";
use TestArena;
use TestEvidence;
use TestTorture;
use Test::More;

use Shared::Arena;

# t/50-crash-torture.t with more kills: each round from other random moments and with other calls.

my $kills = {settings(kills => 300)}->{kills};

watchdog(300 + $kills);

my $seed = $ENV{ARENA_TEST_SEED} || time;

my %slots = ('a slot for every key' => undef, 'fewer slots than keys' => 48);
for my $name (sort keys %slots) {
    my $torture  = TestTorture->new(slots => $slots{$name}, seed => $seed);
    my @mistakes = $torture->run($kills);
    is_deeply \@mistakes, [], "$name: old or new, whole, counted right" or diag "ARENA_TEST_SEED=$seed";
    cmp_ok $torture->kills, '>=', $kills, 'so many kills' if !@mistakes;
    is_deeply [$torture->missed_points], [], 'at every named point' if !@mistakes;
    note $torture->summary;
}

shown(2 * $kills . ' deaths in maps: each key old or new, and whole, and all counted right');

done_testing;
