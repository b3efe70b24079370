package TestBombs;

# Documents that are thought out: they promise more than they hold, nest deeply, copy without end, or have perl do what
# a document should not. See Shared::Arena::Map on what a document may be.

use strict;
use warnings;

use constant HEADER => "\x3D\xF3rl\x05\0";

# Pairs of a name and a document. Expansions are values, many times as large as the document.
sub expansions { return map { [$_->[0], HEADER . $_->[1]] } copies_to_the_limit() }

sub bombs {
    my @bodies = (promises(), depths(), copies(), references(), regexps(), classes());
    return headers(), map { [$_->[0], HEADER . $_->[1]] } @bodies;
}

# Other headers, with a body that is good.
sub headers {
    my @headers = ('', map { substr '3df3726c', 0, 2 * $_ } 1 .. 4);
    push @headers, map {"3df3726c$_"} '00', '0f00', 'f500', '05ffffffff0f', '05' . '80' x 10;
    return map { ["the header $_", pack('H*', $_) . "\x01"] } @headers;
}

sub varint {
    my ($number) = @_;
    my $bytes = '';
    while ($number > 127) { $bytes .= chr($number & 127 | 128); $number >>= 7 }
    return $bytes . chr $number;
}

# Counts, lengths and offsets that are too large, or no numbers at all; %s is one of them.
sub promises {
    my @counts = (0, 21, 1000, 2**31, 2**32 - 1, 2**32, 2**48, 9_223_372_036_854_775_807, 18_446_744_073_709_551_615);
    my %huge = map { $_ => varint($_) } @counts;
    $huge{'more than 64 bits'} = "\xFF" x 9 . "\x02";
    $huge{'without an end'}    = "\xFF" x 200;
    my %form = (
        'an array'    => "\x28\x2B%s",         'a hash'          => "\x28\x2A%s",
        'arrays'      => "\x28\x2B%s" x 50,    'hashes'          => "\x28\x2A%s\x60" x 50,
        'a string'    => "\x26%s",             'a UTF-8 string'  => "\x27%s",
        'a key'       => "\x51\x26%s",         'a class'         => "\x2C\x26%s",
        'a pattern'   => "\x28\x31\x26%s",     'modifiers'       => "\x28\x31\x60\x26%s",
        'a number'    => "\x20%s",             'a signed number' => "\x21%s",
        'an alias of' => "\x42\x81\x2E%s",     'a reference to'  => "\x42\x81\x29%s",
        'a copy of'   => "\x42\x01\x2F%s",     'a class at'      => "\x2D%s\x28",
    );
    my @promises;
    for my $name (sort keys %form) {
        for my $huge (sort keys %huge) {
            (my $body = $form{$name}) =~ s/%s/$huge{$huge}/g;
            push @promises, ["$name, $huge", $body . "\x01" x 20];
        }
    }
    return @promises;
}

sub depths {
    my %level = (
        'references' => "\x28",     'tracked references' => "\xA8",         'weak references' => "\x30\x28",
        'arrays'     => "\x41",     'long arrays'        => "\x28\x2B\x01", 'hashes'          => "\x51\x61a",
        'PADs'       => "\x3F",     'WEAKENs'            => "\x30",
        'classes'    => "\x2C\x61A", 'objects'          => "\x2C\x61A\x28",
    );
    my @depths;
    for my $name (sort keys %level) {
        push @depths, map { ["$_ $name", $level{$name} x $_ . "\x01"] } 9_998 .. 10_002, 300_000;
    }
    return @depths;
}

# A COPY takes two bytes and brings any number.
sub list { my ($count, @items) = @_; return "\x28\x2B" . varint($count) . join '', @items }

sub copies {
    my $text   = "\x26" . varint(1000) . 'x' x 1000;
    my $first  = "\x42\x01\x01";
    my @double = map { my $at = varint($_); "\x42\x2F$at\x2F$at" } 4, map { 7 + 5 * $_ } 0 .. 17;
    return (
        ['too many copies of a string',        list(3000, $text, "\x2F\x05" x 2999)],
        ['too many copies of a thousand hashes', list(1300, list(1000, "\x50" x 1000), "\x2F\x05" x 1299)],
        ['copies of a list of copies',         list(4, list(3, $text, "\x2F\x07" x 2), "\x2F\x04" x 3)],
        ['copies that double',                 list(20, $first, @double)],
        ['a copy of itself',                   "\x2F\x01"],
        ['a copy of what holds it',            "\x41\x2F\x01"],
        ['a copy of what is only half there',  "\x42\x42\x01\x2F\x02\x01"],
        ['copies as keys',                     "\x28\x2A" . varint(2) . $text . "\x01\x2F\x04\x02"],
        ['a key that is a copy of an array',   "\x42\x41\x01\x51\x2F\x02\x01"],
        ['a class that is a copy of a number', "\x42\x01\x2C\x2F\x02\x40"],
    );
}

# Just within what may be copied, where every item counts for its bytes and 64 more.
sub copies_to_the_limit {
    return (
        (
            map {
                my ($name, $tag) = @$_;
                ["a thousand $name, sixteen times", list(16, list(1000, $tag x 1000), "\x2F\x04" x 15)]
            } ['hashes', "\x50"], ['arrays', "\x40"], ['numbers', "\x01"]
        ),
        ['a long string, a thousand times', list(1000, "\x26" . varint(1000) . 'x' x 1000, "\x2F\x05" x 999)],
    );
}

