use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/../t/lib", "$FindBin::Bin/lib";
use TestArena;
use TestEvidence;
use TestMagic;
use TestSlot;
use Test::More;

use Shared::Arena;

# No method leaks a scalar or other memory: whatever it is given, in every context, whether it answers or croaks, and
# whether the call is answered where it stands or is an ordinary one. The methods are those of the symbol tables: one
# that is not called here fails the test. (leaks.t, serial-leaks.t: mappings, descriptors, all kinds of structures.)

plan skip_all => 'Test::LeakTrace is not here' if !eval { require Test::LeakTrace; 1 };
watchdog(1800);
my %setting = settings(calls => 2_000);
no warnings;    # undef and references are given as keys

# A process that waits for nobody: a lock that somebody has is a croak at once.
Shared::Arena::_lock_patience(0);

my $arena  = Shared::Arena->create(size => 8 << 20, regions => 16);
my $named  = Shared::Arena->create(size => 4096, name => 'there');
my $map    = $arena->map('m', slots => 64);
my $full   = $arena->map('full', slots => 1);
my $serial = $arena->map('s', slots => 16, serialise => 1);
my $rate   = $arena->rate('l', slots => 64);
$arena->region('r', size => 64);
$full->store('other', 'v');
$map->store('text', 'abc');
$map->incr('most', 2**62);
$serial->store('damaged', 'a placeholder');
TestSlot->new($arena, 's', $serial, 'damaged')->plant("=\xF3rl\5\0\x28\x2B\x64\x51\x61a");

# Locks that somebody has who lives, and a spare buffer that there is not; the first stripe stands behind 128 bytes.
my ($held, $broken) = map { $arena->map($_, slots => 4) } 'held', 'broken';
$arena->poke('held', 128, pack 'L', getppid);
$arena->poke('broken', 132, pack 'L', 1 << 31);

my $dies = text_object('k', sub { die "no\n" });
my $tied = tied_value('k');
my $wide = "\x{263A}" x 50;
utf8::upgrade(my $up = "\xE9" x 50);

my %object = ('Shared::Arena' => '$arena', 'Shared::Arena::Map' => '$map', 'Shared::Arena::Rate' => '$rate');
my %dead   = ('Shared::Arena' => Shared::Arena->create, map { ref $_ => $_ } $arena->map('m', slots => 64), $arena->rate('l', slots => 64));
$_->DESTROY for values %dead;

# Perl's own, of loading and of threads.
my %exempt = map { $_ => 1 } qw(bootstrap CLONE CLONE_SKIP);

# What each method of an object may be given. From this come calls in every context, and those that croak: without
# arguments that it needs, with one too many, with an argument that dies, and on what is no live object.
my %given = (
    'Shared::Arena' => {
        region => [q('r')], regions => [], poke => [q('r'), 0, q('x')], peek => [q('r'), 0, 8], size => [], created => [], name => [],
        base => [], refused => [], map => [q('m'), 'slots => 64'], rate => [q('l'), 'slots => 64'],
    },
    'Shared::Arena::Map' => {
        store => [q('k'), q('v'), 'ttl => 5'], fetch => [q('k')], exists => [q('k')], delete => [q('k')], keys => [], stats => [],
        incr => [q('n'), 2, 'ttl_ms => 9'], counter => [q('n')], max_pair => [], capacity => [], serialised => [], _verify => [],
    },
    'Shared::Arena::Rate' => {
        allow => [q('k'), 1.5], remaining => [q('k'), 1.5], retry_after => [q('k'), 200], headers => [q('k'), 2], reset => [q('k')],
        forget => [q('k')], stats => [], slots => [],
    },
);

