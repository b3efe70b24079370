use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use TestArena;
use Test::More;

use POSIX ();
use Shared::Arena;
use Socket;

# A name that exists and cannot be used is an error at once, with the reason. It is never used, changed or waited for.

my $path = arena_path('bad');

{
    my $map = Shared::Arena->create(name => 'good', size => 65536)->map('m', slots => 8);
    $map->store("key $_", $_) for 1 .. 8;
}
my $good = read_file(arena_path('good'));
my $version = unpack 'L', substr $good, 8, 4;

sub with_bytes { my ($offset, $bytes) = @_; substr(my $copy = $good, $offset, length $bytes) = $bytes; return $copy }

# The same in a file of the other byte order: each number turned round where it stands.
sub turned_round {
    my $turned = $good;
    for (map({ [$_, 4] } 8, 12, 16, 20, 120, 124, 128, 132), map({ [$_, 8] } 24, 32, 40, 48, 56, 64, 72, 80, 88, 96, 104, 112, 136)) {
        my ($at, $bytes) = @$_;
        substr($turned, $at, $bytes) = reverse substr $turned, $at, $bytes;
    }
    return $turned;
}

sub sparse_file { my ($length) = @_; write_file($path, $good); truncate $path, $length or die "truncate: $!"; return }

# What lies under the name, how it came there, and the reason that the error gives.
my ($length, $half, $too_long) = (length $good, length($good) / 2, 2**48);
my @bad = (
    ['a file without a byte'         => sub { write_file($path, '') },                        qr/is not an arena: 0 bytes are too few/],
    ['a few bytes'                   => sub { write_file($path, 'ShArena') },                 qr/is not an arena: 7 bytes are too few/],
    ['a full-length file of zeros'   => sub { write_file($path, "\0" x length $good) },       qr/is not an arena: it does not begin as one/],
    ['some other file'               => sub { write_file($path, 'text ' x 20_000) },          qr/is not an arena: it does not begin as one/],
    ['an arena without its first mark' => sub { write_file($path, with_bytes(0, "\0" x 8)) }, qr/is not an arena: it does not begin as one/],
    ['an older layout'               => sub { write_file($path, with_bytes(8, pack 'L', $version - 1)) }, qr/has layout version @{[$version - 1]}\b.*reads version $version\b.*destroy/s],
    ['the oldest layout'             => sub { write_file($path, with_bytes(8, pack 'L', 0)) },    qr/has layout version 0\b.*reads version $version\b.*destroy/s],
    ['a newer layout'                => sub { write_file($path, with_bytes(8, pack 'L', $version + 1)) }, qr/has layout version @{[$version + 1]}\b.*reads version $version\b.*destroy/s],
    ['a much newer layout'           => sub { write_file($path, with_bytes(8, pack 'L', 4711)) }, qr/has layout version 4711\b.*reads version $version\b.*destroy/s],
    ['half of an arena'              => sub { write_file($path, substr $good, 0, $half) }, qr/was cut short: it is $half bytes long where its header says $length/],
    ['an arena that lacks its last byte' => sub { write_file($path, substr $good, 0, -1) },   qr/was cut short: it is @{[$length - 1]} bytes long where its header says $length/],
    ['an arena that has grown'       => sub { write_file($path, "$good\0") },                 qr/is @{[$length + 1]} bytes long where its header says $length/],
    ['an arena of a mark of the other byte order' => sub { write_file($path, with_bytes(12, scalar reverse substr $good, 12, 4)) }, qr/made on a machine of the other byte order/],
    ['an arena of the other byte order' => sub { write_file($path, turned_round()) },         qr/made on a machine of the other byte order/],
    ['a byte order that is none'     => sub { write_file($path, with_bytes(12, "\1\2\4\3")) }, qr/is damaged: its byte order mark is none/],
    ['an arena of 32-bit programs'   => sub { write_file($path, with_bytes(16, pack 'L', 32)) }, qr/made by a 32-bit program, and this one has 64 bits/],
    ['an arena of 128-bit programs'  => sub { write_file($path, with_bytes(16, pack 'L', 128)) }, qr/made by a 128-bit program, and this one has 64 bits/],
    ['an arena of an earlier boot'   => sub { write_file($path, with_bytes(104, pack 'Q', 4711)) }, qr/made before this machine was last started; remove it with Shared::Arena->destroy/],
    ['an arena with other seeds'     => sub { write_file($path, with_bytes(64, 'seed' x 8)) }, qr/made by a build that hashes differently/],
    ['the fingerprint of another hash' => sub { write_file($path, with_bytes(48, pack 'Q', 4711)) }, qr/made by a build that hashes differently/],
    ['an arena of no size'           => sub { write_file($path, with_bytes(24, pack 'Q', 0)) }, qr/is damaged: its header says that it has room for 0 bytes, and an arena has 1 to @{[2**46]}/],
    ['a size above the largest'      => sub { write_file($path, with_bytes(24, pack 'Q', 2**46 + 1)) }, qr/is damaged: its header says that it has room for @{[2**46 + 1]} bytes, and an arena has 1 to @{[2**46]}/],
    ['a size that is none'           => sub { write_file($path, with_bytes(24, pack 'Q', 1 << 63)) }, qr/is damaged: its header says that it has room for @{[1 << 63]} bytes/],
    ['a size beyond the file'        => sub { write_file($path, with_bytes(24, pack 'Q', 2**46)) }, qr/is damaged: the sizes in its header do not agree/],
    ['no regions'                    => sub { write_file($path, with_bytes(20, pack 'L', 0)) }, qr/is damaged: its header says that it has 0 regions, and an arena has 1 to 65536/],
    ['too many regions'              => sub { write_file($path, with_bytes(20, pack 'L', 65_537)) }, qr/is damaged: its header says that it has 65537 regions, and an arena has 1 to 65536/],
    ['a table of regions beyond the file' => sub { write_file($path, with_bytes(20, pack 'L', 65_536)) }, qr/is damaged: the sizes in its header do not agree/],
    ['a length beyond the file'      => sub { write_file($path, with_bytes(32, pack 'Q', $length + 4096)) }, qr/was cut short: it is $length bytes long where its header says @{[$length + 4096]}/],
    ['a length beyond all files'     => sub { write_file($path, with_bytes(32, "\xFF" x 8)) }, qr/was cut short: it is $length bytes long where its header says 18446744073709551615/],
    ['regions that start beyond the file' => sub { write_file($path, with_bytes(40, pack 'Q', $length + 64)) }, qr/is damaged: the sizes in its header do not agree/],
    ['a file larger than any arena'  => sub { sparse_file($too_long) },                       qr/is not an arena: $too_long bytes are too many/],
    ['a file as large as there are'  => sub { sparse_file(1 << 62) },                           qr/is not an arena: @{[1 << 62]} bytes are too many/],
    ['an arena that others may write' => sub { write_file($path, $good, 0602) },              qr/can be written by others \(mode 0602\)/],
    ['an arena that its group may write' => sub { write_file($path, $good, 0620) },           qr/can be written by others \(mode 0620\)/],
    ['a directory'                   => sub { mkdir $path or die },                           qr/is not an arena: a directory, not a regular file/],
    ['a symbolic link to an arena'   => sub { symlink arena_path('good'), $path or die },     qr/is not an arena: a symbolic link, not a regular file/],
    ['a symbolic link to nothing'    => sub { symlink '/nonexistent', $path or die },         qr/is not an arena: a symbolic link, not a regular file/],
    ['a symbolic link to a FIFO'     => sub { POSIX::mkfifo("$path.fifo", 0600) or die; symlink "$path.fifo", $path or die }, qr/is not an arena: a symbolic link, not a regular file/],
    ['a hard link to an arena'       => sub { link arena_path('good'), $path or die },        qr/has 2 names \(hard links\), and an arena has one/],
    ['a FIFO'                        => sub { POSIX::mkfifo($path, 0600) or die },            qr/is not an arena: a FIFO, not a regular file/],
    ['a socket'                      => sub { socket my $s, PF_UNIX, SOCK_STREAM, 0 or die; bind $s, sockaddr_un($path) or die }, qr/is not an arena: a socket, not a regular file/],
);
# What only root can make.
push @bad, ['a file of another user' => sub { write_file($path, $good); chown 65_534, -1, $path or die }, qr/belongs to user 65534, not to 0/] if $> == 0;
for (['character' => qw(c 1 3)], ['block' => qw(b 7 0)]) {
    my ($kind, @numbers) = @$_;
    next if $> != 0 || system("mknod '$path' @numbers 2>/dev/null") != 0;
    unlink $path or die;
    push @bad, ["a $kind device" => sub { system('mknod', $path, @numbers) == 0 or die }, qr/is not an arena: a device, not a regular file/];
}

