use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use TestArena;
use TestCallsite;
use Test::More;

use File::Temp;

# A call site is right wherever and whenever it was compiled, and as long as the program runs.

my $directory = File::Temp->newdir;
sub file { my ($name, $text) = @_; write_file("$directory/$name", $text); return "$directory/$name" }

my $foreign = '{ package Foreign; sub fetch { "foreign" } sub allow { "foreign" } sub store { "foreign" } }';
my $make    = 'our $arena = Shared::Arena->create; our $map = $arena->map("m", slots => 16);
        our $rate = $arena->rate("r", slots => 64); $map->store("k", "v");';
my $calls   = 'print join("|", map { eval { $_->fetch("k") } // $@ }
        $map, bless([], "Foreign"), $map), "|", join(",", map { $map->incr("n") }
        1 .. 3), "|", eval { $rate->allow("k") } // $@, "\n";';

file('Late.pm', "package Late; use strict; use warnings; our (\$map, \$rate);
        sub calls { (\$map, \$rate) = (\$main::map, \$main::rate); $calls } 1;\n");
file('plain.pl', "our (\$map, \$rate); $calls 1;\n");
file('Both.pm', "package Both; sub before { my (\$map, \$rate) = (\$main::map, \$main::rate); $calls }
        use Shared::Arena; sub after { my (\$map, \$rate) = (\$main::map, \$main::rate); $calls } 1;\n");

my @programs = (
    'a string'                 => "use Shared::Arena; $make eval q{$calls} or die;
        (eval q{sub { $calls }})->() for 1, 2; eval q{eval q{$calls}}",
    'a file required later'    => "use Shared::Arena; $make require Late; Late::calls() for 1, 2;",
    'a file required earlier'  => "BEGIN { require Late } use Shared::Arena; $make Late::calls() for 1, 2;",
    'a file done'              => "use Shared::Arena; $make do '$directory/plain.pl' for 1, 2;",
    'a file of which a part came earlier' => "use Both; $make Both::before(); Both::after(); Both::before();",
    'code compiled before the module is loaded' => "our (\$map, \$rate); sub early { $calls } require Shared::Arena;
        $make early() for 1, 2; eval q{$calls}",
    'a module loaded at run time in a string' => "our (\$map, \$rate); eval q{use Shared::Arena; $make $calls}
        or print \$\@; $calls",
    'a module loaded twice'    => "use Shared::Arena; delete \$INC{'Shared/Arena.pm'}; { no warnings;
        require Shared::Arena } $make $calls",
    'BEGIN, UNITCHECK, CHECK, INIT and END' => "use Shared::Arena; our (\$map, \$rate); BEGIN { $make $calls }
        UNITCHECK { $calls } CHECK { $calls } INIT { $calls } $calls END { $calls }",
    'DESTROY and the end of it all' => "use Shared::Arena; $make { package Last;
        sub DESTROY { my (\$map, \$rate) = (\$main::map, \$main::rate); no warnings; $calls } }
        { my \$x = bless [] , 'Last' } our \$global = bless [\$map], 'Last'; our \$cycle = bless [], 'Last';
        \$cycle->[0] = \$cycle; END { undef \$global }",
    'an exit in the middle'    => "use Shared::Arena; $make END { $calls } sub go { exit 3 - 3 }
        \$map->store(do { go(); 'k' }, 1);",
    'sort blocks and subs'     => "use Shared::Arena; $make \$map->store(\$_, 10 - \$_) for 1 .. 9;
        sub by { \$map->fetch(\$a) <=> \$map->fetch(\$b) }
        print join(',', sort { \$map->fetch(\$a) <=> \$map->fetch(\$b) }
        1 .. 9), join(',', sort by 1 .. 9), join(',', map { \$map->fetch(\$_) }
        reverse 1 .. 9), join(',', grep { \$map->fetch(\$_) > 4 } 1 .. 9), qq{\\n};",
    'code in patterns'         => "use Shared::Arena; $make my \@got;
        'kk' =~ /(?:(k)(?{ push \@got, \$map->fetch(\$1) }))+/; my \$re = qr/(??{ \$map->fetch('k') })/;
        print qq{\@got }, ('v' =~ /^\$re\$/ ? 1 : 0), qq{\\n};",
    'formats'                  => "use Shared::Arena;
        $make format STDOUT =\n@<<<<< @>>>>\n\$map->fetch('k'), \$map->incr('n')\n.\nwrite for 1 .. 3;",
    'overloads that call'      => "use Shared::Arena; $make { package Over;
        use overload '+' => sub { \$main::map->incr('n') }, '\"\"' => sub { \$main::map->fetch('k') },
        '<=>' => sub { \$main::map->counter('n') }, '\@{}' => sub { [\$main::map->fetch('k')] },
        bool => sub { \$main::map->exists('k') } } my \$o = bless {}, 'Over';
        print \$o + 1, \"\$o\", \$o <=> 1, \"\@\$o\", \$o ? 1 : 0, qq{\\n} for 1 .. 3;",
    'ties that call'           => "use Shared::Arena; $make { package Tie; sub TIEHASH { bless [] }
        sub FETCH { \$main::map->fetch(\$_[1]) } sub STORE { \$main::map->store(\@_[1, 2]) }
        sub EXISTS { \$main::map->exists(\$_[1]) } } tie my %h, 'Tie'; \$h{a} = 1; \$h{b} = \$h{a} . 2;
        print \$h{k}, \$h{b}, exists \$h{c} ? 1 : 0, exists \$h{a} ? 1 : 0, qq{\\n}; { local \$h{a} = 5; print \$h{a} }
        print \$h{a}, qq{\\n};",
    'closures, generators and currying' => "use Shared::Arena; $make my \@subs = map { my \$k = \$_;
        sub { \$map->incr(\$k) } } qw(a b a); print map({ \$_->() } \@subs, \@subs), qq{\\n};
        my \$curry = sub { my \$f = shift; sub { \$f->(\@_) } };
        print \$curry->(sub { \$map->fetch(\@_) })->('k'), qq{\\n};",
    'deep recursion'           => "use Shared::Arena; $make no warnings 'recursion'; sub down { my (\$n) = \@_;
        return \$map->incr('n') + (\$n ? down(\$n - 1) : 0) } print down(5000), qq{\\n};",
    'prototypes, attributes and signatures' => "use Shared::Arena;
        $make sub proto (\\\$\$) { return \${\$_[0]}->fetch(\$_[1]) } no warnings; use feature 'signatures';
        sub sig (\$m, \$k = \$m->fetch('k')) { return \$k }
        print sig(\$map), sig(\$map, 1), proto(\$map, \$map->exists('k') ? 'k' : 'none'), qq{\\n};",
    'constants of the program' => "use Shared::Arena; our \$map; BEGIN { \$map = Shared::Arena->create->map('m');
        \$map->store('k', 'v') } use constant VALUE => \$map->fetch('k'); use constant MAP => \$map;
        print VALUE, MAP->fetch('k'), MAP->incr('n'), qq{\\n};",
    'indirect notation and class names' => "use Shared::Arena; $make my \$v = fetch \$map 'k';
        my \$w = fetch Foreign 'k'; print \$v, \$w; print Foreign->fetch('k'), Foreign::->fetch('k'),
        'Foreign'->fetch('k'), \$map -> fetch ( 'k' ), \$map->fetch(('k')), qq{\\n};",
    'goto and loops'           => "use Shared::Arena; $make my \$i = 0; AGAIN: \$map->incr('n');
        goto AGAIN if \$i++ < 5; OUTER: for my \$x (1 .. 3) { for (1 .. 3) { next OUTER if \$map->incr('m') % 2;
        last OUTER if \$map->counter('m') > 5 } } print \$map->counter('n'), \$map->counter('m'), qq{\\n};
        sub hop { goto &Shared::Arena::Map::fetch } print hop(\$map, 'k'), qq{\\n};",
    'a fork'                   => "use Shared::Arena; $make \$| = 1; sub calls { $calls } calls();
        if (!(my \$pid = fork)) { calls(); eval q{$calls}; exit } else { waitpid \$pid, 0 } calls();",
    'code that is freed'       => "use Shared::Arena; $make for (1 .. 300) { my \$s = eval q{sub { \$map->incr('n') }};
        \$s->(); undef \$s } { no warnings; eval q{sub gone { \$map->incr('n') }}; gone(); undef &gone; }
        print \$map->counter('n'), qq{\\n};",
    'reset, local SIG and the rest' => "use Shared::Arena; $make local \$SIG{__WARN__}
        = sub { print 'W', \$map->fetch('k') }; warn 1; local \$SIG{__DIE__} = sub { print 'D', \$map->incr('n') };
        eval { die 1 }; { local \@ARGV = ('k'); print \$map->fetch(shift \@ARGV) } { local \$/ = \\10; local \$_ = 'k';
        print \$map->fetch(\$_), qq{\\n} }",
);
while (my ($name, $program) = splice @programs, 0, 2) {
    same_in_two_perls("use strict; use warnings; use lib '$directory'; $foreign $program", $name,
        like => qr/\Await status 0\nstdout: ./);
}

done_testing;
