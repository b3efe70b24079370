package TestMobWorker;

# One life in the mob (TestMob): calls on the arena it has inherited and on named ones it attaches to, some of which are
# gone from the directory already; children that go on with its objects, and their children.

use strict;
use warnings;

use POSIX ();
use Shared::Arena;
use TestArena;
use TestMixture;
use Time::HiRes qw(sleep);

sub new {
    my ($class, %self) = @_;
    return bless { %self, forks => 0, generation => 0, shops => [], children => {} }, $class;
}

# Until the round is over. What it finds wrong it writes down; it is not to be missed among so many deaths.
sub live {
    my ($self) = @_;
    eval { $self->_live; 1 } or syswrite $self->{notes}, "line $self->{line}: $@" =~ s/\n*\z/\n/r;
    return;
}

sub _live {
    my ($self) = @_;
    srand $self->{seed};
    Shared::Arena::_lock_patience(rand() < 0.3 ? 0.1 : 20);
    my @before = _held();
    $self->{mixture} = TestMixture->new($self->{own}, $self->{line});
    for (my $n = 0; !$self->_is_over; $n++) {
        $self->_pick->call for 1 .. 20;
        $self->_act;
        $self->_look_after_children;
    }
    $self->_end(@before);
    return;
}

sub _is_over { my ($self) = @_; return unpack 'Q', $self->{signs}->peek('over', 0, 8) }

# Half the time the inherited arena, else one of those attached to.
sub _pick {
    my ($self) = @_;
    my $shops = $self->{shops};
    return @$shops && rand() < 0.5 ? $shops->[rand @$shops] : $self->{mixture};
}

sub _ledger { my ($self) = @_; return $self->{mixture}->ledger }

sub _act {
    my ($self) = @_;
    my $what = rand;
    if    ($what < 0.10) { $self->_visit_shop }
    elsif ($what < 0.20) { $self->_visit_fair }
    elsif ($what < 0.24) { $self->_fork }
    elsif ($what < 0.26) { $self->_share_with_child }
    elsif ($what < 0.28) { $self->_kill_child }
    return;
}

# The named arena, whichever has the name just now; made, if none has. The oldest one it has goes.
sub _visit_shop {
    my ($self) = @_;
    my $ledger = $self->_ledger;
    my $arena;
    if (rand() < 0.5) { $arena = Shared::Arena->attach('shop') or return }
    else {
        $ledger->intend(creates => 1);
        $arena = Shared::Arena->create(name => 'shop', size => TestMixture::SIZE, regions => TestMixture::REGIONS);
        $ledger->add(creates => 1) if $arena->created;
        $ledger->done;
    }
    $ledger->add(attaches => 1);
    my $inode = _inode($arena);
    return if grep { $_->{inode} eq $inode } @{ $self->{shops} };
    shift @{ $self->{shops} } if @{ $self->{shops} } == 2;
    push @{ $self->{shops} }, TestMixture->new($arena, $self->{line});
    $self->{shops}[-1]{inode} = $inode;
    return;
}

# What tells arenas of one name apart, for as long as they are mapped.
sub _inode {
    my ($arena) = @_;
    my $start = sprintf '%x-', $arena->base;
    my ($line) = grep { index($_, $start) == 0 } split /\n/, read_file('/proc/self/maps');
    return (split ' ', $line)[4];
}

# A small arena that anybody destroys at any moment.
sub _visit_fair {
    my ($self) = @_;
    my $ledger = $self->_ledger;
    if (rand() < 0.2) { Shared::Arena->destroy('fair') and $ledger->add(destroys => 1); return }
    my $arena = Shared::Arena->create(name => 'fair', size => 8192, regions => 2);
    $ledger->add(attaches => 1);
    my $map  = TestMixture::patiently(sub { $arena->map('map', slots => 16, slot_size => 300) });
    my $rate = TestMixture::patiently(sub { $arena->rate('rate', limit => 5, window => 3e8, slots => 64) });
    for (1 .. 10) {
        my $key = 'fair ' . int rand 12;
        my ($value) = $map->fetch($key);
        die "$key is torn: $value\n" if defined $value && !TestMixture::is_whole($key, $value);
        my $answer = eval { $map->store($key, TestMixture::value_of($key, $self->{line}, ++$self->{stalls})) };
        die $@ if !defined $answer && $@ !~ /has held the lock/;
        die "store answered $answer\n" if defined $answer && $answer != 1;
    }
    my $allowed = grep { $rate->allow("line $self->{line} $self->{stalls}") } 1 .. 10;
    die "$allowed allowed, of 5\n" if $allowed != 5;
    return;
}

