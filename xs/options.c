/* Reads a call's options in two passes: first every name, so that a mistake
 * among them is found before any value is looked at, then the values. */
#include "options.h"
#include "number.h"

static void
set_standard(const struct option_spec *spec, struct option_value *value)
{
    value->given = FALSE;
    switch (spec->kind) {
    case OPTION_WHOLE: value->is.whole = spec->is.whole.standard; break;
    case OPTION_REAL:  value->is.real = spec->is.real.standard; break;
    case OPTION_FLAG:  value->is.flag = FALSE; break;
    case OPTION_NAME:  value->is.name.start = NULL; value->is.name.length = 0; break;
    case OPTION_SPAN:  value->is.milliseconds = SA_TTL_NONE; break;
    }
}

/* An odd list is more often a call that forgot an argument, or wrapped the
 * pairs in a hash, than a forgotten value: the usage shows which. */
static void
THX_check_pairs(pTHX_ const struct call *call, I32 first)
{
    const I32 count = call->items - first;
    SV *last;

    if (count % 2 == 0)
        return;
    last = call_argument(call, call->items - 1);
    if (SvGMAGICAL(last))
        last = sv_mortalcopy(last);
    if (count == 1 && SvROK(last))
        croak_method(call->method, "options are a list of pairs, not a reference; usage: %s",
                     call->method->usage);
    croak_method(call->method, "options come in pairs, and %" SVf " has no value; usage: %s",
                 SVfARG(croak_shown(last)), call->method->usage);
}

/* "slots, slot_size, serialise". Mortal. */
static SV *
THX_known(pTHX_ const struct option_spec *specs, int count)
{
    SV *names = newSVpvn_flags("", 0, SVs_TEMP);
    int place;

    for (place = 0; place < count; place++)
        sv_catpvf(names, "%s%s", place ? ", " : "", specs[place].name);
    return names;
}

/* Place of the name in the table, or a croak. */
static int
THX_find_spec(pTHX_ const struct call *call, I32 index, const struct option_spec *specs, int count)
{
    struct bytes name;
    int place;

    call_bytes(call, index, &name);
    for (place = 0; place < count; place++)
        if (strlen(specs[place].name) == name.length
            && memcmp(specs[place].name, name.start, name.length) == 0)
            return place;
    croak_method(call->method, "unknown option %" SVf " (known: %" SVf ")", SVfARG(bytes_shown(&name)),
                 SVfARG(THX_known(aTHX_ specs, count)));
}

static void
THX_set_whole(pTHX_ const struct call *call, const struct option_spec *spec, const struct number *number,
              struct option_value *value)
{
    if (!number_whole(number, spec->is.whole.least, spec->is.whole.most, &value->is.whole))
        croak_method(call->method,
                     "option '%s' must be a whole number from %" UVuf " to %" UVuf ", not %" SVf,
                     spec->name, spec->is.whole.least, spec->is.whole.most,
                     SVfARG(croak_shown(number->given)));
}

static void
THX_set_real(pTHX_ const struct call *call, const struct option_spec *spec, const struct number *number,
              struct option_value *value)
{
    if (!number_real(number, spec->is.real.least, spec->is.real.most, &value->is.real))
        croak_method(call->method,
                     "option '%s' must be a number from %.15" NVgf " to %.15" NVgf ", not %" SVf,
                     spec->name, spec->is.real.least, spec->is.real.most,
                     SVfARG(croak_shown(number->given)));
}

static void
THX_set_span(pTHX_ const struct call *call, const struct option_spec *spec, const struct number *number,
              struct option_value *value)
{
    if (!number_span(number, spec->is.span.scale, &value->is.milliseconds))
        croak_method(call->method, "option '%s' must be a number of %s, 0 or more, not %" SVf,
                     spec->name, spec->is.span.unit, SVfARG(croak_shown(number->given)));
}

static bool
THX_is_true(pTHX_ SV *argument)
{
    if (SvGMAGICAL(argument)) /* the older SvTRUE reads its argument more than once */
        argument = sv_mortalcopy(argument);
    return cBOOL(SvTRUE(argument));
}

static void
THX_set_value(pTHX_ const struct call *call, I32 index, const struct option_spec *spec,
              struct option_value *value)
{
    struct number number;

    value->given = TRUE;
    switch (spec->kind) {
    case OPTION_FLAG:
        value->is.flag = THX_is_true(aTHX_ call_argument(call, index));
        return;
    case OPTION_NAME:
        value->given = call_value(call, index, &value->is.name);
        return;
    default:
        break;
    }

    number_read(call_argument(call, index), &number);
    switch (spec->kind) {
    case OPTION_WHOLE: THX_set_whole(aTHX_ call, spec, &number, value); break;
    case OPTION_REAL:  THX_set_real(aTHX_ call, spec, &number, value); break;
    default:           THX_set_span(aTHX_ call, spec, &number, value); break;
    }
}

void
THX_options_read(pTHX_ const struct call *call, I32 first, const struct option_spec *specs, int count,
                 struct option_value *values)
{
    I32 places[MOST_OPTIONS]; /* where each option's value lies on the stack; 0: not given */
    I32 index;
    int place;

    assert(count <= MOST_OPTIONS);
    for (place = 0; place < count; place++)
        places[place] = 0;

    THX_check_pairs(aTHX_ call, first);
    for (index = first; index < call->items; index += 2)
        places[THX_find_spec(aTHX_ call, index, specs, count)] = index + 1;

    for (place = 0; place < count; place++) {
        set_standard(&specs[place], &values[place]);
        if (places[place])
            THX_set_value(aTHX_ call, places[place], &specs[place], &values[place]);
    }
}

enum { TTL, TTL_MS };

static const struct option_spec ttl_options[] = {
    [TTL] = SPAN_OPTION("ttl", 1000, "seconds"),
    [TTL_MS] = SPAN_OPTION("ttl_ms", 1, "milliseconds"),
};

uint64_t
THX_options_ttl(pTHX_ const struct call *call, I32 first)
{
    struct option_value values[2];

    if (!call_has(call, first))
        return SA_TTL_NONE;
    options_read(call, first, ttl_options, 2, values);
    if (values[TTL].given && values[TTL_MS].given)
        croak_method(call->method, "options 'ttl' and 'ttl_ms' exclude each other");
    return values[values[TTL_MS].given ? TTL_MS : TTL].is.milliseconds;
}
