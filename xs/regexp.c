#include "regexp.h"
#include "body.h"

static const struct { char letter; U32 flag; } modifiers[] = {
    { 'm', RXf_PMf_MULTILINE },
    { 's', RXf_PMf_SINGLELINE },
    { 'i', RXf_PMf_FOLD },
    { 'x', RXf_PMf_EXTENDED },
#ifdef RXf_PMf_EXTENDED_MORE
    { 'x', RXf_PMf_EXTENDED_MORE }, /* the second of them */
#endif
#ifdef RXf_PMf_NOCAPTURE
    { 'n', RXf_PMf_NOCAPTURE },
#endif
    { 'p', RXf_PMf_KEEPCOPY },
};

/* From "(?^msix:pattern)", as perl shows it. Its flags are no witness: they also
 * hold what the pattern itself switches on half-way. A pattern with the UTF-8
 * flag is compiled as if there was a u, which Sereal's own decoder refuses. */
size_t
regexp_modifiers(const REGEXP *regexp, char *letters)
{
    const char *shown = RX_WRAPPED((REGEXP *)regexp); /* which a debugging perl's macro will not take as const */
    const char *const end = shown + RX_WRAPLEN(regexp);
    size_t length = 0;

    if (end - shown < 2 || shown[0] != '(' || shown[1] != '?') /* another engine's */
        return 0;
    for (shown += 2; shown < end && *shown != ':' && length < MOST_MODIFIERS; shown++)
        if (*shown != '^' && !(*shown == 'u' && RX_UTF8(regexp)))
            letters[length++] = *shown;
    return length;
}

bool
regexp_has_code(const REGEXP *regexp)
{
    return cBOOL(RX_EXTFLAGS(regexp) & RXf_EVAL_SEEN);
}

static bool
set_charset(char letter, U32 *flags)
{
    regex_charset charset;

    switch (letter) {
    case 'd': charset = REGEX_DEPENDS_CHARSET; break;
    case 'l': charset = REGEX_LOCALE_CHARSET; break;
    case 'u': charset = REGEX_UNICODE_CHARSET; break;
    case 'a':
        charset = get_regex_charset(*flags) == REGEX_ASCII_RESTRICTED_CHARSET ? REGEX_ASCII_MORE_RESTRICTED_CHARSET
                                                                              : REGEX_ASCII_RESTRICTED_CHARSET;
        break;
    default:
        return FALSE;
    }
    set_regex_charset(flags, charset);
    return TRUE;
}

static bool
set_modifier(char letter, U32 *flags)
{
    size_t place;

    for (place = 0; place < C_ARRAY_LENGTH(modifiers); place++)
        if (modifiers[place].letter == letter && !(*flags & modifiers[place].flag)) {
            *flags |= modifiers[place].flag;
            return TRUE;
        }
    return set_charset(letter, flags);
}

/* Perl's messages end with where the program is, which is not where the pattern came from. */
static SV *
THX_why_not(pTHX)
{
    STRLEN length;
    const char *text = SvPV(ERRSV, length);
    SV *where = sv_2mortal(newSVpvf(" at %s line ", CopFILE(PL_curcop)));
    const char *end = rninstr(text, text + length, SvPVX(where), SvEND(where));

    return newSVpvn_flags(text, end ? (STRLEN)(end - text) : length, SVs_TEMP | SvUTF8(ERRSV));
}

SV *
THX_regexp_compile_entry(pTHX_ I32 ax, I32 items)
{
    if (items != 2)
        croak("Usage: Shared::Arena::_compile($pattern, $flags)");
    return sv_2mortal(newRV_noinc((SV *)pregcomp(ST(0), (U32)SvUV(ST(1)))));
}

/* Perl reports a bad pattern by a croak, which only an eval may catch: so the
 * compiler is called as a sub. The caller's program has no say in it: neither
 * its $@ and its handlers nor its pragmas. */
SV *
THX_regexp_compile(pTHX_ const char *pattern, STRLEN length, bool utf8, const char *letters,
                   STRLEN letters_length, SV **reason)
{
    COP quiet = *PL_curcop;
    SV *regexp = NULL;
    U32 flags = 0;
    STRLEN place;
    dSP;

    for (place = 0; place < letters_length; place++)
        if (!set_modifier(letters[place], &flags)) {
            *reason = newSVpvs_flags("a regexp with an unknown modifier", SVs_TEMP);
            return NULL;
        }
    if (regexp_is_costly(pattern, length)) {
        *reason = newSVpvs_flags("a regexp with too many repetitions in one another", SVs_TEMP);
        return NULL;
    }

    ENTER;
    SAVETMPS;
    SAVEVPTR(PL_curcop);
    SAVEGENERICSV(PL_diehook);
    SAVEGENERICSV(PL_warnhook);
    PL_diehook = NULL;
    PL_warnhook = NULL;
    save_scalar(PL_errgv);
    quiet.cop_warnings = pWARN_NONE;
    quiet.cop_hints = 0;
    CopHINTHASH_set(&quiet, NULL);
    PL_curcop = &quiet;

    PUSHMARK(SP);
    EXTEND(SP, 2);
    PUSHs(newSVpvn_flags(pattern, length, SVs_TEMP | (utf8 ? SVf_UTF8 : 0)));
    mPUSHu(flags);
    PUTBACK;
    call_pv("Shared::Arena::_compile", G_SCALAR | G_EVAL);
    SPAGAIN;
    {
        SV *answer = POPs;
        PUTBACK;
        if (SvROK(answer))
            regexp = SvREFCNT_inc_simple_NN(SvRV(answer));
        else
            *reason = newSVpvf("a regexp that perl does not take: %" SVf, SVfARG(THX_why_not(aTHX)));
    }
    FREETMPS;
    LEAVE;
    if (!regexp)
        sv_2mortal(*reason);
    return regexp;
}
