/* `$map->fetch($key)` compiles to two ops: method_named, which looks the method
 * up by its name, and entersub, which calls it. Together they cost more than
 * what they lead to. So where a call names one of our hot methods, its
 * method_named gets another function: one that asks whether this very call
 * would lead to our own XSUB, and if so does what that would do, and goes on
 * behind the entersub. In every other case it does what perl's own does.
 *
 * Nothing else is changed. The ops keep their types, names and order for all
 * who look at them (B::Deparse, debuggers, other check hooks); and whoever has
 * given entersub another function (a profiler, a coverage tool), or compiled
 * the call for the debugger, finds every call where it was.
 *
 * Whether a name still leads to our XSUB is known as perl's own method cache
 * knows it: by a generation that changes with every change of the class, its
 * parents or UNIVERSAL. */
#include "callsite_op.h"

#ifdef MULTIPLICITY
int callsites_index;
#else
struct callsites callsites_only;
#endif

Perl_ppaddr_t callsite_method_named;

static UV rewritten = 0;

UV
callsite_count(void)
{
    return rewritten;
}

/* Perls it was tested with. One whose stack counts references lets only XSUBs
 * and its own ops work on it. */
#if !defined(PERL_RC_STACK) && !PERL_VERSION_GE(5,43,0)

#include <dlfcn.h>

static const struct {
    const char *name;
    Perl_ppaddr_t op;
} hot_methods[HOT_METHODS] = {
    [HOT_STORE] = { "store", THX_op_map_store },
    [HOT_FETCH] = { "fetch", THX_op_map_fetch },
    [HOT_EXISTS] = { "exists", THX_op_map_exists },
    [HOT_INCR] = { "incr", THX_op_map_incr },
    [HOT_COUNTER] = { "counter", THX_op_map_counter },
    [HOT_ALLOW] = { "allow", THX_op_rate_allow },
    [HOT_REMAINING] = { "remaining", THX_op_rate_remaining },
    [HOT_RETRY_AFTER] = { "retry_after", THX_op_rate_retry_after },
};

static const char *const class_names[HOT_CLASSES] = {
    [HOT_MAP] = "Shared::Arena::Map",
    [HOT_RATE] = "Shared::Arena::Rate",
};

#define MY_CXT_KEY "Shared::Arena::callsite"
typedef struct callsites my_cxt_t;
START_MY_CXT

static Perl_check_t next_checker;

/* Level -1: without leaving a name in the class. */
static CV *
THX_method_of(pTHX_ HV *stash, int hot)
{
    GV *found = gv_fetchmeth(stash, hot_methods[hot].name, strlen(hot_methods[hot].name), -1);

    return found ? GvCV(found) : NULL;
}

void
THX_callsites_look(pTHX_ struct callsites *known, enum hot_class class)
{
    HV *const stash = known->classes[class].stash;
    int hot;

    for (hot = 0; hot < HOT_METHODS; hot++)
        if (HOT_CLASS(hot) == class) {
            CV *const code = THX_method_of(aTHX_ stash, hot);
            CV *const old = known->methods[hot].code;
            const bool is_ours = code && CvXSUB(code) == known->methods[hot].xsub;

            known->methods[hot].code = is_ours ? (CV *)SvREFCNT_inc_simple_NN((SV *)code) : NULL;
            SvREFCNT_dec((SV *)old);
        }
    known->classes[class].generation = CLASS_GENERATION(stash);
    known->classes[class].names = HvTOTALKEYS(stash);
}

OP *
THX_callsite_general(pTHX_ SV *const *arguments, const struct method *method, I32 own, hot_body body)
{
    OP *const entersub = PL_op->op_next;
    const I32 items = (I32)(PL_stack_sp - arguments) + 1;
    struct call call;
    struct bytes key;
    SV *answer;

    if (items < method->least || items > method->most || !are_plain(arguments, 1, items, own)
        || (own != NONE_OWN && SvGMAGICAL(arguments[own])))
        return callsite_method_named(aTHX);
    call.method = method;
    call.ax = (I32)(arguments - PL_stack_base);
    call.items = items;
    call.object = SvRV(arguments[0]);
    call.held = handle_of(call.object, method->type);
    call.copying = FALSE;
    if (!call.held)
        return callsite_method_named(aTHX);

    (void)POPMARK;
    PL_op = entersub; /* whose target this is, and whom warnings name */
    call_bytes(&call, 1, &key);
    answer = body(aTHX_ &call, &key);
    return THX_callsite_answer(aTHX_ PL_stack_base + call.ax, entersub, answer); /* a handler may have moved the stack */
}

