use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use TestArena;
use TestDocuments;
use TestMutations;
use TestSlot;
use Test::More;

use Shared::Arena;

# The bytes of a serialised value are overwritten. Every fetch then gives a value, or croaks and names the key and the
# byte: no crash, no endless loop, nothing half-made that anybody sees, and nothing that perl would not have made
# itself. xt/serial-hostile.t tries a hundred times as many documents, without a map.

use constant HEADER => "=\xF3rl\5\0";

# A map, and the one slot of it that is used.
sub slot {
    my ($room) = @_;
    my $arena = Shared::Arena->create(size => 16 * $room);
    my $map   = $arena->map('m', slots => 4, slot_size => 2 * $room, serialise => 1);
    $map->store('key', 'x' x $room) == 1 or die 'no room';
    return ($map, TestSlot->new($arena, 'm', $map, 'key'));
}

my ($map, $slot) = slot(20_000);

# Puts the document into the map, and takes the value out.
sub through_map { my ($document) = @_; $slot->plant($document); my ($there) = $map->fetch('key'); return $there }

# What is wrong with the outcomes of some documents, at most five complaints.
sub complaints {
    my @wrong;
    for my $document (@_) {
        my (undef, $wrong) = outcome($document, \&through_map);
        push @wrong, "$wrong: " . unpack 'H*', $document if defined $wrong;
        last if @wrong == 5;
    }
    return \@wrong;
}

# Each is an error that says where.
sub all_refused {
    my ($name, @documents) = @_;
    local $Test::Builder::Level = $Test::Builder::Level + 1;
    my @values = grep { (outcome($_, \&through_map))[0] eq 'a value' } @documents;
    return is_deeply [@{ complaints(@documents) }, map { 'a value: ' . unpack 'H*', $_ } @values], [], $name;
}

sub bytes_in { my ($document) = @_; return length($document) . ' bytes' }

subtest 'cut short' => sub {
    all_refused('of ' . bytes_in($_), truncations($_)) for document_bytes();
};

subtest 'with bytes behind the end' => sub {
    for my $document (document_bytes()) {
        all_refused('of ' . bytes_in($document), map {"$document$_"} "\0", "\x3F", "\x01", "\x25", 'x' x 20, $document);
    }
};

subtest 'with one bit changed' => sub {
    is_deeply complaints(flips($_)), [], 'of ' . bytes_in($_) . ': a value or an error' for document_bytes();
};

subtest 'with random changes' => sub {
    is_deeply complaints(map { mutant($_) } 1 .. 10_000), [], 'a value or an error';
};

