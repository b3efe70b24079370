use strict;
use warnings;
use FindBin;
use Test::More;

# The crash tests of t/ for much longer, each with its own random moments.

$ENV{ARENA_TEST_KILLS} = 3000;
for my $file ("$FindBin::Bin/../t/50-crash-counters.t") {
    is system($^X, $file), 0, $file;
}
for my $round (1 .. 10) {
    is system($^X, $_), 0, "$_, round $round" for map {"$FindBin::Bin/../t/50-crash-$_.t"} qw(store limiter paused-writer);
}

done_testing;
