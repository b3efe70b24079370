/* Builds a value from the items that the core's reader finds. The reader
 * vouches for their order, numbers and ranges; perl is asked only whether text
 * is UTF-8 and whether a regexp compiles.
 *
 * Whatever is made hangs on the root at once, so that a failure only has to let
 * go of that. Blessing comes last: no class ever sees a half-made object. */
#include "decode.h"
#include "class.h"
#include "codec.h"
#include "regexp.h"

/* ---- Making one item ---- */

struct building {
    struct decoder *decoder;
    const uint8_t *document;
    SV *parent;     /* of items at `depth`; neighbours share it */
    uint32_t depth;
    svtype kind;    /* the parent's */
    SV *reason;
};

#define text_at(building, start)   ((const char *)(building)->document + (start))

static SV *
THX_fail(pTHX_ struct building *building, const sa_item *item, const char *why)
{
    building->reason = sv_2mortal(newSVpvf("byte %" UVuf ": %s", (UV)item->at, why));
    return NULL;
}

/* What newSVpvn() does, in one go. */
static inline SV *
THX_new_text(pTHX_ const char *start, STRLEN length)
{
    SV *text = newSV_type(SVt_PV);
    char *room;

    Newx(room, length + 2, char); /* for a NUL, and for perl to count who shares it */
    Copy(start, room, length, char);
    room[length] = '\0';
    SvPV_set(text, room);
    SvLEN_set(text, length + 2);
    SvCUR_set(text, length);
    SvPOK_on(text);
    return text;
}

/* NULL: it is not the UTF-8 it is said to be. */
static inline SV *
THX_decode_text(pTHX_ const char *start, STRLEN length, bool utf8)
{
    SV *text;

    if (!utf8)
        return THX_new_text(aTHX_ start, length);
    if (!is_utf8(start, length))
        return NULL;
    text = THX_new_text(aTHX_ start, length);
    SvUTF8_on(text);
    return text;
}

static inline SV *
THX_make_text(pTHX_ struct building *building, const sa_item *item)
{
    SV *text = THX_decode_text(aTHX_ text_at(building, item->start), item->length, item->flags & SA_ITEM_UTF8);

    return text ? text : THX_fail(aTHX_ building, item, "a string of malformed UTF-8");
}

static SV *
THX_make_regexp(pTHX_ struct building *building, const sa_item *item)
{
    const bool utf8 = item->flags & SA_ITEM_UTF8;
    struct call *call = building->decoder->call;
    SV *why = NULL;
    SV *regexp;

    if (utf8 && !is_utf8(text_at(building, item->start), item->length))
        return THX_fail(aTHX_ building, item, "a pattern of malformed UTF-8");
    if (call && !call->copying) /* for an error later on */
        call_keep(call, building->decoder->key, NULL);
    ENTER;
    codec_take_decoder(building->decoder);
    regexp = regexp_compile(text_at(building, item->start), (STRLEN)item->length, utf8,
                            text_at(building, item->modifiers_start), (STRLEN)item->modifiers_length, &why);
    LEAVE;
    if (!regexp)
        building->reason = sv_2mortal(newSVpvf("byte %" UVuf ": %" SVf, (UV)item->at, SVfARG(why)));
    return regexp;
}

static SV *
THX_make_array(pTHX_ const sa_item *item)
{
    AV *array = newAV();

    if (item->length)
        av_extend(array, (SSize_t)item->length - 1);
    return (SV *)array;
}

static SV *
THX_make_hash(pTHX_ const sa_item *item)
{
    HV *hash = newHV();

    if (item->length > PERL_HASH_DEFAULT_HvMAX)
        hv_ksplit(hash, (IV)item->length);
    return (SV *)hash;
}

static inline void
THX_track(pTHX_ struct decoder *decoder, uint32_t number, SV *thing)
{
    if (number == SA_UNTRACKED)
        return;
    assert(number == decoder->tracked.count);
    list_push(&decoder->tracked, SvREFCNT_inc_simple_NN(thing));
}

/* Makes a reference of a scalar that has the body of one. */
static inline void
refer(SV *reference, SV *referent)
{
    SvRV_set(reference, referent);
    SvROK_on(reference);
}

/* The reference of an item that brings what it points at. */
static SV *
THX_make_reference(pTHX_ struct building *building, const sa_item *item, SV *referent)
{
    struct decoder *decoder = building->decoder;
    SV *reference;

    if (!referent)
        return NULL;
    reference = newRV_noinc(referent);
    THX_track(aTHX_ decoder, item->track, reference);
    THX_track(aTHX_ decoder, item->referent_track, referent);
    return reference;
}

