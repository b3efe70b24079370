use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use TestArena;
use Test::More;

use Shared::Arena;

# Deadlines: a lapsed entry reads as absent everywhere at once, and the first call that lands on it collects it.

my $arena = Shared::Arena->create(size => 8 * 1024 * 1024, regions => 200);
my $start = 1_700_000_000;
sub at { my ($seconds) = @_; set_clock($start + $seconds); return }

my $serial = 0;
sub new_map { my (%shape) = (slots => 16, slot_size => 128, @_); return $arena->map('map ' . $serial++, %shape) }

subtest 'before and after the deadline' => sub {
    my $map = new_map();
    at(0);
    $map->store('s', 'v', ttl => 10);
    $map->store('ms', 'v', ttl_ms => 10_000);
    $map->store('f', 'v', ttl => 0.25);
    at(0.2);
    ok $map->exists($_), "$_ is there" for qw(s ms f);
    at(0.3);
    ok !$map->exists('f'), 'a fraction of a second has passed';
    at(9.9);
    is_deeply [$map->fetch($_)], ['v'], "$_ is there just before" for qw(s ms);
    at(10.1);
    is_deeply [$map->fetch($_)], [], "$_ is gone just after" for qw(s ms);
};

subtest 'gone for every method at once' => sub {
    my %look = (
        fetch   => sub { my @there = $_[0]->fetch('k'); @there },
        exists  => sub { $_[0]->exists('k') ? 1 : () },
        delete  => sub { $_[0]->delete('k') || () },
        counter => sub { my $n = $_[0]->counter('k'); defined $n ? $n : () },
        keys    => sub { $_[0]->keys },
        'keys in scalar context' => sub { scalar($_[0]->keys) || () },
    );
    for my $method (sort keys %look) {
        my $map = new_map();
        at(0);
        $map->incr('k', 5, ttl => 1);
        at(0.9);
        ok scalar(my @there = $look{$method}->($map)), "there for $method" if $method ne 'delete';
        at(1.1);
        is scalar(my @gone = $look{$method}->($map)), 0, "gone for $method";
    }
};

subtest 'incr starts a lapsed counter afresh' => sub {
    my $map = new_map();
    at(0);
    is $map->incr('c', 5, ttl => 1), 5, 'five';
    at(0.9);
    is $map->incr('c', 1, ttl => 100), 6, 'still counting';
    at(1.1);
    is $map->counter('c'), undef, 'a later increment did not move the deadline';
    is $map->incr('c', 1, ttl => 2), 1, 'the next one starts afresh';
    is_deeply [$map->fetch('c')], [1], 'at what it counts by';
    at(3.0);
    is $map->incr('c'), 2, 'with a deadline of its own';
    at(3.2);
    is $map->incr('c'), 1, 'after which it starts again';
    at(1_000_000);
    is $map->incr('c'), 2, 'now without one';
};

subtest 'each store sets the deadline anew' => sub {
    my $map = new_map();
    at(0);
    $map->store('k', 1, ttl => 2);
    at(1);
    $map->store('k', 2, ttl => 2);
    at(2.5);
    is_deeply [$map->fetch('k')], [2], 'renewed';
    $map->store('k', 3);
    at(1e6);
    is_deeply [$map->fetch('k')], [3], 'removed by a store without one';
    $map->store('k', 4, ttl => 1);
    $map->store('k', 5, ttl => $_) for 0, undef;
    at(2e6);
    is_deeply [$map->fetch('k')], [5], 'and by one of zero or undef';
    $map->store('k', 6, ttl_ms => 500);
    at(2e6 + 1);
    ok !$map->exists('k'), 'and set again';
};

subtest 'reading does not move it' => sub {
    my $map = new_map();
    at(0);
    $map->store('k', 1, ttl => 2);
    for my $time (0.5, 1, 1.5, 1.9) { at($time); $map->fetch('k'); $map->exists('k'); $map->keys }
    at(2.1);
    is_deeply [$map->fetch('k')], [], 'gone on time';
};

subtest 'any length' => sub {
    my $map = new_map(slots => 64);
    at(0);
    is $map->store("t $_", 1, ttl => $_), 1, "ttl $_" for 1e-9, 0.0004, 0.001, 1e9, 1e12, 1e18, 1e300, 'Inf';
    is $map->store("m $_", 1, ttl_ms => $_), 1, "ttl_ms $_" for 1e-9, 0.5, 1e12, 1e300, 9**9**9;
    at(0.01);
    ok !$map->exists($_), "$_ has passed" for 't 1e-09', 't 0.0004', 't 0.001', 'm 1e-09', 'm 0.5';
    at(1e8);
    ok $map->exists($_), "$_ has not" for 't 1000000000', 't 1000000000000', 't 1e+18', 't 1e+300', 't Inf', 'm 1000000000000', 'm 1e+300', 'm ' . 9**9**9;
};

subtest 'a second is a second at any phase' => sub {
    my $map = new_map();
    my ($early, $late) = (0, 0);
    for my $round (1 .. 1000) {
        my $phase = $round * 7.003_7;
        at($phase);
        $map->store('k', $round, ttl => 1);
        at($phase + 0.9);
        $early++ if !$map->fetch('k');
        at($phase + 1.1);
        $late++ if $map->fetch('k');
    }
    is $early, 0, 'never gone after 0.9';
    is $late, 0, 'never there after 1.1';
};

