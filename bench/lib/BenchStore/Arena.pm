package BenchStore::Arena;

# Shared::Arena, by method calls as programs have them: such call sites may be compiled into something faster.

use strict;
use warnings;

use parent -norequire, 'BenchStore';

use BenchLimiter;
use Shared::Arena;

sub name {'Shared::Arena'}
sub used { return BenchStore::version('Shared::Arena') . ', `$map->fetch($key)`: method calls as one writes them.' }

# All objects stand for the same store, so that two ways of calling it work on the same memory.
my $only;

sub new { my ($class) = @_; return bless { %{ $only ||= _make() } }, $class }

sub _make {
    my $arena    = Shared::Arena->create(size => 4 * 1024 * 1024);
    my @shape    = (slots => 3000, slot_size => 80);
    my $integers = $arena->map('integers', @shape);
    $integers->store($_, $BenchStore::Value) for 1 .. 1000;
    return {
        map        => $arena->map('map', @shape),
        lapsing    => $arena->map('lapsing', @shape),    # by itself: a deadline is looked at by every fetch
        integers   => $integers,
        structures => $arena->map('structures', slots => 1500, slot_size => 160, serialise => 1),
        yes        => $arena->rate('yes', %BenchStore::Yes),
        no         => $arena->rate('no',  %BenchStore::No),
        full       => BenchLimiter::limiter('fleeting', 4096),
    };
}

sub calls {
    my ($self) = @_;
    my ($map, $lapsing, $integers, $structures, $yes, $no, $full)
        = @$self{qw(map lapsing integers structures yes no full)};
    my ($value, $record) = ($BenchStore::Value, {%BenchStore::Record});
    return (
        fetch         => sub { my $got; $got = $map->fetch($_) for @{ $_[0] }; return $got },
        exists        => sub { $map->exists($_) || return for @{ $_[0] }; return 1 },
        exists_kept   => sub { my $got; $got = $map->exists($_) for @{ $_[0] }; return $got },
        store         => sub { my $got; ++$value; $got = $map->store($_, $value) for @{ $_[0] }; return $got },
        incr          => sub { my $got; $got = $map->incr($_) for @{ $_[0] }; return $got },
        counter       => sub { my $got; $got = $map->counter($_) for @{ $_[0] }; return $got },
        store_ttl     => sub { my $got; ++$value; $got = $lapsing->store($_, $value, ttl => 60) for @{ $_[0] }; return $got },
        incr_ttl      => sub { my $got; $got = $map->incr($_, 2, ttl => 60) for @{ $_[0] }; return $got },
        fetch_integer => sub { my $got; $got = $integers->fetch($_) for @{ $_[0] }; return $got },
        delete_store  => sub {
            my $got;
            for (@{ $_[0] }) { $got = $map->delete($_); $got = $map->store($_, $value) }
            return $got;
        },
        store_record => sub { my $got; $got = $structures->store($_, $record) for @{ $_[0] }; return $got },
        fetch_lapsing => sub { my $got; $got = $lapsing->fetch($_) for @{ $_[0] }; return $got },
        fetch_record => sub { my $got; $got = $structures->fetch($_) for @{ $_[0] }; return $got },
        spend        => sub { my $got; $got = $yes->allow($_, 5e8) for @{ $_[0] }; return $got },
        allow        => sub { my $got; $got = $yes->allow($_) for @{ $_[0] }; return $got },
        deny         => sub { my $got; $got = $no->allow($_) for @{ $_[0] }; return $got },
        allow_full   => sub { my $got; $got = $full->allow($_) for @{ $_[0] }; return $got },
        remaining    => sub { my $got; $got = $yes->remaining($_) for @{ $_[0] }; return $got },
        retry_after  => sub { my $got; $got = $yes->retry_after($_) for @{ $_[0] }; return $got },
        retry_refused => sub { my $got; $got = $no->retry_after($_) for @{ $_[0] }; return $got },
        mix          => sub {
            my $got;
            my $turn = 0;
            ++$value;
            for (@{ $_[0] }) { $got = ++$turn % 10 ? $map->fetch($_) : $map->store($_, $value) }
            return $got;
        },
    );
}

# How often calls gave up, and how often the limiter has answered.
sub gave_up  { my ($self) = @_; return $self->{map}->stats->{busy} + $self->{yes}->stats->{contended} }
sub answered { my ($self) = @_; return $self->{yes}->stats }

1;