subtest 'documents that are wrong by themselves' => sub {
    my $long = "\xFF" x 9 . "\x01";
    my %wrong = (
        'nothing'                         => '',
        'plain text'                      => 'value',
        'another magic'                   => "=srl\5\0\x25",
        'magic in UTF-8'                  => "=\xC3\xB3rl\5\0\x25",
        'a later version'                 => "=\xF3rl\x06\0\x25",
        'compressed with snappy'          => "=\xF3rl\x25\0\x01\x25",
        'compressed with zlib'            => "=\xF3rl\x35\0\x01\x01\x25",
        'compressed with zstd'            => "=\xF3rl\x45\0\x01\x25",
        'a header longer than the rest'   => "=\xF3rl\x05\x7F\x25",
        'no body'                         => HEADER,
        'only padding'                    => HEADER . "\x3F\x3F",
        'two values'                      => HEADER . "\x25\x25",
        map { ($_->[0] => HEADER . $_->[1]) }
            ['a reserved tag',             "\x36"],
            ['another reserved tag',     "\x37"],
            ['a string without an end',    "\x26\x64abc"],
            ['a string of all memory',     "\x26${long}abc"],
            ['a number of more than 64 bits', "\x20\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x7F"],
            ['a number without an end',    "\x20\xFF\xFF"],
            ['an array of all memory',     "\x28\x2B$long"],
            ['a large array',              "\x28\x2B\xFF\xFF\xFF\x07"],
            ['a hash of all memory',       "\x28\x2A$long"],
            ['an array without a reference', "\x2B\0"],
            ['a hash without a reference', "\x2A\0"],
            ['a hash with a number as a key', "\x51\x01\x01"],
            ['a hash with undef as a key', "\x51\x25\x01"],
            ['a hash with a key twice',    "\x52\x61a\x01\x61a\x02"],
            ['and in two forms',           "\x52\x61a\x01\x27\x01a\x02"],
            ['a hash without its last value', "\x51\x61a"],
            ['a reference to nothing',     "\x28"],
            ['a reference to what is not there', "\x29\x7F"],
            ['a reference to the future',  "\x42\x29\x04\x81"],
            ['a reference to offset 0',    "\x29\0"],
            ['an alias of what is not there', "\x41\x2E\x7F"],
            ['an alias of an array',       "\x42\x28\xAB\0\x2E\x03"],
            ['a copy of what is not there', "\x2F\x7F"],
            ['a copy of itself',           "\x2F\x01"],
            ['a copy of what is around it', "\x41\x2F\x01"],
            ['a copy of a copy',           "\x43\x61a\x2F\x02\x2F\x04"],
            ['an object without a class',  "\x2C\x01\x40"],
            ['an object of an empty class', "\x2C\x60\x40"],
            ['an object that is none',     "\x2C\x61a\x01"],
            ['a class that is not there',  "\x2D\x7F\x40"],
            ['a weak number',              "\x30\x01"],
            ['an object frozen by itself', "\x32\x61a\x40"],
            ['another object frozen by itself', "\x33\x01\x40"],
            ['a regexp that perl does not take', "\x2C\x66Regexp\x28\x31\x61(\x60"],
            ['a regexp with a modifier there is not', "\x2C\x66Regexp\x28\x31\x61a\x61q"],
            ['a regexp without a reference', "\x31\x61a\x60"],
            ['text that is no UTF-8',      "\x27\x02\xC3\x28"],
            ['text that ends in the middle', "\x27\x01\xC3"],
            ['a key that is no UTF-8',     "\x51\x27\x01\xC3\x01"],
            ['a class that is no UTF-8',   "\x2C\x27\x01\xC3\x40"],
            ['a pattern that is no UTF-8', "\x2C\x66Regexp\x28\x31\x27\x01\xC3\x60"],
            ['numbers that perl has not',  "\x38" . "\0" x 16],
            ['a later form',               "\x3E\x01"],
            ['a packet',                   "\x3D\x01"],
    );
    all_refused("$_ is refused", $wrong{$_}) for sort keys %wrong;
    my %place = (6 => "\x36", 10 => "\x43\x01\x61a\x36");    # counted from 0
    for my $byte (sort keys %place) {
        $slot->plant(HEADER . $place{$byte});
        croaks_like { my @there = $map->fetch('key') } qr/the value of 'key' is corrupt: byte $byte: /, "at byte $byte";
    }
};

our $ran = 0;

subtest 'patterns that would run code' => sub {
    my @patterns = (
        '(?{ $main::ran++ })', 'a(??{ $main::ran++ })', '(?(?{ $main::ran++ })a|b)', '(?x)(?{$main::ran++})',
    );
    for my $pattern (@patterns) {
        my $document = HEADER . "\x2C\x66Regexp\x28\x31\x26" . chr(length $pattern) . "$pattern\x60";
        all_refused("$pattern is refused", $document);
        use re 'eval';
        ok !eval { my ($regexp) = $map->fetch('key'); 'ab' =~ $regexp; 1 }, 'also where code in patterns is allowed';
    }
    is $ran, 0, 'and does not run';
};

