/* What stands in for a call: the op of a hot method, and the guard before it.
 * What it is about is told at the top of callsite.c. */
#ifndef SHARED_ARENA_CALLSITE_OP_H
#define SHARED_ARENA_CALLSITE_OP_H

#include "args.h"
#include "callsite.h"

enum hot_class { HOT_MAP, HOT_RATE, HOT_CLASSES };

enum hot_method {
    HOT_STORE, HOT_FETCH, HOT_EXISTS, HOT_INCR, HOT_COUNTER, /* a map's */
    HOT_ALLOW, HOT_REMAINING, HOT_RETRY_AFTER,               /* a limiter's */
    HOT_METHODS
};

#define HOT_CLASS(hot)   ((hot) < HOT_ALLOW ? HOT_MAP : HOT_RATE)

/* What one interpreter knows. */
struct callsites {
    struct {
        HV *stash;
        U32 generation; /* of the class when it was last looked at, */
        STRLEN names;   /* and how many it had */
    } classes[HOT_CLASSES];
    struct {
        CV *code; /* where the name leads to our XSUB, counted; otherwise NULL */
        XSUBADDR_t xsub;
    } methods[HOT_METHODS];
    Perl_ppaddr_t entersub; /* perl's own, as is this: */
    runops_proc_t runops;
};

#ifdef MULTIPLICITY
extern int callsites_index HIDDEN;
#define CALLSITES   ((struct callsites *)PL_my_cxt_list[callsites_index])
#else
extern struct callsites callsites_only HIDDEN;
#define CALLSITES   (&callsites_only)
#endif

/* Perl's own, for what is none of ours. */
extern Perl_ppaddr_t callsite_method_named HIDDEN;

/* Grows with every change of the class itself, of its parents, and of UNIVERSAL;
 * but a class that was undefined begins anew, and then has other names. */
#define CLASS_GENERATION(stash) \
    (HvMROMETA(stash)->pkg_gen + HvMROMETA(stash)->cache_gen + PL_sub_generation)

/* Looks at a class again. */
void THX_callsites_look(pTHX_ struct callsites *known, enum hot_class class);

/* A call that may lead to us. Never handed on as a whole: it lives in registers. */
struct callsite {
    SV *const *arguments; /* the invocant first */
    SV *object;
    OP *entersub;
};

/* Whether the call whose method_named op runs now is one of a very object of
 * that class: what a call of somebody else's method of the name is not. */
static FORCE_INLINE bool
THX_is_on_our_object(pTHX_ struct callsite *site, enum hot_class class)
{
    site->arguments = PL_stack_base + TOPMARK + 1;
    if (site->arguments > PL_stack_sp || (SvFLAGS(site->arguments[0]) & (SVf_ROK | SVs_GMG)) != SVf_ROK)
        return FALSE;
    site->object = SvRV(site->arguments[0]);
    return SvOBJECT(site->object) && SvSTASH(site->object) == CALLSITES->classes[class].stash;
}

/* Would such a call lead to our XSUB? */
static FORCE_INLINE bool
THX_leads_to_us(pTHX_ struct callsite *site, enum hot_method hot)
{
    struct callsites *const known = CALLSITES;
    HV *const stash = SvSTASH(site->object);
    CV *code;

    site->entersub = PL_op->op_next;
    if (UNLIKELY(site->entersub->op_ppaddr != known->entersub || PL_runops != known->runops
                 || site->entersub->op_private & (OPpENTERSUB_DB | OPpLVAL_INTRO)))
        return FALSE;
    if (UNLIKELY(known->classes[HOT_CLASS(hot)].generation != CLASS_GENERATION(stash)
                 || known->classes[HOT_CLASS(hot)].names != HvTOTALKEYS(stash)))
        THX_callsites_look(aTHX_ known, HOT_CLASS(hot));
    code = known->methods[hot].code;
    /* A sub can be undefined without leaving its place. */
    return LIKELY(code && CvXSUB(code) == known->methods[hot].xsub);
}

/* Begins the function of a hot method's op, which is given `site`. Split in two so
 * that the first, which is all that somebody else's call comes to, needs no room
 * on the stack. */
