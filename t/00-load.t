use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use TestArena;
use Test::More;

# One `use Shared::Arena` brings all three classes, at one version that satisfies programs written for older ones.

use_ok 'Shared::Arena', '0.09';

my %methods = (
    'Shared::Arena'       => [qw(create attach destroy region regions poke peek size created name base refused have_atomics map rate)],
    'Shared::Arena::Map'  => [qw(store fetch exists delete incr counter keys stats max_pair capacity serialised)],
    'Shared::Arena::Rate' => [qw(allow remaining retry_after headers reset forget stats slots)],
);

for my $class (sort keys %methods) {
    subtest $class => sub {
        can_ok $class, @{ $methods{$class} }, 'CLONE_SKIP';
        is $class->VERSION, Shared::Arena->VERSION, 'the version of the distribution';
        cmp_ok $class->VERSION, '>=', 0.900, 'which is 0.900 or later';
        ok $class->CLONE_SKIP, 'a new thread gets no live copy';
    };
}

subtest 'each class can be loaded by itself' => sub {
    quiet_perl_ok "use $_; Shared::Arena->create->map('m')->store('a', 1) == 1 or die", $_ for sort keys %methods;
};

subtest 'have_atomics is a function and a method' => sub {
    ok Shared::Arena::have_atomics(), 'function';
    ok(Shared::Arena->have_atomics, 'class method');
    ok(Shared::Arena->create->have_atomics, 'object method');
};

done_testing;
