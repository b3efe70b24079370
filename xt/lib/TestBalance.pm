package TestBalance;

# What must be true of a mixture (TestMixture) when nobody uses it any more: all figures are those that its ledger
# says, give or take the calls of which nobody heard, and every slot can be used.

use strict;
use warnings;

use Shared::Arena;
use TestArena;
use TestLedger;
use TestMixture;

my %Slots = (plain => TestMixture::PLAIN, tight => TestMixture::TIGHT, structures => 64);

# Clears the ledger and the limiter's keys. `before` is what the last comparison of this arena returned, undef for a new
# one; `seconds` is how long it was in use. Returns what to give to the next, and what is wrong.
sub balance {
    my ($arena, $before, $seconds) = @_;
    # In a child, since it sets its clock, and with a watchdog: nothing the dead left may take long.
    my ($after, @wrong) = in_child { return _balance($arena, $before || {}, $seconds) } patience => 120;
    return ($after, @wrong);
}

sub _balance {
    my ($arena, $before, $seconds) = @_;
    my $self = {
        arena   => $arena,
        mixture => TestMixture->new($arena),
        ledger  => TestLedger::balance($arena),
        before  => $before,
        after   => {},
        wrong   => [],
    };
    bless $self, __PACKAGE__;
    select undef, undef, undef, 0.05;    # every short time to live is over
    $self->_check_regions;
    $self->_check_sums;
    $self->_check_own;
    $self->_check_values;
    $self->_check_limiters($seconds);
    $self->_check_map($_) for sort keys %Slots;
    $self->_fill($_) for sort keys %Slots;
    TestLedger::clear($arena);
    return ({ %{ $self->{after} }, ledger => $self->{ledger}, time => time }, @{ $self->{wrong} });
}

sub _wrong { my ($self, @what) = @_; push @{ $self->{wrong} }, @what; return }

# What has been added to a figure since the last time lies between what was acknowledged and that with the unheard.
sub _grown {
    my ($self, $what, $figure, $least, $unheard) = @_;
    my $base = $self->{before}{$what} || 0;
    $self->{after}{$what} = $figure;
    return if $figure >= $base + $least && $figure <= $base + $least + $unheard;
    $self->_wrong("$what: $figure, was $base; $least acknowledged, $unheard unheard");
    return;
}

sub _check_regions {
    my ($self) = @_;
    my $arena   = $self->{arena};
    my @names   = $arena->regions;
    my %once    = map { $_ => 1 } @names;
    my @regions = sort { $a->[0] <=> $b->[0] } map { [$arena->region($_)] } @names;
    $self->_wrong('a region is there twice') if keys %once != @names;
    $self->_wrong('two regions overlap') if grep { $regions[$_][0] < $regions[$_ - 1][0] + $regions[$_ - 1][1] } 1 .. $#regions;
    $self->_wrong($arena->refused . ' regions refused') if $arena->refused;
    return;
}

sub _check_sums {
    my ($self) = @_;
    my ($acknowledged, $unheard) = @{ $self->{ledger} }{qw(acknowledged unheard)};
    for my $key (map {"sum $_"} 0 .. 3) {
        my $number = $self->{mixture}{plain}->counter($key);
        $self->_grown($key, $number || 0, $acknowledged->{$key}, $unheard->{$key});
    }
    return;
}

# A process's own key has the value it stored last, or was storing when it was killed; it is absent when the process
# deleted it, as each does that is not killed.
sub _check_own {
    my ($self) = @_;
    my $map = $self->{mixture}{plain};
    my $own = $self->{ledger}{own};
    for my $line (grep { $own->[$_] } 0 .. $#$own) {
        my $key = "own $line";
        my ($value) = $map->fetch($key);
        my @may_be = map { $_ ? TestMixture::value_of($key, $line, $_) : undef } @{ $own->[$line] };
        my $fits   = grep { defined $_ ? defined $value && $value eq $_ : !defined $value } @may_be;
        $self->_wrong("$key is " . (defined $value ? $value : 'absent') . ' after store ' . join ' or ', @{ $own->[$line] }) if !$fits;
        my $deleted = $map->delete($key);
        $self->_wrong("deleting $key answered $deleted") if $deleted != (defined $value ? 1 : 0);
        $self->_wrong("$key is there after delete") if $map->exists($key);
    }
    return;
}

sub _check_values {
    my ($self) = @_;
    my ($plain, $tight, $structures) = @{ $self->{mixture} }{qw(plain tight structures)};
    for my $key ($plain->keys) {
        next if $key =~ /\Asum [0-3]\z/;
        my ($value) = my @there = $plain->fetch($key);
        $self->_wrong("plain: $key is listed, and odd or torn") if !@there || $key !~ /\Acommon / || !TestMixture::is_whole($key, $value);
    }
    for my $key ($tight->keys) {
        my ($value) = my @there = $tight->fetch($key);
        $self->_wrong("tight: $key is listed, and odd or torn") if !@there || $key !~ /\Atight / || !TestMixture::is_whole($key, $value);
    }
    for my $key ($structures->keys) {
        my ($value) = my @there = $structures->fetch($key);
        $self->_wrong("structures: $key is listed, and mixed up") if !@there || !TestMixture::is_whole_structure($key, $value);
    }
    return;
}

