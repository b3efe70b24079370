use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use TestArena;
use TestModel;
use Test::More;

use Shared::Arena;

# Random calls beside a plain hash: every answer and every figure of the statistics agrees.

my $seed = $ENV{ARENA_TEST_SEED} || 1;

for my $round ($seed .. $seed + 7) {
    my ($slots, $names, $deadlines) = @{ [[4, 6, 0], [16, 12, 0], [50, 80, 0], [200, 150, 0], [4, 6, 1], [16, 24, 1], [50, 80, 1], [200, 300, 1]]->[$round % 8] };
    subtest "$slots slots, $names keys, " . ($deadlines ? 'with' : 'without') . " deadlines, seed $round" => sub {
        srand $round;
        my $map   = Shared::Arena->create->map('m', slots => $slots, slot_size => 96);
        my $model = TestModel->new($map, slots => $slots, names => $names, deadlines => $deadlines);
        for my $block (1 .. 10) {
            my @wrong = $model->run(500);
            is_deeply \@wrong, [], "calls and figures of block $block" or last;
        }
        real_clock();
    };
}

done_testing;
