/* Name/value pairs at the end of a call, read by a table of what the method
 * knows. A method's table and its enum of places in it stand side by side. */
#ifndef SHARED_ARENA_OPTIONS_H
#define SHARED_ARENA_OPTIONS_H

#include "args.h"

typedef enum option_kind {
    OPTION_WHOLE, /* a whole number from least to most */
    OPTION_REAL,  /* a number from least to most */
    OPTION_FLAG,  /* true or false */
    OPTION_NAME,  /* bytes; undef is the same as not given */
    OPTION_SPAN   /* time from now, in units of `scale` milliseconds */
} option_kind;

struct option_spec {
    const char *name;
    option_kind kind;
    union {
        struct { UV least, most, standard; } whole;
        struct { NV least, most, standard; } real;
        struct { NV scale; const char *unit; } span;
    } is;
};

struct option_value {
    bool given;
    union {
        UV whole;
        NV real;
        bool flag;
        uint64_t milliseconds;
        struct bytes name;
    } is;
};

#define WHOLE_OPTION(name, least, most, standard) \
    { name, OPTION_WHOLE, { .whole = { least, most, standard } } }
#define REAL_OPTION(name, least, most, standard) \
    { name, OPTION_REAL, { .real = { least, most, standard } } }
#define SPAN_OPTION(name, scale, unit) \
    { name, OPTION_SPAN, { .span = { scale, unit } } }
#define FLAG_OPTION(name)   { name, OPTION_FLAG, { .whole = { 0, 0, 0 } } }
#define NAME_OPTION(name)   { name, OPTION_NAME, { .whole = { 0, 0, 0 } } }

/* Longest table. */
#define MOST_OPTIONS 4

/* Reads the pairs from argument `first` on. values[i] belongs to specs[i]; what
 * is not given has its standard value (or false, no name, no span). Of two
 * pairs with one name the last counts. */
void THX_options_read(pTHX_ const struct call *call, I32 first, const struct option_spec *specs, int count,
                      struct option_value *values);

/* The span that `ttl => seconds` or `ttl_ms => milliseconds` asks for. */
uint64_t THX_options_ttl(pTHX_ const struct call *call, I32 first);

#define options_read(call, first, specs, count, values) \
    THX_options_read(aTHX_ (call), (first), (specs), (count), (values))
#define options_ttl(call, first)   THX_options_ttl(aTHX_ (call), (first))

#endif
