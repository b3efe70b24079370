use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use TestArena;
use Test::More;

use Config;
use POSIX ();
use Shared::Arena;

# What another process of the same user can do to an arena from outside, by its file or by its bytes, and what those who
# use it see. See Shared::Arena::Guide, "WHAT IT DOES NOT PROTECT FROM".

my $name = 'meddled';
my $path = arena_path($name);
my %signal;
@signal{ split ' ', $Config{sig_name} } = split ' ', $Config{sig_num};

sub full_map {
    my $map = Shared::Arena->create(name => $name, size => 64 * 1024, regions => 2)->map('m', slots => 64);
    $map->store("key $_", "value $_") for 1 .. 64;
    return $map;
}

# How a child ends that calls this.
sub end_of { my ($code) = @_; return reap(spawn($code, 20)) & 127 }

sub finds { my ($map) = @_; return scalar grep { my ($value) = $map->fetch("key $_"); defined $value && $value eq "value $_" } 1 .. 64 }

subtest 'a file that is shortened' => sub {
    my $map = full_map();
    my $length = -s $path;
    truncate $path, $length - 4096 or die "truncate: $!";
    is finds($map), 64, 'is as it was where it is still there';
    croaks_like { Shared::Arena->attach($name) } qr/bytes long where its header says $length/, 'nobody attaches to it any more';
    truncate $path, 0 or die "truncate: $!";
    my @calls = (['fetch', 'key 1'], ['exists', 'key 1'], ['store', 'key 1', 1], ['delete', 'key 1'], ['incr', 'n'], ['stats']);
    for my $call (@calls) {
        my ($method, @arguments) = @$call;
        is end_of(sub { $map->$method(@arguments) }), $signal{BUS}, "$method where it has nothing left ends in SIGBUS";
    }
    is end_of(sub { local $SIG{BUS} = 'IGNORE'; $map->exists('key 1') }), $signal{BUS}, 'which cannot be ignored';

    truncate $path, $length or die "truncate: $!";
    is finds($map), 0, 'lengthened again it is empty';
    is end_of(sub {
        for my $call (@calls) { my ($method, @arguments) = @$call; eval { $map->$method(@arguments) } }
    }), 0, 'and all calls come back';
    ok(Shared::Arena->destroy($name), 'gone');
};

subtest 'an anonymous arena' => sub {
    my $map = Shared::Arena->create->map('m', slots => 64);
    my @open = grep { (readlink "/proc/self/fd/$_" || '') =~ /shared-arena/ } 0 .. 255;
    is_deeply \@open, [], 'has no descriptor under which others could find it';
    my ($range) = map { (split)[0] } grep {/shared-arena/} split /\n/, read_file('/proc/self/maps');
    SKIP: {
        open my $file, '+<', "/proc/self/map_files/$range" or skip "map_files: $!", 3;
        ok !truncate($file, 0), 'by its mapping, root cannot shorten it';
        is $! + 0, POSIX::EPERM(), 'for it is sealed';
        ok !truncate($file, 1 << 30), 'nor lengthen it';
    }
    is $map->store('k', 'v'), 1, 'it is used as before';
};

subtest 'a name that is taken away' => sub {
    for my $how ('unlink', 'rename') {
        my $map = full_map();
        if ($how eq 'unlink') { unlink $path or die "unlink: $!" }
        else                  { rename $path, arena_path('moved') or die "rename: $!" }
        is finds($map), 64, "$how: who has the arena keeps it";
        is(Shared::Arena->attach($name), undef, 'nobody else finds it');
        my $new = Shared::Arena->create(name => $name, size => 4096);
        ok $new->created, 'and create makes a new one';
        is_deeply [Shared::Arena->attach('moved')->regions], ['m'], 'under the other name it is found' if $how eq 'rename';
        Shared::Arena->destroy($_) for $name, 'moved';
    }
};

subtest 'a mode that is changed' => sub {
    my $map = full_map();
    chmod 0666, $path or die "chmod: $!";
    croaks_like { Shared::Arena->attach($name) } qr/can be written by others \(mode 0666\)/, 'once others may write, nobody attaches any more';
    croaks_like { Shared::Arena->create(name => $name) } qr/can be written by others \(mode 0666\)/, 'nor by create';
    is finds($map), 64, 'who has it does not notice';
    SKIP: {
        skip 'root may open everything', 1 if $> == 0;
        chmod 0, $path or die "chmod: $!";
        croaks_like { Shared::Arena->attach($name) } qr/cannot open .*Permission denied/, 'nor where nobody may';
    }
    chmod 0600, $path or die "chmod: $!";
    ok(Shared::Arena->attach($name), 'set right, it is attached to');
    Shared::Arena->destroy($name);
};

# Offsets of Shared::Arena::Format.
use constant { BOOT => 104, STRIPES => 128, STRIPE => 128, NOBODY => 0x3fff_fffe };

subtest 'an arena from before the last start of the machine' => sub {
    # On a disk it is still there.
    full_map();
    my $bytes = read_file($path);
    my $boot  = unpack 'Q', substr $bytes, BOOT, 8;
    ok $boot, 'it knows which start it belongs to';
    substr $bytes, BOOT, 8, pack 'Q', $boot ^ 1;
    write_file($path, $bytes);
    my $refusal = qr/was made before this machine was last started; remove it with Shared::Arena->destroy/;
    croaks_like { Shared::Arena->attach($name) } $refusal, 'attach refuses it';
    croaks_like { Shared::Arena->create(name => $name) } $refusal, 'create too';
    ok(Shared::Arena->destroy($name), 'destroy removes it');
    ok full_map(), 'and there is room for a new one';
    Shared::Arena->destroy($name);
};

subtest 'a lock that somebody writes over' => sub {
    my $map = full_map();
    my $arena = Shared::Arena->attach($name);
    Shared::Arena::_lock_patience(0.2);
    my $scribble = sub { my ($thread) = @_; $arena->poke('m', STRIPES + STRIPE * $_, pack 'L', $thread) for 0 .. 7 };

    $scribble->(NOBODY);
    is finds($map), 64, 'with a thread that is none: readers do not notice';
    is scalar(grep { $map->store("key $_", "value $_") == 1 } 1 .. 64), 64, 'writers wait, and then take it';
    intact_ok $map, 'whole';

    my $pid = spawn(sub { sleep 20 });
    $scribble->($pid);
    is finds($map), 64, 'with a thread that lives: readers do not notice';
    croaks_like { $map->store('key 1', 'new') } qr/thread $pid has held the lock for more than 2\d\d ms/, 'writers wait, and croak';
    kill KILL => $pid;
    reap($pid);
    is scalar(grep { $map->store("key $_", "value $_") == 1 } 1 .. 64), 64, 'until that thread is gone';
    intact_ok $map, 'whole';
    Shared::Arena->destroy($name);
};

done_testing;
