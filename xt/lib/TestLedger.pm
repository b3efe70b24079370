package TestLedger;

# What processes were answered, written down where a kill cannot reach it: in a raw region of the arena that they use.
# Each process has a line of its own. Before a call it says what the call is about to change, after the call what it
# has changed, each in one write of eight bytes. So of a line whose process was killed it is known what was
# acknowledged, and the one call, if any, of which nobody heard.

use strict;
use warnings;

use constant { LINES => 1600, CELLS => 40, WORD => 8 };
use constant { LENGTH => LINES * CELLS * WORD, INTENT => 0 };    # the first cell says what is in flight

# A name for each cell after the first.
my @Names = ('own', 'sum 0', 'sum 1', 'sum 2', 'sum 3', map({"cap $_"} 0 .. 7),
    'cap refused', 'flow', 'flow refused', 'full', 'lapsing', map({"waited $_"} qw(plain tight structures)),
    qw(calls stores forks kills attaches creates destroys carves),
);
my %Cell = map { $Names[$_] => $_ + 1 } 0 .. $#Names;

sub new {
    my ($class, $arena, $line) = @_;
    $arena->region('ledger', size => LENGTH) or die "no room for a ledger\n";
    return bless { arena => $arena, at => $line * CELLS * WORD, line => $line, kept => [(0) x CELLS] }, $class;
}

sub line { my ($self) = @_; return $self->{line} }

sub _write {
    my ($self, $cell, $value) = @_;
    $self->{arena}->poke('ledger', $self->{at} + WORD * $cell, pack 'Q', $value);
    return;
}

# The next call may change that by so much.
sub intend {
    my ($self, $name, $amount) = @_;
    $self->_write(INTENT, $Cell{$name} << 40 | $amount);
    return;
}

# It has come back.
sub done { my ($self) = @_; $self->_write(INTENT, 0); return }

sub add {
    my ($self, $name, $amount) = @_;
    $self->_write($Cell{$name}, $self->{kept}[$Cell{$name}] += $amount);
    return;
}

sub set { my ($self, $name, $value) = @_; $self->_write($Cell{$name}, $self->{kept}[$Cell{$name}] = $value); return }

sub kept { my ($self, $name) = @_; return $self->{kept}[$Cell{$name}] }

# All lines of an arena, when nobody writes: what was acknowledged in all, what may have been done unheard, and line by
# line the number of the process's own key, with the one it may have come to.
sub balance {
    my ($arena) = @_;
    my %balance = (acknowledged => { map { $_ => 0 } @Names }, unheard => { map { $_ => 0 } @Names }, own => [], in_flight => 0);
    return \%balance if !$arena->region('ledger');
    my @words = unpack 'Q*', $arena->peek('ledger', 0, LENGTH);
    for my $line (0 .. LINES - 1) {
        my ($intent, @kept) = @words[$line * CELLS .. $line * CELLS + @Names];
        $balance{acknowledged}{ $Names[$_] } += $kept[$_] for 1 .. $#Names;
        my ($cell, $amount) = ($intent >> 40, $intent & ((1 << 40) - 1));
        $balance{own}[$line] = [$kept[0], $cell == $Cell{own} ? $amount : ()];
        next if !$intent;
        $balance{in_flight}++;
        $balance{unheard}{ $Names[$cell - 1] } += $amount;
    }
    return \%balance;
}

sub clear { my ($arena) = @_; $arena->poke('ledger', 0, "\0" x LENGTH) if $arena->region('ledger'); return }

1;
