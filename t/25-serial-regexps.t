use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use TestArena;
use TestDescribe;
use TestScalars;
use TestSerial;
use Test::More;

use Scalar::Util qw(blessed refaddr weaken);
use Shared::Arena;

# A compiled pattern comes back as one: with its text, its modifiers and its character set, matching what it matched,
# wherever it is fetched.

my @warnings;
$SIG{__WARN__} = sub { push @warnings, @_ };

my @probes = ('', 'a', 'A', 'ab', "a\nb", "b\na", 'a b', 'a/b', '#', "\xE9", "\xC9", upgraded("\xE9"), "\x{263A}", "\x{212A}", 'k', 'K', "\x{0660}", '5', "\n", "a\0b", '{', 'aa', 'xaxbx', "\x{DF}", 'ss', ' ');

# Which of the probes match, and what they capture.
sub matches {
    my ($regexp) = @_;
    return join ' ', map { my @captured = $_ =~ $regexp; @captured ? join(',', map { defined $_ ? sprintf '%vd', $_ : 'undef' } @captured) : '-' } @probes;
}

# Whether the copy is alike and matches the same.
sub is_same {
    my ($regexp) = @_;
    my $copy = eval { copy_of($regexp) };
    return defined $copy && describe($copy) eq describe($regexp) && matches($copy) eq matches($regexp);
}

sub same_regexp {
    my ($regexp, $name) = @_;
    local $Test::Builder::Level = $Test::Builder::Level + 1;
    return is_same($regexp) ? pass($name) : comes_back($regexp, $name) && fail("$name: matches");
}

sub compiled { my ($text, $modifiers) = @_; my $regexp = eval "qr{$text}$modifiers"; die $@ if $@; return $regexp }

subtest 'modifiers' => sub {
    my @modifiers = map { my $bits = $_; join '', map { $bits & 1 << $_ ? (qw(i m s x))[$_] : () } 0 .. 3 } 0 .. 15;
    push @modifiers, map {"${_}n"} @modifiers if $] >= 5.022;
    push @modifiers, map { s/x/xx/r } grep {/x/} @modifiers if $] >= 5.026;
    push @modifiers, map {"${_}p"} '', 'i', 'msix';
    for my $set ('', qw(a aa d u l)) {
        my @wrong;
        for my $modifiers (@modifiers) {
            for my $pattern ('^(a).?(b)$', '(\w)(\W|$) # k', '[[:alpha:]k\d]') {
                push @wrong, "/$pattern/$modifiers$set" if !is_same(compiled($pattern, "$modifiers$set"));
            }
        }
        is_deeply \@wrong, [], @modifiers . ' sets of them' . ($set ? " with $set" : '');
    }
};

my %pattern = (
    'empty'                  => qr//,
    'empty, case-insensitive' => qr//i,
    'a slash'                => qr{a/b},
    'slashes and backslashes' => qr{a\/b\\/},
    'a newline'              => qr/a
b/,
    'a newline and a comment' => qr/a  # a comment with (?{ code }) in it
        b/x,
    'an escaped newline'     => qr/a\nb/,
    'NUL'                    => qr/a\0b/,
    'NUL itself'             => do { my $text = "a\0b"; qr/$text/ },
    'braces'                 => qr/\{(a{1,2})\}?/,
    'latin-1'                => do { my $text = "\xE9"; qr/$text/ },
    'latin-1, flagged'       => do { my $text = upgraded("\xE9"); qr/$text/ },
    'latin-1, any case'      => do { my $text = "\xE9"; qr/$text/i },
    'latin-1, flagged, any case' => do { my $text = upgraded("\xE9"); qr/$text/i },
    'wide'                   => do { my $text = "\x{263A}"; qr/$text|a/ },
    'wide by escape'         => qr/\x{263A}/,
    'flagged ASCII'          => do { my $text = upgraded('a'); qr/$text/ },
    'a property'             => qr/\p{Lu}/,
    'named'                  => qr/\N{U+263A}/,
    'captures by name'       => qr/(?<first>a)(?<second>b)?/,
    'backreferences'         => qr/(a)\1|x(.)x(.)x/,
    'modifiers inside'       => qr/(?i)a(?-i:b)|(?x: a b )/,
    'any case from the middle' => qr/^a(?i)b/,
    'any case up to the middle' => qr/^a(?-i)b/i,
    'dots from the middle'   => qr/a.?(?s).b/,
    'layout from the middle' => qr/a b|(?x) a /,
    'layout up to the middle' => qr/ a (?-x)\/b/x,
    'modifiers begun anew inside' => qr/A(?^)B|(?^i)k/is,
    'ASCII from the middle'  => qr/\W(?a)\w|\d$/,
    'Unicode up to the middle' => qr/\d|(?d)\w/u,
    'one in another'         => do { my $inner = qr/a/i; qr/${inner}b/ },
    'one in another with other modifiers' => do { my ($i, $x) = (qr/a b/x, qr/\w/a); qr/$i|$x/s },
    'look-around'            => qr/(?<!x)a(?=b)/,
    'recursion'              => qr/(a(?1)?b)/,
    'quotemeta'              => do { my $text = 'a/b (?{})'; qr/\Q$text\E/ },
    'an array subscript'     => qr/[a@]\$/,
    'a long one'             => do { my $text = join '|', map {"word $_"} 1 .. 1000; qr/$text/ },
    'only a number'          => qr/5/,
    'verbs'                  => qr/a(*SKIP)(*FAIL)|b/,
);

