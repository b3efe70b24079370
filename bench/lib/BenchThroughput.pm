package BenchThroughput;

# What several processes get done together: they start at one moment and go on for some seconds, each counting its
# calls. Told are the calls a second of all of them, perl's own loop included, and what a call takes of their own time,
# which tells more where others use the processors too.

use strict;
use warnings;

use Exporter 'import';
use List::Util qw(max min sum);
use Time::HiRes qw(clock_gettime sleep CLOCK_PROCESS_CPUTIME_ID);

use BenchClock;
use BenchCrew;
use BenchReport;

our @EXPORT    = qw(throughput);
our @EXPORT_OK = qw(together process_heads);

# Measures the loads with each number of processes, of which the first is 1, and prints the tables. A load is
# [name, code]; see `together` for the code.
sub throughput {
    my ($title, $loads, $counts, $rounds, $seconds) = @_;
    my %turns;
    for my $load (@$loads) {
        my ($name, $code) = @$load;
        for my $count (@$counts) { $turns{"$name $count"} = sub { return together($count, $code, $seconds) } }
    }
    my $samples = race($rounds, %turns);
    my @names   = map { $_->[0] } @$loads;

    heading($title, "$seconds s each, $rounds rounds.");
    _compare($samples, 'Million calls a second of all processes together', 'speed', '%.2f', $counts, @names);
    _compare($samples, "Nanoseconds of the processes' own time a call", 'own', '%.0f', $counts, @names);
    return;
}

# A round of so many processes, from the first one's start to the last one's end. The code gets the process's number and
# returns code that makes a thousand calls, or first that and then another number of calls. Returned are the millions of
# calls a second, the nanoseconds of the processes' own time a call, and the number of calls.
sub together {
    my ($count, $code, $seconds) = @_;
    my $crew = BenchCrew->new($count, sub {
        my ($number, $crew) = @_;
        my ($some, $number_of_calls) = ($code->($number), 1000);
        my $calls = 0;
        my ($begin, $own) = (now(), clock_gettime(CLOCK_PROCESS_CPUTIME_ID));
        until ($crew->stopped) { $some->(); $calls += $number_of_calls }
        $own = clock_gettime(CLOCK_PROCESS_CPUTIME_ID) - $own;
        return { calls => $calls, own => $own, begin => $begin, end => now() };
    });
    $crew->fire;
    sleep $seconds;
    $crew->stop;
    my @results = map {@$_} $crew->results;
    my $calls   = sum map { $_->{calls} } @results;
    my $taken   = max(map { $_->{end} } @results) - min(map { $_->{begin} } @results);
    return speed => $calls / $taken / 1e6, own => 1e9 * sum(map { $_->{own} } @results) / $calls, calls => $calls;
}

sub process_heads { return map { $_ == 1 ? '1 process' : "$_ processes" } @_ }

sub _compare {
    my ($samples, $title, $figure, $format, $counts, @names) = @_;
    my @several = @$counts[1 .. $#$counts];
    print "$title:\n\n";
    table(['load', process_heads(@$counts)], map {
        my $name = $_;
        [$name, map { spread($samples->{"$name $_"}{$figure}, $format) } @$counts]
    } @names);
    print "As ratios to one process:\n\n";
    table(['load', process_heads(@several)], map {
        my $name = $_;
        my $one  = $samples->{"$name 1"}{$figure};
        [$name, map { spread(ratios($samples->{"$name $_"}{$figure}, $one), '%.2f') } @several]
    } @names);
    return;
}

1;
