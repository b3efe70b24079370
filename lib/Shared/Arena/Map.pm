package Shared::Arena::Map;

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

Shared::Arena::Map - Keys, values and counters that processes share

=head1 SYNOPSIS

=for example run

  use strict;
  use warnings;
  use Shared::Arena;

  my $arena = Shared::Arena->create(size => 2 * 1024 * 1024);
  my $map   = $arena->map('pages', slots => 1024, slot_size => 1024);

  defined(my $pid = fork) or die "fork: $!";
  if (!$pid) {
    $map->store('/about' => '<h1>About us</h1>', ttl => 300);
    $map->incr('misses');
    exit 0;
  }
  waitpid $pid, 0;

  my ($page) = $map->fetch('/about');
  print "$page\n";                        # prints <h1>About us</h1>
  print $map->counter('misses'), "\n";    # prints 1
  print $map->delete('/about'), "\n";     # prints 1
  print scalar($map->keys), "\n";         # prints 1

=head1 DESCRIPTION

A table of fixed size in a L<Shared::Arena>, read and written by any number of processes. Get one from
L<Shared::Arena/"map">.

Keys and values are bytes and may hold any of them, NUL included; only a map made with C<< serialise => 1 >> keeps other
values, see L</"SERIALISED VALUES">. A key has at least one byte; a value may be empty or C<undef>. Strings that are
C<eq> are one key, and one value, whatever their internal UTF-8 flag; a string with a character above 255 is kept as its
UTF-8 bytes, and comes back as those: encode text before storing it. C<undef> as a key is the empty key, with perl's
warning about uninitialized values. A reference is turned into a string like any other scalar, C<HASH(0x...)>; see
L</"store">.

=head2 What is guaranteed

A map of N slots takes N live keys, whatever they are. A key that is already there can always be overwritten, in a full
map too. A store that finds no free slot takes that of an entry that has lapsed, that is, whose deadline has passed,
before it refuses.

L</"fetch"> returns a value as one L</"store"> wrote it, whole, also while other processes overwrite or delete it, and
also when one of them is killed while doing so. Increments are never lost.

Deleting costs nothing later. Searches neither end at nor walk over what deletion leaves behind, so a map through which
millions of keys have passed answers like a new one with as many live keys.

=head2 How it works

Looking up a key is a seeded hash, a look at one or a few cache lines of the index, and a comparison with the key. A
reader takes no lock: it copies the value and then checks that its bytes were left alone meanwhile; if not, it looks
again. After a bounded number of rounds it gives up, which counts in C<busy> and looks like a miss to the caller.

A writer takes one of up to 64 locks, chosen by the key, fills a buffer that nobody else can see and makes it visible
with a single change of one index word. Adding to an existing counter takes no lock. L<Shared::Arena::Format> has the
details.

=head2 What calls cost

Every method but L</"keys"> and L</"stats"> takes constant time on average, plus the copying of keys and values, however
full the map is and whatever was deleted from it. L</"keys"> walks over all slots, L</"stats"> over the locks. The store
of a new key into a full map first reads 8 bytes for each 320 slots or so, and if they say that an entry may have
lapsed, looks through the 320 or so that they speak for. Calls of the most frequent methods are spared what perl does to
find and call a method (L<Shared::Arena::Guide/"HOW CALLS ARE MADE FASTER">). Figures are in F<bench/README.md> of the distribution.

=head1 METHODS

=head2 store

  my $rc = $map->store('greeting', 'hello');                 # 1
  my $rc = $map->store('greeting', 'hello', ttl => 1.5);     # 1, for a second and a half
  my $rc = $map->store('greeting', 'hello', ttl_ms => 250);  # 1, for a quarter of a second

Sets a key. The result is C<1> when it is stored, C<0> when the map is full (counted in C<full>), and C<-1> when the key
is empty or key and value together are longer than L</"max_pair"> (which no figure counts). With C<0> and C<-1> nothing
has changed. Since C<-1> is true in Perl, compare:

  $map->store('greeting', 'hello') == 1 or warn 'not stored';

