/* A Perl value as a number, exactly: integers up to 64 bits never pass through
 * a float, "3", 3.0 and " 3 " are 3, and "3abc" is none. */
#ifndef SHARED_ARENA_NUMBER_H
#define SHARED_ARENA_NUMBER_H

#include "compat.h"

typedef enum number_kind {
    NUMBER_NONE,     /* undef, text, a reference, ... */
    NUMBER_INTEGER,  /* exact; minus and magnitude say it all */
    NUMBER_FRACTION  /* anything else that is a number: 1.5, 1e300, Inf, NaN */
} number_kind;

struct number {
    number_kind kind;
    bool minus;
    UV magnitude;
    NV real;    /* set for both kinds of number, rounded where it must be */
    SV *given;  /* what was read, its magic done: for messages */
};

/* Reads a value, get-magic and overloading once. Warns of nothing. */
void THX_number_read(pTHX_ SV *value, struct number *number);

/* A whole number in that range? */
bool number_whole(const struct number *number, UV least, UV most, UV *whole);

/* An integer that fits 64 bits with its sign? */
bool number_signed(const struct number *number, IV *integer);

/* A number in that range (so never NaN)? */
bool number_real(const struct number *number, NV least, NV most, NV *real);

/* A time span in units of `scale` milliseconds, as the core takes it: zero or
 * undef is none, a tiny one is one millisecond, one too long is for ever.
 * False for a negative one, NaN and what is no number. */
bool number_span(const struct number *number, NV scale, uint64_t *milliseconds);

#define number_read(value, number)   THX_number_read(aTHX_ (value), (number))

#endif
