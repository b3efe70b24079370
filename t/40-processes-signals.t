use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use TestArena;
use Test::More;

use Shared::Arena;
use Time::HiRes ();

# A handler may call the same map at any moment, and no call is cut short by a signal.

subtest 'a timer that counts while the program counts' => sub {
    my ($main, $handled, $s, $m, $sum) = in_child {
        my $map  = Shared::Arena->create->map('m', slots => 8);
        my $rate = Shared::Arena->create->rate('l', limit => 1e9, window => 1);
        my ($main, $handled) = (0, 0);
        $SIG{ALRM} = sub { $handled++; $map->incr('s'); $map->store('k', 'from the handler'); $rate->allow('k') };
        my $until = Time::HiRes::time() + 1;
        Time::HiRes::setitimer(Time::HiRes::ITIMER_REAL(), 0.001, 0.001);
        while (Time::HiRes::time() < $until) {
            $map->incr('m');
            $map->store('k', 'from the program');
            $rate->allow('k');
            $main++;
        }
        Time::HiRes::setitimer(Time::HiRes::ITIMER_REAL(), 0);
        return ($main, $handled, $map->counter('s'), $map->counter('m'), $rate->stats->{allowed});
    } patience => 30;
    cmp_ok $handled, '>', 50, 'the handler ran often';
    is $s, $handled, 'each of its calls counted';
    is $m, $main, 'each call of the program too';
    is $sum, $main + $handled, 'and each request';
};

subtest 'creation is not interrupted' => sub {
    my ($made) = in_child {
        $SIG{ALRM} = sub { };
        Time::HiRes::setitimer(Time::HiRes::ITIMER_REAL(), 0.0005, 0.0005);
        my $made = 0;
        for my $n (1 .. 40) {
            my $arena = Shared::Arena->create(name => 'timed', size => 2 << 20);
            $made++ if $arena->created && $arena->map('m', slots => 100)->store('k', 'v');
            Shared::Arena->destroy('timed');
        }
        Time::HiRes::setitimer(Time::HiRes::ITIMER_REAL(), 0);
        return $made;
    } patience => 30;
    is $made, 40, 'by a timer of half a millisecond';
};

subtest 'a handler that dies' => sub {
    my ($verdict, $stored) = in_child {
        my $map = Shared::Arena->create->map('m', slots => 8);
        $SIG{ALRM} = sub { die "enough\n" };
        my $deaths = 0;
        for my $n (1 .. 50) {
            Time::HiRes::setitimer(Time::HiRes::ITIMER_REAL(), 0.0003 + rand 0.001);
            eval { for (;;) { $map->store("k$_", 'x' x $_) for 1 .. 6 } };
            $deaths++ if $@ eq "enough\n";
        }
        my %verdict = $map->_verify;
        return ($verdict{ok} && $deaths == 50 ? 'whole' : $@, $map->store('k1', 'v'));
    } patience => 30;
    is $verdict, 'whole', 'leaves the map whole';
    is $stored, 1, 'and unlocked';
};

done_testing;