The value is kept as bytes. A reference would be kept as the string C<HASH(0x...)>, which is of no use to anybody. A map
made with C<< serialise => 1 >> keeps any structure instead, see L</"SERIALISED VALUES">; there C<-1> is the answer if
the value is too long once it is encoded, and a value that cannot be encoded croaks.

C<ttl> gives the entry a deadline, in seconds, and C<ttl_ms> in milliseconds. It is rounded to the nearest millisecond,
and to at least one. From that moment the key is absent in every process. Without either, or with C<undef> or C<0>, the
entry has no deadline, and one it had before is removed; so a time that is left, C<< $expires - time >>, must not be
passed when it has come down to C<0>. A time too long to represent never comes. A deadline cannot be read, and only
another L</"store"> changes it.

Croaks if the time is negative or no number, or if both are given; and, like L</"delete"> and an L</"incr"> that makes a
counter, if another process holds the key's lock for too long, see L</"CRASHES">.

=head2 fetch

  my ($value) = $map->fetch('greeting');  # "hello"
  my @none    = $map->fetch('nothing');   # ()

The value, or an empty list (C<undef> in scalar context) if the key is absent. A stored C<undef> comes back as one
element, C<undef>. For a counter, its number. From a serialised map, the structure: a new copy with every call, which is
the caller's own. Croaks there if the bytes in memory are no encoded value, because something else has overwritten them,
and names the byte at which this shows (not in void context, where nothing is decoded).

=head2 exists

  if ($map->exists('greeting')) { ... }

Whether the key is there.

=head2 delete

  my $was_there = $map->delete('greeting');  # 1

Removes the key. C<1> if it was there, C<0> if it was absent or had lapsed.

=head2 incr

  my $n = $map->incr('hits');                      # 1
  my $n = $map->incr('hits', 10);                  # 11
  my $n = $map->incr('hits:192.0.2.7', 1, ttl => 60);  # 1, and 1 again when 60 seconds have passed

Adds an integer, 1 if not given, to a counter and returns the new value. An absent key is created with that integer as
its value. The range is that of a signed 64-bit integer.

C<ttl> or C<ttl_ms> applies when the call creates the counter or starts a lapsed one again. Later calls do not move the
deadline, so that one call counts in fixed windows; nor do they give one to a counter that has none.

C<undef>, with nothing changed, if the key holds something that is not a counter, if it is absent and the map is full,
or if it is empty or longer than L</"max_pair">. Of these only "full" is counted, in C<full>. Croaks with
C<counter overflow: N and M more> if the sum is out of range, on an addend that is not an integer in that range, and on
a serialised map.

Do not initialise or reset a counter with L</"store">: C<< $map->store(hits => 0) >> makes the key the string C<0>,
which is no counter, and from then on C<incr> answers C<undef>. An absent key starts at 0 by itself, and L</"delete">
resets it.

A stored value of exactly eight bytes counts as a counter if, read as a native signed 64-bit integer, it lies strictly
between -2**53 and 2**53; eight printable characters never do. L</"fetch"> returns such a value as the bytes that
were stored until the first C<incr>, and as a number from then on.

=head2 counter

  my $n = $map->counter('hits');  # 11

The number of a counter, without changing it; C<undef> if the key is absent or holds something else, and always on a
serialised map.

=head2 keys

  my @keys = $map->keys;
  my $n    = $map->keys;  # how many

The keys that are there, in no particular order, without the lapsed ones; in scalar context, how many. It walks the
whole table while others go on writing: a key that stays throughout is listed once, overwritten or not, and one that is
stored or deleted meanwhile may be listed or not.

=head2 stats

  my %stats = $map->stats;
  my $stats = $map->stats;  # hash reference

Figures for the whole map, from all processes. They are exact whenever no other call is in progress; what writers that
died left unfinished is finished first.

=over 4

=item *

B<used>: Keys in the table, with the lapsed ones that have not been collected yet.

=item *

B<capacity>: As L</"capacity">.

=item *

B<tombstones>: Free slots that held a key before. They cost nothing, need no attention, and are used again like any
other free slot.

=item *

