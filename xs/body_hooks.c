/* What the tests reach for: a clock that stands still, failure on demand, and
 * a map's own word on whether it is whole. Not documented, not for programs. */
#include "body.h"
#include "callsite.h"
#include "codec.h"
#include "decode.h"
#include "number.h"
#include "structure.h"
#include "value.h"

#define NANOSECONDS 1e9
#define LONGEST_SECONDS 18446744073.0 /* what 64 bits of nanoseconds can say */

/* Seconds to nanoseconds, whole part and fraction apart so that neither costs
 * the other its digits. False for undef. */
static bool
THX_nanoseconds(pTHX_ const struct call *call, I32 index, uint64_t *nanoseconds)
{
    struct number number;
    NV seconds;
    uint64_t whole;

    *nanoseconds = 0;
    number_read(call_argument(call, index), &number);
    if (!SvOK(number.given))
        return FALSE;
    if (!number_real(&number, 0, LONGEST_SECONDS, &seconds))
        croak_method(call->method, "%" SVf " is no number of seconds", SVfARG(croak_shown(number.given)));
    whole = (uint64_t)seconds;
    *nanoseconds = whole * (uint64_t)NANOSECONDS + (uint64_t)((seconds - (NV)whole) * NANOSECONDS + 0.5);
    return TRUE;
}

static const struct method set_clock_method = {
    "Shared::Arena", "_set_clock", "Shared::Arena::_set_clock($wall, $monotonic)", NULL, 2, 2
};

SV *
THX_hook_set_clock(pTHX_ I32 ax, I32 items)
{
    struct call call;
    uint64_t wall, monotonic;
    bool wall_stands, monotonic_stands;

    begin_function(&call, &set_clock_method, ax, items);
    wall_stands = THX_nanoseconds(aTHX_ &call, 0, &wall);
    monotonic_stands = THX_nanoseconds(aTHX_ &call, 1, &monotonic);
    sa_test_set_clock(wall_stands, wall, monotonic_stands, monotonic);
    return NULL;
}

static const struct method clock_reads_method = {
    "Shared::Arena", "_clock_reads", "Shared::Arena::_clock_reads()", NULL, 0, 0
};

SV *
THX_hook_clock_reads(pTHX_ I32 ax, I32 items)
{
    struct call call;

    begin_function(&call, &clock_reads_method, ax, items);
    return value_uv(sa_test_clock_reads());
}

static const struct method call_sites_method = {
    "Shared::Arena", "_call_sites", "Shared::Arena::_call_sites()", NULL, 0, 0
};

SV *
THX_hook_call_sites(pTHX_ I32 ax, I32 items)
{
    struct call call;

    begin_function(&call, &call_sites_method, ax, items);
    return value_uv(callsite_count());
}

static const struct method lock_patience_method = {
    "Shared::Arena", "_lock_patience", "Shared::Arena::_lock_patience($seconds)", NULL, 1, 1
};

SV *
THX_hook_lock_patience(pTHX_ I32 ax, I32 items)
{
    struct call call;
    uint64_t nanoseconds;

    begin_function(&call, &lock_patience_method, ax, items);
    if (!THX_nanoseconds(aTHX_ &call, 0, &nanoseconds))
        croak_usage(&lock_patience_method);
    sa_test_lock_patience(nanoseconds / 1000000);
    return NULL;
}

static const struct method failpoints_method = {
    "Shared::Arena", "_failpoints", "Shared::Arena::_failpoints()", NULL, 0, 0
};

SV *
THX_hook_failpoints(pTHX_ I32 ax, I32 items)
{
    struct call call;

    begin_function(&call, &failpoints_method, ax, items);
    return boolSV(sa_test_failpoints());
}

static const struct method failpoint_names_method = {
    "Shared::Arena", "_failpoint_names", "Shared::Arena::_failpoint_names()", NULL, 0, 0
};

