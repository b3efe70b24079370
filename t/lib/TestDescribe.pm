package TestDescribe;

# A structure as text, so that two structures are the same exactly if their texts are: kinds of scalars, UTF-8 flags,
# classes, holes, which references are weak, what is read-only, and what is one and the same thing. Things are numbered
# in the order in which a walk meets them; `=3` is a scalar that was met as the third thing, `->3` a reference to it.
# Nothing of a class is called, and no flag is changed.
#
#   describe([1, undef, 'a'])    [integer 1, undef, bytes<a>, ]

use strict;
use warnings;
no warnings 'recursion';

use B ();
use Exporter 'import';
use Scalar::Util qw(blessed isweak refaddr reftype);

our @EXPORT = qw(describe dismantle);

# Looked up while running, since perls before 5.36 have no booleans.
my $Is_bool = $] >= 5.036 ? do { no strict 'refs'; \&{'builtin::is_bool'} } : sub {0};

# The argument is taken as an assignment takes it: where the outermost scalar lies is no part of the description. A hole
# of an array is called `hole`, unless another word is given.
sub describe {
    my ($value, %option) = @_;
    my %walk = (seen => {}, number => 0, text => '', hole => $option{hole} || 'hole');
    _scalar(\%walk, \$value);
    return $walk{text};
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
    $walk->{text} .= 'read-only ' if $flags & B::SVf_READONLY;
    if ($flags & B::SVf_ROK) {
        $walk->{text} .= 'weak ' if isweak $$scalar;
        return _referent($walk, $$scalar);
    }
    $walk->{text} .= _plain($scalar, $flags);
    return;
}

# To B, perl's own undef, true and false are no scalars like others.
sub _flags {
    my ($scalar) = @_;
    my $object = B::svref_2object($scalar);
    return ref $object eq 'B::SPECIAL' ? B::SVf_READONLY | B::SVf_POK : $object->FLAGS;
}

sub _plain {
    my ($scalar, $flags) = @_;
    no warnings;    # 'experimental::builtin' has a name in newer perls only
    return 'undef' if !defined $$scalar;
    my $copy = $$scalar;
    return $copy ? 'true' : 'false' if $Is_bool->($copy);
    return _text($copy)             if $flags & B::SVf_POK;
    return "integer $copy"          if $flags & B::SVf_IOK;
    return 'double ' . unpack 'H*', pack 'd>', $copy if $flags & B::SVf_NOK;
    die "cannot describe a scalar with flags $flags";
}

sub _text {
    my ($text) = @_;
    my $kind = utf8::is_utf8($text) ? 'utf8' : 'bytes';
    $kind = 'malformed ' . $kind if !utf8::valid($text);
    utf8::encode($text) if $kind ne 'bytes';
    return "$kind<$text>";
}

sub _referent {
    my ($walk, $reference) = @_;
    no overloading;
    my $kind = reftype $reference;
    if (my $number = _met($walk, $reference)) { $walk->{text} .= "->$number"; return }
    _class($walk, $reference);
    return _array($walk, $reference) if $kind eq 'ARRAY';
    return _hash($walk, $reference)  if $kind eq 'HASH';
    if ($kind eq 'REGEXP') {
        my ($pattern, $modifiers) = re::regexp_pattern($reference);
        $walk->{text} .= 'qr' . _text($pattern) . $modifiers;
        return;
    }
    die "cannot describe a $kind" if $kind !~ /\A(?:SCALAR|REF|VSTRING|LVALUE)\z/;
    $walk->{text} .= '\\';
    return _contents($walk, \$$reference);
}

sub _class {
    my ($walk, $reference) = @_;
    my $class = blessed $reference;
    return if !defined $class;
    utf8::encode($class) if utf8::is_utf8($class);
    $walk->{text} .= "$class ";
    return;
}

sub _array {
    my ($walk, $array) = @_;
    no overloading;
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
    no overloading;
    $walk->{text} .= '{';
    for my $key (sort keys %$hash) {
        $walk->{text} .= _text($key) . ' => ';
        _scalar($walk, \$hash->{$key});
        $walk->{text} .= ', ';
    }
    $walk->{text} .= '}';
    return;
}

# Empties everything that a value holds, so that rings in it do not stay in memory.
sub dismantle {
    my @found = my @todo = grep {ref} @_;
    my %seen;
    no overloading;
    while (@todo) {
        my $thing = pop @todo;
        next if $seen{ refaddr $thing }++;
        push @found, $thing;
        my $kind = reftype $thing;
        push @todo, grep {ref} $kind eq 'ARRAY' ? @$thing : $kind eq 'HASH' ? values %$thing : $kind eq 'REF' ? $$thing : ();
    }
    for my $thing (@found) {
        my $kind = reftype $thing;
        if    ($kind eq 'ARRAY') { @$thing = () }
        elsif ($kind eq 'HASH')  { %$thing = () }
        elsif ($kind eq 'REF')   { undef $$thing }
    }
    return;
}

1;
