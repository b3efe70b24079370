package BenchTable;

# A map filled to a wanted share with keys of which any can be drawn at random, and the pieces of keys that the
# benchmarks work through. Keys are all made before they are timed.

use strict;
use warnings;

use List::Util qw(shuffle);

use BenchClock;
use Shared::Arena;

my $Value = 'eightval';    # eight bytes that are no counter

# Fills the whole table, then deletes random keys until the wanted number is left, so that what is free lies anywhere.
# There are counters as well, one for twenty slots whatever the fill, which stay.
sub new {
    my ($class, $slots, $live) = @_;
    my $arena = Shared::Arena->create(size => $slots * 64 + 208, regions => 1);
    my $map   = $arena->map('m', slots => $slots, slot_size => 64);
    my $self  = bless { arena => $arena, map => $map, slots => $slots, live => '' }, $class;
    $self->{counters} = $slots / 20;
    $self->{next} = $slots - $self->{counters};
    $map->incr("c$_") for 1 .. $self->{counters};
    my $count = $self->{next};
    for my $number (0 .. $count - 1) {
        $map->store("k$number", $Value);
        vec($self->{live}, $number, 32) = $number;
        progress(sprintf '%s slots: %d %% filled', $slots, 100 * $number / $slots) if $number % 100_000 == 0;
    }
    while ($count > $live - $self->{counters}) {
        my $index = int rand $count--;
        $map->delete('k' . vec($self->{live}, $index, 32));
        vec($self->{live}, $index, 32) = vec($self->{live}, $count, 32);
    }
    substr($self->{live}, 4 * $count) = '';
    $self->{count} = $count;
    progress('');
    return $self;
}

# Random keys that are there, that never were there, and of counters.
sub live_keys {
    my ($self, $count) = @_;
    return [map { 'k' . vec($self->{live}, int rand $self->{count}, 32) } 1 .. $count];
}
sub absent_keys  { my ($self, $count) = @_; return [map { 'm' . int rand $self->{slots} } 1 .. $count] }
sub counter_keys { my ($self, $count) = @_; return [map { 'c' . (1 + int rand $self->{counters}) } 1 .. $count] }

# Random keys that are there and as many new ones, in pieces. Who takes them deletes a piece of the former, then stores
# the piece of the latter, and so on: the table is as full afterwards.
sub turnover {
    my ($self, $count, $size) = @_;
    my (@old, @new);
    while (@new * $size < $count) {
        my %chosen;
        $chosen{ int rand $self->{count} } = 1 while keys %chosen < $size;
        my (@leaving, @coming);
        for my $index (shuffle keys %chosen) {
            push @leaving, 'k' . vec($self->{live}, $index, 32);
            vec($self->{live}, $index, 32) = $self->{next};
            push @coming, 'k' . $self->{next}++;
        }
        push @old, \@leaving;
        push @new, \@coming;
    }
    return \@old, \@new;
}

# The code to time each operation with, called with a piece of keys; the results go where a program would have them.
# `store` is an insert or an overwrite, `fetch` a hit or a miss, as the keys are; `replace` gets two keys in turn.
sub calls {
    my ($map) = @_;
    my $got;
    return (
        fetch  => sub { $got = $map->fetch($_) for @{ $_[0] }; return },
        store  => sub { $got = $map->store($_, $Value) for @{ $_[0] }; return },
        delete => sub { $got = $map->delete($_) for @{ $_[0] }; return },
        replace => sub {
            my ($keys) = @_;
            for (my $index = 0; $index < @$keys; $index += 2) {
                $got = $map->delete($keys->[$index]);
                $got = $map->store($keys->[$index + 1], $Value);
            }
            return;
        },
        incr   => sub { $got = $map->incr($_) for @{ $_[0] }; return },
    );
}

# Likewise a look at memory without a map: eight bytes at each of some places in the map's region.
sub places {
    my ($self, $count) = @_;
    my (undef, $length) = $self->{arena}->region('m');
    return [map { 8 * int rand int $length / 8 } 1 .. $count];
}

sub peek {
    my ($self) = @_;
    my $arena = $self->{arena};
    my $got;
    return sub { $got = $arena->peek('m', $_, 8) for @{ $_[0] }; return };
}

1;
