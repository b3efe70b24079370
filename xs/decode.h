/* A document of the Sereal format as a Perl value. */
#ifndef SHARED_ARENA_DECODE_H
#define SHARED_ARENA_DECODE_H

#include "decoder.h"

/* The value, mortal; or NULL, and why in `reason`, a mortal text that names the
 * byte. No half-made object is ever destroyed. Perl code runs for one thing
 * only: a regexp that names a property which the program defines (\p{IsMine});
 * it finds another decoder. */
SV *THX_decode(pTHX_ struct decoder *decoder, const uint8_t *document, size_t length, SV **reason);

#define decode(decoder, document, length, reason) THX_decode(aTHX_ (decoder), (document), (length), (reason))

#endif
