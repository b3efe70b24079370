use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/../t/lib";
use TestArena;
use TestCallsite;
use Test::More;

use File::Temp;

# Profilers and coverage tools count every call, as often as it is made.

watchdog(600);

my $directory = File::Temp->newdir;
write_file("$directory/program.pl", calls_to_count());
my %times = times_called();

subtest 'Devel::NYTProf' => sub {
    plan skip_all => 'not here' if !eval { require Devel::NYTProf::Data; 1 };
    for my $options ('', ':subs=1:stmts=0', ':start=no') {
        for my $switch ('-d:NYTProf', '-MDevel::NYTProf', '-MShared::Arena -MDevel::NYTProf') {
            unlink "$directory/nytprof.out";
            my $said = run_there($directory, { NYTPROF => "file=$directory/nytprof.out$options" }, split(/ /, $switch), 'program.pl');
            like $said, qr/\Adone\nstatus 0\n\z/, "the program runs under $switch $options" or next;
            next if $options =~ /start=no/ || !-e "$directory/nytprof.out";
            my $profile = eval { Devel::NYTProf::Data->new({ filename => "$directory/nytprof.out", quiet => 1 }) }
        or next;
            my $subs = $profile->subname_subinfo_map;
            my %seen = map { $_ => $subs->{"Shared::Arena::$_"} ? $subs->{"Shared::Arena::$_"}->calls : 0 } keys %times;
            if ($switch eq '-d:NYTProf') { is_deeply \%seen, \%times, "every call is counted, $switch $options" }
            else {
                unlink "$directory/nytprof.out";
                run_there($directory, { NYTPROF => "file=$directory/nytprof.out$options", SHARED_ARENA_NO_XOP => 1 }, split(/ /,
        $switch), 'program.pl');
                my $other = Devel::NYTProf::Data->new({ filename => "$directory/nytprof.out",
        quiet => 1 })->subname_subinfo_map;
                is_deeply \%seen, { map { $_ => $other->{"Shared::Arena::$_"}
        ? $other->{"Shared::Arena::$_"}->calls : 0 } keys %times },
                    "as many calls as without the layer, $switch $options";
            }
        }
    }
};

subtest 'Devel::Cover' => sub {
    plan skip_all => 'not here' if !eval { require Devel::Cover::DB; require Devel::Cover::DB::IO; 1 };
    for my $options ('', ',-replace_ops,0') {
        for my $first ('-MDevel::Cover', '-MShared::Arena -MDevel::Cover') {
            my ($with, $without) = map { counted_by_cover("$first=-silent,1,-ignore,Arena$options", $_) } 0, 1;
            is_deeply $with, $without, "counts what it counts without the layer, $first $options";
            is_deeply [(sort { $b <=> $a } @{ $with->{counts}{statement}
        })[0 .. 3]], [100, 100, 100, 100], 'and counts what is run a hundred times';
            like $with->{said}, qr/^done$/m, 'the program runs';
        }
    }
};

my $covered = 0;
sub counted_by_cover {
    my ($switches, $off) = @_;
    my $path = "$directory/cover" . $covered++;
    my $said = run_there($directory, { SHARED_ARENA_NO_XOP => $off }, split(/ /, "$switches,-db,$path"), "$directory/program.pl");
    $said =~ s/cover\d+/cover/g;
    my ($kept) = glob "$path/runs/*/cover.*[0-9]";
    my ($run) = values %{ Devel::Cover::DB::IO->new->read($kept)->{runs} };
    my ($counts) = map { $run->{count}{$_} } grep {/program\.pl/} keys %{ $run->{count} };
    delete $counts->{time};
    return { said => $said, counts => $counts || {} };
}

done_testing;
