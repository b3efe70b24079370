use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/../t/lib";
use TestArena;
use Test::More;

use Shared::Arena;
use Time::HiRes 'time';

# After a million keys came and went, a table is as good as a fresh one.

watchdog(900);

sub misses_a_second {
    my ($map) = @_;
    my $best = 0;
    for (1 .. 7) {
        my $start = time;
        $map->fetch("none $_") for 1 .. 50_000;
        my $speed = 50_000 / (time - $start);
        $best = $speed if $speed > $best;
    }
    return $best;
}

subtest 'one key at a time' => sub {
    my ($fresh, $churned) = map { Shared::Arena->create->map("m$_", slots => 100, slot_size => 64) } 1, 2;
    for my $n (1 .. 1_000_000) { $churned->store("key $n", 1); $churned->delete("key $n") }
    my $ratio = misses_a_second($fresh) / misses_a_second($churned);
    cmp_ok $ratio, '<', 3, sprintf 'a miss takes %.2f times as long', $ratio;
    is scalar(grep { $churned->store("last $_", 1) == 1 } 1 .. 100), 100, 'and a hundred keys go in';
    intact_ok $churned, 'whole';
};

subtest 'a table that stays half full' => sub {
    my ($fresh, $churned) = map { Shared::Arena->create(size => 2 << 20)->map("m$_", slots => 10_000, slot_size => 64) } 1, 2;
    $fresh->store("key $_", 1) for 1 .. 5000;
    my $oldest = 1;
    for my $n (1 .. 1_000_000) {
        $churned->store("key $n", 1) == 1 or fail("store $n"), last;
        $churned->delete('key ' . $oldest++) if $n > 5000;
    }
    my $ratio = misses_a_second($fresh) / misses_a_second($churned);
    cmp_ok $ratio, '<', 3, sprintf 'a miss takes %.2f times as long', $ratio;
    is scalar($churned->keys), 5000, 'five thousand keys are left';
    is scalar(grep { $churned->store("last $_", 1) == 1 } 1 .. 5000), 5000, 'and as many go in';
    intact_ok $churned, 'whole';
};

subtest 'sixty-five thousand keys deleted by four processes' => sub {
    my $slots = 65_000;
    my $map   = Shared::Arena->create(size => $slots * 64 + 208)->map('m', slots => $slots, slot_size => 64);
    is scalar(grep { $map->store("first $_", $_) == 1 } 1 .. $slots), $slots, 'full';
    in_children(4, sub { my ($number) = @_; $map->delete("first $_") for grep { $_ % 4 == $number } 1 .. $slots; return });
    is_deeply [$map->keys], [], 'no key is left';
    is $map->stats->{used}, 0, 'no slot is used';
    is scalar(grep { $map->store("second $_", $_) == 1 } 1 .. $slots), $slots, 'and as many others go in';
    intact_ok $map, 'whole';
};

done_testing;
