use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use TestArena;
use Test::More;

plan skip_all => 'becoming another user needs root' if $> != 0;

use POSIX ();
use Shared::Arena;

# Arenas belong to one user. What is another's is refused with the reason, and names of different users never meet.

my $other = (getpwnam 'nobody')[2] || 65534;

# Runs code as the other user.
sub as_other {
    my ($code) = @_;
    return in_child {
        $( = $) = "$other $other";
        POSIX::setuid($other) or die "setuid: $!";
        return eval { $code->() } || $@;
    };
}

subtest 'a file that changed hands' => sub {
    { my $arena = Shared::Arena->create(name => 'mine') }
    chown $other, -1, arena_path('mine') or die;
    croaks_like { Shared::Arena->attach('mine') } qr/Shared::Arena.*mine.*user $other/s, 'attach refuses it';
    croaks_like { Shared::Arena->create(name => 'mine') } qr/Shared::Arena.*mine.*user $other/s, 'create too';
    ok(Shared::Arena->destroy('mine'), 'gone');
};

subtest 'a directory the user may not write' => sub {
    my ($error) = as_other(sub { Shared::Arena->create(name => 'mine'); 1 });
    like $error, qr/Shared::Arena.*Permission denied at /s, 'create says Permission denied';
    is_deeply [arena_files()], [], 'and made nothing';
};

subtest 'one name, two users, two arenas' => sub {
    chmod 01777, $ENV{SHARED_ARENA_DIR} or die;
    my $arena = Shared::Arena->create(name => 'both');
    $arena->region('mine', size => 16);
    my ($theirs) = as_other(sub {
        Shared::Arena->attach('both') and die 'attached to another user';
        my $own = Shared::Arena->create(name => 'both');
        $own->created && !$own->regions or die 'not a new one';
        return 'apart';
    });
    is $theirs, 'apart', 'the other user gets an arena of its own';
    is_deeply [arena_files()], ["shared-arena.$>.both", "shared-arena.$other.both"], 'two files';
    my $path = arena_path('both');
    my ($access) = as_other(sub { open(my $file, '<', $path) ? 'readable' : "$!" });
    is $access, 'Permission denied', 'the other may not even read ours';
    ok(Shared::Arena->destroy('both'), 'ours is gone');
    unlink "$ENV{SHARED_ARENA_DIR}/shared-arena.$other.both";
    chmod 0700, $ENV{SHARED_ARENA_DIR};
};

subtest 'a file another user put under our name' => sub {
    chmod 01777, $ENV{SHARED_ARENA_DIR} or die;
    my ($made) = as_other(sub { write_file("$ENV{SHARED_ARENA_DIR}/shared-arena.0.planted", 'x' x 1_000_000, 0666); 'made' });
    is $made, 'made', 'it is there first';
    croaks_like { Shared::Arena->create(name => 'planted') } qr/Shared::Arena.*planted.*(?:user $other|Permission denied)/s, 'create refuses it';
    ok(Shared::Arena->destroy('planted'), 'and destroy clears it away');
    chmod 0700, $ENV{SHARED_ARENA_DIR};
};

done_testing;
