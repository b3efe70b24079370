use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib", "$FindBin::Bin/../t/lib";
use TestArena;
use TestDescribe;
use TestDocuments;
use TestEvidence;
use TestMutations;
use TestSlot;
use TestStructures;
use TestValues;
use Test::More;

use Shared::Arena;

# Sereal, the modules that the format comes from, read what we write, and we read what they write: a table of values, and
# random structures.

BEGIN {
    eval { require Sereal::Encoder; require Sereal::Decoder; 1 }
        or plan skip_all => 'Sereal::Encoder and Sereal::Decoder are not installed';
}

watchdog(3600);
my $cases = {settings(cases => 30_000)}->{cases};

# Their encoders, by name.
my %options = (
    ''                     => {},
    'dedupe_strings'       => { dedupe_strings => 1 },
    'aliased_dedupe_strings' => { aliased_dedupe_strings => 1 },
    'no_shared_hashkeys'   => { no_shared_hashkeys => 1 },
    'canonical'            => { canonical => 1 },
    'sort_keys'            => { sort_keys => 1 },
);
my %encoder;
for my $version (3, 4, 5) {
    for my $name (keys %options) {
        my %option = (protocol_version => $version, %{ $options{$name} });
        $encoder{"protocol $version $name"} = Sereal::Encoder->new(\%option);
    }
}
my @encoders = sort keys %encoder;
my $decoder  = Sereal::Decoder->new;

# Their decoder knows no holes: it makes elements of them that are undef.
my @as_theirs = (hole => 'undef');

sub encode { return Shared::Arena::_encode($_[0]) }
sub decode { return Shared::Arena::_decode($_[0]) }

# A description of what the code returns, or why there is none.
sub outcome_of {
    my ($code, @how) = @_;
    my $text = eval { describe(scalar $code->(), @how) };
    return defined $text ? $text : "died: $@";
}

# What is wrong with how we read a value that one of their encoders writes. Where they write something else, we make of
# it what their decoder does; where that refuses or alters what they wrote, we read it all the same.
sub of_theirs {
    my ($encoder, $value, $wanted, $option) = @_;
    my $written = $encoder{$encoder}->encode($value);
    my $ours    = outcome_of(sub { decode($written) }, @as_theirs);
    my $theirs  = outcome_of(sub { $decoder->decode($written) }, @as_theirs);
    return $ours =~ /\Adied/ ? { $encoder => $ours } : {} if $theirs =~ /\Adied/ || $option->{to_them};
    $wanted = $theirs if $option->{they_change} || $encoder =~ /aliased/;
    return $ours eq $wanted ? {} : { $encoder => "$ours instead of $wanted" };
}

for my $case (every_kind()) {
    my ($name, $code, $option) = @$case;
    subtest $name => sub {
        my $value    = $code->();
        my $wanted   = describe($value);
        my $loosely  = describe($value, @as_theirs);
        my $document = encode($value);
        is describe($value), $wanted, 'encoding it leaves it as it was';
        is outcome_of(sub { decode($document) }), $wanted, 'we read what we write';
        my $theirs = outcome_of(sub { $decoder->decode($document) }, @as_theirs);
        if   ($option->{to_them}) { like $theirs, $option->{to_them}, 'they do not read what we write' }
        else                      { is $theirs, $loosely, 'they read what we write' }
        my %wrong = map { %$_ } map { of_theirs($_, $value, $loosely, $option) } @encoders;
        is_deeply \%wrong, {}, 'we read what their encoders write';
        is "@TestObject::Touchy::Called", '', 'nothing is called';
    };
}

subtest 'the documents of the tests' => sub {
    plan skip_all => 'another version of Sereal::Encoder' if Sereal::Encoder->VERSION ne '5.003';
    for my $document (documents()) {
        for my $version (grep { $document->{$_} } 5, 4) {
            my %option  = (sort_keys => 1, protocol_version => $version, %{ $document->{with} || {} });
            my $written = Sereal::Encoder->new(\%option)->encode($document->{value}->());
            my ($bytes) = bytes_of($document, $version);
            is unpack('H*', $written), unpack('H*', $bytes), "$document->{name}, protocol $version";
        }
    }
};

subtest 'a document with data of its user in the header' => sub {
    my $list  = [1, 2];
    my $value = { a => $list, b => "\x{263A}", c => [$list, \$list->[0]] };
    for my $version (3, 4, 5) {
        my $encoder = Sereal::Encoder->new({ protocol_version => $version });
        for my $header ({ version => 1 }, 'x' x 300, [1 .. 100], undef) {
            my $document = $encoder->encode($value, $header);
            is outcome_of(sub { decode($document) }), describe($value), "is read without them: protocol $version";
        }
    }
};

