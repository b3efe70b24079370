/* Puts messages together and raises them; croak() finds the caller's line. */
#include "croak.h"

/* Longest part of a value that a message quotes. */
#define SHOWN_LENGTH 60

void
THX_croak_method(pTHX_ const struct method *method, const char *format, ...)
{
    SV *text = sv_2mortal(newSVpvf("%s->%s: ", method->class_name, method->name));
    va_list arguments;

    va_start(arguments, format);
    sv_vcatpvf(text, format, &arguments);
    va_end(arguments);
    croak("%" SVf, SVfARG(text));
}

void
THX_croak_usage(pTHX_ const struct method *method)
{
    croak("Usage: %s", method->usage);
}

SV *
THX_croak_reason(pTHX_ sa_status status, const sa_error *error)
{
    SV *reason;
    STRLEN length = error->length;

    if (length == 0 || length >= sizeof error->text)
        return sv_2mortal(newSVpvf("failed with status %d", (int)status));
    reason = newSVpvn_flags(error->text, length, SVs_TEMP);
    sv_utf8_decode(reason);
    return reason;
}

void
THX_croak_status(pTHX_ const struct method *method, sa_status status, const sa_error *error)
{
    croak_method(method, "%" SVf, SVfARG(croak_reason(status, error)));
}

/* What perl prints for a reference that overloads nothing. */
static SV *
THX_plain_reference(pTHX_ SV *reference)
{
    SV *referent = SvRV(reference);
    const char *kind = sv_reftype(referent, FALSE);

    if (SvOBJECT(referent))
        return sv_2mortal(newSVpvf("%" SVf "=%s(0x%" UVxf ")", SVfARG(sv_ref(NULL, referent, TRUE)), kind,
                                   PTR2UV(referent)));
    return sv_2mortal(newSVpvf("%s(0x%" UVxf ")", kind, PTR2UV(referent)));
}

SV *
THX_croak_shown(pTHX_ SV *value)
{
    SV *source, *shown;
    const char *text;
    STRLEN length, consumed = 0;
    U32 flags = 0;

    if (!SvOK(value))
        return newSVpvs_flags("undef", SVs_TEMP);

    /* A copy: turning the caller's number into text would leave a mark on it. */
    source = SvROK(value) ? THX_plain_reference(aTHX_ value) : sv_mortalcopy(value);
    text = SvPV_nomg(source, length);
    if (SvUTF8(source) && is_utf8(text, length)) /* broken text is shown byte by byte */
        flags |= PERL_PV_ESCAPE_UNI;

    shown = newSVpvs_flags("'", SVs_TEMP);
    flags |= PERL_PV_ESCAPE_NOCLEAR;
    pv_escape(shown, text, length, SHOWN_LENGTH, &consumed, flags);
    if (consumed < length)
        sv_catpvs(shown, "...");
    sv_catpvs(shown, "'");
    return shown;
}
