package BenchPlot;

# A line plot as SVG, for light and dark pages: axes with units, a legend, and the spread as a faint band.

use strict;
use warnings;

use List::Util qw(min max);

use BenchSvg;

my ($Width, $Height) = (760, 420);
my %Margin = (left => 70, right => 150, top => 44, bottom => 56);

# Options: title, x_label, y_label, x_log and y_log (true for logarithmic axes), x_ticks ([value, text] each), series.
# A series is { name, points => [[x, median, low, high], ...] } and may be `dashed`.
sub svg {
    my (%plot) = @_;
    my @points = map { @{ $_->{points} } } @{ $plot{series} };
    my $across = _scale($plot{x_log}, (map { $_->(map { $_->[0] } @points) } \&min, \&max),
        $Margin{left} + 10, $Width - $Margin{right} - 10);
    my @ticks = _ticks($plot{y_log}, min(map { $_->[2] } @points), max(map { $_->[3] } @points));
    my $up = _scale($plot{y_log}, @ticks[0, -1], $Height - $Margin{bottom}, $Margin{top});

    my @out = text($Margin{left}, 24, $plot{title}, 'start', 'class="title"');
    my ($left, $right, $bottom) = ($Margin{left}, $Width - $Margin{right}, $Height - $Margin{bottom});
    for my $tick (@ticks) {
        my $y = $up->($tick);
        push @out, qq{<path class="grid" d="M$left ${y}H$right"/>}, text($left - 8, $y + 4, tick_number($tick), 'end');
    }
    for my $tick (@{ $plot{x_ticks} }) {
        my $x = $across->($tick->[0]);
        my $end = $bottom + 5;
        push @out, qq{<path class="axis" d="M$x ${bottom}V$end"/>}, text($x, $bottom + 21, $tick->[1], 'middle');
    }
    push @out, qq{<path class="axis" d="M$left $Margin{top}V${bottom}H$right"/>},
        text(($left + $right) / 2, $Height - 12, $plot{x_label}, 'middle'),
        text(-($Margin{top} + $bottom) / 2, 18, $plot{y_label}, 'middle', 'transform="rotate(-90)"');

    my $index = 0;
    for my $series (@{ $plot{series} }) {
        my $colour = colour($index);
        my $dashes = $series->{dashed} ? ' stroke-dasharray="5 4"' : '';
        my @at = map { my ($x, @ys) = @$_; [$across->($x), map { $up->($_) } @ys] } @{ $series->{points} };
        my $band = join ' ', (map {"$_->[0],$_->[3]"} @at), map {"$_->[0],$_->[2]"} reverse @at;
        my $line = join ' ', map {"$_->[0],$_->[1]"} @at;
        push @out, qq{<polygon points="$band" fill="$colour" fill-opacity=".15"/>},
            qq{<polyline points="$line" fill="none" stroke="$colour" stroke-width="2"$dashes/>},
            map {qq{<circle cx="$_->[0]" cy="$_->[1]" r="3" fill="$colour"/>}} @at;
        my $y = $Margin{top} + 12 + 22 * $index++;
        my ($from, $to) = ($right + 14, $right + 36);
        push @out, qq{<path d="M$from ${y}H$to" stroke="$colour" stroke-width="2"$dashes/>},
            text($to + 6, $y + 4, $series->{name}, 'start');
    }
    return picture($Width, $Height, $plot{title}, @out);
}

# Code that takes a value to a coordinate.
sub _scale {
    my ($log, $low, $high, $from, $to) = @_;
    my $place = $log ? sub { log max($_[0], $low) } : sub { $_[0] };
    my ($first, $last) = map { $place->($_) } $low, $high;
    my $span = $last - $first || 1;
    return sub { sprintf '%.1f', $from + ($place->($_[0]) - $first) / $span * ($to - $from) };
}

# Round values that enclose the two: from 0, or with a logarithmic axis 1, 2 and 5 times the powers of ten.
sub _ticks {
    my ($log, $low, $high) = @_;
    my @steps = map { my $power = 10**$_; map { $_ * $power } 1, 2, 5 } 0 .. 9;
    if (!$log) {
        my ($step) = grep { $_ * 6 >= $high } @steps;
        return map { $_ * $step } 0 .. _ceiling($high / $step);
    }
    my ($first) = grep { $_ <= max($low, 1) } reverse @steps;
    my ($last)  = grep { $_ >= $high } @steps;
    return grep { $_ >= $first && $_ <= $last } @steps;
}

sub _ceiling { my ($number) = @_; return int($number) + ($number > int $number ? 1 : 0) }

sub _text {
    my ($x, $y, $text, $anchor, $more) = @_;
    $more = defined $more ? " $more" : '';
    return qq{<text x="$x" y="$y" text-anchor="$anchor"$more>} . _escape($text) . '</text>';
}

sub _number { my ($number) = @_; 1 while $number =~ s/\A(\d+)(\d{3})/$1,$2/; return $number }

sub _escape { my ($text) = @_; $text =~ s/&/&amp;/g; $text =~ s/</&lt;/g; return $text }

1;
