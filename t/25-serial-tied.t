use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use TestArena;
use TestMagic;
use TestScalars;
use TestSerial;
use TestTies;
use Test::More;

use Scalar::Util qw(blessed refaddr weaken);
use Shared::Arena;

# Tied things, and objects that overload a dereference, are read once through their interface, and what was read is
# stored as if it were plain.

my @warnings;
$SIG{__WARN__} = sub { push @warnings, @_ };

subtest 'tied arrays' => sub {
    my $array = tied_array([1, 'two', [3], undef]);
    alike copy_of($array), [1, 'two', [3], undef], 'are plain arrays in the copy';
    is_deeply calls_of($array), { FETCHSIZE => 1, FETCH => 4 }, 'each element was fetched once';
    is_deeply [map { tied @$_ } copy_of($array)], [undef], 'nothing is tied';
    my $empty = tied_array([]);
    alike copy_of($empty), [], 'an empty one';
    is_deeply calls_of($empty), { FETCHSIZE => 1 }, 'needs no more than its size';
    my $long = tied_array([1 .. 1000]);
    alike copy_of([0, $long, 2]), [0, [1 .. 1000], 2], 'a long one, in a structure';
    is_deeply calls_of($long), { FETCHSIZE => 1, FETCH => 1000 }, 'once, too';
};

subtest 'tied hashes' => sub {
    my %plain = (a => 1, b => 'two', "caf\xE9" => 3, "\x{263A}" => { four => 4 }, '' => undef);
    my $hash = tied_hash(\%plain);
    alike copy_of($hash), \%plain, 'are plain hashes in the copy';
    is_deeply calls_of($hash), { FIRSTKEY => 1, NEXTKEY => 5, FETCH => 5 }, 'each value was fetched once';
    is_deeply [map { tied %$_ } copy_of($hash)], [undef], 'nothing is tied';
    my $empty = tied_hash({});
    alike copy_of($empty), {}, 'an empty one';
    is_deeply calls_of($empty), { FIRSTKEY => 1 }, 'needs no more than the first key';
    my $long = tied_hash({ map { $_ => $_ } 1 .. 1000 });
    alike copy_of({ in => [$long] }), { in => [{ map { $_ => "$_" + 0 } 1 .. 1000 }] }, 'a long one, in a structure';
    is_deeply calls_of($long), { FIRSTKEY => 1, NEXTKEY => 1000, FETCH => 1000 }, 'once, too';
};

subtest 'tied scalars' => sub {
    my $value = tied_scalar('text');
    is copy_of($$value), 'text', 'as the value';
    is_deeply calls_of($value), { FETCH => 1 }, 'fetched once';
    my $behind = tied_scalar(1.5);
    alike copy_of($behind), \double(1.5), 'behind a reference';
    is_deeply calls_of($behind), { FETCH => 1 }, 'once';
    my ($element, $field) = (tied_scalar("\x{263A}"), tied_scalar(7));
    my (@array, %hash) = (1);
    tie $array[1], 'TestTies::Scalar', \(my $one = 'element');
    tie $hash{a}, 'TestTies::Scalar', \(my $two = 'field');
    alike copy_of([\@array, \%hash]), [[1, 'element'], { a => 'field' }], 'as elements';
    is tied($array[1])->{calls}{FETCH}, 1, 'fetched once';
    is tied($hash{a})->{calls}{FETCH}, 1, 'each';
    ok tied $array[1], 'and still tied';
    my $structure = tied_scalar({ list => [1, 2] });
    alike copy_of($$structure), { list => [1, 2] }, 'one with a structure in it';
    alike copy_of([$structure]), [\{ list => [1, 2] }], 'behind a reference';
    is_deeply calls_of($structure), { FETCH => 2 }, 'once a store';
    my $number   = 0;
    my $changing = tied_scalar(0, sub { ${ $_[1]{inner} } = ++$number });
    is copy_of($$changing), 1, 'one that changes with each look';
    is copy_of($$changing), 2, 'is looked at once';
};

subtest 'tied things in tied things' => sub {
    my $inner = tied_array([1, 2]);
    my $hash  = tied_hash({ list => $inner, scalar => tied_scalar([tied_hash({ deep => 1 })]) });
    my $outer = tied_array([$hash, { plain => tied_array([]) }]);
    alike copy_of($outer), [{ list => [1, 2], scalar => \[{ deep => 1 }] }, { plain => [] }], 'are all read';
    is_deeply calls_of($inner), { FETCHSIZE => 1, FETCH => 2 }, 'once';
    my $value = tied_scalar(tied_array([tied_hash({ a => 1 })]));
    alike copy_of($$value), [{ a => 1 }], 'also where the value itself is tied';
};