subtest 'patterns' => sub {
    same_regexp($pattern{$_}, $_) for sort keys %pattern;
    { use re '/x'; same_regexp(qr/a b/, 'with modifiers by pragma') }
    { use re '/aa'; same_regexp(qr/\w/, 'with a character set by pragma') }
    { use feature 'unicode_strings'; same_regexp(qr/\w/, 'with Unicode strings') }
    { use locale; same_regexp(qr/\w/, 'with a locale') }
    { use utf8; same_regexp(qr/é/, 'written in UTF-8') }
};

subtest 'in structures' => sub {
    my $regexp = qr/a(b)/i;
    comes_back([$regexp], 'in an array');
    comes_back({ match => $regexp, list => [qr/x/, qr/y/m] }, 'in a hash');
    comes_back([$regexp, $regexp, { again => $regexp }], 'one several times');
    comes_back([qr/a/, qr/a/], 'two that are equal');
    comes_back(\$regexp, 'behind a reference');
    comes_back([map { qr/$_/ } 1 .. 300], 'three hundred');
    my $weak = [$regexp, undef];
    weaken($weak->[1] = $regexp);
    comes_back($weak, 'held weakly');
    is ref(copy_of($regexp)), 'Regexp', 'of the class Regexp';
    my $copy = copy_of([$regexp, $regexp]);
    is refaddr($copy->[0]), refaddr($copy->[1]), 'the same one is one';
    is join('', 'xABx' =~ $copy->[0]), 'B', 'that matches';
    ok 'xABx' =~ /x$copy->[1]x/, 'inside others';
    comes_back(['Regexp', $regexp, bless([], 'Regexp'), { Regexp => 1 }], 'beside the name of its class');
};

subtest 'of another class' => sub {
    my $own = bless qr/a.b/s, 'My::Regexp';
    comes_back($own, 'of our own');
    my $copy = copy_of($own);
    is blessed($copy), 'My::Regexp', 'it is';
    ok "a\nb" =~ $copy, 'and matches';
    comes_back([$own, qr/x/, $own, bless(qr/y/, 'My::Regexp')], 'among others');
    comes_back(bless(qr/z/, '0'), 'of a class that is false');
    { package My::Loud; use overload '""' => sub { die 'called' }, 'qr' => sub { die 'called' } }
    my $loud = copy_of(bless qr/a/i, 'My::Loud');
    is blessed($loud), 'My::Loud', 'of one that overloads its text';
    is scalar(re::regexp_pattern($loud)), '(?^i:a)', 'it has its pattern';
};

subtest 'the place of the fetch leaves no mark' => sub {
    my $map = serial_map();
    my @regexps = map { compiled('\w+ (a) .', $_) } '', qw(a aa u l i x msx);
    $map->store('k', \@regexps);
    my $wanted = describe(\@regexps);
    { use re '/msix'; is describe($map->fetch('k')), $wanted, 'where patterns have modifiers' }
    { use re '/aa';   is describe($map->fetch('k')), $wanted, 'or a character set' }
    { use feature 'unicode_strings'; is describe($map->fetch('k')), $wanted, 'with Unicode strings' }
    { use locale; is describe($map->fetch('k')), $wanted, 'with a locale' }
    { use bytes;  is describe($map->fetch('k')), $wanted, 'with bytes' }
    { use utf8;   is describe($map->fetch('k')), $wanted, 'with UTF-8' }
    { use re 'eval'; is describe($map->fetch('k')), $wanted, 'where code in patterns is allowed' }
    'text with a match' =~ /(w)i(t)/ or die;
    $map->fetch('k');
    is "$1$2$&", 'wtwit', 'and the last match stands';
    is pos(my $text = 'abc'), undef, 'as positions do';
};

# Perl asks a sub what such a property is, when it compiles the pattern or when it first needs it.
our ($map, $answer);
sub IsOurs { $answer->() if $answer; return "61\t62\n" }

subtest 'properties of our own' => sub {
    local $map = serial_map();
    my $stored = { match => qr/^\p{IsOurs}+$/, list => [1 .. 10], again => 'after' };
    $map->store('k', $stored);
    $map->store('other', ['something', 'else']);
    $answer = sub { is_deeply [$map->fetch('other')], [['something', 'else']], 'a fetch inside a fetch'; $map->store('new', { a => [1] }) };
    my ($copy) = $map->fetch('k');
    ok 'abba' =~ $copy->{match} && 'abc' !~ $copy->{match}, 'work in the copy';
    is_deeply $copy->{list}, [1 .. 10], 'and what is around comes back';
    is $copy->{again}, 'after', 'all of it';
    is_deeply [$map->fetch('k')]->[0]{list}, [1 .. 10], 'once more';
    $answer = sub { die "not ours\n" };
    my $lived = eval { my ($there) = $map->fetch('k'); 'abba' =~ $there->{match}; 1 };
    ok $lived || $@ =~ /not ours/, 'one that dies is an answer or an error';
    $answer = sub { undef $map };
    ok eval { my ($there) = $map->fetch('k'); ref $there->{match} eq 'Regexp' } || $@, 'one that lets go of the map, too';
    undef $answer;
    is_deeply copy_of([1, { a => 2 }]), [1, { a => 2 }], 'and others go on working';
};

