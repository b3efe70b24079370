/* Perl's headers, the same way in every file, and the few names that older
 * perls (5.16 and up) lack. */
#ifndef SHARED_ARENA_COMPAT_H
#define SHARED_ARENA_COMPAT_H

#define PERL_NO_GET_CONTEXT

#include "EXTERN.h"
#include "perl.h"
#include "XSUB.h"

#if IVSIZE < 8
#error "Shared::Arena needs a perl with 64-bit integers"
#endif

#ifndef G_LIST /* its name before 5.36 */
#define G_LIST G_ARRAY
#endif

#include "shared_arena.h"

/* Functions that one file of this directory offers to another come in pairs:
 * THX_name takes the interpreter, the macro name() passes the one at hand. */

#endif
