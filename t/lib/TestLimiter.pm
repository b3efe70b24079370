package TestLimiter;

# Limiters to try things on, and how much they allow.

use strict;
use warnings;

use Exporter 'import';

use Shared::Arena;

our @EXPORT = qw(limiter allowed);

my $Arena;
my $Serial = 0;

# A new limiter, of 64 slots if the options do not say how many.
sub limiter {
    my (%option) = @_;
    $Arena ||= Shared::Arena->create(size => 32 * 1024 * 1024, regions => 600);
    return $Arena->rate('limiter ' . $Serial++, slots => 64, %option);
}

# How many requests of that cost are allowed until one is not, but no more than `most`.
sub allowed {
    my ($rate, $key, $cost, $most) = @_;
    my $allowed = 0;
    $allowed++ while $allowed < $most && $rate->allow($key, $cost);
    return $allowed;
}

1;
