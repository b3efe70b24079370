package TestKilledClients;

# Processes that claim, spend from, fill up and give back the buckets of a table of 64 slots, and are killed at any
# moment. By a clock that stands still, so that what the survivors find follows from what was asked.

use strict;
use warnings;

use Shared::Arena;
use TestArena;

use constant { WORKERS => 4, KEYS => 40, LIMIT => 20, WINDOW => 1000, START => 1000 };

# Kills WORKERS processes in each of so many rounds. Returns what was otherwise than promised.
sub mistakes {
    my ($rounds) = @_;
    set_clock(undef, START);
    my $arena = Shared::Arena->create(size => 64 * 1024);
    my $rate  = $arena->rate('l', limit => LIMIT, window => WINDOW, slots => 64);
    # What each worker was granted, and how often it was about to fill a bucket, by key.
    $arena->region('notes', size => 8 * WORKERS * KEYS * 2);
    my @notes = ([(0) x KEYS], [(0) x KEYS]);
    for my $round (1 .. $rounds) {
        $arena->poke('notes', 0, "\0" x (8 * WORKERS * KEYS * 2));
        _kill_all($arena, $rate, $round);
        my @noted = unpack 'Q*', $arena->peek('notes', 0, 8 * WORKERS * KEYS * 2);
        for my $place (0 .. $#noted) { $notes[$place % 2][($place >> 1) % KEYS] += $noted[$place] }
    }
    # A dead process's work needs no repair, so none of this may take long: the child has a watchdog.
    my ($mistakes) = in_child { return [_wrong_accounts($rate, $rounds, @notes), _wrong_table($rate)] } patience => 10;
    real_clock();
    return @$mistakes;
}

sub _kill_all {
    my ($arena, $rate, $round) = @_;
    my $gun  = start_gun();
    my @pids = map { my $number = $_; spawn(sub { srand $round * WORKERS + $number; $gun->await; _work($arena, $rate, $number) }) } 0 .. WORKERS - 1;
    $gun->fire(WORKERS);
    select undef, undef, undef, 0.0005 + rand 0.003;
    kill KILL => @pids;
    reap($_) for @pids;
    return;
}

sub _work {
    my ($arena, $rate, $number) = @_;
    my @notes = (0) x (2 * KEYS);
    my $note  = sub {
        my ($place) = @_;
        $arena->poke('notes', 8 * ($number * KEYS * 2 + $place), pack 'Q', ++$notes[$place]);
        return;
    };
    while (1) {
        my $key = int rand KEYS;
        my $method = (('allow') x 6, 'reset', 'forget', 'forget')[rand 9];
        $note->(2 * $key + 1) if $method ne 'allow';    # before: none is done that is not noted
        my $answer = $rate->$method("key $key");
        $note->(2 * $key) if $answer && $method eq 'allow';    # after: all that are noted were granted
    }
    return;
}

# No key was granted more than its limit for each time its bucket was filled.
sub _wrong_accounts {
    my ($rate, $rounds, $granted, $filled) = @_;
    my @wrong;
    my %stats = $rate->stats;
    push @wrong, "$stats{evicted} evicted, by @{[KEYS]} keys in 64 slots" if $stats{evicted};
    push @wrong, "$stats{contended} contended" if $stats{contended};
    push @wrong, "$stats{keys} keys" if $stats{keys} > KEYS;
    my $sum = 0;
    for my $key (0 .. KEYS - 1) {
        my $rest = 0;
        $rest++ while $rest <= LIMIT && $rate->allow("key $key");
        my $most = LIMIT * ($filled->[$key] + 1);
        push @wrong, "key $key: $granted->[$key] granted and $rest left of $most" if $granted->[$key] + $rest > $most;
        push @wrong, "key $key: $rest left" if $rest > LIMIT;
        $sum += $granted->[$key];
    }
    # At each death one request may have been counted that was not noted, or granted that was not counted.
    push @wrong, "$stats{allowed} counted of $sum granted" if abs($stats{allowed} - $sum) > $rounds * WORKERS;
    push @wrong, 'nothing happened' if !$sum;
    $rate->forget("key $_") for 0 .. KEYS - 1;
    my @twice = grep { $rate->forget("key $_") } 0 .. KEYS - 1;
    push @wrong, "twice in the table: @twice" if @twice;
    push @wrong, 'something is left in the table' if $rate->stats->{keys};
    $rate->allow("key $_", 1 + $_ % LIMIT) for 0 .. KEYS - 1;
    return @wrong;
}

# Once the old buckets have refilled, there is room for 64 new keys, each with a whole bucket.
sub _wrong_table {
    my ($rate) = @_;
    my @wrong;
    set_clock(undef, START + WINDOW);
    push @wrong, 'keys remain' if $rate->stats->{keys};
    for my $new (1 .. 64) {
        my $allowed = 0;
        $allowed++ while $allowed <= LIMIT && $rate->allow("new $new");
        push @wrong, "new $new was allowed $allowed" if $allowed != LIMIT;
    }
    my %stats = $rate->stats;
    push @wrong, "$stats{keys} keys in 64 slots" if $stats{keys} != 64;
    push @wrong, "$stats{evicted} evicted" if $stats{evicted};
    return @wrong;
}

1;
