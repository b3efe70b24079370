/* The encoder and the decoder that an interpreter keeps between calls. A call
 * takes one for as long as the present ENTER lasts; LEAVE, or a croak on the
 * way, gives it back. Whoever asks meanwhile (Perl code that the encoder runs)
 * gets another one. */
#ifndef SHARED_ARENA_CODEC_H
#define SHARED_ARENA_CODEC_H

#include "compat.h"

struct encoder;
struct decoder;

struct encoder *THX_codec_take_encoder(pTHX);
struct decoder *THX_codec_take_decoder(pTHX);

/* For BOOT, and for CLONE: a new thread starts with none. */
void THX_codec_boot(pTHX);
void THX_codec_clone(pTHX);

#define codec_take_encoder()   THX_codec_take_encoder(aTHX)
#define codec_take_decoder()   THX_codec_take_decoder(aTHX)
#define codec_boot()           THX_codec_boot(aTHX)
#define codec_clone()          THX_codec_clone(aTHX)

#endif
