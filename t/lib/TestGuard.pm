package TestGuard;

# Pages that nobody may touch, directly before and after the mapping of an arena: an access outside of it is a signal,
# whatever else may lie in the neighbourhood. The system places mappings side by side; so neighbours are looked up in
# /proc/self/maps, and an arena that cannot be fenced in is attached again until one can.

use strict;
use warnings;

use Exporter 'import';
use POSIX ();

our @EXPORT = qw(guarded_attach is_guarded);

use constant GUARD => 1 << 20;                       # bytes on either side
use constant ATTEMPTS => 200;

# As the headers of Linux have them, for the machines that Linux has these on.
use constant { PROT_NONE => 0, MAP_PRIVATE => 0x02, MAP_ANONYMOUS => 0x20, MAP_FIXED_NOREPLACE => 0x10_0000 };
my %Mmap = (x86_64 => 9, aarch64 => 222, riscv64 => 222);

# Attaches again and again, by the code given, until an object's mapping lies between guards. Dies if none ever does.
# The others are kept, so that nobody gets their places again.
my @Elsewhere;

sub guarded_attach {
    my ($attach) = @_;
    for (1 .. ATTEMPTS) {
        my $arena = $attach->() or die 'cannot attach';
        return $arena if _guard($arena->base);
        push @Elsewhere, $arena;
    }
    die 'no mapping of ' . ATTEMPTS . ' could be put between guard pages';
}

# Whether the mapping at this address lies between pages without any access.
sub is_guarded {
    my ($base) = @_;
    my ($before, $after) = _neighbours($base);
    return _is_fence($before) && _is_fence($after);
}

sub _is_fence { my ($range) = @_; return $range && $range->{access} eq '---p' && $range->{end} - $range->{start} >= GUARD }

sub _guard {
    my ($base) = @_;
    my ($own) = grep { $_->{start} == $base } _ranges() or die 'the arena is mapped nowhere';
    _place($own->{start} - GUARD);
    _place($own->{end});
    return is_guarded($base);
}

# What comes of it is seen in the list of ranges alone: older kernels and perls answer in other ways.
sub _place {
    my ($address) = @_;
    my $number = $Mmap{ (POSIX::uname())[4] } or die 'the number of mmap on this machine is not known';
    return syscall $number, $address + 0, GUARD, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0;
}

# The ranges that end where the mapping starts and start where it ends.
sub _neighbours {
    my ($base) = @_;
    my @ranges = _ranges();
    my ($own)    = grep { $_->{start} == $base } @ranges or return;
    my ($before) = grep { $_->{end} == $base } @ranges;
    my ($after)  = grep { $_->{start} == $own->{end} } @ranges;
    return ($before, $after);
}

sub _ranges {
    open my $file, '<', '/proc/self/maps' or die "open /proc/self/maps: $!";
    no warnings 'portable';
    return map { /\A([0-9a-f]+)-([0-9a-f]+) (\S+)/ ? { start => hex $1, end => hex $2, access => $3 } : () } <$file>;
}

1;
