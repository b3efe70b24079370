#!/usr/bin/env perl
# What the others notice of a writer that is stopped in the middle of a store.
#
#   perl Makefile.PL FAILPOINTS=1 && make
#   perl -Mblib bench/paused-writer.pl [--rounds=30] [--calls=5000]
#
# A writer is stopped (SIGSTOP) at one of three points: halfway through filling its buffer, when it has written its
# journal, and when it has published the entry. Each round measures single calls of another process beside each of
# these, and without a stopped writer, in random order: fetch of any key, of keys that share the writer's lock, and of
# the very key; incr of counters that are there, also of those that share its lock; and store, insert and delete of keys
# that do not share it. Each call is timed by itself, with two readings of the clock, which `the clock alone` shows.
#
# Then, once, a writer that needs the lock of the stopped one waits until it gives up. Takes about half a minute.

use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";

use List::Util qw(max shuffle);
use POSIX qw(WUNTRACED);

use BenchClock;
use BenchCrew;
use BenchReport;
use Shared::Arena;

my $option = options(rounds => 30, calls => 5000);
die "This needs a build with failpoints: perl Makefile.PL FAILPOINTS=1 && make\n" if !Shared::Arena::_failpoints();

my @points  = qw(fill.half journal.written word.published);
my $written = 'key 1';
my $map     = Shared::Arena->create->map('m', slots => 3000, slot_size => 128);
my $number  = 0;
my %finished = map { $_ => 0 } @points;
my %seen;

$map->store($_, 'old') for map {"key $_"} 1 .. 1000;
$map->incr("counter $_") for 1 .. 1000;
my %others = by_lock();

my @contenders = (
    ['the clock alone',            '',                              [$written]],
    ['fetch, any key',             '$got = $map->fetch($_)',        [@{ $others{keys} }, @{ $others{same_keys} }]],
    ['fetch, keys of its lock',    '$got = $map->fetch($_)',        $others{same_keys}],
    ['fetch, the very key',        '$got = $map->fetch($_)',        [$written]],
    ['incr, any counter',          '$got = $map->incr($_)',         [@{ $others{counters} }, @{ $others{same_counters} }]],
    ['incr, counters of its lock', '$got = $map->incr($_)',         $others{same_counters}],
    ['store, keys of other locks', '$got = $map->store($_, "new")', $others{keys}],
);
my @calls = ((map { $_->[0] } @contenders), 'insert, keys of other locks', 'delete, keys of other locks');
my %loop  = map { $_->[0] => stopwatch($_->[1]) } @contenders;
my ($insert, $delete) = map { stopwatch($_) } '$got = $map->store($_, "fresh")', '$got = $map->delete($_)';
my %keys;
for my $contender (@contenders) {
    my ($name, undef, $keys) = @$contender;
    $keys{$name} = [map { $keys->[rand @$keys] } 1 .. $option->{calls}];
}

my $samples = race($option->{rounds},
    none => \&beside_an_idle_one, map { my $point = $_; $point => sub { beside($point) } } @points);

heading('Beside a stopped writer',
    thousands($option->{calls}) . " calls of each kind a round, $option->{rounds} rounds.");
for my $quantile ('p50', 'p99.9') {
    print "$quantile of a single call: without a stopped writer, and the ratio to that beside one stopped at ...\n\n";
    table(['call', 'without', @points], map {
        my $name = "$_ $quantile";
        my $none = $samples->{none}{$name};
        [$_, spread($none, \&duration), map { spread(ratios($samples->{$_}{$name}, $none), '%.2f') } @points]
    } @calls);
}
print "The longest of all calls:\n\n";
table(['call', 'without', @points], map {
    my $name = $_;
    [$name, map { duration(max @{ $samples->{$_}{"$name max"} }) } 'none', @points]
} @calls);
print "The stopped writer, afterwards:\n\n";
table(['stopped at', 'times', 'others saw', 'finished right, map whole'],
    map { [$_, $seen{$_}{times}, join(' or ', sort keys %{ $seen{$_}{values} }), $finished{$_}] } @points);
wait_for_its_lock();

# --- the stopped writer ---

