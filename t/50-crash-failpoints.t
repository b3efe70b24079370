use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use TestArena;
use TestFailpoint;
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

# One key has lapsed and not been collected, by a clock that stands still.
sub fresh_with_lapsed {
    set_clock(1_700_000_000);
    my ($arena, $map) = fresh();
    $map->store('lapsed', $old, ttl => 5);
    set_clock(1_700_000_010);
    return ($arena, $map);
}

subtest 'killed while collecting what has lapsed' => sub {
    my %calls = (
        read      => sub { $_[0]->fetch('lapsed') },
        overwrite => sub { $_[0]->store('lapsed', $new) },
        delete    => sub { $_[0]->delete('lapsed') },
        count     => sub { $_[0]->incr('lapsed') },
        make_room => sub { $_[0]->store('one too many', $new) },
    );
    my $deaths = 0;
    for my $point (Shared::Arena::_failpoint_names()) {
        for my $name (sort keys %calls) {
            my ($arena, $map) = fresh_with_lapsed();
            if ($name eq 'make_room') { $map->store("fill $_", $old) for 1 .. 8 }
            my (undef, $how) = child($point, 'kill', sub { $calls{$name}->($map) });
            $deaths++ if $how eq 'killed';
            my %verdict = $map->_verify;
            my $value   = $map->fetch('lapsed') // 'none';
            my %stats   = $map->stats;
            my @wrong   = (
                ($verdict{ok} ? () : $verdict{problem}),
                ((grep { $value eq $_ } $new, 1, 'none') ? () : 'an old or torn value'),
                ($stats{expired} == 1 ? () : "collected $stats{expired} times"),
                ($stats{used} == $map->keys ? () : 'a wrong count'),
            );
            is_deeply \@wrong, [], "$name, $how at $point" if @wrong;
        }
    }
    real_clock();
    cmp_ok $deaths, '>', 50, 'so many deaths, and it was collected once in each';
};

subtest 'a place that others take before the repair' => sub {
    # An entry's place in the index may be taken by a key of another stripe once a dead remover has emptied it, or before
    # a dead writer has filled it. Where keys lie is chance: some of so many maps, nearly full, have the case.
    my %calls = (
        'word.published'  => sub { $_[0]->delete('key 5') },
        'journal.written' => sub { $_[0]->store('new', 1) },
    );
    my ($deaths, @wrong) = (0);
    for my $round (1 .. 300) {
        for my $point (sort keys %calls) {
            my $map = Shared::Arena->create(size => 80 * 64 + 208, regions => 1)->map('map', slots => 80, slot_size => 64);
            $map->store("key $_", $_) for 1 .. 78;
            my (undef, $how) = child($point, 'kill', sub { $calls{$point}->($map) });
            $deaths++ if $how eq 'killed';
            $map->store("other $_", $_) for 1, 2;
            my %verdict = $map->_verify;
            push @wrong, "$point: $verdict{problem}" if !$verdict{ok};
            push @wrong, "$point: a wrong count" if $map->stats->{used} != $map->keys;
        }
    }
    is $deaths, 600, 'so many deaths';
    is_deeply \@wrong, [], 'and no buffer is lost';
};

