use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use TestArena;
use Test::More;

use Shared::Arena;
use Storable ();

# A method called on anything but a live object of its class croaks.

my $arena = Shared::Arena->create;
my $map   = $arena->map('map', slots => 16);
my $rate  = $arena->rate('rate', slots => 64);

my %live = ('Shared::Arena' => $arena, 'Shared::Arena::Map' => $map, 'Shared::Arena::Rate' => $rate);

my %methods = (
    'Shared::Arena' => {
        region => ['r'], regions => [], poke => ['r', 0, ''], peek => ['r', 0, 0], size => [], created => [], name => [],
        base => [], refused => [], map => ['m'], rate => ['l'],
    },
    'Shared::Arena::Map' => {
        store => ['k', 'v'], fetch => ['k'], exists => ['k'], delete => ['k'], incr => ['k'], counter => ['k'], keys => [],
        stats => [], max_pair => [], capacity => [], serialised => [],
    },
    'Shared::Arena::Rate' => {
        allow => ['k'], remaining => ['k'], retry_after => ['k'], headers => ['k'], reset => ['k'], forget => ['k'], stats => [], slots => [],
    },
);

# What is not a live object of the class, made anew for each call.
my $integer = Scalar::Util::refaddr($arena);
my %foreign = (
    'the class name'          => sub { $_[0] },
    'another name'            => sub { 'Elsewhere' },
    'undef'                   => sub { undef },
    'a number'                => sub { 42 },
    'a plain reference'       => sub { \my $plain },
    'a plain hash'            => sub { {} },
    'code'                    => sub { sub { 1 } },
    'a glob'                  => sub { \*STDOUT },
    'a blessed zero'          => sub { bless \(my $n = 0), $_[0] },
    'a blessed integer'       => sub { bless \(my $n = 42), $_[0] },
    'a blessed address'       => sub { bless \(my $n = $integer), $_[0] },
    'a blessed string'        => sub { bless \(my $n = 'x' x 64), $_[0] },
    'a blessed undef'         => sub { bless \(my $n), $_[0] },
    'a blessed hash'          => sub { bless {}, $_[0] },
    'a blessed array'         => sub { bless [1 .. 10], $_[0] },
    'a blessed sub'           => sub { my $closed = 1; bless sub { $closed }, $_[0] },
    'a blessed glob'          => sub { bless Symbol::gensym(), $_[0] },
    'a blessed regexp'        => sub { bless qr/x/, $_[0] },
    'a copy of what is inside a live object' => sub { my $live = $live{ $_[0] }; bless \(my $n = ref $live eq 'REF' ? 1 : Scalar::Util::reftype($live) eq 'SCALAR' ? $$live : 1), $_[0] },
    'a deep copy'             => sub { Storable::dclone($live{ $_[0] }) },
    'an object of the others' => sub { (map { $live{$_} } grep { $_ ne $_[0] } sort keys %live)[0] },
    'one more of the others'  => sub { (map { $live{$_} } grep { $_ ne $_[0] } sort keys %live)[1] },
    'an object of another class' => sub { bless \(my $n = 1), 'Elsewhere' },
);
require Scalar::Util;
require Symbol;

for my $class (sort keys %methods) {
    subtest $class => sub {
        for my $what (sort keys %foreign) {
            for my $method (sort keys %{ $methods{$class} }) {
                my $thing     = eval { $foreign{$what}->($class) };
                my $code      = $class->can($method) or fail("no $method"), next;
                my @arguments = @{ $methods{$class}{$method} };
                croaks_like { $code->($thing, @arguments) } qr/Shared::Arena/, "$method on $what";
            }
        }
    };
}

subtest 'a live object blessed into another class is not one of that class' => sub {
    my $map2 = $arena->map('map', slots => 16);
    bless $map2, 'Shared::Arena::Rate';
    croaks_like { $map2->allow('k') } qr/Shared::Arena::Rate/, 'a map is no limiter';
    my $rate2 = $arena->rate('rate', slots => 64);
    bless $rate2, 'Shared::Arena::Map';
    croaks_like { $rate2->fetch('k') } qr/Shared::Arena::Map/, 'a limiter is no map';
    my $arena2 = Shared::Arena->create;
    bless $arena2, 'Shared::Arena::Map';
    croaks_like { $arena2->keys } qr/Shared::Arena::Map/, 'an arena is no map';
};

subtest 'a released object' => sub {
    for my $class (sort keys %methods) {
        my $fresh  = Shared::Arena->create;
        my $object = $class eq 'Shared::Arena' ? $fresh : $class eq 'Shared::Arena::Map' ? $fresh->map('m', slots => 4) : $fresh->rate('l', slots => 64);
        $object->DESTROY;
        for my $method (sort keys %{ $methods{$class} }) {
            my @arguments = @{ $methods{$class}{$method} };
            croaks_like { $object->$method(@arguments) } qr/\Q$class\E/, "$class $method";
        }
        ok eval { $object->DESTROY; 1 }, 'releasing it again does nothing';
    }
};

subtest 'scribbling into the object is refused or harmless' => sub {
    my $own = $arena->map('map', slots => 16);
    eval { $$own = 99_999 };
    eval { undef $$own };
    ok eval { $own->store('k', 'v'); 1 } || $@ =~ /Shared::Arena::Map/, 'a method works or croaks';
};

subtest 'a subclass of a map' => sub {
    @My::Map::ISA = 'Shared::Arena::Map';
    my $own = bless $arena->map('map', slots => 16), 'My::Map';
    is $own->store('sub', 'class'), 1, 'is a map';
    is_deeply [$own->fetch('sub')], ['class'], 'in every way';
};

subtest 'the live ones have seen nothing of it' => sub {
    is $map->store('k', 'v'), 1, 'map';
    ok $rate->allow('k'), 'limiter';
    is_deeply [$arena->regions], [qw(map rate)], 'arena';
};

done_testing;
