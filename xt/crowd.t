use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/../t/lib";
use TestArena;
use Test::More;

use Shared::Arena;

# Two hundred processes on one key.

watchdog(600);

subtest 'counting' => sub {
    my $map = Shared::Arena->create->map('m', slots => 8);
    in_children(200, sub { $map->incr('hot') for 1 .. 5000; return }, patience => 300);
    is $map->counter('hot'), 1_000_000, 'lose nothing';
    intact_ok $map, 'whole';
};

subtest 'storing' => sub {
    my $map = Shared::Arena->create->map('m', slots => 8, slot_size => 300);
    my @wrong = map { @$_ } in_children(200, sub {
        my ($number) = @_;
        my @wrong;
        for my $n (1 .. 500) {
            $map->store('k', chr(33 + $number % 90) x (1 + $n % 250)) == 1 or push @wrong, 'not stored';
            my $value = $map->fetch('k');
            push @wrong, $value if defined $value && $value !~ /\A(.)\1*\z/s;
        }
        return @wrong;
    }, patience => 300);
    is_deeply \@wrong, [], 'tear nothing';
    intact_ok $map, 'whole';
};

subtest 'asking a limiter' => sub {
    my $rate = Shared::Arena->create->rate('l', limit => 12_345, window => 1e8, slots => 64);
    my $allowed = 0;
    $allowed += $_->[0] for in_children(200, sub { return scalar grep { $rate->allow('k') } 1 .. 1000 }, patience => 300);
    is $allowed, 12_345, 'are allowed exactly the limit';
    is $rate->stats->{contended}, 0, 'and none is let through uncounted';
};

done_testing;
