/* The walk over a value. It keeps its own stack, so that no nesting, however
 * deep, runs out of the C stack, and so that an error can say where it was. */
#include "encoder.h"
#include "codec.h"

progress
THX_refuse(pTHX_ struct encoder *encoder, const char *format, ...)
{
    va_list arguments;

    encoder->reason = newSVpvn_flags("", 0, SVs_TEMP);
    va_start(arguments, format);
    sv_vcatpvf(encoder->reason, format, &arguments);
    va_end(arguments);
    return REFUSED;
}

/* A weak reference whose target nothing else in the document holds would be
 * undef as soon as it is decoded. It is written as a strong one. */
static void
hold_what_is_only_weak(struct encoder *encoder)
{
    size_t place;

    for (place = 0; place < encoder->seen.room; place++) {
        const struct sighting *sighting = &encoder->seen.slots[place];
        if (sighting->round == encoder->seen.round && sighting->weak_at && !sighting->held)
            sa_writer_strengthen(encoder->writer, sighting->weak_at);
    }
}

progress
THX_open_level(pTHX_ struct encoder *encoder, const struct level *level)
{
    if (encoder->depth == SA_MAX_DEPTH)
        return refuse(encoder, "deeper than %d levels", (int)SA_MAX_DEPTH);
    if (encoder->depth == encoder->room) {
        encoder->room = encoder->room ? 2 * encoder->room : 32;
        Renew(encoder->levels, encoder->room, struct level);
    }
    encoder->levels[encoder->depth++] = *level;
    return GO_ON;
}

/* ---- One child ---- */

/* A scalar in its place: the value itself, an element, or what a reference
 * points at, of which `referred` is the level. */
static progress
THX_write_item(pTHX_ struct encoder *encoder, SV *item, const struct level *referred)
{
    SV *value = item;

    if (SvGMAGICAL(item) && !encoder->guarded)
        return NEEDS_GUARD;
    if (is_shared(encoder, item) && !SvIMMORTAL(item)) {
        struct sighting *sighting = seen_find(&encoder->seen, item);
        if (sighting) {
            sa_writer_alias(encoder->writer, sighting->offset);
            sighting->held = TRUE;
            return GO_ON;
        }
        if (referred)
            THX_see_referent(aTHX_ encoder, item, referred->weak_at, referred->blessed);
        else
            THX_see(aTHX_ encoder, item, 0);
    }
    if (SvGMAGICAL(item))
        value = sv_mortalcopy(item);
    return SvROK(value) ? write_reference(encoder, value) : write_scalar(encoder, value);
}

static progress
THX_write_key(pTHX_ struct encoder *encoder, const HEK *key)
{
    if (HEK_LEN(key) >= SHORTEST_COPIED && encoder->hashes > 1) {
        const struct sighting *sighting = seen_find(&encoder->seen, key);
        if (!sighting)
            seen_add(&encoder->seen, key, sa_writer_position(encoder->writer));
        else if (may_copy(encoder, key)) {
            sa_writer_copy(encoder->writer, sighting->offset);
            return GO_ON;
        }
    }
    if (HEK_WASUTF8(key)) {
        SV *text = sv_2mortal(newSVhek(key));
        sa_writer_text(encoder->writer, (const uint8_t *)SvPVX(text), SvCUR(text), TRUE);
        return GO_ON;
    }
    if (HEK_UTF8(key) && !is_utf8(HEK_KEY(key), HEK_LEN(key)))
        return refuse(encoder, "key of malformed UTF-8");
    sa_writer_text(encoder->writer, (const uint8_t *)HEK_KEY(key), HEK_LEN(key), cBOOL(HEK_UTF8(key)));
    return GO_ON;
}

/* ---- The walk ---- */

/* An array or hash that one reference leads to, and about which there is nothing else. */
static inline bool
THX_write_plain_container(pTHX_ struct encoder *encoder, SV *container)
{
    if (SvREFCNT(container) != 1 || encoder->depth == SA_MAX_DEPTH)
        return FALSE;
    switch (SvFLAGS(container) & (SVTYPEMASK | SVs_OBJECT | SVs_RMG | SVs_GMG | SVs_SMG)) {
    case SVt_PVAV:
        return !SvMAGIC(container) && write_array(encoder, (AV *)container, TRUE) == GO_ON;
    case SVt_PVHV:
        return !HASH_HAS_WEAK_REFERENCES(container) && write_hash(encoder, (HV *)container, TRUE) == GO_ON;
    default:
        return FALSE;
    }
}

/* Most of what there is to write: text and numbers that are nothing else,
 * nothing's target and not magical, and what holds such things. */
