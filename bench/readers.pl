#!/usr/bin/env perl
# Eight readers of one key that a writer overwrites as fast as it can.
#
#   perl -Mblib bench/readers.pl [--fetches=1e7] [--rounds=10] [--readers=8]
#
# Values are 30 and 4,000 bytes long; the readers make `fetches` fetches of each, in so many rounds, and as many while
# nobody writes. One fetch in a hundred is timed by itself, with two readings of the clock, and so are pairs of readings
# with nothing between them, at the same time: where there are more processes than processors, the longest of both are
# the time slices of the others. Prints fetches and stores a second, latencies, misses (none should be), and how many
# reads gave up (`busy`). Takes about a minute.

use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";

use List::Util qw(max min sum);
use Time::HiRes qw(sleep);

use BenchClock;
use BenchCrew;
use BenchReport;
use Shared::Arena;

my $option  = options(fetches => 1e7, rounds => 10, readers => 8);
my @lengths = (30, 4000);
my $each    = int $option->{fetches} / $option->{rounds} / $option->{readers} / 1000 + 0.5;    # thousands of fetches

my $map = Shared::Arena->create->map('m', slots => 64, slot_size => 4200);
my ($misses, $fetches) = (0, 0);
my @keys  = ('key') x 10;
my %loop  = (fetch => stopwatch('$got = $map->fetch($_)'), clock => stopwatch(''));

my $samples = race($option->{rounds}, map {
    my $length = $_;
    ("$length, nobody writes" => sub { measure($length, 0) }, "$length, one writes" => sub { measure($length, 1) })
} @lengths);

heading('Readers of one key that is overwritten without a pause',
    sprintf '%d readers, %s fetches a round, %d rounds.',
    $option->{readers}, thousands(1000 * $each * $option->{readers}), $option->{rounds});
table(['bytes', 'million fetches/s, nobody writes', 'one writes', 'ratio', 'million stores/s'], map {
    my ($quiet, $written) = map { $samples->{"$_->[0], $_->[1]"} } [$_, 'nobody writes'], [$_, 'one writes'];
    [thousands($_), spread($quiet->{fetches}, '%.2f'), spread($written->{fetches}, '%.2f'),
        spread(ratios($written->{fetches}, $quiet->{fetches}), '%.2f'), spread($written->{stores}, '%.2f')]
} @lengths);
print "A single fetch, and two readings of the clock with nothing between them:\n\n";
table(['bytes', 'what', 'p50', 'p99.9', 'longest'], map {
    my $turn = $_;
    map {
        my $what = $_;
        [$turn, $what, map({ spread($samples->{$turn}{"$what $_"}, \&duration) } 'p50', 'p99.9'),
            duration(max @{ $samples->{$turn}{"$what max"} })]
    } 'fetch', 'clock'
} map { ("$_, nobody writes", "$_, one writes") } @lengths);
printf "Of %s fetches, those of the first round too, %s were misses and %s gave up (`busy`).\n\n",
    thousands($fetches), thousands($misses), thousands($map->stats->{busy});

sub measure {
    my ($length, $writers) = @_;
    my @values = map { $_ x $length } 'a' .. 'j';
    $map->store('key', 'nobody has written yet');
    my $writer = BenchCrew->new($writers, sub {
        my ($number, $crew) = @_;
        my $stores = 0;
        my $begin  = now();
        until ($crew->stopped) {
            for (1 .. 100) { $map->store('key', $_) for @values }
            $stores += 1000;
        }
        return $stores / (now() - $begin);
    });
    my $readers = BenchCrew->new($option->{readers}, sub {
        my ($number, $crew) = @_;
        my $missed = 0;
        my (@fetch, @clock);
        my $begin = now();
        for (1 .. $each) {
            for (1 .. 990) { my @there = $map->fetch('key'); $missed++ if !@there }
            push @fetch, @{ $loop{fetch}->($map, \@keys) };
            push @clock, @{ $loop{clock}->($map, \@keys) };
            last if $crew->stopped;
        }
        return $missed, $begin, now(), pack('d*', @fetch), pack('d*', @clock);
    });
    $writer->fire;
    if ($writers) { sleep 0.001 while $map->fetch('key') eq 'nobody has written yet' }
    else { $map->store('key', $values[0]) }
    $readers->fire;
    my @found = $readers->results;
    $writer->stop;
    my ($stores) = map {@$_} $writer->results;

    my $seconds = max(map { $_->[2] } @found) - min(map { $_->[1] } @found);
    my $count   = 1000 * $each * $option->{readers};
    $misses  += sum map { $_->[0] } @found;
    $fetches += $count;
    my %figures = (fetches => $count / $seconds / 1e6, stores => ($stores || 0) / 1e6);
    for ([fetch => 3], [clock => 4]) {
        my ($what, $index) = @$_;
        my @all = map { unpack 'd*', $_->[$index] } @found;
        @figures{ map {"$what $_"} qw(p50 p99.9 max) } = quantiles(\@all, 50, 99.9, 100);
    }
    return %figures;
}
