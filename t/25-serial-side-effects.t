use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use TestArena;
use TestMagic;
use TestSerial;
use TestTies;
use Test::More;

use Shared::Arena;

# Reading a structure may run any code: code that dies, that uses the same map, that takes away what is being read. The
# outcome is an answer or a croak, with the old value in its place until the new one is whole.

# Everything that runs code while a structure is read, each with the hook in it.
my %running = (
    'a tied array'             => sub { tied_array([1, 2, 3], $_[0]) },
    'a tied hash'              => sub { tied_hash({ a => 1, b => 2 }, $_[0]) },
    'a tied scalar'            => sub { tied_scalar('x', $_[0]) },
    'an array with a tied element' => sub { my @array = (1, 2, 3); tie $array[1], 'TestTies::Scalar', \(my $x = 'x'), $_[0]; \@array },
    'a hash with a tied value' => sub { my %hash = (a => 1); tie $hash{b}, 'TestTies::Scalar', \(my $x = 'x'), $_[0]; \%hash },
    'an overloaded array'      => sub { bless { hook => $_[0] || sub { } }, 'My::Array' },
    'an overloaded hash'       => sub { bless [$_[0] || sub { }], 'My::Hash' },
    'an overloaded scalar'     => sub { bless [$_[0] || sub { }], 'My::Scalar' },
);
{
    package My::Array;  use overload '@{}' => sub { no overloading; $_[0]{hook}->(); [1, 2] };
    package My::Hash;   use overload '%{}' => sub { no overloading; $_[0][0]->(); { a => 1 } };
    package My::Scalar; use overload '${}' => sub { no overloading; $_[0][0]->(); \'x' };
}

subtest 'code that dies' => sub {
    my $map = serial_map();
    $map->store('k', { old => ['value'] });
    my %before = $map->stats;
    for my $what (sort keys %running) {
        for my $wrap (sub { $_[0] }, sub { [1, { a => [2, $_[0]] }, 3] }) {
            ok !eval { $map->store('k', $wrap->($running{$what}->(sub { die "not today\n" }))); 1 }, $what;
            is $@, "not today\n", 'its own message';
            my $error = { code => 42 };
            ok !eval { $map->store('k', $wrap->($running{$what}->(sub { die $error }))); 1 }, 'an object as a message';
            is $@, $error, 'as it is';
            is_deeply [$map->fetch('k')], [{ old => ['value'] }], 'the old value stands';
            is $map->store('other', [1, 2, { 3 => 4 }]), 1, 'others can be stored';
            is_deeply [$map->fetch('other')], [[1, 2, { 3 => 4 }]], 'and are whole';
            $map->delete('other');
        }
    }
    my %after = $map->stats;
    is $after{used}, $before{used}, 'no key came of it';
    intact_ok $map, 'whole';
};

subtest 'code that dies late, after much was read' => sub {
    my $map = serial_map(slot_size => 100_000);
    my $big = [map { { number => $_, text => 'x' x 100 } } 1 .. 500];
    for my $round (1 .. 20) {
        my $count = 0;
        my $tied = tied_array([1 .. 100], sub { die "enough\n" if $_[0] eq 'FETCH' && ++$count > 5 * $round });
        eval { $map->store('k', [$big, $tied, $big]) };
        is $@, "enough\n", "after $count elements" if $round < 20;
    }
    is_deeply [$map->fetch('k')], [[$big, [1 .. 100], $big]], 'the last one had no reason to die';
};

subtest 'code that uses the same map' => sub {
    my $map = serial_map(slot_size => 10_000);
    my $inner = { inner => [1 .. 20], text => "\x{263A}" };
    for my $what (sort keys %running) {
        my @seen;
        my $hook = sub {
            push @seen, $map->store('inner', $inner), $map->fetch('inner');
            $map->exists('k');
            $map->delete('nothing');
        };
        my $shared = ['before', 'and', 'after'];
        is $map->store('k', [$shared, 'a' .. 'z', $running{$what}->($hook), $shared, { after => [1 .. 50] }]), 1, "$what is stored";
        my ($copy) = $map->fetch('k');
        is_deeply [@$copy[0 .. 26], @$copy[28, 29]], [$shared, 'a' .. 'z', $shared, { after => [1 .. 50] }], 'what is around it comes back';
        is $copy->[0], $copy->[28], 'what is shared, shared';
        ok @seen >= 2, 'the code ran';
        is_deeply \@seen, [(1, $inner) x (@seen / 2)], 'and stored and fetched what it wanted';
        is_deeply [$map->fetch('inner')], [$inner], 'which is there';
        is $map->store('k', $running{$what}->(sub { $map->store('k', 'from inside') })), 1, 'the same key';
        is ref(eval { $map->fetch('k') }), ref copy_of($running{$what}->()), 'has the value of the call that ends last' or diag $@;
    }
    intact_ok $map, 'whole';
};

