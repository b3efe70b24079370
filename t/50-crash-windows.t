use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use TestArena;
use Test::More;

use Shared::Arena;
use Time::HiRes qw(sleep time);

# Processes count in short windows and are killed at any moment. No counter is left without its deadline: when a window
# has passed since the last count, all are gone.

my $window = 0.05;
my @keys   = map {"key $_"} 1 .. 100;
my $arena  = Shared::Arena->create(size => 1 << 20);
my $map    = $arena->map('m', slots => 100, slot_size => 64);

sub work {
    my ($number) = @_;
    for (my $n = $number * 13;; $n++) { defined $map->incr($keys[$n % 100], 1, ttl => $window) or die "refused\n" }
}

my ($kills, $odd) = (0, 0);
my @pids = map { my $number = $_; spawn(sub { work($number) }) } 0 .. 7;
my $end  = time + 1.5;
while (time < $end || $kills < 60) {
    sleep 0.005 + rand 0.01;
    my $victim = int rand 8;
    kill KILL => $pids[$victim];
    $odd++ if reap($pids[$victim]) != 9;
    $kills++;
    $pids[$victim] = spawn(sub { work($victim) });
}
kill KILL => @pids;
$odd += reap($_) != 9 for @pids;
is $odd, 0, "nobody ended by himself, $kills were killed on the way";

# No clock is waited for: this process's own is set back, and on.
set_clock(1);
is scalar($map->keys), 100, 'before any deadline all counters are there';
set_clock(time + $window + 0.002);
is scalar($map->keys), 0, 'none is, when a window has passed since the last count';
is_deeply [grep { $map->exists($_) } @keys], [], 'no counter is immortal';
is_deeply [grep { defined $map->counter($_) } @keys], [], 'none shows a number';
is $map->stats->{used}, 0, 'all have been collected';
is_deeply [map { $map->incr($_, 1, ttl => $window) } @keys], [(1) x 100], 'and all begin again at 1';
intact_ok $map, 'whole';
real_clock();

done_testing;
