package BenchClock;

# How the benchmarks measure: contestants take turns in many short rounds, in an order drawn anew for each, so that a
# machine that is slow for a while is slow for all of them. What is told is the median over the rounds, with the 10th
# and 90th percentile as its spread; ratios are formed within a round, before the median is taken.

use strict;
use warnings;

use Exporter 'import';
use List::Util qw(shuffle);
use Time::HiRes qw(clock_gettime CLOCK_MONOTONIC CLOCK_THREAD_CPUTIME_ID);

our @EXPORT = qw(now net_costs pieces stopwatch quantiles race median percentile ratios progress);

my $Clock   = CLOCK_MONOTONIC;
my $OwnTime = CLOCK_THREAD_CPUTIME_ID;

# Seconds of the monotonic clock, which processes share.
sub now { return clock_gettime($Clock) }

# What a key costs each of several pieces of code, in nanoseconds of this process's own time (so a slice given to
# another process counts for nothing), without the loop around it. Each contestant is [code, pieces]; the code is called
# with one piece, a reference to an array of keys, at a time. The contestants alternate piece by piece, and an empty loop
# goes over each piece as well: its time, with that of the call and of reading the clock, is taken off. A contestant that
# waits for another process has a true third element: for it, the time that passes is what counts.
sub net_costs {
    my @contestants = @_;
    my @seconds     = (0) x @contestants;
    for my $turn (0 .. $#{ $contestants[0][1] }) {
        for my $index (0 .. $#contestants) {
            my ($code, $pieces, $waits) = @{ $contestants[$index] };
            my $clock = $waits ? $Clock : $OwnTime;
            my $piece = $pieces->[$turn];
            my $begin = clock_gettime($clock);
            $code->($piece);
            my $between = clock_gettime($clock);
            _empty_loop($piece);
            my $end = clock_gettime($clock);
            $seconds[$index] += ($between - $begin) - ($end - $between);
        }
    }
    return map { 1e9 * $seconds[$_] / _keys_in($contestants[$_][1]) } 0 .. $#contestants;
}

sub _empty_loop { my ($keys) = @_; 1 for @$keys; return }

sub _keys_in { my ($pieces) = @_; my $count = 0; $count += @$_ for @$pieces; return $count }

# Keys in pieces of so many.
sub pieces { my ($keys, $size) = @_; my @pieces; push @pieces, [splice @$keys, 0, $size] while @$keys; return \@pieces }

# Compiles a loop that times each call by itself. The call is Perl source over `$map` and the key `$_`; an empty string
# makes a loop that times nothing, which is what two readings of the clock cost. The loop is called with the map and an
# array of keys, and returns a reference to the seconds each of them took.
sub stopwatch {
    my ($call) = @_;
    my $clock = $Clock;
    my $loop = eval <<"LOOP";
        sub {
            my (\$map, \$keys) = \@_;
            my \@seconds = (0) x \@\$keys;
            my \$index = 0;
            my (\$begin, \$got);
            for (\@\$keys) {
                \$begin = clock_gettime(\$clock);
                $call;
                \$seconds[\$index++] = clock_gettime(\$clock) - \$begin;
            }
            return \\\@seconds;
        }
LOOP
    return $loop || die $@;
}

# The wanted percentiles of many latencies, in the order wanted; 100 is the longest.
sub quantiles {
    my ($seconds, @wanted) = @_;
    my @sorted = sort { $a <=> $b } @$seconds;
    return map { _at(\@sorted, $_) } @wanted;
}

# Runs the turns, code by name, in so many rounds, after one round that is not counted. Each returns pairs of a
# figure's name and its value. Returns the values by turn and figure, an array with one of each round.
sub race {
    my ($rounds, %turns) = @_;
    my %samples;
    for my $round (0 .. $rounds) {
        progress("round $round of $rounds");
        for my $turn (shuffle sort keys %turns) {
            my %figures = $turns{$turn}->();
            next if !$round;
            push @{ $samples{$turn}{$_} }, $figures{$_} for keys %figures;
        }
    }
    progress('');
    return \%samples;
}

sub median { my ($values) = @_; return percentile($values, 50) }

sub percentile { my ($values, $percent) = @_; return _at([sort { $a <=> $b } @$values], $percent) }

# The nearest rank: always one of the values.
sub _at { my ($sorted, $percent) = @_; return $sorted->[int($percent / 100 * $#$sorted + 0.5)] }

# Of two arrays with a value of each round, the quotient in each round.
sub ratios {
    my ($values, $others) = @_;
    return [map { $others->[$_] ? $values->[$_] / $others->[$_] : () } 0 .. $#$values];
}

# A line on the terminal that the next one overwrites.
sub progress {
    my ($text) = @_;
    printf STDERR "\r%-70s%s", $text, $text eq '' ? "\r" : '' if -t STDERR;
    return;
}

1;
