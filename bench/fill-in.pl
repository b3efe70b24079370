#!/usr/bin/env perl
# Runs benchmarks and puts what they print into README.md, in the places marked for it.
#
#   perl -Mblib bench/fill-in.pl [cost] [churn] [contention] [paused-writer] [readers] [keys] [limits] [due] [serialised]
#
# Without names it runs those that need no build with failpoints, all but paused-writer, one after the other. Takes as
# long as they do, about a quarter of an hour.

use strict;
use warnings;
use FindBin;

my @names  = @ARGV ? @ARGV : qw(cost churn contention readers keys limits due serialised);
my $readme = "$FindBin::Bin/README.md";

die "Usage: $0 [cost] [churn] [contention] [paused-writer] [readers] [keys] [limits] [due] [serialised]\n" if grep {/\A-/} @names;

for my $name (@names) {
    die "There is no benchmark $name\n" if !-e "$FindBin::Bin/$name.pl";
    print STDERR "$name.pl ...\n";
    my @command = ($^X, (map {"-I$_"} grep { !ref } @INC), "$FindBin::Bin/$name.pl");
    open my $out, '-|', @command or die "Cannot run $name.pl: $!\n";
    my $figures = do { local $/; <$out> };
    close $out or die "$name.pl failed; its place in README.md is as it was.\n";

    open my $in, '<', $readme or die "Cannot read $readme: $!\n";
    my $text = do { local $/; <$in> };
    close $in;
    my ($begin, $end) = map {"<!-- $_ $name -->"} qw(begin end);
    $text =~ s/(\Q$begin\E\n).*(\Q$end\E)/$1\n$figures$2/s or die "README.md has no place for $name\n";
    open my $new, '>', $readme or die "Cannot write $readme: $!\n";
    print {$new} $text;
    close $new or die "Cannot write $readme: $!\n";
}
