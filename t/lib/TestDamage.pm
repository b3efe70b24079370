package TestDamage;

# Rounds on an arena that somebody writes over: its bytes are put back, words in it are overwritten, and calls are made,
# with more overwritten between them; in some rounds another process writes all the time, during calls too. A round
# follows from its seed and the seeds of the arena's hash, but for what that process does when.
#
# Many rounds share a child. If one ends the child, its seed is known, and a child of its own tells whether it does
# so again. Every mapping that calls are made on lies between guard pages (TestGuard).

use strict;
use warnings;

use File::Temp ();
use POSIX      ();
use Shared::Arena;
use Storable ();
use TestArena;
use TestEveryCall;
use TestGuard;
use TestScribble;
use Time::HiRes qw(time);

use constant { NAME => 'damaged', PAGE => 4096 };
# Rounds of a child, calls of a round, and of how many children one has company.
use constant { ROUNDS => 500, CALLS => 24, COMPANY => 8 };
# When a round takes place: the entries that lapse, lapse at 10 seconds past.
use constant { WALL => 1_700_000_000, MONOTONIC => 1_000_000 };
# A call that takes longer, in seconds, is a mistake, and so are more kilobytes for a child than at its beginning.
use constant { SLOW => 1, MEMORY => 30_000 };
# More mistakes are not looked for.
use constant ENOUGH => 10;
# The fingerprint and the seeds of the arena's hash, in its header: what decides where keys lie. Where builds hash
# otherwise, the arena keeps those it was made with.
use constant { FINGERPRINT => 48, SEEDS => 64 };
use constant HASH => '8c79a1cb0023fb1bd6df5d8086df356b7abc27a2db25a820ee2e77aa5bf1fe816e20e587dcc54ab8';

my (@Calls, @Objects, $Scribble, $Progress, $Said);

# Classes are named in the documents; their code must not run.
my ($Inside, @Ran) = (0);
for my $method (qw(DESTROY THAW FREEZE STORABLE_thaw STORABLE_attach AUTOLOAD)) {
    no strict 'refs';
    *{"Some::Class::$method"} = sub { push @Ran, $method if $Inside; return };
}

sub prepare {
    set_clock(WALL, MONOTONIC);
    # Of whole pages, so that the first byte behind the arena is a guard's.
    my $size = 8192;
    for (;; $size += 16) {
        make_arena(NAME, $size, \&_set_hash);
        last if (-s arena_path(NAME)) % PAGE == 0;
        Shared::Arena->destroy(NAME);
    }
    my $attach = sub { Shared::Arena->attach(NAME) };
    @Objects = (objects_of(guarded_attach($attach)), NAME);
    # And gaps between guards for those who attach anew, while they have the one before: the topmost gap is filled first.
    %TestEveryCall::Fenced = map { $_->base => 1 } map { guarded_attach($attach) } 1 .. 3;
    @Calls    = every_call();
    $Scribble = TestScribble->new(arena_path(NAME), read_file(arena_path(NAME)));
    ($Progress, $Said) = (File::Temp->new, File::Temp->new);
    return;
}

# Gives an arena that is new the hash it is told, or that of every time.
sub _set_hash {
    my ($path) = @_;
    my $before = read_file($path);
    my ($fingerprint, $seeds) = unpack 'a8 a32', pack 'H*', $ENV{ARENA_TEST_HASH} || HASH;
    my $after = $before;
    substr($after, FINGERPRINT, 8) = $fingerprint;
    substr($after, SEEDS, 32) = $seeds;
    write_file($path, $after);
    write_file($path, $before) if !eval { Shared::Arena->attach(NAME) };
    return;
}

# What ARENA_TEST_HASH must be for the same arena.
sub hash {
    return unpack 'H*', substr($Scribble->{image}, FINGERPRINT, 8) . substr $Scribble->{image}, SEEDS, 32;
}

sub names { return map { $_->[0] } @Calls }

sub finish {
    @Objects = ();
    Shared::Arena->destroy($_) for NAME, 'doomed';
    real_clock();
    return;
}

