use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/../t/lib", "$FindBin::Bin/lib";
use TestArena;
use TestInstructions;
use Test::More;

use Shared::Arena;

# No call executes more instructions than instructions.tsv says, at a call site or as an ordinary method. That file is
# true of the machine and the compilers it names; elsewhere the figures are shown and nothing is compared.
#
#   perl -Mblib xt/instructions.t [--write | --table]
#
# --write makes the file anew, and the table in ARCHITECTURE.md; --table prints that table.

my $path  = "$FindBin::Bin/instructions.tsv";
my $share = 0.02;    # of the call's sum, and
my $few   = 4;       # instructions more are no finding
my $runs  = 3;

watchdog(170);
my $problem = cannot_count();
plan skip_all => $problem if $problem;

my %counts = eval {
    map { my $way = $_; $way => [least_of(map { [by_step(count_calls($way))] } 1 .. $runs)] } @ways;
};
plan skip_all => "nothing was counted: $@" if !%counts;

if (grep { $_ eq '--write' } @ARGV) {
    write_file($path, figures_text(%counts), 0644);
    fill_in('instructions', table(%counts));
    plan skip_all => 'the figures are new';
}
if (grep { $_ eq '--table' } @ARGV) {
    diag table(%counts);
    plan skip_all => 'the table is all';
}

my ($machine, $figures) = read_figures($path);
my @other = grep { ($machine->{ $_->[0] } // '') ne $_->[1] } machine();
if (@other) {
    diag table(%counts);
    plan skip_all => 'counted with another ' . join ', ', map {"$_->[0] ($_->[1])"} @other;
}

for my $way (@ways) {
    subtest $way eq 'site' ? 'at call sites' : 'as methods' => sub {
        for (@{ $counts{$way} }) {
            my ($name, $count) = @$_;
            my $expected = $figures->{$name}{$way};
            ok $expected, "$name is in the file" or next;
            my $tolerance = $share * total($expected) + $few;
            my @more = grep { $count->{$_} > $expected->{$_} + $tolerance } @steps;
            ok !@more, "$name: " . total($count) . ' instructions'
                or diag map {"$name: $count->{$_} instead of $expected->{$_} in the step '$_'\n"} @more;
            my @fewer = grep { $count->{$_} < $expected->{$_} - $tolerance } @steps;
            diag "$name: only $count->{$_} instead of $expected->{$_} in the step '$_': --write it" for @fewer;
        }
    };
}

done_testing;
