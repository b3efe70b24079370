use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use TestArena;
use Test::More;

use Shared::Arena;

# A writer that is stopped at any moment delays no reader and another writer only for a bounded time, and goes on afterwards as if nothing had been.

my $map = Shared::Arena->create(size => 1 << 20)->map('m', slots => 4, slot_size => 4200);
$map->store('k', 'A' x 4000);
$map->incr('n');

my $writer = spawn(sub { for (my $n = 0;; $n++) { $map->store('k', (qw(A B))[$n % 2] x 4000); $map->incr('n') } }, 100);

my @problems;
for my $round (1 .. 150) {
    select undef, undef, undef, 0.0005 + rand 0.002;
    kill STOP => $writer;
    my ($answer) = in_child {
        my @wrong;
        for (1 .. 20) {
            my @there = $map->fetch('k');
            push @wrong, 'a miss' if !@there;
            push @wrong, 'torn' if @there && $there[0] !~ /\A(?:A{4000}|B{4000})\z/;
            push @wrong, 'does not exist' if !$map->exists('k');
        }
        $map->keys;
        $map->stats;
        $map->incr('n');
        # Another writer may have to wait for the stopped one, but not without end: it stores, or croaks.
        Shared::Arena::_lock_patience(0.02);
        my $stored = eval { $map->store('other', 'v') };
        push @wrong, "store: $@" if !$stored && $@ !~ /\AShared::Arena::Map.* at \Q$0\E line \d+/s;
        return "@wrong";
    } patience => 4;
    push @problems, "round $round: " . (defined $answer ? $answer : 'no answer') if !defined $answer || $answer ne '';
    kill CONT => $writer;
    last if @problems > 2;
}
kill KILL => $writer;
reap($writer);
is_deeply \@problems, [], 'readers, and increments of a counter that exists, go on beside a stopped writer';

$map->store('k', 'C');
is_deeply [$map->fetch('k')], ['C'], 'the key can be stored';
intact_ok $map, 'whole';

done_testing;
