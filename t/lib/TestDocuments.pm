package TestDocuments;

# Documents as Sereal::Encoder 5.003 writes them with `sort_keys`, in the protocols 5 and 4, and the values they stand
# for. xt/serial-interop.t shows that it still writes them.

use strict;
use warnings;

use Exporter 'import';
use Scalar::Util qw(weaken);

our @EXPORT = qw(documents bytes_of document_bytes);

# Each a hash: name, value (code that makes it), 5 and 4 (the document in hexadecimal), with (further options of theirs).
sub documents { return our @Documents }

# One of them as bytes: in the versions that are wanted, or in all that there are.
sub bytes_of {
    my ($document, @versions) = @_;
    @versions = (5, 4) if !@versions;
    return map { (my $hex = $_) =~ s/\s+//g; pack 'H*', $hex } grep {defined} @$document{@versions};
}

# All of them as bytes.
sub document_bytes { return map { bytes_of($_) } documents() }

sub _same { return \@_ }

our @Documents = (
{
    name  => 'numbers',
    value => sub {
        my @integers = (0, 15, 16, 127, 128, 2_147_483_648, 18_446_744_073_709_551_615);
        return [@integers, -1, -16, -17, -9_223_372_036_854_775_807, 1.5, 0.1, -0.0, 9**9**9, 1e300];
    },
    5     => '3df3726c0500282b10000f2010207f20800120808080800820ffffffffffffffffff011f10212121fdffffffffffffffff01
        220000c03f239a9999999999b93f2200000080220000807f239c7500883ce4377e',
    4     => '3df3726c0400282b10000f2010207f20800120808080800820ffffffffffffffffff011f10212121fdffffffffffffffff01
        220000c03f239a9999999999b93f2200000080220000807f239c7500883ce4377e',
},
{
    name  => 'strings',
    value => sub { ['', 'a', "\0\xFF", "\x{263A}", 'x' x 31, 'x' x 32, "\xE9", undef] },
    5     => '3df3726c0500486061616200ff2703e298ba7f78787878787878787878787878787878787878787878787878787878787878
        2620787878787878787878787878787878787878787878787878787878787878787861e925',
    4     => '3df3726c0400486061616200ff2703e298ba7f78787878787878787878787878787878787878787878787878787878787878
        2620787878787878787878787878787878787878787878787878787878787878787861e925',
},
{
    name  => 'empty strings with the UTF-8 flag',
    value => sub { my $empty = ''; utf8::upgrade($empty); [$empty, "\xFF", { $empty => "\xFE" }, $empty] },
    5     => '3df3726c050044270061ff51270061fe2700',
    4     => '3df3726c040044270061ff51270061fe2700',
},
{
    name  => 'truths',
    value => sub { [!!1, !!0, { yes => !!1 }] },
    5     => '3df3726c0500433534516379657335',
},
{
    name  => 'arrays and hashes',
    value => sub {
        my %map = map { ("k$_" => [$_]) } 1 .. 16;
        return { list => [1 .. 17], map => \%map, none => [], nothing => {}, "\x{263A}" => [{}], "\xE9" => [[]] };
    },
    5     => '3df3726c05005661e941402703e298ba4150636d6170282a10626b314101626b324102626b334103626b344104626b354105
        626b364106626b374107626b384108626b394109636b3130410a636b3131410b636b3132410c636b3133410d636b3134410e
        636b3135410f636b3136412010646c697374282b110102030405060708090a0b0c0d0e0f20102011646e6f6e6540676e6f74
        68696e6750',
    4     => '3df3726c04005661e941402703e298ba4150636d6170282a10626b314101626b324102626b334103626b344104626b354105
        626b364106626b374107626b384108626b394109636b3130410a636b3131410b636b3132410c636b3133410d636b3134410e
        636b3135410f636b3136412010646c697374282b110102030405060708090a0b0c0d0e0f20102011646e6f6e6540676e6f74
        68696e6750',
},
{
    name  => 'a record',
    value => sub { +{ id => 42, name => 'alice', email => 'alice@example.com', score => 1.5, tags => [qw(a b c)] } },
    5     => '3df3726c050055626964202a646e616d6565616c69636564746167734361616162616365656d61696c71616c696365406578
        616d706c652e636f6d6573636f7265220000c03f',
    4     => '3df3726c040055626964202a646e616d6565616c69636564746167734361616162616365656d61696c71616c696365406578
        616d706c652e636f6d6573636f7265220000c03f',
},
{
    name  => 'holes',
    value => sub { my @holes; @holes[1, 3] = ('one', undef); $#holes = 5; \@holes },
    5     => '3df3726c05004639636f6e6539253939',
    4     => '3df3726c04004639636f6e6539253939',
},
{
    name  => 'references',
    value => sub {
        my ($scalar, $array, @element) = ('x', [1], 7, 8);
        return [\$scalar, \\$scalar, $array, { again => $array }, \@element, \$element[1], \$scalar];
    },
    5     => '3df3726c05004728e17828290328ab01015165616761696e290942078829172903',
    4     => '3df3726c04004728e17828290328ab01015165616761696e290942078829172903',
},
{
    name  => 'rings',
    value => sub {
        my $hash = { list => [1] };
        $hash->{self} = $hash;
        push @{ $hash->{list} }, $hash, $hash->{list}, \$hash->{self};
        return $hash;
    },
    5     => '3df3726c050028aa02646c69737428ab04012902290a28a9026473656c662e12',
    4     => '3df3726c040028aa02646c69737428ab04012902290a28a9026473656c662e12',
},
{
    name  => 'a scalar that refers to itself',
    value => sub { my $self; $self = \$self; $self },
    5     => '3df3726c050028a902',
    4     => '3df3726c040028a902',
},
{
    name  => 'weak references',
    value => sub {
        my $late = { late => 1 };
        my $root = { before => $late, children => [{ name => 'child' }], late => $late };
        $root->{children}[0]{parent} = $root;
        weaken $root->{children}[0]{parent};
        weaken $root->{before};
        return $root;
    },
    5     => '3df3726c050028aa03646c61746528aa012f0401666265666f726530290a686368696c6472656e4152646e616d6565636869
        6c6466706172656e74302902',
    4     => '3df3726c040028aa03646c61746528aa012f0401666265666f726530290a686368696c6472656e4152646e616d6565636869
        6c6466706172656e74302902',
},
{
    name  => 'elements that are one scalar',
    value => sub {
        my ($text, $list, $other) = ('one', [2], 3);
        return [_same($text, $list, $text, $other), _same($list, $text), $list];
    },
    5     => '3df3726c05004344e36f6e65a8ab01022e0303422e072e032908',
    4     => '3df3726c04004344e36f6e65a8ab01022e0303422e072e032908',
},
{
    name  => 'objects',
    value => sub {
        my $text   = 'x';
        my $object = bless { list => [map { bless [$_], 'Other::Class' } 1, 2] }, 'TestObject';
        my @others = (bless(\my $scalar, 'TestObject'), bless([], "Caf\x{E9}\x{263A}"), bless(\\$text, 'Other::Class'));
        return [$object, @others, $object];
    },
    5     => '3df3726c0500452c6a546573744f626a65637428aa01646c697374422c6c4f746865723a3a436c61737341012d1841022d03
        28252c2708436166c3a9e298ba402d1828286178290f',
    4     => '3df3726c0400452c6a546573744f626a65637428aa01646c697374422c6c4f746865723a3a436c61737341012d1841022d03
        28252c2708436166c3a9e298ba402d1828286178290f',
},
{
    name  => 'regexps',
    value => sub {
        my $regexp = qr/^a+(b|c)/i;
        return [$regexp, qr/\x{263A}/, bless(qr/a b/msxp, 'TestObject'), $regexp, qr//];
    },
    5     => '3df3726c0500452c6652656765787028b1685e612b28627c632961692d03283127085c787b323633417d602c6a546573744f
        626a656374283163612062646d737870290b2d0328316060',
    4     => '3df3726c0400452c6652656765787028b1685e612b28627c632961692d03283127085c787b323633417d602c6a546573744f
        626a656374283163612062646d737870290b2d0328316060',
},
{
    name  => 'keys and strings that come again',
    with  => { dedupe_strings => 1 },
    value => sub {
        my ($text, $wide) = ('the same text', "text \x{263A}");
        return [map { +{ key => $text, "other $_" => $text, "key \x{263A}" => $wide } } 1 .. 3];
    },
    5     => '3df3726c05004353636b65796d7468652073616d65207465787427076b657920e298ba27087465787420e298ba676f746865
        7220312f07532f032f072f152f1e676f7468657220322f07532f032f072f152f1e676f7468657220332f07',
    4     => '3df3726c04004353636b65796d7468652073616d65207465787427076b657920e298ba27087465787420e298ba676f746865
        7220312f07532f032f072f152f1e676f7468657220322f07532f032f072f152f1e676f7468657220332f07',
},
{
    name  => 'something of everything',
    value => sub {
        my ($scalar, $text) = ('x', "wide \x{263A}");
        my $shared = bless { name => "caf\xE9", list => [1, -1, 300, -300, 1_099_511_627_776, 1.5, 0.1] }, 'TestObject';
        my @all = ($shared, { a => $shared, b => { name => 'again', more => \$text } }, _same($text, $text), qr{a.b}i);
        push @all, \\$scalar, undef, !!1, !!0, (map { bless [$_], 'Other::Class' } 1 .. 3), 'x' x 40;
        push @all, 9_223_372_036_854_775_808, [(1) x 20], { map { ($_ => $_) } 'k' .. 'n' };
        weaken($all[18] = $shared);
        $#all = 20;
        return \@all;
    },
    5     => '3df3726c0500282b152c6a546573744f626a65637428aa02646c69737447011f20ac0221d70420808080808020220000c03f
        239a9999999999b93f646e616d6564636166e95261612911616252646d6f726528a7087769646520e298ba2f366561676169
        6e422e4e2e4e2c66526567657870283163612e626169282861782535342c6c4f746865723a3a436c61737341012d7d41022d
        7d41032628787878787878787878787878787878787878787878787878787878787878787878787878787878782080808080
        808080808001282b14010101010101010101010101010101010101010154616b616b616c616c616d616d616e616e39393930
        29113939',
},
);

1;
