use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use TestArena;
use TestDescribe;
use TestScalars;
use TestSerial;
use Test::More;

use Scalar::Util qw(blessed refaddr weaken);
use Shared::Arena;

# Objects come back in their classes, whatever they are blessed on, and no method of theirs is called: neither by the
# store, nor by the fetch.

my @warnings;
$SIG{__WARN__} = sub { push @warnings, @_ };

# A class that has everything a serialiser might be tempted to call, and writes down what is.
my @calls;
{
    package My::Watched;
    our $AUTOLOAD;
    for my $method (qw(FREEZE THAW TO_JSON TO_CBOR STORABLE_freeze STORABLE_thaw STORABLE_attach CLONE can isa DOES VERSION import new clone serialize deserialize _bless)) {
        no strict 'refs';
        *$method = sub { push @calls, $method; return };
    }
    sub AUTOLOAD { push @calls, $AUTOLOAD; return }
    sub DESTROY  { push @calls, 'DESTROY'; return }
    use overload map { my $operator = $_; $operator => sub { push @calls, $operator; return 1 } }
        qw(+ - * / % ** x . <=> cmp neg ! ~ ++ -- abs bool "" 0+ int qr -X <> &{} *{} ~~ = nomethod);

    package My::Text;
    use overload '""' => sub {"text of $_[0]{name}"}, '==' => sub { $_[0]{name} eq $_[1]{name} }, bool => sub {0}, fallback => 1;

    package My::Plain;
    sub new { my ($class, %field) = @_; return bless {%field}, $class }
    sub name { return $_[0]{name} }
    package My::Heir;
    our @ISA = 'My::Plain';
}

# What is blessed is made anew each time.
my %made = (
    'a hash'                    => sub { bless { a => 1 }, $_[0] },
    'an empty hash'             => sub { bless {}, $_[0] },
    'an array'                  => sub { bless [1, [2]], $_[0] },
    'an empty array'            => sub { bless [], $_[0] },
    'a scalar with a string'    => sub { bless \(my $text = "caf\xE9"), $_[0] },
    'a scalar with a number'    => sub { bless \(my $number = 42), $_[0] },
    'a scalar with a float'     => sub { bless \(my $number = 1.5), $_[0] },
    'a scalar with undef'       => sub { bless \(my $nothing), $_[0] },
    'a reference'               => sub { bless \(my $list = [1]), $_[0] },
    'a reference to a reference' => sub { bless \\(my $list = [1]), $_[0] },
    'a reference to an object'  => sub { bless \(my $inner = bless {}, 'My::Plain'), $_[0] },
    'a regexp'                  => sub { bless qr/a.b/i, $_[0] },
);
my @classes = ('My::Plain', 'My::Heir', 'Never::Loaded', 'x', '0', '00', 'main', 'Regexp', 'HASH', 'ARRAY', 'CODE', "Caf\xE9", upgraded("Caf\xE9"), "\x{263A}::\x{20AC}", 'a b', 'A' x 31, 'A' x 32, 'B' x 200);

for my $what (sort keys %made) {
    subtest "objects on $what" => sub {
        for my $class (@classes) {
            my $object = $made{$what}->($class);
            my $name   = sprintf '%vd', $class;
            $name = $class if $class =~ /\A[ -~]+\z/;
            comes_back($object, $name);
            is blessed(copy_of($object)), $class, 'in its class';
        }
        my $object = $made{$what}->('My::Plain');
        comes_back([$object, { a => $object }, \$object, $made{$what}->('My::Plain')], 'in a structure, some of them the same');
        comes_back([map { $made{$what}->($_ % 3 ? 'My::Plain' : 'My::Heir') } 1 .. 100], 'a hundred');
    };
}

subtest 'objects in objects' => sub {
    comes_back(My::Plain->new(name => 'a', parts => [My::Heir->new(name => 'b'), My::Plain->new(name => My::Heir->new)]), 'of several classes');
    my $object = My::Plain->new(name => 'loop');
    $object->{self} = $object;
    comes_back($object, 'in itself');
    weaken $object->{self};
    comes_back($object, 'and weakly');
    my $tree = My::Plain->new(name => 'tree', leaves => [map { My::Heir->new(name => $_) } 1 .. 3]);
    weaken($_->{tree} = $tree) for @{ $tree->{leaves} };
    comes_back($tree, 'parents held weakly');
    my $scalar = bless \(my $x), 'My::Plain';
    $$scalar = $scalar;
    comes_back($scalar, 'a scalar that holds itself');
    $$scalar = undef;
    my $heir = copy_of([My::Heir->new(name => 'heir')])->[0];
    is $heir->name, 'heir', 'the methods work';
    comes_back([map { bless {}, "Class::$_" } 1 .. 1000], 'a thousand classes');
    comes_back([map { bless [], $_ } map { ("x$_", "caf\xE9$_", "\x{263A}$_") } (1 .. 50) x 2], 'classes of all kinds, twice');
    comes_back({ map { ($_ => bless {}, $_) } 'My::Plain', 'class' }, 'named as strings and keys are');
};

