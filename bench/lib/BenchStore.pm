package BenchStore;

# The stores that compare.pl and processes.pl set beside each other, one class each. `new` makes a store that is empty,
# and `calls` returns code by the name of the operation: it is called with a piece of keys, makes one call with each, and
# returns the last answer. A store has those operations for which it has something natural. `calls` is called once in
# each process. `name` heads the column, `used` says how the store is used, and `waits` is true where another process
# does the work, so that the process's own time would not tell what a call takes.

use strict;
use warnings;

our @Keys     = map {"key $_"} 1 .. 1000;
our @Counters = map {"counter $_"} 1 .. 1000;

# Every piece stores another value, the next string (`++$value`): some stores leave alone what stays the same.
our $Value  = 'a' x 32;
our %Record = (id => 42, name => 'alice', email => 'alice@example.com', score => 1.5, tags => [qw(a b c)]);

# The policy of limiters whose answer is yes: half of each bucket is spent, and a request comes back in 0.3 seconds. And
# of those whose answer is no: the one request comes back in nine years.
our %Yes = (limit => 1e9, window => 3e8);
our %No  = (limit => 1,   window => 3e8);

# A store of each of these kinds whose modules and programs are there, and which can be made.
sub present {
    my (@kinds) = @_;
    my @present;
    for my $kind (@kinds) {
        if (!eval "require BenchStore::$kind; 1") { die $@ if $@ !~ /\A(?:Can't locate (?!BenchStore)|There is no)/; next }
        my $store = eval { "BenchStore::$kind"->new };
        if ($store) { push @present, $store } else { warn "$kind takes no part: $@" }
    }
    return @present;
}

sub waits {0}

# How many calls processes.pl makes before it looks whether time is up.
sub lot {1000}

# The version of a module, for `used`.
sub version { my ($module) = @_; return "$module " . $module->VERSION }

1;
