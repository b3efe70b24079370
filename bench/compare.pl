#!/usr/bin/env perl
# What one call costs, as a multiple of a method call that does nothing, beside other stores.
#
#   perl -Mblib bench/compare.pl [--rounds=150] [--walks=3] [--others=1] [--to=bench]
#
# Measured are the calls of maps and limiters, with 1,000 keys and values of 32 bytes: of Shared::Arena; of the same by a
# method that is looked up beforehand, whose call sites cannot be compiled into anything faster; of a hash, which one
# process has to itself; and, where they are installed and `others` is not 0, of Hash::SharedMem, Cache::FastMmap,
# LMDB_File, IPC::Shareable and Redis::Fast (on Debian and Ubuntu: libhash-sharedmem-perl, libcache-fastmmap-perl,
# liblmdb-file-perl, libipc-shareable-perl, libredis-fast-perl with redis-server). How each of them is used is in
# lib/BenchStore/, and is printed. A store has a row's cell if it has something natural for it.
#
# The empty call, `$nothing->noop($key)`, is a method written in C with one argument that returns at once. It is assigned
# to a variable as the others are, alternates with them piece by piece, and each multiple is formed within a round. A
# piece is a walk over all keys, one after the other; right before it the same store has walked, uncounted, so that the
# processor's caches are warm. Stores to which a walk takes longer than two milliseconds have shorter pieces, and
# alternate among themselves. An empty loop over the same keys is taken off.
#
# What is returned goes into a variable, except that `exists` is asked as a condition, as programs do. Buckets of
# `allow, yes`, `remaining` and `retry_after` are in use, far from full and from empty; those of `allow, no` and
# `retry_after, refused` have been spent; those of `allow, a full bucket` have refilled before the next call, so that each
# is the first request of its client, and those of `allow, a new key` are of keys never seen.
#
# Prints tables, and writes compare.svg, and its figures with all others as compare.tsv, into the directory `to`. Takes
# about a minute and a half. A Redis server is started for the time, without a port.

use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";

use List::Util qw(max min shuffle);

use BenchBars;
use BenchClock;
use BenchReport;
use BenchStore;

my $option = options(rounds => 150, walks => 3, others => 1, to => $FindBin::Bin);
die "There is no directory $option->{to}\n" if !-d $option->{to};

my $keys    = 1000;
my $walk    = 2e-3;      # seconds that a walk over all of them may take
my $piece   = 0.5e-3;    # seconds for a piece of those who take longer
my $numbers = 0;         # of new keys

# So many keys of a list, one after the other: the list itself, or a part of it that begins anywhere.
sub in_order {
    my ($count, $all) = @_;
    return $all if $count == @$all;
    my $first = int rand @$all;
    return [@$all[map { ($first + $_) % @$all } 0 .. $count - 1]];
}
my @absent   = map {"no $_"} @BenchStore::Keys;
my @integers = 1 .. $keys;
my $live     = sub { return in_order($_[0], \@BenchStore::Keys) };
my $absent   = sub { return in_order($_[0], \@absent) };
my $counters = sub { return in_order($_[0], \@BenchStore::Counters) };
my $integers = sub { return in_order($_[0], \@integers) };
my $new      = sub { return [map { 'new ' . ++$numbers } 1 .. $_[0]] };

# A row: its name, the operation, the keys, and what its last answer must be.
my $is_value  = sub { defined $_[0] && length $_[0] == length $BenchStore::Value };
my $is_true   = sub { $_[0] };
my $is_record = sub { ref $_[0] && $_[0]{name} eq $BenchStore::Record{name} };
my @rows = (
    ['fetch, there'     => 'fetch',       $live,     $is_value],
    ['fetch, not there' => 'fetch',       $absent,   sub { !defined $_[0] }],
    ['exists'           => 'exists',      $live,     $is_true],
    ['store over'       => 'store',       $live,     $is_true],
    ['incr'             => 'incr',        $counters, sub { $_[0] > 0 }],
    ['counter'          => 'counter',     $counters, sub { $_[0] > 0 }],
    ['allow, yes'       => 'allow',       $live,     $is_true],
    ['allow, no'        => 'deny',        $live,     sub { defined $_[0] && !$_[0] }],
    ['remaining'        => 'remaining',   $live,     sub { $_[0] > 1e8 && $_[0] < 9e8 }],
    ['retry_after'      => 'retry_after', $live,     sub { $_[0] == 0 }],
);
my @more_rows = (
    ['exists, the answer kept'        => 'exists_kept',   $live,     $is_true],
    ['fetch, the key an integer'      => 'fetch_integer', $integers, $is_value],
    ['store with ttl'                 => 'store_ttl',     $live,     $is_true],
    ['fetch, stored with ttl'         => 'fetch_lapsing', $live,     $is_value],
    ['delete and store, both'         => 'delete_store',  $live,     $is_true],
    ['incr with step and ttl'         => 'incr_ttl',      $counters, sub { $_[0] > 0 }],
    ['retry_after, refused'           => 'retry_refused', $live,     sub { $_[0] > 1e8 }],
    ['allow, a full bucket'           => 'allow_full',    $live,     $is_true],
    ['allow, a new key'               => 'allow_full',    $new,      $is_true],
    ['store, a hash of five keys'     => 'store_record',  $live,     $is_true],
    ['fetch, a hash of five keys'     => 'fetch_record',  $live,     $is_record],
);
my @in_chart = ('fetch, there', 'fetch, not there', 'store over', 'incr', 'allow, yes', 'allow, no');

my ($nothing) = my @stores = BenchStore::present(qw(Nothing Arena Plain Hash),
    $option->{others} ? qw(SharedMem FastMmap LMDB Shareable Redis) : ());
