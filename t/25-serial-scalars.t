use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use TestArena;
use TestSerial;
use Test::More;

use Shared::Arena;
use Scalar::Util 'dualvar';

# A scalar of a serialised map comes back as what it was: a string as a string, an integer as an integer, a float as a
# float, with all its bits and its UTF-8 flag, wherever in the structure it stands.

my @warnings;
$SIG{__WARN__} = sub { push @warnings, @_ };

my %integers = map { $_ => integer($_) } map { @$_ }
    [0, 1, -1, 15, 16, 17, -15, -16, -17, 127, 128, 255, 256, -128, -129],
    [2147483647, 2147483648, 2147483649, -2147483647, -2147483648, -2147483649],
    [4294967295, 4294967296, 4294967297, -4294967295, -4294967296, -4294967297],
    [qw(9007199254740991 9007199254740992 9007199254740993 -9007199254740991 -9007199254740992 -9007199254740993)],
    [qw(9223372036854775806 9223372036854775807 -9223372036854775807 -9223372036854775808)];

my %wholes = map { $_ => whole($_) } qw(9223372036854775808 9223372036854775809 18446744073709551614 18446744073709551615);

my %reals = (
    (map { $_ => real($_) } 0.5, -0.5, 0.1, -0.1, 1.5, 1 / 3, 1e300, -1e300, 1e-300, 1e15, 1e16, 3.4028234663852886e38, 16777217.5),
    (map { ("$_ as a float" => real($_)) } 0, 1, -1, 3, 15, 16, -16, -17, 4294967296, 1e15, 2**53, 2**63, 2**64),
    'minus zero'               => -real(0),
    'the smallest subnormal'   => unpack('d>', pack 'H*', '0000000000000001'),
    'a negative subnormal'     => unpack('d>', pack 'H*', '800fffffffffffff'),
    'the smallest normal'      => unpack('d>', pack 'H*', '0010000000000000'),
    'the largest'              => unpack('d>', pack 'H*', '7fefffffffffffff'),
    'subnormal with 32 bits'   => unpack('f>', pack 'H*', '00000001'),
    'one above 1'              => unpack('d>', pack 'H*', '3ff0000000000001'),
    'infinity'                 => 9**9**9,
    'minus infinity'           => -9**9**9,
    'not a number'             => -sin(9**9**9),
    'not a number, other sign' => sin(9**9**9),
    'not a number, with bits'  => unpack('d>', pack 'H*', '7ff8000000001234'),
);

my %strings = (
    (map { ("'$_'" => "$_") } '', 0, 1, -1, '0 but true', '007', '1e3', '1.50', ' 1', "1\n", '+1', '0x10', 'inf', 'nan', '-0', '-0.0', 'undef', '18446744073709551616'),
    'NUL'          => "abc\0def",
    'one NUL'      => "\0",
    'NUL at the end' => "abc\0",
    'all bytes'    => join('', map { chr } 0 .. 255),
    'a document'   => "=\xF3rl\5\0\x25",
    (map { ("$_ bytes" => 'x' x $_, "$_ bytes, flagged" => upgraded('x' x $_)) } 1, 31, 32, 127, 128, 129, 255, 256, 300, 16_383, 16_384, 70_000),
    'latin-1'          => "caf\xE9",
    'latin-1, flagged' => upgraded("caf\xE9"),
    'cut off text'     => latin_wide("caf\xE9"),
    'ASCII, flagged'   => upgraded('plain'),
    'empty, flagged'   => upgraded(''),
    'bytes that are UTF-8' => "\xC3\xA9",
    'wide'             => "\x{263A}\x{20AC}",
    'wide and long'    => "\x{263A}" x 100,
    'beyond 16 bits'   => "\x{1F600}",
    'a surrogate'      => do { no warnings; chr 0xD800 },
    'beyond Unicode'   => do { no warnings; chr 0x110000 },
    'no character'     => do { no warnings; chr 0xFFFF },
    (map { no warnings; ("character $_" => chr $_) } 2**31 - 1, 2**31, 2**36, 2**62),
    'a v-string'       => do { my $text = sprintf '%vd', v1.22.333; join '', map { chr } split /\./, $text },
);

