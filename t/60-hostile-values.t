use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use TestArena;
use TestSerial;
use TestSlot;
use Test::More;

use Scalar::Util 'weaken';
use Shared::Arena;

# The bytes of a serialised value are overwritten. Every fetch then gives a value, or croaks and names the key and the
# byte: no crash, no endless loop, nothing half-made that anybody sees, and nothing that perl would not have made itself.

my $refusal = qr/\AShared::Arena::Map->fetch: the value of 'key' is corrupt: byte (\d+): \S.* at \Q$0\E line \d+\.\n\z/s;

our $destroyed = 0;
our $ran       = 0;
{ package My::Class; sub DESTROY { $main::destroyed++ } }

sub slot {
    my ($room) = @_;
    my $arena = Shared::Arena->create(size => 8 * 2 * ($room || 4096) + 8192);
    my $map   = $arena->map('m', slots => 8, slot_size => 2 * ($room || 4096), serialise => 1);
    return ($map, TestSlot->new($arena, 'm', $map, 'key', $room || 1000));
}

# Everything that a document can hold.
sub rich {
    my $shared = bless { name => "caf\xE9", list => [1, -1, 300, -300, 2**40, 1.5, 0.1] }, 'My::Class';
    my $text   = "wide \x{263A}";
    my $all    = [$shared, { a => $shared, b => { name => 'again', 'name' => \$text } }, sub { \@_ }->($text, $text), qr/a.b/i, \\'x', undef, !!1, !!0,
        (map { bless [$_], 'My::Class' } 1 .. 3), 'x' x 40, 2**63, [(1) x 20], { map { ($_ => $_) } 'k' .. 'n' }];
    weaken($all->[18] = $shared);
    $#$all = 20;
    return $all;
}

# A good document, to be damaged.
sub document_of {
    my ($value) = @_;
    my $arena = Shared::Arena->create(size => 64 * 1024);
    my $map   = $arena->map('m', slots => 2, slot_size => 8192, serialise => 1);
    $map->store('key', $value) == 1 or die 'too long';
    my $bytes = $arena->peek('m', 0, ($arena->region('m'))[1]);
    my $at    = index $bytes, "key=\xF3rl";
    my ($word) = unpack 'Q', substr $bytes, $at - 8, 8;
    return substr $bytes, $at + 3, $word >> 3 & 0x7FFF_FFFF;
}

# What is wrong with a fetch of what has just been planted, or nothing.
sub verdict {
    my ($map, $length) = @_;
    my @warnings;
    local $SIG{__WARN__} = sub { push @warnings, @_ };
    local $@ = 'as before';
    $destroyed = 0;
    my ($there, $error);
    my $lived = eval { ($there) = $map->fetch('key'); 1 };
    $error = $@;
    return "a warning: @warnings" if @warnings;
    if ($lived) {
        my $picture = eval { picture($there) };
        return defined $picture ? () : "a value that cannot be looked at: $@";
    }
    return "another message: $error" if $error !~ $refusal;
    return "byte $1 of $length" if $1 > $length;
    return 'a destructor was called' if $destroyed;
    return;
}

subtest 'a document survives being planted' => sub {
    my ($map, $slot) = slot();
    my $rich = rich();
    $slot->plant(document_of($rich));
    alike scalar($map->fetch('key')), $rich, 'it is what it was';
    is_deeply [verdict($map, 1000)], [], 'and nothing is wrong with it';
    like $slot->bytes, qr/\A=\xF3rl\x05\x00/, 'its header is that of the format';
};

subtest 'every byte, in many ways' => sub {
    my ($bad) = in_children(1, sub {
        my ($map, $slot) = slot();
        my $document = document_of(rich());
        my (%bad, $fine);
        for my $at (0 .. length($document) - 1) {
            my $byte = ord substr $document, $at, 1;
            for my $other (0x00 .. 0xFF) {
                next if $other == $byte;
                substr(my $damaged = $document, $at, 1) = chr $other;
                $slot->plant($damaged);
                my ($wrong) = verdict($map, length $damaged);
                $bad{ sprintf 'byte %d: %02x for %02x: %s', $at, $other, $byte, $wrong }++ if defined $wrong;
            }
        }
        return (sort keys %bad)[0 .. 9];
    }, patience => 300);
    is_deeply [grep { defined } @$bad], [], 'a value or a refusal each time';
};

