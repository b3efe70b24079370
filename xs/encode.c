/* The walk over a value. It keeps its own stack, so that no nesting, however
 * deep, runs out of the C stack, and so that an error can say where it was. */
#include "encoder.h"
#include "codec.h"
#include "regexp.h"

/* A COPY takes two bytes or more, and a look into the table. */
#define SHORTEST_COPIED_KEY 4

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

/* Whether a second way may lead to it: another reference, an alias, or a weak
 * reference, which is not in the count. */
static inline bool
is_shared(const struct encoder *encoder, const SV *thing)
{
    return encoder->guarded || SvREFCNT(thing) > 1
        || (SvTYPE(thing) >= SVt_PVMG && (SvMAGIC(thing) || HAS_AUX(thing)));
}

/* What is written next is that thing. */
static struct sighting *
THX_see(pTHX_ struct encoder *encoder, const SV *thing, size_t weak_at)
{
    struct sighting *sighting = seen_add(&encoder->seen, thing, sa_writer_position(encoder->writer));

    if (weak_at) {
        sighting->weak_at = weak_at;
        sighting->held = FALSE;
        encoder->seen.has_weak = TRUE;
    }
    return sighting;
}

/* The same for what a reference points at: its class is written already. */
static void
THX_see_referent(pTHX_ struct encoder *encoder, const SV *referent, size_t weak_at)
{
    THX_see(aTHX_ encoder, referent, weak_at)->blessed = TRUE;
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

static progress
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

/* ---- What a reference points at ---- */

static progress
THX_write_class(pTHX_ struct encoder *encoder, HV *stash)
{
    const HEK *name = HvNAME_HEK(stash);
    const struct sighting *sighting = seen_find(&encoder->seen, stash);

    if (sighting) {
        sa_writer_class_again(encoder->writer, sighting->offset);
        return GO_ON;
    }
    if (!name)
        return refuse(encoder, "object of a class that is gone");
    seen_add(&encoder->seen, stash, sa_writer_position(encoder->writer) + 1);
    sa_writer_class(encoder->writer, (const uint8_t *)HEK_KEY(name), HEK_LEN(name), HEK_UTF8(name));
    return GO_ON;
}

static progress
THX_write_array(pTHX_ struct encoder *encoder, AV *array, bool referred)
{
    struct level level = { LEVEL_ARRAY, (SV *)array, 0, AvFILLp(array) + 1, 0, NULL };

    sa_writer_array(encoder->writer, (size_t)level.count, referred);
    return level.count ? THX_open_level(aTHX_ encoder, &level) : GO_ON;
}

static progress
THX_write_hash(pTHX_ struct encoder *encoder, HV *hash, bool referred)
{
    struct level level = { LEVEL_HASH, (SV *)hash, 0, (SSize_t)HvUSEDKEYS(hash), 0, NULL };

    encoder->hashes++;
    sa_writer_hash(encoder->writer, (size_t)level.count, referred);
    return level.count ? THX_open_level(aTHX_ encoder, &level) : GO_ON;
}

/* Array or hash: `origin` is the object that stands for it, if one does. */
static progress
THX_write_container(pTHX_ struct encoder *encoder, SV *container, const SV *origin, size_t weak_at)
{
    const bool shared = is_shared(encoder, container);
    SV *contents = container;

    if (encoder->guarded)
        contents = snapshot(container);
    else if (is_read_by_magic(container))
        return NEEDS_GUARD;

    if (shared) {
        sa_writer_reference(encoder->writer);
        THX_see_referent(aTHX_ encoder, container, weak_at);
        if (origin)
            THX_see_referent(aTHX_ encoder, origin, 0);
    }
    return SvTYPE(contents) == SVt_PVAV ? THX_write_array(aTHX_ encoder, (AV *)contents, !shared)
                                        : THX_write_hash(aTHX_ encoder, (HV *)contents, !shared);
}

static progress
THX_write_regexp(pTHX_ struct encoder *encoder, const SV *thing, size_t weak_at)
{
    const REGEXP *regexp = (const REGEXP *)thing;
    char modifiers[MOST_MODIFIERS];
    size_t length;

    if (regexp_has_code(regexp))
        return refuse(encoder, "REGEXP with code blocks");
    sa_writer_reference(encoder->writer);
    if (is_shared(encoder, thing))
        THX_see_referent(aTHX_ encoder, thing, weak_at);
    length = regexp_modifiers(regexp, modifiers);
    sa_writer_regexp(encoder->writer, (const uint8_t *)RX_PRECOMP(regexp), RX_PRELEN(regexp), cBOOL(RX_UTF8(regexp)),
                     (const uint8_t *)modifiers, length);
    return GO_ON;
}

/* Whether a scalar that is referred to is more than a value. */
static bool
is_special_scalar(const SV *scalar)
{
    switch (SvTYPE(scalar)) {
    case SVt_PVLV: /* those of 't' and 'T' are elements of tied things */
        return isGV_with_GP(scalar) || (!SvROK(scalar) && LvTYPE(scalar) != 't' && LvTYPE(scalar) != 'T');
    default:
        return isGV_with_GP(scalar) || SvTYPE(scalar) > SVt_PVLV;
    }
}

static progress
THX_write_referent(pTHX_ struct encoder *encoder, SV *referent, const SV *origin, size_t weak_at)
{
    struct level level = { LEVEL_SCALAR, referent, 0, 0, weak_at, NULL };

    switch (SvTYPE(referent)) {
    case SVt_PVAV:
    case SVt_PVHV:
        return THX_write_container(aTHX_ encoder, referent, origin, weak_at);
    case SVt_REGEXP:
        return THX_write_regexp(aTHX_ encoder, referent, weak_at);
    default:
        if (is_special_scalar(referent))
            return refuse(encoder, "%s reference", sv_reftype(referent, FALSE));
        sa_writer_reference(encoder->writer);
        if (origin)
            THX_see_referent(aTHX_ encoder, origin, 0);
        return THX_open_level(aTHX_ encoder, &level);
    }
}

/* ---- One child ---- */

/* A further reference. What was an element when it was written has no class yet. */
static progress
THX_write_same(pTHX_ struct encoder *encoder, const SV *referent, size_t offset, bool holds)
{
    struct sighting *sighting;

    if (SvOBJECT(referent) && !seen_find(&encoder->seen, referent)->blessed) {
        const progress progress = THX_write_class(aTHX_ encoder, SvSTASH(referent));
        if (progress != GO_ON)
            return progress;
    }
    sa_writer_same(encoder->writer, offset);
    sighting = seen_find(&encoder->seen, referent);
    sighting->blessed = TRUE;
    if (holds)
        sighting->held = TRUE;
    return GO_ON;
}

/* An object that overloads a dereference is what the dereference gives. */
static progress
THX_write_overloaded(pTHX_ struct encoder *encoder, SV *reference, size_t weak_at)
{
    SV *referent = SvRV(reference);
    SV *given;
    struct sighting *sighting;

    if (!encoder->guarded)
        return NEEDS_GUARD;
    sv_2mortal(SvREFCNT_inc_simple_NN(referent));
    given = dereferenced(encoder, reference);
    if (!given)
        return REFUSED;
    if (SvRV(given) == referent) { /* it is itself, after all */
        const progress progress = THX_write_class(aTHX_ encoder, SvSTASH(referent));
        return progress == GO_ON ? THX_write_referent(aTHX_ encoder, referent, NULL, weak_at) : progress;
    }
    if (weak_at) /* nothing else holds what was made just now */
        sa_writer_strengthen(encoder->writer, weak_at);
    sighting = seen_find(&encoder->seen, SvRV(given));
    if (sighting) {
        const size_t offset = sighting->offset;
        sa_writer_same(encoder->writer, offset);
        sighting->held = TRUE;
        seen_add(&encoder->seen, referent, offset)->blessed = TRUE;
        return GO_ON;
    }
    return THX_write_referent(aTHX_ encoder, SvRV(given), referent, 0);
}

static progress
THX_write_reference(pTHX_ struct encoder *encoder, SV *reference)
{
    SV *referent = SvRV(reference);
    size_t weak_at = 0;

    if (SvWEAKREF(reference)) {
        weak_at = sa_writer_position(encoder->writer);
        sa_writer_weaken(encoder->writer);
    }
    if (is_shared(encoder, referent)) {
        const struct sighting *sighting = seen_find(&encoder->seen, referent);
        if (sighting)
            return THX_write_same(aTHX_ encoder, referent, sighting->offset, !weak_at);
    }
    if (encoder->guarded)
        sv_2mortal(SvREFCNT_inc_simple_NN(referent));
    if (SvOBJECT(referent)) {
        progress progress;
        if (overloaded_dereference(referent))
            return THX_write_overloaded(aTHX_ encoder, reference, weak_at);
        progress = THX_write_class(aTHX_ encoder, SvSTASH(referent));
        if (progress != GO_ON)
            return progress;
    }
    return THX_write_referent(aTHX_ encoder, referent, NULL, weak_at);
}

/* A scalar in its place: the value itself, an element, or what a reference
 * points at, of which `referred` is the level. */
static progress
THX_write_item(pTHX_ struct encoder *encoder, SV *item, const struct level *referred)
{
    SV *value = item;

    if (SvGMAGICAL(item)) {
        if (!encoder->guarded)
            return NEEDS_GUARD;
        value = sv_mortalcopy(item);
    }
    if (is_shared(encoder, item) && !SvIMMORTAL(item)) {
        struct sighting *sighting = seen_find(&encoder->seen, item);
        if (sighting) {
            sa_writer_alias(encoder->writer, sighting->offset);
            sighting->held = TRUE;
            return GO_ON;
        }
        if (referred)
            THX_see_referent(aTHX_ encoder, item, referred->weak_at);
        else
            THX_see(aTHX_ encoder, item, 0);
    }
    return SvROK(value) ? THX_write_reference(aTHX_ encoder, value) : write_scalar(encoder, value);
}

static progress
THX_write_key(pTHX_ struct encoder *encoder, const HEK *key)
{
    if (HEK_LEN(key) >= SHORTEST_COPIED_KEY && encoder->hashes > 1) {
        const struct sighting *sighting = seen_find(&encoder->seen, key);
        if (sighting) {
            sa_writer_copy(encoder->writer, sighting->offset);
            return GO_ON;
        }
        seen_add(&encoder->seen, key, sa_writer_position(encoder->writer));
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

/* Most of what there is to write: text and integers that are nothing else,
 * nothing's target and not magical. */
static inline bool
write_plain(struct encoder *encoder, const SV *item)
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
    default:
        return FALSE;
    }
}

/* The children from the next one on, up to one that opens a level itself. */
static progress
THX_write_elements(pTHX_ struct encoder *encoder, struct level *level)
{
    SV **elements = AvARRAY((AV *)level->container);
    const size_t depth = encoder->depth;

    while (level->next < level->count) {
        SV *element = elements[level->next++];
        progress progress = GO_ON;

        if (!element)
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
