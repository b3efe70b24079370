/* What a document holds already, and at which offset: scalars, arrays, hashes,
 * classes and shared hash keys, by their addresses. Open addressing; forgetting
 * everything between two documents takes no time. */
#ifndef SHARED_ARENA_SEEN_H
#define SHARED_ARENA_SEEN_H

#include "compat.h"

struct sighting {
    const void *what;
    size_t offset;  /* of its tag, as the writer counts */
    size_t weak_at; /* of the first WEAKEN that refers to it; 0: none */
    U32 round;      /* the document this belongs to */
    SV *stands_for; /* in the sighting of an object as AS_ORIGIN: what its overloaded dereference gave */
    bool held;      /* something other than a weak reference holds it */
    bool blessed;   /* its class is written, if it has one */
};

struct seen {
    struct sighting *slots;
    size_t room;    /* a power of two; 0 before the first sighting */
    size_t count;
    U32 round;
    bool has_weak;  /* some sighting has a weak_at */
};

/* An object with an overloaded dereference is remembered as that by this key:
 * what it is itself may be seen too, as an element. */
#define AS_ORIGIN(object)   ((const char *)(object) + 1)

void THX_seen_forget(pTHX_ struct seen *seen);
void THX_seen_release(pTHX_ struct seen *seen);

/* NULL when it was not seen. Good until the next seen_add(). */
struct sighting *seen_find(const struct seen *seen, const void *what);

/* For something that was not seen before. */
struct sighting *THX_seen_add(pTHX_ struct seen *seen, const void *what, size_t offset);

#define seen_forget(seen)              THX_seen_forget(aTHX_ (seen))
#define seen_release(seen)             THX_seen_release(aTHX_ (seen))
#define seen_add(seen, what, offset)   THX_seen_add(aTHX_ (seen), (what), (offset))

#endif
