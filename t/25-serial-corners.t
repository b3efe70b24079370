use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use TestArena;
use TestDescribe;
use TestSerial;
use TestTies;
use Test::More;

use Scalar::Util qw(blessed isweak refaddr reftype weaken);
use Shared::Arena;

# What is stored with success can be fetched, is what it was, and costs nothing afterwards: corners of that promise.

sub aliases { return \@_ }

subtest 'an overloaded dereference that changes what holds its object' => sub {
    my %change = (
        'an element'         => 'package Over; use overload q(@{}) => sub { $main::s->[0] = 5; 7 }; package main; $s = [bless {}, "Over"];',
        'a value of a hash'  => 'package Over; use overload q(@{}) => sub { $main::s->{a} = 5; 7 }; package main; $s = { a => bless {}, "Over" };',
        'behind a reference' => 'package Over; use overload q(${}) => sub { $main::inner = 5; 7 }; package main; our $inner = bless {}, "Over"; $s = \$inner;',
        'the value itself'   => 'package Over; use overload q(@{}) => sub { $main::s = 5; 7 }; package main; $s = bless {}, "Over";',
    );
    for my $place (sort keys %change) {
        quiet_perl_ok <<"END", "$place: is refused when it gives no reference";
use strict; use warnings; use Shared::Arena;
our \$s;
my \$map = Shared::Arena->create(size => 1 << 20)->map('m', slots => 4, serialise => 1);
$change{$place}
exit 0 if !eval { \$map->store('k', \$s); 1 } && \$@ =~ /Over object whose overloaded dereference gives no reference/;
die \$@;
END
    }
    our ($list, $calls);
    { package My::Restless; use overload '@{}' => sub { my ($self) = @_; $calls++; $list->[0] = [1]; $self } }
    $list = [bless ['x'], 'My::Restless'];
    my $copy = copy_of($list);
    is blessed($copy->[0]), 'My::Restless', 'one that answers with itself is itself';
    is $calls, 1, 'asked once';
};

{ package My::Pair; use overload '@{}' => sub { [qw(of object)] } }
{ package My::Text; use overload '${}' => sub { \'of object' } }

subtest 'an overloaded object that is an element as well' => sub {
    for my $class (qw(My::Pair My::Text)) {
        my $given = $class eq 'My::Pair' ? [qw(of object)] : \(my $text = 'of object');
        my $plain = 5;
        my $object = bless \$plain, $class;
        my %order = (
            'the object first'  => [aliases($object, $plain), aliases($given, 5)],
            'the element first' => [aliases($plain, $object), aliases(5, $given)],
            'twice'             => [aliases($object, $plain, $object, $plain), do { my $five = 5; aliases($given, $five, $given, $five) }],
        );
        for my $order (sort keys %order) {
            my ($value, $wanted) = @{ $order{$order} };
            my $copy = eval { copy_of($value) };
            is $@, '', "$class, $order: comes back" or next;
            alike $copy, $wanted, 'the element is what it is, the object what it gives';
        }
    }
};

subtest 'an object that another one stands for is an object in its own place' => sub {
    our ($given, $asked);
    { package My::FrontOfHash;   use overload '%{}' => sub { $given } }
    { package My::FrontOfArray;  use overload '@{}' => sub { $given } }
    { package My::FrontOfScalar; use overload '${}' => sub { $given } }
    my %front = (HASH => 'My::FrontOfHash', ARRAY => 'My::FrontOfArray');
    { package My::Itself; use overload '%{}' => sub { $asked++; $_[0] } }
    my %stands = (
        'a hash'                    => bless({ a => 1 }, 'My::Plain'),
        'an array'                  => bless([1], 'My::Plain'),
        'a scalar'                  => bless(\(my $text = 'text'), 'My::Plain'),
        'a regexp'                  => qr/pattern/,
        'one that answers itself'   => bless({ a => 1 }, 'My::Itself'),
    );
    for my $what (sort keys %stands) {
        $given = $stands{$what};
        my $front = bless [], $front{ reftype $given } || 'My::FrontOfScalar';
        my %order = ('first' => [$given, $front], 'last' => [$front, $given]);
        for my $order (sort keys %order) {
            $asked = 0;
            my $copy = copy_of($order{$order});
            is blessed($copy->[$_]), blessed($given), "$what, $order: has its class" for 0, 1;
            is refaddr($copy->[0]), refaddr($copy->[1]), 'and is there once';
            is $asked, $what =~ /itself/ ? 1 : 0, 'asked once';
        }
    }
};

