/* Counts a call's arguments, finds its object, and turns what perl has for a
 * string into the bytes that the core compares and keeps. */
#include "args.h"
#include "number.h"

/* The stack does not own what lies on it. */
static void
THX_keep_arguments(pTHX_ const struct call *call)
{
    I32 index;

    for (index = 0; index < call->items; index++)
        sv_2mortal(SvREFCNT_inc_simple_NN(call_argument(call, index)));
}

/* `first`: index of the first argument that is not the invocant. */
static void
THX_begin(pTHX_ struct call *call, const struct method *method, I32 ax, I32 items, I32 first, I32 own)
{
    I32 index;

    if (items < method->least || items > method->most)
        croak_usage(method);
    call->method = method;
    call->ax = ax;
    call->items = items;
    call->object = NULL;
    call->held = NULL;
    call->copying = first && SvGMAGICAL(call_argument(call, 0));
    for (index = first; index < items && !call->copying; index++)
        call->copying = index != own && !is_plain(call_argument(call, index));
    if (call->copying)
        THX_keep_arguments(aTHX_ call);
}

static void
THX_croak_not_live(pTHX_ const struct call *call)
{
    croak_method(call->method, "not a live %s object", call->method->type->class_name);
}

void
THX_begin_method(pTHX_ struct call *call, const struct method *method, I32 ax, I32 items, I32 own)
{
    SV *invocant;

    THX_begin(aTHX_ call, method, ax, items, 1, own);
    invocant = call_argument(call, 0);
    SvGETMAGIC(invocant);
    if (SvROK(invocant))
        call->held = handle_of(SvRV(invocant), method->type);
    if (!call->held)
        THX_croak_not_live(aTHX_ call);
    call->object = SvRV(invocant);
    if (call->copying)
        sv_2mortal(SvREFCNT_inc_simple_NN(call->object));
}

const void *
THX_bare_call(pTHX_ const struct method *method, I32 ax, I32 items)
{
    struct call call;

    THX_begin_method(aTHX_ &call, method, ax, items, NONE_OWN);
    return call_native(&call, void);
}

HV *
THX_begin_class(pTHX_ struct call *call, const struct method *method, I32 ax, I32 items)
{
    SV *invocant;

    THX_begin(aTHX_ call, method, ax, items, 1, NONE_OWN);
    invocant = call_argument(call, 0);
    if (SvGMAGICAL(invocant))
        invocant = sv_mortalcopy(invocant);
    if (SvROK(invocant))
        croak_method(method, "a class method, called on an object");
    if (!SvPOK(invocant) || !sv_derived_from(invocant, method->class_name))
        croak_method(method, "%" SVf " is not a class derived from %s",
                     SVfARG(croak_shown(invocant)), method->class_name);
    return gv_stashsv(invocant, GV_ADD);
}

void
THX_begin_function(pTHX_ struct call *call, const struct method *method, I32 ax, I32 items)
{
    THX_begin(aTHX_ call, method, ax, items, 0, NONE_OWN);
}

handle *
THX_call_handle_again(pTHX_ const struct call *call)
{
    handle *found = handle_of(call->object, call->method->type);

    if (!found || !found->mg_ptr)
        THX_croak_not_live(aTHX_ call);
    return found;
}

/* An integer's text without leaving it on the caller's scalar, as perl's own
 * conversion would. */
static void
set_integer_text(struct bytes *bytes, IV integer)
{
    char *end = bytes->digits + sizeof bytes->digits;
    char *start = end;
    UV left = integer < 0 ? -(UV)integer : (UV)integer;

    do
        *--start = (char)('0' + left % 10);
    while (left /= 10);
    if (integer < 0)
        *--start = '-';
    bytes->start = (const uint8_t *)start;
    bytes->length = (STRLEN)(end - start);
}

static bool
has_byte_above_127(const char *start, STRLEN length)
{
    while (length--)
        if ((U8)*start++ > 127)
            return TRUE;
    return FALSE;
}

/* Strings are equal or not by their characters; the UTF-8 flag is perl's
 * business. So a flagged string is downgraded, and stays UTF-8 only when it
 * holds a character that no byte can. */
