/* A Perl value as a document of the Sereal format: the walk over its scalars
 * that feeds the core's writer. */
#ifndef SHARED_ARENA_ENCODE_H
#define SHARED_ARENA_ENCODE_H

#include "args.h"

typedef enum encoding {
    ENCODED,         /* document: the bytes; start is NULL when they are more than the limit */
    ENCODE_GUARDED,  /* something in there runs Perl code when it is read: nothing was read yet */
    ENCODE_REFUSED   /* reason: a mortal text, "{handler}[2]: CODE reference" */
} encoding;

struct encoded {
    struct bytes document;
    SV *reason;
};

/* Runs no Perl code: it stops, with ENCODE_GUARDED, where it would have to.
 * The document lies in memory of the codec and is good until the next call
 * that encodes, so it is copied wherever other Perl code can run before it is
 * used. */
encoding THX_encode(pTHX_ SV *value, size_t limit, struct encoded *encoded);

/* The same for values that answered ENCODE_GUARDED: tied and overloaded things
 * are read through their interface, each once. That may croak, and change
 * everything the caller does not hold. */
encoding THX_encode_guarded(pTHX_ SV *value, size_t limit, struct encoded *encoded);

/* Lets go of the last document, and of what room is more than sensible. */
void THX_encoder_trim(pTHX);

#define encoder_trim()                          THX_encoder_trim(aTHX)
#define encode(value, limit, encoded)           THX_encode(aTHX_ (value), (limit), (encoded))
#define encode_guarded(value, limit, encoded)   THX_encode_guarded(aTHX_ (value), (limit), (encoded))

#endif
