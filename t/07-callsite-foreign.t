use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use TestArena;
use TestCallsite;
use Test::More;

# A call site that names a hot method is anybody's: other classes, class names, and what is no object at all get what
# they always got, in turn with objects of ours.

# `answer` makes the call at one call site, in between calls on an object of ours.
my $answer = q(
    { package Foreign; sub METHOD { my $self = shift;
        return ('foreign', ref $self || $self, scalar @_, (caller 0)[2, 3], wantarray) } }
    my $answer = sub {
        my @more = @_ > 1 ? @_[1 .. $#_] : ();
        for my $on ($object, $_[0], $object) {
            out(eval { $on->METHOD('number' MORE) }, $@);
            out(scalar eval { $on->METHOD('number' MORE) }, $@);
        }
    };
);

same_in_all_ways [map { $_->[0] => $answer . $_->[1] } (
    ['a blessed hash'        => q($answer->(bless {}, 'Foreign'))],
    ['a blessed array'       => q($answer->(bless [], 'Foreign'))],
    ['a blessed scalar'      => q($answer->(bless \ (my $x = 1), 'Foreign'))],
    ['a blessed reference'   => q($answer->(bless \\$object, 'Foreign'))],
    ['a blessed sub'         => q($answer->(bless sub { }, 'Foreign'))],
    ['a blessed glob'        => q($answer->(bless \*STDERR, 'Foreign'); bless \*STDERR, 'IO::File')],
    ['a blessed pattern'     => q($answer->(bless qr/x/, 'Foreign'))],
    ['a pattern'             => q(@Regexp::ISA = (); $answer->(qr/x/))],
    ['an object of a class without it' => q($answer->(bless [], 'My::Empty'))],
    ['an object of a class that inherits it' => q(@My::Sub::ISA = 'Foreign'; $answer->(bless [], 'My::Sub'))],
    ['an object of a class with AUTOLOAD' => q(
        { package My::Sub; our $AUTOLOAD; sub AUTOLOAD { return ($AUTOLOAD, scalar @_) } sub DESTROY { } }
        $answer->(bless [], 'My::Sub'))],
    ['an object of a class whose can says so' => q(
        { package My::Sub; sub can { sub { 'from can' } } } $answer->(bless [], 'My::Sub'))],
    ['an object with overloads' => q(
        { package My::Sub; our @ISA = 'Foreign'; use overload q("") => sub { die }, '0+' => sub { die },
        bool => sub { die }, '&{}' => sub { die }, '${}' => sub { die } }
        $answer->(bless [], 'My::Sub'))],
    ['a name of a class'     => q($answer->('Foreign'); out(eval { Foreign->METHOD('number' MORE) }, $@))],
    ['a name of our class'   => q($answer->('CLASS'); out(eval { CLASS->METHOD('number' MORE) }, $@))],
    ['a name of no class'    => q($answer->('No::Such'); $answer->('no such');
        out(eval { Unheard->METHOD('k' MORE) }, $@))],
    ['the empty string'      => q($answer->(''))],
    ['undef'                 => q($answer->(undef); out(eval { (undef)->METHOD('k' MORE) }, $@))],
    ['numbers'               => q($answer->($_) for 0, 1, -1.5, 1e300)],
    ['an array reference'    => q($answer->([]))],
    ['a hash reference'      => q($answer->({}))],
    ['a code reference'      => q($answer->(sub { 1 }))],
    ['a scalar reference'    => q($answer->(\ 'CLASS'))],
    ['a reference to an object of ours' => q($answer->(\ $object))],
    ['a file handle'         => q($answer->(*STDERR); $answer->(\*STDERR); $answer->(*STDERR{IO}); $answer->('STDERR'))],
    ['a string of many characters' => q($answer->("\x{263a}"); $answer->("x" x 1000))],
    ['a string of a reference' => q($answer->("$object"))],
    ['a version string'      => q($answer->(v1.2.3))],
    ['a tied scalar with an object' => q(my $tied = tied_value(bless [], 'Foreign'); $answer->($$tied);
        out(reads_of($tied)))],
    ['a tied scalar with an object of ours' => q(my $tied = tied_value($object); $answer->($$tied);
        out(reads_of($tied)))],
    ['a tied scalar with a name' => q(my $tied = tied_value('Foreign'); $answer->($$tied); out(reads_of($tied)))],
    ['a tied scalar with undef' => q(my $tied = tied_value(undef); $answer->($$tied); out(reads_of($tied)))],
    ['an element of a tied hash' => q(
        require Tie::Hash; tie my %tied, 'Tie::StdHash'; $tied{ours} = $object; $tied{theirs} = bless [], 'Foreign';
        out(eval { $tied{$_}->METHOD('number' MORE) }, $@) for qw(ours theirs none ours))],
    ['a capture'             => q('Foreign' =~ /(.+)/; $answer->($1))],
    ['an element that is not there' => q(my (@array, %hash); $answer->($array[3]); $answer->($hash{x});
        out(scalar @array, %hash))],
    ['an object of ours in an element' => q(my @array = $object; my %hash = (x => $object);
        out(eval { $array[0]->METHOD('number' MORE) }, $@); out(eval { $hash{x}->METHOD('number' MORE) }, $@))],
    ['an object of the other class' => q($answer->($other))],
    ['an object of the other class, with its methods' => q(
        *OTHER_CLASS::METHOD = \&CLASS::METHOD; $answer->($other); delete $OTHER_CLASS::{METHOD}; $answer->($other))],
    ['an arena'              => q($answer->(Shared::Arena->create(size => 4096)))],
    ['an object blessed by hand' => q($answer->(bless [], 'CLASS'); $answer->(bless {}, 'CLASS');
        $answer->(bless \ (my $x), 'CLASS');
        $answer->(bless \ (my $y = 12345678), 'CLASS'); $answer->(bless sub { }, 'CLASS'))],
    ['an object of the other class, blessed by hand' => q(bless $other, 'CLASS'; $answer->($other);
        bless $other, 'OTHER_CLASS')],
    ['an object whose blessing changes' => q(
        for my $class (qw(CLASS Foreign CLASS OTHER_CLASS My::Empty CLASS)) { bless $object, $class;
        out($class, eval { $object->METHOD('number' MORE) }, $@) })],
    ['another object that comes to our class' => q(
        my $thing = bless [], 'Foreign';
        for my $class (qw(Foreign CLASS Foreign)) { bless $thing, $class;
        out($class, eval { $thing->METHOD('number' MORE) }, $@) })],
    ['an object of a subclass' => q(@My::Sub::ISA = 'CLASS'; bless $object, 'My::Sub'; $answer->($object);
        bless $object, 'CLASS'; $answer->($object))],
    ['a copy of an object'   => q(my $copy = $object; $answer->($copy); my $scalar = $$object;
        $answer->(bless \\$scalar, 'CLASS'))],
    ['an object that was destroyed' => q($object->DESTROY; $answer->($object); undef $object; $answer->($object))],
    ['an object of an arena that is gone' => q(
        my $arena = Shared::Arena->create(size => 400_000);
        my $lone = $object->isa('Shared::Arena::Map') ? $arena->map('m', slots => 4) : $arena->rate('r', slots => 64);
        undef $arena; $answer->($lone); undef $lone; $answer->($lone))],
    ['a read-only object'    => q(Internals::SvREADONLY($object, 1); Internals::SvREADONLY($$object, 1);
        $answer->($object);
        Internals::SvREADONLY($$object, 0); for my $constant ($object) { out($constant->METHOD('number' MORE)) })],
    ['a weak reference'      => q(require Scalar::Util; my $weak = $object; Scalar::Util::weaken($weak);
        $answer->($weak); undef $object; $answer->($weak))],
    ['a call on what a call gives' => q(
        { package My::Sub; sub METHOD { return $_[0][0] } }
        my $holder = bless [$object], 'My::Sub'; out($holder->METHOD('x')->METHOD('number' MORE),
        eval { $holder->METHOD('x')->METHOD('number' MORE)->METHOD('k') }, $@))],
)];

# Perl remembers a class by each name that it was called by, for good.
same_in_all_ways [map { $_->[0] => $answer . $_->[1] } (
    ['a name of a class with colons' => q($answer->('::Foreign'); $answer->('main::Foreign');
        out(eval { Foreign::->METHOD('number' MORE) }, $@))],
)], apart => 1;

# Interfaces of others that have methods by these names.
my @others = (
    ['Storable, as functions and as methods' => 'Storable', <<'END'],
use Storable qw(store retrieve); use File::Temp;
my $file = File::Temp->new;
for my $n (1 .. 3) {
    print store([$n], $file->filename), Storable->can('store') ? 1 : 0;
    print eval { Storable->store([$n]) } // $@, "\n";
    print retrieve($file->filename)->[0], $map->store('k', $n), $map->fetch('k'), "\n";
}
END
    ['JSON::PP' => 'JSON::PP', <<'END'],
use JSON::PP;
for my $on (JSON::PP->new, bless([], 'Foreign'), $rate) { print eval { $on->allow('k', 2) } // $@, "\n" }
print ref(JSON::PP->new->allow_nonref), JSON::PP->new->canonical->encode({ map { $_ => 1 } 'a' .. 'c' }), "\n";
END
    ['SDBM_File' => 'SDBM_File', <<'END'],
use SDBM_File; use Fcntl; use File::Temp;
my $directory = File::Temp->newdir;
tie my %tied, 'SDBM_File', "$directory/x", O_RDWR | O_CREAT, 0600 or die;
for my $n (1 .. 3) {
    $tied{k} = $n;
    for my $on (tied %tied, $map) { print eval { $on->store('k', $n) } // $@, eval { $on->fetch('k') }
        // $@, eval { $on->exists('k') } // $@, "\n" }
}
END
    ['Tie::File' => 'Tie::File', <<'END'],
use Tie::File; use File::Temp;
my $file = File::Temp->new; tie my @lines, 'Tie::File', $file->filename or die;
push @lines, 'a', 'b';
for my $on (tied(@lines), $map, tied(@lines)) { print eval { $on->fetch(1) } // $@, eval { $on->FETCH(1) } // $@, "\n" }
END
    ['accessors that change their own call site' => 'Class::XSAccessor', <<'END'],
{ package Fast; require Class::XSAccessor; Class::XSAccessor->import(constructor => 'new',
        accessors => { fetch => 'fetch', allow => 'allow' }) }
for my $on (Fast->new(fetch => 'f'), $map, Fast->new(fetch => 'g'), $map, 'Fast', undef,
        $map) { print eval { $on->fetch('k') } // $@, "\n" }
for my $on ($rate, Fast->new(allow => 'a'), $rate) { print eval { $on->allow('k') } // $@, "\n" }
END
    ['Class::Method::Modifiers' => 'Class::Method::Modifiers', <<'END'],
require Class::Method::Modifiers;
sub modify { Class::Method::Modifiers::install_modifier('Shared::Arena::Map', $_[0], 'fetch', $_[1]) }
for my $n (1 .. 6) {
    modify(before => sub { print "before @_[1 .. $#_];" }) if $n == 2;
    modify(around => sub { my $next = shift; print 'around;'; $next->(@_) }) if $n == 4;
    modify(after => sub { print 'after;' }) if $n == 5;
    print $map->fetch('k') // 'none', "\n";
}
END
);
for my $case (@others) {
    my ($name, $module, $program) = @$case;
    (my $file = "$module.pm") =~ s{::}{/}g;
    SKIP: {
        skip "$module is not here", 1 if !eval { require $file };
        same_in_two_perls(<<"END", $name, like => qr/\Await status 0\n/);
use strict; use warnings; use Shared::Arena;
my \$arena = Shared::Arena->create; my \$map = \$arena->map('m', slots => 16);
        my \$rate = \$arena->rate('r', slots => 64);
\$map->store('k', 'ours');
$program
END
    }
}

done_testing;
