package TestDeathCreation;

# Children that die while they create a named arena, attach to it or remove it: nobody finds half of one, and nothing is
# left behind.

use strict;
use warnings;

use parent 'TestDeath';

use Shared::Arena;
use TestArena;

my @Map    = ('map', slots => 8, slot_size => 64);
my @Extent = (size => 8 * 64 + 208, regions => 1);

# `reads` is what the name leads to before and after, if that differs.
sub operations {
    my $created = sub { Shared::Arena->create(name => $_[0], @Extent)->map(@Map)->store('key', 'old') };
    return (
        {
            name => 'create a named arena', reads => ['nothing', 'an arena of 720 bytes'],
            run => sub { Shared::Arena->create(name => $_[0], size => 8 * 64 + 208, regions => 1) },
        },
        {
            name => 'create one that is there', long => 1, before => $created, reads => ['an arena of 720 bytes with a map'],
            run => sub { Shared::Arena->create(name => $_[0], size => 8 * 64 + 208, regions => 1) },
        },
        {
            name => 'attach', long => 1, before => $created, reads => ['an arena of 720 bytes with a map'],
            run => sub { Shared::Arena->attach($_[0]) },
        },
        {
            name => 'destroy', before => $created, reads => ['an arena of 720 bytes with a map', 'nothing'],
            run => sub { Shared::Arena->destroy($_[0]) },
        },
    );
}

sub new {
    my ($class, %operation) = @_;
    return bless({sparse => 5, %operation, object => 'created', practice => 'practice'}, $class)->begin;
}

sub finish { Shared::Arena->destroy($_) for 'created', 'practice'; return }

# Both names lead to what they lead to at first.
sub restore {
    my ($self) = @_;
    finish();
    $self->{before}->($_) for grep { $self->{before} } 'created', 'practice';
    return;
}

# Nothing is shared before there is a name; the files' names stand for the rest.
sub bytes { return join ' ', arena_files() }

sub warm { return }

sub look {
    my ($self) = @_;
    Shared::Arena->destroy('practice');
    my $arena = $self->{survivor} = Shared::Arena->attach('created');
    my $reads = 'nothing';
    $reads = join ' with a ', 'an arena of ' . $arena->size . ' bytes', $arena->regions if $arena;
    return { reads => $reads, files => join ' ', arena_files() };
}

# Whoever comes next has an arena, whole, in one file.
sub use_up {
    my ($self) = @_;
    my @wrong;
    my $arena = Shared::Arena->create(name => 'created', @Extent);
    push @wrong, 'it was created twice' if !!$arena->created == !!$self->{survivor};
    my $map   = $arena->map(@Map);
    my ($old) = $map->fetch('key');
    push @wrong, 'the map is another one' if defined $old != ($arena->created || !$self->{before} ? 0 : 1);
    my $taken = 0;
    $taken++ while $taken <= 8 && $map->store("key $taken", 'x') == 1;
    push @wrong, "$taken keys in the map" if $taken != (defined $old ? 7 : 8);
    my %verdict = $map->_verify;
    push @wrong, $verdict{problem} if !$verdict{ok};
    push @wrong, 'another process does not find it' if Shared::Arena->attach('created')->map(@Map)->keys != 8;
    my @files = arena_files();
    push @wrong, "there are @files" if @files != 1;
    push @wrong, 'there was nothing to remove' if !Shared::Arena->destroy('created');
    @files = arena_files();
    push @wrong, "left behind: @files" if @files;
    return @wrong;
}

1;
