/* What a decoder keeps while it builds a value, and between values. */
#ifndef SHARED_ARENA_DECODER_H
#define SHARED_ARENA_DECODER_H

#include "args.h"
#include "list.h"

/* How many items are asked for at once. */
#define ITEMS 64

struct decoder {
    sa_reader *reader;
    sa_item items[ITEMS];
    uint8_t *document;    /* room for a document, copied out of shared memory */
    size_t room;
    SV *root;             /* what is being built, until it is whole */
    struct list open;     /* at each depth, what the next deeper item goes into */
    struct list tracked;  /* by the reader's numbers; counted */
    struct list objects;  /* reference and stash in turn, to bless at the end; counted */
    struct list weak;     /* references to weaken at the end; counted */
    struct call *call;    /* on whose behalf, and its key; NULL: nobody's */
    struct bytes *key;
};

/* Room for a document of that length. */
uint8_t *THX_decoder_document(pTHX_ struct decoder *decoder, size_t length);

/* Gives back the counts of a list, and empties it. */
void THX_list_let_go(pTHX_ struct list *counted);

/* Gives back what was only for a large document. */
void THX_decoder_trim(pTHX_ struct decoder *decoder);

/* Lets go of everything that belongs to one document. If the value was not
 * finished, it is taken apart without leaving a cycle. */
void THX_decoder_finish(pTHX_ struct decoder *decoder);

#define list_let_go(counted)                THX_list_let_go(aTHX_ (counted))
#define decoder_document(decoder, length)   THX_decoder_document(aTHX_ (decoder), (length))
#define decoder_trim(decoder)               THX_decoder_trim(aTHX_ (decoder))
#define decoder_finish(decoder)             THX_decoder_finish(aTHX_ (decoder))

#endif
