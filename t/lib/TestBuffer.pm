package TestBuffer;

# The bytes of a value in its buffer of a map, to look at and to replace; see Shared::Arena::Format. The key must have been
# stored once only, so that no buffer that was given back has it too.

use strict;
use warnings;

use Exporter 'import';

our @EXPORT = qw(value_bytes set_value_bytes);

# Of a buffer: where the word with the kind and the lengths stands, and where the key starts.
use constant { LENGTHS => 24, KEY => 32 };

sub value_bytes {
    my ($arena, $region, $key) = @_;
    my ($buffer, $length) = _buffer($arena, $region, $key);
    return $arena->peek($region, $buffer + KEY + length $key, $length);
}

# There must be room for the bytes.
sub set_value_bytes {
    my ($arena, $region, $key, $bytes) = @_;
    my ($buffer, undef, $kind) = _buffer($arena, $region, $key);
    $arena->poke($region, $buffer + KEY + length $key, $bytes);
    $arena->poke($region, $buffer + LENGTHS, pack 'Q', $kind | length($bytes) << 3 | length($key) << 34);
    return;
}

# Where the buffer with a key is, the length of its value, and its kind.
sub _buffer {
    my ($arena, $region, $key) = @_;
    my (undef, $size) = $arena->region($region);
    my $all = $arena->peek($region, 0, $size);
    for (my $at = index $all, $key; $at >= 0; $at = index $all, $key, $at + 1) {
        next if $at < KEY || ($at - KEY) % 64;
        my $lengths = unpack 'Q', substr $all, $at - KEY + LENGTHS, 8;
        return ($at - KEY, $lengths >> 3 & 0x7fff_ffff, $lengths & 7) if $lengths >> 34 == length $key;
    }
    die "no buffer holds the key $key";
}

1;
