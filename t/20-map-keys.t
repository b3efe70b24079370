use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use TestArena;
use Test::More;

use Shared::Arena;

# `keys` lists every live key once, in the table's own order, and looks without changing anything.

my $map = Shared::Arena->create(size => 4 * 1024 * 1024)->map('m', slots => 5000, slot_size => 64);

subtest 'an empty table' => sub {
    is_deeply [$map->keys], [], 'no keys';
    is scalar($map->keys), 0, 'zero of them';
};

subtest 'a growing one' => sub {
    for my $count (1, 2, 10, 100, 1000, 5000) {
        $map->store("key $_", $_) for 1 .. $count;
        my @keys = $map->keys;
        is scalar(@keys), $count, "$count keys";
        is_deeply [sort @keys], [sort map {"key $_"} 1 .. $count], 'each once';
        is scalar($map->keys), $count, 'and as many in scalar context';
    }
};

subtest 'deleted keys' => sub {
    $map->delete("key $_") for grep { $_ % 3 } 1 .. 5000;
    is_deeply [sort $map->keys], [sort map { 'key ' . 3 * $_ } 1 .. 1666], 'are not listed';
};

subtest 'counters, empty values and undef' => sub {
    $map->incr('counter');
    $map->store('empty', '');
    $map->store('undef', undef);
    is scalar(grep {/\A(?:counter|empty|undef)\z/} $map->keys), 3, 'are keys like any others';
};

subtest 'changing the table in a loop over it' => sub {
    $map->delete($_) for $map->keys;
    is scalar($map->keys), 0, 'every key can be deleted in turn';
    $map->store("key $_", $_) for 1 .. 100;
    $map->store("$_ again", 1) for $map->keys;
    is scalar($map->keys), 200, 'or joined by another';
};

subtest 'while others write' => sub {
    my @wrong;
    my $writer = spawn(sub { for (;;) { for my $n (1 .. 50) { $map->store("moving $n", 'x' x ($n % 20)); $map->delete("moving $n") } } }, 60);
    for (1 .. 200) {
        my %times;
        $times{$_}++ for $map->keys;
        push @wrong, grep { !/\A(?:key \d+(?: again)?|moving \d+)\z/ } keys %times;
        push @wrong, 'a key that stays is missing' if grep { !$times{"key $_"} } 1 .. 100;
    }
    kill KILL => $writer;
    reap($writer);
    is_deeply \@wrong, [], 'every key that stays is listed, and none that never was';
};

done_testing;
