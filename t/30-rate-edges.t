use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use TestArena;
use TestLimiter;
use Test::More;

use Shared::Arena;

# What is promised for every limiter, held against limiters at the edges of what can be asked for.

set_clock(undef, 123_456.789012345);

subtest 'a limit that a sum left just beside a whole number' => sub {
    # One such limit cannot be 8 for `allow` and 7 for all else.
    for my $limit ((0.1 + 0.7) * 10, 3 - 4e-16, 2 - 2.3e-16, 3 + 5e-16) {
        my $rate  = limiter(limit => $limit, window => 60, slots => 64);
        my $shown = sprintf '%.17g', $limit;
        my $whole = sprintf '%.0f', $limit;
        is $rate->remaining('k', $whole) >= 1 ? 1 : 0, $rate->allow('new', $whole), "$shown: $whole remain, or are refused, at once";
        is $rate->remaining('k', $whole) >= 1 ? 1 : 0, $rate->retry_after('k', $whole) == 0 ? 1 : 0, "$shown: nor is there a wait for what remains";
        my ($left, $header) = (int $rate->remaining('k'), $rate->headers('k')->{'RateLimit-Remaining'});
        is allowed($rate, 'k', 1, 20), $left, "$shown: as many are allowed as remained";
        is $header, $left, "$shown: which the header says too";
    }
};

subtest 'a cost that a sum left just beside the limit' => sub {
    for my $pair ((map { [$_, $_] } 0.1 + 0.2, 1.1 * 3, 1.1 * 1.1, 1 + 2.3e-16), [3, 0.1 * 3 * 10], [10, 10 + 2e-15]) {
        my ($limit, $cost) = @$pair;
        my $rate = limiter(limit => $limit, window => 60);
        my $name = sprintf '%.17g of %.17g', $cost, $limit;
        is $rate->retry_after('k', $cost), 0, "$name: no wait";
        is $rate->remaining('k', $cost), 1, "$name: remains";
        is $rate->allow('k', $cost), 1, "$name: is allowed";
        is $rate->allow('k', $cost), 0, "$name: once";
    }
    my $rate = limiter(limit => 3, window => 60);
    is $rate->allow('k', 3 + 1e-13), 0, 'what is above the limit by more is not';
};

subtest 'a burst where the arithmetic has to round' => sub {
    # LIMITS: the last request of a full bucket may have to wait for the clock's next nanosecond.
    for my $policy ([2, 1 / 997, 4096], [83, 1 / 7, 4096], [193, 1 / 3, 4096], [289, 1 / 1024, 4096], [3, 1 / 7, 64]) {
        my ($limit, $window, $slots) = @$policy;
        my $name = sprintf '%d in %.6g s, %d slots', $limit, $window, $slots;
        my $rate = limiter(limit => $limit, window => $window, slots => $slots);
        set_clock(undef, 1000);
        is $rate->remaining('k'), $limit, "$name: all of it remains";
        my $allowed = allowed($rate, 'k', 1, $limit + 5);
        ok $allowed == $limit || $allowed == $limit - 1, "$name: all are allowed, but for the last";
        cmp_ok $rate->retry_after('k'), '<=', 1.0000001e-9, "$name: which is a nanosecond away" if $allowed < $limit;
        set_clock(undef, 1000.000000002);
        is allowed($rate, 'k', 1, 5), $limit - $allowed, "$name: and comes then";
    }
    set_clock(undef, 123_456.789012345);
};

subtest 'what remains where requests are counted in steps of several' => sub {
    # However coarse the steps: as many as remain are allowed, and not one more.
    for my $policy ([600, 7e-9, 256], [9973, 3e-9, 256], [1e6, 1e-6, 64]) {
        my ($limit, $window, $slots) = @$policy;
        my $rate = limiter(limit => $limit, window => $window, slots => $slots);
        for my $cost (1, 2.5, $limit / 7, $limit) {
            my $left = int $rate->remaining("cost $cost", $cost);
            is allowed($rate, "cost $cost", $cost, 20_000), $left, "$limit in $window s, cost $cost";
        }
        $rate->allow('spent', $limit / 3);
        my $left = int $rate->remaining('spent');
        is allowed($rate, 'spent', 1, 20_000), $left, "$limit in $window s, of a bucket that was spent from";
    }
};

subtest 'a reading of the clock that is older than the last one used' => sub {
    # It never refills. The bucket looks emptier to it by what flows in meanwhile, and takes no harm.
    for my $behind (1e-6, 0.1, 0.5, 5) {
        my $rate = limiter(limit => 100, window => 1, slots => 64);
        set_clock(undef, 2000);
        $rate->allow('k', 50);
        set_clock(undef, 2000 - $behind);
        cmp_ok $rate->remaining('k'), '<=', 50, "$behind s behind, no more than was left";
        set_clock(undef, 2000);
        is allowed($rate, 'k', 1, 100), 50, 'and all of it at the time of the last one';
    }
    set_clock(undef, 123_456.789012345);
};

subtest 'a cost that says with an object what number it is' => sub {
    # perl asks on until it has a plain number.
    my $rate = limiter(limit => 10, window => 60, slots => 64);
    my $cost = bless [bless [3], 'TestNumber'], 'TestNumber';
    is $cost + 0, 3, 'to perl it is 3';
    is eval { $rate->allow('k', $cost) }, 1, 'and to a limiter' or diag $@;
    is int $rate->remaining('k'), 7, 'which takes 3';
};

{
    package TestNumber;
    use overload '0+' => sub { $_[0][0] }, fallback => 1;
}

real_clock();
done_testing;
