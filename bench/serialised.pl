#!/usr/bin/env perl
# What it costs to store and to fetch a structure, beside the serialisers that a program could use itself.
#
#   perl -Mblib bench/serialised.pl [--rounds=100] [--calls=400] [--piece=20] [--keys=64]
#
# For each structure: `store` and `fetch` of a map made with serialise => 1; `encode` and `decode` of Sereal objects that
# are made once, without any map, to which the ratios refer; what a program does without serialise => 1, with each
# serialiser that is installed: encode and store, fetch and decode; and storing and fetching bytes that are encoded
# already. Then a short string, as it is in both kinds of map. All alternate in pieces of so many calls, each to one of
# so many keys that are there: short pieces and many keys, as in a program that does other things too, find little in the
# processor's caches; long ones with one key find all. Every contestant has a copy of the structure to itself, since some
# serialisers leave marks on numbers. A fetch is timed with the freeing of what the one before returned.
#
# Sereal, Storable, JSON::XS and CBOR::XS take part where they are (on Debian and Ubuntu: libsereal-encoder-perl,
# libsereal-decoder-perl, libjson-xs-perl, libcbor-xs-perl); without Sereal there are no ratios. Takes about a minute.

use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";

use BenchClock;
use BenchReport;
use Shared::Arena;

my $option = options(rounds => 100, calls => 400, piece => 20, keys => 64);

my $text = substr 'The quick brown fox jumps over the lazy dog. ' x 25, 0, 1024;
my %record = (id => 42, name => 'alice', email => 'alice@example.com', score => 1.5);
my @structures = (
    ['a hash of five keys'       => sub { +{ %record, tags => [qw(a b c)] } }],
    ['an array of 100 hashes'    => sub {
        return [map { +{ id => $_, name => "user $_", active => $_ % 2, score => $_ / 4 } } 1 .. 100];
    }],
    ['a kilobyte of text'        => sub { +{ title => 'a page', text => "$text", seen => 12 } }],
    ['an array of 1,000 numbers' => sub { [1 .. 1000] }],
    ['30 hashes, nested'         => sub { my $value = {}; $value = { depth => $_, in => $value } for 1 .. 30; $value }],
);
my $string = 'a short string';

# Perl source over the value, the document and the object or objects of each.
my %serialiser = (
    'Sereal'   => { encode => '$one->encode($value)',     decode => '$two->decode(%s)' },
    'Storable' => { encode => 'Storable::freeze($value)', decode => 'Storable::thaw(%s)' },
    'JSON::XS' => { encode => '$one->encode($value)',     decode => '$one->decode(%s)' },
    'CBOR::XS' => { encode => '$one->encode($value)',     decode => '$one->decode(%s)' },
);
sub modules { my ($name) = @_; return $name eq 'Sereal' ? qw(Sereal::Encoder Sereal::Decoder) : $name }

my @present = grep { eval join '', map({"require $_;"} modules($_)), '1' } qw(Sereal Storable JSON::XS CBOR::XS);

my %number;    # of contestants, by name
my $arena = Shared::Arena->create(size => 18 << 20, regions => 2);
my @shape = (slots => 512, slot_size => 16_000);
my $map   = $arena->map('serialised', @shape, serialise => 1);
my $bytes = $arena->map('bytes', @shape);

my %contestants = (string => [of_string()], map { my ($name, $make) = @$_; $name => [contestants($make)] } @structures);
my %costs   = map { my $name = $_; $name => sub { costs(@{ $contestants{$name} }) } } keys %contestants;
my $samples = race($option->{rounds}, %costs);

heading('Structures',
    sprintf '%d calls of each kind a round, in pieces of %d, to %d keys; %d rounds; nanoseconds a call.',
    @$option{qw(calls piece keys rounds)});
for my $structure (@structures) {
    my ($name, $make) = @$structure;
    printf "%s:\n\n", ucfirst $name;
    show($name, 'Sereal alone');
}
print "A string of ${\length $string} bytes:\n\n";
show('string', 'a byte map');

# --- contestants ---

sub contestants {
    my ($make) = @_;
    my @contestants = contestant('a serialised map', '$map->store($_, $value)', '$map->fetch($_)', value => $make->());
    for my $name (@present) {
        my ($encode, $decode) = @{ $serialiser{$name} }{qw(encode decode)};
        my @objects  = map { $_->can('new') ? $_->new : () } modules($name);
        my %variable = (value => $make->(), one => $objects[0], two => $objects[-1]);
        $variable{document} = compile($encode, %variable)->();
        my $decode_document = sprintf $decode, '$document';
        my $decode_fetched  = sprintf $decode, 'scalar $bytes->fetch($_)';
        push @contestants, contestant('Sereal alone', $encode, $decode_document, %variable) if $name eq 'Sereal';
        push @contestants,
            contestant("$name and a byte map", "\$bytes->store(\$_, $encode)", $decode_fetched, %variable);
        next if $name ne $present[0];
        push @contestants,
            contestant('a byte map alone', '$bytes->store($_, $document)', '$bytes->fetch($_)', %variable);
    }
    return @contestants;
}

sub of_string {
    return contestant('a serialised map', '$map->store($_, $value)', '$map->fetch($_)', value => $string),
        contestant('a byte map', '$bytes->store($_, $value)', '$bytes->fetch($_)', value => $string);
}

# The code to time, which is called with a piece of keys.
sub contestant {
    my ($name, $store, $fetch, %variable) = @_;
    my ($store_all, $fetch_all) = map { compile("\$got = $_ for \@{ \$_[0] }; return", %variable) } $store, $fetch;
    my $number = $number{$name} ||= 1 + keys %number;
    my $keys   = [map {"user:$number:$_"} 1 .. $option->{keys}];
    $store_all->($keys);
    defined compile("local \$_ = \$_[0]; $fetch", %variable)->($keys->[0]) or die "$name: a slot is too small\n";
    return { name => $name, store => $store_all, fetch => $fetch_all, keys => $keys };
}

sub compile {
    my ($source, %variable) = @_;
    my ($value, $document, $one, $two) = @variable{qw(value document one two)};
    my $got;
    return eval "sub { $source }" || die $@;
}

# A round. First everything is stored and fetched once, which is not counted.
sub costs {
    my @contestants = @_;
    my @timed;
    for my $contestant (@contestants) {
        my $keys = $contestant->{keys};
        $contestant->{$_}->($keys) for 'store', 'fetch';
        my $pieces = pieces([map { $keys->[rand @$keys] } 1 .. $option->{calls}], $option->{piece});
        push @timed, map { [$contestant->{$_}, $pieces] } 'store', 'fetch';
    }
    my @costs = net_costs(@timed);
    return map { my $name = $_->{name}; map { ("$name $_" => shift @costs) } 'store', 'fetch' } @contestants;
}

# --- showing ---

# The costs, and their ratios to those of one of the contestants, which may not be there.
sub show {
    my ($name, $base) = @_;
    my $figures = $samples->{$name};
    my $ratio   = sub { my ($values, $others) = @_; return $others ? spread(ratios($values, $others), '%.2f') : '-' };
    my @rows;
    for my $contestant (map { $_->{name} } @{ $contestants{$name} }) {
        push @rows, [$contestant];
        for my $call ('store', 'fetch') {
            my ($cost, $of_base) = @$figures{ "$contestant $call", "$base $call" };
            push @{ $rows[-1] }, spread($cost, '%.0f'), $ratio->($cost, $of_base);
        }
    }
    table(['', 'store', "to $base", 'fetch', "to $base"], @rows);
    return;
}
