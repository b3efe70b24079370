use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use TestArena;
use TestSerial;
use TestTies;
use Test::More;

use Scalar::Util qw(blessed refaddr weaken);
use Shared::Arena;

# Where what is written meets the bounds of what is read, where Perl code pulls the structure away from under a store,
# and what a fetch leaves behind.

my @warnings;
$SIG{__WARN__} = sub { push @warnings, @_ };

sub map_of {
    my ($serialise) = @_;
    return Shared::Arena->create(size => 65_536)->map('m', slots => 16, slot_size => 1024, serialise => $serialise);
}

# Of this process, in KiB: 'VmRSS' now, 'VmHWM' at most so far.
sub memory {
    my ($field) = @_;
    open my $status, '<', '/proc/self/status' or die "status: $!";
    my ($size) = map {/\A$field:\s+(\d+) kB/} <$status>;
    return $size;
}

subtest 'regexps do not keep a long key once each' => sub {
    my $map = serial_map(slots => 2, slot_size => 1 << 20);
    my $key = 'k' x 500_000;
    is $map->store($key, [map {qr/a$_/} 1 .. 200]), 1, 'stored';
    my $before = memory('VmHWM');
    is scalar @{ $map->fetch($key) }, 200, 'fetched';
    cmp_ok memory('VmHWM') - $before, '<', 50_000, 'in little memory';
};

# A reader bounds what it reads a second time, so that a short document cannot keep it busy for long. This once made a
# store take what no fetch would give.
subtest 'what a store takes, a fetch gives: long keys and classes that come again' => sub {
    for my $length (100, 1000, 10_000) {
        my $name = 'k' x $length;
        my $rows = Shared::Arena::_encode([map { +{ $name => 1 } } 1 .. 3000]);
        is eval { scalar grep { $_->{$name} == 1 } @{ Shared::Arena::_decode($rows) } }, 3000, "keys of $length characters" or diag $@;
        my $objects = Shared::Arena::_encode([map { bless [], $name } 1 .. 3000]);
        is eval { scalar grep { ref eq $name } @{ Shared::Arena::_decode($objects) } }, 3000, "classes of $length characters" or diag $@;
        cmp_ok length, '<', 3000 * ($length + 10) / 4, 'most are copied' for $rows, $objects;
        my $again = Shared::Arena::_encode([map { +{ $name => 1 } } 1 .. 3000]);
        is length $again, length $rows, 'and as many in the next document';
    }
};

subtest 'a tied value whose code takes the key and the map away' => sub {
    for my $serialised (0, 1) {
        my $map   = map_of($serialised);
        my $other = $map;
        my $key   = 'the';
        $key .= ' key';    # in a buffer of its own, that no constant shares
        my $value = tied_scalar('text', sub { substr($key, 0, 3) = 'any'; undef $map });
        is $map->store($key, $$value), 1, $serialised ? 'serialised: stored' : 'plain: stored';
        is $other->fetch('the key'), 'text', 'under the key that was given';
        my $list = tied_array(['element'], sub { substr($key, 0, 3) = 'one'; undef $map });
        next if !$serialised;
        ($map, $key) = ($other, 'the key');
        undef $other;
        is $map->store($key, $list), 1, 'into a map that nobody else has: stored';
        ok !defined $map, 'and gone';
    }
};

subtest 'an overloaded dereference that changes the element it is called for' => sub {
    our ($structure, $answer);
    {
        package My::Changing;
        use overload '@{}' => sub { $main::structure->[0] = 5; return $main::answer->(@_) }, fallback => 1;
    }
    for my $case (
        ['something else'    => sub { [1, 2] },  [[1, 2], 7]],
        ['what is there now' => sub { $structure->[0] = [3] }, [[3], 7]],
        ['no reference'      => sub {7}, undef],
    ) {
        (my $name, $answer, my $expected) = @$case;
        $structure = [bless({}, 'My::Changing'), 7];
        my $copy = eval { copy_of($structure) };
        if   ($expected) { alike $copy, $expected, "gives $name" }
        else             { like $@, qr/cannot store \[0\]: My::Changing object whose overloaded dereference gives no reference/, "gives $name" }
    }
    $structure = [bless({ a => 1 }, 'My::Changing')];
    $answer = sub { $_[0] };
    my $copy = copy_of($structure);
    is blessed($copy->[0]), 'My::Changing', 'gives itself: it is an object as any other';
};

subtest 'an overloaded dereference that gives what is there already' => sub {
    {
        package My::Array;
        use overload '@{}' => sub { $_[0]->() }, fallback => 1;
    }
    my $array  = [1, 2];
    my $object = bless sub {$array}, 'My::Array';
    for my $structure ([$array, $object, $object], [$object, $array, $object]) {
        my $copy = copy_of($structure);
        alike $copy->[0], [1, 2], 'is the array';
        is refaddr $copy->[$_], refaddr $copy->[0], 'once' for 1, 2;
    }
    {
        package My::Scalar;
        use overload '${}' => sub { my $answer = 'new'; \$answer }, fallback => 1;
    }
    my $scalar = bless [], 'My::Scalar';
    my $twice  = copy_of([$scalar, $scalar]);
    ${ $twice->[0] } = 'changed';
    is ${ $twice->[1] }, 'changed', 'and a scalar that is made for each call is made once';
    weaken(my $weak = $object);
    alike copy_of([$weak, $array]), copy_of([$array, $array]), 'behind a weak reference, too';
};

