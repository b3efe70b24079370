use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/../t/lib", "$FindBin::Bin/lib";
use TestArena;
use TestEvidence;
use TestMob;
use Test::More;
use Time::HiRes qw(time);

# Sixteen processes do everything at once, on an inherited arena and on named ones: maps, counters, structures, limiters,
# regions, forks, forks of forks. They are killed and stopped at any moment, and named arenas are destroyed under their
# feet and made anew by all at once. Whoever lives looks at every answer. After each round the figures are compared with
# what was acknowledged: no more may differ than the calls of those who were killed in the middle of one.

my %setting = settings(minutes => 0.3, seconds => 4);
my $seed    = $ENV{ARENA_TEST_SEED} || time % 1_000_000;

TestMob::can_adopt() or plan skip_all => 'orphaned processes cannot be adopted here';

# As root, in a file system of its own, where every byte can be accounted for.
my $directory = $ENV{SHARED_ARENA_DIR};
my $mount     = "$directory/own";
mkdir $mount or die "mkdir: $!";
my $is_mounted = $> == 0 && system("mount -t tmpfs -o size=200m arena-test $mount 2>/dev/null") == 0;
$ENV{SHARED_ARENA_DIR} = $mount;

sub used_bytes { return `df -B1 --output=used $mount` =~ /(\d+)\s*\z/ ? $1 : die "df: $?\n" }

sub held {
    opendir my $handle, '/proc/self/fd' or die "fd: $!\n";
    my $own = fileno $handle;
    return join ' ', sort({ $a <=> $b } grep { /\A[0-9]+\z/ && $_ != $own } readdir $handle),
        map {"mapped $_"} scalar grep {/shared-arena/} split /\n/, read_file('/proc/self/maps');
}

my ($used, $held) = ($is_mounted ? used_bytes() : undef, held());
my $end = time + 60 * $setting{minutes};
my %figures;
{
    my $mob = TestMob->new($seed);
    while (time < $end && !$mob->mistakes) {
        watchdog(60 * 7);
        $mob->round($setting{seconds});
    }
    %figures = $mob->figures;
    is_deeply [$mob->mistakes], [], 'all answers are right, and all figures agree' or diag "ARENA_TEST_SEED=$seed";
    $mob->end;
}
is held(), $held, 'descriptors and mappings are as before';
is_deeply [arena_files()], [], 'no file is left';

SKIP: {
    skip 'no file system of its own', 1 if !$is_mounted;
    is used_bytes(), $used, 'the file system has as much room as before';
}
system('umount', $mount) == 0 or diag 'cannot unmount' if $is_mounted;
rmdir $mount or diag "cannot remove $mount: $!";
$ENV{SHARED_ARENA_DIR} = $directory;

cmp_ok $figures{$_} || 0, '>', 0, "there were $_" for qw(kills stops forks attaches creates destroys full calls);
shown(sprintf '%.1f minutes in %d rounds: %d kills (%d in the middle of a call), %d stops, %d forks, %d attaches, '
    . '%d destroys, %d regions asked for, %d stores into a full map, %d waits given up, %d calls',
    $setting{minutes}, @figures{qw(rounds kills in_flight stops forks attaches destroys carves full waited calls)});

done_testing;
