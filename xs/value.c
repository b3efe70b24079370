/* Makes the scalars that calls return, with as few copies and allocations as
 * their sizes allow. */
#include "value.h"

SV *
THX_value_uv(pTHX_ UV whole)
{
    SV *const target = THX_op_target(aTHX);

    sv_setuv_mg(target, whole);
    return target;
}

SV *
THX_short_string(pTHX)
{
    SV *const target = THX_op_target(aTHX);

    if (!has_short_room(target)) {
        sv_setpvs(target, ""); /* whatever it was */
        SvGROW(target, SHORT_LENGTH + 1);
    }
    return target;
}

/* A bad guess is not the caller's to keep. */
static void
THX_finish_long(pTHX_ SV *string, STRLEN length)
{
    finish_short(string, length);
    if (SvLEN(string) > 2 * length)
        SvPV_renew(string, length + 1);
}

/* A value that is not short is copied once, out of shared memory into a new
 * scalar, whose room goes to whoever takes the result. Its length is not known
 * beforehand, so it is guessed, and a second look taken where the guess was too
 * small. */
SV *
THX_value_fetch(pTHX_ handle *map, const struct bytes *key)
{
    bool is_short = GUESSED_LENGTH(map) <= SHORT_LENGTH;
    SV *string = is_short ? short_string() : sv_2mortal(newSV(GUESSED_LENGTH(map)));
    sa_value value;
    sa_status status;

    while ((status = sa_map_fetch((const sa_map *)map->mg_ptr, key->start, key->length, (uint8_t *)SvPVX(string),
                                  SvLEN(string) - 1, &value)) == SA_SHORT) {
        string = sv_2mortal(newSV(value.length));
        is_short = FALSE;
    }
    if (UNLIKELY(status != SA_OK))
        return NULL;
    switch (value.kind) {
    case SA_KIND_UNDEF:
        return sv_newmortal();
    case SA_KIND_COUNTER:
        return value_iv(value.number);
    default:
        map->mg_private = value.length > MOST_GUESSED ? MOST_GUESSED : (U16)value.length;
        if (is_short)
            finish_short(string, value.length);
        else
            THX_finish_long(aTHX_ string, value.length);
        SvSETMAGIC(string);
        return string;
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
