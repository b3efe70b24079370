use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use TestArena;
use TestBuffer;
use TestDescribe;
use TestDocuments;
use TestMutations;
use Test::More;

use Shared::Arena;

# Documents that Sereal wrote are read as the values they stand for, and damaged ones are a value or an error that says at
# which byte. xt/serial-interop.t and xt/serial-hostile.t do this at length, with Sereal itself.

my $arena = Shared::Arena->create(size => 256 * 1024);
my $map   = $arena->map('m', slots => 32, slot_size => 1024, serialise => 1);

# A description of what the code returns, or why there is none.
sub outcome_of { my ($code) = @_; my $text = eval { describe(scalar $code->()) }; return defined $text ? $text : "died: $@" }

for my $document (documents()) {
    subtest $document->{name} => sub {
        my $wanted = describe($document->{value}->());
        for my $version (grep { $document->{$_} } 5, 4) {
            my ($bytes) = bytes_of($document, $version);
            is outcome_of(sub { Shared::Arena::_decode($bytes) }), $wanted, "of protocol $version";
            my $key = "$document->{name}, $version.";
            $map->store($key, 'a placeholder');
            set_value_bytes($arena, 'm', $key, $bytes);
            is outcome_of(sub { $map->fetch($key) }), $wanted, 'and from a map';
        }
        my $value = $document->{value}->();
        is outcome_of(sub { Shared::Arena::_decode(Shared::Arena::_encode($value)) }), $wanted, 'and so is what we write';
        is describe($value), $wanted, 'which leaves the value as it was';
    };
}

subtest 'an alias that is referred to' => sub {
    # From `aliased_dedupe_strings => 1`, when a reference leads to the second of two equal elements.
    my $bytes = pack 'H*', '3df3726c050044282b01eb68656c6c6f2068656c6c6f282b01ae0529142905';
    my $text  = 'hello hello';
    my @same  = map { sub { \@_ }->($text) } 1, 2;
    is outcome_of(sub { Shared::Arena::_decode($bytes) }), describe([@same, \$text, \$text]), 'is the element';
};

# What is wrong with some documents, at most five complaints.
sub complaints {
    my @wrong;
    for my $document (@_) {
        my ($kind, $wrong) = outcome($document);
        push @wrong, "$wrong: " . unpack 'H*', $document if defined $wrong;
        last if @wrong == 5;
    }
    return \@wrong;
}

subtest 'cut short' => sub {
    for my $original (document_bytes()) {
        my @documents = truncations($original);
        is_deeply complaints(@documents), [], 'of ' . length($original) . ' bytes: errors that say where';
        is_deeply [grep { (outcome($_))[0] eq 'a value' } @documents], [], 'and none a value';
    }
};

subtest 'with bytes behind the end' => sub {
    for my $original (document_bytes()) {
        my @documents = map {"$original$_"} "\0", "\x3F", "\x01", $original;
        is_deeply complaints(@documents), [], 'of ' . length($original) . ' bytes: errors that say where';
        is_deeply [grep { (outcome($_))[0] eq 'a value' } @documents], [], 'and none a value';
    }
};

subtest 'with one bit changed' => sub {
    is_deeply complaints(flips($_)), [], 'of ' . length($_) . ' bytes: a value or an error that says where' for document_bytes();
};

subtest 'with random changes' => sub {
    is_deeply complaints(map { mutant($_) } 1 .. 5000), [], 'a value or an error that says where';
};

done_testing;