subtest 'documents cut short, and longer than they say' => sub {
    my ($map, $slot) = slot();
    my $document = document_of(rich());
    my @bad;
    for my $length (0 .. length($document) - 1) {
        $slot->plant(substr $document, 0, $length);
        push @bad, "$length bytes: fetched" if eval { my @there = $map->fetch('key'); 1 };
        push @bad, map {"$length bytes: $_"} verdict($map, $length);
    }
    is_deeply \@bad, [], 'a document without its end is refused';
    for my $more ("\0", "\x25", $document, 'x' x 20) {
        $slot->plant($document . $more);
        croaks_like { my @there = $map->fetch('key') } qr/the value of 'key' is corrupt: byte \d+: /, 'so is one with more after it';
    }
};

subtest 'random bytes' => sub {
    my ($bad) = in_children(1, sub {
        my ($map, $slot) = slot();
        my $document = document_of(rich());
        my @bad;
        srand 3;
        for my $round (1 .. 30_000) {
            my $damaged = $document;
            if ($round % 3 == 0) { $damaged = "=\xF3rl\5\0" . join '', map { chr rand 256 } 1 .. 1 + rand 60 }
            elsif ($round % 3 == 1) { substr($damaged, 6 + rand(length($damaged) - 6), 1) = chr rand 256 for 1 .. 1 + rand 8 }
            else {
                my ($from, $to, $some) = (6 + int rand(length($damaged) - 26), 6 + int rand(length($damaged) - 26), 1 + int rand 20);
                substr($damaged, $to, $some) = substr $damaged, $from, $some;
            }
            $slot->plant($damaged);
            push @bad, "round $round: $_" for verdict($map, length $damaged);
            last if @bad > 10;
        }
        return @bad;
    }, patience => 120);
    is_deeply $bad, [], 'a value or a refusal each time';
};

subtest 'documents that are wrong by themselves' => sub {
    my ($map, $slot) = slot();
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
        'no body'                         => "=\xF3rl\5\0",
        'only padding'                    => "=\xF3rl\5\0\x3F\x3F",
        'two values'                      => "=\xF3rl\5\0\x25\x25",
        map { ($_->[0] => "=\xF3rl\5\0$_->[1]") }
            ['a reserved tag',             "\x36"],
            ['another',                    "\x37"],
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
            ['another',                    "\x33\x01\x40"],
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
    for my $name (sort keys %wrong) {
        $slot->plant($wrong{$name});
        ok !eval { my @there = $map->fetch('key'); 1 }, "$name is refused";
        is_deeply [verdict($map, length $wrong{$name})], [], 'with the key and the byte';
    }
    $slot->plant("=\xF3rl\5\0\x36");
    croaks_like { my @there = $map->fetch('key') } qr/the value of 'key' is corrupt: byte 6: /, 'which are counted from 0';
    $slot->plant("=\xF3rl\5\0\x43\x01\x61a\x36");
    croaks_like { my @there = $map->fetch('key') } qr/the value of 'key' is corrupt: byte 10: /, 'to the thing that is wrong';
};

subtest 'patterns that would run code' => sub {
    my ($map, $slot) = slot();
    for my $pattern ('(?{ $main::ran++ })', 'a(??{ $main::ran++ })', '(?(?{ $main::ran++ })a|b)', '(?x)(?{$main::ran++})') {
        my $document = "=\xF3rl\5\0\x2C\x66Regexp\x28\x31\x26" . chr(length $pattern) . "$pattern\x60";
        $slot->plant($document);
        { use re 'eval'; ok !eval { my ($regexp) = $map->fetch('key'); 'ab' =~ $regexp; 1 }, "$pattern is refused" }
        is_deeply [verdict($map, length $document)], [], 'as anything that is wrong';
    }
    is $ran, 0, 'and does not run';
};

