/* Between a call and the codec. Encoding is over before the map is asked, and
 * decoding works on a copy: no lock is ever held while perl is at work. */
#include "structure.h"
#include "codec.h"
#include "decode.h"
#include "encode.h"
#include "value.h"

/* Room for a first look at a value. */
#define FIRST_ROOM 4096

/* What is longer leaves large buffers behind. */
#define MOST_KEPT (64 * 1024)

void
THX_call_structure(pTHX_ struct call *call, I32 index, size_t limit, struct bytes *key, struct bytes *document)
{
    struct encoded encoded;
    encoding encoding = encode(call_argument(call, index), limit, &encoded);

    if (encoding == ENCODE_GUARDED) {
        call_keep(call, key, NULL);
        encoding = encode_guarded(call_argument(call, index), limit, &encoded);
    }
    if (encoding == ENCODE_REFUSED) {
        encoder_trim();
        croak_method(call->method, "cannot store %" SVf, SVfARG(encoded.reason));
    }
    document->start = encoded.document.start;
    document->length = encoded.document.length;
    if (!document->start)
        encoder_trim();
    if (call->copying) /* an option may be tied, and its code may store something too */
        call_keep(call, document, NULL);
}

bool
THX_call_short_text(pTHX_ const struct call *call, I32 index, struct bytes *document, uint8_t *room)
{
    const SV *const value = call_argument(call, index);

    if (call->copying || SvTYPE(value) > SVt_PVMG
        || (SvFLAGS(value) & (SVf_POK | SVf_IOK | SVf_NOK | SVp_IOK | SVp_NOK | SVf_ROK | SVf_UTF8 | SVs_GMG)) != SVf_POK)
        return FALSE;
    document->start = room;
    document->length = sa_short_text((const uint8_t *)SvPVX_const(value), SvCUR(value), room);
    return document->length != 0;
}

void
THX_structure_stored(pTHX_ const struct bytes *document)
{
    if (document->length > MOST_KEPT)
        encoder_trim();
}

/* The document's bytes, in the decoder's room. */
static sa_status
THX_fetch_document(pTHX_ struct decoder *decoder, const sa_map *map, const struct bytes *key, sa_value *value)
{
    decoder_document(decoder, FIRST_ROOM);
    for (;;) {
        const sa_status status = sa_map_fetch(map, key->start, key->length, decoder->document, decoder->room, value);

        if (status != SA_SHORT || value->length <= decoder->room)
            return status;
        decoder_document(decoder, value->length);
    }
}

/* Many values are short strings, and need no decoder. NULL for any other. */
static SV *
THX_short_text(pTHX_ const uint8_t *document, size_t document_length)
{
    size_t start, length;
    bool utf8;
    SV *text;

    if (!sa_document_text(document, document_length, &start, &length, &utf8) || utf8 || length > SHORT_LENGTH)
        return NULL;
    text = short_string();
    Copy(document + start, SvPVX(text), length, char);
    finish_short(text, length);
    SvSETMAGIC(text);
    return text;
}

SV *
THX_structure_fetch(pTHX_ struct call *call, const sa_map *map, struct bytes *key)
{
    struct decoder *decoder = codec_decoder();
    sa_value found;
    SV *value = NULL, *reason = NULL;

    if (THX_fetch_document(aTHX_ decoder, map, key, &found) == SA_OK && GIMME_V != G_VOID) {
        decoder->call = call;
        decoder->key = key;
        if (found.kind == SA_KIND_BYTES && (value = THX_short_text(aTHX_ decoder->document, found.length)))
            return value;
        if (found.kind == SA_KIND_BYTES)
            value = decode(decoder, decoder->document, found.length, &reason);
        else
            reason = newSVpvs_flags("byte 0: no document at all", SVs_TEMP);
    }
    decoder_trim(decoder);
    if (reason)
        croak_method(call->method, "the value of %" SVf " is corrupt: %" SVf, SVfARG(bytes_shown(key)),
                     SVfARG(reason));
    return value;
}
