/* Assertions on the sentence of a refusal, for unit tests. */
#ifndef TESTS_UNIT_SAYS_H
#define TESTS_UNIT_SAYS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

/* Fails the test unless `part` is in the sentence. */
static inline void expect_says(const char *sentence, const char *part)
{
    if (!strstr(sentence, part))
        fail_msg("'%s' does not say '%s'", sentence, part);
}

/* Fails it where `text` was accepted, too. */
static inline void expect_refused(const char *text, bool accepted, const char *sentence,
                                  const char *part)
{
    if (accepted)
        fail_msg("'%s' was accepted", text);
    expect_says(sentence, part);
}

#endif
