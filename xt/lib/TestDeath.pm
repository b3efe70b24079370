package TestDeath;

# An operation on an arena, done again and again by children that each die after another instruction of it, and what a
# survivor finds afterwards: everything that the interface shows must be as if the call had never been made, or as if it
# had been made to its end. (In a few operations there is a third state, which the row of the operation names.)
#
# Every child begins with the identical bytes: the arena is a file, and its first state is written over it each time. Time
# stands still.
#
# A subclass says what there is and what is looked at:
#
#   set_up($arena)      makes the prior state and returns the object that the operation is called with
#   extent              the arguments of Shared::Arena->create
#   warm($object)       what a child does before, so that it is no newcomer to the arena
#   look                what the survivor finds, by name, having changed nothing that matters; and what is wrong in itself
#   use_up              takes everything there is to the last slot; returns what was wrong
#
# An operation that executes very many instructions, most of which have little to do with the arena, has some of them left
# out (`sparse`), or is left out itself (`long`), unless all are wanted.

use strict;
use warnings;

use Shared::Arena;
use TestArena;
use TestSteps;

my @Names = ('death', 'practice');
my $Most  = 5;     # mistakes, after which an operation has been heard enough of
my $Long  = 300;   # seconds in which no survivor's call may hang
my $Again = 4;     # times that a death is repeated which came elsewhere

sub new {
    my ($class, %operation) = @_;
    my $self = bless {%operation}, $class;
    my $path = arena_path($Names[0]);
    ($self->{object}, $self->{practice})
        = map { $self->set_up(Shared::Arena->create(name => $_, $self->extent)) } @Names;
    $self->{image} = read_file($path);
    open $self->{file}, '+<:raw', $path or die "open $path: $!";
    return $self->begin;
}

sub begin {
    my ($self) = @_;
    $self->{way} = TestSteps->new(
        ready => sub { $self->ready },
        run   => $self->{run},
        with  => $self->{object},
    );
    return $self;
}

sub finish { Shared::Arena->destroy($_) for @Names; return }

# The call has been compiled and made, with another object, and the child is known in this arena.
sub ready {
    my ($self) = @_;
    return if $self->{newcomer};
    $self->{run}->($self->{practice});
    $self->warm($self->{object});
    return;
}

sub restore {
    my ($self) = @_;
    sysseek $self->{file}, 0, 0;
    syswrite($self->{file}, $self->{image}) == length $self->{image} or die "write: $!";
    return;
}

sub bytes {
    my ($self) = @_;
    sysseek $self->{file}, 0, 0;
    sysread $self->{file}, my $bytes, length $self->{image};
    return $bytes;
}

# Locks that were broken because nobody living held them, which the kernel had not been told of.
sub broken_locks { my ($self) = @_; return unpack 'Q', substr $self->bytes, 112, 8 }

# Deaths after every so many instructions, and after each that changed the shared bytes, from the first instruction of the
# module to its last one: what perl executes before and after them knows nothing of arenas, and the walk has seen that it
# changes nothing there. Returns what was found.
sub die_everywhere {
    my ($self, $every, $start) = @_;
    my $way = $self->{way};
    my %found = (deaths => 0, elsewhere => 0, wrong => [], seen => {});
    watchdog($Long);
    Shared::Arena::_lock_patience(0.2);
    $self->restore;
    $way->walk(sub { $self->bytes });
    my @changes = $way->changes;
    push @{ $found{wrong} }, 'the shared bytes changed outside of the module'
        if @changes && ($changes[0] <= $way->first || $changes[-1] > $way->last);
    @found{qw(instructions changes)} = ($way->last - $way->first, scalar @changes);

    $self->_learn_outcomes($found{wrong});
    $every *= $self->{sparse} if $self->{sparse} && $every > 1;
    my @regular = map { $way->first + $start % $every + $_ * $every } 0 .. $found{instructions} / $every;
    my %at      = map { $_ => 1 } @changes, @regular;
    for my $n (sort { $a <=> $b } grep { $_ <= $way->last } keys %at) {
        $self->_die($n, \%found);
        last if @{ $found{wrong} } >= $Most;
    }
    return \%found;
}

