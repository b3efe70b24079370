#!/usr/bin/env perl
# What processes get done together, as a multiple of what they get done by calling a method that does nothing.
#
#   perl -Mblib bench/processes.pl [--rounds=25] [--seconds=0.06] [--most=16] [--others=1]
#
# 1, 2, 4 and 16 processes start at one moment and go on for `seconds`, with one of these loads: increments of one
# counter; of a counter for each process; `allow` of one key, whose bucket stays in use; and nine fetches to a store, over
# 1,000 keys, with values of 32 bytes. So do as many that call `$nothing->noop($key)`, a method written in C that returns
# at once, in the same loops; and, if installed and `others` is not 0, processes with Hash::SharedMem, Cache::FastMmap and
# Redis::Fast, as in compare.pl. All that have one load follow each other in an order drawn anew, and the ratios are
# formed within a round.
#
# Calls are those of the loops, no more and no less: each process counts its own, and the sum is compared with what the
# counters have gained and what the limiter has answered. They are counted from the start of the first process to the end
# of the last, perl's loop included; as the method that does nothing is called in the same loop, neither is it taken off
# there. More than one process for each processor cannot get more done. Where processes change one cache line, it depends
# on which processors they are put on how fast it moves between them, and so rounds may fall into two groups.
# Takes about two and a half minutes.

use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";

use List::Util 'shuffle';

use BenchClock;
use BenchReport;
use BenchStore;
use BenchThroughput qw(together process_heads);

my $option = options(rounds => 25, seconds => 0.06, most => 16, others => 1);
my @counts = grep { $_ <= $option->{most} } 1, 2, 4, 16;

# A load: its name, the operation, and the keys of a process.
my $one = sub { return ('counter 1') x 1000 };
my $own = sub { my ($number) = @_; return ('counter ' . (1 + $number)) x 1000 };
my @loads = (
    ['incr, one counter'      => 'incr',  $one],
    ['incr, a counter each'   => 'incr',  $own],
    ['allow, one key'         => 'allow', sub { return ('key 1') x 1000 }],
    ['fetch 90 %, store 10 %' => 'mix',   sub { return shuffle @BenchStore::Keys }],
);
# The same loop around the method that does nothing.
my %empty = (incr => 'call', allow => 'call', mix => 'mix');

my ($nothing) = BenchStore::present('Nothing');
my ($arena)   = BenchStore::present('Arena');
my @stores    = ($arena, $option->{others} ? BenchStore::present(qw(SharedMem FastMmap Redis)) : ());
my %call      = map { $_->name => { $_->calls } } @stores, $nothing;
for my $call (map { $call{ $_->name } } @stores) {
    $call->{store}->(\@BenchStore::Keys);
    $call->{incr}->(\@BenchStore::Counters);
    $call->{spend}->(['key 1']) if $call->{spend};
}

my ($made, $lost) = (0, 0);    # increments and checks, and those of them that did not count
my $gave_up = $arena->gave_up;
my %turns;
for my $load (@loads) {
    for my $count (@counts) { $turns{"$load->[0] $count"} = sub { return turn($load, $count) } }
}
my $samples = race($option->{rounds}, %turns);
report();

# --- measuring ---

# The stores that have the operation of a load, and the method that does nothing.
sub contestants {
    my ($load) = @_;
    return grep { $_ == $nothing || $call{ $_->name }{ $load->[1] } } @stores, $nothing;
}

# A load with so many processes: each contestant in turn, so that all find the machine in one state.
sub turn {
    my ($load, $count) = @_;
    my ($name, $operation, $keys) = @$load;
    my %figures;
    for my $store (shuffle contestants($load)) {
        my $before = counted($store, $operation);
        my %found  = together($count, looping($store, $operation, $keys), $option->{seconds});
        $figures{ $store->name . " $_" } = $found{$_} for qw(speed own);
        next if !defined $before;
        $made += $found{calls};
        $lost += $found{calls} - (counted($store, $operation) - $before);
    }
    return %figures;
}

# The code for each process: a piece of a thousand calls again and again, or of fewer where they take long.
sub looping {
    my ($store, $operation, $keys) = @_;
    $operation = $empty{$operation} if $store == $nothing;
    return sub {
        my ($number) = @_;
        my %own_call = $store->calls;
        my @piece    = ($keys->($number))[0 .. $store->lot - 1];
        return (sub { $own_call{$operation}->(\@piece) }, scalar @piece);
    };
}

# All that the counters of the processes hold, or how many checks the limiter has allowed, as every one should be.
sub counted {
    my ($store, $operation) = @_;
    return $store == $arena ? $arena->answered->{allowed} : undef if $operation eq 'allow';
    return undef if $operation ne 'incr' || $store == $nothing;
    my $sum = 0;
    $sum += $call{ $store->name }{counter}->(["counter $_"]) for 1 .. $option->{most};
    return $sum;
}

# --- showing ---

sub report {
    heading('What processes get done together',
        "$option->{seconds} s each, $option->{rounds} rounds; `perl -Mblib bench/processes.pl`.");
    print "Million calls a second of all processes together:\n\n";
    lines([@stores, $nothing], \@counts, \&speed, \&three_digits);
    print "As multiples of as many processes with the empty call:\n\n";
    lines(\@stores, \@counts, sub {
        my ($load, $count) = @_;
        return ratios(speed(@_), speed($load, $count, $nothing));
    }, \&two_digits);
    print "As multiples of one process:\n\n";
    lines([@stores, $nothing], [@counts[1 .. $#counts]], sub {
        my ($load, $count, $store) = @_;
        return ratios(speed(@_), speed($load, 1, $store));
    }, '%.2f');
    print "Nanoseconds of the processes' own time a call, which tells more where others use the processors too:\n\n";
    lines([$arena, $nothing], \@counts, sub {
        my ($load, $count, $store) = @_;
        return $samples->{"$load->[0] $count"}{ $store->name . ' own' };
    }, '%.0f');
    printf "Of %s increments and checks, %s were refused or lost, and %s calls gave up (`busy`, `contended`).\n\n",
        map { thousands($_) } $made, $lost, $arena->gave_up - $gave_up;
    printf "- %s: %s\n", $_->name, $_->used for $nothing, @stores;
    print "\n";
    return;
}

sub speed {
    my ($load, $count, $store) = @_;
    return $samples->{"$load->[0] $count"}{ $store->name . ' speed' };
}

# A line for each load and store, of what the code returns for them and each number of processes.
sub lines {
    my ($shown, $columns, $values, $format) = @_;
    my @lines;
    for my $load (@loads) {
        my %here = map { $_ => 1 } contestants($load);
        for my $store (grep { $here{$_} } @$shown) {
            push @lines, [$load->[0], $store->name, map { spread($values->($load, $_, $store), $format) } @$columns];
        }
    }
    table(['load', 'store', process_heads(@$columns)], @lines);
    return;
}

# At least two digits that say something, as some of these multiples are small.
sub two_digits { my ($number) = @_; return sprintf $number < 0.0995 ? '%#.2g' : '%.2f', $number }
