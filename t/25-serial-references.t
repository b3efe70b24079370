use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use TestArena;
use TestDismantle;
use TestSerial;
use Test::More;

use B ();
use Scalar::Util qw(isweak refaddr weaken);
use Shared::Arena;

# What is one thing in a structure is one thing in its copy: shared and cyclic references, aliases, weak references.
# What is not there, is not there either.

my @warnings;
$SIG{__WARN__} = sub { push @warnings, @_ };

sub nested { my ($depth, $wrap) = @_; my $value = 'leaf'; $value = $wrap->($value) for 1 .. $depth; return $value }

subtest 'nesting' => sub {
    my %wrap = (
        arrays     => sub { [$_[0]] },
        hashes     => sub { { a => $_[0] } },
        references => sub { my $value = $_[0]; \$value },
        'all in turn' => sub { my $value = $_[0]; [1, { b => \$value }, 'after'] },
    );
    for my $kind (sort keys %wrap) { comes_back(nested($_, $wrap{$kind}), "$_ $kind") for 1, 2, 3, 20 }
    comes_back([[], {}, \undef, \'', \\1, [[]], [{}], { a => {} }, { a => [] }], 'empty ones');
    for my $count (14, 15, 16, 17, 31, 32, 1000) {
        comes_back([1 .. $count], "$count elements");
        comes_back([map { [$_] } 1 .. $count], "$count arrays");
        comes_back([map { { $_ => $_ } } 1 .. $count], "$count hashes");
        comes_back([map { my $n = $_; \$n } 1 .. $count], "$count references");
    }
};

subtest 'a fresh copy each time' => sub {
    my $map = serial_map();
    my $stored = { list => [1, 2, 3], text => 'old' };
    $map->store('k', $stored);
    $stored->{text} = 'changed after the store';
    push @{ $stored->{list} }, 4;
    my ($one) = $map->fetch('k');
    is_deeply $one, { list => [1, 2, 3], text => 'old' }, 'of what was stored then';
    push @{ $one->{list} }, 'more';
    $one->{text} = 'changed in a copy';
    my ($two) = $map->fetch('k');
    is_deeply $two, { list => [1, 2, 3], text => 'old' }, 'whatever was done to other copies';
    isnt refaddr($two->{list}), refaddr($one->{list}), 'with nothing in common';
    is B::svref_2object($two)->REFCNT, 1, 'held by its fetcher alone';
    is B::svref_2object($two->{list})->REFCNT, 1, 'all the way down';
    is B::svref_2object(\$two->{list}[0])->REFCNT, 2, 'to the elements';    # the reference taken here is one of two
};

subtest 'shared references' => sub {
    my $shared = [1];
    comes_back([$shared, $shared], 'twice in an array');
    comes_back({ a => $shared, b => { c => $shared } }, 'and in hashes');
    my $text = 'text';
    comes_back([\$text, \$text, \\$text], 'a scalar');
    comes_back([map { $shared } 1 .. 1000], 'a thousand times');
    my $hash = { in => $shared };
    comes_back([$hash, $shared, { again => $hash }], 'at several depths');
    my $copy = copy_of({ a => $shared, b => $shared });
    push @{ $copy->{a} }, 2;
    is_deeply $copy->{b}, [1, 2], 'a change shows at both ends';
    is_deeply $shared, [1], 'and not in the original';
    comes_back([[1], [1]], 'equal arrays stay two');
    comes_back([\'x', \'x', \1, \1], 'and equal scalars');
};

subtest 'cycles' => sub {
    my $hash = {};
    $hash->{self} = $hash;
    comes_back($hash, 'a hash in itself');
    my $array = [1];
    push @$array, $array, [$array];
    comes_back($array, 'an array');
    my $scalar;
    $scalar = \$scalar;
    comes_back($scalar, 'a reference to itself');
    my $copy = copy_of($scalar);
    is refaddr($$copy), refaddr($copy), 'which it is again';
    my ($one, $two) = ({ name => 'one' }, { name => 'two' });
    ($one->{other}, $two->{other}) = ($two, $one);
    comes_back($one, 'two that know each other');
    comes_back([$one, $two], 'both in an array');
    comes_back([$two, $one, $hash, $array, \$scalar], 'among others');
    my $around;
    $around = \\\\$around;
    comes_back($around, 'a longer way round');
    my $root = [];
    push @$root, \$root;
    comes_back($root, 'a reference to the value itself');
    my $back = copy_of($root);
    is refaddr(${ $back->[0] }), refaddr($back), 'leads there again';
    my @ring = map { { number => $_ } } 0 .. 999;
    $ring[$_]{next} = $ring[($_ + 1) % @ring] for 0 .. $#ring;
    my ($steps, $first) = (0, copy_of($ring[0]));
    for (my $at = $first->{next}; $at != $first; $at = $at->{next}) { $steps++ }
    is $steps, 999, 'a ring of a thousand';
    for (my $at = $first; $at;) { $at = delete $at->{next} }
    dismantle($$copy, $hash, $array, $scalar, $one, $two, $$$around, $root, $back, @ring);
};

