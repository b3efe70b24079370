package TestScalars;

# Scalars of every kind, as pairs of a name and a value, and code that makes one of a known kind.

use strict;
use warnings;

use Exporter 'import';

our @EXPORT = qw(integers unsigneds doubles nans strings booleans integer unsigned double upgraded);

# One of a kind, from what may be another.
sub integer  { my ($value) = @_; return unpack 'q', pack 'q', $value }
sub unsigned { my ($value) = @_; return unpack 'Q', pack 'Q', $value }
sub double   { my ($value) = @_; return unpack 'd', pack 'd', $value }
sub upgraded { my ($text) = @_; utf8::upgrade($text); return $text }

sub _from_bits { my ($format, $bits) = @_; return unpack $format, pack 'H*', $bits }

# Text with a character above 255 that was cut off again: what is left is flagged, and stays so.
sub _cut_off { my ($text) = @_; return substr "$text\x{263A}", 0, length $text }

sub integers {
    return map { $_ => integer($_) } qw(
        0 1 -1 15 16 17 -15 -16 -17 127 128 255 256 16383 16384 -128 -129
        2147483647 2147483648 2147483649 -2147483647 -2147483648 -2147483649
        4294967295 4294967296 4294967297 -4294967295 -4294967296 -4294967297
        9007199254740991 9007199254740992 9007199254740993 -9007199254740991 -9007199254740992 -9007199254740993
        9223372036854775806 9223372036854775807 -9223372036854775807 -9223372036854775808
    );
}

# Above the integers with a sign.
sub unsigneds {
    return map { $_ => unsigned($_) }
        qw(9223372036854775808 9223372036854775809 18446744073709551614 18446744073709551615);
}

sub doubles {
    return (
        (map { $_ => double($_) } 0.5, -0.5, 0.1, -0.1, 1.5, -2.25, 1 / 3, 16777217.5, 1e15, 1e16),
        (map { $_ => double($_) } 3.4028234663852886e38, 1.5e38, 3.5e38, 1e300, -1e300, 1e-300, -1e-300, 1e-46),
        (map { ("$_ as a double" => double($_)) }
            0, 1, -1, 3, 15, 16, -16, -17, 16777217, 4294967296, 1e15, 2**53, 2**63, 2**64),
        'minus zero'             => -double(0),
        'the smallest subnormal' => _from_bits('d>', '0000000000000001'),
        'a negative subnormal'   => _from_bits('d>', '800fffffffffffff'),
        'the smallest normal'    => _from_bits('d>', '0010000000000000'),
        'the largest'            => _from_bits('d>', '7fefffffffffffff'),
        'subnormal with 32 bits' => _from_bits('f>', '00000001'),
        'one above 1'            => _from_bits('d>', '3ff0000000000001'),
        'infinity'               => 9**9**9,
        'minus infinity'         => -9**9**9,
    );
}

# What is not a number, each with other bits.
sub nans {
    return (
        'not a number'             => -sin(9**9**9),
        'not a number, other sign' => sin(9**9**9),
        map { ("not a number, $_" => _from_bits('d>', $_)) }
            qw(7ff8000000000000 fff8000000000000 7ff8000000000001 7ff8000000001234 fff8123456789abc),
    );
}

sub strings {
    no warnings;    # about characters that are none
    return (
        (map { ("'$_'" => "$_") } '', ' ', 'a', 0, 1, -1, '0 but true', '007', '1e3', '1.50', '-17.50', ' 1', '+1'),
        (map { ("'$_'" => "$_") } '0x10', 'inf', 'nan', '-0', '-0.0', 'undef', '18446744073709551616'),
        'a newline'              => "1\n",
        'two lines'              => "line\nline",
        'NUL'                    => "abc\0def",
        'one NUL'                => "\0",
        'NUL at the end'         => "abc\0",
        'all bytes'              => join('', map { chr } 0 .. 255),
        'all bytes, flagged'     => upgraded(join '', map { chr } 0 .. 255),
        'a document'             => "=\xF3rl\5\0\x25",
        'empty, flagged'         => upgraded(''),
        'ASCII, flagged'         => upgraded('plain'),
        'latin-1'                => "caf\xE9",
        'latin-1, flagged'       => upgraded("caf\xE9"),
        'cut off text'           => _cut_off("caf\xE9"),
        'the last of the bytes'  => "\xE9\xFF",
        'bytes that are UTF-8'   => "\xC3\xA9",
        'wide'                   => "\x{263A}\x{20AC}",
        'wide with latin-1'      => "\xE9\x{263A}",
        'wide with NUL'          => "\0\x{263A}\0",
        'beyond 16 bits'         => "\x{1F600}",
        'the last of Unicode'    => "\x{10FFFF}",
        'a surrogate'            => chr 0xD800,
        'beyond Unicode'         => chr 0x110000,
        'no character'           => chr 0xFFFF,
        'characters of a v-string' => v1.22.333 . '',
        (map { ("character $_" => chr $_) } 2**31 - 1, 2**31, 2**36, 2**62),
        (map { ("$_ bytes" => 'x' x $_, "$_ bytes, flagged" => upgraded('x' x $_)) }
            1, 31, 32, 127, 128, 129, 255, 256, 300, 16_383, 16_384, 70_000),
        (map { ("$_ of latin-1, flagged" => upgraded("\xE9" x $_), "$_ wide" => "\x{263A}" x $_) }
            31, 32, 50, 100, 127, 128, 300, 20_000),
    );
}

# Perls before 5.36 have none.
sub booleans { return $] >= 5.036 ? (true => !!1, false => !!0) : () }

1;
