/* The names that objects' classes may have in a document. */
#ifndef SHARED_ARENA_CLASS_H
#define SHARED_ARENA_CLASS_H

#include "compat.h"

/* Perl keeps a table for each part of A::B::C, under its whole name so far: very
 * many parts would take much more memory than the document. */
#define MOST_CLASS_PARTS 100

static inline bool
has_too_many_parts(const char *name, STRLEN length)
{
    const char *const last = name + length - 1;
    int parts = 1;

    for (; length && name < last; name++)
        if (name[0] == ':' && name[1] == ':' && ++parts > MOST_CLASS_PARTS)
            return TRUE;
    return FALSE;
}

#endif
