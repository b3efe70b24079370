use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use TestArena;
use TestLimiter;
use Test::More;

use Shared::Arena;

# The whole part of what `remaining` answers is exact: so many requests are allowed at that moment, and one more is not.

subtest 'the limit itself, at one moment' => sub {
    my %policies = (
        64   => [[7, 60], [3, 1], [30, 7], [100, 60], [300, 7], [1000, 1], [2.5, 60], [0.7, 7], [1, 3600]],
        4096 => [[7, 60], [11, 60], [13, 3600], [49, 60], [97, 86_400], [100, 60], [499, 60], [1000, 7], [2.5, 60], [0.7, 7]],
    );
    for my $slots (sort { $a <=> $b } keys %policies) {
        for my $policy (@{ $policies{$slots} }) {
            my ($limit, $window) = @$policy;
            my $rate = limiter(limit => $limit, window => $window, slots => $slots);
            my @wrong;
            # Readings of the clock that are no multiple of anything.
            for my $now (0, 1, 1000, 1234.567890123, 98_765.432109876, 31_556_952.1) {
                set_clock(undef, $now);
                my $left = $rate->remaining("at $now");
                push @wrong, "$left remain at $now" if $left != $limit;
                my $allowed = allowed($rate, "at $now", 1, $limit + 10);
                push @wrong, "$allowed at $now" if $allowed != int $limit;
            }
            is_deeply \@wrong, [], "$limit in $window s, $slots slots";
        }
    }
};

subtest 'seven a minute in the default table' => sub {
    my $rate = limiter(limit => 7, window => 60, slots => 4096);
    my @wrong;
    for my $n (1 .. 2000) {
        set_clock(undef, 1000 + $n / 7);
        my $allowed = allowed($rate, "key $n", 1, 20);
        push @wrong, "$allowed of key $n" if $allowed != 7;
    }
    is_deeply \@wrong, [], 'are seven, for two thousand keys at as many moments';
};

subtest 'at random moments, of random costs' => sub {
    my (@wrong, $asked);
    for my $seed (1 .. 250) {
        srand $seed;
        my $limit  = (1, 2, 5, 7, 100, 2.5, 0.7, 999.983, 1 + int rand 1000, 0.5 + rand 20)[rand 10];
        my $window = (1, 60, 3600, 0.01, 86_400, 1 + int rand 1000, 0.1 + rand 100)[rand 7];
        my $rate   = limiter(limit => $limit, window => $window, slots => (64, 128, 1024)[rand 3]);
        my $now    = 1000 + rand 1e5;
        for my $moment (1 .. 20) {
            set_clock(undef, $now += $window / $limit * rand(4));
            my $cost = (1, 1, 0.5, 0.1, 0.7, 1 / 3, $limit / 10, rand $limit, 1 + int rand $limit)[rand 9];
            next if $cost > $limit || $cost < $limit / 200;
            # A key that has spent. What is never touched is full, and is asked about below.
            $rate->allow('k', $limit * (0.1 + rand 0.9));
            next if $rate->retry_after('k', $limit) == 0;
            my $left = $rate->remaining('k', $cost);
            my $allowed = allowed($rate, 'k', $cost, $left + 10);
            $asked++;
            push @wrong, sprintf 'seed %d moment %d (limit %.12g window %.12g cost %.12g): %.17g remained, %d allowed',
                $seed, $moment, $limit, $window, $cost, $left, $allowed if $allowed != int $left;
        }
    }
    cmp_ok $asked, '>', 2000, "$asked times";
    is_deeply \@wrong, [], 'exact';
};

subtest 'a full bucket of any limit' => sub {
    # Where a limit cannot be counted exactly, the last request waits for the clock's next nanosecond, and no longer.
    my ($waited, @wrong) = (0);
    for my $seed (1 .. 100) {
        srand $seed;
        my $limit  = (999.983, 1 + int rand 1000, 0.5 + rand 20, 1999, 9973)[rand 5];
        my $window = (1, 60, 3600, 86_400, 1 + int rand 1000, 0.1 + rand 100)[rand 6];
        my $rate   = limiter(limit => $limit, window => $window, slots => (64, 128, 1024)[rand 3]);
        for my $cost (grep { $_ <= $limit } 1, 0.5, $limit / 8) {
            my $ticks = 1e12 + int rand 1e12;
            set_clock(undef, $ticks / 1e9);
            my $left    = $rate->remaining("cost $cost", $cost);
            my $allowed = allowed($rate, "cost $cost", $cost, $left + 10);
            next if $allowed == int $left;
            $waited++;
            set_clock(undef, ($ticks + 2) / 1e9);
            $allowed += allowed($rate, "cost $cost", $cost, $left + 10);
            push @wrong, sprintf 'limit %.12g window %.12g cost %.12g: %.17g remained, %d allowed', $limit, $window, $cost, $left, $allowed
                if $allowed != int $left;
        }
    }
    is_deeply \@wrong, [], 'is all allowed within a tick';
    note "the last one waited $waited times";
};

subtest 'never a whole one that is not there' => sub {
    # One nanosecond, or one step of a double, short of a request.
    my @wrong;
    for my $policy ([7, 60], [10, 60], [1, 3600], [1e6, 315_576_000], [3, 1e6], [1e9, 1e6], [1000, 1]) {
        my ($limit, $window) = @$policy;
        my $rate = limiter(limit => $limit, window => $window, slots => 64);
        my $now = 1000;
        set_clock(undef, $now);
        $rate->allow('k', $limit - 5) if $limit > 5;
        1 while $rate->allow('k');
        for my $request (1 .. 20) {
            my $wait = $rate->retry_after('k');
            my $early = $now + $wait - 2e-9;
            set_clock(undef, $early);
            my $left = $rate->remaining('k');
            push @wrong, "$limit in $window s, request $request: $left remained too early" if $wait > 2e-9 && $left >= 1;
            set_clock(undef, $now += $wait + 1e-9 * int rand 3);
            $left = $rate->remaining('k');
            push @wrong, "$limit in $window s, request $request: $left remained in time" if $left < 1;
            push @wrong, "$limit in $window s, request $request: refused" if !$rate->allow('k');
        }
    }
    is_deeply \@wrong, [], 'at the moments around a request';
};

subtest 'what costs nothing can be had without end' => sub {
    my $rate = limiter(limit => 3, window => 60, slots => 64);
    set_clock(undef, 1000);
    is $rate->remaining('k', 0), 9**9**9, 'of a new key';
    $rate->allow('k', 1.5);
    is $rate->remaining('k', 0), 9**9**9, 'of one that has spent';
    $rate->allow('k', 1.5);
    is $rate->remaining('k', 0), 9**9**9, 'of one that has nothing left';
    is $rate->allow('k', 0), 1, 'which is allowed as much';
};

subtest 'what costs more than limit can be had not once' => sub {
    my $rate = limiter(limit => 3, window => 60, slots => 64);
    set_clock(undef, 1000);
    for my $cost (3.0000001, 4, 1000, 1e300) {
        my $left = $rate->remaining('k', $cost);
        ok $left >= 0 && $left < 1, "$cost of a full bucket: $left";
    }
    $rate->allow('k', 3);
    is $rate->remaining('k', 4), 0, 'none of an empty one';
    is $rate->remaining('k', 3), 0, 'of limit itself neither';
};

real_clock();
done_testing;
