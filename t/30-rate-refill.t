use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use TestArena;
use TestLimiter;
use Test::More;

use Shared::Arena;

# Over any time T a key is allowed limit + T * limit / window, no more; and who keeps asking gets all of it.

# `rate` a second with a burst of `burst`, drained at the start, then polled each `step` to `end`: how many are allowed.
sub polled {
    my ($rate_a_second, $burst, $step, $end, %option) = @_;
    my $start = exists $option{start} ? $option{start} : 1000;
    my $rate  = limiter(limit => $burst, window => $burst / $rate_a_second);
    my ($drained, $allowed) = (0, 0);
    set_clock(undef, $start);
    if (!$option{full}) { $drained++ while $rate->allow('k') }
    for my $poll (0 .. int($end / $step + 0.5)) {
        set_clock(undef, $start + $poll * $step);
        if ($option{greedy}) { $allowed++ while $rate->allow('k') }
        else                 { $allowed++ if $poll && $rate->allow('k') }
    }
    return $allowed;
}

subtest 'fractions of a request are not thrown away' => sub {
    is polled(10, 4, 0.05, 10), 100, 'ten a second, polled every 50 ms for ten seconds';
    is polled(1, 1, 0.1, 10), 10, 'one a second, polled every 100 ms';
    is polled(0.001, 1, 1, 10_000), 10, 'one in a thousand seconds, polled every second';
    is polled(1 / 3600, 1, 1, 36_000), 10, 'one an hour, polled every second for ten hours';
    is polled(10, 4, 0.05, 10, start => 0), 100, 'ten a second, from the moment the clock starts';
    is polled(1, 1, 0.1, 10, start => 0), 10, 'one a second, from there';
    is polled(0.001, 1, 1, 10_000, start => 0), 10, 'one in a thousand seconds, from there';
};

subtest 'denials do not delay the refill' => sub {
    my $rate = limiter(limit => 1, window => 3600);
    set_clock(undef, 5000);
    $rate->allow('k');
    my $allowed = 0;
    for my $hour (0 .. 4) {
        for my $poll (1 .. 1000) { set_clock(undef, 5000 + $hour * 3600 + $poll * 3.6); $allowed++ if $rate->allow('k') }
    }
    is $allowed, 5, 'limit one per hour, asked all the time, gets its one each hour';
};

subtest 'nor is anything added' => sub {
    my $three = polled(3, 2, 0.001, 100, greedy => 1, full => 1);
    is $three, 302, 'three a second with a burst of two, asked every millisecond for 100 s';
    my $many = polled(1.5e6, 2, 1e-6, 0.1, greedy => 1, full => 1);
    cmp_ok abs($many - 150_002), '<=', 1, "1.5 million a second, asked every microsecond for 0.1 s: $many of 150,002";
};

subtest 'random limiters, polled at random' => sub {
    for my $seed (1 .. 60) {
        srand $seed;
        my $limit  = (1, 2, 5, 100, 0.5 + rand 20, 1e6)[rand 6];
        my $window = (1, 60, 0.001, 3600, 86_400, 1e7, 0.001 + rand 100)[rand 7];
        my $rate   = limiter(limit => $limit, window => $window);
        my ($now, $spent, $asked) = (1000 + rand 1e5, 0, 0);
        my $start = $now;
        my $wrong = '';
        for (1 .. 300) {
            $now += $window / $limit * rand(3) * (rand() < 0.05 ? 50 : 1);
            last if $now > 1e9;    # thirty years of uptime
            set_clock(undef, $now);
            my $cost = rand() < 0.7 ? 1 : rand($limit);
            next if $cost > $limit;
            my $left = $rate->remaining('k');
            my $answer = $rate->allow('k', $cost);
            $spent += $cost if $answer;
            my $ceiling = $limit + ($now - $start) * $limit / $window;
            $wrong ||= sprintf 'spent %.9g of %.9g', $spent, $ceiling if $spent > $ceiling * (1 + 1e-9) + 1e-9;
            $wrong ||= sprintf 'refused %.9g with %.9g left', $cost, $left if !$answer && $left > $cost * (1 + 1e-6) + 1e-6;
            $wrong ||= sprintf 'allowed %.9g with %.9g left', $cost, $left if $answer && $left < $cost * (1 - 1e-6) - 1e-6;
        }
        is $wrong, '', sprintf 'limit %.4g in %.4g s (seed %d)', $limit, $window, $seed;
    }
};

subtest 'the bucket fills to limit and no further' => sub {
    my $rate = limiter(limit => 10, window => 10);
    set_clock(undef, 100);
    $rate->allow('k', 10);
    for my $pair ([100, 0], [100.5, 0.5], [103, 3], [109.999, 9.999], [110, 10], [111, 10], [1e6, 10]) {
        set_clock(undef, $pair->[0]);
        cmp_ok abs($rate->remaining('k') - $pair->[1]), '<', 1e-6, "at $pair->[0] there are $pair->[1]";
    }
    is $rate->stats->{keys}, 0, 'a full bucket is no key';
    is scalar(grep { $rate->allow('k') } 1 .. 20), 10, 'ten at once';
};

subtest 'idle for years' => sub {
    my $rate = limiter(limit => 1e6, window => 1);
    set_clock(undef, 100);
    is $rate->allow('k', 1e6), 1, 'a million';
    is $rate->allow('k'), 0, 'no more';
    for my $years (0.05, 0.13, 1, 10, 30) {
        set_clock(undef, 100 + $years * 365.25 * 86_400);
        is $rate->remaining('k'), 1e6, "after $years years a million remain";
        is $rate->allow('k', 999_999), 1, 'all but one';
        is $rate->allow('k'), 1, 'the last one';
        is $rate->allow('k'), 0, 'and no more';
        is $rate->allow('k', 1e6 + 1), 0, 'least of all more than a million';
    }
    my $slow = limiter(limit => 1, window => 315_576_000);
    set_clock(undef, 100);
    is $slow->allow('k'), 1, 'one in ten years';
    set_clock(undef, 100 + 315_575_999);
    is $slow->allow('k'), 0, 'not a second before';
    set_clock(undef, 100 + 315_576_001);
    is $slow->allow('k'), 1, 'but after them';
};

subtest 'a clock that stands still or goes back is no time passed' => sub {
    my $rate = limiter(limit => 100, window => 1);
    set_clock(undef, 10);
    is $rate->allow('k', 100), 1, 'all spent at 10';
    set_clock(undef, 9.9);
    is $rate->allow('k'), 0, 'none at 9.9';
    cmp_ok $rate->remaining('k'), '<=', 0.001, 'nothing remains then';
    set_clock(undef, 10);
    is $rate->allow('k'), 0, 'none at 10';
    set_clock(undef, 10.01);
    is $rate->allow('k'), 1, 'one at 10.01';
    my ($earlier) = in_child { set_clock(undef, 5); return $rate->allow('k') };
    is $earlier, 0, 'a process whose clock is behind gets nothing';
    set_clock(undef, 10.02);
    is $rate->allow('k'), 1, 'and takes nothing from the others';
};

subtest 'the wall clock has no say' => sub {
    my $rate = limiter(limit => 1, window => 10);
    set_clock(1_700_000_000, 100);
    $rate->allow('k');
    set_clock(1_800_000_000, 100);
    is $rate->allow('k'), 0, 'years by the wall are nothing';
    set_clock(1_600_000_000, 111);
    is $rate->allow('k'), 1, 'ten seconds are ten seconds though the wall goes back';
};

real_clock();
done_testing;
