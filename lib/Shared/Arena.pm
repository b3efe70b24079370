package Shared::Arena;

use 5.016;
use strict;
use warnings;

our $VERSION = '0.900';

require XSLoader;
XSLoader::load('Shared::Arena', $VERSION);

require Shared::Arena::Map;
require Shared::Arena::Rate;

# A new thread gets no live copy: the native handle has one owner.
sub CLONE_SKIP { 1 }

1;

__END__

=head1 NAME

Shared::Arena - Maps and rate limiters in memory that processes share

=head1 SYNOPSIS

=for example run

  use strict;
  use warnings;
  use Shared::Arena;

  my $arena = Shared::Arena->create(size => 4 * 1024 * 1024);
  my $map   = $arena->map('sessions', slots => 4096, slot_size => 512);
  my $rate  = $arena->rate('login', limit => 5, window => 300);

  for my $n (1 .. 4) {
    defined(my $pid = fork) or die "fork: $!";
    next if $pid;
    $map->store("worker:$n" => "pid $$");
    $map->incr('requests');
    $map->incr('admitted') if $rate->allow('192.0.2.7', 2);
    exit 0;
  }
  1 while wait() != -1;

  print $map->fetch('requests'),         "\n";    # prints 4
  print $map->fetch('admitted'),         "\n";    # prints 2
  print int $rate->remaining('192.0.2.7'), "\n";  # prints 1

=head1 DESCRIPTION

An arena is one block of memory, of a size fixed at its creation, that any number of processes map at the same time. It
is divided into named regions. A region is carved, that is, set aside for as long as the arena exists, by the first
process that asks for it. It holds a map (L<Shared::Arena::Map>: keys, values and counters), a limiter
(L<Shared::Arena::Rate>: a token bucket per key), or raw bytes (L</"region">).

There is no server process. What one process writes, the others read at once from the same memory. A process may be
killed at any moment; it leaves no lock held, no entry half written and nothing to clean up.

L<Shared::Arena::Guide> says which structure suits which job, how to use them under Starman, hypnotoad and a plain
C<fork>, and how to size them. L<Shared::Arena::Format> describes the shared bytes.

Nothing is exported. Unless the method says otherwise, an argument outside its range croaks, as do an unknown option and
an odd option list. Croaks name the caller's line, and a call that croaks has created and changed nothing.

=head1 CONSTRUCTORS

=head2 create

  my $arena = Shared::Arena->create;                              # anonymous, 1 MiB
  my $arena = Shared::Arena->create(size => 64 * 1024 * 1024);
  my $arena = Shared::Arena->create(size => 8 * 1024 * 1024, name => 'shop', regions => 16);

Makes an arena and returns it. All its memory is reserved in this call, so a lack of space is an error here and never a
signal later. The options are:

=over 4

=item *

B<size>: The bytes that L</"region">, L</"map"> and L</"rate"> may carve, from 1 to 2**46; 1 MiB if not given.
Bookkeeping comes on top of this and is never taken out of it. See L</"WHAT A REGION COSTS"> and
L</"HOW MUCH MEMORY AN ARENA TAKES">.

=item *

B<name>: Without a name the memory has no path and belongs to this process and the children it forks. With one, other
processes of the same user can L</"attach"> to it, and it stays until L</"destroy"> or the next boot. A name is 1 to 200
bytes with neither C</> nor NUL in it. Each effective user id has names of its own. C<undef> is the same as no name, so
C<< name => $ENV{ARENA} >> makes an anonymous arena when that variable is not set.

=item *

B<regions>: The most regions the arena can hold, from 1 to 65536; 64 if not given. Fewer of them take less memory.

=back

If an arena of that name exists, C<create> attaches to it; C<size> and C<regions> are then those it was made with. When
several processes create one name at the same time, L</"created"> is true in exactly one of them, and none of them can
see the arena before it is complete. Where memory has room for one arena but not for all these attempts, the late ones
queue for a moment, then attach to the one that was made.

Croaks with the reason when there is no permission, or when something of that name exists that cannot be used (see
L</"attach">). Also croaks when the memory cannot be had: the arena would be larger than the largest file the process
may make (C<ulimit -f>), than the free space of the file system, or than the memory that the kernel (C<MemAvailable> and
free swap) or the control group (version 2) says is left. This is compared before anything is reserved, so an arena that
cannot fit is an error and not a case for the kernel's out-of-memory killer. The message says how much was needed and
how much is free.

=head2 attach

  my $arena = Shared::Arena->attach('shop');
  die 'the shop is not open' unless $arena;

Attaches to this user's arena of that name and returns it, or C<undef> if there is none. Never creates one. Croaks with
the reason if the name exists but cannot be used: it is not a regular file, another user owns it, others may write to
it, it has a second name (a hard link), it is not an arena, it was cut short or its header is damaged, its layout is of
another version, a program of another byte order, word size or hash made it, or it was made before the machine last
started.

=head2 destroy

  my $was_there = Shared::Arena->destroy('shop');

