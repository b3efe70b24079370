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

use List::Util 'shuffle';

use BenchReport;
use BenchThroughput;
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

my $before = $map->stats->{busy};
throughput('Throughput of several processes', \@loads, \@counts, $option->{rounds}, $option->{seconds});
printf "Calls that gave up (`busy`): %d.\n\n", $map->stats->{busy} - $before;
