use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use TestArena;
use Test::More;

use Shared::Arena;

# Sizes beyond 31, 32 and 64 bits work or are refused at once; no product wraps around into a small one.

my $arena = Shared::Arena->create(size => 100_000);

my @maps = (
    [2**31, 256], [2**31, 2**30], [2**31 + 1, 256], [2**32, 64], [2**32 + 1, 64], [2**33, 64], [2**33, 2**31], [2**63, 33], ['9223372036854775808', 64],
    ['18446744073709551615', 64], ['18446744073709551616', 64], ['18446744073709551617', 64], [2**58, 64], [2**58 + 1, 64], [2**34, 2**30], [2**27, 2**37],
    [1e19, 64], [1e300, 64], [1, 2**32 + 64], [1, 2**63], [1, '18446744073709551615'], [1000, 2**30], ['1' x 400, 64],
);

subtest 'maps' => sub {
    for my $shape (@maps) {
        my ($slots, $slot_size) = @$shape;
        my ($error) = in_child { return eval { $arena->map('m', slots => $slots, slot_size => $slot_size); 1 } ? 'made' : $@ } patience => 10;
        like $error, qr/\AShared::Arena.* at \Q$0\E line \d+\.?\n\z/s, "$slots x $slot_size";
    }
};

subtest 'limiters' => sub {
    for my $slots (2**31, 2**31 + 1, 2**32, 2**33, 2**60, 2**60 + 64, 2**63, '9223372036854775809', '18446744073709551615', 2**64) {
        croaks_like { $arena->rate('l', slots => $slots) } qr/Shared::Arena/, "$slots slots";
    }
};

subtest 'regions' => sub {
    for my $size (2**31, 2**32, 2**32 + 16, 2**40, 2**46) {
        is_deeply [$arena->region('r', size => $size)], [], "$size bytes do not fit";
    }
    for my $size (2**46 + 1, 2**63, '18446744073709551600', '18446744073709551615', 2**64) {
        croaks_like { $arena->region('r', size => $size) } qr/Shared::Arena.*size/s, "$size bytes make no sense";
    }
};

subtest 'named arenas' => sub {
    croaks_like { Shared::Arena->create(name => 'huge', size => 2**46) } qr/No space left|Cannot allocate|too large/, 'more than the machine has';
    croaks_like { Shared::Arena->create(name => 'huge', size => 2**46 + 1) } qr/size/, 'more than any';
    is_deeply [arena_files()], [], 'no file';
};

subtest 'anonymous arenas' => sub {
    # Should it try to reserve all that, it is the first that a system without memory ends, and it has not long.
    my ($error) = in_child {
        if (open my $score, '>', '/proc/self/oom_score_adj') { print {$score} 1000 }
        return eval { Shared::Arena->create(size => 2**46); 1 } ? 'made' : $@;
    } patience => 2;
    like $error, qr/\AShared::Arena.*(?:No space left|Cannot allocate|too large).* at \Q$0\E line \d+\.?\n\z/s, 'more than the machine has';
    croaks_like { Shared::Arena->create(size => 2**46 + 1) } qr/size/, 'more than any';
};

is_deeply [$arena->regions], [], 'nothing was carved';
ok $arena->map('m', slots => 100), 'and there is room as before';

subtest 'an arena past four gigabytes' => sub {
    plan skip_all => 'set ARENA_TEST_LARGE=1 for a test that takes 13 GB of memory' unless $ENV{ARENA_TEST_LARGE};
    my $large = Shared::Arena->create(size => 5 * 2**30, regions => 4);
    is_deeply [($large->region('low', size => 2**32 + 64))[1]], [2**32 + 64], 'a region past 32 bits';
    my $map = $large->map('high', slots => 1000);
    cmp_ok +($large->region('high'))[0], '>', 2**32, 'a map behind it';
    is $map->store('k', 'v'), 1, 'stores';
    $large->poke('low', 2**32 + 60, 'last');
    is $large->peek('low', 2**32 + 60, 4), 'last', 'poke and peek past 32 bits';
    is_deeply [$map->fetch('k')], ['v'], 'apart';
};

done_testing;
