/* The values of serialised maps: any Perl structure, kept as a document. */
#ifndef SHARED_ARENA_STRUCTURE_H
#define SHARED_ARENA_STRUCTURE_H

#include "args.h"

/* An argument as a document; its start is NULL when that has more bytes than
 * the limit. Croaks when the value holds what no document can. `key`, read
 * before, is kept where reading runs Perl code. */
void THX_call_structure(pTHX_ struct call *call, I32 index, size_t limit, struct bytes *key,
                        struct bytes *document);

/* The same for a short string that is nothing else and not UTF-8, written to
 * where SA_SHORT_DOCUMENT bytes have room. False for any other argument. */
bool THX_call_short_text(pTHX_ const struct call *call, I32 index, struct bytes *document, uint8_t *room);

/* The document was stored, and is of no use any more. */
void THX_structure_stored(pTHX_ const struct bytes *document);

/* A key's value, mortal; NULL when there is none to be had. */
SV *THX_structure_fetch(pTHX_ struct call *call, const sa_map *map, struct bytes *key);

#define call_structure(call, index, limit, key, document) \
    THX_call_structure(aTHX_ (call), (index), (limit), (key), (document))
#define call_short_text(call, index, document, room) \
    THX_call_short_text(aTHX_ (call), (index), (document), (room))
#define structure_stored(document)        THX_structure_stored(aTHX_ (document))
#define structure_fetch(call, map, key)   THX_structure_fetch(aTHX_ (call), (map), (key))

#endif
