use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use TestArena;
use Test::More;

use Shared::Arena;

# What each method gives in list and in scalar context.

my $arena = Shared::Arena->create;
my $map   = $arena->map('map', slots => 16);
my $rate  = $arena->rate('rate', limit => 5, window => 10, slots => 64);
$map->store($_, "<$_>") for qw(a b c);

subtest 'a miss and a count in the middle of a list' => sub {
    my %hash = (a => scalar $map->fetch('none'), n => scalar($map->keys), b => 1);
    is_deeply \%hash, { a => undef, n => 3, b => 1 }, 'scalar context';
    is_deeply [1, $map->fetch('none'), 2], [1, 2], 'a miss is nothing in a list';
    is_deeply [1, $map->fetch('a'), 2], [1, '<a>', 2], 'a hit is one element';
    is scalar(my @there = $map->fetch('none')), 0, 'a miss counts as none';
    my $miss = $map->fetch('none');
    is $miss, undef, 'and is undef as a scalar';
};

subtest 'keys' => sub {
    is_deeply [sort $map->keys], [qw(a b c)], 'the keys in a list';
    my $count = $map->keys;
    is $count, 3, 'how many in a scalar';
    my $empty = $arena->map('empty', slots => 16);
    is_deeply [$empty->keys], [], 'none';
    is scalar($empty->keys), 0, 'zero';
};

subtest 'stats' => sub {
    my %map_stats  = $map->stats;
    my %rate_stats = $rate->stats;
    is_deeply [sort keys %map_stats], [sort qw(used capacity tombstones busy full expired)], 'pairs of a map';
    is_deeply [sort keys %rate_stats], [sort qw(limit window slots keys allowed denied evicted contended)], 'pairs of a limiter';
    is_deeply scalar($map->stats), \%map_stats, 'a hash reference in scalar context';
    is_deeply scalar($rate->stats), \%rate_stats, 'of a limiter too';
    is $map->stats->{used}, 3, 'which can be asked at once';
    is_deeply \%map_stats, { used => 3, capacity => 16, tombstones => 0, busy => 0, full => 0, expired => 0 }, 'figures of a map';
    is_deeply \%rate_stats, { limit => 5, window => 10, slots => 64, keys => 0, allowed => 0, denied => 0, evicted => 0, contended => 0 }, 'figures of a limiter';
};

subtest 'headers' => sub {
    my %pairs = $rate->headers('k');
    is_deeply [sort keys %pairs], [qw(RateLimit-Limit RateLimit-Remaining RateLimit-Reset)], 'pairs in a list';
    is_deeply scalar($rate->headers('k')), \%pairs, 'a hash reference in scalar context';
    is $rate->headers('k')->{'RateLimit-Limit'}, 5, 'which can be asked at once';
    is_deeply [1, $rate->headers('k'), 2], [1, 'RateLimit-Limit', 5, 'RateLimit-Remaining', 5, 'RateLimit-Reset', 0, 2], 'in the middle of a list';
    my ($one, $two) = map { scalar $rate->headers('k') } 1, 2;
    $one->{'RateLimit-Limit'} = 'changed';
    is $two->{'RateLimit-Limit'}, 5, 'and each call has its own';
};

subtest 'single values are one element in a list' => sub {
    is scalar(@{ [$map->counter('none')] }), 1, 'counter of nothing';
    is scalar(@{ [$map->exists('none')] }), 1, 'exists of nothing';
    is scalar(@{ [$map->delete('none')] }), 1, 'delete of nothing';
    is scalar(@{ [$map->incr('a')] }), 1, 'incr of what is no counter';
    is scalar(@{ [$rate->allow('k', 6)] }), 1, 'allow of too much';
    is scalar(@{ [Shared::Arena->attach('none')] }), 1, 'attach to nothing';
    is scalar(@{ [Shared::Arena->destroy('none')] }), 1, 'destroy of nothing';
};

subtest 'a region is a pair or nothing' => sub {
    is scalar(my @pair = $arena->region('r', size => 16)), 2, 'a pair';
    is scalar(my @none = $arena->region('none')), 0, 'nothing';
};

subtest 'values in void context' => sub {
    $map->fetch('a');
    $map->keys;
    $map->stats;
    $map->incr('void');
    $rate->allow('void');
    $rate->headers('void');
    $rate->remaining('void');
    $rate->stats;
    is $map->counter('void'), 1, 'calls count there too';
};

subtest 'a method as the comparator of a sort' => sub {
    no warnings;
    $map->store("$map", 1);
    # Perl's own macro for a call's result takes the sort for the call, and its direction for a flag of that.
    my @sorted = reverse sort Shared::Arena::Map::fetch $map, $map;
    push @sorted, reverse sort Shared::Arena::Map::counter $map, $map;
    is_deeply \@sorted, [($map) x 4], 'which has no scalar of its own for the result';
    $map->delete("$map");
};

subtest 'what comes back can be changed' => sub {
    my ($value) = $map->fetch('a');
    $value .= 'more';
    $_ .= 'more' for $map->fetch('a'), $map->keys, $map->stats, $arena->regions, $map->counter('void'), $rate->stats, $rate->headers('k');
    is_deeply [$map->fetch('a')], ['<a>'], 'without changing what is stored';
    is_deeply [sort $map->keys], [qw(a b c void)], 'or the keys';
};

done_testing;
