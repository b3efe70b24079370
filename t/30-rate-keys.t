use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use TestArena;
use Test::More;

use Shared::Arena;

# Which bucket a key has: one of its own, the same for every process, in a place that nobody can choose.

my $slots = 4096;    # 64 groups of 64 slots

sub limiter { my ($arena, $name, %option) = @_; return $arena->rate($name, limit => 1000, window => 3e8, slots => $slots, %option) }

# Keys that meet in one group of slots, found as somebody could who may ask this arena's limiters whatever he likes: with
# a table full of keys that have spent all, the one that is asked next takes the place of the last that asked for little.
sub meeting_keys {
    my ($rate, $count) = @_;
    $rate->allow("filler $_", 1000) for 1 .. 20_000;
    my ($bait, @meeting) = 'bait';
    for (my $n = 0; @meeting < $count && $n < 100_000; $n++) {
        $rate->allow($bait, 1) if $rate->remaining($bait) == 1000;
        $rate->allow("candidate $n", 2);
        push @meeting, "candidate $n" if $rate->remaining($bait) == 1000;
        $rate->forget("candidate $n");
        $rate->allow("filler again $n", 1000);
    }
    return @meeting;
}

subtest 'keys chosen against one arena' => sub {
    set_clock(undef, 1000);
    my $watched = Shared::Arena->create(size => 512 * 1024);
    my @keys = meeting_keys(limiter($watched, 'watched'), 130);
    my $again = limiter($watched, 'again');
    $again->allow($_) for @keys;
    is $again->stats->{evicted}, 130 - 64, 'meet in that arena: there are 64 slots for all of them';
    for my $other (1 .. 5) {
        my $rate = limiter(Shared::Arena->create(size => 512 * 1024), 'l');
        $rate->allow($_) for @keys;
        my %stats = $rate->stats;
        is_deeply [@stats{qw(keys evicted)}], [130, 0], 'and go their ways in another';
    }
    real_clock();
};

subtest 'arenas are seeded apart' => sub {
    # By far more than chance: which of a hundred keys give way in a table of 64 is another set each time.
    set_clock(undef, 1000);
    my %lost;
    for (1 .. 20) {
        my $rate = Shared::Arena->create(size => 4096, regions => 1)->rate('l', limit => 5, window => 3e8, slots => 64);
        $rate->allow("key $_") for 1 .. 100;
        $lost{ join ' ', grep { $rate->remaining("key $_") == 5 } 1 .. 100 }++;
    }
    is scalar(keys %lost), 20, 'in each of twenty';
    real_clock();
};

subtest 'processes that attach by name' => sub {
    my $arena = Shared::Arena->create(name => 'shared', size => 512 * 1024);
    my $rate  = $arena->rate('l', limit => 8, window => 3e8);
    my @keys  = ('a', '', "\0", "caf\xE9", 'x' x 1000, map {"key $_"} 1 .. 200);
    $rate->allow($_, 2) for @keys;
    my $program = <<'END';
my $rate = Shared::Arena->attach('shared')->rate('l', limit => 8, window => 3e8);
my @keys = ('a', '', "\0", "caf\xE9", 'x' x 1000, map {"key $_"} 1 .. 200);
print join ' ', map { int($rate->remaining($_) + 1e-6) } @keys;
$rate->allow($_, 3) or die "$_\n" for @keys;
END
    for my $left (6, 3) {
        my $run = run_perl("use strict; use warnings; use Shared::Arena; $program");
        is $run->{err}, '', 'a perl of its own';
        is $run->{out}, join(' ', ($left) x @keys), "finds each key's bucket, with $left left";
    }
    is_deeply [grep { $rate->headers($_)->{'RateLimit-Remaining'} != 0 || $rate->allow($_) } @keys], [], 'and what it spent is spent';
    is $rate->stats->{keys}, scalar(@keys), 'out of one bucket a key';
    Shared::Arena->destroy('shared');
};

subtest 'keys that differ in anything' => sub {
    my $base = join '', map { chr($_ * 37 & 255) } 1 .. 100;
    my %keys = map { $_ => 1 } $base;
    for my $bit (0 .. 8 * length($base) - 1) { my $key = $base; vec($key, $bit, 1) ^= 1; $keys{$key} = 1 }
    $keys{ substr $base, 0, $_ } = $keys{ substr $base, $_ } = 1 for 0 .. length $base;
    for my $at (0 .. length($base) - 2) { my $key = $base; substr $key, $at, 2, reverse substr $key, $at, 2; $keys{$key} = 1 }
    $keys{"\0" x $_} = $keys{'a' x $_} = $keys{ 'a' x $_ . "\0" } = 1 for 0 .. 300;
    $keys{$_} = 1 for map { (lc, uc, ucfirst, " $_", "$_ ", "$_\n", "0$_", "+$_", "$_.0") } 'user', 'User Name', 1, 10, '1e1', '10.0.0.1', '::1';
    $keys{ pack 'Q', 1 << $_ } = $keys{ pack 'Q2', 1 << $_, 1 << 63 - $_ } = 1 for 0 .. 63;
    $keys{ 'x' x 100_000 . $_ } = 1 for 'a' .. 'z';
    my @keys = sort keys %keys;
    my $rate = Shared::Arena->create(size => 512 * 1024)->rate('l', limit => 2, window => 3e8, slots => 16_384);
    is scalar(grep { $rate->allow($_, 2) } @keys), scalar(@keys), 'have ' . @keys . ' buckets, each of which is full';
    is scalar(grep { $rate->allow($_) } @keys), 0, 'and then is empty';
    my %stats = $rate->stats;
    is_deeply [@stats{qw(keys evicted)}], [scalar(@keys), 0], 'and all are there';
};

done_testing;
