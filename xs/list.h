/* A list of scalars that keeps its memory from use to use. It owns no counts. */
#ifndef SHARED_ARENA_LIST_H
#define SHARED_ARENA_LIST_H

#include "compat.h"

/* What one huge document made longer than this is not kept. */
#define MOST_KEPT_ITEMS 16384

struct list {
    SV **items;
    size_t count, room;
};

static inline void
THX_list_reserve(pTHX_ struct list *list, size_t count)
{
    if (count <= list->room)
        return;
    list->room = count < 32 ? 32 : 2 * count;
    Renew(list->items, list->room, SV *);
}

static inline void
THX_list_push(pTHX_ struct list *list, SV *item)
{
    THX_list_reserve(aTHX_ list, list->count + 1);
    list->items[list->count++] = item;
}

static inline void
THX_list_release(pTHX_ struct list *list)
{
    Safefree(list->items);
    Zero(list, 1, struct list);
}

static inline void
THX_list_empty(pTHX_ struct list *list)
{
    list->count = 0;
    if (list->room > MOST_KEPT_ITEMS)
        THX_list_release(aTHX_ list);
}

#define list_reserve(list, count)   THX_list_reserve(aTHX_ (list), (count))
#define list_push(list, item)       THX_list_push(aTHX_ (list), (item))
#define list_release(list)          THX_list_release(aTHX_ (list))
#define list_empty(list)            THX_list_empty(aTHX_ (list))

#endif
