package TestScribble;

# Somebody who writes over the file of a named arena, at places where something is, with values that are mostly not far
# from what could be there. Maps nothing: what it writes into the file, all who have the arena mapped see at once.

use strict;
use warnings;

use Fcntl qw(O_RDWR SEEK_SET);
use TestPlaces;

use constant { OWNER_DIED => 1 << 30, WAITERS => 1 << 31, NOBODY => 0x3FFF_FFFE };

# How often each kind of word is hit; a kind that is not here, as often as one of weight 2.
my %Weight = (
    lock     => 8, spare => 6, step => 4, position => 3, claim => 4, cursor => 3, word => 10, reach => 8, owner => 6,
    sequence => 8, lengths => 10, deadline => 5, number => 3, body => 4, document => 12, bucket => 8, arrival => 8,
    bound    => 3, vacancies => 3, 'region place' => 5, 'region count' => 3, carving => 3, reserved => 0.2,
);

# Of the file at that path, which holds the image now. All choices come from perl's rand.
sub new {
    my ($class, $path, $image) = @_;
    my $found = places_in($image);
    my ($sum, @kinds) = (0);
    for my $kind (sort keys %{ $found->{places} }) {
        $sum += $Weight{$kind} || 2;
        push @kinds, [$sum, $found->{places}{$kind}, $kind];
    }
    sysopen my $file, $path, O_RDWR or die "open $path: $!";
    my $self = bless { %$found, image => $image, file => $file, kinds => \@kinds, sum => $sum }, $class;
    $self->{compounds} = [map { $self->can($_) } qw(_journal _one_buffer_twice _one_spare_twice _claim _one_bucket_twice _one_place_twice)];
    return $self;
}

# All bytes as they were.
sub restore {
    my ($self) = @_;
    sysseek $self->{file}, 0, SEEK_SET;
    syswrite($self->{file}, $self->{image}) == length $self->{image} or die "write: $!";
    return;
}

# Writes somewhere, once or a few times.
sub scribble {
    my ($self) = @_;
    $self->write($_) for $self->changes;
    return;
}

# An offset and bytes.
sub write {
    my ($self, $change) = @_;
    sysseek $self->{file}, $change->[0], SEEK_SET;
    defined syswrite $self->{file}, $change->[1] or die "write: $!";
    return;
}

# What it would write, and where, as pairs.
sub changes {
    my ($self) = @_;
    my $draw = rand;
    return $self->_word if $draw < 0.70;
    return $self->_run if $draw < 0.80;
    my $compounds = $self->{compounds};
    return grep { defined $_->[0] } $compounds->[rand @$compounds]->($self);
}

