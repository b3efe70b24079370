package BenchStore::Nothing;

# The measure of all others: a method written in C that does nothing, called with a key.

use strict;
use warnings;

use parent -norequire, 'BenchStore';

use Shared::Arena;

sub name {'an empty call'}
sub used {'`$nothing->noop($key)`, a method written in C that returns an empty list.'}

*BenchStore::Nothing::Object::noop = \&Shared::Arena::_nothing;

sub new { my ($class) = @_; return bless {}, $class }

sub calls {
    my $nothing = bless [], 'BenchStore::Nothing::Object';
    return (
        call => sub { my $got; $got = $nothing->noop($_) for @{ $_[0] }; return $got },
        mix  => sub {
            my $got;
            my $turn = 0;
            for (@{ $_[0] }) { $got = ++$turn % 10 ? $nothing->noop($_) : $nothing->noop($_) }
            return $got;
        },
    );
}

1;