# Runs so many rounds, with seeds from the first on. Returns what was wrong, and figures.
sub survive {
    my ($first, $rounds) = @_;
    my %total = (wrong => [], rounds => 0, with_company => 0, children => 0);
    my ($seed, $end) = ($first, $first + $rounds);
    while ($seed < $end && @{ $total{wrong} } < ENOUGH) {
        # Children begin at multiples of their rounds, so that all of a seed's circumstances follow from it.
        my $next    = ROUNDS * (1 + int $seed / ROUNDS);
        my $company = $next / ROUNDS % COMPANY == 0;
        my $result  = _child($seed, ($next < $end ? $next : $end) - $seed, company => $company);
        _add(\%total, $result, $company);
        $seed += $result->{rounds};
    }
    return \%total;
}

sub _add {
    my ($total, $result, $company) = @_;
    $total->{children}++;
    $total->{rounds} += $result->{rounds};
    $total->{with_company} += $result->{rounds} if $company;
    push @{ $total->{wrong} }, @{ $result->{wrong} };
    $total->{longest} = $result->{longest} if ($result->{longest} || 0) > ($total->{longest} || 0);
    $total->{$_} += $result->{$_} || 0 for qw(guarded unguarded);
    for my $name (keys %{ $result->{counted} || {} }) {
        $total->{counted}{$name}{$_} += $result->{counted}{$name}{$_} for keys %{ $result->{counted}{$name} };
    }
    return;
}

# Rounds in a child: what it found, or if it did not come to its end, what is known of it.
sub _child {
    my ($first, $rounds, %option) = @_;
    my $vandal = $option{company} ? spawn(sub { _write_all_the_time($first) }, 300) : undef;
    truncate $_, 0 for $Progress, $Said;
    pipe my $out, my $in or die "pipe: $!";
    my $pid = spawn(sub {
        close $out;
        # Where a panic would be heard of, even of one that no error tells.
        open STDERR, '>>&', $Said or die "open: $!";
        print {$in} Storable::freeze(_rounds($first, $rounds, %option));
        close $in;
    }, $option{patience} || 120);
    close $in;
    my $frozen = do { local $/; <$out> };
    my $status = reap($pid);
    if ($vandal) { kill KILL => $vandal; reap($vandal) }
    my $said = read_file($Said->filename);
    if ($status == 0) {
        my $result = _judged(Storable::thaw($frozen), \%option);
        push @{ $result->{wrong} }, "seeds from $first on: $said" if length $said;
        return $result;
    }

    sysseek $Progress, 0, 0;
    sysread $Progress, my $progress, 1000;
    my ($seed, $call) = unpack 'Q Z*', $progress || pack 'Q', $first;
    my $how = ($status & 127 ? 'signal ' . ($status & 127) : 'status ' . ($status >> 8)) . ($call ? " in $call" : '') . ($said && "; $said");
    return { rounds => $seed - $first + 1, wrong => [$how] } if $option{alone};
    return { rounds => $seed - $first + 1, wrong => ["seed $seed: $how; " . _alone($seed)] };
}

# The same round in a child of its own.
sub _alone {
    my ($seed) = @_;
    my @wrong = @{ _child($seed, 1, alone => 1, patience => 30)->{wrong} };
    return @wrong ? "alone: @wrong" : 'not again when alone';
}

# A call that took long because the machine was busy does not do so again and again.
sub _judged {
    my ($result, $option) = @_;
    my @slow = @{ delete $result->{slow} };
    if ($option->{alone}) { push @{ $result->{wrong} }, @slow }
    else                  { push @{ $result->{wrong} }, map { _judge_slow($_) } @slow }
    return $result;
}

sub _judge_slow {
    my ($slow) = @_;
    return $slow if $slow =~ /of work/;
    my ($seed) = $slow =~ /\Aseed (\d+)/;
    my @again = map { _alone($seed) } 1 .. 3;
    return if grep { !/\Aalone:/ } @again;
    return "$slow; @again";
}

