#include "keys.h"

/* Not perl's hash: what is told apart here is which keys to keep, and two that
 * drive each other out cost no more than without this table. */
static inline U32
mix(const char *start, STRLEN length)
{
    U32 mixed = (U32)length;
    U64 bytes = 0;

    for (; length >= sizeof bytes; start += sizeof bytes, length -= sizeof bytes) {
        Copy(start, &bytes, sizeof bytes, char);
        mixed = (U32)((bytes ^ mixed) * UINT64_C(0x9E3779B97F4A7C15) >> 32);
    }
    for (bytes = 0; length; length--)
        bytes = bytes << 8 | (U8)*start++;
    return (U32)((bytes ^ mixed) * UINT64_C(0x9E3779B97F4A7C15) >> 32);
}

SV *
THX_keys_find(pTHX_ struct keys *keys, const char *start, STRLEN length)
{
    U32 asked;
    SV **kept;

    if (length > LONGEST_KEPT)
        return NULL;
    asked = mix(start, length);
    kept = &keys->kept[asked & (KEPT_KEYS - 1)];
    if (*kept && SvCUR(*kept) == length && memEQ(SvPVX_const(*kept), start, length))
        return *kept;
    if (keys->asked[asked & (KEPT_KEYS - 1)] == asked) { /* the second time in a row */
        SvREFCNT_dec(*kept);
        return *kept = newSVpvn_share(start, (I32)length, 0);
    }
    keys->asked[asked & (KEPT_KEYS - 1)] = asked;
    return NULL;
}

void
THX_keys_release(pTHX_ struct keys *keys)
{
    size_t place;

    for (place = 0; place < KEPT_KEYS; place++)
        SvREFCNT_dec(keys->kept[place]);
    Zero(keys, 1, struct keys);
}