sub references {
    my $array = "\x28\x2B" . varint(40_000);
    return (
        ['many tracked',              $array . join '', "\x81" x 20_000, map { "\x29" . varint(6 + $_) } 0 .. 19_999],
        ['one, many times',           $array . "\x81" . "\x29\x06" x 39_999],
        ['an alias, many times',      $array . "\x81" . "\x2E\x06" x 39_999],
        ['an alias of itself',        "\x41\xAE\x02"],
        ['a reference of an alias of itself', "\x28\xAE\x02"],
        ['an alias of the root',      "\xC1\x2E\x01"],
        ['a reference to the root',   "\xC1\x29\x01"],
        ['a reference to itself',     "\xA9\x01"],
        ['an alias as root',          "\x2E\x01"],
        ['a weak root',               "\x30\x28\x01"],
        ['a weak reference to itself', "\x30\x28\xA9\x03"],
        ['a weak array in itself',    "\x30\x28\xAB\x01\x29\x03"],
        ['two weak ones',             "\x42\x30\xA8\x01\x30\x29\x03"],
        ['weak, and nothing',         "\x30\x01"],
        ['an element that is an array', "\x41\x2B\x00"],
        ['a reference to an element inside of a key', "\x42\x51\xE1a\x01\x29\x03"],
        ['a hash with a key twice',   "\x52\x61a\x01\x61a\x02"],
        ['a hash with a key twice, once as UTF-8', "\x52\x61a\x01\x27\x01a\x02"],
        ['a hash with a hole',        "\x51\x61a\x39"],
        ['a reference to a hole',     "\x42\xB9\x29\x02"],
        ['holes that are one',        "\x42\xB9\x2E\x02"],
        ['a hole alone',              "\x39"],
    );
}

# Patterns that perl refuses, or must not run. (It does call subs for properties like `\p{IsHere}`, when there is such a
# sub: a pattern may not do without.)
sub main::trap { die "code in a pattern was run\n" }

sub regexps {
    my @patterns = (
        '(', '(' x 20_000, '(' x 20_000 . ')' x 20_000, '[', '[z-a]', '*', 'a**',
        'a{3,1}', 'a{32766}{32766}', '(((a{1,100}){1,100}){1,100}){1,100}',
        '(?:a{30000}){30000}', '(?:(?:a{30000}){30000}){30000}', '(?x)(?:(?:a{ 30000 } #)' . "\n" . ' ) {30000}){ 30000 , }',
        '(?:(?:a{30000})(?#]){30000}(?#]\\)){30000}', '(?:(?:\\\\x{30000}){30000}){30000}',
        '(?<a0>a)' . join('', map { "(?<a$_>" . ('(?&a' . ($_ - 1) . ')') x 2 . ')' } 1 .. 60),
        join('', map {"(?:(?" . ($_ + 1) . ")(?+1))(a)"} 1 .. 60),
        '\\', '\\x{', '\\x{110000}', '\\x{FFFFFFFFFFFFFFFFFF}', '\\N{U+263A}', '\\p{None}', '\\1', '(?<a>)\\k<b>',
        '(?1)', '(?R)', '(?z)', '(?#', '(?<', '(?(1)a|b|c)', '(*NONE)',
        '(?{ main::trap() })', '(??{ main::trap() })', 'a(?{ main::trap() })*',
        "\0", '$', '@', "\xFF", 'x' x 100_000, '|' x 50_000,
    );
    my @modifiers = ('', qw(i msixpn xx xxx ii a aa aaa u au l d g e -i z), "\0", 'i' x 1000);
    my $regexp = sub {
        my ($pattern, $modifiers, $kind) = @_;
        my $text = $kind . varint(length $pattern) . $pattern;
        return "\x28\x31$text\x26" . varint(length $modifiers) . $modifiers;
    };
    return (
        (map { ['the pattern ' . substr($_, 0, 30), $regexp->($_, '', "\x26")] } @patterns),
        (map { ['the UTF-8 pattern ' . substr($_, 0, 30), $regexp->($_, '', "\x27")] } @patterns),
        (map { ['the modifiers ' . substr($_, 0, 30), $regexp->('x', $_, "\x26")] } @modifiers),
        ['a regexp that is no reference', "\x31\x61x\x60"],
        ['a pattern that is a number',    "\x28\x31\x01\x60"],
        ['a blessed regexp',              "\x2C\x61A\x28\x31\x61x\x60"],
    );
}

sub classes {
    my $object = sub { my ($class, $kind) = @_; return "\x2C$kind" . varint(length $class) . "$class\x40" };
    my @names  = ('', qw(0 :: main main:: A:: ::A A::::B A'B UNIVERSAL Regexp CODE HASH));
    push @names, "\0", 'A B', "\xFF", 'A' x 70_000, 'A::' x 5000;
    return (
        (map { ['the class ' . substr($_, 0, 30), $object->($_, "\x26")] } @names),
        (map { ['the UTF-8 class ' . substr($_, 0, 30), $object->($_, "\x27")] } '', "\xC3\xA9", "\xFF", 'A'),
        ['an object of an object',       "\x2C\x61A\x2C\x61B\x40"],
        ['a class of a scalar',          "\x2C\x61A\x01"],
        ['a class of no such offset',    "\x2D\x01\x40"],
        ['a class where a number is',    "\x42\x01\x2D\x02\x40"],
        ['a class where a string is',    "\x42\x61A\x2D\x02\x40"],
        ['a scalar blessed twice',       "\x42\x2C\x61A\xA8\x01\x2C\x61B\x29\x05"],
        ['an element that is an object', "\x42\x81\x2C\x61A\x29\x02"],
    );
}

1;
