/* Call sites of the hot methods, answered without a subroutine call. */
#ifndef SHARED_ARENA_CALLSITE_H
#define SHARED_ARENA_CALLSITE_H

#include "compat.h"

/* For BOOT, and for CLONE: from now on, calls that perl compiles are answered
 * in place where that can be. SHARED_ARENA_NO_XOP=1 in the environment keeps
 * every call an ordinary one. */
void THX_callsite_boot(pTHX);
void THX_callsite_clone(pTHX);

/* How many call sites of this process were rewritten. */
UV callsite_count(void);

#define callsite_boot()    THX_callsite_boot(aTHX)
#define callsite_clone()   THX_callsite_clone(aTHX)

#endif
