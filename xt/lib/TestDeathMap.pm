package TestDeathMap;

# Operations on a map that children die in, and what a survivor finds there.

use strict;
use warnings;

use parent 'TestDeath';

use Data::Dumper ();
use TestArena;

my $Slots = 16;    # two stripes

# Moments: when the prior state was made, and an earlier one; when the operation runs; when a short deadline given by it
# has come; and when each has.
my $Now   = 1_700_000_000;
my %Clock = (earlier => $Now - 2000, before => $Now - 1000, now => $Now, soon => $Now + 30, late => $Now + 100);

my $Old = 'the old value';

# What there is beside the key. It has left a journal of each kind behind.
my %Neighbours = (neighbour => sub { $_[0]->store($_[1], 'untouched') }, number => sub { $_[0]->incr($_[1], 7) });
my %Serialised = (neighbour => sub { $_[0]->store($_[1], ['untouched']) });

# `reads` is what the key reads as before and after, if that differs.
sub operations {
    my $old      = sub { $_[0]->store('key', $Old) };
    my $lapsed   = sub { $_[0]->store('key', $Old, ttl => 10) };
    my $counter  = sub { $_[0]->incr('key', 7) };
    my $fill     = sub { my ($map) = @_; my $n = 0; $n++ while $map->store("full $n", 'there') == 1; return };
    my $nothing  = sub { };
    my $was      = "'$Old'";
    my $new      = 'the new value';
    my $longer   = 'the new value, which is longer';
    return (
        {
            name => 'overwrite, of the same size', before => $old, reads => [$was, "'$new'"],
            run => sub { $_[0]->store('key', 'the new value') },
        },
        {
            name => 'overwrite, as a call of the method found', before => $old, reads => [$was, "'$new'"],
            run => sub { my $store = $_[0]->can('store'); $_[0]->$store('key', 'the new value') },
        },
        {
            name => 'overwrite, the first call of a process', before => $old, reads => [$was, "'$new'"], newcomer => 1,
            run => sub { $_[0]->store('key', 'the new value') },
        },
        {
            name => 'overwrite with less', before => $old, reads => [$was, "''"],
            run => sub { $_[0]->store('key', '') },
        },
        {
            name => 'overwrite with more', before => $old, reads => [$was, "'$longer'"],
            run => sub { $_[0]->store('key', 'the new value, which is longer') },
        },
        {
            name => 'overwrite with a deadline', before => $old, reads => [$was, "'$new'"],
            run => sub { $_[0]->store('key', 'the new value', ttl => 20) },
        },
        {
            name => 'overwrite that takes a deadline away', reads => [$was, "'$new'"],
            before => sub { $_[0]->store('key', $Old, ttl => 1050) },
            run => sub { $_[0]->store('key', 'the new value') },
        },
        {
            name => 'overwrite of what has lapsed', before => $lapsed, reads => ['absent', "'$new'"],
            run => sub { $_[0]->store('key', 'the new value') },
        },
        {
            name => 'overwrite with undef', before => $old, reads => [$was, 'undef'],
            run => sub { $_[0]->store('key', undef) },
        },
        {
            name => 'overwrite of a counter', before => $counter, reads => ['number 7', "'$new'"],
            run => sub { $_[0]->store('key', 'the new value') },
        },
        {
            name => 'overwrite of one in a full map', reads => [$was, "'$new'"],
            before => sub { $old->(@_); $fill->(@_) },
            run => sub { $_[0]->store('key', 'the new value') },
        },
        {
            name => 'insert into an empty map', empty => 1, before => $nothing, reads => ['absent', "'$new'"],
            run => sub { $_[0]->store('key', 'the new value') },
        },
        {
            name => 'insert', before => $nothing, reads => ['absent', "'$new'"],
            run => sub { $_[0]->store('key', 'the new value') },
        },
        {
            name => 'insert with a deadline', before => $nothing, reads => ['absent', "'$new'"],
            run => sub { $_[0]->store('key', 'the new value', ttl => 20) },
        },
        {
            name => 'insert of undef', before => $nothing, reads => ['absent', 'undef'],
            run => sub { $_[0]->store('key', undef) },
        },
        {
            name => 'insert into a map of tombstones', empty => 1, reads => ['absent', "'$new'"],
            before => sub { my ($map) = @_; $fill->($map); $map->delete($_) for $map->keys },
            run => sub { $_[0]->store('key', 'the new value') },
        },
        {
            name => 'insert into the last slot', reads => ['absent', "'$new'"],
            before => sub { my ($map) = @_; $fill->($map); $map->delete('full 3') },
            run => sub { $_[0]->store('key', 'the new value') },
        },
        {
            name => 'insert into a full map, refused', before => $fill, reads => ['absent'],
            run => sub { $_[0]->store('key', 'the new value') },
        },
        {
            name => 'insert in the place of what has lapsed, in a full map', reads => ['absent', "'$new'"],
            before => sub { my ($map) = @_; $map->store('lapsed', $Old, ttl => 10); $fill->($map) },
            run => sub { $_[0]->store('key', 'the new value') },
            # What has lapsed goes first.
            between => [[sub { $_[0]->exists('lapsed') }]],
        },
        {
            name => 'store of a pair that is too long', before => $old, reads => [$was],
            run => sub { $_[0]->store('key', 'x' x 100) },
        },
        {
            name => 'delete', before => $old, reads => [$was, 'absent'],
            run => sub { $_[0]->delete('key') },
        },
        {
            name => 'delete in a full map', reads => [$was, 'absent'],
            before => sub { $old->(@_); $fill->(@_) },
            run => sub { $_[0]->delete('key') },
        },
        {
            name => 'delete of what is not there', before => $nothing, reads => ['absent'],
            run => sub { $_[0]->delete('key') },
        },
        {
            name => 'delete of what has lapsed', before => $lapsed, reads => ['absent'],
            run => sub { $_[0]->delete('key') },
        },
        {
            name => 'incr', before => $counter, reads => ['number 7', 'number 14'],
            run => sub { $_[0]->incr('key', 7) },
        },
        {
            name => 'incr of a new counter', before => $nothing, reads => ['absent', 'number 7'],
            run => sub { $_[0]->incr('key', 7) },
        },
        {
            name => 'incr of a new counter with a deadline', before => $nothing, reads => ['absent', 'number 7'],
            run => sub { $_[0]->incr('key', 7, ttl => 20) },
        },
        {
            name => 'incr that leaves a deadline where it is', reads => ['number 7', 'number 14'],
            before => sub { $_[0]->incr('key', 7, ttl => 1020) },
            run => sub { $_[0]->incr('key', 7, ttl => 90) },
        },
        {
            name => 'incr of a counter that has lapsed', reads => ['absent', 'number 7'],
            before => sub { $_[0]->incr('key', 7, ttl => 10) },
            run => sub { $_[0]->incr('key', 7, ttl => 20) },
        },
        {
            name => 'incr of a packed number', reads => ['number 7 in bytes', 'number 14'],
            before => sub { $_[0]->store('key', pack 'q', 7) },
            run => sub { $_[0]->incr('key', 7) },
        },
        {
            name => 'incr of what is no counter', before => $old, reads => [$was],
            run => sub { $_[0]->incr('key', 7) },
        },
        {
            name => 'fetch', before => $old, reads => [$was],
            run => sub { my ($value) = $_[0]->fetch('key') },
        },
        {
            name => 'fetch of what has lapsed, which collects it', before => $lapsed, reads => ['absent'],
            run => sub { my ($value) = $_[0]->fetch('key') },
        },
        {
            name => 'exists', before => $old, reads => [$was],
            run => sub { my $there = $_[0]->exists('key') },
        },
        {
            name => 'exists of what has lapsed, which collects it', before => $lapsed, reads => ['absent'],
            run => sub { my $there = $_[0]->exists('key') },
        },
        {
            name => 'counter', before => $counter, reads => ['number 7'],
            run => sub { my $number = $_[0]->counter('key') },
        },
        {
            name => 'keys', before => $old, reads => [$was],
            run => sub { my @keys = $_[0]->keys },
        },
        {
            name => 'stats', before => $old, reads => [$was],
            run => sub { my @stats = $_[0]->stats },
        },
        {
            name => 'store of a structure over another', serialised => 1,
            reads => ["{'a' => [1,2]}", "['b',{'c' => undef}]"],
            before => sub { $_[0]->store('key', { a => [1, 2] }) },
            run => sub { $_[0]->store('key', ['b', { c => undef }]) },
        },
        {
            name => 'store of a new structure', serialised => 1, before => $nothing,
            reads => ['absent', "['b',{'c' => undef}]"],
            run => sub { $_[0]->store('key', ['b', { c => undef }]) },
        },
        {
            name => 'fetch of a structure', serialised => 1, reads => ["{'a' => [1,2]}"],
            before => sub { $_[0]->store('key', { a => [1, 2] }) },
            run => sub { my ($value) = $_[0]->fetch('key') },
        },
    );
}