subtest 'documents of their other methods and functions' => sub {
    my $value = [1, { a => 'b' }];
    # Each alone in a sub: Sereal::Encoder 5.003 frees what it should not where the first is called in a list.
    my %encode = (
        sereal_encode_with_object      => sub { Sereal::Encoder::sereal_encode_with_object(Sereal::Encoder->new, $value) },
        encode_sereal                  => sub { Sereal::Encoder::encode_sereal($value) },
        encode_sereal_with_header_data => sub { Sereal::Encoder::encode_sereal_with_header_data($value, 'header') },
    );
    for my $name (sort keys %encode) {
        is outcome_of(sub { decode(scalar $encode{$name}->()) }), describe($value), $name;
    }
};

# What is not read is refused by name.
my $compressible = ['long ' x 1000];
my @snappy = (compress => Sereal::Encoder::SRL_SNAPPY());
my @zlib   = (compress => Sereal::Encoder::SRL_ZLIB());
my @zstd   = (compress => Sereal::Encoder::SRL_ZSTD());
my %refused = (
    'protocol 1'            => [$compressible, { protocol_version => 1 }, qr/\bversion|=srl/],
    'protocol 2'            => [$compressible, { protocol_version => 2 }, qr/\bversion|=srl/],
    'Snappy'                => [$compressible, {@snappy}, qr/snappy/i],
    'Snappy, protocol 4'    => [$compressible, { @snappy, protocol_version => 4 }, qr/snappy/i],
    'Snappy, protocol 1'    => [$compressible, { @snappy, protocol_version => 1 }, qr/\bversion|=srl/],
    'Zlib'                  => [$compressible, {@zlib}, qr/zlib/i],
    'Zlib, protocol 3'      => [$compressible, { @zlib, protocol_version => 3 }, qr/zlib/i],
    'Zstandard'             => [$compressible, {@zstd}, qr/zstd/i],
    'Zstandard, protocol 4' => [$compressible, { @zstd, protocol_version => 4 }, qr/zstd/i],
    'FREEZE callbacks'      => [bless([1], 'Frozen'), { freeze_callbacks => 1 }, qr/FREEZE/],
    'FREEZE callbacks, the second of a class' =>
        [[map { bless [$_], 'Frozen' } 1, 2], { freeze_callbacks => 1 }, qr/FREEZE/],
);
{
    my @thawed;
    sub Frozen::FREEZE { return 'frozen' }
    sub Frozen::THAW   { push @thawed, @_; return bless [], 'Frozen' }
    for my $name (sort keys %refused) {
        subtest "refused by name: $name" => sub {
            my ($value, $option, $reason) = @{ $refused{$name} };
            my $document = Sereal::Encoder->new($option)->encode($value);
            ok eval { $decoder->decode($document); 1 }, 'they read it' or diag $@;
            @thawed = ();
            croaks_like { Shared::Arena::_decode($document) }
                qr/\AShared::Arena\W+_decode: the value is corrupt: byte [0-9]+: .*$reason/, 'we do not';
            is_deeply \@thawed, [], 'and call nothing';
        };
    }
}

subtest 'refused by name: a document that went through UTF-8' => sub {
    my $document = Sereal::Encoder->new->encode([1]);
    utf8::encode($document);
    croaks_like { Shared::Arena::_decode($document) } qr/byte [0-9]+: .*UTF-8/, 'refused';
};

subtest 'through the slots of a map' => sub {
    my $arena = Shared::Arena->create(size => 8 << 20);
    my $map   = $arena->map('m', slots => 500, slot_size => 4000, serialise => 1);
    my $count = 0;
    for my $case (every_kind()) {
        my ($name, $code, $option) = @$case;
        my $value = $code->();
        my $key   = 'the key ' . $count++ . '.';
        my $rc    = $map->store($key, $value);
        if (length encode($value) > $map->max_pair - length $key) {
            is $rc, -1, "$name: too large";
            next;
        }
        is $rc, 1, "$name: stored";
        my $slot     = TestSlot->new($arena, 'm', $map, $key);
        my $document = $slot->bytes;
        is outcome_of(sub { decode($document) }), describe($value), 'as a document';
        my $loosely = describe($value, @as_theirs);
        is outcome_of(sub { $decoder->decode($document) }, @as_theirs), $loosely, 'that they read' if !$option->{to_them};
        my $theirs = Sereal::Encoder->new->encode($value);
        next if $option->{they_change} || length $theirs > $map->max_pair - length $key;
        $slot->plant($theirs);
        is outcome_of(sub { $map->fetch($key) }, @as_theirs), $loosely, 'and their document in its place is read';
    }
    intact_ok $map, 'the map is whole';

    $map->store('wrong', 'x' x 100);
    my $slot     = TestSlot->new($arena, 'm', $map, 'wrong');
    my $document = Sereal::Encoder->new->encode([1, 2, 3]);
    $slot->plant(substr $document, 0, -1);
    my $corrupt = qr/\AShared::Arena::Map->fetch: the value of 'wrong' is corrupt/;
    croaks_like { my @there = $map->fetch('wrong') } qr/$corrupt: byte [0-9]: \S/, 'one that is cut short is an error';
    $slot->plant("$document\0");
    croaks_like { my @there = $map->fetch('wrong') } qr/$corrupt: byte 10: \S/, 'so is one with a byte more';
    $slot->plant('no document');
    croaks_like { my @there = $map->fetch('wrong') } qr/$corrupt: byte 0: \S/, 'and what is none at all';
    ok $map->exists('wrong'), 'the key is there';
    is $map->store('wrong', 'right'), 1, 'can be stored anew';
    is_deeply [$map->fetch('wrong')], ['right'], 'and is right';
};