# A child that stores the written key and stops at the point.
sub stopped_writer {
    my ($point, $value) = @_;
    my $writer = BenchCrew->new(1, sub {
        Shared::Arena::_failpoint($point, 'stop');
        return $map->store($written, $value);
    });
    $writer->fire;
    my ($pid) = $writer->pids;
    waitpid $pid, WUNTRACED;
    die "the writer did not stop at $point\n" if !POSIX::WIFSTOPPED(${^CHILD_ERROR_NATIVE});
    return $writer;
}

# Lets it go on. Returns whether its store did what it should and the map is whole.
sub let_go {
    my ($writer, $value) = @_;
    kill CONT => $writer->pids;
    my ($answer) = map {@$_} $writer->results;
    my %verdict = $map->_verify;
    return $answer == 1 && $map->fetch($written) eq $value && $verdict{ok} ? 1 : 0;
}

# Which keys and counters share the lock of the written key, and which do not: a store of the former gives up beside a
# stopped writer. Also new keys that do not share it.
sub by_lock {
    my $writer = stopped_writer('journal.written', 'first');
    my %others = map { $_ => [] } qw(keys same_keys counters same_counters new same_new);
    Shared::Arena::_lock_patience(0.001);
    for ([keys => 'key'], [counters => 'counter'], [new => 'new']) {
        my ($kind, $name) = @$_;
        for my $key (map {"$name $_"} 1 .. 1000) {
            my $apart = eval { $map->store($key, 'old'); 1 };
            push @{ $others{ $apart ? $kind : "same_$kind" } }, $key;
            next if !$apart || $kind eq 'keys';
            $map->delete($key);
            $map->incr($key) if $kind eq 'counters';
        }
    }
    Shared::Arena::_lock_patience(5);
    let_go($writer, 'first');
    return %others;
}

# --- a round ---

# Without a stopped writer there is a child as well, which has not begun: after a fork, writing to memory costs more.
sub beside_an_idle_one {
    my $writer  = BenchCrew->new(1, sub { return });
    my %figures = measure();
    $writer->fire;
    $writer->results;
    return %figures;
}

sub beside {
    my ($point) = @_;
    my $value   = 'number ' . ++$number;
    my $before  = $map->fetch($written);
    my $writer  = stopped_writer($point, $value);
    my %figures = measure();
    my $there   = $map->fetch($written);
    $seen{$point}{times}++;
    my $saw = $there eq $before ? 'the old value' : $there eq $value ? 'the new value' : 'another value';
    $seen{$point}{values}{$saw} = 1;
    $finished{$point} += let_go($writer, $value);
    return %figures;
}

sub measure {
    my %figures;
    for my $name (shuffle map { $_->[0] } @contenders) {
        note(\%figures, $name, $loop{$name}->($map, $keys{$name}));
    }
    my (@inserts, @deletes);
    while (@inserts < $option->{calls}) {
        my @new = shuffle @{ $others{new} };
        push @inserts, @{ $insert->($map, \@new) };
        push @deletes, @{ $delete->($map, \@new) };
    }
    note(\%figures, 'insert, keys of other locks', \@inserts);
    note(\%figures, 'delete, keys of other locks', \@deletes);
    return %figures;
}

sub note {
    my ($figures, $name, $seconds) = @_;
    @$figures{ map {"$name $_"} qw(p50 p99.9 max) } = quantiles($seconds, 50, 99.9, 100);
    return;
}

# --- once ---

sub wait_for_its_lock {
    my $writer = stopped_writer('journal.written', 'last');
    my $begin  = now();
    my $stored = eval { $map->store($others{same_keys}[1], 'mine') };
    my $waited = now() - $begin;
    (my $error = $@) =~ s{ at \S*/bench/}{ at bench/};
    my $outcome = defined $stored ? "returned $stored" : 'croaked';
    printf "A store of a key that shares its lock %s after %s", $outcome, duration($waited);
    print defined $stored ? ".\n" : ":\n\n    $error\n";
    my $right = let_go($writer, 'last');
    printf "The stopped writer then %s.\n\n", $right ? 'finished, and the map is whole' : 'did NOT finish right';
    return;
}