void
THX_hook_failpoint_names(pTHX_ I32 ax, I32 items)
{
    struct call call;
    SV **sp;
    const char *name;
    size_t length;
    uint32_t index;

    begin_function(&call, &failpoint_names_method, ax, items);
    sp = PL_stack_base + ax - 1;
    for (index = 0; (name = sa_test_failpoint_name(index, &length)); index++)
        mXPUSHp(name, length);
    PUTBACK;
}

static const struct method failpoint_method = {
    "Shared::Arena", "_failpoint", "Shared::Arena::_failpoint($name, 'off' | 'kill' | 'stop')", NULL, 2, 2
};

/* The order is the core's numbering. */
static const char *const actions[] = { "off", "kill", "stop" };

static uint32_t
THX_action(pTHX_ const struct bytes *wanted)
{
    uint32_t index;

    for (index = 0; index < C_ARRAY_LENGTH(actions); index++)
        if (strlen(actions[index]) == wanted->length
            && memcmp(actions[index], wanted->start, wanted->length) == 0)
            return index;
    croak_usage(&failpoint_method);
}

SV *
THX_hook_failpoint(pTHX_ I32 ax, I32 items)
{
    struct call call;
    struct bytes name, wanted;
    uint32_t action;
    sa_error error;
    sa_status status;

    begin_function(&call, &failpoint_method, ax, items);
    call_bytes(&call, 0, &name);
    call_bytes(&call, 1, &wanted);
    action = THX_action(aTHX_ &wanted);
    ERROR_INIT(error);
    status = sa_test_failpoint((const char *)name.start, name.length, action, &error);
    if (status != SA_OK)
        croak_status(&failpoint_method, status, &error);
    return NULL;
}

static const struct method verify_method = {
    "Shared::Arena::Map", "_verify", "$map->_verify()", &map_type, 1, 1
};

void
THX_hook_verify(pTHX_ I32 ax, I32 items)
{
    SV **sp;
    struct call call;
    sa_error error;
    sa_status status;

    begin_method(&call, &verify_method, ax, items);
    ERROR_INIT(error);
    PATIENTLY(status, &call, NULL, NULL, sa_map_verify(call_native(&call, sa_map), &error));
    if (status != SA_OK && status != SA_CORRUPT)
        croak_status(&verify_method, status, &error);

    sp = PL_stack_base + ax - 1;
    EXTEND(SP, 4);
    mPUSHs(newSVpvs("ok"));
    mPUSHi(status == SA_OK);
    if (status == SA_CORRUPT) {
        mPUSHs(newSVpvs("problem"));
        mPUSHp(error.text, error.length);
    }
    PUTBACK;
}

/* ---- Documents of serialised maps, without a map ---- */

static const struct method encode_method = {
    "Shared::Arena", "_encode", "Shared::Arena::_encode($value)", NULL, 1, 1
};

SV *
THX_hook_encode(pTHX_ I32 ax, I32 items)
{
    struct call call;
    struct bytes document;

    begin_function(&call, &encode_method, ax, items);
    call_structure(&call, 0, SA_MAX_SLOT_SIZE, NULL, &document);
    if (!document.start)
        return NULL;
    return newSVpvn_flags((const char *)document.start, document.length, SVs_TEMP);
}

static const struct method decode_method = {
    "Shared::Arena", "_decode", "Shared::Arena::_decode($document)", NULL, 1, 1
};

SV *
THX_hook_decode(pTHX_ I32 ax, I32 items)
{
    struct call call;
    struct bytes document;
    SV *value, *reason = NULL;

    begin_function(&call, &decode_method, ax, items);
    call_bytes(&call, 0, &document);
    if (document.length > SA_MAX_SLOT_SIZE)
        croak_method(&decode_method, "too long");
    call_keep(&call, &document, NULL);
    codec_decoder()->call = NULL;
    value = decode(codec_decoder(), document.start, document.length, &reason);
    if (!value)
        croak_method(&decode_method, "the value is corrupt: %" SVf, SVfARG(reason));
    return value;
}