subtest 'objects known by an element' => sub {
    my @list = (1, 2, 3);
    my $element = bless \$list[1], 'My::Plain';
    comes_back([$element, \@list], 'of an array that comes later');
    is blessed(copy_of([\@list, $element])->[1]), 'My::Plain', 'or before';
    my $copy = copy_of([\@list, $element]);
    is refaddr($copy->[1]), refaddr(\$copy->[0][1]), 'which it is in the copy';
    my %hash = (a => 1);
    bless \$hash{a}, 'My::Plain';
    $copy = copy_of([\%hash, \$hash{a}]);
    is blessed($copy->[1]), 'My::Plain', 'or of a hash';
    is refaddr($copy->[1]), refaddr(\$copy->[0]{a}), 'that holds it';
    my $self = bless \(my $inner = 5), 'My::Plain';
    comes_back([\$self, $self, \$$self], 'an object and references to where it is');
};

subtest 'nothing is called' => sub {
    my $map = serial_map();
    my @on = (bless({ a => 1 }, 'My::Watched'), bless([1, 2], 'My::Watched'), bless(\(my $text = 'x'), 'My::Watched'), bless(\(my $list = [1]), 'My::Watched'));
    push @on, { inner => [bless({}, 'My::Watched'), $on[0]] }, bless({ outer => $on[1] }, 'My::Watched');
    @calls = ();
    for my $number (0 .. $#on) {
        is $map->store('k', $on[$number]), 1, "object $number is stored";
        is_deeply \@calls, [], 'without a call';
        my ($copy) = $map->fetch('k');
        is_deeply \@calls, [], 'and fetched';
        my $objects = () = describe($copy) =~ /"My::Watched"/g;
        is_deeply \@calls, [], 'looking at it with care';
        undef $copy;
        is_deeply \@calls, [('DESTROY') x $objects], "the copy's destructors are called when it goes: $objects";
        @calls = ();
    }
    is $map->store('k', 'x' x 5000), -1, 'too long';
    is $map->store('k', [@on, 'x' x 5000]), -1, 'with objects before that';
    ok !eval { $map->store('k', [@on, sub { }]); 1 }, 'refused';
    is $map->store('k', \@on, ttl => 100), 1, 'with a time to live';
    $map->fetch('k');
    $map->exists('k');
    $map->store('k', 1);
    @calls = grep { $_ ne 'DESTROY' } @calls;
    is_deeply \@calls, [], 'nor then';
    @calls = ();
};

subtest 'objects are destroyed once for each copy' => sub {
    my %gone;
    no warnings 'once';
    local *My::Counted::DESTROY = sub { $gone{ $_[0]{name} }++ };
    my $shared = bless { name => 'shared' }, 'My::Counted';
    my $map    = serial_map();
    $map->store('k', { a => $shared, b => [$shared], c => bless({ name => 'single', up => $shared }, 'My::Counted') });
    is_deeply \%gone, { single => 1 }, 'the original that was let go';
    for my $round (1 .. 3) {
        %gone = ();
        { my ($copy) = $map->fetch('k'); is_deeply \%gone, {}, 'alive while it is held' }
        is_deeply \%gone, { shared => 1, single => 1 }, 'once';
    }
    %gone = ();
    $map->fetch('k') for 1 .. 5;
    ok !grep({ $_ != 5 && $_ != 0 } values %gone), 'when nobody takes them, too';
    undef $shared;
};

subtest 'objects with overloading' => sub {
    my $object = bless { name => 'n' }, 'My::Text';
    my $copy   = copy_of($object);
    is blessed($copy), 'My::Text', 'stay objects';
    is "$copy", 'text of n', 'that overload';
    ok $copy == $object, 'every operator';
    ok !$copy, 'whatever their truth';
    comes_back([$object, $object, { key => $object }], 'in a structure');
    { no strict 'refs'; *{'Later::(""'} = sub {'later'}; *{'Later::()'} = sub { }; *{'Later::(('} = sub { }; ${'Later::()'} = 1 }
    is copy_of(bless [], 'Later') . '', 'later', 'also where overloading came after the first objects of the class';
    my $key = bless { name => 'as a key' }, 'My::Text';
    my $map = serial_map();
    is $map->store($key, [1]), 1, 'as a key of the map';
    is_deeply [$map->keys], ['text of as a key'], 'they are their text';
    is_deeply [$map->fetch($key)], [[1]], 'and found by it';
};

subtest 'objects of this distribution' => sub {
    # Their native half stays behind, so a copy is dead. It must be no worse than that.
    my $arena = Shared::Arena->create;
    my %live = (arena => $arena, map => $arena->map('m'), rate => $arena->rate('l'), serialised => serial_map());
    my $map = serial_map();
    for my $name (sort keys %live) {
        my $stored = eval { $map->store('k', [$live{$name}]) };
        ok !defined $stored || $stored == 1, "$name is stored or refused";
        next if !defined $stored;
        my ($copy) = $map->fetch('k');
        my $method = $name eq 'arena' ? 'regions' : 'stats';
        croaks_like { $copy->[0]->$method } qr/Shared::Arena.*not a live/, 'and its copy is not alive';
        undef $copy;
        ok eval { my @all = $live{$name}->$method; 1 }, 'the one that was stored is';
    }
};

is_deeply \@warnings, [], 'without a warning';

done_testing;