subtest 'references to elements' => sub {
    my @list = (1, 2, 3);
    my %hash = (a => 1, b => [2]);
    comes_back([\@list, \$list[1]], 'of an array that comes first');
    comes_back([\$list[1], \@list], 'or second');
    comes_back({ list => \@list, last => \$list[2] }, 'in a hash');
    comes_back([\%hash, \$hash{a}, \$hash{b}], 'of a hash');
    comes_back([\$hash{a}, \$hash{b}, \%hash], 'the other way round');
    my @own = (1, 2);
    push @own, \$own[0], \$own[2];
    comes_back(\@own, 'of itself');
    my $copy = copy_of([\$list[1], \@list, \$hash{b}, \%hash]);
    ${ $copy->[0] } = 'new';
    is_deeply $copy->[1], [1, 'new', 3], 'and lead into it';
    push @{ ${ $copy->[2] } }, 'more';
    is_deeply $copy->[3], { a => 1, b => [2, 'more'] }, 'a hash, too';
    dismantle(\@own);
};

subtest 'aliases' => sub {
    my ($x, $y) = ('x', [1]);
    my %hash = (a => 1);
    my @list = (7, 8);
    my $alias = sub { \@_ };
    comes_back($alias->($x, $x), 'one scalar twice');
    comes_back($alias->($x, $y, $x, $y, $y), 'two of them');
    comes_back([$alias->($x, $y), $alias->($y, $x)], 'in two arrays');
    comes_back($alias->($x, \$x), 'and a reference to it');
    comes_back($alias->(\$x, $x), 'first');
    comes_back([\%hash, $alias->($hash{a})], "a hash's value in an array");
    comes_back([$alias->($hash{a}), \%hash], 'before the hash');
    comes_back([\@list, $alias->($list[1], $list[0])], 'elements of another array');
    my $self;
    $self = $alias->($x, $self);
    comes_back($self, 'an array that holds the variable that holds it');
    my $copy = copy_of($alias->($x, 'between', $x));
    $copy->[0] = 'new';
    is_deeply $copy, ['new', 'between', 'new'], 'a change of one is a change of both';
    my $none;
    comes_back($alias->($none, $none), 'of undef');
    undef $self;
};