sub _rounds {
    my ($first, $rounds, %option) = @_;
    # A lock that seems to be taken is waited for no longer, so that the time of a call is its own.
    Shared::Arena::_lock_patience(0.001);
    my %result = (rounds => $rounds, counted => {}, wrong => [], slow => [], longest => 0);
    my @warnings;
    local $SIG{__WARN__} = sub { push @warnings, @_ };
    my $memory;
    for my $seed ($first .. $first + $rounds - 1) {
        sysseek $Progress, 0, 0;
        syswrite $Progress, pack 'Q', $seed;
        _round($seed, \%result, %option);
        push @{ $result{wrong} }, "seed $seed: a warning: $warnings[0]" if @warnings;
        last if @warnings;
        $memory = _kilobytes() if $seed == $first + 20;
    }
    if (!$option{company}) {
        # As if nothing had been.
        $Scribble->restore;
        use_objects(@Objects);
        set_clock(WALL, MONOTONIC);
        push @{ $result{wrong} }, map {"after seed @{[$first + $rounds - 1]}: $_"} what_is_wrong();
    }
    my $more = defined $memory ? _kilobytes() - $memory : 0;
    push @{ $result{wrong} }, "seeds from $first on: $more kilobytes more" if $more > MEMORY;
    @result{qw(guarded unguarded)} = ($TestEveryCall::Guarded, $TestEveryCall::Unguarded);
    return \%result;
}

sub _round {
    my ($seed, $result, %option) = @_;
    srand $seed;
    $Scribble->restore;
    use_objects(@Objects);
    set_clock(WALL + rand 12, MONOTONIC + (rand) ** 8 * 4000);
    $Scribble->scribble for 0 .. rand 6;
    for (1 .. CALLS) {
        my ($name, $code) = @{ $Calls[rand @Calls] };
        my @arguments = arguments();
        syswrite $Progress, pack 'a200', $name if $option{alone} && sysseek $Progress, 8, 0;
        my @before = _clocks(\%option);
        $Inside = 1;
        my $answer = eval { $code->(@arguments) };
        $Inside = 0;
        my @after = _clocks(\%option);
        my ($took, $worked, $delayed) = map { $after[$_] - $before[$_] } 0 .. 2;

        my $outcome = !$answer ? 'error' : @$answer && defined $answer->[0] ? 'value' : 'miss';
        $result->{counted}{$name}{$outcome}++;
        push @{ $result->{wrong} }, "seed $seed: $name: $@"
            if !$answer && ($@ !~ /\AShared::Arena\b.* at .* line \d+\.\n\z/s || $@ =~ /a bug in the library/);
        if (@Ran) {
            push @{ $result->{wrong} }, "seed $seed: $name called $Ran[0]" if !$answer || grep { $_ ne 'DESTROY' } @Ran;
            @Ran = ();
        }
        $result->{longest} = $took if $took > $result->{longest};
        # In company, where nothing comes again, only the work counts; alone, what the call had of the processor or slept.
        my $work = $worked > SLOW ? ' of work' : '';
        push @{ $result->{slow} }, sprintf "seed %d: %s: %.1f s%s", $seed, $name, $work ? $worked : $took - $delayed, $work
            if $work || !$option{company} && $took - $delayed > SLOW;
        $Scribble->scribble if rand() < 0.4;
    }
    return;
}

# The time, that which this process worked, and that in which it only waited for a processor. To know the latter two
# takes longer than most calls.
sub _clocks {
    my ($option) = @_;
    return (time, 0, 0) if !$option->{alone} && !$option->{company};
    my $delayed = 0;
    if ($option->{alone} && open my $file, '<', '/proc/self/schedstat') { $delayed = (split ' ', <$file>)[1] / 1e9 }
    return (time, Time::HiRes::clock(), $delayed);
}

# Until it is killed. The file is opened anew: the place where a handle stands belongs to all who inherit it.
sub _write_all_the_time {
    my ($seed) = @_;
    srand $seed;
    my $scribble = TestScribble->new(arena_path(NAME), $Scribble->{image});
    my @changes  = map { $scribble->changes } 1 .. 3000;
    for (;;) { $scribble->write($_) for @changes }
}

sub _kilobytes { return (read_file('/proc/self/statm') =~ /\A\d+ (\d+)/)[0] * PAGE / 1024 }

1;
