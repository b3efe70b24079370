use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use TestArena;
use TestScalars;
use TestSerial;
use Test::More;

use Hash::Util ();
use Shared::Arena;

# Hashes of a serialised map keep their keys, to the UTF-8 flag, and storing one leaves no trace on it.

my @warnings;
$SIG{__WARN__} = sub { push @warnings, @_ };

my %keys = strings();

subtest 'one key' => sub {
    for my $name (sort keys %keys) {
        my $hash = { $keys{$name} => 1 };
        my ($flag) = map { utf8::is_utf8($_) } keys %$hash;
        comes_back($hash, $name);
        my $copy = copy_of($hash);
        my ($back) = keys %$copy;
        is $back, $keys{$name}, "$name is eq";
        is utf8::is_utf8($back), $flag, "$name has its flag";
        ok exists $copy->{ $keys{$name} }, "$name is found";
        my $other = $keys{$name};
        utf8::is_utf8($other) ? utf8::downgrade($other, 1) : utf8::upgrade($other);
        ok exists $copy->{$other}, "$name is found with the other flag";
    }
};

subtest 'all of them' => sub {
    my %hash = map { $keys{$_} => $_ } sort keys %keys;
    comes_back(\%hash, 'in one hash');
    comes_back([\%hash, { %hash }, { reverse %hash }], 'and in more');
    my $copy = copy_of(\%hash);
    is_deeply [map { $copy->{$_} } sort keys %hash], [map { $hash{$_} } sort keys %hash], 'each has its value';
};

subtest 'one key with and without the flag' => sub {
    my ($bytes, $flagged) = ("caf\xE9", upgraded("caf\xE9"));
    comes_back([{ $bytes => 1 }, { $flagged => 1 }, { $bytes => 2 }, { $flagged => 2 }, $bytes, $flagged], 'in turn');
    comes_back([{ $flagged => 1 }, { $bytes => 1 }, { plain => 1 }, { upgraded('plain') => 1 }], 'the flagged first');
};

subtest 'empty hashes' => sub {
    comes_back({}, 'by itself');
    comes_back([{}, {}, { a => {} }], 'in others');
    my %emptied = map { $_ => 1 } 1 .. 100;
    delete @emptied{ keys %emptied };
    comes_back(\%emptied, 'once full');
};

subtest 'many keys' => sub {
    for my $count (15, 16, 17, 1000) {
        my %hash = map { ("key $_" => $_) } 1 .. $count;
        my $copy = copy_of(\%hash);
        is scalar(keys %$copy), $count, "$count of them";
        comes_back(\%hash, 'with their values');
    }
    comes_back({ map { ("\x{263A}$_" => "key $_", "\xE9$_" => undef, "x$_" => [$_]) } 1 .. 1000 }, 'of all kinds');
};

subtest 'the same keys again and again' => sub {
    my @keys = map { "a rather long name of a column, number $_" } 1 .. 20;
    my @rows = map { my $row = $_; +{ map { $_ => "$row $_" } @keys, "caf\xE9", upgraded("\xE8"), "\x{263A}" } } 1 .. 100;
    comes_back(\@rows, 'a hundred rows');
    comes_back([map { +{ name => 'name', value => 'value' } } 1 .. 100], 'keys that are values, too');
};

subtest 'values that are eq keys' => sub {
    comes_back({ map { $_ => $_ } values %keys }, 'of the same hash');
    comes_back([(map { $_ } values %keys), { map { $_ => 1 } values %keys }], 'values first');
    comes_back([{ map { $_ => 1 } values %keys }, map { $_ } values %keys], 'keys first');
};

subtest 'restricted hashes' => sub {
    my %hash = (a => 1, b => [2], c => 3);
    Hash::Util::lock_keys(%hash);
    delete $hash{c};
    my $copy = copy_of(\%hash);
    is_deeply $copy, { a => 1, b => [2] }, 'without the keys that are only allowed';
    is_deeply [sort keys %$copy], [qw(a b)], 'which are not listed either';
    ok eval { $copy->{new} = 1; $copy->{a} = 2; delete $copy->{b}; 1 }, 'come back unrestricted' or diag $@;
    ok !eval { $hash{new} = 1; 1 }, 'the one that was stored is as restricted as before';
    Hash::Util::lock_hash(%hash);
    $copy = copy_of(\%hash);
    ok eval { $copy->{a}++; $copy->{$_} = 1 for 1 .. 100; delete $copy->{$_} for keys %$copy; 1 }, 'values that could not be changed can be' or diag $@;
    ok !eval { $hash{a} = 5; 1 }, 'and those that were stored still cannot';
    my %allowed;
    Hash::Util::lock_keys(%allowed, 1 .. 100);
    is_deeply copy_of(\%allowed), {}, 'a hash with places for keys only is empty';
};

subtest 'each goes on where it was' => sub {
    my %inner = map { $_ => 1 } 'a' .. 'm';
    my %hash  = ((map { $_ => 1 } 1 .. 20), inner => \%inner);
    for my $stop (0, 1, 7, 20) {
        my (%seen, $steps);
        for ($steps = 0; $steps < $stop; $steps++) { my ($key) = each %hash; $seen{$key}++ }
        my ($first) = each %inner;
        copy_of(\%hash);
        while (my ($key) = each %hash) { $seen{$key}++ }
        is_deeply \%seen, { map { $_ => 1 } keys %hash }, "after $stop steps";
        my @rest;
        while (my ($key) = each %inner) { push @rest, $key }
        is_deeply [sort $first, @rest], [sort keys %inner], 'in an inner hash, too';
    }
    my $copy = copy_of(\%hash);
    each %$_, each %$_ for \%hash, \%inner;
    my @all;
    while (my ($key) = each %$copy) { push @all, $key }
    is_deeply [sort @all], [sort keys %hash], 'and the copy begins at its beginning';
};

subtest 'numbers of buckets, and hashes of the symbol table' => sub {
    my %grown;
    keys(%grown) = 4096;
    $grown{a} = 1;
    is_deeply copy_of(\%grown), { a => 1 }, 'a hash with many buckets';
    %My::Config::values = (a => 1, b => [1]);
    is_deeply copy_of(\%My::Config::values), \%My::Config::values, 'a package variable';
    my $environment = copy_of(\%ENV);
    is_deeply $environment, {%ENV}, 'the environment';
    $environment->{PATH} = 'changed';
    isnt $ENV{PATH}, 'changed', 'is a copy, without magic';
    'a1' =~ /(?<letter>[a-z])(?<digit>[0-9])/ or die;
    is_deeply copy_of(\%+), { letter => 'a', digit => '1' }, 'named captures';
    @My::Class::ISA = ('My::Config');
    my $parents = copy_of(\@My::Class::ISA);
    push @$parents, 'Other';
    is_deeply \@My::Class::ISA, ['My::Config'], 'parents of a class';
};

is_deeply \@warnings, [], 'without a warning';

done_testing;
