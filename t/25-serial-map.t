use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use TestArena;
use TestDescribe;
use TestMagic;
use TestScalars;
use TestSerial;
use Test::More;

use Shared::Arena;

# A serialised map is a map like any other, but for its values: no counters, and a shape of its own.

my $arena = Shared::Arena->create(size => 1 << 20);

subtest 'which maps are serialised' => sub {
    ok $arena->map('yes', slots => 4, serialise => 1)->serialised, 'that with serialise => 1';
    ok $arena->map("yes $_", slots => 4, serialise => $_)->serialised, "or another true value: $_" for 'yes', 2, -1, '0.0', [], \0;
    ok !$arena->map('no', slots => 4)->serialised, 'that without is not';
    ok !$arena->map("no $_->[0]", slots => 4, serialise => $_->[1])->serialised, "nor that with $_->[0]" for ['zero', 0], ['text', '0'], ['nothing', ''], ['undef', undef];
    my $tied = tied_value(1);
    ok $arena->map('tied', slots => 4, serialise => $$tied)->serialised, 'a tied option';
    is reads_of($tied), 1, 'is read once';
    ok $arena->map('yes', slots => 4, serialise => 1)->serialised, 'whoever attaches';
    is $arena->map('yes', slots => 4, serialise => 1)->max_pair, $arena->map('no', slots => 4)->max_pair, 'slots are as large as others';
};

subtest 'the flag is part of the shape' => sub {
    my $refusal = qr/Shared::Arena->map: .*is already carved with a different type or size/s;
    my $map = $arena->map('serialised', slots => 8, slot_size => 100, serialise => 1);
    my $plain = $arena->map('plain', slots => 8, slot_size => 100);
    $map->store('k', ['here']);
    $plain->store('k', 'there');
    croaks_like { $arena->map('serialised', slots => 8, slot_size => 100) } $refusal, 'bytes where structures are';
    croaks_like { $arena->map('plain', slots => 8, slot_size => 100, serialise => 1) } $refusal, 'structures where bytes are';
    croaks_like { $arena->map('serialised', slots => 8, slot_size => 100, serialise => 0) } qr/serialise/, 'and the message names what differs';
    croaks_like { $arena->map('plain', slots => 8, slot_size => 100, serialise => 1) } qr/serialise/, 'both ways';
    croaks_like { $arena->map('serialised', slots => 9, slot_size => 100, serialise => 1) } qr/$refusal.*\b9\b.*\b8\b/s, 'other slots are another shape as ever';
    croaks_like { $arena->rate('serialised') } qr/already carved with a different type or size/, 'and a limiter is none';
    is_deeply [$map->fetch('k'), $plain->fetch('k')], [['here'], 'there'], 'nothing changed';
    is_deeply [grep {/serialised|plain/} $arena->regions], ['serialised', 'plain'], 'nothing was carved';
};

subtest 'a plain map beside it keeps bytes' => sub {
    my $plain = $arena->map('bytes', slots => 8);
    my $map   = $arena->map('structures', slots => 8, serialise => 1);
    my $list  = [1, 2];
    $plain->store('k', $list);
    is_deeply [$plain->fetch('k')], ["$list"], 'a reference is its text';
    $plain->store('k', upgraded("caf\xE9"));
    ok !utf8::is_utf8(scalar $plain->fetch('k')), 'a flag is lost';
    $map->store('k', $list);
    is_deeply [$map->fetch('k')], [[1, 2]], 'in the other neither';
    is $plain->store('n', 5), 1, 'stored';
    is kind_of(scalar $plain->fetch('n')), 'string', 'numbers are strings';
};

