#!/usr/bin/env perl
# What a call costs, against the size of the table and against how full it is.
#
#   perl -Mblib bench/cost.pl [--largest=1e7] [--slots=100000] [--rounds=100] [--calls=2000] [--to=bench]
#
# Measured are fetch of a key that is there (hit) and of one that is not (miss), store of a key that is there
# (overwrite), store of a new one (insert), delete, and incr of a counter that is there. All tables exist at the same
# time, and each call goes to a key drawn at random from the whole table. The sizes are 1,000 slots to `largest`, 75 %
# full. The fills are 10 % to 100 % of `slots`. Inserts and deletes alternate in lots of twenty, so that the fill stays;
# `replace` is a delete and an insert in turn, which in a full table leaves the insert a single free slot to find. A
# store that the full table refuses is measured too; and, to see what memory costs by itself, `peek` of eight bytes at a
# random place of the same region. Times are the process's own, without the loop.
#
# Prints tables, and writes cost-of-size.svg and cost-of-fill.svg, with their figures beside them as .tsv, into the
# directory `to`. Takes about three minutes. The tables up to ten million slots reserve 1.5 GB of memory together.

use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";

use List::Util qw(min);

use BenchClock;
use BenchPlot;
use BenchReport;
use BenchTable;

my $option = options(largest => 1e7, slots => 100_000, rounds => 100, calls => 2000, to => $FindBin::Bin);
my $piece  = 20;
my @operations = qw(hit miss overwrite insert delete replace incr);

die "There is no directory $option->{to}\n" if !-d $option->{to};
of_size();
of_fill();

sub of_size {
    my @sizes   = grep { $_ <= $option->{largest} } map { 10**$_ } 3 .. 7;
    my %table   = map { $_ => BenchTable->new($_, 0.75 * $_) } @sizes;
    my $samples = race($option->{rounds}, map { turns($_, $table{$_}, 'peek') } @sizes);
    my $figures = by_operation($samples, \@sizes, @operations, 'peek');

    heading('The cost of a call against the size of the table',
        "Nanoseconds a call, 75 % full, slot_size 64, keys drawn from the whole table; $option->{rounds} rounds.");
    tables('slots', $figures, [map { [$_, thousands($_)] } @sizes], @operations, 'peek');
    write_file("$option->{to}/cost-of-size.tsv", tsv('slots', $figures, \@sizes, @operations, 'peek'));
    write_file("$option->{to}/cost-of-size.svg", BenchPlot::svg(
        title   => 'Cost of a call against the size of the table (75 % full)',
        x_label => 'slots', y_label => 'nanoseconds a call', x_log => 1,
        x_ticks => [map { [$_, thousands($_)] } @sizes],
        series  => series($figures, \@sizes, grep({ $_ ne 'replace' } @operations), 'peek'),
    ));
    return;
}

sub of_fill {
    my @fills   = (map({ 10 * $_ } 1 .. 9), 95, 99, 100);
    my $slots   = $option->{slots};
    my %table   = map { $_ => BenchTable->new($slots, $slots * $_ / 100) } @fills;
    my $samples = race($option->{rounds}, map({ turns($_, $table{$_}) } @fills), refusal($table{100}));
    my $figures = by_operation($samples, \@fills, @operations);

    heading('The cost of a call against how full the table is',
        'Nanoseconds a call, ' . thousands($slots) . " slots of slot_size 64; $option->{rounds} rounds.");
    tables('full', $figures, [map { [$_, "$_ %"] } @fills], @operations);
    printf "A store that the full table refuses: %s ns.\n\n", spread($samples->{'100 refused'}{refused}, '%.0f');
    my $tsv = tsv('percent', $figures, \@fills, @operations);
    write_file("$option->{to}/cost-of-fill.tsv", $tsv . tsv_line(100, 'refused', $samples->{'100 refused'}{refused}));
    write_file("$option->{to}/cost-of-fill.svg", BenchPlot::svg(
        title   => 'Cost of a call against how full the table is (' . thousands($slots) . ' slots)',
        x_label => 'percent of the slots in use', y_label => 'nanoseconds a call', y_log => 1,
        x_ticks => [map { [$_, $_] } grep { $_ % 10 == 0 } @fills],
        series  => series($figures, \@fills, @operations),
    ));
    return;
}

