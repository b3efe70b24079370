use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use TestArena;
use TestCallsite;
use Test::More;

# A call site may return the same scalar each time it runs. Nobody can tell: what one run gave is not changed by the next.

my $each = 'for my $pair (PAIRS) { my ($one, $two) = @$pair; {';

same_in_all_ways [
    'references that are kept' => "$each" . ' my @kept; push @kept, \\$object->METHOD($_ MORE) for $one, $two;
        values_out(map { $$_ } @kept) } }',
    'references to each of a list' => "$each" . ' my @kept = map { \\($object->METHOD($_ MORE)) } $one, $two;
        values_out(map { $$_ } @kept) } }',
    'references to a scalar' => "$each" . ' my @kept = map { \\scalar $object->METHOD($_ MORE) } $one, $two;
        values_out(map { $$_ } @kept) } }',
    'aliases in a loop' => "$each" . q(
        my $call = sub { $object->METHOD($_[0] MORE) };
        for my $alias ($call->($one)) { my $again = $call->($two); values_out($alias, $again) } } }),
    'aliases in a loop over the call itself' => "$each" . q(
        my ($again, @seen);
        my $run = sub {
            my ($key, $deeper) = @_;
            for my $alias ($object->METHOD($key MORE)) { $deeper->() if $deeper; push @seen, $alias }
        };
        $run->($one, sub { $run->($two) });
        values_out(@seen) } }),
    'arguments' => "$each" . q(
        my $both = sub { values_out(@_) };
        $both->($object->METHOD($one MORE), $object->METHOD($two MORE)) } }),
    'arguments that are kept' => "$each" . q(
        my @kept;
        my $keep = sub { push @kept, \\@_, \\$_[0]; return };
        $keep->(scalar $object->METHOD($_ MORE)) for $one, $two;
        values_out(@kept) } }),
    'arguments that are read after the call site ran again' => "$each" . q(
        my @seen;
        my $run;
        my $read = sub { my $deeper = $_[1]; $run->($deeper) if $deeper; push @seen, $_[0] };
        $run = sub { my ($key, $next) = split / /, $_[0]; $read->(scalar $object->METHOD($key MORE), $next) };
        $run->("$one $two");
        values_out(@seen) } }),
    'aliases in map, grep and sort' => "$each" . q(
        values_out(map { $object->METHOD($_ MORE) } $one, $two);
        values_out(map { my $key = $_; map { $_ } $object->METHOD($key MORE), $key } $one, $two);
        values_out(map { \\$_ } map { scalar $object->METHOD($_ MORE) } $one, $two);
        values_out(grep { defined } map { scalar $object->METHOD($_ MORE) } $one, $two);
        no warnings; values_out(sort { $a cmp $b } map { scalar $object->METHOD($_ MORE) } $one, $two) } }),
    'first of a list, slices and lists of lists' => "$each" . q(
        values_out(map { ($object->METHOD($_ MORE))[0] } $one, $two);
        values_out(map { [$object->METHOD($_ MORE)] } $one, $two);
        values_out(map { +{ $_ => scalar $object->METHOD($_ MORE) } } $one, $two);
        values_out(map { ($object->METHOD($_ MORE)) x 2 } $one, $two) } }),
    'what subs return' => "$each" . q(
        my @subs = (
            sub { $object->METHOD($_[0] MORE) },
            sub { return $object->METHOD($_[0] MORE) },
            sub { my $result = $object->METHOD($_[0] MORE); $result },
            sub { if (1) { $object->METHOD($_[0] MORE) } },
            sub { do { $object->METHOD($_[0] MORE) } },
            sub { eval { $object->METHOD($_[0] MORE) } },
            sub { for (1) { return $object->METHOD($_[0] MORE) } },
            sub { ($object->METHOD($_[0] MORE)) },
        );
        for my $sub (@subs) {
            my @kept = (\\scalar($sub->($one)), \\scalar($sub->($two)));
            values_out(map { $$_ } @kept);
            values_out($sub->($one), $sub->($two));
            values_out(map { \\$_ } $sub->($one), $sub->($two));
        } } }),
    'recursion' => "$each" . q(
        my $down; $down = sub { my ($key, @more) = @_; return ($object->METHOD($key MORE), @more ? $down->(@more) : ()) };
        values_out($down->($one, $two, $one));
        my $first; $first = sub { my ($key, @more) = @_;
        return (@more ? $first->(@more) : (), $object->METHOD($key MORE)) };
        values_out($first->($one, $two, $one));
        my $held; $held = sub {
            my ($key, @more) = @_;
            my @all = map { \\$_ } scalar $object->METHOD($key MORE);
            push @all, $held->(@more) if @more;
            return @all;
        };
        values_out($held->($one, $two, $one)) } }),
    'closures' => "$each" . q(
        my @closures = map { my $result = $object->METHOD($_ MORE); sub { $result } } $one, $two;
        values_out(map { $_->() } @closures);
        my @aliases; for my $alias (map { scalar $object->METHOD($_ MORE) } $one, $two) { push @aliases, sub { $alias } }
        values_out(map { $_->() } @aliases) } }),
    'containers' => "$each" . q(
        my (%hash, @array);
        $hash{$_} = $object->METHOD($_ MORE) for $one, $two;
        $array[$_] = $object->METHOD(($one, $two)[$_] MORE) for 0, 1;
        push @array, scalar $object->METHOD($_ MORE) for $one, $two;
        unshift @array, scalar $object->METHOD($_ MORE) for $one, $two;
        splice @array, 1, 0, scalar $object->METHOD($_ MORE) for $one, $two;
        @hash{'a', 'b'} = map { scalar $object->METHOD($_ MORE) } $one, $two;
        values_out(\\%hash, @array) } }),
    'two variables' => "$each" . q(
        my @results;
        for my $key ($one, $two) { my $result = $object->METHOD($key MORE); push @results, \\$result }
        values_out(@results);
        my ($before, $after);
        for my $key ($one, $two) { $before = $after; $after = $object->METHOD($key MORE) }
        values_out($before, $after);
        for my $key ($one, $two) { ($before, $after) = ($after, scalar $object->METHOD($key MORE)) }
        values_out($before, $after) } }),
    'a string that is built up' => "$each" . q(
        no warnings;
        my $text = '';
        $text .= $object->METHOD($_ MORE) for $one, $two;
        values_out($text, "<@{[ map { scalar $object->METHOD($_ MORE) }
        $one, $two ]}>", join '-', map { scalar $object->METHOD($_ MORE) } $one, $two);
        values_out(map { $object->METHOD($_ MORE) . '' } $one, $two);
        values_out(map { ($object->METHOD($_ MORE) || '') x 2 } $one, $two) } }),
], ways => ['copied'];