static void
THX_set_text(pTHX_ const struct call *call, SV *argument, struct bytes *bytes)
{
    STRLEN length;
    const char *start = SvPV_nomg(argument, length); /* before SvUTF8: overloading sets it */
    bool downgrade = SvUTF8(argument) && has_byte_above_127(start, length);

    if (downgrade || call->copying) {
        SV *copy = newSVpvn_flags(start, length, SVs_TEMP | (downgrade ? SVf_UTF8 : 0));
        if (downgrade)
            sv_utf8_downgrade(copy, TRUE);
        start = SvPV_nomg(copy, length);
    }
    bytes->start = (const uint8_t *)start;
    bytes->length = length;
}

/* `argument` had its get-magic. */
static void
THX_set_bytes(pTHX_ const struct call *call, SV *argument, struct bytes *bytes)
{
    if (SvPOK(argument))
        THX_set_text(aTHX_ call, argument, bytes);
    else if (SvIOK(argument) && !SvNOK(argument) && !SvIsUV(argument) && !SvROK(argument))
        set_integer_text(bytes, SvIVX(argument));
    else /* on a copy, which the text may stay on */
        THX_set_text(aTHX_ call, sv_mortalcopy(argument), bytes);
}

void
THX_call_own(pTHX_ struct call *call, I32 index, struct bytes *key)
{
    if (!call->copying && !is_plain(call_argument(call, index)))
        call_keep(call, key, NULL);
}

void
THX_read_bytes(pTHX_ const struct call *call, I32 index, struct bytes *bytes)
{
    SV *argument = call_argument(call, index);

    if (SvGMAGICAL(argument))
        argument = sv_mortalcopy(argument);
    THX_set_bytes(aTHX_ call, argument, bytes);
}

bool
THX_read_value(pTHX_ const struct call *call, I32 index, struct bytes *bytes)
{
    SV *argument = call_argument(call, index);

    if (SvGMAGICAL(argument))
        argument = sv_mortalcopy(argument);
    if (!SvOK(argument)) {
        bytes->start = NULL;
        bytes->length = 0;
        return FALSE;
    }
    THX_set_bytes(aTHX_ call, argument, bytes);
    return TRUE;
}

UV
THX_call_whole(pTHX_ const struct call *call, I32 index, const char *name, UV least, UV most)
{
    struct number number;
    UV whole;

    number_read(call_argument(call, index), &number);
    if (!number_whole(&number, least, most, &whole))
        croak_method(call->method, "%s must be a whole number from %" UVuf " to %" UVuf ", not %" SVf,
                     name, least, most, SVfARG(croak_shown(number.given)));
    return whole;
}

/* Into a copy that no handler can reach; those in `digits` are one. */
static void
THX_keep_bytes(pTHX_ struct bytes *bytes)
{
    if (!bytes || !bytes->start
        || (bytes->start >= (const uint8_t *)bytes->digits
            && bytes->start < (const uint8_t *)bytes->digits + sizeof bytes->digits))
        return;
    bytes->start = (const uint8_t *)SvPVX(newSVpvn_flags((const char *)bytes->start, bytes->length, SVs_TEMP));
}

void
THX_call_keep(pTHX_ struct call *call, struct bytes *first, struct bytes *second)
{
    if (!call->copying) {
        call->copying = TRUE;
        THX_keep_arguments(aTHX_ call);
        if (call->object)
            sv_2mortal(SvREFCNT_inc_simple_NN(call->object));
    }
    THX_keep_bytes(aTHX_ first);
    THX_keep_bytes(aTHX_ second);
}

void
THX_call_pause(pTHX_ struct call *call, struct bytes *first, struct bytes *second)
{
    if (!call->copying)
        THX_call_keep(aTHX_ call, first, second);
    PERL_ASYNC_CHECK();
}

SV *
THX_bytes_shown(pTHX_ const struct bytes *bytes)
{
    return croak_shown(newSVpvn_flags((const char *)bytes->start, bytes->length, SVs_TEMP));
}
