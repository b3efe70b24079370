package TestTies;

# Tied arrays, hashes and scalars, and objects that overload dereferences. They count which methods of theirs are called
# and can run a piece of code in each.

use strict;
use warnings;

use Exporter 'import';
use Tie::Array  ();
use Tie::Hash   ();
use Tie::Scalar ();

our @EXPORT = qw(tied_array tied_hash tied_scalar calls_of hook_on);

# References to the tied thing. The hook is called with the name of the method, the object behind and the arguments.
sub tied_array  { my ($values, $hook) = @_; tie my @array, 'TestTies::Array', [@$values], $hook; return \@array }
sub tied_hash   { my ($values, $hook) = @_; tie my %hash, 'TestTies::Hash', {%$values}, $hook; return \%hash }
sub tied_scalar { my ($value, $hook) = @_; tie my $scalar, 'TestTies::Scalar', \$value, $hook; return \$scalar }

sub _behind {
    my ($reference) = @_;
    no overloading;
    my $type = Scalar::Util::reftype($reference);
    return $type eq 'ARRAY' ? tied @$reference : $type eq 'HASH' ? tied %$reference : tied $$reference;
}

# How often each method was called.
sub calls_of { my ($reference) = @_; return { %{ _behind($reference)->{calls} } } }
sub hook_on  { my ($reference, $hook) = @_; _behind($reference)->{hook} = $hook; return }

package TestTies::Counting;
require Scalar::Util;

sub make {
    my ($class, $inner, $hook) = @_;
    return bless { inner => $inner, hook => $hook, calls => {} }, $class;
}

# Methods that count and then do what the plain class does.
sub install {
    my ($class, $plain, @methods) = @_;
    for my $method (@methods) {
        my $does = $plain->can($method) or die "no $method";
        no strict 'refs';
        *{"${class}::$method"} = sub {
            my $self = shift;
            $self->{calls}{$method}++;
            my $hook = $self->{hook};
            $hook->($method, $self, @_) if $hook;
            return $does->($self->{inner}, @_);
        };
    }
    return;
}

package TestTies::Array;
our @ISA = 'TestTies::Counting';
sub TIEARRAY { my ($class, @made) = @_; return $class->make(@made) }
__PACKAGE__->install('Tie::StdArray',
    qw(FETCH STORE FETCHSIZE STORESIZE EXTEND CLEAR DELETE EXISTS PUSH POP SHIFT UNSHIFT SPLICE));

package TestTies::Hash;
our @ISA = 'TestTies::Counting';
sub TIEHASH { my ($class, @made) = @_; return $class->make(@made) }
__PACKAGE__->install('Tie::StdHash', qw(FETCH STORE CLEAR DELETE EXISTS FIRSTKEY NEXTKEY SCALAR));

package TestTies::Scalar;
our @ISA = 'TestTies::Counting';
sub TIESCALAR { my ($class, @made) = @_; return $class->make(@made) }
__PACKAGE__->install('Tie::StdScalar', qw(FETCH STORE));

1;
