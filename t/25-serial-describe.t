use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use TestArena;
use TestDescribe;
use TestScalars;
use Test::More;

use B ();
use Encode ();
use Scalar::Util qw(dualvar weaken);

# The other tests say that a structure is the same as another if their descriptions are. So whatever can differ shows
# in them, and describing something leaves no trace on it.

sub same { return \@_ }
sub weak { my ($reference) = @_; my $holder = [$reference]; weaken $holder->[0]; return $holder }

# Each differs from all others. Those with the same first words differ in one respect only.
my %made = (
    'a number: 1'                   => sub { [1] },
    'a number: 1 as a double'       => sub { [double(1)] },
    'a number: 1 as a string'       => sub { ['1'] },
    'a number: -1'                  => sub { [-1] },
    'zero'                          => sub { [0] },
    'zero: as a double'             => sub { [double(0)] },
    'zero: as a double, negative'   => sub { [-double(0)] },
    'zero: as a string'             => sub { ['0'] },
    'a large number'                => sub { [unsigned('9223372036854775808')] },
    'a large number: as a double'   => sub { [double(2**63)] },
    'a large number: as a string'   => sub { ['9223372036854775808'] },
    'a double'                      => sub { [0.1] },
    'a double: another last bit'    => sub { [unpack 'd>', pack 'H*', '3fb999999999999b'] },
    'not a number'                  => sub { [unpack 'd>', pack 'H*', '7ff8000000000000'] },
    'not a number: other bits'      => sub { [unpack 'd>', pack 'H*', '7ff8000000000001'] },
    'not a number: other sign'      => sub { [unpack 'd>', pack 'H*', 'fff8000000000000'] },
    'undef'                         => sub { [undef] },
    'undef: the empty string'       => sub { [''] },
    'undef: its name'               => sub { ['undef'] },
    'undef: a hole'                 => sub { my @array; $#array = 0; \@array },
    'undef: nothing'                => sub { [] },
    'undef: the name of a hole'     => sub { ['hole'] },
    'holes: the second'             => sub { my @array = (1); $array[2] = 3; \@array },
    'holes: undef there'            => sub { [1, undef, 3] },
    'holes: at the end'             => sub { my @array = (1, 3); $#array = 2; \@array },

    'text: bytes'                   => sub { ["\xE9"] },
    'text: flagged'                 => sub { [upgraded("\xE9")] },
    'text: the bytes of UTF-8'      => sub { ["\xC3\xA9"] },
    'text: malformed'               => sub { my $text = "\xE9"; Encode::_utf8_on($text); [$text] },
    'text: ASCII, flagged'          => sub { [upgraded('1')] },
    'text: empty, flagged'          => sub { [upgraded('')] },
    'text: what looks like two'     => sub { ['a", "b'] },
    'text: two'                     => sub { ['a', 'b'] },
    'text: a quotation mark'        => sub { ['"'] },
    'text: a backslash and one'     => sub { ['\\"'] },
    'text: what looks read-only'    => sub { ['read-only 1'] },

    'a hash: empty'                 => sub { {} },
    'a hash: a key and a value'     => sub { { a => 1 } },
    'a hash: another key'           => sub { { b => 1 } },
    'a hash: another value'         => sub { { a => 2 } },
    'a hash: a flagged key'         => sub { +{ upgraded("\xE9") => 1 } },
    'a hash: with bytes as a key'   => sub { { "\xE9" => 1 } },
    'a hash: with a wide key'       => sub { { "\x{263A}" => 1 } },
    'a hash: a pair as an array'    => sub { ['a', 1] },
    'a hash: undef in it'           => sub { { a => undef } },

    'a reference: to a number'      => sub { my $x = 1; \$x },
    'a reference: to that'          => sub { my $x = 1; \\$x },
    'a reference: to an array'      => sub { my $x = [1]; \$x },
    'a reference: to a constant'    => sub { \1 },
    'a constant element'            => sub { my @array = (1); Internals::SvREADONLY($array[0], 1); \@array },

    'arrays: one twice'             => sub { my $one = [1]; [$one, $one] },
    'arrays: two'                   => sub { [[1], [1]] },
    'arrays: one in itself'         => sub { my $one = [[1]]; push @$one, $one; $one },
    'arrays: one with its element'  => sub { my $one = [[1]]; push @$one, $one->[0]; [@$one, 'and'] },
    'hashes: one twice'             => sub { my $one = {}; [$one, $one] },
    'hashes: two'                   => sub { [{}, {}] },
    'scalars: one twice'            => sub { my $x = 1; [\$x, \$x] },
    'scalars: two'                  => sub { my ($x, $y) = (1, 1); [\$x, \$y] },
    'elements: one twice'           => sub { my $x = 'x'; same($x, $x) },
    'elements: two'                 => sub { my $x = 'x'; [$x, $x] },
    'elements: one of two arrays'   => sub { my $x = 'x'; [same($x), same($x)] },
    'elements: one of each array'   => sub { [['x'], ['x']] },
    'elements: one and a reference' => sub { my @array = ('x', undef); $array[1] = \$array[0]; \@array },
    'elements: and another scalar'  => sub { my $x = 'x'; ['x', \$x] },
    'elements: of a hash'           => sub { my %hash = (a => 'x'); [\%hash, \$hash{a}] },
    'elements: equal to a hash\'s'  => sub { my $x = 'x'; [{ a => 'x' }, \$x] },
    'elements: undef twice'         => sub { my $x; same($x, $x) },
    'elements: undef and undef'     => sub { [undef, undef] },
    'references: one element twice' => sub { my $x = [1]; same($x, $x) },

    'a ring: of one'                => sub { my $one = []; push @$one, $one; $one },
    'a ring: of two'                => sub { my $one = []; push @$one, [$one]; $one },
    'a ring: that ends in one'      => sub { my $one = []; push @$one, $one; [$one] },
    'a ring: to the scalar'         => sub { my $one = []; push @$one, \$one; $one },
    'a ring: of a scalar'           => sub { my $one; $one = \$one; $one },
    'a ring: of two scalars'        => sub { my ($one, $two); $one = \$two; $two = \$one; $one },

    'weak: the second'              => sub { my $one = [1]; [[$one], weak($one)] },
    'weak: the first'               => sub { my $one = [1]; [weak($one), [$one]] },
    'weak: none'                    => sub { my $one = [1]; [[$one], [$one]] },
    'weak: to a scalar'             => sub { my $x = 1; [\$x, weak(\$x), $x] },
    'weak: not, to a scalar'        => sub { my $x = 1; [\$x, [\$x], $x] },
    'weak: to itself'               => sub { my $one = []; push @$one, $one; weaken $one->[0]; [$one] },

    'objects: a hash'               => sub { bless {}, 'A' },
    'objects: of another class'     => sub { bless {}, 'B' },
    'objects: an array'             => sub { bless [], 'A' },
    'objects: a scalar'             => sub { my $x = 1; bless \$x, 'A' },
    'objects: a reference'          => sub { my $x = [1]; bless \$x, 'A' },
    'objects: of a false class'     => sub { bless {}, '0' },
    'objects: of a class of bytes'  => sub { bless {}, "\xC3\xA9" },
    'objects: of a flagged class'   => sub { bless {}, "\xE9" },
    'objects: of a wide class'      => sub { bless {}, "\x{263A}" },
    'objects: an element'           => sub { my @array = (1); bless \$array[0], 'A'; \@array },
    'objects: inside'               => sub { [bless [], 'A'] },
    'objects: outside'              => sub { bless [[]], 'A' },
    'objects: an array and so on'   => sub { bless [bless [], 'A'], 'A' },
    'objects: a class as text'      => sub { ['of "A" []'] },

    'regexps: a letter'             => sub { qr/a/ },
    'regexps: another'              => sub { qr/b/ },
    'regexps: its text'             => sub { 'qr"(?^:a)" ' },
    'regexps: of another class'     => sub { bless qr/a/, 'A' },
    'regexps: a reference to one'   => sub { \(my $regexp = qr/a/) },
    'regexps: flagged'              => sub { my $text = upgraded("\xE9"); qr/$text/ },
    'regexps: bytes'                => sub { my $text = "\xE9"; qr/$text/ },
    'regexps: a modifier inside'    => sub { qr/a(?i)b/ },
    'regexps: and outside'          => sub { qr/a(?i)b/i },
    'regexps: none'                 => sub { qr/ab/ },
    (map { my $modifiers = $_; ("regexps: with $_" => sub { eval "qr/a/$modifiers" || die $@ }) }
        qw(m s i x p a aa u l msix), $] >= 5.022 ? 'n' : (), $] >= 5.026 ? 'xx' : ()),
    $] >= 5.036 ? (
        'a number: true'            => sub { [!!1] },
        'zero: false'               => sub { [!!0] },
        'zero: the name of false'   => sub { ['false'] },
    ) : (),
);

