use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use TestArena;
use TestCallsite;
use Test::More;

# Whoever looks at the caller, at a line number or at a stack sees the same; and so do handlers that run meanwhile.

same_in_all_ways [
    'lines of statements with many lines' => "out(eval {\n\$object\n->METHOD(\n'k'\nMORE,\n1,\n2,\n3\n)\n},
        \$\@);\nout(eval {\nmy \$x = 1 +\n\$object->METHOD(\n)\n+ 2; }, \$\@);\nif (\n1 &&\neval { \$object->METHOD();
        1 }\n) { }\nout(\$\@); my \@l = (1,\neval {\n\$object->METHOD('k' MORE, 4, 5, 6) },\n\$\@); out(\@l)",
    'lines that are said otherwise' => "\n#line 500 \"elsewhere\"\nout(eval { \$object->METHOD() },
        \$\@);\nwarn 'here'; \$object->METHOD(undef MORE);",
    'lines after a loop, a condition and a block' => "for (1 .. 2) {\n1;\n}\nout(eval { \$object->METHOD() }, \$\@);
        unless (0) {\nout(eval { \$object->METHOD() }, \$\@) }\nout(\neval { 1 ?\n\$object->METHOD()\n: 2 }, \$\@)",
    'handlers of warnings and of ends' => "local \$SIG{__WARN__}
        = sub { out('warned', \@_, map { [(caller \$_)[0 .. 5]] } 0 .. 4) };\nlocal \$SIG{__DIE__}
        = sub { out('dies', \@_, map { [(caller \$_)[0 .. 5]] }
        0 .. 4) };\nmy \$sub = sub {\n\$object->METHOD(\nundef\nMORE) };\n\$sub->();\neval { \$object->METHOD(\n) };\nout(\$\@)",
    'handlers that call again' => "local \$SIG{__WARN__} = sub { out(\@_);
        out(\$object->METHOD('number' MORE)) };\n\$object->METHOD(undef MORE); local \$SIG{__DIE__}
        = sub { local \$SIG{__DIE__}; out(\$object->METHOD('number' MORE)); eval { \$object->METHOD() };
        out(\$\@) };\neval { \$object->METHOD() }; out(\$\@)",
    'callers of overloads and ties' => "my \$show = sub { out(map { [(caller \$_)[0 .. 5]] }
        0 .. 6) };\nmy (\$text, \$tied) = (text_object('number', \$show), tied_value('number',
        \$show));\nmy \$sub = sub {\n\$object->METHOD(\$text\nMORE);\n};\n\$sub->('argument');
        my \@list = \$sub->();\n\$object->METHOD(\n\$\$tied MORE); eval { \$object->METHOD(\$text MORE) };
        eval q{ \$object->METHOD(\$text MORE) }",
    'traces' => "require Carp; my \$text = text_object('number', sub { out(map { (split /\n/)[0 .. 2] }
        Carp::longmess('long'), Carp::shortmess('short')) });\nmy \$sub = sub { \$object->METHOD(\n\$text MORE) };\n\$sub->('a', 'b');\nlocal \$SIG{__DIE__} = sub { out((split /\n/, Carp::longmess(\@_))[0, 1]) }; eval { \$object->METHOD() }",
    'exceptions' => "my \$died = { code => 1 }; my \$text = text_object('k',
        sub { die \$died });\neval { \$object->METHOD(\$text MORE) }; out(\$\@); local \$\@ = 'before';
        eval { \$object->METHOD('number' MORE) }; out(\$\@);\nout(eval { eval { \$object->METHOD() }; out(\$\@);
        \$object->METHOD('number' MORE) }, \$\@); { local \$\@; eval { \$object->METHOD() } } out(\$\@);
        \$object->METHOD(); out('not reached')",
    'many exceptions' => "my (\$dead, \$deep) = (0, 0); for (1 .. 60) { eval { \$object->METHOD(); 1 } or \$dead++;
        out(\$object->METHOD('number' MORE)) if \$_ % 20 == 0 } out(\$dead); my \$down;
        \$down = sub { \$_[0] ? \$down->(\$_[0] - 1) : \$object->METHOD() }; eval { \$down->(50) }; out(\$\@)",
    'objects that go away at the end of a call' => "my \@gone; { package My::Sub;
        sub DESTROY { push \@{ \$_[0][0] }, 'gone' } use overload '\"\"' => sub { 'number' }
        }\nout(\$object->METHOD(bless([\\\@gone], 'My::Sub') MORE), scalar \@gone); out(\@gone);
        for (1, 2) { \$object->METHOD(bless([\\\@gone], 'My::Sub') MORE); out(\@gone) }\n{ package My::Sub2; our \@out;
        sub DESTROY { \@out = eval { \$object->METHOD('number' MORE) } } } { my \$o = bless [], 'My::Sub2' }
        out(\@My::Sub2::out)",
    'numbers of the statement and the package' => "package My::Sub;\nTestCallsite::Piece::out(__PACKAGE__, __LINE__,
        eval { \$object->METHOD('number' MORE) }, eval { \$object->METHOD() }, \$\@); package TestCallsite::Piece;
        out((caller(0))[3], __LINE__)",
    'strictures and other pragmas' => "no strict; no warnings; out(\$object->METHOD(undef MORE)); use integer;
        use bytes; out(\$object->METHOD(\"caf\\xe9\" MORE)); no bytes; use utf8;
        out(\$object->METHOD('caf\x{c3}\x{a9}' MORE)); use sort 'stable'; use open ':std'; use feature ':5.16';
        out(\$object->METHOD('number' MORE)); use warnings; out(\$object->METHOD(undef MORE));
        no warnings 'uninitialized'; out(\$object->METHOD(undef MORE))",
], ways => ['can', 'function'];

# Signals: a handler runs between calls, and in the middle of one that waits for a lock; it may call, die and jump.
my $start = 'use strict; use warnings; use POSIX (); use Time::HiRes (); use Shared::Arena;
        my $map = Shared::Arena->create->map("m", slots => 16); $map->store("k", "v");';
same_in_two_perls("$start $_->[1]", $_->[0], like => qr/\Await status 0\n/) for (
    ['a handler between calls' => 'my $seen = 0; local $SIG{USR1} = sub { $seen++; $map->incr("h") };
        for (1 .. 2000) { kill USR1 => $$ if $_ % 100 == 0; $map->incr("n") }
        print "$seen ", $map->counter("h"), " ", $map->counter("n"), "\n"'],
    ['a handler that dies' => 'my $n = 0; for (1 .. 50) { eval { local $SIG{USR1} = sub { die "signalled\n" };
        kill USR1 => $$; $map->incr("n") for 1 .. 10; 1 } or $n++; $map->fetch("k") eq "v" or die } print "$n\n"'],
    ['an alarm' => 'my $ended = eval { local $SIG{ALRM} = sub { die "alarm\n" }; Time::HiRes::alarm(0.05);
        1 while $map->incr("n"); 1 }; print defined $ended ? "lived" : $@;
        print $map->counter("n") > 100 ? "counted\n" : "not\n"'],
);

# In the middle of one: a writer that was stopped holds the lock.
SKIP: {
    require Shared::Arena;
    skip 'not built with failpoints', 1 if !Shared::Arena::_failpoints();
    same_in_two_perls(<<"END", 'a handler in the middle of a wait', like => qr/waited 1 alarm/);
$start
my \$pid = fork; if (!\$pid) { Shared::Arena::_failpoint('lock.held', 'stop'); \$map->store('k', 'w'); POSIX::_exit(0) }
waitpid \$pid, POSIX::WUNTRACED();
Shared::Arena::_lock_patience(30);
my \$waited = 0;
local \$SIG{ALRM} = sub { \$waited++; \$map->fetch('k'); die "alarm\\n" }; Time::HiRes::alarm(0.2);
my \$got = eval { \$map->store('k', 'x') } // \$@;
print "waited \$waited \$got\\n"; kill KILL => \$pid; waitpid \$pid, 0;
END
}

done_testing;
