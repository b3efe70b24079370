use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use TestArena;
use Test::More;

use Shared::Arena;

# What the resource limits of a process (ulimit) do to arenas: an error that says which, when one is made or attached to;
# nothing to one that is there. No limit leads to a signal, and none leaves a file behind.

my @include = map {"-I$_"} grep { !ref } @INC;

# What a program prints under that limit.
sub under {
    my ($limit, $program) = @_;
    my @perl = ($^X, @include, '-MShared::Arena', '-e', $program);
    open my $pipe, '-|', 'sh', '-c', "ulimit $limit && exec \"\$@\" 2>&1", 'sh', @perl or die "sh: $!";
    my $output = do { local $/; <$pipe> };
    close $pipe;
    return $? ? "ended with $?: $output" : $output;
}

# 40 MB, anonymous and named.
my %create = (
    anonymous => 'size => 1 << 24',
    named     => 'size => 1 << 24, name => "limited"',
);
my $used = 'my $map = $arena->map("m"); print $map->store(k => 1), $map->fetch("k"), $map->incr("n")';

my $all_taken = 'my @open; while (open my $file, "<", "/dev/null") { push @open, $file }';
my $too_many  = qr/\AShared::Arena->create: cannot (?:create|open) .*: Too many open files at -e line 1\.\n\z/;

my @refusals = (
    ['-f 1000',  qr/cannot reserve \d+ bytes in .* \(\d+ bytes may a file have here\): File too large/, 'the size of files'],
    ['-v 40000', qr/cannot map \d+ bytes of .*: Cannot allocate memory/, 'the address space'],
);
for my $kind (sort keys %create) {
    my $make = "my \$arena = eval { Shared::Arena->create($create{$kind}) } or print(\$@), exit;";
    for my $case (@refusals) {
        my ($limit, $error, $what) = @$case;
        like under($limit, "$make $used"), qr/\AShared::Arena->create: $error at -e line 1\.\n\z/,
            "a limit on $what, below an arena that is $kind: an error";
        is_deeply [arena_files()], [], 'and no file';
    }
    is under('-l 0', "$make $used"), '111', "no memory may be locked: nothing is, in an arena that is $kind";
    Shared::Arena->destroy('limited');

    like under('-n 20', "$all_taken $make $used"), $too_many, "no descriptor left, to make an arena that is $kind: an error";
    is_deeply [arena_files()], [], 'and no file';
    is under('-n 20', "$make $all_taken $used"), '111', 'one that is there needs none';
    Shared::Arena->destroy('limited');
}

subtest 'attaching' => sub {
    my $arena = Shared::Arena->create(name => 'limited', size => 1 << 24);
    my $attach = 'my $arena = eval { Shared::Arena->attach("limited") } or print(defined $@ ? $@ : "none"), exit;';
    like under('-v 40000', "$attach $used"), qr/cannot map \d+ bytes of .*: Cannot allocate memory at /, 'takes address space';
    like under('-n 20', "$all_taken $attach $used"), qr/cannot open .*: Too many open files at /, 'and a descriptor for a moment';
    is under('-f 1000', "$attach $used"), '111', 'but no new file';
    Shared::Arena->destroy('limited');
};

done_testing;
