/* The tie between a Perl object and its native handle.
 *
 * An object is a reference to a blessed scalar that carries extension magic
 * with one of the vtables below. The vtable's address is the proof of what the
 * pointer is: it cannot be forged from Perl, whatever is blessed into the
 * class, and it is unaffected by subclassing. */
#ifndef SHARED_ARENA_HANDLE_H
#define SHARED_ARENA_HANDLE_H

#include "compat.h"

struct handle_type {
    MGVTBL vtable; /* first: a magic's vtable pointer is a handle_type pointer */
    const char *class_name;
    void (*release)(void *native);
};

/* mg_ptr: the native handle, NULL once it was given up.
 * mg_private: of a map, whether it is serialised (the highest bit), and below
 * that what value.c remembers. */
typedef MAGIC handle;

#define HANDLE_SERIALISED   0x8000

#define handle_is_serialised(held)   (((held)->mg_private & HANDLE_SERIALISED) != 0)

extern const struct handle_type arena_type, map_type, rate_type;

/* A new mortal object, not blessed yet and with no native handle. Whatever
 * croaks from here on, what is put into the handle is released. */
SV *THX_handle_new(pTHX_ const struct handle_type *type, handle **made);

/* Gives up the native handle now; the object is no longer live. */
void handle_release(handle *held);

/* The same for a DESTROY method: quiet whatever it is called on. */
void handle_destroy(const struct handle_type *type, SV *invocant);

#define handle_new(type, made)   THX_handle_new(aTHX_ (type), (made))

/* The handle of that type on an object's scalar, or NULL. */
static inline handle *
handle_of(const SV *object, const struct handle_type *type)
{
    MAGIC *magic;

    if (SvTYPE(object) < SVt_PVMG)
        return NULL;
    for (magic = SvMAGIC(object); magic; magic = magic->mg_moremagic)
        if (magic->mg_virtual == &type->vtable)
            return magic;
    return NULL;
}

#endif