subtest 'holes in arrays' => sub {
    my @array = (1, 2, 3, 4);
    delete $array[2];
    ok !exists $array[2], 'there is one';
    comes_back(\@array, 'in the middle');
    $#array = 9;
    comes_back(\@array, 'at the end');
    my @empty;
    $#empty = 20;
    comes_back(\@empty, 'nothing else');
    comes_back([\@array, undef, \@empty], 'beside an undef that is there');
    my @sparse;
    $sparse[$_] = undef for 3, 17, 200;
    comes_back(\@sparse, 'between undefs');
    my $copy = copy_of(\@sparse);
    $copy->[$_] = $_ for 0 .. $#$copy;
    is_deeply $copy, [0 .. 200], 'can be filled';
    my @shifted = (1 .. 50);
    shift @shifted for 1 .. 20;
    unshift @shifted, 0;
    comes_back(\@shifted, 'an array that was shifted');
    comes_back([sub { \@_ }->(1, my ($gone)), do { my @pop = (1 .. 9); pop @pop; $#pop = 3; \@pop }], 'one that was cut');
};

subtest 'weak references' => sub {
    my $tree = { name => 'root', children => [map { { name => $_ } } 1 .. 3] };
    for my $child (@{ $tree->{children} }) { weaken($child->{parent} = $tree) }
    comes_back($tree, 'to parents');
    my $copy = copy_of($tree);
    ok isweak($copy->{children}[0]{parent}), 'are weak';
    my $child = $copy->{children}[1];
    undef $copy;
    is $child->{parent}, undef, 'so the copy goes with its root';

    my $target = { name => 'target' };
    my $last = [undef, $target];
    weaken($last->[0] = $target);
    comes_back($last, 'the weak one first');
    my $first = [$target, undef];
    weaken($first->[1] = $target);
    comes_back($first, 'the weak one second');
    my $deep = { a => [undef], z => { b => { c => $target } } };
    weaken($deep->{a}[0] = $target);
    comes_back($deep, 'held from elsewhere');
    my $ring = { name => 'ring' };
    weaken($ring->{self} = $ring);
    comes_back($ring, 'to the value itself');
    my $text = 'text';
    my $scalars = [\$text, undef];
    weaken($scalars->[1] = \$text);
    comes_back($scalars, 'to a scalar');
    my $array = [1, undef];
    weaken($array->[1] = \$array->[0]);
    comes_back($array, 'to an element of the same array');
    my $regexp = qr/x/;
    my $regexps = [undef, $regexp];
    weaken($regexps->[0] = $regexp);
    comes_back($regexps, 'to a regexp');
    my $dead = [undef, 1];
    { my $gone = [1]; weaken($dead->[0] = $gone) }
    comes_back($dead, 'to what is gone');
};

subtest 'weak references to what nothing else holds' => sub {
    my $target = { name => 'target' };
    my $alone = [undef];
    weaken($alone->[0] = $target);
    my $copy = copy_of($alone);
    is_deeply $copy, [{ name => 'target' }], 'are strong in the copy';
    ok !isweak($copy->[0]), 'so that it is there';
    ok isweak($alone->[0]), 'and weak as before in the original';

    weaken(my $value = $target);
    is_deeply copy_of($value), { name => 'target' }, 'the value itself';

    my $twice = [undef, undef, undef];
    weaken($_ = $target) for @$twice;
    $copy = copy_of($twice);
    is_deeply $copy, [(({ name => 'target' }) x 3)], 'three of them';
    is scalar(keys %{ { map { refaddr($_) => 1 } @$copy } }), 1, 'lead to one thing';
    ok scalar(grep { !isweak($_) } @$copy), 'which one of them holds';

    my ($one, $two) = ({ name => 'one' }, { name => 'two' });
    weaken($one->{two} = $two);
    weaken($two->{one} = $one);
    weaken(my $start = $one);
    $copy = copy_of([$start, do { weaken(my $other = $two); $other }]);
    is join(' ', map { $_->{name} } $copy->[0], $copy->[0]{two}, $copy->[0]{two}{one}, $copy->[1]), 'one two one two', 'two that hold each other weakly';

    my ($from, $to) = ([], [{ name => 'end' }]);
    weaken($from->[0] = $to);
    push @$to, $from;
    weaken(my $only = $from);
    $copy = copy_of([$only]);
    is $copy->[0][0][0]{name}, 'end', 'a chain of weak and strong';
    is refaddr($copy->[0][0][1]), refaddr($copy->[0]), 'that closes';

    my $self = {};
    $self->{self} = $self;
    my $holder = [undef];
    weaken($holder->[0] = $self);
    $copy = copy_of($holder);
    is ref $copy->[0], 'HASH', 'a thing that holds itself';
    is refaddr($copy->[0]{self}), refaddr($copy->[0]), 'still does';
    dismantle($self, $copy->[0]);
    my $own = {};
    weaken($own->{own} = $own);
    weaken($holder->[0] = $own);
    $copy = copy_of($holder);
    is ref $copy->[0], 'HASH', 'or weakly';
};

subtest 'all of it at once' => sub {
    my ($text, $list, $node) = ('text', [1, 2], bless { name => 'node' }, 'My::Node');
    my ($weak, $none);
    my $all = sub { \@_ }->($text, $list, $node, \$text, $text, \$list->[1], $weak, $none);
    weaken($all->[6] = $node);
    weaken($node->{all} = $all);
    delete $list->[0];
    push @$list, \$all->[0], $all;
    $node->{pairs} = { list => $list, alias => sub { \@_ }->($text, $list->[1]) };
    comes_back($all, 'in one structure');
    comes_back({ all => $all, node => $node, list => $list }, 'from several sides');
    dismantle($list, $all);
};

is_deeply \@warnings, [], 'without a warning';

done_testing;
