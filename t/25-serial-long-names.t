use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use TestArena;
use Test::More;

use Shared::Arena;

# A key or class name that comes again is written as a COPY of the first, and a reader allows only so many copied bytes
# for the length of a document. Long names, a few thousand times, came to more: such a value could be stored, and then
# not fetched.

my $map = Shared::Arena->create(size => 80 << 20)->map('m', slots => 8, slot_size => 8 << 20, serialise => 1);

for my $length (3, 4, 127, 128, 129, 191, 192, 1000) {
    my $times = $length < 200 ? 10_000 : 3000;
    my ($key, $class) = ('k' x $length, 'C' x $length);

    is $map->store('keys', [map { +{ $key => $_, n => 1 } } 1 .. $times]), 1, "a key of $length bytes, $times times";
    my ($hashes) = $map->fetch('keys');
    is scalar(grep { $hashes->[$_ - 1]{$key} == $_ } 1 .. $times), $times, 'comes back';

    is $map->store('objects', [map { bless [$_], $class } 1 .. $times]), 1, "a class name of $length bytes";
    my ($objects) = $map->fetch('objects');
    is scalar(grep { ref $objects->[$_ - 1] eq $class && $objects->[$_ - 1][0] == $_ } 1 .. $times), $times, 'comes back';
}

done_testing;
