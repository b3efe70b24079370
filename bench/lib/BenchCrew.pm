package BenchCrew;

# Child processes that start at one moment, work until they are told to stop, and bring back what they found. None of
# them outlives the benchmark: its end, however it comes, ends them, and each looks for its parent now and then.

use strict;
use warnings;

use POSIX ();
use Storable ();

use Shared::Arena;

my $Main = $$;
my %Alive;

$SIG{$_} = sub { exit 130 } for qw(INT TERM HUP);

END {
    if ($$ == $Main) {
        local $?;
        kill KILL => keys %Alive;
        waitpid $_, 0 for keys %Alive;
    }
}

# Forks so many children, each of which runs the code with its number from 0 and the crew, once `fire` is called.
sub new {
    my ($class, $count, $code) = @_;
    my $flag = Shared::Arena->create(size => 64, regions => 1);
    $flag->region('stop', size => 1);
    my $self = bless { flag => $flag, parent => $$, children => [] }, $class;
    pipe my $ready_out, my $ready_in or die "pipe: $!";
    pipe my $go_out,    my $go_in    or die "pipe: $!";
    for my $number (0 .. $count - 1) {
        pipe my $out, my $in or die "pipe: $!";
        defined(my $pid = fork) or die "fork: $!";
        if (!$pid) {
            $SIG{$_} = 'DEFAULT' for qw(INT TERM HUP);
            close $_ for $out, $ready_out, $go_in;
            syswrite $ready_in, '.';
            sysread $go_out, my $byte, 1 or POSIX::_exit(1);    # the parent has gone
            my $found = eval { [$code->($number, $self)] };
            print STDERR "child: $@" if !$found;
            print {$in} Storable::freeze($found) if $found;
            close $in;
            POSIX::_exit($found ? 0 : 1);
        }
        close $in;
        $Alive{$pid} = 1;
        push @{ $self->{children} }, { pid => $pid, out => $out };
    }
    close $ready_in;
    for (1 .. $count) { sysread $ready_out, my $byte, 1 or die "a child did not start\n" }
    $self->{go_in} = $go_in;
    return $self;
}

# Lets all of them go: a byte for each.
sub fire { my ($self) = @_; syswrite $self->{go_in}, '.' x @{ $self->{children} }; return }

# For a child: whether it is time to end. To be asked every thousand calls or so.
sub stopped { my ($self) = @_; return $self->{flag}->peek('stop', 0, 1) ne "\0" || getppid != $self->{parent} }

# Tells them to end.
sub stop { my ($self) = @_; $self->{flag}->poke('stop', 0, "\1"); return }

# Waits for all of them, and returns what each found, as array references.
sub results {
    my ($self) = @_;
    my @results;
    for my $child (@{ $self->{children} }) {
        my $frozen = do { local $/; my $out = $child->{out}; <$out> };
        waitpid $child->{pid}, 0;
        delete $Alive{ $child->{pid} };
        die "a child ended with status $?\n" if $? || !length $frozen;
        push @results, Storable::thaw($frozen);
    }
    return @results;
}

sub pids { my ($self) = @_; return map { $_->{pid} } @{ $self->{children} } }

1;
