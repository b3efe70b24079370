use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use TestArena;
use TestScalars;
use TestSerial;
use TestTies;
use Test::More;

use Encode ();
use Shared::Arena;

# What cannot be stored is refused with its kind and its place, what is too long with -1, and the old value stands, with
# its deadline, in both cases.

my @warnings;
$SIG{__WARN__} = sub { push @warnings, @_ };

my $map = serial_map(slots => 8, slot_size => 2048);

format NAMED =
.

my $text = 'some text';
my %kinds = (
    'CODE reference'   => [sub { }, \&croaks_like, bless(sub { }, 'My::Sub')],
    'GLOB reference'   => [\*STDOUT, \*Never::Opened, do { open my $handle, '<', $0 or die; $handle }, bless(\do { no warnings; local *ANY }, 'My::Glob')],
    'IO reference'     => [*STDOUT{IO}, bless(*STDIN{IO}, 'My::Handle')],
    'FORMAT reference' => [*NAMED{FORMAT}],
    'LVALUE reference' => [\substr($text, 1, 2), \vec($text, 0, 1), \pos($text)],
    'GLOB'             => [*STDOUT, *Never::Opened],
);

# Where it can stand, and how that is written.
my %places = (
    'the value'            => sub { $_[0] },
    '[0]'                  => sub { [$_[0]] },
    '[2]'                  => sub { ['before', [1], $_[0], 'after'] },
    '{handler}'            => sub { { handler => $_[0] } },
    '{config}{handler}[2]' => sub { { config => { handler => [0, 1, $_[0]] }, other => 1 } },
    '$*'                   => sub { my $thing = $_[0]; \$thing },
    '$*$*'                 => sub { my $thing = $_[0]; \\$thing },
    '{a}$*[0]'             => sub { { a => \[$_[0]] } },
    '[1]$*{b}'             => sub { [{ c => 1 }, \{ b => $_[0] }] },
    '[0][0][0][0]'         => sub { [[[[$_[0]]]]] },
    '[1][0]'               => sub { my $shared = [1]; [[$shared, { a => $shared }], [$_[0]], $shared] },
    '{object}[1]'          => sub { bless { object => bless [1, $_[0]], 'My::List' }, 'My::Hash' },
    '[1]{key}'             => sub { tied_array([0, tied_hash({ key => $_[0] })]) },
    '{_private}'           => sub { { _private => $_[0] } },
    '{0}'                  => sub { { 0 => $_[0] } },
    '{key2}{CamelCase}'    => sub { { key2 => { CamelCase => $_[0] } } },
);

subtest 'what was there stands' => sub {
    set_clock(1_700_000_000);
    $map->store('k', { old => ['value', \'x'] }, ttl => 100);
    $map->store('other', 'neighbour');
    my %before = $map->stats;
    for my $kind (sort keys %kinds) {
        for my $thing (@{ $kinds{$kind} }) {
            for my $key ('k', 'new') {
                ok !eval { $map->store($key, [1, $thing], ttl => 500); 1 }, "$kind is refused";
                ok !eval { $map->store($key, { a => $thing }); 1 }, 'with and without a time to live';
            }
        }
    }
    my %after = $map->stats;
    is_deeply \%after, \%before, 'nothing was counted';
    is_deeply [sort $map->keys], ['k', 'other'], 'no key came of it';
    set_clock(1_700_000_099);
    is_deeply [$map->fetch('k')], [{ old => ['value', \'x'] }], 'the old value stands';
    set_clock(1_700_000_101);
    is_deeply [$map->fetch('k')], [], 'and its deadline';
    real_clock();
};

$map->store('k', 'old');

for my $kind (sort keys %kinds) {
    subtest "$kind, everywhere" => sub {
        for my $place (sort keys %places) {
            for my $thing (@{ $kinds{$kind} }) {
                next if $place =~ /\$\*\z/ && $kind eq 'GLOB';    # a reference to a glob is one
                croaks_like { $map->store('k', $places{$place}->($thing)) }
                    qr/\AShared::Arena::Map->store: cannot store \Q$place\E: \Q$kind\E at /, $place;
            }
        }
    };
}