subtest 'calls inside calls inside calls' => sub {
    my $map = serial_map(slots => 32, slot_size => 10_000);
    my $made;
    $made = sub {
        my ($depth) = @_;
        return ["the end"] if !$depth;
        return [$depth, tied_scalar("level $depth", sub { $map->store("level $depth", $made->($depth - 1)) }), [($depth) x 10]];
    };
    is $map->store('top', $made->(20)), 1, 'twenty deep';
    for my $depth (2 .. 20) {
        my ($there) = $map->fetch("level $depth");
        my $below = $depth - 1;
        is_deeply $there, [$below, \"level $below", [($below) x 10]], "level $depth is whole";
    }
    is_deeply [$map->fetch('level 1')], [['the end']], 'to the last';
    my $other = serial_map();
    is $map->store('k', [tied_scalar(1, sub { $other->store('x', [tied_scalar(2, sub { $map->store('y', ['z']) })]) })]), 1, 'two maps in turn';
    is_deeply [map { @$_ } $map->fetch('k'), $other->fetch('x'), $map->fetch('y')], [\1, \2, 'z'], 'do not get mixed up';
    my $dies = tied_scalar(1, sub { eval { $map->store('k', [1, 2, tied_scalar(1, sub { die "inside\n" })]) } });
    is $map->store('k', ['a', $dies, 'b']), 1, 'an inner store that dies';
    is_deeply [$map->fetch('k')], [['a', \1, 'b']], 'does not harm the outer one';
};

subtest 'options and keys' => sub {
    my $map = serial_map();
    my $value = { list => [1 .. 30], again => 'x' x 100 };
    set_clock(1_700_000_000);
    my $ttl = tied_value(10, sub { $map->store('other', ['something', 'else']) });
    is $map->store('k', $value, ttl => $$ttl), 1, 'a time to live that stores';
    is reads_of($ttl), 1, 'is read once';
    is_deeply [$map->fetch('k')], [$value], 'and disturbs nothing';
    is_deeply [$map->fetch('other')], [['something', 'else']], 'nor is what it stored';
    set_clock(1_700_000_011);
    is_deeply [$map->fetch('k')], [], 'it counts';
    real_clock();
    my $key = tied_value('k', sub { $map->store('other', { from => 'a key' }) });
    is $map->store($$key, $value), 1, 'a key that stores';
    is_deeply [$map->fetch('k')], [$value], 'likewise';
    is_deeply [$map->fetch($$key)], [$value], 'also when it is fetched';
    is_deeply [$map->fetch('other')], [{ from => 'a key' }], 'both are there';
    for my $option (qw(ttl ttl_ms)) {
        for my $bad (tied_value(-1), tied_value('x')) {
            croaks_like { $map->store('k', ['new'], $option => $$bad) } qr/Shared::Arena::Map.*$option/, "a bad $option";
            is_deeply [$map->fetch('k')], [$value], 'leaves the old value';
        }
        ok !eval { $map->store('k', ['new'], $option => ${ tied_value(1, sub { die "no $option\n" }) }); 1 }, "$option that dies";
        is $@, "no $option\n", 'its own message';
        is_deeply [$map->fetch('k')], [$value], 'the old value stands';
    }
    is $map->store('k', ['new'], ttl => ${ tied_value(10, sub { @{ $value->{list} } = (); undef $value }) }), 1, 'a time to live that takes another value away';
    my $list = [1 .. 10];
    is $map->store('k', $list, ttl => ${ tied_value(10, sub { @$list = (); undef $list }) }), 1, 'or that very value';
    my ($copy) = $map->fetch('k');
    ok !@$copy || @$copy == 10, 'stores it as it was before or after';
    intact_ok $map, 'whole';
};