subtest 'a tied scalar in two places is read once' => sub {
    my $tied = tied_scalar('text');
    my $copy = copy_of(sub { \@_ }->($$tied, $$tied, 0));
    is_deeply calls_of($tied), { FETCH => 1 }, 'fetched once';
    $copy->[0] = 'changed';
    is $copy->[1], 'changed', 'and is one scalar in the copy';
};

subtest "perl's own true, false and undef are no places" => sub {
    my $copy = copy_of(sub { \@_ }->(!!1, !!1, !!0, !!0, undef, undef));
    $copy->[$_] = 'changed' for 0, 2, 4;
    is $copy->[1], 1, 'true';
    is $copy->[3], '', 'false';
    is $copy->[5], undef, 'undef';
    my $behind = copy_of([\undef, \undef]);
    ${ $behind->[0] } = 'changed';
    is ${ $behind->[1] }, undef, 'behind a reference';
};

subtest 'weak references that only a weak one would hold are strong in the document, too' => sub {
    my $held = [1];
    my $body = sub { substr unpack('H*', Shared::Arena::_encode($_[0])), 12 };
    weaken(my $weak = $held);
    my $alone = [undef];
    weaken($alone->[0] = $held);
    is $body->($alone), '41' . '3f282b0101', 'alone';
    my $twice = [undef, undef];
    weaken($twice->[$_] = $held) for 0, 1;
    is $body->($twice), '42' . '3f28ab0101' . '302904', 'the first of two';
    my $later = [undef, $held];
    weaken($later->[0] = $held);
    is $body->($later), '42' . '3028ab0101' . '2904', 'but not where something holds it later';
    my $scalar = \my $target;
    my $single = [undef];
    weaken($single->[0] = $scalar);
    is $body->($single), '41' . '3f2825', 'a scalar';
};

subtest 'a regexp is compiled without the pragmas of the caller' => sub {
    my $run = run_perl(<<'PROGRAM');
        use Shared::Arena;
        my $map = Shared::Arena->create(size => 65536)->map('m', slots => 4, slot_size => 4096, serialise => 1);
        $map->store(key => [qr/a+b/i]);
        { use re 'debug'; $copy = $map->fetch('key') }
        print "matches\n" if 'xaaBx' =~ $copy->[0];
PROGRAM
    is "$run->{out}$run->{err}", "matches\n", "not under use re 'debug'";
};

subtest 'what perl says of a pattern is told in characters' => sub {
    my $document = pack 'H*', '3df3726c0500' . '2831' . '2704e298ba28' . '60';
    my @died;
    local $SIG{__DIE__} = sub { push @died, $_[0] };
    ok !eval { Shared::Arena::_decode($document); 1 }, 'a pattern that perl does not take';
    like $@, qr/byte 6: a regexp that perl does not take: Unmatched \(.*\x{263A}/, 'is shown';
    is_deeply \@died, [$@], 'and is what handlers hear of';
};

# In a process of its own, whose malloc is asked to give back at once what is freed.
subtest 'a large value leaves nothing behind' => sub {
    my $program = <<'PROGRAM';
        use Shared::Arena;
        my $large = 'x' x (8 << 20);
        my $map   = Shared::Arena->create(size => 40 << 20)->map('m', slots => 3, slot_size => 9 << 20, serialise => 1);
        $map->store(string => $large);
        $map->store(array => [$large]);
        $map->store(small => [1]);
        undef $large;
        sub resident { open my $file, '<', '/proc/self/statm'; return 4 * (split ' ', <$file>)[1] }
        my $before = resident();
        for my $key (@ARGV) {
            { my $value = $map->fetch($key); undef $value }
            print resident() - $before > 4096 ? "$key is kept\n" : "$key is gone\n";
            $map->fetch($key);
            print resident() - $before > 4096 ? "$key is kept\n" : "$key is gone\n";
            print $map->fetch('small')->[0], "\n";
        }
PROGRAM
    my $run = run_perl($program, args => [qw(string array)], env => { MALLOC_MMAP_THRESHOLD_ => 1 << 20 });
    is "$run->{out}$run->{err}", join('', map {"$_ is gone\n$_ is gone\n1\n"} qw(string array)), 'nor does one that nobody asked for';
};

subtest 'a refusal deep in a value shows both ends of the way' => sub {
    for my $depth (16, 17, 40) {
        my $value = sub { };
        $value = [($_) x $_, $value] for reverse 0 .. $depth - 1;
        my @way  = map {"[$_]"} 0 .. $depth - 1;
        my $path = join '', $depth > 16 ? (@way[0 .. 7], '...', @way[-8 .. -1]) : @way;
        eval { Shared::Arena::_encode($value) };
        like $@, qr/cannot store \Q$path\E: CODE reference/, "$depth levels deep";
    }
};

is_deeply \@warnings, [], 'without a warning';

done_testing;
