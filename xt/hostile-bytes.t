use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/../t/lib";
use TestArena;
use TestDamage;
use Test::More;

# Ten thousand damaged arenas: no crash, no endless loop.

watchdog(1800);
my $first = $ENV{ARENA_TEST_SEED} || 100_000;

TestDamage::prepare();
for my $block (0 .. 19) {
    my @seeds = map { $first + $block * 500 + $_ } 0 .. 499;
    my @bad = TestDamage::survive(@seeds);
    is_deeply \@bad, [], "seeds $seeds[0] to $seeds[-1]";
}
TestDamage::finish();

done_testing;