subtest 'documents with one bit changed' => sub {
    # Their decoder lets go at once of what only weak references point at, tracks what it copies, and knows no /xx.
    my %other = map { $_ => 1 } 'weak references', 'elements that are one scalar', 'regexps',
        'something of everything';
    local $SIG{__WARN__} = sub { };
    for my $document (grep { !$other{ $_->{name} } } documents()) {
        my ($same, @wrong) = 0;
        for my $bytes (map { flips($_) } bytes_of($document)) {
            my $ours   = outcome_of(sub { decode($bytes) }, @as_theirs);
            my $theirs = outcome_of(sub { Sereal::Decoder->new->decode($bytes) }, @as_theirs);
            next if grep {/\Adied/} $ours, $theirs;
            $same++;
            push @wrong, unpack('H*', $bytes) . ": $ours, to them $theirs" if $ours ne $theirs;
        }
        is_deeply \@wrong, [], "$document->{name}: what both read is the same, $same times";
    }
};

# Each with one of their encoders, in turn. Only protocol 5 has truths, and finding strings again overlooks UTF-8 flags.
sub differences {
    my ($seed) = @_;
    my $encoder   = $encoders[$seed % @encoders];
    my $value     = structure($seed, upgraded => $encoder !~ /dedupe/, $encoder =~ /protocol 5/ ? () : (truths => 0));
    my $wanted    = describe($value);
    my $loosely   = describe($value, @as_theirs);
    my %of_theirs = %{ of_theirs($encoder, $value, $loosely, {}) };
    my $document  = eval { encode($value) };
    return "seed $seed: not encoded: $@" if !defined $document;
    my @pairs = (
        ['we, of ours'   => outcome_of(sub { decode($document) }), $wanted],
        ['they, of ours' => outcome_of(sub { $decoder->decode($document) }, @as_theirs), $loosely],
        ['we, of theirs' => join(' ', %of_theirs), ''],
        ['the original'  => describe($value), $wanted],
        ['calls'         => "@TestObject::Touchy::Called", ''],
    );
    return map {"seed $seed: $_->[0]: $_->[1]\n  instead of: $_->[2]"} grep { $_->[1] ne $_->[2] } @pairs;
}

subtest "$cases random structures" => sub {
    my $piece = 10_000;
    my %kinds = (
        'weak references'                 => qr/weak ->/,
        'weak references that come first' => qr/weak [^-]/,
        'rings'                           => qr/->[12]\b/,
        'one scalar in two places'        => qr/=\d/,
        'holes'                           => qr/hole/,
        'objects'                         => qr/TestObject/,
        'regexps'                         => qr/qr"/,
    );
    my %met;
    for (my $first = 1; $first <= $cases; $first += 2 * $piece) {
        my @wrong;
        for my $answer (in_children(2, sub {
            my ($number) = @_;
            my ($from, $to) = ($first + $number * $piece, $first + ($number + 1) * $piece - 1);
            my (@differences, %seen);
            for my $seed ($from .. ($to < $cases ? $to : $cases)) {
                push @differences, differences($seed);
                last if @differences > 5;
                my $text = describe(structure($seed)) if $seed % 10 == 0;
                $text and $text =~ $kinds{$_} and $seen{$_}++ for keys %kinds;
            }
            return (\@differences, \%seen);
        }, patience => 1200)) {
            my ($differences, $seen) = @$answer;
            push @wrong, @{ $differences || [] };
            $met{$_} += $seen->{$_} for keys %{ $seen || {} };
        }
        my $last = $first + 2 * $piece - 1;
        is_deeply \@wrong, [], "seeds $first to " . ($last < $cases ? $last : $cases);
        last if @wrong;
    }
    ok $met{$_}, "with $_" for $cases < 10_000 ? () : sort keys %kinds;
};

shown("$cases random structures, written by us and read by Sereal, and the other way about: equal");

done_testing;
