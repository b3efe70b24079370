use strict;
use warnings;
use FindBin;
use Test::More;

# The crash tests of t/ for much longer, each with its own random moments.

# What they say is only shown when they fail: it is TAP too.
sub passes {
    my ($name, $title) = @_;
    open my $run, '-|', "'$^X' '$FindBin::Bin/../t/50-crash-$name.t' 2>&1" or die "$^X: $!";
    my @said = <$run>;
    ok close($run), $title or diag @said;
}

for my $round (1 .. 10) {
    passes($_, "$_, round $round") for qw(limiter paused-writer windows);
}

done_testing;
