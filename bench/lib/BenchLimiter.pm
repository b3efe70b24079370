package BenchLimiter;

# The limiters that limits.pl measures, the loops over their methods, and what stands beside them: an empty method, and
# a limiter that is a hash in one process.

use strict;
use warnings;

use BenchCrew;
use Shared::Arena;

# Buckets that stay in use while we measure, as a request comes back in five minutes; and buckets that are full again
# before the next call.
my %Policies = (lasting => [limit => 1e6, window => 3e8], fleeting => [limit => 100, window => 1e-6]);

# A limiter in an arena of its own, of one of these two kinds.
sub limiter {
    my ($kind, $slots) = @_;
    my $arena = Shared::Arena->create(size => $slots * 16 + 150, regions => 1);
    return $arena->rate('r', slots => $slots, @{ $Policies{$kind} });
}

# Gives so many numbered keys to a fleeting limiter, while its time stands still: each takes a slot, and the bucket is
# full afterwards. In a process of its own, since one whose clock has been stopped reads it in another way ever after.
sub begin_and_refill {
    my ($rate, $name, $count) = @_;
    my $crew = BenchCrew->new(1, sub {
        Shared::Arena::_set_clock(undef, 1);
        $rate->allow("$name $_") for 1 .. $count;
        return 1;
    });
    $crew->fire;
    $crew->results;
    return;
}

# The code to time each method with, called with a piece of keys; the results go where a program would have them.
sub calls {
    my ($rate) = @_;
    my ($got, %headers);
    return (
        allow       => sub { $got = $rate->allow($_) for @{ $_[0] }; return },
        remaining   => sub { $got = $rate->remaining($_) for @{ $_[0] }; return },
        retry_after => sub { $got = $rate->retry_after($_) for @{ $_[0] }; return },
        headers     => sub { %headers = $rate->headers($_) for @{ $_[0] }; return },
        reset       => sub { $got = $rate->reset($_) for @{ $_[0] }; return },
        forget      => sub { $got = $rate->forget($_) for @{ $_[0] }; return },
    );
}

# Likewise a method that does nothing.
sub empty_method {
    my $object = bless [], 'BenchLimiter::Empty';
    my $got;
    return sub { $got = $object->allow($_) for @{ $_[0] }; return };
}

sub BenchLimiter::Empty::allow { }

package BenchLimiter::Hash;

# What a program without shared memory would write: for each key the nanosecond at which its bucket is full again, in
# whole numbers. It knows one process, and its hash only grows.

use integer;

use Time::HiRes qw(clock_gettime CLOCK_MONOTONIC);

my $Clock = CLOCK_MONOTONIC;

sub new {
    my ($class, $limit, $window) = @_;
    my $nanoseconds = $window * 1_000_000_000;
    return bless { request => $nanoseconds / $limit, window => $nanoseconds, full_at => {} }, $class;
}

sub allow {
    my ($self, $key, $cost) = @_;
    my $now     = _now();
    my $full_at = $self->{full_at}{$key};
    $full_at = $now if !defined $full_at || $full_at < $now;
    $full_at += $self->{request} * (defined $cost ? $cost : 1);
    return 0 if $full_at > $now + $self->{window};
    $self->{full_at}{$key} = $full_at;
    return 1;
}

sub forget { my ($self, $key) = @_; return defined delete $self->{full_at}{$key} ? 1 : 0 }

# Under `use integer` the product would be one of whole seconds.
sub _now { no integer; return int(1e9 * clock_gettime($Clock)) }

1;
