#!/usr/bin/env perl
# Runs benchmarks and puts what they print into README.md, in the places marked for it.
#
#   perl -Mblib bench/fill-in.pl [name ...]
#
# Names are those of the scripts, without `.pl`. Without names it runs those that need no build with failpoints, all but
# paused-writer, one after the other. Takes as long as they do, about twenty minutes. The medians of compare.pl also go
# into the README.md above.

use strict;
use warnings;
use FindBin;

my @all   = qw(compare processes cost churn contention readers keys limits due serialised);
my @names = @ARGV ? @ARGV : @all;

die "Usage: $0 ", join(' ', map {"[$_]"} @all, 'paused-writer'), "\n" if grep {/\A-/} @names;

for my $name (@names) {
    die "There is no benchmark $name\n" if !-e "$FindBin::Bin/$name.pl";
    print STDERR "$name.pl ...\n";
    my @command = ($^X, (map {"-I$_"} grep { !ref } @INC), "$FindBin::Bin/$name.pl");
    open my $out, '-|', @command or die "Cannot run $name.pl: $!\n";
    my $figures = do { local $/; <$out> };
    close $out or die "$name.pl failed; its place in README.md is as it was.\n";
    put("$FindBin::Bin/README.md", $name, $figures);
    put("$FindBin::Bin/../README.md", $name, brief($figures)) if $name eq 'compare';
}

# Puts the text between the marks of this name.
sub put {
    my ($readme, $name, $figures) = @_;
    open my $in, '<', $readme or die "Cannot read $readme: $!\n";
    my $text = do { local $/; <$in> };
    close $in;
    my ($begin, $end) = map {"<!-- $_ $name -->"} qw(begin end);
    $text =~ s/(\Q$begin\E\n).*(\Q$end\E)/$1\n$figures$2/s or die "$readme has no place for $name\n";
    open my $new, '>', $readme or die "Cannot write $readme: $!\n";
    print {$new} $text;
    close $new or die "Cannot write $readme: $!\n";
    return;
}

# What a report says up to the end of its first table, without the title and the spreads.
sub brief {
    my ($figures) = @_;
    my ($brief) = $figures =~ /\A#+ .*?\n\n(.*?^\|.*?\n\n)/ms or die "A report without a table\n";
    for ($brief) {
        s/ \([0-9.,]+\.\.[0-9.,]+\)//g;
        s/^\|.*/(my $line = $&) =~ s{ +}{ }g; $line =~ s{-+}{--}g if $line =~ m{\A\|-}; $line/gme;
    }
    return $brief;
}
