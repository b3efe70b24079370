use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use TestArena;
use TestMagic;
use Test::More;

use Shared::Arena;

# A bad option croaks: the message names the class, the option and the value, and the caller's line. Nothing is made.

my $arena = Shared::Arena->create;
my $map   = $arena->map('map', slots => 16);
my $rate  = $arena->rate('rate', slots => 64);
$map->store('old', 'value');
$map->incr('n', 5);

# Every call that takes options: the class its messages name, the invocant, the method and what comes before the options.
my %call = (
    'create' => [qr/Shared::Arena/,      'Shared::Arena', 'create'],
    'map'    => [qr/Shared::Arena/,      $arena, 'map',    'new'],
    'rate'   => [qr/Shared::Arena/,      $arena, 'rate',   'new'],
    'region' => [qr/Shared::Arena/,      $arena, 'region', 'new'],
    'store'  => [qr/Shared::Arena::Map/, $map,   'store',  'old', 'new'],
    'incr'   => [qr/Shared::Arena::Map/, $map,   'incr',   'n', 1],
);

# How a message may show a value: large numbers and infinities in any spelling.
sub as_shown {
    my ($shown) = @_;
    return qr/inf|nan/i        if $shown =~ /inf|nan/i;
    return qr/\Q$shown\E|refer/ if $shown =~ /\A[A-Z]+\z/;
    return qr/\d/              if $shown =~ /\de|but/;
    return qr/\Q$shown\E/;
}

my %infinity = (inf => 9**9**9, minus => -9**9**9, nan => -sin(9**9**9));
my @no_number  = ('x', '', '12monkeys', '0x10', [], {}, \1, 'Inf', 'NaN', $infinity{inf}, $infinity{minus}, $infinity{nan});
my @no_count   = (@no_number, 0, -1, '-5', '0 but true', 1.5, 2**63, 2**64, 1e300, '18446744073709551616');
my @no_measure = (@no_number, -1, -0.001);
my @no_ttl     = ('x', '', '12monkeys', '0x10', [], {}, \1, 'NaN', $infinity{nan}, $infinity{minus}, -1, -0.001);

my %bad = (
    'create size'      => [@no_count, 2**47],
    'create regions'   => [@no_count, 65_537],
    'map slots'        => [@no_count, 2**31 + 1, 2**33],
    'map slot_size'    => [@no_count, 1, 32, 2**30 + 1],
    'rate slots'       => [@no_count, 2**31 + 1, 2**33],
    'rate limit'       => [@no_measure, 0, 1.1e9, 1e300],
    'rate window'      => [@no_measure, 0, 315_576_001, 1e300],
    'region size'      => [@no_count, 2**47],
    'store ttl'        => [@no_ttl],
    'store ttl_ms'     => [@no_ttl],
    'incr ttl'         => [@no_ttl],
    'incr ttl_ms'      => [@no_ttl],
);

for my $what (sort keys %bad) {
    my ($method, $option) = split / /, $what;
    my ($class, $on, $name, @first) = @{ $call{$method} };
    subtest "$what must make sense" => sub {
        for my $value (@{ $bad{$what} }) {
            my $shown = ref $value ? ref $value : $value;
            croaks_like { $on->$name(@first, $option => $value) } qr/$class.*\b$option\b.*${ \ as_shown($shown) }/s, "'$shown'";
        }
    };
}

for my $method (sort keys %call) {
    my ($class, $on, $name, @first) = @{ $call{$method} };
    subtest "$method wants pairs it knows" => sub {
        croaks_like { $on->$name(@first, 'slots') } qr/$class.*(?:odd|pair|no value|unknown)/is, 'an odd list';
        croaks_like { $on->$name(@first, 1 .. 3) } qr/$class|Usage/, 'three values';
        croaks_like { $on->$name(@first, colour => 3) } qr/$class.*colour/s, 'an unknown name';
        croaks_like { $on->$name(@first, '' => 3) } qr/$class/, 'an empty name';
        croaks_like { $on->$name(@first, SIZE => 3, SLOTS => 3, TTL => 3) } qr/$class.*SIZE/s, 'names are case-sensitive';
    };
}

# What a call that went wrong is told: the wording, and the method as it should be called.
my %usage = (
    create => 'Shared::Arena->create([size => bytes][, name => $name][, regions => count])',
    map    => '$arena->map($name[, slots => count][, slot_size => bytes][, serialise => bool])',
    rate   => '$arena->rate($name[, limit => number][, window => seconds][, slots => count])',
    region => '$arena->region($name[, size => bytes])',
    store  => '$map->store($key, $value[, ttl => seconds | ttl_ms => milliseconds])',
    incr   => '$map->incr($key[, $by[, ttl => seconds | ttl_ms => milliseconds]])',
);

my %known = (
    create => 'size, name, regions',
    map    => 'slots, slot_size, serialise',
    rate   => 'limit, window, slots',
    region => 'size',
    store  => 'ttl, ttl_ms',
    incr   => 'ttl, ttl_ms',
);

