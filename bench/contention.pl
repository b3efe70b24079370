#!/usr/bin/env perl
# How much several processes get done together on one map.
#
#   perl -Mblib bench/contention.pl [--rounds=7] [--seconds=1] [--most=16]
#
# 1, 2, 4 and 16 processes start at one moment and go on for `seconds`, each counting its calls, with one of four loads:
# nine fetches to a store, over 1,000 keys; stores alone, over the same keys; increments of one counter; and increments
# of a counter for each process. Prints the calls a second of all processes together, perl's own loop included; what a
# call takes of their own time, which tells more where others use the processors too; and the ratios to one process.
# Takes about two minutes.
#
# More than one process for each processor cannot get more done; what these rows show is what waiting costs.

use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";

use List::Util qw(max min shuffle sum);
use Time::HiRes qw(clock_gettime sleep CLOCK_PROCESS_CPUTIME_ID);

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
        return sub {
            for my $index (0 .. 99) {
                $map->store($stores[$index], $value);
                $map->fetch($_) for @{ $reads[$index] };
            }
        };
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
    for my $count (@counts) { $turns{"$load->[0] $count"} = sub { return measure($count, $load->[1]) } }
}
my $before  = $map->stats->{busy};
my $samples = race($option->{rounds}, %turns);

heading('Throughput of several processes', "$option->{seconds} s each, $option->{rounds} rounds.");
compare('Million calls a second of all processes together', 'speed', '%.2f');
compare("Nanoseconds of the processes' own time a call", 'own', '%.0f');
printf "Calls that gave up (`busy`): %d.\n\n", $map->stats->{busy} - $before;

sub compare {
    my ($title, $figure, $format) = @_;
    print "$title:\n\n";
    table(['load', map({ $_ == 1 ? '1 process' : "$_ processes" } @counts)], map {
        my $name = $_->[0];
        [$name, map { spread($samples->{"$name $_"}{$figure}, $format) } @counts]
    } @loads);
    print "As ratios to one process:\n\n";
    table(['load', map({"$_ processes"} @counts[1 .. $#counts])], map {
        my $name = $_->[0];
        my $one  = $samples->{"$name 1"}{$figure};
        [$name, map { spread(ratios($samples->{"$name $_"}{$figure}, $one), '%.2f') } @counts[1 .. $#counts]]
    } @loads);
    return;
}

# A round of so many processes, from the first one's start to the last one's end.
sub measure {
    my ($count, $load) = @_;
    my $crew = BenchCrew->new($count, sub {
        my ($number, $crew) = @_;
        my $thousand = $load->($number);
        my $calls = 0;
        my ($begin, $own) = (now(), clock_gettime(CLOCK_PROCESS_CPUTIME_ID));
        until ($crew->stopped) { $thousand->(); $calls += 1000 }
        return { calls => $calls, own => clock_gettime(CLOCK_PROCESS_CPUTIME_ID) - $own, begin => $begin, end => now() };
    });
    $crew->fire;
    sleep $option->{seconds};
    $crew->stop;
    my @results = map {@$_} $crew->results;
    my $calls   = sum map { $_->{calls} } @results;
    my $seconds = max(map { $_->{end} } @results) - min(map { $_->{begin} } @results);
    return speed => $calls / $seconds / 1e6, own => 1e9 * sum(map { $_->{own} } @results) / $calls;
}
