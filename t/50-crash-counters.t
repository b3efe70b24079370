use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use TestArena;
use Test::More;

use Shared::Arena;

# Children that store, count and delete on a few keys are killed one after another. Afterwards every call returns, and
# each counter lies between the increments that were acknowledged and those plus one for each kill.

my $workers = 8;
my $kills   = $ENV{ARENA_TEST_KILLS} || 150;

my $arena = Shared::Arena->create(size => 1 << 20);
my $map   = $arena->map('m', slots => 32, slot_size => 4096);
# Acknowledged increments: a number for each worker and counter, written by that worker alone.
$arena->region('acknowledged', size => $workers * 4 * 8);

sub work {
    my ($number) = @_;
    my @done = unpack 'Q4', $arena->peek('acknowledged', $number * 32, 32);
    for (my $n = $$;; $n++) {
        my $which = $n % 4;
        $map->store("key $which", (qw(A B))[$n / 4 % 2] x 4000);
        $map->incr("counter $which");
        $done[$which]++;
        $arena->poke('acknowledged', $number * 32 + $which * 8, pack 'Q', $done[$which]);
        $map->delete("key $which") if $n % 3 == 0;
    }
}

my @pids = map { my $number = $_; spawn(sub { work($number) }, 100) } 0 .. $workers - 1;
my ($torn, $reads) = (0, 0);
for my $kill (1 .. $kills) {
    my $victim = int rand $workers;
    my $until  = 20;
    while ($until--) {
        select undef, undef, undef, 0.0002;
        for my $which (0 .. 3) {
            my $value = $map->fetch("key $which");
            next if !defined $value;
            $reads++;
            $torn++ if $value !~ /\A(?:A{4000}|B{4000})\z/;
        }
    }
    kill KILL => $pids[$victim];
    reap($pids[$victim]);
    $pids[$victim] = spawn(sub { work($victim) }, 100);
}
kill KILL => @pids;
reap($_) for @pids;
$kills += $workers;

is $torn, 0, "$reads reads saw all A, all B or nothing";

my @verdict = in_child {
    my @answers;
    for my $which (0 .. 3) {
        push @answers, $map->store("key $which", 'last'), scalar $map->fetch("key $which");
        $map->incr("counter $which", 0);
    }
    return @answers;
} patience => 10;
is_deeply \@verdict, [(1, 'last') x 4], 'every call returns at once';

for my $which (0 .. 3) {
    my $acknowledged = 0;
    $acknowledged += unpack 'Q', $arena->peek('acknowledged', $_ * 32 + $which * 8, 8) for 0 .. $workers - 1;
    my $counter = $map->counter("counter $which");
    cmp_ok $counter, '>=', $acknowledged, "counter $which has every acknowledged increment";
    cmp_ok $counter, '<=', $acknowledged + $kills, 'and at most one more for each kill';
}
is scalar($map->keys), 8, 'eight keys';
intact_ok $map, 'whole';

done_testing;