my %others = (undef => undef, (has_booleans() ? (true => !!1, false => !!0) : ()));

my %kinds = (integer => \%integers, whole => \%wholes, real => \%reals, string => \%strings);

subtest 'the table is of the kinds it says' => sub {
    for my $kind (sort keys %kinds) {
        is_deeply [grep { kind_of($kinds{$kind}{$_}) ne $kind } sort keys %{ $kinds{$kind} }], [], $kind;
    }
};

my %values = (%integers, %wholes, %reals, %strings, %others);

for (
    ['as the value'    => sub { comes_back($_[0], $_[1]) }],
    ['in an array'     => sub { comes_back([$_[0]], $_[1]) }],
    ['in a hash'       => sub { comes_back({ key => $_[0] }, $_[1]) }],
    ['behind a reference' => sub { my $copy = $_[0]; comes_back(\$copy, $_[1]) }],
    ['twice'           => sub { comes_back([$_[0], { key => $_[0] }], $_[1]) }],
) {
    my ($place, $try) = @$_;
    subtest $place => sub { $try->($values{$_}, "'$_'") for sort keys %values };
}

subtest 'all in one structure' => sub {
    comes_back([map { $values{$_} } sort keys %values], 'an array');
    comes_back(\%values, 'a hash');
    comes_back([map { my $copy = $values{$_}; \$copy } sort keys %values], 'references');
};

# What the uses of a scalar leave on it is not what it is.

my %use = (
    'as a number' => sub { no warnings; my $sum = $_[0] + 0 },
    'as an integer' => sub { no warnings; my $bits = $_[0] | 0; $bits = int $_[0] },
    'as a string' => sub { no warnings; my $text = "$_[0]" },
    'as a number and a string' => sub { no warnings; my $sum = $_[0] * 1.5; my $text = "$_[0]"; $sum = $_[0] <=> 1 },
    'as a boolean' => sub { my $yes = !$_[0] },
    'with length and substr' => sub { no warnings; my $l = length $_[0]; my $s = substr $_[0], 0, 1; $l = index $_[0], "\x{263A}" },
);

# As a string and as a number; of a number, all bits.
sub senses {
    no warnings;
    my ($text, $sum, $number) = ($_[0]) x 3;
    return (defined $text ? "$text" : undef, $sum + 0 . '', kind_of($_[0]) eq 'string' ? () : unpack 'H*', pack 'd>', $number);
}

for my $use (sort keys %use) {
    subtest "used $use" => sub {
        for my $name (sort keys %values) {
            my $value = $values{$name};
            my $kind  = kind_of($value);
            $use{$use}->($value);
            my $copy = copy_of($value);
            my $is   = kind_of($copy);
            my $both = $kind eq 'integer' || $kind eq 'real' ? B::svref_2object(\$value)->FLAGS : 0;
            $both = ($both & B::SVf_IOK) && ($both & B::SVf_NOK);    # perl itself cannot tell any more
            is $is, $kind, "$name is what it was" if !$both && ($] >= 5.036 || $kind eq 'string' || $kind eq 'undef');
            is utf8::is_utf8($copy), utf8::is_utf8($values{$name}), "$name has its flag" if $kind eq 'string';
            is_deeply [senses($copy)], [senses($value)], "$name is equal in every sense";
            ok $is eq 'integer' || $is eq 'real', "$name is a number" if $both;
        }
    };
}

