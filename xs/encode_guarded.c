/* Reads what runs Perl code: tied containers and overloaded dereferences (and
 * the arrays that perl itself reads by magic). That code can do anything, also
 * to the very structure that is being written. So whatever is walked while it
 * may run is a copy, made in one go and kept alive until the walk is over. */
#include "encoder.h"

/* An overloaded dereference may give another such object, and so on. */
#define MOST_DEREFERENCES 100

int
THX_overloaded_dereference(pTHX_ SV *reference)
{
    HV *stash;

    if (!SvAMAGIC(reference))
        return 0;
    stash = SvSTASH(SvRV(reference));
    if (gv_handler(stash, to_hv_amg))
        return to_hv_amg;
    if (gv_handler(stash, to_av_amg))
        return to_av_amg;
    return gv_handler(stash, to_sv_amg) ? to_sv_amg : 0;
}

/* Each object is asked once, so one that gives another stands for what that stands for. */
static SV *
THX_ask(pTHX_ struct encoder *encoder, SV *reference, int round)
{
    SV *object = SvRV(reference);
    const int method = overloaded_dereference(reference);
    const struct sighting *sighting = method ? seen_find(&encoder->seen, AS_ORIGIN(object)) : NULL;
    SV *given, *stands_for;

    if (!method)
        return object;
    if (sighting)
        return sighting->stands_for;
    if (round == MOST_DEREFERENCES) {
        refuse(encoder, "%" SVf " object whose overloaded dereference never ends",
               SVfARG(sv_ref(NULL, object, TRUE)));
        return NULL;
    }
    sv_2mortal(SvREFCNT_inc_simple_NN(object));
    reference = sv_mortalcopy(reference); /* the caller's own can be changed by the code that runs */
    given = amagic_call(reference, &PL_sv_undef, method, AMGf_noright | AMGf_unary);
    if (given && !SvROK(given)) {
        refuse(encoder, "%" SVf " object whose overloaded dereference gives no reference",
               SVfARG(sv_ref(NULL, object, TRUE)));
        return NULL;
    }
    stands_for = !given || SvRV(given) == object ? object : THX_ask(aTHX_ encoder, sv_mortalcopy(given), round + 1);
    if (stands_for) {
        sv_2mortal(SvREFCNT_inc_simple_NN(stands_for));
        seen_add(&encoder->seen, AS_ORIGIN(object), 0)->stands_for = stands_for;
    }
    return stands_for;
}

SV *
THX_stood_for(pTHX_ struct encoder *encoder, SV *reference)
{
    return THX_ask(aTHX_ encoder, reference, 0);
}

static void
THX_copy_plain_array(pTHX_ AV *array, AV *copy)
{
    const SSize_t count = AvFILLp(array) + 1;
    SSize_t index;

    if (count == 0)
        return;
    av_extend(copy, count - 1);
    for (index = 0; index < count; index++)
        AvARRAY(copy)[index] = SvREFCNT_inc(AvARRAY(array)[index]);
    AvFILLp(copy) = count - 1;
}

static void
THX_copy_tied_array(pTHX_ AV *array, AV *copy)
{
    const SSize_t count = av_len(array) + 1;
    SSize_t index;

    for (index = 0; index < count; index++) {
        SV **element = av_fetch(array, index, FALSE);
        av_push(copy, element ? newSVsv(*element) : newSV(0));
    }
}

static void
THX_copy_plain_hash(pTHX_ HV *hash, HV *copy)
{
    SSize_t bucket;

    for (bucket = 0; HvARRAY(hash) && bucket <= (SSize_t)HvMAX(hash); bucket++) {
        HE *entry;
        for (entry = HvARRAY(hash)[bucket]; entry; entry = HeNEXT(entry))
            if (HeVAL(entry) != &PL_sv_placeholder) {
                SV *key = newSVhek(HeKEY_hek(entry));
                (void)hv_store_ent(copy, key, SvREFCNT_inc_simple_NN(HeVAL(entry)), HeHASH(entry));
                SvREFCNT_dec(key);
            }
    }
}

/* All keys first: an entry is only good until other code iterates over the hash. */
static void
THX_copy_tied_hash(pTHX_ HV *hash, HV *copy)
{
    AV *keys = (AV *)sv_2mortal((SV *)newAV());
    HE *entry;
    SSize_t index;

    hv_iterinit(hash);
    while ((entry = hv_iternext(hash)))
        av_push(keys, newSVsv(hv_iterkeysv(entry)));
    for (index = 0; index <= AvFILLp(keys); index++) {
        SV *key = AvARRAY(keys)[index];
        STRLEN length;
        const char *text = SvPV(key, length); /* before SvUTF8: overloading sets it */
        SV *own = newSVpvn_flags(text, length, SVs_TEMP | SvUTF8(key)); /* which FETCH does not see */
        HE *found = hv_fetch_ent(hash, key, FALSE, 0);
        (void)hv_store_ent(copy, own, found ? newSVsv(HeVAL(found)) : newSV(0), 0);
    }
}

SV *
THX_snapshot(pTHX_ SV *container)
{
    if (SvTYPE(container) == SVt_PVAV) {
        AV *copy = (AV *)sv_2mortal((SV *)newAV());
        if (is_read_by_magic(container))
            THX_copy_tied_array(aTHX_ (AV *)container, copy);
        else
            THX_copy_plain_array(aTHX_ (AV *)container, copy);
        return (SV *)copy;
    }
    else {
        HV *copy = (HV *)sv_2mortal((SV *)newHV());
        if (is_read_by_magic(container))
            THX_copy_tied_hash(aTHX_ (HV *)container, copy);
        else
            THX_copy_plain_hash(aTHX_ (HV *)container, copy);
        return (SV *)copy;
    }
}
