package TestPlaces;

# Where everything lies in the bytes of an arena, for tests that write over it: the formulas of Shared::Arena::Format,
# applied to the table of regions.

use strict;
use warnings;

use Exporter 'import';

our @EXPORT = qw(places_in map_layout);

use constant { HEADER => 192, ENTRY => 64, LIMIT => 20, LOCK => 128, COUNT => 132 };
use constant { RAW => 1, MAP => 2, LIMITER => 3 };
use constant { MAP_HEADER => 128, STRIPE => 128, GROUP => 64, LANES => 7, BUFFER => 32, BLOCK => 64, LINE => 64 };
use constant { STATISTICS => 128, TALLIES => 64, TALLY => 64 };

# The fields of each structure: what a test calls words of that kind, where they begin, how many there are, and the
# bytes of each.
my %Fields = (
    header => [
        ['mark' => 0, 1, 8], ['version' => 8, 2, 4], ['word size' => 16, 1, 4], ['region limit' => LIMIT, 1, 4],
        ['size' => 24, 3, 8], ['fingerprint' => 48, 1, 8], ['namespace' => 56, 1, 8], ['seed' => 64, 4, 8],
        ['start' => 96, 2, 8], ['broken locks' => 112, 1, 8], ['lines drawn' => 120, 1, 4],
        ['namespaces' => 124, 1, 4], ['lock' => LOCK, 1, 4], ['region count' => COUNT, 1, 4],
        ['carving' => 136, 1, 8], ['reserved' => 144, 6, 8],
    ],
    entry => [['region name' => 0, 4, 8], ['region place' => 32, 3, 8], ['region kind' => 56, 2, 4]],
    map   => [['shape of a map' => 0, 3, 8], ['figure' => 64, 2, 8]],
    stripe => [
        ['lock' => 0, 1, 4], ['spare' => 4, 1, 4], ['step' => 8, 1, 8], ['position' => 16, 1, 8],
        ['word' => 24, 2, 8], ['claim' => 40, 1, 8], ['figure' => 64, 7, 8], ['cursor' => 120, 1, 8],
    ],
    group   => [['reach' => 0, 1, 8], ['word' => 8, LANES, 8]],
    buffer  => [['sequence' => 0, 1, 8], ['number' => 8, 1, 8], ['deadline' => 16, 1, 8], ['lengths' => 24, 1, 8]],
    limiter => [['shape of a limiter' => 0, 3, 8]],
    tally   => [['tally' => 0, 5, 8]],
    bucket  => [['bucket' => 0, 1, 8], ['arrival' => 8, 1, 8]],
);

# Returns the places of each kind of word, each an offset and a length in bytes, and by name what belongs together:
# maps with their stripes, words and buffers, limiters with their buckets.
sub places_in {
    my ($image) = @_;
    my $found = { places => {}, maps => [], limiters => [], entries => [] };
    _add($found, header => 0);
    for my $number (0 .. unpack('L', substr $image, COUNT, 4) - 1) {
        my $entry = HEADER + $number * ENTRY;
        _add($found, entry => $entry);
        push @{ $found->{entries} }, $entry;
        my ($offset, $length, undef, $kind) = unpack 'Q3 L', substr $image, $entry + 32, 28;
        if    ($kind == MAP)     { _add_map($found, $image, $offset, $length) }
        elsif ($kind == LIMITER) { _add_limiter($found, $image, $offset, $length) }
        else                     { push @{ $found->{places}{'raw bytes'} }, [$offset, $length] }
    }
    return $found;
}

# One structure, or so many side by side.
sub _add {
    my ($found, $structure, $start, $size, $count) = @_;
    for my $base (map { $start + $_ * ($size || 0) } 0 .. ($count || 1) - 1) {
        for my $field (@{ $Fields{$structure} }) {
            my ($kind, $at, $words, $bytes) = @$field;
            push @{ $found->{places}{$kind} }, map { [$base + $at + $_ * $bytes, $bytes] } 0 .. $words - 1;
        }
    }
    return;
}

