use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use TestArena;
use Test::More;

use Shared::Arena;

# What `create` gives, with and without a name, and that every byte of it is reserved at once.

subtest 'without options' => sub {
    my $arena = Shared::Arena->create;
    isa_ok $arena, 'Shared::Arena';
    is $arena->size, 1024 * 1024, 'one MiB';
    ok $arena->created, 'made here';
    is $arena->name, undef, 'no name';
    is $arena->refused, 0, 'no registry entry was refused';
    is_deeply [$arena->regions], [], 'no regions yet';
    my @name = $arena->name;
    is_deeply \@name, [undef], 'name is one undef in list context';
};

subtest 'size is what was asked for' => sub {
    is(Shared::Arena->create(size => $_)->size, $_, "$_ bytes") for 1, 100, 4096, 1_000_001, 3 * 1024 * 1024;
    is(Shared::Arena->create(size => '2e5')->size, 200_000, 'a number written as a string');
    is(Shared::Arena->create(size => 65536.0)->size, 65536, 'a whole number kept as a float');
};

subtest 'all of size can be carved' => sub {
    for my $size (16, 4096, 1_000_000) {
        my $arena = Shared::Arena->create(size => $size - $size % 16);
        my ($offset, $length) = $arena->region('all', size => $size - $size % 16);
        is $length, $size - $size % 16, "$size bytes in one region";
    }
};

subtest 'regions limits how many there can be' => sub {
    my $arena = Shared::Arena->create(regions => 3);
    is scalar(my @there = $arena->region("r$_", size => 16)), 2, "region $_" for 1 .. 3;
    is_deeply [$arena->region('r4', size => 16)], [], 'the fourth is refused';
    is_deeply [$arena->regions], [qw(r1 r2 r3)], "three are listed";

    my $default = Shared::Arena->create;
    is scalar(grep { my @r = $default->region("r$_", size => 16); @r } 1 .. 80), 64, '64 when not said';
    my $many = Shared::Arena->create(regions => 65_536, size => 65_536 * 16);
    is scalar(grep { my @r = $many->region("r$_", size => 16); @r } 1 .. 2000), 2000, 'and as many as 65536';
};

subtest 'base is the address of the mapping' => sub {
    no warnings 'portable';
    for my $arena (Shared::Arena->create, Shared::Arena->create(name => 'base')) {
        my %starts = map { /\A([0-9a-f]+)-/ ? (hex $1 => 1) : () } split /\n/, read_file('/proc/self/maps');
        ok $starts{ $arena->base }, sprintf '%x starts a mapping', $arena->base;
    }
    ok(Shared::Arena->destroy('base'), 'gone');
};

subtest 'a named arena has all its memory from the start' => sub {
    my $arena = Shared::Arena->create(name => 'reserved', size => 3_000_000);
    my ($bytes, $blocks) = (stat arena_path('reserved'))[7, 12];
    cmp_ok $bytes, '>=', 3_000_000, 'the file is as long as the arena';
    cmp_ok $blocks * 512, '>=', $bytes, 'and has no holes';
    is $arena->name, 'reserved', 'it knows its name';
    ok(Shared::Arena->destroy('reserved'), 'gone');
};

subtest 'arenas are apart' => sub {
    my ($one, $two) = map { Shared::Arena->create } 1 .. 2;
    $_->region('r', size => 16) for $one, $two;
    $one->poke('r', 0, 'mine');
    is $two->peek('r', 0, 4), "\0\0\0\0", 'what is written to one is not in the other, which starts as zeros';
};

subtest 'a subclass gets objects of its own' => sub {
    @My::Arena::ISA = 'Shared::Arena';
    isa_ok(My::Arena->create, 'My::Arena');
};

done_testing;