subtest 'what differs is told apart' => sub {
    my %name;
    for my $name (sort keys %made) {
        my $value = $made{$name}->();
        my $text  = describe($value);
        ok !$name{$text}, $name or diag "as $name{$text}: $text";
        $name{$text} = $name;
    }
};

subtest 'what is the same is described the same' => sub {
    for my $name (sort keys %made) {
        my ($one, $two) = map { $made{$name}->() } 1, 2;
        is describe($two), describe($one), $name;
    }
    my %hash = map { $_ => 1 } 'a' .. 'z';
    my %other;
    $other{$_} = 1 for reverse 'a' .. 'z';
    is describe(\%other), describe(\%hash), 'whatever the order of keys';
};

subtest 'where the outermost scalar lies' => sub {
    my $self;
    $self = \$self;
    my $copy = $self;
    isnt describe($copy), describe($self), 'is told, if it is referred to';
    undef $self;
};

subtest 'other words' => sub {
    my @array = (1, 2);
    delete $array[0];
    isnt describe(\@array), describe([undef, 2]), 'holes are told from undef';
    $#array = 2;
    is describe(\@array, hole => 'undef'), describe([undef, 2, undef], hole => 'undef'), 'unless both have the same word';
    my $x = 7;
    isnt describe([\7]), describe([\$x]), 'what is read-only is told';
    is describe([\7], read_only => ''), describe([\$x]), 'unless there is no word for it';
};

