use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib", "$FindBin::Bin/../t/lib";
use TestArena;
use TestEvidence;
use Test::More;

use Shared::Arena;

# After millions of keys came and went, a table takes as many keys as a fresh one, and no store was refused meanwhile.
# (What its calls then cost is measured by bench/churn.pl; how far they search, by rust/arena/src/map/tests/searches.rs.)

watchdog(900);

sub fills_up_ok {
    my ($map, $slots) = @_;
    my $there = $map->keys;
    is scalar(grep { $map->store("last $_", 1) == 1 } 1 .. $slots - $there), $slots - $there, 'it takes keys to the last slot';
    is $map->store('one more', 1), 0, 'and no more';
    intact_ok $map, 'whole';
    return;
}

subtest 'one key at a time' => sub {
    my $map = Shared::Arena->create->map('m', slots => 100, slot_size => 64);
    my $refused = 0;
    for my $n (1 .. 1_000_000) { $refused++ if $map->store("key $n", 1) != 1; $map->delete("key $n") }
    is $refused, 0, 'a million keys were stored';
    fills_up_ok $map, 100;
};

subtest 'a table that stays three quarters full' => sub {
    my ($slots, $live, $churn) = (10_000, 7500, 10_000_000);
    my $map = Shared::Arena->create(size => 2 << 20)->map('m', slots => $slots, slot_size => 64);
    my ($oldest, $refused) = (1, 0);
    for my $n (1 .. $churn) {
        $refused++ if $map->store("key $n", 1) != 1;
        $map->delete('key ' . $oldest++) if $n > $live;
    }
    is $refused, 0, 'ten million keys were stored';
    is_deeply [sort $map->keys], [sort map {"key $_"} $churn - $live + 1 .. $churn], 'the last of them are there';
    is $map->stats->{used}, $live, 'and nothing else';
    fills_up_ok $map, $slots;
};

subtest 'a table that is full of deleted and of lapsed keys by turns' => sub {
    my $slots = 10_000;
    my $map   = Shared::Arena->create(size => 2 << 20)->map('m', slots => $slots, slot_size => 64);
    my $now   = 1_700_000_000;
    my @stored;
    for my $round (1 .. 20) {
        set_clock($now += 10);
        push @stored, scalar grep { $map->store("$round $_", 1, ttl => $round % 2 ? 5 : 0) == 1 } 1 .. $slots;
        if ($round % 2 == 0) { $map->delete("$round $_") for 1 .. $slots }
    }
    is_deeply \@stored, [($slots) x 20], 'it takes a key for every slot each time';
    real_clock();
    fills_up_ok $map, $slots;
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

shown('11,000,000 keys came and went in tables of up to 65,000 slots: none refused, and each table took keys to its last slot');

done_testing;
