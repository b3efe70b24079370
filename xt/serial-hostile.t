use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib", "$FindBin::Bin/../t/lib";
use TestArena;
use TestDismantle;
use TestDocuments;
use TestEvidence;
use TestMutations;
use Test::More;

use Shared::Arena;

# Documents that nobody wrote: random changes to good ones, every byte of good ones replaced by every other,
# and some that were thought out. Each is a value or an error that says at which byte, in bounded memory; nothing leaks,
# and nothing half built is destroyed. Each lot has a perl of its own, so that a crash is seen.

watchdog(3600);
my $cases     = {settings(cases => 150_000)}->{cases};
my $megabytes = 400;

# Such a perl needed at most so many megabytes, and its output is its last line alone, if nothing was wrong.
sub survives {
    my ($most, $name, $program, @arguments) = @_;
    local $Test::Builder::Level = $Test::Builder::Level + 1;
    my ($output, $status) = in_little_memory($megabytes, $program, @arguments);
    my @wrong = grep { !/\A(?:from|done:) / } split /\n/, $output;
    my ($done, $peak) = $output =~ /^done: (.*, ([0-9]+) MB)$/m;
    push @wrong, "$peak MB" if defined $peak && $peak > $most;
    ok defined $done && !$status && !@wrong, $name and note($done), return 1;
    my ($last) = $output =~ /.*^(from .*)/ms;
    diag join "\n", "wait status $status" . (defined $last ? ", $last" : ''), @wrong[0 .. ($#wrong < 9 ? $#wrong : 9)];
    return;
}

subtest "$cases mutants" => sub {
    my $piece = 50_000;
    for (my $first = 1; $first <= $cases; $first += $piece) {
        my $last = $first + $piece - 1 < $cases ? $first + $piece - 1 : $cases;
        survives(32, "seeds $first to $last", 'TestMutations::try_mutants(@ARGV)', $first, $last);
    }
};

subtest 'every byte replaced by every other' => sub {
    my @originals = document_bytes();
    for my $number (0 .. $#originals) {
        my $name = 'of ' . length($originals[$number]) . ' bytes';
        survives(32, $name, 'TestMutations::try_substitutes(@ARGV)', $number);
    }
};

subtest 'thought out' => sub {
    survives(300, 'all of them', 'TestMutations::try_bombs()');
    survives(200, 'those with more in them than there seems to be', 'TestMutations::try_expansions()');
};

# Memory

sub kilobytes { my ($pages) = read_file('/proc/self/statm') =~ /\A\d+ (\d+)/; return $pages * 4 }

subtest 'the memory of a process' => sub {
    my ($more) = in_child {
        my @documents = map { mutant($_) } 1 .. 5000;
        for (1 .. 4) { outcome($_) for @documents }
        my $before = kilobytes();
        for (1 .. 20) { outcome($_) for @documents }
        return kilobytes() - $before;
    } patience => 600;
    cmp_ok $more, '<', 300, "does not grow by what was tried before: $more kB";
};

subtest 'scalars' => sub {
    plan skip_all => 'Test::LeakTrace is not installed' if !eval { require Test::LeakTrace; 1 };
    my %sample;
    for my $seed (1 .. 40_000) {
        my $document = mutant($seed);
        my ($kind) = outcome($document);
        push @{ $sample{$kind} }, $document if @{ $sample{$kind} || [] } < 3;
    }
    cmp_ok scalar keys %sample, '>', 20, 'there are many kinds of outcome';
    for my $kind (sort keys %sample) {
        my $leaks = 0;
        for my $document (@{ $sample{$kind} }) {
            my $try = sub { my $value = eval { Shared::Arena::_decode($document) }; dismantle($value) };
            $try->();
            $leaks += Test::LeakTrace::leaked_count(\&$try);
        }
        is $leaks, 0, "none is left behind: $kind";
    }
};

shown("$cases random changes to documents, and every byte of good ones replaced by every other: values or errors, nothing leaked");

done_testing;