sub extent { return (size => 2048, regions => 1) }

sub shape { my ($self) = @_; return (slots => $Slots, slot_size => 96, serialise => $self->{serialised}) }

sub set_up {
    my ($self, $arena) = @_;
    my $map = $arena->map('map', $self->shape);
    $self->{neighbours} = $self->{empty} ? {} : $self->{serialised} ? \%Serialised : \%Neighbours;
    set_clock($Clock{earlier});
    for my $key (sort keys %{ $self->{neighbours} }) { $self->{neighbours}{$key}->($map, $key) }
    if (!$self->{empty}) { $map->store($_, 'once', ttl => 1) for 'gone', 'gone too' }
    set_clock($Clock{before});
    if (!$self->{empty}) { $map->store($_, 'again'), $map->delete($_) for 'gone', 'gone too' }
    $self->{before}->($map);
    set_clock($Clock{now});
    return $map;
}

# It has taken a lock in this arena.
sub warm { my ($self, $map) = @_; $map->delete('nobody'); return }

# First readers look, by a clock that sees all entries, lapsed or not, so that nobody collects or repairs anything; then
# at which moments which keys are there; then `stats` has repaired, and nothing that was read may have changed.
sub look {
    my ($self) = @_;
    my $map = $self->{object};
    my (%seen, @wrong);
    my $in_table = $self->_all_entries;
    for my $moment (qw(now soon late)) {
        set_clock($Clock{$moment});
        $seen{"there $moment"} = join ', ', sort $map->keys;
    }
    set_clock($Clock{now});
    my %stats = $map->stats;
    my $repaired = $self->_all_entries;
    $seen{"in the table, $_"} = $in_table->{$_} for keys %$in_table;
    push @wrong, map {"$_ read $in_table->{$_} before it was repaired, and $repaired->{$_} then"}
        grep { !defined $repaired->{$_} || $repaired->{$_} ne $in_table->{$_} } keys %$in_table;
    push @wrong, 'more keys than before the repair' if keys %$repaired > keys %$in_table;
    push @wrong, "$stats{used} used, and " . keys(%$in_table) . ' keys in the table' if $stats{used} != keys %$in_table;
    push @wrong, "$stats{used} used and $stats{tombstones} tombstones in $Slots slots"
        if $stats{used} + $stats{tombstones} > $Slots;
    set_clock($Clock{now});
    $seen{reads} = _reading($map, 'key');
    my %later = $map->stats;
    %seen = (%seen, %stats, map({ ("$_ when read" => $later{$_}) } keys %later), broken => $self->broken_locks);
    my %verdict = $map->_verify;
    push @wrong, $verdict{problem} if !$verdict{ok};
    return (\%seen, @wrong);
}

