package TestCallsite;

# The hot methods, the ways to call each, and cases that must come out the same whichever way is taken.
#
# A case is a piece of a program in which `$object->METHOD($key MORE)` stands for a call: METHOD for a hot method's name,
# MORE for what else it is given. Each runs for every hot method and in every way: at a call site that may be rewritten,
# by a name in a variable, by what ->can gives, and as a function call; and all of that once in a process with the layer
# and once in one without it. `out(...)` says what is compared; warnings and how the piece ended come by themselves.

use strict;
use warnings;

use B           ();
use Digest::MD5 ();
use Exporter 'import';
use POSIX ();
use TestArena;
use Test::More;

our @EXPORT = qw(same_in_all_ways same_in_two_perls calls_to_count times_called run_there);

# Name of the case's column, class, method and further arguments.
my @Hot = (
    ['fetch',       'Map',  'fetch',       ''],
    ['store',       'Map',  'store',       q(, 'a value')],
    ['exists',      'Map',  'exists',      ''],
    ['incr',        'Map',  'incr',        ''],
    ['counter',     'Map',  'counter',     ''],
    ['allow',       'Rate', 'allow',       ''],
    ['remaining',   'Rate', 'remaining',   ''],
    ['retry_after', 'Rate', 'retry_after', ''],
);
my @Fuller = (
    ['store with a time to live',  'Map',  'store',       q(, 'v' x 300, ttl => 10)],
    ['store of undef',             'Map',  'store',       q(, undef)],
    ['store of a reference',       'Map',  'store',       q(, $object)],
    ['store of a structure',       'Tree', 'store',       q(, { list => [1, 'two'] })],
    ['fetch of a structure',       'Tree', 'fetch',       ''],
    ['incr by a step',             'Map',  'incr',        q(, 3)],
    ['incr with a time to live',   'Map',  'incr',        q(, -2, ttl_ms => 5000)],
    ['allow at a cost',            'Rate', 'allow',       q(, 2.5)],
    ['remaining at a cost',        'Rate', 'remaining',   q(, 3)],
    ['retry_after at a cost',      'Rate', 'retry_after', q(, 5)],
);

# What is known under these keys when a piece begins (long values only when it names them); `none` is not there.
my %Known = (
    short => 'short', brief => 'brief', empty => '', undefined => undef,
    long => 'l' x 2000, longer => 'm' x 3000, huge => 'h' x 70_000,
);

# PAIRS stands for pairs of keys for which the method gives different kinds of values, or values of one kind.
my %Pairs = (
    fetch => 'short brief, brief short, short long, long brief, long longer, longer long, huge long, long huge, number other, '
        . 'number short, short number, undefined short, short undefined, none short, short none, undefined none, short short',
    incr    => 'number other, number number, number short, short number, none other',
    counter => 'number other, other none, none number, other other',
);

