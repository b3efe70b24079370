use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use TestArena;
use TestDamage;
use Test::More;

# Random bytes of an arena are overwritten, before it is opened or while it is in use. Every call then gives a value,
# a miss or an error: no crash, no endless loop.

my $first = $ENV{ARENA_TEST_SEED} || 1;

TestDamage::prepare();
for my $block (0 .. 4) {
    my @seeds = map { $first + $block * 100 + $_ } 0 .. 99;
    my @bad = TestDamage::survive(@seeds);
    is_deeply \@bad, [], "seeds $seeds[0] to $seeds[-1]";
}

subtest 'a file cut short while it is mapped nowhere' => sub {
    my $bytes = TestDamage::image();
    for my $length (0, 1, 64, 191, 192, 256, int(length($bytes) / 2), length($bytes) - 1) {
        write_file(arena_path('damaged'), substr $bytes, 0, $length);
        my ($error) = in_child { return eval { Shared::Arena->attach('damaged'); 1 } ? 'lived' : $@ } patience => 5;
        like $error, qr/Shared::Arena.*damaged/s, "$length bytes are refused";
    }
};

TestDamage::finish();

done_testing;
