package TestCalls;

# Calls on a map that follow from their number alone, so that who knows how many were made knows what was asked, and
# what each may answer and leave behind. The promises of Shared::Arena::Map, in so many words.

use strict;
use warnings;

use Exporter 'import';

our @EXPORT = qw(WORKERS SHORT LONG own_keys shared_keys sum_keys call_of perform outcomes fits whole_from is_torn same);

# Times to live in milliseconds: one that passes between calls, and one that never does.
use constant { WORKERS => 4, SHORT => 2, LONG => 3_600_000 };

# Each worker has keys of its own, of which everything is known. The shared ones are changed by all in all ways, and
# the sums are only ever counted on.
my @Own    = map { my $worker = $_; [map { "own $worker $_" . '.' x (3 * $_) } 1 .. 14] } 0 .. WORKERS - 1;
my @Shared = map {"shared $_"} 1 .. 8;
my @Sums   = map {"sum $_"} 1 .. 4;

sub own_keys    { my ($worker) = @_; return defined $worker ? @{ $Own[$worker] } : map { @$_ } @Own }
sub shared_keys { return @Shared }
sub sum_keys    { return @Sums }

my @Lengths = (undef, 0, 1, 7, 8, 9, 30, 100, 1000, 4000, 'number');

sub call_of {
    my (@place) = @_;    # seed, worker, life and number of the call
    my ($worker, $n) = @place[1, 3];
    my $draw = _draw(@place);
    my $pick = sub { use integer; my ($count) = @_; my $picked = $draw % $count; $draw /= $count; return $picked };

    my $whose  = (qw(own own own own own shared shared sum))[$pick->(8)];
    my $method = $whose eq 'sum' ? 'incr' : (qw(store store store store delete incr incr fetch))[$pick->(8)];
    my @keys   = $whose eq 'own' ? @{ $Own[$worker] } : $whose eq 'shared' ? @Shared : @Sums;
    my %call   = (whose => $whose, method => $method, key => $keys[$pick->(scalar @keys)]);
    my @arguments = $call{key};
    if ($method eq 'store') {
        my $length = $whose eq 'own' ? $Lengths[$pick->(scalar @Lengths)] : (30, 100, 1000, 4000)[$pick->(4)];
        push @arguments, $call{value} = _value($length, @place[1 .. 3]);
    }
    if ($method eq 'incr') { push @arguments, $call{by} = $whose eq 'sum' ? 1 : 1 + $pick->(1000) }
    $call{ttl} = 0;
    if (($method eq 'store' || $method eq 'incr') && $whose ne 'sum') {
        $call{ttl} = ($whose eq 'own' ? (0, 0, 0, 0, SHORT, SHORT, SHORT, LONG) : (0, LONG) x 4)[$pick->(8)];
        push @arguments, ttl_ms => $call{ttl} if $call{ttl};
    }
    return { %call, arguments => \@arguments };
}

# A number of 63 bits in which every bit of the arguments has its part.
sub _draw {
    use integer;
    my $mixed = 1;
    for (@_) {
        $mixed = ($mixed ^ $_) * 2_177_342_782_468_422_677;
        $mixed ^= $mixed >> 29 & 34_359_738_367;
    }
    return $mixed & 9_223_372_036_854_775_807;
}

# Says on every few bytes whose it is. A number is eight bytes that count as a counter.
sub _value {
    my ($length, @place) = @_;
    return undef if !defined $length;
    return pack 'q', $place[-1] + 1 if $length eq 'number';
    my $mark = join('.', @place, $length) . ' ';
    return substr $mark x (1 + $length / length $mark), 0, $length;
}

# Of a value of 30 bytes or more: worker, life, number of the call and length, or nothing if it is not whole.
sub whole_from {
    my ($value) = @_;
    my @place = $value =~ /\A([0-9]+)\.([0-9]+)\.([0-9]+)\.([0-9]+) / or return;
    return if $value ne _value($place[3], @place[0 .. 2]);
    return @place;
}

