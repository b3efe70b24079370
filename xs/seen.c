#include "seen.h"

#define FIRST_ROOM 64

/* A table that one huge document made larger than this is not kept. */
#define MOST_KEPT_ROOM 16384

void
THX_seen_release(pTHX_ struct seen *seen)
{
    Safefree(seen->slots);
    Zero(seen, 1, struct seen);
}

void
THX_seen_forget(pTHX_ struct seen *seen)
{
    if (seen->room > MOST_KEPT_ROOM)
        seen_release(seen);
    seen->count = 0;
    seen->has_weak = FALSE;
    if (++seen->round == 0) { /* wrapped: what is 2**32 documents old must not look new */
        if (seen->slots)
            Zero(seen->slots, seen->room, struct sighting);
        seen->round = 1;
    }
}

/* The slot of `what`, or the empty one where it belongs. */
static struct sighting *
slot_of(const struct seen *seen, const void *what)
{
    /* Fibonacci hashing: addresses differ in their middle bits. */
    size_t place = (size_t)((U64)PTR2UV(what) * UINT64_C(0x9E3779B97F4A7C15) >> 32) & (seen->room - 1);

    while (seen->slots[place].round == seen->round && seen->slots[place].what != what)
        place = (place + 1) & (seen->room - 1);
    return &seen->slots[place];
}

struct sighting *
seen_find(const struct seen *seen, const void *what)
{
    struct sighting *slot;

    if (seen->count == 0)
        return NULL;
    slot = slot_of(seen, what);
    return slot->round == seen->round ? slot : NULL;
}

static void
THX_grow(pTHX_ struct seen *seen)
{
    struct seen larger = *seen;
    size_t place;

    larger.room = seen->room ? 2 * seen->room : FIRST_ROOM;
    Newxz(larger.slots, larger.room, struct sighting);
    for (place = 0; place < seen->room; place++)
        if (seen->slots[place].round == seen->round)
            *slot_of(&larger, seen->slots[place].what) = seen->slots[place];
    Safefree(seen->slots);
    *seen = larger;
}

struct sighting *
THX_seen_add(pTHX_ struct seen *seen, const void *what, size_t offset)
{
    struct sighting *slot;

    if (2 * (seen->count + 1) > seen->room)
        THX_grow(aTHX_ seen);
    slot = slot_of(seen, what);
    slot->what = what;
    slot->offset = offset;
    slot->weak_at = 0;
    slot->round = seen->round;
    slot->stands_for = NULL;
    slot->held = TRUE;
    slot->blessed = FALSE;
    seen->count++;
    return slot;
}
