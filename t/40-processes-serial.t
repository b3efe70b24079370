use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use TestArena;
use TestDescribe;
use TestScalars;
use TestSerial;
use Test::More;

use Scalar::Util 'weaken';
use Shared::Arena;

# Structures stored by one process are fetched by others: the same in each, whole, and each with a copy of its own.

sub rich {
    my $shared = bless { name => "caf\xE9", list => [1 .. 5, 1.5, -7, undef] }, 'My::Class';
    my $text   = 'x';
    my $tree   = { root => $shared, again => [$shared, \$text], "\x{263A}" => upgraded("\xE8"), match => qr/a(b)/i, large => 2**63, self => undef };
    weaken($tree->{self} = $tree);
    return $tree;
}

subtest 'from the parent to its children' => sub {
    my $map = serial_map();
    $map->store('k', rich());
    my @texts = map { $_->[0] } in_children(4, sub { return describe($map->fetch('k')) });
    is $_, describe(rich()), 'the same in every process' for @texts;
};

subtest 'from the children to the parent, and to each other' => sub {
    my $map = serial_map(slots => 64);
    my @texts = map { @$_ } in_children(4, sub {
        my ($number) = @_;
        $map->store("from $number", { number => $number, rich => rich() }) == 1 or die 'not stored';
        my $next = ($number + 1) % 4;
        select undef, undef, undef, 0.01 until $map->exists("from $next");
        return describe($map->fetch("from $next"));
    });
    is_deeply \@texts, [map { describe({ number => ($_ + 1) % 4, rich => rich() }) } 0 .. 3], 'each reads what its neighbour stored';
    alike scalar($map->fetch("from $_")), { number => $_, rich => rich() }, "and the parent what child $_ did" for 0 .. 3;
    in_children(2, sub { my ($copy) = $map->fetch('from 0'); $copy->{number} = 'changed'; push @{ $copy->{rich}{again} }, 1; return });
    alike scalar($map->fetch('from 0')), { number => 0, rich => rich() }, 'what a process does to its copy is its own affair';
};

subtest 'processes that are not related' => sub {
    my $arena = Shared::Arena->create(name => 'serial');
    my $map   = $arena->map('m', slots => 16, slot_size => 4096, serialise => 1);
    $map->store('k', rich());
    my $run = run_perl(<<'END', env => { TEST_LIB => "$FindBin::Bin/lib" });
use strict; use warnings; use lib $ENV{TEST_LIB}; use TestDescribe; use Shared::Arena;
my $map = Shared::Arena->attach('serial')->map('m', slots => 16, slot_size => 4096, serialise => 1);
print describe($map->fetch('k'));
$map->store('back', [bless({ from => 'elsewhere' }, 'Only::There'), $map->fetch('k')]) == 1 or die;
END
    is $run->{err}, '', 'without complaint';
    is $run->{out}, describe(rich()), 'see the same';
    alike scalar($map->fetch('back')), [bless({ from => 'elsewhere' }, 'Only::There'), rich()], 'both ways';

    my $other = run_perl('use Shared::Arena; eval { Shared::Arena->attach("serial")->map("m", slots => 16, slot_size => 4096); 1 } and print "lived"; print $@');
    like $other->{out}, qr/is already carved with a different type or size.*serialise/s, 'who asks for bytes is refused';
    $arena->map('bytes', slots => 16);
    $other = run_perl('use Shared::Arena; eval { Shared::Arena->attach("serial")->map("bytes", slots => 16, serialise => 1); 1 } and print "lived"; print $@');
    like $other->{out}, qr/is already carved with a different type or size.*serialise/s, 'and who asks for structures';
    ok(Shared::Arena->destroy('serial'), 'gone');
};

