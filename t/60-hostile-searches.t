use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use TestArena;
use TestPlaces;
use Test::More;

use Shared::Arena;
use Time::HiRes qw(clock);

# What a map says of where its entries may lie is overwritten. A call then goes over a large table a few times at most:
# it once did so ten thousand times, or once for each of a thousand parts of the table.

my ($slots, $slot_size) = (300_000, 48);
my @shape  = (slots => $slots, slot_size => $slot_size);
my $arena  = Shared::Arena->create(size => $slots * $slot_size + 4096, regions => 1);
my $map    = $arena->map('m', @shape);
my $layout = map_layout(0, $slots, $slot_size);
$map->store("key $_", 'v') == 1 or die 'not stored' for 1 .. $slots;

use constant { ALL => ~0, FURTHEST => (1 << 14) - 1, LENGTHS => 24, KEY => 32 };

# Processor time, so that a busy machine does not count.
sub soon {
    my ($name, $call) = @_;
    my $started = clock();
    my $answer = eval { $call->(); 1 } ? '' : $@;
    my $took = clock() - $started;
    cmp_ok $took, '<', 1, sprintf '%s took %.3f s', $name, $took;
    return $answer;
}

my $groups = $arena->peek('m', $layout->{groups_at}, 64 * $layout->{groups});
my $bounds = $arena->peek('m', $layout->{bounds_at}, 8 * $layout->{bounds});

subtest 'all entries may have lapsed and lie anywhere' => sub {
    my $reaching = $groups;
    substr($reaching, 64 * $_, 8) = pack 'Q', ALL for 0 .. $layout->{groups} - 1;
    $arena->poke('m', $layout->{groups_at}, $reaching);
    for my $call ('store', 'incr') {
        $arena->poke('m', $layout->{bounds_at}, "\0" x length $bounds);
        like soon("$call of a new key", sub { $map->$call('new', 1) }), qr/\AShared::Arena::Map->$call: the map is damaged: /, 'and says why not';
    }
    my $answer;
    for (1 .. 1000) { last if eval { defined($answer = $map->store('new', 'v')) } }
    is $answer, 0, 'in the end all have been looked at, and the map is full';
    is $arena->peek('m', $layout->{bounds_at}, 8 * $layout->{bounds}), pack('Q', ALL) x $layout->{bounds}, 'which the next one need not find out';
    soon('fetch', sub { $map->fetch('new') });
    soon('delete', sub { $map->delete('key 1') });
    soon('stats', sub { $map->stats });
    $arena->poke('m', $layout->{bounds_at}, $bounds);
    $arena->poke('m', $layout->{groups_at}, $groups);
};

subtest 'one entry is everywhere, far from its home, and never whole' => sub {
    my ($word) = grep { $_ } unpack 'x8 Q7', substr $groups, 64 * 1000, 64;
    my $buffer = $layout->{buffers_at} + ($word >> 32) * $layout->{stride};
    my $key = $arena->peek('m', $buffer + KEY, unpack('Q', $arena->peek('m', $buffer + LENGTHS, 8)) >> 34);
    like $key, qr/\Akey \d+\z/, "which is $key";
    $arena->poke('m', $buffer, pack 'Q', 1);
    $arena->poke('m', $layout->{groups_at}, pack('Q8', ALL, ($word | FURTHEST << 2) x 7) x $layout->{groups});
    for my $call (qw(fetch exists counter)) {
        is soon($call, sub { $map->$call($key) }), '', 'no answer';
    }
    for my $call (['store', 'v'], ['incr'], ['delete']) {
        my ($method, @arguments) = @$call;
        like soon($method, sub { $map->$method($key, @arguments) }), qr/the map is damaged: an entry is never complete/, 'says why not';
    }
    soon('stats', sub { $map->stats });
    cmp_ok $map->stats->{busy}, '>=', 3, 'readers that gave up are counted';
};

subtest 'every entry is for ever being filled' => sub {
    $arena->poke('m', $layout->{groups_at}, $groups);
    my $region = $arena->peek('m', $layout->{buffers_at}, $layout->{buffers} * $layout->{stride});
    substr($region, $layout->{stride} * $_, 8) = pack 'Q', 1 for 0 .. $layout->{buffers} - 1;
    $arena->poke('m', $layout->{buffers_at}, $region);
    my $keys;
    is soon('keys', sub { $keys = $map->keys }), '', 'they are looked at a few times, and passed over';
    is $keys, 0, 'all of them';
};

done_testing;
