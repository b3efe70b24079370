use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use TestArena;
use TestRegion;
use Test::More;

use Shared::Arena;

# Each process of a pool counts in a line of its own, in each arena, so that none waits for a line that another writes.
# While there are more processes than lines, some share one, and the sums are as exact.

# The lines of a limiter's statistics in which something was counted: number => [allowed, denied].
sub lines_of {
    my ($arena, $name) = @_;
    my %lines;
    for my $number (0 .. LINES - 1) {
        my @counts = unpack 'Q2', $arena->peek($name, STATISTICS + $number * LINE, LINE);
        $lines{$number} = \@counts if grep { $_ } @counts;
    }
    return \%lines;
}

# How much each line counted beyond what was there before.
sub counted {
    my ($before, $after) = @_;
    return sort { $a <=> $b } map { $after->{$_}[0] - ($before->{$_} ? $before->{$_}[0] : 0) } keys %$after;
}

subtest 'four processes, two arenas' => sub {
    # Which arena a process uses first, and whether its parent used them before, must not matter.
    for my $parent_first (0, 1) {
        my @arenas = map { Shared::Arena->create(size => 128 * 1024) } 1, 2;
        my @rates  = map { $_->rate('l', limit => 1e6, window => 1e6, slots => 64) } @arenas;
        my @more   = map { $_->rate('more', limit => 1e6, window => 1e6, slots => 64) } @arenas;
        if ($parent_first) { $_->allow('parent', 10) for @rates, @more }
        my @before = map { lines_of($_, 'l') } @arenas;
        in_children(4, sub {
            my ($number) = @_;
            my @order = $number % 2 ? (0, 1) : (1, 0);
            for my $which (@order) { $rates[$which]->allow("key $_") for 1 .. 100 + $number }
            for my $which (reverse @order) { $more[$which]->allow("key $_") for 1 .. 100 + $number }
            return;
        });
        my $title = $parent_first ? 'after their parent' : 'before anybody';
        for my $which (0, 1) {
            my $lines = lines_of($arenas[$which], 'l');
            is scalar(keys %$lines), 4 + $parent_first, "each has its own line in arena $which, $title";
            is_deeply [grep { $_ } counted($before[$which], $lines)], [100 .. 103], 'and has counted all it did there';
            is_deeply [sort keys %{ lines_of($arenas[$which], 'more') }], [sort keys %$lines], 'the same one for all limiters';
        }
    }
};

subtest 'children that come and go beside one that stays' => sub {
    my $arena = Shared::Arena->create(size => 128 * 1024);
    my $rate  = $arena->rate('l', limit => 1e6, window => 1e6, slots => 64);
    $rate->allow('k');
    my ($own) = keys %{ lines_of($arena, 'l') };
    in_child { $rate->allow('k'); return } for 1 .. 30;
    my $lines = lines_of($arena, 'l');
    is scalar(keys %$lines), 31, 'each takes the next line';
    $rate->allow('k') for 1 .. 10;
    is lines_of($arena, 'l')->{$own}[0], 11, 'who was there first keeps its own';
};

subtest 'two objects of one arena' => sub {
    my $arena = Shared::Arena->create(name => 'twice', size => 128 * 1024);
    my $again = Shared::Arena->attach('twice');
    $_->rate('l', limit => 100, window => 1e6, slots => 64)->allow('k') for $arena, $again;
    my $rate = $again->rate('l', limit => 100, window => 1e6, slots => 64);
    is $rate->stats->{allowed}, 2, 'count together';
    is $rate->headers('k')->{'RateLimit-Remaining'}, 98, 'and spend together';
    Shared::Arena->destroy('twice');
};

subtest 'more processes than lines' => sub {
    my $arena = Shared::Arena->create(size => 128 * 1024);
    my $rate  = $arena->rate('l', limit => 1000, window => 1e8, slots => 64);
    in_children(100, sub { $rate->allow('k') for 1 .. 25; return });
    my $lines = lines_of($arena, 'l');
    is scalar(keys %$lines), LINES, 'use all of them';
    my ($allowed, $denied) = (0, 0);
    for (values %$lines) { $allowed += $_->[0]; $denied += $_->[1] }
    is_deeply [$allowed, $denied], [1000, 1500], 'and lose no count';
    my %stats = $rate->stats;
    is_deeply [@stats{qw(allowed denied)}], [1000, 1500], 'as stats says';
};

done_testing;
