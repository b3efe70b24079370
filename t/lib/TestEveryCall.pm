package TestEveryCall;

# Every method of an arena, its maps and its limiters, with all sorts of arguments: in list, scalar and void context,
# answered at the call site and by a method call that perl makes.

use strict;
use warnings;

use Exporter 'import';
use Shared::Arena;
use TestArena;

our @EXPORT = qw(every_call arguments use_objects make_arena objects_of what_is_wrong);

our @Map  = (slots => 24, slot_size => 80);
our @Docs = (slots => 10, slot_size => 200, serialise => 1);
our @Rate = (limit => 5, window => 1000, slots => 64);
our @Wide = (limit => 1000, window => 60, slots => 128);

# What the calls are made on. Some calls put other objects here, for those after them.
our ($arena, $map, $docs, $rate, $wide, $name);
my @All = \($arena, $map, $docs, $rate, $wide, $name);

# The addresses that have guards around them.
our %Fenced;

sub use_objects { my @objects = @_; ${ $All[$_] } = $objects[$_] for 0 .. $#All; return }

# Keys that are there and keys that are not, and what is none.
my @Keys  = (map({"key $_"} 1 .. 20), map({"key $_"} 1 .. 20), 'new', 'newer', "caf\xE9", "\x{263A}", 'k' x 40, '', 'x' x 300);
my @Costs = (0, 0.5, 1, 2, 2.5, 5, 1e9);
our $Text  = 'v' x 30;
our $List  = [1, { a => ['text', undef, \'x'] }, 'more text' x 3];
our $Object = bless { list => [1 .. 5, 'x' x 20] }, 'Some::Class';

# (Hashes of one key: the order of several would differ from run to run.)

# With $key and $cost of those above; calls for which any key will do come in one form only.
my @Sources = (
    '$map->fetch($key)', '$map->exists($key)', '$map->delete($key)', '$map->counter($key)',
    '$map->incr($key)', '$map->incr($key, 3)', '$map->incr($key, -(1 << 62))', '$map->incr($key, 1, ttl => 5)',
    '$map->store($key, "v")', '$map->store($key, $Text)', '$map->store($key, "x" x 48)', '$map->store($key, undef)',
    '$map->store($key, 7)', '$map->store($key, "")', '$map->store($key, "v", ttl => 5)',
    '$map->store($key, $Text, ttl_ms => 1)', '$map->store($key, "eight by")', '$map->store($key, pack "q", 5)',
    '$map->keys', '$map->stats', '$map->max_pair', '$map->capacity', '$map->serialised', '$map->_verify',
    '$docs->fetch($key)', '$docs->exists($key)', '$docs->delete($key)', '$docs->counter($key)', '$docs->incr($key)',
    '$docs->store($key, $List)', '$docs->store($key, $Object)', '$docs->store($key, "text")', '$docs->store($key, 5)',
    '$docs->store($key, undef)', '$docs->store($key, qr/a.b/i, ttl => 5)', '$docs->store($key, "x" x 300)',
    '$docs->keys', '$docs->stats', '$docs->max_pair', '$docs->capacity', '$docs->serialised', '$docs->_verify',
    map({ my $limiter = $_; map {"$limiter->$_"}
        'allow($key)', 'allow($key, $cost)', 'remaining($key)', 'remaining($key, $cost)', 'retry_after($key)',
        'retry_after($key, $cost)', 'headers($key)', 'headers($key, $cost)', 'reset($key)', 'forget($key)', 'slots', 'stats',
    } '$rate', '$wide'),
    '$arena->size', '$arena->created', '$arena->name', '$arena->base', '$arena->refused', '$arena->have_atomics',
    'Shared::Arena->have_atomics', '$arena->regions', '$arena->region("raw")', '$arena->region("map")', '$arena->region("none")',
    '$arena->region("raw", size => 100)', '$arena->region("raw", size => 99)', '$arena->region("new", size => 16)',
    '$arena->region("large", size => 1500)', '$arena->peek("raw", 0, 100)', '$arena->peek("raw", 3, 20)',
    '$arena->peek("map", 0, 2000)', '$arena->peek("rate", 4000, 1000)', '$arena->poke("raw", 0, "x" x 100)',
    '$arena->poke("raw", 91, "x" x 9)', '$arena->poke("raw", 92, "x" x 9)', '$arena->poke("docs", 100, "x" x 40)',
    '$arena->map("map", @Map)', '$arena->map("docs", @Docs)', '$arena->map("raw", @Map)', '$arena->map("fresh", slots => 3, slot_size => 40)',
    '$arena->map("map", slots => 25, slot_size => 80)', '$arena->rate("rate", @Rate)', '$arena->rate("map", @Rate)',
    '$arena->rate("fresh", limit => 2, window => 1, slots => 64)', '$arena->rate("rate", limit => 6, window => 1000, slots => 64)',
    # And goes on with what it got.
    '$map = $arena->map("map", @Map)', '$docs = $arena->map("docs", @Docs)', '$rate = $arena->rate("rate", @Rate)',
    '$wide = $arena->rate("wide", @Wide)', 'attached(Shared::Arena->attach($name))',
    'attached(Shared::Arena->create(name => $name, size => 64))', 'destroyed()',
);

# Calls are made only on what lies between guards.
our ($Guarded, $Unguarded) = (0, 0);

sub attached {
    my ($fresh) = @_;
    return if !$fresh;
    if ($Fenced{ $fresh->base }) { $arena = $fresh; $Guarded++ }
    else                         { $Unguarded++ }
    return $fresh;
}

# Removes a name of the file. It is made and removed at once, since nobody attaches to a file of two names.
sub destroyed {
    link arena_path($name), arena_path('doomed') or die "link: $!";
    return Shared::Arena->destroy('doomed');
}

my %Context = (
    list   => sub {"[my \@answer = $_[0]]"},
    scalar => sub {"[scalar($_[0])]"},
    void   => sub {"do { $_[0]; [1] }"},
);

# All of them: the name, and the code, which takes a key and a cost and returns a reference to what was answered.
sub every_call {
    my @calls;
    for my $source (@Sources) {
        for my $way ($source, _ordinary($source)) {
            for my $context (sort keys %Context) {
                # An assignment gives its object in any context.
                next if $context ne 'scalar' && $way =~ / = /;
                my $code = eval 'sub { my ($key, $cost) = @_; no warnings "void"; ' . $Context{$context}->($way) . ' }';
                die "$way: $@" if !$code;
                push @calls, ["$way, $context", $code];
            }
        }
    }
    return @calls;
}

# The same call with a method whose name only the running program knows. Only calls on objects have two ways.
sub _ordinary {
    my ($source) = @_;
    return $source =~ s/\A(\$\w+)->(\w+)/$1->\${\\"$2"}/ ? $source : ();
}

# A key and a cost.
sub arguments { return ($Keys[rand @Keys], $Costs[rand @Costs]) }

# What is wrong with an arena that nobody has damaged.
sub what_is_wrong {
    my @wrong = map { my %verdict = $_->_verify; $verdict{ok} ? () : $verdict{problem} } $map, $docs;
    push @wrong, 'a key has another value' if ($map->fetch('key 9') || '') ne 'vvvvv';
    push @wrong, 'another level' if $wide->remaining('key 9') != 1;
    return @wrong;
}

# The arena, its maps and its limiters, in the order of use_objects.
sub objects_of {
    my ($of) = @_;
    return ($of, $of->map('map', @Map), $of->map('docs', @Docs), $of->rate('rate', @Rate), $of->rate('wide', @Wide));
}

# An arena with a bit of everything in it; its file is changed by the code given, before anything is.
sub make_arena {
    my ($made, $size, $change) = @_;
    { my $new = Shared::Arena->create(name => $made, size => $size, regions => 9) }
    $change->(arena_path($made));
    my $new = Shared::Arena->attach($made);
    my (undef, $plain, $structures, $limiter, $wider) = objects_of($new);
    $new->region('raw', size => 100);
    my @keys = map {"key $_"} 1 .. 20;
    $plain->store($_, 'v' x length) for @keys[0 .. 11];
    $plain->store($_, 'lapsing', ttl => 10) for @keys[12 .. 14];
    $plain->incr($_, 7) for @keys[15 .. 17];
    $plain->delete($keys[3]);
    my @values = ($List, $Object, [$Object, $Object], qr/x+/, 'text', { a => { b => { c => [1 .. 20] } } }, \\'ref', undef);
    $structures->store($keys[$_], $values[$_]) for 0 .. $#values;
    $structures->store($keys[1], $Object, ttl => 10);
    $limiter->allow($_, 2), $wider->allow($_, 999) for @keys;
    return $new;
}

1;
