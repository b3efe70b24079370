package TestEvidence;

# For tests that can go on for as long as one likes: how long they are told to, and the line in which they say what they
# have shown.

use strict;
use warnings;

use Exporter 'import';
use Test::More;

our @EXPORT = qw(settings shown);

# What the command line says (`perl xt/torture.t --minutes=30`), and for all else the settings given here: those
# of the short form, which .ci/xt runs. A setting that is a number here takes numbers only, any other one takes any text.
sub settings {
    my (%setting) = @_;
    my $number = qr/\A[0-9]+(?:\.[0-9]+)?\z/;
    my %kind = map { $_ => $setting{$_} =~ $number ? 'NUMBER' : 'TEXT' } keys %setting;
    for my $argument (@ARGV) {
        my ($name, $value) = $argument =~ /\A--([a-z]+)=(.+)\z/s;
        my $known = defined $name && exists $kind{$name} && ($kind{$name} eq 'TEXT' || $value =~ $number);
        die "$0 takes ", join(' ', map {"--$_=$kind{$_}"} sort keys %kind), ", not $argument\n" if !$known;
        $setting{$name} = $value;
    }
    return %setting;
}

# One line for xt/EVIDENCE.md, which xt/evidence.pl puts there. Only a test that found nothing wrong has shown something.
sub shown {
    my ($what) = @_;
    note "shown: $what" if Test::More->builder->is_passing;
    return;
}

1;
