use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use TestArena;
use TestModel;
use Test::More;

use Shared::Arena;

# Random calls of every kind beside a plain hash, by processes in turn: every answer, and the statistics after each call.

my $seed  = $ENV{ARENA_TEST_SEED} || 1;
my $calls = 10_000;

# Slots, keys, the longest time to live in milliseconds, processes.
my @rounds = (
    [1, 3, 40, 2], [2, 2, 40, 3], [3, 8, 60, 2], [5, 4, 60, 3], [8, 20, 100, 2], [16, 12, 200, 4],
    [16, 24, 0, 2], [50, 80, 400, 3], [100, 150, 800, 2], [200, 250, 2000, 3],
);

for my $round (@rounds) {
    my ($slots, $names, $longest_ttl, $crew) = @$round;
    my $map  = Shared::Arena->create->map('m', slots => $slots, slot_size => 96);
    my @ring = map { pipe my $out, my $in or die "pipe: $!"; +{ out => $out, in => $in } } 1 .. $crew;
    my %shape = (slots => $slots, names => $names, longest_ttl => $longest_ttl, max_pair => $map->max_pair);
    my @wrong = map {@$_} in_children($crew, sub {
        my ($number) = @_;
        my %part = (crew => $crew, number => $number, from => $ring[$number]{out}, to => $ring[($number + 1) % $crew]{in});
        return TestModel->new(%shape, seed => $seed)->take_part($map, calls => $calls, %part);
    });
    is_deeply \@wrong, [], "$calls calls by $crew processes on $names keys in $slots slots, seed $seed";
    intact_ok $map, 'and the map is whole', lapsing => 1;
    $seed++;
}

done_testing;
