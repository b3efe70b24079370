use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use TestArena;
use Test::More;

use Shared::Arena;

# Named arenas: made once, attached to by name, gone when destroyed and only then.

subtest 'create, attach, destroy' => sub {
    is(Shared::Arena->attach('cache'), undef, 'nothing by that name yet');
    is_deeply [arena_files()], [], 'and asking made nothing';
    my $arena = Shared::Arena->create(name => 'cache', size => 100_000, regions => 7);
    ok $arena->created, 'made here';
    my $again = Shared::Arena->create(name => 'cache', size => 5, regions => 1);
    ok !$again->created, 'the second create attaches';
    is $again->size, 100_000, 'to the arena as it is';
    my $attached = Shared::Arena->attach('cache');
    isa_ok $attached, 'Shared::Arena';
    ok !$attached->created, 'attach creates nothing';
    is $_->name, 'cache', 'the name' for $arena, $again, $attached;

    $arena->map('m', slots => 4)->store('k', 'v');
    is_deeply [$again->map('m', slots => 4)->fetch('k')], ['v'], 'all are one memory';
    is_deeply [$attached->regions], ['m'], 'with the same regions';
    my @map = ($attached->map('m', slots => 4));
    undef $_ for $arena, $again, $attached;
    is_deeply [arena_files()], ['shared-arena.' . $> . '.cache'], 'the name outlives its objects';
    ok(Shared::Arena->destroy('cache'), 'destroy finds it');
    ok !Shared::Arena->destroy('cache'), 'once';
    is_deeply [$map[0]->fetch('k')], ['v'], 'live mappings stay valid';
    is(Shared::Arena->attach('cache'), undef, 'the name is free');
};

subtest 'a new arena under an old name is another one' => sub {
    my $old = Shared::Arena->create(name => 'twice');
    my $old_map = $old->map('m', slots => 4);
    $old_map->store('k', 'old');
    ok(Shared::Arena->destroy('twice'), 'destroyed while mapped');
    my $new = Shared::Arena->create(name => 'twice');
    ok $new->created, 'made anew';
    is_deeply [$new->regions], [], 'empty';
    my $new_map = $new->map('m', slots => 4);
    $new_map->store('k', 'new');
    $old->region('late', size => 16);
    is_deeply [$old_map->fetch('k'), $new_map->fetch('k')], ['old', 'new'], 'each has its own values';
    is_deeply [$new->regions], ['m'], 'and its own regions';
    ok(Shared::Arena->destroy('twice'), 'gone');
};

subtest 'names that work' => sub {
    for my $name ('0', 'a.b', '..', '.hidden', 'with space', "new\nline", "\xFF\xFE", 'x' x 200, '-rf', '%s') {
        my $arena = Shared::Arena->create(name => $name);
        is $arena->name, $name, 'is kept as it is';
        ok(Shared::Arena->attach($name), 'attached');
        ok(Shared::Arena->destroy($name), 'destroyed');
    }
};

subtest 'names that do not' => sub {
    write_file("$ENV{SHARED_ARENA_DIR}/victim", 'bytes');
    mkdir "$ENV{SHARED_ARENA_DIR}/shared-arena.$>.d" or die;
    for my $name ('', 'a/b', '/', '../victim', 'd/../victim', "a\0b", "\0", 'x' x 201, "\x{263A}" x 67) {
        my $shown = sprintf '%vd', substr $name, 0, 12;
        croaks_like { Shared::Arena->create(name => $name) } qr/Shared::Arena.*name/s, "create $shown";
        ok !eval { Shared::Arena->attach($name) }, "attach $shown gives nothing";
        ok !eval { Shared::Arena->destroy($name) }, "destroy $shown removes nothing";
    }
    is_deeply [arena_files()], ["shared-arena.$>.d", 'victim'], 'no file came or went';
    rmdir "$ENV{SHARED_ARENA_DIR}/shared-arena.$>.d";
    unlink "$ENV{SHARED_ARENA_DIR}/victim";
};

subtest 'a process that ends removes nothing' => sub {
    my $map = Shared::Arena->create(name => 'shared')->map('m', slots => 4);
    quiet_perl_ok 'use Shared::Arena; my $m = Shared::Arena->create(name => "shared")->map("m", slots => 4); $m->store("k", "theirs") == 1 or die', 'another program stores and ends';
    is_deeply [$map->fetch('k')], ['theirs'], 'its value is here';
    undef $map;
    my $third = run_perl('use Shared::Arena; print Shared::Arena->attach("shared")->map("m", slots => 4)->fetch("k")');
    is $third->{out}, 'theirs', 'and in a third, with nobody else attached';
    in_child { my $own = Shared::Arena->attach('shared'); my $theirs = $own->map('m', slots => 4); undef $own; return };
    ok(Shared::Arena->attach('shared'), 'nor does a forked child that attaches and lets go');
    ok(Shared::Arena->destroy('shared'), 'only destroy does');
};

subtest 'the mode is 0600 whatever the umask' => sub {
    for my $mask (077, 000, 0777, 0022) {
        my $before = umask $mask;
        my $arena  = Shared::Arena->create(name => 'mode');
        is umask, $mask, sprintf 'umask %03o is left alone', $mask;
        umask $before;
        is +(stat arena_path('mode'))[2] & 07777, 0600, sprintf 'mode under umask %03o', $mask;
        ok(Shared::Arena->destroy('mode'), 'gone');
    }
};

subtest 'no descriptor leaks through exec' => sub {
    my @arenas = (Shared::Arena->create(name => 'leak'), Shared::Arena->create, Shared::Arena->attach('leak'));
    $_->map('m', slots => 4)->store('k', 'v') for @arenas;
    local $^F = 1000;
    my $listing = run_perl('opendir my $d, "/proc/self/fd"; print map { my $to = readlink "/proc/self/fd/$_"; defined $to ? "$to\n" : () } readdir $d');
    ok length $listing->{out}, 'the program lists its own';
    unlike $listing->{out}, qr/shared-arena\.|memfd/, 'and none of ours is there';
    ok(Shared::Arena->destroy('leak'), 'gone');
};

subtest 'the directory is /dev/shm unless the environment names another' => sub {
    plan skip_all => 'no /dev/shm to write to' unless -d '/dev/shm' && -w _;
    my $name = "arena-test-$$-" . time;
    for my $unset (0, 1) {
        local $ENV{SHARED_ARENA_DIR} = '';
        delete $ENV{SHARED_ARENA_DIR} if $unset;
        my $arena = Shared::Arena->create(name => $name, size => 1000);
        ok -f "/dev/shm/shared-arena.$>.$name", $unset ? 'unset' : 'set to nothing';
        ok(Shared::Arena->destroy($name), 'gone');
    }
};

subtest 'a directory that cannot hold arenas' => sub {
    for my $directory ("$ENV{SHARED_ARENA_DIR}/none", '/dev/null') {
        local $ENV{SHARED_ARENA_DIR} = $directory;
        croaks_like { Shared::Arena->create(name => 'nowhere') } qr/Shared::Arena.*\Q$directory\E.*(?:No such|Not a directory)/s, "$directory is named with the reason";
    }
};

done_testing;
