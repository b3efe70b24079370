/* Modules that hook what a call is made of, each in one of the ways there are. They count what they see. */
#define PERL_NO_GET_CONTEXT
#include "EXTERN.h"
#include "perl.h"
#include "XSUB.h"

static UV seen_entersub, seen_method;
static Perl_ppaddr_t next_entersub, next_method;
static Perl_check_t next_check_entersub, next_check_method;

static OP *
counting_entersub(pTHX)
{
    seen_entersub++;
    return next_entersub(aTHX);
}

static OP *
counting_method(pTHX)
{
    seen_method++;
    return next_method(aTHX);
}

/* The op that finds the sub of a call, if that is a name. */
static OP *
method_of(OP *call)
{
    OP *last = cUNOPx(call)->op_first;

    if (last->op_type != OP_PUSHMARK && last->op_flags & OPf_KIDS && !OpHAS_SIBLING(last))
        last = cUNOPx(last)->op_first;
    while (OpHAS_SIBLING(last))
        last = OpSIBLING(last);
    return last->op_type == OP_METHOD_NAMED ? last : NULL;
}

#define CHECKER(name, body)                     \
    static OP *                                 \
    name(pTHX_ OP *call)                        \
    {                                           \
        OP *method;                             \
                                                \
        call = next_check_entersub(aTHX_ call); \
        if (call->op_type == OP_ENTERSUB && (method = method_of(call))) { body; } \
        return call;                            \
    }

/* Goes on with whatever was there, which is the same for all hooked ops of a program that names one method. */
CHECKER(check_chaining, next_method = method->op_ppaddr; method->op_ppaddr = counting_method)
/* Goes on with perl's own. */
CHECKER(check_replacing, next_method = PL_ppaddr[OP_METHOD_NAMED]; method->op_ppaddr = counting_method)
/* Leaves alone what another has hooked. */
CHECKER(check_picky, if (method->op_ppaddr == PL_ppaddr[OP_METHOD_NAMED])
        { next_method = PL_ppaddr[OP_METHOD_NAMED]; method->op_ppaddr = counting_method; })
CHECKER(check_call, next_entersub = call->op_ppaddr; call->op_ppaddr = counting_entersub)

static OP *
check_method(pTHX_ OP *method)
{
    method = next_check_method(aTHX_ method);
    if (method->op_type == OP_METHOD_NAMED) {
        next_method = method->op_ppaddr;
        method->op_ppaddr = counting_method;
    }
    return method;
}

static int
counting_runops(pTHX)
{
    while (PL_op) {
        if (PL_op->op_type == OP_ENTERSUB)
            seen_entersub++;
        if (PL_op->op_type == OP_METHOD_NAMED)
            seen_method++;
        PL_op = PL_op->op_ppaddr(aTHX);
        PERL_ASYNC_CHECK();
    }
    TAINT_NOT;
    return 0;
}

MODULE = Hooks    PACKAGE = Hooks

PROTOTYPES: DISABLE

void
install(const char *kind)
CODE:
    if (strEQ(kind, "entersub")) {
        next_entersub = PL_ppaddr[OP_ENTERSUB];
        PL_ppaddr[OP_ENTERSUB] = counting_entersub;
    }
    else if (strEQ(kind, "method_named")) {
        next_method = PL_ppaddr[OP_METHOD_NAMED];
        PL_ppaddr[OP_METHOD_NAMED] = counting_method;
    }
    else if (strEQ(kind, "check, chaining"))
        wrap_op_checker(OP_ENTERSUB, check_chaining, &next_check_entersub);
    else if (strEQ(kind, "check, replacing"))
        wrap_op_checker(OP_ENTERSUB, check_replacing, &next_check_entersub);
    else if (strEQ(kind, "check, picky"))
        wrap_op_checker(OP_ENTERSUB, check_picky, &next_check_entersub);
    else if (strEQ(kind, "check of the call"))
        wrap_op_checker(OP_ENTERSUB, check_call, &next_check_entersub);
    else if (strEQ(kind, "check of the method"))
        wrap_op_checker(OP_METHOD_NAMED, check_method, &next_check_method);
    else if (strEQ(kind, "runops"))
        PL_runops = counting_runops;
    else
        croak("no such hook: %s", kind);

void
uninstall_runops()
CODE:
    PL_runops = PL_runops == counting_runops ? Perl_runops_standard : PL_runops;

void
seen()
PPCODE:
    EXTEND(SP, 2);
    mPUSHu(seen_entersub);
    mPUSHu(seen_method);
    seen_entersub = seen_method = 0;
