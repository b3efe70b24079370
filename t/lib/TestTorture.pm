package TestTorture;

# Workers on one map that are killed over and over, at random moments and, in a build that has them, at named points of
# the code. How far each had come stands in shared memory after each call. So after each round it is known of every
# key what it must be: what the acknowledged calls made it, or what the one call in flight would have.

use strict;
use warnings;

use List::Util qw(max shuffle);
use POSIX ();
use Shared::Arena;
use TestArena;
use TestCalls;
use Time::HiRes qw(sleep time);

my $Most = 1000;    # calls in a life; a kill should come earlier

# Names that are never stored: deleting them takes every lock of the map there is, and changes nothing.
my @Nobody = map {"nobody $_"} 1 .. 64;

# `slots` is as many as there are keys unless said otherwise; with fewer, the map is full now and then.
sub new {
    my ($class, %option) = @_;
    my @own   = own_keys();
    my @all   = (@own, shared_keys(), sum_keys());
    my $slots = $option{slots} || @all;
    my $arena = Shared::Arena->create(size => $slots * 4096 + WORKERS * 9 * $Most + 4096, regions => 1 + WORKERS);
    my $self  = bless {
        arena   => $arena,
        map     => $arena->map('map', slots => $slots, slot_size => 4096),
        slots   => $slots,
        tight   => $slots < @all,
        seed    => $option{seed},
        points  => [named_points($slots < @all)],
        own     => \@own,
        all     => \@all,
        round   => 0,
        state   => {},
        sum     => { map { $_ => 0 } sum_keys() },
        reached => {},    # life => worker => calls acknowledged
        kills   => 0,
        kill_at => {},
        checked => 0,
        waits   => [],
        # Entries known to have lapsed and calls known to have been refused, and those of which that is not known.
        lapsed  => [0, 0],
        refused => [0, 0],
        looks    => 0,
        mistakes => [],
    }, $class;
    # Of each call a byte that says whether it was made, which a death cannot tear, and before that the answer.
    $arena->region("log $_", size => 9 * $Most) for 0 .. WORKERS - 1;
    $self->{map}->incr($_, 0) for sum_keys();
    srand $self->{seed};
    return $self;
}

# The named points of a map, in a build that has them. Some are met only where room must be made.
sub named_points {
    my ($tight) = @_;
    return if !Shared::Arena::_failpoints();
    my $others = $tight ? qr/\A(?:carve|bucket)\./ : qr/\A(?:(?:carve|bucket)\.|deadline\.bounded|line\.clos|claim\.vain)/;
    return grep { $_ !~ $others } Shared::Arena::_failpoint_names();
}

# Goes on until so many workers were killed while they made calls, and one at least at each named point. Returns what
# was wrong.
sub run {
    my ($self, $kills) = @_;
    my $last = 0;
    while (!$last && !@{ $self->{mistakes} }) {
        $self->_round;
        $last = $self->{kills} >= $kills && !$self->missed_points || $self->{round} > $kills + 50;
        $self->_fill if $last || $self->{round} % 5 == 0;
    }
    return @{ $self->{mistakes} };
}

sub kills { my ($self) = @_; return $self->{kills} }

# Named points at which nobody died.
sub missed_points { my ($self) = @_; return grep { !$self->{kill_at}{$_} } @{ $self->{points} } }

