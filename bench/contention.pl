#!/usr/bin/env perl
# How much several processes get done together on one map.
#
#   perl -Mblib bench/contention.pl [--rounds=7] [--seconds=1] [--most=16]
#
# 1, 2, 4 and 16 processes start at one moment and go on for `seconds`, each counting its calls, with one of four loads:
# nine fetches to a store, over 1,000 keys; stores alone, over the same keys; increments of one counter; and increments
# of a counter for each process. Prints the calls a second of all processes together, perl's own loop included, and the
# ratio to one process. Takes about two minutes.
#
# More than one process for each processor cannot get more done; what these rows show is what waiting costs.

use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";

use List::Util qw(max min shuffle sum);
use Time::HiRes qw(sleep);

use BenchClock;
use BenchCrew;
use BenchReport;
use Shared::Arena;

my $option = options(rounds => 7, seconds => 1, most => 16);
my @counts = grep { $_ <= $option->{most} } 1, 2, 4, 16;
my @keys   = map {"key $_"} 1 .. 1000;
my $value  = 'v' x 20;

my $map = Shared::Arena->create->map('m', slots => 2000, slot_size => 64);
$map->store($_, $value) for @keys;
$map->incr("counter $_") for 0 .. $option->{most} - 1;

# Each returns code that makes a thousand calls.
my @loads = (
    ['fetch 90 %, store 10 %' => sub {
        my @mine   = shuffle @keys;
        my @stores = splice @mine, 0, 100;
        my @reads  = map { [splice @mine, 0, 9] } @stores;
        return sub { for my $index (0 .. 99) { $map->store($stores[$index], $value); $map->fetch($_) for @{ $reads[$index] } } };
    }],
    ['store' => sub {
        my @mine = shuffle @keys;
        return sub { $map->store($_, $value) for @mine };
    }],
    ['incr, one counter' => sub {
        return sub { $map->incr('counter 0') for 1 .. 1000 };
    }],
    ['incr, a counter each' => sub {
        my ($number) = @_;
        my $key = "counter $number";
        return sub { $map->incr($key) for 1 .. 1000 };
    }],
);

my %turns;
for my $load (@loads) {
    for my $count (@counts) { $turns{"$load->[0] $count"} = sub { return speed => speed($count, $load->[1]) } }
}
my $before  = $map->stats->{busy};
my $samples = race($option->{rounds}, %turns);

heading('Throughput of several processes',
    "Million calls a second of all processes together; $option->{seconds} s each, $option->{rounds} rounds.");
table(['load', map({ $_ == 1 ? '1 process' : "$_ processes" } @counts)], map {
    my $name = $_->[0];
    [$name, map { spread($samples->{"$name $_"}{speed}, '%.2f') } @counts]
} @loads);
print "As ratios to one process:\n\n";
table(['load', map({"$_ processes"} @counts[1 .. $#counts])], map {
    my $name = $_->[0];
    [$name, map { spread(ratios($samples->{"$name $_"}{speed}, $samples->{"$name 1"}{speed}), '%.2f') } @counts[1 .. $#counts]]
} @loads);
printf "Calls that gave up (`busy`): %d.\n\n", $map->stats->{busy} - $before;

# Million calls a second of so many processes, from the first one's start to the last one's end.
sub speed {
    my ($count, $load) = @_;
    my $crew = BenchCrew->new($count, sub {
        my ($number, $crew) = @_;
        my $thousand = $load->($number);
        my $calls = 0;
        my $begin = now();
        until ($crew->stopped) { $thousand->(); $calls += 1000 }
        return $calls, $begin, now();
    });
    $crew->fire;
    sleep $option->{seconds};
    $crew->stop;
    my @results = $crew->results;
    return sum(map { $_->[0] } @results) / (max(map { $_->[2] } @results) - min(map { $_->[1] } @results)) / 1e6;
}
