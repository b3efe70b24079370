/* qr// as pattern and modifiers, and back. */
#ifndef SHARED_ARENA_REGEXP_H
#define SHARED_ARENA_REGEXP_H

#include "compat.h"

/* Every modifier there is, and some. */
#define MOST_MODIFIERS 16

/* Writes the letters that stood behind the pattern; returns how many. */
size_t regexp_modifiers(const REGEXP *regexp, char *letters);

/* Whether it holds Perl code, which a pattern's text does not bring back. */
bool regexp_has_code(const REGEXP *regexp);

/* Whether compiling that might take more memory or time than there is. */
bool regexp_is_costly(const char *pattern, STRLEN length);

/* The regexp, not blessed; NULL, and a mortal text, when perl does not take it. */
SV *THX_regexp_compile(pTHX_ const char *pattern, STRLEN length, bool utf8, const char *letters,
                       STRLEN letters_length, SV **reason);

#define regexp_compile(pattern, length, utf8, letters, letters_length, reason) \
    THX_regexp_compile(aTHX_ (pattern), (length), (utf8), (letters), (letters_length), (reason))

#endif
