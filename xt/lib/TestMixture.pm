package TestMixture;

# An arena with some of everything in it, used by processes that keep a ledger there (TestLedger): values that say whose
# they are, calls drawn at random whose answers are looked at, and at the end the comparison of all figures.

use strict;
use warnings;

use Data::Dumper ();
use Shared::Arena;
use TestLedger;

use constant {
    SIZE      => 1_600_000,
    REGIONS   => 48,
    PLAIN     => 1700,         # slots: a key for each line of the ledger, and those in common
    TIGHT     => 16,           # slots, for 40 keys
    CAP       => 3000,         # requests, with next to no refill
    FLOW      => 50,           # requests in FLOW_TIME seconds
    FLOW_TIME => 0.5,
};

# An arena as somebody has it mapped.
sub new {
    my ($class, $arena, $line) = @_;
    my $self = bless { arena => $arena, seen => {} }, $class;
    $self->{plain}      = patiently(sub { $arena->map('plain',      slots => PLAIN, slot_size => 300) });
    $self->{tight}      = patiently(sub { $arena->map('tight',      slots => TIGHT, slot_size => 300) });
    $self->{structures} = patiently(sub { $arena->map('structures', slots => 64,    slot_size => 600, serialise => 1) });
    $self->{cap}        = patiently(sub { $arena->rate('cap', limit => CAP, window => 3e8, slots => 256) });
    $self->{flow}       = patiently(sub { $arena->rate('flow', limit => FLOW, window => FLOW_TIME, slots => 64) });
    $self->take_line($line) if defined $line;
    return $self;
}

# Some have little patience with a lock, so that a holder who was stopped leads to a croak. What nothing counts, such as
# carving, is asked again then.
sub patiently {
    my ($code) = @_;
    my @answer;
    until (eval { @answer = $code->(); 1 }) { die $@ if $@ !~ /has held the lock/ }
    return wantarray ? @answer : $answer[0];
}

sub arena  { my ($self) = @_; return $self->{arena} }
sub ledger { my ($self) = @_; return $self->{ledger} }

# A process that has inherited the objects writes its own line.
sub take_line {
    my ($self, $line) = @_;
    $self->{ledger} = patiently(sub { TestLedger->new($self->{arena}, $line) });
    $self->{own}    = "own $line";
    return;
}

# Values

# What a process stores with its so-manyeth store under a key: bytes that follow from these three, in length too.
sub value_of {
    my ($key, $line, $n) = @_;
    my $length = ($line * 31 + $n * 17) % 200;
    my $mark   = "$key,$line,$n,$length;";
    return $mark . substr $mark x (1 + $length / length $mark), 0, $length;
}

sub is_whole {
    my ($key, $value) = @_;
    my ($line, $n) = $value =~ /\A\Q$key\E,([0-9]+),([0-9]+),/ or return;
    return $value eq value_of($key, $line, $n);
}

sub structure_of {
    my ($key, $line, $n) = @_;
    my $list = [map { $n + $_ } 0 .. ($line + $n) % 12];
    return { key => $key, line => $line, n => $n, list => $list, again => [$list, $list], text => "\x{263a}" x ($n % 20), half => $n / 2, nothing => undef };
}

sub is_whole_structure {
    my ($key, $value) = @_;
    return if ref $value ne 'HASH' || grep { !defined } @$value{qw(key line n)};
    return _dump($value) eq _dump(structure_of($key, @$value{qw(line n)}));
}

sub _dump {
    my ($value) = @_;
    local ($Data::Dumper::Sortkeys, $Data::Dumper::Indent, $Data::Dumper::Useqq, $Data::Dumper::Terse) = (1, 0, 1, 1);
    return Data::Dumper::Dumper($value);
}

# Calls

# Each is given the mixture and dies if an answer is wrong. The numbers say how often.
my @Calls = (
    [6 => \&_own], [4 => \&_common], [4 => \&_sum], [3 => \&_window], [4 => \&_tight], [2 => \&_structure],
    [5 => \&_cap], [3 => \&_flow], [1 => \&_carve], [1 => \&_look],
);
my @Drawn = map { ($_->[1]) x $_->[0] } @Calls;

