/* Which of the kinds of the format a scalar's value is: what perl regards it
 * as, whatever else it was used as in passing. */
#include "encoder.h"

#if PERL_VERSION_GE(5, 36, 0)

#define is_boolean(value)   SvIsBOOL(value)
#define is_text(value)      SvPOK(value) /* not set for a number that was printed */

#else

#define is_boolean(value)   ((value) == &PL_sv_yes || (value) == &PL_sv_no)
#define is_text(value)      THX_is_text(aTHX_ (value))

/* These perls do not tell a number that was used as a string from a string
 * that was used as a number. As text it is equal in both senses, unless it is a
 * fraction of which the text has lost some digits. */
static bool
THX_is_text(pTHX_ SV *value)
{
    if (!SvPOK(value))
        return FALSE;
    if (!SvNOK(value) || SvIOK(value) || !looks_like_number(value))
        return TRUE;
    return Atof(SvPVX(value)) == SvNVX(value);
}

#endif

static progress
THX_write_text(pTHX_ struct encoder *encoder, SV *value)
{
    const bool utf8 = cBOOL(SvUTF8(value));

    if (utf8 && !is_utf8(SvPVX(value), SvCUR(value)))
        return refuse(encoder, "string of malformed UTF-8");
    sa_writer_text(encoder->writer, (const uint8_t *)SvPVX(value), SvCUR(value), utf8);
    return GO_ON;
}

/* A float that was used as an integer is both, and equal; but 0 is not -0.0. */
static bool
is_minus_zero(SV *value)
{
    const double real = SvNVX(value);
    U64 bits;

    Copy(&real, &bits, sizeof bits, char);
    return bits == UINT64_C(1) << 63;
}

static progress
THX_write_number(pTHX_ struct encoder *encoder, SV *value)
{
    if (!(SvFLAGS(value) & (SVf_IOK | SVf_NOK))) { /* neither number nor text in public */
        value = sv_mortalcopy(value);
        (void)SvPV_force_nolen(value);
        return THX_write_text(aTHX_ encoder, value);
    }
    if (!SvIOK(value) || (SvNOK(value) && is_minus_zero(value)))
        sa_writer_real(encoder->writer, SvNVX(value));
    else if (SvIsUV(value))
        sa_writer_unsigned(encoder->writer, SvUVX(value));
    else
        sa_writer_signed(encoder->writer, SvIVX(value));
    return GO_ON;
}

progress
THX_write_scalar(pTHX_ struct encoder *encoder, SV *value)
{
    if (isGV_with_GP(value) || SvTYPE(value) == SVt_REGEXP)
        return refuse(encoder, "%s", sv_reftype(value, FALSE));
    if (!SvOK(value))
        sa_writer_undef(encoder->writer);
    else if (is_boolean(value))
        sa_writer_boolean(encoder->writer, cBOOL(SvTRUE_nomg(value)));
    else if (is_text(value))
        return THX_write_text(aTHX_ encoder, value);
    else
        return THX_write_number(aTHX_ encoder, value);
    return GO_ON;
}
