use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib", "$FindBin::Bin/../t/lib";
use TestArena;
use TestEvidence;
use TestKilledClients;
use Test::More;

# Processes are killed by the thousand while they claim, spend from, fill up and give back buckets. See t/50-crash-limiter.t.

my %length = settings(tables => 1);

watchdog(900 * $length{tables});

for my $table (1 .. $length{tables}) {
    is_deeply [TestKilledClients::mistakes(750)], [], 'three thousand deaths: no slot is lost, and no request too many allowed';
}

shown($length{tables} * 3000 . ' deaths in a limiter: no slot lost, no request too many');

done_testing;