subtest 'equal as a number and as a string' => sub {
    for my $value ('0 but true', '007', '1e3', '', 1.5, 2**63, -0.0, -real(0), !!0, !!1, '1.0', 0.1 + 0.2, 1e15 + 0.3, 1e100) {
        for my $after (sub { }, sub { my $is = $_[0] == 1 }, sub {"$_[0]"}, sub { my $is = $_[0] == 1; "$_[0]" }) {
            no warnings 'numeric';
            my $stored = $value;
            $after->($stored);
            for my $copy (copy_of($stored), @{ copy_of([$stored]) }) {
                ok $copy eq $value, "'$value' eq";
                ok $copy == $value, "'$value' ==";
                is unpack('H*', pack 'd>', $copy), unpack('H*', pack 'd>', $value), "'$value' to the last bit";
            }
        }
    }
};

subtest 'two values at once' => sub {
    my $five = dualvar 5, 'five';
    is copy_of($five), 'five', 'a dualvar is its string';
    is kind_of(copy_of([$five])->[0]), 'string', 'and a string';
    my $text = do { local $! = 2; "$!" };
    local $! = 2;
    is copy_of($!), $text, 'an error number is its text';
    my $held = $!;
    is copy_of([$held])->[0], $text, 'in a structure, too';
    my $version = v1.22.333;
    is copy_of($version), "\x01\x16\x{14d}", 'a v-string is its characters';
    is ref \copy_of([$version])->[0], 'SCALAR', 'and a plain string';
    is ref copy_of(\$version), 'SCALAR', 'behind a reference, too';
};

subtest 'arguments that are no plain scalars' => sub {
    my $text = "some wide \x{263A} text";
    is copy_of(substr $text, 5, 6), "wide \x{263A}", 'a substr';
    is copy_of(vec my $bits = "\x0F", 0, 4), 15, 'a vec';
    $text =~ /(\w+) (\w+) (?<third>.)/ or die;
    is copy_of($2), 'wide', 'a capture';
    is copy_of($+{third}), "\x{263A}", 'a named capture';
    is_deeply copy_of([$1, $2]), ['some', 'wide'], 'captures in an array';
    is copy_of($0), $0, 'the name of the program';
    is copy_of($ENV{SHARED_ARENA_DIR}), $ENV{SHARED_ARENA_DIR}, 'a variable of the environment';
    is copy_of(pos(my $searched = 'abc')), undef, 'a position that is none';
    my %hash;
    is copy_of($hash{none}), undef, 'an element that is not there';
    ok !exists $hash{none}, 'and does not come to be';
    $searched =~ /b/g;
    is copy_of($searched), 'abc', 'a string with a position in it';
    is pos($searched), 2, 'which stays there';
    is pos(${ copy_of(\$searched) }), undef, 'and does not travel';
    comes_back(\$searched, 'otherwise it is the same');
    my $wide = "\x{263A}" x 1000;
    my $length = length $wide;
    my $at = index $wide, 'x', 900;
    comes_back([$wide], 'a string whose length perl has noted');
};

subtest 'constants come back as variables' => sub {
    for my $value (copy_of('text'), @{ copy_of([1, undef, !!1]) }, values %{ copy_of({ a => 'x' }) }, ${ copy_of(\'x') }, ${ copy_of(\undef) }, ${ copy_of(\!!1) }, ${ copy_of(\7) }) {
        ok eval { $value = 'changed'; 1 }, 'can be changed' or diag $@;
    }
    for my $list (copy_of(sub { \@_ }->(undef, undef, undef)), copy_of(sub { \@_ }->(!!1, !!1)), copy_of(sub { \@_ }->(!!0, !!0)), copy_of(sub { \@_ }->(1, 2))) {
        ok eval { $_ = 'changed' for @$list; 1 }, 'in place' or diag $@;
    }
    my ($x, $y) = @{ copy_of([undef, undef]) };
    is ${ copy_of(\undef) }, undef, 'and undef stays undef';
    is !!1, 1, 'and true true';
};

is_deeply \@warnings, [], 'without a warning';

done_testing;
