/* Shared::Arena::Map. */
#include "body.h"
#include "number.h"
#include "options.h"
#include "structure.h"
#include "value.h"

#define MAP "Shared::Arena::Map"
#define TTL_USAGE "[, ttl => seconds | ttl_ms => milliseconds]"

static const struct method store_method = {
    MAP, "store", "$map->store($key, $value" TTL_USAGE ")", &map_type, 3, ANY_NUMBER
};

#define VALUE 2 /* its index among the arguments */

/* The value as the bytes to keep, or false when they are too many. */
static bool
THX_stored_value(pTHX_ struct call *call, struct bytes *key, struct bytes *value)
{
    const sa_map *map = call_native(call, sa_map);
    size_t room;

    if (!sa_map_serialised(map)) {
        call_own(call, VALUE, key);
        call_value(call, VALUE, value);
        return TRUE;
    }
    room = sa_map_max_pair(map);
    call_structure(call, VALUE, key->length < room ? room - key->length : 0, key, value);
    return value->start != NULL;
}

SV *
THX_map_store(pTHX_ I32 ax, I32 items)
{
    struct call call;
    struct bytes key, value;
    uint64_t ttl;
    sa_error error;
    sa_status status;
    bool fits;

    begin_keyed_but(&call, &store_method, ax, items, &key, VALUE);
    fits = THX_stored_value(aTHX_ &call, &key, &value);
    ttl = options_ttl(&call, 3);
    if (!fits)
        return value_iv(-1);

    ERROR_INIT(error);
    PATIENTLY(status, &call, &key, &value,
              sa_map_store(call_native(&call, sa_map), key.start, key.length, value.start, value.length,
                           ttl, &error));
    structure_stored(&value);
    switch (status) {
    case SA_OK:        return value_iv(1);
    case SA_FULL:      return value_iv(0);
    case SA_TOO_LARGE: return value_iv(-1);
    default:           croak_status(&store_method, status, &error);
    }
}

static const struct method fetch_method = { MAP, "fetch", "$map->fetch($key)", &map_type, 2, 2 };

SV *
THX_map_fetch(pTHX_ I32 ax, I32 items)
{
    struct call call;
    struct bytes key;
    handle *map;

    begin_keyed(&call, &fetch_method, ax, items, &key);
    map = call_handle(&call);
    if (sa_map_serialised((const sa_map *)map->mg_ptr))
        return structure_fetch(&call, (const sa_map *)map->mg_ptr, &key);
    return value_fetch(map, &key);
}

static const struct method exists_method = { MAP, "exists", "$map->exists($key)", &map_type, 2, 2 };

SV *
THX_map_exists(pTHX_ I32 ax, I32 items)
{
    struct call call;
    struct bytes key;

    begin_keyed(&call, &exists_method, ax, items, &key);
    return boolSV(sa_map_exists(call_native(&call, sa_map), key.start, key.length));
}

static const struct method delete_method = { MAP, "delete", "$map->delete($key)", &map_type, 2, 2 };

SV *
THX_map_delete(pTHX_ I32 ax, I32 items)
{
    struct call call;
    struct bytes key;
    sa_error error;
    sa_status status;

    begin_keyed(&call, &delete_method, ax, items, &key);
    ERROR_INIT(error);
    PATIENTLY(status, &call, &key, NULL,
              sa_map_delete(call_native(&call, sa_map), key.start, key.length, &error));
    if (status != SA_OK && status != SA_ABSENT)
        croak_status(&delete_method, status, &error);
    return value_iv(status == SA_OK);
}

static const struct method incr_method = {
    MAP, "incr", "$map->incr($key[, $by" TTL_USAGE "])", &map_type, 2, ANY_NUMBER
};

static IV
THX_increment(pTHX_ const struct call *call, I32 index)
{
    struct number number;
    IV by;

    if (!call_has(call, index))
        return 1;
    number_read(call_argument(call, index), &number);
    if (!number_signed(&number, &by))
        croak_method(call->method, "the addend %" SVf " is not a signed 64-bit integer; usage: %s",
                     SVfARG(croak_shown(number.given)), call->method->usage);
    return by;
}

