use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use TestArena;
use TestCallsite;
use Test::More;

# What a call gives depends on where it stands, and on nothing else.

same_in_all_ways [
    'list, scalar and void' => q(for my $key (qw(number short none)) {
        my @list = $object->METHOD($key MORE); my ($first) = $object->METHOD($key MORE);
        my $scalar = $object->METHOD($key MORE); $object->METHOD($key MORE);
        my $count = () = $object->METHOD($key MORE); my $last = ($object->METHOD($key MORE))[-1];
        out(@list, '-', $first, $scalar, $count, $last) }),
    'in the middle of lists' => q(for my $key (qw(number none)) { out(1, $object->METHOD($key MORE), 2);
        out([1, $object->METHOD($key MORE)], { map { $_ => 1 } grep { defined } 'x', $object->METHOD($key MORE) });
        my %hash = (a => scalar($object->METHOD($key MORE)), b => 2); out(\%hash);
        my ($x, $y) = ($object->METHOD($key MORE), 'next'); out($x, $y) }),
    'as a condition' => q(for my $key (qw(number short none empty)) { out(1) if $object->METHOD($key MORE);
        out(2) unless $object->METHOD($key MORE); out($object->METHOD($key MORE) ? 'yes' : 'no');
        out($object->METHOD($key MORE) && 'and'); out($object->METHOD($key MORE) || 'or');
        out($object->METHOD($key MORE) // 'defined or');
        out(!$object->METHOD($key MORE), !!$object->METHOD($key MORE), not $object->METHOD($key MORE));
        out('xor') if $object->METHOD($key MORE) xor 1; my $n = 0;
        while ($object->METHOD($key MORE)) { last if $n++ > 2 }
        until (!$object->METHOD($key MORE)) { last if $n++ > 5 } out($n);
        out(2) for grep { $object->METHOD($key MORE) } 1, 2 }),
    'wantarray of a sub that ends with it' => q(for my $key (qw(number none)) { my $last = sub { $object->METHOD($key MORE) }; my $return = sub { return $object->METHOD($key MORE) }; my $if = sub { if ($_[0]) { $object->METHOD($key MORE) } else { 'else' } };
        my $unless = sub { unless ($_[0]) { 'x' } else { return $object->METHOD($key MORE) } }; my $do = sub { do { 1;
        $object->METHOD($key MORE) } }; my $eval = sub { eval { $object->METHOD($key MORE) } };
        my $and = sub { $_[0] && $object->METHOD($key MORE) };
        my $tern = sub { $_[0] ? $object->METHOD($key MORE) : () }; my $deep = sub { $last->() };
        my $go = sub { goto &$last }; my $string = sub { my ($o, $k) = ($object, $key); eval q{ $o->METHOD($k MORE) }
        // $@ };
        for my $sub ($last, $return, $if, $unless, $do, $eval, $and, $tern, $deep, $go) { my @l = $sub->(1);
        my $s = $sub->(1); $sub->(1); my ($f) = $sub->(1); out(@l, '-', $s, $f) } }),
    'loops and aliases' => q(for my $key (qw(number none)) { for my $v ($object->METHOD($key MORE)) { out($v) }
        for ($object->METHOD($key MORE), $object->METHOD('short' MORE)) { out($_) } out(map { $_ }
        $object->METHOD($key MORE)); out(map { ($_, $object->METHOD($key MORE)) } 1, 2); out(grep { 1 }
        $object->METHOD($key MORE));
        no warnings; out(sort { $a cmp $b } $object->METHOD($key MORE), 1); out(reverse $object->METHOD($key MORE), 1);
        out(sort { $object->METHOD($key MORE) ; $a <=> $b } 3, 1, 2); out(join ',', $object->METHOD($key MORE)); my @p;
        push @p, $object->METHOD($key MORE), 1; unshift @p, $object->METHOD($key MORE);
        splice @p, 1, 0, $object->METHOD($key MORE); out(@p);
        out(sprintf '%s|%s', $object->METHOD($key MORE), 'x', 'y') }),
    'references' => q(for my $key (qw(number none)) { my $r = \ ($object->METHOD($key MORE)); out(ref $r ? $$r : $r);
        my $s = \ scalar $object->METHOD($key MORE); out($$s);
        my @r = \ ($object->METHOD($key MORE), $object->METHOD('short' MORE)); out(map { $$_ } @r);
        out([$object->METHOD($key MORE)], [\ $object->METHOD($key MORE)]); my ($x) = \ my @a;
        @a = $object->METHOD($key MORE); out($x) }),
    'dereferences' => q(for my $key (qw(number short none)) { out(eval { $object->METHOD($key MORE)->{known} }, $@);
        out(eval { @{ $object->METHOD($key MORE) } }, $@); out(eval { ${ $object->METHOD($key MORE) } }, $@);
        out(eval { $object->METHOD($key MORE)->[0] }, $@); out(eval { $object->METHOD($key MORE)->() }, $@);
        out(eval { keys %{ $object->METHOD($key MORE) } }, $@); out(eval { exists $object->METHOD($key MORE)->{x}
        }, $@); out(eval { defined $object->METHOD($key MORE)->{x}{y} }, $@);
        out(eval { delete $object->METHOD($key MORE)->{known} }, $@);
        out(eval { $object->METHOD($key MORE)->{new}{path} = 1 }, $@);
        out(eval { push @{ $object->METHOD($key MORE)->{list} }, 1 }, $@);
        out(eval { local $object->METHOD($key MORE)->{known} = 3; 1 }, $@);
        out(eval { $object->METHOD($key MORE)->no_such }, $@) }),
    'local, my, our and state' => q(use feature 'state'; our ($global, @global, %global) = 'g';
        for my $key (qw(number none)) { local $global = $object->METHOD($key MORE);
        local @global = $object->METHOD($key MORE); local $global{x} = $object->METHOD($key MORE);
        local $_ = $object->METHOD($key MORE); my ($m) = $object->METHOD($key MORE);
        state $state = $object->METHOD($key MORE); my ($u, undef, $w) = ($object->METHOD($key MORE), 2, 3);
        out($global, @global, %global, $_, $m, $state, $u, $w) } out($global)),
    'lvalue subs around it' => q(my $sub = sub :lvalue { $object->METHOD('number' MORE) }; out(eval { $sub->() }, $@);
        out(eval { scalar $sub->() }, $@); out(eval { $sub->() = 5; 1 }, $@); out(eval { ($sub->()) = 5; 1 }, $@);
        out(eval { for ($sub->()) { $_ = 7 } 1 }, $@); out(eval { my $r = \ $sub->(); $$r }, $@);
        out(eval { local $sub->()->{x} = 1; 1 }, $@)),
    'patterns, tr and interpolation' => q(no warnings;
        for my $key (qw(number short none)) { out("a @{[ $object->METHOD($key MORE) ]}
        b ${\ scalar $object->METHOD($key MORE)}"); out('5short' =~ /@{[ $object->METHOD($key MORE) ]}/ ? $& : 'no');
        (my $t = 'x5') =~ s/x/$object->METHOD($key MORE)/e; out($t);
        ($t = 'x5') =~ s/(\w)/$object->METHOD($key MORE) . $1/gee; out($t);
        out($object->METHOD($key MORE) =~ /(.)/ ? $1 : 'no'); out(split /h/, $object->METHOD($key MORE));
        out($object->METHOD($key MORE) =~ tr/a-z0-9//) }),
    'code in patterns' => q(use re 'eval'; my @got; 'ab' =~ /(\w)(?{ push @got, $object->METHOD('number' MORE),
        $1 })(\w)(?{ push @got, scalar $object->METHOD('none' MORE) })/; out(@got);
        out('a5' =~ /a(??{ $object->METHOD('number' MORE) })/ ? 'matched' : 'not')),
    'string repetition and lists of calls' => q(no warnings;
        out($object->METHOD('number' MORE) x 3, ($object->METHOD('number' MORE)) x 3,
        [($object->METHOD('none' MORE)) x 2]); out($object->METHOD('number' MORE), $object->METHOD('short' MORE),
        $object->METHOD('number' MORE)); out($object->METHOD('number' MORE) . $object->METHOD('short' MORE) . $object->METHOD('none' MORE)); my ($p, $q) = ($object->METHOD('number' MORE), $object->METHOD('number' MORE)); out($p, $q)),
    'chained calls of strings' => q(no warnings; my @r = map { my $k = $_; map { "$k=$_" } $object->METHOD($k MORE) }
        qw(number short none); out(@r); my %h = map { ($_ => scalar $object->METHOD($_ MORE)) } qw(number short none);
        out(\%h); my ($x, $y, @z) = map { $object->METHOD($_ MORE) } qw(number none short); out($x, $y, @z)),
    'blocks and modifiers' => q(out($object->METHOD('number' MORE)) for 1 .. 2; my ($n, $m) = (0, 0); { no warnings;
        $n .= $object->METHOD('number' MORE) while $m++ < 5 } out($n !~ /0x/ && $n);
        do { $n = $object->METHOD('number' MORE) } until 1; out($n); { local $@; eval { $object->METHOD('number' MORE);
        1 } and out('lived') } out(do { local $_ = 'number'; $object->METHOD($_ MORE) });
        BLOCK: { last BLOCK if $object->METHOD('number' MORE); out('fell') }
        out(eval { die $object->METHOD('number' MORE), "\n" }, $@)),
    'warnings about it' => qq(my \$x;\n"a" . \$object->METHOD('none' MORE);\n\$x = 1 + \$object->METHOD('none'\nMORE);\nout(\$x, "x \@{[ scalar \$object->METHOD('none' MORE) ]}");\n\$object->METHOD('number' MORE) == 'abc';\nmy \@a = (1)[\$object->METHOD('none' MORE)]),
], ways => ['can', 'function'], fuller => 1;

same_in_all_ways [
    'compound assignment' => q(no warnings; for my $key (qw(number none)) { my ($n, $s, $d, $o, $l) = (1, 'a', undef,
        0, 1); $n += $object->METHOD($key MORE); $s .= $object->METHOD($key MORE); $d //= $object->METHOD($key MORE);
        $o ||= $object->METHOD($key MORE); $l &&= $object->METHOD($key MORE);
        my @x = (1) x ($object->METHOD($key MORE) || 0); $s x= 2; out($n, $s, $d, $o, $l, scalar @x) }),
    'arithmetic and comparison' => q(no warnings; for my $key (qw(number short none)) { out($object->METHOD($key MORE) + 1, 1 - $object->METHOD($key MORE), -$object->METHOD($key MORE), $object->METHOD($key MORE) . 'x', 'x' . $object->METHOD($key MORE), $object->METHOD($key MORE) == 5, $object->METHOD($key MORE) eq '5', $object->METHOD($key MORE) <=> $object->METHOD($key MORE), $object->METHOD($key MORE) x 3, "<@{[$object->METHOD($key MORE)]}>", 1 .. $object->METHOD($key MORE) % 10);
        use integer; out($object->METHOD($key MORE) / 2, $object->METHOD($key MORE) * 3) }),
    'printing, formats and pack' => q(no warnings; open my $h, '>', \ my $printed; print {$h}
        $object->METHOD('number' MORE), '|', $object->METHOD('none' MORE); printf {$h}
        '%s', $object->METHOD('number' MORE); print {$h} pack 'a3', $object->METHOD('short' MORE); close $h;
        out($printed); out(length $object->METHOD('short' MORE), uc $object->METHOD('short' MORE),
        chr $object->METHOD('number' MORE), ord $object->METHOD('short' MORE), index($object->METHOD('short' MORE),
        'o'), ref $object->METHOD('short' MORE), int $object->METHOD('number' MORE),
        hex $object->METHOD('number' MORE), defined $object->METHOD('none' MORE), lc($object->METHOD('none' MORE)))),
    'sort, grep and first of many' => q(require List::Util; no warnings;
        out(List::Util::first(sub { $object->METHOD('number' MORE) }, 1, 2));
        out(List::Util::sum(map { scalar $object->METHOD('number' MORE) } 1 .. 3));
        out(List::Util::reduce(sub { $object->METHOD('number' MORE); $a + $b }, 1 .. 4));
        out(List::Util::max($object->METHOD('number' MORE), 2));
        out(sort { scalar($object->METHOD('number' MORE)) * 0 + $a <=> $b } 3, 1, 2)),
    'given up on the way' => q(
        my $leave = sub { for (1 .. 3) { return $object->METHOD('number' MORE) if $_ == 2 } return };
        my $next = sub { my @all; for my $k (qw(none number)) { push @all, $object->METHOD($k MORE);
        next if $k eq 'none'; return @all } };
        out($leave->()); out(scalar $leave->()); out(map { $next->() } 1, 2)),
], ways => ['can', 'function'];

# Messages of perl's compiler quote the program.
same_in_all_ways [
    'attempts to assign' => q(my ($x, @more) = 1; for my $text (q{$object->METHOD("k" MORE) = 1},
        q{($object->METHOD("k" MORE)) = 1},
        q{($x, $object->METHOD("k" MORE)) = (1, 2)},
        q{$object->METHOD("k" MORE)++},
        q{--$object->METHOD("k" MORE)},
        q{$object->METHOD("k" MORE) .= 1},
        q{$object->METHOD("k" MORE) =~ s/a/b/},
        q{$object->METHOD("k" MORE) =~ tr/a/b/},
        q{substr($object->METHOD("number" MORE), 0, 1) = 2},
        q{local $object->METHOD("k" MORE)},
        q{local $object->METHOD("k" MORE) = 1},
        q{my $object->METHOD("k" MORE)},
        q{undef $object->METHOD("k" MORE)},
        q{chop(my $y = $object->METHOD("number" MORE))},
        q{chomp $object->METHOD("number" MORE)},
        q{push $object->METHOD("k" MORE), 1},
        q{\ $object->METHOD("k" MORE) = \ $x},
        q{delete $object->METHOD("k" MORE)},
        q{exists $object->METHOD("k" MORE)},
        q{defined $object->METHOD("k" MORE)},
        q{for ($object->METHOD("number" MORE)) { $_ .= 1 }},
        q{read STDIN, $object->METHOD("k" MORE), 1},
        q{(1 ? $object->METHOD("k" MORE) : $x) = 3},
        q{pos($object->METHOD("k" MORE)) = 1},
        q{vec($object->METHOD("k" MORE), 0, 8) = 1},
        q{wait && $object->METHOD("k" MORE) = 3},
        q{my $r = \ (local $object->METHOD("k" MORE))},
        q{foreach my $z (1, $object->METHOD("k" MORE)) { $z = 3 }},
        q{&$x($object->METHOD("k" MORE)) if !$x; 1},
        q{sub { $_[0] = 3 }->($object->METHOD("number" MORE))})
        { my @r = eval $text; out(@r, $@) } $object->METHOD('k' MORE)),
], alone => 1, fuller => 1;

done_testing;
