use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use TestArena;
use TestLimiter;
use TestOutlook;
use Test::More;

use Shared::Arena;

# What an HTTP response says about a client's bucket: whole requests, whole seconds, all of one moment.

# The headers for a key at a moment: limit, remaining, reset and, if it is there, the time to wait.
my @Fields = qw(RateLimit-Limit RateLimit-Remaining RateLimit-Reset Retry-After);

sub headers_are {
    my ($rate, $arguments, $wanted, $name) = @_;
    local $Test::Builder::Level = $Test::Builder::Level + 1;
    my %expected;
    @expected{ @Fields[0 .. $#$wanted] } = @$wanted;
    return is_deeply { $rate->headers(@$arguments) }, \%expected, $name;
}

subtest 'a bucket from full to empty and back' => sub {
    my $rate = limiter(limit => 10, window => 60);    # one in six seconds
    set_clock(undef, 1000);
    headers_are $rate, ['k'], [10, 10, 0], 'a new key has everything';
    $rate->allow('k');
    headers_are $rate, ['k'], [10, 9, 6], 'one spent comes back in six seconds';
    $rate->allow('k', 9);
    headers_are $rate, ['k'], [10, 0, 60, 6], 'a drained key has nothing, and waits for its next request';
    set_clock(undef, 1003);
    headers_are $rate, ['k'], [10, 0, 57, 3], 'half a request is none';
    set_clock(undef, 1006);
    headers_are $rate, ['k'], [10, 1, 54], 'a whole one is one, and nothing to wait for';
    set_clock(undef, 1030);
    headers_are $rate, ['k'], [10, 5, 30], 'half refilled';
    set_clock(undef, 1060);
    headers_are $rate, ['k'], [10, 10, 0], 'full again';
    set_clock(undef, 1e6);
    headers_are $rate, ['k'], [10, 10, 0], 'and no fuller';
    headers_are $rate, ['other'], [10, 10, 0], 'other keys have seen nothing of it';
};

subtest 'requests are rounded down, seconds up' => sub {
    my $rate = limiter(limit => 10, window => 60);
    set_clock(undef, 1000);
    $rate->allow('k', 10);
    for my $case (
        [1000.000000001, 0, 60, 6], [1000.999999999, 0, 60, 6], [1001, 0, 59, 5], [1001.000000001, 0, 59, 5], [1005, 0, 55, 1],
        [1005.999999998, 0, 55, 1], [1006, 1, 54], [1011.999999998, 1, 49], [1012, 2, 48], [1059, 9, 1], [1059.999999998, 9, 1], [1060, 10, 0],
    ) {
        my ($now, @wanted) = @$case;
        set_clock(undef, $now);
        headers_are $rate, ['k'], [10, @wanted], sprintf 'at %.9f', $now;
    }
    my $fast = limiter(limit => 1000, window => 1);
    set_clock(undef, 2000);
    $fast->allow('k', 1000);
    headers_are $fast, ['k'], [1000, 0, 1, 1], 'a millisecond to wait is a second';
    $fast->reset('k');
    $fast->allow('k', 0.001);
    headers_are $fast, ['k'], [1000, 999, 1], 'a microsecond to refill too';
};

subtest 'limits with a fraction' => sub {
    my $rate = limiter(limit => 2.5, window => 10);
    set_clock(undef, 1000);
    headers_are $rate, ['k'], [2, 2, 0], 'two and a half are two';
    $rate->allow('k');
    headers_are $rate, ['k'], [2, 1, 4], 'one and a half are one';
    $rate->allow('k');
    headers_are $rate, ['k'], [2, 0, 8, 2], 'a half is none, and waits for its other half';
    headers_are $rate, ['k', 0.5], [2, 0, 8], 'but can be spent';
    my $half = limiter(limit => 0.5, window => 10);
    headers_are $half, ['k'], [0, 0, 0], 'half a request is none at all, and no wait makes it one';
    headers_are $half, ['k', 0.5], [0, 0, 0], 'although half of one is allowed';
    $half->allow('k', 0.5);
    headers_are $half, ['k', 0.5], [0, 0, 10, 10], 'once in ten seconds';
    headers_are limiter(limit => 99.999, window => 60), ['k'], [99, 99, 0], 'never rounded up';
    headers_are limiter(limit => 1e9, window => 60), ['k'], [1_000_000_000, 1_000_000_000, 0], 'the largest limit is told in full';
};

subtest 'the wait is for the cost, the rest for the bucket' => sub {
    my $rate = limiter(limit => 10, window => 10);
    set_clock(undef, 1000);
    headers_are $rate, ['k', 10], [10, 10, 0], 'all of a full bucket';
    $rate->allow('k', 7);
    headers_are $rate, ['k', 3],    [10, 3, 7],    'what is there';
    headers_are $rate, ['k', 3.25], [10, 3, 7, 1], 'a little more';
    headers_are $rate, ['k', 5],    [10, 3, 7, 2], 'two more';
    headers_are $rate, ['k', 10],   [10, 3, 7, 7], 'all of it, when it is full';
    headers_are $rate, ['k', 0],    [10, 3, 7],    'nothing';
    $rate->allow('k', 3);
    headers_are $rate, ['k', 0], [10, 0, 10], 'nothing can be paid with nothing left';
    headers_are $rate, ['k'], [{ $rate->headers('k', 1) }->{'RateLimit-Limit'}, 0, 10, 1], 'one when not said';
};

subtest 'a cost above limit has no time to come back at' => sub {
    my $rate = limiter(limit => 10, window => 10);
    set_clock(undef, 1000);
    headers_are $rate, ['k', $_], [10, 10, 0], "$_ of a full bucket" for 10.000001, 11, 1e300;
    $rate->allow('k', 10);
    headers_are $rate, ['k', $_], [10, 0, 10], "$_ of an empty one" for 10.000001, 11, 1e300;
};

subtest 'contexts' => sub {
    my $rate = limiter(limit => 3, window => 3);
    set_clock(undef, 1000);
    is_deeply [$rate->headers('k')], [qw(RateLimit-Limit 3 RateLimit-Remaining 3 RateLimit-Reset 0)], 'a list, in the order of a response';
    $rate->allow('k', 3);
    is_deeply [$rate->headers('k')], [qw(RateLimit-Limit 3 RateLimit-Remaining 0 RateLimit-Reset 3 Retry-After 1)], 'the wait last';
    my $headers = $rate->headers('k');
    is ref $headers, 'HASH', 'a hash reference in scalar context';
    is_deeply $headers, { $rate->headers('k') }, 'of the same';
    ok eval { $rate->headers('k'); 1 }, 'void';
    is join(' ', map { /\A[0-9]+\z/ ? 'digits' : $_ } values %$headers), 'digits digits digits digits', 'values are digits alone';
};

subtest 'a client that waits as it is told is served' => sub {
    for my $policy ([3, 60], [7, 60], [100, 60], [1, 3600], [2.5, 10], [1000, 1], [10, 86_400], [999_983, 60]) {
        my ($limit, $window) = @$policy;
        my $rate = limiter(limit => $limit, window => $window);
        my $now = 1000.25;
        set_clock(undef, $now);
        1 while $rate->allow('k', $limit / 2);
        1 while $limit < 1001 && $rate->allow('k');
        my $early = 0;
        for my $cost (1, $limit / 2, $limit) {
            my $wait = $rate->headers('k', $cost)->{'Retry-After'};
            next if !defined $wait;
            set_clock(undef, $now += $wait);
            $early++ if exists $rate->headers('k', $cost)->{'Retry-After'} || !$rate->allow('k', $cost);
        }
        is $early, 0, "$limit in $window s";
        set_clock(undef, $now += $rate->headers('k')->{'RateLimit-Reset'});
        is $rate->retry_after('k', $limit), 0, 'and after its reset the bucket is full';
        is $rate->headers('k')->{'RateLimit-Reset'}, 0, 'as it says';
    }
};

subtest 'the same as remaining, retry_after and allow say' => sub {
    is_deeply [TestOutlook::mistakes(seed => 1, limiters => 150, calls => 30)], [], 'at four thousand moments';
};

subtest 'of one moment' => sub {
    my $rate = limiter(limit => 10, window => 10);
    set_clock(undef, 1000);
    $rate->allow('k', 4);
    my $before = Shared::Arena::_clock_reads();
    $rate->headers('k', 8);
    is Shared::Arena::_clock_reads() - $before, 1, 'the clock is read once';
};

subtest 'asking writes nothing' => sub {
    my $arena = Shared::Arena->create(size => 16 * 1024);
    my $rate  = $arena->rate('l', limit => 2, window => 10, slots => 64);
    set_clock(undef, 1000);
    $rate->allow("k$_", 1 + $_ % 2) for 1 .. 20;
    my $length = ($arena->region('l'))[1];
    my $before = $arena->peek('l', 0, $length);
    for my $now (1000, 1003, 1007, 1e6) {
        set_clock(undef, $now);
        for my $n (1 .. 50) { my %list = $rate->headers("k$n", $_) for 0, 1, 2, 3; $rate->headers("k$n") }
    }
    ok $arena->peek('l', 0, $length) eq $before, 'not one byte';
};

subtest 'costs that are none' => sub {
    my $rate = limiter(limit => 5, window => 10);
    for my $cost (-1, -1e-9, 'x', '', '1x', -sin(9**9**9), 9**9**9, -9**9**9, 'NaN', 'Inf', [], {}) {
        croaks_like { $rate->headers('k', $cost) } qr/\AShared::Arena::Rate->headers: the cost must be a finite number, 0 or more, not/, "headers '$cost'";
    }
    is $rate->headers('k', '2e0')->{'RateLimit-Limit'}, 5, 'a number may be written in any way';
};

subtest 'the wrong number of arguments' => sub {
    croaks_like { limiter()->headers } qr/\AUsage: \$rate->headers\(\$key\[, \$cost\]\)/, 'none';
    croaks_like { limiter()->headers('k', 1, 1) } qr/\AUsage: \$rate->headers\(\$key\[, \$cost\]\)/, 'three';
};

# In a perl of its own, since the danger is a crash.
subtest 'a key that releases the limiter while it is read' => sub {
    for my $method (qw(headers remaining allow)) {
        quiet_perl_ok <<"END", $method;
use strict; use warnings; use lib '$FindBin::Bin/lib'; use TestMagic; use Shared::Arena;
my \$rate = Shared::Arena->create->rate('l');
my \$key = tied_value('k', sub { undef \$rate });
eval { my \@answer = \$rate->$method(\$\$key) };
\$rate = Shared::Arena->create->rate('l');
my \$cost = tied_value(1, sub { \$rate->DESTROY if \$rate });
eval { my \@answer = \$rate->$method('k', \$\$cost); 1 } and die 'a released one answers';
END
    }
};

real_clock();
done_testing;