subtest 'store, fetch, exists, delete' => sub {
    my $map = serial_map();
    is_deeply [$map->fetch('k')], [], 'nothing there';
    is scalar($map->fetch('k')), undef, 'undef in scalar context';
    is $map->store('k', { a => 1 }), 1, 'stored';
    ok $map->exists('k'), 'exists';
    is_deeply [$map->fetch('k')], [{ a => 1 }], 'fetched';
    is_deeply scalar($map->fetch('k')), { a => 1 }, 'in scalar context, too';
    $map->fetch('k');
    is $map->store('k', [2]), 1, 'stored over it';
    is_deeply [$map->fetch('k')], [[2]], 'fetched anew';
    is $map->stats->{used}, 1, 'in one slot';
    is $map->store('u', undef), 1, 'undef';
    is_deeply [$map->fetch('u')], [undef], 'is one element';
    ok $map->exists('u'), 'and exists';
    is $map->store('e', ''), 1, 'the empty string';
    is_deeply [$map->fetch('e')], [''], 'is another value';
    is_deeply [sort $map->keys], [qw(e k u)], 'keys are listed';
    is scalar($map->keys), 3, 'and counted';
    is $map->delete('k'), 1, 'deleted';
    is $map->delete('k'), 0, 'once';
    is_deeply [$map->fetch('k')], [], 'gone';
    my %both = (one => $map->fetch('u'), two => $map->fetch('e'));
    is_deeply \%both, { one => undef, two => '' }, 'in a list';
    intact_ok $map, 'whole';
};

subtest 'keys are bytes, as in other maps' => sub {
    my $map = serial_map();
    $map->store("caf\xE9", ['latin']);
    is_deeply [$map->fetch(upgraded("caf\xE9"))], [['latin']], 'whatever their flag';
    $map->store("\x{263A}", ['wide']);
    is_deeply [$map->fetch("\xE2\x98\xBA")], [['wide']], 'wide ones are their UTF-8';
    is_deeply [sort map { utf8::is_utf8($_) ? "flagged $_" : $_ } $map->keys], ["caf\xE9", "\xE2\x98\xBA"], 'and listed so';
    my $reference = [];
    $map->store($reference, 'by address');
    is_deeply [$map->fetch("$reference")], ['by address'], 'a reference is its text';
    is $map->store('', [1]), -1, 'the empty key is not stored';
    my @warnings = warnings_of { is $map->store(undef, [1]), -1, 'nor is undef' };
    is scalar(@warnings), 1, 'with one warning';
    like $warnings[0], qr/\AUse of uninitialized value/, "perl's own";
    is_deeply [warnings_of { $map->store('k', undef); $map->store('k', [undef, { a => undef }]); $map->fetch('k') }], [], 'undef in values is no reason to warn';
};

subtest 'there are no counters' => sub {
    my $map = serial_map(slots => 200);
    my $refusal = qr/Shared::Arena::Map: incr on a serialised map/;
    $map->store('k', [1]);
    $map->store('n', 5);
    my %before = $map->stats;
    croaks_like { $map->incr('k') } $refusal, 'on a structure';
    croaks_like { $map->incr('n') } $refusal, 'on a number';
    croaks_like { $map->incr('none') } $refusal, 'on nothing';
    croaks_like { $map->incr('') } $refusal, 'on the empty key';
    croaks_like { $map->incr('n', 5) } $refusal, 'by a number';
    croaks_like { $map->incr('n', -1, ttl => 5) } $refusal, 'with a time to live';
    is_deeply [$map->fetch('k'), $map->fetch('n')], [[1], 5], 'nothing changed';
    ok !$map->exists('none'), 'nothing was made';
    is_deeply +{ $map->stats }, \%before, 'or counted';
    is $map->counter($_), undef, "counter of $_" for qw(k n none);
    is $map->counter(''), undef, 'counter of the empty key';
    my @counts = map { my $value = $_; $map->store('c', $value); $map->counter('c') } undef, -20 .. 150, 'x', '', 'xx', 1.5, \0, \1, [], {}, [[]], pack('q', 5), "\0" x 8;
    is_deeply \@counts, [(undef) x @counts], 'is undef for every value';
    comes_back(pack('q', 5), 'eight bytes are eight bytes');
};

