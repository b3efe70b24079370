use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use TestArena;
use Test::More;

use Shared::Arena;

# However many processes ask for one key, and however large its limit is, they are allowed exactly the limit together.

# Ten years: nothing refills meanwhile.
my $window = 315_576_000;

sub share_ok {
    my ($processes, $limit, $calls, @slots) = @_;
    local $Test::Builder::Level = $Test::Builder::Level + 1;
    my $rate = Shared::Arena->create(size => 128 * 1024)->rate('l', limit => $limit, window => $window, @slots);
    my @answers = in_children($processes, sub { my $yes = 0; for (1 .. $calls) { $yes++ if $rate->allow('k') } return $yes });
    my $allowed = 0;
    $allowed += $_->[0] for @answers;
    is $allowed, $limit, "$processes processes are allowed exactly $limit together";
    my %stats = $rate->stats;
    is_deeply [@stats{qw(allowed denied evicted contended keys)}], [$limit, $processes * $calls - $limit, 0, 0, 1],
        'all their calls are counted, and no check gave up';
    cmp_ok abs($rate->remaining('k')), '<', 0.9, 'no whole request is left';
    return;
}

subtest 'sixteen processes' => sub {
    share_ok(16, 20,        2000);
    share_ok(16, 100_000,   10_000);
    share_ok(16, 1_000_000, 65_000);
    share_ok(16, 20,        2000, slots => 64);
};

subtest 'two hundred processes' => sub { share_ok(200, 5000, 50) };

subtest 'sixteen processes, a cost with a fraction' => sub {
    my $rate = Shared::Arena->create(size => 128 * 1024)->rate('l', limit => 1000, window => $window);
    my $allowed = 0;
    $allowed += $_->[0] for in_children(16, sub { return scalar grep { $rate->allow('k', 2.5) } 1 .. 100 });
    is $allowed, 400, 'is as exact';
};

subtest 'sixteen processes that ask and do not spend' => sub {
    # What one process sees goes down to nothing and never up, as nothing refills.
    my $rate = Shared::Arena->create(size => 128 * 1024)->rate('l', limit => 10_000, window => $window);
    my @wrong = map { @$_ } in_children(16, sub {
        my ($number) = @_;
        my ($last, @wrong) = (10_000);
        for (1 .. 2000) {
            if ($number < 8) { $rate->allow('k'); next }
            my $left = $rate->headers('k')->{'RateLimit-Remaining'};
            push @wrong, "$left after $last" if $left > $last;
            $last = $left;
        }
        return @wrong;
    });
    is_deeply \@wrong, [], 'see it only go down';
    is $rate->headers('k')->{'RateLimit-Remaining'}, 0, 'to nothing';
    is $rate->stats->{allowed}, 10_000, 'of which all was allowed';
};

done_testing;
