/* One body per operation: everything an entry point does, given where its
 * arguments lie on the stack. A body of the first kind returns its one result,
 * or NULL for none. A body of the second kind leaves its results on the stack
 * in place of its arguments. */
#ifndef SHARED_ARENA_BODY_H
#define SHARED_ARENA_BODY_H

#include "args.h"

/* body_arena.c */
SV *THX_arena_create(pTHX_ I32 ax, I32 items);
SV *THX_arena_attach(pTHX_ I32 ax, I32 items);
SV *THX_arena_destroy(pTHX_ I32 ax, I32 items);
SV *THX_arena_size(pTHX_ I32 ax, I32 items);
SV *THX_arena_created(pTHX_ I32 ax, I32 items);
SV *THX_arena_name(pTHX_ I32 ax, I32 items);
SV *THX_arena_base(pTHX_ I32 ax, I32 items);
SV *THX_arena_refused(pTHX_ I32 ax, I32 items);
SV *THX_arena_have_atomics(pTHX_ I32 ax, I32 items);
SV *THX_arena_poke(pTHX_ I32 ax, I32 items);
SV *THX_arena_peek(pTHX_ I32 ax, I32 items);
SV *THX_arena_map(pTHX_ I32 ax, I32 items);
SV *THX_arena_rate(pTHX_ I32 ax, I32 items);
void THX_arena_region(pTHX_ I32 ax, I32 items);
void THX_arena_regions(pTHX_ I32 ax, I32 items);

/* body_map.c */
SV *THX_map_store(pTHX_ I32 ax, I32 items);
SV *THX_map_fetch(pTHX_ I32 ax, I32 items);
SV *THX_map_exists(pTHX_ I32 ax, I32 items);
SV *THX_map_incr(pTHX_ I32 ax, I32 items);
SV *THX_map_counter(pTHX_ I32 ax, I32 items);
SV *THX_map_delete(pTHX_ I32 ax, I32 items);
SV *THX_map_serialised(pTHX_ I32 ax, I32 items);
SV *THX_map_max_pair(pTHX_ I32 ax, I32 items);
SV *THX_map_capacity(pTHX_ I32 ax, I32 items);
void THX_map_keys(pTHX_ I32 ax, I32 items);
void THX_map_stats(pTHX_ I32 ax, I32 items);

/* body_rate.c */
SV *THX_rate_allow(pTHX_ I32 ax, I32 items);
SV *THX_rate_remaining(pTHX_ I32 ax, I32 items);
SV *THX_rate_retry_after(pTHX_ I32 ax, I32 items);
SV *THX_rate_reset(pTHX_ I32 ax, I32 items);
SV *THX_rate_forget(pTHX_ I32 ax, I32 items);
SV *THX_rate_slots(pTHX_ I32 ax, I32 items);
void THX_rate_headers(pTHX_ I32 ax, I32 items);
void THX_rate_stats(pTHX_ I32 ax, I32 items);

/* regexp.c: perl's compiler as a sub, for THX_regexp_compile(); undocumented */
SV *THX_regexp_compile_entry(pTHX_ I32 ax, I32 items);

/* body_hooks.c: what the tests reach for; undocumented */
SV *THX_hook_set_clock(pTHX_ I32 ax, I32 items);
SV *THX_hook_clock_reads(pTHX_ I32 ax, I32 items);
SV *THX_hook_call_sites(pTHX_ I32 ax, I32 items);
SV *THX_hook_lock_patience(pTHX_ I32 ax, I32 items);
SV *THX_hook_failpoints(pTHX_ I32 ax, I32 items);
SV *THX_hook_failpoint(pTHX_ I32 ax, I32 items);
SV *THX_hook_encode(pTHX_ I32 ax, I32 items);
SV *THX_hook_decode(pTHX_ I32 ax, I32 items);
void THX_hook_failpoint_names(pTHX_ I32 ax, I32 items);
void THX_hook_verify(pTHX_ I32 ax, I32 items);

#endif
