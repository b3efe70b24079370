use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use TestArena;
use TestCallsite;
use Test::More;

# Whatever is given as an argument is read as ever: once, in the same order, with the same warnings at the same lines.

my @cases = (
    'plain keys' => q(out($object->METHOD($_ MORE)) for 'number', 'short', '', 'none', "n\0n", "x" x 255, "x" x 5000),
    'a constant' => q(use constant KEY => 'number'; out($object->METHOD(KEY MORE), $object->METHOD('number' MORE),
        $object->METHOD(12 MORE), $object->METHOD(-1.5 MORE))),
    'temporary strings' => q(my ($one, $two) = qw(num ber);
        out($object->METHOD($one . $two MORE), $object->METHOD("$one$two" MORE), $object->METHOD(join('', $one,
        $two) MORE),
        $object->METHOD(lc 'NUMBER' MORE), $object->METHOD(do { "number" }
        MORE), $object->METHOD(scalar reverse('rebmun') MORE))),
    'copied and shared strings' => q(my $one = 'number'; my $two = $one; my %hash = (number => 1); my ($key) = keys %hash;
        out($object->METHOD($_ MORE)) for $one, $two, $key, keys %hash; $two .= 'x';
        out($one, $object->METHOD($two MORE))),
    'integers, floats and both' => q(require Scalar::Util; use constant BIG => ~0; my $used = '12'; { no warnings;
        my $n = $used + 0 }
        out($object->METHOD($_ MORE)) for 0, 7, -7, 1.5, 1e15, 1e20, -0.0, 9**9**9, -sin(9**9**9), BIG, $used,
        Scalar::Util::dualvar(5, 'number'), 1 == 1, 1 == 0),
    'numbers that stay numbers' => q(my ($n, $r) = (5, 1.5); $object->METHOD($n MORE); $object->METHOD($r MORE);
        out($n, $r)),
    'wide, upgraded and high characters' => q(my $up = "caf\xe9"; utf8::upgrade($up); my $plain = 'number';
        utf8::upgrade($plain);
        out($object->METHOD($_ MORE)) for "caf\xe9", $up, "\x{263a}", $plain, "\xff" x 300, "\x{100}" x 300;
        out($up, $plain)),
    'undef' => qq(my (\$no, %h, \@a);\nout(\$object->METHOD(\nundef MORE));\nout(\$object->METHOD(\$no MORE));\nout(\$object->METHOD(\$h{x} MORE), \$object->METHOD(\$a[2] MORE)); out(\%h, scalar \@a);),
    'undef without warnings' => q(no warnings; out($object->METHOD(undef MORE)); { use warnings 'uninitialized';
        out($object->METHOD(undef MORE)) }),
    'undef with fatal warnings' => qq(use warnings FATAL => 'uninitialized';\nout(eval {\n\$object->METHOD(undef MORE) }, \$\@);\nuse warnings FATAL => 'all'; out(eval { \$object->METHOD(\$1 MORE) }, \$\@)),
    'undef with a handler that dies' => q(local $SIG{__WARN__} = sub { die "handler: $_[0]" };
        out(eval { $object->METHOD(undef MORE) }, $@)),
    'references' => q(my @refs = ([], {}, \ 1, \\ 1, sub { }, \*STDERR, $object, $other); out(map { my $r = $_;
        scalar $object->METHOD($r MORE) } @refs)),
    'patterns and version strings' => q(out($object->METHOD(qr/number/ MORE), $object->METHOD(v110.117.109 MORE),
        $object->METHOD(version->new('1.2.3') MORE))),
    'globs' => q(out($object->METHOD(*STDERR MORE)); local *number = sub { }; out($object->METHOD(*number MORE));
        my $g = *STDOUT; out($object->METHOD($g MORE), "$g")),
    'captures' => q('number short' =~ /(\w+) (?<n>\w+)/ or die;
        out($object->METHOD($1 MORE), $object->METHOD($2 MORE), $object->METHOD($+ MORE), $object->METHOD($& MORE),
        $object->METHOD($+{n} MORE), $object->METHOD($-[0] MORE));
        no warnings; out($object->METHOD($3 MORE))),
    'captures of the key itself' => q(my $text = 'the number'; for (1, 2) { $text =~ /(n\w+)/;
        my @r = $object->METHOD($1 MORE); out(@r, $1) }),
    'parts of strings' => q(my $text = 'a number'; out($object->METHOD(substr($text, 2) MORE),
        $object->METHOD(substr($text, 2, 3) MORE), $object->METHOD(vec($text, 0, 8) MORE));
        pos($text) = 3; out($object->METHOD(pos($text) MORE));
        out(eval { $object->METHOD(substr($text, 20) MORE) }, $@, $text)),
    'variables with a life of their own' => q(local $ENV{KEY} = 'number'; local $! = 2; local $; = 'number';
        local $, = undef; local $@ = 'number';
        out($object->METHOD($ENV{KEY} MORE)); out($object->METHOD($! MORE)); out($object->METHOD($; MORE));
        out($object->METHOD($@ MORE)); out($object->METHOD($0 MORE)); out($object->METHOD($^W MORE));
        out($object->METHOD($. MORE))),
    'the arrays and hashes of perl' => q(out($object->METHOD($ENV{'no such'} MORE));
        out($object->METHOD($INC{'strict.pm'} MORE));
        out($object->METHOD($ARGV[7] MORE), $object->METHOD($#ARGV MORE))),
    'the default variable' => q(for (qw(number short)) { out($object->METHOD($_ MORE)) } local $_ = 'number';
        out($object->METHOD($_ MORE)); { local $_; no warnings; out($object->METHOD($_ MORE)) }),
    'local variables' => q(our ($key, @key, %key) = 'number'; local $key = 'short'; local $key[2] = 'number';
        local $key{a} = 'number'; out($object->METHOD($key MORE), $object->METHOD($key[2] MORE),
        $object->METHOD($key{a} MORE))),
    'read-only values' => q(Internals::SvREADONLY(my $key = 'number', 1); out($object->METHOD($key MORE));
        for my $constant ('number') { out($object->METHOD($constant MORE)) } out($object->METHOD(${ \ 'number' }
        MORE))),
    'a tied key' => q(my $key = tied_value('number'); out($object->METHOD($$key MORE)); out(reads_of($key))),
    'a tied key that gives undef' => q(my $key = tied_value(undef); out($object->METHOD($$key MORE));
        out(reads_of($key))),
    'a tied key that gives an object' => q(my $inner = text_object('number'); my $key = tied_value($inner);
        out($object->METHOD($$key MORE)); out(reads_of($key), reads_of($inner))),
    'elements of tied containers' => q(use TestTies; my $hash = tied_hash({ k => 'number' });
        my $array = tied_array(['number']);
        out($object->METHOD($$hash{k} MORE), $object->METHOD($$array[0] MORE), $object->METHOD(@$array MORE));
        out(calls_of($hash), calls_of($array));
        no warnings; out($object->METHOD($$hash{none} MORE)); out(calls_of($hash))),
    'an object with a string' => q(my $key = text_object('number'); out($object->METHOD($key MORE)); out(reads_of($key))),
    'an object with a number' => q(my $key = number_object(12); out($object->METHOD($key MORE)); out(reads_of($key))),
    'an object that cannot be a string' => q({ package My::Sub; use overload '+' => sub { 1 }, fallback => 0 }
        out(eval { $object->METHOD(bless([], 'My::Sub') MORE) }, $@)),
    'an object that is another object' => q({ package My::Sub; use overload q("") => sub { $_[0][0] } }
        my $inner = text_object('number'); out($object->METHOD(bless([$inner], 'My::Sub') MORE))),
    'an object whose string is wide' => q(my $key = text_object("\x{263a}"); out($object->METHOD($key MORE));
        my $up = 'number'; utf8::upgrade($up); out($object->METHOD(text_object($up) MORE))),
    'a key that dies' => qq(my \$key = text_object('k',
        sub { die "no key" });\nout(eval { \$object->METHOD(\$key MORE) }, \$\@);\nmy \$tied = tied_value('k',
        sub { die { code => 1 } }); out(eval { \$object->METHOD(\$\$tied MORE) }, \$\@)),
    'a key that warns' => qq(my \$key = text_object('k', sub { warn "a key" });\nout(\$object->METHOD(\$key\nMORE))),
    'a key that calls the same call site' => q(my ($depth, $call) = 0;
        my $key = text_object('number', sub { $call->() if $depth++ < 3 });
        $call = sub { my @got = $object->METHOD($key MORE); out(@got) }; $call->()),
    'a key that destroys the object' => q(my $key = text_object('number', sub { $object->DESTROY });
        out(eval { $object->METHOD($key MORE) }, $@)),
    'a key that drops the object' => q(my %held = (o => $make->());
        my $key = tied_value('number', sub { delete $held{o} });
        out(eval { $held{o}->METHOD($$key MORE) }, $@); out(%held)),
    'a key that reblesses the object' => q(my $key = text_object('number', sub { bless $object, 'My::Sub' });
        out(eval { $object->METHOD($key MORE) }, $@); out(ref $object); bless $object, 'CLASS'),
    'a key that changes itself' => q(my $text = 'number'; my $key = tied_value('number', sub { $text = 'x' x 10_000 });
        out($object->METHOD($$key MORE), $object->METHOD($text MORE))),
    'a key that unties itself' => q(my $key; $key = tied_value('number', sub { no warnings; untie $$key });
        out($object->METHOD($$key MORE)); no warnings; out($object->METHOD($$key MORE))),
    'a key that leaves the loop' => q(my $key = text_object('k', sub { no warnings; last });
        out(eval { for (1) { $object->METHOD($key MORE) } 1 }, $@); { $object->METHOD($key MORE); out('not reached') }
        out('after')),
    'a key that goes elsewhere' => q(my $key = text_object('k', sub { no warnings; goto OUT });
        out(eval { $object->METHOD($key MORE); 1 }, $@); OUT: out('out')),
    'a key that sees its callers' => qq(my \$key = text_object('number', sub { my \@at = map { [(caller \$_)[0 .. 5]] }
        0 .. 5; out(\@at) });\n\$object->METHOD(\n  \$key\n  MORE\n)),
    'no argument' => qq(out(eval { \$object->METHOD() }, \$\@);\nmy \@none;
        out(eval { \$object->METHOD(\@none) }, \$\@);\nout(eval { \$object->METHOD(()) }, \$\@)),
    'too many arguments' => qq(out(eval { \$object->METHOD('k' MORE, 1, 2, 3) },
        \$\@);\nout(eval { \$object->METHOD('k' MORE, (7) x 100) }, \$\@); my \$tied = tied_value('k');
        out(eval { \$object->METHOD(\$\$tied MORE, 1, 2, 3) }, \$\@, reads_of(\$tied))),
    'arguments in arrays and hashes' => q(my @list = ('number' MORE); my %hash = (number => 1);
        my @long = ('number') x 2000;
        out(eval { $object->METHOD(@list) }, $@); out(eval { $object->METHOD(@list[0 .. $#list]) }, $@);
        out(eval { $object->METHOD(map { $_ } @list) }, $@); out(eval { $object->METHOD(%hash) }, $@);
        out(eval { $object->METHOD(my @copy = @list) }, $@); out(eval { $object->METHOD(@{[ @list ]}) }, $@);
        out(eval { $object->METHOD(@long) }, $@); out(eval { $object->METHOD((@list, @list)[0 .. $#list]) }, $@)),
    'arguments that calls give' => q(my $key = sub { 'number' }; my $list = sub { return ('number' MORE) };
        my $none = sub { return };
        out($object->METHOD(&$key MORE), $object->METHOD(&{$key}() MORE), $object->METHOD($key->() MORE),
        eval { $object->METHOD($list->()) }, eval { $object->METHOD($none->() MORE) }, $@)),
    'arguments of a sub' => q(my $sub = sub { $object->METHOD(@_) }; my $key = 'number';
        out(eval { $sub->($key MORE) }, $@); out(eval { &$sub }, $@); my $first = sub { $object->METHOD($_[0] MORE) };
        out($first->($key)); out($first->("$key")); { no warnings; out($first->()) }),
    'arguments of a sub that goes on' => q(my $sub = sub { $object->METHOD(@_) }; my $to = sub { @_ = ('number' MORE);
        goto &$sub }; out(eval { $to->() }, $@)),
    'elements that are not there' => q(no warnings; my @array; my $sub = sub { $object->METHOD($_[0] MORE) };
        out($sub->($array[5])); my %hash; out($sub->($hash{x})); out(scalar @array, %hash);
        $#array = 3; out(eval { $object->METHOD(@array) }, $@); delete $array[1]; out($object->METHOD($array[1] MORE));
        my $deferred = sub { $object->METHOD(@_) }; out(eval { $deferred->($hash{y} MORE) }, $@)),
    'options as they may be given' => q(my @got = eval { $object->METHOD('number' MORE, ttl => undef) }; out(@got, $@);
        @got = eval { $object->METHOD('number' MORE, ttl => 'x') }; out(@got, $@);
        @got = eval { $object->METHOD('number' MORE, colour => 1) }; out(@got, $@);
        @got = eval { $object->METHOD('number' MORE, 'ttl') }; out(@got, $@)),
    'arithmetic on arguments' => q(use integer; my $n = 3;
        out($object->METHOD($n + 1 MORE), $object->METHOD($n++ MORE), $object->METHOD(++$n MORE),
        $object->METHOD(-$n MORE), $object->METHOD(!$n MORE), $object->METHOD($n = 'number' MORE))),
    'arguments that the call before gave' => q(out($object->METHOD('number' MORE)) for 1, 2; no warnings;
        out($object->METHOD(scalar($object->METHOD('number' MORE)) MORE));
        out(eval { $object->METHOD($object->METHOD('number' MORE)) }, $@)),
    'a tainted-looking environment' => q(local $ENV{PATH} = 'number'; out($object->METHOD($ENV{PATH}
        MORE), $object->METHOD(substr($ENV{PATH}, 0) MORE))),
);
same_in_all_ways \@cases, ways => ['can', 'function'], fuller => 1;

# What lies above the arguments on perl's stack is nobody's, and may be anything.
for my $name (qw(fetch store exists incr counter allow remaining retry_after)) {
    my $make = $name =~ /allow|remaining|retry/ ? 'rate("r", slots => 64)' : 'map("m", slots => 16)';
    same_in_two_perls("use strict; use warnings; use Shared::Arena; my \$object = Shared::Arena->create->$make;
        for my \$depth (0, 5, 30, 200) { my \$list = '1, ' x \$depth;
        eval qq{my \\\@all = (\$list \\\$object->$name); 1} or print \$\@ }",
        "$name without arguments, deep in a list", like => qr/\Await status 0\nstdout: Usage/);
}

done_testing;
