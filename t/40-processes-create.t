use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use TestArena;
use Test::More;

use Shared::Arena;

# Any number of processes may create one name at one moment: all get the same arena, and exactly one made it.

for my $count (4, 16) {
    subtest "$count processes, the same arena" => sub {
        my (@creators, @counts);
        for my $round (1 .. 30) {
            my @answers = in_children($count, sub {
                my $arena = Shared::Arena->create(name => 'race', size => 100_000);
                my $map   = $arena->map('m', slots => 16);
                $map->incr('c');
                return $arena->created ? 1 : 0;
            });
            push @creators, scalar grep { $_->[0] } @answers;
            push @counts, Shared::Arena->attach('race')->map('m', slots => 16)->counter('c');
            is_deeply [arena_files()], ["shared-arena.$>.race"], 'one file' if $round == 1;
            Shared::Arena->destroy('race') or fail('not there');
        }
        is_deeply \@creators, [(1) x 30], 'one creator each time';
        is_deeply \@counts, [($count) x 30], 'all count on one counter';
    };
}

subtest 'creating and attaching' => sub {
    for my $round (1 .. 20) {
        my @answers = in_children(8, sub {
            my ($number) = @_;
            if ($number % 2) {
                my $arena = Shared::Arena->attach('race') or return 'none';
                return $arena->size;
            }
            return Shared::Arena->create(name => 'race', size => 12_345)->size;
        });
        my @wrong = grep { $_ ne 'none' && $_ != 12_345 } map { $_->[0] } @answers;
        is_deeply \@wrong, [], 'attach finds a complete arena or none' if $round == 1 || @wrong;
        Shared::Arena->destroy('race');
    }
};

subtest 'creating and destroying' => sub {
    my @answers = in_children(8, sub {
        my ($number) = @_;
        my ($made, $destroyed) = (0, 0);
        for (1 .. 100) {
            my $arena = Shared::Arena->create(name => 'race', size => 10_000);
            $made++ if $arena->created;
            $arena->map('m', slots => 4)->store('k', 'v') == 1 or die 'not usable';
            $destroyed++ if Shared::Arena->destroy('race');
        }
        return ($made, $destroyed);
    });
    my ($made, $destroyed) = (0, 0);
    for (@answers) { $made += $_->[0]; $destroyed += $_->[1] }
    $destroyed++ if Shared::Arena->destroy('race');
    is $made, $destroyed, 'every arena is made once and destroyed once';
    cmp_ok $made, '>=', 100, 'and there were many';
};

subtest 'killed between start and end' => sub {
    for my $round (1 .. 100) {
        my $pid = spawn(sub {
            my $map = Shared::Arena->create(name => 'killed', size => 50_000)->map('m', slots => 16);
            $map->store("k$_", $_) for 1 .. 10;
            kill KILL => $$;
        });
        my $signal = reap($pid) & 127;
        $signal == 9 or fail("round $round ended by signal $signal"), last;
    }
    is_deeply [arena_files()], ["shared-arena.$>.killed"], 'a hundred of them leave one file';
    my $map = Shared::Arena->create(name => 'killed')->map('m', slots => 16);
    is $map->store('after', 1), 1, 'and the next start works';
    is_deeply [map { $map->fetch("k$_") } 1 .. 10], [1 .. 10], 'with all their values';
    intact_ok $map, 'whole';
    ok(Shared::Arena->destroy('killed'), 'gone');
};

subtest 'killed at a random moment of creation' => sub {
    for my $round (1 .. 60) {
        my $pid = spawn(sub { for (;;) { Shared::Arena->create(name => 'moment', size => 200_000)->map('m', slots => 16); Shared::Arena->destroy('moment') } });
        select undef, undef, undef, 0.001 + rand 0.01;
        kill KILL => $pid;
        reap($pid);
        my ($fine) = in_child { my $arena = Shared::Arena->attach('moment'); return !$arena || $arena->map('m', slots => 16)->store('k', 1) } patience => 20;
        $fine or fail("round $round"), last;
    }
    Shared::Arena->destroy('moment');
    is_deeply [arena_files()], [], 'there is a complete arena or none, and no other file';
};

done_testing;