subtest 'documents that would grow' => sub {
    my ($map, $slot) = slot(20_000);
    # Each level is twice the one before, by copies.
    my $body = "\x4F\x4F" . "\x01" x 15;
    my $at = 2;
    for my $level (1 .. 14) { $body .= "\x42\x2F" . chr($at) . "\x2F" . chr($at); $at = length($body) - 4 }
    $slot->plant("=\xF3rl\5\0$body");
    is_deeply [verdict($map, 20_000)], [], 'by copies of copies';
    my $string = 'x' x 10_000;
    $slot->plant("=\xF3rl\5\0\x28\x2B\xE8\x07" . "\x26\x90\x4E$string" . "\x2F\x05" x 999);
    is_deeply [verdict($map, 20_000)], [], 'by a thousand copies of a long string';
    $slot->plant("=\xF3rl\5\0" . "\x28" x 19_000 . "\x25");
    croaks_like { my @there = $map->fetch('key') } qr/the value of 'key' is corrupt: byte \d+: .*(?:deep|10000)/, 'in depth';
    $slot->plant("=\xF3rl\5\0" . "\x41" x 19_000 . "\x25");
    croaks_like { my @there = $map->fetch('key') } qr/the value of 'key' is corrupt: byte \d+: .*(?:deep|10000)/, 'in depth, by arrays';
    $slot->plant("=\xF3rl\5\0" . "\x2C\x61a\x41" x 4900 . "\x25");
    is_deeply [verdict($map, 20_000)], [], 'by objects';
};

subtest 'other kinds of entries, other sizes' => sub {
    my ($map, $slot) = slot();
    $slot->plant(document_of([1, 2]));
    my @bad;
    for my $kind (0 .. 7) {
        $slot->set_kind($kind);
        eval { my @there = $map->fetch('key'); 1 } or $@ =~ /\AShared::Arena::Map->fetch: / or push @bad, "kind $kind: $@";
        eval { $map->counter('key'); $map->exists('key'); 1 } or push @bad, "kind $kind: $@";
        eval { $map->incr('key') };
        $@ =~ /Shared::Arena::Map: incr on a serialised map/ or push @bad, "kind $kind: incr: $@";
    }
    is_deeply \@bad, [], 'give answers or errors';
    $slot->set_kind(0);
    is_deeply [$map->fetch('key')], [[1, 2]], 'and the value when they are gone';
};

subtest 'what is refused costs nothing' => sub {
    my ($map, $slot) = slot(20_000);
    my $document = document_of([map { { name => "name $_", list => [$_, bless({ a => $_ }, 'My::Class')] } } 1 .. 100]);
    $slot->plant("$document\x36");    # wrong after all of it was made
    my $kilobytes = sub { (read_file('/proc/self/statm') =~ /\A\d+ (\d+)/)[0] * 4 };
    $destroyed = 0;
    my $refused = 0;
    my $fetch = sub { eval { my @there = $map->fetch('key'); 1 } or $refused++ };
    $fetch->() for 1 .. 200;
    my $before = $kilobytes->();
    $fetch->() for 1 .. 1000;
    is $refused, 1200, 'all are refused';
    cmp_ok $kilobytes->() - $before, '<', 2000, 'no memory stays behind';
    is $destroyed, 0, 'no destructor was called';
    my $cycle = [map { { number => $_ } } 1 .. 200];
    $_->{all} = $cycle for @$cycle;
    $document = document_of($cycle);
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
        TestSlot->new($arena, 'm', $map, $key, 100)->plant('nonsense');
        ok !eval { my @there = $map->fetch($key); 1 }, 'refused';
        like $@, qr/\AShared::Arena::Map->fetch: the value of '[^\x00-\x1F\x7F-\xFF]+'(?:\.\.\.)? is corrupt: byte \d+: .* at \Q$0\E line \d+\.\n\z/, 'are shown without control characters';
        cmp_ok length $@, '<', 500, 'and at no great length';
    }
};

done_testing;