subtest 'code that iterates over the tied hash being stored' => sub {
    quiet_perl_ok <<'END', 'a key that does when it becomes text';
use strict; use warnings; use Shared::Arena;
our ($hash, $times) = (undef, 0);
{ package Key; use overload '""' => sub { 1 for keys %$main::hash; my @more = map { +{ a => $_ } } 1 .. 50; 'key ' . ++$main::times } }
{
    package Keys;
    sub TIEHASH  { bless {} }
    sub FIRSTKEY { $_[0]{count} = 1; bless [], 'Key' }
    sub NEXTKEY  { $_[0]{count}++ < 3 ? bless([], 'Key') : undef }
    sub FETCH    { 'value' }
}
tie my %tied, 'Keys';
$hash = \%tied;
my $map = Shared::Arena->create(size => 1 << 20)->map('m', slots => 4, serialise => 1);
$map->store('k', \%tied) == 1 or die 'not stored';
keys %{ ($map->fetch('k'))[0] } == 3 or die 'other keys';
END
    my $fetches = 0;
    my $tied;
    $tied = tied_hash({ a => 1, b => 2, c => 3 }, sub {
        my ($method) = @_;
        return if $method ne 'FETCH';
        die "without end\n" if $fetches++ > 100;
        my @keys = keys %$tied;
    });
    my $copy = eval { copy_of($tied) };
    is $@, '', 'a FETCH that does';
    is_deeply $copy, { a => 1, b => 2, c => 3 }, 'gives each value once';
};

subtest 'a weak reference to an object that keeps what its dereference gives' => sub {
    our %inside;
    { package My::InsideOut; use overload '%{}' => sub { $main::inside{ Scalar::Util::refaddr($_[0]) } ||= { n => 1 } } }
    my $object = bless [], 'My::InsideOut';
    for my $weak (0, 1) {
        my $pair = [$object, $object];
        weaken($pair->[$weak]);
        my $copy = copy_of($pair);
        is refaddr($copy->[0]), refaddr($copy->[1]), 'both lead to one hash';
        ok isweak($copy->[$weak]), $weak ? 'the second is weak' : 'the first is weak';
    }
};

subtest 'long texts that are written once and referred to often' => sub {
    my $map = serial_map(slots => 2, slot_size => 1 << 20);
    my %repeated = (
        'a key of 10,000 bytes in 1,000 hashes'     => sub { my $key = 'k' x 10_000; [map { { $key => $_ } } 1 .. 1_000] },
        'a key of 400 bytes in 20,000 hashes'       => sub { my $key = 'k' x 400; [map { { $key => undef } } 1 .. 20_000] },
        'a class of 9,000 bytes in 2,000 objects'   => sub { my $class = 'C' x 9_000; [map { bless [], $class } 1 .. 2_000] },
    );
    for my $what (sort keys %repeated) {
        my $value  = $repeated{$what}->();
        my $stored = $map->store('k', $value);
        if ($stored == -1) { pass("$what: is refused"); next }
        my ($copy) = eval { $map->fetch('k') };
        is $@, '', "$what: what was stored can be fetched" or next;
        ok describe($copy) eq describe($value), 'and is what it was';
    }
};

