package BenchSvg;

# What the plots have in common: pictures for light and dark pages, their colours and texts.

use strict;
use warnings;

use Exporter 'import';

our @EXPORT = qw(picture text colour tick_number);

my @Colours = map {"#$_"} qw(3b82f6 e0761a 2a9d63 d6457a 8b6fe8 b59a00 8a8f98 17a2b0);

# The whole of a picture of this size: title, then what is in it.
sub picture {
    my ($width, $height, $title, @parts) = @_;
    return join "\n",
        qq{<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 $width $height" width="$width" height="$height">},
        '<title>' . _escape($title) . '</title>',
        '<style>text{font:13px sans-serif;fill:#707070}.title{font-size:15px;font-weight:bold}'
            . '.axis{stroke:#888;fill:none}.grid{stroke:#888;stroke-opacity:.25}'
            . '@media(prefers-color-scheme:dark){text{fill:#bbb}}</style>',
        @parts, "</svg>\n";
}

# A text at a place, anchored by its `start`, `middle` or `end`; perhaps with further attributes.
sub text {
    my ($x, $y, $text, $anchor, $more) = @_;
    $more = defined $more ? " $more" : '';
    return qq{<text x="$x" y="$y" text-anchor="$anchor"$more>} . _escape($text) . '</text>';
}

# The colour of the series with this index.
sub colour { my ($index) = @_; return $Colours[$index % @Colours] }

sub tick_number { my ($number) = @_; 1 while $number =~ s/\A(\d+)(\d{3})/$1,$2/; return $number }

sub _escape { my ($text) = @_; $text =~ s/&/&amp;/g; $text =~ s/</&lt;/g; return $text }

1;
