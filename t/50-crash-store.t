use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use TestArena;
use Test::More;

use Shared::Arena;

# Children that store are killed at any moment, round after round. Every key is then at its old or its new value,
# nobody waits for the dead, no buffer is lost, and the statistics are those of a recount.

my $slots = 40;
my @keys  = map {"key $_"} 1 .. 30;
my @lengths = (0, 1, 30, 100, 700);

# A value says itself whether it is whole.
sub value { my ($letter, $length) = @_; return "$letter$length:" . $letter x $length }
sub whole { my ($value) = @_; return $value =~ /\A([A-Z])([0-9]+):([A-Z]*)\z/ && $3 eq $1 x $2 }

my $map = Shared::Arena->create(size => 1 << 20)->map('m', slots => $slots, slot_size => 800);
my ($torn, $stuck, $broken, $counted) = (0, 0, 0, 0);

sub work {
    my ($number, $round) = @_;
    srand $round * 10 + $number;
    for (;;) {
        my $key = $keys[rand @keys];
        my $what = rand;
        if    ($what < 0.7) { $map->store($key, value(chr(65 + rand 26), $lengths[rand @lengths])) }
        elsif ($what < 0.9) { $map->delete($key) }
        else                { $map->incr("counter $number") }
    }
}

# What the survivors see, in a child that may not wait for long.
sub survey {
    my @problems;
    my ($verdict) = in_child {
        for my $key (@keys) {
            my @there = $map->fetch($key);
            push @problems, "torn: $key" if @there && !whole($there[0]);
        }
        # Writing to every key meets every lock that a dead process held.
        for my $key (@keys) {
            $map->store($key, value('Z', 50)) == 1 or push @problems, "no room for $key";
            my ($back) = $map->fetch($key);
            push @problems, "lost: $key" if !defined $back || $back ne value('Z', 50);
        }
        $map->incr("counter $_", 0) for 0 .. 3;
        my %verdict = $map->_verify;
        my %stats   = $map->stats;
        push @problems, "not whole: $verdict{problem}" if !$verdict{ok};
        push @problems, "$stats{used} used" if $stats{used} != @keys + 4 || $stats{used} != $map->keys;
        push @problems, "$stats{used} used and $stats{tombstones} tombstones of $slots" if $stats{used} + $stats{tombstones} > $slots;
        $map->delete($_) for @keys[0 .. 9];
        push @problems, 'used is wrong after deletes' if $map->stats->{used} != @keys - 10 + 4;
        return join '; ', @problems;
    } patience => 20;
    return $verdict;
}

$map->incr("counter $_", 0) for 0 .. 3;
for my $round (1 .. 100) {
    my $gun  = start_gun();
    my @pids = map { my $number = $_; spawn(sub { $gun->await; work($number, $round) }) } 0 .. 3;
    $gun->fire(4);
    select undef, undef, undef, 0.001 + rand 0.012;
    kill KILL => $_ for @pids;
    my @how = map { reap($_) & 127 } @pids;
    my $verdict = survey();
    next if defined $verdict && $verdict eq '' && "@how" eq '9 9 9 9';
    fail("round $round");
    diag defined $verdict ? $verdict : 'no answer', ", signals @how";
    last if ++$broken == 3;
}
is $broken, 0, 'a hundred rounds of four';

subtest 'and the map is as good as new' => sub {
    $map->delete($_) for $map->keys;
    is scalar(grep { $map->store("fresh $_", value('N', 700)) == 1 } 1 .. $slots), $slots, 'it takes as many keys as it has slots';
    is $map->store('one more', 1), 0, 'and no more';
    is scalar(grep { ($map->fetch("fresh $_"))[0] eq value('N', 700) } 1 .. $slots), $slots, 'all are there';
    intact_ok $map, 'whole';
};

done_testing;
