use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use TestArena;
use TestMagic;
use Test::More;

use Shared::Arena;

# Tied and overloaded arguments work everywhere, and each is read exactly once a call.

my $arena = Shared::Arena->create(size => 16 * 1024 * 1024, regions => 512);
my $map   = $arena->map('map', slots => 64);
my $rate  = $arena->rate('rate', slots => 64);
$arena->region('raw', size => 64);

my $serial = 0;
sub fresh { return 'fresh' . $serial++ }

# What is called, the value that stands in for the argument, and the call.
my @text = (
    ['store key'        => 'k',   sub { $map->store($_[0], 'v') == 1 && join(',', $map->fetch('k')) eq 'v' }],
    ['store value'      => 'tv',  sub { $map->store('k', $_[0]) == 1 && join(',', $map->fetch('k')) eq 'tv' }],
    ['fetch key'        => 'k',   sub { my @there = $map->fetch($_[0]); @there == 1 }],
    ['exists key'       => 'k',   sub { $map->exists($_[0]) }],
    ['incr key'         => 'n',   sub { $map->incr($_[0]) }],
    ['counter key'      => 'n',   sub { $map->counter($_[0]) }],
    ['delete key'       => 'k',   sub { my $was = $map->delete($_[0]); $map->store('k', 'v'); $was }],
    ['allow key'        => 'r',   sub { $rate->allow($_[0]) }],
    ['remaining key'    => 'r',   sub { $rate->remaining($_[0]) < 100 }],
    ['retry_after key'  => 'r',   sub { $rate->retry_after($_[0]) == 0 }],
    ['headers key'      => 'r',   sub { $rate->headers($_[0])->{'RateLimit-Remaining'} < 100 }],
    ['reset key'        => 'r',   sub { my $was = $rate->reset($_[0]); $rate->allow('r'); $was }],
    ['forget key'       => 'r',   sub { my $was = $rate->forget($_[0]); $rate->allow('r'); $was }],
    ['region name'      => 'raw', sub { my @there = $arena->region($_[0]); @there == 2 }],
    ['poke name'        => 'raw', sub { $arena->poke($_[0], 0, 'x'); $arena->peek('raw', 0, 1) eq 'x' }],
    ['poke bytes'       => 'abc', sub { $arena->poke('raw', 0, $_[0]); $arena->peek('raw', 0, 3) eq 'abc' }],
    ['peek name'        => 'raw', sub { length $arena->peek($_[0], 0, 1) }],
    ['map name'         => 'map', sub { $arena->map($_[0], slots => 64)->capacity == 64 }],
    ['rate name'        => 'rate', sub { $arena->rate($_[0], slots => 64)->slots == 64 }],
    ['create name'      => 'one', sub { my $made = Shared::Arena->create(name => $_[0]); Shared::Arena->destroy('one'); $made->name eq 'one' }],
    ['attach name'      => 'two', sub { my $made = Shared::Arena->create(name => 'two'); my $there = Shared::Arena->attach($_[0]); Shared::Arena->destroy('two'); $there }],
    ['destroy name'     => 'two', sub { my $made = Shared::Arena->create(name => 'two'); Shared::Arena->destroy($_[0]) }],
    ['option name'      => 'slots', sub { $arena->map(fresh(), $_[0], 5)->capacity == 5 }],
    ['store option name' => 'ttl', sub { $map->store('k', 'v', $_[0], 100) == 1 }],
);