subtest 'patterns that run code are refused' => sub {
    my $map = serial_map();
    $map->store('k', 'old');
    my $ran = 0;
    my $inner = qr/a(?{ $ran++ })/;
    my %code = (
        'code'                 => $inner,
        'code whose result is matched' => qr/a(??{ $ran++; 'b' })/,
        'as a condition'       => qr/a(?(?{ $ran++ })b|c)/,
        'in another pattern'   => do { use re 'eval'; qr/x$inner/ },
        'compiled at run time' => do { use re 'eval'; my $text = 'a(?{ $ran++ })'; qr/$text/ },
    );
    for my $name (sort keys %code) {
        croaks_like { $map->store('k', $code{$name}) } qr/Shared::Arena::Map->store: cannot store the value: REGEXP with code blocks/, $name;
        croaks_like { $map->store('k', { list => [1, $code{$name}] }) } qr/cannot store \{list\}\[1\]: REGEXP with code blocks/, "$name, in a structure";
    }
    is_deeply [$map->fetch('k')], ['old'], 'what was there stands';
    same_regexp(qr/a\(\?\{ \$ran\+\+ }\)/, 'text that only looks like code is none');
    same_regexp(qr/[(?{]a/, 'nor in a class of characters');
    is $ran, 0, 'nothing ran';
};

# To compile a pattern anew may take more memory and time than there is, if counts stand in one another; and a byte that
# changes makes one of them. Whoever stores such a one hears of it, so that what is stored can be fetched.
subtest 'patterns that cost too much to compile' => sub {
    my $map = Shared::Arena->create->map('costly', slots => 16, slot_size => 4096, serialise => 1);
    my $refused = qr/Shared::Arena::Map->store: cannot store the value: REGEXP with too many repetitions in one another/;
    croaks_like { $map->store('k', qr/(?:(?:a{60}){600}){6000}/) } $refused, 'strings of strings of strings';
    croaks_like { $map->store('k', qr/(?:(?:a{60}) {600} # so often
        ) {6000}/x) } $refused, 'with blanks and comments';
    croaks_like { $map->store('k', qr/(?:(?:a{60,}){600,})(?#]){6000,}/) } $refused, 'without an upper bound';
    my $calls = join '', '(?<a0>a)', map { "(?<a$_>" . ('(?&a' . ($_ - 1) . ')') x 2 . ')' } 1 .. 16;
    croaks_like { $map->store('k', qr/$calls/) } $refused, 'groups that call groups that call groups';

    my $hex = '[[:xdigit:]]{1,4}';
    my %ordinary = (
        'a date'          => qr/\A(\d{4})-(\d{2})-(\d{2})T(\d{2}):(\d{2}):(\d{2})(?:\.(\d{1,9}))?(?:Z|[+-]\d{2}:\d{2})\z/,
        'a UUID'          => qr/\A[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\z/i,
        'an IPv6 address' => qr/(?:$hex:){7}$hex|::(?:$hex:){5}$hex|(?:$hex)?::(?:$hex:){4}$hex|(?:(?:$hex:){1,3}$hex)?::(?:$hex:){2}$hex/,
        'fixed columns'   => qr/\A(.{1000})(.{20000})((?:.{8}){40})\z/s,
        'a row of fields' => qr/\A${\ ('(?:\S{3} ){4}\|' x 8)}/,
        'beyond Latin'    => qr/[\x{20000}-\x{2FFFF}]{2}\x{1F600}{3}/,
        'JSON'            => qr/(?(DEFINE)
            (?<value> \s* (?: (?&object) | (?&array) | (?&string) | (?&number) | true | false | null ) \s* )
            (?<object> \{ (?: (?&pair) (?: , (?&pair) )* )? \s* \} ) (?<pair> \s* (?&string) \s* : (?&value) )
            (?<array> \[ (?: (?&value) (?: , (?&value) )* )? \s* \] )
            (?<string> " (?: [^"\\] | \\ (?: ["\\\/bfnrt] | u [0-9a-f]{4} ) )* " ) (?<number> -? \d+ (?: \. \d+ )? ) )
            \A (?&value) \z/x,
    );
    for my $name (sort keys %ordinary) {
        is $map->store('k', $ordinary{$name}), 1, "$name can be stored";
        is scalar($map->fetch('k')), $ordinary{$name}, 'and fetched';
    }
};

is_deeply \@warnings, [], 'without a warning';

done_testing;