# A child goes on with all objects, under the next free line of its parent's; one of them has a child of its own.
sub _fork {
    my ($self) = @_;
    return if $self->{forks} >= ($self->{generation} == 0 ? 2 : $self->{generation} == 1 && $self->{is_first} ? 1 : 0);
    my $which = $self->{forks}++;
    my $line  = $self->{generation} == 0 ? $self->{line} + 1 + $which : $self->{line} + 2;
    $self->_ledger->add(forks => 1);
    my $pid = fork;
    die "fork: $!\n" if !defined $pid;
    if ($pid) { $self->{children}{$pid} = 1; return }
    watchdog(120);
    @$self{qw(line seed forks children generation is_first)} = ($line, $self->{seed} + 1 + $which, 0, {}, $self->{generation} + 1, !$which);
    eval { $self->_live_on; 1 } or syswrite $self->{notes}, "line $self->{line}: $@" =~ s/\n*\z/\n/r;
    POSIX::_exit(0);
}

sub _live_on {
    my ($self) = @_;
    srand $self->{seed};
    my @before = _held();
    $_->take_line($self->{line}) for $self->{mixture}, @{ $self->{shops} };
    for (1 .. 5 + int rand 60) {
        last if $self->_is_over;
        $self->_pick->call for 1 .. 10;
        $self->_fork if rand() < 0.1;
        $self->_look_after_children;
    }
    $self->_drop_own;
    $self->_wait_for_children;
    my @now = _held();
    die "had @before before, @now after\n" if "@before" ne "@now";
    return;
}

# An arena that only it and a child have. The child may be killed on the way.
sub _share_with_child {
    my ($self) = @_;
    my $map = Shared::Arena->create(size => 8192, regions => 2)->map('map', slots => 16);
    my $pid = fork;
    die "fork: $!\n" if !defined $pid;
    if (!$pid) {
        watchdog(120);
        $map->incr('both') && $map->incr('child') for 1 .. 100;
        POSIX::_exit(0);
    }
    $map->incr('both') for 1 .. 100;
    my $is_killed = rand() < 0.5;
    if ($is_killed) { kill KILL => $pid; $self->_ledger->add(kills => 1) }
    my $status = reap($pid);
    $self->_ledger->add(forks => 1);
    die "a child ended with status $status\n" if $status != 0 && $status != 9;
    my ($both, $child) = ($map->counter('both'), $map->counter('child') || 0);
    die "$both counted, 100 and $child\n" if $both - 100 != $child && $both - 101 != $child || !$status && $both != 200;
    return;
}

# Its own, not waited for yet: the number is nobody else's.
sub _kill_child {
    my ($self) = @_;
    my ($pid) = keys %{ $self->{children} } or return;
    kill KILL => $pid;
    $self->_ledger->add(kills => 1);
    return;
}

sub _look_after_children {
    my ($self) = @_;
    for my $pid (keys %{ $self->{children} }) { $self->_bury($pid) if waitpid($pid, POSIX::WNOHANG()) == $pid }
    return;
}

sub _wait_for_children {
    my ($self) = @_;
    for my $pid (keys %{ $self->{children} }) { waitpid $pid, 0; $self->_bury($pid) }
    return;
}

sub _bury {
    my ($self, $pid) = @_;
    delete $self->{children}{$pid};
    die "child $pid ended with wait status $?\n" if $? != 0 && $? != 9;
    return;
}

# Who ends by himself leaves no key of his own, no descriptor and no mapping.
sub _end {
    my ($self, @before) = @_;
    $self->_drop_own;
    $self->_wait_for_children;
    delete @$self{qw(mixture shops)};
    my @now = _held();
    die "had @before before, @now after\n" if "@before" ne "@now";
    return;
}

sub _drop_own {
    my ($self) = @_;
    Shared::Arena::_lock_patience(60);
    for my $mixture ($self->{mixture}, @{ $self->{shops} }) { $mixture->drop_own or die "cannot delete\n" }
    return;
}

# The open descriptors, and how often an arena is mapped.
sub _held {
    opendir my $directory, '/proc/self/fd' or die "fd: $!\n";
    my $own = fileno $directory;
    my @descriptors = grep { /\A[0-9]+\z/ && $_ != $own } readdir $directory;
    my $mapped = grep {/shared-arena/} split /\n/, read_file('/proc/self/maps');
    return (sort({ $a <=> $b } @descriptors), "and $mapped mapped");
}

1;
