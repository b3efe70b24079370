package TestModel;

# A map and a hash that is its model. `run` makes random calls on both and returns where they differ.

use strict;
use warnings;

use TestArena;

my $Start = 1_700_000_000;

sub new {
    my ($class, $map, %option) = @_;
    my $self = bless {
        map     => $map,
        slots   => $option{slots},
        names   => [map { "key $_" x (1 + $_ % 3) } 1 .. $option{names}],
        lapsing => $option{deadlines},
        now     => 0,
        live    => {},    # key => [value, deadline or undef, is a counter]
        entered => 0,     # entries made and not deleted: used + expired
        full    => 0,
    }, $class;
    return $self;
}

sub run {
    my ($self, $calls) = @_;
    my @actions = map { $self->can("_$_") } qw(store store store fetch exists delete incr incr counter pass);
    my @wrong;
    for (1 .. $calls) {
        set_clock($Start + $self->{now}) if $self->{lapsing};
        my $key    = $self->{names}[rand @{ $self->{names} }];
        my $action = $actions[rand @actions];
        my ($what, $got, $wanted) = $action->($self, $key);
        push @wrong, "$what gave $got, not $wanted" if $got ne $wanted;
        return @wrong if @wrong > 5;
    }
    return (@wrong, $self->_figures);
}

# What is live now. Lapsed entries leave the model at once.
sub _entry {
    my ($self, $key) = @_;
    my $entry = $self->{live}{$key} or return;
    return $entry if !defined $entry->[1] || $entry->[1] > $self->{now};
    delete $self->{live}{$key};
    return;
}

sub _count { my ($self) = @_; $self->_entry($_) for keys %{ $self->{live} }; return scalar keys %{ $self->{live} } }

sub _deadline {
    my ($self) = @_;
    return if !$self->{lapsing} || rand() < 0.4;
    return 1 + int rand 30;
}

sub _shown { my (@list) = @_; return @list ? defined $list[0] ? "<$list[0]>" : 'undef' : 'nothing' }

sub _store {
    my ($self, $key) = @_;
    my $value  = (rand() < 0.1 ? undef : rand() < 0.1 ? '' : 'v' x int rand 40);
    my $ttl    = $self->_deadline;
    my $room   = $self->_entry($key) || $self->_count < $self->{slots};
    my $answer = $self->{map}->store($key, $value, defined $ttl ? (ttl => $ttl) : ());
    if ($room) {
        $self->{entered}++ if !$self->{live}{$key};
        $self->{live}{$key} = [$value, defined $ttl ? $self->{now} + $ttl : undef, 0];
    }
    else { $self->{full}++ }
    return ("store $key", $answer, $room ? 1 : 0);
}

sub _fetch {
    my ($self, $key) = @_;
    my @got   = $self->{map}->fetch($key);
    my $entry = $self->_entry($key);
    return ("fetch $key", _shown(@got), _shown($entry ? $entry->[0] : ()));
}

sub _exists {
    my ($self, $key) = @_;
    return ("exists $key", $self->{map}->exists($key) ? 1 : 0, $self->_entry($key) ? 1 : 0);
}

sub _delete {
    my ($self, $key) = @_;
    my $there = $self->_entry($key) ? 1 : 0;
    $self->{entered} -= $there;
    delete $self->{live}{$key};
    return ("delete $key", $self->{map}->delete($key), $there);
}

sub _incr {
    my ($self, $key) = @_;
    my $by     = int(rand 100) - 50;
    my $ttl    = $self->_deadline;
    my $entry  = $self->_entry($key);
    my $wanted = $entry ? ($entry->[2] ? $entry->[0] + $by : undef) : $self->_count < $self->{slots} ? $by : undef;
    my $got    = $self->{map}->incr($key, $by, defined $ttl ? (ttl => $ttl) : ());
    if ($entry) { $entry->[0] = $wanted if $entry->[2] }
    elsif (defined $wanted) {
        $self->{entered}++;
        $self->{live}{$key} = [$by, defined $ttl ? $self->{now} + $ttl : undef, 1];
    }
    else { $self->{full}++ }
    return ("incr $key by $by", _shown($got), _shown($wanted));
}

sub _counter {
    my ($self, $key) = @_;
    my $entry = $self->_entry($key);
    return ("counter $key", _shown($self->{map}->counter($key)), _shown($entry && $entry->[2] ? $entry->[0] : undef));
}

# Time goes on, in steps that never land on a deadline.
sub _pass { my ($self) = @_; $self->{now} += int(rand 6) + 0.5 if $self->{lapsing} && rand() < 0.5; return ('pass', '', '') }

sub _figures {
    my ($self) = @_;
    set_clock($Start + $self->{now}) if $self->{lapsing};
    my $count = $self->_count;
    my %stats = $self->{map}->stats;
    my @keys  = $self->{map}->keys;
    my %verdict = $self->{map}->_verify;
    my @wrong;
    push @wrong, 'keys are not the live ones' if join("\0", sort @keys) ne join("\0", sort keys %{ $self->{live} });
    push @wrong, "used $stats{used} and expired $stats{expired} are not the $self->{entered} that entered" if $stats{used} + $stats{expired} != $self->{entered};
    push @wrong, "used $stats{used} is less than the $count live ones" if $stats{used} < $count;
    push @wrong, "used $stats{used} of $stats{capacity}" if $stats{used} > $stats{capacity} || $stats{capacity} != $self->{slots};
    push @wrong, "full $stats{full}, not $self->{full}" if $stats{full} != $self->{full};
    push @wrong, "busy $stats{busy}" if $stats{busy};
    push @wrong, $verdict{problem} if !$verdict{ok};
    return @wrong;
}

1;