for my $method (sort keys %call) {
    my ($class, $on, $name, @first) = @{ $call{$method} };
    subtest "$method says how it is called" => sub {
        my $usage = qr/; usage: \Q$usage{$method}\E at /;
        my $tied  = tied_value({});
        croaks_like { $on->$name(@first, 16) } qr/$class->$name: options come in pairs, and '16' has no value$usage/, 'a lone value';
        croaks_like { $on->$name(@first, undef) } qr/ and undef has no value$usage/, 'undef';
        croaks_like { $on->$name(@first, "a \x{263a}") } qr/ and 'a \\x\{263a\}' has no value$usage/, 'text';
        croaks_like { $on->$name(@first, $_) } qr/$class->$name: options are a list of pairs, not a reference$usage/, ref
            for {size => 1}, [size => 1];
        croaks_like { $on->$name(@first, $$tied) } qr/not a reference$usage/, 'a reference in a tied scalar';
        croaks_like { $on->$name(@first, size => 1, {}) } qr/ and 'HASH\(0x[0-9a-f]+\)' has no value$usage/, 'a reference at the end';
        croaks_like { $on->$name(@first, slotsize => 16) } qr/$class->$name: unknown option 'slotsize' \(known: $known{$method}\) at /,
            'the options it knows';
    };
}

subtest 'a forgotten argument' => sub {
    croaks_like { $arena->map(slots => 16) } qr/'16' has no value; usage: \Q$usage{map}\E/, 'the name of a map';
    croaks_like { $arena->rate(limit => 1, window => 60) } qr/'60' has no value; usage: \Q$usage{rate}\E/, 'of a limiter';
    croaks_like { Shared::Arena->create('shop') } qr/'shop' has no value; usage: \Q$usage{create}\E/, "'name =>'";
    croaks_like { $map->store('old', 'new', 60) } qr/'60' has no value; usage: \Q$usage{store}\E/, "'ttl =>'";
    for (['ttl', ttl => 60], ['HASH', {ttl => 60}], ['1.5', 1.5]) {
        my ($shown, @arguments) = @$_;
        croaks_like { $map->incr('n', @arguments) }
            qr/Shared::Arena::Map->incr: the addend '\Q$shown\E.*' is not a signed 64-bit integer; usage: \Q$usage{incr}\E/,
            "the addend: $shown";
    }
};

subtest 'a deadline is given once' => sub {
    croaks_like { $map->store('old', 'new', ttl => 1, ttl_ms => 1) } qr/Shared::Arena::Map.*ttl.*ttl_ms/s, 'store';
    croaks_like { $map->incr('n', 1, ttl_ms => 1, ttl => 1) } qr/Shared::Arena::Map.*ttl.*ttl_ms/s, 'incr';
};

subtest 'too far or too near for any option is fine for a deadline' => sub {
    is $map->store("far $_", 1, ttl => $_), 1, "ttl $_" for 1e12, 1e300, 9**9**9, 1e-9;
    is $map->store("far $_", 1, ttl_ms => $_), 1, "ttl_ms $_" for 1e15, 1e300, 'Inf', 0.001;
};

subtest 'nothing came of it' => sub {
    is_deeply [$arena->regions], [qw(map rate)], 'nothing was carved';
    is_deeply [$map->fetch('old')], ['value'], 'nothing was stored';
    is $map->counter('n'), 5, 'nothing was counted';
    is_deeply [arena_files()], [], 'no file was made';
    ok $arena->map('new'), 'the name is still free';
};

subtest 'a named arena with bad options is not made' => sub {
    croaks_like { Shared::Arena->create(name => 'not', size => -1) } qr/size/, 'bad size';
    croaks_like { Shared::Arena->create(name => 'not', colour => 1) } qr/colour/, 'unknown option';
    croaks_like { Shared::Arena->create(name => 'not', 'size') } qr/odd|pair|no value/i, 'odd list';
    is_deeply [arena_files()], [], 'no file';
};

subtest 'good options in any form' => sub {
    my $fresh = Shared::Arena->create(size => '1048576', regions => 8.0);
    my $upgraded = 'slots';
    utf8::upgrade($upgraded);
    is $fresh->map('a', $upgraded => '1e2')->capacity, 100, 'a number in scientific notation, an upgraded option name';
    is $fresh->map('b', slots => '3.0')->capacity, 3, 'a whole number with a point';
    is $fresh->map('c', slots => 5, serialise => $_)->capacity, 5, 'serialise off' for 0, '', undef;
    is $fresh->rate('d', limit => 0.5, window => '0.25', slots => 64)->slots, 64, 'fractions where they make sense';
};

subtest 'serialise is true or false' => sub {
    my $fresh = Shared::Arena->create(size => 1 << 20);
    is !!$fresh->map("true $_", slots => 5, serialise => $_)->serialised, !!1, "true: $_" for 1, 'yes', '0.0', -1;
    is !!$fresh->map('false ' . ($_ // 'undef'), slots => 5, serialise => $_)->serialised, !!0, 'false' for 0, '', undef;
};

subtest 'options of calls on serialised maps' => sub {
    my $serialised = $arena->map('serialised', slots => 16, serialise => 1);
    $serialised->store('old', ['value']);
    for my $option (qw(ttl ttl_ms)) {
        for my $value (@no_ttl) {
            my $shown = ref $value ? ref $value : $value;
            croaks_like { $serialised->store('old', ['new'], $option => $value) } qr/Shared::Arena::Map.*\b$option\b.*${ \ as_shown($shown) }/s, "$option '$shown'";
        }
    }
    croaks_like { $serialised->store('old', ['new'], 60) } qr/'60' has no value; usage: \Q$usage{store}\E/, 'half a pair';
    croaks_like { $serialised->store('old', ['new'], colour => 1) } qr/unknown option 'colour'/, 'an unknown one';
    croaks_like { $serialised->incr('old', 'x') } qr/Shared::Arena::Map/, 'an addend that is none';
    is_deeply [$serialised->fetch('old')], [['value']], 'and nothing was stored';
};

done_testing;
