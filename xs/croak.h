/* Every error a caller sees is worded and raised here: "Class->method: reason",
 * at the caller's line. */
#ifndef SHARED_ARENA_CROAK_H
#define SHARED_ARENA_CROAK_H

#include "compat.h"

struct handle_type;

/* What an entry point is called and how. Each body has one, static. */
struct method {
    const char *class_name;
    const char *name;
    const char *usage;              /* "$map->fetch($key)" */
    const struct handle_type *type; /* of the invocant; NULL: a class name */
    I32 least, most;                /* arguments, the invocant included */
};

#define ANY_NUMBER I32_MAX

/* Rust writes a text only for the statuses that become a croak, so only the
 * parts that are read without one are set beforehand. */
#define ERROR_INIT(error) ((error).waited_ns = 0, (error).length = 0, (error).text[0] = '\0')

/* "Class->method: " and the formatted reason (perl's own formats, so SVf works). */
void THX_croak_method(pTHX_ const struct method *method, const char *format, ...)
    __attribute__((noreturn));

/* "Usage: $map->fetch($key)" */
void THX_croak_usage(pTHX_ const struct method *method) __attribute__((noreturn));

/* The reason that the core gave, as text. Mortal. */
SV *THX_croak_reason(pTHX_ sa_status status, const sa_error *error);

/* A croak for that reason. */
void THX_croak_status(pTHX_ const struct method *method, sa_status status, const sa_error *error)
    __attribute__((noreturn));

/* A value as a message shows it: 'abc', undef, 'HASH(0x...)'. Short, printable,
 * and made without running anybody's overloading. Mortal. */
SV *THX_croak_shown(pTHX_ SV *value);

#define croak_method(...)                     THX_croak_method(aTHX_ __VA_ARGS__)
#define croak_usage(method)                   THX_croak_usage(aTHX_ (method))
#define croak_reason(status, error)           THX_croak_reason(aTHX_ (status), (error))
#define croak_status(method, status, error)   THX_croak_status(aTHX_ (method), (status), (error))
#define croak_shown(value)                    THX_croak_shown(aTHX_ (value))

#endif
