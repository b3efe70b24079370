package TestMagic;

# Arguments with a life of their own: tied scalars and overloaded objects that count how often they are read,
# and run a piece of code when they are.

use strict;
use warnings;

use Exporter 'import';

our @EXPORT = qw(tied_value text_object number_object reads_of);

# A reference to a tied scalar. `reads_of($ref)` says how often it was fetched.
sub tied_value {
    my ($value, $hook) = @_;
    tie my $scalar, 'TestMagic::Tied', $value, $hook;
    return \$scalar;
}

sub text_object   { my ($value, $hook) = @_; return TestMagic::Text->new($value, $hook) }
sub number_object { my ($value, $hook) = @_; return TestMagic::Number->new($value, $hook) }

sub reads_of {
    my ($thing) = @_;
    my $counter = ref $thing eq 'SCALAR' || ref $thing eq 'REF' ? tied $$thing : $thing;
    return $counter->{reads};
}

package TestMagic::Counter;

sub new { my ($class, $value, $hook) = @_; return bless { value => $value, hook => $hook, reads => 0 }, $class }

sub value {
    my ($self) = @_;
    $self->{reads}++;
    $self->{hook}->() if $self->{hook};
    return $self->{value};
}

package TestMagic::Tied;
our @ISA = 'TestMagic::Counter';

sub TIESCALAR { my ($class, @arguments) = @_; return $class->new(@arguments) }
sub FETCH     { my ($self) = @_; return $self->value }
sub STORE     { my ($self, $value) = @_; $self->{value} = $value; return }

package TestMagic::Text;
our @ISA = 'TestMagic::Counter';
use overload '""' => sub { $_[0]->value }, fallback => 1;

package TestMagic::Number;
our @ISA = 'TestMagic::Counter';
use overload '0+' => sub { $_[0]->value }, fallback => 1;

1;
