use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use TestArena;
use Test::More;

use Shared::Arena;

# Keys and values are arbitrary bytes, and what is stored comes back whole.

my $arena = Shared::Arena->create(size => 8 * 1024 * 1024);

subtest 'store, fetch, exists, delete' => sub {
    my $map = $arena->map('basic', slots => 16);
    is_deeply [$map->fetch('k')], [], 'nothing there';
    ok !$map->exists('k'), 'does not exist';
    is $map->delete('k'), 0, 'nothing to delete';
    is $map->store('k', 'one'), 1, 'stored';
    is_deeply [$map->fetch('k')], ['one'], 'fetched';
    ok $map->exists('k'), 'exists';
    is $map->store('k', 'two'), 1, 'stored over it';
    is_deeply [$map->fetch('k')], ['two'], 'fetched anew';
    is $map->stats->{used}, 1, 'one slot';
    is $map->delete('k'), 1, 'deleted';
    is $map->delete('k'), 0, 'once';
    is_deeply [$map->fetch('k')], [], 'gone';
    ok !$map->exists('k'), 'does not exist any more';
    is $map->stats->{used}, 0, 'no slot';
    intact_ok $map, 'whole';
};

subtest 'any bytes are a key' => sub {
    my $map = $arena->map('keys', slots => 600);
    my @keys = ('0', "a\0b", 'a', "a\0", "\0", "\0\0", ' ', 'a b', "a b\n", "a\n", "\r\n", "0\0", '00', '0.0', '-', "\xFF", "\xFF\xFF", 'k' x 200, map { chr . 'x' } 0 .. 255);
    is $map->store($keys[$_], "value $_"), 1, 'stored' for 0 .. $#keys;
    is_deeply [map { $map->fetch($_) } @keys], [map {"value $_"} 0 .. $#keys], 'each has its own value';
    is_deeply [sort $map->keys], [sort @keys], 'and all are listed, whole';
    is scalar(grep { $map->delete($_) == 1 } @keys), scalar(@keys), 'and can be deleted';
    is_deeply [$map->keys], [], 'none is left';
    intact_ok $map, 'whole';
};

subtest 'any bytes are a value' => sub {
    my $map = $arena->map('values', slots => 600);
    my $all = join '', map { chr } 0 .. 255;
    my @values = ('', '0', "\0", "x\0\0", "\0x", "\n", ' ', substr($all, 0, 200), substr($all, 56), '0 but true', 1.5, -0.0, '007', '1e3', 'undef');
    $map->store("key $_", $values[$_]) for 0 .. $#values;
    is_deeply [map { $map->fetch("key $_") } 0 .. $#values], [map {"$_"} @values], 'comes back the same';
    is length(($map->fetch('key 3'))[0]), 3, 'with its trailing NULs';
    $map->store('all', $_) for $all =~ /(.{1,100})/gs;
    is_deeply [$map->fetch('all')], [substr $all, 200], 'stored over and over, the last stands';
};

subtest 'references and objects are their text' => sub {
    my $map = $arena->map('refs', slots => 16);
    my ($list, $hash) = ([1, 2], {});
    $map->store('list', $list);
    $map->store($hash, 'by address');
    is_deeply [$map->fetch('list')], ["$list"], 'as a value';
    is_deeply [$map->fetch("$hash")], ['by address'], 'as a key';
};

subtest 'the empty key' => sub {
    my $map = $arena->map('empty', slots => 16);
    is $map->store('', 'e'), -1, 'is not stored';
    is_deeply [$map->fetch('')], [], 'nor fetched';
    ok !$map->exists(''), 'does not exist';
    is $map->delete(''), 0, 'is not deleted';
    is $map->incr(''), undef, 'is not counted';
    is $map->counter(''), undef, 'has no counter';
    is_deeply [$map->keys], [], 'is not listed';
};

subtest 'values of all lengths, one over the other' => sub {
    my $map = $arena->map('lengths', slots => 4, slot_size => 1000);
    my $room = $map->max_pair - 1;
    for my $length (0 .. 70, 127 .. 129, 255 .. 257, $room, 0, $room, 1, 500) {
        my $value = join '', map { chr(33 + ($_ * 7 + $length) % 90) } 1 .. $length;
        $map->store('k', $value) == 1 or fail("store of $length"), last;
        my ($back) = $map->fetch('k');
        $back eq $value or fail("fetch of $length"), last;
    }
    is $map->stats->{used}, 1, 'in one slot';
    intact_ok $map, 'whole';
};

subtest 'a slot is clean when it is used again' => sub {
    my $map = $arena->map('reuse', slots => 2);
    $map->store('a', 'x' x 50);
    is $map->delete('a'), 1, 'a long value is deleted';
    is $map->incr('b'), 1, 'a counter starts at one';
    is_deeply [$map->fetch('b')], [1], 'and is one';
    $map->store('b', 'l' x 60);
    $map->store('b', 's');
    is_deeply [$map->fetch('b')], ['s'], 'a short value over a long one is short';
    is $map->incr('c'), 1, 'and the other slot counts from one as well';
};

subtest 'two maps of one arena' => sub {
    my ($one, $two) = map { $arena->map("apart $_", slots => 16) } 1, 2;
    $one->store('k', 1);
    $two->store('k', 2);
    $two->delete('k');
    is_deeply [$one->fetch('k')], [1], 'do not share keys';
};

done_testing;
