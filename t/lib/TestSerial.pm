package TestSerial;

# A serialised map for one value, and whether a value comes out of it as the same that went in.

use strict;
use warnings;

use Exporter 'import';
use Shared::Arena;
use Test::More;
use TestDescribe;

our @EXPORT = qw(serial_map copy_of comes_back alike);

my $Map = serial_map(slots => 4, slot_size => 1 << 20);

# What comes out of a map can be changed, whether what went in could or not.
my @as_copied = (read_only => '');

# A serialised map in an arena of its own.
sub serial_map {
    my (%shape) = (slots => 16, slot_size => 4096, @_);
    my $arena = Shared::Arena->create(size => $shape{slots} * $shape{slot_size} + 4096);
    return $arena->map('serialised', %shape, serialise => 1);
}

# Through a map and back.
sub copy_of {
    my $stored = $Map->store('one', $_[0]);
    die "not stored: $stored\n" if $stored != 1;
    my @there = $Map->fetch('one');
    die 'fetched ' . @there . " values\n" if @there != 1;
    return $there[0];
}

# The value comes back as it is, and storing leaves it as it was.
sub comes_back {
    my $name = $_[1];
    local $Test::Builder::Level = $Test::Builder::Level + 1;
    my $before = describe($_[0]);
    my $stored = eval { $Map->store('one', $_[0]) };
    return fail($name) || diag(defined $stored ? "store answered $stored" : $@) if !defined $stored || $stored != 1;
    my $after = describe($_[0]);
    return _same($after, $before, "$name: as it was after the store") if $after ne $before;
    my $back = eval { describe($Map->fetch('one')) };
    return fail($name) || diag($@) if !defined $back;
    return _same($back, $before =~ /read-only/ ? describe($_[0], @as_copied) : $before, $name);
}

# A copy, and what it should be.
sub alike {
    my $name = $_[2];
    local $Test::Builder::Level = $Test::Builder::Level + 1;
    return _same(describe($_[0]), describe($_[1], @as_copied), $name);
}

# Of long descriptions that differ only the place where they do.
sub _same {
    my ($got, $wanted, $name) = @_;
    local $Test::Builder::Level = $Test::Builder::Level + 1;
    return pass($name) if $got eq $wanted;
    my ($alike) = ("$got\0" ^ "$wanted\0") =~ /\A(\0*)/;
    my $start = length $alike > 40 ? length($alike) - 40 : 0;
    fail($name);
    for (['got:   ', $got], ['wanted:', $wanted]) {
        my ($which, $text) = @$_;
        my $part = $start < length $text ? substr $text, $start, 100 : '';
        diag("$which ...", $part =~ s/([^ -~])/sprintf '\\x%02x', ord $1/ger);
    }
    return;
}

1;
