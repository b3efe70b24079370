package BenchStore::Shareable;

# IPC::Shareable: tied hashes, each of them one frozen value in System V shared memory that every call reads or writes
# as a whole. So values and counters have a hash each.

use strict;
use warnings;

use parent -norequire, 'BenchStore';

use BenchScratch;
use IPC::Shareable;
use IPC::SysV 'IPC_RMID';

sub name {'IPC::Shareable'}
sub used {
    return BenchStore::version('IPC::Shareable') . ', a tied hash of 1,000 values and one of 1,000 counters, frozen by'
        . ' Storable; `incr` between `lock` and `unlock`.';
}

sub new {
    my ($class) = @_;
    my @options = (create => 1, exclusive => 1, size => 1 << 17);
    my ($values, $counters) = map { IPC::Shareable->new(@options, key => "bench $$ $_") } 'values', 'counters';
    my @tied = (tied %$values, tied %$counters);
    BenchScratch->new(at_end => sub {
        for (@tied) { shmctl $_->seg->id, IPC_RMID, 0; semctl $_->sem->id, 0, IPC_RMID, 0 }
    });
    return bless { values => $values, counters => $counters }, $class;
}

sub calls {
    my ($self) = @_;
    my ($values, $counters) = @$self{qw(values counters)};
    my $value = $BenchStore::Value;
    my $lock  = tied %$counters;
    return (
        fetch   => sub { my $got; $got = $values->{$_}        for @{ $_[0] }; return $got },
        exists  => sub { (exists $values->{$_}) || return for @{ $_[0] }; return 1 },
        store   => sub { ++$value; $values->{$_} = $value for @{ $_[0] }; return 1 },
        counter => sub { my $got; $got = $counters->{$_}      for @{ $_[0] }; return $got },
        incr    => sub {
            my $got;
            for (@{ $_[0] }) { $lock->lock; $got = ++$counters->{$_}; $lock->unlock }
            return $got;
        },
    );
}

1;
