use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use TestArena;
use Test::More;

use POSIX ();
use Shared::Arena;

# Every object made before a fork works in parent and child, also after the parent's object is gone.

subtest 'objects made before the fork' => sub {
    my $arena = Shared::Arena->create;
    my $map   = $arena->map('m', slots => 64);
    my $rate  = $arena->rate('l', limit => 4, window => 10_000);
    $arena->region('r', size => 64);
    $map->store('before', 'parent');
    my @seen = in_child {
        $map->store('from child', 'c');
        $map->incr('n', 5);
        $rate->allow('k', 3);
        $arena->poke('r', 0, 'child');
        $arena->map('made in child', slots => 8)->store('k', 'v');
        return ($map->fetch('before'), $arena->created ? 1 : 0);
    };
    is $seen[0], 'parent', 'the child sees what the parent stored';
    is_deeply [$map->fetch('from child')], ['c'], 'the parent sees what the child stored';
    is $map->counter('n'), 5, 'and counted';
    is $rate->allow('k'), 1, 'one request is left';
    is $rate->allow('k'), 0, 'of four';
    is $arena->peek('r', 0, 5), 'child', 'raw bytes are shared';
    is_deeply [$arena->map('made in child', slots => 8)->fetch('k')], ['v'], 'and maps made after the fork';
};

subtest 'after the object of the parent is gone' => sub {
    pipe my $go, my $gone or die;
    pipe my $from, my $to or die;
    my $arena = Shared::Arena->create;
    my $map   = $arena->map('m', slots => 64);
    $map->store('k', 'v');
    my $pid = spawn(sub {
        close $gone;
        sysread $go, my $byte, 1;
        $map->store('k2', 'w');
        syswrite $to, join ',', $map->fetch('k'), $map->fetch('k2'), $arena->map('m', slots => 64)->fetch('k');
    });
    close $go;
    undef $map;
    undef $arena;
    close $gone;
    is reap($pid), 0, 'the child ends well';
    sysread $from, my $answer, 100;
    is $answer, 'v,w,v', 'having read and written';
};

subtest 'after the child is gone' => sub {
    my $map = Shared::Arena->create->map('m', slots => 64);
    for (1 .. 10) { in_child { $map->incr('n'); undef $map; return } }
    is $map->counter('n'), 10, 'its objects go without the parent\'s';
};

subtest 'children of children' => sub {
    my $map = Shared::Arena->create->map('m', slots => 64);
    my $descend;
    $descend = sub {
        my ($depth) = @_;
        $map->incr('n');
        return 1 if $depth == 0;
        my $pid = spawn(sub { $descend->($depth - 1) });
        reap($pid) == 0 or die 'a child failed';
        $map->incr('n');
    };
    in_child { $descend->(10); return };
    is $map->counter('n'), 21, 'share with their ancestors';
};

subtest 'children need not wait for the parent' => sub {
    my $map = Shared::Arena->create->map('m', slots => 64);
    my @missed = map { $_->[0] } in_children(8, sub { return scalar(my @there = $map->fetch('none')) }, patience => 5);
    is_deeply \@missed, [(0) x 8], 'eight of them miss at once while it does nothing';
};

subtest 'a fork in the middle of work' => sub {
    my $map = Shared::Arena->create->map('m', slots => 64);
    my @pids;
    for my $n (1 .. 200) {
        $map->store('k', 'x' x ($n % 50));
        $map->incr('parent');
        push @pids, spawn(sub { $map->incr('child'); $map->store('k', 'y' x ($n % 50)); $map->incr('parent', 0) }) if $n % 10 == 0;
    }
    is scalar(grep { reap($_) != 0 } @pids), 0, 'twenty children end well';
    is $map->counter('parent'), 200, 'the parent lost nothing';
    is $map->counter('child'), 20, 'nor did they';
    intact_ok $map, 'whole';
};

done_testing;
