/* Shared::Arena: making, finding and dividing a mapping. */
#include "body.h"
#include "options.h"
#include "value.h"

#define ARENA "Shared::Arena"

/* The core takes a C string and its length; no bytes are still a place. */
#define TEXT(bytes)   (const char *)(bytes).start, (bytes).length

/* ---- Making and finding ---- */

enum { CREATE_SIZE, CREATE_NAME, CREATE_REGIONS, CREATE_OPTIONS };

static const struct option_spec create_options[] = {
    [CREATE_SIZE] = WHOLE_OPTION("size", 1, SA_MAX_ARENA_SIZE, 1024 * 1024),
    [CREATE_NAME] = NAME_OPTION("name"),
    [CREATE_REGIONS] = WHOLE_OPTION("regions", 1, SA_MAX_REGIONS, 64),
};

static const struct method create_method = {
    ARENA, "create", ARENA "->create([size => bytes][, name => $name][, regions => count])",
    NULL, 1, ANY_NUMBER
};

SV *
THX_arena_create(pTHX_ I32 ax, I32 items)
{
    struct call call;
    struct option_value values[CREATE_OPTIONS];
    handle *made;
    SV *object;
    sa_arena *native = NULL;
    sa_error error;
    sa_status status;
    HV *stash = begin_class(&call, &create_method, ax, items);

    options_read(&call, 1, create_options, CREATE_OPTIONS, values);
    object = handle_new(&arena_type, &made);
    ERROR_INIT(error);
    status = sa_arena_create(TEXT(values[CREATE_NAME].is.name), values[CREATE_SIZE].is.whole,
                             (uint32_t)values[CREATE_REGIONS].is.whole, &native, &error);
    made->mg_ptr = (char *)native;
    if (status != SA_OK)
        croak_status(&create_method, status, &error);
    return sv_bless(object, stash);
}

static const struct method attach_method = { ARENA, "attach", ARENA "->attach($name)", NULL, 2, 2 };

SV *
THX_arena_attach(pTHX_ I32 ax, I32 items)
{
    struct call call;
    struct bytes name;
    handle *made;
    SV *object;
    sa_arena *native = NULL;
    sa_error error;
    sa_status status;
    HV *stash = begin_class(&call, &attach_method, ax, items);

    call_bytes(&call, 1, &name);
    object = handle_new(&arena_type, &made);
    ERROR_INIT(error);
    status = sa_arena_attach(TEXT(name), &native, &error);
    made->mg_ptr = (char *)native;
    if (status == SA_ABSENT)
        return &PL_sv_undef;
    if (status != SA_OK)
        croak_status(&attach_method, status, &error);
    return sv_bless(object, stash);
}

static const struct method destroy_method = { ARENA, "destroy", ARENA "->destroy($name)", NULL, 2, 2 };

SV *
THX_arena_destroy(pTHX_ I32 ax, I32 items)
{
    struct call call;
    struct bytes name;
    sa_error error;
    sa_status status;

    begin_class(&call, &destroy_method, ax, items);
    call_bytes(&call, 1, &name);
    ERROR_INIT(error);
    status = sa_arena_destroy(TEXT(name), &error);
    if (status != SA_OK && status != SA_ABSENT)
        croak_status(&destroy_method, status, &error);
    return boolSV(status == SA_OK);
}

/* ---- What it is ---- */

static const struct method size_method = { ARENA, "size", "$arena->size()", &arena_type, 1, 1 };

SV *
THX_arena_size(pTHX_ I32 ax, I32 items)
{
    return value_uv(sa_arena_size(bare_call(&size_method, ax, items)));
}

static const struct method created_method = { ARENA, "created", "$arena->created()", &arena_type, 1, 1 };

SV *
THX_arena_created(pTHX_ I32 ax, I32 items)
{
    return boolSV(sa_arena_created(bare_call(&created_method, ax, items)));
}

static const struct method name_method = { ARENA, "name", "$arena->name()", &arena_type, 1, 1 };

SV *
THX_arena_name(pTHX_ I32 ax, I32 items)
{
    size_t length = 0;
    const char *text = sa_arena_name(bare_call(&name_method, ax, items), &length);

    return text ? newSVpvn_flags(text, length, SVs_TEMP) : &PL_sv_undef;
}

static const struct method base_method = { ARENA, "base", "$arena->base()", &arena_type, 1, 1 };

SV *
THX_arena_base(pTHX_ I32 ax, I32 items)
{
    return value_uv(sa_arena_base(bare_call(&base_method, ax, items)));
}

static const struct method refused_method = { ARENA, "refused", "$arena->refused()", &arena_type, 1, 1 };

SV *
THX_arena_refused(pTHX_ I32 ax, I32 items)
{
    return value_uv(sa_arena_refused(bare_call(&refused_method, ax, items)));
}

