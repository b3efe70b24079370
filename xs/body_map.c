/* Shared::Arena::Map. */
#include "body.h"
#include "callsite_op.h"
#include "number.h"
#include "options.h"
#include "structure.h"
#include "value.h"

#define MAP "Shared::Arena::Map"
#define TTL_USAGE "[, ttl => seconds | ttl_ms => milliseconds]"

#define VALUE 2 /* its index among the arguments: store reads it by itself */

static const struct method store_method = {
    MAP, "store", "$map->store($key, $value" TTL_USAGE ")", &map_type, 3, ANY_NUMBER
};

/* The value as the bytes to keep, or false when they are too many. `short_text`
 * is where the document of a short string may go. */
static bool
THX_stored_value(pTHX_ struct call *call, struct bytes *key, struct bytes *value, uint8_t *short_text)
{
    size_t room;

    if (!handle_is_serialised(call_handle(call))) {
        if (!THX_has_bytes(aTHX_ call, VALUE, value)) {
            call_own(call, VALUE, key);
            call_value(call, VALUE, value);
        }
        return TRUE;
    }
    if (call_short_text(call, VALUE, value, short_text))
        return TRUE;
    room = sa_map_max_pair(call_native(call, sa_map));
    call_structure(call, VALUE, key->length < room ? room - key->length : 0, key, value);
    return value->start != NULL;
}

/* How a store ended, as a caller is told. */
static IV
THX_stored(pTHX_ sa_status status, const sa_error *error)
{
    switch (status) {
    case SA_OK:        return 1;
    case SA_FULL:      return 0;
    case SA_TOO_LARGE: return -1;
    default:           croak_status(&store_method, status, error);
    }
}

static SV *
THX_store(pTHX_ struct call *call, struct bytes *key)
{
    struct bytes value;
    uint8_t short_text[SA_SHORT_DOCUMENT];
    uint64_t ttl;
    sa_error error;
    sa_status status;
    bool fits;

    fits = THX_stored_value(aTHX_ call, key, &value, short_text);
    ttl = options_ttl(call, 3);
    if (!fits)
        return value_iv(-1);

    ERROR_INIT(error);
    PATIENTLY(status, call, key, &value,
              sa_map_store(call_native(call, sa_map), key->start, key->length, value.start, value.length,
                           ttl, &error));
    structure_stored(&value);
    return value_iv(THX_stored(aTHX_ status, &error));
}

HOT_ENTRY(map_store, store, VALUE)

HOT_OP(map_store, HOT_STORE)
{
    struct quick quick;

    if (is_quick(&quick, site, &map_type, 3) && is_bytes(site->arguments[VALUE]) && !handle_is_serialised(quick.held)) {
        const SV *const value = site->arguments[VALUE];
        sa_error error;
        sa_status status;

        ERROR_INIT(error);
        status = sa_map_store(quick_native(&quick, sa_map), quick.key, quick.length,
                              (const uint8_t *)SvPVX_const(value), SvCUR(value), SA_TTL_NONE, &error);
        if (LIKELY(status != SA_AGAIN))
            return quick_answer(site, THX_set_iv(aTHX_ quick.target, THX_stored(aTHX_ status, &error)));
    }
    return callsite_general(site, &store_method, VALUE, THX_store);
}

static const struct method fetch_method = { MAP, "fetch", "$map->fetch($key)", &map_type, 2, 2 };

static SV *
THX_fetch(pTHX_ struct call *call, struct bytes *key)
{
    handle *const map = call_handle(call);

    if (UNLIKELY(handle_is_serialised(map)))
        return structure_fetch(call, (const sa_map *)map->mg_ptr, key);
    return value_fetch(map, key);
}

HOT_ENTRY(map_fetch, fetch, NONE_OWN)

HOT_OP(map_fetch, HOT_FETCH)
{
    struct quick quick;

    if (is_quick(&quick, site, &map_type, 2) && has_short_room(quick.target) && value_is_short(quick.held)) {
        sa_value value;
        const sa_status status = sa_map_fetch(quick_native(&quick, sa_map), quick.key, quick.length,
                                              (uint8_t *)SvPVX(quick.target), SHORT_LENGTH, &value);

        if (LIKELY(status == SA_OK && value.kind == SA_KIND_BYTES)) {
            finish_short(quick.target, value.length);
            return quick_answer(site, quick.target);
        }
        if (status == SA_ABSENT || status == SA_BUSY)
            return quick_answer(site, NULL);
    }
    return callsite_general(site, &fetch_method, NONE_OWN, THX_fetch);
}

static const struct method exists_method = { MAP, "exists", "$map->exists($key)", &map_type, 2, 2 };

static SV *
THX_exists(pTHX_ struct call *call, struct bytes *key)
{
    return boolSV(sa_map_exists(call_native(call, sa_map), key->start, key->length));
}

HOT_ENTRY(map_exists, exists, NONE_OWN)

HOT_OP(map_exists, HOT_EXISTS)
{
    struct quick quick;

    if (is_quick(&quick, site, &map_type, 2))
        return quick_answer(site, boolSV(sa_map_exists(quick_native(&quick, sa_map), quick.key, quick.length)));
    return callsite_general(site, &exists_method, NONE_OWN, THX_exists);
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

#define ADDEND 2 /* its index among the arguments */

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

static SV *
THX_incr(pTHX_ struct call *call, struct bytes *key)
{
    IV by;
    int64_t now = 0;
    uint64_t ttl;
    sa_error error;
    sa_status status;

    by = THX_increment(aTHX_ call, ADDEND);
    ttl = options_ttl(call, 3);

    ERROR_INIT(error);
    PATIENTLY(status, call, key, NULL,
              sa_map_incr(call_native(call, sa_map), key->start, key->length, by, ttl, &now, &error));
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

HOT_ENTRY(map_incr, incr, NONE_OWN)

HOT_OP(map_incr, HOT_INCR)
{
    struct quick quick;
    IV by = 1;
    bool is_usual = is_quick(&quick, site, &map_type, 2);

    if (!is_usual && is_quick(&quick, site, &map_type, 3) && is_integer(site->arguments[ADDEND])) {
        by = SvIVX(site->arguments[ADDEND]);
        is_usual = TRUE;
    }
    if (LIKELY(is_usual)) {
        int64_t now;

        if (LIKELY(sa_map_count(quick_native(&quick, sa_map), quick.key, quick.length, by, &now)))
            return quick_answer(site, THX_set_iv(aTHX_ quick.target, now));
    }
    return callsite_general(site, &incr_method, NONE_OWN, THX_incr);
}

static const struct method counter_method = { MAP, "counter", "$map->counter($key)", &map_type, 2, 2 };

static SV *
THX_counter(pTHX_ struct call *call, struct bytes *key)
{
    int64_t now = 0;

    if (sa_map_counter(call_native(call, sa_map), key->start, key->length, &now) != SA_OK)
        return &PL_sv_undef;
    return value_iv(now);
}

HOT_ENTRY(map_counter, counter, NONE_OWN)

HOT_OP(map_counter, HOT_COUNTER)
{
    struct quick quick;

    if (is_quick(&quick, site, &map_type, 2)) {
        int64_t now;
        const bool is_there
            = sa_map_counter(quick_native(&quick, sa_map), quick.key, quick.length, &now) == SA_OK;

        return quick_answer(site, is_there ? THX_set_iv(aTHX_ quick.target, now) : &PL_sv_undef);
    }
    return callsite_general(site, &counter_method, NONE_OWN, THX_counter);
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
