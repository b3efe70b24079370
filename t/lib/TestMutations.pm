package TestMutations;

# Documents that are not what somebody wrote: cut short, changed, pieced together. Each must be a value or an error that
# says at which byte; nothing else may come of it. Many of them are tried in a perl of its own with little memory, so
# that a crash, an allocation without bounds or a loop without end is seen.

use strict;
use warnings;

use Exporter 'import';
use File::Spec;
use Shared::Arena;
use TestDescribe;
use TestDismantle;
use TestDocuments;

our @EXPORT = qw(mutant truncations flips substitutes outcome in_little_memory peak_memory);

my $Error = qr{
    \A Shared::Arena (?:->_decode:\ the\ value | ::Map->fetch:\ the\ value\ of\ '[^']+') \ is\ corrupt:
    \ byte\ ([0-9]+):\ (.*\S)\ +at\ \S+\ line\ [0-9]+\.\n \z
}xs;

# Objects of any class, whatever a document calls it, end here.
our ($Destroyed, $Called) = (0, 0);
sub UNIVERSAL::DESTROY { $Destroyed++; return }
for my $name (qw(THAW STORABLE_thaw STORABLE_attach)) {
    no strict 'refs';
    *{"UNIVERSAL::$name"} = sub { $Called++; return };
}

# For the first pattern with \N in it perl loads the names of characters, which makes objects and lets them go.
{ my $name = '\N{none}'; eval {qr/$name/} }

# What comes of a document, read by `_decode` or by other code: what kind of outcome it is, 'a value' or the error
# without its numbers and texts, and what is wrong with it, if anything.
sub outcome {
    my ($document, $read) = @_;
    my ($destroyed, $called) = ($Destroyed, $Called);
    my (@warnings, $value);
    local $SIG{__WARN__} = sub { push @warnings, @_ };
    local $@;
    my $lived = eval { $value = $read ? $read->($document) : Shared::Arena::_decode($document); 1 };
    my $error = $@;
    return 'a warning', "warns: $warnings[0]" if @warnings;
    return 'a call',    'calls a method' if $Called != $called;
    return 'a value',   _wrong_with($value) if $lived;
    return 'an error',  'destroys an object' if $Destroyed != $destroyed;
    return 'an error',  "another error: $error" if $error !~ $Error;
    my ($byte, $reason) = ($1, $2);
    return 'an error',  "byte $byte of " . length $document if $byte > length $document;
    $reason =~ s/'.*'|".*"/.../s;
    $reason =~ s/[0-9]+/N/g;
    return $reason;
}

# A value is whole if it can be looked at, is no other after another round trip, and could have been made by a program.
sub _wrong_with {
    my ($value) = @_;
    my $text = eval { describe($value) };
    return "no sound value: $@" if !defined $text;
    my $again;
    my $wrong
        = $text =~ /malformed utf8/                                                    ? 'malformed text'
        : $text =~ /read-only/                                                         ? 'something is read-only'
        : !eval { $again = Shared::Arena::_decode(Shared::Arena::_encode($value)); 1 } ? "not once more: $@"
        : describe($again) ne $text ? "another value the second time: $text, then " . describe($again)
        :                             undef;
    dismantle($value, $again);
    return $wrong;
}

# Sets of documents

sub truncations { my ($document) = @_; return map { substr $document, 0, $_ } 0 .. length($document) - 1 }

sub flips {
    my ($document) = @_;
    return map { my $flipped = $document; vec($flipped, $_, 1) ^= 1; $flipped } 0 .. 8 * length($document) - 1;
}

# With the byte at a place replaced by every other one.
sub substitutes {
    my ($document, $place) = @_;
    my $original = ord substr $document, $place, 1;
    return map { my $changed = $document; substr($changed, $place, 1) = chr; $changed } grep { $_ != $original } 0 .. 255;
}

