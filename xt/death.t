use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/../t/lib", "$FindBin::Bin/lib";
use TestArena;
use TestDeathArena;
use TestDeathCreation;
use TestDeathMap;
use TestDeathRate;
use TestDeathRepair;
use TestEvidence;
use TestSteps;
use Test::More;
use Time::HiRes qw(time);

use Shared::Arena;

# Processes are killed in the middle of every operation, after each of its instructions or every so many of them, and
# after each that changes the shared bytes. A survivor then finds that the call was made, or that it was not, and all else
# as it was. Nothing is built in for this: the processes are traced, and die where the machine is to stop them.
#
#   perl xt/death.t [--every=1] [--only='insert|delete']

my %setting = settings(every => 50, only => '.');
my $every   = int $setting{every} || 1;

my $problem = TestSteps::cannot_step();
plan skip_all => $problem if $problem;

my ($deaths, $operations, $instructions) = (0, 0, 0);

for my $class (qw(TestDeathMap TestDeathRepair TestDeathRate TestDeathArena TestDeathCreation)) {
    my @chosen = grep { $_->{name} =~ /$setting{only}/ } $class->operations($every > 1 ? 20 : 1);
    for my $operation (grep { !$_->{long} || $every == 1 } @chosen) {
        my $started = time;
        my $death   = $class->new(%$operation);
        my $found   = $death->die_everywhere($every, 7 * $operations++);
        $death->finish;
        $deaths       += $found->{deaths};
        $instructions += $found->{instructions};
        is_deeply $found->{wrong}, [], "$operation->{name}: $found->{deaths} deaths";
        ok $death->saw_both($found), 'and it was seen undone and done' if !@{ $found->{wrong} };
        my $seen = $found->{seen};
        my $counts = join ', ', map {"$_ $seen->{$_}"} sort keys %$seen;
        note sprintf '%d instructions, of which %d changed something; %d deaths were elsewhere; seen: %s; %.1f s',
            @$found{qw(instructions changes elsewhere)}, $counts, time - $started;
    }
}

# What would be noticed: operations which no one should be killed in, as they do by hand what the module does with care.
subtest 'controls' => sub {
    my $arena;
    my $for_a_while = sub {
        my ($at, $bytes) = @_;
        return sub {
            my $was = $arena->peek('map', $at, length $bytes);
            $arena->poke('map', $at, $_) for $bytes, $was;
        };
    };
    my %map    = (before => sub { $_[0]->store('key', 'x') }, reads => ["'x'"]);
    my %region = (carve => sub { my ($offset) = $_[0]->region('new', size => 200) }, uses => sub { });
    my @controls = (
        [
            'a value written in two halves', qr/killed after .*a region of 7 and 0/, 'TestDeathArena', %region,
            before => $region{carve}, reads => ['a region of 0 and 0', 'a region of 7 and 8'],
            run => sub { $_[0]->poke('new', 0, pack 'Q2', 7, 8) },
        ],
        # The places are those of the layout: of the first stripe its lock, its number of keys; and the last buffer's owner.
        [
            'a lock that the kernel was not told of', qr/killed after .*the lock of stripe 0/, 'TestDeathMap', %map,
            run => $for_a_while->(128, pack 'L', 4_000_000),
        ],
        [
            'a figure that is off for a while', qr/killed after .* used, and/, 'TestDeathMap', %map,
            run => $for_a_while->(192, pack 'Q', 9),
        ],
        [
            'a buffer that is lost for a while', qr/killed after .*buffer/, 'TestDeathMap', %map,
            run => $for_a_while->(640 + 17, "\5"),
        ],
    );
    for my $control (@controls) {
        my ($name, $pattern, $class, %operation) = @$control;
        my $death = $class->new(%operation, name => $name);
        $arena    = Shared::Arena->attach('death');
        my $found = $death->die_everywhere(50, 0);
        $death->finish;
        my @wrong = @{ $found->{wrong} };
        like join("\n", @wrong), $pattern, "$name is noticed";
        is scalar(grep { !/\Akilled/ } @wrong), 0, 'when somebody dies in between';
    }
};

shown("$deaths deaths in $operations operations of $instructions instructions, "
        . ($every == 1 ? 'after each' : "after every ${every}th and each that changes something") . ': none harmed');

done_testing;