static SV *
THX_make_open(pTHX_ struct building *building, const sa_item *item, SV *referent)
{
    list_reserve(&building->decoder->open, item->depth + 1);
    building->decoder->open.items[item->depth] = referent;
    return THX_make_reference(aTHX_ building, item, referent);
}

static inline SV *
THX_make_scalar(pTHX_ struct building *building, const sa_item *item)
{
    switch (item->kind) {
    case SA_ITEM_FALSE:    return newSVsv(&PL_sv_no);
    case SA_ITEM_TRUE:     return newSVsv(&PL_sv_yes);
    case SA_ITEM_SIGNED:   return newSViv((IV)item->number.whole);
    case SA_ITEM_UNSIGNED: return newSVuv((UV)item->number.positive);
    case SA_ITEM_REAL:     return newSVnv((NV)item->number.real);
    case SA_ITEM_TEXT:     return THX_make_text(aTHX_ building, item);
    default:               return newSV(0); /* undef; and a hole that is referred to, so is none */
    }
}

/* NULL: failed. */
static inline SV *
THX_make(pTHX_ struct building *building, const sa_item *item)
{
    struct decoder *decoder = building->decoder;
    SV *made;

    switch (item->kind) {
    case SA_ITEM_ARRAY_REF:
        return THX_make_open(aTHX_ building, item, THX_make_array(aTHX_ item));
    case SA_ITEM_HASH_REF:
        return THX_make_open(aTHX_ building, item, THX_make_hash(aTHX_ item));
    case SA_ITEM_REGEXP_REF:
        return THX_make_reference(aTHX_ building, item, THX_make_regexp(aTHX_ building, item));
    case SA_ITEM_ALIAS:
        return SvREFCNT_inc_simple_NN(decoder->tracked.items[item->target]);
    case SA_ITEM_REF: /* a reference as soon as its child is there */
        made = newSV_type(SVt_IV);
        THX_track(aTHX_ decoder, item->track, made);
        list_reserve(&decoder->open, item->depth + 1);
        decoder->open.items[item->depth] = made;
        return made;
    case SA_ITEM_SAME: /* perhaps of itself */
        made = newSV_type(SVt_IV);
        THX_track(aTHX_ decoder, item->track, made);
        refer(made, SvREFCNT_inc_simple_NN(decoder->tracked.items[item->target]));
        return made;
    default:
        made = THX_make_scalar(aTHX_ building, item);
        if (made)
            THX_track(aTHX_ decoder, item->track, made);
        return made;
    }
}

/* ---- Putting it in its place ---- */

/* False, and the reason given, when the key is no key. */
static inline bool
THX_store_pair(pTHX_ struct building *building, const sa_item *item, SV *value)
{
    HV *hash = (HV *)building->parent;
    const char *key = text_at(building, item->key_start);
    const bool utf8 = item->flags & SA_ITEM_KEY_UTF8;
    const STRLEN keys = HvTOTALKEYS(hash);

    if (utf8 && !is_utf8(key, item->key_length)) {
        SvREFCNT_dec_NN(value);
        THX_fail(aTHX_ building, item, "a key of malformed UTF-8");
        return FALSE;
    }
    (void)hv_common(hash, NULL, key, item->key_length, utf8 ? HVhek_UTF8 : 0, HV_FETCH_ISSTORE | HV_FETCH_JUST_SV,
                    value, 0);
    if (HvTOTALKEYS(hash) == keys) {
        THX_fail(aTHX_ building, item, "the second value of a key");
        return FALSE;
    }
    return TRUE;
}

static inline bool
THX_attach(pTHX_ struct building *building, const sa_item *item, SV *value)
{
    switch (building->kind) {
    case SVt_PVAV: /* make_array() has made room, and the reader counts */
        AvARRAY((AV *)building->parent)[++AvFILLp((AV *)building->parent)] = value;
        return TRUE;
    case SVt_PVHV:
        return THX_store_pair(aTHX_ building, item, value);
    case SVt_NULL: /* no parent */
        building->decoder->root = value;
        return TRUE;
    default:
        refer(building->parent, value);
        return TRUE;
    }
}

static void
go_to_depth(struct building *building, uint32_t depth)
{
    building->depth = depth;
    building->parent = depth ? building->decoder->open.items[depth - 1] : NULL;
    building->kind = depth ? SvTYPE(building->parent) : SVt_NULL;
}

