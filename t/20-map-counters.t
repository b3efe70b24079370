use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use TestArena;
use Test::More;

use Shared::Arena;

# Counters: created by the first increment, exact to 64 bits, and never made out of something else.

my $arena = Shared::Arena->create;
my $map   = $arena->map('m', slots => 256);

subtest 'counting' => sub {
    is $map->incr('n'), 1, 'the first increment makes it one';
    is $map->incr('n'), 2, 'the next two';
    is $map->incr('n', 10), 12, 'by ten';
    is $map->incr('n', -20), -8, 'below zero';
    is $map->incr('n', 0), -8, 'by nothing';
    is $map->counter('n'), -8, 'counter reads it';
    is_deeply [$map->fetch('n')], [-8], 'fetch gives the number';
    ok $map->exists('n'), 'it exists';
    is $map->incr('from', -5), -5, 'a new one starts at what it is counted by';
    is $map->incr('zero', 0), 0, 'at nothing, too';
    is $map->counter('zero'), 0, 'which is a counter';
    is $map->delete('n'), 1, 'deleted';
    is $map->counter('n'), undef, 'gone';
    is $map->incr('n'), 1, 'and counts from one again';
    is $map->counter('none'), undef, 'nothing is no counter';
};

subtest 'a value is not counted on' => sub {
    for my $value ('text', '5', 5, '', "\0" x 7, "\0" x 9, undef, '12345678', 'abcdefgh', '        ') {
        $map->store('v', $value);
        is $map->incr('v'), undef, 'incr answers undef';
        is $map->counter('v'), undef, 'counter too';
        is_deeply [$map->fetch('v')], [$value], 'and it is what it was';
    }
};

subtest 'store over a counter' => sub {
    $map->incr('c', 41);
    is $map->store('c', 'text'), 1, 'replaces it';
    is_deeply [$map->fetch('c')], ['text'], 'by the value';
    is $map->incr('c'), undef, 'which is no counter';
    is $map->delete('c'), 1, 'deleted';
    is $map->incr('c', 3), 3, 'it may become one again';
};

subtest 'a packed number is a counter' => sub {
    for my $number (0, 1, -1, 5, 2**53 - 1, -(2**53) + 1) {
        my $packed = pack 'q', $number;
        is $map->store('p', $packed), 1, "$number, packed";
        is_deeply [$map->fetch('p')], [$packed], 'comes back as it was stored';
        is $map->counter('p'), $number, 'reads as a number';
        is_deeply [$map->fetch('p')], [$packed], 'and is still the bytes';
        is $map->incr('p', 2), $number + 2, 'counts';
        is_deeply [$map->fetch('p')], [$number + 2], 'and is a number from then on';
    }
    for my $number (2**53, -(2**53), 2**60, -2**63) {
        my $packed = pack 'q', $number;
        $map->store('p', $packed);
        is $map->counter('p'), undef, "$number is too far from zero to be one";
        is $map->incr('p'), undef, 'is not counted on';
        is_deeply [$map->fetch('p')], [$packed], 'and stays';
    }
};

subtest 'the ends of the range' => sub {
    my ($most, $least) = (9223372036854775807, -9223372036854775807 - 1);
    is $map->incr('most', $most), $most, 'the largest number';
    croaks_like { $map->incr('most', 1) } qr/Shared::Arena::Map->incr: counter overflow: $most and 1 more/, 'and one more overflows';
    croaks_like { $map->incr('most', $most) } qr/counter overflow/, 'by much, too';
    is $map->counter('most'), $most, 'the value is unchanged';
    is $map->incr('most', -1), $most - 1, 'and can go down';
    is $map->incr('least', $least), $least, 'the smallest number';
    croaks_like { $map->incr('least', -1) } qr/counter overflow: $least and -1 more/, 'and one less overflows';
    croaks_like { $map->incr('least', $least) } qr/counter overflow/, 'by much, too';
    is $map->counter('least'), $least, 'the value is unchanged';
    is_deeply [$map->fetch('least')], [$least], 'exactly';
    is $map->incr('least', $most), -1, 'from end to end';
    is $map->incr('least', $most), $most - 1, 'and past zero';
    is $map->incr('down', -1), -1, 'minus one';
    is $map->incr('down', -1), -2, 'minus two';
};

subtest 'what it is counted by' => sub {
    my %good = ('3' => 3, ' 3' => 3, '-3' => -3, '+4' => 4, 3.0 => 3, '3.0' => 3, 1e3 => 1000, '1e3' => 1000, '-9223372036854775808' => -9223372036854775807 - 1, '9223372036854775807' => 9223372036854775807);
    for my $by (sort keys %good) { is $map->incr("by $by", $by), $good{$by}, "'$by'" }
    is $map->incr('by float', 3.0), 3, 'a whole float';
    is $map->incr('by large float', 4.611686018427387904e18), '4611686018427387904', 'a large one';
    is $map->incr('by least float', -9.223372036854775808e18), -9223372036854775807 - 1, 'the smallest one';
    is $map->incr('by true', !!1), 1, 'true is one';

    $map->store('text', 'stays');
    $map->incr('stays', 5);
    for my $by ('x', '', '3x', 1.5, '1.5', 1e-3, 9.223372036854775808e18, 2**63, -2**64, 1e300, 9**9**9, -9**9**9, -sin(9**9**9), '18446744073709551616', '9223372036854775808', '-9223372036854775809', '18446744073709551615', [], 'NaN', 'Inf') {
        croaks_like { $map->incr('stays', $by) } qr/Shared::Arena::Map/, "'$by' is no integer, or too large";
        ok !eval { $map->incr('new', $by); 1 }, 'for a new one either';
    }
    is $map->counter('stays'), 5, 'nothing was counted';
    ok !$map->exists('new'), 'nor created';
};

subtest 'bounds of a packed one' => sub {
    $map->store('p', pack 'q', 2**53 - 1);
    croaks_like { $map->incr('p', 9223372036854775807) } qr/counter overflow/, 'overflow';
    is_deeply [$map->fetch('p')], [pack 'q', 2**53 - 1], 'leaves the bytes';
};

subtest 'many counters' => sub {
    my $many = $arena->map('many', slots => 500);
    for my $round (1 .. 20) { $many->incr("c$_", $_) for 1 .. 500 }
    is_deeply [map { $many->counter("c$_") } 1 .. 500], [map { $_ * 20 } 1 .. 500], 'do not disturb each other';
    intact_ok $many, 'whole';
};

intact_ok $map, 'whole';

done_testing;
