package TestFailpoint;

# Children that are killed or stopped at a named point of a call, in a build that has failpoints.

use strict;
use warnings;

use Exporter 'import';
use POSIX ();
use Shared::Arena;
use TestArena;

our @EXPORT = qw(child resume);

# Those that stand still, which nothing else would end. Some a test has let go on, and waited for, by itself.
my %stopped;
END { local $?; for my $pid (keys %stopped) { kill KILL => $pid if waitpid($pid, POSIX::WNOHANG()) == 0 } }

# Runs the code in a child that has armed the point, until the child ends or stops: its pid, and how. A child that ends
# does so with status 0, unless the code ends it.
sub child {
    my ($point, $action, $code) = @_;
    my $pid = fork;
    die "fork: $!" if !defined $pid;
    if (!$pid) {
        %stopped = ();
        watchdog(60);
        Shared::Arena::_failpoint($point, $action);
        POSIX::_exit(eval { $code->(); 1 } ? 0 : 1);
    }
    waitpid $pid, POSIX::WUNTRACED();
    my $status = ${^CHILD_ERROR_NATIVE};    # $? has no word for a child that stands still
    my $how    = POSIX::WIFEXITED($status) ? 'ended' : POSIX::WIFSTOPPED($status) ? 'stopped' : 'killed';
    $stopped{$pid} = 1 if $how eq 'stopped';
    return ($pid, $how);
}

# Lets a stopped child go on to its end. Returns its wait status, or undef if it had not stopped.
sub resume {
    my ($pid) = @_;
    delete $stopped{$pid} or return undef;
    kill CONT => $pid;
    return reap($pid);
}

1;