subtest 'all ask for the map at once' => sub {
    for my $round (1 .. 10) {
        my $arena = Shared::Arena->create;
        my @answers = map { $_->[0] } in_children(4, sub {
            my ($number) = @_;
            my $map = eval { $arena->map('m', slots => 8, serialise => $number % 2) };
            return $map ? $map->serialised ? 'structures' : 'bytes' : $@ =~ /is already carved with a different type or size/ ? 'refused' : $@;
        });
        my %answers;
        $answers{$_}++ for @answers;
        ok $answers{refused} && $answers{refused} == 2 && (($answers{structures} || 0) == 2 || ($answers{bytes} || 0) == 2), "the first decides, round $round"
            or diag join ', ', @answers;
    }
};

# A structure that shows whether it is whole.
sub made { my ($number, $n) = @_; my $size = 1 + $n % 40; my $mark = "$number $n"; return { mark => $mark, size => $size, list => [map { { mark => $mark, place => $_ } } 1 .. $size], text => $mark x $size } }
sub is_whole {
    my ($value) = @_;
    my ($mark, $size) = @{$value}{qw(mark size)};
    return $value->{text} eq $mark x $size && @{ $value->{list} } == $size && !grep({ $value->{list}[$_ - 1]{mark} ne $mark || $value->{list}[$_ - 1]{place} != $_ } 1 .. $size);
}

subtest 'readers beside writers' => sub {
    my $map = serial_map(slots => 4, slot_size => 4096);
    $map->store('k', made(0, 0));
    my @answers = in_children(4, sub {
        my ($number) = @_;
        my ($torn, $missed) = (0, 0);
        for my $n (1 .. 3000) {
            if ($number < 2) { $map->store('k', made($number, $n)) == 1 or $torn++; next }
            my ($value) = $map->fetch('k');
            if (!defined $value) { $missed++ }
            elsif (!is_whole($value)) { $torn++ }
        }
        return ($torn, $missed);
    });
    my ($torn, $missed) = (0, 0);
    for (@answers) { $torn += $_->[0]; $missed += $_->[1] }
    is $torn, 0, 'every value is whole';
    is $missed, $map->stats->{busy}, 'and none is missed without being counted';
    intact_ok $map, 'whole';
};

subtest 'storing, refusing and deleting at once' => sub {
    my $map = serial_map(slots => 6, slot_size => 1024);
    my @wrong = map { @$_ } in_children(4, sub {
        my ($number) = @_;
        my @wrong;
        for my $n (1 .. 1500) {
            my $key = 'k' . $n % 3;
            my $what = ($n + $number) % 5;
            if    ($what < 2)  { $map->store($key, made($number, $n % 10)) == 1 or push @wrong, "store $n" }
            elsif ($what == 2) { $map->delete($key) }
            elsif ($what == 3) { eval { $map->store($key, [made($number, 1), sub { }]); 1 } and push @wrong, "code $n" }
            else               { $map->store($key, 'x' x 2000) == -1 or push @wrong, "large $n" }
            my ($value) = $map->fetch($key);
            push @wrong, "fetch $n" if defined $value && !is_whole($value);
        }
        return @wrong;
    });
    is_deeply \@wrong, [], 'a reader sees a whole value or nothing';
    intact_ok $map, 'whole';
};

subtest 'writers that are killed' => sub {
    my $map = serial_map(slots => 4, slot_size => 8192);
    $map->store('k', made(9, 9));
    my $kills = 30;
    for my $round (1 .. $kills) {
        my $pid = spawn(sub { for (my $n = 1; ; $n++) { $map->store('k', made($round, $n)) } }, 30);
        select undef, undef, undef, 0.005 + 0.0007 * $round;
        kill KILL => $pid;
        reap($pid);
        my ($value) = $map->fetch('k');
        is_whole($value) or fail("after kill $round"), last;
        $map->store('k', made(8, $round)) == 1 or fail("store after kill $round"), last;
    }
    ok is_whole(scalar $map->fetch('k')), 'leave a whole value';
    intact_ok $map, 'whole';
};

done_testing;