# A document of ours with a few random changes, the same one for a seed; mostly the header stays.
my @Originals = document_bytes();
my @Edits = (
    sub { substr($_[0], _place($_[0]), 1) = _byte() },
    sub { substr($_[0], _place($_[0]), 1) = _byte() },
    sub { vec($_[0], 8 * _place($_[0]) + rand 8, 1) ^= 1 },
    sub { substr($_[0], _place($_[0]), 0) = join '', map { _byte() } 0 .. rand 4 },
    sub { substr($_[0], _place($_[0]), 1 + rand 8) = '' },
    sub { substr($_[0], _place($_[0]), 0) = substr $_[0], _place($_[0]), rand 20 },
    sub { my $other = $Originals[rand @Originals]; substr($_[0], _place($_[0])) = substr $other, _place($other) },
    sub {
        my $other = $Originals[rand @Originals];
        substr($_[0], _place($_[0]), rand 5) = substr $other, _place($other), rand 30;
    },
    sub { substr($_[0], _place($_[0]), 0) = "\xFF" x rand(11) . chr rand 128 },
    sub { $_[0] = substr($_[0], 0, 6) . join '', map { chr rand 256 } 0 .. rand 60 },
);

sub mutant {
    my ($seed) = @_;
    srand $seed;
    my $document = $Originals[rand @Originals];
    $Edits[rand @Edits]->($document) for 0 .. rand rand 5;
    return $document;
}

sub _place {
    my ($document) = @_;
    my $header = rand() < 0.03 || length $document < 7 ? 0 : 6;
    return $header + int rand(length($document) - $header);
}

# Tags, tracked ones too, and small numbers more often than others.
sub _byte {
    my $kind = rand;
    return chr($kind < 0.4 ? rand 256 : $kind < 0.6 ? 0x20 + rand 0x40 : $kind < 0.8 ? 0xA0 + rand 0x40 : rand 64);
}

# Other perls

# Runs a Perl expression in a perl that has no more than so many megabytes of memory and ten minutes, with TestMutations
# loaded. Returns its output and its wait status.
sub in_little_memory {
    my ($megabytes, $program, @arguments) = @_;
    my @include = map {"-I$_"} map { File::Spec->rel2abs($_) } grep { !ref } @INC;
    my @perl = ($^X, @include, '-MTestMutations', '-e', "alarm 600; $program", @arguments);
    my @shell = ('sh', '-c', 'ulimit -v "$1" && shift && exec "$@" 2>&1', 'sh', 1024 * $megabytes);
    open my $out, '-|', @shell, @perl or die "sh: $!";
    my $output = do { local $/; <$out> };
    close $out;
    return $output, $?;
}

# What such a perl does with the mutants of some seeds: a line for each that is wrong, and a last line with the figures.
# The seed before each five hundred is told too, for when it does not come to its end.
sub try_mutants {
    my ($first, $last) = @_;
    my %count;
    local $| = 1;
    for my $seed ($first .. $last) {
        print "from $seed on\n" if $seed % 500 == 0;
        _count(\%count, "seed $seed", mutant($seed));
    }
    return _told(\%count);
}

# The same with every byte of one of the documents replaced.
sub try_substitutes {
    my ($number) = @_;
    my $original = $Originals[$number];
    my %count;
    for my $place (0 .. length($original) - 1) {
        _count(\%count, "document $number", $_) for substitutes($original, $place);
    }
    return _told(\%count);
}

# The same with what TestBombs has.
sub try_bombs {
    require TestBombs;
    my %count;
    _count(\%count, @$_) for TestBombs::bombs();
    return _told(\%count);
}

# Only decoded, each alone in memory.
sub try_expansions {
    require TestBombs;
    my $count = 0;
    for my $bomb (TestBombs::expansions()) {
        my ($name, $document) = @$bomb;
        my $value = eval { Shared::Arena::_decode($document) };
        print "wrong: $name: $@" if !$value;
        $count += @$value;
    }
    return _told({ 'a value' => $count });
}

sub _count {
    my ($count, $name, $document) = @_;
    my ($kind, $wrong) = outcome($document);
    $count->{$kind}++;
    $wrong =~ s/\n/ /g, print "wrong: $name: $wrong: ", unpack('H*', substr $document, 0, 500), "\n" if defined $wrong;
    return;
}

sub _told {
    my ($count) = @_;
    my $values = delete $count->{'a value'} || 0;
    my $errors = 0;
    $errors += $_ for values %$count;
    my $kinds = keys %$count;
    printf "done: %d values, %d errors of %d kinds, %d MB\n", $values, $errors, $kinds, peak_memory() / 1024;
    return;
}

# The most memory this process ever had, in kilobytes.
sub peak_memory {
    open my $file, '<', '/proc/self/status' or die "/proc/self/status: $!";
    my ($peak) = map { /\AVmHWM:\s*([0-9]+) kB/ ? $1 : () } <$file>;
    return $peak;
}

1;
