use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/../t/lib";
use TestArena;
use TestCallsite;
use Test::More;

use Config;
use ExtUtils::CBuilder;
use ExtUtils::ParseXS;
use File::Path 'mkpath';
use File::Temp;

# A module that hooks the ops of calls in whatever way, loaded before Shared::Arena or after it, sees every call that it
# would see otherwise; and every call gives what it gives otherwise.

watchdog(600);

my $builder = ExtUtils::CBuilder->new(quiet => 1);
plan skip_all => 'no compiler' if !$builder->have_compiler;

my $directory = File::Temp->newdir;
sub build {
    my ($from, $to) = ("$FindBin::Bin/callsite-hooks/Hooks.xs", "$directory/Hooks.c");
    ExtUtils::ParseXS::process_file(filename => $from, output => $to);
    my $object = $builder->compile(source => $to, extra_compiler_flags => '-DVERSION=\"1\" -DXS_VERSION=\"1\"');
    mkpath "$directory/auto/Hooks";
    $builder->link(objects => $object, module_name => 'Hooks', lib_file => "$directory/auto/Hooks/Hooks.$Config{dlext}");
    open my $pm, '>', "$directory/Hooks.pm" or die;
    print {$pm} q(package Hooks; our $VERSION = 1; require XSLoader; XSLoader::load(); sub import { shift;
        install($_) for @_ } 1;);
    return close $pm;
}
ok build(), 'the hooks are built' or BAIL_OUT('no hooks');

my $program = <<'END';
{ package Foreign; sub new { bless {}, shift } sub fetch { 'foreign' } sub allow { 'foreign' } }
my $arena = Shared::Arena->create; our $map = $arena->map('m', slots => 16); our $rate = $arena->rate('r', slots => 64);
$map->store('k', 'v');
sub calls {
    my @said;
    for my $on ($map, Foreign->new, $map, 'Foreign', undef, bless([], 'Shared::Arena::Map')) { push @said,
        eval { $on->fetch('k') } // $@ || 'none' }
    push @said, map { $map->incr('n') } 1 .. 10;
    push @said, eval { $map->incr('k', 'x') } // $@;
    return @said;
}
sub limiter { return map { eval { $_->allow('k') } // $@ } $rate, Foreign->new, $rate }
Hooks::seen();
my @said = $^O ? (calls(), calls(), limiter()) : ();
print join("\n", @said), "\n", join(' ', Hooks::seen()), "\n";
{ no warnings 'redefine'; local *Shared::Arena::Map::fetch = sub { 'mine' };
        print join("\n", calls()), "\n", join(' ', Hooks::seen()), "\n" }
print join("\n", map { eval q{ $_->fetch('k') } // $@ } $map, Foreign->new, $map), "\n", join(' ', Hooks::seen()), "\n";
END

for my $kind ('entersub', 'method_named', 'check, chaining', 'check, replacing', 'check, picky', 'check of the call',
        'check of the method', 'runops') {
    my %order = (
        'loaded first'  => "use Hooks '$kind'; use Shared::Arena; $program",
        'loaded last'   => "use Shared::Arena; use Hooks '$kind'; $program",
        'at run time'   => "use Shared::Arena; use Hooks; $program Hooks::install('$kind');
        print join(' ', calls(), limiter(), Hooks::seen()), eval q{ \$map->fetch('k') }, join(' ', Hooks::seen());",
    );
    # A hook that goes on with what one op was would go on with another's.
    for my $order (sort keys %order) {
        my $code = "use strict; use warnings; use lib '$directory'; $order{$order}";
        if ($kind =~ /chaining|of the method/) {
            # such a hook keeps one function: a program for it names one hot method
            $code =~ s/\$map->(?:store|incr)\('\w'/Shared::Arena::Map::stats(\$map); (undef) = ('x'/g;
            $code =~ s/^sub limiter .*$/sub limiter { }/m;
        }
        # What leaves alone every op that is no longer perl's own leaves those of the hot names alone, too, when it comes
        # after us: it sees fewer of them, and what the calls do is the same.
        $code =~ s/Hooks::seen\(\)/()/g if $kind =~ /picky/ && $order ne 'loaded first';
        same_in_two_perls($code, "$kind, $order", like => qr/\Await status 0\n/);
    }
}

# What the hook counts is what there is to count.
my $run = run_perl("use strict; use warnings; use lib '$directory'; use Hooks 'entersub'; use Shared::Arena;
    my \$map = Shared::Arena->create->map('m'); Hooks::seen(); \$map->incr('n') for 1 .. 1000;
        print join ' ', Hooks::seen()");
is $run->{out}, '1001 0', 'every call is counted';

# The module loaded once more in another interpreter does not take a hook for perl's own.
SKIP: {
    skip 'no threads', 1 if !$Config{useithreads};
    same_in_two_perls("use strict; use warnings; use threads; use lib '$directory';
        threads->create(sub { require Shared::Arena })->join;
        require Hooks; Hooks->import('entersub'); require Shared::Arena; my \$map = Shared::Arena->create->map('m');
        Hooks::seen(); eval q{ \$map->incr('n') for 1 .. 100; 1 } or die;
        print join ' ', Hooks::seen()", 'a hook between two loads', like => qr/stdout: 1\d\d 0/);
}

done_testing;
