# What TestInstructions.pm runs under callgrind: each call so many times, then twice as many, with a mark after each.
# Prints the names of the calls in that order.
#
#   perl -Mblib xt/lib/calls-to-count.pl TIMES

use strict;
use warnings;

use Shared::Arena;

my ($times) = @ARGV;

# Few keys in large tables: two that meet in a group or a line are then rare.
my $slots = 16_384;
my @live   = map { sprintf 'user:%03d', $_ } 1 .. 64;
my @absent = map { sprintf 'none:%03d', $_ } 1 .. 64;
my $value  = 'v' x 32;
my $record = { name => 'Ada', city => 'London', year => 1815, tags => 'math', seen => 42 };

my $arena      = Shared::Arena->create(size => 40e6, regions => 8);
my $map        = $arena->map('values', slots => $slots, slot_size => 128);
my $counters   = $arena->map('counters', slots => $slots, slot_size => 64);
my $structures = $arena->map('structures', slots => 4096, slot_size => 512, serialise => 1);
my $used       = $arena->rate('used', limit => 1e6, window => 3e8, slots => 4 * $slots);
my $spent      = $arena->rate('spent', limit => 1, window => 3e8, slots => 4 * $slots);
for my $key (@live) {
    $map->store($key, $value);
    $counters->incr($key);
    $structures->store($key, $record);
    $used->allow($key, 5);
    $spent->allow($key);
}

# Somebody else's class has methods of the same names, which do nothing.
my $foreign = bless [], 'Foreign';
{
    no warnings 'once';
    *Foreign::fetch = \&Shared::Arena::_nothing;
}

my ($got, $one) = (0, 1);
my @calls = (
    'no call'              => sub { for my $key (@live) { $got = $one } },
    'an empty method'      => sub { for my $key (@live) { $got = $arena->_nothing($key) } },
    'fetch, not ours'      => sub { for my $key (@live) { $got = $foreign->fetch($key) } },
    'fetch, there'         => sub { for my $key (@live) { $got = $map->fetch($key) } },
    'fetch, not there'     => sub { for my $key (@absent) { $got = $map->fetch($key) } },
    'exists'               => sub { for my $key (@live) { $got = $map->exists($key) } },
    'store over'           => sub { for my $key (@live) { $got = $map->store($key, $value) } },
    'store with ttl'       => sub { for my $key (@live) { $got = $map->store($key, $value, ttl => 3600) } },
    'incr'                 => sub { for my $key (@live) { $got = $counters->incr($key) } },
    'incr by a step'       => sub { for my $key (@live) { $got = $counters->incr($key, 3) } },
    'counter'              => sub { for my $key (@live) { $got = $counters->counter($key) } },
    'allow, yes'           => sub { for my $key (@live) { $got = $used->allow($key) } },
    'allow, no'            => sub { for my $key (@live) { $got = $spent->allow($key) } },
    'remaining'            => sub { for my $key (@live) { $got = $used->remaining($key) } },
    'retry_after'          => sub { for my $key (@live) { $got = $used->retry_after($key) } },
    'retry_after, refused' => sub { for my $key (@live) { $got = $spent->retry_after($key) } },
    'store, a hash'        => sub { for my $key (@live) { $got = $structures->store($key, $record) } },
    'fetch, a hash'        => sub { for my $key (@live) { $got = $structures->fetch($key) } },
);

# Nothing else calls getppid.
sub mark { return getppid }

while (my ($name, $code) = splice @calls, 0, 2) {
    $code->() for 1 .. 4;
    for my $rounds (map { $_ * $times / @live } 1, 2) {
        mark();
        $code->() for 1 .. $rounds;
    }
    mark();
    print "$name\n";
}