# A word of some kind.
sub _word {
    my ($self) = @_;
    my $draw = rand $self->{sum};
    my ($low, $high) = (0, $#{ $self->{kinds} });
    while ($low < $high) {
        my $middle = int(($low + $high) / 2);
        if ($self->{kinds}[$middle][0] > $draw) { $high = $middle }
        else                                    { $low  = $middle + 1 }
    }
    my (undef, $places, $kind) = @{ $self->{kinds}[$low] };
    my ($at, $length) = @{ $places->[rand @$places] };
    if ($length > 8) { $at += int rand $length; $length = 1 }    # text: a byte of it
    return [$at, $self->_value($kind, $at, $length, $places)];
}

# A run of bytes, anywhere: copied from elsewhere, or all of one kind.
sub _run {
    my ($self) = @_;
    my $all    = length $self->{image};
    my $length = 1 + int rand(rand() < 0.5 ? 16 : 300);
    my $at     = int rand($all - $length);
    $at -= $at % 8 if rand() < 0.7;
    my $draw = rand;
    return [$at, substr $self->{image}, int rand($all - $length), $length] if $draw < 0.4;
    return [$at, chr(rand() < 0.5 ? 0 : 255) x $length] if $draw < 0.6;
    return [$at, join '', map { chr rand 256 } 1 .. $length];
}

# What a word of that kind may be overwritten with.
my @Values = (
    sub { join '', map { chr rand 256 } 1 .. $_[2] },
    sub { "\0" x $_[2] },
    sub { "\xFF" x $_[2] },
    sub { _packed($_[2], int rand 40) },
    sub { _packed($_[2], int rand 70_000) },
    sub { my ($self, $at, $bytes) = @_; _packed($bytes, $self->_now($at, $bytes) + 1) },
    sub { my ($self, $at, $bytes) = @_; _packed($bytes, $self->_now($at, $bytes) - 1) },
    sub { my ($self, $at, $bytes) = @_; _packed($bytes, $self->_now($at, $bytes) ^ 1 << int rand 8 * $bytes) },
    # Another one of the kind, which may well have another length.
    sub { my ($self, $at, $bytes, $places) = @_; substr $self->{image}, $places->[rand @$places][0], $bytes },
    sub { my ($self, $at, $bytes, $places) = @_; substr $self->{image}, $places->[rand @$places][0], $bytes },
);

my %Values = (
    lock => sub { _lock() },
    owner => sub { chr((0, 1, 2, 3, 64, 65, 254, 255)[rand 8]) },
    sequence => sub { my ($self, $at) = @_; _packed(8, $self->_now($at, 8) + int rand 4) },
    # Kind, length of the value, length of the key; around what fits.
    lengths => sub { _packed(8, int(rand 4) | _length() << 3 | _length() << 34) },
    reach   => sub { _packed(8, (1, 2, 3, 4, 5, 6, 9, 10, 11, 100, 16_384)[rand 11]) },
    step    => sub { _packed(8, int rand 6) },
    claim   => sub { _packed(8, int(rand 40) | int(rand 2) << 63) },
    word    => sub { my ($self, $at) = @_; _packed(8, $self->_now($at, 8) & 0xFFFF_FFFF | int(rand 40) << 32) },
    deadline => sub { _packed(8, (0, 1, 1_700_000_000_000, 1_700_000_001_000, 1_700_000_010_000, ~0)[rand 6]) },
    bound   => sub { _packed(8, (0, 1, 1_700_000_000_000, 1_700_000_010_000, ~0)[rand 5]) },
    arrival => sub { my ($self, $at) = @_; _packed(8, $self->_now($at, 8) + (-1) ** int(rand 2) * int 2**rand 60) },
    'region place' => sub { _packed(8, 64 * int rand length($_[0]{image}) / 60) },
);

sub _value {
    my ($self, $kind, $at, $length, $places) = @_;
    my $own = $Values{$kind};
    return $own->($self, $at) if $own && rand() < 0.5;
    return $Values[rand @Values]->($self, $at, $length, $places);
}

sub _length { return rand() < 0.6 ? int rand 140 : int 2**rand 31 }

# A lock's word: nobody, the caller itself, its parent, the machine's first process or one that is no more; with marks.
sub _lock {
    my $holder = (0, 0, $$, getppid, 1, NOBODY)[rand 6];
    return pack 'L', $holder | (0, 0, WAITERS, OWNER_DIED, WAITERS | OWNER_DIED)[rand 5];
}

# What is there now.
sub _now {
    my ($self, $at, $bytes) = @_;
    sysseek $self->{file}, $at, SEEK_SET;
    sysread $self->{file}, my ($now), $bytes;
    return $bytes == 8 ? unpack('Q', $now) : $bytes == 4 ? unpack('L', $now) : ord $now;
}

sub _packed { use integer; my ($bytes, $value) = @_; return pack $bytes == 8 ? 'Q' : $bytes == 4 ? 'L' : 'C', $bytes == 1 ? $value & 255 : $value }

# Several words that make sense together

# A writer died in the middle of a change that nobody had begun.
sub _journal {
    my ($self) = @_;
    my $map    = $self->{maps}[rand @{ $self->{maps} }];
    my $stripe = $map->{stripes}[rand @{ $map->{stripes} }];
    my $word   = sub {
        return rand() < 0.2 ? "\0" x 8 : substr $self->{image}, $map->{words}[rand @{ $map->{words} }], 8;
    };
    my ($before, $after) = ($word->(), $word->());
    $after = substr($after, 0, 4) . pack 'L', rand $map->{buffers} + 3 if rand() < 0.5;
    my $group = int rand(rand() < 0.9 ? $map->{groups} : 2**40);
    return (
        [$stripe + 8, pack 'Q2', int rand 6, $group * 8 + int rand 8],
        [$stripe + 24, $before . $after],
        [$stripe + 40, _packed(8, (rand() < 0.3 ? 0 : 1 + int rand $map->{buffers} + 3) | int(rand 2) << 63)],
        [$stripe, pack 'L', OWNER_DIED | (0, 0, WAITERS, NOBODY)[rand 4]],
    );
}

sub _one_buffer_twice {
    my ($self) = @_;
    my $map = $self->{maps}[rand @{ $self->{maps} }];
    my ($one, $other) = map { $map->{words}[rand @{ $map->{words} }] } 1, 2;
    return [$other + 4, substr $self->{image}, $one + 4, 4];
}

# The spare of a stripe is another's, or has an entry in it.
sub _one_spare_twice {
    my ($self) = @_;
    my $map = $self->{maps}[rand @{ $self->{maps} }];
    my ($one, $other) = map { $map->{stripes}[rand @{ $map->{stripes} }] } 1, 2;
    my $from = rand() < 0.5 ? $one : $map->{words}[rand @{ $map->{words} }];
    return [$other + 4, substr $self->{image}, $from + 4, 4];
}

# A claim on behalf of a key that may have a bucket.
sub _claim {
    my ($self) = @_;
    my ($one, $other) = $self->_two_buckets;
    return [$other, substr($self->{image}, $one, 8) . _packed(8, 0xFF << 56 | int rand 40)];
}

sub _one_bucket_twice {
    my ($self) = @_;
    my ($one, $other) = $self->_two_buckets;
    return [$other, substr $self->{image}, $one, 16];
}

# Near each other, where the keys of one group are.
sub _two_buckets {
    my ($self) = @_;
    my $buckets = $self->{limiters}[rand @{ $self->{limiters} }]{buckets};
    my $group   = 64 * int rand @$buckets / 64;
    my @used    = grep { substr($self->{image}, $_ + 8, 8) ne "\0" x 8 } @$buckets[$group .. $group + 63];
    my $one     = @used ? $used[rand @used] : $buckets->[$group];
    return ($one, $buckets->[$group + rand 64]);
}

# A region lies where another does, or a little beside it.
sub _one_place_twice {
    my ($self) = @_;
    my ($one, $other) = map { $self->{entries}[rand @{ $self->{entries} }] } 1, 2;
    my $offset = unpack 'Q', substr $self->{image}, $one + 32, 8;
    return [$other + 32, _packed(8, $offset + 64 * int(rand 5) - 128)];
}

1;
