use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use TestArena;
use TestCallsite;
use Test::More;

use File::Temp;

# Debuggers see every call, as often as it is made.

my $directory = File::Temp->newdir;
write_file("$directory/program.pl", calls_to_count());
my %times = times_called();

my $counter = 'BEGIN { package DB; sub DB { } sub sub { $seen{$DB::sub}++; goto &$DB::sub } sub END { $DB::single = 0;
        print map { "$_ $seen{$_}\n" } grep { /^Shared::Arena::(?:Map|Rate)::[a-z_]+\z/ && !/_verify/ }
        sort keys %seen } }';
my $wanted = join '', map { "Shared::Arena::$_ $times{$_}\n" } sort keys %times;

subtest 'perl -d' => sub {
    for my $off (0, 1) {
        my $said = run_there($directory, { PERL5DB => $counter, SHARED_ARENA_NO_XOP => $off }, '-d', 'program.pl');
        is $said, "done\n${wanted}status 0\n", 'every call goes through DB::sub' . ($off ? ', and without the layer' : '');
    }
    is run_there($directory, { PERL5DB => 'BEGIN { sub DB::DB { } }' }, '-d', 'program.pl'), "done\nstatus 0\n",
        'a debugger that does nothing';
};

subtest 'flags of the debugger' => sub {
    for my $flags (0x01, 0x02, 0x20, 0x102, 0x33f) {
        my $when = 'BEGIN { require Shared::Arena; $^P = ' . $flags . ' }';
        my ($with, $without) = map {
            run_there($directory, { SHARED_ARENA_NO_XOP => $_ }, '-e',
        "BEGIN { package DB; our %seen; sub DB { } sub sub { \$seen{ref \$DB::sub || \$DB::sub}++; &\$DB::sub } }
        $when " . read_file("$directory/program.pl")
                . ' BEGIN { $^P = 0 } print map { "$_ $DB::seen{$_}\n" } grep { /Arena/ } sort keys %DB::seen');
        } 0, 1;
        is $with, $without, sprintf 'flags %#x set while the program is compiled', $flags;
        ($with, $without) = map {
            run_there($directory, { SHARED_ARENA_NO_XOP => $_ }, '-e',
        "BEGIN { package DB; our %seen; sub DB { } sub sub { \$seen{ref \$DB::sub || \$DB::sub}++; &\$DB::sub } } "
                . read_file("$directory/program.pl") . " \$^P = $flags; calls(); eval 'calls(); \$map->fetch(q(k))';
        \$^P = 0; " . ' print map { "$_ $DB::seen{$_}\n" } grep { /Arena/ } sort keys %DB::seen');
        } 0, 1;
        is $with, $without, sprintf 'flags %#x set while it runs', $flags;
    }
};

done_testing;
