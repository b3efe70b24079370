#!/usr/bin/env perl
# What a client gets that keeps asking, beside what is due to it.
#
#   perl -Mblib bench/due.pl [--real=75] [--hours=3]
#
# A bucket is emptied, and its key then asked for again and again at a steady pace. Due is the whole part of what flows
# into the bucket in that time; given is what `allow` let through. First in simulated time, where nothing is left to
# chance, then for `real` seconds by the clock of the machine, all limits at once, each polled by a process of its own;
# there the time is that from the refusal that showed the bucket empty to the last poll. `hours` is how long the limit of
# one an hour is polled in simulated time. Takes `real` seconds and about ten more.
#
# With tokens and a time in whole milliseconds, or a refill at every poll that drops its fraction, such a client gets
# less than is due, or nothing.

use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";

use Time::HiRes qw(sleep);

use BenchClock;
use BenchCrew;
use BenchReport;
use Shared::Arena;

my $option = options(real => 75, hours => 3);

# Limit, window, seconds between two polls, and seconds of simulated time.
my @cases = (
    [5,   300,  0.01,  75],
    [100, 60,   0.001, 75],
    [1,   3600, 0.001, 3600 * $option->{hours}],
);
my $arena = Shared::Arena->create;

heading('What a client that keeps asking is due and given');
print "Simulated time:\n\n";
show(map { [@$_[0 .. 2], simulated(@$_)] } @cases);

print "By the clock of the machine:\n\n";
my $crew = BenchCrew->new(scalar @cases, sub { my ($number, $crew) = @_; return real($crew, @{ $cases[$number] }) });
$crew->fire;
sleep $option->{real};
$crew->stop;
my @found = map {@$_} $crew->results;
show(map { [@{ $cases[$_] }[0 .. 2], @{ $found[$_] }] } 0 .. $#cases);

sub show {
    my @rows = map {
        my ($limit, $window, $step, $polls, $seconds, $given) = @$_;
        ["$limit per $window s, every " . duration($step), thousands($polls), sprintf('%.3f', $seconds), int($seconds * $limit / $window), $given];
    } @_;
    table(['limit', 'polls', 'seconds', 'due', 'given'], @rows);
    return;
}

# The polls made, the seconds they took, and how many were allowed.
sub simulated {
    my ($limit, $window, $step, $seconds) = @_;
    my $rate  = $arena->rate("simulated $limit in $window", limit => $limit, window => $window);
    my $start = 1000;
    my $polls = int($seconds / $step + 0.5);
    Shared::Arena::_set_clock(undef, $start);
    1 while $rate->allow('client');
    my $given = 0;
    for my $poll (1 .. $polls) {
        Shared::Arena::_set_clock(undef, $start + $poll * $step);
        $given += $rate->allow('client');
    }
    Shared::Arena::_set_clock(undef, undef);
    return ($polls, $seconds, $given);
}

sub real {
    my ($crew, $limit, $window, $step) = @_;
    my $rate  = $arena->rate("real $limit in $window", limit => $limit, window => $window);
    1 while $rate->allow('client');
    my $start = my $now = now();
    my ($polls, $given) = (0, 0);
    until ($crew->stopped) {
        sleep $step;
        $now = now();
        $given += $rate->allow('client');
        $polls++;
    }
    return [$polls, $now - $start, $given];
}
