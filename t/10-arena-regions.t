use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use TestArena;
use Test::More;

use Shared::Arena;

# Regions: carved or found by name, aligned, apart, bounded; a refused carve uses up nothing.

subtest 'carve and find' => sub {
    my $arena = Shared::Arena->create;
    my ($offset, $length) = $arena->region('first', size => 1000);
    is $length, 1000, 'exactly the size asked';
    is_deeply [$arena->region('first', size => 1000)], [$offset, $length], 'asking again finds it';
    is_deeply [$arena->region('first')], [$offset, $length], 'also without a size';
    is_deeply [$arena->region('second')], [], 'finding never carves';
    $arena->region('second', size => 1);
    $arena->map('third', slots => 4);
    $arena->rate('fourth');
    is_deeply [$arena->regions], [qw(first second third fourth)], 'regions are listed in carving order';
    is scalar(my @found = $arena->region($_)), 2, "$_ is found, whatever it is" for qw(third fourth);
};

subtest 'places' => sub {
    my $arena = Shared::Arena->create;
    my @regions = sort { $a->[0] <=> $b->[0] } map { [$arena->region("r$_", size => $_ * 7)] } 1 .. 40;
    is_deeply [grep { $regions[$_][0] < $regions[$_ - 1][0] + $regions[$_ - 1][1] } 1 .. $#regions], [], 'no two overlap';
    is_deeply [grep { $_->[0] % 64 } @regions], [], 'every offset is a multiple of 64';
    $arena->poke("r$_", 0, chr(64 + $_) x ($_ * 7)) for 1 .. 40;
    is_deeply [map { $arena->peek("r$_", 0, $_ * 7) } 1 .. 40], [map { chr(64 + $_) x ($_ * 7) } 1 .. 40], 'and each has its own bytes';
};

subtest 'a refused carve uses up nothing' => sub {
    my $arena = Shared::Arena->create(size => 4096, regions => 2);
    is_deeply [$arena->region('big', size => 4097)], [], 'too big by a byte' for 1 .. 100;
    is_deeply [$arena->region('big', size => 2**45)], [], 'too big by far';
    croaks_like { $arena->map('big', slots => 1000, slot_size => 64) } qr/Shared::Arena.*fit/s, 'a map that is too big croaks';
    croaks_like { $arena->rate('big', slots => 4096) } qr/Shared::Arena.*fit/s, 'so does a limiter';
    is_deeply [$arena->regions], [], 'no name is taken';
    is scalar(my @whole = $arena->region('whole', size => 4096)), 2, 'all the room is still there';
    is_deeply [$arena->region('more', size => 1)], [], 'and then it is full';
    is_deeply [$arena->region('whole')], \@whole, 'what is there is still found';
    is_deeply [$arena->regions], ['whole'], 'and listed alone';
};

subtest 'no entry left' => sub {
    my $arena = Shared::Arena->create(regions => 2);
    $arena->region($_, size => 16) for qw(a b);
    is_deeply [$arena->region('c', size => 16)], [], 'a region is refused';
    croaks_like { $arena->map('c', slots => 4) } qr/Shared::Arena.*region/s, 'a map croaks';
    croaks_like { $arena->rate('c') } qr/Shared::Arena.*region/s, 'a limiter croaks';
    is_deeply [$arena->regions], [qw(a b)], 'the others stand';
};

subtest 'names of regions' => sub {
    my $arena = Shared::Arena->create(size => 1 << 20);
    for my $name ('x', 'x' x 31, "with\0nul", 'with/slash', '0', ' ', "\n", "\xFF" x 31, '.') {
        is scalar(my @there = $arena->region($name, size => 16)), 2, sprintf '%vd is a name', $name;
    }
    is scalar(my @all = $arena->regions), 9, 'all nine are different';
    for my $name ('', 'x' x 32, "\x{263A}" x 11) {
        is_deeply [$arena->region($name, size => 16)], [], length($name) . ' characters are a bad name';
        is_deeply [$arena->region($name)], [], 'which is never found';
        croaks_like { $arena->map($name, slots => 4) } qr/Shared::Arena.*name/s, 'a map of that name croaks';
        croaks_like { $arena->rate($name) } qr/Shared::Arena.*name/s, 'a limiter too';
    }
    ok $arena->map('y' x 31, slots => 4), '31 bytes are a name of a map';
    ok $arena->rate("z\0/"), 'any bytes are one of a limiter';
};

subtest 'peek and poke' => sub {
    my $arena = Shared::Arena->create;
    $arena->region('r', size => 100);
    is $arena->peek('r', 0, 100), "\0" x 100, 'a new region is zeros';
    my $bytes = join '', map { chr } 0 .. 99;
    $arena->poke('r', 0, $bytes);
    is $arena->peek('r', 0, 100), $bytes, 'all bytes, all values';
    $arena->poke('r', 97, 'end');
    is $arena->peek('r', 96, 4), chr(96) . 'end', 'up to the last';
    is $arena->peek('r', 100, 0), '', 'nothing at the end is nothing';
    ok eval { $arena->poke('r', 100, ''); 1 }, 'and can be written';
};

subtest 'out of range or unknown croaks' => sub {
    my $arena = Shared::Arena->create;
    $arena->region('r', size => 100);
    my @outside = ([0, 101], [100, 1], [101, 0], [99, 2], [2**32, 1], [2**40, 1], ['18446744073709551615', 1], ['18446744073709551615', 101], [1, '18446744073709551615'], ['9223372036854775808', '9223372036854775808']);
    croaks_like { $arena->peek('r', $_->[0], $_->[1]) } qr/Shared::Arena.*r/s, "peek $_->[0], $_->[1]" for @outside;
    croaks_like { $arena->poke('r', $_->[0], 'x' x $_->[1]) } qr/Shared::Arena.*r/s, "poke $_->[0], $_->[1]" for grep { $_->[1] < 1000 } @outside;
    for my $bad (-1, 1.5, 'x', '', 9**9**9, -sin 9**9**9) {
        croaks_like { $arena->peek('r', $bad, 1) } qr/Shared::Arena/, "peek at $bad";
        croaks_like { $arena->peek('r', 0, $bad) } qr/Shared::Arena/, "peek of $bad";
        croaks_like { $arena->poke('r', $bad, 'x') } qr/Shared::Arena/, "poke at $bad";
    }
    croaks_like { $arena->peek('none', 0, 1) } qr/Shared::Arena.*none/s, 'peek into no region';
    croaks_like { $arena->poke('none', 0, 'x') } qr/Shared::Arena.*none/s, 'poke into no region';
    croaks_like { $arena->peek('', 0, 0) } qr/Shared::Arena/, 'nor into one without a name';
    is $arena->peek('r', 0, 100), "\0" x 100, 'nothing was written';
};

done_testing;