B<busy>: Calls that gave up: reads of an entry that others kept changing, and writes that waited too long for a lock:
five seconds for one holder, or thirty for several.

=item *

B<full>: Calls refused because every slot holds a live key.

=item *

B<expired>: Lapsed entries collected so far.

=back

=head2 max_pair

  my $bytes = $map->max_pair;  # slot_size - 32

The most bytes that a key and its value may have together.

=head2 capacity

  my $slots = $map->capacity;

How many keys the map holds, as given in C<slots>.

=head2 serialised

  if ($map->serialised) { ... }

Whether values are Perl structures: what the map was made with.

=head1 SERIALISED VALUES

=for example run

  use strict;
  use warnings;
  use Shared::Arena;

  my $routes = Shared::Arena->create->map('routes', slots => 256, slot_size => 512, serialise => 1);

  $routes->store('/shop', {servers => ['app-1', 'app-2'], weight => 3}) == 1 or die 'not stored';
  my ($route) = $routes->fetch('/shop');
  print "$route->{servers}[1]\n";    # prints app-2

With C<< serialise => 1 >> a value is any scalar: a string, a number, or a reference to a structure of any kind. It is
encoded when it is stored and decoded when it is fetched, and comes back equal to what was stored in everything that the
next section lists. Keys are bytes as in any map. Nothing needs to be installed for it. All processes must ask for the
map with the same setting, like the other options; a map of bytes cannot become one of structures under its old name.

=head2 What stays as it is

=over 4

=item *

Strings, integers (-2**63 to 2**64 - 1) and floating-point numbers keep their kind and every bit of their value. What
counts is what perl takes the scalar for: a string that was used as a number is still a string, and a number that was
printed is still a number. A scalar that is a number and a different string at once (a dualvar, as C<$!> is) keeps the
string. A whole number that was used both as an integer and as a float is both to perl, and comes back as an integer.
Perls before 5.36 cannot tell a printed number from a string that was used as one: both come back as a string,
equal in both senses, or as a number if the string has fewer digits.

=item *

The UTF-8 flag of strings and of hash keys; C<undef>; true and false as such, from perl 5.36 on; elements of an array
that do not exist.

=item *

The class of blessed hashes, arrays, scalars and references. Nothing is called for it, neither now nor then: no
C<FREEZE>, no C<THAW>, no overloaded operator but a dereference (see below), no destructor of something half made. Every
copy that is fetched is an object of its own, and its destructor runs when it goes. The class need not be loaded where
the object is fetched; load it before you call a method.

=item *

Regexps made by C<qr//>, with their modifiers. One with code in it is refused. Compiling one again may call the subs of
properties that the program defines, such as C<\p{IsMine}>, which perl looks for where C<fetch> is called: give them
with their package, C<\p{My::IsMine}>.

=item *

Which references lead to the same thing, in cycles too; elements that are aliases of each other; and weak references. A
weak reference to something that nothing else in the value holds comes back as a strong one, or it would hold nothing.

=back

Storing a hash leaves its iterator (C<each>) where it was.

=head2 What is stored plain

A tied scalar, array or hash is read once, through its interface, and comes back untied.

An object that overloads a dereference (C<%{}>, C<@{}> or C<${}>; the first of these, if several) is read once through
that, and comes back as the hash, array or scalar it gave, not blessed; unless it gave itself. So what contains such an
object may not work any more (a C<Mojo::URL> with a query has a C<Mojo::Parameters> in it, which is one): store it as a
string. All other overloading stays with the class. If the code that is run for this dies, L</"store"> dies with it, and
nothing is stored.

Read-only values, restricted hashes, C<pos>, and magic that other modules attach come back without that quality. A
version string such as C<v1.2> keeps its characters and no more.

An object whose data lies in C, behind an address that it keeps in a scalar (a compressor, a C<JSON::XS>), must not be
stored: its copy has the same address, and its destructor frees it once more. Nobody but its class can tell such a
number from others.

=head2 What is refused

