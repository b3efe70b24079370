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

#if defined(__GNUC__)
#define FORCE_INLINE inline __attribute__((always_inline))
#define NOT_INLINE __attribute__((noinline))
#define HIDDEN __attribute__((visibility("hidden"))) /* of this library: no detour to its address */
#else
#define FORCE_INLINE inline
#define NOT_INLINE
#define HIDDEN
#endif

#ifndef G_LIST /* its name before 5.36 */
#define G_LIST G_ARRAY
#endif

#ifndef PERL_VERSION_GE /* 5.28 and up */
#define PERL_VERSION_GE(revision, version, subversion)                              \
    (PERL_REVISION * 1000000 + PERL_VERSION * 1000 + PERL_SUBVERSION                \
     >= (revision) * 1000000 + (version) * 1000 + (subversion))
#endif

#ifndef HvHasAUX /* before 5.38 */
#define HvHasAUX(hash)   SvOOK(hash)
#endif

/* Of anything but a hash, weak references make magic. */
#define HASH_HAS_WEAK_REFERENCES(thing) \
    (SvTYPE(thing) == SVt_PVHV && HvHasAUX(thing) && HvAUX((HV *)(thing))->xhv_backreferences)

#ifndef SvREFCNT_dec_NN /* 5.18 and up */
#define SvREFCNT_dec_NN(thing)   SvREFCNT_dec(thing)
#endif

#if PERL_VERSION_GE(5, 19, 4) /* what an array holds where no element is */
#define NO_ELEMENT   NULL
#else
#define NO_ELEMENT   (&PL_sv_undef)
#endif

#ifdef PERL_MAGIC_nonelem /* 5.28 and up: a hole that a sub, map or grep was given as an argument */
#define IS_NO_ELEMENT(element)   (SvSMAGICAL(element) && mg_find((element), PERL_MAGIC_nonelem))
#else
#define IS_NO_ELEMENT(element)   FALSE
#endif

#ifdef HvSTASH_IS_CLASS /* 5.38 and up: made by `class`, closed to bless */
#define IS_FEATURE_CLASS(stash)   HvSTASH_IS_CLASS(stash)
#else
#define IS_FEATURE_CLASS(stash)   FALSE
#endif

#ifndef OpHAS_SIBLING /* 5.21.11 and up */
#define OpHAS_SIBLING(op)   cBOOL((op)->op_sibling)
#define OpSIBLING(op)       ((op)->op_sibling)
#endif

#include "shared_arena.h"

/* Whether those bytes may bear the UTF-8 flag. Perl's own function takes a
 * length of 0 for "up to the NUL". */
static inline bool
is_utf8(const char *start, STRLEN length)
{
    return length == 0 || is_utf8_string((const U8 *)start, length);
}

/* Functions that one file of this directory offers to another come in pairs:
 * THX_name takes the interpreter, the macro name() passes the one at hand. */

#endif
