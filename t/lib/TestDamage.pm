package TestDamage;

# An arena with a bit of everything in it, copies of it with a few random bytes overwritten, and a child that calls
# everything on each copy.

use strict;
use warnings;

use POSIX ();
use Shared::Arena;
use TestArena;
use Test::More;

my @Map  = (slots => 24, slot_size => 80);
my @Rate = (limit => 5, window => 1000, slots => 64);
my @Keys = map {"key $_"} 1 .. 20;
my $Image;

sub prepare {
    my $arena = Shared::Arena->create(name => 'model', size => 4096, regions => 4);
    my $map   = $arena->map('map', @Map);
    my $rate  = $arena->rate('rate', @Rate);
    $arena->region('raw', size => 100);
    $map->store($_, 'v' x length) for @Keys[0 .. 11];
    $map->store($_, 'lapsing', ttl => 1000) for @Keys[12 .. 14];
    $map->incr($_, 7) for @Keys[15 .. 17];
    $map->delete($Keys[3]);
    $rate->allow($_, 2) for @Keys;
    $Image = read_file(arena_path('model'));
    return;
}

sub image { return $Image }

sub finish { Shared::Arena->destroy($_) for 'model', 'damaged'; return }

# Seeds whose copy killed a child or kept it too long.
sub survive {
    my (@seeds) = @_;
    my @bad;
    for my $seed (@seeds) {
        write_file(arena_path('damaged'), $Image);
        my $status = reap(spawn(sub { _try($seed) }, 2));
        push @bad, "seed $seed: wait status $status" if $status != 0;
    }
    return @bad;
}

sub _try {
    my ($seed) = @_;
    srand $seed;
    # A lock that a scribble took is broken after this long, so that the watchdog measures the rest.
    Shared::Arena::_lock_patience(0.01);
    my $before = $seed % 2;
    _scribble() if $before;
    my $arena = eval { Shared::Arena->attach('damaged') } or return;
    my $map   = eval { $arena->map('map', @Map) };
    my $rate  = eval { $arena->rate('rate', @Rate) };
    _scribble() if !$before;

    my @calls;
    for my $key (@Keys) {
        push @calls, map { my $call = $_; sub { $call->($key) } }
            sub { $map->fetch($_[0]) }, sub { $map->exists($_[0]) }, sub { $map->counter($_[0]) }, sub { $map->store($_[0], 'new') }, sub { $map->incr($_[0]) },
            sub { $map->store($_[0], 'x' x 40, ttl => 5) }, sub { $map->delete($_[0]) }, sub { $map->store($_[0], 'again') }
            if $map;
        push @calls, map { my $call = $_; sub { $call->($key) } }
            sub { $rate->allow($_[0]) }, sub { $rate->remaining($_[0]) }, sub { $rate->retry_after($_[0], 2) }, sub { $rate->headers($_[0], 2) }, sub { $rate->reset($_[0]) }, sub { $rate->forget($_[0]) }
            if $rate;
    }
    push @calls, sub { my @keys = $map->keys }, sub { my $count = $map->keys }, sub { $map->stats }, sub { $map->_verify } if $map;
    push @calls, sub { $rate->stats }, sub { $rate->slots } if $rate;
    push @calls, sub { $arena->regions }, sub { $arena->refused }, sub { $arena->region('raw') }, sub { $arena->region('new', size => 16) },
        sub { $arena->peek('raw', 0, 100) }, sub { $arena->poke('raw', 0, 'x' x 100) }, sub { $arena->map('map', @Map) }, sub { $arena->rate('rate', @Rate) };
    for my $call (@calls) { my @answer = eval { $call->() } }
    return;
}

# Eight random bytes, somewhere: mostly where something is.
sub _scribble {
    my $at = rand() < 0.8 ? int rand(length($Image) * 0.6) : int rand(length($Image) - 8);
    $at -= $at % 8 if rand() < 0.5;
    my @values = (sub { join '', map { chr rand 256 } 1 .. 8 }, sub { "\xFF" x 8 }, sub { "\0" x 8 }, sub { pack 'Q', 1 + int rand 300 }, sub { pack 'L2', int rand 300, int rand 300 });
    open my $file, '+<:raw', arena_path('damaged') or die "open: $!";
    sysseek $file, $at, 0;
    syswrite $file, $values[rand @values]->();
    return;
}

1;
