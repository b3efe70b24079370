package TestSlot;

# A key of a map whose bytes in shared memory a test can read and overwrite; see Shared::Arena::Format. The key is
# stored once, so that it lies in one buffer only, and its value is changed in place.

use strict;
use warnings;

use constant { HEADER => 32, ALIGNED => 64, KIND => 7 };

# Makes room for `room` bytes under the key.
sub new {
    my ($class, $arena, $region, $map, $key, $room) = @_;
    $map->store($key, 'x' x $room) == 1 or die 'no room';
    my ($offset, $length) = $arena->region($region);
    my $bytes = $arena->peek($region, 0, $length);
    my @found;
    for (my $at = index $bytes, $key; $at >= 0; $at = index $bytes, $key, $at + 1) {
        next if $at < HEADER || ($at - HEADER) % ALIGNED;
        my ($word) = unpack 'Q', substr $bytes, $at - HEADER + 24, 8;
        push @found, $at if $word >> 34 == length $key && ($word >> 3 & 0x7FFF_FFFF) >= $room;
    }
    @found == 1 or die 'found the key ' . @found . ' times';
    my $self = bless { arena => $arena, region => $region, key => $key, word => $found[0] - HEADER + 24, value => $found[0] + length $key }, $class;
    $self->{room} = $self->length;
    return $self;
}

sub length { my ($self) = @_; return $self->_word >> 3 & 0x7FFF_FFFF }
sub bytes  { my ($self) = @_; return $self->{arena}->peek($self->{region}, $self->{value}, $self->length) }
sub _word  { my ($self) = @_; return unpack 'Q', $self->{arena}->peek($self->{region}, $self->{word}, 8) }

# Makes the value these bytes, which the map knows nothing of.
sub plant {
    my ($self, $bytes) = @_;
    CORE::length($bytes) <= $self->{room} or die 'too long to plant';
    my $word = $self->_word & ~(0x7FFF_FFFF << 3) | CORE::length($bytes) << 3;
    $self->{arena}->poke($self->{region}, $self->{word}, pack 'Q', $word);
    $self->{arena}->poke($self->{region}, $self->{value}, $bytes);
    return;
}

# Makes the value one of another kind: 0 bytes, 1 undef, 2 counter, and what has no meaning.
sub set_kind {
    my ($self, $kind) = @_;
    $self->{arena}->poke($self->{region}, $self->{word}, pack 'Q', $self->_word & ~KIND | $kind);
    return;
}

1;