#define HOT_OP(full_name, hot)                                                              \
    static OP *THX_hot_##full_name(pTHX_ SV *const *arguments, SV *object) NOT_INLINE;      \
    static FORCE_INLINE OP *THX_do_##full_name(pTHX_ struct callsite *site);                \
                                                                                            \
    OP *                                                                                    \
    THX_op_##full_name(pTHX)                                                                \
    {                                                                                       \
        struct callsite site;                                                               \
                                                                                            \
        if (LIKELY(THX_is_on_our_object(aTHX_ &site, HOT_CLASS(hot))))                      \
            return THX_hot_##full_name(aTHX_ site.arguments, site.object);                  \
        return callsite_method_named(aTHX);                                                 \
    }                                                                                       \
                                                                                            \
    static OP *                                                                             \
    THX_hot_##full_name(pTHX_ SV *const *arguments, SV *object)                             \
    {                                                                                       \
        struct callsite site = { arguments, object, NULL };                                 \
                                                                                            \
        if (THX_leads_to_us(aTHX_ &site, hot))                                              \
            return THX_do_##full_name(aTHX_ &site);                                         \
        return callsite_method_named(aTHX);                                                 \
    }                                                                                       \
                                                                                            \
    static FORCE_INLINE OP *                                                                \
    THX_do_##full_name(pTHX_ struct callsite *site)

/* Leaves the answer, or what stands for none, where the first argument is, and
 * takes all of them off the stack. */
static FORCE_INLINE OP *
THX_callsite_answer(pTHX_ SV **first, OP *entersub, SV *answer)
{
    PL_op = entersub; /* whose context this is */
    if (UNLIKELY(!answer)) {
        if (GIMME_V != G_SCALAR) {
            PL_stack_sp = first - 1;
            return entersub->op_next;
        }
        answer = &PL_sv_undef;
    }
    *first = answer;
    PL_stack_sp = first;
    return entersub->op_next;
}

/* ---- Calls of the usual form: live object, key of bytes ---- */

/* What such a call is about. */
struct quick {
    handle *held;
    const uint8_t *key;
    STRLEN length;
    SV *target; /* of the call, for its result */
};

static inline bool
is_bytes(const SV *argument)
{
    return (SvFLAGS(argument) & (SVf_POK | SVf_ROK | SVf_UTF8 | SVs_GMG)) == SVf_POK;
}

static inline bool
is_integer(const SV *argument) /* signed, 64 bits */
{
    return (SvFLAGS(argument) & (SVf_IOK | SVf_IVisUV | SVf_ROK | SVs_GMG)) == SVf_IOK;
}

/* Whether the call is of that form, with so many arguments. */
static FORCE_INLINE bool
THX_is_quick(pTHX_ struct quick *quick, const struct callsite *site, const struct handle_type *type, I32 items)
{
    const SV *key;

    if (PL_stack_sp != site->arguments + (items - 1))
        return FALSE;
    key = site->arguments[1];
    if (!is_bytes(key) || !(site->entersub->op_private & OPpENTERSUB_HASTARG))
        return FALSE;
    quick->held = handle_of(site->object, type);
    if (!quick->held || !quick->held->mg_ptr)
        return FALSE;
    quick->key = (const uint8_t *)SvPVX_const(key);
    quick->length = SvCUR(key);
    quick->target = PAD_SV(site->entersub->op_targ);
    return TRUE;
}

#define quick_native(quick, type)   ((const type *)(quick)->held->mg_ptr)

static FORCE_INLINE OP *
THX_quick_answer(pTHX_ const struct callsite *site, SV *answer)
{
    (void)POPMARK;
    return THX_callsite_answer(aTHX_ (SV **)site->arguments, site->entersub, answer);
}

#define is_quick(quick, site, type, items)     THX_is_quick(aTHX_ (quick), (site), (type), (items))
#define quick_answer(site, answer)             THX_quick_answer(aTHX_ (site), (answer))

/* ---- Calls of any other form ---- */

typedef SV *(*hot_body)(pTHX_ struct call *call, struct bytes *key);

/* Does a call that leads to us by the method's body, if its arguments are plain:
 * Perl code that reading them would run, and warnings, are left to perl's own
 * ops. */
OP *THX_callsite_general(pTHX_ SV *const *arguments, const struct method *method, I32 own, hot_body body);

#define callsite_general(site, method, own, body) \
    THX_callsite_general(aTHX_ (site)->arguments, (method), (own), (body))

/* The ordinary way into a hot method. */
#define HOT_ENTRY(full_name, name, own)                                             \
    SV *                                                                            \
    THX_##full_name(pTHX_ I32 ax, I32 items)                                        \
    {                                                                               \
        struct call call;                                                           \
        struct bytes key;                                                           \
                                                                                    \
        THX_begin_keyed(aTHX_ &call, &name##_method, ax, items, &key, own);         \
        return THX_##name(aTHX_ &call, &key);                                       \
    }

OP *THX_op_map_store(pTHX);
OP *THX_op_map_fetch(pTHX);
OP *THX_op_map_exists(pTHX);
OP *THX_op_map_incr(pTHX);
OP *THX_op_map_counter(pTHX);
OP *THX_op_rate_allow(pTHX);
OP *THX_op_rate_remaining(pTHX);
OP *THX_op_rate_retry_after(pTHX);

#endif
