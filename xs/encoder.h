/* The parts of the encoder, for the files that make it up: encode.c walks,
 * encode_referent.c writes references, encode_scalar.c what is none,
 * encode_guarded.c reads what runs Perl code, encode_path.c says where the walk
 * is. */
#ifndef SHARED_ARENA_ENCODER_H
#define SHARED_ARENA_ENCODER_H

#include "encode.h"
#include "seen.h"

/* Of hash keys: a COPY takes two bytes or more, and a look into the table. */
#define SHORTEST_COPIED 4

/* Bytes of a string's tag and length. */
#define MOST_BEFORE_TEXT 6

/* Something open: its children are being written. */
struct level {
    enum { LEVEL_SCALAR, LEVEL_ARRAY, LEVEL_HASH } kind;
    SV *container;
    SSize_t next;   /* LEVEL_ARRAY: index of the next element; LEVEL_HASH: the next bucket */
    SSize_t count;  /* LEVEL_ARRAY: elements; LEVEL_HASH: pairs still to come */
    size_t weak_at; /* LEVEL_SCALAR: the WEAKEN of the reference to it; 0: none */
    HE *entry;      /* LEVEL_HASH: the entry that was written last */
    bool blessed;   /* LEVEL_SCALAR: its class is written, if it has one */
};

struct encoder {
    sa_writer *writer;
    struct seen seen;
    struct level *levels;
    size_t depth, room; /* of levels: open, and allocated */
    UV hashes;          /* met so far in this document */
    size_t copied;      /* bytes that a reader reads once more: keys and class names */
    bool guarded;       /* Perl code may run: everything is kept and copied first */
    SV *reason;         /* of a refusal: what was met, without the path */
};

/* How writing a value went on; anything but GO_ON ends the walk. */
typedef enum progress { GO_ON, NEEDS_GUARD, REFUSED } progress;

/* Refuses what is being written. */
progress THX_refuse(pTHX_ struct encoder *encoder, const char *format, ...);

/* Opens a level; its children are next. */
progress THX_open_level(pTHX_ struct encoder *encoder, const struct level *level);

/* An array or hash; `referred`: the one reference to it too. Its children are next. */
progress THX_write_array(pTHX_ struct encoder *encoder, AV *array, bool referred);
progress THX_write_hash(pTHX_ struct encoder *encoder, HV *hash, bool referred);

/* Writes a reference and what it points at, the latter's children excepted. */
progress THX_write_reference(pTHX_ struct encoder *encoder, SV *reference);

/* Writes a value that is no reference and had its get-magic. */
progress THX_write_scalar(pTHX_ struct encoder *encoder, SV *value);

/* "{config}{handler}[2]": the child being written, from the top. Mortal. */
SV *THX_encode_path(pTHX_ const struct encoder *encoder);

/* ---- Reading what runs Perl code. Only while encoder->guarded. ---- */

/* Which dereference the object behind a reference overloads: to_hv_amg, to_av_amg, to_sv_amg, or 0. */
int THX_overloaded_dereference(pTHX_ SV *reference);

/* What an object with an overloaded dereference stands for, itself perhaps. Asked once. NULL: refused. */
SV *THX_stood_for(pTHX_ struct encoder *encoder, SV *reference);

/* A plain array or hash of what the container holds now. Mortal, and so is what is in it. */
SV *THX_snapshot(pTHX_ SV *container);

/* Whether what a container holds is not in it: it is tied, or one of @- and @+. */
static inline bool
is_read_by_magic(SV *container)
{
    return SvRMAGICAL(container)
        && (mg_find(container, PERL_MAGIC_tied) || mg_find(container, PERL_MAGIC_regdata));
}

/* ---- What is where ---- */

/* Whether a second way may lead to it: another reference, an alias, or a weak
 * reference, which is not in the count. */
static inline bool
is_shared(const struct encoder *encoder, const SV *thing)
{
    return encoder->guarded || SvREFCNT(thing) > 1
        || (SvTYPE(thing) >= SVt_PVMG && (SvMAGIC(thing) || HASH_HAS_WEAK_REFERENCES(thing)));
}

/* Whether a key or class name is copied, not written once more: a reader allows
 * only so much for the length of the document. */
static inline bool
may_copy(struct encoder *encoder, const HEK *text)
{
    const size_t copied = encoder->copied + (size_t)HEK_LEN(text) + MOST_BEFORE_TEXT;

    if (copied > SA_COPIED_ANYWAY
        && copied > SA_COPIED_PER_BYTE * sa_writer_position(encoder->writer) + SA_COPIED_ANYWAY)
        return FALSE;
    encoder->copied = copied;
    return TRUE;
}

/* What is written next is that thing. */
static inline struct sighting *
THX_see(pTHX_ struct encoder *encoder, const SV *thing, size_t weak_at)
{
    struct sighting *sighting = seen_add(&encoder->seen, thing, sa_writer_position(encoder->writer));

    if (weak_at) {
        sighting->weak_at = weak_at;
        sighting->held = FALSE;
        encoder->seen.has_weak = TRUE;
    }
    return sighting;
}

/* The same for what a reference points at, and whether its class, if it has one, is written already. */
static inline void
THX_see_referent(pTHX_ struct encoder *encoder, const SV *referent, size_t weak_at, bool blessed)
{
    THX_see(aTHX_ encoder, referent, weak_at)->blessed = blessed;
}

#define refuse(encoder, ...)                     THX_refuse(aTHX_ (encoder), __VA_ARGS__)
#define open_level(encoder, level)               THX_open_level(aTHX_ (encoder), (level))
#define write_array(encoder, array, referred)    THX_write_array(aTHX_ (encoder), (array), (referred))
#define write_hash(encoder, hash, referred)      THX_write_hash(aTHX_ (encoder), (hash), (referred))
#define write_reference(encoder, reference)      THX_write_reference(aTHX_ (encoder), (reference))
#define write_scalar(encoder, value)             THX_write_scalar(aTHX_ (encoder), (value))
#define encode_path(encoder)                     THX_encode_path(aTHX_ (encoder))
#define overloaded_dereference(reference)        THX_overloaded_dereference(aTHX_ (reference))
#define stood_for(encoder, reference)            THX_stood_for(aTHX_ (encoder), (reference))
#define snapshot(container)                      THX_snapshot(aTHX_ (container))

#endif
