package BenchScratch;

# A directory in memory for what a store keeps in files, and perhaps a server that runs there. Both go when the
# benchmark does, also when that is killed: a keeper, a process of its own, waits for the end of a pipe that the
# benchmark holds.

use strict;
use warnings;

use File::Path qw(remove_tree);
use File::Spec;
use File::Temp qw(tempdir);
use POSIX ();

my $Main = $$;
my @All;

$SIG{$_} = sub { exit 130 } for qw(INT TERM HUP);

# At an ordinary end we wait until the keepers have done their work.
END {
    if ($$ == $Main) {
        local $?;
        close $_->{in} for @All;
        kill TERM => map { $_->{keeper} } @All;
        waitpid $_->{keeper}, 0 for @All;
    }
}

# Options: command, code that gets the directory and returns the command that starts the server; and at_end, code for
# whatever else is to be done.
sub new {
    my ($class, %option) = @_;
    my $memory    = -w '/dev/shm' ? '/dev/shm' : File::Spec->tmpdir;
    my $directory = tempdir('shared-arena-bench-XXXXXX', DIR => $memory);
    pipe my $out, my $in or die "pipe: $!";
    defined(my $keeper = fork) or die "fork: $!";
    if (!$keeper) {
        POSIX::setsid();
        $SIG{$_} = 'IGNORE' for qw(INT HUP);
        $SIG{TERM} = sub { };    # ends the wait
        close $in;
        my $server = $option{command} && _start($option{command}->($directory));
        sysread $out, my $byte, 1;
        if ($server) { kill KILL => $server; waitpid $server, 0 }
        $option{at_end}->() if $option{at_end};
        remove_tree($directory);
        POSIX::_exit(0);
    }
    close $out;
    my $self = bless { directory => $directory, keeper => $keeper, in => $in }, $class;
    push @All, $self;
    return $self;
}

sub directory { my ($self) = @_; return $self->{directory} }

sub _start {
    my (@command) = @_;
    defined(my $server = fork) or return;
    return $server if $server;
    $SIG{TERM} = 'DEFAULT';
    open STDIN,  '<', '/dev/null';
    open STDOUT, '>', '/dev/null';
    exec {$command[0]} @command or POSIX::_exit(1);
}

1;
