/* Where in the value a refusal was met, as a Perl programmer would write the
 * way there: {config}{handler}[2], with $* for what a scalar reference holds. */
#include "encoder.h"

/* Of a deep path only both ends are shown, of a long key its beginning. */
#define SHOWN_LEVELS 16
#define LONGEST_WORD 60

static bool
is_word(const HEK *key)
{
    I32 place;

    if (HEK_LEN(key) == 0 || HEK_LEN(key) > LONGEST_WORD || HEK_UTF8(key))
        return FALSE;
    for (place = 0; place < HEK_LEN(key); place++)
        if (!isWORDCHAR_A(HEK_KEY(key)[place]))
            return FALSE;
    return TRUE;
}

static void
THX_add_key(pTHX_ SV *path, const HEK *key)
{
    SV *text = sv_2mortal(newSVhek(key));

    if (!is_word(key))
        text = croak_shown(text);
    sv_catpvf(path, "{%" SVf "}", SVfARG(text));
}

SV *
THX_encode_path(pTHX_ const struct encoder *encoder)
{
    SV *path = newSVpvn_flags("", 0, SVs_TEMP);
    size_t place;

    if (encoder->depth == 0)
        return newSVpvs_flags("the value", SVs_TEMP);
    for (place = 0; place < encoder->depth; place++) {
        const struct level *level = &encoder->levels[place];

        if (encoder->depth > SHOWN_LEVELS && place == SHOWN_LEVELS / 2) {
            sv_catpvs(path, "...");
            place = encoder->depth - SHOWN_LEVELS / 2 - 1;
            continue;
        }
        switch (level->kind) {
        case LEVEL_SCALAR: sv_catpvs(path, "$*"); break;
        case LEVEL_ARRAY:  sv_catpvf(path, "[%" IVdf "]", (IV)level->next - 1); break;
        case LEVEL_HASH:   THX_add_key(aTHX_ path, HeKEY_hek(level->entry)); break;
        }
    }
    return path;
}
