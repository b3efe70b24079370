use strict;
use warnings;

# Runs the commands of xt/EVIDENCE.md in a built checkout and writes down what came of them: all of them, which takes
# hours, or those whose row contains one of the words given.
#
#     perl xt/evidence.pl [WORD...]
#
# A command tells what it has shown in a last line that begins with "ok: NAME:" (the scripts of .ci/) or "# shown:" (the
# tests of xt/); of cargo's tests, how many passed is counted.

use FindBin;
use POSIX qw(strftime);

my $page = 'xt/EVIDENCE.md';

chdir "$FindBin::Bin/.." or die "Cannot go to the top folder: $!\n";

sub read_page {
    open my $file, '<', $page or die "Cannot read $page: $!\n";
    return <$file>;
}

# Whoever edits the page meanwhile loses nothing: it is read anew, and one row is changed.
sub note_result {
    my ($command, @result) = @_;
    my @lines = read_page();
    for my $line (@lines) {
        my ($promise, $of) = $line =~ /\A\| (.+?) \| `(.+?)` \|/ or next;
        $line = '| ' . join(' | ', $promise, "`$command`", @result) . " |\n" if $of eq $command;
    }
    open my $file, '>', "$page.new" or die "Cannot write $page.new: $!\n";
    print {$file} @lines or die "Cannot write $page.new: $!\n";
    close $file          or die "Cannot write $page.new: $!\n";
    rename "$page.new", $page or die "Cannot replace $page: $!\n";
    return;
}

sub run {
    my ($command) = @_;
    my ($shown, $passed);
    my $started = time;
    open my $output, '-|', 'sh', '-c', "$command 2>&1" or die "sh: $!\n";
    while (my $line = <$output>) {
        print $line;
        $shown = $1 if $line =~ /\A(?:ok: [\w-]+:|\s*# shown:) (.+)/;
        $passed += $1 if $line =~ /\Atest result: ok\. ([0-9]+) passed/;
    }
    close $output;
    $shown = "$passed tests pass" if !defined $shown && $passed;
    my $took = time - $started;
    my $end  = $? & 127 ? 'by signal ' . ($? & 127) : 'with status ' . ($? >> 8);
    my $what = $? ? "**FAILED** $end" : $shown || '**shows nothing**';
    my $time = $took < 120 ? "$took s" : sprintf '%.0f min', $took / 60;
    note_result($command, $what, strftime('%Y-%m-%d', gmtime), $time);
    return $? == 0 && defined $shown;
}

my @words = @ARGV;
my $failed = 0;
for my $row (read_page()) {
    my ($promise, $command) = $row =~ /\A\| (.+?) \| `(.+?)` \|/ or next;
    next if @words && !grep { index($row, $_) >= 0 } @words;
    print "--- $command\n";
    $failed++ if !run($command);
}
exit($failed ? 1 : 0);