subtest 'elements that are not there, in an array that was passed around' => sub {
    my %pass = (
        'arguments of a call' => sub { sub { }->(@{ $_[0] }) },
        'map'                 => sub { my @none = map { () } @{ $_[0] } },
        'grep'                => sub { my @none = grep {0} @{ $_[0] } },
        'a loop'              => sub { for (@{ $_[0] }) { } },
    );
    for my $how (sort keys %pass) {
        my @array;
        $array[3] = 'there';
        $pass{$how}->(\@array);
        my $before = join '', map { exists $array[$_] ? 1 : 0 } 0 .. $#array;
        for my $guarded (0, 1) {
            my $copy = copy_of([\@array, $guarded ? tied_scalar('x') : ()])->[0];
            is join('', map { exists $copy->[$_] ? 1 : 0 } 0 .. $#$copy), $before, $how . ($guarded ? ', beside something tied' : '');
        }
    }
};

subtest 'a tied scalar in several places is read once' => sub {
    my %places = (
        'two elements'             => sub { aliases(${ $_[0] }, ${ $_[0] }) },
        'an element and behind it' => sub { [$_[0], aliases(${ $_[0] })] },
        'the other way round'      => sub { [aliases(${ $_[0] }), $_[0]] },
    );
    for my $where (sort keys %places) {
        my $tied = tied_scalar('text');
        copy_of($places{$where}->($tied));
        is_deeply calls_of($tied), { FETCH => 1 }, $where;
    }
};

subtest 'the pragmas around a fetch do not reach the compiler of patterns' => sub {
    quiet_perl_ok <<'END', 'use re "debug"';
use Shared::Arena;
my $map = Shared::Arena->create->map('m', slots => 4, serialise => 1);
$map->store('k', qr/pattern/);
use re 'debug';
my ($copy) = $map->fetch('k');
END
};

sub kilobytes { my ($anonymous) = read_file('/proc/self/status') =~ /^RssAnon:\s+(\d+)/m; return $anonymous }

subtest 'memory' => sub {
    plan skip_all => 'the kernel tells no RssAnon' if !defined kilobytes();
    my $map  = serial_map(slots => 2, slot_size => 21 << 20);
    my $text = 'x' x (20 << 20);
    $map->store('warm', 1);
    my ($warm) = $map->fetch('warm');

    my $before = kilobytes();
    $map->store('k', $text);
    cmp_ok kilobytes() - $before, '<', 4_000, 'a long value that was stored leaves no buffer behind';
    $map->store('warm', 1);

    $before = kilobytes();
    $map->fetch('k');
    cmp_ok kilobytes() - $before, '<', 4_000, 'nor one that was fetched in void context';
    my ($long) = $map->fetch('k');

    { package My::Unnameable; use overload '""' => sub { die "no name\n" } }
    { package My::Keys; sub TIEHASH { bless [] } sub FIRSTKEY { bless [], 'My::Unnameable' } sub NEXTKEY { } sub FETCH { 'x' x 10_000 } }
    tie my %hash, 'My::Keys';
    my $refused = 0;
    my $store = sub { eval { $map->store('k', \%hash); 1 } or $refused++ for 1 .. 500 };
    $store->();
    $before = kilobytes();
    $store->();
    is $refused, 1000, 'a key that dies';
    cmp_ok kilobytes() - $before, '<', 2_000, 'takes its value along';
};

subtest 'classes with characters in messages' => sub {
    my $class = "My::\x{263A}";
    my $plain = eval 'package ' . "My::Nothing" . '; use overload q(@{}) => sub { 5 }; 1' or die $@;
    { no strict 'refs'; @{"${class}::ISA"} = 'My::Nothing'; }
    ok !eval { copy_of(bless {}, $class); 1 }, 'an object that gives no reference is refused';
    ok $@ =~ /\Q$class\E object/, 'under its own name';
};

# Perl keeps a table for every part of a class name, under all of the name so far.
subtest 'classes of very many parts' => sub {
    my ($most, $more) = map { join '::', ('A') x $_ } 100, 101;
    is ref copy_of(bless [], $most), $most, 'a hundred are many enough';
    ok !eval { copy_of(bless [], $more); 1 }, 'one more is refused';
    like $@, qr/the value: object of a class of more than 100 parts/, 'with the reason';
    my $document = Shared::Arena::_encode(bless [], 'B' x length $more);
    substr $document, index($document, 'B'), length $more, $more;
    ok !eval { Shared::Arena::_decode($document); 1 }, 'in memory that was written over, too';
    like $@, qr/byte \d+: a class name of too many parts/, 'with the reason';
};

subtest 'a bad pattern in memory, fetched by a file with an odd name' => sub {
    my $document = Shared::Arena::_encode(qr/abc/);
    substr $document, index($document, 'abc'), 3, 'ab(';
    my $fetch = eval qq{#line 7 "look at line 3 of it"\nsub { Shared::Arena::_decode(\$_[0]) }} or die $@;
    ok !eval { $fetch->($document); 1 }, 'is refused';
    like $@, qr/: a regexp that perl does not take: Unmatched \( in regex; marked by <-- HERE in m\/ab\( <-- HERE \/ at look/, 'with perl\'s reason alone';
};

done_testing;