sub _die {
    my ($self, $n, $found) = @_;
    my $there;
    for (0 .. $Again) {
        watchdog($Long);
        $self->restore;
        $there = $self->{way}->die_after($n);
        $found->{deaths}++;
        my $when = sprintf 'killed after %d instructions of %d, before %s', $n - $self->{way}->first,
            $found->{instructions}, $self->{way}->place($n);
        my ($seen, @wrong) = $self->_look;
        my ($outcome) = grep { $self->{outcomes}{$_} eq $seen } sort keys %{ $self->{outcomes} };
        if   (defined $outcome) { $found->{seen}{$outcome}++ }
        else                    { push @wrong, $self->_difference($seen) }
        if (!@wrong) {
            push @wrong, eval { $self->use_up };
            push @wrong, $@ if $@;
        }
        push @{ $found->{wrong} }, map {"$when: $_"} @wrong;
        last if $there;
    }
    $found->{elsewhere}++ if !$there;
    return;
}

# How it looks when the operation has not begun, when it is over, and in between, as far as the row says so: one of the
# two, or what another call leaves, but for what the figures given there differ by.
sub _learn_outcomes {
    my ($self, $wrong) = @_;
    my ($old, $new) = @{ $self->{reads} };
    my %state;
    for (['before', 0, $old], ['after', $self->{way}->steps + 1, defined $new ? $new : $old]) {
        my ($when, $steps, $reads) = @$_;
        $self->restore;
        $self->{way}->die_after($steps);
        $state{$when} = $self->_looked($wrong);
        push @$wrong, "$when the call it reads $state{$when}{reads} and not $reads"
            if defined $reads && $state{$when}{reads} ne $reads;
    }
    my $between = $self->{between} || [];
    for my $number (1 .. @$between) {
        my ($base, %more) = @{ $between->[ $number - 1 ] };
        my $state = ref $base ? $self->_left_by($base, $wrong) : { %{ $state{$base} } };
        $state->{$_} += $more{$_} for keys %more;
        $state{"between $number"} = $state;
    }
    $self->{outcomes} = { map { $_ => _text($state{$_}) } keys %state };
    return;
}

sub _left_by {
    my ($self, $call, $wrong) = @_;
    $self->restore;
    $self->warm($self->{object});
    $call->($self->{object});
    return $self->_looked($wrong);
}

sub _looked {
    my ($self, $wrong) = @_;
    my ($seen, @wrong) = eval { $self->look };
    push @$wrong, @wrong, $@ ? $@ : ();
    return $seen || { reads => 'nothing' };
}

sub _look {
    my ($self) = @_;
    my @wrong;
    my $seen = $self->_looked(\@wrong);
    return (_text($seen), @wrong);
}

sub _text { my ($seen) = @_; return join "\n", map {"$_: $seen->{$_}"} sort keys %$seen }

sub _difference {
    my ($self, $seen) = @_;
    my @seen = split /\n/, $seen;
    my @differences;
    for my $outcome (sort keys %{ $self->{outcomes} }) {
        my %there = map { $_ => 1 } split /\n/, $self->{outcomes}{$outcome};
        push @differences, "unlike $outcome: " . join '; ', grep { !$there{$_} } @seen;
    }
    return join ' | ', @differences;
}

# The shared bytes as a death after each change leaves them, or after every so many of them; by the changes' numbers.
sub images {
    my ($self, $every) = @_;
    $self->restore;
    $self->{way}->walk(sub { $self->bytes });
    my @changes = $self->{way}->changes;
    my %image;
    for my $number (grep { $_ % $every == 0 } 1 .. @changes) {
        $self->restore;
        $self->{way}->die_after($changes[$number - 1]);
        $image{$number} = $self->bytes;
    }
    return %image;
}

# Whether both outcomes have been seen, where the call changes something.
sub saw_both {
    my ($self, $found) = @_;
    my $changes = $self->{outcomes}{before} ne $self->{outcomes}{after};
    return $found->{seen}{after} && (!$changes || $found->{seen}{before});
}

1;
