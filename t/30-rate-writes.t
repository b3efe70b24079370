use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use TestArena;
use TestRegion;
use Test::More;

use Shared::Arena;

# What each method writes into the arena: asking nothing, a denial its statistics, a request one slot more.

my $arena = Shared::Arena->create(name => 'written', size => 64 * 1024, regions => 4);
my $rate  = $arena->rate('l', limit => 10, window => 10, slots => 64);
my ($start, $length) = $arena->region('l');

# Some keys with full, half full and empty buckets.
set_clock(undef, 990);
$rate->allow("gone $_", 5) for 1 .. 10;
set_clock(undef, 1000);
$rate->allow("key $_", $_) for 1 .. 10;
$rate->reset('key 3');

sub region { return $arena->peek('l', 0, $length) }
sub arena  { return read_file(arena_path('written')) }

# Runs the code and returns where bytes of the region have changed: lines of statistics, words in them, and slots. Nothing
# else of the arena may change.
sub changes {
    my ($code) = @_;
    my @before = (arena(), region());
    $code->();
    my @after = (arena(), region());
    substr $_, $start, $length, '' for $before[0], $after[0];
    my %changed;
    $changed{elsewhere} = 1 if $before[0] ne $after[0];
    my $differs = $before[1] ^ $after[1];
    while ($differs =~ /[^\0]/g) {
        my $at = $-[0];
        if    ($at < STATISTICS) { $changed{header} = 1 }
        elsif ($at < SLOTS)      { $changed{ 'statistics ' . int(($at - STATISTICS) / LINE) }{ int(($at - STATISTICS) % LINE / 8) } = 1 }
        else                     { $changed{ 'slot ' . int(($at - SLOTS) / SLOT) } = 1 }
    }
    return \%changed;
}

my @keys = ('new', map { ("key $_", "gone $_") } 1 .. 10);

subtest 'remaining, retry_after, headers, stats and slots write nothing at all' => sub {
    for my $now (1000, 1003.5, 990, 1020, 1e6) {
        set_clock(undef, $now);
        is_deeply changes(sub {
            for my $key (@keys) {
                for my $cost (0, 0.5, 1, 10, 11) { $rate->remaining($key, $cost); $rate->retry_after($key, $cost); my %headers = $rate->headers($key, $cost) }
                $rate->remaining($key);
                $rate->retry_after($key);
                $rate->headers($key);
            }
            my %stats = $rate->stats;
            $rate->slots;
        }), {}, "at $now";
    }
    set_clock(undef, 1000);
};

# The line of this process: the one in which its first requests were counted.
my ($line) = grep { $arena->peek('l', STATISTICS + $_ * LINE, LINE) =~ /[^\0]/ } 0 .. LINES - 1;

subtest 'a denial writes that it was one' => sub {
    is_deeply changes(sub { $rate->allow('key 10') for 1 .. 100 }), { "statistics $line" => { 1 => 1 } }, 'of an empty bucket';
    is_deeply changes(sub { $rate->allow("key $_", 11 - $_) for 4 .. 10 }), { "statistics $line" => { 1 => 1 } }, 'of buckets that hold too little';
    is_deeply changes(sub { $rate->allow($_, 10.5) for @keys }), { "statistics $line" => { 1 => 1 } }, 'of costs above limit, of any key';
    set_clock(undef, 900);
    is_deeply changes(sub { $rate->allow("key $_", 10) for 4 .. 10 }), { "statistics $line" => { 1 => 1 } }, 'by a clock that is behind';
    set_clock(undef, 1000);
    my @changed = in_child {
        my $changed = changes(sub { $rate->allow('key 10') for 1 .. 10 });
        delete $changed->{elsewhere};    # where it has drawn the number of its own line
        return %$changed;
    };
    is scalar(@changed), 2, 'by another process';
    like $changed[0], qr/\Astatistics (?!$line\z)/, 'in a line of its own';
    is_deeply $changed[1], { 1 => 1 }, 'that it was one';
};

subtest 'what costs nothing writes that it was allowed' => sub {
    is_deeply changes(sub { $rate->allow($_, 0) for @keys }), { "statistics $line" => { 0 => 1 } }, 'whatever the key has';
};

subtest 'a request writes its slot' => sub {
    my $changed = changes(sub { $rate->allow('key 1') });
    is_deeply delete $changed->{"statistics $line"}, { 0 => 1 }, 'and that it was allowed';
    like join(' ', %$changed), qr/\Aslot [0-9]+ 1\z/, 'one slot';
    my ($slot) = keys %$changed;
    is_deeply changes(sub { $rate->reset('key 1') }), { $slot => 1 }, 'reset the same one';
    $rate->allow('key 1');
    is_deeply changes(sub { $rate->forget('key 1') }), { $slot => 1 }, 'forget too';
    is_deeply changes(sub { $rate->reset($_); $rate->forget($_) }), {}, "neither writes for $_" for 'new', 'key 1';
    $changed = changes(sub { $rate->allow('new') });
    is_deeply delete $changed->{"statistics $line"}, { 0 => 1, 4 => 1 }, 'a new key also takes a number';
    like join(' ', %$changed), qr/\Aslot [0-9]+ 1\z/, 'and one slot';
};

subtest 'calls that croak write nothing' => sub {
    is_deeply changes(sub {
        for my $key (@keys) { eval { $rate->$_($key, -1) } for qw(allow remaining retry_after headers) }
        eval { $rate->allow };
        eval { $rate->reset('key 4', 1) };
        eval { $arena->rate('l', limit => 11, window => 10, slots => 64) };
    }), {}, 'bad costs, usage, other policies';
};

Shared::Arena->destroy('written');
real_clock();
done_testing;
