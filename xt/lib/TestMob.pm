package TestMob;

# Processes that do everything at once to several arenas, while one who stands outside kills, stops and replaces them and
# takes named arenas away. In rounds: after each, those who live end by themselves, and the books are balanced.

use strict;
use warnings;

use Fcntl qw(O_APPEND O_CREAT O_WRONLY);
use List::Util qw(max);
use POSIX ();
use Shared::Arena;
use TestArena;
use TestBalance;
use TestLedger;
use TestMixture;
use TestMobWorker;
use Time::HiRes qw(sleep time);

use constant { WORKERS => 16, LIVES => TestLedger::LINES / 4 };

# Which system call prctl is: orphans come to a process that asked for them, so that none goes unseen.
my %Prctl = (x86_64 => 157, aarch64 => 167, riscv64 => 167, s390x => 172);
use constant PR_SET_CHILD_SUBREAPER => 36;

sub can_adopt {
    my $number = $Prctl{ (POSIX::uname())[4] };
    return defined $number && syscall($number, PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0;
}

sub new {
    my ($class, $seed) = @_;
    my $self = bless { seed => $seed, round => 0, mistakes => [], before => undef, figures => {} }, $class;
    $self->{notes_path} = "$ENV{SHARED_ARENA_DIR}/notes";
    sysopen $self->{notes}, $self->{notes_path}, O_WRONLY | O_APPEND | O_CREAT or die "open: $!";
    # Where it says that the round is over; and one arena that goes on from round to round.
    $self->{signs} = Shared::Arena->create(size => 64, regions => 1);
    $self->{signs}->region('over', size => 8);
    $self->{own} = Shared::Arena->create(size => TestMixture::SIZE, regions => TestMixture::REGIONS);
    return $self;
}

sub mistakes { my ($self) = @_; return @{ $self->{mistakes} } }

sub figures { my ($self) = @_; return %{ $self->{figures} } }

sub end { my ($self) = @_; close $self->{notes}; unlink $self->{notes_path}; return }

sub _wrong {
    my ($self, @what) = @_;
    push @{ $self->{mistakes} }, map {"seed $self->{seed}, round $self->{round}: $_"} @what;
    return;
}

sub _count { my ($self, $what, $by) = @_; $self->{figures}{$what} += defined $by ? $by : 1; return }

sub round {
    my ($self, $seconds) = @_;
    my $round = ++$self->{round};
    srand $self->{seed} * 10_000 + $round;
    @$self{qw(lives places stopped shops retired)} = (0, [], {}, [], 0);
    $self->{signs}->poke('over', 0, pack 'Q', 0);
    my $started = time;
    my $gun = start_gun();
    $self->_hire($_, $gun) for 0 .. WORKERS - 1;
    $gun->fire(WORKERS);
    my $end = $started + $seconds;
    while (time < $end && $self->{lives} < LIVES && !-s $self->{notes_path}) {
        $self->_meddle;
        sleep 0.001 + rand 0.015;
        $self->_resume(time);
        $self->_reap(POSIX::WNOHANG());
    }
    $self->{signs}->poke('over', 0, pack 'Q', 1);
    $self->_resume(9**9**9);
    $self->_reap(0);
    my $took = time - $started;
    $self->_balance($took);
    $self->_count('rounds');
    return;
}

# A new life at a place. `serial` is its line in every ledger; the three after it are for those it forks.
sub _hire {
    my ($self, $place, $gun) = @_;
    my $serial = 4 * $self->{lives}++;
    my $seed   = $self->{seed} * 10_000_000 + $self->{round} * 10_000 + $serial;
    $self->{places}[$place] = spawn(sub {
        $gun->await if $gun;
        TestMobWorker->new(signs => $self->{signs}, own => $self->{own}, notes => $self->{notes}, line => $serial, seed => $seed)->live;
    }, 120);
    return;
}

# One thing from outside, to somebody or to a name.
sub _meddle {
    my ($self) = @_;
    my $place = int rand WORKERS;
    my $pid   = $self->{places}[$place] or return;
    my $what  = rand;
    if ($what < 0.4) {
        kill KILL => $pid;
        $self->_count('kills');
        # Now and then the next one comes while this one still dies.
        $self->_judge($pid, reap($pid)) if rand() < 0.5;
        $self->_hire($place);
    }
    elsif ($what < 0.7) {
        return if $self->{stopped}{$pid};
        kill STOP => $pid;
        $self->{stopped}{$pid} = time + (rand() < 0.8 ? rand 0.03 : 0.3);
        $self->_count('stops');
    }
    elsif ($what < 0.76) { $self->_retire_shop }
    return;
}

# The named arena goes, and those who use it go on with what they have. It was seen before, so that its books can be
# balanced at the end. There are not too many, for memory's sake.
sub _retire_shop {
    my ($self) = @_;
    return if @{ $self->{shops} } >= 8;
    my $shop = Shared::Arena->attach('shop') or return;
    push @{ $self->{shops} }, $shop;
    Shared::Arena->destroy('shop') or $self->_wrong('somebody else destroyed the shop');
    $self->_count('destroys');
    $self->{retired}++;
    return;
}

sub _resume {
    my ($self, $now) = @_;
    for my $pid (grep { $self->{stopped}{$_} < $now } keys %{ $self->{stopped} }) {
        kill CONT => $pid;
        delete $self->{stopped}{$pid};
    }
    return;
}

# Whoever has ended: workers, and orphans that were forked by killed ones. With no flag, waits until nobody is left.
sub _reap {
    my ($self, $flag) = @_;
    while ((my $pid = waitpid -1, $flag) > 0) { $self->_judge($pid, $?) }
    return;
}

sub _judge {
    my ($self, $pid, $status) = @_;
    # The number may soon be that of a stranger.
    for my $known (@{ $self->{places} }) { undef $known if $known && $known == $pid }
    delete $self->{stopped}{$pid};
    return if $status == 0 || $status == 9;
    $self->_wrong("process $pid ended with wait status $status");
    return;
}

# Nobody uses the arenas any more.
sub _balance {
    my ($self, $seconds) = @_;
    $self->_wrong(split /\n/, read_file($self->{notes_path})) if -s $self->{notes_path};
    $self->_wrong('a process is left') if waitpid(-1, POSIX::WNOHANG()) != -1;
    my ($after, @wrong) = TestBalance::balance($self->{own}, $self->{before}, $seconds);
    $self->{before} = $after;
    $self->_wrong(map {"the inherited arena: $_"} @wrong);
    $self->_add($after->{ledger});

    my $made = $after->{ledger}{acknowledged}{creates};
    my $last = Shared::Arena->attach('shop');
    for my $shop (@{ $self->{shops} }, $last || ()) {
        my ($books, @odd) = TestBalance::balance($shop, undef, $seconds);
        $self->_wrong(map {"a named arena: $_"} @odd);
        $self->_add($books->{ledger});
    }
    my $there   = @{ $self->{shops} } + ($last ? 1 : 0);
    my $unheard = $after->{ledger}{unheard}{creates};
    $self->_wrong("$there named arenas; $made creations acknowledged, $unheard unheard") if $there < $made || $there > $made + $unheard;
    $self->{shops} = [];
    Shared::Arena->destroy($_) for qw(shop fair);
    my @left = grep { $_ ne 'notes' } arena_files();
    $self->_wrong("left behind: @left") if @left;
    return;
}

sub _add {
    my ($self, $ledger) = @_;
    $self->_count($_, $ledger->{acknowledged}{$_}) for qw(calls forks kills attaches creates destroys carves full);
    $self->_count(waited => $ledger->{acknowledged}{"waited $_"}) for qw(plain tight structures);
    $self->_count(in_flight => $ledger->{in_flight});
    return;
}

1;