/* The hot method of that name, or HOT_METHODS. */
static int
find_hot(const SV *name)
{
    int hot;

    for (hot = 0; hot < HOT_METHODS; hot++)
        if (strlen(hot_methods[hot].name) == SvCUR(name)
            && memEQ(hot_methods[hot].name, SvPVX_const(name), SvCUR(name)))
            break;
    return hot;
}

/* Check hooks are the whole process's, but another interpreter may never have
 * loaded us, and then has no context. What is in this table threads inherit. */
#define KNOWN "Shared::Arena::callsite"

static bool
THX_is_known(pTHX)
{
    return hv_exists(PL_modglobal, KNOWN, sizeof KNOWN - 1);
}

#if PERL_VERSION_GE(5,21,7)
#define METHOD_NAME(op)   cMETHOPx_meth(op)
#else
#define METHOD_NAME(op)   cSVOPx_sv(op)
#endif

/* A call has been compiled. */
static OP *
THX_check_call(pTHX_ OP *call)
{
    OP *last;

    call = next_checker(aTHX_ call);
    if (call->op_type != OP_ENTERSUB || !(call->op_flags & OPf_KIDS))
        return call;
    /* The arguments are behind a pushmark, often below a list that is no more; what finds the sub is the last. */
    last = cLISTOPx(call)->op_first;
    if (last->op_type != OP_PUSHMARK && last->op_flags & OPf_KIDS && !OpHAS_SIBLING(last))
        last = cLISTOPx(last)->op_first;
    while (OpHAS_SIBLING(last))
        last = OpSIBLING(last);
    if (last->op_type == OP_METHOD_NAMED && last->op_ppaddr == callsite_method_named) {
        const int hot = find_hot(METHOD_NAME(last));

        if (hot < HOT_METHODS && THX_is_known(aTHX)) {
            last->op_ppaddr = hot_methods[hot].op;
            rewritten++;
        }
    }
    return call;
}

/* Whether a function is one of perl's own and not somebody's who hooked the op. */
static bool
is_perls_own(Perl_ppaddr_t function)
{
    Dl_info of_perl, of_function;

    return dladdr((const void *)PL_ppaddr, &of_perl) && dladdr(INT2PTR(const void *, PTR2UV(function)), &of_function)
        && of_perl.dli_fbase == of_function.dli_fbase;
}

static bool
THX_is_wanted(pTHX)
{
    const char *const off = PerlEnv_getenv("SHARED_ARENA_NO_XOP");

    return !off || !*off || strEQ(off, "0");
}

/* The classes of an interpreter that has just come to be, or just loaded us. */
static void
THX_meet_classes(pTHX_ struct callsites *known)
{
    int class, hot;

    for (hot = 0; hot < HOT_METHODS; hot++)
        known->methods[hot].code = NULL; /* another interpreter's */
    for (class = 0; class < HOT_CLASSES; class++) {
        known->classes[class].stash = gv_stashpv(class_names[class], GV_ADD);
        THX_callsites_look(aTHX_ known, (enum hot_class)class);
    }
}

/* Perl's own functions are what the first interpreter to load us finds; another
 * may find what somebody has put there since. */
static Perl_ppaddr_t perls_entersub;

void
THX_callsite_boot(pTHX)
{
    MY_CXT_INIT;
    int hot;

#ifdef MULTIPLICITY
    callsites_index = MY_CXT_INDEX;
#endif
    if (!THX_is_wanted(aTHX))
        return;
    if (!callsite_method_named) {
        callsite_method_named = PL_ppaddr[OP_METHOD_NAMED];
        perls_entersub = PL_ppaddr[OP_ENTERSUB];
    }
    CALLSITES->entersub = perls_entersub;
    CALLSITES->runops = Perl_runops_standard;
    for (hot = 0; hot < HOT_METHODS; hot++)
        CALLSITES->methods[hot].xsub = CvXSUB(THX_method_of(aTHX_ gv_stashpv(class_names[HOT_CLASS(hot)], GV_ADD), hot));
    THX_meet_classes(aTHX_ CALLSITES);
    (void)hv_stores(PL_modglobal, KNOWN, newSViv(1));
    if (is_perls_own(callsite_method_named) && is_perls_own(perls_entersub))
        wrap_op_checker(OP_ENTERSUB, THX_check_call, &next_checker);
}

void
THX_callsite_clone(pTHX)
{
    MY_CXT_CLONE;

    THX_meet_classes(aTHX_ CALLSITES);
}

#else

void
THX_callsites_look(pTHX_ struct callsites *known, enum hot_class class)
{
    PERL_UNUSED_CONTEXT;
    PERL_UNUSED_ARG(known);
    PERL_UNUSED_ARG(class);
}

void THX_callsite_boot(pTHX) { PERL_UNUSED_CONTEXT; }
void THX_callsite_clone(pTHX) { PERL_UNUSED_CONTEXT; }

#endif
