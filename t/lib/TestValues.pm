package TestValues;

# A value of every kind that a serialised map takes, by name; each call of the code makes a fresh one. Options say what
# the format, or others that read and write it, do not keep:
#
#   to_them     what their decoder makes of the document instead, as a pattern for its description or message
#   they_change why their encoder writes something else

use strict;
use warnings;

use Exporter 'import';
use Scalar::Util qw(dualvar weaken);
use TestScalars;

our @EXPORT = qw(every_kind);

my @Values;

# Triples of the name, the code, and a reference to the options.
sub every_kind { return @Values }

sub value { my ($name, $code, %option) = @_; push @Values, [$name, $code, \%option]; return }

# Scalars

# Of pairs of a name and a value, the values.
sub _values { my %named = @_; return [@named{ sort keys %named }] }

value 'undef'          => sub { return undef };
value 'an empty string' => sub {''};
value 'a string'       => sub {'hello'};
value 'zero'           => sub {0};
value 'integers'       => sub { _values(integers()) };
value 'large integers' => sub { _values(unsigneds()) };
value 'doubles'        => sub { _values(doubles()) };
value 'NaNs'           => sub { _values(nans()) }, they_change => 'they keep floats of them';
value 'strings'        => sub { [grep { !utf8::is_utf8($_) } @{ _values(strings()) }] };
value 'flagged strings' => sub { [grep { utf8::is_utf8($_) } @{ _values(strings()) }] };
value 'short strings'  => sub { [grep { !utf8::is_utf8($_) && length() < 200 } @{ _values(strings()) }] };
value 'short flagged strings' => sub { [grep { utf8::is_utf8($_) && length() < 200 } @{ _values(strings()) }] };
value 'upgraded strings' => sub { [map { upgraded($_) } @{ _values(strings()) }] };
value 'every length of string' => sub { [map { 'x' x $_ } 0 .. 140] };
value 'truths'         => sub { [!!1, !!0, !1, !0] }, they_change => 'protocol 4 has none';
value 'a dualvar'      => sub { dualvar(5, 'five') };
value 'a v-string'     => sub {v1.22.333};
value 'a string used as a number' => sub { my $text = '12'; my $sum = $text + 1; [$text] },
    they_change => 'they take it for the number';
if ($] >= 5.036) {
    value 'a number used as a string' => sub { my $number = 12; my $text = "$number"; [$number] };
    value 'a double used as a string' => sub { my $number = 0.1; my $text = "$number"; [$number] };
}

# Arrays and hashes

