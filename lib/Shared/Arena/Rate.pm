package Shared::Arena::Rate;

use 5.016;
use strict;
use warnings;

our $VERSION = '0.900';

require Shared::Arena;

# A new thread gets no live copy: the native handle has one owner.
sub CLONE_SKIP { 1 }

1;

__END__

=head1 NAME

Shared::Arena::Rate - A rate limit that holds across processes

=head1 SYNOPSIS

=for example run

  use strict;
  use warnings;
  use Shared::Arena;

  my $arena = Shared::Arena->create(size => 1024 * 1024);
  my $rate  = $arena->rate('api', limit => 3, window => 60);

  for my $request (1 .. 4) {
    my $status  = $rate->allow('192.0.2.7') ? 200 : 429;
    my %headers = $rate->headers('192.0.2.7');
    print "$status: $headers{'RateLimit-Remaining'} left";
    print ", come back in $headers{'Retry-After'} s" if $status == 429;
    print "\n";
  }
  # prints 200: 2 left
  # prints 200: 1 left
  # prints 200: 0 left
  # prints 429: 0 left, come back in 20 s

=head1 DESCRIPTION

A limiter in a L<Shared::Arena> gives each key a bucket of C<limit> tokens. A request takes a token and is refused when
there is none; the bucket refills steadily, from empty to full in C<window> seconds. Get one from
L<Shared::Arena/"rate">.

The buckets lie in shared memory, so the limit is one for all processes: ten workers with a limit of 100 let 100
requests through, not 1000.

=head2 What is guaranteed

Over any stretch of T seconds, one key is allowed at most C<limit + T * limit / window> requests, rounded down, from
however many processes, while C<evicted> and C<contended> in L</"stats"> are 0. A request counts as made at the moment
at which its call reads the clock. The arithmetic is in integers, and nothing is lost or added up over time.

A refused request takes nothing and does not delay the refill. A client that keeps asking gets all that is due to it,
however often it asks: with a limit of 1 an hour, a thousand requests a second are allowed one each hour.

A key that nobody has asked for in years has a full bucket, as it should: no clock value wraps. A reading of the clock
that is older than one already used for a key never refills its bucket. It does not occur in operation, since a call
reads the clock after it has found the bucket.

Keys are told apart by 64 bits of a hash with random seeds. Two of the keys that a program meets do not share a bucket
by accident, and clients cannot choose keys that do.

=head2 Burst and rate

C<limit> is the burst, and C<limit / window> the rate. They are chosen separately:

  $arena->rate('a', limit => 100, window => 60);  # 100 at once, and 100 a minute in the long run
  $arena->rate('b', limit => 10,  window => 6);   # 10 at once, and 100 a minute in the long run

Since a bucket refills while it is being spent, more than C<limit> requests fit into the first C<window>. To have no
more than a given number in any window, see L<Shared::Arena::Guide/"A STRICT CAP">.

=head2 One limiter, one policy

A limiter has one C<limit> and one C<window>. A route with a limit of its own has a limiter of its own, and asking for
an existing one with other numbers croaks. Routes that draw on one budget at different prices use one limiter and
the cost argument of L</"allow">.

=head2 More keys than slots

A full bucket looks just like a key never seen. Its slot may therefore be taken by another key, and the table empties
itself as buckets refill. Only buckets being spent from need slots.

A key may use 64 slots, chosen by its hash. If all of them belong to other keys that are being spent from, the one that
has spent least gives way: its key has a full bucket again, and C<evicted> counts it. So a table that is too small lets
more requests through than it should, and never refuses one that it should allow. With twice as many slots as keys being
spent from this hardly ever happens; see L<Shared::Arena::Guide/"SIZES">.

=head1 METHODS

A key is a string of bytes, as in L<Shared::Arena::Map>. It may be of any length, and empty. C<undef> is the empty key,
with perl's warning about uninitialized values: clients whose address is not known then share one bucket.

=head2 allow

  if ($rate->allow('192.0.2.7'))      { ... }
  if ($rate->allow('192.0.2.7', 2.5)) { ... }

Takes the cost, 1 if not given, from the key's bucket and returns C<1>, or returns C<0> and takes nothing if the bucket
holds less. The cost is in requests and may be fractional (see L</"LIMITS">). A cost of 0 is always allowed; a cost
above C<limit> never is. Croaks on a cost that is negative, infinite or no number.

=head2 remaining

  my $left = $rate->remaining('192.0.2.7');       # 7.5
  my $left = $rate->remaining('192.0.2.7', 2.5);  # 3

How many requests the key could make now, or how many of that cost: a number with a fraction. The whole part is exact
(but see L</"LIMITS">): so many requests are allowed at this moment, and not one more. Infinity for a cost of 0. Changes
nothing; a key never seen has C<limit> left, and no entry is made for it. It is a number to show: a program that decides
by it, and charges later, lets through all who look before the first one charges.

=head2 retry_after

  my $seconds = $rate->retry_after('192.0.2.7');
  my $seconds = $rate->retry_after('192.0.2.7', 2.5);

How many seconds until L</"allow"> with that cost, 1 if not given, says yes: a number with a fraction. C<0> exactly when
it would say so now, and infinity for a cost above C<limit>. It is exact to the nanosecond: earlier, the answer is no.
Round up for a C<Retry-After> header, or use L</"headers">. Changes nothing.

=head2 headers

  my @headers = $rate->headers('192.0.2.7');
  my $headers = $rate->headers('192.0.2.7', 2.5);  # hash reference

What an HTTP response should tell the client, as names and values. Ask after L</"allow">, with the same cost. Changes
nothing.

=over 4

=item *

B<RateLimit-Limit>: C<limit>, rounded down.

