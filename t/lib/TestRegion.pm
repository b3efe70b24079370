package TestRegion;

# Where things lie in a limiter's region, for tests that look at its bytes; see Shared::Arena::Format.

use strict;
use warnings;

use Exporter 'import';

our @EXPORT = qw(STATISTICS LINES LINE SLOTS SLOT CLAIM);

use constant { STATISTICS => 128, LINES => 64, LINE => 64, SLOT => 16 };
use constant SLOTS => STATISTICS + LINES * LINE;

# The highest byte of a claim's second word.
use constant CLAIM => 0xff << 56;

1;
