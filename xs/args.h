/* One call from Perl: its invocant, and the one place where an argument
 * becomes bytes.
 *
 * The order is always the same: begin_method() counts the arguments and finds
 * the object; the arguments are read, each once, in order; call_native() then
 * gives the handle. Reading can run Perl code (tied and overloaded values, a
 * warning's handler), and that code may drop the object, free another
 * argument, or move the stack. Hence: the stack is only reached through
 * call_argument(), everything is kept alive and copied whenever such code
 * could run, and the handle comes last. */
#ifndef SHARED_ARENA_ARGS_H
#define SHARED_ARENA_ARGS_H

#include "croak.h"
#include "handle.h"

struct call {
    const struct method *method;
    I32 ax;         /* as in XSUBs: where the invocant lies on the stack */
    I32 items;      /* arguments, the invocant included */
    SV *object;     /* the invocant's scalar; NULL for a class method */
    handle *held;   /* its handle, as it was when the call began */
    bool copying;   /* reading an argument may run Perl code, or some has run */
};

#define call_argument(call, index)   (PL_stack_base[(call)->ax + (index)])
#define call_has(call, index)        ((index) < (call)->items)

/* Points into the argument, into a mortal copy or into `digits`: so never copy
 * the struct itself. */
struct bytes {
    const uint8_t *start;
    STRLEN length;
    char digits[24];
};

/* Reading it is a memory access and no more: no magic, nothing to overload,
 * nothing to warn of. */
static inline bool
is_plain(const SV *argument)
{
    return SvOK(argument) && !SvROK(argument) && !SvGMAGICAL(argument);
}

/* Begins a call of an object's method. Croaks when it is called wrongly. An
 * argument that is the method's own is left to it: it calls call_own() or
 * call_keep() before Perl code can run that the reading of it starts. */
void THX_begin_method(pTHX_ struct call *call, const struct method *method, I32 ax, I32 items, I32 own);

/* The invocant is never the method's own. */
#define NONE_OWN 0

/* The whole call of a method that has no arguments: its object's native handle. */
const void *THX_bare_call(pTHX_ const struct method *method, I32 ax, I32 items);

/* Begins a call of a class method; returns the stash to bless into. */
HV *THX_begin_class(pTHX_ struct call *call, const struct method *method, I32 ax, I32 items);

/* Begins a call of a plain function, whose first argument is an argument. */
void THX_begin_function(pTHX_ struct call *call, const struct method *method, I32 ax, I32 items);

/* The handle, looked for anew: Perl code may have given it up. */
handle *THX_call_handle_again(pTHX_ const struct call *call);

/* Does call_keep(), unless that argument is one that no Perl code runs for. */
void THX_call_own(pTHX_ struct call *call, I32 index, struct bytes *key);

/* An argument as bytes. undef is empty, with perl's own warning. */
void THX_read_bytes(pTHX_ const struct call *call, I32 index, struct bytes *bytes);

/* The same, but undef is undef: false, and a NULL start. */
bool THX_read_value(pTHX_ const struct call *call, I32 index, struct bytes *bytes);

/* A positional number: a whole one, or a croak that names it. */
UV THX_call_whole(pTHX_ const struct call *call, I32 index, const char *name, UV least, UV most);

/* Makes a call of the core that may wait for a lock: it comes back from time
 * to time with SA_AGAIN and nothing held, and then perl's signal handlers run.
 * They may do anything, so `invocation` finds the handle anew, and the bytes it
 * is given (NULL for none) are kept for it. */
#define PATIENTLY(status, call, first, second, invocation)                  \
    STMT_START {                                                            \
        while (((status) = (invocation)) == SA_AGAIN)                       \
            THX_call_pause(aTHX_ (call), (first), (second));                \
    } STMT_END

void THX_call_pause(pTHX_ struct call *call, struct bytes *first, struct bytes *second);

