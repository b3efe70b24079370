use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib", "$FindBin::Bin/../t/lib";
use TestArena;
use TestEvidence;
use Test::More;

use Shared::Arena;

# Eight readers of one key that another process overwrites as fast as it can: ten million fetches, every one a hit.

my $readers = 8;
my $fetches = 5_000_000 / $readers;

watchdog(900);

for my $size (30, 4000) {
    subtest "values of about $size bytes" => sub {
        # Each letter has its length, so that neither bytes nor lengths of two values can be mixed.
        my @values = map { chr(65 + $_) x ($size - $_) } 0 .. 25;
        my %whole  = map { substr($_, 0, 1) => $_ } @values;
        my $map    = Shared::Arena->create->map('m', slots => 4, slot_size => $size + 64);
        $map->store('key', $values[0]);
        $map->incr('done', 0);
        my ($writer, @answers) = in_children(1 + $readers, sub {
            my ($number) = @_;
            if ($number == 0) {
                my $stores = 0;
                while ($map->counter('done') < $readers) { $map->store('key', $_) == 1 or die 'not stored' for @values; $stores += @values }
                return $stores;
            }
            my ($missed, $torn, $changes, $last) = (0, 0, 0, '');
            for (1 .. $fetches) {
                my ($value) = $map->fetch('key');
                if    (!defined $value)                                { $missed++ }
                elsif ($value ne ($whole{ substr $value, 0, 1 } // '')) { $torn++ }
                elsif ($value ne $last)                                { $changes++; $last = $value }
            }
            $map->incr('done');
            return ($missed, $torn, $changes);
        }, patience => 400);
        my ($missed, $torn, $changes) = (0, 0, 0);
        for (@answers) { $missed += $_->[0]; $torn += $_->[1]; $changes += $_->[2] }
        is $missed, 0, 'every fetch is a hit';
        is $torn, 0, 'and whole';
        is $map->stats->{busy}, 0, 'nobody gave up';
        cmp_ok $changes, '>', 100, 'while the value changed';
        intact_ok $map, 'whole';
        note "$writer->[0] stores, $changes of the fetches found another value than the one before";
    };
}

shown(2 * $readers * $fetches . " fetches of a key under constant stores: none missed, none torn, none gave up");

done_testing;
