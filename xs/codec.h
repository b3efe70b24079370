/* The encoder and the decoder that an interpreter keeps between calls. Both are
 * used in place as long as no Perl code can run. Whoever lets Perl code run
 * takes his away first, so that a call which that code makes gets another. */
#ifndef SHARED_ARENA_CODEC_H
#define SHARED_ARENA_CODEC_H

#include "compat.h"

struct encoder;
struct decoder;

/* The kept ones; they stay where they are. */
struct encoder *THX_codec_encoder(pTHX);
struct decoder *THX_codec_decoder(pTHX);

/* For as long as the present ENTER lasts; LEAVE, or a croak on the way, gives it back. */
struct encoder *THX_codec_take_encoder(pTHX);
void THX_codec_take_decoder(pTHX_ struct decoder *decoder);

/* For BOOT, and for CLONE: a new thread starts with none. */
void THX_codec_boot(pTHX);
void THX_codec_clone(pTHX);

#define codec_encoder()               THX_codec_encoder(aTHX)
#define codec_decoder()               THX_codec_decoder(aTHX)
#define codec_take_encoder()          THX_codec_take_encoder(aTHX)
#define codec_take_decoder(decoder)   THX_codec_take_decoder(aTHX_ (decoder))
#define codec_boot()                  THX_codec_boot(aTHX)
#define codec_clone()                 THX_codec_clone(aTHX)

#endif