sub _check_limiters {
    my ($self, $seconds) = @_;
    my ($acknowledged, $unheard) = @{ $self->{ledger} }{qw(acknowledged unheard)};
    my ($cap, $flow) = @{ $self->{mixture} }{qw(cap flow)};
    my ($yes, $maybe) = (0, 0);
    for my $key (map {"cap $_"} 0 .. 7) {
        my $left = $cap->remaining($key);
        # Next to nothing flows in, but that is a fraction.
        my $spent = TestMixture::CAP - int $left;
        my ($least, $more) = ($acknowledged->{$key}, $unheard->{$key});
        $self->_wrong("$key: $least allowed, of " . TestMixture::CAP) if $least > TestMixture::CAP;
        $self->_wrong("$key: $spent spent; $least acknowledged, $more unheard") if $spent < $least || $spent > $least + $more;
        $yes   += $least;
        $maybe += $more;
        my $had = $cap->forget($key);
        $self->_wrong("$key was not in the table once") if $had != ($spent ? 1 : 0) || $cap->forget($key);
    }
    my $flowed = $acknowledged->{flow};
    my $most   = TestMixture::FLOW + $seconds * TestMixture::FLOW / TestMixture::FLOW_TIME;
    $self->_wrong("flow: $flowed allowed, of $most") if $flowed > $most;
    $self->_check_figures(cap => $cap, $yes, $acknowledged->{'cap refused'}, $maybe);
    $self->_check_figures(flow => $flow, $flowed, $acknowledged->{'flow refused'}, $unheard->{flow});
    return;
}

sub _check_figures {
    my ($self, $name, $rate, $allowed, $denied, $unheard) = @_;
    my %stats = $rate->stats;
    $self->_grown("$name allowed", $stats{allowed}, $allowed, $unheard);
    $self->_grown("$name denied", $stats{denied}, $denied, $unheard);
    $self->_grown("$name calls", $stats{allowed} + $stats{denied}, $allowed + $denied, $unheard);
    $self->_wrong("$name: $stats{evicted} evicted") if $stats{evicted};
    $self->_wrong("$name: $stats{contended} contended") if $stats{contended};
    return;
}

# The statistics are those of a recount. Before any deadline, the list of keys is all that is in the table.
sub _check_map {
    my ($self, $name) = @_;
    my ($acknowledged, $unheard, $in_flight) = @{ $self->{ledger} }{qw(acknowledged unheard in_flight)};
    my $map = $self->{mixture}{$name};
    $self->_verify($name, 'at the end');
    set_clock(1);
    my $there = my @keys = $map->keys;
    my %stats = $map->stats;
    real_clock();
    my %once = map { $_ => 1 } @keys;
    $self->_wrong("$name: a key is listed twice") if keys %once != $there;
    $self->_wrong("$name: $stats{used} used, $there in the table") if $stats{used} != $there;
    $self->_wrong("$name: $stats{used} used and $stats{tombstones} tombstones") if $stats{used} + $stats{tombstones} > $Slots{$name};
    $self->_grown("$name busy", $stats{busy}, $acknowledged->{"waited $name"}, $in_flight);
    $self->_grown("$name full", $stats{full}, $name eq 'tight' ? ($acknowledged->{full}, $unheard->{full}) : (0, 0));
    return if $name ne 'tight';
    my $expired = $stats{expired} - ($self->{before}{'tight expired'} || 0);
    my $most = $acknowledged->{lapsing} + $in_flight;
    $self->_wrong("tight: $expired expired, of $most that had a time to live") if $expired > $most;
    return;
}

sub _verify {
    my ($self, $name, $when) = @_;
    my %verdict = $self->{mixture}{$name}->_verify;
    $self->_wrong("$name, $when: " . ($verdict{problem} || 'not ok')) if !$verdict{ok};
    return;
}

# It takes as many keys as it has slots, and no more; then they go again.
sub _fill {
    my ($self, $name) = @_;
    my $map   = $self->{mixture}{$name};
    my $there = $map->keys;
    my ($taken, $answer) = (0, undef);
    $taken++ while ($answer = $map->store("extra $taken", "extra $taken")) == 1;
    my %stats = $map->stats;
    $self->_wrong("$name: $there keys and $taken more in $Slots{$name} slots, then $answer") if $there + $taken != $Slots{$name} || $answer != 0;
    $self->_wrong("$name: $stats{used} used when full") if $stats{used} != $Slots{$name};
    $self->_verify($name, 'full');
    for my $extra (map {"extra $_"} 0 .. $taken - 1) {
        my ($value) = $map->fetch($extra);
        $self->_wrong("$name: $extra is lost") if !defined $value || $value ne $extra;
        $self->_wrong("$name: $extra was not there to delete") if $map->delete($extra) != 1;
    }
    $self->_verify($name, 'emptied');
    %stats = $map->stats;
    $self->_wrong("$name: $stats{used} used in the end") if $stats{used} != $there;
    @{ $self->{after} }{"$name full", "$name busy", "$name expired"} = @stats{qw(full busy expired)};
    return;
}

1;
