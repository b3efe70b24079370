use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use TestArena;
use Test::More;

use Shared::Arena;

# A pair fits up to max_pair bytes, and one byte more is refused whole: nothing is ever cut short.

my $arena = Shared::Arena->create(size => 16 * 1024 * 1024, regions => 100);

subtest 'max_pair' => sub {
    for my $slot_size (33, 34, 40, 64, 100, 256, 257, 4096, 100_000) {
        my $map = $arena->map("size $slot_size", slots => 3, slot_size => $slot_size);
        cmp_ok $map->max_pair, '>=', $slot_size - 32, "of $slot_size is at least " . ($slot_size - 32);
        cmp_ok $map->max_pair, '<=', $slot_size, 'and no more than the slot';
    }
    is $arena->map('default')->max_pair, $arena->map('default', slot_size => 256)->max_pair, 'the default slot has 256 bytes';
    is $arena->map('default')->capacity, 1024, 'and there are 1024 of them';
    croaks_like { $arena->map('tiny', slot_size => 32) } qr/slot_size.*\b33\b/s, 'a slot too small for any pair: the smallest that works is named';
};

for my $slot_size (33, 40, 100, 256, 5000) {
    subtest "the limit of a slot of $slot_size" => sub {
        my $map  = $arena->map("limit $slot_size", slots => 4, slot_size => $slot_size);
        my $room = $map->max_pair;
        for my $key_length (grep { $_ <= $room } 1, 2, 8, $room) {
            my $key = 'k' x $key_length;
            my $fit = $room - $key_length;
            is $map->store($key, 'v' x $fit), 1, "a key of $key_length with $fit bytes fits";
            is_deeply [$map->fetch($key)], ['v' x $fit], 'and comes back whole';
            if ($fit >= 3) { $map->store($key, 'old') }
            my @before = $map->fetch($key);
            for my $more (1, 2, $room, 10 * $room) {
                is $map->store($key, 'w' x ($fit + $more)), -1, "$more more is refused";
            }
            is_deeply [$map->fetch($key)], \@before, 'and what was there stands';
            $map->delete($key);
        }
        is_deeply [$map->keys], [], 'no other key came of it';
        is $map->stats->{full}, 0, 'nor was the table full';
    };
}

subtest 'keys that are equal as far as a slot reaches' => sub {
    my $map  = $arena->map('long keys', slots => 8, slot_size => 64);
    my $room = $map->max_pair;
    my ($one, $two) = map { 'k' x $room . $_ } 1, 2;
    is $map->store($_, ''), -1, 'one byte too long' for $one, $two;
    is_deeply [$map->fetch($_)], [], 'is not there' for $one, $two, 'k' x $room;
    ok !$map->exists($one), 'does not exist';
    is $map->delete($one), 0, 'is not deleted';
    is $map->incr($one), undef, 'is not counted';
    my ($short_one, $short_two) = map { 'k' x ($room - 2) . $_ } 1, 2;
    is $map->store($short_one, 1), 1, 'the last byte tells keys apart';
    is $map->store($short_two, 2), 1, 'when they fit';
    is_deeply [map { $map->fetch($_) } $short_one, $short_two], [1, 2], 'each has its value';
    is_deeply [sort $map->keys], [$short_one, $short_two], 'and they are listed in full';
};

subtest 'a counter needs no more room than its key' => sub {
    my $map = $arena->map('counters', slots => 8, slot_size => 64);
    my $key = 'c' x ($map->max_pair - 8);
    is $map->incr($key, 5), 5, 'a key with eight bytes to spare';
    is $map->counter($key), 5, 'counts';
};

subtest 'a very large value' => sub {
    my $map   = $arena->map('large', slots => 2, slot_size => 3_000_000);
    my $value = join '', map { pack 'N', $_ * 2_654_435_761 & 0xFFFFFFFF } 1 .. 700_000;
    is $map->store('k', $value), 1, 'is stored';
    my ($back) = $map->fetch('k');
    ok $back eq $value, 'and comes back the same';
    is $map->store('k', 'short'), 1, 'a short one over it';
    is_deeply [$map->fetch('k')], ['short'], 'is short';
    intact_ok $map, 'whole';
};

done_testing;