sub _all_entries {
    my ($self) = @_;
    my $map = $self->{object};
    set_clock($Clock{earlier});
    return { map { $_ => _reading($map, $_) } $map->keys };
}

sub _reading {
    my ($map, $key) = @_;
    my $number = $map->counter($key);
    my ($value) = my @there = $map->fetch($key);
    return 'absent' if !@there;
    return $value eq $number ? "number $number" : "number $number in bytes" if defined $number;
    return 'undef' if !defined $value;
    return ref $value ? Data::Dumper->new([$value])->Indent(0)->Terse(1)->Sortkeys(1)->Dump : "'$value'";
}

# The map takes as many keys as it has slots, and no more; its keys can be changed, and deleted, and are all that is there.
sub use_up {
    my ($self) = @_;
    my $map = $self->{object};
    my @wrong;
    my $there = $map->keys;
    my $taken = 0;
    $taken++ while $taken <= $Slots && $map->store("extra $taken", 'x') == 1;
    push @wrong, "$taken keys found room beside $there" if $taken + $there != $Slots;
    push @wrong, $self->_wrong_figures('full', used => $Slots, tombstones => 0, busy => 0);
    for my $key ($map->keys) {
        push @wrong, "$key cannot be overwritten"    if $map->store($key, 'y') != 1;
        push @wrong, "$key reads wrong"              if _reading($map, $key) ne "'y'";
        push @wrong, "$key was not there to delete" if $map->delete($key) != 1;
    }
    push @wrong, $self->_wrong_figures('empty', used => 0, tombstones => $Slots, busy => 0);
    if (!$self->{serialised}) { push @wrong, 'a counter does not begin at 1' if $map->incr('key') != 1 }
    push @wrong, 'a lock was broken' if $self->broken_locks;
    my %verdict = $map->_verify;
    push @wrong, $verdict{problem} if !$verdict{ok};
    return @wrong;
}

sub _wrong_figures {
    my ($self, $when, %expected) = @_;
    my %stats = $self->{object}->stats;
    return map {"$when, $stats{$_} $_ instead of $expected{$_}"} grep { $stats{$_} != $expected{$_} } sort keys %expected;
}

1;
