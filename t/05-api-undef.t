use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use TestArena;
use Test::More;

use Shared::Arena;

# undef as a key is the empty key, with perl's own warning; as a value it is a value.

my $arena = Shared::Arena->create;
my $map   = $arena->map('map', slots => 16);
my $rate  = $arena->rate('rate', limit => 2, window => 1000);

my %call = (
    store       => [sub { $map->store(undef, 'v') }, -1],
    fetch       => [sub { my @there = $map->fetch(undef); scalar @there }, 0],
    exists      => [sub { $map->exists(undef) ? 1 : 0 }, 0],
    delete      => [sub { $map->delete(undef) }, 0],
    incr        => [sub { $map->incr(undef) }, undef],
    counter     => [sub { $map->counter(undef) }, undef],
    remaining   => [sub { $rate->remaining(undef) }, 2],
    retry_after => [sub { $rate->retry_after(undef) }, 0],
    headers     => [sub { $rate->headers(undef)->{'RateLimit-Remaining'} }, 2],
    forget      => [sub { $rate->forget(undef) }, 0],
    reset       => [sub { $rate->reset(undef) }, 0],
    allow       => [sub { $rate->allow(undef) }, 1],
);

for my $method (sort keys %call) {
    subtest $method => sub {
        my ($code, $answer) = @{ $call{$method} };
        my $got;
        my @warnings = warnings_of { $got = $code->() };
        is $got, $answer, 'the answer is that of the empty key';
        is scalar(@warnings), 1, 'one warning';
        like $warnings[0], qr/\AUse of uninitialized value.* at \Q$0\E line \d+\.?\n\z/, "perl's own, at the caller's line" if @warnings;
        $rate->forget('');
    };
}

subtest 'the warning has its category' => sub {
    no warnings 'uninitialized';
    is_deeply [warnings_of { $map->fetch(undef); $rate->allow(undef); $map->store(undef, 1) }], [], 'and can be switched off';
    use warnings FATAL => 'uninitialized';
    ok !eval { $map->fetch(undef); 1 }, 'or made fatal';
    like $@, qr/\AUse of uninitialized value/, 'with the same text';
};

subtest 'a limiter takes the empty key as a key' => sub {
    $rate->forget('');
    no warnings 'uninitialized';
    ok $rate->allow(undef) && $rate->allow(''), 'two requests';
    ok !$rate->allow(''), 'out of one bucket';
    ok !$rate->allow(undef), 'under both names';
};

subtest 'undef as a value' => sub {
    my @warnings = warnings_of { is $map->store('u', undef), 1, 'is stored' };
    is_deeply \@warnings, [], 'without a warning';
    is_deeply [$map->fetch('u')], [undef], 'and fetched as one element';
    ok $map->exists('u'), 'exists';
    is $map->counter('u'), undef, 'is no counter';
    is $map->incr('u'), undef, 'and is not counted on';
    is_deeply [$map->fetch('u')], [undef], 'and still there';
    is $map->store('u', ''), 1, 'the empty string over it';
    is_deeply [$map->fetch('u')], [''], 'is another value';
    is $map->store('u', undef), 1, 'and back';
    is_deeply [$map->fetch('u')], [undef], 'to undef';
};

done_testing;
