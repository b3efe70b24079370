use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/../t/lib";
use TestArena;
use TestKilledClients;
use Test::More;

# Thousands of processes are killed while they claim, spend from, fill up and give back buckets. See t/50-crash-limiter.t.

watchdog(900);

for my $table (1 .. 4) {
    is_deeply [TestKilledClients::mistakes(750)], [], 'three thousand deaths: no slot is lost, and no request too many allowed';
}

done_testing;
