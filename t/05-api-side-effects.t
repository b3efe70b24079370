use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use TestArena;
use TestMagic;
use Test::More;

use Shared::Arena;

# Reading an argument may run any code: calls on the same map, changes to the other arguments, the end of the object itself.
# Arguments become bytes before any lock is taken, so the outcome is an answer or a croak, never a hang or a crash.

my $arena = Shared::Arena->create;

subtest 'a key that counts on the same map while it is read' => sub {
    my $map = $arena->map('nested', slots => 16);
    my $key = text_object('k', sub { $map->incr('n') });
    is $map->store($key, 1), 1, 'stored';
    is $map->counter('n'), 1, 'the nested call counted';
    is_deeply [$map->fetch($key)], [1], 'fetched';
    is $map->incr(text_object('c', sub { $map->incr('c') })), 2, 'two increments on one key, one inside the other';
    is $map->store('k', text_object('v', sub { $map->delete('k') })), 1, 'a value that deletes the key';
    is_deeply [$map->fetch('k')], ['v'], 'before it is stored';
    is $map->delete(text_object('k', sub { $map->store('k', 'again') })), 1, 'a key that stores itself is deleted';
    ok !$map->exists('k'), 'for good';
    is_deeply [sort $map->keys], ['c', 'n'], 'the rest stands';
    intact_ok $map, 'every buffer is where it should be';
};

subtest 'a limiter key that spends while it is read' => sub {
    my $rate = $arena->rate('nested rate', limit => 3, window => 10_000, slots => 64);
    ok $rate->allow(text_object('k', sub { $rate->allow('k') })), 'allowed';
    is int($rate->remaining('k') + 0.1), 1, 'both have paid';
    my $headers = $rate->headers(text_object('k', sub { $rate->allow('k') }), text_object(1, sub { $rate->allow('k') }));
    is $headers->{'RateLimit-Remaining'}, 0, 'headers are of the moment after its arguments were read';
    ok $headers->{'Retry-After'} > 0, 'all of them';
};

subtest 'an argument that changes another' => sub {
    my $map = $arena->map('others', slots => 16, slot_size => 4096);
    for my $change (sub { $_[0] = 'short' }, sub { $_[0] = 'x' x 2000 }, sub { undef $_[0] }, sub { $_[0] .= "\x{263A}" }, sub { $_[0] = [1] }) {
        my $value = 'v' x 1000;
        my $key   = tied_value('k', sub { $change->($value) });
        no warnings 'uninitialized';
        is $map->store($$key, $value), 1, 'the key changes the value';
        my ($there) = $map->fetch('k');
        utf8::encode(my $changed = "$value");
        ok !defined $there || $there eq 'v' x 1000 || $there eq $value || $there eq $changed, 'stored whole, before or after the change';

        my $plain = 'p' x 100;
        my $other = tied_value('v', sub { $change->($plain) });
        ok defined $map->store($plain, $$other), 'the value changes the key';
    }
    intact_ok $map, 'every buffer is where it should be';
};

subtest 'an option that dies' => sub {
    my $map = $arena->map('dies', slots => 16);
    my $bad = text_object('x', sub { die "no value today\n" });
    for my $case (
        [key    => sub { $map->store($bad, 1) }],
        [value  => sub { $map->store('k', $bad) }],
        [ttl    => sub { $map->store('k', 1, ttl => $bad) }],
        [by     => sub { $map->incr('k', $bad) }],
        [slots  => sub { $arena->map('unmade', slots => $bad) }],
        [size   => sub { Shared::Arena->create(name => 'unmade', size => $bad) }],
    ) {
        ok !eval { $case->[1]->(); 1 }, $case->[0];
        is $@, "no value today\n", "the argument's own message";
    }
    is_deeply [$map->keys], [], 'nothing was stored';
    ok !(grep { $_ eq 'unmade' } $arena->regions), 'nothing was carved';
};

# In a perl of their own, since the danger is a crash. Each line may croak, but must end the program well.
my %end = (
    'a key that releases the map'          => 'my $key = tied_value("k", sub { undef $map });                 $map->$method($$key, 1)',
    'a key that removes the map from its place' => 'my %h = (map => $map); undef $map; my $key = tied_value("k", sub { delete $h{map} }); $h{map}->$method($$key, 1)',
    'a key that calls DESTROY'             => 'my $key = text_object("k", sub { $map->DESTROY });             $map->$method($key, 1)',
    'a value that releases the map'        => 'my $value = tied_value("v", sub { undef $map; undef $arena }); $map->$method("k", $$value)',
    'a key that replaces the map'          => 'my $key = tied_value("k", sub { $map = $arena->map("other", slots => 4) }); $map->$method($$key, 1)',
    'a key that reblesses the map'         => 'my $key = tied_value("k", sub { bless $map, "Elsewhere" });    $map->$method($$key, 1)',
);
for my $name (sort keys %end) {
    subtest $name => sub {
        for my $method (qw(store incr fetch delete)) {
            (my $call = $end{$name}) =~ s/\$method/$method/;
            $call =~ s/, 1\)\z/)/ if $method =~ /fetch|delete/ && $call !~ /value/;
            next if $method =~ /fetch|delete/ && $call =~ /value/;
            quiet_perl_ok <<"END", $method;
use strict; use warnings; use lib '$FindBin::Bin/lib'; use TestMagic; use Shared::Arena;
my \$arena = Shared::Arena->create; my \$map = \$arena->map('m', slots => 4);
for (1 .. 3) { eval { $call }; \$arena ||= Shared::Arena->create; \$map = \$arena->map('m', slots => 4) }
\$map->store('k', 1) == 1 or die 'not usable afterwards';
END
        }
    };
}

done_testing;