my @number = (
    ['incr by'          => 3,     sub { my $before = $map->counter('n'); $map->incr('n', $_[0]) == $before + 3 }],
    ['store ttl'        => 100,   sub { $map->store('k', 'v', ttl => $_[0]) == 1 }],
    ['store ttl_ms'     => 1e5,   sub { $map->store('k', 'v', ttl_ms => $_[0]) == 1 }],
    ['incr ttl'         => 100,   sub { $map->incr('m', 1, ttl => $_[0]) }],
    ['incr ttl_ms'      => 1e5,   sub { $map->incr('m', 1, ttl_ms => $_[0]) }],
    ['allow cost'       => 2,     sub { $rate->allow(fresh(), $_[0]) }],
    ['remaining cost'   => 2,     sub { $rate->remaining(fresh(), $_[0]) == 50 }],
    ['retry_after cost' => 2,     sub { $rate->retry_after(fresh(), $_[0]) == 0 }],
    ['headers cost'     => 2,     sub { !exists $rate->headers(fresh(), $_[0])->{'Retry-After'} }],
    ['poke offset'      => 5,     sub { $arena->poke('raw', $_[0], 'y'); $arena->peek('raw', 5, 1) eq 'y' }],
    ['peek offset'      => 5,     sub { $arena->peek('raw', $_[0], 1) eq 'y' }],
    ['peek length'      => 6,     sub { length $arena->peek('raw', 0, $_[0]) == 6 }],
    ['create size'      => 5000,  sub { Shared::Arena->create(size => $_[0])->size == 5000 }],
    ['create regions'   => 1,     sub { Shared::Arena->create(regions => $_[0])->map('only', slots => 1) }],
    ['region size'      => 32,    sub { my @there = $arena->region(fresh(), size => $_[0]); $there[1] == 32 }],
    ['map slots'        => 7,     sub { $arena->map(fresh(), slots => $_[0])->capacity == 7 }],
    ['map slot_size'    => 100,   sub { $arena->map(fresh(), slots => 7, slot_size => $_[0])->max_pair >= 68 }],
    ['map serialise on' => 1,     sub { $arena->map(fresh(), slots => 7, serialise => $_[0])->serialised }],
    ['map serialise'    => 0,     sub { !$arena->map(fresh(), slots => 7, serialise => $_[0])->serialised }],
    ['rate limit'       => 2,     sub { $arena->rate(fresh(), slots => 64, limit => $_[0])->stats->{limit} == 2 }],
    ['rate window'      => 2,     sub { $arena->rate(fresh(), slots => 64, window => $_[0])->stats->{window} == 2 }],
    ['rate slots'       => 128,   sub { $arena->rate(fresh(), slots => $_[0])->slots == 128 }],
);

sub once {
    my ($kind, $make, @cases) = @_;
    subtest "read once: $kind" => sub {
        for my $case (@cases) {
            my ($name, $value, $code) = @$case;
            $map->store('k', 'v');
            $map->incr('n');
            $rate->allow('r');
            my $argument = $make->($value);
            my $tied = ref $argument eq 'SCALAR';
            ok eval { $tied ? $code->($$argument) : $code->($argument) }, $name or diag($@);
            is reads_of($argument), 1, "$name is read once";
        }
    };
    return;
}

once('a tied scalar',                        \&tied_value,    @text, @number);
once('an object with a string in it',        \&text_object,   @text, @number);
once('an object with a number in it',        \&number_object, @number);
once('a tied scalar with an upgraded value', sub { my ($value) = @_; utf8::upgrade($value); tied_value($value) }, @text);

subtest 'a tied scalar that holds an object of ours' => sub {
    my $tied = tied_value($map);
    ok $$tied->exists('k'), 'can be called';
    my $holder = tied_value(text_object('k'));
    ok $map->exists($$holder), 'and one that holds an overloaded object is a key';
    is reads_of($holder), 1, 'read once';
    is reads_of(tied(${$holder})->{value}), 1, 'and the object in it too';
};

subtest 'an element of a tied hash or a substr is an argument like any other' => sub {
    require Tie::Hash;
    tie my %hash, 'Tie::StdHash';
    $hash{key} = 'from a hash';
    is $map->store($hash{key}, substr 'abcdef', 2, 3), 1, 'stored';
    is_deeply [$map->fetch($hash{key})], ['cde'], 'and there';
    'some text' =~ /(\w+) (\w+)/ or die;
    is $map->store($1, $2), 1, 'captures';
    is_deeply [$map->fetch('some')], ['text'], 'too';
};

done_testing;
