package BenchBars;

# A chart of horizontal bars as SVG, in groups, on a logarithmic scale: each bar with its spread and its value.

use strict;
use warnings;

use List::Util qw(max min);

use BenchReport;
use BenchSvg;

my $Width  = 760;
my %Margin = (left => 130, right => 60, top => 40, bottom => 50);
my ($Bar, $Gap, $Legend) = (13, 16, 20);    # heights of a bar, of what is between groups, of a line of the legend

# Options: title, x_label, series (names, for the legend), groups, and from, the value at which bars begin. A group is
# { name, bars => [{ series, value, low, high }, ...] }.
sub svg {
    my (%chart)  = @_;
    my %index    = map { $chart{series}[$_] => $_ } 0 .. $#{ $chart{series} };
    my @bars     = map { @{ $_->{bars} } } @{ $chart{groups} };
    my ($low, $high) = _enclosing(min($chart{from}, map { $_->{low} } @bars), max(map { $_->{high} } @bars));
    my @ticks    = grep { $_ >= $low && $_ <= $high } map { 0 + "1e$_" } -9 .. 12;
    my $across   = _scale($low, $high, $Margin{left}, $Width - $Margin{right});
    my ($legend, $lines) = _legend(@{ $chart{series} });
    my $top      = $Margin{top} + $Legend * $lines;
    my $y        = $top + $Gap / 2;
    my $begin    = $across->($chart{from});

    my @parts;
    for my $group (@{ $chart{groups} }) {
        push @parts, text($Margin{left} - 10, $y + $Bar * @{ $group->{bars} } / 2 + 4, $group->{name}, 'end');
        for my $bar (@{ $group->{bars} }) {
            push @parts, _bar($bar, $y, $begin, $across, colour($index{ $bar->{series} }));
            $y += $Bar;
        }
        $y += $Gap;
    }
    my $bottom = $y - $Gap / 2;
    my @grid   = map {
        my $x = $across->($_);
        (qq{<path class="grid" d="M$x ${top}V$bottom"/>}, text($x, $bottom + 17, tick_number($_), 'middle'));
    } @ticks;
    push @parts, qq{<path class="axis" d="M$begin ${top}V$bottom"/>},
        text(($Margin{left} + $Width - $Margin{right}) / 2, $bottom + 38, $chart{x_label}, 'middle');
    return picture($Width, $bottom + $Margin{bottom}, $chart{title},
        text(10, 24, $chart{title}, 'start', 'class="title"'), @$legend, @grid, @parts);
}

# From where bars begin to the value, to the left if it is less; a line for the spread; and the value.
sub _bar {
    my ($bar, $y, $begin, $across, $colour) = @_;
    my ($x, $low, $high) = map { $across->($bar->{$_}) } qw(value low high);
    my ($left, $length) = (min($x, $begin), max(0.5, abs($x - $begin)));
    my ($thick, $middle) = ($Bar - 2, $y + $Bar / 2);
    my ($top, $bottom)   = ($middle - 3, $middle + 3);
    return qq{<rect x="$left" y="$y" width="$length" height="$thick" fill="$colour"/>},
        qq{<path class="axis" d="M$low ${middle}H${high}M$low ${top}V${bottom}M$high ${top}V${bottom}"/>},
        text(max($high, $begin) + 5, $y + $Bar - 3, three_digits($bar->{value}), 'start', 'style="font-size:11px"');
}

# The names with their colours, four to a line, and the number of lines.
sub _legend {
    my @names = @_;
    my @parts;
    for my $index (0 .. $#names) {
        my ($x, $y) = (10 + 190 * ($index % 4), $Margin{top} + $Legend * int($index / 4));
        my $colour = colour($index);
        push @parts, qq{<rect x="$x" y="$y" width="12" height="12" fill="$colour"/>},
            text($x + 18, $y + 11, $names[$index], 'start');
    }
    return \@parts, 1 + int($#names / 4);
}

# Code that takes a value to a coordinate.
sub _scale {
    my ($low, $high, $from, $to) = @_;
    return sub { sprintf '%.1f', $from + log(max($_[0], $low) / $low) / log($high / $low) * ($to - $from) };
}

# 1, 2 or 5 times a power of ten, of which one is not above the least and one not below the greatest.
sub _enclosing {
    my ($least, $greatest) = @_;
    my @steps = map { my $power = $_; map { 0 + "${_}e$power" } 1, 2, 5 } -9 .. 12;
    my ($low)  = grep { $_ <= $least } reverse @steps;
    my ($high) = grep { $_ >= $greatest } @steps;
    return ($low, $high);
}

1;