static const struct method have_atomics_method = {
    ARENA, "have_atomics", ARENA "->have_atomics()", NULL, 0, 1
};

SV *
THX_arena_have_atomics(pTHX_ I32 ax, I32 items)
{
    struct call call;

    begin_function(&call, &have_atomics_method, ax, items);
    return boolSV(sa_have_atomics());
}

/* ---- Raw regions ---- */

/* A carving that failed. What is wrong with the region itself is said of its
 * name; the other reasons stand alone. */
static void
THX_croak_carve(pTHX_ const struct method *method, const struct bytes *name, sa_status status,
                const sa_error *error)
{
    if (status == SA_SHAPE || status == SA_FULL)
        croak_method(method, "%" SVf " %" SVf, SVfARG(bytes_shown(name)),
                     SVfARG(croak_reason(status, error)));
    croak_status(method, status, error);
}

static const struct option_spec region_options[] = {
    WHOLE_OPTION("size", 1, SA_MAX_ARENA_SIZE, 0),
};

static const struct method region_method = {
    ARENA, "region", "$arena->region($name[, size => bytes])", &arena_type, 2, ANY_NUMBER
};

void
THX_arena_region(pTHX_ I32 ax, I32 items)
{
    SV **sp;
    struct call call;
    struct bytes name;
    struct option_value wanted;
    uint64_t offset = 0, length = 0;
    sa_error error;
    sa_status status;

    begin_keyed(&call, &region_method, ax, items, &name);
    options_read(&call, 2, region_options, 1, &wanted);

    ERROR_INIT(error);
    PATIENTLY(status, &call, &name, NULL,
              wanted.given
                  ? sa_region_carve(call_native(&call, sa_arena), TEXT(name), wanted.is.whole, &offset, &length,
                                    &error)
                  : sa_region_find(call_native(&call, sa_arena), TEXT(name), &offset, &length));

    SP = PL_stack_base + ax - 1;
    switch (status) {
    case SA_OK:
        EXTEND(SP, 2);
        mPUSHu(offset);
        mPUSHu(length);
        break;
    case SA_ABSENT: case SA_FULL: case SA_INVALID:
        break;
    default:
        THX_croak_carve(aTHX_ &region_method, &name, status, &error);
    }
    PUTBACK;
}

static const struct method regions_method = { ARENA, "regions", "$arena->regions()", &arena_type, 1, 1 };

void
THX_arena_regions(pTHX_ I32 ax, I32 items)
{
    const sa_arena *native = bare_call(&regions_method, ax, items);
    const uint32_t entries = sa_arena_region_count(native);
    const bool listing = GIMME_V == G_LIST;
    SV **sp = PL_stack_base + ax - 1;
    uint32_t index;
    UV count = 0;

    for (index = 0; index < entries; index++) {
        char text[SA_MAX_REGION_NAME + 1];
        uint32_t length = 0;

        if (sa_arena_region_name(native, index, text, &length) != SA_OK || length >= sizeof text)
            continue;
        count++;
        if (listing)
            mXPUSHp(text, length);
    }
    if (!listing)
        XPUSHs(value_uv(count));
    PUTBACK;
}

static const struct method poke_method = {
    ARENA, "poke", "$arena->poke($name, $offset, $bytes)", &arena_type, 4, 4
};

SV *
THX_arena_poke(pTHX_ I32 ax, I32 items)
{
    struct call call;
    struct bytes name, content;
    UV offset;
    sa_error error;
    sa_status status;

    begin_keyed(&call, &poke_method, ax, items, &name);
    offset = call_whole(&call, 2, "offset", 0, SA_MAX_ARENA_SIZE);
    call_bytes(&call, 3, &content);

    ERROR_INIT(error);
    status = sa_region_poke(call_native(&call, sa_arena), TEXT(name), offset, content.start,
                            content.length, &error);
    if (status != SA_OK)
        croak_status(&poke_method, status, &error);
    return &PL_sv_yes;
}

static const struct method peek_method = {
    ARENA, "peek", "$arena->peek($name, $offset, $length)", &arena_type, 4, 4
};