static inline bool
THX_write_plain(pTHX_ struct encoder *encoder, SV *item)
{
    if (SvREFCNT(item) != 1 || encoder->guarded || SvTYPE(item) > SVt_PVNV)
        return FALSE;
    switch (SvFLAGS(item) & (SVf_IOK | SVf_NOK | SVf_POK | SVf_ROK | SVf_UTF8 | SVf_IVisUV)) {
    case SVf_POK:
        sa_writer_text(encoder->writer, (const uint8_t *)SvPVX_const(item), SvCUR(item), FALSE);
        return TRUE;
    case SVf_IOK:
        sa_writer_signed(encoder->writer, SvIVX(item));
        return TRUE;
    case SVf_NOK:
        sa_writer_real(encoder->writer, SvNVX(item));
        return TRUE;
    case SVf_ROK: /* not a weak one: its flag is SVf_IVisUV */
        return THX_write_plain_container(aTHX_ encoder, SvRV(item));
    default:
        return FALSE;
    }
}

#define write_plain(encoder, item)   THX_write_plain(aTHX_ (encoder), (item))

/* The children from the next one on, up to one that opens a level itself. */
static progress
THX_write_elements(pTHX_ struct encoder *encoder, struct level *level)
{
    SV **elements = AvARRAY((AV *)level->container);
    const size_t depth = encoder->depth;

    while (level->next < level->count) {
        SV *element = elements[level->next++];
        progress progress = GO_ON;

        if (!element || element == NO_ELEMENT || IS_NO_ELEMENT(element))
            sa_writer_hole(encoder->writer);
        else if (!write_plain(encoder, element))
            progress = THX_write_item(aTHX_ encoder, element, NULL);
        if (progress != GO_ON || encoder->depth != depth)
            return progress;
    }
    encoder->depth--;
    return GO_ON;
}

/* The entry after the last one; the hash's own iterator is its owner's. */
static inline HE *
next_entry(struct level *level)
{
    HV *hash = (HV *)level->container;
    HE *entry = level->entry ? HeNEXT(level->entry) : NULL;

    for (;;) {
        for (; entry; entry = HeNEXT(entry))
            if (HeVAL(entry) != &PL_sv_placeholder)
                return level->entry = entry;
        if (level->next > (SSize_t)HvMAX(hash))
            return NULL;
        entry = HvARRAY(hash)[level->next++];
    }
}

static progress
THX_write_pairs(pTHX_ struct encoder *encoder, struct level *level)
{
    const size_t depth = encoder->depth;

    while (level->count-- > 0 && next_entry(level)) {
        SV *value = HeVAL(level->entry);
        progress progress = THX_write_key(aTHX_ encoder, HeKEY_hek(level->entry));

        if (progress == GO_ON && !write_plain(encoder, value))
            progress = THX_write_item(aTHX_ encoder, value, NULL);
        if (progress != GO_ON || encoder->depth != depth)
            return progress;
    }
    encoder->depth--;
    return GO_ON;
}

static progress
THX_write_children(pTHX_ struct encoder *encoder)
{
    struct level *level = &encoder->levels[encoder->depth - 1];

    switch (level->kind) {
    case LEVEL_ARRAY:
        return THX_write_elements(aTHX_ encoder, level);
    case LEVEL_HASH:
        return THX_write_pairs(aTHX_ encoder, level);
    default:
        if (level->next++ == 0)
            return THX_write_item(aTHX_ encoder, level->container, level);
        encoder->depth--;
        return GO_ON;
    }
}

static encoding
THX_encode_with(pTHX_ struct encoder *encoder, SV *value, size_t limit, struct encoded *encoded)
{
    progress progress;
    size_t length = 0;

    sa_writer_begin(encoder->writer, limit);
    seen_forget(&encoder->seen);
    encoder->depth = 0;
    encoder->hashes = 0;
    encoder->copied = 0;

    progress = write_plain(encoder, value) ? GO_ON : THX_write_item(aTHX_ encoder, value, NULL);
    while (progress == GO_ON && encoder->depth)
        progress = THX_write_children(aTHX_ encoder);

    switch (progress) {
    case GO_ON:
        if (encoder->seen.has_weak)
            hold_what_is_only_weak(encoder);
        encoded->document.start = sa_writer_finish(encoder->writer, &length);
        encoded->document.length = length;
        return ENCODED;
    case NEEDS_GUARD:
        return ENCODE_GUARDED;
    default:
        encoded->reason = sv_2mortal(newSVpvf("%" SVf ": %" SVf, SVfARG(encode_path(encoder)),
                                              SVfARG(encoder->reason)));
        return ENCODE_REFUSED;
    }
}

encoding
THX_encode(pTHX_ SV *value, size_t limit, struct encoded *encoded)
{
    struct encoder *encoder = codec_encoder();

    encoder->guarded = FALSE;
    return THX_encode_with(aTHX_ encoder, value, limit, encoded);
}

encoding
THX_encode_guarded(pTHX_ SV *value, size_t limit, struct encoded *encoded)
{
    struct encoder *encoder;
    encoding encoding;

    ENTER;
    encoder = codec_take_encoder();
    encoder->guarded = TRUE;
    encoding = THX_encode_with(aTHX_ encoder, value, limit, encoded);
    LEAVE;
    return encoding;
}

void
THX_encoder_trim(pTHX)
{
    struct encoder *encoder = codec_encoder();

    sa_writer_begin(encoder->writer, 0);
    seen_forget(&encoder->seen);
}
