use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use TestArena;
use File::Temp ();
use Test::More;

use Shared::Arena;

# Workers that start together all create the arena, and all but one are late. Where memory had room for one arena and
# not for all their attempts, the late ones once croaked "No space left", and sometimes nobody got it at all.

plan skip_all => 'needs root, to mount a small file system' if $> || system 'unshare -m true 2>/dev/null';

use constant {WORKERS => 8, ROUNDS => 15};

# In a mount namespace of its own, so that nothing stays mounted.
my $program = <<'PROGRAM';
    my ($folder, $workers, $rounds) = @ARGV;
    system(qw(mount -t tmpfs -o size=7m tmpfs), $folder) == 0 or die "mount: $?\n";
    $ENV{SHARED_ARENA_DIR} = $folder;
    for my $round (1 .. $rounds) {
        pipe my $gun, my $hand or die;
        my @pipes = map {
            my $pid = open(my $from, '-|') // die "fork: $!";
            if (!$pid) {
                close $hand;
                readline $gun;
                my $arena = eval { Shared::Arena->create(name => "round $round", size => 1024 * 1024) };
                print $arena ? $arena->created ? 'created ' : 'attached ' : "refused $@";
                close STDOUT;
                require POSIX;
                POSIX::_exit(0);
            }
            $from;
        } 1 .. $workers;
        close $hand;
        print map({readline $_} @pipes), "\n";
        Shared::Arena->destroy("round $round");
    }
PROGRAM

my $folder  = File::Temp::tempdir(CLEANUP => 1);
my @include = map {"-I$_"} grep { !ref } @INC;
open my $rounds, '-|', 'unshare', '-m', $^X, @include, '-MShared::Arena', '-e', $program, $folder, WORKERS, ROUNDS or die "unshare: $!";
my @wrong = grep { join(' ', sort split) ne join(' ', ('attached') x (WORKERS - 1), 'created') } my @seen = <$rounds>;
is scalar(@seen), ROUNDS, 'every round ran';
is_deeply \@wrong, [], 'one created it, and the others attached';

done_testing;
