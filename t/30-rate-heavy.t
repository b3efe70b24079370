use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use TestArena;
use TestBuckets;
use Test::More;

use Shared::Arena;

# Two thousand clients in 4,096 slots, five hundred of whom ask for far more than they may have while the others come,
# spend, go and refill. Nobody's bucket gives way to another's, so nobody passes his cap by even one request.

my ($clients, $heavy, $seconds) = (2000, 500, 60);
my @heavy = map {"heavy $_"} 1 .. $heavy;
my @light = map {"light $_"} 1 .. $clients - $heavy;

# A run: at each quarter of a second the heavy ones ask, for more than flows in, and some of the others. Returns how many
# requests each of the heavy ones was allowed.
sub run {
    my ($rate, $asks) = @_;
    my %allowed = map { $_ => 0 } @heavy;
    for my $quarter (0 .. $seconds * 4) {
        at_tick(1000 * TICKS + $quarter * TICKS / 4);
        for my $client (@heavy) { $allowed{$client} += $rate->allow($client) for 1 .. $asks }
        $rate->allow($light[rand @light], 1 + rand 3) for 1 .. 200;
    }
    return %allowed;
}

# Over the whole run: the full bucket of the beginning and what flows in since.
sub cap { my ($limit, $window) = @_; return $limit + int($seconds * $limit / $window) }

for my $policy ([10, 10], [7, 60], [20, 6], [100, 60]) {
    my ($limit, $window) = @$policy;
    subtest "$limit in $window s" => sub {
        for my $seed (1 .. 2) {
            srand $seed;
            my $arena   = Shared::Arena->create(size => 128 * 1024, regions => 1);
            my $rate    = $arena->rate('l', limit => $limit, window => $window);
            my %allowed = run($rate, 2 + $limit / $window);
            my $cap     = cap($limit, $window);
            is_deeply [grep { $_ != $cap } values %allowed], [], "each of the heavy ones has its $cap, not one more or less (seed $seed)";
            my %stats = $rate->stats;
            is_deeply [@stats{qw(slots evicted contended)}], [4096, 0, 0], 'and nobody was evicted';
        }
    };
}

subtest 'four processes' => sub {
    my ($limit, $window) = (10, 10);
    my $rate = Shared::Arena->create(size => 128 * 1024, regions => 1)->rate('l', limit => $limit, window => $window);
    my %allowed;
    # Each lets its own clock pass, and whoever is behind has no time passed: together they have one limiter's cap.
    for my $answer (in_children(4, sub { my ($number) = @_; srand $number; return run($rate, 2) })) {
        my %yes = @$answer;
        $allowed{$_} += $yes{$_} for keys %yes;
    }
    my $cap = cap($limit, $window);
    is_deeply [grep { $_ != $cap } @allowed{@heavy}], [], "have $cap for each of the heavy ones together";
    my %stats = $rate->stats;
    is_deeply [@stats{qw(evicted contended)}], [0, 0], 'and nobody was evicted';
};

real_clock();
done_testing;
