use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use TestArena;
use TestTorture;
use Test::More;

use Shared::Arena;

# Workers that store, overwrite, delete, count and set deadlines are killed, at random and at every named point. Every
# key is then at its old or its new value, what was acknowledged is there, nobody waits for the dead, no buffer is lost,
# and the statistics are those of a recount.

my $seed = $ENV{ARENA_TEST_SEED} || 1;

my %slots = ('a slot for every key' => undef, 'fewer slots than keys' => 48);
for my $name (sort keys %slots) {
    subtest $name => sub {
        my $torture  = TestTorture->new(slots => $slots{$name}, seed => $seed);
        my @mistakes = $torture->run(60);
        is_deeply \@mistakes, [], 'old or new, whole, counted right';
        cmp_ok $torture->kills, '>=', 60, 'so many kills' if !@mistakes;
        is_deeply [$torture->missed_points], [], 'one at least at each named point' if !@mistakes;
        note $torture->summary;
    };
}

done_testing;