/* ---- The end ---- */

static bool
THX_note_class(pTHX_ struct building *building, const sa_item *item, SV *reference)
{
    const char *name = text_at(building, item->class_start);
    const bool utf8 = item->flags & SA_ITEM_CLASS_UTF8;
    HV *stash;

    if (utf8 && !is_utf8(name, item->class_length)) {
        THX_fail(aTHX_ building, item, "a class name of malformed UTF-8");
        return FALSE;
    }
    if (has_too_many_parts(name, item->class_length)) {
        THX_fail(aTHX_ building, item, "a class name of too many parts");
        return FALSE;
    }
    stash = gv_stashpvn(name, item->class_length, GV_ADD | (utf8 ? SVf_UTF8 : 0));
    if (!stash || IS_FEATURE_CLASS(stash)) {
        THX_fail(aTHX_ building, item, "an object of a class that nothing can be blessed into");
        return FALSE;
    }
    list_push(&building->decoder->objects, SvREFCNT_inc_simple_NN(reference));
    list_push(&building->decoder->objects, SvREFCNT_inc_simple_NN((SV *)stash));
    return TRUE;
}

static void
THX_bless_and_weaken(pTHX_ struct decoder *decoder)
{
    size_t place;

    for (place = 0; place < decoder->objects.count; place += 2)
        sv_bless(decoder->objects.items[place], (HV *)decoder->objects.items[place + 1]);

    if (decoder->tracked.count) /* from here on the value's own references count, and no others */
        list_let_go(&decoder->tracked);
    for (place = 0; place < decoder->weak.count; place++) {
        SV *reference = decoder->weak.items[place];
        if (SvROK(reference) && !SvWEAKREF(reference) && SvREFCNT(SvRV(reference)) > 1)
            sv_rvweaken(reference);
    }
}

static bool
THX_add_items(pTHX_ struct building *building, size_t count)
{
    const sa_item *item;
    const sa_item *const end = building->decoder->items + count;

    for (item = building->decoder->items; item < end; item++) {
        SV *made;

        if (item->depth != building->depth)
            go_to_depth(building, item->depth);
        if (item->kind == SA_ITEM_HOLE && item->track == SA_UNTRACKED && building->kind == SVt_PVAV)
            made = NO_ELEMENT;
        else if (!(made = THX_make(aTHX_ building, item)))
            return FALSE;
        if (!THX_attach(aTHX_ building, item, made))
            return FALSE;
        if (item->flags & SA_ITEM_CLASS && !THX_note_class(aTHX_ building, item, made))
            return FALSE;
        if (item->flags & SA_ITEM_WEAK)
            list_push(&building->decoder->weak, SvREFCNT_inc_simple_NN(made));
    }
    return TRUE;
}

static bool
THX_build(pTHX_ struct building *building, size_t length)
{
    struct decoder *decoder = building->decoder;
    size_t count = ITEMS;
    sa_error error;
    sa_status status;

    ERROR_INIT(error);
    status = sa_reader_begin(decoder->reader, building->document, length, &error);
    while (status == SA_OK && count == ITEMS) {
        status = sa_reader_read(decoder->reader, building->document, length, decoder->items, ITEMS, &count, &error);
        if (status == SA_OK && !THX_add_items(aTHX_ building, count))
            return FALSE;
    }
    if (status != SA_OK) {
        building->reason = croak_reason(status, &error);
        return FALSE;
    }
    THX_bless_and_weaken(aTHX_ decoder);
    return TRUE;
}

SV *
THX_decode(pTHX_ struct decoder *decoder, const uint8_t *document, size_t length, SV **reason)
{
    STRLEN start, text_length;
    bool utf8;
    struct building building = { decoder, document, NULL, 0, SVt_NULL, NULL };
    SV *value = NULL;

    if (sa_document_text(document, length, &start, &text_length, &utf8)) {
        value = THX_decode_text(aTHX_ (const char *)document + start, text_length, utf8);
        if (value)
            return sv_2mortal(value);
    }
    if (decoder->root) /* a regexp's code left through the middle, by exit() */
        decoder_finish(decoder);
    if (THX_build(aTHX_ &building, length)) {
        value = sv_2mortal(decoder->root);
        decoder->root = NULL;
    }
    *reason = building.reason;
    decoder_finish(decoder);
    return value;
}
