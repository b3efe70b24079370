#!/usr/bin/env perl
# What checking a limit costs, and what a table that is too small does.
#
#   perl -Mblib bench/limits.pl [--rounds=60] [--calls=2000] [--largest=1e6] [--keys=1e6] [--floods=10]
#                               [--turns=7] [--seconds=0.5] [--most=16] [--seeds=500]
#
# 1. The cost of each call, of the process's own time and without the loop, in tables of 64, 4,096 and 2**20 slots of
#    which half are in use, by keys drawn from all of them at random, and of new keys in tables where they find a slot
#    that is empty, one whose bucket has refilled, or none. Beside it a method that does nothing, and the limiter that
#    a program would write with a hash, in one process.
# 2. The cost of a call while `keys` random keys come to 4,096 slots, in the first and in the last tenth of them; both
#    where the buckets stay in use, so that each key evicts another, and where they refill at once; and of a client that
#    was there all along and is refused.
# 3. What 1, 2, 4 and 16 processes get done together in `seconds`, as contention.pl.
# 4. The share of keys that a table of 4,096 slots evicts, against the number of keys in use. This is no timing: it
#    follows from where keys hash to, and each of `seeds` tables has its own hash seeds.
#
# Takes about two and a half minutes. The tables of 2**20 slots reserve 160 MB of memory, and the hash takes its part.

use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";

use List::Util qw(max shuffle sum);

use BenchClock;
use BenchLimiter;
use BenchReport;
use BenchThroughput;
use Shared::Arena;

my $option = options(
    rounds => 60, calls => 2000, largest => 1e6, keys => 1e6, floods => 10,
    turns => 7, seconds => 0.5, most => 16, seeds => 500,
);
my $piece = 16;      # keys timed between two readings of the clock; as many as the smallest table has to spare
my $slots = 4096;    # what a limiter has when nothing is said

call_costs();
flood_costs();
together();
exactness();

# --- 1. the cost of a call ---

