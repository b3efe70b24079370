use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use TestArena;
use TestCallsite;
use Test::More;

use File::Temp;

# Tools that look at compiled code, and perl's own switches, see what they always saw.

my $directory = File::Temp->newdir;
my $code = <<'END';
our ($map, $rate); my @list = ('k'); my %h = (a => 1);
sub all {
    my ($key, @more) = @_;
    $map->store($key, 'v'); $map->store('k', "a$key", ttl => 5) or return; my $v = $map->fetch($key);
        my ($w) = $map->fetch("x$key");
    print $map->exists($key) ? 1 : 0, $map->incr('n', 2), $map->counter('n'), "\n" if $rate->allow($key, 2)
        && $rate->remaining($key) > 1 || !$rate->retry_after($key);
    for my $x ($map->fetch($key), map { $map->fetch($_) } @more) { push @list, \$map->fetch($x // 'k') }
    return wantarray ? $map->fetch(@_) : $map->fetch($h{a})->{b}[$map->counter('n')];
}
END
write_file("$directory/code.pl", "use strict; use warnings; use Shared::Arena;\n$code\n1;\n");

my $start  = 'use strict; use warnings; use Shared::Arena; our $map = Shared::Arena->create->map("m", slots => 16);
        our $rate = Shared::Arena->create->rate("r", slots => 64); $map->store("k", "v");';
my $calls  = 'print join("|", map { eval { $_->fetch("k") } // $@ }
        $map, bless([], "Foreign"), $map), "|", join(",", map { $map->incr("n") }
        1 .. 3), "|", eval { $rate->allow("k") } // $@, "\n";';
my @programs = (
    'B::Deparse'         => qq($code\n use B::Deparse;
        print B::Deparse->new(\$_)->coderef2text(\\&all), "\\n" for '-p', '-sC', '-l', '-P';
        for my \$t ('\$map->fetch("k")', 'my \@x = \$rate->allow(\$_, 2)',
        'local \$_ = \$map->incr("n", ttl => 1); 1') { print B::Deparse->new->coderef2text(eval "sub { \$t }"),
        "\\n" }),
    'B::Concise'         => qq($code\n use B::Concise;
        for my \$style ('-basic', '-exec', '-terse', '-linenoise', '-debug') { next if \$style =~ /debug|terse/;
        my \$out = ''; B::Concise::walk_output(\\\$out); B::Concise::compile(\$style, 'all')->();
        \$out =~ s/0x[0-9a-f]+|\\(eval \\d+\\)//g; print \$out }),
    'B::Concise, every field' => qq($code\n use B::Concise; for my \$style ('-terse', '-debug') { my \$out = '';
        B::Concise::walk_output(\\\$out); B::Concise::compile(\$style, 'all')->();
        \$out =~ s/0x[0-9a-f]+|SV = .*|\\d{6,}//g; print \$out }),
    'B, walking ops'     => qq($code\n use B; my %seen; sub B::OP::note { my \$o = shift;
        my \$m = \$o->name =~ /method/ && \$o->can('meth_sv') ? \$o->meth_sv : undef;
        push \@main::said, join ' ', \$o->name, \$o->type, \$o->ppaddr, \$o->flags, \$o->private, \$o->targ,
        \$o->next->can('name') ? \$o->next->name : '-', \$m && \$m->can('PV') ? \$m->PV : '' }
        B::walkoptree(B::svref_2object(\\&all)->ROOT, 'note'); print "\$_\\n" for \@main::said;
        B::walkoptree(B::main_root(), 'note'); print scalar(\@main::said), "\\n"),
    'Storable with code' => qq(no strict; sub all { \$main::map->fetch('k') } use Storable; { no warnings 'once';
        \$Storable::Deparse = \$Storable::Eval = 1 }
        my \$sub = Storable::dclone([sub { \$main::map->fetch("k") }])->[0];
        print \$sub->(), Storable::thaw(Storable::freeze([\\&all]))->[0] ? 1 : 0, "\\n"),
    'Data::Dumper with code' => qq($code\n use Data::Dumper; \$Data::Dumper::Deparse = 1; print Dumper(\\&all)),
    'Safe'               => q(use Safe; my $safe = Safe->new; ${$safe->varglob('map')} = $map;
        for my $t ('$map->fetch("k")', '$map->incr("n")', 'my @x = $map->fetch("none"); scalar @x', 'system "x"',
        '$map->fetch(`x`)') { print $safe->reval($t) // $@, "\n" } $safe->deny('method_named');
        print $safe->reval('$map->fetch("k")') // $@, "\n"; my $only = Safe->new; $only->deny('entersub');
        print $only->reval('$map->fetch("k")') // $@, "\n"),
    'Opcode masks'       => q(use Opcode; print eval { $map->fetch('k') }, Opcode::opdesc('method_named'),
        Opcode::opdesc('entersub'), "\n"),
    'pragmas over time'  => "for my \$p ('use re q(debugcolor); no re;', 'use integer;', 'use bytes;',
        'use feature q(:all); no warnings;', 'use sort; use vars;', 'no strict;', 'use overloading; no overloading;',
        'use if 1, q(integer);', 'use warnings FATAL => q(all);') { no strict; eval \$p . q{$calls} or print \$\@ }",
    'Scalar::Util, Sub::Util and mro' => q(use Scalar::Util; use Sub::Util; use mro;
        print Scalar::Util::blessed($map), Scalar::Util::reftype($map), Sub::Util::subname($map->can('fetch')),
        defined Sub::Util::prototype($map->can('fetch')) ? 1 : 0, "@{mro::get_linear_isa(ref $map)}",
        $map->isa('Shared::Arena::Map') ? 1 : 0, $map->DOES('Shared::Arena::Map') ? 1 : 0, "\n"),
    'PL_op and warnings of lines' => qq(\$SIG{__WARN__} = sub { print \@_ };\n\$map->fetch(\nundef);
        my \$u;\n\$map->store(\$u, 1); \$map->fetch(\$h::x); my \%z;
        \$map->exists(\$z{y});\n\$map->incr('n', 'x') if 0; print eval { \$map->incr('n', 'x') } // \$\@),
    'coverage of sub names' => q(print ref($_), defined &$_ ? 1 : 0, "\n" for \&Shared::Arena::Map::fetch,
        Shared::Arena::Map->can('store'), *Shared::Arena::Map::incr{CODE}),
    'Tie::Hash::NamedCapture and perl variables' => q('ab' =~ /(?<x>a)(?<y>b)/; $map->store('a', 'captured');
        print $map->fetch($+{x}), $map->exists($+{y}) ? 1 : 0, $map->fetch(substr "xa", 1), "\n"),
);
while (my ($name, $program) = splice @programs, 0, 2) {
    same_in_two_perls("$start $program", $name, like => qr/\Await status 0\nstdout: ./);
}

subtest 'switches' => sub {
    my $program = "$start my \@list; { no strict; no warnings; $calls } print \"\$\$\" ? qq{done\\n} : '';";
    for my $switches (['-c'], ['-T'], ['-t'], ['-W'], ['-X'], ['-w'], ['-Mre'], ['-Mre=eval'], ['-Mstrict'],
        ['-Minteger'], ['-Mutf8'], ['-CS'], ['-MO=Lint'], ['-MO=Deparse'], ['-MO=Concise,-src'], ['-DsS'], ['-u'],
        ['-l'], ['-U'], ['-mthreads']) {
        next if $switches->[0] =~ /Lint|-u|-D/;    # not in every perl
        my ($with, $without) = map {
            local $ENV{SHARED_ARENA_NO_XOP} = $_;
            my $run = TestCallsite::run_switched($program, @$switches);
            s/\(?0x[0-9a-f]+\)?//g for $run;
            $run;
        } '', 1;
        is $with, $without, "@$switches";
    }
};

subtest 'tainted arguments' => sub {
    my $program = "$start my \$t = substr(\$ENV{PATH}, 0, 0) . 'k'; use Scalar::Util 'tainted';"
        . ' print tainted($t) ? 1 : 0; my $v = $map->fetch($t); my ($w) = $map->fetch($t);
        print tainted($v) ? 1 : 0, tainted($w) ? 1 : 0, tainted($map->fetch("k")) ? 1 : 0, tainted($map->incr("n$t"))
        ? 1 : 0, tainted($map->incr("n") . $t) ? 1 : 0, (tainted($t) . (tainted($map->fetch("k")) ? 1 : 0)),
        $map->store("x", $t), tainted(scalar $map->fetch("x")) ? 1 : 0, tainted($rate->allow($t)) ? 1 : 0, tainted([$t,
        $map->incr("m")]->[1]) ? 1 : 0, "\n"';
    my ($with, $without) = map { local $ENV{SHARED_ARENA_NO_XOP} = $_; TestCallsite::run_switched($program, '-T') } '', 1;
    is $with, $without, 'taint alike';
    like $with, qr/1\d+\n/, 'with tainting on';
};

done_testing;
