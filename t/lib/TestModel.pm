package TestModel;

# The map beside a plain hash: random calls on both, every answer and every figure of the statistics compared, by several
# processes in turn.
#
# A lapsed entry stays in the table until the call that lands on its key collects it, or one that makes room for a new key.
# Which one the latter takes is not promised, so the model keeps the keys that lapsed and how many of them are gone. Then two
# things are left that only the map can tell: whether a lapsed key that is landed on was still there, and whether a new key
# took a slot that was used before. They are read off the figures, within what is possible.

use strict;
use warnings;

use TestArena;

my $Start   = 1_000_000;    # in seconds: so early that a double tells every microsecond
my $Largest = ~0 >> 1;
my $Lowest  = -$Largest - 1;
my @Figures = qw(used capacity tombstones busy full expired);

# The same seed makes the same calls, in every process.
sub new {
    my ($class, %option) = @_;
    srand $option{seed};
    return bless {
        %option,            # slots, max_pair, and longest_ttl in ms, 0 to do without deadlines
        names  => [map {"\xe9\0$_" x (1 + $_ % 3)} 1 .. $option{names}],
        now    => 0,        # in microseconds
        live   => {},       # key => { value, whether it is a counter, deadline in ms or 0 }
        lapsed => {},       # keys that no call has landed on since they lapsed
        gone   => 0,        # how many of those were collected to make room
        figures => { (map { $_ => 0 } @Figures), capacity => $option{slots} },
    }, $class;
}

# This process's part in so many calls: it follows all of them in its own model, and makes those of its own turns. A token
# goes round the crew, with what the map told in each turn since the receiver's last. Returns what was wrong, if anything.
sub take_part {
    my ($self, $map, %part) = @_;    # calls, crew, number from 0, handles from and to
    local $SIG{PIPE} = 'IGNORE';
    my ($step, $last_round, @token, @recent) = (0, $part{crew} - 1);
    # After the last call the token goes on until all have it.
    for (my $turn = 0; $step < $part{calls} || $last_round-- > 0; $turn++) {
        my $ours = $turn % $part{crew} == $part{number};
        my $follows = !$ours && $step < $part{calls};
        if ($follows && !@token) {
            @token = _receive($part{from});
            if (!@token) { _send($part{to}); return "stopped by the others at step $step" }
        }
        my @told = $follows ? split / /, shift @token : ();
        for my $index (0 .. int rand 8) {
            last if $step == $part{calls};
            my $call  = $self->_draw;
            my $wrong = $ours ? $self->_make_and_compare($map, $call, \@told) : $self->_follow($call, $told[$index]);
            if (defined $wrong) { _send($part{to}); return "step $step, " . _said($call) . ": $wrong" }
            $step++;
        }
        push @recent, join ' ', @told;
        shift @recent if @recent == $part{crew};
        _send($part{to}, @recent) if $ours;
    }
    return;
}

# A token is a line, each turn in it closed by a semicolon; without a turn it says that somebody has stopped.
sub _send { my ($to, @turns) = @_; syswrite $to, join('', map {"$_;"} @turns) . "\n"; return }

sub _receive { my ($from) = @_; my $token = readline $from; return defined $token ? $token =~ /([^;]*);/g : () }

sub _make_and_compare {
    my ($self, $map, $call, $told) = @_;
    set_clock($Start + $self->{now} / 1e6);
    my $answer = $self->_make($map, $call);
    my $stats  = $map->stats;
    push @$told, "$stats->{expired},$stats->{tombstones}";
    my $expected = eval { $self->_expect($call, $told->[-1]) };
    return $@ if !defined $expected;
    return "answered $answer, not $expected" if $answer ne $expected;
    my ($given, $due) = map { my $figures = $_; join ', ', map {"$_ $figures->{$_}"} @Figures } $stats, $self->{figures};
    return $given eq $due ? undef : "left $given, not $due";
}

sub _follow { my ($self, $call, $told) = @_; return eval { $self->_expect($call, $told); 1 } ? undef : $@ }

# Calls

sub _shown { my (@list) = @_; return @list ? defined $list[0] ? "<$list[0]>" : 'undef' : 'nothing' }

sub _said {
    my ($call) = @_;
    my @parts = grep {defined} @$call{qw(key value by)}, @{ $call->{options} || [] };
    my $text  = join ' ', $call->{what}, map { _shown($_) } @parts;
    $text =~ s/([^ -~])/sprintf '\\x%02x', ord $1/ge;
    return $text;
}

my @What = (
    ('store') x 6, ('incr') x 4, ('delete') x 3, ('pass') x 2,
    qw(fetch fetch fetch_scalar exists counter keys count),
);

