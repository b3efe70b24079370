use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/../t/lib";
use TestArena;
use TestBombs;
use TestDismantle;
use TestDocuments;
use TestMagic;
use TestMutations;
use TestValues;
use Test::More;

use Shared::Arena;

# Neither storing nor fetching a structure leaks, whether it succeeds, is refused, or dies on the way.

BEGIN {
    eval { require Test::LeakTrace; Test::LeakTrace->import; 1 }
        or plan skip_all => 'Test::LeakTrace is not installed';
}

watchdog(1800);

my $arena = Shared::Arena->create(size => 16 << 20);
my $map   = $arena->map('m', slots => 8, slot_size => 1 << 20, serialise => 1);
my $small = $arena->map('small', slots => 8, slot_size => 100, serialise => 1);

sub kilobytes { my ($pages) = read_file('/proc/self/statm') =~ /\A\d+ (\d+)/; return $pages * 4 }

# Neither scalars nor other memory.
sub leaks_nothing {
    my ($name, $code, $times) = @_;
    local $Test::Builder::Level = $Test::Builder::Level + 1;
    no_leaks_ok(\&$code, "$name: scalars");
    $code->() for 1 .. $times / 2;
    my $before = kilobytes();
    $code->() for 1 .. $times;
    my $more = kilobytes() - $before;
    cmp_ok $more, '<', 200, "$name: memory";
    return;
}

subtest 'values of every kind' => sub {
    for my $case (every_kind()) {
        my ($name, $code) = @$case;
        my $value = $code->();
        my $times = length Shared::Arena::_encode($value) > 1000 ? 100 : 3000;
        leaks_nothing("stored, $name", sub { $map->store('k', $value) == 1 or die 'not stored' }, $times);
        leaks_nothing("fetched, $name", sub { my ($there) = eval { $map->fetch('k') }; dismantle($there) }, $times);
        dismantle($value);
    }
};

subtest 'a fetch that nobody looks at' => sub {
    $map->store('k', { a => [1, 2, 3] });
    leaks_nothing('in void context', sub { $map->fetch('k'); return }, 3000);
    leaks_nothing('in scalar context', sub { my $there = $map->fetch('k'); return }, 3000);
    leaks_nothing('in list context', sub { my @there = map { $_->{a} } $map->fetch('k'); return }, 3000);
};

# Where something stands that cannot be stored.
sub around {
    my ($value) = @_;
    my $array = [1, { a => $value }];
    push @$array, $array;
    return ($value, [$value], { a => [1, $value] }, \$value, bless({ a => $value }, 'TestObject'), $array);
}

subtest 'refusals' => sub {
    format STDOUT =
.
    my $empty = '';
    my %refused = (
        'code'      => sub { sub {1} },
        'a glob'    => sub { \*STDOUT },
        'a glob itself' => sub { *STDOUT },
        'a handle'  => sub { *STDOUT{IO} },
        'a format'  => sub { *STDOUT{FORMAT} },
        'an lvalue' => sub { \substr $empty, 0, 0 },
        'a regexp with code' => sub { use re 'eval'; qr/(?{ 1 })/ },
        'a deep structure' => sub { my $deep = 1; $deep = [$deep] for 1 .. 10_100; $deep },
        'malformed text' => sub { my $text = "\xFF\xFE"; Encode::_utf8_on($text); $text },
    );
    require Encode;
    for my $name (sort keys %refused) {
        my $number = 0;
        for my $value (around($refused{$name}->())) {
            $number++;
            ok !eval { $map->store('k', $value); 1 }, "$name is refused" or next;
            my $times = $name =~ /deep/ ? 50 : 2000;
            leaks_nothing("$name, place $number", sub { eval { $map->store('k', $value) } }, $times);
            dismantle($value) if $number == 6;
        }
    }
};

