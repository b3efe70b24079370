/* Takes a number from whichever side of the scalar says it exactly, and checks
 * it against the range that a caller allows. */
#include "number.h"

#define TWO_TO_THE_64 18446744073709551616.0
#define TWO_TO_THE_63 ((UV)1 << 63)

static void
set_integer(struct number *number, bool minus, UV magnitude)
{
    number->kind = NUMBER_INTEGER;
    number->minus = minus && magnitude != 0;
    number->magnitude = magnitude;
    number->real = number->minus ? -(NV)magnitude : (NV)magnitude;
}

static void
set_real(struct number *number, NV real)
{
    NV absolute = real < 0 ? -real : real;

    if (absolute < TWO_TO_THE_64 && absolute == (NV)(UV)absolute) {
        set_integer(number, real < 0, (UV)absolute);
        return;
    }
    number->kind = NUMBER_FRACTION;
    number->minus = real < 0;
    number->magnitude = 0;
    number->real = real;
}

static void
THX_set_text(pTHX_ struct number *number, SV *text)
{
    STRLEN length;
    const char *start = SvPV_nomg(text, length);
    UV magnitude;
    int found = grok_number(start, length, &magnitude);

    if (!found)
        return;
    if ((found & ~IS_NUMBER_NEG) == IS_NUMBER_IN_UV)
        set_integer(number, (found & IS_NUMBER_NEG) != 0, magnitude);
    else /* on a copy: perl keeps the number it finds beside the text */
        set_real(number, SvNV(sv_2mortal(newSVpvn(start, length))));
}

/* What an object says it is as a number, as a plain value; NULL when it does
 * not say. An address is not a number that anybody meant. */
static SV *
THX_overloaded_number(pTHX_ SV *reference)
{
    int asked;

    /* The answer may be such an object again: perl asks on, without end. */
    for (asked = 0; asked < 100 && SvAMAGIC(reference); asked++) {
        SV *answer = AMG_CALLunary(reference, numer_amg);

        if (!answer)
            return NULL;
        if (!SvROK(answer))
            return sv_mortalcopy(answer);
        reference = answer;
    }
    return NULL;
}

void
THX_number_read(pTHX_ SV *value, struct number *number)
{
    number->kind = NUMBER_NONE;
    if (SvGMAGICAL(value))
        value = sv_mortalcopy(value);
    number->given = value;

    if (SvROK(value)) {
        SV *plain = THX_overloaded_number(aTHX_ value);
        if (!plain)
            return;
        number->given = value = plain;
    }

    /* The numeric side first: it is exact where a text made from it is not. */
    if (SvIOK(value)) {
        if (SvIsUV(value) || SvIVX(value) >= 0)
            set_integer(number, FALSE, SvUVX(value));
        else
            set_integer(number, TRUE, -(UV)SvIVX(value));
    }
    else if (SvNOK(value))
        set_real(number, SvNVX(value));
    else if (SvPOK(value))
        THX_set_text(aTHX_ number, value);
}

bool
number_whole(const struct number *number, UV least, UV most, UV *whole)
{
    if (number->kind != NUMBER_INTEGER || number->minus || number->magnitude < least
        || number->magnitude > most)
        return FALSE;
    *whole = number->magnitude;
    return TRUE;
}

bool
number_signed(const struct number *number, IV *integer)
{
    if (number->kind != NUMBER_INTEGER)
        return FALSE;
    if (number->minus) {
        if (number->magnitude > TWO_TO_THE_63)
            return FALSE;
        *integer = number->magnitude == TWO_TO_THE_63 ? IV_MIN : -(IV)number->magnitude;
        return TRUE;
    }
    if (number->magnitude >= TWO_TO_THE_63)
        return FALSE;
    *integer = (IV)number->magnitude;
    return TRUE;
}

bool
number_real(const struct number *number, NV least, NV most, NV *real)
{
    if (number->kind == NUMBER_NONE || !(number->real >= least && number->real <= most))
        return FALSE;
    *real = number->real;
    return TRUE;
}

bool
number_span(const struct number *number, NV scale, uint64_t *milliseconds)
{
    NV span;

    if (number->kind == NUMBER_NONE) {
        *milliseconds = SA_TTL_NONE;
        return !SvOK(number->given);
    }
    span = number->real * scale;
    if (!(span >= 0))
        return FALSE;
    if (span == 0)
        *milliseconds = SA_TTL_NONE;
    else if (span + 0.5 >= TWO_TO_THE_64)
        *milliseconds = UINT64_MAX;
    else if (span < 1)
        *milliseconds = 1;
    else
        *milliseconds = (uint64_t)(span + 0.5);
    return TRUE;
}
