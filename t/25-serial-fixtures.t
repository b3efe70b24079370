use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use TestArena;
use TestDescribe;
use TestDocuments;
use TestSlot;
use Test::More;

use Shared::Arena;

# Documents that Sereal wrote are read as the values they stand for, and a map holds documents. xt/serial-interop.t
# shows both at length, with Sereal itself; t/60-hostile-values.t has damaged ones.

my $arena = Shared::Arena->create(size => 256 * 1024);
my $map   = $arena->map('m', slots => 64, slot_size => 1024, serialise => 1);

# A description of what the code returns, or why there is none.
sub outcome_of {
    my ($code) = @_;
    my $text = eval { describe(scalar $code->()) };
    return defined $text ? $text : "died: $@";
}

for my $document (documents()) {
    subtest $document->{name} => sub {
        my $wanted = describe($document->{value}->());
        for my $version (grep { $document->{$_} } 5, 4) {
            my ($bytes) = bytes_of($document, $version);
            is outcome_of(sub { Shared::Arena::_decode($bytes) }), $wanted, "of protocol $version";
            my $key = "$document->{name}, $version.";
            $map->store($key, 'a placeholder');
            TestSlot->new($arena, 'm', $map, $key)->plant($bytes);
            is outcome_of(sub { $map->fetch($key) }), $wanted, 'and from a map';
        }
    };
}

subtest 'an alias that is referred to' => sub {
    # From `aliased_dedupe_strings => 1`, when a reference leads to the second of two equal elements.
    my $bytes = pack 'H*', '3df3726c050044282b01eb68656c6c6f2068656c6c6f282b01ae0529142905';
    my $text  = 'hello hello';
    my @same  = map { sub { \@_ }->($text) } 1, 2;
    is outcome_of(sub { Shared::Arena::_decode($bytes) }), describe([@same, \$text, \$text]), 'is the element';
};

subtest 'what a map holds' => sub {
    for my $document (documents()) {
        my $value = $document->{value}->();
        my $key   = "$document->{name}, ours.";
        is $map->store($key, $value), 1, "$document->{name}: stored";
        my $bytes = TestSlot->new($arena, 'm', $map, $key)->bytes;
        is $bytes, Shared::Arena::_encode($value), 'is the document';
        like $bytes, qr/\A=\xF3rl\x05\x00/, 'of protocol 5';
    }
};

done_testing;
