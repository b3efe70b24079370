package TestBuckets;

# Token buckets in whole numbers, one a key and never forgotten: what a limiter with room for every key allows. Time is
# counted in ticks of 1/512 s, which are whole nanoseconds and exact as doubles, so the sums here are exact too.

use strict;
use warnings;

use Exporter 'import';
use Shared::Arena;

our @EXPORT = qw(TICKS at_tick);

use constant TICKS => 512;

# Sets the limiters' clock to a tick.
sub at_tick { my ($tick) = @_; Shared::Arena::_set_clock(undef, $tick / TICKS); return }

# For a whole `limit` and a `window` of whole seconds.
sub new {
    my ($class, %policy) = @_;
    # A tick refills `limit` units of each bucket; a request takes `request` of them.
    my $request = $policy{window} * TICKS;
    return bless { limit => $policy{limit}, request => $request, full => $policy{limit} * $request, used => {}, at => {} }, $class;
}

# What is missing from the key's bucket, in units.
sub missing {
    my ($self, $key, $tick) = @_;
    my $used = $self->{used}{$key} or return 0;
    my $left = $used - ($tick - $self->{at}{$key}) * $self->{limit};
    return $left > 0 ? $left : 0;
}

sub allow {
    my ($self, $key, $tick, $cost) = @_;
    $self->holds($key, $tick, $cost) or return 0;
    $self->charge($key, $tick, $cost);
    return 1;
}

# Whatever was granted is paid, down to nothing. Of two buckets that pay for the same, one that was filled up in between
# then always holds at least as much as one that was not.
sub charge {
    my ($self, $key, $tick, $cost) = @_;
    my $used = $self->missing($key, $tick) + $self->{request} * $cost;
    $self->{used}{$key} = $used > $self->{full} ? $self->{full} : $used;
    $self->{at}{$key}   = $tick;
    return;
}

# Whether the bucket holds so much.
sub holds {
    my ($self, $key, $tick, $cost) = @_;
    return $self->missing($key, $tick) + $self->{request} * $cost <= $self->{full};
}

# The key has a full bucket again.
sub forget { my ($self, $key) = @_; delete $self->{used}{$key}; return }

# Keys whose bucket is not full.
sub keys_in_use {
    my ($self, $tick) = @_;
    return grep { $self->missing($_, $tick) } keys %{ $self->{used} };
}

# Checks, resets, forgets and time that passes, in a table of one group, beside a model of every key. The model says which
# buckets are live: a new key may evict only if all 64 are, and then the least spent one. Returns what was seen, and the
# first thing that went otherwise.
sub history {
    my ($seed) = @_;
    srand $seed;
    my %policy = (limit => (3, 10, 100)[rand 3], window => (10, 100, 1000)[rand 3]);
    my $rate   = Shared::Arena->create(size => 4096, regions => 1)->rate('history', %policy, slots => 64);
    my $model  = __PACKAGE__->new(%policy);
    my $tick   = 1000 * TICKS;
    my ($evicted, $turnover) = (0, 50 + rand 150);
    my %seen = (evictions => 0, reuses => 0);
    for my $step (1 .. 400) {
        $tick += int rand 2 * $policy{window} * TICKS / $turnover if rand() < 0.7;
        $tick += int rand 2 * $policy{window} * TICKS if rand() < 0.01;
        at_tick($tick);
        my $key  = 'key ' . int rand(rand() < 0.5 ? 70 : 1000);
        my $pick = rand;
        if ($pick < 0.05) {
            my $method = $pick < 0.025 ? 'reset' : 'forget';
            my $was = $model->missing($key, $tick) ? 1 : 0;
            my $got = $rate->$method($key);
            return (\%seen, "step $step: $method answers $got") if $was && !$got;
            $model->forget($key);
            next;
        }
        my @live = $model->keys_in_use($tick);
        my $cost = 1 + int rand(rand() < 0.5 ? 3 : $policy{limit});
        next if $cost > $policy{limit};
        my ($new, $expected) = (!$model->missing($key, $tick), $model->allow($key, $tick, $cost));
        my $answer = $rate->allow($key, $cost);
        return (\%seen, "step $step: $key, cost $cost: $answer, not $expected") if $answer != $expected;
        my $now = $rate->stats->{evicted};
        my $due = $new && @live == 64 ? 1 : 0;
        $seen{reuses}++ if $new && !$due;
        return (\%seen, "step $step: " . ($now - $evicted) . " evicted of " . @live . ' live') if $now != $evicted + $due;
        $evicted = $now;
        if ($due) {
            $seen{evictions}++;
            my ($least) = sort { $a <=> $b } map { $model->missing($_, $tick) } @live;
            my @lost = grep { $rate->remaining($_) == $policy{limit} } @live;
            return (\%seen, "step $step: lost @lost") if @lost != 1;
            return (\%seen, "step $step: lost one that had spent more") if $model->missing($lost[0], $tick) != $least;
            $model->forget($lost[0]);
        }
        my $keys = $rate->stats->{keys};
        my $live = () = $model->keys_in_use($tick);
        return (\%seen, "step $step: $keys keys, not $live") if $keys != $live;
    }
    return (\%seen, undef);
}

# So many random keys against a table, each asked once or twice, beside clients that keep asking for all they can get and
# a moving clock. Returns what was otherwise than it should be.
sub flood {
    my (%option) = @_;
    srand $option{seed};
    my %policy = (limit => 10, window => 20);
    my $rate   = Shared::Arena->create(size => $option{slots} * 16 + 256, regions => 1)->rate('flood', %policy, slots => $option{slots});
    my $model  = __PACKAGE__->new(%policy);
    my ($tick, $step, @wrong) = (1000 * TICKS, $option{keys} / 100);
    my $start  = $tick;
    my @greedy = map {"greedy $_"} 1 .. 20;
    at_tick($tick);
    my (%granted, %asked);
    for my $n (1 .. $option{keys}) {
        my $key  = rand() < 0.8 ? pack 'N2', rand 2**32, rand 2**32 : $n > 1000 ? 'again ' . int rand 1000 : "first $n";
        my $cost = rand() < 0.9 ? 1 : 2;
        my $due  = $model->holds($key, $tick, $cost);
        my $answer = $rate->allow($key, $cost);
        $asked{$answer}++;
        push @wrong, "key $n was refused what it had" if $due && !$answer;
        $model->charge($key, $tick, $cost) if $answer;
        next if $n % $step;
        my %stats = $rate->stats;
        push @wrong, "$stats{keys} keys" if $stats{keys} > $option{slots};
        # Half a second: each of them gets a quarter of a request, all told exactly what the rate allows.
        at_tick($tick += TICKS / 2);
        for my $client (@greedy) { while ($rate->allow($client)) { $granted{$client}++; $asked{1}++ } $asked{0}++ }
        return @wrong if @wrong > 10;
    }
    my $most = $policy{limit} + int(($tick - $start - TICKS / 2) * $policy{limit} / ($policy{window} * TICKS));
    push @wrong, map {"$_ got $granted{$_} of $most"} grep { $granted{$_} != $most } @greedy;
    my %stats = $rate->stats;
    push @wrong, "none was evicted" if !$stats{evicted};
    push @wrong, "$stats{allowed} counted as allowed" if $stats{allowed} != $asked{1};
    push @wrong, "$stats{denied} counted as denied" if $stats{denied} != $asked{0};
    push @wrong, "$stats{contended} contended" if $stats{contended};
    return @wrong;
}

1;