SV *
THX_arena_peek(pTHX_ I32 ax, I32 items)
{
    struct call call;
    struct bytes name;
    UV offset, wanted;
    uint64_t region_offset, region_length;
    SV *result;
    sa_error error;
    sa_status status;
    const sa_arena *native;

    begin_keyed(&call, &peek_method, ax, items, &name);
    offset = call_whole(&call, 2, "offset", 0, SA_MAX_ARENA_SIZE);
    wanted = call_whole(&call, 3, "length", 0, SA_MAX_ARENA_SIZE);
    native = call_native(&call, sa_arena);

    /* The room for the answer is only asked for when the region has as much.
     * Of a region that is not there the core says so. */
    if (sa_region_find(native, TEXT(name), &region_offset, &region_length) != SA_OK)
        wanted = 0;
    else if (offset > region_length || wanted > region_length - offset)
        croak_method(&peek_method,
                     "%" UVuf " bytes at %" UVuf " do not lie inside region %" SVf " of %" UVuf " bytes",
                     wanted, offset, SVfARG(bytes_shown(&name)), (UV)region_length);

    result = sv_2mortal(newSV(wanted ? wanted : 1));
    ERROR_INIT(error);
    status = sa_region_peek(native, TEXT(name), offset, (uint8_t *)SvPVX(result), wanted, &error);
    if (status != SA_OK)
        croak_status(&peek_method, status, &error);
    SvCUR_set(result, wanted);
    *SvEND(result) = '\0';
    SvPOK_only(result);
    return result;
}

/* ---- Maps and limiters ---- */

enum { MAP_SLOTS, MAP_SLOT_SIZE, MAP_SERIALISE, MAP_OPTIONS };

static const struct option_spec map_options[] = {
    [MAP_SLOTS] = WHOLE_OPTION("slots", 1, SA_MAX_SLOTS, 1024),
    [MAP_SLOT_SIZE] = WHOLE_OPTION("slot_size", SA_MIN_SLOT_SIZE, SA_MAX_SLOT_SIZE, 256),
    [MAP_SERIALISE] = FLAG_OPTION("serialise"),
};

static const struct method map_method = {
    ARENA, "map", "$arena->map($name[, slots => count][, slot_size => bytes][, serialise => bool])",
    &arena_type, 2, ANY_NUMBER
};

SV *
THX_arena_map(pTHX_ I32 ax, I32 items)
{
    struct call call;
    struct bytes name;
    struct option_value values[MAP_OPTIONS];
    handle *made;
    SV *object;
    sa_map *native = NULL;
    sa_error error;
    sa_status status;

    begin_keyed(&call, &map_method, ax, items, &name);
    options_read(&call, 2, map_options, MAP_OPTIONS, values);
#if NVSIZE != 8 /* documents hold doubles, and what comes back must be what was stored */
    if (values[MAP_SERIALISE].is.flag)
        croak_method(&map_method, "serialise => 1 needs a perl whose numbers are doubles");
#endif

    object = handle_new(&map_type, &made);
    ERROR_INIT(error);
    PATIENTLY(status, &call, &name, NULL,
              sa_map_bind(call_native(&call, sa_arena), TEXT(name), values[MAP_SLOTS].is.whole,
                          values[MAP_SLOT_SIZE].is.whole, values[MAP_SERIALISE].is.flag, &native, &error));
    made->mg_ptr = (char *)native;
    if (status != SA_OK)
        THX_croak_carve(aTHX_ &map_method, &name, status, &error);
    if (values[MAP_SERIALISE].is.flag)
        made->mg_private |= HANDLE_SERIALISED;
    return sv_bless(object, gv_stashpv(map_type.class_name, GV_ADD));
}

enum { RATE_LIMIT, RATE_WINDOW, RATE_SLOTS, RATE_OPTIONS };

static const struct option_spec rate_options[] = {
    [RATE_LIMIT] = REAL_OPTION("limit", SA_MIN_LIMIT, SA_MAX_LIMIT, 100),
    [RATE_WINDOW] = REAL_OPTION("window", SA_MIN_WINDOW, SA_MAX_WINDOW, 60),
    [RATE_SLOTS] = WHOLE_OPTION("slots", 1, SA_MAX_SLOTS, 4096),
};

static const struct method rate_method = {
    ARENA, "rate", "$arena->rate($name[, limit => number][, window => seconds][, slots => count])",
    &arena_type, 2, ANY_NUMBER
};

SV *
THX_arena_rate(pTHX_ I32 ax, I32 items)
{
    struct call call;
    struct bytes name;
    struct option_value values[RATE_OPTIONS];
    handle *made;
    SV *object;
    sa_rate *native = NULL;
    sa_error error;
    sa_status status;

    begin_keyed(&call, &rate_method, ax, items, &name);
    options_read(&call, 2, rate_options, RATE_OPTIONS, values);

    object = handle_new(&rate_type, &made);
    ERROR_INIT(error);
    PATIENTLY(status, &call, &name, NULL,
              sa_rate_bind(call_native(&call, sa_arena), TEXT(name), (double)values[RATE_LIMIT].is.real,
                           (double)values[RATE_WINDOW].is.real, values[RATE_SLOTS].is.whole, &native, &error));
    made->mg_ptr = (char *)native;
    if (status != SA_OK)
        THX_croak_carve(aTHX_ &rate_method, &name, status, &error);
    return sv_bless(object, gv_stashpv(rate_type.class_name, GV_ADD));
}