for my $case (@bad) {
    my ($what, $make, $reason) = @$case;
    subtest $what => sub {
        $make->();
        my @before = (lstat $path)[1, 2, 7, 9];
        my $is_small = -f $path && !-l $path && -s $path < 1e7;
        my $bytes    = $is_small ? read_file($path) : '';
        # In a child with a watchdog: it must not wait for anything.
        for my $call ('attach', 'create') {
            my ($error) = in_child {
                return eval { $call eq 'attach' ? Shared::Arena->attach('bad') : Shared::Arena->create(name => 'bad'); 1 } ? 'lived' : $@;
            } patience => 5;
            like $error, $reason, "$call says why";
            like $error, qr/\Q$path\E/, "$call names the file";
            like $error, qr/ at \Q$0\E line \d+\.?\n\z/, "$call croaks at the caller's line";
        }
        is_deeply [(lstat $path)[1, 2, 7, 9]], \@before, 'the file is what it was';
        ok read_file($path) eq $bytes, 'byte for byte' if $is_small;
        if (-d $path) { rmdir $path }
        else { ok(Shared::Arena->destroy('bad'), 'destroy removes it') }
        ok !-l $path && !-e $path, 'gone';
    };
}

unlink "$path.fifo";

# Wherever it ends: between bytes of the header, entries, stripes, groups, buffers, and pages.
subtest 'an arena cut short at every boundary' => sub {
    my @lengths = (0 .. 300, map { ($_ - 1, $_, $_ + 1) } map { 64 * $_ } 5 .. $length / 64);
    my @wrong;
    write_file($path, $good);
    for my $cut (reverse grep { $_ < $length } @lengths) {
        truncate $path, $cut or die "truncate: $!";
        my $reason = $cut < 256 ? "is not an arena: $cut bytes are too few" : "was cut short: it is $cut bytes long where its header says $length";
        push @wrong, "$cut bytes: $@" if eval { Shared::Arena->attach('bad'); 1 } || $@ !~ /\AShared::Arena->attach: \Q$path $reason\E at /;
    }
    is_deeply \@wrong, [], 'is refused with its length: ' . @lengths . ' of them';
    ok(Shared::Arena->destroy('bad'), 'gone');
};

