use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use TestArena;
use Test::More;

use Shared::Arena;

# Two workers that are each process 1 of their own pid namespace once took each other for themselves: the number in a
# lock was their own, so every meeting on one key croaked as if a handler had interrupted its own call.

plan skip_all => 'needs root, and unshare of util-linux' if $> || system 'unshare -pf true 2>/dev/null';

use constant {WORKERS => 2, CALLS => 100_000};

my $name  = 'namespaces';
my $arena = Shared::Arena->create(name => $name, size => 64 * 1024);
my $map   = $arena->map('map', slots => 16);

my $worker = <<'WORKER';
    my ($name, $calls) = @ARGV;
    my $map = Shared::Arena->attach($name)->map('map', slots => 16);
    select undef, undef, undef, 0.001 until $map->exists('go');
    for my $call (1 .. $calls) {
        $map->store('key', "$$ $call");
        $map->incr('calls');
    }
    print $$;
WORKER

my @include = map {"-I$_"} grep { !ref } @INC;
my @pipes = map {
    open my $pipe, '-|', 'unshare', '-pf', $^X, @include, '-MShared::Arena', '-e', $worker, $name, CALLS or die "unshare: $!";
    $pipe;
} 1 .. WORKERS;
$map->store(go => 1);
is do { local $/; readline $_ }, 1, 'a worker that is process 1 of its namespace ran to its end' for @pipes;
is $map->counter('calls'), WORKERS * CALLS, 'every call counted';
my %verdict = $map->_verify;
ok $verdict{ok}, 'and nothing is lost' or diag $verdict{problem};
Shared::Arena->destroy($name);

done_testing;
