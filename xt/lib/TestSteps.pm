package TestSteps;

# A child that goes through a piece of code instruction by instruction, and is killed after as many of them as one likes.
# Linux on x86-64 only: it takes `ptrace`, by its numbers.
#
# The way is walked once and written down: where the child stands after each step (which instruction comes next, and the
# top of the stack). A stop takes as long as many thousand instructions, so later children do not step all along: they
# run, by a breakpoint, to the last place on their way whose instruction is not executed before that, and on from there in
# the same manner. Where they stand when they die is compared with what was written down.

use strict;
use warnings;

use POSIX ();

# The system call, its requests, an option (the child dies with us), and two places in the child's registers.
use constant {
    PTRACE       => 101,
    TRACE_ME     => 0,
    PEEK_TEXT    => 1,
    POKE_TEXT    => 4,
    POKE_USER    => 6,
    CONTINUE     => 7,
    SINGLE_STEP  => 9,
    GET_REGS     => 12,
    SET_OPTIONS  => 0x4200,
    EXIT_KILL    => 0x100000,
    INSTRUCTION  => 16 * 8,
    STACK        => 19 * 8,
    REGISTERS    => 27 * 8,
    BREAKPOINT   => 0xCC,
};

# Wait statuses: stopped by SIGTRAP, which ends each step, and by SIGSTOP, which the child sends itself.
use constant { STEPPED => 5 << 8 | 0x7f, HALTED => 19 << 8 | 0x7f };

sub cannot_step {
    require Config;
    return 'this is not Linux on x86-64' if $^O ne 'linux' || $Config::Config{archname} !~ /\Ax86_64/;
    my $pid = fork;
    die "fork: $!" if !defined $pid;
    if (!$pid) { POSIX::_exit(syscall(PTRACE, TRACE_ME, 0, 0, 0) == 0 ? 0 : 1) }
    waitpid $pid, 0;
    return $? ? 'no process may be traced here' : undef;
}

# `ready` is done at full speed, and then `run`, with that argument, step by step.
sub new {
    my ($class, %option) = @_;
    my $self = bless { map { $_ => $option{$_} } qw(ready run with) }, $class;
    @$self{qw(base low high)} = _module();
    return $self;
}

# Where the module's compiled part lies, in this process and its forks, and where its instructions do.
sub _module {
    no warnings 'portable';
    open my $maps, '<', '/proc/self/maps' or die "maps: $!";
    my @parts = map { m{\A([0-9a-f]+)-([0-9a-f]+) (\S+) .*/Shared/Arena/Arena\.so\n} ? [hex $1, hex $2, $3] : () } <$maps>;
    my @code  = grep { $_->[2] eq 'r-xp' } @parts;
    die 'Arena.so lies in ' . @code . ' places' if @code != 1;
    return ($parts[0][0], @{ $code[0] }[0, 1]);
}