subtest 'documents that would grow' => sub {
    # Each level is twice the one before, by copies.
    my $body = "\x4F\x4F" . "\x01" x 15;
    my $at = 2;
    for my $level (1 .. 14) { $body .= "\x42\x2F" . chr($at) . "\x2F" . chr($at); $at = length($body) - 4 }
    is_deeply complaints(HEADER . $body), [], 'by copies of copies';
    my $string = 'x' x 10_000;
    is_deeply complaints(HEADER . "\x28\x2B\xE8\x07" . "\x26\x90\x4E$string" . "\x2F\x05" x 999), [],
        'by a thousand copies of a long string';
    my $too_deep = qr/the value of 'key' is corrupt: byte \d+: .*(?:deep|10000)/;
    my %level = (references => "\x28", arrays => "\x41");
    for my $kind (sort keys %level) {
        $slot->plant(HEADER . $level{$kind} x 19_000 . "\x25");
        croaks_like { my @there = $map->fetch('key') } $too_deep, "in depth, by $kind";
    }
    is_deeply complaints(HEADER . "\x2C\x61a\x41" x 4900 . "\x25"), [], 'by objects';
};

subtest 'other kinds of entries, other sizes' => sub {
    $slot->plant(Shared::Arena::_encode([1, 2]));
    my @bad;
    for my $kind (0 .. 7) {
        $slot->set_kind($kind);
        eval { my @there = $map->fetch('key'); 1 }
            or $@ =~ /\AShared::Arena::Map->fetch: / or push @bad, "kind $kind: $@";
        eval { $map->counter('key'); $map->exists('key'); 1 } or push @bad, "kind $kind: $@";
        eval { $map->incr('key') };
        $@ =~ /Shared::Arena::Map: incr on a serialised map/ or push @bad, "kind $kind: incr: $@";
    }
    is_deeply \@bad, [], 'give answers or errors';
    $slot->set_kind(0);
    is_deeply [$map->fetch('key')], [[1, 2]], 'and the value when they are gone';
};

subtest 'what is refused costs nothing' => sub {
    my $row = sub { my ($n) = @_; return { name => "name $n", list => [$n, bless({ a => $n }, 'My::Class')] } };
    my $document = Shared::Arena::_encode([map { $row->($_) } 1 .. 100]);
    $slot->plant("$document\x36");    # wrong after all of it was made
    my $kilobytes = sub { (read_file('/proc/self/statm') =~ /\A\d+ (\d+)/)[0] * 4 };
    my $refused = 0;
    my $fetch = sub { eval { my @there = $map->fetch('key'); 1 } or $refused++ };
    $fetch->() for 1 .. 200;
    my $before = $kilobytes->();
    my $destroyed = $TestMutations::Destroyed;
    $fetch->() for 1 .. 1000;
    is $TestMutations::Destroyed, $destroyed, 'no destructor was called';
    is $refused, 1200, 'all are refused';
    cmp_ok $kilobytes->() - $before, '<', 2000, 'no memory stays behind';
    my $cycle = [map { { number => $_ } } 1 .. 200];
    $_->{all} = $cycle for @$cycle;
    $document = Shared::Arena::_encode($cycle);
    @$cycle = ();
    $slot->plant("$document\x36");
    $fetch->() for 1 .. 200;
    $before = $kilobytes->();
    $fetch->() for 1 .. 1000;
    cmp_ok $kilobytes->() - $before, '<', 2000, 'nor where all hangs together in cycles';
    is $map->store('key', ['new']), 1, 'the key can be stored';
    is_deeply [$map->fetch('key')], [['new']], 'and is well again';
    intact_ok $map, 'the map is whole';
};

subtest 'keys in the message' => sub {
    for my $key ('plain', 'a b', "caf\xE9", "a\nb", "it's", 'k' x 300) {
        my $arena = Shared::Arena->create(size => 64 * 1024);
        my $map   = $arena->map('m', slots => 8, slot_size => 1024, serialise => 1);
        $map->store($key, 'a placeholder');
        TestSlot->new($arena, 'm', $map, $key)->plant('nonsense');
        ok !eval { my @there = $map->fetch($key); 1 }, 'refused';
        like $@, qr{
            \A Shared::Arena::Map->fetch:\ the\ value\ of\ '[^\x00-\x1F\x7F-\xFF]+'(?:\.\.\.)?\ is\ corrupt:
            \ byte\ \d+:\ .*\ at\ \Q$0\E\ line\ \d+\.\n \z
        }x, 'are shown without control characters';
        cmp_ok length $@, '<', 500, 'and at no great length';
    }
};

done_testing;
