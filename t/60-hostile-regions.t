use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use TestArena;
use Test::More;

use Shared::Arena;
use Time::HiRes 'time';

# Whole regions are overwritten under living objects, at once or all the time. Calls give wrong answers or errors, nothing else.

my @map_shape  = (slots => 32, slot_size => 100);
my @rate_shape = (limit => 5, window => 100, slots => 64);

# Everything a map and a limiter can do, each in its own eval.
sub everything {
    my ($map, $rate) = @_;
    for my $key (map {"key $_"} 1 .. 12) {
        eval { my @there = $map->fetch($key) };
        eval { $map->store($key, 'value' x 5) };
        eval { $map->store($key, 'v', ttl => 10) };
        eval { $map->incr($key, 3, ttl => 10) };
        eval { $map->$_($key) } for qw(exists counter delete);
        eval { $rate->$_($key) } for qw(allow remaining retry_after reset forget);
    }
    eval { my @keys = $map->keys };
    eval { my $count = $map->keys };
    eval { my %stats = $_->stats } for $map, $rate;
    eval { $map->_verify };
    return 1;
}

sub ready {
    my $arena = Shared::Arena->create(size => 32_768);
    my ($map, $rate) = ($arena->map('map', @map_shape), $arena->rate('rate', @rate_shape));
    $map->store("key $_", 'x' x $_) for 1 .. 20;
    $map->incr("count $_") for 1 .. 5;
    $rate->allow("key $_") for 1 .. 20;
    return ($arena, $map, $rate);
}

my %filler = (
    'zeros'          => sub { "\0" x $_[0] },
    'ones'           => sub { "\xFF" x $_[0] },
    'small numbers'  => sub { substr join('', map { pack 'Q', $_ % 40 } 0 .. $_[0] / 8), 0, $_[0] },
    'text'           => sub { substr 'key 1 ' x $_[0], 0, $_[0] },
    'noise'          => sub { join '', map { chr rand 256 } 1 .. $_[0] },
    'itself, shifted' => sub { substr($_[1], 8) . substr $_[1], 0, 8 },
    'itself, reversed' => sub { scalar reverse $_[1] },
);

srand 1;
for my $name (sort keys %filler) {
    subtest "regions overwritten with $name" => sub {
        my ($alive) = in_child {
            Shared::Arena::_lock_patience(0.01);
            my ($arena, $map, $rate) = ready();
            for my $region ('map', 'rate') {
                my (undef, $length) = $arena->region($region);
                $arena->poke($region, 0, $filler{$name}->($length, $arena->peek($region, 0, $length)));
            }
            everything($map, $rate);
            # Who comes afterwards.
            my ($late_map, $late_rate) = (eval { $arena->map('map', @map_shape) }, eval { $arena->rate('rate', @rate_shape) });
            everything($late_map || $map, $late_rate || $rate);
            return $arena->region('other', size => 100) ? 'alive' : 'full';
        } patience => 30;
        is $alive, 'alive', 'no crash, no hang, and the arena goes on';
    };
}

subtest 'somebody who overwrites all the time' => sub {
    my ($arena, $map, $rate) = ready();
    my %length = map { $_ => ($arena->region($_))[1] } 'map', 'rate';
    my $vandal = spawn(sub {
        srand 7;
        for (;;) {
            my $region = (qw(map map rate))[rand 3];
            my $bytes  = ("\0" x 8, "\xFF" x 8, pack('Q', rand 300), pack('L2', rand 40, rand 40), join '', map { chr rand 256 } 1 .. 8)[rand 5];
            $arena->poke($region, 8 * int rand($length{$region} / 8), $bytes);
        }
    }, 60);
    my @rounds = map { $_->[0] } in_children(2, sub {
        Shared::Arena::_lock_patience(0.01);
        my ($rounds, $until) = (0, time + 1.5);
        while (time < $until) { everything($map, $rate); $rounds++ }
        return $rounds;
    }, patience => 40);
    kill KILL => $vandal;
    reap($vandal);
    cmp_ok $_, '>', 0, "$_ rounds survived" for @rounds;
};

done_testing;
