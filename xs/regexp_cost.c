/* Whether compiling a pattern could take more memory and time than anybody has
 * for it. Perl spells a string that must occur out to its full length, and a
 * group with its count times over, one in the other: (?:(?:a{9999}){9999}){9999}
 * is beyond any machine. And where a group is called by (?&name) or the like,
 * it looks into the group again, from each call.
 *
 * What this finds is an upper bound, since it knows no groups: as if all that
 * are repeated lay in one another, and all calls too. A count belongs to a
 * single character, and not to a group, only if what it follows cannot be the
 * end of one, or blanks or a comment after one. */
#include "regexp.h"

#define MOST_COST (1 << 26) /* bytes, or steps */

/* What it costs for each call: of so many calls, in levels of three that call
 * the level below, come 3 to the power of calls / 3 looks. */
#define CALL_COST 1.5

/* At { of {n}, {n,} or {n,m}, with blanks as perl 5.34 allows them: n, or 1 if it is no count. */
static double
count_at(const char *at, const char *end)
{
    double count = 0;

    for (at++; at < end && (*at == ' ' || *at == '\t'); at++)
        ;
    if (at == end || !isDIGIT_A(*at))
        return 1;
    for (; at < end && isDIGIT_A(*at); at++)
        count = count * 10 + (*at - '0');
    for (; at < end && (*at == ' ' || *at == '\t'); at++)
        ;
    return at < end && (*at == ',' || *at == '}') && count > 1 ? count : 1;
}

/* At ( of (?R), (?1), (?+1), (?-1), (?&name) or (?P>name). */
static bool
is_call(const char *at, const char *end)
{
    if (end - at < 4 || at[1] != '?')
        return FALSE;
    return at[2] == 'R' || at[2] == '&' || at[2] == '+' || isDIGIT_A(at[2]) || (at[2] == '-' && isDIGIT_A(at[3]))
        || (at[2] == 'P' && at[3] == '>');
}

bool
regexp_is_costly(const char *pattern, STRLEN length)
{
    const char *const end = pattern + length;
    double spelled = length; /* all characters, each as often as it says itself */
    double times = 1;
    bool is_character = FALSE; /* what stands before */
    bool is_number = FALSE;    /* \x or \o, whose braces hold one */
    const char *at;

    for (at = pattern; at < end; at++) {
        if (*at == '\\' && at + 1 < end) {
            at++;
            is_number = *at == 'x' || *at == 'o';
            is_character = !isSPACE_A(*at) && isASCII(*at);
            continue;
        }
        if (*at == '{' && !is_number) {
            const double count = count_at(at, end);

            if (count > 1 && is_character)
                spelled += count;
            else
                times *= count;
        }
        else if (*at == '(' && is_call(at, end))
            times *= CALL_COST;
        is_number = FALSE;
        is_character = isPRINT_A(*at) && *at != ' ' && *at != ')';
    }
    return spelled * times > MOST_COST;
}