subtest 'a glob behind a reference is a glob reference' => sub {
    my $glob = *STDOUT;
    croaks_like { $map->store('k', \$glob) } qr/cannot store the value: GLOB reference at /, 'itself';
    croaks_like { $map->store('k', [\\$glob]) } qr/cannot store \[0\]\$\*: GLOB reference at /, 'and further in';
};

subtest 'odd keys in a message' => sub {
    for my $key ('', ' ', 'a b', "a\nb", "a\0b", '}', '{', ']', "'", '"', '\\', '$*', '-', "caf\xE9", upgraded("caf\xE9"), "\x{263A}", "\e[31m", "\x7F", 'a.b', 'a-b', 'x' x 100_000, "\x{263A}" x 10_000, do { no warnings; chr 0x110000 }) {
        my $shown = length $key > 20 ? 'a long key' : join '.', map { ord } split //, $key;
        my $lived = eval { $map->store('k', { $key => [sub { }] }); 1 };
        ok !$lived, "key $shown";
        like $@, qr/\AShared::Arena::Map->store: cannot store \{[^\x00-\x1F\x7F]*\}\[0\]: CODE reference at \Q$0\E line \d+\.\n\z/, 'is in the message without control characters';
        cmp_ok length $@, '<', 1000, 'and at no more length than helps';
    }
    croaks_like { $map->store('k', { 'a b' => { "c'd" => sub { } } }) } qr/cannot store \{.*a b.*\}\{.*c.*d.*\}: CODE reference/, 'readable, where it can be';
    my $deep = sub { };
    $deep = [$deep] for 1 .. 5000;
    ok !eval { $map->store('k', $deep); 1 }, 'a long way in';
    like $@, qr/\AShared::Arena::Map->store: cannot store .*\[0\].*: CODE reference at \Q$0\E line \d+\.\n\z/, 'is said';
    cmp_ok length $@, '<', 20_000, 'in reason';
    is_deeply [$map->fetch('k')], ['old'], 'and the old value stands';
};

subtest 'text whose UTF-8 is broken' => sub {
    for my $broken ("\xC3", "abc\xE2\x98", "\x80", "\xC3\x28") {
        my $text = $broken;
        Encode::_utf8_on($text);
        for my $value ($text, [$text, 1], { a => $text }, do { no warnings 'utf8'; +{ $text => 1 } }) {
            my $stored;
            is_deeply [warnings_of { $stored = eval { $map->store('k', $value) } }], [], 'without a warning';
            is $stored, undef, 'it is refused';
            like $@, qr/\AShared::Arena::Map->store: cannot store .*malformed UTF-8 at \Q$0\E line \d+\.\n\z/s, 'where it is stored';
            unlike $@, qr/\\0/, 'with nothing in the message that is not in the text';
        }
        is_deeply [$map->fetch('k')], ['old'], 'and not where it is fetched';
    }
};

subtest 'objects whose dereference gives nothing of use' => sub {
    { package My::Text;    use overload '@{}' => sub {'no reference'} }
    { package My::Nothing; use overload '%{}' => sub {undef} }
    { package My::Endless; use overload '@{}' => sub { bless [], 'My::Endless' } }
    { package My::Code;    use overload '@{}' => sub { [sub { }] } }
    for my $class (qw(My::Text My::Nothing My::Endless)) {
        croaks_like { $map->store('k', [bless {}, $class]) } qr/\AShared::Arena::Map->store: cannot store \[0\]: $class object whose overloaded dereference /, $class;
    }
    croaks_like { $map->store('k', { a => bless {}, 'My::Code' }) } qr/cannot store \{a\}\[0\]: CODE reference/, 'or what cannot be stored';
    is_deeply [$map->fetch('k')], ['old'], 'the old value stands';
};

