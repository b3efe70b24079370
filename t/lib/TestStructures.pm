package TestStructures;

# Random structures, the same ones for a seed: scalars of every kind, arrays with holes and elements that are the same
# scalar, hashes, references to scalars, objects, regexps, and references to what is there already: shared, cyclic,
# weak. Whatever a weak reference points at is held by a strong one in the structure too.

use strict;
use warnings;

use Exporter 'import';
use List::Util qw(shuffle);
use Scalar::Util qw(weaken);

our @EXPORT = qw(structure);

my $Infinity = 9**9**9;
my @Integers = (
    0, 1, 15, 16, 127, 128, 16_383, 16_384, 2_147_483_647, 4_294_967_296,
    9_223_372_036_854_775_807, 18_446_744_073_709_551_615,
    -1, -15, -16, -17, -128, -129, -2_147_483_648, -9_223_372_036_854_775_807, -9_223_372_036_854_775_807 - 1,
);
my @Doubles = (
    0.5, 0.1, 1.5, -2.25, 3.0, 16_777_217.0, 9_007_199_254_740_992.0, 1e300, -1e-300, 5e-324, 1.5e38, 3.5e38, 1e-46,
    -0.0, $Infinity, -$Infinity, -sin $Infinity,
);
my @Texts   = ('', 'a', '0', '007', '1e3', '0 but true', "\0", "line\nline", "\xE9\xFF", "\xC3\xA9",
    "\x{263A}", "\x{E9}\x{263A}", "\x{10FFFF}", 'x' x 31, 'x' x 32, 'y' x 127, 'y' x 128, "\x{263A}" x 50);
my @Keys    = ('', 'a', 'b', 'id', 'name', '0', '10', "\0", "\xE9", "\x{263A}", "k\x{E9}\x{263A}", 'long key ' x 5);
my @Classes = ('TestObject', 'TestObject::Touchy', 'Other::Class', "Caf\x{E9}\x{263A}", 'A::B::C::D');
my @Regexps = (qr/x/, qr/^a+(b|c)/i, qr/\x{263A}/, qr/\xE9/, qr/a b/msixp, qr//, qr/./s);

# The structure for a seed; with `truths => 0` without true and false, with `upgraded => 0` without UTF-8 flags on
# strings that need none.
sub structure {
    my ($seed, %option) = @_;
    srand $seed;
    my $self = bless { truths => $] >= 5.036, upgraded => 1, %option, referents => [], scalars => [] }, __PACKAGE__;
    $self->{left} = 1 + int rand(rand() < 0.1 ? 200 : 25);
    my $root;
    $self->_fill(\$root, 0);
    return $root;
}

# Puts something random into a scalar.
sub _fill {
    my ($self, $slot, $depth) = @_;
    my $kind = rand;
    if ($self->{left}-- <= 0 || $depth > 12 || $kind < 0.4 && $depth) { $self->_leaf($slot) }
    elsif ($kind < 0.5 && @{ $self->{referents} }) {
        $$slot = _one_of($self->{referents});
        weaken $$slot if rand() < 0.3;
    }
    elsif ($kind < 0.55 && @{ $self->{scalars} }) {
        my $other = _one_of($self->{scalars});
        $$slot = \$$other;
        weaken $$slot if rand() < 0.2;
    }
    else { $self->_container($slot, $depth) }
    return;
}

sub _one_of { my ($list) = @_; return $list->[rand @$list] }

# Kinds are chosen by what is assigned: nothing here may look at a number as a string or the other way round.
sub _leaf {
    my ($self, $slot) = @_;
    my $kind = rand;
    if    ($kind < 0.25) { $$slot = $Integers[rand @Integers] }
    elsif ($kind < 0.35) { $$slot = int(rand 2_000_000) - 1_000_000 }
    elsif ($kind < 0.50) { $$slot = $Doubles[rand @Doubles] }
    elsif ($kind < 0.55) { $$slot = rand }
    elsif ($kind < 0.75) { $$slot = $Texts[rand @Texts] }
    elsif ($kind < 0.80) { $$slot = join '', map { chr rand 256 } 1 .. rand 40 }
    elsif ($kind < 0.85) { $$slot = $Texts[rand @Texts]; utf8::upgrade($$slot) if $self->{upgraded} }
    elsif ($kind < 0.95 && $self->{truths}) { $$slot = $kind < 0.9 }
    else { $$slot = undef }
    return;
}

sub _container {
    my ($self, $slot, $depth) = @_;
    my $kind = rand;
    if    ($kind < 0.45) { $self->_array($slot, $depth) }
    elsif ($kind < 0.85) { $self->_hash($slot, $depth) }
    elsif ($kind < 0.95) { $self->_reference($slot, $depth) }
    else                 { $$slot = $self->_known(_regexp(), 0.2) }
    return;
}

# A new referent, perhaps blessed, to which others may refer from now on.
sub _known {
    my ($self, $reference, $blessed) = @_;
    bless $reference, $Classes[rand @Classes] if rand() < $blessed;
    push @{ $self->{referents} }, $reference;
    return $reference;
}

# A regexp of its own: those in the list are compiled once.
sub _regexp {
    my ($pattern, $modifiers) = re::regexp_pattern($Regexps[rand @Regexps]);
    return eval "qr/\$pattern/$modifiers" || die $@;
}

# Some elements are scalars that have another place already. Only as arguments do scalars keep their identity.
sub _array {
    my ($self, $slot, $depth) = @_;
    my $array = [];
    my @new;
    for (1 .. _count()) {
        my $element = rand() < 0.1 && @{ $self->{scalars} } ? _one_of($self->{scalars}) : undef;
        if (!$element) { $element = _scalar(); push @new, $element }
        $array = sub { \@_ }->(@$array, $$element);
    }
    $$slot = $self->_known($array, 0.2);
    $self->_place($_, $depth) for shuffle @new;
    $#$array += 1 + int rand 3 if rand() < 0.1;
    return;
}

sub _scalar { my $new; return \$new }

sub _hash {
    my ($self, $slot, $depth) = @_;
    my %hash;
    for (1 .. _count()) {
        my $key = rand() < 0.8 ? $Keys[rand @Keys] : 'key ' . int rand 1000;
        utf8::upgrade($key) if rand() < 0.1 && $self->{upgraded};
        $hash{$key} = undef;
    }
    $$slot = $self->_known(\%hash, 0.2);
    $self->_place(\$hash{$_}, $depth) for shuffle sort keys %hash;
    return;
}

sub _count { return rand() < 0.05 ? 20 : int rand 5 }

# Fills the place, to which others may refer. Places are filled in any order, so that what others refer to may come
# later.
sub _place {
    my ($self, $place, $depth) = @_;
    push @{ $self->{scalars} }, $place if rand() < 0.3;
    $self->_fill($place, $depth + 1);
    return;
}

# A blessed scalar has this one place.
sub _reference {
    my ($self, $slot, $depth) = @_;
    my $new = _scalar();
    $$slot = $self->_known($new, 0.3);
    $self->_fill($new, $depth + 1);
    return;
}

# Objects of this class notice when anything of theirs is called.
package TestObject::Touchy;

our @Called;

use overload
    '""'   => sub { push @Called, 'stringified';         return 'text' },
    '=='   => sub { push @Called, 'compared';            return 1 },
    'bool' => sub { push @Called, 'asked for its truth'; return 1 };

for my $name (qw(FREEZE THAW STORABLE_freeze STORABLE_thaw STORABLE_attach TO_JSON TO_CBOR)) {
    no strict 'refs';
    *$name = sub { push @Called, $name; return };
}

1;
