use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use TestArena;
use Test::More;

use Shared::Arena;

# A registry entry that points outside of the mapping is refused and counted, and never followed.

# The bytes of an arena: a header of 192, then entries of 64 (name 32, offset 8, length 8, charge 8, kind 4).
my ($header, $entry_size, $offset_at, $length_at, $charge_at, $kind_at) = (192, 64, 32, 40, 48, 56);
my ($count_at, $limit_at, $mapped_at) = (132, 20, 32);

my $arena = Shared::Arena->create(name => 'registry', size => 65536, regions => 8);
my $map   = $arena->map('map', slots => 8);
my $rate  = $arena->rate('rate', slots => 64);
$arena->region('raw', size => 1000);
$arena->poke('raw', 0, 'bytes');
$map->store('k', 'v');

my $path = arena_path('registry');
my $good = read_file($path);

sub scribble {
    my ($at, $bytes) = @_;
    open my $file, '+<:raw', $path or die "open: $!";
    sysseek $file, $at, 0;
    syswrite $file, $bytes or die "write: $!";
    return;
}

sub mend { scribble(0, substr $good, 0, $header + 8 * $entry_size) }

my @names = $arena->regions;
is_deeply \@names, [qw(map rate raw)], 'three entries';
is $arena->refused, 0, 'none refused';
my %entry = map { $names[$_] => $header + $_ * $entry_size } 0 .. $#names;
is_deeply [unpack 'x' . ($entry{raw} + $offset_at) . ' Q Q', $good], [$arena->region('raw')], 'and they are where this test looks for them';

my $mapped = length $good;
my @outside = (
    [0, 64], [64, 64], [$mapped, 64], [$mapped - 64, 128], [2**63, 64], ['18446744073709551552', 64], ['18446744073709551552', 128],
    [$mapped - 64, '18446744073709551615'], [undef, '18446744073709551615'], [undef, 0], [undef, $mapped], [65, 10], [undef, 2**63],
);

for my $place (@outside) {
    my ($offset, $length) = map { defined $_ ? $_ : 'as it was' } @$place;
    subtest "offset $offset, length $length" => sub {
        for my $name (@names) {
            scribble($entry{$name} + $offset_at, pack 'Q', $place->[0]) if defined $place->[0];
            scribble($entry{$name} + $length_at, pack 'Q', $place->[1]);
            my @verdict = in_child {
                my $fresh = Shared::Arena->attach('registry');
                my @calls = (
                    sub { my @r = $fresh->region($name); @r },
                    sub { $fresh->region($name, size => 1000) },
                    sub { $fresh->map($name, slots => 8) && 1 },
                    sub { $fresh->rate($name, slots => 64) && 1 },
                    sub { $fresh->peek($name, 0, 64) },
                    sub { $fresh->poke($name, 0, 'x' x 64) },
                    sub { $fresh->region('new', size => 16) },
                );
                my @followed = grep { my @answer = eval { $calls[$_]->() }; @answer } 0 .. $#calls;
                return ($fresh->refused, "@followed", join(',', $fresh->regions));
            } patience => 10;
            is $verdict[0], 1, "the entry of $name is refused";
            is $verdict[1], '', 'and never followed, nor is anything carved beside it';
            is $verdict[2], join(',', grep { $_ ne $name } @names), 'the others are there';
            mend();
        }
        is $arena->refused, 0, 'mended';
    };
}

subtest 'objects made before go on' => sub {
    scribble($entry{$_} + $offset_at, "\xFF" x 16) for @names;
    is $arena->refused, 3, 'all entries are refused';
    is_deeply [$arena->regions], [], 'none is listed';
    is_deeply [$map->fetch('k')], ['v'], 'the map knows its place';
    is $map->store('k2', 'w'), 1, 'and stores';
    ok $rate->allow('k'), 'so does the limiter';
    mend();
    is_deeply [$arena->peek('raw', 0, 5)], ['bytes'], 'nothing was written where it should not';
};

subtest 'names, kinds and charges that cannot be' => sub {
    for my $length (0, 32, 255) {
        scribble($entry{raw}, chr $length);
        is_deeply [$arena->region('raw')], [], "a name of $length bytes is not found";
        is $arena->refused, 1, 'and counted';
        mend();
    }
    for my $kind (0, 4, 2**32 - 1) {
        scribble($entry{map} + $kind_at, pack 'L', $kind);
        croaks_like { $arena->map('map', slots => 8) } qr/Shared::Arena/, "a map of kind $kind";
        mend();
    }
    scribble($entry{map} + $charge_at, "\xFF" x 8);
    ok !eval { $arena->region('new', size => 16); 1 } || !$arena->region('new'), 'a charge beyond all room leaves none';
    mend();
    scribble($entry{raw} + $kind_at, pack 'L', 2);
    croaks_like { $arena->map('raw', slots => 8) } qr/Shared::Arena/, 'raw bytes that claim to be a map';
    mend();
    scribble($entry{map} + $length_at, pack 'Q', 64);
    croaks_like { Shared::Arena->attach('registry')->map('map', slots => 8) } qr/Shared::Arena/, 'a map with room for nothing';
    mend();
};

subtest 'a count beyond the table' => sub {
    for my $count (9, 2**31, 2**32 - 1) {
        scribble($count_at, pack 'L', $count);
        my @verdict = in_child {
            my $fresh = Shared::Arena->attach('registry');
            eval { $fresh->region('new', size => 16) };
            return (join(',', ($fresh->regions)[0 .. 2]), $fresh->peek('raw', 0, 5), $fresh->region('none'));
        } patience => 10;
        is_deeply \@verdict, ['map,rate,raw', 'bytes'], "$count entries";
        mend();
    }
};

subtest 'two entries of one name, or in one place' => sub {
    scribble($entry{rate}, substr $good, $entry{raw}, 32);
    ok eval { my @r = $arena->region('raw'); @r == 2 }, 'one of the two is found';
    ok eval { $arena->region('rate'); 1 }, 'the other name is gone';
    mend();
    scribble($entry{raw} + $offset_at, substr $good, $entry{map} + $offset_at, 8);
    ok eval { $arena->poke('raw', 0, "\xFF" x 1000); 1 }, 'raw bytes over a map';
    my ($done) = in_child { Shared::Arena::_lock_patience(0.1); eval { $map->fetch('k') }; eval { $map->store('k', 'w') }; eval { $map->keys }; eval { $map->stats }; eval { $map->_verify }; return 'alive' } patience => 20;
    is $done, 'alive', 'give wrong answers at most';
    mend();
};

ok(Shared::Arena->destroy('registry'), 'gone');

done_testing;