# --- measuring ---

# A turn for each operation on the table: some calls to warm up, which are not counted, then those that are.
sub turns {
    my ($label, $table, $peek) = @_;
    my %call = BenchTable::calls($table->{map});
    my %operation = (
        hit       => [$call{fetch}, sub { $table->live_keys(@_) }],
        miss      => [$call{fetch}, sub { $table->absent_keys(@_) }],
        overwrite => [$call{store}, sub { $table->live_keys(@_) }],
        incr      => [$call{incr},  sub { $table->counter_keys(@_) }],
        $peek ? (peek => [$table->peek, sub { $table->places(@_) }]) : (),
    );
    my %turns;
    for my $name (keys %operation) {
        my ($code, $keys) = @{ $operation{$name} };
        $turns{"$label $name"} = sub {
            $code->($keys->($option->{calls} / 2));
            my ($cost) = net_costs([$code, pieces($keys->($option->{calls}), $piece)]);
            return $name => $cost;
        };
    }
    $turns{"$label turnover"} = sub {
        my ($old, $new) = $table->turnover($option->{calls} / 2, $piece);
        for my $index (0 .. $#$new) { $call{delete}->($old->[$index]); $call{store}->($new->[$index]) }
        ($old, $new) = $table->turnover($option->{calls}, $piece);
        my ($delete, $insert) = net_costs([$call{delete}, $old], [$call{store}, $new]);
        return delete => $delete, insert => $insert;
    };
    $turns{"$label replace"} = sub {
        $call{replace}->(in_turn($table->turnover($option->{calls} / 4, 1)));
        my ($cost) = net_costs([$call{replace}, pieces(in_turn($table->turnover($option->{calls} / 2, 1)), $piece)]);
        return replace => 2 * $cost;
    };
    return %turns;
}

# An old key, a new one, and so on.
sub in_turn { my ($old, $new) = @_; return [map { (@{ $old->[$_] }, @{ $new->[$_] }) } 0 .. $#$new] }

sub refusal {
    my ($table) = @_;
    my %call = BenchTable::calls($table->{map});
    return '100 refused' => sub {
        my ($cost) = net_costs([$call{store}, pieces($table->absent_keys(min(100, $option->{calls})), $piece)]);
        return refused => $cost;
    };
}

# --- showing ---

# { operation => { x => one value of each round } }
sub by_operation {
    my ($samples, $xs, @names) = @_;
    my %figures;
    for my $name (@names) {
        my $turn = $name eq 'insert' || $name eq 'delete' ? 'turnover' : $name;
        $figures{$name}{$_} = $samples->{"$_ $turn"}{$name} for @$xs;
    }
    return \%figures;
}

sub tables {
    my ($head, $figures, $xs, @names) = @_;
    my $first = $xs->[0][0];
    table([$head, @names], map { my $x = $_; [$x->[1], map { spread($figures->{$_}{$x->[0]}, '%.0f') } @names] } @$xs);
    print "As ratios to $xs->[0][1]:\n\n";
    table([$head, @names], map {
        my $x = $_;
        [$x->[1], map { spread(ratios($figures->{$_}{ $x->[0] }, $figures->{$_}{$first}), '%.2f') } @names]
    } @$xs[1 .. $#$xs]);
    return;
}

sub series {
    my ($figures, $xs, @names) = @_;
    my @series;
    for my $name (@names) {
        my @points = map { [$_, three($figures->{$name}{$_})] } @$xs;
        push @series, { name => $name, points => \@points, dashed => $name eq 'peek' };
    }
    return \@series;
}

sub tsv {
    my ($head, $figures, $xs, @names) = @_;
    my $text = join("\t", $head, 'operation', 'median_ns', 'p10_ns', 'p90_ns') . "\n";
    for my $name (@names) { $text .= tsv_line($_, $name, $figures->{$name}{$_}) for @$xs }
    return $text;
}

sub tsv_line {
    my ($x, $name, $values) = @_;
    return join("\t", $x, $name, map { sprintf '%.1f', $_ } three($values)) . "\n";
}

sub three { my ($values) = @_; return map { percentile($values, $_) } 50, 10, 90 }