sub call_costs {
    my @rows = (
        'allow, a full bucket', 'allow, half spent', 'allow, denied', 'remaining', 'remaining, no bucket',
        'retry_after, denied', 'headers, denied', 'reset', 'forget',
        'a new key: an empty slot', 'a new key: a refilled slot', 'a new key: it evicts',
        'an empty method', 'a hash: half spent', 'a hash: denied', 'a hash: a new key',
    );
    my @sizes   = grep { $_ <= 1.1 * $option->{largest} } 64, $slots, 1 << 20;
    my @tables  = map { tables($_) } @sizes;
    my $samples = race($option->{rounds}, map { call_turns($_) } @tables);
    check_evictions($_) for @tables;

    my %figures;
    for my $turn (keys %$samples) {
        my ($size) = split ' ', $turn;
        $figures{$_}{$size} = $samples->{$turn}{$_} for keys %{ $samples->{$turn} };
    }
    my @heads = map { thousands($_) . ' slots' } @sizes;
    heading('The cost of a call of a limiter',
        "Nanoseconds a call, half of the slots in use (all of them where a new key evicts); $option->{rounds} rounds.");
    table(['call', @heads], map { my $row = $_; [$row, map { spread($figures{$row}{$_}, '%.0f') } @sizes] } @rows);
    print 'As ratios to ' . thousands($sizes[0]) . " slots:\n\n";
    table(['call', @heads[1 .. $#heads]], map {
        my $row = $_;
        [$row, map { spread(ratios($figures{$row}{$_}, $figures{$row}{ $sizes[0] }), '%.2f') } @sizes[1 .. $#sizes]]
    } @rows);
    print "As ratios to a hash in one process with as many keys in use:\n\n";
    table(['call', @heads], map {
        my ($row, $yardstick) = @$_;
        [$row, map { spread(ratios($figures{$row}{$_}, $figures{$yardstick}{$_}), '%.2f') } @sizes]
    } ['allow, half spent' => 'a hash: half spent'], ['allow, denied' => 'a hash: denied'],
        map { ["a new key: $_" => 'a hash: a new key'] } 'an empty slot', 'a refilled slot', 'it evicts');
    return;
}

# The limiters of one size, with their keys. Of the slots of `spent` and of the hash, an eighth belongs to keys that are
# half spent, an eighth to keys that are denied, and a quarter to keys that come and go. `full` knows as many, all of
# them with a full bucket. `crowded` has a key in use in each slot. So had `passed`, through which a million keys or
# more have gone.
sub tables {
    my ($size) = @_;
    progress("$size slots: filled");
    my %kind = (spent => 'lasting', crowded => 'lasting', full => 'fleeting', passed => 'fleeting');
    my %rate = map { $_ => BenchLimiter::limiter($kind{$_}, $size) } keys %kind;
    my $hash = BenchLimiter::Hash->new(1e6, 3e8);
    for my $limiter ($rate{spent}, $hash) {
        $limiter->allow("half $_",   5e5) for 1 .. $size / 8;
        $limiter->allow("denied $_", 1e6) for 1 .. $size / 8;
        $limiter->allow("passing $_") for 1 .. $size / 4;
    }
    # Twice as many keys as slots: each group of slots gets more than it can hold.
    $rate{crowded}->allow("k$_") for 1 .. 2 * $size;
    BenchLimiter::begin_and_refill($rate{passed}, 'passed', max(1e6, 2 * $size));
    BenchLimiter::begin_and_refill($rate{full},   'full',   $size / 2);
    return {
        size => $size, rate => \%rate, hash => $hash, new => 0,
        evicted => { map { $_ => $rate{$_}->stats->{evicted} } keys %rate },
    };
}

# A turn for each call: some calls to warm up, which are not counted, then those that are.
sub call_turns {
    my ($table) = @_;
    my ($size, $hash) = @$table{qw(size hash)};
    my %call = map { $_ => { BenchLimiter::calls($table->{rate}{$_}) } } keys %{ $table->{rate} };
    my %hash = BenchLimiter::calls($hash);

    my $any = sub { my ($name, $most) = @_; return sub { [map { "$name " . (1 + int rand $most) } 1 .. $_[0]] } };
    my ($full, $half, $denied) = ($any->('full', $size / 2), map { $any->($_, $size / 8) } qw(half denied));
    my $new = sub { my ($count) = @_; return [map { 'new ' . ++$table->{new} } 1 .. $count] };
    my %row = (
        'allow, a full bucket'       => [$call{full}{allow},        $full],
        'allow, half spent'          => [$call{spent}{allow},       $half],
        'allow, denied'              => [$call{spent}{allow},       $denied],
        'remaining'                  => [$call{spent}{remaining},   $half],
        'remaining, no bucket'       => [$call{spent}{remaining},   $new],
        'retry_after, denied'        => [$call{spent}{retry_after}, $denied],
        'headers, denied'            => [$call{spent}{headers},     $denied],
        'reset'                      => [$call{full}{reset},        $full],
        'a new key: a refilled slot' => [$call{passed}{allow},      $new],
        'a new key: it evicts'       => [$call{crowded}{allow},     $new],
        'an empty method'            => [BenchLimiter::empty_method(), $half],
        'a hash: half spent'         => [$hash{allow},              $half],
        'a hash: denied'             => [$hash{allow},              $denied],
    );
    my %turns;
    for my $name (keys %row) {
        my ($code, $keys) = @{ $row{$name} };
        $turns{"$size $name"} = sub {
            $code->($keys->($option->{calls} / 2));
            my ($cost) = net_costs([$code, pieces($keys->($option->{calls}), $piece)]);
            return $name => $cost;
        };
    }
    # The oldest keys go, and as many new ones come: the table is as full afterwards.
    my $turnover = sub {
        my ($forget, $allow) = @_;
        my $oldest = 0;
        my $named  = sub { my ($first) = @_; return [map { 'passing ' . ($first + $_) } 1 .. $option->{calls}] };
        return sub {
            my $old = pieces($named->($oldest),             $piece);
            my $new = pieces($named->($oldest + $size / 4), $piece);
            $oldest += $option->{calls};
            return net_costs([$forget, $old], [$allow, $new]);
        };
    };
    my $in_limiter = $turnover->(@{ $call{spent} }{qw(forget allow)});
    my $in_hash    = $turnover->(@hash{qw(forget allow)});
    $turns{"$size turnover"} = sub {
        my ($forget, $new) = $in_limiter->();
        return 'forget' => $forget, 'a new key: an empty slot' => $new;
    };
    $turns{"$size turnover of the hash"} = sub { my (undef, $new) = $in_hash->(); return 'a hash: a new key' => $new };
    return %turns;
}

# The rows are what they say: new keys evict where all slots are in use, and nowhere else (but that chance may overfill
# a group of slots somewhere in a large table).
sub check_evictions {
    my ($table) = @_;
    for my $name (sort keys %{ $table->{rate} }) {
        my $stats   = $table->{rate}{$name}->stats;
        my $evicted = $stats->{evicted} - $table->{evicted}{$name};
        die "$evicted keys were evicted from $name of $table->{size} slots\n"
            if $name eq 'crowded' ? $stats->{keys} < $stats->{slots} || !$evicted : $evicted > 10;
    }
    return;
}

# --- 2. a flood of keys ---

sub flood_costs {
    my $samples = race($option->{floods}, map { my $kind = $_; $kind => sub { flood($kind) } } qw(lasting fleeting));

    heading('A flood of random keys', sprintf '%s new keys come to %s slots; nanoseconds a call, %d rounds.',
        thousands($option->{keys}), thousands($slots), $option->{floods});
    table(['call', 'in the first tenth', 'in the last tenth', 'last/first', 'keys evicted'], map {
        my ($call, $kind, $of) = ($_->[0], $_->[1], $samples->{ $_->[1] });
        my ($first, $last) = map { $of->{"$_->[0] $_->[1]"} } [first => $_->[2]], [last => $_->[2]];
        [$call, spread($first, '%.0f'), spread($last, '%.0f'), spread(ratios($last, $first), '%.2f'),
            thousands(median($of->{evicted}))]
    } ['a new key, all buckets in use', 'lasting', 'new'],
        ['a client that was there and is denied', 'lasting', 'resident'],
        ['a new key, all buckets full again', 'fleeting', 'new']);
    return;
}

# The client that is there all along has spent its whole bucket before. Where buckets are full again at once, none can.
sub flood {
    my ($kind)    = @_;
    my $rate      = BenchLimiter::limiter($kind, $slots);
    my %call      = BenchLimiter::calls($rate);
    my @calls     = $kind eq 'lasting' ? qw(new resident) : 'new';
    my @lots      = ($option->{calls}) x ($option->{keys} / $option->{calls} / 10);    # a tenth of the keys
    my $strangers = sub { my ($count) = @_; return [map { 'k' . int rand 1e15 } 1 .. $count] };
    my $timed     = sub {
        my ($when) = @_;
        my %figures;
        for my $count (@lots) {
            my %keys  = (new => $strangers->($count), resident => [('resident') x $count]);
            my @costs = net_costs(map { [$call{allow}, pieces($keys{$_}, $piece)] } @calls);
            $figures{"$when $calls[$_]"} += $costs[$_] / @lots for 0 .. $#calls;
        }
        return %figures;
    };
    $rate->allow('resident', 1e6) if $kind eq 'lasting';
    my %first = $timed->('first');
    for my $tenth (2 .. 9) { $call{allow}->($strangers->($_)) for @lots }
    my %last = $timed->('last');
    die "The client was evicted\n" if $kind eq 'lasting' && $rate->allow('resident');
    return %first, %last, evicted => $rate->stats->{evicted};
}

# --- 3. processes together ---

sub together {
    my @counts = grep { $_ <= $option->{most} } 1, 2, 4, 16;
    my @keys   = map {"key $_"} 1 .. 1000;
    my $arena  = Shared::Arena->create;
    my $ample  = $arena->rate('ample', limit => 1e9, window => 100);
    my $spent  = $arena->rate('spent', limit => 1e6, window => 3e8);    # as `lasting` ones
    $spent->allow('spent', 1e6);
    $spent->allow('half',  5e5);
    throughput('Throughput of several processes at one limiter', [
        ['allow, denied: one key' => sub { return sub { $spent->allow('spent')    for 1 .. 1000 } }],
        ['allow: one key'         => sub { return sub { $ample->allow('key')      for 1 .. 1000 } }],
        ['remaining: one key'     => sub { return sub { $spent->remaining('half') for 1 .. 1000 } }],
        ['allow: a key each'      => sub { my $own = "my $_[0]"; return sub { $ample->allow($own) for 1 .. 1000 } }],
        ['allow: 1,000 keys'      => sub { my @all = shuffle @keys; return sub { $ample->allow($_) for @all } }],
    ], \@counts, $option->{turns}, $option->{seconds});
    my ($allowed, $denied) = map { scalar $_->stats } $ample, $spent;
    die "A load was not what it says\n" if $allowed->{denied} || $denied->{allowed} != 2;
    printf "Calls that gave up (`contended`): %d.\n\n", $allowed->{contended} + $denied->{contended};
    return;
}

# --- 4. what a full table costs in exactness ---

sub exactness {
    my @loads = (25, 50, 75, 90, 100);
    my %evicted;
    for my $seed (1 .. $option->{seeds}) {
        my $rate = BenchLimiter::limiter('lasting', $slots);
        my $keys = 0;
        for my $load (@loads) {
            $rate->allow('k' . $keys++) while $keys < $slots * $load / 100;
            push @{ $evicted{$load} }, $rate->stats->{evicted} / $keys;
        }
    }
    heading('Keys evicted against keys in use', sprintf
        '%s slots; each key is in use for good once it has come; %s tables, each with its own hash seeds.',
        thousands($slots), thousands($option->{seeds}));
    table(['keys in use', 'evicted, of all keys', 'in the worst table', 'tables without any'], map {
        my $shares = $evicted{$_};
        ["$_ % of the slots", map({ sprintf '%.3f %%', 100 * $_ } sum(@$shares) / @$shares, max(@$shares)),
            sprintf('%.1f %%', 100 * grep({ !$_ } @$shares) / @$shares)]
    } @loads);
    return;
}
