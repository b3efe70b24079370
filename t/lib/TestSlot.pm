package TestSlot;

# The bytes of a value in its buffer of a map, to look at and to replace; see Shared::Arena::Format. The key must have
# been stored once only, so that no buffer that was given back has it too.

use strict;
use warnings;

# Of a buffer: where the word with the kind and the lengths stands, and where the key starts.
use constant { ALIGNED => 64, LENGTHS => 24, KEY => 32 };

# The value's length in that word; the key's is above it, the kind below.
use constant { SHIFT => 3, MOST => 0x7FFF_FFFF, KEY_SHIFT => 34, KIND => 7 };

sub new {
    my ($class, $arena, $region, $map, $key) = @_;
    my (undef, $size) = $arena->region($region);
    my $all = $arena->peek($region, 0, $size);
    my @buffers;
    for (my $at = index $all, $key; $at >= 0; $at = index $all, $key, $at + 1) {
        my $buffer = $at - KEY;
        next if $buffer < 0 || $buffer % ALIGNED;
        push @buffers, $buffer if unpack('Q', substr $all, $buffer + LENGTHS, 8) >> KEY_SHIFT == length $key;
    }
    @buffers == 1 or die 'found the key ' . @buffers . ' times';
    my ($buffer) = @buffers;
    return bless {
        arena   => $arena,
        region  => $region,
        lengths => $buffer + LENGTHS,
        value   => $buffer + KEY + length $key,
        room    => $map->max_pair - length $key,
    }, $class;
}

sub bytes {
    my ($self) = @_;
    return $self->{arena}->peek($self->{region}, $self->{value}, $self->_word >> SHIFT & MOST);
}

# Makes the value these bytes, which the map knows nothing of.
sub plant {
    my ($self, $bytes) = @_;
    length $bytes <= $self->{room} or die 'too long to plant';
    $self->{arena}->poke($self->{region}, $self->{value}, $bytes);
    return $self->_set_word($self->_word & ~(MOST << SHIFT) | length($bytes) << SHIFT);
}

# Makes the value one of another kind: 0 bytes, 1 undef, 2 counter, and what has no meaning.
sub set_kind { my ($self, $kind) = @_; return $self->_set_word($self->_word & ~KIND | $kind) }

sub _word { my ($self) = @_; return unpack 'Q', $self->{arena}->peek($self->{region}, $self->{lengths}, 8) }

sub _set_word {
    my ($self, $word) = @_;
    $self->{arena}->poke($self->{region}, $self->{lengths}, pack 'Q', $word);
    return;
}

1;
