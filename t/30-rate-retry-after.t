use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use TestArena;
use TestRetry;
use Test::More;

use POSIX 'ceil';
use Shared::Arena;

# retry_after is the moment `allow` will say yes: asking then succeeds, asking clearly earlier fails.

my $arena = Shared::Arena->create(size => 4 * 1024 * 1024, regions => 200);

subtest 'a third of a second and other periods' => sub {
    for my $a_second (3, 7, 0.3, 1 / 3, 1, 10, 1000, 999.7, 1 / 3600, 1 / 86_400) {
        my $rate = $arena->rate("rate $a_second", limit => 1, window => 1 / $a_second, slots => 64);
        set_clock(undef, 1000);
        is $rate->allow('k'), 1, 'the first is allowed';
        is $rate->allow('k'), 0, 'the second is not';
        my $wait = $rate->retry_after('k');
        cmp_ok $wait, '>', 0, 'there is a wait';
        cmp_ok abs($wait - 1 / $a_second), '<=', 2e-9 + 1e-12 / $a_second, "of 1/$a_second s";
        cmp_ok ceil($wait), '>=', 1, 'a header rounds it up to a second at least';
        is $rate->headers('k')->{'Retry-After'}, ceil($wait), 'as the one does that comes ready made';
        set_clock(undef, 1000 + $wait);
        is $rate->retry_after('k'), 0, 'after it there is none';
        is $rate->allow('k'), 1, 'and the third is allowed';
    }
};

subtest 'zero exactly when allow would say yes' => sub {
    my $rate = $arena->rate('exactly', limit => 4, window => 4, slots => 64);
    for my $step (0 .. 400) {
        set_clock(undef, 2000 + $step / 10);
        my $cost = 1 + $step % 4;
        my $free = $rate->retry_after('k', $cost) == 0 ? 1 : 0;
        $rate->allow('k', $cost) == $free or fail("at step $step"), last;
    }
    pass('at four hundred moments');
};

subtest 'a cost waits longer' => sub {
    my $rate = $arena->rate('cost', limit => 10, window => 10, slots => 64);
    set_clock(undef, 3000);
    $rate->allow('k', 10);
    cmp_ok abs($rate->retry_after('k', $_) - $_), '<', 1e-6, "$_ s for $_" for 0.5, 1, 2, 9.5, 10;
    is $rate->retry_after('k'), $rate->retry_after('k', 1), 'one when not said';
    is $rate->retry_after('k', 10.1), 9**9**9, 'for ever for more than limit';
};

subtest 'asking writes nothing' => sub {
    my $rate = $arena->rate('asking', limit => 2, window => 10, slots => 64);
    set_clock(undef, 4000);
    my @region = $arena->region('asking');
    my $before = $arena->peek('asking', 0, $region[1]);
    for (1 .. 50) { $rate->retry_after("k$_"); $rate->remaining("k$_"); $rate->retry_after("k$_", 5) }
    ok $arena->peek('asking', 0, $region[1]) eq $before, 'not one byte';
};

subtest 'random limiters' => sub {
    is_deeply [TestRetry::mistakes(seed => 1, limiters => 100, calls => 200)], [], 'twenty thousand calls';
};

subtest 'by the real clock' => sub {
    real_clock();
    my $rate = $arena->rate('real', limit => 5, window => 0.25, slots => 64);
    my ($asked, $early) = (0, 0);
    for my $round (1 .. 10) {
        $asked++ while $rate->allow('k');
        my $wait = $rate->retry_after('k');
        next if $wait == 0;
        cmp_ok $wait, '<=', 0.05 + 1e-9, 'never longer than one request takes to come back';
        select undef, undef, undef, $wait + 0.001;
        $early++ if !$rate->allow('k');
    }
    is $early, 0, 'whoever waits is allowed';
};

real_clock();
done_testing;
