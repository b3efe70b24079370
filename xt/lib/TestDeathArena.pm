package TestDeathArena;

# Operations on an arena's regions that children die in, and what a survivor finds there, who attaches only then.

use strict;
use warnings;

use parent 'TestDeath';

use Shared::Arena;
use TestArena;

my @Rate = (limit => 10, window => 1000, slots => 64);

# What the operation carves or finds, and what is wrong with it when the survivor has it.
my %Map    = (sparse => 4, carve => sub { $_[0]->map('new', slots => 8, slot_size => 64) }, uses => \&_wrong_map);
my %Rate   = (sparse => 4, carve => sub { $_[0]->rate('new', @Rate) }, uses => \&_wrong_rate);
my %Region = (carve => sub { my ($offset) = $_[0]->region('new', size => 200) }, uses => \&_wrong_region);

my @Old  = ('old', slots => 8, slot_size => 64);
my $Rest = 512;    # left for one more region

# `reads` is what the new name is before and after, if that differs.
sub operations {
    return (
        {
            %Map, name => 'carve a map', reads => ['absent', 'a map'],
            run => sub { $_[0]->map('new', slots => 8, slot_size => 64) },
        },
        {
            %Map, name => 'carve a map, the first call of a process', newcomer => 1, reads => ['absent', 'a map'],
            run => sub { $_[0]->map('new', slots => 8, slot_size => 64) },
        },
        {
            %Map, name => 'attach and carve a map', long => 1, reads => ['absent', 'a map'],
            run => sub { Shared::Arena->attach($_[0]->name)->map('new', slots => 8, slot_size => 64) },
        },
        {
            %Map, name => 'carve a map that does not fit', long => 1, reads => ['absent'],
            run => sub { eval { $_[0]->map('new', slots => 800, slot_size => 64) } },
        },
        {
            %Map, name => 'find a map', before => $Map{carve}, reads => ['a map'],
            run => sub { $_[0]->map('new', slots => 8, slot_size => 64) },
        },
        {
            %Map, name => 'find a map of another shape', long => 1, before => $Map{carve}, reads => ['a map'],
            run => sub { eval { $_[0]->map('new', slots => 9, slot_size => 64) } },
        },
        {
            %Rate, name => 'carve a limiter', reads => ['absent', 'a limiter'],
            run => sub { $_[0]->rate('new', limit => 10, window => 1000, slots => 64) },
        },
        {
            %Region, name => 'carve a region', reads => ['absent', 'a region of 0 and 0'],
            run => sub { my ($offset) = $_[0]->region('new', size => 200) },
        },
        {
            %Region, name => 'poke of eight bytes', before => $Region{carve},
            reads => ['a region of 0 and 0', 'a region of 0 and 7'],
            run => sub { $_[0]->poke('new', 8, "\7\0\0\0\0\0\0\0") },
        },
    );
}

# Exactly what all of it takes.
sub extent {
    my ($self) = @_;
    my $scratch = Shared::Arena->create(size => 8192, regions => 3);
    $scratch->map(@Old);
    $self->{carve}->($scratch);
    return (size => 8192 - _free($scratch) + $Rest, regions => 4);
}

sub set_up {
    my ($self, $arena) = @_;
    set_clock(undef, 1000);
    $arena->map(@Old)->store('key', 'untouched');
    $self->{before}->($arena) if $self->{before};
    return $arena;
}

# It has taken a lock of this arena.
sub warm { my ($self, $arena) = @_; $arena->map(@Old)->delete('nobody'); return }

sub look {
    my ($self) = @_;
    my $arena = $self->{survivor} = Shared::Arena->attach('death');
    my %seen  = (
        reads   => _kind($arena),
        regions => join(' ', $arena->regions),
        old     => $arena->map(@Old)->fetch('key'),
        refused => $arena->refused,
        free    => _free($arena),
        broken  => $self->broken_locks,
    );
    return \%seen;
}

# A carver who asks for the impossible is told what there is, or what is left.
sub _told {
    my ($arena, $name, $pattern) = @_;
    return 'this was carved' if eval { $arena->map($name, slots => 1 << 20); 1 };
    return $@ =~ $pattern ? $1 : undef;
}

sub _free { my ($arena) = @_; return _told($arena, 'more', qr/ (\d+) are free/) }

sub _kind {
    my ($arena) = @_;
    my $kind = _told($arena, 'new', qr/there is (an? \w+)/);
    return 'absent' if !defined $kind;
    return $kind if $kind ne 'a region';
    return 'a region of ' . join ' and ', unpack 'Q2', $arena->peek('new', 0, 16);
}

# What was carved is whole, or can be carved now, and so can one more region, filled with zeros, before or after it. Then
# all is used up.
sub use_up {
    my ($self) = @_;
    my $arena  = $self->{survivor};
    my ($rest) = $self->{uses_made}++ % 2 ? $arena->region('rest', size => $Rest) : ();
    my @wrong  = $self->{uses}->($arena, $self->{carve}->($arena));
    ($rest) = $arena->region('rest', size => $Rest) if !defined $rest;
    push @wrong, 'no room for one more region' if !defined $rest;
    push @wrong, 'it is not filled with zeros' if defined $rest && $arena->peek('rest', 0, $Rest) =~ /[^\0]/;
    push @wrong, 'room for too many regions'   if $arena->regions != 3 || _free($arena) != 0;
    push @wrong, 'the old map has changed'     if $arena->map(@Old)->fetch('key') ne 'untouched';
    push @wrong, 'a lock was broken'           if $self->broken_locks;
    return @wrong;
}

sub _wrong_map {
    my ($arena, $map) = @_;
    my $taken = 0;
    $taken++ while $taken <= 8 && $map->store("key $taken", 'x') == 1;
    my %verdict = $map->_verify;
    my %stats   = $map->stats;
    my @wrong = $verdict{ok} ? () : $verdict{problem};
    push @wrong, "$taken keys in the map" if $taken != 8;
    push @wrong, 'wrong figures'          if $stats{used} != 8 || $stats{busy};
    return @wrong;
}

sub _wrong_rate {
    my ($arena, $rate) = @_;
    my $allowed = grep { $rate->allow("key $_", 10) } 1 .. 64;
    my %stats   = $rate->stats;
    my @wrong;
    push @wrong, "$allowed keys in the limiter" if $allowed != 64;
    push @wrong, 'wrong figures'                if $stats{allowed} != 64 || $stats{evicted} || $stats{contended};
    return @wrong;
}

# But for the eight bytes that one operation writes.
sub _wrong_region {
    my ($arena) = @_;
    return $arena->peek('new', 16, 184) =~ /[^\0]/ ? 'the region is not filled with zeros' : ();
}

1;
