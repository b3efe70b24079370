use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/../t/lib", "$FindBin::Bin/lib";
use TestArena;
use TestEvidence;
use Test::More;

use POSIX ();
use Shared::Arena;
use Time::HiRes qw(clock_gettime CLOCK_MONOTONIC sleep);

# Where one side cannot see what the other does: namespaces for mounts, users and time. For pid namespaces see
# t/40-processes-namespaces.t, for a limiter's clock t/40-processes-time.t. All of it takes root, or user namespaces.

plan skip_all => 'needs root' if $> != 0;

my @include  = map {"-I$_"} grep { !ref } @INC;
my $stranger = 54_321;
my @shown;

sub can { return system("unshare @_ true 2>/dev/null") == 0 }

# What a program prints that runs on the other side.
sub beyond {
    my ($command, $program) = @_;
    open my $pipe, '-|', @$command, $^X, @include, '-MShared::Arena', '-e', $program or die "$command->[0]: $!";
    my $output = do { local $/; <$pipe> };
    close $pipe;
    return defined $output ? $output : '';
}

my $attach = 'my $arena = eval { Shared::Arena->attach("here") };'
    . 'print defined $arena ? join ",", $arena->regions : $@ || "none"';

subtest 'another /dev/shm' => sub {
    plan skip_all => 'no mount namespaces here' if !can('--mount');
    my $arena = Shared::Arena->create(name => 'here', size => 4096);
    $arena->region('made here', size => 8);
    my $mount = q{mount -t tmpfs none "$SHARED_ARENA_DIR" && exec "$@"};
    is beyond(['unshare', '--mount', 'sh', '-c', $mount, 'sh'], $attach), 'none', 'has no arena of that name';
    is beyond(['unshare', '--mount', 'sh', '-c', $mount, 'sh'], 'print Shared::Arena->create(name => "here", size => 4096)->created'), 1, 'and create makes another';
    is beyond(['unshare', '--mount'], $attach), 'made here', 'in a mount namespace that sees the same one it is the same';
    Shared::Arena->destroy('here');
    push @shown, 'another /dev/shm: another arena';
};

subtest 'another network' => sub {
    plan skip_all => 'no network namespaces here' if !can('--net');
    my $map = Shared::Arena->create(name => 'here', size => 65_536)->map('m', slots => 16);
    my $count = 'print Shared::Arena->attach("here")->map("m", slots => 16)->incr("n")';
    is beyond([qw(unshare --net --ipc --uts)], $count), 1, 'or host name, or System V IPC: makes no difference';
    is $map->counter('n'), 1, 'it counted here';
    Shared::Arena->destroy('here');
    push @shown, 'another network: the same';
};

subtest 'another mapping of users' => sub {
    plan skip_all => 'no user namespaces here' if !can('--user --map-root-user');
    chmod 01777, $ENV{SHARED_ARENA_DIR} or die "chmod: $!";
    my $arena = Shared::Arena->create(name => 'here', size => 4096);
    $arena->region('made here', size => 8);
    my $path = arena_path('here');

    is beyond([qw(unshare --user --map-root-user)], $attach), 'made here', 'the same number for the same user: the same arena';
    is beyond(['unshare', '--user', "--map-user=$stranger"], $attach), 'none', 'another number for the same user: another name, so no arena';
    is beyond([qw(unshare --user)], $attach), 'none', 'no number at all: likewise';

    my @as_stranger = ('setpriv', '--reuid', $stranger, '--regid', $stranger, '--clear-groups');
    SKIP: {
        skip 'another user cannot read the module here', 2 if beyond([@as_stranger], 'print 1') ne '1';
        like beyond([@as_stranger, qw(unshare --user --map-root-user)], $attach),
            qr/\AShared::Arena->attach: cannot open \Q$path\E of user \d+: Permission denied at /,
            'the same number for another user: an error, and not his arena';
        my $make = 'my $arena = Shared::Arena->create(name => "theirs", size => 4096); print $arena->created';
        is beyond([@as_stranger, qw(unshare --user --map-root-user)], $make), 1, 'a name that is free he may take';
        croaks_like { Shared::Arena->attach('theirs') } qr/belongs to user $stranger, not to 0/, 'and then it is refused to us';
        ok(Shared::Arena->destroy('theirs'), 'until destroy removes it');
    }
    Shared::Arena->destroy('here');
    chmod 0700, $ENV{SHARED_ARENA_DIR};
    push @shown, 'other user numbers: the same, another or an error';
};

# As `unshare --time`, but for a process that goes on, and its next child.
my %Unshare = (x86_64 => 272, aarch64 => 97);
use constant NEW_TIME => 0x80;

sub enter_time {
    my ($seconds) = @_;
    my $number = $Unshare{ (POSIX::uname())[4] };
    return if !defined $number || syscall($number, NEW_TIME) != 0;
    open my $file, '>', '/proc/self/timens_offsets' or return;
    print {$file} "monotonic $seconds 0\n";
    return close $file;
}

subtest 'another time, entered by a fork' => sub {
    my ($can) = in_child { return enter_time(1000) };
    plan skip_all => 'no time namespaces here' if !$can;
    for my $seconds (1000, -1000) {
        my ($shift, $at_first, $later, $refusal, $inherited) = in_child {
            # What time it is, this process has learned from its own limiter.
            my $arena = Shared::Arena->create(size => 65_536);
            my $old = $arena->rate('old', limit => 5, window => 1000, slots => 64);
            $old->allow('k') for 1 .. 6;
            $old->retry_after('k');
            my $before = clock_gettime(CLOCK_MONOTONIC);
            enter_time($seconds) or die "unshare: $!";
            return in_child {
                my $new = Shared::Arena->create(size => 65_536)->rate('new', limit => 5, window => 2.5, slots => 64);
                my $at_first = grep { $new->allow('k') } 1 .. 8;
                sleep 0.6;
                my $later = grep { $new->allow('k') } 1 .. 8;
                my $refusal = eval { $arena->rate('old', limit => 5, window => 1000, slots => 64); 1 } ? 'none' : $@;
                return (clock_gettime(CLOCK_MONOTONIC) - $before, $at_first, $later, $refusal, $old->allow('k'));
            };
        };
        cmp_ok abs($shift - $seconds), '<', 60, "the clock is $seconds seconds from that of the parent";
        is $at_first, 5, 'a limiter made there allows its limit';
        cmp_ok $later, '>=', 1, 'and then what flows in by that clock';
        cmp_ok $later, '<=', 5, 'and no more';
        like $refusal, qr/'old' goes by the clock of another time namespace, 1000 s/, 'the parent\'s is refused, if asked for anew';
        is $inherited, $seconds > 0 ? 1 : 0, 'the inherited object goes by the wrong clock: ' . ($seconds > 0 ? 'its buckets are full' : 'they stay empty');
    }
    push @shown, 'another time: arenas the same, its limiters refused';
};

shown(join('; ', @shown));
done_testing;
