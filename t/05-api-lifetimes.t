use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use TestArena;
use Test::More;

use Shared::Arena;

# A map or limiter keeps its arena's mapping alive, and the end of a program is quiet whatever goes first.

subtest 'a map outlives its arena object' => sub {
    my $arena = Shared::Arena->create;
    my $map   = $arena->map('m', slots => 16);
    my $rate  = $arena->rate('l', limit => 1, window => 1000);
    $map->store('k', 'v');
    undef $arena;
    is_deeply [$map->fetch('k')], ['v'], 'the map still reads';
    is $map->store('k', 'w'), 1, 'and writes';
    ok $rate->allow('k') && !$rate->allow('k'), 'the limiter limits';
    is $rate->headers('k')->{'RateLimit-Remaining'}, 0, 'and says what is left';
};

subtest 'an arena released by hand' => sub {
    my $arena = Shared::Arena->create;
    my $map   = $arena->map('m', slots => 16);
    $arena->DESTROY;
    is $map->store('k', 'v'), 1, 'leaves its maps alone';
};

subtest 'several objects for one map' => sub {
    my $arena = Shared::Arena->create;
    my ($one, $two) = map { $arena->map('m', slots => 16) } 1 .. 2;
    $one->store('k', 'v');
    undef $one;
    is_deeply [$two->fetch('k')], ['v'], 'are the same map';
    undef $two;
    is_deeply [$arena->map('m', slots => 16)->fetch('k')], ['v'], 'which stays in the arena without any';
};

subtest 'temporary objects' => sub {
    is(Shared::Arena->create->map('m', slots => 4)->store('k', 'v'), 1, 'a chain of calls');
    ok(Shared::Arena->create->rate('l')->allow('k'), 'of a limiter');
    is(Shared::Arena->create->rate('l')->headers('k')->{'RateLimit-Limit'}, 100, 'of one that answers with pairs');
};

subtest 'going away touches neither error nor status' => sub {
    my $arena = Shared::Arena->create;
    eval { my $map = $arena->map('m', slots => 4); my $rate = $arena->rate('l'); my $more = Shared::Arena->create; die "kept\n" };
    is $@, "kept\n", '$@';
    $! = 17;
    { my $map = $arena->map('m', slots => 4); $! = 17 }
    is $! + 0, 17, '$!';
};

subtest 'mappings go with their last object' => sub {
    my $mappings = sub { scalar grep {/arena/} split /\n/, read_file('/proc/self/maps') };
    my $before = $mappings->();
    for (1 .. 20) {
        my $arena = Shared::Arena->create(name => 'gone');
        my $map = $arena->map('m', slots => 4);
        undef $arena;
        $map->store('k', 'v');
    }
    is $mappings->(), $before, 'none is left in this process';
    ok(Shared::Arena->destroy('gone'), 'and the name stays until destroyed');
};

# Each program ends in its own way. A word on standard error fails.
my $begin = 'use strict; use warnings; use Shared::Arena; ';
my %end   = (
    'globals'              => 'our $a1 = Shared::Arena->create; our $m = $a1->map("m"); our $l = $a1->rate("l"); $m->store("k", "v"); $l->allow("k")',
    'lexicals of the file' => 'my $a1 = Shared::Arena->create; my $m = $a1->map("m"); my $l = $a1->rate("l")',
    'closures'             => 'my $a1 = Shared::Arena->create; my $m = $a1->map("m"); our $code = sub { $m->fetch("k") }; $code->()',
    'a circle'             => 'my $a1 = Shared::Arena->create; my $c = { a => $a1, m => $a1->map("m"), l => $a1->rate("l") }; $c->{self} = $c',
    'a symbol table'       => 'our %h = map { my $x = Shared::Arena->create; ($_ => [$x, $x->map("m")]) } 1 .. 10',
    'exit in the middle'   => 'our $m = Shared::Arena->create->map("m"); sub leave { exit 0 } $m->store("k", "v"); leave()',
    'use in END'           => 'our $m = Shared::Arena->create->map("m"); END { $m->store("k", "v") == 1 or die; undef $m }',
    'use in a late DESTROY' => 'our $m = Shared::Arena->create->map("m"); sub Late::DESTROY { eval { $main::m->store("k", "v") if $main::m } } our $late = bless {}, "Late"; our $circle = bless {}, "Late"; $circle->{me} = $circle',
    'objects made in DESTROY' => 'sub Late::DESTROY { eval { my $m = Shared::Arena->create->map("m"); $m->store("k", "v") } } our $circle = bless {}, "Late"; $circle->{me} = $circle',
    'released by hand'     => 'our $m = Shared::Arena->create->map("m"); $m->DESTROY; $m->DESTROY',
    'reblessed'            => 'our $m = Shared::Arena->create->map("m"); bless $m, "Elsewhere"',
    'forged'               => 'our $m = bless \(my $n = 4096), "Shared::Arena::Map"; our $r = bless {}, "Shared::Arena::Rate"; our $x = bless [], "Shared::Arena"',
    'a child that exits'   => 'our $m = Shared::Arena->create->map("m"); if (my $pid = fork) { waitpid $pid, 0; $m->counter("k") == 1 && $? == 0 or die } else { $m->incr("k"); exit 0 }',
    'a parent that exits first' => 'our $m = Shared::Arena->create->map("m"); pipe my $r, my $w; if (fork) { close $w; exit 0 } else { close $w; select undef, undef, undef, 0.05; $m->incr("k") == 1 or die; exit 0 }',
);
for my $name (sort keys %end) {
    quiet_perl_ok $begin . $end{$name}, "quiet at the end: $name";
}

done_testing;