SV *
THX_map_incr(pTHX_ I32 ax, I32 items)
{
    struct call call;
    struct bytes key;
    IV by;
    int64_t now = 0;
    uint64_t ttl;
    sa_error error;
    sa_status status;

    begin_keyed(&call, &incr_method, ax, items, &key);
    by = THX_increment(aTHX_ &call, 2);
    ttl = options_ttl(&call, 3);

    ERROR_INIT(error);
    PATIENTLY(status, &call, &key, NULL,
              sa_map_incr(call_native(&call, sa_map), key.start, key.length, by, ttl, &now, &error));
    switch (status) {
    case SA_OK:
        return value_iv(now);
    case SA_FULL: case SA_TOO_LARGE: case SA_NOT_COUNTER:
        return &PL_sv_undef;
    case SA_INVALID: /* the one thing it can be */
        croak("%s: %" SVf, MAP, SVfARG(croak_reason(status, &error)));
    default:
        croak_status(&incr_method, status, &error);
    }
}

static const struct method counter_method = { MAP, "counter", "$map->counter($key)", &map_type, 2, 2 };

SV *
THX_map_counter(pTHX_ I32 ax, I32 items)
{
    struct call call;
    struct bytes key;
    int64_t now = 0;

    begin_keyed(&call, &counter_method, ax, items, &key);
    if (sa_map_counter(call_native(&call, sa_map), key.start, key.length, &now) != SA_OK)
        return &PL_sv_undef;
    return value_iv(now);
}

/* ---- The whole map ---- */

static const struct method keys_method = { MAP, "keys", "$map->keys()", &map_type, 1, 1 };

void
THX_map_keys(pTHX_ I32 ax, I32 items)
{
    const sa_map *native = bare_call(&keys_method, ax, items);
    const bool listing = GIMME_V == G_LIST;
    SV *room = sv_2mortal(newSV(sa_map_max_pair(native))); /* for the longest key there can be */
    SV **sp = PL_stack_base + ax - 1;
    uint64_t cursor = 0;
    size_t length = 0;
    UV count = 0;

    while (sa_map_next_key(native, &cursor, (uint8_t *)SvPVX(room), SvLEN(room), &length) == SA_OK) {
        count++;
        if (listing)
            mXPUSHp(SvPVX(room), length);
    }
    if (!listing)
        XPUSHs(value_uv(count));
    PUTBACK;
}

static const struct method stats_method = { MAP, "stats", "$map->stats()", &map_type, 1, 1 };

void
THX_map_stats(pTHX_ I32 ax, I32 items)
{
    struct call call;
    sa_map_figures now;
    sa_error error;
    sa_status status;

    begin_method(&call, &stats_method, ax, items);
    ERROR_INIT(error);
    PATIENTLY(status, &call, NULL, NULL, sa_map_stats(call_native(&call, sa_map), &now, &error));
    if (status != SA_OK)
        croak_status(&stats_method, status, &error);
    {
        const struct figure figures[] = {
            WHOLE_FIGURE("used", now.used),       WHOLE_FIGURE("capacity", now.capacity),
            WHOLE_FIGURE("tombstones", now.tombstones), WHOLE_FIGURE("busy", now.busy),
            WHOLE_FIGURE("full", now.full),       WHOLE_FIGURE("expired", now.expired),
        };
        value_figures(&call, figures, (int)C_ARRAY_LENGTH(figures));
    }
}

static const struct method serialised_method = { MAP, "serialised", "$map->serialised()", &map_type, 1, 1 };

SV *
THX_map_serialised(pTHX_ I32 ax, I32 items)
{
    return boolSV(sa_map_serialised(bare_call(&serialised_method, ax, items)));
}

static const struct method max_pair_method = { MAP, "max_pair", "$map->max_pair()", &map_type, 1, 1 };

SV *
THX_map_max_pair(pTHX_ I32 ax, I32 items)
{
    return value_uv(sa_map_max_pair(bare_call(&max_pair_method, ax, items)));
}

static const struct method capacity_method = { MAP, "capacity", "$map->capacity()", &map_type, 1, 1 };

SV *
THX_map_capacity(pTHX_ I32 ax, I32 items)
{
    return value_uv(sa_map_capacity(bare_call(&capacity_method, ax, items)));
}
