use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/../t/lib", "$FindBin::Bin/lib";
use TestArena;
use TestDamage;
use TestEvidence;
use Test::More;

# t/60-hostile-bytes.t for as long as one likes: perl xt/hostile-bytes.t --rounds=1000000
#
# A round follows from its seed (and the arena's hash, see TestDamage): --first=SEED --rounds=1 makes one again. The rounds
# in which another process writes all the time have seeds too, but who comes first in them is not determined.

my %setting = settings(rounds => 10_000, first => 1_000_000);
watchdog(300 + $setting{rounds} / 20);

TestDamage::prepare();
my $found = TestDamage::survive($setting{first}, $setting{rounds});
is_deeply $found->{wrong}, [], "$found->{rounds} rounds: values, misses and errors, and nothing else"
    or diag 'ARENA_TEST_HASH=' . TestDamage::hash() . ' for the same arena';

my $counted = $found->{counted};
my %times;
for my $call (values %$counted) { $times{$_} += $call->{$_} || 0 for qw(value miss error) }
is_deeply [grep { !$counted->{$_} } TestDamage::names()], [], 'every call was made, in each context' if $found->{rounds} >= 5000;
cmp_ok $times{$_}, '>', 0, "some ended with: $_" for sort keys %times;
is $found->{unguarded}, 0, 'all mappings lay between guard pages';
TestDamage::finish();

my $calls = $times{value} + $times{miss} + $times{error};
shown("$found->{rounds} rounds from seed $setting{first} on, in $found->{with_company} of them another process writing all "
    . "the time; $calls calls of " . keys(%$counted) . " forms between guard pages: $times{value} values, $times{miss} misses, "
    . sprintf '%d errors, no signal, and none took more than %.2f s', $times{error}, $found->{longest});

done_testing;
