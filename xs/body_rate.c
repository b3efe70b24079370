/* Shared::Arena::Rate. */
#include "body.h"
#include "callsite_op.h"
#include "number.h"
#include "value.h"

#define RATE "Shared::Arena::Rate"

/* What a request costs when that is not said. */
#define ONE_REQUEST 1.0
#define QUICK_REQUEST(quick)   quick_native(quick, sa_rate), (quick)->key, (quick)->length, ONE_REQUEST

static NV
THX_cost(pTHX_ const struct call *call, I32 index)
{
    struct number number;
    NV cost;

    if (!call_has(call, index))
        return ONE_REQUEST;
    number_read(call_argument(call, index), &number);
    if (!number_real(&number, 0, DBL_MAX, &cost))
        croak_method(call->method, "the cost must be a finite number, 0 or more, not %" SVf,
                     SVfARG(croak_shown(number.given)));
    return cost;
}

static const struct method allow_method = { RATE, "allow", "$rate->allow($key[, $cost])", &rate_type, 2, 3 };

static SV *
THX_allow(pTHX_ struct call *call, struct bytes *key)
{
    const NV cost = THX_cost(aTHX_ call, 2);

    return value_iv(sa_rate_allow(call_native(call, sa_rate), key->start, key->length, (double)cost));
}

HOT_ENTRY(rate_allow, allow, NONE_OWN)

HOT_OP(rate_allow, HOT_ALLOW)
{
    struct quick quick;

    if (is_quick(&quick, site, &rate_type, 2))
        return quick_answer(site, THX_set_iv(aTHX_ quick.target, sa_rate_allow(QUICK_REQUEST(&quick))));
    return callsite_general(site, &allow_method, NONE_OWN, THX_allow);
}

static const struct method remaining_method = {
    RATE, "remaining", "$rate->remaining($key[, $cost])", &rate_type, 2, 3
};

static SV *
THX_remaining(pTHX_ struct call *call, struct bytes *key)
{
    const NV cost = THX_cost(aTHX_ call, 2);

    return value_nv(sa_rate_remaining(call_native(call, sa_rate), key->start, key->length, (double)cost));
}

HOT_ENTRY(rate_remaining, remaining, NONE_OWN)

HOT_OP(rate_remaining, HOT_REMAINING)
{
    struct quick quick;

    if (is_quick(&quick, site, &rate_type, 2))
        return quick_answer(site, THX_set_nv(aTHX_ quick.target, sa_rate_remaining(QUICK_REQUEST(&quick))));
    return callsite_general(site, &remaining_method, NONE_OWN, THX_remaining);
}

static const struct method retry_after_method = {
    RATE, "retry_after", "$rate->retry_after($key[, $cost])", &rate_type, 2, 3
};

static SV *
THX_retry_after(pTHX_ struct call *call, struct bytes *key)
{
    const NV cost = THX_cost(aTHX_ call, 2);

    return value_nv(sa_rate_retry_after(call_native(call, sa_rate), key->start, key->length, (double)cost));
}

HOT_ENTRY(rate_retry_after, retry_after, NONE_OWN)

HOT_OP(rate_retry_after, HOT_RETRY_AFTER)
{
    struct quick quick;

    if (is_quick(&quick, site, &rate_type, 2))
        return quick_answer(site, THX_set_nv(aTHX_ quick.target, sa_rate_retry_after(QUICK_REQUEST(&quick))));
    return callsite_general(site, &retry_after_method, NONE_OWN, THX_retry_after);
}

static const struct method headers_method = {
    RATE, "headers", "$rate->headers($key[, $cost])", &rate_type, 2, 3
};

void
THX_rate_headers(pTHX_ I32 ax, I32 items)
{
    struct call call;
    struct bytes key;
    sa_rate_outlook now;
    NV cost;
    bool is_refused;

    begin_keyed(&call, &headers_method, ax, items, &key);
    cost = THX_cost(aTHX_ &call, 2);
    Zero(&now, 1, sa_rate_outlook);
    sa_rate_look(call_native(&call, sa_rate), key.start, key.length, (double)cost, &now);
    /* What is never allowed has no time to come back at. */
    is_refused = now.retry_after != 0 && now.retry_after != SA_NEVER;
    {
        const struct figure figures[] = {
            WHOLE_FIGURE("RateLimit-Limit", now.limit),
            WHOLE_FIGURE("RateLimit-Remaining", now.remaining),
            WHOLE_FIGURE("RateLimit-Reset", now.reset),
            WHOLE_FIGURE("Retry-After", now.retry_after),
        };
        value_figures(&call, figures, (int)C_ARRAY_LENGTH(figures) - (is_refused ? 0 : 1));
    }
}

static const struct method reset_method = { RATE, "reset", "$rate->reset($key)", &rate_type, 2, 2 };

SV *
THX_rate_reset(pTHX_ I32 ax, I32 items)
{
    struct call call;
    struct bytes key;

    begin_keyed(&call, &reset_method, ax, items, &key);
    return value_iv(sa_rate_reset(call_native(&call, sa_rate), key.start, key.length));
}

static const struct method forget_method = { RATE, "forget", "$rate->forget($key)", &rate_type, 2, 2 };

SV *
THX_rate_forget(pTHX_ I32 ax, I32 items)
{
    struct call call;
    struct bytes key;

    begin_keyed(&call, &forget_method, ax, items, &key);
    return value_iv(sa_rate_forget(call_native(&call, sa_rate), key.start, key.length));
}

static const struct method slots_method = { RATE, "slots", "$rate->slots()", &rate_type, 1, 1 };

SV *
THX_rate_slots(pTHX_ I32 ax, I32 items)
{
    return value_uv(sa_rate_slots(bare_call(&slots_method, ax, items)));
}

static const struct method stats_method = { RATE, "stats", "$rate->stats()", &rate_type, 1, 1 };

void
THX_rate_stats(pTHX_ I32 ax, I32 items)
{
    struct call call;
    sa_rate_figures now;

    begin_method(&call, &stats_method, ax, items);
    Zero(&now, 1, sa_rate_figures);
    sa_rate_stats(call_native(&call, sa_rate), &now);
    {
        const struct figure figures[] = {
            REAL_FIGURE("limit", now.limit),       REAL_FIGURE("window", now.window),
            WHOLE_FIGURE("slots", now.slots),      WHOLE_FIGURE("keys", now.keys),
            WHOLE_FIGURE("allowed", now.allowed),  WHOLE_FIGURE("denied", now.denied),
            WHOLE_FIGURE("evicted", now.evicted),  WHOLE_FIGURE("contended", now.contended),
        };
        value_figures(&call, figures, (int)C_ARRAY_LENGTH(figures));
    }
}