# How `$object->METHOD(` is written. `named` finds its method at run time as perl always did, and so is the measure of
# `site`; `copied` goes through a sub of Perl, which returns copies.
my $Invocant = qr/(\$\w+(?:\{\w+\})?)(\s*)/;
my %Way = (
    site     => sub { my ($hot) = @_; s/->METHOD\(/->$hot->[2](/g },
    named    => sub { s/->METHOD\(/->\$method(/g },
    can      => sub { s/->METHOD\(/->\$code(/g },
    function => sub { my ($hot) = @_; my $sub = class_of($hot) . "::$hot->[2]"; s/$Invocant->METHOD\(/$sub($1, $2/g },
    copied   => sub { s/$Invocant->METHOD\(/TestCallsite::copied(\$method, $1, $2/g },
);

my ($Arena, @Said);
my $now = 0;

sub class_of { my ($hot) = @_; return 'Shared::Arena::' . ($hot->[1] eq 'Rate' ? 'Rate' : 'Map') }

sub copied {
    my ($method, $object, @arguments) = @_;
    if (wantarray) { my @answer = $object->$method(@arguments); return @answer }
    my $answer = $object->$method(@arguments);
    return $answer;
}

# Options: `ways` beside the first two, which are always taken; `apart` for pieces that leave something changed for good,
# and are given a process each; `fuller` for calls with more arguments, too; `alone` for pieces whose answers tell how
# the call is written.
sub same_in_all_ways {
    my ($cases, %option) = @_;
    my @ways = ('site', $option{alone} ? () : ('named', @{ $option{ways} || [] }));
    my @hot  = (@Hot, $option{fuller} ? @Fuller : ());
    my ($on, $off) = map { _start($cases, \@hot, \@ways, $_, \%option) } 1, 0;
    my %with    = _answers_of($on);
    my %without = _answers_of($off);
    local $Test::Builder::Level = $Test::Builder::Level + 1;
    for my $name (@$cases[grep { $_ % 2 == 0 } 0 .. $#$cases]) {
        subtest $name => sub { _compare("$name/$_->[0]", [_ways_of($_, @ways)], \%with, \%without) for @hot };
    }
    return;
}

# With more arguments, the first two ways are enough.
sub _ways_of { my ($hot, @ways) = @_; return @ways > 2 && grep({ $_ == $hot } @Fuller) ? @ways[0, 1] : @ways }

sub _compare {
    my ($label, $ways, $with, $without) = @_;
    local $Test::Builder::Level = $Test::Builder::Level + 1;
    my ($title)   = $label =~ m{([^/]*)\z};
    my ($measure) = _answer($without, "$label/" . ($ways->[1] || $ways->[0]));
    my @wrong = $measure =~ /\A(?:no answer|not compiled)/ ? ['the measure', $measure] : ();
    for my $way (@$ways) {
        my ($on, $sites)  = _answer($with,    "$label/$way");
        my ($off, $never) = _answer($without, "$label/$way");
        push @wrong, [$way, $on] if $on ne $measure;
        push @wrong, ["$way without the layer", $off] if $off ne $measure;
        push @wrong, [$way, ($sites ? $sites : 'no') . ' call sites were rewritten'] if ($way eq 'site') != !!$sites;
        push @wrong, ["$way without the layer", "$never call sites were rewritten"] if $never;
    }
    return if ok(!@wrong, $title);
    my $same = (sort { $a <=> $b } map { _same_length($measure, $_->[1]) } @wrong)[0];
    diag("$_->[0]: " . _part($_->[1], $same)) for ['wanted', $measure], @wrong;
    return;
}

# Of a long answer, what is around the first difference.
sub _part {
    my ($text, $same) = @_;
    my $from = $same > 300 && $same < length $text ? $same - 200 : 0;
    return ($from ? '...' : '') . substr $text, $from, 500;
}

sub _same_length { my ($one, $other) = @_; return ($one ^ $other) =~ /\A(\0*)/ ? length $1 : 0 }

sub _answer {
    my ($answers, $label) = @_;
    return @{ $answers->{$label} || ["no answer: the process $answers->{END}", 0] };
}

# ---- In a process with or without the layer ----

sub _start {
    my ($cases, $hot, $ways, $layer, $option) = @_;
    my $file = File::Temp->new;
    my $pid  = spawn(sub {
        $ENV{SHARED_ARENA_NO_XOP} = $layer ? '' : 1;
        open my $out, '>>', $file->filename or die "open: $!";
        $out->autoflush;
        require Shared::Arena;
        $Arena = Shared::Arena->create(size => 8 << 20);
        _remember();
        my @cases = @$cases;
        while (my ($name, $piece) = splice @cases, 0, 2) { _run_case($out, $name, $piece, $hot, $ways, $option) }
    }, 100);
    return { pid => $pid, file => $file };
}

# label => [answer, how many call sites were rewritten]. The label END says how the process ended.
sub _answers_of {
    my ($started) = @_;
    my $status  = reap($started->{pid});
    my %answers = (END => "ended with wait status $status");
    for (split /\n/, read_file($started->{file}->filename)) {
        my ($label, $sites, $answer) = split /\t/;
        $answers{$label} = [$answer, $sites];
    }
    return %answers;
}

sub _run_case {
    my ($out, $name, $piece, $hot, $ways, $option) = @_;
    for my $one (@$hot) {
        for my $way (_ways_of($one, @$ways)) {
            my $label = "$name/$one->[0]/$way";
            $now += 1000; # each piece finds a limiter at rest
            my $run   = sub { print {$out} join("\t", $label, _run_piece($piece, $one, $way)), "\n" };
            if (!$option->{apart}) { $run->(); _restore(); next }
            my $status = reap(spawn($run, 20));
            print {$out} "$label\t" . ($way eq 'site' || 0) . "\tended with wait status $status\n" if $status;
        }
    }
    return;
}

# What the piece says. Everything it works on is as new.
sub _run_piece {
    my ($piece, $hot, $way) = @_;
    $piece =~ s/\bPAIRS\b/map { [split] } split \/, \/, '${\ ($Pairs{ $hot->[2] } || 'number other, number none, none number')}'/g;
    my %make = (
        Map  => sub { $Arena->map('map', slots => 64, slot_size => 70_200) },
        Tree => sub { $Arena->map('tree', slots => 64, serialise => 1) },
        Rate => sub { $Arena->rate('rate', limit => 10, window => 10, slots => 64) },
    );
    my %object = map { $_ => $make{$_}->() } keys %make;
    my @known = grep { length($Known{$_} || '') < 200 || $piece =~ /\b$_\b/ } keys %Known;
    for my $map (@object{qw(Map Tree)}) { $map->delete($_) for $map->keys }
    $object{Map}->store($_, $Known{$_}) for @known;
    $object{Map}->incr('number', 5);
    $object{Map}->incr('other', -7_000_000_000);
    $object{Tree}->store($_, { known => $Known{$_} }) for @known;
    set_clock(1_700_000_000, $now);
    $object{Rate}->allow('number', 4);
    $object{Rate}->allow('other', 10);

    my $program = _program($piece, $hot, $way);
    my $before  = Shared::Arena::_call_sites();
    @Said = ();
    local $SIG{__WARN__} = sub { push @Said, "warned: $_[0]" };
    my $code  = eval $program;
    my $sites = Shared::Arena::_call_sites() - $before;
    if ($code) {
        my ($kind, $other) = ($hot->[1], $hot->[1] eq 'Rate' ? 'Map' : 'Rate');
        eval { $code->(@object{ $kind, $other }, $make{$kind}); 1 } or push @Said, "died: $@";
    }
    else { push @Said, "not compiled: $@" }
    my $answer = join ' ', @Said;
    $answer =~ s/0x[0-9a-f]+/ADDRESS/g;
    $answer =~ s/\(eval [0-9]+\)/(eval)/g;
    $answer =~ s/([^ -~])/sprintf '\\x{%x}', ord $1/ge;
    return ($sites, $answer);
}

# The piece as a sub that is given the object, one of the other class, and what makes one more of the first.
sub _program {
    my ($piece, $hot, $way) = @_;
    my $class = class_of($hot);
    my $other = 'Shared::Arena::' . ($hot->[1] eq 'Rate' ? 'Map' : 'Rate');
    $Way{$way}->($hot) for $piece;
    $piece =~ s/\bMORE\b/$hot->[3]/g;
    $piece =~ s/\bMETHOD\b/$hot->[2]/g;
    $piece =~ s/\bOTHER_CLASS\b/$other/g;
    $piece =~ s/\bCLASS\b/$class/g;
    return <<"END" . $piece . "\n}";
package TestCallsite::Piece;
use strict; use warnings; use TestMagic;
my \$method = '$hot->[2]';
my \$code = \\&$class\::$hot->[2];
sub {
my (\$object, \$other, \$make) = \@_;
#line 1 "piece"
END
}

# ---- The classes, as they were ----

my @Classes = qw(Shared::Arena::Map Shared::Arena::Rate UNIVERSAL);
my %Original;

sub _remember {
    no strict 'refs';
    for my $class (@Classes) {
        $Original{$class}{$_} = defined &{"${class}::$_"} ? \&{"${class}::$_"} : undef for keys %{"${class}::"};
    }
    return;
}

# Undoes what a piece did to them, and forgets the classes that it made. What a piece did to a sub itself, or to a whole
# class, cannot be undone.
sub _restore {
    no strict 'refs';
    no warnings;
    for my $class (@Classes) {
        my $names = \%{"${class}::"};
        @{"${class}::ISA"} = () if exists $names->{ISA};
        delete @$names{ grep { !exists $Original{$class}{$_} } keys %$names };
        for my $name (grep { defined $Original{$class}{$_} } keys %{ $Original{$class} }) {
            my $sub = $Original{$class}{$name};
            *{"${class}::$name"} = $sub if !defined &{"${class}::$name"} || \&{"${class}::$name"} != $sub;
        }
    }
    delete @main::{qw(My:: Foreign:: Elsewhere:: Other::)};
    return;
}

# ---- For the pieces ----

# Values with what kind of scalar each is.
sub TestCallsite::Piece::out { push @Said, '(' . join(', ', map { _shown($_) . _kind(\$_) } @_) . ')'; return }

# Values only.
sub TestCallsite::Piece::values_out { push @Said, '(' . join(', ', map { _shown($_) } @_) . ')'; return }

sub _kind {
    my ($reference) = @_;
    my $scalar = B::svref_2object($reference);
    return 'S' if $scalar->isa('B::SPECIAL');
    my $flags = $scalar->FLAGS;
    my @kinds = ([B::SVf_POK(), 'P'], [B::SVf_IOK(), 'I'], [B::SVf_NOK(), 'N'], [B::SVf_READONLY(), 'R']);
    return join '', map { $flags & $_->[0] ? $_->[1] : '' } @kinds;
}

sub _shown {
    my ($value) = @_;
    return 'undef' if !defined $value;
    my $type = ref $value;
    return '[' . join(', ', map { _shown($_) } @$value) . ']' if $type eq 'ARRAY';
    return '{' . join(', ', map { "$_ => " . _shown($value->{$_}) } sort keys %$value) . '}' if $type eq 'HASH';
    return '\\' . _shown($$value) if $type eq 'SCALAR' || $type eq 'REF';
    return $type if $type;
    my $text = utf8::is_utf8($value) ? "utf8'$value'" : "'$value'";
    return $text if length $text < 250;
    utf8::encode(my $bytes = $text);
    return substr($text, 0, 20) . '... ' . length($value) . ' ' . Digest::MD5::md5_hex($bytes);
}

# ---- Whole programs ----

# What a program says when perl is given those switches.
sub run_switched {
    my ($program, @switches) = @_;
    my $directory = File::Temp->newdir;
    write_file("$directory/program", $program);
    my @include = map {"-I$_"} map { File::Spec->rel2abs($_) } grep { !ref } @INC;
    my @command = ($^X, @switches, @include, "$directory/program");
    open my $out, '-|', 'sh', '-c', 'exec "$@" 2>&1', 'sh', @command or die "fork: $!";
    local $/;
    my $said = <$out>;
    close $out;
    $said =~ s/\Q$directory\E\///g;
    return "$said\nwait status $?\n";
}

# A program that makes calls, and how often it makes each.
sub calls_to_count { return <<'END' }
use strict; use warnings; use Shared::Arena;
my $map = Shared::Arena->create->map('m', slots => 16); my $rate = Shared::Arena->create->rate('r', slots => 64);
sub calls {
    for my $n (1 .. 100) {
        $map->store('k', $n);
        $map->fetch('k') if $n % 2;
        $map->incr('n');
        $rate->allow('k', 0.1);
    }
}
calls();
$map->exists('k') && $map->counter('n') == 100 or die;
print "done\n";
END

sub times_called { return ('Map::store' => 100, 'Map::fetch' => 50, 'Map::incr' => 100, 'Rate::allow' => 100, 'Map::exists' => 1,
        'Map::counter' => 1) }

# What perl says in that directory, with those variables and arguments.
sub run_there {
    my ($directory, $variables, @arguments) = @_;
    my @include = map {"-I$_"} map { File::Spec->rel2abs($_) } grep { !ref } @INC;
    local %ENV = (%ENV, %$variables);
    open my $out, '-|', 'sh', '-c', 'cd "$0" && exec "$@" 2>&1', $directory, $^X, @include, @arguments or die "fork: $!";
    local $/;
    my $said = <$out>;
    close $out;
    return $said . "status $?\n";
}

# A program, once with the layer and once without: both end alike and print the same.
sub same_in_two_perls {
    my ($program, $name, %option) = @_;
    local $Test::Builder::Level = $Test::Builder::Level + 1;
    my ($with, $without) = map {
        my $run = run_perl($program, %option, env => { %{ $option{env} || {} }, SHARED_ARENA_NO_XOP => $_ });
        my $said = "wait status $run->{status}\nstdout: $run->{out}\nstderr: $run->{err}";
        $said =~ s/0x[0-9a-f]{6,}/ADDRESS/g;
        $said;
    } 0, 1;
    my $fine = $with eq $without && ($option{like} ? $with =~ $option{like} : 1);
    return 1 if ok($fine, $name);
    my $same = _same_length($with, $without);
    diag("$_->[0]: " . _part($_->[1], $same)) for ['with the layer', $with], ['without it', $without];
    return;
}

1;