# What is returned can be changed as far as it ever could be; the next call does not know.
my $change = 'for my $pair (PAIRS) { my ($one) = @$pair; for my $to ("changed", undef, 12, "c" x 3000, [1]) {';
same_in_all_ways [
    'a change through a loop' => "$change" . q(
        for my $round (1, 2) { for my $alias ($object->METHOD($one MORE)) { out($alias); eval { $alias = $to; 1 }
        or out($@); values_out($alias) } } } }),
    'a change through map' => "$change" . q(
        for my $round (1, 2) { values_out(map { my $was = $_; eval { $_ = $to; 1 } or out($@); ($was, $_) }
        $object->METHOD($one MORE)) } } }),
    'a change through grep' => "$change" . q(
        for my $round (1, 2) { values_out(grep { eval { $_ = $to; 1 } or out($@); 1 } $object->METHOD($one MORE)) } } }),
    'a change through arguments' => "$change" . q(
        my $change = sub { my $was = $_[0]; eval { $_[0] = $to; 1 } or out($@); values_out($was, @_) };
        for my $round (1, 2) { $change->($object->METHOD($one MORE)) } } }),
    'a change through a reference' => "$change" . q(
        for my $round (1, 2) { my $held = \\scalar $object->METHOD($one MORE); out($$held); eval { $$held = $to; 1 }
        or out($@); values_out($$held) } } }),
    'an end in place' => "$change" . q(
        no warnings;
        for my $round (1, 2) { for ($object->METHOD($one MORE)) { eval { $_ .= 'more'; s/./-/;
        substr($_, 0, 1) = 'xyz'; undef $_; 1 } or out($@); out($_) } } } }),
    'a bless and a tie' => "$change" . q(
        for my $round (1, 2) {
            for ($object->METHOD($one MORE)) { out($_); eval { tie $_, 'TestMagic::Tied', 'tied'; 1 } or out($@);
        values_out($_) }
            my $held = \\scalar $object->METHOD($one MORE);
            eval { bless $held, 'TestCallsite::Elsewhere'; 1 } or out($@);
            out(ref $held, $$held);
        } } }),
    'a weak reference, a utf8 upgrade and a lock' => "$change" . q(
        require Scalar::Util;
        no warnings;
        for my $round (1, 2) {
            for ($object->METHOD($one MORE)) { Scalar::Util::weaken(my $weak = \\$_); out($$weak) }
            for ($object->METHOD($one MORE)) { eval { utf8::upgrade($_) if !Internals::SvREADONLY($_);
        $_ .= "\x{263a}" }; out($_) }
            for ($object->METHOD($one MORE)) { Internals::SvREADONLY($_, 1) if !Internals::SvREADONLY($_); out($_) }
            pos($_) = 1, out(pos) for grep { !Internals::SvREADONLY($_) } $object->METHOD($one MORE);
            out($object->METHOD($one MORE));
        } } }),
], ways => [qw(can function)];

done_testing;
