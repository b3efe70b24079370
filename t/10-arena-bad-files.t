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

# What lies under the name, how it came there, and what the error says.
my @bad = (
    ['a file without a byte'         => sub { write_file($path, '') },                        qr/arena|short|few|truncated/i],
    ['a few bytes'                   => sub { write_file($path, 'ShArena') },                 qr/arena|short|few|truncated/i],
    ['a full-length file of zeros'   => sub { write_file($path, "\0" x length $good) },       qr/not an arena/],
    ['some other file'               => sub { write_file($path, 'text ' x 20_000) },          qr/not an arena/],
    ['an arena without its first mark' => sub { write_file($path, with_bytes(0, "\0" x 8)) }, qr/not an arena/],
    ['an older layout'               => sub { write_file($path, with_bytes(8, pack 'L', 0)) },    qr/version 0\b.*version $version\b.*destroy/s],
    ['a newer layout'                => sub { write_file($path, with_bytes(8, pack 'L', 4711)) }, qr/version 4711.*version $version\b.*destroy/s],
    ['half of an arena'              => sub { write_file($path, substr $good, 0, length($good) / 2) }, qr/bytes|truncated|shorter/],
    ['an arena that lacks its last byte' => sub { write_file($path, substr $good, 0, -1) },   qr/bytes|truncated|shorter/],
    ['an arena of the other byte order' => sub { write_file($path, with_bytes(12, scalar reverse substr $good, 12, 4)) }, qr/byte order/],
    ['an arena of 32-bit programs'   => sub { write_file($path, with_bytes(16, pack 'L', 32)) }, qr/32/],
    ['an arena with other seeds'     => sub { write_file($path, with_bytes(64, 'seed' x 8)) }, qr/hash/],
    ['an arena with a size that is none' => sub { write_file($path, with_bytes(24, pack 'Q', 2**63)) }, qr/damaged|size/],
    ['an arena that others may write' => sub { write_file($path, $good, 0602) },              qr/others|mode/],
    ['an arena that its group may write' => sub { write_file($path, $good, 0620) },           qr/others|group|mode/],
    ['a directory'                   => sub { mkdir $path or die },                           qr/not a regular file/],
    ['a symbolic link to an arena'   => sub { symlink arena_path('good'), $path or die },     qr/not a regular file/],
    ['a symbolic link to nothing'    => sub { symlink '/nonexistent', $path or die },         qr/not a regular file/],
    ['a FIFO'                        => sub { POSIX::mkfifo($path, 0600) or die },            qr/not a regular file/],
    ['a socket'                      => sub { socket my $s, PF_UNIX, SOCK_STREAM, 0 or die; bind $s, sockaddr_un($path) or die }, qr/not a regular file/],
);

for my $case (@bad) {
    my ($what, $make, $reason) = @$case;
    subtest $what => sub {
        $make->();
        my @before = (lstat $path)[1, 2, 7, 9];
        my $bytes  = -f $path && !-l $path ? read_file($path) : '';
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
        is read_file($path), $bytes, 'byte for byte' if -f $path && !-l $path;
        if (-d $path) { rmdir $path }
        else { ok(Shared::Arena->destroy('bad'), 'destroy removes it') }
        ok !-l $path && !-e $path, 'gone';
    };
}

subtest 'a hard link is the arena itself' => sub {
    link arena_path('good'), $path or die;
    ok(Shared::Arena->attach('bad'), 'attached');
    ok(Shared::Arena->destroy('bad'), 'one name less');
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
