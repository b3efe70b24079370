use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use TestArena;
use TestDamage;
use Test::More;

# Bytes of an arena are overwritten between calls and during them. Every call then gives a value, a miss or an error: no
# access outside of the mapping, no crash, no endless loop. xt/hostile-bytes.t does so as often as one likes.

my $first = $ENV{ARENA_TEST_SEED} || 3001;

TestDamage::prepare();
my $found = TestDamage::survive($first, 1000);
is_deeply $found->{wrong}, [], "seeds from $first on"
    or diag 'ARENA_TEST_HASH=' . TestDamage::hash() . ' for the same arena';
cmp_ok $found->{with_company}, '>', 0, 'in some rounds another process wrote all the time' if !$ENV{ARENA_TEST_SEED};
cmp_ok $found->{unguarded}, '<=', $found->{guarded} / 100, 'nearly all lay between guard pages, and no call was made on the others';
TestDamage::finish();

done_testing;