# How many steps there are; and how many were made before the first instruction of the module and after its last one.
sub steps { my ($self) = @_; return $#{ $self->{way} } }
sub first { my ($self) = @_; return $self->{first} }
sub last  { my ($self) = @_; return $self->{last} }

# The instruction that is next after so many steps, as a debugger names it.
sub place {
    my ($self, $n) = @_;
    my $address = unpack 'Q', $self->{way}[$n];
    return 'one of perl or its libraries' if $address < $self->{low} || $address >= $self->{high};
    return sprintf 'Arena.so+0x%x', $address - $self->{base};
}

# After which steps the shared bytes had changed.
sub changes { my ($self) = @_; return @{ $self->{changes} } }

# Walks the way to its end and writes it down. `bytes` gives what is watched, from the first instruction of the module on.
sub walk {
    my ($self, $bytes) = @_;
    my ($low, $high) = @$self{qw(low high)};
    my (@way, @before, %met, @changes, $first, $last);
    my $pid = $self->_start;
    my $old = $bytes->();
    while (1) {
        my $place   = _place($pid);
        my $address = unpack 'Q', $place;
        push @before, defined $met{$address} ? $met{$address} : -1;
        $met{$address} = @way;
        if ($address >= $low && $address < $high) {
            if (!defined $first) {
                $first = @way;
                push @changes, $first if $bytes->() ne $old;
            }
            $last = @way + 1;
        }
        push @way, $place;
        last if !_go($pid, SINGLE_STEP);
        next if !defined $first;
        my $new = $bytes->();
        push @changes, scalar @way if $new ne $old;
        $old = $new;
    }
    die "the child did not come to its end: status ${^CHILD_ERROR_NATIVE}" if ${^CHILD_ERROR_NATIVE} != HALTED;
    die 'the module was not called' if !defined $first;
    _end($pid);
    # `before` says after which step each instruction was met before, -1 for never.
    @$self{qw(way before changes first last)} = (\@way, \@before, \@changes, $first, $last);
    return;
}

# Starts a child and kills it when it has made n steps; with more than there are, at its end. Whether it then stood
# where the first one did.
sub die_after {
    my ($self, $n) = @_;
    my $pid   = $self->_start;
    my $there = 1;
    if ($n > $self->steps) {
        _go($pid, CONTINUE);
        die "the child did not come to its end: status ${^CHILD_ERROR_NATIVE}" if ${^CHILD_ERROR_NATIVE} != HALTED;
    }
    else {
        my $made = 0;
        while ($made < $n && $there) {
            my $landmark = $self->_landmark($made, $n);
            $there
                = $landmark == $made + 1
                ? _go($pid, SINGLE_STEP)
                : _run_to($pid, unpack 'Q', $self->{way}[$landmark]);
            $made = $landmark;
        }
        $there &&= _place($pid) eq $self->{way}[$n];
    }
    _end($pid);
    return $there;
}

# The last place on the way to the n-th step whose instruction is not executed between here and there; at least the next.
sub _landmark {
    my ($self, $here, $n) = @_;
    my $before = $self->{before};
    $n-- while $n > $here + 1 && $before->[$n] >= $here;
    return $n;
}

sub _start {
    my ($self) = @_;
    my ($ready, $run, $with) = @$self{qw(ready run with)};
    my $pid = fork;
    die "fork: $!" if !defined $pid;
    if (!$pid) {
        # Between the stops there should be little but the call.
        my ($own, $signal) = ($$, POSIX::SIGSTOP);
        my $lived = eval {
            $ready->();
            syscall(PTRACE, TRACE_ME, 0, 0, 0);
            kill $signal, $own;
            $run->($with);
            kill $signal, $own;
            1;
        };
        print STDERR "# child: $@" if !$lived;
        POSIX::_exit(1);
    }
    waitpid $pid, 0;
    die "the child did not stop: status ${^CHILD_ERROR_NATIVE}" if ${^CHILD_ERROR_NATIVE} != HALTED;
    syscall(PTRACE, SET_OPTIONS, $pid, 0, EXIT_KILL) == 0 or die "ptrace: $!";
    return $pid;
}

sub _end {
    my ($pid) = @_;
    kill KILL => $pid;
    waitpid $pid, 0;
    die "the child was not killed: status $?" if $? != POSIX::SIGKILL;
    return;
}

# Lets a child go on, one step or until it stops by itself; whether it is still on its way.
sub _go {
    my ($pid, $how) = @_;
    syscall(PTRACE, $how, $pid, 0, 0) == 0 or die "ptrace: $!";
    waitpid $pid, 0;
    return ${^CHILD_ERROR_NATIVE} == STEPPED;
}

# Where a child stands: the instruction to come and the top of the stack.
sub _place {
    my ($pid) = @_;
    my $registers = "\0" x REGISTERS;
    syscall(PTRACE, GET_REGS, $pid, 0, $registers) == 0 or die "ptrace: $!";
    return substr($registers, INSTRUCTION, 8) . substr $registers, STACK, 8;
}

# Lets a child run until it is about to execute the instruction of that address. False if it came to its end instead.
sub _run_to {
    my ($pid, $address) = @_;
    my $text = "\0" x 8;
    syscall(PTRACE, PEEK_TEXT, $pid, $address, $text) == 0 or die "ptrace: $!";
    my $word = unpack 'q', $text;
    substr $text, 0, 1, chr BREAKPOINT;
    syscall(PTRACE, POKE_TEXT, $pid, $address, unpack 'q', $text) == 0 or die "ptrace: $!";
    _go($pid, CONTINUE) or return 0;
    syscall(PTRACE, POKE_TEXT, $pid, $address, $word) == 0 or die "ptrace: $!";
    syscall(PTRACE, POKE_USER, $pid, INSTRUCTION, $address) == 0 or die "ptrace: $!";
    return 1;
}

1;
