/* summary_fixture.h - a summary of made-up checks, and its text, for unit tests. */
#ifndef TESTS_UNIT_SUMMARY_FIXTURE_H
#define TESTS_UNIT_SUMMARY_FIXTURE_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#include "report/summary.h"
#include "tests/unit/common/made_up_check.h"
#include "judge/notes.h"

struct fixture {
    struct summary *summary;
    struct counters *counters;
    struct summary_facts facts;
    struct made_up_check check;
    struct textbuf text;
};

static inline int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);

    assert_non_null(f);
    f->summary = summary_create();
    f->counters = counters_create();
    f->facts.entries = 12;
    made_up_match(&f->check);
    *state = f;
    return 0;
}

static inline int teardown(void **state)
{
    struct fixture *f = *state;

    summary_destroy(f->summary);
    counters_destroy(f->counters);
    textbuf_release(&f->text);
    free(f);
    return 0;
}

static const char *text_of(struct fixture *f)
{
    textbuf_release(&f->text);
    summary_text(f->summary, f->counters, &f->facts, &f->text);
    assert_false(f->text.failed);
    return f->text.data;
}

static inline void assert_has(struct fixture *f, const char *part)
{
    if (!strstr(text_of(f), part))
        fail_msg("this lacks '%s':\n%s", part, f->text.data);
}

static inline void assert_lacks(struct fixture *f, const char *part)
{
    if (strstr(text_of(f), part))
        fail_msg("this has '%s':\n%s", part, f->text.data);
}

static inline void judge(struct fixture *f)
{
    counters_add_kernel(f->counters, &f->check.spec);
    counters_seen(f->counters);
    counters_check(f->counters, &f->check.report);
}

#define SUMMARY_TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

#endif
