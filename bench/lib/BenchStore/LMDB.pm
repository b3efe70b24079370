package BenchStore::LMDB;

# LMDB_File: a B-tree in a mapped file, with transactions. Each call is a transaction, so that others see what it wrote,
# and it sees what others wrote. As LMDB_File has one transaction for a database at a time, and one that is kept makes
# reading faster, we read from one database and write to another.

use strict;
use warnings;

use parent -norequire, 'BenchStore';

use BenchScratch;
use LMDB_File qw(MDB_NOSYNC MDB_NOTLS MDB_RDONLY MDB_WRITEMAP);

my @Kept;    # transactions, which must end before their databases go
END { $_->abort for @Kept }

sub name {'LMDB_File'}
sub used {
    return BenchStore::version('LMDB_File') . ', in a memory file system, MDB_NOSYNC and MDB_WRITEMAP; each read renews'
        . ' a transaction that is kept, each write is a transaction that is committed.';
}

sub new {
    my ($class) = @_;
    $LMDB_File::die_on_err = 0;    # or a miss would die
    my %self = map {
        my $environment = LMDB::Env->new(BenchScratch->new->directory,
            { mapsize => 64 << 20, flags => MDB_NOSYNC | MDB_WRITEMAP | MDB_NOTLS });
        my $begin  = $environment->BeginTxn;
        my $handle = $begin->open;
        $begin->put($handle, $_, $BenchStore::Value) for @BenchStore::Keys;
        $begin->put($handle, $_, 2) for @BenchStore::Counters;
        $begin->commit;
        ($_ => [$environment, $handle]);
    } qw(read write);
    return bless \%self, $class;
}

sub calls {
    my ($self) = @_;
    my ($to_read,  $source) = @{ $self->{read} };
    my ($to_write, $target) = @{ $self->{write} };
    my $value = $BenchStore::Value;
    my $read  = $to_read->BeginTxn(MDB_RDONLY);
    push @Kept, $read;
    my ($got, $absent, $write);
    my $get = sub {
        for (@{ $_[0] }) { $read->renew; $absent = $read->get($source, $_, $got) }
        return $absent ? undef : $got;
    };
    return (
        fetch   => $get,
        counter => $get,
        exists  => sub { return defined $get->(@_) },
        store   => sub {
            ++$value;
            for (@{ $_[0] }) { $write = $to_write->BeginTxn; $write->put($target, $_, $value); $write->commit }
            return 1;
        },
        incr => sub {
            for (@{ $_[0] }) {
                $write = $to_write->BeginTxn;
                $got = 0 if $write->get($target, $_, $got);
                $write->put($target, $_, ++$got);
                $write->commit;
            }
            return $got;
        },
        delete_store => sub {
            for (@{ $_[0] }) {
                $write = $to_write->BeginTxn; $write->del($target, $_, undef); $write->commit;
                $write = $to_write->BeginTxn; $write->put($target, $_, $value); $write->commit;
            }
            return 1;
        },
    );
}

1;
