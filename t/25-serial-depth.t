use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use TestArena;
use TestSerial;
use Test::More;

use Shared::Arena;

# Structures may be 10,000 levels deep, of whatever kind, and no deeper. Neither kind of depth exhausts the stack of C.

no warnings 'recursion';

use constant MOST => 10_000;

my $map = serial_map(slots => 8, slot_size => 400_000);
$map->store('k', 'old');

sub nested { my ($depth, $wrap) = @_; my $value = 'leaf'; $value = $wrap->($value) for 1 .. $depth; return $value }

# How to make one level, and how to take it away again.
my %level = (
    'arrays'           => [sub { [$_[0]] }, sub { $_[0][0] }],
    'hashes'           => [sub { { a => $_[0] } }, sub { $_[0]{a} }],
    'references'       => [sub { my $value = $_[0]; \$value }, sub { ${ $_[0] } }],
    'objects on arrays' => [sub { bless [$_[0]], 'My::Class' }, sub { $_[0][0] }],
    'objects on hashes' => [sub { bless { a => $_[0] }, 'My::Class' }, sub { $_[0]{a} }],
    'objects on references' => [sub { my $value = $_[0]; bless \$value, 'My::Class' }, sub { ${ $_[0] } }],
    'arrays with neighbours' => [sub { [1, $_[0], 'after'] }, sub { $_[0][1] }],
);

for my $kind (sort keys %level) {
    my ($wrap, $unwrap) = @{ $level{$kind} };
    subtest $kind => sub {
        for my $depth (1000, MOST - 1, MOST) {
            my $deep = nested($depth, $wrap);
            is $map->store('deep', $deep), 1, "$depth levels are stored";
            my ($copy) = $map->fetch('deep');
            my $levels = 0;
            for (my $at = $copy; ref $at; $at = $unwrap->($at)) { $levels++; $copy = $at }
            is $levels, $depth, 'and come back';
            is $unwrap->($copy), 'leaf', 'to the leaf';
        }
        for my $depth (MOST + 1, MOST + 2, 2 * MOST, 5 * MOST) {
            my $deep = nested($depth, $wrap);
            ok !eval { $map->store('k', $deep); 1 }, "$depth are refused";
            like $@, qr/\AShared::Arena::Map->store: cannot store .+: deeper than 10000 levels at \Q$0\E line \d+\.\n\z/s, 'with a reason';
            cmp_ok length $@, '<', 50_000, 'and no endless message';
        }
        is_deeply [$map->fetch('k')], ['old'], 'the old value stands';
        $map->delete('deep');
    };
}

subtest 'depth at the end of a chain' => sub {
    my $empty = [];
    $empty = [$empty] for 2 .. MOST;
    is $map->store('deep', $empty), 1, 'an empty array in the last level';
    is $map->store('deep', [map { nested(100, $level{arrays}[0]) } 1 .. 200]), 1, 'what is wide is not deep';
    my $shared = nested(MOST - 1, $level{hashes}[0]);
    is $map->store('deep', [$shared, $shared]), 1, 'nor what is there twice';
    my $cycle = [];
    push @$cycle, $cycle;
    is $map->store('deep', $cycle), 1, 'nor a cycle';
    @$cycle = ();
    my $list;
    $list = { next => $list, number => $_ } for 1 .. MOST;
    is $map->store('deep', $list), 1, 'a list of ten thousand';
    my $count = 0;
    for (my ($at) = $map->fetch('deep'); $at; $at = $at->{next}) { $count++ }
    is $count, MOST, 'comes back';
    my $ring;
    $ring = [$ring] for 1 .. MOST;
    my $last = $ring;
    $last = $last->[0] while $last->[0];
    $last->[0] = $ring;
    is $map->store('deep', $ring), 1, 'a ring of ten thousand';
    $last->[0] = undef;
};

quiet_perl_ok <<'END', 'deep structures are freed in peace, also at the end of the program';
use strict; use warnings; no warnings 'recursion'; use Shared::Arena;
my $map = Shared::Arena->create(size => 4 << 20)->map('m', slots => 4, slot_size => 400_000, serialise => 1);
my @wrap = (sub { [$_[0]] }, sub { { a => $_[0] } }, sub { my $v = $_[0]; \$v }, sub { bless [$_[0]], 'C' }, sub { my $v = [$_[0]]; bless \$v, 'D' });
our @kept;
for my $wrap (@wrap) {
    my $deep = 1;
    $deep = $wrap->($deep) for 1 .. ($wrap == $wrap[4] ? 5000 : 10_000);
    $map->store('k', $deep) == 1 or die 'not stored';
    undef $deep;
    for (1 .. 3) { my ($copy) = $map->fetch('k'); undef $copy; $map->fetch('k') }
    push @kept, $map->fetch('k');
    $deep = $wrap->($kept[-1]);
    $deep = $wrap->($deep) for 1 .. 10;
    eval { $map->store('k', $deep); 1 } and die 'stored';
}
END

quiet_perl_ok <<'END', 'so are rings of objects, with weak references back';
use strict; use warnings; no warnings 'recursion'; use Scalar::Util 'weaken'; use Shared::Arena;
our $gone = 0;
sub C::DESTROY { $gone++ }
my $map = Shared::Arena->create(size => 1 << 20)->map('m', slots => 4, slot_size => 120_000, serialise => 1);
my $last = my $ring = bless [], 'C';
for (2 .. 9999) {
    my $next = bless [undef, $last], 'C';
    weaken $next->[1];
    $last = $last->[0] = $next;
}
$last->[0] = $ring;
$map->store('k', $ring) == 1 or die 'not stored';
$last->[0] = undef;
undef $_ for $ring, $last;
$gone == 9999 or die "$gone gone";
for (1, 2) {
    $gone = 0;
    my ($copy) = $map->fetch('k');
    my $end = $copy;
    $end = $end->[0] while $end->[0] != $copy;
    $end->[0] = undef;
    undef $_ for $end, $copy;
    $gone == 9999 or die "$gone of a copy gone";
}
our $whole = $map->fetch('k');    # is a ring until the program ends
END

intact_ok $map, 'whole';

done_testing;
