use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use TestArena;
use Test::More;

use Config;
use POSIX ();
use Shared::Arena;

# What becomes of arenas in a program that is executed, in a child that was forked without the C library's knowledge, and
# in one that a thread has forked.

my $arena = Shared::Arena->create(name => 'executed', size => 64 * 1024);
my $map   = $arena->map('m', slots => 32);

subtest 'a program that is executed' => sub {
    my $anonymous = Shared::Arena->create(size => 4096);
    local $^F = 255;    # perl itself shall pass on whatever is open
    my $run = run_perl(<<'PROGRAM', args => ['executed']);
        sub lines { my ($path) = @_; open my $file, '<', $path or die; return <$file> }
        print scalar(grep {/shared-arena/} lines('/proc/self/maps')), ' mapped, ';
        print scalar(grep { (readlink || '') =~ /shared-arena/ } glob '/proc/self/fd/*'), ' open, ';
        require Shared::Arena;
        my $map = Shared::Arena->attach($ARGV[0])->map('m', slots => 32);
        print $map->incr('executed'), ' counted';
PROGRAM
    is $run->{out}, '0 mapped, 0 open, 1 counted', 'has no mapping and no descriptor, and may attach by name' or diag $run->{err};
    is $map->counter('executed'), 1, 'to the same arena';
};

subtest 'a process that becomes another program in the middle of work' => sub {
    my @pids = map {
        my $pid = fork;
        die "fork: $!" if !defined $pid;
        if (!$pid) {
            $map->store('k', 'x' x $_) for 1 .. 100;
            exec 'true' or POSIX::_exit(1);
        }
        $pid;
    } 1 .. 20;
    is scalar(grep { reap($_) } @pids), 0, 'leaves nothing locked';
    intact_ok $map, 'and nothing half done';
};

# Neither perl nor the C library hears of these.
my %fork = (x86_64 => [57], aarch64 => [220, 17, 0, 0, 0, 0], riscv64 => [220, 17, 0, 0, 0, 0]);
my $fork = $fork{ (POSIX::uname())[4] };

subtest 'a fork by the bare system call' => sub {
    plan skip_all => 'its number is not known here' if !$fork;
    $map->store('before', 1);
    for my $round (1 .. 40) {
        my $pid = syscall $fork->[0], @$fork[1 .. $#$fork];
        die "fork: $!" if $pid < 0;
        if (!$pid) {
            # Half of them are killed in the middle of it.
            $map->store('k', 'x' x 50), $map->incr('raw') for 1 .. ($round % 2 ? 10 : 1e9);
            POSIX::_exit(0);
        }
        if ($round % 2) { is reap($pid), 0, 'the child ends well' if $round == 1; reap($pid) if $round > 1; next }
        select undef, undef, undef, 0.002;
        kill KILL => $pid;
        reap($pid);
    }
    cmp_ok $map->counter('raw'), '>=', 200, 'what children counted is counted';
    # A lock of a dead child that was not its own would be waited for.
    Shared::Arena::_lock_patience(60);
    my ($stored) = in_child { return scalar grep { $map->store("key $_", 1) == 1 } 1 .. 16 } patience => 20;
    is $stored, 16, 'and no lock is left of those who were killed';
    intact_ok $map, 'whole';
};

subtest 'a fork in a thread' => sub {
    plan skip_all => 'this perl has no threads' if !$Config{usethreads};
    my $run = run_perl(<<'PROGRAM', args => ['executed']);
        use strict; use warnings; use threads; use POSIX (); use Shared::Arena;
        my $main = Shared::Arena->attach($ARGV[0])->map('m', slots => 32);
        threads->create(sub {
            my $own = Shared::Arena->attach($ARGV[0])->map('m', slots => 32);
            my $busy = threads->create(sub {
                my $other = Shared::Arena->attach($ARGV[0])->map('m', slots => 32);
                $other->store('k', 'x' x ($_ % 100)), $other->incr('thread') for 1 .. 20_000;
            });
            for (1 .. 20) {
                defined(my $pid = fork) or die "fork: $!";
                if (!$pid) {
                    $own->store('k', 'y'), $own->incr('child') for 1 .. 50;
                    POSIX::_exit(eval { $main->incr('child'); 1 } ? 1 : 0);
                }
                waitpid $pid, 0;
                print "child: $?\n" if $?;
            }
            $busy->join;
        })->join;
        print $main->counter('child'), ' ', $main->counter('thread');
PROGRAM
    is $run->{out}, '1000 20000', 'has the objects of that thread, and loses nothing, while another one writes' or diag $run->{err};
    intact_ok $map, 'whole';
};

Shared::Arena->destroy('executed');

done_testing;