sub summary {
    my ($self) = @_;
    my @waits = sort { $a <=> $b } @{ $self->{waits} };
    my $at    = join ', ', map {"$_ $self->{kill_at}{$_}"} grep { $self->{kill_at}{$_} } @{ $self->{points} };
    return sprintf '%d slots for %d keys: %d kills, %d acknowledged calls checked; the slowest write after a kill took '
        . '%.3f ms in half the rounds, and %.3f ms at most%s', $self->{slots}, scalar @{ $self->{all} }, $self->{kills},
        $self->{checked}, map({ 1000 * $waits[$_] } $#waits / 2, -1), $at ? "; killed at $at" : '';
}

sub _wrong { my ($self, $what) = @_; push @{ $self->{mistakes} }, "seed $self->{seed}, round $self->{round}: $what"; return }

# One round: the workers live and die, somebody else goes on, and the books are done.

sub _round {
    my ($self) = @_;
    my $life  = ++$self->{round};
    my @calls = map {
        my $worker = $_;
        [map { call_of($self->{seed}, $worker, $life, $_) } 0 .. $Most - 1];
    } 0 .. WORKERS - 1;
    my @plan  = $self->_plan;
    my $gun   = start_gun();
    my %alive;
    for my $worker (0 .. WORKERS - 1) {
        $self->{arena}->poke("log $worker", 0, "\0" x $Most);
        $alive{$worker} = spawn(sub { $gun->await; $self->_live($worker, $calls[$worker], $plan[$worker]) });
    }
    $gun->fire(WORKERS);

    # Those who are to die at a named point get there, if any of their calls does.
    my @awaited;
    while (@awaited = grep { $plan[$_] && !$self->_has_made($_, $Most) } keys %alive) {
        $self->_look_on;
        for my $worker (@awaited) {
            next if waitpid($alive{$worker}, POSIX::WNOHANG()) != $alive{$worker};
            $self->_check_kill($worker);
            $self->{kill_at}{ $plan[$worker]{point} }++;
            delete $alive{$worker};
        }
    }
    # Each in the middle of its calls, so that those who still live meet what the others leave.
    my %enough   = map { $_ => int rand $Most / 2 } keys %alive;
    my $patience = time + 5;
    while (%enough) {
        $self->_look_on;
        for my $worker (grep { $self->_has_made($_, $enough{$_}) || time > $patience } keys %enough) {
            kill KILL => $alive{$worker};
            delete $enough{$worker};
        }
    }
    my $at_once = rand() < 0.5;
    $self->_go_on if $at_once;
    for my $worker (keys %alive) {
        reap($alive{$worker});
        $self->_check_kill($worker);
    }
    my $before = $at_once ? {} : $self->_values;
    $self->_go_on if !$at_once;
    my $values = $self->_values;
    for my $key (grep { $values->{$_}{there} && $before->{$_} } @{ $self->{all} }) {
        my $same = $before->{$key}{there} && same($before->{$key}{value}, $values->{$key}{value});
        $self->_wrong("$key changed when it was repaired") if !$same;
    }

    my %in_flight = map { $self->_replay($_, $calls[$_]) } 0 .. WORKERS - 1;
    sleep 0.001 * (SHORT + 2);
    my $seen = $self->_listings($values);
    $self->_settle($_, $seen->{$_}, $in_flight{$_}) for @{ $self->{own} };
    $self->_check_shared($_, $seen->{$_}) for shared_keys();
    $self->_check_sum($_, $seen->{$_}) for sum_keys();
    return;
}

# Who is to die at which named point, armed after how many calls; points where nobody has died yet come first. To die
# in a repair takes somebody who has died before.
sub _plan {
    my ($self) = @_;
    my $points = $self->{points};
    return if !@$points;
    my @others = grep { !/\Arecover/ } @$points;
    my ($point) = ($self->missed_points, $points->[$self->{round} % @$points]);
    my @chosen = $point =~ /\Arecover/
        ? ((qw(fill.half journal.written word.published journal.applied))[rand 4], ($point) x (WORKERS - 1))
        : ($point, map { rand() < 0.4 ? $others[rand @others] : undef } 2 .. WORKERS);
    return map { defined $_ ? { point => $_, after => /\Arecover/ ? 0 : int rand 60 } : undef } shuffle @chosen;
}

sub _live {
    my ($self, $worker, $calls, $plan) = @_;
    my ($map, $arena, $log) = (@$self{qw(map arena)}, "log $worker");
    for my $n (0 .. $#$calls) {
        Shared::Arena::_failpoint($plan->{point}, 'kill') if $plan && $n == $plan->{after};
        my $answer = perform($map, $calls->[$n]);
        $arena->poke($log, $Most + 8 * $n, pack 'q', $answer) if defined $answer;
        $arena->poke($log, $n, defined $answer ? 'D' : 'U');
    }
    sleep 60;
    return;
}

sub _has_made {
    my ($self, $worker, $calls) = @_;
    return $calls == 0 || $self->{arena}->peek("log $worker", $calls - 1, 1) ne "\0";
}

sub _check_kill {
    my ($self, $worker) = @_;
    $self->_wrong("worker $worker ended with wait status $?, not by the kill") if $? != 9;
    return;
}

# A reader of what all change. It sleeps in between, so that it gets its turn on a busy machine when it wakes.
sub _look_on {
    my ($self) = @_;
    my $key = (shared_keys())[$self->{looks}++ % 8];
    my ($value) = $self->{map}->fetch($key);
    $self->_wrong("$key is torn: $value") if is_torn($value);
    sleep 0.00005;
    return;
}

# A writer who takes every lock, and the longest he waited.
sub _go_on {
    my ($self) = @_;
    my $slowest = 0;
    for my $name (@Nobody) {
        my $started = time;
        my $answer = eval { $self->{map}->delete($name) };
        $self->_wrong(defined $answer ? "$name was there" : $@) if $answer || $@;
        $slowest = max $slowest, time - $started;
    }
    push @{ $self->{waits} }, $slowest;
    $self->_wrong("a writer waited $slowest s for the dead") if $slowest > 2;
    return;
}

# What is there now. The number first: an entry whose value is there afterwards was there all along.
sub _values {
    my ($self) = @_;
    my %seen;
    for my $key (@{ $self->{all} }) {
        my $number = $self->{map}->counter($key);
        my ($value) = my @there = $self->{map}->fetch($key);
        $seen{$key} = { there => scalar @there, value => $value, number => $number };
    }
    return \%seen;
}

# Adds which keys are there now and in two hours, and compares the statistics with a recount: before any deadline, the
# list of keys is all that is in the table.
sub _listings {
    my ($self, $seen) = @_;
    my %known = map { $_ => 1 } @{ $self->{all} };
    my %list;
    for my $moment (['all', 1], ['stays', undef], ['lasts', time + 7200]) {
        set_clock($moment->[1]);
        $list{ $moment->[0] } = [$self->{map}->keys];
    }
    real_clock();
    for my $moment (qw(stays lasts)) {
        $_->{$moment} = 0 for values %$seen;
        $seen->{$_}{$moment}++ for @{ $list{$moment} };
    }
    my @odd = grep { !$known{$_} || $seen->{$_}{stays} > 1 } keys %$seen;
    $self->_wrong("$_ is listed and is no key of ours, or is listed twice") for @odd;

    my %verdict = $self->{map}->_verify;
    my %stats   = $self->{map}->stats;
    my $there   = @{ $list{all} };
    $self->_wrong($verdict{problem}) if !$verdict{ok};
    $self->_wrong("$stats{used} used and $there in the table") if $stats{used} != $there;
    $self->_wrong("$stats{used} used and $stats{tombstones} tombstones") if $stats{used} + $stats{tombstones} > $self->{slots};
    $self->_wrong("busy $stats{busy}") if $stats{busy};
    $self->_within("$stats{full} refused", $stats{full}, $self->{refused});
    return $seen;
}

sub _within {
    my ($self, $what, $figure, $known) = @_;
    my ($least, $more) = @$known;
    $self->_wrong("$what: not from $least to " . ($least + $more)) if $figure < $least || $figure > $least + $more;
    return;
}

# Carries out on paper what a worker was told it had done. Returns the key of the call in flight with all it may be, if
# it is one of the worker's own.
sub _replay {
    my ($self, $worker, $calls) = @_;
    my ($made)  = $self->{arena}->peek("log $worker", 0, $Most) =~ /\A(\w*)/;
    my @answers = unpack 'q*', $self->{arena}->peek("log $worker", $Most, 8 * length $made);
    my $n = 0;
    for my $kind (split //, $made) {
        my $answer = $kind eq 'D' ? $answers[$n] : undef;
        my ($key, $whose) = @{ $calls->[$n] }{qw(key whose)};
        if    ($whose eq 'own') { $self->_step($calls->[$n], $answer) }
        elsif ($whose eq 'sum') { push @{ $self->{drawn}{$key} }, $answer }
        else                    { $self->_note_shared($calls->[$n], $answer) }
        $n++;
    }
    $self->{checked} += $n;
    $self->{reached}{ $self->{round} }[$worker] = $n;
    my $call = $calls->[$n] or return;    # none: it was killed too late
    $self->{kills}++;
    my ($key, $whose, $method) = @$call{qw(key whose method)};
    $self->{refused}[1]++ if $self->{tight} && $whose ne 'sum' && ($method eq 'store' || $method eq 'incr');
    $self->{counting}{$key}++ if $whose eq 'sum';
    return if $whose ne 'own';
    my @may_be = ($self->{state}{$key}, map { $_->{state} } outcomes($self->{state}{$key}, $call));
    $self->{lapsed}[1] += grep { $_ && $_->{ttl} == SHORT } @may_be;
    return ($key => \@may_be);
}

sub _step {
    my ($self, $call, $answer) = @_;
    my $key   = $call->{key};
    my @match = grep { same($_->{answer}, $answer) } outcomes($self->{state}{$key}, $call, may_be_full => $self->{tight});
    my $was   = _shown($self->{state}{$key});
    return $self->_wrong("$call->{method} $key answered " . _or_undef($answer) . ", it was $was") if !@match;
    my %fate    = map { $_->{fate} => 1 } @match;
    my $refused = grep { $_->{refused} } @match;
    $self->{lapsed}[$fate{ended} ? 1 : 0]++ if $fate{lapsed} && !$fate{lives};
    $self->{refused}[$refused == @match ? 0 : 1]++ if $refused;
    $self->{state}{$key} = $match[0]{state};
    return;
}

sub _note_shared {
    my ($self, $call, $answer) = @_;
    my ($key, $method) = @$call{qw(key method)};
    my $right = $method eq 'incr' ? !defined $answer || $answer >= $call->{by}
        : $answer == 1 || $answer == 0 && ($method ne 'store' || $self->{tight});
    $self->_wrong("$method $key answered " . _or_undef($answer)) if !$right;
    return if !$self->{tight};
    $self->{refused}[0]++ if $method eq 'store' && $answer == 0;
    $self->{refused}[1]++ if $method eq 'incr'  && !defined $answer;
    return;
}

# Finds out which of the states possible a key of one worker is in, which is where its next life begins.
sub _settle {
    my ($self, $key, $seen, $in_flight) = @_;
    my @may_be = $in_flight ? @$in_flight : $self->{state}{$key};
    my ($is) = my @fitting = grep { fits($_, $seen) } @may_be;
    $self->_wrong("$key is " . _shown($seen) . ' and should be ' . join ' or ', map { _shown($_) } @may_be) if !@fitting;
    $self->{lapsed}[0]++ if !$in_flight && $is && $is->{ttl} == SHORT;
    $self->{state}{$key} = $is && $is->{ttl} != SHORT ? $is : undef;
    return;
}

sub _or_undef { my ($answer) = @_; return defined $answer ? $answer : 'undef' }

sub _shown {
    my ($state) = @_;
    return 'absent' if !$state;
    my %shown = %$state;
    $shown{value} = length($shown{value}) . " bytes '" . substr($shown{value}, 0, 30) . "'" if defined $shown{value};
    return '{' . join(', ', map { "$_ " . _or_undef($shown{$_}) } sort keys %shown) . '}';
}

# A shared key holds a number, or a value whole, and one that was stored there, with the deadline it was stored with.
sub _check_shared {
    my ($self, $key, $seen) = @_;
    return $self->_wrong("$key is listed, but not there") if !$seen->{there} && ($seen->{stays} || $seen->{lasts});
    return if !$seen->{there};
    return $self->_wrong("$key is not listed") if !$seen->{stays};
    return if defined $seen->{number};
    my ($worker, $life, $n, $length) = whole_from($seen->{value});
    return $self->_wrong("$key is torn: $seen->{value}") if !defined $length;
    my $call  = $worker < WORKERS ? call_of($self->{seed}, $worker, $life, $n) : {};
    my $calls = ($self->{reached}{$life} || [])->[$worker];
    my $given = same($call->{key}, $key) && same($call->{value}, $seen->{value}) && defined $calls && $n <= $calls;
    return $self->_wrong("$key is $seen->{value}, which nobody stored") if !$given;
    $self->_wrong("$key has lost its deadline, or got one") if $seen->{lasts} != ($call->{ttl} ? 0 : 1);
    return;
}

# Each number of a sum was drawn once, in this round, by those who were told so or by a call in flight.
sub _check_sum {
    my ($self, $key, $seen) = @_;
    my $drawn    = delete $self->{drawn}{$key} || [];
    my $counting = delete $self->{counting}{$key} || 0;
    my ($before, $after) = ($self->{sum}{$key}, $seen->{number});
    return $self->_wrong("$key is lost: " . _shown($seen)) if !defined $after || !$seen->{stays} || !$seen->{lasts};
    my %once = map { $_ => 1 } grep { defined && $_ > $before && $_ <= $after } @$drawn;
    my @drawn = map { _or_undef($_) } @$drawn;
    $self->_wrong("$key was drawn @drawn on the way from $before to $after") if keys %once != @drawn;
    $self->_within("$key is $after", $after, [$before + @$drawn, $counting]);
    $self->{sum}{$key} = $after;
    return;
}

# The map takes as many keys as it has slots and no more, whatever died in it. Having taken them, it has collected all
# that lapsed.
sub _fill {
    my ($self) = @_;
    my $map  = $self->{map};
    my $free = $self->{slots} - $map->keys;
    my ($taken, $answer) = (0, undef);
    $taken++ while ($answer = $map->store("extra $taken", 'x' x 4000)) == 1;
    $self->{refused}[0]++;
    my %stats = $map->stats;
    $self->_wrong("$taken keys found room, then came $answer; $free slots were free") if $taken != $free || $answer != 0;
    my $full = $stats{used} == $self->{slots} && $stats{tombstones} == 0;
    $self->_wrong("$stats{used} used and $stats{tombstones} tombstones in a full map") if !$full;
    $self->_within("$stats{expired} expired", $stats{expired}, $self->{lapsed});
    for my $number (0 .. $taken - 1) {
        $self->_wrong("extra $number is torn") if !same($map->fetch("extra $number"), 'x' x 4000);
        $self->_wrong("extra $number was not there to delete") if $map->delete("extra $number") != 1;
    }
    my %verdict = $map->_verify;
    $self->_wrong($verdict{problem}) if !$verdict{ok};
    $self->_wrong('used is wrong after deletes: ' . $map->stats->{used}) if $map->stats->{used} != $self->{slots} - $free;
    return;
}

1;
