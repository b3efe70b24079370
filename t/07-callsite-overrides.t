use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use TestArena;
use TestCallsite;
use Test::More;

# Whatever a class, its parents and its methods become, the same call site goes where perl's own lookup leads at that
# very moment.

# `answer` calls METHOD at one call site, or tells how that failed.
my $answer = q(
    no warnings qw(redefine once);
    my $answer = sub { my ($on, @more) = @_; my @got = eval { $on->METHOD('number' MORE) }; out($@ ? $@ : @got) };
    my $mine = sub { my $self = shift; return ('mine', ref $self, scalar @_) };
    $answer->($object);
);

sub cases_of { my (@cases) = @_; return [map { $_ % 2 ? "$answer$cases[$_]" : $cases[$_] } 0 .. $#cases] }

same_in_all_ways cases_of(
    'a sub put into the class' => q(
        *CLASS::METHOD = $mine; $answer->($object); $answer->($object)),
    'a sub put there and taken away again' => q(
        my $was = \&CLASS::METHOD;
        for my $round (1 .. 3) { *CLASS::METHOD = $mine; $answer->($object); *CLASS::METHOD = $was; $answer->($object) }),
    'local' => q(
        { local *CLASS::METHOD = $mine; $answer->($object) } $answer->($object)),
    'local in a loop, around some runs of one call site' => q(
        for my $round (1 .. 6) {
            local *CLASS::METHOD = $mine if $round % 2;
            for (1, 2) { out($round, $object->METHOD('number' MORE)) }
        }
        $answer->($object)),
    'local within local' => q(
        { local *CLASS::METHOD = $mine; { local *CLASS::METHOD = sub { 'inner' }; $answer->($object) }
        $answer->($object) }
        $answer->($object)),
    'local of nothing' => q(
        { local *CLASS::METHOD; $answer->($object) } $answer->($object)),
    'local that an exception ends' => q(
        eval { local *CLASS::METHOD = $mine; $answer->($object); die "gone\n" }; $answer->($object)),
    'local on an element of the stash' => q(
        { no strict 'refs'; local $CLASS::{METHOD} = $mine; $answer->($object) } $answer->($object)),
    'delete local of an element of the stash' => q(
        { delete local $CLASS::{METHOD}; $answer->($object) } $answer->($object)),
    'delete of the glob' => q(
        delete $CLASS::{METHOD}; $answer->($object); $answer->($object)),
    'delete of the glob, and a glob anew' => q(
        my $glob = delete $CLASS::{METHOD}; $answer->($object);
        $CLASS::{METHOD} = $glob; $answer->($object);
        delete $CLASS::{METHOD}; no strict 'refs'; *{"CLASS::METHOD"} = $mine; $answer->($object)),
    'delete of the glob while another name of the sub stays' => q(
        no strict 'refs'; *{"Elsewhere::METHOD"} = \&CLASS::METHOD; delete $CLASS::{METHOD}; $answer->($object);
        @CLASS::ISA = 'Elsewhere'; $answer->($object)),
    'delete of the glob, with AUTOLOAD' => q(
        no strict 'refs';
        *{"CLASS::AUTOLOAD"} = sub { our $AUTOLOAD; no strict 'refs'; ('autoloaded', ref $_[0], scalar @_) };
        $answer->($object); delete $CLASS::{METHOD}; $answer->($object)),
    'AUTOLOAD in UNIVERSAL' => q(
        no strict 'refs'; *{"UNIVERSAL::AUTOLOAD"} = sub { ('autoloaded', scalar @_) };
        $answer->($object); delete $CLASS::{METHOD}; $answer->($object)),
    'AUTOLOAD for what is declared only' => q(
        no strict 'refs'; *{"CLASS::AUTOLOAD"} = sub { our $AUTOLOAD; ('autoloaded', scalar @_) };
        delete $CLASS::{METHOD}; eval 'sub CLASS::METHOD; 1' or die; $answer->($object)),
    'what lookups leave in the class' => q(
        delete $CLASS::{$_} for grep { $_ ne 'METHOD' } qw(fetch store exists incr counter allow remaining retry_after);
        $answer->($object); $answer->($object); out(sort keys %CLASS::);
        *UNIVERSAL::anything = sub { 1 }; $answer->($object); out(sort keys %CLASS::)),
    'another method by that name' => q(
        my ($another) = grep { $_ ne 'METHOD' && CLASS->can($_) } qw(exists remaining counter);
        no strict 'refs'; *{"CLASS::METHOD"} = \&{"CLASS::$another"}; $answer->($object)),
    'that method by another name' => q(
        my ($another) = grep { $_ ne 'METHOD' && CLASS->can($_) } qw(exists remaining counter);
        no strict 'refs'; *{"CLASS::$another"} = \&{"CLASS::METHOD"}; $answer->($object);
        out(eval { $object->$another('number' MORE) }, $@)),
    'the other class has its method' => q(
        no strict 'refs'; *{"OTHER_CLASS::METHOD"} = \&{"CLASS::METHOD"}; $answer->($other); $answer->($object)),
    'a sub defined in the class by a string' => q(
        eval 'package CLASS; sub METHOD { return ("from a string", scalar @_) } 1' or die; $answer->($object)),
    'a wrapper that calls what was there' => q(
        my $was = CLASS->can('METHOD');
        *CLASS::METHOD = sub { my @got = $was->(@_); return ('wrapped', @got) };
        $answer->($object); $answer->($object)),
    'wrappers before, after and around' => q(
        my $was = \&CLASS::METHOD;
        my ($before, $after, $around) = (sub { out('before') }, sub { out('after') }, sub { my $next = shift;
        ('around', $next->(@_)) });
        my $wrapped = sub { $before->(@_); my @got = $around->($was, @_); $after->(@_);
        return wantarray ? @got : $got[-1] };
        { no strict 'refs'; *{"CLASS::METHOD"} = $wrapped }
        $answer->($object)),
    'a wrapper that goes to what was there' => q(
        my $was = CLASS->can('METHOD'); my $calls = 0;
        *CLASS::METHOD = sub { $calls++; goto &$was };
        $answer->($object); $answer->($object); out($calls)),
    'a subclass with a method of its own' => q(
        { no strict 'refs'; @My::Sub::ISA = 'CLASS';
          *My::Sub::METHOD = eval 'package My::Sub; sub { my ($self, @more) = @_;
        return ("sub", $self->SUPER::METHOD(@more)) }' or die }
        bless $object, 'My::Sub'; $answer->($object); bless $object, 'CLASS'; $answer->($object)),
    'a subclass with none' => q(
        @My::Sub::ISA = 'CLASS'; bless $object, 'My::Sub'; $answer->($object);
        *My::Sub::METHOD = $mine; $answer->($object); delete $My::Sub::{METHOD}; $answer->($object)),
    'a subclass whose parents change' => q(
        @My::Sub::ISA = 'CLASS'; bless $object, 'My::Sub'; $answer->($object);
        *Foreign::METHOD = $mine; @My::Sub::ISA = ('Foreign', 'CLASS'); $answer->($object);
        @My::Sub::ISA = (); $answer->($object); @My::Sub::ISA = 'CLASS'; $answer->($object)),
    'a parent of the class' => q(
        *Foreign::METHOD = $mine; @CLASS::ISA = 'Foreign'; $answer->($object);
        delete $CLASS::{METHOD}; $answer->($object);
        @CLASS::ISA = (); $answer->($object)),
    'a parent that has the method itself' => q(
        *Foreign::METHOD = \&CLASS::METHOD; @CLASS::ISA = 'Foreign'; delete $CLASS::{METHOD}; $answer->($object);
        { local *Foreign::METHOD = $mine; $answer->($object) } $answer->($object)),
    'UNIVERSAL' => q(
        *UNIVERSAL::METHOD = $mine; $answer->($object); delete $CLASS::{METHOD}; $answer->($object);
        delete $UNIVERSAL::{METHOD}; $answer->($object)),
    'can of its own' => q(
        *CLASS::can = sub { out('asked'); return $mine }; $answer->($object);
        local *UNIVERSAL::can = sub { $mine }; local *UNIVERSAL::isa = sub { 0 }; $answer->($object)),
    'an lvalue sub' => q(
        my $place = 1; *CLASS::METHOD = sub :lvalue { $place };
        $answer->($object); eval '$object->METHOD("k") = 5; 1' or out($@); out($place)),
    'a sub that sees its caller' => q(
        *CLASS::METHOD = sub { return ((caller(0))[0 .. 5], scalar @_, wantarray) };
        out(scalar $object->METHOD('k' MORE)); out($object->METHOD('k' MORE)); $object->METHOD('k' MORE)),
    'a sub that changes its arguments' => q(
        *CLASS::METHOD = sub { $_[1] = 'changed'; $_[0] = undef; return };
        my ($on, $key) = ($object, 'k'); $on->METHOD($key MORE); out($on, $key)),
    'a sub that puts back what was there' => q(
        my $was = \&CLASS::METHOD; *CLASS::METHOD = sub { *CLASS::METHOD = $was; ('for once') };
        $answer->($object) for 1 .. 3),
    'a sub that is freed while it runs' => q(
        *CLASS::METHOD = sub { no strict 'refs'; delete $CLASS::{METHOD}; ('for once') };
        $answer->($object) for 1 .. 3),
    'changes to other classes' => q(
        *Foreign::METHOD = $mine; $answer->($object); @Foreign::ISA = 'Other'; $answer->($object);
        *UNIVERSAL::something = sub { }; $answer->($object); delete $Foreign::{METHOD}; $answer->($object)),
    'very many changes' => q(
        my $was = \&CLASS::METHOD;
        for my $round (1 .. 500) { *CLASS::METHOD = $round % 7 ? $was : $mine;
        my @got = $object->METHOD('number' MORE); out(@got) if $round % 7 < 2 }),
    'a method replaced by a key that is read' => q(
        my $key = text_object('number', sub { *CLASS::METHOD = $mine });
        out(eval { $object->METHOD($key MORE) }, $@); out(eval { $object->METHOD($key MORE) }, $@)),
    'a method replaced by an argument on its way' => q(
        my $replace = sub { *CLASS::METHOD = $mine; 'number' };
        out($object->METHOD($replace->() MORE)); out($object->METHOD('number' MORE))),
    'a method replaced by its object on its way' => q(
        my $tied = tied_value($object, sub { *CLASS::METHOD = $mine });
        out($$tied->METHOD('number' MORE)); out($$tied->METHOD('number' MORE))),
    'a glob assigned to the glob' => q(
        *Elsewhere::METHOD = $mine; *CLASS::METHOD = *Elsewhere::METHOD; $answer->($object)),
    'a sub of the other class' => q(
        my ($another) = grep { OTHER_CLASS->can($_) } qw(fetch allow);
        *CLASS::METHOD = OTHER_CLASS->can($another); $answer->($object)),
);

# These leave something that cannot be undone.
same_in_all_ways cases_of(
    'undef of the sub' => q(
        undef &CLASS::METHOD; $answer->($object);
        eval 'sub CLASS::METHOD { "anew" } 1' or die; $answer->($object)),
    'undef of the sub by a reference to it' => q(
        my $sub = CLASS->can('METHOD'); undef &$sub; $answer->($object)),
    'undef of the glob' => q(
        no strict 'refs'; undef *{"CLASS::METHOD"}; $answer->($object)),
    'other methods deleted' => q(
        delete @CLASS::{grep { $_ ne 'METHOD' } keys %CLASS::}; $answer->($object); out(sort keys %CLASS::)),
    'the whole class emptied' => q(
        no strict 'refs'; %{"CLASS::"} = (); $answer->($object);
        *{"CLASS::METHOD"} = $mine; $answer->($object)),
    'the whole class undefined' => q(
        no strict 'refs'; undef %{"CLASS::"}; $answer->($object);
        *{"CLASS::METHOD"} = $mine; $answer->($object)),
    'the class deleted' => q(
        no strict 'refs'; my $name = 'CLASS'; my ($last) = $name =~ /(\w+)\z/;
        delete $Shared::Arena::{"${last}::"}; $answer->($object);
        *{"${name}::METHOD"} = $mine; $answer->($object);
        $answer->(bless [], $name)),
    'another class in its place' => q(
        no strict 'refs'; *{"Elsewhere::METHOD"} = $mine; my $held = \%{"CLASS::"};
        *{"CLASS::"} = *{"Elsewhere::"}; $answer->($object); $answer->(bless [], 'CLASS')),
    'a constant' => q(
        eval 'package CLASS; use constant METHOD => 42; 1' or die; $answer->($object)),
    'the order of parents' => q(
        delete $CLASS::{METHOD}; *Foreign::METHOD = $mine; *Other::METHOD = sub { 'other' };
        @CLASS::ISA = ('Foreign', 'Other'); $answer->($object); @CLASS::ISA = reverse @CLASS::ISA; $answer->($object);
        local @CLASS::ISA = 'Foreign'; $answer->($object);
        require mro; mro::set_mro('CLASS', 'c3'); $answer->($object)),
    'overloading put on the class' => q(
        eval 'package CLASS; use overload q(&{}) => sub { sub { 1 }
        }, q("") => sub { "text" }, "bool" => sub { 0 }, "==" => sub { 0 }; 1' or die;
        $answer->($object); $answer->("$object")),
    'a sub without a name, and one renamed' => q(
        require Sub::Util; Sub::Util::set_subname('Elsewhere::renamed', \&CLASS::METHOD); $answer->($object);
        Sub::Util::set_prototype('$$', \&CLASS::METHOD); $answer->($object)),
), apart => 1;

# A class that was undefined begins to count its changes anew, and comes by any number it had before.
same_in_two_perls(<<'END', 'as many changes after the class was undefined as before', like => qr/\Await status 0\nstdout: Can't/);
use strict; use warnings; use POSIX (); use Shared::Arena; $| = 1;
my $map = Shared::Arena->create->map('m', slots => 16); $map->store('k', 'v');
my $call = sub { return eval { $map->fetch('k') } // $@ };
my $kept = \&Shared::Arena::Map::fetch;
$call->();
for my $changes (0 .. 100) {
    my $pid = fork // die "fork: $!";
    waitpid($pid, 0), print($? ? "ended with wait status $?\n" : ''), next if $pid;
    no strict 'refs';
    undef %{'Shared::Arena::Map::'};
    *{"Shared::Arena::Map::other$_"} = sub { 1 } for 1 .. $changes;
    print $call->();
    POSIX::_exit(0);
}
END

# Then the sub that it led to may be gone, and its place be taken by anything.
subtest 'as many changes, and the sub is gone' => sub {
    my $program = <<'END';
use strict; use warnings; use Shared::Arena;
my $map = Shared::Arena->create->map("m", slots => 16); $map->store("k", "v");
my $call = sub { $map->fetch("k") }; $call->();
no strict 'refs'; no warnings;
my ($changes, $taken) = @ARGV;
undef %{"Shared::Arena::Map::"};
*{"Shared::Arena::Map::x$_"} = \&main::other for 1 .. $changes;
my @taken; $taken[$_] = undef for 0 .. $taken;
print eval { $call->() } // $@;
sub other { }
END
    my @wrong;
    for my $changes (16 .. 18) {
        for my $taken (map { 3 * $_ } 0 .. 40) {
            my $run = run_perl($program, args => [$changes, $taken]);
            push @wrong, "$changes changes, $taken scalars: wait status $run->{status}, $run->{out}"
                if $run->{status} || $run->{out} !~ /\ACan't locate object method/;
        }
    }
    is_deeply \@wrong, [], 'no method is found';
};

done_testing;