subtest 'one tied thing in several places' => sub {
    for my $tied (tied_array([1, 2]), tied_hash({ a => 1 }), tied_scalar('x')) {
        my $copy  = copy_of([$tied, { again => $tied }, $tied]);
        my $calls = calls_of($tied);
        is refaddr($copy->[0]), refaddr($copy->[1]{again}), 'is one thing in the copy';
        is refaddr($copy->[0]), refaddr($copy->[2]), 'everywhere';
        is $calls->{FETCHSIZE} || $calls->{FIRSTKEY} || $calls->{FETCH}, 1, 'read once';
    }
    my $array = tied_array([1]);
    push @$array, $array;
    my $copy = copy_of($array);
    is refaddr($copy->[1]), refaddr($copy), 'one that contains itself';
    @$_ = () for $copy, $array;
    my $weak = [tied_array([5]), undef];
    weaken($weak->[1] = $weak->[0]);
    alike copy_of($weak), do { my $plain = [[5], undef]; weaken($plain->[1] = $plain->[0]); $plain }, 'held weakly, too';
};

subtest 'blessed and tied' => sub {
    for my $tied (tied_array([1, 2]), tied_hash({ a => 1 }), tied_scalar('x')) {
        my $copy = copy_of(bless $tied, 'My::Class');
        is blessed($copy), 'My::Class', 'is in its class';
        alike $copy, bless(ref $copy && "$tied" =~ /ARRAY/ ? [1, 2] : "$tied" =~ /HASH/ ? { a => 1 } : \(my $x = 'x'), 'My::Class'), 'and no longer tied';
    }
};

subtest 'elements that come to be when they are read' => sub {
    my $array = do { package My::Squares; sub TIEARRAY { bless [] } sub FETCHSIZE {5} sub FETCH { [$_[1], $_[1]**2] } tie my @array, __PACKAGE__; \@array };
    is_deeply copy_of($array), [map { [$_, $_**2] } 0 .. 4], 'new references each time';
    is_deeply copy_of([$array, $array]), [([map { [$_, $_**2] } 0 .. 4]) x 2], 'do not get mixed up';
    my $hash = do { package My::Letters; sub TIEHASH { bless [] } sub FIRSTKEY {'a'} sub NEXTKEY { $_[1] eq 'z' ? undef : chr 1 + ord $_[1] } sub FETCH { { letter => "<$_[1]>" } } tie my %hash, __PACKAGE__; \%hash };
    is_deeply copy_of($hash), { map { $_ => { letter => "<$_>" } } 'a' .. 'z' }, 'of a hash, too';
    my $same = do { package My::Same; sub TIEARRAY { bless [[]] } sub FETCHSIZE {3} sub FETCH { $_[0][0] } tie my @array, __PACKAGE__; \@array };
    is scalar(keys %{ { map { refaddr($_) => 1 } @{ copy_of($same) } } }), 1, 'one reference read three times is one';
};

# Overloaded dereferences

my %reads;
{
    package My::Array;  use overload '@{}' => sub { $reads{'@{}'}++; no overloading; $_[0]{list} }, fallback => 1;
    package My::Hash;   use overload '%{}' => sub { $reads{'%{}'}++; no overloading; $_[0][0] }, fallback => 1;
    package My::Scalar; use overload '${}' => sub { $reads{'${}'}++; no overloading; \$_[0][0] }, fallback => 1;
    package My::All;    use overload '@{}' => sub { $reads{'@{}'}++; [qw(of array)] }, '%{}' => sub { $reads{'%{}'}++; { of => 'hash' } }, '${}' => sub { $reads{'${}'}++; \'of scalar' }, '""' => sub { $reads{'""'}++; 'text' };
    package My::Both;   use overload '@{}' => sub { $reads{'@{}'}++; [qw(of array)] }, '${}' => sub { $reads{'${}'}++; \'of scalar' }, bool => sub { $reads{bool}++; 1 };
    package My::Own;    use overload '%{}' => sub { $reads{'%{}'}++; $_[0] }, '@{}' => sub { $reads{'@{}'}++; $_[0] }, '${}' => sub { $reads{'${}'}++; $_[0] };
    package My::Code;   use overload '&{}' => sub { $reads{'&{}'}++; sub { } }, '*{}' => sub { $reads{'*{}'}++; \*STDOUT }, '<>' => sub { $reads{'<>'}++ };
    package My::Heir;   our @ISA = 'My::Array';
    package My::Fresh;  use overload '@{}' => sub { no overloading; [${ $_[0] }, [${ $_[0] }]] };
}

