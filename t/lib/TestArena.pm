package TestArena;

# What the test files share: the built module on @INC, a directory of its own for the named arenas of each file,
# children that start together and cannot hang, child perls, and checks on croaks and warnings.

use strict;
use warnings;

use B ();
use Config;
use Exporter 'import';
use File::Spec;
use File::Temp ();
use POSIX      ();
use Storable   ();
use Test::More;

our @EXPORT = qw(
    arena_path arena_files read_file write_file
    croaks_like warnings_of intact_ok
    run_perl quiet_perl_ok
    set_clock real_clock
    in_children in_child spawn reap start_gun watchdog
);

my ($Root, $Owner, $Dir);

BEGIN {
    my ($volume, $directory) = File::Spec->splitpath(File::Spec->rel2abs(__FILE__));
    $Root = File::Spec->catpath($volume, File::Spec->catdir($directory, ('..') x 2), '');
    $Root = do { require Cwd; Cwd::abs_path($Root) };

    # `make test` and `prove -b` name blib themselves; `prove -l` names lib, which has no compiled part; `prove` names nothing.
    my $compiled = "auto/Shared/Arena/Arena.$Config{dlext}";
    my @ours = grep { index($_, "$Root/") == 0 } map { File::Spec->rel2abs($_) } grep { !ref } @INC;
    if (!grep { -e "$_/$compiled" } @ours) {
        unshift @INC, "$Root/blib/arch";
        unshift @INC, "$Root/blib/lib" unless grep { -e "$_/Shared/Arena.pm" } @ours;
    }

    # Named arenas go to memory, and into a directory that nobody else looks at.
    my ($memory) = grep { -d && -w } '/dev/shm', File::Spec->tmpdir;
    $Owner = $$ unless $^C;
    if (!$^C) {
        $Dir = File::Temp::tempdir("arena-test-XXXXXXXX", DIR => $memory);
        $ENV{SHARED_ARENA_DIR} = $Dir;
    }
}

watchdog(120);

# A test that leaves a file behind is a failed test.
END {
    if (defined $Owner && $$ == $Owner) {
        alarm 0;
        my @left = arena_files($Dir);
        diag("left behind: $_") for @left;
        unlink map {"$Dir/$_"} @left;
        rmdir $Dir or diag("cannot remove $Dir: $!");
        $? = 1 if @left && !$?;
    }
}

# Files

sub arena_path { my ($name) = @_; return "$ENV{SHARED_ARENA_DIR}/shared-arena.$>.$name" }

sub arena_files {
    my $directory = @_ ? $_[0] : $ENV{SHARED_ARENA_DIR};
    opendir my $handle, $directory or die "opendir $directory: $!";
    return sort grep { !/\A\.\.?\z/ } readdir $handle;
}

sub read_file {
    my ($path) = @_;
    open my $handle, '<:raw', $path or die "open $path: $!";
    local $/;
    return scalar <$handle>;
}

sub write_file {
    my ($path, $bytes, $mode) = @_;
    open my $handle, '>:raw', $path or die "open $path: $!";
    print {$handle} $bytes or die "write $path: $!";
    close $handle or die "close $path: $!";
    chmod defined $mode ? $mode : 0600, $path or die "chmod $path: $!";
    return;
}

# Croaks and warnings

# The block dies, the message matches and ends with a line of the block itself.
sub croaks_like (&$$) {
    my ($code, $pattern, $name) = @_;
    my ($file, $line) = (caller)[1, 2];
    my $start = B::svref_2object($code)->START;
    my $first = $start->can('line') ? $start->line : $line;
    ($first, my $last) = $first < $line ? ($first, $line) : ($line, $first);

    local $@;
    my $lived = eval { $code->(); 1 };
    my $error = $@;
    local $Test::Builder::Level = $Test::Builder::Level + 1;

    if ($lived) { fail($name); diag('lived, but should have croaked'); return }
    my $there = $error =~ /\ at\ \Q$file\E\ line\ (\d+)(?:,\ <[^>]*>\ (?:line|chunk)\ \d+)?\.?\n\z/x
        && $1 >= $first && $1 <= $last + 8;
    my $fine = $error =~ $pattern && $there;
    ok($fine, $name) and return 1;
    diag("message: $error");
    diag("wanted:  $pattern") if $error !~ $pattern;
    diag("wanted the place $file line $first") if !$there;
    return;
}

sub warnings_of (&) {
    my ($code) = @_;
    my @warnings;
    local $SIG{__WARN__} = sub { push @warnings, @_ };
    $code->();
    return @warnings;
}

# Maps

# Every buffer of the map has one owner, and the statistics are those of a recount. With `lapsing`, some entries may
# have lapsed and not been collected.
sub intact_ok {
    my ($map, $name, %option) = @_;
    local $Test::Builder::Level = $Test::Builder::Level + 1;
    my %verdict = $map->_verify;
    my %stats   = $map->stats;
    my @keys    = $map->keys;
    my %once    = map { $_ => 1 } @keys;
    my @wrong;
    push @wrong, defined $verdict{problem} ? $verdict{problem} : 'not ok, but no problem named' if !$verdict{ok};
    push @wrong, "$stats{used} used, but " . @keys . ' keys' if $option{lapsing} ? $stats{used} < @keys : $stats{used} != @keys;
    push @wrong, 'a key is listed twice' if keys %once != @keys;
    push @wrong, "$stats{used} used and $stats{tombstones} tombstones in $stats{capacity} slots" if $stats{used} + $stats{tombstones} > $stats{capacity};
    ok(!@wrong, $name) or diag(join "\n", @wrong);
    return !@wrong;
}

