use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use TestArena;
use Test::More;

use Shared::Arena;

# Keys, values and names are bytes: equal strings are the same whatever perl keeps them as, and wide characters are their UTF-8.

my $arena = Shared::Arena->create;
my $map   = $arena->map('map', slots => 64);
my $rate  = $arena->rate('rate', limit => 3, window => 1000);

sub upgraded { my ($string) = @_; utf8::upgrade($string); return $string }

my $byte = "caf\xE9";
my $wide = "\x{263A}";
my $wide_bytes = "\xE2\x98\xBA";

subtest 'a key is the same key whatever its flag' => sub {
    is $map->store($byte, 'one'), 1, 'stored under the byte string';
    is_deeply [$map->fetch(upgraded($byte))], ['one'], 'fetched by the upgraded one';
    ok $map->exists(upgraded($byte)), 'exists';
    is $map->store(upgraded($byte), 'two'), 1, 'stored again, upgraded';
    is_deeply [$map->fetch($byte)], ['two'], 'over the first';
    is_deeply [$map->fetch("caf\xC3\xA9")], [], 'the UTF-8 bytes of it are another key';
    is $map->delete(upgraded($byte)), 1, 'deleted, upgraded';
    is $map->incr($byte), 1, 'counted';
    is $map->incr(upgraded($byte)), 2, 'on the same counter';
    is $map->counter(upgraded($byte)), 2, 'which reads the same';
    is_deeply [$map->keys], [$byte], 'one key';
    $map->delete($byte);
};

subtest 'a value is the same value whatever its flag' => sub {
    $map->store('v', upgraded($byte));
    my ($back) = $map->fetch('v');
    is $back, $byte, 'equal';
    is length($back), 4, 'four characters';
    ok !utf8::is_utf8($back), 'as bytes';
    $map->delete('v');
};

subtest 'wide characters are kept as their UTF-8 bytes' => sub {
    is $map->store($wide, "$wide!"), 1, 'stored';
    for my $key ($wide, $wide_bytes) {
        is_deeply [$map->fetch($key)], ["$wide_bytes!"], 'the value is bytes';
        ok $map->exists($key), 'exists';
    }
    is_deeply [$map->keys], [$wide_bytes], 'and the key is listed as bytes';
    is $map->delete($wide), 1, 'deleted';
    my $mixed = "\xE9$wide";
    $map->store('mixed', $mixed);
    my $expected = $mixed;
    utf8::encode($expected);
    is_deeply [$map->fetch('mixed')], [$expected], 'one wide character makes the whole string UTF-8';
    $map->delete('mixed');
};

subtest 'the arguments themselves are left alone' => sub {
    my ($key, $value) = (upgraded($byte), $wide);
    $map->store($key, $value);
    $map->fetch($key);
    $rate->allow($key);
    ok utf8::is_utf8($key) && $key eq $byte, 'key';
    is $value, $wide, 'value';
    my $number = 17;
    $map->store($number, $number);
    is_deeply [$map->fetch('17')], ['17'], 'a number is its digits';
    $map->delete($_) for $number, $byte;
};

subtest 'lengths are counted in bytes' => sub {
    my $room = $map->max_pair;
    is $map->store('k', upgraded("\xE9" x ($room - 1))), 1, 'upgraded, as long as a pair may be';
    is $map->store('k', $wide x int(($room - 1) / 3)), 1, 'wide, three bytes each';
    is $map->store('k', $wide x (int(($room - 1) / 3) + 1)), -1, 'one more is too many';
    $map->delete('k');
};

subtest 'a limiter' => sub {
    $rate->forget($byte);
    ok $rate->allow($byte), 'asked for the byte string';
    is int($rate->remaining(upgraded($byte)) + 0.5), 2, 'the upgraded one has paid';
    is $rate->headers(upgraded($byte))->{'RateLimit-Remaining'}, 2, 'and its headers say so';
    ok $rate->allow(upgraded($byte)) && $rate->allow($byte), 'three in all';
    ok !$rate->allow(upgraded($byte)), 'no more for one';
    ok !$rate->allow($byte), 'nor for the other';
    ok $rate->allow("caf\xC3\xA9"), 'other bytes are another key';
    ok $rate->allow($wide, 3) && !$rate->allow($wide_bytes), 'a wide key is its UTF-8';
    is $rate->reset($wide_bytes), 1, 'reset finds it';
    ok $rate->allow($wide, 3), 'full again';
    is $rate->forget($wide_bytes), 1, 'forget finds it';
};

subtest 'names of regions and arenas' => sub {
    my ($offset) = $arena->region($byte, size => 16);
    is_deeply [$arena->region(upgraded($byte))], [$offset, 16], 'a region is found by the upgraded name';
    $arena->poke(upgraded($byte), 0, upgraded("\xE9\xE8"));
    is $arena->peek($byte, 0, 3), "\xE9\xE8\0", 'raw bytes are bytes';
    $arena->poke($byte, 0, $wide);
    is $arena->peek($byte, 0, 3), $wide_bytes, 'or UTF-8 bytes';
    my $named = Shared::Arena->create(name => $byte);
    is $named->name, $byte, 'an arena has its name';
    ok(Shared::Arena->attach(upgraded($byte)), 'is found by the upgraded name');
    ok(Shared::Arena->destroy(upgraded($byte)), 'and removed by it');
    is(Shared::Arena->attach($byte), undef, 'for good');
};

done_testing;
