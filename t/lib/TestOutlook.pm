package TestOutlook;

# Random limiters of every size, asked at random moments: do headers, remaining, retry_after and allow say the same?

use strict;
use warnings;

use POSIX 'ceil';
use Shared::Arena;
use TestArena;

use constant INFINITY => 9**9**9;

# Requests a second up to which single ones are counted.
my $Fastest = 3e9;

sub mistakes {
    my (%option) = @_;
    my @mistakes;
    for my $seed ($option{seed} .. $option{seed} + $option{limiters} - 1) {
        srand $seed;
        my ($limit, $window) = (1, 1e-9);
        while ($limit / $window > $Fastest) {
            $limit  = (1, 3, 7, 2.5, 0.75, 100, 1e6, 1e9, 1e-9, 999_983, 1 + int rand 1000, 0.5 + rand 20, 10**(-9 + rand 18))[rand 13];
            $window = (1, 60, 3600, 86_400, 1e-9, 1e-3, 1 / 3, 315_576_000, 1 + int rand 1000, 0.1 + rand 100, 10**(-9 + rand 17))[rand 11];
        }
        my $slots = (64, 64, 4096)[rand 3];
        my $rate  = Shared::Arena->create(size => $slots * 16 + 160, regions => 1)->rate('l', limit => $limit, window => $window, slots => $slots);
        my $now   = (0, 1, 1000, 1e6)[rand 4] + rand 100;
        for my $call (1 .. $option{calls}) {
            $now += ($window / $limit * rand(3), $window * rand(2), 1e-9 * int(rand 5), 0)[rand 4];
            last if $now > 1e9;    # thirty years of uptime
            set_clock(undef, $now);
            my $cost = (1, 1, $limit, $limit / 2, rand $limit, $limit * 1.0000001, $limit / 1000, 0)[rand 8];
            my @wrong = _wrong($rate, 'k' . int rand 3, $limit, $cost);
            push @mistakes, sprintf 'seed %d call %d (limit %.12g window %.12g cost %.12g): %s', $seed, $call, $limit, $window, $cost, $_ for @wrong;
            return @mistakes if @mistakes > 10;
        }
    }
    return @mistakes;
}

sub _wrong {
    my ($rate, $key, $limit, $cost) = @_;
    my %headers = $rate->headers($key, $cost);
    my $wait    = $rate->retry_after($key, $cost);
    my %wanted  = (
        'RateLimit-Limit'     => int $limit,
        'RateLimit-Remaining' => int $rate->remaining($key),
        'RateLimit-Reset'     => ceil($rate->retry_after($key, $limit)),
        $wait > 0 && $wait < INFINITY ? ('Retry-After' => ceil($wait)) : (),
    );
    my ($got, $wanted) = map { my $of = $_; join ' ', map {"$_=$of->{$_}"} sort keys %$of } \%headers, \%wanted;
    my @wrong;
    push @wrong, "$got, not $wanted" if $got ne $wanted;
    my $left = $rate->remaining($key, $cost);
    push @wrong, "waits $wait with $left left" if $cost > 0 && ($wait == 0) != ($left >= 1);
    push @wrong, "$left left of $limit" if $cost > 0 && !($left >= 0 && $left <= $limit / $cost * (1 + 1e-12));
    my $allowed = $rate->allow($key, $cost);
    push @wrong, "waits $wait, but allow says $allowed" if $allowed != ($wait == 0);
    return @wrong;
}

1;
