package TestRetry;

# Random limiters, asked at random moments with random costs: does retry_after tell the truth?

use strict;
use warnings;

use Shared::Arena;
use TestArena;

# The clock ticks in nanoseconds. Clearly earlier is two ticks, and more where a float of the time holds no single tick.
my $Tick = 1e-9;

sub mistakes {
    my (%option) = @_;
    my @mistakes;
    for my $seed ($option{seed} .. $option{seed} + $option{limiters} - 1) {
        srand $seed;
        my $limit  = (1, 2, 3, 5, 10, 100, 1000, 1e6, 0.1 + rand 10, 1 + int rand 1000)[rand 10];
        my $window = (1, 0.001, 0.1, 60, 3600, 1e6, 0.001 + rand 100, 1 + int rand 1000)[rand 8];
        my $rate   = Shared::Arena->create(size => 64 * 16 + 160, regions => 1)->rate('random', limit => $limit, window => $window, slots => 64);
        my $now = 100 + rand 1000;
        for my $call (1 .. $option{calls}) {
            last if $now > 1e9;    # thirty years of uptime
            my $wrong = _one($rate, \$now, $limit, $window);
            push @mistakes, sprintf 'seed %d call %d (limit %.12g window %.12g): %s', $seed, $call, $limit, $window, $wrong if $wrong;
            return @mistakes if @mistakes > 10;
        }
    }
    return @mistakes;
}

sub _one {
    my ($rate, $now, $limit, $window) = @_;
    $$now = int(($$now + $window / $limit * rand 2) / $Tick) * $Tick;
    my $blur = $$now > 4e6 ? $$now * 1e-15 : 0;
    set_clock(undef, $$now);
    my $cost = rand() < 0.5 ? 1 : rand() < 0.5 ? rand $limit : 1 + int rand(1.2 * $limit);
    my $wait = $rate->retry_after('k', $cost);
    if ($cost > $limit) {
        return "cost $cost above limit waits $wait" if $wait != 9**9**9;
        return $rate->allow('k', $cost) ? "cost $cost above limit was allowed" : undef;
    }
    return "a wait of $wait" if !($wait >= 0 && $wait < 9**9**9);
    if ($wait == 0) { return $rate->allow('k', $cost) ? undef : "refused $cost without a wait" }
    return "allowed $cost though it waits $wait" if $rate->allow('k', $cost);
    my $early = 2 * $Tick + $blur;
    if ($wait > $early) {
        set_clock(undef, $$now + $wait - $early);
        return "allowed $cost too early in a wait of $wait" if $rate->allow('k', $cost);
    }
    $$now += $wait + $blur;
    set_clock(undef, $$now);
    return "a wait of $wait was not enough for $cost: " . $rate->retry_after('k', $cost) if !$rate->allow('k', $cost);
    return;
}

1;