# The parts of a map whose region begins there: how many of each, and where.
sub map_layout {
    my ($start, $slots, $slot_size) = @_;
    my %layout = (stripes => 1, stride => _round_up($slot_size, LINE), stripes_at => $start + MAP_HEADER);
    $layout{stripes} *= 2 while $layout{stripes} < 64 && $layout{stripes} * 2 <= $slots / 8;
    $layout{groups}       = _round_up(int(($slots + 4) / 5), $layout{stripes});
    $layout{buffers}      = $slots + $layout{stripes};
    $layout{lines}        = int(($layout{buffers} + LINE - 1) / LINE);
    $layout{bounds}       = $layout{stripes} * int(($layout{groups} / $layout{stripes} + BLOCK - 1) / BLOCK);
    $layout{groups_at}    = $layout{stripes_at} + $layout{stripes} * STRIPE;
    $layout{owners_at}    = $layout{groups_at} + $layout{groups} * GROUP;
    $layout{vacancies_at} = $layout{owners_at} + $layout{lines} * LINE;
    $layout{bounds_at}    = $layout{vacancies_at} + _round_up(int(($layout{lines} + 7) / 8), LINE);
    $layout{buffers_at}   = $layout{bounds_at} + _round_up($layout{bounds} * 8, LINE);
    $layout{end}          = $layout{buffers_at} + $layout{buffers} * $layout{stride};
    return \%layout;
}

sub _add_map {
    my ($found, $image, $start, $length) = @_;
    my $layout = map_layout($start, unpack 'Q2', substr $image, $start, 16);
    $layout->{end} == $start + $length or die 'a map is laid out otherwise';
    my ($stripes, $groups, $lines, $buffers, $stride) = @$layout{qw(stripes groups lines buffers stride)};

    _add($found, map    => $start);
    _add($found, stripe => $layout->{stripes_at}, STRIPE,  $stripes);
    _add($found, group  => $layout->{groups_at},  GROUP,   $groups);
    _add($found, buffer => $layout->{buffers_at}, $stride, $buffers);
    my $places = $found->{places};
    push @{ $places->{owner} },      map { [$layout->{owners_at} + $_, 1] } 0 .. _round_up($buffers, 8) - 1;
    push @{ $places->{vacancies} },  map { [$layout->{vacancies_at} + 8 * $_, 8] } 0 .. int(($lines + 63) / 64) - 1;
    push @{ $places->{bound} },      map { [$layout->{bounds_at} + 8 * $_, 8] } 0 .. $layout->{bounds} - 1;
    my @bodies = map { [$layout->{buffers_at} + $_ * $stride + BUFFER, $stride - BUFFER] } 0 .. $buffers - 1;
    push @{ $places->{ unpack('x16 Q', substr $image, $start, 24) & 1 ? 'document' : 'body' } }, @bodies;
    push @{ $found->{maps} }, {
        groups  => $groups,
        buffers => $buffers,
        stripes => [map { $layout->{stripes_at} + $_ * STRIPE } 0 .. $stripes - 1],
        words   => [map { my $group = $_; map { $layout->{groups_at} + $group * GROUP + 8 * $_ } 1 .. LANES } 0 .. $groups - 1],
        owners  => $layout->{owners_at},
        bodies  => \@bodies,
    };
    return;
}

sub _add_limiter {
    my ($found, $image, $start, $length) = @_;
    my ($slots) = unpack 'Q', substr $image, $start, 8;
    my $buckets_at = $start + STATISTICS + TALLIES * TALLY;
    $buckets_at + 16 * $slots == $start + $length or die 'a limiter is laid out otherwise';
    _add($found, limiter => $start);
    _add($found, tally   => $start + STATISTICS, TALLY, TALLIES);
    _add($found, bucket  => $buckets_at, 16, $slots);
    push @{ $found->{limiters} }, { buckets => [map { $buckets_at + 16 * $_ } 0 .. $slots - 1] };
    return;
}

sub _round_up { my ($value, $to) = @_; return int(($value + $to - 1) / $to) * $to }

1;