sub _draw {
    my ($self) = @_;
    my $what = $What[rand @What];
    return { what => 'pass', now => $self->_later } if $what eq 'pass';
    my ($names, $most) = @$self{qw(names max_pair)};
    my $name = int rand(1.05 * @$names);
    my $key  = $name < @$names ? $names->[$name] : 'k' x (0, $most, $most + 1)[rand 3];
    my $call = { what => $what, key => $key };
    $call->{value} = $self->_value if $what eq 'store';
    $call->{by}    = (undef, 1, $Largest, $Lowest, (int(rand 99) - 49) x 9)[rand 13] if $what eq 'incr';
    @$call{qw(ttl options)} = $self->_ttl if $what eq 'store' || $what eq 'incr';
    return $call;
}

sub _value {
    my ($self) = @_;
    my $kind = rand;
    return undef if $kind < 0.1;
    return pack 'q', (0, 1, -5, 2**53 - 1, 1 - 2**53, 2**53, -2**53)[rand 7] if $kind < 0.3;
    return chr(rand 256) x rand($self->{max_pair} + 2);
}

# Milliseconds or 0, and the options that say so.
sub _ttl {
    my ($self) = @_;
    my $kind = $self->{longest_ttl} ? rand : 0;
    return (0, $kind < 0.2 ? [] : $kind < 0.3 ? [ttl => 0] : [ttl_ms => undef]) if $kind < 0.4;
    return (0, [ttl => 1e18]) if $kind < 0.43;    # never comes
    my $ttl = 1 + int rand $self->{longest_ttl};
    return ($ttl, $kind < 0.7 ? [ttl => $ttl / 1000] : [ttl_ms => $ttl]);
}

# The clock goes on a little, or to a deadline or just before one, or far.
sub _later {
    my ($self) = @_;
    my ($now, $longest, $kind) = (@$self{qw(now longest_ttl)}, rand);
    return $now + 1000 * (1 + int rand 100_000) if $kind < 0.05 || !$longest;
    return $now + int rand($longest * 50) if $kind < 0.6;
    my @deadlines = sort { $a <=> $b } grep {$_} map { $_->{deadline} } values %{ $self->{live} };
    my $moment = @deadlines ? 1000 * $deadlines[rand(@deadlines > 4 ? 4 : @deadlines)] - (0, 1, 1000)[rand 3] : $now;
    return $moment > $now ? $moment : $now;
}

# Makes a call. The key comes with perl's internal flag or without, which must not matter.
sub _make {
    my ($self, $map, $call) = @_;
    my ($what, $key) = @$call{qw(what key)};
    utf8::upgrade($key) if defined $key && $self->{now} % 2;
    return ''                                                       if $what eq 'pass';
    return $map->store($key, $call->{value}, @{ $call->{options} }) if $what eq 'store';
    return _shown($map->fetch($key))                                if $what eq 'fetch';
    return _shown(scalar $map->fetch($key))                         if $what eq 'fetch_scalar';
    return _shown($map->counter($key))                              if $what eq 'counter';
    return $map->delete($key)                                       if $what eq 'delete';
    return $map->exists($key) ? 1 : 0                               if $what eq 'exists';
    return join ' ', sort $map->keys                                if $what eq 'keys';
    return scalar $map->keys                                        if $what eq 'count';
    my @by = defined $call->{by} ? $call->{by} : @{ $call->{options} } ? 1 : ();
    my $sum;
    return _shown($sum) if eval { $sum = $map->incr($key, @by, @{ $call->{options} }); 1 };
    return $@ =~ /(counter overflow: .* more)/ ? $1 : $@;
}

# The model

# What the call must answer; the figures become those that must follow. Dies if what the map told cannot be.
sub _expect {
    my ($self, $call, $told) = @_;
    my ($what, $key) = @$call{qw(what key)};
    my @told   = split /,/, $told;
    my $answer = $self->can("_expect_$what")->($self, $call, \@told);
    $self->{figures}{used} = $self->_used;
    return $answer;
}

sub _used { my ($self) = @_; return keys(%{ $self->{live} }) + keys(%{ $self->{lapsed} }) - $self->{gone} }

sub _deadline { my ($self, $ttl) = @_; return $ttl ? int(($self->{now} + 999) / 1000) + $ttl : 0 }

# The live entry that a call finds there; a lapsed one is collected.
sub _land {
    my ($self, $key, $told) = @_;
    $self->{figures}{tombstones}++ if $self->_leave($key, $told);
    return $self->{live}{$key};
}