=item *

B<RateLimit-Remaining>: Requests of cost 1 that are left, rounded down.

=item *

B<RateLimit-Reset>: Seconds until the bucket is full, rounded up; 0 when it is.

=item *

B<Retry-After>: Seconds until L</"allow"> with that cost, 1 if not given, says yes, rounded up, so at least 1. Left out
when it would say yes now, or never.

=back

All of them are of one moment, that of this call. So C<Retry-After> is there after the last request that was allowed,
too, since the next one would be refused (remove it from a redirect, which would wait so long); and it is missing after
a refusal if a token has flowed in since. The names are those of the IETF's draft of 2021, with a header for each
number.

=head2 reset

  my $had_bucket = $rate->reset('192.0.2.7');

Fills the key's bucket: for somebody who lifts a limit by hand, or a test that will not wait. Returns C<1> if the table
had one for it, otherwise C<0>.

=head2 forget

  my $had_bucket = $rate->forget('session:4711');

Gives the key's slot back. As the slot of a full bucket is given up anyway, this is only for keys known to be done with.
To the key it is the same as L</"reset">. Returns C<1> if the table had a bucket for it, otherwise C<0>.

=head2 stats

  my %stats = $rate->stats;
  my $stats = $rate->stats;  # hash reference

Figures from all processes. C<allowed> and C<denied> are exact whenever no other call is in progress. Takes time in
proportion to C<slots>, since it counts the keys.

=over 4

=item *

B<limit>, B<window>: As given when the limiter was made.

=item *

B<slots>: As L</"slots">.

=item *

B<keys>: Keys whose bucket is not full at the moment.

=item *

B<allowed>, B<denied>: How often L</"allow"> has said yes and no.

=item *

B<evicted>: How many buckets in use gave way to other keys. If it grows, C<slots> is too small.

=item *

B<contended>: How often L</"allow"> gave up because other calls kept changing the slots it worked on. Such a request is
allowed, and counted in C<allowed>, but charged to nobody. This takes 100,000 attempts in a row that fail because of
another one's, so anything but 0 is remarkable.

=back

=head2 slots

  my $slots = $rate->slots;  # 4096

The number of slots, which is what was asked for rounded up to a power of two and to at least 64.

=head1 PROCESSES AND FORKING

A limiter made before a C<fork> works in parent and children; see L<Shared::Arena/"PROCESSES AND FORKING">. Processes
that are not related ask a named arena for it, with the same options.

=head1 CRASHES

A check is one atomic change of one slot (a compare-and-swap, which writes only what is still as it was read), or two
for a key that has no bucket yet. A process that is killed has spent or has not, and the check it was at may be missing
from C<allowed> and C<denied>. There is no lock, and what a dead process left half done in taking a slot is finished by
the next check of that key, or taken over as a free slot.

=head1 LIMITS

=over 4

=item *

C<limit> from 1e-9 to 1e9, C<window> from 1e-9 to 315576000 seconds, up to 2**31 slots. A limit below 1 allows only
costs below 1. A rate above 9e9 requests a second may be counted in steps of several requests; of a full bucket fewer
than C<limit> may then be left.

=item *

All of this is exact if C<window> is a whole number of nanoseconds and C<limit> a whole number up to C<slots * 9 / 64>,
which is 576 with the default slots, or a larger one of which enough factors divide those nanoseconds: 5000 an hour, a
million a second. It is so for most simple fractions too, such as 2.5 in a third of a second. For other policies,
such as 999,983 a minute, the last request of a full bucket may have to wait for the clock's next nanosecond, although
C<remaining> counts it.

=item *

A limit is taken as the decimal number or simple fraction that a double next to it stands for: C<0.1 + 0.2> is 0.3, and
C<4.35 * 100> is 435.

=item *

A cost is taken as the decimal number it was written as, if that is a whole number of the limiter's units of account,
and otherwise rounded up, by less than 1e-15 of it and what flows in during a nanosecond. Ten times 0.7 is 7 for all
usual limits.

=item *

Buckets hold tokens only. There is no list of keys and no way to ask for one, since only their hashes are kept.

=item *

Time is the system's monotonic clock, which nobody can set and which stands still while the machine is suspended. Up to
53 years after the machine was started are told apart. Processes that share a limiter must have the same monotonic
clock, as processes have that are in no time namespace of their own; L<Shared::Arena/"rate"> refuses a limiter that goes
by another one. Their pid namespaces may differ.

=back

=head1 SECURITY

A client who invents keys takes slots from others, who then get more requests, not fewer, and C<evicted> shows it. A
bucket that is empty gives way only when 63 other keys have emptied theirs after it in the same group, and nobody knows
which keys share one. Someone who sends R requests a second, each counted with its cost, keeps no more than
C<R * window / limit> buckets empty: with twice as many slots as that, an empty bucket is hardly ever lost.

Keys should cost something to obtain. An IPv4 address does; an IPv6 client owns all addresses with the same first 64
bits, so use those (but not of an IPv4 address that is written as an IPv6 one); a name typed into a form costs nothing.
L<Shared::Arena::Guide/"LIMITING LOGINS"> has an example.

=head1 SEE ALSO

L<Shared::Arena>, L<Shared::Arena::Map>, L<Shared::Arena::Guide>, L<Shared::Arena::Format>.

The algorithm is the generic cell rate algorithm (GCRA) of ITU-T recommendation I.371, in its virtual scheduling form:
for each key the moment is kept at which its bucket will be full, and nothing else.

=head1 COPYRIGHT AND LICENSE

Copyright (C) 2026, the Shared-Arena authors.

This program is free software, you can redistribute it and/or modify it under the terms of the Artistic License version
2.0.

=cut
