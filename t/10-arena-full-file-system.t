use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use TestArena;
use Test::More;

plan skip_all => 'mounting a small file system needs root' if $> != 0;

use Shared::Arena;

# All memory is reserved at creation: a full file system is an error there and never a signal later.

my $mount = "$ENV{SHARED_ARENA_DIR}/small";
mkdir $mount or die "mkdir: $!";
if (system('mount -t tmpfs -o size=64k arena-test ' . $mount . ' 2>/dev/null') != 0) {
    rmdir $mount;
    plan skip_all => 'cannot mount a small file system here';
}
local $ENV{SHARED_ARENA_DIR} = $mount;

my @create = (
    'use Shared::Arena; my $arena = eval { Shared::Arena->create(name => "big", size => 1024 * 1024) };',
    'print defined $arena ? "made" : $@',
);

subtest 'an arena larger than its file system' => sub {
    my $run = run_perl("@create");
    is $run->{status}, 0, 'ends without a signal';
    like $run->{out}, qr/No space left on device/, 'says what is missing';
    like $run->{out}, qr/\Q$mount\E/, 'and where';
    my @numbers = $run->{out} =~ /(\d+) bytes/g;
    ok scalar(grep { $_ >= 1024 * 1024 } @numbers), 'how much was wanted';
    ok scalar(grep { $_ > 0 && $_ <= 65536 } @numbers), 'how much is free';
    is_deeply [arena_files()], [], 'and leaves no file';
};

subtest 'a map larger than its arena' => sub {
    my $arena = Shared::Arena->create(name => 'little', size => 4096, regions => 2);
    croaks_like { $arena->map('m', slots => 1024, slot_size => 1024) } qr/fit/, 'croaks';
    is_deeply [$arena->regions], [], 'and carves nothing';
    ok(Shared::Arena->destroy('little'), 'gone');
};

subtest 'a file system that fills up afterwards' => sub {
    my $arena = Shared::Arena->create(name => 'little', size => 16 * 200 + 200, regions => 1);
    open my $filler, '>', "$mount/filler" or die;
    my $room = 1;
    while ($room) { $room = syswrite $filler, 'x' x 4096 }
    close $filler;
    my ($stored) = in_child {
        my $map = $arena->map('m', slots => 16, slot_size => 200);
        return scalar grep { $map->store("key $_", 'v' x 100) == 1 && ($map->fetch("key $_"))[0] eq 'v' x 100 } 1 .. 16;
    };
    is $stored, 16, 'takes no page from an arena that is there';
    croaks_like { Shared::Arena->create(name => 'second', size => 4096) } qr/No space left on device/, 'and is an error for a new one';
    unlink "$mount/filler";
    ok(Shared::Arena->destroy('little'), 'gone');
};

system('umount', $mount) == 0 or diag 'cannot unmount';
rmdir $mount or diag "cannot remove $mount: $!";

done_testing;
