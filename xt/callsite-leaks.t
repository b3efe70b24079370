use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/../t/lib";
use TestArena;
use TestMagic;
use Test::More;

use Shared::Arena;

# Calls that are answered in place leave no scalar behind, nor do those that are not.

plan skip_all => 'Test::LeakTrace is not here' if !eval { require Test::LeakTrace;
        Test::LeakTrace->import('leaked_count'); 1 };
watchdog(600);

my $arena  = Shared::Arena->create(size => 8 << 20);
my $map    = $arena->map('m', slots => 64, slot_size => 80_000);
my $serial = $arena->map('s', slots => 16, serialise => 1);
my $rate   = $arena->rate('r', slots => 64);
my $bad    = bless \(my $n = 1), 'Shared::Arena::Map';
my $dies   = text_object('k', sub { die "no\n" });
my $up     = "\xE9" x 50;
utf8::upgrade($up);
{ package Foreign; sub new { return bless {}, shift } sub fetch { return 1 } sub allow { return 1 } }
$map->store($_->[0], $_->[1]) for ['k', 'v'], ['long', 'l' x 2000], ['huge', 'h' x 70_000], ['undefined', undef];
$serial->store('k', { list => [1, 2, { three => 4 }] });

my %call = (
    'fetch, in each context'    => sub { for my $key (qw(k long huge undefined none)) { my $x = $map->fetch($key);
        my ($y) = $map->fetch($key); $map->fetch($key); my @z = map { $map->fetch($_) } $key } },
    'references to results'     => sub { my @kept = map { \scalar $map->fetch($_) } qw(k long huge undefined none);
        my @more = \($map->incr('n'), $map->incr('n')) },
    'the other methods of a map' => sub { $map->store('k', 'v', ttl => 100); $map->exists('k'); $map->incr('n');
        my $x = $map->incr('n', 3, ttl_ms => 1e6); $x = $map->counter('n'); $x = $map->counter('none') },
    'a limiter'                 => sub { my $x = $rate->allow('k'); $x = $rate->allow('k', 2.5);
        $x = $rate->remaining('k'); $x = $rate->retry_after('k', 3) },
    'structures'                => sub { my $x = $serial->fetch('k'); $serial->store('k', $x); $serial->fetch('k') },
    'other kinds of arguments'  => sub { no warnings;
        $map->fetch($_) for $up, undef, 12, 1.5, [], text_object('k'), ${ tied_value('k') };
        $map->store('k', $_) for $up, undef, 12, 1.5, [], text_object('k') },
    'croaks'                    => sub { eval { $bad->fetch('k') }; eval { $map->fetch }; eval { $map->fetch($dies) };
        eval { $map->store('k', $dies) }; eval { $map->incr('n', 'x') }; eval { $map->incr('n', 1, ttl => -1) };
        eval { $rate->allow('k', -1) }; eval { $serial->store('k', sub { }) } },
    'others at one call site'   => sub { for my $on ($map, Foreign->new, 'Foreign', $map) { my $x = $on->fetch('k') }
        for my $on (Foreign->new, $rate) { $on->allow('k') } },
    'methods that change'       => sub { no warnings 'redefine';
        for (1 .. 3) { local *Shared::Arena::Map::fetch = sub { return $_[1] }; my $x = $map->fetch('k') }
        my $x = $map->fetch('k') },
    'call sites that go'        => sub { for (1 .. 3) { my $sub = eval q{sub { my $x = $map->fetch('k');
        my $y = $map->incr('n') }}; $sub->() } },
);

for my $name (sort keys %call) {
    $call{$name}->() for 1 .. 3;
    my $first = leaked_count(sub { $call{$name}->() });
    my $many  = leaked_count(sub { $call{$name}->() for 1 .. 20 });
    cmp_ok $many, '<=', $first + 1, "$name: $first, $many";
}

done_testing;
