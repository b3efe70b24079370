use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib", "$FindBin::Bin/../t/lib";
use TestArena;
use TestOutlook;
use TestRetry;
use TestEvidence;
use Test::More;

use Shared::Arena;

# The exactness tests of limiters, in full length.

watchdog(900);
my $arena = Shared::Arena->create;

sub greedy {
    my ($name, $a_second, $burst, $step, $end) = @_;
    my $rate = $arena->rate($name, limit => $burst, window => $burst / $a_second, slots => 64);
    my $allowed = 0;
    for my $poll (0 .. int($end / $step + 0.5)) {
        set_clock(undef, 1000 + $poll * $step);
        $allowed++ while $rate->allow('k');
    }
    return $allowed;
}

my $three = greedy('three', 3, 2, 0.001, 1000);
is $three, 3002, 'three a second for a thousand seconds';
my $many = greedy('many', 1.5e6, 2, 1e-6, 1);
cmp_ok abs($many - 1_500_002), '<=', 1, "1.5 million a second for a second: $many of 1,500,002";

is_deeply [TestRetry::mistakes(seed => 10_000, limiters => 2000, calls => 500)], [], 'a million calls of retry_after tell the truth';

is_deeply [TestOutlook::mistakes(seed => 10_000, limiters => 10_000, calls => 50)], [], 'and of headers, which say the same as all others, at half a million moments';

subtest 'a million granted after ten idle years' => sub {
    my $rate = $arena->rate('idle', limit => 1e6, window => 1, slots => 64);
    set_clock(undef, 100);
    $rate->allow('k', 1e6);
    set_clock(undef, 100 + 10 * 365.25 * 86_400);
    is $rate->remaining('k'), 1e6, 'remain';
    is scalar(grep { $rate->allow('k') } 1 .. 1_000_001), 1_000_000, 'are granted one by one, and not one more';
};

shown('1.5 million calls that say how long to wait or what is left, all true; 1.5 million requests a second, none lost');

done_testing;
