use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use TestArena;
use TestDescribe;
use TestScalars;
use TestSerial;
use Test::More;

use Shared::Arena;
use Scalar::Util 'dualvar';

# A scalar of a serialised map comes back as what it was: a string as a string, an integer as an integer, a float as a
# float, with all its bits and its UTF-8 flag, wherever in the structure it stands.

my @warnings;
$SIG{__WARN__} = sub { push @warnings, @_ };

my %kinds = (
    integer  => { integers() },
    unsigned => { unsigneds() },
    double   => { doubles(), nans() },
    string   => { strings() },
    boolean  => { booleans() },
    undef    => { undef => undef },
);

subtest 'the table is of the kinds it says' => sub {
    for my $kind (sort keys %kinds) {
        is_deeply [grep { kind_of($kinds{$kind}{$_}) ne $kind } sort keys %{ $kinds{$kind} }], [], $kind;
    }
};

my %values = map { %$_ } values %kinds;

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
            my $both = $kind eq 'integer' || $kind eq 'double' ? B::svref_2object(\$value)->FLAGS : 0;
            $both = ($both & B::SVf_IOK) && ($both & B::SVf_NOK);    # perl itself cannot tell any more
            is $is, $kind, "$name is what it was" if !$both && ($] >= 5.036 || $kind eq 'string' || $kind eq 'undef');
            is utf8::is_utf8($copy), utf8::is_utf8($values{$name}), "$name has its flag" if $kind eq 'string';
            is_deeply [senses($copy)], [senses($value)], "$name is equal in every sense";
            ok $is eq 'integer' || $is eq 'double', "$name is a number" if $both;
        }
    };
}

subtest 'equal as a number and as a string' => sub {
    for my $value ('0 but true', '007', '1e3', '', 1.5, 2**63, -0.0, -double(0), !!0, !!1, '1.0', 0.1 + 0.2, 1e15 + 0.3, 1e100) {
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