L</"store"> croaks, leaving the old value as it was, if anywhere in the value there is a reference to code, a glob (a
file handle is one), an I/O handle, a format, an lvalue (C<\substr(...)>) or an object of the C<class> feature, or of a
class that has been removed or has more than 100 parts (C<A::B::C> has three), a regexp with code in it, without a
reference to it, or with so many repetitions in one another that perl would need more than some 60 MB to compile it
(C<(?:(?:a{60}){600}){6000}>), a string marked as UTF-8 that is none, an object whose overloaded dereference gives nothing that can be
stored or never ends, or anything nested deeper than 10,000 levels. The message says what and where:

  Shared::Arena::Map->store: cannot store {config}{handler}[2]: CODE reference

C<$*> in such a path stands for what a reference to a scalar or to a reference holds.

=head2 What it costs

A value takes about as many bytes as its JSON, and often fewer: 6 for the whole, and then, for a string or hash key, its
length and one more (from 32 bytes on, two or more); for an integer 1 to 11; for a float 5 or 9; for C<undef>, true and
false 1; for a hash or array 1 to 4 or so, 2 more when a second reference leads to it or anything in the value is tied
or overloads a dereference; for an object its class once, and 2 to 4. Repeated hash keys and class names are not written
again each time. L</"max_pair"> bounds the encoded value and the key together.

Every L</"fetch"> decodes the whole value, and every L</"store"> encodes it, without holding a lock: keep small what is
fetched in each request. Figures, beside those of other serialisers, are in F<bench/README.md> of the distribution.

=head2 The encoding

Values are encoded in the format of Sereal, which is public: protocol version 5, without compression. That says what
lies in memory; only this distribution reads it there.

Any process that shares an arena can write to it, see L<Shared::Arena/"SECURITY">. Overwritten bytes lead to an error or
a wrong value, never to a crash. But whoever can choose them can choose the class of an object and so what its
destructor does, as with any serialiser that keeps classes.

=head1 EXPIRY

A lapsed entry reads as absent from its deadline on, in every method and process. It is not removed by a timer but
collected by the next call that lands on it (any method but C<keys> with its key, or a C<store> or C<incr> of a new key
that needs its slot), and counted in C<expired> then. Until that moment it counts in C<used>. A reader leaves it to a
later call when a writer has the lock just then.

A call that needs a slot for a new key and finds none first completes what writers that died left unfinished, then takes
the slot of one lapsed entry. It passes over entries whose lock another process holds, and waits for such a lock only if
no other lapsed entry is to be had.

Deadlines are moments of the system's wall clock, in milliseconds. Setting the clock moves them. The clock is read only
when a deadline is given or found.

=head1 PROCESSES AND FORKING

A map made before a C<fork> works in parent and children; see L<Shared::Arena/"PROCESSES AND FORKING">. Processes that
are not related ask a named arena for it, with the same options.

=head1 CRASHES

When a process is killed in the middle of C<store>, C<delete> or C<incr>, the key has its old value or its new one, and
the next writer puts the rest in order. A process stopped in the middle delays writers of keys that share its lock, and
in a full map new keys when the only lapsed entry, or the slot just being given back, is among those. They wait for it
at most five seconds and then croak, naming its thread. It delays no reader and no C<incr> of an existing counter.

=head1 LIMITS

=over 4

=item *

1 to 2**31 slots of 33 to 2**30 bytes, all of one size. A short value takes as much as a long one.

=item *

The table never grows. See L<Shared::Arena::Guide> for sizing it.

=item *

C<keys> takes time in proportion to C<slots>; see L</"What calls cost">.

=item *

No method works on several keys at once, and none changes a value in place except L</"incr">.

=back

=head1 SEE ALSO

L<Shared::Arena>, L<Shared::Arena::Rate>, L<Shared::Arena::Guide>, L<Shared::Arena::Format>.

The ideas are older than this module: open addressing, with a bound on the distance of each key from its home; the
sequence lock, as in the Linux kernel; and the robust futex of Linux, a lock that the kernel takes from a holder that
dies.

=head1 COPYRIGHT AND LICENSE

Copyright (C) 2026, the Shared-Arena authors.

This program is free software, you can redistribute it and/or modify it under the terms of the Artistic License version
2.0.

=cut
