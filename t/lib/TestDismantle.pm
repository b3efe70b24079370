package TestDismantle;

# Empties everything that values hold, so that rings in them do not stay in memory.

use strict;
use warnings;

use Exporter 'import';
use Scalar::Util qw(refaddr reftype);

our @EXPORT = qw(dismantle);

sub dismantle {
    my @todo = grep {ref} @_;
    my (@found, %seen);
    no overloading;
    while (@todo) {
        my $thing = pop @todo;
        next if $seen{ refaddr $thing }++;
        push @found, $thing;
        my $type = reftype $thing;
        push @todo, grep {ref}
            $type eq 'ARRAY' ? @$thing : $type eq 'HASH' ? values %$thing : $type eq 'REF' ? $$thing : ();
    }
    for my $thing (@found) {
        my $type = reftype $thing;
        if    ($type eq 'ARRAY') { @$thing = () }
        elsif ($type eq 'HASH')  { %$thing = () }
        elsif ($type eq 'REF')   { undef $$thing }
    }
    return;
}

1;
