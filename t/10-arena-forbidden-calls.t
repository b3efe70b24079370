use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use TestArena;
use Test::More;

use POSIX ();
use Shared::Arena;

# A container may forbid system calls (seccomp). What an arena needs is missed with an error that says which step failed;
# what it can do without is done in another way.

my @calls = qw(prctl get_robust_list set_robust_list futex memfd_create linkat fallocate madvise);
my %numbers = (
    x86_64  => [157, 274, 273, 202, 319, 265, 285, 28],
    aarch64 => [167, 100, 99, 98, 279, 37, 47, 233],
);
my $known = $numbers{ (POSIX::uname())[4] } or plan skip_all => 'the numbers of system calls are not known here';
my $number = { map { $calls[$_] => $known->[$_] } 0 .. $#calls };

# From now on this process and its children get that error from these calls. A program of the kernel's packet filter
# looks at the number of each call.
sub forbid {
    my ($error, @calls) = @_;
    my ($load, $jump_if_equal, $return) = (0x20, 0x15, 0x06);
    my @program = pack 'SCCL', $load, 0, 0, 0;
    push @program, pack 'SCCL', $jump_if_equal, @calls - $_, 0, $number->{ $calls[$_] } for 0 .. $#calls;
    push @program, pack('SCCL', $return, 0, 0, 0x7fff_0000), pack 'SCCL', $return, 0, 0, 0x0005_0000 | $error;
    my $all = join '', @program;
    my $no_new_privileges = 38;
    my ($set_seccomp, $filter_mode) = (22, 2);
    return syscall($number->{prctl}, $no_new_privileges, 1, 0, 0, 0) == 0
        && syscall($number->{prctl}, $set_seccomp, $filter_mode, pack 'S x![P] P', scalar @program, $all) == 0;
}

my ($can) = in_child { return forbid(POSIX::EPERM(), 'memfd_create') };
plan skip_all => 'no filter can be set here' if !$can;

# What a child says that has these calls no more.
sub without {
    my ($error, $calls, $code) = @_;
    my ($answer) = in_child { forbid($error, @$calls) or die "seccomp: $!"; return scalar $code->() } patience => 60;
    return $answer;
}

# It is used by several processes at once, some of which are killed. Who had to wait out his patience for one of these
# would wait longer than this child may live, unless less is given.
sub is_usable {
    my ($map, $patience) = @_;
    Shared::Arena::_lock_patience(600);
    my @pids = map { spawn(sub { $map->store(same => 'x' x ($_ % 100)), $map->incr('n') for 1 .. 2000 }) } 1 .. 3;
    reap($_) and return 'a child failed' for @pids;
    return 'counted ' . $map->counter('n') if $map->counter('n') != 6000;
    Shared::Arena::_lock_patience($patience) if $patience;
    for (1 .. 20) {
        my @busy = map { spawn(sub { while (1) { eval { $map->store("key $_", 'x' x 200) } for 1 .. 8 } }) } 1 .. 2;
        select undef, undef, undef, 0.003 + rand 0.004;
        kill KILL => @busy;
        reap($_) for @busy;
        eval { $map->store("key $_", 'y') == 1 or die "not stored\n"; 1 } or return "after a kill: $@" for 1 .. 8;
    }
    my %verdict = $map->_verify;
    return $verdict{ok} ? 'usable' : $verdict{problem};
}

sub anonymous { return Shared::Arena->create(size => 64 * 1024) }
sub named     { return Shared::Arena->create(size => 64 * 1024, name => 'forbidden') }
sub map_of    { my ($arena) = @_; return $arena->map('m', slots => 32) }

my $before = map_of(anonymous());
for my $error (POSIX::EPERM(), POSIX::ENOSYS()) {
    my $reason = do { local $! = $error; "$!" };
    for my $call (qw(get_robust_list futex madvise)) {
        is without($error, [$call], sub { is_usable(map_of(anonymous())) }), 'usable',
            "$call answers $reason: arenas can be made and used, and nobody waits for the dead";
    }
    is without($error, [qw(get_robust_list set_robust_list)], sub { is_usable(map_of(anonymous()), 0.1) }), 'usable',
        'both calls for robust lists: locks of the dead are taken after the wait';

    like without($error, ['memfd_create'], sub { eval { anonymous() }; $@ }),
        qr/\AShared::Arena->create: cannot create an anonymous arena: $reason at /, 'memfd_create: no anonymous arena';
    is without($error, ['memfd_create'], sub { is_usable(map_of(named())) }), 'usable', 'but a named one';
    Shared::Arena->destroy('forbidden');
    like without($error, ['linkat'], sub { eval { named() }; $@ }),
        qr/\AShared::Arena->create: cannot name \S+forbidden: $reason at /, 'linkat: no named arena';
    is_deeply [arena_files()], [], 'no file';
    is without($error, ['linkat'], sub { is_usable(map_of(anonymous())) }), 'usable', 'but an anonymous one';
    like without($error, ['fallocate'], sub { eval { anonymous() }; $@ }),
        qr/\AShared::Arena->create: cannot reserve \d+ bytes in .*: $reason at /, 'fallocate: none';
    is without($error, [qw(memfd_create linkat fallocate)], sub { is_usable($before) }), 'usable',
        'an arena that is there needs none of these';
    $before = map_of(anonymous());
}

done_testing;