# In a perl of their own, since the danger is a crash. $s is the structure.
my %change = (
    'empties the outer array'    => '@$s = ()',
    'cuts it'                    => '$#$s = 0',
    'lets it grow'               => 'push @$s, 1 .. 1000',
    'grows it at the front'      => 'unshift @$s, 1 .. 1000',
    'shifts it'                  => 'shift @$s while @$s',
    'puts others in its place'   => '@$s = map { [$_] } 1 .. 50',
    'lets go of it'              => 'undef $s',
    'empties inner arrays'       => '@$_ = () for grep { ref eq "ARRAY" } @$s',
    'empties the hash'           => '%{ $s->[1] } = () if ref $s->[1] eq "HASH"',
    'deletes from the hash'      => 'if (ref $s->[1] eq "HASH") { delete $s->[1]{$_} for keys %{ $s->[1] } }',
    'adds to the hash'           => 'if (ref $s->[1] eq "HASH") { $s->[1]{"new $_"} = [$_] for 1 .. 1000 }',
    'walks the hash'             => 'if (ref $s->[1] eq "HASH") { while (my ($k, $v) = each %{ $s->[1] }) { } }',
    'frees and makes much'       => '@$s = (); my @new = map { [map { [$_] } 1 .. 10] } 1 .. 100; @new = ()',
    'blesses all'                => 'bless $_, "Other" for grep { ref } @$s; bless $s, "Other"',
    'unties the scalar'          => 'untie ${ $tied{scalar} }',    # perl itself does not survive this with arrays and hashes
    'lets go of the map'         => 'undef $map; undef $arena',
    'destroys the map'           => '$map->DESTROY if $map',
    'makes the map another'      => '$map = $arena->map("other", slots => 4)',
    'dies after emptying'        => '@$s = (); die "gone\n"',
    'stores after emptying'      => '@$s = (); $map->store("k", $s)',
    'puts it into itself'        => 'push @$s, $s, \$s if @$s < 50',
    'weakens all'                => 'Scalar::Util::weaken($_) for grep { ref && !Scalar::Util::isweak($_) } @$s',
    'turns elements into others' => '$_ = \my @none for @$s',
);
for my $name (sort keys %change) {
    my $program = <<'END';
use strict; use warnings; use lib $ENV{TEST_LIB}; use TestTies; use Scalar::Util; use Shared::Arena;
our ($arena, $map, $s, %tied);
sub change { no warnings; CHANGE; return }
{ package Over; use overload '@{}' => sub { no overloading; main::change(); $_[0]{list} } }
for my $round (1 .. 8) {
    for my $kind (qw(array hash scalar element value over all)) {
        $arena = Shared::Arena->create(size => 80_000);
        $map   = $arena->map('m', slots => 4, slot_size => 16_384, serialise => 1);
        my $count = 0;
        my $hook = sub { change() if ++$count >= $round };
        %tied = (array => tied_array([[1], [2], { a => [3] }], $hook), hash => tied_hash({ a => [1], b => { c => 2 } }, $hook), scalar => tied_scalar([1, [2]], $hook));
        my @element = ([1], [2], [3]); tie $element[1], 'TestTies::Scalar', \(my $x = [4]), $hook;
        my %value = (a => [1], b => [2], c => [3]); tie $value{b}, 'TestTies::Scalar', \(my $y = [4]), $hook;
        my %thing = (%tied, element => \@element, value => \%value, over => bless { list => [[1], [2]] }, 'Over');
        my @things = $kind eq 'all' ? values %thing : $thing{$kind};
        $s = [[1, 2], { inner => [5], things => [@things], z => [6], map { ("key $_" => [$_]) } 1 .. 20 }, @things, [3, 4], 'end'];
        undef $_ for @thing{ keys %thing };
        my $done = eval { $map->store('k', $s) };
        my @there = eval { $map->fetch('k') };
        $map = $arena->map('m', slots => 4, slot_size => 16_384, serialise => 1) if !$map && $arena;
        if ($s && !Scalar::Util::blessed($s)) { @$s = () }
        %tied = @things = @element = %value = ();
        $arena = Shared::Arena->create(size => 8192);
        $map = $arena->map('again', slots => 4, serialise => 1);
        $map->store('k', [1, { a => 'b' }]) == 1 or die 'cannot be used afterwards';
        my ($back) = $map->fetch('k');
        $back->[0] == 1 && $back->[1]{a} eq 'b' or die 'wrong afterwards';
    }
}
END
    $program =~ s/CHANGE/$change{$name}/;
    quiet_perl_ok $program, "code that $name", env => { TEST_LIB => "$FindBin::Bin/lib" };
}

subtest 'destructors of what is read' => sub {
    my $map = serial_map();
    my $gone = 0;
    no warnings 'once';
    local *My::Gone::DESTROY = sub { $gone++; $map->store('from a destructor', [$gone]); $map->fetch('k') };
    my $hash = tied_hash({ map { $_ => 1 } 1 .. 5 });
    hook_on($hash, sub { my $temporary = bless {}, 'My::Gone' });
    is $map->store('k', [$hash, 'after']), 1, 'run in between';
    ok $gone, 'they did';
    is_deeply [$map->fetch('k')], [[{ map { $_ => 1 } 1 .. 5 }, 'after']], 'and disturb nothing';
    $map->store('k', [map { bless {}, 'My::Gone' } 1 .. 3]);
    $gone = 0;
    for (1 .. 3) { my ($copy) = $map->fetch('k') }
    is_deeply [$map->fetch('from a destructor')], [[$gone]], 'those of copies may use the map';
    $map->delete('k');
};

done_testing;
