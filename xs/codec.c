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

struct encoder *
THX_codec_encoder(pTHX)
{
    dMY_CXT;

    if (!MY_CXT.encoder) {
        Newxz(MY_CXT.encoder, 1, struct encoder);
        MY_CXT.encoder->writer = sa_writer_new();
    }
    return MY_CXT.encoder;
}

struct decoder *
THX_codec_decoder(pTHX)
{
    dMY_CXT;

    if (!MY_CXT.decoder) {
        Newxz(MY_CXT.decoder, 1, struct decoder);
        MY_CXT.decoder->reader = sa_reader_new();
    }
    return MY_CXT.decoder;
}

/* The one that was taken comes back, since what it made may still be wanted.
 * Another that was made meanwhile has done its work. */
static void
THX_give_encoder(pTHX_ void *taken)
{
    dMY_CXT;

    THX_release_encoder(aTHX_ MY_CXT.encoder);
    MY_CXT.encoder = (struct encoder *)taken;
}

static void
THX_give_decoder(pTHX_ void *taken)
{
    dMY_CXT;

    THX_release_decoder(aTHX_ MY_CXT.decoder);
    MY_CXT.decoder = (struct decoder *)taken;
}

struct encoder *
THX_codec_take_encoder(pTHX)
{
    dMY_CXT;
    struct encoder *encoder = codec_encoder();

    MY_CXT.encoder = NULL;
    SAVEDESTRUCTOR_X(THX_give_encoder, encoder);
    return encoder;
}

void
THX_codec_take_decoder(pTHX_ struct decoder *decoder)
{
    dMY_CXT;

    MY_CXT.decoder = NULL;
    SAVEDESTRUCTOR_X(THX_give_decoder, decoder);
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
THX_codec_clone(pTHX) /* perl itself passes on what is called at exit */
{
    MY_CXT_CLONE;

    MY_CXT.encoder = NULL;
    MY_CXT.decoder = NULL;
}
