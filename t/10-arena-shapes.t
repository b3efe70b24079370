use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use TestArena;
use Test::More;

use Shared::Arena;

# A name carved with one type and shape is refused to whoever asks for another, and nothing changes.

my $refusal = qr/is already carved with a different type or size/;

my $arena = Shared::Arena->create(name => 'shapes');
my $map   = $arena->map('map', slots => 8, slot_size => 64);
my $rate  = $arena->rate('rate', limit => 5, window => 2.5, slots => 128);
$arena->region('raw', size => 100);
$map->store("key $_", $_) for 1 .. 8;
$rate->allow('k', 5);
my $before = read_file(arena_path('shapes'));

subtest 'the same shape attaches' => sub {
    is_deeply [$arena->map('map', slots => 8, slot_size => 64)->fetch('key 3')], [3], 'a map';
    ok !$arena->rate('rate', limit => 5, window => 2.5, slots => 128)->allow('k', 5), 'a limiter';
    ok $arena->rate('rate', limit => '5.0', window => '2.50', slots => 128), 'a limiter in other words';
};

subtest 'another shape of a map' => sub {
    croaks_like { $arena->map('map', slots => 1000, slot_size => 64) } qr/map.*$refusal.*\b1000\b.*\b8\b/s, 'slots, in the words of both';
    croaks_like { $arena->map('map', slots => 8, slot_size => 4096) } qr/map.*$refusal.*\b4096\b.*\b64\b/s, 'slot_size, too';
    croaks_like { $arena->map('map', slots => 4, slot_size => 128) } $refusal, 'another shape of the same size';
    croaks_like { $arena->map('map') } qr/$refusal.*\b1024\b/s, 'the defaults are a shape';
};

subtest 'another shape of a limiter' => sub {
    my %shape = (limit => 5, window => 2.5, slots => 128);
    croaks_like { $arena->rate('rate', %shape, limit => 6) } qr/rate.*$refusal.*\b6\b.*\b5\b/s, 'limit';
    croaks_like { $arena->rate('rate', %shape, window => 3) } qr/rate.*$refusal.*\b3\b.*\b2\.5\b/s, 'window';
    croaks_like { $arena->rate('rate', %shape, slots => 256) } qr/rate.*$refusal.*\b256\b.*\b128\b/s, 'slots';
    croaks_like { $arena->rate('rate', limit => 10, window => 5, slots => 128) } $refusal, 'the same rate with another burst';
    croaks_like { $arena->rate('rate') } qr/$refusal.*\b100\b/s, 'the defaults are a shape';
};

subtest 'another type' => sub {
    croaks_like { $arena->rate('map') } $refusal, 'a limiter where a map is';
    croaks_like { $arena->map('rate') } $refusal, 'a map where a limiter is';
    croaks_like { $arena->map('raw') } qr/$refusal.*\b100\b/s, 'a map where raw bytes are';
    croaks_like { $arena->rate('raw') } $refusal, 'a limiter where raw bytes are';
    croaks_like { $arena->region('raw', size => 101) } qr/$refusal.*\b101\b.*\b100\b/s, 'raw bytes of another size';
    croaks_like { $arena->region('raw', size => 99) } $refusal, 'fewer bytes, too';
    croaks_like { $arena->region('map', size => 100) } $refusal, 'raw bytes where a map is';
    croaks_like { $arena->region('rate', size => 100) } $refusal, 'raw bytes where a limiter is';
    my ($offset, $length) = $arena->region('map');
    croaks_like { $arena->region('map', size => $length) } $refusal, 'of its very size';
};

subtest 'another process is refused alike' => sub {
    my $run = run_perl('use Shared::Arena; eval { Shared::Arena->attach("shapes")->map("map", slots => 9, slot_size => 64) }; print $@');
    like $run->{out}, $refusal, 'with the same message';
};

subtest 'nothing changed' => sub {
    is_deeply [map { $map->fetch("key $_") } 1 .. 8], [1 .. 8], 'the map has its keys';
    $map->stats;
    is_deeply [$arena->regions], [qw(map rate raw)], 'there is nothing new';
    my $after = read_file(arena_path('shapes'));
    is length($after), length($before), 'the file is as long';
    my @region = $arena->region('map');
    is substr($after, $region[0], $region[1]), substr($before, $region[0], $region[1]), 'the bytes of the map are the same';
};

ok(Shared::Arena->destroy('shapes'), 'gone');

done_testing;
