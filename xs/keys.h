/* Hash keys that documents have in common. Most values of a map have the same
 * few keys; a key that comes again is not hashed and looked up anew. */
#ifndef SHARED_ARENA_KEYS_H
#define SHARED_ARENA_KEYS_H

#include "compat.h"

#define KEPT_KEYS 64     /* a power of two */
#define LONGEST_KEPT 32

struct keys {
    SV *kept[KEPT_KEYS];   /* scalars that share perl's own copy of the key; NULL: none */
    U32 asked[KEPT_KEYS];  /* the key that was asked for last, as a mix of its bytes */
};

/* The key as a scalar that knows its hash; NULL, when it is not worth it: it
 * came for the first time, or is long. The scalar stays the table's. */
SV *THX_keys_find(pTHX_ struct keys *keys, const char *start, STRLEN length);

void THX_keys_release(pTHX_ struct keys *keys);

#define keys_find(keys, start, length)   THX_keys_find(aTHX_ (keys), (start), (length))
#define keys_release(keys)               THX_keys_release(aTHX_ (keys))

#endif
