use strict;
use warnings;
use Config;
BEGIN {
    if (!$Config{useithreads}) { print "1..0 # SKIP this perl has no threads\n"; exit }
    require threads;
}
use FindBin;
use lib "$FindBin::Bin/lib";
use TestArena;
use Test::More;

use Shared::Arena;

# A new thread gets no live copy of any object, and the creator's stay valid.

my $arena = Shared::Arena->create(name => 'threads');
my $map   = $arena->map('m', slots => 16);
my $rate  = $arena->rate('l', limit => 5, window => 1000, slots => 64);
$map->store('k', 'v');

subtest 'in the thread the objects are dead' => sub {
    my @verdict = threads->create({ context => 'list' }, sub {
        return map { eval { $_->(); 1 } ? 'lived' : $@ } sub { $map->fetch('k') }, sub { $rate->allow('k') }, sub { $arena->regions },
            sub { Shared::Arena::Map::fetch($map, 'k') }, sub { Shared::Arena::Rate::allow($rate, 'k') }, sub { $rate->headers('k') }, sub { Shared::Arena::regions($arena) };
    })->join;
    is scalar(@verdict), 7, 'seven calls';
    unlike $_, qr/\Alived/, 'a croak' for @verdict;
};

subtest 'after the thread the creator has its own' => sub {
    is_deeply [$map->fetch('k')], ['v'], 'map';
    ok $rate->allow('k'), 'limiter';
    is_deeply [$arena->regions], [qw(m l)], 'arena';
};

subtest 'a thread can attach by name' => sub {
    my @answers = threads->create({ context => 'list' }, sub {
        my $own = Shared::Arena->attach('threads')->map('m', slots => 16);
        $own->incr('n') for 1 .. 1000;
        return ($own->fetch('k'), $own->counter('n'));
    })->join;
    is_deeply \@answers, ['v', 1000], 'and work';
    is $map->counter('n'), 1000, 'on the same map';
};

subtest 'threads that write at once' => sub {
    my @threads = map {
        my $number = $_;
        threads->create(sub {
            my $own = Shared::Arena->attach('threads')->map('m', slots => 16);
            for (1 .. 2000) { $own->incr('together'); $own->store('same', $number x 50) }
        });
    } 1 .. 4;
    $_->join for @threads;
    is $map->counter('together'), 8000, 'lose nothing';
    my ($value) = $map->fetch('same');
    like $value, qr/\A(\d)\1{49}\z/, 'tear nothing';
    intact_ok $map, 'leave the map whole';
};

subtest 'threads that store structures at once' => sub {
    my $serialised = $arena->map('s', slots => 16, slot_size => 4096, serialise => 1);
    $serialised->store('before', { list => [1, 2] });
    $serialised->fetch('before');
    my @threads = map {
        my $number = $_;
        threads->create({ context => 'list' }, sub {
            my $own = Shared::Arena->attach('threads')->map('s', slots => 16, slot_size => 4096, serialise => 1);
            my $wrong = 0;
            for my $n (1 .. 500) {
                my $value = { number => $number, list => [map { { n => $n } } 1 .. $n % 20], match => qr/$n/ };
                $own->store("k$number", $value) == 1 or $wrong++;
                my ($back) = $own->fetch("k$number");
                $wrong++ if $back->{number} != $number || @{ $back->{list} } != $n % 20 || "$back->{match}" ne "$value->{match}";
                eval { $own->store("k$number", [1, sub { }]); 1 } and $wrong++;
            }
            return ($wrong, $own->fetch('before'));
        });
    } 1 .. 4;
    is_deeply [map { [$_->join] } @threads], [([0, { list => [1, 2] }]) x 4], 'do not mix anything up';
    is_deeply [map { ($serialised->fetch("k$_"))[0]{number} } 1 .. 4], [1 .. 4], 'and all of it is there';
    is_deeply [$serialised->fetch('before')], [{ list => [1, 2] }], 'for their creator, too';
    intact_ok $serialised, 'whole';
};

subtest 'a thread that ends while objects made in it live in a closure' => sub {
    threads->create(sub { my $m = Shared::Arena->create->map('m'); our $kept = sub { $m->keys }; $kept->() })->join for 1 .. 5;
    is_deeply [$map->fetch('k')], ['v'], 'disturbs nobody';
};

ok(Shared::Arena->destroy('threads'), 'gone');

quiet_perl_ok <<'END', 'a program with threads ends quietly';
use strict; use warnings; use threads; use Shared::Arena;
our $arena = Shared::Arena->create; our $map = $arena->map('m'); our $rate = $arena->rate('l');
$_->join for map { threads->create(sub { my $own = Shared::Arena->create->map('x'); $own->store('a', 1) }) } 1 .. 3;
$map->store('k', 1) == 1 or die;
END

done_testing;