sub call {
    my ($self) = @_;
    $Drawn[rand @Drawn]->($self);
    $self->{ledger}->add(calls => 1);
    return;
}

# A write that may find its lock held by somebody who was stopped: then nothing has changed, and it returns undef.
# Otherwise 1 and the answer.
sub _write {
    my ($self, $which, $intent, $method, @arguments) = @_;
    my $ledger = $self->{ledger};
    $ledger->intend(@$intent) if $intent;
    my $answer;
    return (1, $answer) if eval { $answer = $self->{$which}->$method(@arguments); 1 };
    die $@ if $@ !~ /has held the lock/;
    $ledger->add("waited $which" => 1);
    $ledger->done;
    return;
}

# A key that no other process changes: what was stored last is there, and nothing else.
sub _own {
    my ($self) = @_;
    my ($ledger, $key) = @$self{qw(ledger own)};
    my $n = $ledger->kept('own');
    if (rand() < 0.5) {
        my $next = ++$self->{stores};
        my ($came, $answer) = $self->_write(plain => [own => $next], store => $key, value_of($key, $ledger->line, $next)) or return;
        die "store answered $answer\n" if $answer != 1;
        $ledger->set(own => $next);
        $ledger->done;
    }
    elsif (rand() < 0.2) { $self->drop_own }
    else {
        my ($value) = $self->{plain}->fetch($key);
        my $wanted = $n ? value_of($key, $ledger->line, $n) : undef;
        return if defined $value ? defined $wanted && $value eq $wanted : !defined $wanted;
        die "$key is " . (defined $value ? $value : 'absent') . ", after store $n\n";
    }
    return;
}

sub drop_own {
    my ($self) = @_;
    my $ledger = $self->{ledger};
    my ($came, $answer) = $self->_write(plain => [own => 0], delete => $self->{own}) or return;
    die "delete answered $answer\n" if $answer != ($ledger->kept('own') ? 1 : 0);
    $ledger->set(own => 0);
    $ledger->done;
    return 1;
}

# Keys that all store, delete and fetch.
sub _common {
    my ($self) = @_;
    my $key = 'common ' . int rand 40;
    if (rand() < 0.4) {
        my ($came, $answer) = $self->_write(plain => [calls => 0], store => $key, value_of($key, $self->{ledger}->line, ++$self->{stores})) or return;
        die "store answered $answer\n" if $answer != 1;
    }
    elsif (rand() < 0.2) { $self->_write(plain => [calls => 0], delete => $key) or return }
    else                 { $self->_fetch(plain => $key) }
    $self->{ledger}->done;
    return;
}

sub _fetch {
    my ($self, $which, $key) = @_;
    my ($value) = $self->{$which}->fetch($key);
    die "$key is torn: $value\n" if defined $value && !is_whole($key, $value);
    return;
}

# Counters only grow, for whoever looks.
sub _sum {
    my ($self) = @_;
    my ($which, $by) = (int rand 4, 1 + int rand 1000);
    my $key = "sum $which";
    if (rand() < 0.3) {
        my $number = $self->{plain}->counter($key);
        die "$key is undefined, and was $self->{seen}{$key}\n" if !defined $number && $self->{seen}{$key};
        return $self->_has_grown($key, $number || 0);
    }
    my ($came, $number) = $self->_write(plain => [$key => $by], incr => $key, $by) or return;
    die "incr answered undef\n" if !defined $number;
    $self->{ledger}->add($key => $by);
    $self->{ledger}->done;
    return $self->_has_grown($key, $number - $by) && ($self->{seen}{$key} = $number);
}

sub _has_grown {
    my ($self, $key, $number) = @_;
    my $seen = $self->{seen}{$key} || 0;
    die "$key is $number and was $seen\n" if $number < $seen;
    return $self->{seen}{$key} = $number;
}

# Counters that lapse, and begin again at 1.
sub _window {
    my ($self) = @_;
    my $key = 'window ' . int rand 8;
    my ($came, $number) = $self->_write(plain => [calls => 0], incr => $key, 1, ttl_ms => 1 + int rand 30) or return;
    die "incr answered " . (defined $number ? $number : 'undef') . "\n" if !defined $number || $number < 1;
    $self->{ledger}->done;
    return;
}

