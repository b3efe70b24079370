/* Results on their way to Perl. */
#ifndef SHARED_ARENA_VALUE_H
#define SHARED_ARENA_VALUE_H

#include "args.h"

/* One name/value pair of a statistics method. */
struct figure {
    const char *name;
    bool is_real;
    uint64_t whole;
    NV real;
};

#define WHOLE_FIGURE(name, value)   { name, FALSE, value, 0 }
#define REAL_FIGURE(name, value)    { name, TRUE, 0, value }

/* A key's value, mortal or the calling op's own scalar; NULL when there is none
 * to be had. */
SV *THX_value_fetch(pTHX_ handle *map, const struct bytes *key);

/* Numbers, in the calling op's own scalar. */
SV *THX_value_uv(pTHX_ UV whole);

/* An op's own scalar that has been a number before is that and no more: nobody
 * else can reach it. */
#define IS_PLAIN_NUMBER(scalar, type) \
    LIKELY((SvFLAGS(scalar) & (SVTYPEMASK | SVf_THINKFIRST | SVs_SMG | SVf_IVisUV)) == (type))

static FORCE_INLINE SV *
THX_set_iv(pTHX_ SV *target, IV integer)
{
    if (IS_PLAIN_NUMBER(target, SVt_IV)) {
        SvFLAGS(target) |= SVf_IOK | SVp_IOK;
        SvIV_set(target, integer);
    }
    else
        sv_setiv_mg(target, integer);
    return target;
}

static FORCE_INLINE SV *
THX_set_nv(pTHX_ SV *target, NV real)
{
    if (IS_PLAIN_NUMBER(target, SVt_NV)) {
        SvFLAGS(target) |= SVf_NOK | SVp_NOK;
        SvNV_set(target, real);
    }
    else
        sv_setnv_mg(target, real);
    return target;
}

/* The calling op's own scalar. Perl's dXSTARG asks an op that calls us as sort's
 * comparator, too, and takes another flag of that for the one meant. */
static inline SV *
THX_op_target(pTHX)
{
    return PL_op->op_type == OP_ENTERSUB && PL_op->op_private & OPpENTERSUB_HASTARG ? PAD_SV(PL_op->op_targ)
                                                                                    : sv_newmortal();
}

static inline SV *
THX_value_iv(pTHX_ IV integer)
{
    return THX_set_iv(aTHX_ THX_op_target(aTHX), integer);
}

static inline SV *
THX_value_nv(pTHX_ NV real)
{
    return THX_set_nv(aTHX_ THX_op_target(aTHX), real);
}

/* A value no longer than this is fetched into the calling op's own scalar,
 * whose room stays with it: a fetch then allocates nothing. */
#define SHORT_LENGTH 256

/* The length of the value that was fetched last through a map, in 15 bits: what
 * the next one's probably is. */
#define GUESSED_LENGTH(map)   ((STRLEN)(map)->mg_private)
#define MOST_GUESSED          (HANDLE_SERIALISED - 1)

/* Whether a map holds plain bytes, probably short. */
#define value_is_short(map)   (GUESSED_LENGTH(map) <= SHORT_LENGTH)

/* Nobody shares its room, nothing is to be told of a change, and it is not that
 * of a long value. */
static inline bool
has_short_room(const SV *string)
{
    return SvTYPE(string) >= SVt_PV && SvTYPE(string) <= SVt_PVNV
        && !(SvFLAGS(string) & (SVf_THINKFIRST | SVs_GMG | SVs_SMG | SVf_OOK)) && SvLEN(string) > SHORT_LENGTH;
}

/* The calling op's own scalar, with room for a short value. */
SV *THX_short_string(pTHX);

/* That scalar has so many bytes in it now. */
static inline void
finish_short(SV *string, STRLEN length)
{
    SvCUR_set(string, length);
    SvPVX(string)[length] = '\0';
    SvPOK_only(string);
}

/* Leaves the figures on the stack in place of the arguments: pairs in list
 * context, a hash reference in scalar context. */
void THX_value_figures(pTHX_ const struct call *call, const struct figure *figures, int count);

#define short_string()                           THX_short_string(aTHX)
#define value_fetch(map, key)                    THX_value_fetch(aTHX_ (map), (key))
#define value_iv(integer)                        THX_value_iv(aTHX_ (integer))
#define value_uv(whole)                          THX_value_uv(aTHX_ (whole))
#define value_nv(real)                           THX_value_nv(aTHX_ (real))
#define value_figures(call, figures, count)      THX_value_figures(aTHX_ (call), (figures), (count))

#endif