# A call landed on this key: whether it had lapsed and was still to be collected.
sub _leave {
    my ($self, $key, $told) = @_;
    my ($lapsed, $figures) = @$self{qw(lapsed figures)};
    delete $lapsed->{$key} or return 0;
    my $more = $told->[0] - $figures->{expired};
    if ($more == 1 && $self->{gone} <= keys %$lapsed) { $figures->{expired}++; return 1 }
    if ($more == 0 && $self->{gone} > 0) { $self->{gone}--; return 0 }
    die "told $more more expired, with $self->{gone} of one and " . keys(%$lapsed) . " collected\n";
}

# Room for an entry of this key, its old one gone; false, and counted, when there is none.
sub _make_place {
    my ($self, $key, $told) = @_;
    my ($lapsed, $figures) = @$self{qw(lapsed figures)};
    return 1 if $self->{live}{$key};
    if ($self->_used == $self->{slots}) {
        if ($self->{gone} == keys %$lapsed) { $figures->{full}++; return 0 }
        # The key's own lapsed entry makes room, or another one.
        $figures->{expired}++;
        delete $lapsed->{$key} or $self->{gone}++;
    }
    elsif (!$self->_leave($key, $told)) {
        # Without a slot that was never used it must be a tombstone, and without a tombstone the other.
        my $must = $self->_used + $figures->{tombstones} == $self->{slots};
        $figures->{tombstones}-- if $figures->{tombstones} && ($must || $told->[1] < $figures->{tombstones});
    }
    return 1;
}

sub _fits {
    my ($self, $key, $value) = @_;
    return length $key && length($key) + (defined $value ? length $value : 0) <= $self->{max_pair};
}

# What `counter` reads, and `incr` adds to.
sub _number {
    my ($entry) = @_;
    return if !$entry || !defined $entry->{value};
    return $entry->{value} if $entry->{counter};
    my $number = length $entry->{value} == 8 ? unpack 'q', $entry->{value} : 2**53;
    return $number > -2**53 && $number < 2**53 ? $number : ();
}

sub _expect_store {
    my ($self, $call, $told) = @_;
    my ($key, $value) = @$call{qw(key value)};
    return -1 if !$self->_fits($key, $value);
    return 0  if !$self->_make_place($key, $told);
    $self->{live}{$key} = { value => $value, counter => 0, deadline => $self->_deadline($call->{ttl}) };
    return 1;
}

sub _expect_incr {
    my ($self, $call, $told) = @_;
    my $key = $call->{key};
    my $by  = defined $call->{by} ? $call->{by} : 1;
    return 'undef' if !$self->_fits($key);
    my $entry = $self->{live}{$key};
    my ($number) = $entry ? _number($entry) : 0;
    return 'undef' if !defined $number || !$entry && !$self->_make_place($key, $told);
    return "counter overflow: $number and $by more" if $by > 0 ? $number > $Largest - $by : $number < $Lowest - $by;
    my $deadline = $entry ? $entry->{deadline} : $self->_deadline($call->{ttl});
    $self->{live}{$key} = { value => $number + $by, counter => 1, deadline => $deadline };
    return _shown($number + $by);
}

sub _expect_fetch {
    my ($self, $call, $told) = @_;
    my $entry = $self->_land($call->{key}, $told);
    return _shown($entry ? $entry->{value} : ());
}

sub _expect_fetch_scalar {
    my ($self, $call, $told) = @_;
    my $entry = $self->_land($call->{key}, $told);
    return _shown($entry ? $entry->{value} : undef);
}

sub _expect_exists { my ($self, $call, $told) = @_; return $self->_land($call->{key}, $told) ? 1 : 0 }

sub _expect_counter { my ($self, $call, $told) = @_; return _shown(scalar _number($self->_land($call->{key}, $told))) }

sub _expect_delete {
    my ($self, $call, $told) = @_;
    $self->_land($call->{key}, $told);
    my $there = delete $self->{live}{ $call->{key} } ? 1 : 0;
    $self->{figures}{tombstones} += $there;
    return $there;
}

sub _expect_keys { my ($self) = @_; return join ' ', sort keys %{ $self->{live} } }

sub _expect_count { my ($self) = @_; return scalar keys %{ $self->{live} } }

sub _expect_pass {
    my ($self, $call) = @_;
    $self->{now} = $call->{now};
    my $live = $self->{live};
    my $ms   = int($self->{now} / 1000);
    my @lapsed = grep { $live->{$_}{deadline} && $live->{$_}{deadline} <= $ms } keys %$live;
    delete @$live{@lapsed};
    @{ $self->{lapsed} }{@lapsed} = (1) x @lapsed;
    return '';
}

1;
