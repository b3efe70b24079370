use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib", "$FindBin::Bin/../t/lib";
use TestArena;
use TestBuckets;
use TestEvidence;
use Test::More;
use Time::HiRes qw(clock_gettime CLOCK_MONOTONIC);

use Shared::Arena;

# Tables with more keys than slots, and clients that ask for more than their due, at length. See t/30-rate-flood.t,
# t/30-rate-reuse.t and t/30-rate-heavy.t.

my %length = settings(keys => 200_000, tables => 200);

watchdog(900);

for my $slots (64, 4096) {
    subtest "$length{keys} random keys, $slots slots" => sub {
        for my $seed (1 .. 2) {
            my ($mistakes) = in_child { return [TestBuckets::flood(seed => $seed, keys => $length{keys}, slots => $slots)] } patience => 300;
            is_deeply $mistakes, [], "nobody is refused what he has, who has spent most has exactly his rate, and all is counted (seed $seed)";
        }
    };
}

subtest 'a million keys, each asked once' => sub {
    # Nothing refills: each begins a bucket, and each beyond a full group of slots ends one.
    my $rate = Shared::Arena->create(size => 256 * 1024, regions => 1)->rate('l', limit => 10, window => 3e8);
    at_tick(1000);
    my @wrong;
    for my $n (1 .. 1_000_000) {
        push @wrong, "key $n was refused" if !$rate->allow("key $n");
        next if $n % 10_000;
        my %stats = $rate->stats;
        push @wrong, "$n keys: $stats{keys} there, $stats{evicted} evicted" if $stats{keys} + $stats{evicted} != $n || $stats{keys} > 4096;
        push @wrong, "$n keys: $stats{allowed} counted" if $stats{allowed} != $n;
        last if @wrong > 10;
    }
    is_deeply \@wrong, [], 'all are allowed, and are there or were evicted';
    is $rate->stats->{keys}, 4096, 'and every slot has its key';
};

subtest 'a flood from eight processes' => sub {
    my $rate = Shared::Arena->create(size => 256 * 1024, regions => 1)->rate('l', limit => 1, window => 3e8);
    my $allowed = 0;
    $allowed += $_->[0] for in_children(8, sub {
        my ($number) = @_;
        srand $number;
        my $yes = 0;
        for (1 .. 250_000) { $yes += $rate->allow('key ' . int rand 50_000) }
        return $yes;
    }, patience => 300);
    my %stats = $rate->stats;
    is $stats{allowed} + $stats{denied}, 2_000_000, 'every call is counted';
    is $stats{allowed}, $allowed, 'as it was answered';
    is $stats{keys} + $stats{evicted}, $allowed, 'each that was allowed is there or was evicted';
    is_deeply [@stats{qw(keys contended)}], [4096, 0], 'of a table that is full';
};

real_clock();

subtest 'five hundred that ask too much among two thousand, by the real clock' => sub {
    my ($limit, $window, $seconds) = (10, 5, 20);
    my $rate  = Shared::Arena->create(size => 256 * 1024, regions => 1)->rate('l', limit => $limit, window => $window);
    my $start = clock_gettime(CLOCK_MONOTONIC);
    my %allowed;
    for my $answer (in_children(8, sub {
        my ($number) = @_;
        srand $number;
        my %yes;
        while (clock_gettime(CLOCK_MONOTONIC) < $start + $seconds) {
            for (1 .. 1000) { my $client = 'heavy ' . int rand 500; $yes{$client}++ if $rate->allow($client) }
            $rate->allow('light ' . int rand 1500) for 1 .. 5;
        }
        return %yes;
    }, patience => 120)) {
        my %yes = @$answer;
        $allowed{$_} += $yes{$_} for keys %yes;
    }
    my $took = clock_gettime(CLOCK_MONOTONIC) - $start;
    my $cap  = $limit + int($took * $limit / $window);
    is scalar(keys %allowed), 500, 'all were there';
    is_deeply [grep { $_ > $cap } values %allowed], [], "none had more than the $cap of that time";
    my $least = $limit + int($seconds * $limit / $window) - 4;
    is_deeply [grep { $_ < $least } values %allowed], [], 'and each had all of it, but for what came in at the end';
    my %stats = $rate->stats;
    is_deeply [@stats{qw(evicted contended)}], [0, 0], 'nobody was evicted';
};

subtest 'long histories' => sub {
    my @wrong;
    for my $seed (1001 .. 1000 + $length{tables}) {
        my (undef, $wrong) = TestBuckets::history($seed);
        push @wrong, "seed $seed, $wrong" if defined $wrong;
    }
    is_deeply \@wrong, [], "$length{tables} tables: a new key evicts only if all slots are live, and then the least spent one";
};

real_clock();
shown("floods of $length{keys} keys and of eight processes, $length{tables} tables beside an exact model: never tighter, evicted to the unit");

done_testing;
