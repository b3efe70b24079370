package TestDescribe;

# A structure as text, so that two structures are the same exactly if their texts are: kinds of scalars, UTF-8 flags,
# classes, holes, which references are weak, what is read-only, and what is one and the same thing. Things are numbered
# in the order in which a walk meets them, the outermost scalar first; `=3` is a scalar that was met as the third thing,
# `->3` a reference to it. Nothing of a class is called, and no flag is changed. t/25-serial-describe.t shows all that.
#
#   describe([1, undef, 'a'])    [integer 1, undef, "a", ]

use strict;
use warnings;
no warnings 'recursion';
no overloading;

use B ();
use Exporter 'import';
use Scalar::Util qw(blessed isweak refaddr reftype);

our @EXPORT = qw(describe kind_of);

# Looked up while running, since perls before 5.36 have no booleans.
my $Is_bool = $] >= 5.036 ? do { no strict 'refs'; \&{'builtin::is_bool'} } : sub {0};

# With `hole` or `read_only`, another word for a hole of an array, and for what precedes a scalar that cannot be
# changed.
sub describe {
    my (undef, %option) = @_;
    my %walk = (hole => 'hole', read_only => 'read-only ', %option, seen => {}, number => 0, text => '');
    _scalar(\%walk, \$_[0]);
    return $walk{text};
}

# undef, boolean, string, integer, unsigned (an integer above 2**63 - 1), double or reference.
sub kind_of { return _kind(\$_[0], _flags(\$_[0])) }

# To B, perl's own undef, true and false are no scalars like others.
sub _flags {
    my ($scalar) = @_;
    my $object = B::svref_2object($scalar);
    return ref $object eq 'B::SPECIAL' ? B::SVf_READONLY | B::SVf_POK : $object->FLAGS;
}

sub _kind {
    my ($scalar, $flags) = @_;
    no warnings;    # 'experimental::builtin' has a name in newer perls only
    return 'reference' if $flags & B::SVf_ROK;
    return 'undef'     if !defined $$scalar;
    return 'boolean'   if $Is_bool->($$scalar);
    return 'string'    if $flags & B::SVf_POK;
    return $flags & B::SVf_IVisUV ? 'unsigned' : 'integer' if $flags & B::SVf_IOK;
    return 'double'    if $flags & B::SVf_NOK;
    die "a scalar of no kind, with flags $flags";
}

# The number of a thing that was met before; the first time, it gets one, and nothing is returned.
sub _met {
    my ($walk, $thing) = @_;
    my $number = $walk->{seen}{ refaddr $thing };
    $walk->{seen}{ refaddr $thing } = ++$walk->{number} if !$number;
    return $number;
}

sub _scalar {
    my ($walk, $scalar) = @_;
    if (my $number = _met($walk, $scalar)) { $walk->{text} .= "=$number"; return }
    _class($walk, $scalar);
    _contents($walk, $scalar);
    return;
}

sub _contents {
    my ($walk, $scalar) = @_;
    my $flags = _flags($scalar);
    $walk->{text} .= $walk->{read_only} if $flags & B::SVf_READONLY;
    my $kind = _kind($scalar, $flags);
    if ($kind ne 'reference') { $walk->{text} .= _plain($scalar, $kind); return }
    $walk->{text} .= 'weak ' if isweak $$scalar;
    return _referent($walk, $$scalar);
}

sub _plain {
    my ($scalar, $kind) = @_;
    return $kind if $kind eq 'undef';
    my $copy = $$scalar;    # since printing a number leaves a text on it
    return $copy ? 'true' : 'false' if $kind eq 'boolean';
    return _text($copy) if $kind eq 'string';
    return "$kind " . ($kind eq 'double' ? unpack 'H*', pack 'd>', $copy : $copy);
}

sub _text {
    my ($text) = @_;
    my $kind = utf8::is_utf8($text) ? 'utf8' : '';
    $kind = "malformed $kind" if !utf8::valid($text);
    utf8::encode($text) if $kind;
    $text =~ s/(["\\])/\\$1/g;
    return qq{$kind"$text"};
}

sub _referent {
    my ($walk, $reference) = @_;
    my $type = reftype $reference;
    if (my $number = _met($walk, $reference)) { $walk->{text} .= "->$number"; return }
    _class($walk, $reference);
    return _array($walk, $reference)  if $type eq 'ARRAY';
    return _hash($walk, $reference)   if $type eq 'HASH';
    return _regexp($walk, $reference) if $type eq 'REGEXP';
    die "cannot describe a $type" if $type !~ /\A(?:SCALAR|REF|VSTRING|LVALUE)\z/;
    $walk->{text} .= '\\';
    return _contents($walk, \$$reference);
}

sub _class {
    my ($walk, $reference) = @_;
    my $class = blessed $reference;
    $walk->{text} .= 'of ' . _text($class) . ' ' if defined $class;
    return;
}

sub _array {
    my ($walk, $array) = @_;
    $walk->{text} .= '[';
    for my $index (0 .. $#$array) {
        if (exists $array->[$index]) { _scalar($walk, \$array->[$index]) }
        else                         { $walk->{number}++; $walk->{text} .= $walk->{hole} }
        $walk->{text} .= ', ';
    }
    $walk->{text} .= ']';
    return;
}

sub _hash {
    my ($walk, $hash) = @_;
    $walk->{text} .= '{';
    for my $key (sort keys %$hash) {
        $walk->{text} .= _text($key) . ' => ';
        _scalar($walk, \$hash->{$key});
        $walk->{text} .= ', ';
    }
    $walk->{text} .= '}';
    return;
}

# The modifiers that perl tells include those that the pattern sets by itself half-way: qr/a(?i)b/ has "i". Its text
# has only those from outside.
sub _regexp {
    my ($walk, $regexp) = @_;
    my $text = re::regexp_pattern($regexp);
    my (undef, $modifiers) = re::regexp_pattern($regexp);
    $walk->{text} .= 'qr' . _text($text) . " $modifiers";
    return;
}

1;
