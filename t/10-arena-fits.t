use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use TestArena;
use Test::More;

use Shared::Arena;

# A program sized by the documented formulas fits, whatever mix of regions it carves:
# a map costs slots * slot_size + 200, a limiter slots * 16 + 150, a region its size, each rounded up to 16.

sub rounded { my ($bytes) = @_; return $bytes + -$bytes % 16 }

sub pick { my (@list) = @_; return $list[rand @list] }

# A random region: what it costs, how it is carved and how it is shown.
sub random_map {
    my ($most) = @_;
    my $slot_size = pick(33, 33, 34, 40, 47, 48, 49, 63, 64, 65, 80, 127, 129, 256, 513, 1000, 1025, 4096, 33 + int rand 600);
    my $slots     = pick(1, 1, 2, 7, 8, 15, 16, 63, 64, 511, 512, 1 + int rand 3000);
    my $fitting   = int(($most - 216) / $slot_size);
    $slots = $fitting if $slots > $fitting;
    return if $slots < 1;
    return [rounded($slots * $slot_size + 200), sub { $_[0]->map($_[1], slots => $slots, slot_size => $slot_size) }, "map $slots x $slot_size"];
}

sub random_limiter {
    my ($most) = @_;
    my $slots = pick(64, 64, 128, 256, 1024, 4096);
    return if $slots * 16 + 160 > $most;
    return [rounded($slots * 16 + 150), sub { $_[0]->rate($_[1], slots => $slots) }, "limiter $slots"];
}

sub random_raw {
    my ($most) = @_;
    my $size = pick(1, 15, 16, 17, 64, 65, 1000, 1 + int rand 20_000);
    return if rounded($size) > $most;
    return [rounded($size), sub { my @pair = $_[0]->region($_[1], size => $size); @pair == 2 }, "raw $size"];
}

my $seed = $ENV{ARENA_TEST_SEED} || 1;

subtest 'random mixes that fit by the formulas' => sub {
    for my $round ($seed .. $seed + 199) {
        srand $round;
        my $kinds   = pick([\&random_map], [\&random_limiter], [\&random_raw], [\&random_map, \&random_limiter, \&random_raw]);
        my $left    = my $budget = pick(1000, 5000, 50_000, 300_000, 1_000_000);
        my $regions = pick(1, 2, 5, 20, 64, 300);
        my @mix;
        for (1 .. $regions) {
            my $region = pick(@$kinds)->($left) or next;
            $left -= $region->[0];
            push @mix, $region;
        }
        my $used  = $budget - $left;
        my $arena = Shared::Arena->create(size => $used || 16, regions => @mix || 1);
        my @refused = grep { !eval { $mix[$_][1]->($arena, "region $_") } } 0 .. $#mix;
        is_deeply [map { $mix[$_][2] } @refused], [], scalar(@mix) . " regions in $used bytes (seed $round)" or diag $@;

        # Carved apart, and each where it can be used.
        my @places = sort { $a->[0] <=> $b->[0] } map { [$arena->region($_)] } $arena->regions;
        my @wrong  = grep { $places[$_][0] % 64 || $_ && $places[$_][0] < $places[$_ - 1][0] + $places[$_ - 1][1] } 0 .. $#places;
        is scalar(@wrong), 0, 'none overlaps another';
    }
};

subtest 'an exact fit, and then nothing more' => sub {
    for my $slot_size (33, 64, 100, 256, 4096) {
        my $size  = rounded(100 * $slot_size + 200);
        my $arena = Shared::Arena->create(size => $size, regions => 3);
        croaks_like { $arena->map('larger', slots => 100 + int(300 / $slot_size + 2), slot_size => $slot_size) } qr/fit/, "a larger map than 100 x $slot_size";
        my $map = eval { $arena->map('exact', slots => 100, slot_size => $slot_size) };
        ok $map, 'the map it was sized for';
        is scalar(grep { $map->store(chr $_, '') == 1 } 1 .. 100), 100, 'holds all its keys';
        croaks_like { $arena->map('more', slots => 1, slot_size => $slot_size) } qr/fit/, 'no room for another';
        croaks_like { $arena->rate('more', slots => 64) } qr/fit/, 'of any kind';
        is_deeply [$arena->region('more', size => 257)], [], 'nor for more bytes than a header has';
    }
    my $arena = Shared::Arena->create(size => 4096 * 16 + 160, regions => 2);
    ok $arena->rate('exact'), 'a limiter in its own size';
    croaks_like { $arena->rate('more', slots => 64) } qr/fit/, 'and no other';
};

subtest 'what clearly exceeds size is refused' => sub {
    my $arena = Shared::Arena->create(size => 100_000);
    croaks_like { $arena->map('m', slots => 1000, slot_size => 128) } qr/does not fit: it takes 128\d\d\d bytes, and of the arena's 100000 bytes \d+ are free/, 'a map of 128,000 bytes, with the figures';
    croaks_like { $arena->rate('l', slots => 8192) } qr/fit/, 'a limiter of 131,072 bytes';
    is_deeply [$arena->region('r', size => 100_001)], [], 'a region';
};

subtest 'the examples of the documents' => sub {
    my $eight = Shared::Arena->create(size => 8 * 1024 * 1024);
    ok $eight->map('cache', slots => 4096, slot_size => 512), 'a cache';
    my $four = Shared::Arena->create(size => 4 * 1024 * 1024);
    ok $four->rate('api', limit => 100, window => 60), 'a limiter';
    ok $four->map('routes', slots => 4096), 'routes';
    ok $four->rate('login', limit => 5, window => 300), 'another limiter';
};

done_testing;
