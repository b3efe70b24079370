use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib", "$FindBin::Bin/../t/lib";
use TestArena;
use TestEvidence;
use Test::More;

use Shared::Arena;

# Two hundred processes on one key.

watchdog(600);

subtest 'counting' => sub {
    my $map = Shared::Arena->create->map('m', slots => 8);
    in_children(200, sub { $map->incr('hot') for 1 .. 5000; return }, patience => 300);
    is $map->counter('hot'), 1_000_000, 'lose nothing';
    intact_ok $map, 'whole';
};

# A counter that ends and begins again: each of its lives is counted from its beginning, every number once. So of
# each number there are no more than of the one before it. Takes how often each was drawn, by one process or by many.
sub lives_of {
    my (@drawn) = @_;
    my %times;
    for my $drawn (@drawn) { $times{$_} += $drawn->{$_} for keys %$drawn }
    my @gaps = grep { $_ != 1 && $times{$_} > ($times{ $_ - 1 } || 0) } keys %times;
    is_deeply \@gaps, [], 'every number of every life is drawn once';
    return $times{1};
}

sub draws {
    my ($map, $count, @ttl) = @_;
    my %drawn;
    for (1 .. $count) { my $number = $map->incr('hot', 1, @ttl); $drawn{ defined $number ? $number : 0 }++ }
    return \%drawn;
}

subtest 'counting what another deletes' => sub {
    my $map = Shared::Arena->create->map('m', slots => 8);
    my ($deleted, @drawn) = map { $_->[0] } in_children(201, sub {
        my ($number) = @_;
        if ($number) { my $drawn = draws($map, 5000); $map->incr('done'); return $drawn }
        my $deleted = 0;
        while (($map->counter('done') || 0) < 200) { $deleted += $map->delete('hot'); select undef, undef, undef, 0.0001 }
        return $deleted;
    }, patience => 300);
    is scalar(grep { $_->{0} } @drawn), 0, 'is never refused';
    my $lives = lives_of(@drawn);
    is $lives, $deleted + $map->exists('hot'), "a life for each of $deleted deletes";
    intact_ok $map, 'whole';
};

subtest 'counting what lapses' => sub {
    my $map = Shared::Arena->create->map('m', slots => 8);
    my @drawn = map { $_->[0] } in_children(200, sub { return draws($map, 5000, ttl_ms => 1) }, patience => 300);
    is scalar(grep { $_->{0} } @drawn), 0, 'is never refused';
    my $lives = lives_of(@drawn);
    my %stats = $map->stats;
    is $lives, $stats{used} + $stats{expired}, "$lives lives, $stats{expired} of them collected";
    intact_ok $map, 'whole', lapsing => 1;
};

subtest 'counting what others store' => sub {
    # Eight bytes that are a number count on from it. Each is stored once.
    my $map = Shared::Arena->create->map('m', slots => 8);
    my @drawn = map { $_->[0] } in_children(204, sub {
        my ($number) = @_;
        if ($number >= 4) { my $drawn = draws($map, 5000); $map->incr('done'); return $drawn }
        for (my $n = 1; ($map->counter('done') || 0) < 200; $n++) {
            $map->store('hot', pack 'q', 10_000_000 * (4 * $n + $number));
            select undef, undef, undef, 0.0002;
        }
        return {};
    }, patience => 300);
    my %lives;
    for my $drawn (@drawn) { $lives{ int($_ / 10_000_000) }{ $_ % 10_000_000 } += $drawn->{$_} for keys %$drawn }
    # A zero would be a refusal; a store can leave no such number, since a count comes before or after it.
    is_deeply [grep { my $life = $lives{$_}; grep { ($life->{$_} || 0) != 1 } 1 .. keys %$life } keys %lives], [], 'goes on from each of ' . keys(%lives) . ', every number once';
    intact_ok $map, 'whole';
};

subtest 'storing' => sub {
    my $map = Shared::Arena->create->map('m', slots => 8, slot_size => 300);
    my @wrong = map { @$_ } in_children(200, sub {
        my ($number) = @_;
        my @wrong;
        for my $n (1 .. 500) {
            $map->store('k', chr(33 + $number % 90) x (1 + $n % 250)) == 1 or push @wrong, 'not stored';
            my $value = $map->fetch('k');
            push @wrong, $value if defined $value && $value !~ /\A(.)\1*\z/s;
        }
        return @wrong;
    }, patience => 300);
    is_deeply \@wrong, [], 'tear nothing';
    intact_ok $map, 'whole';
};

for my $case ([12_345, 1000, 64], [20, 1000, 4096], [100_000, 1000, 4096], [1_000_000, 6000, 4096]) {
    my ($limit, $calls, $slots) = @$case;
    subtest "asking a limiter of $limit" => sub {
        my $rate = Shared::Arena->create->rate('l', limit => $limit, window => 3e8, slots => $slots);
        my $allowed = 0;
        $allowed += $_->[0] for in_children(200, sub { my $yes = 0; for (1 .. $calls) { $yes++ if $rate->allow('k') } return $yes }, patience => 300);
        is $allowed, $limit, 'are allowed exactly the limit';
        my %stats = $rate->stats;
        is_deeply [@stats{qw(allowed denied evicted contended)}], [$limit, 200 * $calls - $limit, 0, 0], 'every call is counted, and none is let through unpaid';
    };
}

subtest 'asking a limiter for many keys, all new to it' => sub {
    my $rate = Shared::Arena->create(size => 4 << 20)->rate('l', limit => 3, window => 3e8, slots => 65_536);
    my $allowed = 0;
    $allowed += $_->[0] for in_children(200, sub { return scalar grep { $rate->allow("key $_") } 1 .. 5000 }, patience => 300);
    is $allowed, 15_000, 'gives each exactly its limit';
    my %stats = $rate->stats;
    is_deeply [@stats{qw(keys evicted contended)}], [5000, 0, 0], 'and one bucket';
};

shown('200 processes on one counter and one limiter, with deletes and lapses: every number once, every limit to the unit');

done_testing;