subtest 'while an arena has two names, neither is an arena' => sub {
    link arena_path('good'), $path or die;
    croaks_like { Shared::Arena->attach('good') } qr/has 2 names/, 'its own name neither';
    ok(Shared::Arena->destroy('bad'), 'one name less');
    ok(Shared::Arena->attach('good'), 'one name is as it should be');
};

subtest 'the good one has seen nothing of it' => sub {
    is read_file(arena_path('good')), $good, 'its bytes are the same';
    is_deeply [map { Shared::Arena->attach('good')->map('m', slots => 8)->fetch("key $_") } 1 .. 8], [1 .. 8], 'its keys are there';
};

subtest 'those who use an arena do not notice that others refuse it' => sub {
    my $map = Shared::Arena->attach('good')->map('m', slots => 8);
    open my $file, '+<:raw', arena_path('good') or die;
    sysseek $file, 8, 0;
    syswrite $file, pack 'L', $version + 1;
    croaks_like { Shared::Arena->attach('good') } qr/version @{[$version + 1]}\b/, 'a new one is refused';
    is $map->store('key 1', 'still'), 1, 'an old one stores';
    is_deeply [$map->fetch('key 1')], ['still'], 'and fetches';
};

ok(Shared::Arena->destroy('good'), 'gone');

done_testing;
