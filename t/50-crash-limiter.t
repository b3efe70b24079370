use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use TestArena;
use TestKilledClients;
use Test::More;

use Shared::Arena;

# Processes that ask a limiter are killed at any moment. No request is allowed beyond the limit, none is lost but those in flight.

my $kills = 0;
my $arena = Shared::Arena->create(size => 4 << 20);
my $limit = 100_000;
my $rate  = $arena->rate('l', limit => $limit, window => 1e8, slots => 1024);
$arena->region('granted', size => 8 * 300);

for my $round (1 .. 50) {
    my $gun  = start_gun();
    my @pids = map {
        my $number = $_;
        spawn(sub {
            my $granted = 0;
            $gun->await;
            for (my $n = 0;; $n++) {
                if ($n % 50 == 0 && $rate->allow('k')) { $granted++; $arena->poke('granted', 8 * ($round * 4 + $number), pack 'Q', $granted) }
                $rate->allow('other ' . $n % 200);
                $rate->forget('other ' . $n % 200) if $n % 7 == 0;
            }
        });
    } 0 .. 3;
    $gun->fire(4);
    select undef, undef, undef, 0.001 + rand 0.006;
    kill KILL => @pids;
    reap($_) for @pids;
    $kills += 4;
}

my $granted = 0;
$granted += $_ for unpack 'Q*', $arena->peek('granted', 0, 8 * 300);
my ($rest, %stats) = in_child { my $rest = 0; $rest++ while $rate->allow('k'); return ($rest, $rate->stats) } patience => 10;
cmp_ok $granted + $rest, '<=', $limit, "$granted granted and $rest left are no more than $limit";
cmp_ok $granted + $rest, '>=', $limit - $kills, 'and no more is missing than one for each kill';
cmp_ok $stats{keys}, '<=', 201, 'no key is in the table twice';
is $stats{evicted}, 0, 'none was evicted';

is_deeply [TestKilledClients::mistakes(40)], [], 'nor is a slot lost, whatever they did: there is room for 64 keys in 64 slots, and whole buckets for all of them';

done_testing;
