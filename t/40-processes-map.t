use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use TestArena;
use Test::More;

use Shared::Arena;

# One map, many processes: nothing lost, nothing torn, nothing misplaced.

for my $count (4, 16) {
    my $rounds = 4000 / $count;

    subtest "$count processes, keys of their own" => sub {
        my $map = Shared::Arena->create(size => 4 << 20)->map('m', slots => 16 * 250, slot_size => 80);
        my @missing = map { @$_ } in_children($count, sub {
            my ($number) = @_;
            my @missing;
            for my $n (1 .. $rounds) {
                $map->store("$number $n", "value $number $n") == 1 or push @missing, "store $n";
                my $back = $map->fetch("$number $n");
                push @missing, "fetch $n" if !defined $back || $back ne "value $number $n";
            }
            return @missing;
        });
        is_deeply \@missing, [], 'everybody reads what he stored';
        is $map->stats->{used}, 4000, 'and all of it is there';
        my @wrong = grep { my $n = $_; grep { ($map->fetch("$n $_"))[0] ne "value $n $_" } 1 .. $rounds } 0 .. $count - 1;
        is_deeply \@wrong, [], 'for everybody';
        intact_ok $map, 'whole';
    };

    subtest "$count processes, one counter and many" => sub {
        my $map = Shared::Arena->create->map('m', slots => 64);
        in_children($count, sub { for my $n (1 .. 5000) { $map->incr('hot'); $map->incr('c' . $n % 40, 3) } return });
        is $map->counter('hot'), 5000 * $count, 'no increment of the hot one is lost';
        is_deeply [map { $map->counter("c$_") } 0 .. 39], [(125 * 3 * $count) x 40], 'nor of the others';
        intact_ok $map, 'whole';
    };

    subtest "$count processes, every number once" => sub {
        my $map = Shared::Arena->create->map('m', slots => 8);
        my @drawn = sort { $a <=> $b } map { @$_ } in_children($count, sub { return map { $map->incr('ticket') } 1 .. 500 });
        is_deeply \@drawn, [1 .. 500 * $count], 'tickets are drawn without gap or double';
    };

    subtest "$count processes, one key stored, counted and deleted" => sub {
        my $map = Shared::Arena->create->map('m', slots => 4, slot_size => 300);
        my @wrong = map { @$_ } in_children($count, sub {
            my ($number) = @_;
            my @wrong;
            for my $n (1 .. 1500) {
                my $what = ($n + $number) % 4;
                if    ($what == 0) { $map->store('k', chr(97 + $number) x (1 + $n % 200)) }
                elsif ($what == 1) { $map->incr('k') }
                elsif ($what == 2) { $map->delete('k') }
                my $value = $map->fetch('k');
                push @wrong, $value if defined $value && $value !~ /\A(?:([a-z])\1*|[0-9]+)\z/;
            }
            return @wrong;
        });
        is_deeply \@wrong, [], 'a reader sees a whole value, a number or nothing';
        intact_ok $map, 'whole';
    };

    subtest "$count processes, a table that is too small" => sub {
        my $map = Shared::Arena->create->map('m', slots => 50, slot_size => 64);
        my @stored = map { @$_ } in_children($count, sub { my ($number) = @_; return grep { $map->store($_, $_) == 1 } map {"$number $_"} 1 .. 100 });
        is scalar(@stored), 50, 'takes as many keys as it has slots';
        is_deeply [sort $map->keys], [sort @stored], 'those it said it took';
        is $map->stats->{full}, 100 * $count - 50, 'and refused the rest';
        intact_ok $map, 'whole';
    };

    subtest "$count processes, the same new keys" => sub {
        my $map = Shared::Arena->create->map('m', slots => 300, slot_size => 64);
        in_children($count, sub { for my $n (1 .. 200) { $map->store("k$n", $n); $map->incr("c$n") if $n <= 100 } return });
        is scalar($map->keys), 300, 'each is there once';
        is_deeply [map { $map->counter("c$_") } 1 .. 100], [($count) x 100], 'and every counter was made once';
        intact_ok $map, 'whole';
    };

    subtest "$count processes, storing and deleting without end" => sub {
        my $map = Shared::Arena->create->map('m', slots => $count, slot_size => 64);
        my $refused = 0;
        $refused += $_->[0] for in_children($count, sub {
            my ($number) = @_;
            my $refused = 0;
            for my $n (1 .. 2000) { $refused++ if $map->store("$number $n", $n) != 1; $map->delete("$number $n") == 1 or $refused++ }
            return $refused;
        });
        is $refused, 0, 'there is always room for what fits';
        is $map->stats->{used}, 0, 'and in the end nothing is left';
        intact_ok $map, 'whole';
    };
}

subtest 'deleting in parallel, then filling again' => sub {
    my $slots = 16_000;
    my $map   = Shared::Arena->create(size => $slots * 64 + 208)->map('m', slots => $slots, slot_size => 64);
    is scalar(grep { $map->store("first $_", $_) == 1 } 1 .. $slots), $slots, 'full';
    my @deleted = in_children(4, sub { my ($number) = @_; return scalar grep { $map->delete("first $_") == 1 } grep { $_ % 4 == $number } 1 .. $slots });
    is_deeply [map { $_->[0] } @deleted], [($slots / 4) x 4], 'four processes delete their quarters';
    is_deeply [$map->keys], [], 'no key is left';
    is $map->stats->{used}, 0, 'no slot is used';
    is scalar(grep { $map->store("second $_", $_) == 1 } 1 .. $slots), $slots, 'and as many others go in';
    intact_ok $map, 'whole';
};

subtest 'readers beside writers' => sub {
    my $map = Shared::Arena->create(size => 1 << 20)->map('m', slots => 4, slot_size => 4200);
    $map->store('k', 'A' x 4000);
    my @answers = in_children(4, sub {
        my ($number) = @_;
        my ($torn, $missed) = (0, 0);
        for my $n (1 .. 5000) {
            if ($number < 2) { $map->store('k', (qw(A B))[$number] x (4000 - $n % 100)); next }
            my $value = $map->fetch('k');
            if    (!defined $value)                  { $missed++ }
            elsif ($value !~ /\A(?:A{3900,}|B{3900,})\z/) { $torn++ }
        }
        return ($torn, $missed);
    });
    my ($torn, $missed) = (0, 0);
    for (@answers) { $torn += $_->[0]; $missed += $_->[1] }
    is $torn, 0, 'no value is torn';
    is $missed, $map->stats->{busy}, 'and none is missed without being counted';
    intact_ok $map, 'whole';
};

subtest 'keys that are always there' => sub {
    # Two keys that take each other's buffers: a reader that is late must not take one for the other.
    my $map = Shared::Arena->create->map('m', slots => 4, slot_size => 100);
    $map->store($_, "$_ 0") for qw(one two);
    my @wrong = map { @$_ } in_children(4, sub {
        my ($number) = @_;
        my @wrong;
        for my $n (1 .. 10_000) {
            my $key = (qw(one two))[$n % 2];
            if ($number < 2) { $map->store($key, "$key $n") == 1 or push @wrong, 'not stored'; next }
            my $value = $map->fetch($key);
            push @wrong, defined $value ? "$key: $value" : "$key is missing" if !defined $value || $value !~ /\A$key [0-9]+\z/;
            push @wrong, "$key does not exist" if !$map->exists($key);
        }
        return @wrong;
    });
    is_deeply \@wrong, [], 'are never missed, and never mistaken for each other';
    intact_ok $map, 'whole';
};

done_testing;
