/* The three types of object: what releases each, and how their magic behaves
 * when a scalar is freed or a thread is cloned. */
#include "handle.h"

void
handle_release(handle *held)
{
    const struct handle_type *type = (const struct handle_type *)held->mg_virtual;
    void *native = held->mg_ptr;

    held->mg_ptr = NULL;
    if (native)
        type->release(native);
}

void
handle_destroy(const struct handle_type *type, SV *invocant)
{
    handle *held = SvROK(invocant) ? handle_of(SvRV(invocant), type) : NULL;

    if (held)
        handle_release(held);
}

/* The scalar goes away. */
static int
handle_free(pTHX_ SV *object, MAGIC *magic)
{
    PERL_UNUSED_CONTEXT;
    PERL_UNUSED_ARG(object);
    handle_release(magic);
    return 0;
}

/* A new thread copies the scalar. The native handle stays with its creator:
 * two owners would release it twice. */
static int
handle_dup(pTHX_ MAGIC *magic, CLONE_PARAMS *parameters)
{
    PERL_UNUSED_CONTEXT;
    PERL_UNUSED_ARG(parameters);
    magic->mg_ptr = NULL;
    return 0;
}

static void release_arena(void *native) { sa_arena_release((sa_arena *)native); }
static void release_map(void *native) { sa_map_release((sa_map *)native); }
static void release_rate(void *native) { sa_rate_release((sa_rate *)native); }

/* get, set, len, clear, free, copy, dup, local */
#define VTABLE { NULL, NULL, NULL, NULL, handle_free, NULL, handle_dup, NULL }

const struct handle_type arena_type = { VTABLE, "Shared::Arena", release_arena };
const struct handle_type map_type = { VTABLE, "Shared::Arena::Map", release_map };
const struct handle_type rate_type = { VTABLE, "Shared::Arena::Rate", release_rate };

SV *
THX_handle_new(pTHX_ const struct handle_type *type, handle **made)
{
    SV *object = newSV(0);
    SV *reference = sv_2mortal(newRV_noinc(object));

    *made = sv_magicext(object, NULL, PERL_MAGIC_ext, &type->vtable, NULL, 0);
    (*made)->mg_flags |= MGf_DUP;
    return reference;
}