# Whether a shared key's value, if there is one, is neither a number nor whole.
sub is_torn { my ($value) = @_; return defined $value && $value !~ /\A[0-9]+\z/ && !whole_from($value) }

# Makes the call. What comes back for a value that was fetched is a number that depends on it.
sub perform {
    my ($map, $call) = @_;
    my $method = $call->{method};
    return scalar $map->$method(@{ $call->{arguments} }) if $method ne 'fetch';
    my @there = $map->fetch($call->{key});
    return @there ? _digest(@there) : undef if $call->{whose} eq 'own';
    die "torn: $call->{key}: $there[0]\n" if is_torn(@there);
    return scalar @there;
}

sub _digest { my ($value) = @_; return defined $value ? 1 + (length($value) << 20) + unpack '%20C*', $value : 0 }

sub same { my ($one, $other) = @_; return defined $one ? defined $other && $one eq $other : !defined $other }

# What a call on a key in that state may answer, the state it leaves, and what becomes of the entry that was there: it
# `lives` on, was `ended` while it lived, or had `lapsed`. A state is undef, or the value, its number if it has one, and
# the time to live.
sub outcomes {
    my ($state, $call, %option) = @_;
    my $may_be_absent = !$state || $state->{ttl} == SHORT;
    my $fate = $state ? 'lapsed' : 'none';
    return (
        ($state         ? _of_present($state, $call)                                              : ()),
        ($may_be_absent ? map { +{ %$_, fate => $fate } } _of_absent($call, $option{may_be_full}) : ()),
    );
}

sub _of_present {
    my ($state, $call) = @_;
    my $method = $call->{method};
    return { answer => 1, state => _stored($call), fate => 'ended' } if $method eq 'store';
    return { answer => 1, state => undef, fate => 'ended' } if $method eq 'delete';
    return { answer => _digest($state->{value}), state => $state, fate => 'lives' } if $method eq 'fetch';
    return { answer => undef, state => $state, fate => 'lives' } if !defined $state->{number};
    my $sum = $state->{number} + $call->{by};
    return { answer => $sum, state => { value => $sum, number => $sum, ttl => $state->{ttl} }, fate => 'lives' };
}

sub _of_absent {
    my ($call, $may_be_full) = @_;
    my ($method, $by) = @$call{qw(method by)};
    return { answer => 0, state => undef } if $method eq 'delete';
    return { answer => undef, state => undef } if $method eq 'fetch';
    my $refusal = { answer => $method eq 'store' ? 0 : undef, state => undef, refused => 1 };
    my $success = $method eq 'store'
        ? { answer => 1, state => _stored($call) }
        : { answer => $by, state => { value => $by, number => $by, ttl => $call->{ttl} } };
    return $may_be_full ? ($success, $refusal) : $success;
}

sub _stored {
    my ($call) = @_;
    my $value  = $call->{value};
    my $number = defined $value && length $value == 8 ? unpack 'q', $value : undef;
    undef $number if defined $number && abs $number >= 2**53;
    return { value => $value, number => $number, ttl => $call->{ttl} };
}

# Whether what was seen of a key is what that state looks like. Seen are the value, if it was there; its number; and
# whether the key was listed when the short time had passed (`stays`) and when the long one had (`lasts`).
sub fits {
    my ($state, $seen) = @_;
    my $alike = $state && $seen->{there} && same($state->{value}, $seen->{value}) && same($state->{number}, $seen->{number});
    return !$seen->{there} && !$seen->{stays} && !$seen->{lasts} if !$state;
    return ($alike || !$seen->{there}) && !$seen->{stays} && !$seen->{lasts} if $state->{ttl} == SHORT;
    return $alike && $seen->{stays} && ($state->{ttl} == LONG ? !$seen->{lasts} : $seen->{lasts});
}

1;