/* Perl code is about to run while those bytes (NULL for none), the arguments
 * and the object are still needed: keeps and copies them. */
void THX_call_keep(pTHX_ struct call *call, struct bytes *first, struct bytes *second);

/* Bytes as a message shows them. Mortal. */
SV *THX_bytes_shown(pTHX_ const struct bytes *bytes);

/* ---- What most calls are: plain scalars, and strings that are bytes already ---- */

/* The argument itself, if it is bytes already and needs no copy. */
static inline bool
THX_has_bytes(pTHX_ const struct call *call, I32 index, struct bytes *bytes)
{
    SV *argument = call_argument(call, index);

    if ((SvFLAGS(argument) & (SVf_POK | SVf_UTF8 | SVs_GMG)) != SVf_POK || call->copying)
        return FALSE;
    bytes->start = (const uint8_t *)SvPVX_const(argument);
    bytes->length = SvCUR(argument);
    return TRUE;
}

static inline void
THX_call_bytes(pTHX_ const struct call *call, I32 index, struct bytes *bytes)
{
    if (UNLIKELY(!THX_has_bytes(aTHX_ call, index, bytes)))
        THX_read_bytes(aTHX_ call, index, bytes);
}

static inline bool
THX_call_value(pTHX_ const struct call *call, I32 index, struct bytes *bytes)
{
    return LIKELY(THX_has_bytes(aTHX_ call, index, bytes)) || THX_read_value(aTHX_ call, index, bytes);
}

/* Whether all arguments from `first` on are plain, but for the method's own. */
static inline bool
are_plain(SV *const *arguments, I32 first, I32 items, I32 own)
{
    I32 index;

    for (index = first; index < items; index++)
        if (UNLIKELY(index != own && !is_plain(arguments[index])))
            return FALSE;
    return TRUE;
}

/* Begins a call of a method whose first argument is a key or a name: reads that
 * too. */
static inline void
THX_begin_keyed(pTHX_ struct call *call, const struct method *method, I32 ax, I32 items, struct bytes *key,
                I32 own)
{
    THX_begin_method(aTHX_ call, method, ax, items, own);
    THX_call_bytes(aTHX_ call, 1, key);
}

/* The handle, alive, once every argument was read. */
static inline handle *
THX_call_handle(pTHX_ const struct call *call)
{
    return LIKELY(!call->copying && call->held->mg_ptr) ? call->held : THX_call_handle_again(aTHX_ call);
}

#define begin_method(call, method, ax, items)     THX_begin_method(aTHX_ (call), (method), (ax), (items), NONE_OWN)
#define begin_keyed(call, method, ax, items, key) \
    THX_begin_keyed(aTHX_ (call), (method), (ax), (items), (key), NONE_OWN)
#define bare_call(method, ax, items)              THX_bare_call(aTHX_ (method), (ax), (items))
#define begin_class(call, method, ax, items)      THX_begin_class(aTHX_ (call), (method), (ax), (items))
#define begin_function(call, method, ax, items)   THX_begin_function(aTHX_ (call), (method), (ax), (items))
#define call_handle(call)                        THX_call_handle(aTHX_ (call))
#define call_own(call, index, key)               THX_call_own(aTHX_ (call), (index), (key))
#define call_bytes(call, index, bytes)           THX_call_bytes(aTHX_ (call), (index), (bytes))
#define call_keep(call, first, second)           THX_call_keep(aTHX_ (call), (first), (second))
#define call_value(call, index, bytes)           THX_call_value(aTHX_ (call), (index), (bytes))
#define call_whole(call, index, name, least, most) \
    THX_call_whole(aTHX_ (call), (index), (name), (least), (most))
#define bytes_shown(bytes)                       THX_bytes_shown(aTHX_ (bytes))

/* The native handle of a call, as the type that its method belongs to. */
#define call_native(call, type)   ((type *)call_handle(call)->mg_ptr)

#endif
