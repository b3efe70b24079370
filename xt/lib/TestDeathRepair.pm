package TestDeathRepair;

# Children that die while they repair what another one left, who died in an operation on a map: after each change of the
# shared bytes that it makes there is something else to repair.

use strict;
use warnings;

use parent 'TestDeathMap';

use Shared::Arena;
use TestArena;

my %First = map { $_ => 1 } (
    'overwrite of what has lapsed',
    'insert into the last slot',
    'insert in the place of what has lapsed, in a full map',
    'delete in a full map',
    'incr of a new counter with a deadline',
);

# Those after every so many changes.
sub operations {
    my ($class, $every) = @_;
    my @operations;
    for my $first (grep { $First{ $_->{name} } } TestDeathMap->operations) {
        my $death = TestDeathMap->new(%$first);
        my %image = $death->images($every);
        $death->finish;
        push @operations, map {
            {
                %$first,
                name  => "repair of '$first->{name}', dead after change $_",
                found => $image{$_},
                reads => [undef, "'the last value'"],
                run   => sub { $_[0]->store('key', 'the last value') },
            }
        } sort { $a <=> $b } keys %image;
    }
    return @operations;
}

# The arena of the survivors is as the dead one left it. An object from before would not know its seeds.
sub set_up {
    my ($self, $arena) = @_;
    my $map = $self->SUPER::set_up($arena);
    return $map if $arena->name ne 'death';
    open my $file, '+<:raw', arena_path('death') or die "open: $!";
    syswrite($file, $self->{found}) == length $self->{found} or die "write: $!";
    return Shared::Arena->attach('death')->map('map', $self->shape);
}

# The first call of a process, as any other would be the one to repair.
sub warm { return }

1;