subtest 'times to live' => sub {
    my $map = serial_map();
    my $at  = 1_700_000_000;
    set_clock($at);
    is $map->store('s', ['seconds'], ttl => 10), 1, 'in seconds';
    is $map->store('ms', { milli => 'seconds' }, ttl_ms => 500), 1, 'in milliseconds';
    is $map->store('never', ['stays'], ttl => $_), 1, 'none' for 0, undef;
    set_clock($at + 0.4);
    is_deeply [map { $map->fetch($_) } qw(s ms)], [['seconds'], { milli => 'seconds' }], 'before';
    set_clock($at + 0.6);
    is_deeply [$map->fetch('ms')], [], 'after the shorter';
    set_clock($at + 11);
    ok !$map->exists('s'), 'after the longer';
    is_deeply [$map->keys], ['never'], 'one is left';
    is $map->stats->{expired}, 2, 'and two were collected';
    $map->store('r', [1], ttl => 1);
    $map->store('r', [2]);
    set_clock($at + 100);
    is_deeply [$map->fetch('r')], [[2]], 'a store without one removes it';
    croaks_like { $map->store('r', [3], ttl => -1) } qr/ttl/, 'a bad one';
    croaks_like { $map->store('r', [3], ttl => 1, ttl_ms => 1) } qr/ttl.*ttl_ms/, 'both';
    croaks_like { $map->store('r', [3], 60) } qr/'60' has no value/, 'and half of a pair';
    croaks_like { $map->store('r', [3], { ttl => 60 }) } qr/not a reference/, 'are refused as ever';
    is_deeply [$map->fetch('r')], [[2]], 'and change nothing';
    real_clock();
};

subtest 'a full map' => sub {
    my $map = serial_map(slots => 4);
    is $map->store("k$_", { number => $_ }), 1, "slot $_" for 1 .. 4;
    is $map->store('k5', [5]), 0, 'refused';
    is $map->stats->{full}, 1, 'and counted';
    is $map->store('k1', ['over']), 1, 'an old key can be overwritten';
    croaks_like { $map->store('k5', [sub { }]) } qr/CODE reference/, 'what cannot be stored croaks as ever';
    is_deeply [map { $map->fetch("k$_") } 1 .. 5], [['over'], map { { number => $_ } } 2 .. 4], 'the others stand';
    intact_ok $map, 'whole';
};

subtest 'many sizes, one over the other' => sub {
    my $map = serial_map(slots => 4, slot_size => 200_000);
    my @wrong;
    for my $length (0 .. 70, 250 .. 260, 1000, 5, 30_000, 0, 60_000, 1) {
        my $value = [map { { number => $_ } } 1 .. $length / 10];
        push @wrong, "store $length" if $map->store('k', { list => $value, text => 'x' x $length }) != 1;
        my ($back) = $map->fetch('k');
        push @wrong, "fetch $length" if length $back->{text} != $length || @{ $back->{list} } != @$value;
    }
    is_deeply \@wrong, [], 'each comes back as it was';
    is $map->stats->{used}, 1, 'in one slot';
};

subtest 'a large value' => sub {
    my $map  = serial_map(slots => 2, slot_size => 4 << 20);
    my $rows = [map { { id => $_, name => "row $_", tags => [$_ % 3, $_ % 5], price => $_ / 4 } } 1 .. 20_000];
    is $map->store('rows', $rows), 1, 'twenty thousand rows';
    alike scalar($map->fetch('rows')), $rows, 'come back';
    is $map->store('text', 'x' x 3_000_000), 1, 'a long string';
    is $map->store('small', [1]), 0, 'in a full map';
    is $map->store('text', [1]), 1, 'a small one over it';
    is_deeply [$map->fetch('text')], [[1]], 'is small';
};

subtest 'objects that are gone' => sub {
    my $map = serial_map();
    my ($copy) = ($map->store('k', { a => [1] }), $map->fetch('k'))[1];
    undef $map;
    is_deeply $copy, { a => [1] }, 'a copy outlives the map';
    my $dead = serial_map();
    $dead->DESTROY;
    croaks_like { $dead->store('k', [1]) } qr/not a live/, 'store on a released map';
    croaks_like { $dead->fetch('k') } qr/not a live/, 'fetch';
    croaks_like { $dead->store('k', [sub { }]) } qr/Shared::Arena::Map->store/, 'whatever the value';
};

quiet_perl_ok <<'END', 'a program that leaves copies and maps about ends quietly';
use strict; use warnings; use Shared::Arena;
our $map = Shared::Arena->create->map('m', serialise => 1);
$map->store('k', { a => [1], self => undef });
our ($copy) = $map->fetch('k'); $copy->{self} = $copy;
our %at_the_end = (map => $map, copy => $copy);
{ package Late; sub DESTROY { my ($v) = eval { $map->fetch('k') }; eval { $map->store('k', [1, { b => 2 }]) } } }
our $late = bless {}, 'Late';
END { $map->store('k', ['at the end']); my ($v) = $map->fetch('k'); $v->[0] eq 'at the end' or die }
END

done_testing;
