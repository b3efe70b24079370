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

/* A key's value, mortal; NULL when there is none to be had. */
SV *THX_value_fetch(pTHX_ handle *map, const struct bytes *key);

/* Numbers, in the calling op's own scalar. */
SV *THX_value_iv(pTHX_ IV integer);
SV *THX_value_uv(pTHX_ UV whole);
SV *THX_value_nv(pTHX_ NV real);

/* Leaves the figures on the stack in place of the arguments: pairs in list
 * context, a hash reference in scalar context. */
void THX_value_figures(pTHX_ const struct call *call, const struct figure *figures, int count);

#define value_fetch(map, key)                    THX_value_fetch(aTHX_ (map), (key))
#define value_iv(integer)                        THX_value_iv(aTHX_ (integer))
#define value_uv(whole)                          THX_value_uv(aTHX_ (whole))
#define value_nv(real)                           THX_value_nv(aTHX_ (real))
#define value_figures(call, figures, count)      THX_value_figures(aTHX_ (call), (figures), (count))

#endif