subtest 'the kinds' => sub {
    my %kind = (
        integer => [integer(5), -7], unsigned => [unsigned(2**63)], double => [double(5), 1.5], undef => [undef],
        string  => ['', '5', upgraded('x'), dualvar(5, 'five')], reference => [[], \1, qr/x/],
        $] >= 5.036 ? (boolean => [!!1, !!0]) : (),
    );
    for my $kind (sort keys %kind) { is kind_of($_), $kind, $kind for @{ $kind{$kind} } }
    is kind_of(undef), 'undef', "and perl's own undef";
};

subtest 'nothing is changed or called' => sub {
    our $called = 0;
    {
        package My::Touchy;
        use overload map { $_ => sub { $main::called++; return 1 } } qw("" 0+ bool == eq @{} %{} ${} qr);
        sub can      { $main::called++; return }
        sub isa      { $main::called++; return }
        sub AUTOLOAD { $main::called++; return }
        sub DESTROY { }
    }
    describe([map { bless $_, 'My::Touchy' } [1], { a => 1 }, \(my $x = 1), qr/x/]);
    is $called, 0, 'no method, no operator';
    my @scalars = (1, 1.5, unsigned(2**63), 'text', '12', upgraded('x'), undef);
    my @before  = map { B::svref_2object(\$_)->FLAGS } @scalars;
    describe(\@scalars);
    is_deeply [map { B::svref_2object(\$_)->FLAGS } @scalars], \@before, 'no flag';
    ok !eval { describe([sub { }]); 1 }, 'what a map does not take is no structure';
};

done_testing;
