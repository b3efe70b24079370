use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use TestArena;
use Test::More;

use Shared::Arena;

# In a time namespace the monotonic clock may show another time than outside. Processes on two sides of its border once
# shared a limiter all the same: one, 1000 seconds ahead, found every spent bucket full, and the others then were refused
# for 1000 seconds more.

my @unshare = qw(unshare --time --fork --monotonic);
plan skip_all => 'needs root, and time namespaces' if $> || system join(' ', @unshare, '1 true 2>/dev/null');

my @include = map {"-I$_"} grep { !ref } @INC;

sub elsewhere {
    my ($seconds, $program) = @_;
    my $inside = 'use Shared::Arena; my $arena = Shared::Arena->attach("times");'
        . 'sub limiter { return $arena->rate($_[0], limit => 5, window => 100, slots => 64) }' . "\n$program";
    open my $pipe, '-|', @unshare, $seconds, $^X, @include, '-e', $inside or die "unshare: $!";
    return do { local $/; <$pipe> };
}

my $arena = Shared::Arena->create(name => 'times', size => 64 * 1024);
my $rate  = $arena->rate('here', limit => 5, window => 100, slots => 64);
is scalar(grep { $rate->allow('k') } 1 .. 8), 5, 'here five are allowed';

for my $seconds (1000, -1000, 1) {
    my $error = elsewhere($seconds, 'eval { limiter("here") }; print $@');
    my $side = abs($seconds) . ' s ' . ($seconds < 0 ? 'ahead of' : 'behind');
    is $error, "Shared::Arena->rate: 'here' goes by the clock of another time namespace, $side the one here at -e line 1.\n",
        "with a clock $seconds seconds from ours, a process is refused the limiter";
}
is scalar(grep { $rate->allow('k') } 1 .. 8), 0, 'which goes on as before';

subtest 'what does not go by that clock' => sub {
    is elsewhere(1000, 'my $map = $arena->map("map", slots => 16); $map->store(k => "from there", ttl => 500); print $map->incr("n")'), 1, 'a map is shared';
    my $map = $arena->map('map', slots => 16);
    is $map->fetch('k'), 'from there', 'with its values';
    set_clock(time + 400);
    ok $map->exists('k'), 'their deadlines';
    set_clock(time + 501);
    ok !$map->exists('k'), 'to the moment';
    real_clock();
    is $map->incr('n'), 2, 'and its counters';
};

subtest 'who has the same time' => sub {
    is elsewhere(0, 'print scalar grep { limiter("here")->allow("other") } 1 .. 8'), 5, 'shares a limiter from another time namespace';
    is scalar(grep { $rate->allow('other') } 1 .. 8), 0, 'and its buckets';
};

subtest 'a limiter made in there' => sub {
    is elsewhere(1000, 'print scalar grep { limiter("there")->allow("k") } 1 .. 8'), 5, 'works there';
    is elsewhere(1000, 'print scalar grep { limiter("there")->allow("k") } 1 .. 8'), 0, 'for all who have that time';
    croaks_like { $arena->rate('there', limit => 5, window => 100, slots => 64) }
        qr/'there' goes by the clock of another time namespace, 1000 s ahead of the one here/, 'and is refused here';
};

Shared::Arena->destroy('times');

done_testing;