# Further calls, and what each croaks with, if it does.
my @more = (
    ['Shared::Arena->create(size => 4096)->map("x", slots => 4)'], ['Shared::Arena->create(size => 4096)->rate("x", slots => 64)'],
    ['Shared::Arena->create(size => 4096, name => "new"); Shared::Arena->attach("new"); Shared::Arena->destroy("new")'],
    ['Shared::Arena->create(name => "there")'], ['Shared::Arena->attach("none")'], ['Shared::Arena->destroy("none")'],
    ['Shared::Arena->attach("there")->map("x", slots => 4)'],
    ['Shared::Arena->have_atomics()'], ['Shared::Arena->have_atomics(1)', qr/Usage/],
    (map { ["Shared::Arena->$_(name => 'a/b')", qr/a\/b|Usage/], ["Shared::Arena->$_('a/b')", qr/./], ["Shared::Arena->$_('x' x 300)", qr/./],
        ["Shared::Arena->$_(\$dies)", qr/./], ["\$arena->$_('x')", qr/class method/], ["Elsewhere::Shared::Arena::$_('Elsewhere', 'x')", qr/./] } qw(create attach destroy)),
    (map { ["Shared::Arena->create($_)", qr/create/] } 'colour => 1', '{}', 'size => 0', 'size => "x"', 'size => 2**60', 'regions => 0', 'size => 2**45'),
    ['Shared::Arena::create("Elsewhere")', qr/derived/], ['Shared::Arena->create(name => $dies)', qr/no/],
    ['$arena->region("new", size => 2**40)'], ['$arena->region("none")'], ['$arena->region("r", size => 65)', qr/r/], ['$arena->region("x" x 32, size => 8)'],
    (map { ["\$arena->map($_)", qr/map/] } '"m", slots => 65', '"l"', '"m", slots => 64, serialise => 1', '"new", slots => 0', '"new", slots => "x"',
        '"new", slot_size => 1', '"new", colour => 1', '"new", {}', '"new", "slots"', '"new", slots => 2**30', '""', '"x" x 40'),
    (map { ["\$arena->rate($_)", qr/rate/] } '"l", slots => 4096', '"m"', '"new", limit => 0', '"new", window => "x"', '"new", slots => 2**30', '"new", limit => "inf"'),
    (map { ["\$arena->$_", qr/peek|poke/] } 'peek("r", 60, 8)', 'peek("r", -1, 8)', 'peek("r", "x", 8)', 'peek("r", 0, 2**50)', 'peek("none", 0, 1)',
        'poke("r", 60, "x" x 8)', 'poke("r", 1.5, "x")', 'poke("none", 0, "x")'),
    ['$map->store($_, "v")'], ['$map->store("k", undef)'], ['$map->store("k", "v" x 100_000)'], ['$full->store("k", "v")'], ['$full->incr("k")'],
    (map { ["\$map->store('k', 'v', $_)", qr/store/] } 'ttl => -1', 'ttl => "x"', 'ttl => 1, ttl_ms => 1', 'colour => 1', '{}', '"ttl"', 'ttl_ms => "nan"'),
    (map { ["\$map->incr($_)", qr/incr/] } '"n", "x"', '"n", 1.5', '"n", 2**64', '"n", 1, ttl => -1', '"n", 1, "ttl"', '"n", 1, ttl => 1, ttl_ms => 1'),
    ['$map->incr("most", 2**62)', qr/overflow/], ['$map->incr("text")'], ['$map->counter("text")'], ['$serial->incr("n")', qr/serialised/], ['$serial->counter("n")'],
    (map { ["\$held->$_", qr/lock|busy|held/i] } 'store("k", "v")', 'delete("k")', 'incr("k")'), ['$held->stats()'], ['$held->keys()'], ['$held->fetch("k")'],
    ['$broken->store("k", "v")', qr/damaged/], ['$broken->incr("k")', qr/damaged/], ['$broken->_verify()'],
    ['$serial->store("k", {list => [1, \\ 2, undef, qr/x/i]}); $serial->fetch("k")'], ['$serial->store("k", "x" x 100_000)'],
    (map { ["\$serial->store('k', [1, {a => $_}])", qr/cannot store/] } 'sub { }', '\*STDOUT', 'qr/(?{ 1 })/', '*STDOUT{IO}', '\substr($up, 1)'),
    ['$serial->store("k", {a => bless [], join "::", 1 .. 200})', qr/cannot store/], ['$serial->fetch("damaged")'], ['my @x = $serial->fetch("damaged")', qr/corrupt/],
    (map { my $call = $_; map { ["\$rate->$call('k', $_)", qr/cost/] } '-1', '"x"', '"inf"', '"nan"' } qw(allow remaining retry_after headers)),
    ['Shared::Arena::_set_clock(undef, undef)'], ['Shared::Arena::_set_clock("x", undef)', qr/seconds/], ['Shared::Arena::_clock_reads()'],
    ['Shared::Arena::_clock_reads(1)', qr/Usage/], ['Shared::Arena::_call_sites()'], ['Shared::Arena::_nothing()'], ['Shared::Arena::_lock_patience(0)'],
    ['Shared::Arena::_lock_patience(undef)', qr/Usage/], ['Shared::Arena::_compile("a(b)", "i")'], ['Shared::Arena::_compile("a(", "")', qr/./],
    ['Shared::Arena::_encode([1])'], ['Shared::Arena::_encode(sub { })', qr/./], ['Shared::Arena::_decode(Shared::Arena::_encode([1]))'],
    ['Shared::Arena::_decode("x")', qr/corrupt/], ['Shared::Arena::_failpoints()'], ['Shared::Arena::_failpoint_names()'],
    ['Shared::Arena::_failpoint("none", "off")', qr/./], ['Shared::Arena::_failpoint("x", "y")', qr/Usage/],
    ['{ my $own = $arena->map("m", slots => 64); $own->DESTROY(); $own->DESTROY() }'], ['Shared::Arena::DESTROY(undef)'], ['Shared::Arena::Map::DESTROY($rate)'],
    ['{ my $own = Shared::Arena->create(size => 4096); $own->DESTROY() }'], ['{ my $own = $arena->rate("l", slots => 64); $own->DESTROY() }'],
);

