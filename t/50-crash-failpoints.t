use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use TestArena;
use POSIX ();
use Time::HiRes ();
use Test::More;

use Shared::Arena;

# Killed, or stopped, at each named point of a call. Needs a core that has them: perl Makefile.PL FAILPOINTS=1.

plan skip_all => 'this build has no failpoints' unless Shared::Arena::_failpoints();

my ($old, $new) = map { $_ x 4000 } 'A', 'B';

sub fresh {
    my $arena = Shared::Arena->create(size => 256 * 1024);
    my $map   = $arena->map('map', slots => 32, slot_size => 4096 + 64);
    $map->store($_, $old) for 'key', 'lapsing', map {"other $_"} 1 .. 20;
    $map->incr('counter', 5);
    return ($arena, $map);
}

# Runs the code in a child that has armed the point, until the child ends or stops.
sub child {
    my ($point, $action, $code) = @_;
    my $pid = fork // die "fork: $!";
    if (!$pid) {
        Shared::Arena::_failpoint($point, $action);
        $code->();
        POSIX::_exit(0);
    }
    waitpid $pid, POSIX::WUNTRACED();
    my $status = ${^CHILD_ERROR_NATIVE};    # $? has no word for a child that stands still
    return ($pid, POSIX::WIFEXITED($status) ? 'ended' : POSIX::WIFSTOPPED($status) ? 'stopped' : 'killed');
}

subtest 'killed at every point of every call' => sub {
    my %calls = (
        overwrite => sub { $_[0]->store('key', $new) },
        insert    => sub { $_[0]->store('fresh', $new) },
        delete    => sub { $_[0]->delete('key') },
        count     => sub { $_[0]->incr('counter') },
        first     => sub { $_[0]->incr('another') },
        deadline  => sub { $_[0]->store('key', $new, ttl => 100) },
    );
    my $deaths = 0;
    for my $point (Shared::Arena::_failpoint_names()) {
        for my $name (sort keys %calls) {
            my ($arena, $map) = fresh();
            my (undef, $how) = child($point, 'kill', sub { $calls{$name}->($map) });
            $deaths++ if $how eq 'killed';
            my %verdict = $map->_verify;
            my $value   = $map->fetch('key') // 'none';
            my @wrong   = (
                ($verdict{ok} ? () : $verdict{problem}),
                ((grep { $value eq $_ } $old, $new, 'none') ? () : 'a torn value'),
                (grep { $map->fetch("other $_") ne $old } 1 .. 20),
                ($map->stats->{used} == $map->keys ? () : 'a wrong count'),
                ($map->store('key', 'next') == 1 ? () : 'a refused store'),
            );
            is_deeply \@wrong, [], "$name, $how at $point" if @wrong;
        }
    }
    cmp_ok $deaths, '>', 60, 'so many deaths, and nobody was harmed';
};

subtest 'a writer stopped in the middle' => sub {
    my ($arena, $map) = fresh();
    my ($pid, $how) = child('journal.written', 'stop', sub { $map->store('key', $new) });
    is $how, 'stopped', 'stands still with its lock held';
    is $map->fetch('key'), $old, 'readers read on';
    is $map->incr('counter'), 6, 'counters count on';
    my $busy = $map->stats->{busy};
    Shared::Arena::_lock_patience(0.1);
    croaks_like { $map->store('key', 'stolen') } qr/->store: .*thread $pid has held the lock/, 'another writer of the key gives up and says who holds it';
    croaks_like { $map->delete('key') } qr/->delete: .*thread $pid/, 'and so does a delete';
    is $map->stats->{busy}, $busy + 2, 'both are counted';
    Shared::Arena::_lock_patience(5);
    kill CONT => $pid;
    waitpid $pid, 0;
    is $?, 0, 'continued, it comes to its end';
    is $map->fetch('key'), $new, 'and has stored what it was asked to';
    my %verdict = $map->_verify;
    ok $verdict{ok}, 'nobody robbed it' or diag $verdict{problem};
};

subtest 'signals are handled while a call waits' => sub {
    my ($arena, $map) = fresh();
    $map->incr('ticks', 0);    # so that the handler only counts, which waits for nobody
    my ($pid) = child('journal.written', 'stop', sub { $map->store('key', $new) });

    # perl's own way out of a call that takes too long.
    my $started = Time::HiRes::time();
    my $done = eval { local $SIG{ALRM} = sub { die "time is up\n" }; Time::HiRes::alarm(0.2); $map->store('key', 'x'); 1 };
    is $@, "time is up\n", 'an alarm ends the wait by its handler';
    cmp_ok Time::HiRes::time() - $started, '<', 4, 'long before the call would have given up';

    # More signals than perl lets pile up once ended the call from inside the handler, with the signal blocked for good.
    my $ticks = 0;
    Shared::Arena::_lock_patience(3);
    {
        local $SIG{ALRM} = sub { $ticks++; $map->incr('ticks') };
        Time::HiRes::setitimer(Time::HiRes::ITIMER_REAL(), 0.005, 0.005);
        croaks_like { $map->store('key', 'x') } qr/has held the lock/, 'a wait through some hundred signals ends as any other';
        my $before = $ticks;
        select undef, undef, undef, 0.05 for 1 .. 4;
        Time::HiRes::setitimer(Time::HiRes::ITIMER_REAL(), 0);
        cmp_ok $before, '>', 120, 'all were handled meanwhile';
        cmp_ok $ticks, '>', $before, 'and are still';
        is $map->counter('ticks'), $ticks, 'each counted, by calls from the handler';
    }

    # A handler may do anything at all.
    my ($key, $value) = ('key', 'a value that the handler changes');
    my $short = $arena->map('map', slots => 32, slot_size => 4096 + 64);
    local $SIG{ALRM} = sub { $key = $value = 'z' x 100_000; $short->DESTROY; undef $short };
    Time::HiRes::alarm(0.1);
    croaks_like { $short->store($key, $value) } qr/->store: not a live/, 'its object released, the call says so';

    Shared::Arena::_lock_patience(5);
    $SIG{ALRM} = sub { kill CONT => $pid; $key = 'q' x 100_000; $value = '' };
    ($key, $value) = ('key', 'what was asked for');
    Time::HiRes::alarm(0.1);
    is $map->store($key, $value), 1, 'let go by a handler, the call goes on';
    is $map->fetch('key'), 'what was asked for', 'with the arguments it was made with';
    waitpid $pid, 0;
    my %verdict = $map->_verify;
    ok $verdict{ok}, 'and all is well' or diag $verdict{problem};
};

subtest 'a remover stopped half-way is waited for before a key is refused' => sub {
    # The new key's stripe is chance: only in another one than the remover's is there a way round the lock.
    for my $round (1 .. 6) {
        my ($arena, $map) = fresh();
        $map->store("fill $_", 'x') for 1 .. 9;
        is $map->store('one too many', 'x'), 0, 'the map is full';
        my ($pid) = child('word.published', 'stop', sub { $map->delete('lapsing') });
        local $SIG{ALRM} = sub { kill CONT => $pid };
        Time::HiRes::alarm(0.2);
        is $map->store('new', 'x'), 1, 'the slot it gives back is there for the next key';
        waitpid $pid, 0;
    }
};

done_testing;