value 'an empty array' => sub { [] };
value 'an empty hash'  => sub { {} };
value 'arrays of every size' => sub { [map { [1 .. $_] } 0 .. 20, 127, 128, 300] };
value 'hashes of every size' => sub { [map { +{ map { ("key $_" => $_) } 1 .. $_ } } 0 .. 20, 127, 128, 300] };
value 'undefined elements' => sub { [undef, undef, { a => undef, b => undef }] };
value 'holes'          => sub { my @holes; $holes[1] = 'one'; $#holes = 4; my @none; $#none = 2; [\@holes, \@none, []] };
value 'keys'           => sub {
    my @keys = ("\0", '', 'a', "\xE9", "\xC3\xA9", "\x{263A}", 'k' x 31, 'k' x 32, 'k' x 300, "\x{263A}" x 100);
    return { map { $_ => 1 } @keys };
};
value 'upgraded keys'  => sub { +{ map { upgraded($_) => 1 } 'a', "\xE9", '', 'k' x 40 } };
value 'the same keys again and again' => sub { [map { +{ id => $_, name => "name $_", "k\x{263A}" => [] } } 1 .. 20] };
value 'something of everything' => sub {
    my %address = (street => "Stra\xDFe", city => "\x{141}\x{F3}d\x{17A}", zip => '01234');
    return { id => 42, name => 'alice', score => 1.5, tags => [qw(a b c)], address => \%address, none => undef };
};
value 'arrays, very deep' => sub { my $value = 1; $value = [$value] for 1 .. 5000; $value };
value 'hashes, very deep' => sub { my $value = 1; $value = { in => $value } for 1 .. 5000; $value };
value 'references, very deep' => sub { my $value = 1; $value = _reference($value) for 1 .. 5000; $value };

# References

sub _reference { my ($value) = @_; return \$value }

value 'a reference to a number'    => sub { _reference(5) };
value 'a reference to undef'       => sub { _reference(undef) };
value 'a reference to a reference' => sub { _reference(_reference('x')) };
value 'an array, twice'            => sub { my $array = [1, 2]; [$array, $array] };
value 'a large array, twice'       => sub { my $array = [1 .. 20]; [$array, { a => $array }] };
value 'a hash, twice'              => sub { my $hash = { a => 1 }; [$hash, [$hash]] };
value 'a scalar, twice'            => sub { my $scalar = _reference('x'); [$scalar, $scalar, [$scalar]] };
value 'a reference to an element'  => sub { my @array = (1, 2, 3); [\@array, \$array[1], \$array[2]] };
value 'references to equal elements' => sub {
    my @one = my @two = ('hello hello');
    return [\@one, \@two, \$two[0], \$one[0]];
};
value 'a reference to an element, first' => sub { my @array = (1, 2, 3); [\$array[1], \@array] };
value 'a reference to a value of a hash' => sub { my %hash = (a => 1, b => 2); [\%hash, \$hash{a}] };
value 'a reference to a reference that is an element' => sub { my @array = ([1]); [\@array, \$array[0], $array[0]] };
value 'a scalar that refers to itself'  => sub { my $self; $self = \$self; $self };
value 'scalars that refer to each other' => sub { my ($one, $two); $one = \$two; $two = \$one; $one };
value 'an array that holds itself'      => sub { my $array = [1]; push @$array, $array; $array };
value 'a hash that holds itself'        => sub { my $hash = { a => 1 }; $hash->{self} = $hash; $hash };
value 'a ring'                          => sub {
    my @ring = map { +{ number => $_ } } 1 .. 5;
    $ring[$_ - 1]{next} = $ring[$_] for 0 .. 4;
    return \@ring;
};

# Elements that are one scalar

sub _same { return \@_ }

value 'an element, twice'               => sub { my ($scalar, $other) = ('x', 1); _same($scalar, $other, $scalar) };
value 'an element that is a reference, twice' => sub { my $scalar = [1]; _same($scalar, $scalar) };
value 'an element, undefined, twice'    => sub { my $scalar; _same($scalar, $scalar) };
value 'an element of two arrays' => sub { my ($scalar, $other) = ('x', 1); [_same($scalar), _same($other, $scalar)] };
value 'an element that is a value of a hash too' => sub { my %hash = (a => 1); [\%hash, _same($hash{a})] };
value 'an element, its reference, and again' => sub {
    my ($scalar, $other) = (7);
    my $array = _same($scalar, $other, $scalar);
    $array->[1] = \$array->[0];
    return $array;
};

# Weak references

sub _weak { my ($reference) = @_; my $holder = [$reference]; weaken $holder->[0]; return $holder }

value 'a weak reference after a strong one'  => sub { my $array = [1]; [$array, _weak($array)] };
value 'a weak reference before a strong one' => sub { my $array = [1]; [_weak($array), $array] };
value 'two weak references before a strong one' => sub { my $hash = {}; [_weak($hash), _weak($hash), $hash] };
value 'a weak reference to a scalar'         => sub { my $scalar = _reference('x'); [_weak($scalar), $scalar] };
value 'a weak reference to an element'       => sub { my @array = (1, 2); [\@array, _weak(\$array[0])] };
value 'a weak reference to a regexp'         => sub { my $regexp = qr/x/; [$regexp, _weak($regexp)] };
value 'a weak reference to an object'        => sub { my $object = bless {}, 'TestObject'; [_weak($object), $object] };
value 'a tree with weak references to parents' => sub {
    my $root = { name => 'root' };
    for my $number (1 .. 3) {
        my $child = { name => "child $number", parent => $root };
        weaken $child->{parent};
        push @{ $root->{children} }, $child;
    }
    return $root;
};
value 'a reference that is weak and in two places' => sub {
    my $array = [1];
    my $holder = _weak($array);
    return [$array, _same($holder->[0], $holder->[0])];
};

# Objects

value 'objects'            => sub {
    my @plain = ([1], { a => 1 }, _reference('x'), _reference(_reference('x')), _reference(undef));
    return [map { bless $_, 'TestObject' } @plain];
};
value 'an object'          => sub { bless { a => 1 }, 'TestObject' };
value 'an object, twice'   => sub { my $object = bless [1], 'TestObject'; [$object, $object] };
value 'objects of several classes' => sub {
    return [map { my $class = $_; map { bless [$_], $class } 1, 2 } 'A', 'A::B', 'A', '0', 'main', 'C' x 100];
};
value 'classes beyond ASCII' => sub { [map { bless [], $_ } "Caf\xE9", "Caf\x{E9}\x{263A}", "Caf\xE9"] };
value 'objects in objects' => sub { bless { list => [map { bless { in => bless [$_], 'A' }, 'B' } 1 .. 3] }, 'C' };
value 'an object that holds itself' => sub { my $object = bless {}, 'TestObject'; $object->{self} = $object; $object };
value 'objects with methods that nobody calls' => sub {
    my ($hash, @others) = map { bless $_, 'TestObject::Touchy' } { a => 1 }, [], _reference('x');
    return [$hash, $hash, @others];
};
sub _array_of_object { my @array = (1, 2); bless \$array[0], 'TestObject'; return \@array }

value 'an object that is an element first' => sub { my $array = _array_of_object(); [$array, \$array->[0]] },
    they_change => 'they lose the class';
value 'an object that is an element later' => sub { my $array = _array_of_object(); [\$array->[0], $array] };

# Regexps

value 'regexps'            => sub {
    return [qr/x/, qr/^a+(b|c)$/i, qr/a b/x, qr/./s, qr/^/m, qr/a/msix, qr/(?<name>a)/p, qr/a\/b/, qr/\n/, qr//];
};
value 'regexps beyond ASCII' => sub {
    my ($wide, $byte) = ("\x{E9}\x{263A}", "\xE9");
    return [qr/\xE9/, qr/\x{263A}/, qr/[$wide]/i, qr/$byte/];
};
value 'a regexp, twice'    => sub { my $regexp = qr/x/i; [$regexp, $regexp] };
value 'a reference to a regexp' => sub { _reference(qr/x/) };
value 'a blessed regexp'   => sub { [bless(qr/x/i, 'TestObject'), bless(qr/\x{263A}/, 'TestObject')] };
value 'regexps of regexps' => sub { my $regexp = qr/x/i; [qr/a${regexp}b/, qr/$regexp/] };
value 'regexps with character sets' => sub { [qr/\d/a, qr/\w/aa, qr/\w/u, qr/\w/l, qr/[\x{E9}\x{263A}]/] },
    to_them => qr/bad modifier/, they_change => 'they drop the sets';
value 'regexps with /n'    => sub { [eval 'qr/(x)/n', eval 'qr/(x)/in'] },
    to_them => qr/bad modifier/, they_change => 'their decoder has no /n' if $] >= 5.022;
value 'regexps with /xx'   => sub { [eval 'qr/[a b]/xx'] },
    to_them => qr{\)" x,}, they_change => 'their decoder has no /xx' if $] >= 5.026;

1;
