use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/../t/lib";
use TestArena;
use TestMagic;
use TestSlot;
use TestTies;
use Test::More;

use Scalar::Util 'weaken';
use Shared::Arena;

# No call leaks: memory, mappings, descriptors or scalars, whether it answers or croaks.

watchdog(900);

my $arena = Shared::Arena->create(size => 8 << 20, regions => 64);
my $map   = $arena->map('m', slots => 64);
my $rate  = $arena->rate('l', slots => 64);
my $bad   = bless \(my $n = 1), 'Shared::Arena::Map';
my $text  = text_object('k');
my $dies  = text_object('k', sub { die "no\n" });
my $tied  = tied_value('k');
my $wide  = "\x{263A}" x 50;
my $up    = "\xE9" x 50;
utf8::upgrade($up);

# Structures, and values that are damaged after all of them was made.
my $serial = $arena->map('s', slots => 16, slot_size => 8192, serialise => 1);
my $shared = bless { name => "caf\xE9", wide => $wide }, 'My::Class';
my $tree   = { shared => $shared, list => [$shared, 1, 1.5, undef, \'x', [1 .. 50]], map { ("key $_" => { number => $_ }) } 1 .. 20 };
weaken($tree->{self} = $tree);
my $matching = [qr/a(b)/i, qr/\x{263A}/];
my ($cycle, $deep) = ([1, { a => 2 }], 'leaf');
push @$cycle, $cycle;
$deep = [$deep] for 1 .. 1000;
my %damaged = (
    tree  => "=\xF3rl\5\0\x28\x2B\x64" . "\x2C\x61a\x51\x61k\x2C\x61b\x42\x01\x61x" x 99 . "\x36",
    cycle => "=\xF3rl\5\0\x28\xAB\x03\x29\x02\x51\x61a\x29\x02\x01\x36",
);
for my $name (keys %damaged) {
    $serial->store($name, 'a placeholder');
    TestSlot->new($arena, 's', $serial, $name)->plant($damaged{$name});
}
my $dying  = tied_array([1 .. 5], sub { die "no\n" if $_[0] eq 'FETCH' && $_[2] == 3 });
my $tied_tree = tied_hash({ a => tied_array([1, 2]), b => tied_scalar('x') });

sub kilobytes { my ($pages) = read_file('/proc/self/statm') =~ /\A\d+ (\d+)/; return $pages * 4 }
sub descriptors { opendir my $d, '/proc/self/fd' or die; return scalar(my @all = readdir $d) }
sub mappings { return scalar(my @all = split /\n/, read_file('/proc/self/maps')) }

my %call = (
    'store and fetch'    => sub { $map->store('k', 'v' x 100); my ($v) = $map->fetch('k') },
    'a miss'             => sub { my @v = $map->fetch('none') },
    'all of a map'       => sub { $map->exists('k'); $map->incr('n'); $map->counter('n'); my @k = $map->keys; my %s = $map->stats; my $s = $map->stats; $map->delete('k'); $map->max_pair },
    'all of a limiter'   => sub { $rate->allow('k', 0.5); $rate->remaining('k'); $rate->retry_after('k', 2); my %h = $rate->headers('k'); my $h = $rate->headers('k', 101); $rate->headers('k'); my %s = $rate->stats; my $s = $rate->stats; $rate->reset('k'); $rate->forget('k') },
    'all of an arena'    => sub { $arena->region('r', size => 16); my @r = $arena->regions; $arena->peek('r', 0, 8); $arena->poke('r', 0, 'x'); $arena->base; $arena->name; $arena->size },
    'other strings'      => sub { $map->store($wide, $up); my ($v) = $map->fetch($wide); $map->delete($wide); $rate->allow($up) },
    'magic'              => sub { $map->store($text, $$tied); my ($v) = $map->fetch($$tied); $map->exists($text); $rate->allow($text); my %h = $rate->headers($$tied) },
    'objects'            => sub { my $a = Shared::Arena->create(size => 4096); my $m = $a->map('m', slots => 4); my $l = $a->rate('l', slots => 64) },
    'objects of old maps' => sub { my $m = $arena->map('m', slots => 64); my $l = $arena->rate('l', slots => 64) },
    'named arenas'       => sub { my $a = Shared::Arena->create(name => 'leak', size => 4096); my $b = Shared::Arena->attach('leak'); Shared::Arena->destroy('leak'); Shared::Arena->attach('leak') },
    'bad options'        => sub { for my $o ([slots => 'x'], [colour => 1], ['slots'], [slots => -1], [slots => $text], [slots => $dies]) { eval { $arena->map('new', @$o) }; eval { Shared::Arena->create(@$o) } } },
    'bad calls'          => sub { eval { $bad->fetch('k') }; eval { $map->fetch }; eval { $map->incr('k', 'x') }; eval { $map->store('k', 1, ttl => -1) }; eval { $rate->allow('k', -1) }; eval { my %h = $rate->headers('k', -1) }; eval { $rate->headers } },
    'other shapes'       => sub { eval { $arena->map('m', slots => 65) }; eval { $arena->rate('m') }; eval { $arena->map('big', slots => 2**30) }; my @r = $arena->region('big', size => 2**40) },
    'bad names'          => sub { eval { Shared::Arena->create(name => 'a/b') }; eval { $arena->map('') }; my @r = $arena->region('') },
    'overflow'           => sub { $map->incr('most', 2**62) if !$map->exists('most'); eval { $map->incr('most', 2**62) } },
    'arguments that die' => sub { eval { $map->store($dies, 1) }; eval { $map->store('k', $dies) }; eval { $map->store('k', 1, ttl => $dies) } },
    'large values'       => sub { $map->store('k', 'v' x 100_000) },
    'structures'         => sub { $serial->store('k', $tree); my ($copy) = $serial->fetch('k') },
    'structures nobody takes' => sub { $serial->store('k', $tree); $serial->fetch('k'); scalar $serial->fetch('k') },
    'regexps'            => sub { $serial->store('k', $matching); my ($copy) = $serial->fetch('k') },
    'cycles'             => sub { $serial->store('k', $cycle); my ($copy) = $serial->fetch('k'); @$copy = () },
    'tied structures'    => sub { $serial->store('k', $tied_tree); my ($copy) = $serial->fetch('k') },
    'what cannot be stored' => sub { eval { $serial->store('k', [$tree, $_]) } for sub { }, \*STDOUT, qr/(?{ 1 })/ },
    'code that dies'     => sub { eval { $serial->store('k', [$tree, $dying]) } },
    'structures too long' => sub { $serial->store('k', [$tree, 'x' x 8192]) },
    'damaged structures' => sub { eval { my ($copy) = $serial->fetch($_); 1 } and die 'not refused' for keys %damaged },
    'hooks'              => sub { my %v = $map->_verify },
);

for my $name (sort keys %call) {
    subtest $name => sub {
        my $code  = $call{$name};
        my $times = $name =~ /objects|named|struct|what cannot|dies/ ? 10_000 : 40_000;
        $code->() for 1 .. $times / 4;
        my @before = (kilobytes(), descriptors(), mappings());
        $code->() for 1 .. $times;
        my @after = (kilobytes(), descriptors(), mappings());
        cmp_ok $after[0] - $before[0], '<', 200, 'memory: ' . ($after[0] - $before[0]) . ' kB more';
        is $after[1], $before[1], 'descriptors';
        cmp_ok $after[2], '<=', $before[2] + 2, 'mappings';
    };
}

done_testing;
