use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use TestArena;
use Test::More;

use Shared::Arena;

# Any number of processes may carve at one moment, the same names or different ones: one region each, and none overlaps another.

sub overlaps {
    my @regions = sort { $a->[0] <=> $b->[0] } @_;
    return grep { $regions[$_][0] < $regions[$_ - 1][0] + $regions[$_ - 1][1] } 1 .. $#regions;
}

for my $count (4, 16) {
    subtest "$count processes, names of their own and in common" => sub {
        for my $round (1 .. 10) {
            my $arena = Shared::Arena->create(size => 1 << 20, regions => 400);
            my @answers = in_children($count, sub {
                my ($number) = @_;
                my %mine;
                for my $n (1 .. 10) {
                    $mine{$_} = [$arena->region($_, size => 10 + $n)] for $n % 2 ? ("own $number $n", "common $n") : ("common $n", "own $number $n");
                }
                return %mine;
            });
            my (%place, @differ);
            for my $answer (@answers) {
                my %mine = @$answer;
                for my $name (keys %mine) {
                    my $at = join ',', @{ $mine{$name} };
                    push @differ, $name if defined $place{$name} && $place{$name} ne $at;
                    $place{$name} = $at;
                }
            }
            my @regions = map { [split /,/] } values %place;
            my $fine = is scalar(keys %place), 10 * $count + 10, 'every name has its region';
            $fine &&= is_deeply \@differ, [], 'and all see it in one place';
            $fine &&= is scalar(overlaps(@regions)), 0, 'none overlaps another';
            $fine &&= is scalar(grep { $_->[0] % 64 } @regions), 0, 'all at multiples of 64';
            $fine &&= is_deeply [sort $arena->regions], [sort keys %place], 'and there is nothing else';
            last if !$fine;
        }
    };

    subtest "$count processes, the same map and limiter" => sub {
        for my $round (1 .. 20) {
            my $arena = Shared::Arena->create(regions => 2);
            my @answers = in_children($count, sub {
                my ($number) = @_;
                my ($map, $rate);
                if ($number % 2) { $rate = $arena->rate('l', limit => 5, window => 10_000, slots => 64); $map = $arena->map('m', slots => 64) }
                else             { $map = $arena->map('m', slots => 64); $rate = $arena->rate('l', limit => 5, window => 10_000, slots => 64) }
                $map->store("from $number", $number);
                $map->incr('n');
                return $rate->allow('k');
            });
            my $map = $arena->map('m', slots => 64);
            my $fine = is $map->counter('n'), $count, 'all count on one counter';
            $fine &&= is scalar($map->keys), $count + 1, 'all keys are in one map';
            $fine &&= is scalar(grep { $_->[0] } @answers), $count < 5 ? $count : 5, 'one limit for all';
            last if !$fine;
        }
    };

    subtest "$count processes, different shapes under one name" => sub {
        for my $round (1 .. 10) {
            my $arena = Shared::Arena->create;
            my @answers = in_children($count, sub {
                my ($number) = @_;
                my $slots = 16 * (1 + $number % 4);
                my $map = eval { $arena->map('m', slots => $slots) } or return $@ =~ /is already carved with a different type or size/ ? 'refused' : $@;
                return $map->capacity == $slots ? $slots : 'wrong';
            });
            my %seen = map { $_->[0] => 1 } @answers;
            delete $seen{refused};
            is scalar(keys %seen), 1, 'one shape wins' or last;
        }
    };

    subtest "$count processes, more than there is room for" => sub {
        my $arena = Shared::Arena->create(size => 16 * 50, regions => 60);
        my @answers = in_children($count, sub {
            my ($number) = @_;
            return scalar grep { my @there = $arena->region("own $number $_", size => 16); @there } 1 .. 50;
        });
        my $carved = 0;
        $carved += $_->[0] for @answers;
        is $carved, 50, 'all the room is carved, and no more';
        is scalar(my @names = $arena->regions), 50, 'and listed';
    };
}

subtest 'a carver that is killed' => sub {
    my @wrong;
    for my $round (1 .. 80) {
        my $arena = Shared::Arena->create(size => 4 << 20, regions => 3000);
        my $gun   = start_gun();
        my @pids  = map {
            my $number = $_;
            spawn(sub { $gun->await; for (my $n = 0;; $n++) { eval { $arena->map("$number.$n", slots => 20, slot_size => 40) } } });
        } 1 .. 2;
        $gun->fire(2);
        select undef, undef, undef, rand 0.003;
        kill KILL => @pids;
        reap($_) for @pids;
        my ($found) = in_child {
            my ($offset, $length) = $arena->region('after', size => 4096) or return 'full';
            return $arena->peek('after', 0, 4096) eq "\0" x 4096 ? 'clean' : 'dirty';
        } patience => 20;
        push @wrong, "round $round: " . (defined $found ? $found : 'no answer') if !defined $found || $found eq 'dirty';
        my @regions = map { [$arena->region($_)] } $arena->regions;
        push @wrong, "round $round: an overlap" if overlaps(@regions);
        push @wrong, "round $round: a broken entry" if $arena->refused;
        my ($name) = grep { $_ ne 'after' } reverse $arena->regions;
        push @wrong, "round $round: the last map is broken" if defined $name && $arena->map($name, slots => 20, slot_size => 40)->store('k', 'v') != 1;
    }
    is_deeply \@wrong, [], 'leaves complete maps, room for the next one, and that room zeroed';
};

done_testing;
