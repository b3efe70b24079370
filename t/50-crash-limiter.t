use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use TestArena;
use TestKilledClients;
use TestRegion;
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

# The same without chance: a slot that somebody had claimed when he died, written by hand.
sub limiter { my $own = Shared::Arena->create(size => 16 * 1024); return ($own, $own->rate('l', limit => 5, window => 1000, slots => 64)) }

subtest 'claims of the dead, of keys that nobody asks for again' => sub {
    set_clock(undef, 1000);
    for my $claims (1, 30, 64) {
        my ($own, $rate) = limiter();
        $own->poke('l', SLOTS + $_ * SLOT, pack 'Q2', 1 + int rand 2**52, CLAIM | $_) for 64 - $claims .. 63;
        is $rate->stats->{keys}, 0, "$claims are no keys";
        is_deeply [grep { $rate->allow("new $_", 5) != 1 || $rate->allow("new $_") } 1 .. 64], [], 'they leave room for 64, with whole buckets';
        my %stats = $rate->stats;
        is_deeply [@stats{qw(keys evicted contended)}], [64, 0, 0], 'none of which is evicted';
    }
    real_clock();
};

subtest 'the claim of a dead one, of a key that is asked for again' => sub {
    set_clock(undef, 1000);
    for my $others (0, 40, 63) {
        my ($own, $rate) = limiter();
        # The key's hash is in the first word of its slot.
        $rate->allow('k');
        my ($slot) = grep { $own->peek('l', SLOTS + $_ * SLOT, SLOT) =~ /[^\0]/ } 0 .. 63;
        my $hash = $own->peek('l', SLOTS + $slot * SLOT, 8);
        $rate->forget('k');
        $rate->allow("other $_") for 1 .. $others;
        my @free = grep { $own->peek('l', SLOTS + $_ * SLOT, SLOT) eq "\0" x SLOT } 0 .. 63;
        $own->poke('l', SLOTS + $_ * SLOT, $hash . pack 'Q', CLAIM | $_) for @free;
        is $rate->headers('k')->{'RateLimit-Remaining'}, 5, 'beside ' . $others . ' others: it has spent nothing';
        is $rate->reset('k') + $rate->forget('k'), 0, 'there is no bucket to fill up or give back';
        is scalar(grep { $rate->allow('k') } 1 .. 10), 5, 'it is allowed its limit';
        is $rate->stats->{keys}, $others + 1, 'out of one bucket';
        $rate->allow("more $_") for $others + 1 .. 63;
        my %stats = $rate->stats;
        is_deeply [@stats{qw(keys evicted contended)}], [64, 0, 0], 'and other claims for it take up no slot';
        is $rate->forget('k') . $rate->forget('k'), '10', 'and make no second bucket';
    }
    real_clock();
};

is_deeply [TestKilledClients::mistakes(40)], [],
    'nor is a slot lost, whatever they did: there is room for 64 keys in 64 slots, and whole buckets for all of them';

done_testing;