Removes the name. Returns true if it was there, false if this user has no arena of that name. Processes that have the
arena mapped keep it, with everything in it, until they end; a new L</"create"> of the name makes a new, empty arena.

=head1 METHODS

=head2 map

  my $map = $arena->map('sessions');
  my $map = $arena->map('pages', slots => 4096, slot_size => 512);
  my $map = $arena->map('routes', slots => 256, serialise => 1);

Returns the L<Shared::Arena::Map> of that name. The first process to ask makes it; the others, in any order or at the
same moment, get the same one.

=over 4

=item *

B<slots>: How many keys it holds, from 1 to 2**31; 1024 if not given.

=item *

B<slot_size>: Bytes set aside for each of them, from 33 to 2**30; 256 if not given. A key and its value together may
take C<slot_size - 32> bytes.

=item *

B<serialise>: True for values that are Perl structures, see L<Shared::Arena::Map/"SERIALISED VALUES">; false if not
given.

=back

Croaks if the name is empty or longer than 31 bytes; if the map does not fit into what is left of the arena (C<does not
fit: it takes N bytes, and of the arena's S bytes F are free>); and if the name was carved with other options or as
something else. That message contains C<is already carved with a different type or size> and gives what was asked for
and what is there. An option left out stands for its default, not for whatever is there.

=head2 rate

  my $rate = $arena->rate('api');
  my $rate = $arena->rate('api', limit => 1000, window => 60, slots => 65536);

Returns the L<Shared::Arena::Rate> of that name, made or found as by L</"map">, with the same errors.

=over 4

=item *

B<limit>: How many requests a key may make at once, a positive number from 1e-9 to 1e9; 100 if not given.

=item *

B<window>: Seconds in which a spent bucket refills, from 1e-9 to 315576000 (ten years); 60 if not given.

=item *

B<slots>: How many keys it tracks at once, from 1 to 2**31, rounded up to a power of two and to at least 64; 4096 if not
given.

=back

=head2 region

  my ($offset, $length) = $arena->region('scratch', size => 4096);  # carve or find
  my ($offset, $length) = $arena->region('scratch');                # find only

Carves a region of raw bytes, or finds the one carved before. C<$offset> counts from L</"base"> and is a multiple of
64; C<$length> is exactly the size asked for. New regions are filled with zeros. A region is never given back.

Returns an empty list if there is no such region and no C<size>, if the name is empty or longer than 31 bytes, or if the
arena has no room or no entry left; a refused request uses up nothing. Croaks if the name is already carved with another
size, or as a map or limiter while C<size> is given. Without C<size> it also finds the regions of maps and limiters.

=head2 regions

  my @names = $arena->regions;

The names of all regions, maps and limiters included, in the order they were carved. In scalar context, how many there
are.

=head2 poke

  $arena->poke('scratch', 128, "\x01\x02\x03");

Copies the bytes into the region, starting at that offset within it, and returns true. Croaks if there is no such
region or the bytes would not lie wholly inside it. There is no lock: a reader may see part of what is being written,
but eight bytes at an offset that is a multiple of eight, such as a packed C<Q>, are read and written as one.
Bytes written into the region of a map or limiter damage it.

=head2 peek

  my $bytes = $arena->peek('scratch', 128, 3);  # "\x01\x02\x03"

Copies that many bytes out of the region. Croaks as L</"poke"> does.

=head2 size

  my $bytes = $arena->size;

What may be carved altogether, as given to L</"create"> by whoever made the arena.

=head2 created

  if ($arena->created) { ... }

Whether this object made the arena (true) or attached to it (false).

=head2 name

  my $name = $arena->name;  # "shop"

The name of the arena, or C<undef> for an anonymous one.

=head2 base

  my $address = $arena->base;

Where this process has the arena mapped, as a number, for code that reads it natively. It differs from process to
process, except that forked children share their parent's.

=head2 refused

  my $n = $arena->refused;  # 0

How many entries of the table of regions this process refused because they point outside the arena. Anything but zero
means that the shared bytes were overwritten by something that is not this module.

=head2 have_atomics

  my $yes = Shared::Arena->have_atomics;
  my $yes = Shared::Arena::have_atomics();

Whether this build has the atomic instructions that maps and limiters need. Always true: a machine without them cannot
build the distribution. Also callable on an object.

=head1 WHAT A REGION COSTS

Of C<size>, each kind of region takes no more than this, rounded up to a multiple of 16:

  raw bytes    size
  map          slots * slot_size + 200
  limiter      slots * 16 + 150      (slots rounded up as described above)

An arena whose C<size> is the sum of these holds those regions, whatever their mix, up to its C<regions>. What the
structures need beyond that (index, spare buffers, locks, alignment) is added by L</"create">.

=head1 HOW MUCH MEMORY AN ARENA TAKES

L</"create"> does not know yet what will be carved, and reserves for the worst mix there could be:

  size * 38 / 16 + up to 17,280 bytes for each of regions + up to 303 bytes

The default arena, 1 MiB and 64 regions, takes 3,572,736 bytes; with C<< regions => 2 >> it takes 2,525,184. So give
C<regions> where memory is short: the number of maps, limiters and raw regions there will be.

=head1 PROCESSES AND FORKING

Every object made before a C<fork> works in the parent and in the child, and goes on working in one when the other
has dropped it or ended. A map or limiter keeps the memory mapped by itself, so the arena object need not be kept.

A process that calls C<exec> loses the mapping; no descriptor is passed on. The new program can L</"attach"> to a named
arena.

An anonymous arena goes away with the last process that has it mapped. A named one stays when all its processes have
ended, until L</"destroy"> or the next boot.

Processes in different pid namespaces, such as those of containers, may share a named arena, if they run with the same
effective user id and see the same directory (L</"SHARED_ARENA_DIR">). Those that share a limiter must have the same
monotonic clock: to a process in a time namespace where it shows another time, L</"rate"> refuses a limiter made outside.

=head1 CRASHES

A process may end at any point, by C<SIGKILL> too. Every key then has its old value or its new one, no lock stays held,
no slot is lost and no counter is wrong because of it: the kernel marks a lock whose holder died, and the next process
that takes it finishes or undoes what was in progress. Readers take no lock and do not notice.

A process that was only stopped (C<SIGSTOP>, a debugger) while writing delays no reader, and no writer but those whose
keys share its lock. Such a writer croaks when one thread has held the lock for five seconds, and names it. (As long as
the lock changes hands it goes on waiting, at most thirty seconds in all.)

=head1 THREADS

Objects are not cloned into a new ithread. There the variables hold no object, so that perl says C<Can't call method
"fetch" on unblessed reference>, while those of the creating thread stay valid. A thread may create and attach arenas
itself, and share named ones with other threads and processes.

=head1 SIGNALS

Perl runs a handler from C<%SIG> between two of its operations. A call that waits for a lock lets it run too, every few
milliseconds and while it holds nothing, so an C<alarm> whose handler dies ends the wait. Such a handler may use any
object. A call made before goes on with the arguments it was made with; if the handler released its object, it croaks.

Handlers that perl runs at once may interrupt a call: all of them with C<PERL_SIGNALS=unsafe>, and those set by
C<POSIX::sigaction> without its C<safe> flag. If such a handler makes a call that needs the lock the interrupted call
holds, it croaks with C<called from a handler that interrupted another call on the same lock>. If it dies in the middle
of a call, the lock stays held for as long as the process lives. If it forks, and the child returns from it, parent and
child both finish the interrupted call, and a map is damaged. Neither is supported.

=head1 LIMITS

=over 4

=item *

64-bit Linux, perl 5.16 or later.

=item *

An arena, a map and a limiter have a fixed size. Nothing grows and nothing moves.

=item *

Regions are not given back one by one. To change the shape of a map, use another name for it or a new arena.

=item *

Names of regions are 1 to 31 bytes, names of arenas 1 to 200.

=item *

Maps use the system's wall clock for deadlines, so setting the clock moves them. Limiters use the monotonic clock,
which nobody can set.

=back

=head1 SECURITY

A named arena is a file of mode 0600, whatever the umask, with the effective user id in its name. C<create> and
C<attach> refuse one that another user owns, that group or others may write to, or that has a second name (a hard link),
and follow no symbolic link.

Processes that share an arena trust each other with its contents: any of them can overwrite anything in it. Offsets and
lengths found there are checked before they are used, so overwritten bytes lead to wrong answers or errors, not to an
access outside the arena, an endless loop or a crash. The one thing this cannot guard against is another process of the
same user that shortens the file of a named arena while it is mapped: the kernel then sends C<SIGBUS> to whoever touches
the missing part. An anonymous arena cannot be shortened. L<Shared::Arena::Guide/"WHAT IT DOES NOT PROTECT FROM"> says
more.

The hash seeds are random numbers drawn for each arena, so that a client who chooses keys cannot make them collide.

=head1 ENVIRONMENT

=head2 SHARED_ARENA_DIR

The directory for named arenas, F</dev/shm> if not set or empty. The file of an arena is called
F<shared-arena.UID.NAME>, where UID is the effective user id. The directory should be on a tmpfs: on a disk the kernel
writes the contents out from time to time, and an arena from before the last boot is still there, and refused until
L</"destroy"> removes it.

=head2 SHARED_ARENA_NO_XOP

If it is set when the module is loaded, and neither empty nor 0, every call of a method is an ordinary one. Otherwise
calls of the most frequent methods are answered where they stand in the program
(L<Shared::Arena::Guide/"HOW CALLS ARE MADE FASTER">), which means the same. For comparisons, and to rule it out when
something looks wrong.

=head1 SEE ALSO

L<Shared::Arena::Map>, L<Shared::Arena::Rate>, L<Shared::Arena::Guide>, L<Shared::Arena::Format>.

=head1 COPYRIGHT AND LICENSE

Copyright (C) 2026, the Shared-Arena authors.

This program is free software, you can redistribute it and/or modify it under the terms of the Artistic License version
2.0.

=cut