# Other perls

# Runs a program in a fresh perl. Returns what it printed, what it complained about and its wait status.
sub run_perl {
    my ($program, %option) = @_;
    my %file = map { $_ => File::Temp->new } qw(out err);
    my $pid = fork;
    die "fork: $!" if !defined $pid;
    if (!$pid) {
        $SIG{ALRM} = 'DEFAULT';
        alarm($option{patience} || 30);
        open STDOUT, '>&', $file{out} or POSIX::_exit(126);
        open STDERR, '>&', $file{err} or POSIX::_exit(126);
        local %ENV = (%ENV, %{ $option{env} || {} });
        my @include = map {"-I$_"} map { File::Spec->rel2abs($_) } grep { !ref } @INC;
        exec $^X, @include, '-e', $program, @{ $option{args} || [] } or POSIX::_exit(127);
    }
    waitpid $pid, 0;
    my $status = $?;
    return { status => $status, map { $_ => read_file($file{$_}->filename) } keys %file };
}

# A program that must end well without a word on its standard error.
sub quiet_perl_ok {
    my ($program, $name, %option) = @_;
    local $Test::Builder::Level = $Test::Builder::Level + 1;
    my $run = run_perl($program, %option);
    return 1 if ok($run->{status} == 0 && $run->{err} eq '', $name);
    diag("wait status $run->{status}\nstderr: $run->{err}\nstdout: $run->{out}");
    return;
}

# Time

# Freezes this process's clocks: wall time rules deadlines, monotonic time rules limiters.
sub set_clock { my ($wall, $monotonic) = @_; Shared::Arena::_set_clock($wall, $monotonic); return }

sub real_clock { Shared::Arena::_set_clock(undef, undef); return }

# Children

# SIGALRM without a handler ends a process wherever it hangs, inside compiled code too. Where perl is run by a tool that
# makes it slower, the environment says by how much.
sub watchdog {
    my ($seconds) = @_;
    $SIG{ALRM} = 'DEFAULT';
    alarm $seconds * ($ENV{ARENA_TEST_SLOWNESS} || 1);
    return;
}

# Runs the code in a child with its own watchdog. The child leaves without destroying anything.
sub spawn {
    my ($code, $patience) = @_;
    my $pid = fork;
    die "fork: $!" if !defined $pid;
    return $pid if $pid;
    watchdog($patience || 60);
    my $fine = eval { $code->(); 1 };
    print STDERR "# child: $@" if !$fine;
    POSIX::_exit($fine ? 0 : 1);
}

sub reap {
    my ($pid) = @_;
    waitpid($pid, 0) == $pid or die "waitpid: $!";
    return $?;
}

# A gun that lets children start at one moment: each says it is ready and waits, `fire` lets all go.
sub start_gun {
    my %gun;
    pipe $gun{ready_out}, $gun{ready_in} or die "pipe: $!";
    pipe $gun{go_out},    $gun{go_in}    or die "pipe: $!";
    return bless \%gun, 'TestArena::Gun';
}

sub TestArena::Gun::await {
    my ($self) = @_;
    close $self->{go_in};
    syswrite $self->{ready_in}, '.';
    sysread $self->{go_out}, my $byte, 1;
    return;
}

sub TestArena::Gun::fire {
    my ($self, $count) = @_;
    close $self->{ready_in};
    while ($count > 0) {
        my $read = sysread $self->{ready_out}, my $bytes, $count or last;
        $count -= $read;
    }
    close $self->{go_in};
    return;
}

# Runs the code in `count` children at once, each called with its number from 0, and returns one array of results a child.
# A child that dies, is killed or overruns its patience fails the test.
sub in_children {
    my ($count, $code, %option) = @_;
    local $Test::Builder::Level = $Test::Builder::Level + 1;
    my $gun = start_gun();
    my @crew;
    for my $number (0 .. $count - 1) {
        pipe my $out, my $in or die "pipe: $!";
        my $pid = spawn(sub {
            close $out;
            $gun->await;
            my @answer = $code->($number);
            print {$in} Storable::freeze(\@answer);
            close $in;
        }, $option{patience} || 60);
        close $in;
        push @crew, { number => $number, pid => $pid, out => $out };
    }
    $gun->fire($count);
    return map { _collect($_) } @crew;
}

# The same with one child: its results as a list.
sub in_child (&;@) {
    my ($code, %option) = @_;
    local $Test::Builder::Level = $Test::Builder::Level + 1;
    my ($answer) = in_children(1, $code, %option);
    return @$answer;
}

sub _collect {
    my ($child) = @_;
    my $frozen = do { local $/; my $out = $child->{out}; <$out> };
    my $status = reap($child->{pid});
    return Storable::thaw($frozen) if $status == 0 && defined $frozen && length $frozen;
    local $Test::Builder::Level = $Test::Builder::Level + 1;
    my $how = $status & 127 ? 'was killed by signal ' . ($status & 127) : 'failed with status ' . ($status >> 8);
    fail("child $child->{number} $how");
    return [];
}

1;