subtest 'objects that overload a dereference' => sub {
    my @cases = (
        [bless({ list => [1, [2]] }, 'My::Array'), [1, [2]], '@{}'],
        [bless([{ a => 1 }], 'My::Hash'), { a => 1 }, '%{}'],
        [bless(['x'], 'My::Scalar'), \'x', '${}'],
        [bless([], 'My::All'), { of => 'hash' }, '%{}'],
        [bless([], 'My::Both'), [qw(of array)], '@{}'],
        [bless({ list => [] }, 'My::Heir'), [], '@{}'],
    );
    for my $case (@cases) {
        my ($object, $plain, $operator) = @$case;
        my $class = blessed $object;
        %reads = ();
        my $copy = copy_of($object);
        is_deeply \%reads, { $operator => 1 }, "$class: $operator is called once, and nothing else";
        alike $copy, $plain, 'and its answer stored, unblessed';
        %reads = ();
        alike copy_of({ in => [$object] }), { in => [$plain] }, 'in a structure';
        is_deeply \%reads, { $operator => 1 }, 'once';
    }
    my $object = bless { list => [1] }, 'My::Array';
    my $copy = copy_of([$object, $object]);
    is_deeply $copy, [[1], [1]], 'one in two places';
    is refaddr($copy->[0]), refaddr($copy->[1]), 'is one array, since it answers with one';
    my @fresh = map { my $number = $_; bless \$number, 'My::Fresh' } 1 .. 200;
    is_deeply copy_of(\@fresh), [map { [$_, [$_]] } 1 .. 200], 'answers that are made anew each time do not get mixed up';
    my $nested = bless { list => [bless({ list => [bless [{ deep => 1 }], 'My::Hash'] }, 'My::Array')] }, 'My::Array';
    alike copy_of($nested), [[{ deep => 1 }]], 'one in another';
    my $tied = bless { list => tied_array([1, 2]) }, 'My::Array';
    alike copy_of($tied), [1, 2], 'one that answers with something tied';
    is_deeply calls_of($tied->{list}), { FETCHSIZE => 1, FETCH => 2 }, 'which is read once';
};

subtest 'objects that answer with themselves' => sub {
    for my $own (bless({ a => 1 }, 'My::Own'), bless([1], 'My::Own'), bless(\(my $x = 'x'), 'My::Own')) {
        %reads = ();
        comes_back($own, 'are stored as any other object');
        is blessed(copy_of($own)), 'My::Own', 'in their class';
        ok !grep({ $_ > 2 } values %reads), 'and are asked no more often than others';
    }
};

subtest 'overloading that is no container' => sub {
    %reads = ();
    comes_back($_, blessed($_) . ' is an object like any other') for bless({ a => 1 }, 'My::Code'), bless([1], 'My::Code');
    is_deeply \%reads, {}, 'and nothing is called';
};

subtest 'everything else that is magical' => sub {
    local $SIG{USR1} = 'IGNORE';
    is copy_of(sub { \@_ }->($SIG{USR1}))->[0], 'IGNORE', 'signal handlers';
    my $searched = 'abcabc';
    $searched =~ /b/g;
    my $shared = \$searched;
    alike copy_of([$shared]), [\'abcabc'], 'a string with a position';
    'abcd' =~ /b(c)(d)/ or die;
    my $map = serial_map();
    $map->store('k', [\@-, \@+]);
    is_deeply scalar($map->fetch('k')), [[1, 2, 3], [4, 3, 4]], 'the places of captures';
    my @list = (1, 2, 3);
    $#{ \@list } = 1;
    my $last = \$#list;
    is ${ copy_of($last) }, 1, 'the last index of an array';
    my $env = copy_of(\$ENV{SHARED_ARENA_DIR});
    alike $env, \"$ENV{SHARED_ARENA_DIR}", 'an element of the environment';
    my $args = sub { copy_of(\@_) }->(tied_value('t') && 1, $0, $$);
    is_deeply $args, [1, $0, $$], 'arguments of a call';
};

is_deeply \@warnings, [], 'without a warning';

done_testing;
