/* The table of entry points: Perl's names on the left, the bodies that do the
 * work on the right. */
#include "compat.h"
#include "body.h"
#include "callsite.h"
#include "codec.h"

/* An entry point's one result; none is undef in scalar context. */
#define ANSWER(body)                                            \
    STMT_START {                                                \
        SV *const answer = THX_##body(aTHX_ ax, items);         \
        SP = PL_stack_base + ax - 1;                            \
        if (answer)                                             \
            XPUSHs(answer);                                     \
        else if (GIMME_V == G_SCALAR)                           \
            XPUSHs(&PL_sv_undef);                               \
    } STMT_END

/* An entry point that has put its results on the stack. */
#define ANSWERS(body)                                           \
    STMT_START {                                                \
        THX_##body(aTHX_ ax, items);                            \
        SPAGAIN;                                                \
    } STMT_END

MODULE = Shared::Arena    PACKAGE = Shared::Arena

PROTOTYPES: DISABLE

BOOT:
    if (sa_abi_version() != SA_ABI_VERSION)
        croak("Shared::Arena: compiled for version %d of its core, linked with version %d",
              (int)SA_ABI_VERSION, (int)sa_abi_version());
    sa_wait_in_turns(TRUE); /* for PATIENTLY() */
    codec_boot();
    callsite_boot();

void
CLONE(...)
CODE:
    PERL_UNUSED_VAR(items);
    codec_clone();
    callsite_clone();

void
create(...)
PPCODE:
    ANSWER(arena_create);

void
attach(...)
PPCODE:
    ANSWER(arena_attach);

void
destroy(...)
PPCODE:
    ANSWER(arena_destroy);

void
region(...)
PPCODE:
    ANSWERS(arena_region);

void
regions(...)
PPCODE:
    ANSWERS(arena_regions);

void
poke(...)
PPCODE:
    ANSWER(arena_poke);

void
peek(...)
PPCODE:
    ANSWER(arena_peek);

void
size(...)
PPCODE:
    ANSWER(arena_size);

void
created(...)
PPCODE:
    ANSWER(arena_created);

void
name(...)
PPCODE:
    ANSWER(arena_name);

void
base(...)
PPCODE:
    ANSWER(arena_base);

void
refused(...)
PPCODE:
    ANSWER(arena_refused);

void
have_atomics(...)
PPCODE:
    ANSWER(arena_have_atomics);

void
map(...)
PPCODE:
    ANSWER(arena_map);

void
rate(...)
PPCODE:
    ANSWER(arena_rate);

void
DESTROY(SV *object)
CODE:
    handle_destroy(&arena_type, object);

void
_set_clock(...)
PPCODE:
    ANSWER(hook_set_clock);

void
_clock_reads(...)
PPCODE:
    ANSWER(hook_clock_reads);

void
_call_sites(...)
PPCODE:
    ANSWER(hook_call_sites);

void
_nothing(...)
PPCODE:
    PERL_UNUSED_VAR(items); /* what a method call costs by itself, for benchmarks */

void
_lock_patience(...)
PPCODE:
    ANSWER(hook_lock_patience);

void
_compile(...)
PPCODE:
    ANSWER(regexp_compile_entry);

void
_encode(...)
PPCODE:
    ANSWER(hook_encode);

void
_decode(...)
PPCODE:
    ANSWER(hook_decode);

void
_failpoints(...)
PPCODE:
    ANSWER(hook_failpoints);

void
_failpoint_names(...)
PPCODE:
    ANSWERS(hook_failpoint_names);

void
_failpoint(...)
PPCODE:
    ANSWER(hook_failpoint);

MODULE = Shared::Arena    PACKAGE = Shared::Arena::Map

void
store(...)
PPCODE:
    ANSWER(map_store);

void
fetch(...)
PPCODE:
    ANSWER(map_fetch);

void
exists(...)
PPCODE:
    ANSWER(map_exists);

void
delete(...)
PPCODE:
    ANSWER(map_delete);

void
incr(...)
PPCODE:
    ANSWER(map_incr);

void
counter(...)
PPCODE:
    ANSWER(map_counter);

void
serialised(...)
PPCODE:
    ANSWER(map_serialised);

void
keys(...)
PPCODE:
    ANSWERS(map_keys);

void
stats(...)
PPCODE:
    ANSWERS(map_stats);

void
max_pair(...)
PPCODE:
    ANSWER(map_max_pair);

void
capacity(...)
PPCODE:
    ANSWER(map_capacity);

void
DESTROY(SV *object)
CODE:
    handle_destroy(&map_type, object);

void
_verify(...)
PPCODE:
    ANSWERS(hook_verify);

MODULE = Shared::Arena    PACKAGE = Shared::Arena::Rate

void
allow(...)
PPCODE:
    ANSWER(rate_allow);

void
remaining(...)
PPCODE:
    ANSWER(rate_remaining);

void
retry_after(...)
PPCODE:
    ANSWER(rate_retry_after);

void
headers(...)
PPCODE:
    ANSWERS(rate_headers);

void
reset(...)
PPCODE:
    ANSWER(rate_reset);

void
forget(...)
PPCODE:
    ANSWER(rate_forget);

void
slots(...)
PPCODE:
    ANSWER(rate_slots);

void
stats(...)
PPCODE:
    ANSWERS(rate_stats);

void
DESTROY(SV *object)
CODE:
    handle_destroy(&rate_type, object);