# A map with fewer slots than keys.
sub _tight {
    my ($self) = @_;
    my $ledger = $self->{ledger};
    my $key    = 'tight ' . int rand 40;
    return $self->_fetch(tight => $key) if rand() < 0.4;
    if (rand() < 0.3) { $self->_write(tight => [calls => 0], delete => $key) and $ledger->done; return }
    my @ttl = rand() < 0.5 ? (ttl_ms => 1 + int rand 20) : ();
    my ($came, $answer) = $self->_write(tight => [full => 1], store => $key, value_of($key, $ledger->line, ++$self->{stores}), @ttl) or return;
    die "store answered $answer\n" if $answer != 0 && $answer != 1;
    $ledger->add(full => 1)    if !$answer;
    $ledger->add(lapsing => 1) if $answer && @ttl;
    $ledger->done;
    return;
}

sub _structure {
    my ($self) = @_;
    my $ledger = $self->{ledger};
    my $key    = 'structure ' . int rand 20;
    if (rand() < 0.5) {
        my ($value) = my @there = $self->{structures}->fetch($key);
        die "$key is mixed up: " . _dump($value) . "\n" if @there && !is_whole_structure($key, $value);
        return;
    }
    my ($came, $answer) = $self->_write(structures => [calls => 0], store => $key, structure_of($key, $ledger->line, ++$self->{stores})) or return;
    die "store answered $answer\n" if $answer != 1;
    $ledger->done;
    return;
}

sub _cap {
    my ($self) = @_;
    my ($ledger, $which) = ($self->{ledger}, int rand 8);
    my $left = $self->{cap}->remaining("cap $which");
    my $seen = $self->{seen}{"left $which"};
    die "cap $which has $left left, and had $seen\n" if $left < 0 || $left > CAP || defined $seen && $left > $seen + 1;
    $self->{seen}{"left $which"} = $left;
    $ledger->intend("cap $which" => 1);
    my $allowed = $self->{cap}->allow("cap $which");
    $ledger->add($allowed ? "cap $which" : 'cap refused', 1);
    $ledger->done;
    die "cap $which allowed, with $left left\n" if $allowed && $left < 0.9;
    return;
}

sub _flow {
    my ($self) = @_;
    my $ledger = $self->{ledger};
    $ledger->intend(flow => 1);
    my $allowed = $self->{flow}->allow('all');
    $ledger->add($allowed ? 'flow' : 'flow refused', 1);
    $ledger->done;
    return if $allowed;
    my $seconds = $self->{flow}->retry_after('all');
    die "retry after $seconds\n" if $seconds < 0 || $seconds > FLOW_TIME;
    return;
}

# A region has one size, one place and the bytes that all write into it.
sub _carve {
    my ($self) = @_;
    my $number = int rand 20;
    my ($name, $size) = ("carved $number", 64 + 8 * $number);
    my ($offset, $length) = patiently(sub { $self->{arena}->region($name, size => $size) }) or die "no room for $name\n";
    my $place = "$offset $length";
    $self->{seen}{$name} = $place if !defined $self->{seen}{$name};
    die "$name at $place, and was at $self->{seen}{$name}\n" if $place ne $self->{seen}{$name} || $length != $size;
    my $words = $self->{arena}->peek($name, 0, $size);
    my @odd   = grep { $_ && $_ != $number + 1 } unpack 'Q*', $words;
    die "$name has @odd in it\n" if @odd;
    $self->{arena}->poke($name, 8 * int rand $size / 8, pack 'Q', $number + 1);
    $self->{ledger}->add(carves => 1);
    return;
}

# What a tool would look at, while everything goes on.
sub _look {
    my ($self) = @_;
    return if rand() < 0.9;
    my %once;
    $once{$_}++ for $self->{tight}->keys;
    die 'listed and no key of ours: ' . join(' ', grep { !/\Atight [0-9]+\z/ } keys %once) . "\n" if grep { !/\Atight [0-9]+\z/ } keys %once;
    my %stats = $self->{cap}->stats;
    die "$stats{keys} keys, of 8\n" if $stats{keys} > 8;
    die "$stats{evicted} evicted, $stats{contended} contended\n" if $stats{evicted} || $stats{contended};
    return;
}

1;
