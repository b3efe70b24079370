package TestSerial;

# What the tests of serialised maps share: a map for one value, and pictures. A picture is a text that says everything
# of a structure that must survive: kinds and UTF-8 flags of all scalars, the flags of keys, classes, holes, which
# references are weak, and what is the same thing as what. Two structures are alike if their pictures are equal.

use strict;
use warnings;

use B ();
use Exporter 'import';
use Scalar::Util qw(blessed isweak refaddr reftype);
use Shared::Arena;
use Test::More;

our @EXPORT = qw(serial_map copy_of picture comes_back alike kind_of integer whole real upgraded latin_wide has_booleans);

my $Map = serial_map(slots => 4, slot_size => 1 << 20);

# A serialised map in an arena of its own.
sub serial_map {
    my (%shape) = (slots => 16, slot_size => 4096, @_);
    return Shared::Arena->create(size => $shape{slots} * $shape{slot_size} + 4096)->map('serialised', %shape, serialise => 1);
}

# Through a map and back.
sub copy_of {
    my $stored = $Map->store('one', $_[0]);
    die "not stored: $stored\n" if $stored != 1;
    my @there = $Map->fetch('one');
    die 'fetched ' . @there . " values\n" if @there != 1;
    return $there[0];
}

# The value comes back as it is, and storing leaves it as it was.
sub comes_back {
    my $name = $_[1];
    local $Test::Builder::Level = $Test::Builder::Level + 1;
    my $before = picture($_[0]);
    my $stored = eval { $Map->store('one', $_[0]) };
    return fail($name) || diag(defined $stored ? "store answered $stored" : $@) if !defined $stored || $stored != 1;
    my $after = picture($_[0]);
    my $back  = eval { picture($Map->fetch('one')) };
    return fail($name) || diag($@) if !defined $back;
    return _same($after, $before, "$name: as it was after the store") if $after ne $before;
    return _same($back, $before, $name);
}

sub alike {
    my $name = $_[2];
    local $Test::Builder::Level = $Test::Builder::Level + 1;
    return _same(picture($_[0]), picture($_[1]), $name);
}

# Of large pictures that differ only the place where they do.
sub _same {
    my ($got, $wanted, $name) = @_;
    local $Test::Builder::Level = $Test::Builder::Level + 1;
    return pass($name) if $got eq $wanted;
    my ($alike) = ("$got\0" ^ "$wanted\0") =~ /\A(\0*)/;
    my $start = length $alike > 40 ? length($alike) - 40 : 0;
    fail($name);
    diag("got:    ...", substr $got, $start, 100);
    diag("wanted: ...", substr $wanted, $start, 100);
    return;
}

# Scalars

# Numbers and strings of a known kind.
sub integer { my ($text) = @_; return unpack 'q', pack 'q', $text }
sub whole   { my ($text) = @_; return unpack 'Q', pack 'Q', $text }
sub real    { my ($text) = @_; return unpack 'd', pack 'd', $text }

sub upgraded { my ($text) = @_; utf8::upgrade($text); return $text }

# Text with a character above 255 that was cut off again: what is left is flagged, and stays so.
sub latin_wide { my ($text) = @_; return substr "$text\x{263A}", 0, length $text }

sub has_booleans { return $] >= 5.036 }

sub _is_boolean {
    no warnings;
    return has_booleans() && builtin::is_bool($_[0]);
}

# undef, boolean, string, whole (an integer above 2**63 - 1), integer, real or reference, without changing the scalar.
sub kind_of {
    return 'boolean' if _is_boolean($_[0]);
    my $scalar = B::svref_2object(\$_[0]);
    return defined $_[0] ? 'string' : 'undef' if $scalar->isa('B::SPECIAL');    # perl's own undef, true and false
    my $flags = $scalar->FLAGS;
    return 'reference' if $flags & B::SVf_ROK;
    return 'string'    if $flags & B::SVf_POK;
    return $flags & B::SVf_IVisUV ? 'whole' : 'integer' if $flags & B::SVf_IOK;
    return 'real' if $flags & B::SVf_NOK;
    return 'undef';
}

my %Shown = (
    undef   => sub {'undef'},
    boolean => sub { $_[0] ? 'true' : 'false' },
    string  => sub { _text($_[0]) },
    integer => sub { sprintf 'integer %d', $_[0] },
    whole   => sub { sprintf 'whole %u', $_[0] },
    real    => sub { 'real ' . unpack 'H*', pack 'd>', $_[0] },
);

sub _text {
    my ($text) = @_;
    my $flag = utf8::is_utf8($text) ? 'U' : '';
    my $shown = join '', map { $_ > 31 && $_ < 127 && $_ != 34 ? chr : sprintf '\x{%x}', $_ } map { ord } split //, $text;
    return qq{$flag"$shown"};
}

# Structures

sub picture { return _scalar(\$_[0], {}) }

sub _scalar {
    my ($scalar, $seen) = @_;
    no overloading;
    if (my $number = $seen->{ refaddr $scalar }) { return "=$number" }
    $seen->{ refaddr $scalar } = 1 + keys %$seen;
    my $kind = kind_of($$scalar);
    return (isweak($$scalar) ? 'weak ' : '') . _referent($$scalar, $seen) if $kind eq 'reference';
    my $value = $$scalar;    # a copy, since printing a number leaves a text on it
    return $Shown{$kind}->($value);
}

sub _referent {
    my ($reference, $seen) = @_;
    no overloading;
    my $class = blessed $reference;
    my $type  = reftype $reference;
    my $head  = defined $class ? _text($class) . ' ' : '';
    return $head . '\\' . _scalar($reference, $seen) if $type =~ /\A(?:SCALAR|REF|VSTRING)\z/;
    if (my $number = $seen->{ refaddr $reference }) { return "$head\\=$number" }
    $seen->{ refaddr $reference } = 1 + keys %$seen;
    return "$head\[" . join(', ', map { exists $reference->[$_] ? _scalar(\$reference->[$_], $seen) : 'hole' } 0 .. $#$reference) . ']' if $type eq 'ARRAY';
    return "$head\{" . join(', ', map { _text($_) . ' => ' . _scalar(\$reference->{$_}, $seen) } sort keys %$reference) . '}' if $type eq 'HASH';
    # In list context perl would count modifiers that the pattern sets by itself half-way: qr/a(?i)b/ has "i".
    return $head . 'qr ' . _text('' . re::regexp_pattern($reference)) if $type eq 'REGEXP';
    return "$head$type";
}

1;