my @compared  = grep { $_ != $nothing } @stores;
my %call      = map { $_->name => { $_->calls } } @stores;
fill($call{ $_->name }) for @compared;
my %cells     = map { $_->[0] => [cells($_)] } @rows, @more_rows;
my $samples   = race($option->{rounds}, map { my $row = $_; $row->[0] => sub { costs($row) } } @rows, @more_rows);
check($_) for @rows, @more_rows;

report();
write_file("$option->{to}/compare.tsv", tsv());
write_file("$option->{to}/compare.svg", chart());

# --- measuring ---

sub fill {
    my ($call) = @_;
    for ([store => $live], [incr => $counters], [store_ttl => $live], [spend => $live], [deny => $live], [store_record => $live]) {
        my ($operation, $draw) = @$_;
        $call->{$operation}->($draw->($keys)) if $call->{$operation};
    }
    return;
}

# The stores that take part in a row, with the number of keys in a piece of theirs.
sub cells {
    my ($row) = @_;
    my (undef, $operation, $draw) = @$row;
    my @cells;
    for my $store (@stores) {
        my $code = $call{ $store->name }{ $store == $nothing ? 'call' : $operation } or next;
        next if $draw == $new && $store->isa('BenchStore::Hash');    # it would only grow
        my $cost  = about($code, $draw);
        my $count = $keys * $cost < $walk ? $keys : max(1, int $piece / $cost);
        push @cells, { store => $store, code => $code, count => min($keys, $count) };
    }
    return @cells;
}

# About how many seconds a call takes.
sub about {
    my ($code, $draw) = @_;
    my $count = 1;
    while () {
        my $least = min(map {
            my $some  = $draw->($count);
            my $begin = now();
            $code->($some);
            now() - $begin;
        } 1 .. 3);
        return $least / $count if $least > 0.1e-3 || $count == $keys;
        $count = min($keys, 4 * $count);
    }
}

# A round of a row. Those that take long leave the processor in another state than those that do not, and so take turns
# among themselves.
sub costs {
    my ($row) = @_;
    my @cells = shuffle @{ $cells{ $row->[0] } };
    my @quick = grep { $_->{count} == $keys } @cells;
    my @slow  = grep { $_->{count} < $keys } @cells;
    return map { walk($row->[2], @$_) } shuffle \@quick, \@slow;
}

# Each store walks twice at a time, and the second walk is the one that counts.
sub walk {
    my ($draw, @cells) = @_;
    my @timed;
    for my $cell (map { ($_, $_) } @cells) {
        my @pieces = map { $draw->($cell->{count}) } 1 .. $option->{walks};
        push @timed, [$cell->{code}, \@pieces, $cell->{store}->waits];
    }
    my @costs = @cells ? net_costs(@timed) : ();
    return map { ($cells[$_]{store}->name => $costs[2 * $_ + 1]) } 0 .. $#cells;
}

# The calls did what the row says, now and so before.
sub check {
    my ($row) = @_;
    my ($name, undef, $draw, $right) = @$row;
    for my $cell (@{ $cells{$name} }) {
        next if $cell->{store} == $nothing;
        my $answer = $cell->{code}->($draw->(1));
        next if $right->($answer);
        die "$name: ", $cell->{store}->name, ' answers ', defined $answer ? $answer : 'undef', "\n";
    }
    return;
}

# --- showing ---

# The multiples in each round.
sub multiples {
    my ($row, $store) = @_;
    my $costs = $samples->{ $row->[0] }{ $store->name } or return;
    return ratios($costs, $samples->{ $row->[0] }{ $nothing->name });
}

sub report {
    heading('What a call costs, as a multiple of an empty one',
        "1,000 keys, values of 32 bytes, caches warm; $option->{rounds} rounds; `perl -Mblib bench/compare.pl`.");
    my @empty = map { @{ $samples->{ $_->[0] }{ $nothing->name } } } @rows;
    printf "An empty call takes %s ns; 1.00 is that.\n\n", spread(\@empty, '%.1f');
    multiples_table(\@compared, @rows);
    print "Further calls:\n\n";
    multiples_table([grep { my $store = $_; grep { multiples($_, $store) } @more_rows } @compared], @more_rows);
    printf "- %s: %s\n", $_->name, $_->used for @stores;
    print "\n";
    return;
}

sub multiples_table {
    my ($columns, @lines) = @_;
    table(['call', map { $_->name } @$columns], map {
        my $row = $_;
        [$row->[0], map { my $values = multiples($row, $_); $values ? spread($values, \&three_digits) : '' } @$columns]
    } @lines);
    return;
}

# Their median and spread.
sub three {
    my $values = multiples(@_) or return;
    return map { percentile($values, $_) } 50, 10, 90;
}

sub tsv {
    my $text = join("\t", qw(call store median p10 p90)) . "\n";
    for my $row (@rows, @more_rows) {
        for my $store (@compared) {
            my @three = three($row, $store) or next;
            $text .= join("\t", $row->[0], $store->name, map { sprintf '%.3f', $_ } @three) . "\n";
        }
    }
    return $text;
}

sub chart {
    my @names = map { $_->name } @compared;
    my @groups;
    for my $name (@in_chart) {
        my ($row) = grep { $_->[0] eq $name } @rows;
        my @bars;
        for my $store (@compared) {
            my ($value, $low, $high) = three($row, $store) or next;
            push @bars, { series => $store->name, value => $value, low => $low, high => $high };
        }
        push @groups, { name => $name, bars => \@bars };
    }
    return BenchBars::svg(
        title   => 'What a call costs',
        x_label => 'multiples of a method call that does nothing, on a logarithmic scale',
        series  => \@names, groups => \@groups, from => 1,
    );
}
