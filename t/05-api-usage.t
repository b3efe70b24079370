use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use TestArena;
use Test::More;

use Shared::Arena;

# Too few or too many arguments: a croak that shows the usage, at the caller's line.

my $arena = Shared::Arena->create;
my $map   = $arena->map('map', slots => 16);
my $rate  = $arena->rate('rate');

my %too_few = (
    'attach'      => sub { Shared::Arena->attach },
    'destroy'     => sub { Shared::Arena->destroy },
    'region'      => sub { $arena->region },
    'poke'        => sub { $arena->poke('r', 0) },
    'peek'        => sub { $arena->peek('r', 0) },
    'map'         => sub { $arena->map },
    'rate'        => sub { $arena->rate },
    'store'       => sub { $map->store('k') },
    'fetch'       => sub { $map->fetch },
    'exists'      => sub { $map->exists },
    'delete'      => sub { $map->delete },
    'incr'        => sub { $map->incr },
    'counter'     => sub { $map->counter },
    'allow'       => sub { $rate->allow },
    'remaining'   => sub { $rate->remaining },
    'retry_after' => sub { $rate->retry_after },
    'headers'     => sub { $rate->headers },
    'reset'       => sub { $rate->reset },
    'forget'      => sub { $rate->forget },
);

my %too_many = (
    'attach'      => sub { Shared::Arena->attach('a', 1) },
    'destroy'     => sub { Shared::Arena->destroy('a', 1) },
    'regions'     => sub { $arena->regions(1) },
    'poke'        => sub { $arena->poke('r', 0, 'x', 1) },
    'peek'        => sub { $arena->peek('r', 0, 1, 1) },
    'size'        => sub { $arena->size(1) },
    'created'     => sub { $arena->created(1) },
    'name'        => sub { $arena->name(1) },
    'base'        => sub { $arena->base(1) },
    'refused'     => sub { $arena->refused(1) },
    'fetch'       => sub { $map->fetch('k', 1) },
    'exists'      => sub { $map->exists('k', 1) },
    'delete'      => sub { $map->delete('k', 1) },
    'counter'     => sub { $map->counter('k', 1) },
    'keys'        => sub { $map->keys(1) },
    'stats'       => sub { $map->stats(1) },
    'max_pair'    => sub { $map->max_pair(1) },
    'capacity'    => sub { $map->capacity(1) },
    'serialised'  => sub { $map->serialised(1) },
    'allow'       => sub { $rate->allow('k', 1, 1) },
    'remaining'   => sub { $rate->remaining('k', 1, 1) },
    'retry_after' => sub { $rate->retry_after('k', 1, 1) },
    'headers'     => sub { $rate->headers('k', 1, 1) },
    'reset'       => sub { $rate->reset('k', 1) },
    'forget'      => sub { $rate->forget('k', 1) },
    'rate stats'  => sub { $rate->stats(1) },
    'slots'       => sub { $rate->slots(1) },
);

for (['too few', \%too_few], ['too many', \%too_many]) {
    my ($title, $calls) = @$_;
    subtest "$title arguments" => sub {
        for my $name (sort keys %$calls) {
            my $method = (split / /, $name)[-1];
            my $code   = $calls->{$name};
            ok !eval { $code->(); 1 }, $name;
            like $@, qr/\AUsage: .*\Q$method\E.* at \Q$0\E line \d+\.?\n\z/s, "$name shows the usage";
        }
    };
}

is_deeply [$map->keys], [], 'nothing happened to the map';
is $rate->stats->{allowed}, 0, 'nothing happened to the limiter';

done_testing;
