/* Makes the scalars that calls return, with as few copies and allocations as
 * their sizes allow. */
#include "value.h"

SV *
THX_value_iv(pTHX_ IV integer)
{
    dXSTARG;
    sv_setiv_mg(TARG, integer);
    return TARG;
}

SV *
THX_value_uv(pTHX_ UV whole)
{
    dXSTARG;
    sv_setuv_mg(TARG, whole);
    return TARG;
}

SV *
THX_value_nv(pTHX_ NV real)
{
    dXSTARG;
    sv_setnv_mg(TARG, real);
    return TARG;
}

/* Room on the stack for a short value. A miss then costs no allocation, and a
 * short value's scalar is as large as the value. */
#define SHORT_LENGTH 256

/* A longer one is copied once, out of shared memory into the scalar that is
 * returned. Its length is not known beforehand, so the guess is the length seen
 * last through this object; mg_private keeps it (16 bits: values beyond that
 * take a second look, which their copying dwarfs). */
#define GUESSED_LENGTH(map)   ((STRLEN)(map)->mg_private)

static SV *
THX_finish_string(pTHX_ SV *string, STRLEN length)
{
    SvCUR_set(string, length);
    *SvEND(string) = '\0';
    SvPOK_only(string);
    if (SvLEN(string) > 2 * length)
        SvPV_renew(string, length + 1); /* a bad guess is not the caller's to keep */
    return string;
}

SV *
THX_value_fetch(pTHX_ handle *map, const struct bytes *key)
{
    uint8_t on_stack[SHORT_LENGTH];
    SV *string = GUESSED_LENGTH(map) > SHORT_LENGTH ? sv_2mortal(newSV(GUESSED_LENGTH(map))) : NULL;

    for (;;) {
        uint8_t *room = string ? (uint8_t *)SvPVX(string) : on_stack;
        const STRLEN capacity = string ? SvLEN(string) - 1 : SHORT_LENGTH;
        sa_value value;
        sa_status status = sa_map_fetch((const sa_map *)map->mg_ptr, key->start, key->length, room,
                                        capacity, &value);

        if (status == SA_SHORT && value.length > capacity) {
            string = sv_2mortal(newSV(value.length));
            continue;
        }
        if (status != SA_OK || GIMME_V == G_VOID)
            return NULL;
        switch (value.kind) {
        case SA_KIND_UNDEF:
            return sv_newmortal();
        case SA_KIND_COUNTER:
            return value_iv(value.number);
        default:
            map->mg_private = value.length > U16_MAX ? U16_MAX : (U16)value.length;
            return string ? THX_finish_string(aTHX_ string, value.length)
                          : newSVpvn_flags((const char *)on_stack, value.length, SVs_TEMP);
        }
    }
}

static SV *
THX_figure_value(pTHX_ const struct figure *figure)
{
    return figure->is_real ? newSVnv(figure->real) : newSVuv(figure->whole);
}

static void
THX_push_pairs(pTHX_ SV **sp, const struct figure *figures, int count)
{
    int index;

    EXTEND(SP, 2 * count);
    for (index = 0; index < count; index++) {
        mPUSHp(figures[index].name, strlen(figures[index].name));
        mPUSHs(THX_figure_value(aTHX_ &figures[index]));
    }
    PUTBACK;
}

static void
THX_push_hash(pTHX_ SV **sp, const struct figure *figures, int count)
{
    HV *hash = newHV();
    int index;

    mXPUSHs(newRV_noinc((SV *)hash));
    PUTBACK;
    for (index = 0; index < count; index++)
        (void)hv_store(hash, figures[index].name, (I32)strlen(figures[index].name),
                       THX_figure_value(aTHX_ &figures[index]), 0);
}

void
THX_value_figures(pTHX_ const struct call *call, const struct figure *figures, int count)
{
    SV **sp = PL_stack_base + call->ax - 1;

    switch (GIMME_V) {
    case G_LIST:
        THX_push_pairs(aTHX_ sp, figures, count);
        break;
    case G_SCALAR:
        THX_push_hash(aTHX_ sp, figures, count);
        break;
    default:
        PUTBACK;
    }
}
