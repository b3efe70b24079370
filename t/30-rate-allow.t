use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use TestArena;
use TestLimiter;
use Test::More;

use Shared::Arena;

# What each method of a limiter does, at one moment.

sub near { my ($got, $wanted, $name) = @_; local $Test::Builder::Level = $Test::Builder::Level + 1; return cmp_ok abs($got - $wanted), '<', 1e-6 * (1 + abs $wanted), $name }

set_clock(undef, 1000);

subtest 'a burst of limit, then no more' => sub {
    my $rate = limiter(limit => 5, window => 10);
    is $rate->allow('k'), 1, "request $_" for 1 .. 5;
    is $rate->allow('k'), 0, 'the sixth is refused';
    is $rate->allow('other'), 1, 'another key has its own';
    my %stats = $rate->stats;
    is_deeply [@stats{qw(limit window slots keys allowed denied evicted contended)}], [5, 10, 64, 2, 6, 1, 0, 0], 'and it is counted';
};

subtest 'a new key is full, and asking makes no entry' => sub {
    my $rate = limiter(limit => 7, window => 10);
    near($rate->remaining('new'), 7, 'all remains');
    is $rate->retry_after('new'), 0, 'nothing to wait for';
    is $rate->stats->{keys}, 0, 'no key was made';
    is $rate->allow('new'), 1, 'it is allowed';
    is $rate->stats->{keys}, 1, 'which makes one';
    near($rate->remaining('new'), 6, 'six remain');
};

subtest 'the defaults' => sub {
    my $arena = Shared::Arena->create;
    my $rate = $arena->rate('default');
    my %stats = $rate->stats;
    is_deeply [@stats{qw(limit window slots)}], [100, 60, 4096], 'a hundred a minute, for 4096 keys';
    is $rate->slots, 4096, 'slots alone';
    is scalar(grep { $rate->allow('k') } 1 .. 150), 100, 'a hundred at once';
    my $seven = $arena->rate('seven', limit => 7);
    is scalar(grep { $seven->allow('k') } 1 .. 20), 7, 'seven, where that is the limit';
};

subtest 'a cost' => sub {
    my $rate = limiter(limit => 10, window => 10);
    is $rate->allow('k', 8), 1, 'eight of ten';
    is $rate->allow('k', 5), 0, 'five more are too many';
    near($rate->remaining('k'), 2, 'a refused request spends nothing');
    cmp_ok $rate->retry_after('k', 5), '>', 0, 'there is a wait for five';
    near($rate->remaining('k'), 2, 'asking spends nothing');
    is $rate->allow('k', 2), 1, 'two are left';
    is $rate->allow('k', 0.001), 0, 'and that was all';
};

subtest 'fractions' => sub {
    my $rate = limiter(limit => 1, window => 10);
    is $rate->allow('k', 0.5), 1, 'half a request' for 1, 2;
    is $rate->allow('k', 0.5), 0, 'two halves are all';
    my $tenths = limiter(limit => 1, window => 10);
    is scalar(grep { $tenths->allow('k', 0.1) } 1 .. 20), 10, 'ten tenths are all';
    my $odd = limiter(limit => 2.5, window => 10);
    is scalar(grep { $odd->allow('k') } 1 .. 5), 2, 'a limit of two and a half allows two';
    near($odd->remaining('k'), 0.5, 'and half remains');
    is $odd->allow('k', 0.5), 1, 'which can be spent';
};

subtest 'a cost of nothing' => sub {
    my $rate = limiter(limit => 2, window => 10);
    is $rate->allow('k', 0), 1, 'is allowed' for 1 .. 5;
    near($rate->remaining('k'), 2, 'and spends nothing');
    is $rate->retry_after('k', 0), 0, 'nor waits';
    $rate->allow('k', 2);
    is $rate->allow('k', 0), 1, 'not even with nothing left';
    is $rate->retry_after('k', 0), 0, 'nor waits then';
};

subtest 'a cost above limit' => sub {
    my $rate = limiter(limit => 5, window => 10);
    is $rate->allow('k', 6), 0, 'is never allowed';
    is $rate->allow('k', 1e300), 0, 'however large';
    is $rate->retry_after('k', 6), 9**9**9, 'and is waited for without end';
    is $rate->remaining('k'), 5, 'it spends nothing';
    is $rate->stats->{keys}, 0, 'and makes no entry';
    is $rate->allow('k', 5), 1, 'limit itself is allowed';
    is $rate->allow('k', 5.000001), 0, 'a little more is not';
};

subtest 'costs that are none' => sub {
    my $rate = limiter(limit => 5, window => 10);
    for my $cost (-1, -1e-9, 'x', '', '1x', -sin(9**9**9), 9**9**9, -9**9**9, 'NaN', 'Inf', [], {}) {
        croaks_like { $rate->allow('k', $cost) } qr/Shared::Arena::Rate.*cost/s, "allow '$cost'";
        croaks_like { $rate->retry_after('k', $cost) } qr/Shared::Arena::Rate.*cost/s, "retry_after '$cost'";
        croaks_like { $rate->remaining('k', $cost) } qr/Shared::Arena::Rate.*cost/s, "remaining '$cost'";
    }
    near($rate->remaining('k'), 5, 'spend nothing');
    my %stats = $rate->stats;
    is_deeply [@stats{qw(keys allowed denied)}], [0, 0, 0], 'and count for nothing';
};

subtest 'reset and forget' => sub {
    my $rate = limiter(limit => 3, window => 1000);
    is $rate->reset('k'), 0, 'a key without a bucket';
    is $rate->forget('k'), 0, 'has none to forget';
    $rate->allow('k', 3);
    is $rate->allow('k'), 0, 'all spent';
    is $rate->reset('k'), 1, 'reset fills it';
    is scalar(grep { $rate->allow('k') } 1 .. 5), 3, 'to the full';
    is $rate->forget('k'), 1, 'forget gives its slot back';
    is $rate->stats->{keys}, 0, 'no key is there';
    is scalar(grep { $rate->allow('k') } 1 .. 5), 3, 'and it begins as a new one';
    $rate->allow('other', 3);
    $rate->reset('k');
    $rate->forget('k');
    is $rate->allow('other'), 0, 'another key is left alone';
};

subtest 'slots' => sub {
    my %rounded = (1 => 64, 63 => 64, 64 => 64, 65 => 128, 100 => 128, 128 => 128, 1000 => 1024, 1025 => 2048);
    is(limiter(slots => $_)->slots, $rounded{$_}, "$_ become $rounded{$_}") for sort { $a <=> $b } keys %rounded;
};

subtest 'any bytes are a key' => sub {
    my $rate = limiter(limit => 1, window => 1000, slots => 4096);
    my @keys = ('', "\0", "a\0b", 'a', "a\0", '0', ' ', "\n", "\xFF", 'x' x 100_000, 'x' x 99_999 . 'y', map { chr . 'z' } 0 .. 255);
    is scalar(grep { $rate->allow($_) } @keys), scalar(@keys), 'each has its own bucket';
    is scalar(grep { $rate->allow($_) } @keys), 0, 'and only one';
};

subtest 'two limiters' => sub {
    my ($login, $api) = (limiter(limit => 1, window => 300), limiter(limit => 1000, window => 60));
    $login->allow('k');
    is $login->allow('k'), 0, 'one is spent';
    is $api->allow('k'), 1, 'the other has its own buckets';
};

real_clock();
done_testing;
