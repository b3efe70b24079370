package BenchReport;

# What the benchmarks print: Markdown, to be pasted into README.md as it is.

use strict;
use warnings;

use Exporter 'import';
use List::Util qw(max);
use POSIX ();

use BenchClock;

our @EXPORT = qw(options heading table spread duration three_digits thousands write_file);

$| = 1;
my ($Load) = map { (split)[0] } _lines('/proc/loadavg');    # what others did when we began

# Options of the form --name=number, with their defaults; 1e6 is a number too.
sub options {
    my %options = @_;
    for my $argument (@ARGV) {
        my ($name, $value) = $argument =~ /\A--([a-z-]+)=(.+)\z/s;
        die "No option of this benchmark: $argument\nUsage: $0 " . join(' ', map {"[--$_=$options{$_}]"} sort keys %options) . "\n"
            if !defined $name || !exists $options{$name};
        $options{$name} = $options{$name} =~ /\A[0-9.e]+\z/ ? 0 + $value : $value;
    }
    return \%options;
}

# A title, and on what the figures were measured.
sub heading {
    my ($title, @lines) = @_;
    my ($model) = map { /^model name\s*:\s*(.+)/ ? $1 : () } _lines('/proc/cpuinfo');
    my $processors = grep {/^processor\b/} _lines('/proc/cpuinfo');
    printf "#### %s\n\n", $title;
    printf "%s; %d processors (%s), load %s before; perl %vd; Linux %s.\n", POSIX::strftime('%Y-%m-%d', gmtime),
        $processors, $model || 'unknown', $Load, $^V, (POSIX::uname())[2];
    print map {"$_\n"} @lines;
    print "\n";
    return;
}

sub _lines { my ($path) = @_; open my $handle, '<', $path or return; return <$handle> }

# Rows of cells, the first of them the heads; all columns but the first are right-aligned.
sub table {
    my ($heads, @rows) = @_;
    my @width;
    for my $column (0 .. $#$heads) { $width[$column] = max 3, map { length $_->[$column] } $heads, @rows }
    my $line = sub {
        my ($cells) = @_;
        return '| ' . join(' | ', map { sprintf $_ ? '%*s' : '%-*s', $width[$_], $cells->[$_] } 0 .. $#$heads) . " |\n";
    };
    print $line->($heads);
    print '|', join('|', map { $_ ? '-' x ($width[$_] + 1) . ':' : '-' x ($width[$_] + 2) } 0 .. $#$heads), "|\n";
    print map { $line->($_) } @rows;
    print "\n";
    return;
}

# The median of the rounds' values and their spread: `1.02 (0.97..1.10)`. The format is for one number, or code.
sub spread {
    my ($values, $format) = @_;
    return '-' if !$values || !@$values;
    my $show = ref $format ? $format : sub { sprintf $format, $_[0] };
    return sprintf '%s (%s..%s)', map { $show->(percentile($values, $_)) } 50, 10, 90;
}

# Seconds as nanoseconds, microseconds, milliseconds or seconds, with three digits.
sub duration {
    my ($seconds) = @_;
    for (['ns', 1e-9], ['us', 1e-6], ['ms', 1e-3]) {
        my ($unit, $length) = @$_;
        return three_digits($seconds / $length) . " $unit" if $seconds < 999.5 * $length;
    }
    return three_digits($seconds) . ' s';
}

# A number with three digits, or all it has before the point: 1.23, 12.3, 123, 1,235.
sub three_digits {
    my ($number) = @_;
    return thousands($number) if $number >= 999.5;
    return sprintf $number < 9.995 ? '%.2f' : $number < 99.95 ? '%.1f' : '%.0f', $number;
}

# 1234567 as 1,234,567.
sub thousands { my $text = sprintf '%.0f', $_[0]; 1 while $text =~ s/\A(-?\d+)(\d{3})/$1,$2/; return $text }

sub write_file {
    my ($path, $text) = @_;
    open my $file, '>', $path or die "Cannot write $path: $!\n";
    print {$file} $text;
    close $file or die "Cannot write $path: $!\n";
    return;
}

1;
