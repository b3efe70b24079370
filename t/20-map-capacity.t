use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use TestArena;
use Test::More;

use Shared::Arena;

# A table of N slots takes N keys, every time, whatever the keys; the next new one is refused and counted.

subtest 'a full table' => sub {
    my $map = Shared::Arena->create->map('m', slots => 4);
    is $map->capacity, 4, 'four slots';
    is $map->store($_, "<$_>"), 1, "$_ is stored" for qw(a b c d);
    is $map->store('e', 1), 0, 'the fifth key is refused';
    is $map->stats->{full}, 1, 'and counted';
    is_deeply [$map->fetch('e')], [], 'it is not there';
    is_deeply [map { $map->fetch($_) } qw(a b c d)], [qw(<a> <b> <c> <d>)], 'the others are';
    is $map->store('b', 'over'), 1, 'a key that is there can be stored over';
    is $map->incr('f'), undef, 'a new counter is refused';
    is $map->delete('c'), 1, 'after a delete';
    is $map->store('e', 2), 1, 'there is room';
    is $map->store('g', 2), 0, 'for one';
    my %stats = $map->stats;
    is_deeply [@stats{qw(used capacity expired busy)}], [4, 4, 0, 0], 'the figures agree';
    intact_ok $map, 'whole';
};

subtest 'one slot' => sub {
    my $map = Shared::Arena->create->map('m', slots => 1, slot_size => 33);
    is $map->store('a', ''), 1, 'takes one key';
    is $map->store('b', ''), 0, 'and no other';
    is $map->store('a', ''), 1, 'but that one again';
    $map->delete('a');
    is $map->store('b', ''), 1, 'and another after it';
    is_deeply [$map->keys], ['b'], 'which is there';
};

subtest 'random keys, two hundred tables' => sub {
    my @short;
    for my $seed (1 .. 200) {
        srand $seed;
        my $map  = Shared::Arena->create(size => 1000 * 64 + 208, regions => 1)->map('m', slots => 1000, slot_size => 64);
        my %keys = map { (join '', map { chr rand 256 } 0 .. 2 + rand 20) => 1 } 1 .. 1100;
        my @keys = (keys %keys)[0 .. 999];
        my $stored = grep { $map->store($_, $seed) == 1 } @keys;
        my $found  = grep { my ($value) = $map->fetch($_); defined $value && $value eq $seed } @keys;
        push @short, "$seed: $stored stored, $found found" if $stored != 1000 || $found != 1000 || $map->store('one more', 1) != 0;
    }
    is_deeply \@short, [], 'take a thousand each, and not one more';
};

subtest 'keys in patterns' => sub {
    my %pattern = (
        'numbers'            => sub { $_[0] },
        'numbers in words'   => sub { pack 'Q', $_[0] },
        'numbers far apart'  => sub { $_[0] * 1_048_576 },
        'long equal starts'  => sub { 'x' x 20 . $_[0] },
        'one letter, longer' => sub { 'a' x (1 + $_[0] % 30) . chr($_[0] / 30 + 1) },
    );
    for my $name (sort keys %pattern) {
        for my $slots (1, 2, 3, 7, 8, 9, 64, 100, 511, 513) {
            my $map = Shared::Arena->create->map('m', slots => $slots, slot_size => 80);
            my $stored = grep { $map->store($pattern{$name}->($_), $_) == 1 } 1 .. $slots;
            my @extra  = map { $map->store($pattern{$name}->($_), $_) } $slots + 1 .. $slots + 3;
            is "$stored @extra", "$slots 0 0 0", "$slots slots of $name";
        }
    }
};

subtest 'after any churn' => sub {
    my $map = Shared::Arena->create->map('m', slots => 100, slot_size => 64);
    my $serial = 0;
    for my $round (1 .. 30) {
        my @keys = map { 'key ' . $serial++ } 1 .. 100;
        is scalar(grep { $map->store($_, $round) == 1 } @keys), 100, 'a hundred new keys';
        is $map->store('another', 1), 0, 'no more';
        my @gone = $round % 3 ? @keys : reverse @keys;
        $map->delete($_) for @gone;
        is $map->stats->{used}, 0, 'all deleted';
    }
    for (1 .. 50_000) { my $key = 'fresh ' . $serial++; $map->store($key, 1); $map->delete($key) }
    is scalar(grep { $map->store("last $_", 1) == 1 } 1 .. 100), 100, 'a hundred more after fifty thousand came and went';
    is $map->stats->{full}, 30, 'refusals were counted, each once';
    intact_ok $map, 'whole';
};

subtest 'a large table' => sub {
    my $slots = 100_000;
    my $map   = Shared::Arena->create(size => $slots * 64 + 208)->map('m', slots => $slots, slot_size => 64);
    is scalar(grep { $map->store("key $_", $_) == 1 } 1 .. $slots), $slots, 'takes all its keys';
    is $map->store('one more', 1), 0, 'and not one more';
    is scalar(grep { ($map->fetch("key $_"))[0] == $_ } 1 .. $slots), $slots, 'has them all';
    is scalar($map->keys), $slots, 'and lists them all';
    intact_ok $map, 'whole';
};

done_testing;
