package BenchStore::Hash;

# A hash of perl's, which one process has to itself; and for limits BenchLimiter::Hash, written in Perl.

use strict;
use warnings;

use parent -norequire, 'BenchStore';

use BenchLimiter;

sub name {'a Perl hash'}
sub used {'`$hash{$key}`, which no other process sees; limits are BenchLimiter::Hash (lib/BenchLimiter.pm).'}

sub new {
    my ($class) = @_;
    return bless {
        integers => { map { $_ => $BenchStore::Value } 1 .. 1000 },
        yes      => BenchLimiter::Hash->new(@BenchStore::Yes{qw(limit window)}),
        no       => BenchLimiter::Hash->new(@BenchStore::No{qw(limit window)}),
        full     => BenchLimiter::Hash->new(1e9, 1),    # full again in a nanosecond
    }, $class;
}

sub calls {
    my ($self) = @_;
    my ($yes, $no, $full) = @$self{qw(yes no full)};
    my (%hash, $got);
    my $value    = $BenchStore::Value;
    my %integers = %{ $self->{integers} };
    return (
        fetch         => sub { $got = $hash{$_} for @{ $_[0] }; return $got },
        exists        => sub { (exists $hash{$_}) || return for @{ $_[0] }; return 1 },
        exists_kept   => sub { $got = exists $hash{$_} for @{ $_[0] }; return $got },
        store         => sub { ++$value; $hash{$_} = $value for @{ $_[0] }; return 1 },
        incr          => sub { $got = ++$hash{$_} for @{ $_[0] }; return $got },
        counter       => sub { $got = $hash{$_} for @{ $_[0] }; return $got },
        fetch_integer => sub { $got = $integers{$_} for @{ $_[0] }; return $got },
        delete_store  => sub {
            for (@{ $_[0] }) { $got = delete $hash{$_}; $hash{$_} = $value }
            return $got;
        },
        spend      => sub { $got = $yes->allow($_, 500_000_000) for @{ $_[0] }; return $got },
        allow      => sub { $got = $yes->allow($_) for @{ $_[0] }; return $got },
        deny       => sub { $got = $no->allow($_) for @{ $_[0] }; return $got },
        allow_full => sub { $got = $full->allow($_) for @{ $_[0] }; return $got },
    );
}

1;
