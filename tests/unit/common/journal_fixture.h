/* journal_fixture.h - a journal in a folder of its own, and its lines read back, for unit tests.
 * All of it is here. */
#ifndef TESTS_UNIT_JOURNAL_FIXTURE_H
#define TESTS_UNIT_JOURNAL_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>
#include "base/rank.h"
#include "report/journal.h"
#include "report/journal_read.h"
#include "tests/unit/common/made_up_check.h"
#include "tests/unit/common/tmp_folder.h"

static const uint32_t grid[3] = {3, 2, 1}, block[3] = {256, 1, 1};

struct fixture {
    struct tmp_folder folder;
    char reports[600];
    struct quota quota;
    struct journal *journal;
    struct counters *counters;
    struct made_up_check check;
    char *text, *line[4096]; /* of the journal, after read_lines */
    int lines;
};

static inline void open_journal(struct fixture *f, uint64_t quota, const char *run)
{
    struct error err = {0};

    quota_init(&f->quota, quota);
    assert_int_equal(journal_create(&f->journal, f->reports, run, &f->quota, &err), STATUS_OK);
    assert_non_null(f->journal);
}

static inline int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);

    assert_non_null(f);
    tmp_folder_make(&f->folder);
    snprintf(f->reports, sizeof f->reports, "%s/a/b", f->folder.path);
    for (size_t i = 0; rank_names[i]; i++)
        unsetenv(rank_names[i]);
    f->counters = counters_create();
    made_up_mismatch(&f->check);
    *state = f;
    return 0;
}

static inline int teardown(void **state)
{
    struct fixture *f = *state;

    journal_destroy(f->journal);
    counters_destroy(f->counters);
    tmp_folder_remove(&f->folder);
    free(f->text);
    free(f);
    return 0;
}

/* Splits the journal; each line keeps no newline. */
static inline void read_lines(struct fixture *f)
{
    char *rest;

    free(f->text);
    f->text = file_read(journal_path(f->journal), NULL);
    assert_non_null(f->text);
    f->lines = 0;
    rest = f->text;
    for (char *line; (line = strsep(&rest, "\n")) && f->lines < 4096;) {
        if (*line)
            f->line[f->lines++] = line;
    }
}

static inline void assert_has(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("'%s' lacks '%s'", text, part);
}

#define JOURNAL_TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

#endif
