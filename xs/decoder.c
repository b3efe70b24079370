/* What a decoder has at hand, and how it lets go of it. */
#include "decoder.h"

/* A larger buffer than this is not kept. */
#define MOST_KEPT_ROOM (1024 * 1024)

uint8_t *
THX_decoder_document(pTHX_ struct decoder *decoder, size_t length)
{
    if (length > decoder->room) {
        Safefree(decoder->document);
        decoder->document = NULL;
        decoder->room = 0;
        Newx(decoder->document, length, uint8_t);
        decoder->room = length;
    }
    return decoder->document;
}

/* A cycle goes through something tracked. */
static void
THX_take_apart(pTHX_ const struct list *tracked)
{
    size_t place;

    for (place = 0; place < tracked->count; place++) {
        SV *thing = tracked->items[place];
        if (SvTYPE(thing) == SVt_PVAV)
            av_clear((AV *)thing);
        else if (SvTYPE(thing) == SVt_PVHV)
            hv_clear((HV *)thing);
        else if (SvROK(thing))
            sv_unref_flags(thing, SV_IMMEDIATE_UNREF);
    }
}

void
THX_list_let_go(pTHX_ struct list *counted)
{
    size_t place;

    for (place = 0; place < counted->count; place++)
        SvREFCNT_dec_NN(counted->items[place]);
    list_empty(counted);
}

void
THX_decoder_trim(pTHX_ struct decoder *decoder)
{
    if (decoder->room > MOST_KEPT_ROOM) {
        Safefree(decoder->document);
        decoder->document = NULL;
        decoder->room = 0;
    }
}

void
THX_decoder_finish(pTHX_ struct decoder *decoder)
{
    SV *unfinished = decoder->root;

    decoder->root = NULL;
    if (unfinished)
        THX_take_apart(aTHX_ &decoder->tracked);
    if (decoder->tracked.room > MOST_KEPT_ITEMS) /* the reader's own table is as long: it lets go of that */
        sa_reader_begin(decoder->reader, NULL, 0, NULL);
    if (decoder->tracked.count || decoder->tracked.room > MOST_KEPT_ITEMS)
        list_let_go(&decoder->tracked);
    if (decoder->objects.count)
        list_let_go(&decoder->objects);
    if (decoder->weak.count)
        list_let_go(&decoder->weak);
    SvREFCNT_dec(unfinished);
    list_empty(&decoder->open);
}
