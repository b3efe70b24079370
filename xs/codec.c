#include "codec.h"
#include "decoder.h"
#include "encoder.h"

#define MY_CXT_KEY "Shared::Arena::codec"

typedef struct {
    struct encoder *encoder; /* idle ones; NULL: none, or in use */
    struct decoder *decoder;
} my_cxt_t;

START_MY_CXT

static void
THX_release_encoder(pTHX_ struct encoder *encoder)
{
    if (!encoder)
        return;
    sa_writer_release(encoder->writer);
    seen_release(&encoder->seen);
    Safefree(encoder->levels);
    Safefree(encoder);
}

static void
THX_release_decoder(pTHX_ struct decoder *decoder)
{
    if (!decoder)
        return;
    sa_reader_release(decoder->reader);
    Safefree(decoder->document);
    list_release(&decoder->open);
    list_release(&decoder->tracked);
    list_release(&decoder->objects);
    list_release(&decoder->weak);
    Safefree(decoder);
}

static void
THX_give_encoder(pTHX_ void *taken)
{
    dMY_CXT;

    if (!MY_CXT.encoder)
        MY_CXT.encoder = (struct encoder *)taken;
    else
        THX_release_encoder(aTHX_ (struct encoder *)taken);
}

static void
THX_give_decoder(pTHX_ void *taken)
{
    dMY_CXT;
    struct decoder *decoder = (struct decoder *)taken;

    decoder_finish(decoder);
    if (!MY_CXT.decoder)
        MY_CXT.decoder = decoder;
    else
        THX_release_decoder(aTHX_ decoder);
}

struct encoder *
THX_codec_take_encoder(pTHX)
{
    dMY_CXT;
    struct encoder *encoder = MY_CXT.encoder;

    MY_CXT.encoder = NULL;
    if (!encoder) {
        Newxz(encoder, 1, struct encoder);
        encoder->writer = sa_writer_new();
    }
    SAVEDESTRUCTOR_X(THX_give_encoder, encoder);
    return encoder;
}

struct decoder *
THX_codec_take_decoder(pTHX)
{
    dMY_CXT;
    struct decoder *decoder = MY_CXT.decoder;

    MY_CXT.decoder = NULL;
    if (!decoder) {
        Newxz(decoder, 1, struct decoder);
        decoder->reader = sa_reader_new();
    }
    SAVEDESTRUCTOR_X(THX_give_decoder, decoder);
    return decoder;
}

static void
THX_release_idle(pTHX_ void *nothing)
{
    dMY_CXT;

    PERL_UNUSED_ARG(nothing);
    THX_release_encoder(aTHX_ MY_CXT.encoder);
    THX_release_decoder(aTHX_ MY_CXT.decoder);
    MY_CXT.encoder = NULL;
    MY_CXT.decoder = NULL;
}

void
THX_codec_boot(pTHX)
{
    MY_CXT_INIT;

    MY_CXT.encoder = NULL;
    MY_CXT.decoder = NULL;
    call_atexit(THX_release_idle, NULL);
}

void
THX_codec_clone(pTHX)
{
    MY_CXT_CLONE;

    MY_CXT.encoder = NULL;
    MY_CXT.decoder = NULL;
    call_atexit(THX_release_idle, NULL);
}
