use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use TestArena;
use Test::More;

use Shared::Arena;

# A limit is the limit for all processes together.

subtest 'the limit is not one for each worker' => sub {
    my $rate = Shared::Arena->create->rate('l', limit => 50, window => 50 / 1e-6);
    my $allowed = 0;
    $allowed += $_->[0] for in_children(8, sub { return scalar grep { $rate->allow('k') } 1 .. 100 });
    is $allowed, 50, 'eight workers that ask a hundred times each are allowed fifty together';
};

for my $count (4, 8, 16) {
    subtest "$count processes" => sub {
        my $arena = Shared::Arena->create(size => 4 << 20);
        my $rate  = $arena->rate('l', limit => 50, window => 5e7, slots => 64);
        my @answers = in_children($count, sub { my $yes = grep { $rate->allow('k') } 1 .. 1000 / $count * 2; return $yes });
        my $allowed = 0;
        $allowed += $_->[0] for @answers;
        is $allowed, 50, 'are allowed exactly fifty together';
        my %stats = $rate->stats;
        is_deeply [@stats{qw(allowed denied contended)}], [50, int(1000 / $count * 2) * $count - 50, 0], 'and every answer is counted';
    };

    subtest "$count processes, many keys" => sub {
        my $rate = Shared::Arena->create(size => 4 << 20)->rate('l', limit => 7, window => 1e7, slots => 8192);
        my %allowed;
        for my $answer (in_children($count, sub { my %yes; for my $ask (1 .. 3) { for my $n (1 .. 200) { $yes{$n} += $rate->allow("key $n") for 1 .. 2 } } return %yes })) {
            my %yes = @$answer;
            $allowed{$_} += $yes{$_} for keys %yes;
        }
        my @wrong = grep { $allowed{$_} != 7 } 1 .. 200;
        is_deeply \@wrong, [], 'each key gets its seven';
        is $rate->stats->{keys}, 200, 'and is in the table once';
    };

    subtest "$count processes that meet new keys together" => sub {
        my $rate = Shared::Arena->create(size => 4 << 20)->rate('l', limit => 1, window => 1e7, slots => 16_384);
        my $allowed = 0;
        $allowed += $_->[0] for in_children($count, sub { return scalar grep { $rate->allow("new $_") } 1 .. 2000 });
        is $allowed, 2000, 'give each its one request, once';
        my %stats = $rate->stats;
        is_deeply [@stats{qw(keys allowed denied evicted contended)}], [2000, 2000, 2000 * ($count - 1), 0, 0], 'as the figures say';
    };

    subtest "$count processes and costs" => sub {
        my $rate = Shared::Arena->create->rate('l', limit => 1000, window => 1e8, slots => 64);
        my $spent = 0;
        $spent += $_->[0] for in_children($count, sub {
            my ($number) = @_;
            my $spent = 0;
            for my $n (1 .. 300) { my $cost = 1 + ($n + $number) % 9; $spent += $cost if $rate->allow('k', $cost) }
            return $spent;
        });
        cmp_ok $spent, '<=', 1000, 'never spend more than there is';
        cmp_ok $spent, '>', 1000 - 9, 'and leave less than one more would cost';
        cmp_ok abs($rate->remaining('k') - (1000 - $spent)), '<', 0.01, 'what remains is the rest';
    };
}

subtest 'a refill that many processes share' => sub {
    # Each step of the clock is set in all of them, so that the sum over all is known.
    my $rate = Shared::Arena->create->rate('l', limit => 4, window => 0.4, slots => 64);
    set_clock(undef, 1000);
    1 while $rate->allow('k');
    my $allowed = 0;
    $allowed += $_->[0] for in_children(4, sub {
        my $yes = 0;
        for my $step (1 .. 1000) { set_clock(undef, 1000 + $step / 100); $yes++ if $rate->allow('k') }
        return $yes;
    });
    real_clock();
    # Ten seconds of ten a second. Whoever runs ahead spends for the others, whose clocks are then behind.
    cmp_ok $allowed, '<=', 104, "$allowed: never more than burst and refill";
    cmp_ok $allowed, '>=', 90, 'and close to all of it';
};

subtest 'two processes that see different free slots for one new key' => sub {
    # By the clock of one, some buckets have refilled; by that of the other, all have. So they take different slots.
    my $rounds = 1500;
    my $arena  = Shared::Arena->create(size => $rounds * 1184 + 70_000, regions => $rounds + 1);
    my $meet   = $arena->map('meet', slots => 4);
    $meet->incr('arrived', 0);
    my @rates  = map { $arena->rate("l$_", limit => 4, window => 10, slots => 64) } 1 .. $rounds;
    set_clock(undef, 100);
    for my $rate (@rates) { for my $n (1 .. 60) { $rate->allow("old $n", 4 - int($n / 16)) } }
    my @answers = in_children(2, sub {
        my ($number) = @_;
        set_clock(undef, $number ? 106 : 112);
        my @yes;
        for my $round (0 .. $#rates) {
            $meet->incr('arrived');
            my $patience = 1e6;
            1 while $meet->counter('arrived') < 2 * $round + 2 && $patience--;
            push @yes, $rates[$round]->allow('new', 4);
        }
        return @yes;
    });
    real_clock();
    my @wrong = grep { $answers[0][$_] + $answers[1][$_] != 1 } 0 .. $#rates;
    is_deeply \@wrong, [], 'it gets its one bucket and its one request';
};

subtest 'by the real clock' => sub {
    my $rate = Shared::Arena->create->rate('l', limit => 20, window => 0.5, slots => 64);
    require Time::HiRes;
    my $start = Time::HiRes::time();
    my $allowed = 0;
    my ($least, $most) = ($start + 1e9, 0);
    for my $answer (in_children(4, sub { my $yes = 0; my $until = Time::HiRes::time() + 0.5; while (Time::HiRes::time() < $until) { $yes++ if $rate->allow('k') } return $yes })) { $allowed += $answer->[0] }
    my $took = Time::HiRes::time() - $start;
    cmp_ok $allowed, '<=', 20 + $took * 40, 'no more than the time it took allows';
    cmp_ok $allowed, '>=', 20 + 0.4 * 40, 'and all of it';
};

done_testing;