subtest 'stopped at every point at which the lock is held' => sub {
    # For each call: the key, what it must answer, and what is there in the end.
    my %calls = (
        overwrite => ['key',     1,     $new, sub { $_[0]->store('key', $new) }],
        insert    => ['fresh',   1,     $new, sub { $_[0]->store('fresh', $new) }],
        delete    => ['key',     1,     undef, sub { $_[0]->delete('key') }],
        deadline  => ['key',     1,     $new, sub { $_[0]->store('key', $new, ttl => 100) }],
        first     => ['another', 7,     7, sub { $_[0]->incr('another', 7) }],
        read      => ['lapsed',  undef, undef, sub { scalar $_[0]->fetch('lapsed') }],
        renew     => ['lapsed',  1,     $new, sub { $_[0]->store('lapsed', $new) }],
        restart   => ['lapsed',  7,     7, sub { $_[0]->incr('lapsed', 7) }],
        repair    => ['key',     1,     $new, sub { $_[0]->store('key', $new) }],
    );
    my %met;
    for my $point (grep { !/\A(?:carve|bucket|counter|read|lock\.pending|unlock\.open)/ } Shared::Arena::_failpoint_names()) {
        for my $name (sort keys %calls) {
            my ($key, $answer, $after, $call) = @{ $calls{$name} };
            my ($arena, $map, $pid, $how);
            # A deadline is noted only where none before it is known: not if chance put the key beside the lapsed one.
            for (1 .. ($point eq 'deadline.noted' && $name eq 'deadline' ? 50 : 1)) {
                ($arena, $map) = fresh_with_lapsed();
                child('word.published', 'kill', sub { $map->store('key', $old) }) if $name eq 'repair';
                ($pid, $how) = child($point, 'stop', sub {
                    POSIX::_exit(1) if ($call->($map) // 'none') ne ($answer // 'none');
                });
                last if $how eq 'stopped';
            }
            next if $how ne 'stopped';
            $met{$point}++;
            my @wrong = beside_a_stopped_writer($map, $pid, $key, $after);
            resume($pid);
            my %verdict = $map->_verify;
            my $value   = $map->fetch($key);
            push @wrong, "the stopped call ended with wait status $?" if $?;
            push @wrong, 'it has not done what it was asked to' if ($value // 'none') ne ($after // 'none');
            push @wrong, $verdict{problem} if !$verdict{ok};
            $map->fetch('lapsed');
            push @wrong, 'a wrong count' if $map->stats->{used} != $map->keys || $map->stats->{expired} != 1;
            is_deeply \@wrong, [], "$name, stopped at $point" if @wrong;
        }
    }
    real_clock();
    is join(' ', sort keys %met), join(' ', sort qw(
        claim.noted claim.taken deadline.noted fill.begun fill.done fill.half free.begun free.done free.hidden journal.applied journal.closed journal.written
        lock.held reach.raised recover.applied recover.begun unlock.before word.published
    )), 'each was met, and nobody was held up but writers of the stripe, nobody robbed';
};

# Readers, counts, and writers of other stripes go on; writers of the stopped one's stripe, of its key in any case,
# give up and say whom they waited for. Returns what was otherwise.
sub beside_a_stopped_writer {
    my ($map, $pid, $key, $after) = @_;
    my @wrong;
    my $busy = $map->stats->{busy};
    Shared::Arena::_lock_patience(0.004);
    for my $number (1 .. 20) {
        push @wrong, "other $number reads wrong" if $map->fetch("other $number") ne $old || !$map->exists("other $number");
    }
    my $before = $key eq 'key' ? $old : 'none';
    my $now    = $map->fetch($key) // 'none';
    push @wrong, 'the key reads as ' . substr $now, 0, 10 if $now ne $before && $now ne ($after // 'none');
    push @wrong, 'a counter does not count' if $map->incr('counter') != 6 || $map->counter('counter') != 6;
    push @wrong, 'a key is not listed' if 20 != grep {/\Aother/} $map->keys;

    my ($gave_up, $done) = (0, 0);
    my $write = sub {
        my ($method, $name, @value) = @_;
        my $answer = eval { $map->$method($name, @value) };
        if (defined $answer) { $done++; return $answer == 1 }
        $gave_up++;
        push @wrong, "$method $name: $@" if $@ !~ /->$method: .*thread $pid has held the lock/;
        return;
    };
    push @wrong, 'a writer of the same key went on' if $write->('store', $key, 'stolen');
    for my $number (1 .. 6) {
        my $stored = $write->('store', "other $number", $new);
        push @wrong, "other $number is wrong" if $map->fetch("other $number") ne ($stored ? $new : $old);
    }
    for my $number (7 .. 8) {
        my $deleted = $write->('delete', "other $number");
        push @wrong, "other $number is wrong" if $map->exists("other $number") != !$deleted;
    }
    for my $number (1 .. 2) {
        my $stored = $write->('store', "new $number", $new);
        push @wrong, "new $number is wrong" if ($map->fetch("new $number") // '') ne ($stored ? $new : '');
    }
    push @wrong, "$gave_up gave up, and busy went from $busy to " . $map->stats->{busy} if $map->stats->{busy} != $busy + $gave_up;
    push @wrong, 'no writer of another stripe could go on' if !$done;
    Shared::Arena::_lock_patience(5);
    return @wrong;
}

subtest 'a writer stopped while it looks for room' => sub {
    for my $point ('line.closed', 'deadline.bounded') {
        set_clock(1_700_000_000);
        my $map = Shared::Arena->create->map('map', slots => 64, slot_size => 64);
        $map->store("other $_", 'old', $_ == 64 ? (ttl => 5) : ()) for 1 .. 64;
        set_clock(1_700_000_010);
        my ($pid, $how) = child($point, 'stop', sub {
            POSIX::_exit($map->store('one', 'new') ? 0 : 1);
        });
        is $how, 'stopped', "at $point";
        Shared::Arena::_lock_patience(0.004);
        # What others free meanwhile is there for those of them whose lock it does not hold.
        my $deleted = grep { eval { $map->delete("other $_") } } 1 .. 20;
        my (%answers, @wrong);
        for my $number (1 .. 64) {
            my $answer = eval { $map->store("new $number", 'new') };
            $answers{ defined $answer ? $answer : 'gave up' }++;
            push @wrong, $@ if !defined $answer && $@ !~ /thread $pid has held the lock/;
        }
        is_deeply \@wrong, [], 'who must wait for it says so';
        cmp_ok $deleted, '>', 5, 'others delete';
        # It may have the room that one of them was given, or bring one more.
        cmp_ok abs($answers{1} - $deleted), '<=', 1, 'and store as many new keys';
        Shared::Arena::_lock_patience(5);
        resume($pid);
        is $? >> 8, $map->exists('one') ? 0 : 1, 'continued, it says what it has done';
        1 while $map->store('last ' . rand, 'x') == 1;
        is $map->stats->{used}, 64, 'the map is full to the last slot';
        is scalar($map->keys), 64, 'of keys that are there';
        my %verdict = $map->_verify;
        ok $verdict{ok}, 'and whole' or diag $verdict{problem};
    }
    real_clock();
};

subtest 'holders are named by their own numbers' => sub {
    # A map of 32 slots has four locks: each child takes one that no other has.
    my ($arena, $map) = fresh();
    Shared::Arena::_lock_patience(0.01);
    my $holder = sub {
        my ($name) = @_;
        return undef if eval { $map->delete($name); 1 };
        return $@ =~ /thread (\d+) has held/ ? $1 : $@;
    };
    my (%stopped, @pids);
    for my $name (map {"nobody $_"} 1 .. 200) {
        my $other = $holder->($name);
        if (defined $other) { fail("$name waited for $other") if !$stopped{$other}; next }
        my ($pid, $how) = child('lock.held', 'stop', sub { $map->delete($name) });
        is $how, 'stopped', "a child holds the lock of $name";
        is $holder->($name), $pid, 'and is named';
        $stopped{$pid} = $name;
        push @pids, $pid;
    }
    is scalar(@pids), 4, 'four children, four locks';
    is_deeply [map { $holder->($stopped{$_}) } @pids], \@pids, 'each still has his own';
    Shared::Arena::_lock_patience(5);
    kill CONT => @pids;
    for (@pids) { waitpid $_, 0; is $?, 0, 'and goes on' }
    my %verdict = $map->_verify;
    ok $verdict{ok}, 'all is well' or diag $verdict{problem};
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
    resume($pid);
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
