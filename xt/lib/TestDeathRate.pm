package TestDeathRate;

# Operations on a limiter that children die in, and what a survivor finds there.

use strict;
use warnings;

use parent 'TestDeath';

use TestArena;

use constant { SLOTS => 64, LIMIT => 10, WINDOW => 1000, NOW => 100_000 };

# What there is beside the key: what they have spent.
my %Neighbours = (neighbour => 4, other => 10);

# `reads` is what remains to the key before and after, if that differs. Two things may be seen that are neither: a request
# that was paid, but not counted; and, where another bucket gives way, that it was counted, or gone, before the key paid.
sub operations {
    my $spent     = sub { $_[0]->allow('key', 2) };
    my $empty     = sub { $_[0]->allow('key', LIMIT); $_[0]->allow('key') };
    my $nothing   = sub { };
    my $crowd     = sub { my ($rate) = @_; $rate->allow("crowd $_", 5) for 1 .. SLOTS - 1 - keys %Neighbours; return };
    my $uncounted = ['after', allowed => -1];
    return (
        {
            name => 'allow', before => $spent, reads => [8, 5], between => [$uncounted],
            run => sub { $_[0]->allow('key', 3) },
        },
        {
            name => 'allow, the first call of a process', newcomer => 1,
            before => $spent, reads => [8, 5], between => [$uncounted],
            run => sub { $_[0]->allow('key', 3) },
        },
        {
            name => 'allow of a fraction', before => $spent, reads => [8, 7.5], between => [$uncounted],
            run => sub { $_[0]->allow('key', 0.5) },
        },
        {
            name => 'allow of a new key', before => $nothing, reads => [10, 7], between => [$uncounted],
            run => sub { $_[0]->allow('key', 3) },
        },
        {
            name => 'allow of a new key into the last slot', reads => [10, 7], between => [$uncounted],
            before => $crowd,
            run => sub { $_[0]->allow('key', 3) },
        },
        {
            name => 'allow of a new key in the place of a bucket that has refilled',
            reads => [10, 7], between => [$uncounted],
            before => sub {
                my ($rate) = @_;
                set_clock(undef, NOW - 2 * WINDOW);
                $rate->allow("old $_", 5) for 1 .. SLOTS;
                set_clock(undef, NOW);
            },
            run => sub { $_[0]->allow('key', 3) },
        },
        {
            name => 'allow that evicts', reads => [10, 7],
            before => sub { $crowd->(@_); $_[0]->allow('victim', 1) },
            between => [$uncounted, ['before', evicted => 1], [sub { $_[0]->forget('victim') }, evicted => 1]],
            run => sub { $_[0]->allow('key', 3) },
        },
        {
            name => 'allow, refused', before => $empty, reads => [0],
            run => sub { $_[0]->allow('key') },
        },
        {
            name => 'allow of more than the limit, refused', before => $spent, reads => [8],
            run => sub { $_[0]->allow('key', 11) },
        },
        {
            name => 'allow of nothing', before => $spent, reads => [8],
            run => sub { $_[0]->allow('key', 0) },
        },
        {
            name => 'remaining', before => $spent, reads => [8],
            run => sub { my $left = $_[0]->remaining('key') },
        },
        {
            name => 'remaining of a new key', before => $nothing, reads => [10],
            run => sub { my $left = $_[0]->remaining('key') },
        },
        {
            name => 'retry_after', before => $empty, reads => [0],
            run => sub { my $seconds = $_[0]->retry_after('key') },
        },
        {
            name => 'headers', before => $spent, reads => [8],
            run => sub { my @headers = $_[0]->headers('key') },
        },
        {
            name => 'reset', before => $spent, reads => [8, 10],
            run => sub { $_[0]->reset('key') },
        },
        {
            name => 'reset of a key that has no bucket', before => $nothing, reads => [10],
            run => sub { $_[0]->reset('key') },
        },
        {
            name => 'forget', before => $spent, reads => [8, 10],
            run => sub { $_[0]->forget('key') },
        },
        {
            name => 'stats', before => $spent, reads => [8],
            run => sub { my @stats = $_[0]->stats },
        },
    );
}

sub extent { return (size => SLOTS * 16 + 160, regions => 1) }

sub set_up {
    my ($self, $arena) = @_;
    my $rate = $arena->rate('rate', limit => LIMIT, window => WINDOW, slots => SLOTS);
    set_clock(undef, NOW);
    $rate->allow($_, $Neighbours{$_}) for sort keys %Neighbours;
    $self->{before}->($rate);
    return $rate;
}

# It has its line of statistics.
sub warm { my ($self, $rate) = @_; $rate->allow('nobody', 0); return }

my @Known = ('key', 'victim', sort(keys %Neighbours), map({"crowd $_"} 1 .. SLOTS), map({"old $_"} 1 .. SLOTS));

# Readers write nothing here, and nothing needs repair.
sub look {
    my ($self) = @_;
    my $rate  = $self->{object};
    my %stats = $rate->stats;
    my %left  = map { $_ => $rate->remaining($_) } @Known;
    my %seen  = (%stats, map({ ("remains to $_" => $left{$_}) } @Known), reads => $left{key});
    $seen{retry} = $rate->retry_after('key', 5);
    my $spent = grep { $_ < LIMIT } values %left;
    return (\%seen, $spent == $stats{keys} ? () : "$stats{keys} keys, and $spent have spent something");
}

# What remains to a key is what it gets, out of one bucket; and there is room for as many new keys as there are slots
# free, and then for one in each slot, without an eviction.
sub use_up {
    my ($self) = @_;
    my $rate = $self->{object};
    my @wrong;
    # A slot that a dead process had begun to take is settled by the next check of its key, or taken by another key.
    push @wrong, $self->_wrong_account('key') if $self->{uses}++ % 2;
    my %stats = $rate->stats;
    my $free  = SLOTS - $stats{keys};
    push @wrong, map {"new key $_ is refused"} grep { !$rate->allow("new $_", 2) } 1 .. $free;
    my %after = (keys => SLOTS, allowed => $stats{allowed} + $free, evicted => $stats{evicted});
    push @wrong, $self->_wrong_figures('full', %after);
    push @wrong, $self->_wrong_account($_) for grep { $rate->remaining($_) < LIMIT } 'victim', keys %Neighbours;
    $rate->forget($_) for @Known, map {"new $_"} 1 .. $free;
    push @wrong, map {"$_ has had two buckets"} grep { $rate->forget($_) } @Known, map {"new $_"} 1 .. $free;
    push @wrong, $self->_wrong_figures('empty', keys => 0);
    push @wrong, map {"last key $_ has less than its limit"} grep { !$rate->allow("last $_", LIMIT) } 1 .. SLOTS;
    push @wrong, $self->_wrong_figures('full again', keys => SLOTS, evicted => $stats{evicted}, contended => 0);
    return @wrong;
}

sub _wrong_account {
    my ($self, $key) = @_;
    my $rate = $self->{object};
    my %before  = $rate->stats;
    my $remains = int $rate->remaining($key);
    my $allowed = 0;
    $allowed++ while $allowed <= LIMIT && $rate->allow($key);
    return (
        $allowed == $remains ? () : "$remains remained to $key, and $allowed were allowed",
        $self->_wrong_figures("$key drained", allowed => $before{allowed} + $allowed, denied => $before{denied} + 1),
    );
}

sub _wrong_figures {
    my ($self, $when, %expected) = @_;
    my %stats = $self->{object}->stats;
    return map {"$when, $stats{$_} $_ instead of $expected{$_}"} grep { $stats{$_} != $expected{$_} } sort keys %expected;
}

1;
