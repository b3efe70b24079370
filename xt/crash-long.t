use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use TestEvidence;
use Test::More;

# The crash tests of t/ again and again, each time with other random moments.

my $rounds = {settings(rounds => 1)}->{rounds};

# What they say is only shown when they fail: it is TAP too.
sub passes {
    my ($name, $title) = @_;
    open my $run, '-|', "'$^X' '$FindBin::Bin/../t/50-crash-$name.t' 2>&1" or die "$^X: $!";
    my @said = <$run>;
    ok close($run), $title or diag @said;
}

for my $round (1 .. $rounds) {
    passes($_, "$_, round $round") for qw(limiter paused-writer windows);
}

shown("$rounds times the crash tests of limiters, stopped writers and windows");

done_testing;
