package BenchStore::SharedMem;

# Hash::SharedMem: a tree in files that are mapped into memory, changed by copying a path of it.

use strict;
use warnings;

use parent -norequire, 'BenchStore';

use BenchScratch;
use Hash::SharedMem qw(shash_cset shash_exists shash_get shash_open shash_set);

sub name {'Hash::SharedMem'}
sub used {
    return BenchStore::version('Hash::SharedMem') . ', in a memory file system; `incr` by `shash_cset`, as its'
        . ' documentation shows.';
}

sub new {
    my ($class) = @_;
    my $scratch = BenchScratch->new;
    return bless { hash => shash_open($scratch->directory . '/hash', 'rwc') }, $class;
}

sub calls {
    my ($self) = @_;
    my ($hash, $value) = ($self->{hash}, $BenchStore::Value);
    my ($got, $old);
    return (
        fetch   => sub { $got = shash_get($hash, $_)    for @{ $_[0] }; return $got },
        exists  => sub { shash_exists($hash, $_) || return for @{ $_[0] }; return 1 },
        store   => sub { ++$value; shash_set($hash, $_, $value) for @{ $_[0] }; return 1 },
        counter => sub { $got = shash_get($hash, $_)    for @{ $_[0] }; return $got },
        incr    => sub {
            for (@{ $_[0] }) {
                do { $old = shash_get($hash, $_); $got = ($old || 0) + 1 } until shash_cset($hash, $_, $old, $got);
            }
            return $got;
        },
        delete_store => sub {
            for (@{ $_[0] }) { shash_set($hash, $_, undef); shash_set($hash, $_, $value) }
            return 1;
        },
        mix => sub {
            my $turn = 0;
            ++$value;
            for (@{ $_[0] }) { $got = ++$turn % 10 ? shash_get($hash, $_) : shash_set($hash, $_, $value) }
            return 1;
        },
    );
}

1;
