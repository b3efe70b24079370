use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use TestArena;
use POSIX ();
use Test::More;

use Shared::Arena;

# A full map whose one lapsed entry is collected by a reader in the very moment in which a writer looks for it: the
# writer once found neither the entry nor the slot, and refused the key.

use constant {SLOTS => 500, ROUNDS => 1500};

my $arena = Shared::Arena->create(size => 256 * 1024);
my $map   = $arena->map('map', slots => SLOTS, slot_size => 64);
my $turn  = $arena->map('turn', slots => 16, slot_size => 64);
$turn->incr($_, 0) for qw(round read);

# Rounds of the wall clock's own: each has a lapsed key of another name, and so in another place.
my $clock = 1_800_000_000;
set_clock($clock, undef);
$map->store("stays $_", 1) for 1 .. SLOTS - 1;

my $reader = fork // die "fork: $!";
if (!$reader) {
    alarm 100;
    for my $round (1 .. ROUNDS) {
        1 until $turn->counter('round') >= $round;
        set_clock($clock + 10 * $round + 5, undef);
        for (1 .. $round % 40 * 5) { }
        $map->exists("lapses $round");
        $turn->incr('read');
    }
    POSIX::_exit(0);
}

my $refused = 0;
for my $round (1 .. ROUNDS) {
    set_clock($clock + 10 * $round, undef);
    $map->store("lapses $round", 1, ttl => 1) == 1 or $refused++;
    set_clock($clock + 10 * $round + 5, undef);
    $turn->incr('round');
    $map->store("new $round", 1) == 1 or $refused++;
    1 until $turn->counter('read') >= $round;
    $map->delete("new $round");
    $map->delete("lapses $round");
}
waitpid $reader, 0;
is $refused, 0, ROUNDS . ' new keys, each stored at the first attempt';
my %verdict = $map->_verify;
ok $verdict{ok}, 'and nothing is lost' or diag $verdict{problem};

done_testing;