subtest 'what does not fit' => sub {
    my $large = { map { ("key $_" => [$_, "text $_"]) } 1 .. 100 };
    is $small->store('k', $large), -1, 'is refused';
    leaks_nothing('too large', sub { $small->store('k', $large) }, 1000);
    leaks_nothing('no key', sub { $small->store('', [1]) }, 1000);
    $small->store($_, [$_]) for 1 .. 8;
    is $small->store('one more', [1]), 0, 'nor does one key more';
    leaks_nothing('the table is full', sub { $small->store('one more', [1]) }, 1000);
    leaks_nothing('incr', sub { eval { $small->incr('n') } }, 1000);
    leaks_nothing('counter', sub { $small->counter(1) }, 1000);
};

# Things that die when they are read for the so-manieth time.
{
    package Dies;
    our ($After, $Reads);
    sub read { die "no more\n" if ++$Reads > $After; return $_[0] }
    sub TIESCALAR { return bless [] }
    sub TIEARRAY  { return bless [] }
    sub TIEHASH   { return bless [] }
    sub FETCH     { my ($self, $place) = @_; Dies::read($self); return [$place] }
    sub FETCHSIZE { Dies::read(4) }
    sub EXISTS    { Dies::read(1) }
    sub FIRSTKEY  { Dies::read('a') }
    sub NEXTKEY   { my ($self, $last) = @_; Dies::read($last lt 'd' ? ++$last : undef) }
    sub SCALAR    { Dies::read(4) }
    package Dies::Overloaded;
    use overload
        '@{}' => sub { Dies::read([1, 2]) },
        '%{}' => sub { Dies::read({ a => [1] }) },
        '${}' => sub { my $text = 'x'; Dies::read(\$text) };
}

subtest 'what is read through an interface' => sub {
    tie my $scalar, 'Dies';
    tie my @array,  'Dies';
    tie my %hash,   'Dies';
    my %value = (
        'a tied scalar' => \$scalar, 'a tied scalar, inside' => [1, { a => \$scalar }, 2],
        'a tied array'  => \@array,  'a tied array, inside'  => [1, { a => \@array }, \@array],
        'a tied hash'   => \%hash,   'a tied hash, inside'   => [1, { a => \%hash }, \%hash],
        'an overloaded object' => bless(\my $inner, 'Dies::Overloaded'),
        'several' => [
            \$scalar, bless([\@array], 'TestObject'), { a => \%hash, b => bless({}, 'Dies::Overloaded') }, \@array,
        ],
    );
    for my $name (sort keys %value) {
        my $value = $value{$name};
        my $after = 0;
        for (;;) {
            my $store = sub { local ($Dies::After, $Dies::Reads) = ($after, 0); eval { $map->store('k', $value) } };
            my $stored = $store->();
            leaks_nothing($stored ? "$name that is read" : "$name that dies, read $after", $store, 500);
            last if $stored || $after++ > 60;
        }
        cmp_ok $after, '>', 0, "$name is read, and dies at last" if $after <= 60;
        cmp_ok $after, '<=', 60, 'and comes to an end';
    }
    my $dies = sub { text_object('k', sub { die "no\n" }) };
    leaks_nothing('a key that dies', sub { eval { $map->store($dies->(), [1]) } }, 500);
    leaks_nothing('a time that dies', sub { eval { $map->store('k', [1], ttl => $dies->()) } }, 500);
};

# A document that ends in an error, at every place of it, whatever was built up to there.
subtest 'documents that are cut short, rings among them' => sub {
    for my $document (documents()) {
        my @cut = truncations(bytes_of($document, 5));
        leaks_nothing($document->{name}, sub { for my $bytes (@cut) { eval { Shared::Arena::_decode($bytes) } } }, 300);
    }
};

subtest 'documents that are thought out' => sub {
    my @bombs = grep { length $_->[1] < 1000 } TestBombs::bombs();
    my %bomb;
    push @{ $bomb{ (split /[, ]/, $_->[0])[0] } }, $_->[1] for @bombs;
    for my $name (sort keys %bomb) {
        my @documents = @{ $bomb{$name} };
        my $try = sub { dismantle(scalar eval { Shared::Arena::_decode($_) }) for @documents };
        leaks_nothing("$name...", $try, 100);
    }
};

done_testing;
