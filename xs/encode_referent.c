/* Writes a reference: whether it is weak, its object's class, and what it points
 * at, unless the document holds that already. */
#include "encoder.h"
#include "class.h"
#include "regexp.h"

static progress
THX_write_class(pTHX_ struct encoder *encoder, HV *stash)
{
    const HEK *name = HvNAME_HEK(stash);
    const struct sighting *sighting = seen_find(&encoder->seen, stash);

    if (!name)
        return refuse(encoder, "object of a class that is gone");
    if (has_too_many_parts(HEK_KEY(name), HEK_LEN(name)))
        return refuse(encoder, "object of a class of more than %d parts", MOST_CLASS_PARTS);
    if (!sighting) {
        seen_add(&encoder->seen, stash, sa_writer_position(encoder->writer) + 1);
        if (encoder->guarded) /* its address is its name in there */
            sv_2mortal(SvREFCNT_inc_simple_NN((SV *)stash));
    }
    else if (may_copy(encoder, name)) {
        sa_writer_class_again(encoder->writer, sighting->offset);
        return GO_ON;
    }
    sa_writer_class(encoder->writer, (const uint8_t *)HEK_KEY(name), HEK_LEN(name), HEK_UTF8(name));
    return GO_ON;
}

progress
THX_write_array(pTHX_ struct encoder *encoder, AV *array, bool referred)
{
    struct level level = { LEVEL_ARRAY, (SV *)array, 0, AvFILLp(array) + 1, 0, NULL, FALSE };

    sa_writer_array(encoder->writer, (size_t)level.count, referred);
    return level.count ? open_level(encoder, &level) : GO_ON;
}

progress
THX_write_hash(pTHX_ struct encoder *encoder, HV *hash, bool referred)
{
    struct level level = { LEVEL_HASH, (SV *)hash, 0, (SSize_t)HvUSEDKEYS(hash), 0, NULL, FALSE };

    encoder->hashes++;
    sa_writer_hash(encoder->writer, (size_t)level.count, referred);
    return level.count ? open_level(encoder, &level) : GO_ON;
}

static progress
THX_write_container(pTHX_ struct encoder *encoder, SV *container, size_t weak_at, bool blessed)
{
    const bool shared = is_shared(encoder, container);
    SV *contents = container;

    if (encoder->guarded)
        contents = snapshot(container);
    else if (is_read_by_magic(container))
        return NEEDS_GUARD;

    if (shared) {
        sa_writer_reference(encoder->writer);
        THX_see_referent(aTHX_ encoder, container, weak_at, blessed);
    }
    return SvTYPE(contents) == SVt_PVAV ? write_array(encoder, (AV *)contents, !shared)
                                        : write_hash(encoder, (HV *)contents, !shared);
}

static progress
THX_write_regexp(pTHX_ struct encoder *encoder, const SV *thing, size_t weak_at, bool blessed)
{
    const REGEXP *regexp = (const REGEXP *)thing;
    char modifiers[MOST_MODIFIERS];
    size_t length;

    if (regexp_has_code(regexp))
        return refuse(encoder, "REGEXP with code blocks");
    if (regexp_is_costly(RX_PRECOMP_const(regexp), RX_PRELEN(regexp)))
        return refuse(encoder, "REGEXP with too many repetitions in one another");
    sa_writer_reference(encoder->writer);
    if (is_shared(encoder, thing))
        THX_see_referent(aTHX_ encoder, thing, weak_at, blessed);
    length = regexp_modifiers(regexp, modifiers);
    sa_writer_regexp(encoder->writer, (const uint8_t *)RX_PRECOMP_const(regexp), RX_PRELEN(regexp), cBOOL(RX_UTF8(regexp)),
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
THX_write_referent(pTHX_ struct encoder *encoder, SV *referent, size_t weak_at, bool blessed)
{
    struct level level = { LEVEL_SCALAR, referent, 0, 0, weak_at, NULL, blessed };

    switch (SvTYPE(referent)) {
    case SVt_PVAV:
    case SVt_PVHV:
        return THX_write_container(aTHX_ encoder, referent, weak_at, blessed);
    case SVt_REGEXP:
        return THX_write_regexp(aTHX_ encoder, referent, weak_at, blessed);
    default:
        if (is_special_scalar(referent))
            return refuse(encoder, "%s reference", sv_reftype(referent, FALSE));
        sa_writer_reference(encoder->writer);
        return open_level(encoder, &level);
    }
}

/* A further reference. What was an element when it was written, or stood for an
 * object, has no class yet. */
static progress
THX_write_same(pTHX_ struct encoder *encoder, const SV *referent, bool blessed, bool holds)
{
    struct sighting *sighting = seen_find(&encoder->seen, referent);
    const size_t offset = sighting->offset;

    sighting->held |= holds;
    if (blessed && !sighting->blessed) {
        const progress progress = THX_write_class(aTHX_ encoder, SvSTASH(referent));
        if (progress != GO_ON)
            return progress;
        seen_find(&encoder->seen, referent)->blessed = TRUE;
    }
    sa_writer_same(encoder->writer, offset);
    return GO_ON;
}

progress
THX_write_reference(pTHX_ struct encoder *encoder, SV *reference)
{
    SV *object = SvRV(reference);
    SV *referent = object;
    size_t weak_at = 0;
    bool blessed;

    if (SvWEAKREF(reference)) {
        weak_at = sa_writer_position(encoder->writer);
        sa_writer_weaken(encoder->writer);
    }
    if (SvAMAGIC(reference) && overloaded_dereference(reference)) {
        if (!encoder->guarded)
            return NEEDS_GUARD;
        referent = stood_for(encoder, reference);
        if (!referent)
            return REFUSED;
    }
    blessed = SvOBJECT(referent) && referent == object; /* what stands for an object is plain */

    if (is_shared(encoder, referent) && seen_find(&encoder->seen, referent))
        return THX_write_same(aTHX_ encoder, referent, blessed, !weak_at);
    if (encoder->guarded)
        sv_2mortal(SvREFCNT_inc_simple_NN(referent));
    if (blessed) {
        const progress progress = THX_write_class(aTHX_ encoder, SvSTASH(referent));
        if (progress != GO_ON)
            return progress;
    }
    return THX_write_referent(aTHX_ encoder, referent, weak_at, blessed || !SvOBJECT(referent));
}