subtest 'collecting' => sub {
    my $map = new_map(slots => 8);
    at(0);
    $map->store($_, 1, ttl => 1) for 'a' .. 'f';
    $map->store('long', 1, ttl => 100);
    at(1.5);
    is_deeply [$map->keys], ['long'], 'lapsed keys are not listed';
    is scalar($map->keys), 1, 'nor counted';
    is $map->stats->{used}, 7, 'they are used until they are collected';
    is $map->stats->{expired}, 0, 'none was collected by looking at the table';
    $map->fetch('a');
    is $map->stats->{expired}, 1, 'fetch collects';
    $map->exists('b');
    is $map->stats->{expired}, 2, 'exists collects';
    is $map->delete('c'), 0, 'there is nothing to delete';
    is $map->stats->{expired}, 3, 'delete collects';
    $map->fetch('a') for 1 .. 3;
    is $map->stats->{expired}, 3, 'each only once';
    is $map->stats->{used}, 4, 'the other four are still used';
    # A new entry may collect others on its way, so only the sum is known from here.
    is $map->incr('d'), 1, 'incr collects, and starts';
    is $map->store('e', 2), 1, 'store collects, and stores';
    my %stats = $map->stats;
    cmp_ok $stats{expired}, '>=', 5, 'both counted';
    is $stats{used} + $stats{expired}, 9, 'nine entries were made, and each is used or collected';
    intact_ok $map, 'whole', lapsing => 1;
};

subtest 'lapsed entries make room' => sub {
    my $map = new_map(slots => 100);
    at(0);
    is scalar(grep { $map->store("old $_", 1, ttl => 1) == 1 } 1 .. 100), 100, 'a hundred with a deadline';
    is $map->store('one more', 1), 0, 'no room while they live';
    at(2);
    is scalar(grep { $map->store("new $_", 1) == 1 } 1 .. 100), 100, 'a hundred others once they have lapsed';
    my %stats = $map->stats;
    is_deeply [@stats{qw(used expired full)}], [100, 100, 1], 'the figures agree';
    is scalar(grep { $map->exists("new $_") } 1 .. 100), 100, 'all are there';
    is $map->store('one more', 1), 0, 'and it is full again';
    intact_ok $map, 'whole';

    my $counters = new_map(slots => 10);
    at(0);
    $counters->incr("old $_", 1, ttl => 1) for 1 .. 10;
    at(2);
    is scalar(grep { defined $counters->incr("new $_") } 1 .. 10), 10, 'for counters as well';
};

subtest 'a map without deadlines reads no clock' => sub {
    real_clock();
    my $map = new_map();
    my $before = Shared::Arena::_clock_reads();
    for (1 .. 100) { $map->store('k', $_); $map->fetch('k'); $map->exists('k'); $map->incr('n'); $map->counter('n'); $map->delete('k'); $map->keys; $map->store('k', 1, ttl => 0) }
    is Shared::Arena::_clock_reads() - $before, 0, 'not once';
    $map->store('k', 1, ttl => 10);
    cmp_ok Shared::Arena::_clock_reads(), '>', $before, 'but does for a deadline';
};

subtest 'the clock is read for the entries that have a deadline alone' => sub {
    real_clock();
    my $map = new_map();
    $map->store('banned', 1, ttl => 1000);
    $map->incr('window', 1, ttl => 1000);
    $map->store('plain', 1);
    $map->incr('n');
    my $reads = sub { my $before = Shared::Arena::_clock_reads(); $_[0]->(); return Shared::Arena::_clock_reads() - $before };
    my %without = (
        store  => sub { $map->store('plain', 2) },     insert  => sub { $map->store('new', 2) },  fetch   => sub { $map->fetch('plain') },
        miss   => sub { $map->fetch('none') },         exists  => sub { $map->exists('plain') },  incr    => sub { $map->incr('n') },
        first  => sub { $map->incr('another') },       counter => sub { $map->counter('n') },     delete  => sub { $map->delete('plain') },
        stats  => sub { $map->stats },
    );
    is $reads->($without{$_}), 0, "$_: none, whatever other entries have" for sort keys %without;
    my %with = (
        fetch  => sub { $map->fetch('banned') },       exists => sub { $map->exists('banned') },   counter => sub { $map->counter('window') },
        incr   => sub { $map->incr('window') },        window => sub { $map->incr('window', 1, ttl => 5) },
        renew  => sub { $map->store('fresh', 1, ttl => 5) },
    );
    is $reads->($with{$_}), 1, "$_: one" for sort keys %with;
};

subtest 'by the real clock' => sub {
    real_clock();
    my $map = new_map();
    $map->store('long', 'v', ttl => 1000);
    $map->store('short', 'v', ttl_ms => 30);
    select undef, undef, undef, 0.06;
    ok $map->exists('long'), 'a long one is there';
    ok !$map->exists('short'), 'a short one is gone';
};

subtest 'in every process' => sub {
    my $map = new_map();
    at(0);
    $map->store('k', 'v', ttl => 5);
    my ($now, $later) = in_child { at(4); my $n = $map->exists('k') ? 1 : 0; at(6); return ($n, $map->exists('k') ? 1 : 0) };
    is "$now $later", '1 0', 'a child sees it go';
    ok !$map->exists('k'), 'and has collected it';
};

real_clock();
done_testing;