# Every call as [code, the croak], in text; the object stands in $o.
sub calls_of {
    my ($class, $method) = @_;
    my @given = @{ $given{$class}{$method} };
    my ($o, $all) = ($object{$class}, join ', ', @given);
    my @calls = map {[$_]} "$o->$method($all)", "my \$x = $o->$method($all)", "my \@x = $o->$method($all)", "for ($o->$method($all)) { }";
    push @calls, ["$o->$method()", qr/Usage/] if @given;
    push @calls, ["$o->$method(" . join(', ', @given, q('x')) . ')', qr/Usage|come in pairs/];
    push @calls, map { ["$_->$method($all)", qr/not a live/] } '$bad', '$dead', '$foreign', '$class';
    for my $place (0 .. $#given) {
        my ($name) = $given[$place] =~ /^(\w+ => )/;
        for my $value (qw($dies $$tied $wide $up undef [])) {
            my @others = @given;
            $others[$place] = ($name // '') . $value;
            push @calls, ["$o->$method(" . join(', ', @others) . ')', $value eq '$dies' ? qr/^no$/ : 'either'];
        }
    }
    return @calls;
}

my %way = (
    'where it stands' => sub { $_[0] },
    'by name'         => sub { my ($text) = @_; $text =~ s/->(\w+)\(/->\${\\'$1'}(/g; return $text },
    'as a function'   => sub { my ($text, $class) = @_; $text =~ s/(\$\w+)->(\w+)\(/${class}::$2($1, /g if $class; return $text },
);

sub kilobytes { my ($pages) = read_file('/proc/self/statm') =~ /\A\d+ (\d+)/; return $pages * 4 }

my %count;
sub check {
    my ($name, $class, @calls) = @_;
    my ($dead, $bad) = ($dead{$class}, bless \(my $n = 1), $class || 'Elsewhere');
    my $foreign = bless $class eq 'Shared::Arena::Map' ? $arena->rate('l', slots => 64) : $arena->map('m', slots => 64), ref $bad;
    subtest $name => sub {
        for my $way (sort keys %way) {
            my @subs;
            for my $call (@calls) {
                my ($text, $croak) = @$call;
                my $code = eval 'sub { local $@; eval { ' . $way{$way}->($text, $class) . '; 1 }; $@ }' or die "$text: $@";
                $_ = 'k';
                my $died = $code->() for 1 .. 3;
                $died = $code->();
                my $leaked = Test::LeakTrace::leaked_count(sub { $code->() });
                $count{ $died eq '' ? 'answered' : 'croaked' }++;
                my $as_said = $croak eq 'either' || ($croak ? $died =~ $croak : $died eq '');
                fail("$way: $text: $leaked scalars leaked; " . ($died eq '' ? 'answered' : $died)) if $leaked || !$as_said;
                push @subs, $code;
            }
            my $before = kilobytes();
            for (1 .. $setting{calls}) { $_->() for @subs }
            my $more = kilobytes() - $before;
            cmp_ok $more, '<', $setting{calls} * 30 / 1024 + 100, scalar(@subs) . " calls, $way: $more kB more";
        }
    };
    return;
}

my @missing;
my $more = join ' ', map { $_->[0] } @more;
for my $class (sort keys %object) {
    no strict 'refs';
    for my $method (sort grep { defined &{"${class}::$_"} && !$exempt{$_} } keys %{"${class}::"}) {
        if    ($given{$class}{$method})          { check("$class $method", $class, calls_of($class, $method)); $count{methods}++ }
        elsif ($more =~ /\b(?:->|::)\Q$method\E\(/) { $count{methods}++ }
        else                                     { push @missing, "$class $method" }
    }
}
check('further calls and croaks', '', @more);
is_deeply \@missing, [], 'every method is called here';
cmp_ok Shared::Arena::_call_sites(), '>', 0, 'calls are answered where they stand';
Shared::Arena->destroy('there');
shown("$count{methods} methods, $count{answered} calls that answer and $count{croaked} that croak, each made $setting{calls} times: nothing leaked");

done_testing;
