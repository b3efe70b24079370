#!/usr/bin/env perl
# What others notice of a process that lists all the keys of a large map.
#
#   perl -Mblib bench/keys.pl [--entries=1e6] [--rounds=20] [--seconds=0.4]
#
# A map holds a million keys in a quarter more slots. One process makes calls, each timed by itself, while another does
# nothing, counts the keys over and over (`keys` in scalar context), or lists them (in list context). Each round has all
# three, in random order, for so many seconds each of incr of one counter and of store of random keys. The clock alone
# shows what two readings with nothing between them take.
#
# Prints latencies and their ratios to those without a walker. Takes about two minutes, and 165 MB of shared memory.

use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";

use List::Util qw(max shuffle);
use Time::HiRes qw(sleep);

use BenchClock;
use BenchCrew;
use BenchReport;
use Shared::Arena;

my $option  = options(entries => 1e6, rounds => 20, seconds => 0.4);
my $entries = $option->{entries};
my $slots   = int 1.25 * $entries;
my $map = Shared::Arena->create(size => 64 * $slots + 208, regions => 1)->map('m', slots => $slots, slot_size => 64);
for my $number (1 .. $entries - 1) {
    $map->store("key $number", 'eightval');
    progress("$number keys") if $number % 100_000 == 0;
}
$map->incr('counter');

my %walk = (
    'nobody' => sub { sleep 0.01 },    # a child like the others: after a fork, writing to memory costs more
    'counts' => sub { my $count = $map->keys; return $count },
    'lists'  => sub { my @keys = $map->keys; return scalar @keys },
);
my @walkers = qw(nobody counts lists);
my @calls   = (
    ['incr',            stopwatch('$got = $map->incr($_)'),              sub { ('counter') x 1000 }],
    ['store',           stopwatch('$got = $map->store($_, "another_")'), \&random_keys],
    ['the clock alone', stopwatch(''),                                   sub { ('counter') x 1000 }],
);
my @quantiles = ([p50 => 50], [p99 => 99], ['p99.9' => 99.9], [max => 100]);

my $samples = race($option->{rounds}, map { my $walker = $_; $walker => sub { beside($walker) } } @walkers);

heading('Beside a process that walks over all keys',
    thousands($entries) . ' keys in ' . thousands($slots) . " slots of slot_size 64; $option->{rounds} rounds.");
table(['walker', 'seconds a walk'], map { [$_, spread($samples->{$_}{walk}, '%.3f')] } @walkers[1, 2]);
for my $call (map { $_->[0] } @calls) {
    print "$call, a single call:\n\n";
    table(['walker', (map { $_->[0] } @quantiles[0 .. 2]), 'longest of all'], map {
        my $walker = $_;
        [$walker, map({ spread($samples->{$walker}{"$call $_->[0]"}, \&duration) } @quantiles[0 .. 2]),
            duration(max @{ $samples->{$walker}{"$call max"} })]
    } @walkers);
    next if $call !~ /\A\w+\z/;
    print "As ratios to calls without a walker:\n\n";
    table(['walker', map { $_->[0] } @quantiles[0 .. 2]], map {
        my $walker = $_;
        my @names  = map {"$call $_->[0]"} @quantiles[0 .. 2];
        [$walker, map { spread(ratios($samples->{$walker}{$_}, $samples->{nobody}{$_}), '%.2f') } @names]
    } @walkers[1, 2]);
}

sub random_keys { return map { 'key ' . (1 + int rand $entries - 1) } 1 .. 1000 }

# The calls beside one that walks until they are done.
sub beside {
    my ($walker) = @_;
    my $walk = $walk{$walker};
    my $crew = BenchCrew->new(1, sub {
        my ($number, $crew) = @_;
        my ($walks, $begin) = (0, now());
        until ($crew->stopped) { $walk->(); $walks++ }
        return (now() - $begin) / ($walks || 1);
    });
    $crew->fire;
    my %figures;
    for my $call (shuffle @calls) {
        my ($name, $loop, $keys) = @$call;
        my @seconds;
        my $end = now() + $option->{seconds};
        while (now() < $end) { push @seconds, @{ $loop->($map, [$keys->()]) } }
        @figures{ map {"$name $_->[0]"} @quantiles } = quantiles(\@seconds, map { $_->[1] } @quantiles);
    }
    $crew->stop;
    ($figures{walk}) = map {@$_} $crew->results;
    return %figures;
}
