#!/usr/bin/env perl
# Whether a table through which millions of keys have passed is as quick as a fresh one with the same keys.
#
#   perl -Mblib bench/churn.pl [--churn=1e7] [--slots=100000] [--rounds=50] [--calls=2000]
#
# Two tables, 75 % full, are churned by `churn` pairs of a store of a fresh key and a delete: one in which the oldest
# key goes whenever a new one has come, so that every key is replaced many times over, and one in which each fresh key
# is deleted at once, beside those that stay. Then fetch of a key that is there (hit), of one that is not (miss), and
# store of a new one (insert) are timed on each of them, and on a fresh table, made anew for each round and filled with
# exactly the same keys.
#
# Prints the times, the ratios of churned to fresh, how many stores were refused (none should be), and how many of the
# slots could be filled in the end. Takes about two minutes.

use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";

use List::Util qw(shuffle);

use BenchClock;
use BenchReport;
use BenchTable;
use Shared::Arena;

my $option     = options(churn => 1e7, slots => 100_000, rounds => 50, calls => 2000);
my $slots      = $option->{slots};
my $stay       = int 0.75 * $slots;
my @operations = qw(hit miss insert);

my @tables = (churn('the oldest key goes', 1), churn('the fresh key goes', 0));
my $samples = race($option->{rounds}, map { my $table = $_; $table->{name} => sub { compare($table) } } @tables);

heading('A churned table against a fresh one', sprintf
    '%s stores of fresh keys with as many deletes, in %s slots of slot_size 64 that stay 75 %% full; %d rounds.',
    thousands($option->{churn}), thousands($slots), $option->{rounds});
table(['churn', 'call', 'churned, ns', 'fresh, ns', 'churned/fresh'], map { rows($_) } @tables);
table(['churn', 'stores refused', 'ns for a store and a delete', 'slots filled afterwards', 'the map is'], map { aftermath($_) } @tables);

# Stores and deletes, and what the table is like then: its map, and the numbers of the keys that are in it.
sub churn {
    my ($name, $replace) = @_;
    my $map = new_map();
    my ($oldest, $refused) = (0, 0);
    for my $number (0 .. $stay - 1) { $refused++ if $map->store("k$number", 'eightval') != 1 }
    my $begin = now();
    for my $number ($stay .. $stay + $option->{churn} - 1) {
        $refused++ if $map->store("k$number", 'eightval') != 1;
        $map->delete($replace ? 'k' . $oldest++ : "k$number");
        progress("$name: $number") if $number % 100_000 == 0;
    }
    my $pair = (now() - $begin) / $option->{churn};
    return {
        name => $name, map => $map, first => $oldest, last => $oldest + $stay - 1, refused => $refused, pair => $pair,
    };
}

sub new_map {
    my $arena = Shared::Arena->create(size => $slots * 64 + 208, regions => 1);
    return $arena->map('m', slots => $slots, slot_size => 64);
}

# A round: the churned table and a fresh one, each operation on both, in random order.
sub compare {
    my ($table) = @_;
    my %map  = (churned => $table->{map}, fresh => new_map());
    my @live = map {"k$_"} $table->{first} .. $table->{last};
    $map{fresh}->store($_, 'eightval') for @live;

    # Filling has left the fresh one in the processor's caches; now both are.
    for my $key (@live) { $_->fetch($key) for values %map }
    my %figures;
    for my $operation (shuffle @operations) {
        for my $state (shuffle keys %map) {
            my %call = BenchTable::calls($map{$state});
            my $code = $call{ $operation eq 'insert' ? 'store' : 'fetch' };
            my $warm = keys_for($table, $operation, $option->{calls} / 2);
            my $keys = keys_for($table, $operation, $option->{calls});
            $code->($warm);
            ($figures{"$state $operation"}) = net_costs([$code, pieces([@$keys], 20)]);
            if ($operation eq 'insert') { $call{delete}->($_) for $warm, $keys }
        }
    }
    return %figures;
}

my $next;

sub keys_for {
    my ($table, $operation, $count) = @_;
    return [map { 'k' . ($table->{first} + int rand $stay) } 1 .. $count] if $operation eq 'hit';
    return [map { 'm' . int rand $option->{churn} } 1 .. $count] if $operation eq 'miss';
    return [map { 'n' . ++$next } 1 .. $count];
}

sub rows {
    my ($table) = @_;
    my $of = $samples->{ $table->{name} };
    return map {
        my ($churned, $fresh) = ($of->{"churned $_"}, $of->{"fresh $_"});
        [$table->{name}, $_, spread($churned, '%.0f'), spread($fresh, '%.0f'), spread(ratios($churned, $fresh), '%.2f')]
    } @operations;
}

# Fills the rest.
sub aftermath {
    my ($table) = @_;
    my $map = $table->{map};
    1 while $map->store('last' . ++$next, 'eightval') == 1;
    my $filled  = $map->keys;
    my %verdict = $map->_verify;
    return [$table->{name}, thousands($table->{refused}), sprintf('%.0f', 1e9 * $table->{pair}),
        thousands($filled) . ' of ' . thousands($slots), $verdict{ok} ? 'whole' : $verdict{problem}];
}