subtest 'the first of several is named, whatever else there is' => sub {
    croaks_like { $map->store('k', [1, \*STDOUT, sub { }]) } qr/cannot store \[1\]: GLOB reference/, 'in the order of an array';
    croaks_like { $map->store('k', ['x' x 5000, sub { }]) } qr/cannot store \[1\]: CODE reference/, 'also if the rest is too long';
    croaks_like { $map->store('k', [('x' x 100) x 1000, { y => [sub { }] }]) } qr/cannot store \[1000\]\{y\}\[0\]: CODE reference/, 'by far';
    croaks_like { $map->store('', [sub { }]) } qr/cannot store \[0\]: CODE reference/, 'or the key is empty';
    croaks_like { $map->store('k' x 5000, [sub { }]) } qr/cannot store \[0\]: CODE reference/, 'or too long';
    my $code = sub { };
    croaks_like { $map->store('k', [{ code => $code }, $code]) } qr/cannot store \[0\]\{code\}: CODE reference/, 'one in two places';
    is_deeply [$map->fetch('k')], ['old'], 'and the old value stands';
};

subtest 'too long' => sub {
    set_clock(1_700_000_000);
    $map->store('k', { old => 'value' }, ttl => 100);
    my %before = $map->stats;
    for my $large ('x' x 2048, ['x' x 2048], [1 .. 3000], { map { $_ => $_ } 1 .. 1000 }, [map { \$_ } 1 .. 3000], "\x{263A}" x 1000, 'x' x 10_000_000, [('x' x 1000) x 1000]) {
        is $map->store('k', $large), -1, 'is refused with -1';
        is $map->store('new', $large, ttl => 500), -1, 'a new key, too';
    }
    my %after = $map->stats;
    is_deeply \%after, \%before, 'nothing was counted';
    is_deeply [$map->fetch('k')], [{ old => 'value' }], 'the old value stands';
    ok !$map->exists('new'), 'and no new one came';
    is $map->store('k' x 2000, [1 .. 10]), -1, 'a key that leaves no room';
    is $map->store('', [1]), -1, 'the empty key';
    ok eval { no warnings 'uninitialized'; $map->store(undef, [1]) == -1 }, 'undef is the empty key';
    set_clock(1_700_000_101);
    is_deeply [$map->fetch('k')], [], 'the old deadline counts';
    real_clock();
};

subtest 'to the byte' => sub {
    # A long string takes three bytes and a document's header six.
    for my $slot_size (300, 1000, 5000) {
        my $tight = serial_map(slots => 4, slot_size => $slot_size);
        my $room  = $tight->max_pair - 3 - 6 - length 'key';
        is $tight->store('key', 'x' x $room), 1, "$room bytes fit";
        is_deeply [$tight->fetch('key')], ['x' x $room], 'and come back';
        is $tight->store('key', 'y' x ($room + 1)), -1, 'one more does not';
        is_deeply [$tight->fetch('key')], ['x' x $room], 'and leaves what was there';
        is $tight->store('keys', 'z' x $room), -1, 'nor does a longer key';
        is $tight->store('ke', 'z' x ($room + 1)), 1, 'a shorter one makes room';
    }
    my $tight = serial_map(slots => 4, slot_size => 400);
    my ($most, $least) = (0, 1000);
    for my $count (1 .. 400) {
        my $stored = $tight->store('k', [map { $_ % 16 } 1 .. $count]);
        $stored == 1 ? ($most = $count) : ($least = $count < $least ? $count : $least);
    }
    is $least, $most + 1, 'arrays fit up to a length, and from there on do not';
    is_deeply [$tight->fetch('k')], [[map { $_ % 16 } 1 .. $most]], 'the longest stands';
    my $tiny = serial_map(slots => 4, slot_size => 33);
    is $tiny->store('k', [1, 2, 3]), -1, 'the smallest of maps takes no structure';
    is_deeply [$tiny->fetch('k')], [], 'and has none';
};

is_deeply \@warnings, [], 'without a warning';

done_testing;
