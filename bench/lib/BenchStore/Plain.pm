package BenchStore::Plain;

# The same store through calls that no compiler can tell from any other: the method is looked up beforehand.

use strict;
use warnings;

use BenchStore::Arena;
use parent -norequire, 'BenchStore::Arena';

sub name {'as a plain method'}
sub used {'The same by `my $code = $map->can(\'fetch\'); $map->$code($key)`, which is a method call whatever happens.'}

sub calls {
    my ($self) = @_;
    my ($map, $lapsing, $integers, $structures, $yes, $no, $full)
        = @$self{qw(map lapsing integers structures yes no full)};
    my ($value, $record) = ($BenchStore::Value, {%BenchStore::Record});
    my ($fetch, $exists, $store, $incr, $counter, $delete)
        = map { $map->can($_) } qw(fetch exists store incr counter delete);
    my ($allow, $remaining, $retry_after) = map { $yes->can($_) } qw(allow remaining retry_after);
    return (
        fetch         => sub { my $got; $got = $map->$fetch($_) for @{ $_[0] }; return $got },
        exists        => sub { $map->$exists($_) || return for @{ $_[0] }; return 1 },
        exists_kept   => sub { my $got; $got = $map->$exists($_) for @{ $_[0] }; return $got },
        store         => sub { my $got; ++$value; $got = $map->$store($_, $value) for @{ $_[0] }; return $got },
        incr          => sub { my $got; $got = $map->$incr($_) for @{ $_[0] }; return $got },
        counter       => sub { my $got; $got = $map->$counter($_) for @{ $_[0] }; return $got },
        store_ttl     => sub { my $got; ++$value; $got = $lapsing->$store($_, $value, ttl => 60) for @{ $_[0] }; return $got },
        incr_ttl      => sub { my $got; $got = $map->$incr($_, 2, ttl => 60) for @{ $_[0] }; return $got },
        fetch_integer => sub { my $got; $got = $integers->$fetch($_) for @{ $_[0] }; return $got },
        delete_store  => sub {
            my $got;
            for (@{ $_[0] }) { $got = $map->$delete($_); $got = $map->$store($_, $value) }
            return $got;
        },
        store_record => sub { my $got; $got = $structures->$store($_, $record) for @{ $_[0] }; return $got },
        fetch_lapsing => sub { my $got; $got = $lapsing->$fetch($_) for @{ $_[0] }; return $got },
        fetch_record => sub { my $got; $got = $structures->$fetch($_) for @{ $_[0] }; return $got },
        allow        => sub { my $got; $got = $yes->$allow($_) for @{ $_[0] }; return $got },
        deny         => sub { my $got; $got = $no->$allow($_) for @{ $_[0] }; return $got },
        allow_full   => sub { my $got; $got = $full->$allow($_) for @{ $_[0] }; return $got },
        remaining    => sub { my $got; $got = $yes->$remaining($_) for @{ $_[0] }; return $got },
        retry_after  => sub { my $got; $got = $yes->$retry_after($_) for @{ $_[0] }; return $got },
        retry_refused => sub { my $got; $got = $no->$retry_after($_) for @{ $_[0] }; return $got },
    );
}

1;
