use strict;
use warnings;
use Config;
BEGIN {
    if (!$Config{useithreads}) { print "1..0 # SKIP this perl has no threads\n"; exit }
}
use FindBin;
use lib "$FindBin::Bin/lib";
use TestArena;
use TestCallsite;
use Test::More;

# Threads share neither objects nor classes, and a check hook is shared by all: each interpreter's call sites are right
# for itself, whichever of them loaded the module.

my $foreign = q({ package Foreign; sub new { return bless {}, shift } sub fetch { 'foreign fetch' }
        sub allow { 'foreign allow' } });
my $calls   = q(for my $on (Foreign->new, $map, 'Foreign', undef, [], bless({}, 'Foreign'),
        $map) { print eval { $on->fetch('k') } // $@ || 'none', "\n" });

my @programs = (
    'call sites compiled before a thread starts' => <<"END",
use Shared::Arena; my \$map = Shared::Arena->create->map('m'); \$map->store('k', 'v'); my \$number = 0;
sub calls { $calls }
calls(); threads->create(sub { calls() })->join; calls();
threads->create(sub { \$map = Shared::Arena->create->map('m'); \$map->store('k', 'own'); calls();
        threads->create(sub { calls() })->join; calls() })->join; calls();
END
    'call sites compiled in a thread' => <<"END",
use Shared::Arena; our \$map = Shared::Arena->create->map('m'); \$map->store('k', 'v');
threads->create(sub { eval q{$calls}; \$map = Shared::Arena->create->map('m'); \$map->store('k', 'own'); eval q{$calls}
        })->join;
eval q{$calls};
END
    'the module loaded in a thread only' => <<"END",
our \$map;
threads->create(sub { require Shared::Arena; \$map = Shared::Arena->create->map('m'); \$map->store('k', 'v');
        eval q{$calls} })->join;
eval q{$calls}; print \$@;
threads->create(sub { eval q{$calls}; print \$@ })->join;
END
    'the module loaded in a thread, and in the first one later' => <<"END",
our \$map;
threads->create(sub { require Shared::Arena })->join;
eval q{sub early { $calls } 1} or die; early();
require Shared::Arena; \$map = Shared::Arena->create->map('m'); \$map->store('k', 'v');
early(); eval q{$calls};
threads->create(sub { early(); eval q{$calls} })->join;
END
    'the module loaded in a thread while another compiles' => <<"END",
use threads::shared; our \$map; my \$stage :shared = 0;
my \$other = threads->create(sub { { lock \$stage; cond_wait(\$stage) until \$stage == 1 } eval q{$calls}; print \$@;
        { lock \$stage; \$stage = 2; cond_broadcast(\$stage) } });
threads->create(sub { require Shared::Arena; lock \$stage; \$stage = 1; cond_broadcast(\$stage);
        cond_wait(\$stage) until \$stage == 2 })->join;
\$other->join; eval q{$calls};
END
    'methods changed in a thread' => <<"END",
use Shared::Arena; no warnings 'redefine'; our \$map = Shared::Arena->create->map('m'); \$map->store('k', 'v');
sub calls { $calls }
calls(); threads->create(sub { *Shared::Arena::Map::fetch = sub { 'mine' }; \$map = bless [], 'Shared::Arena::Map';
        calls() })->join; calls();
*Shared::Arena::Map::fetch = sub { 'mine' }; threads->create(sub { calls() })->join; calls();
END
    'CLONE of another class that makes calls' => <<"END",
use Shared::Arena; our \$map = Shared::Arena->create->map('m'); \$map->store('k', 'v');
sub calls { $calls }
{ package AAA; sub CLONE { main::calls() } } { package Zzz; sub CLONE { main::calls() } } { package Shared::Arena::Zzz;
        sub CLONE { main::calls() } }
calls(); threads->create(sub { calls() })->join; calls();
END
    'many threads' => <<"END",
use Shared::Arena; my \$named = 'callsite-threads'; my \$arena = Shared::Arena->create(name => \$named);
        \$arena->map('m', slots => 64);
sub work { my \$m = Shared::Arena->attach(\$named)->map('m', slots => 64); for (1 .. 500) { \$m->incr('n');
        \$m->store("k\$_[0]", \$_); \$m->fetch("k\$_[0]") == \$_ or die } return 1 }
print join(',', map { \$_->join } map { my \$n = \$_; threads->create(sub { work(\$n) }) }
        1 .. 4), "\\n", \$arena->map('m', slots => 64)->counter('n'), "\\n";
Shared::Arena->destroy(\$named);
END
);

# Memory that nobody has set is not zero by luck; and what goes wrong there need not each time.
while (my ($name, $program) = splice @programs, 0, 2) {
    for my $time (1 .. ($name =~ /loaded/ ? 4 : 1)) {
        same_in_two_perls("use strict; use warnings; use threads; \$| = 1; $foreign\n$program", "$name, $time",
            env => { MALLOC_PERTURB_ => 165 }, like => qr/\Await status 0\n/);
    }
}

done_testing;
