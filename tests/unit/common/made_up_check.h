/* made_up_check.h - a judged launch of y[4][8] = f(x[4][8]), both bf16, for tests of reports. */
#ifndef TESTS_MADE_UP_CHECK_H
#define TESTS_MADE_UP_CHECK_H

#include "refs/abi/ref_list.h"
#include "value/check_report.h"

enum { MADE_UP_ELEMENTS = 32 };

struct made_up_check {
    struct ref_builtin reference;
    struct kernel_spec spec;
    struct binding binding;
    struct check_report report;
};

/* A match of 32 elements by kernel number 0; callers change what they need. */
void made_up_match(struct made_up_check *check);

/* The same with 2 violations: first at y[1][2], worst at y[3][5]. */
void made_up_mismatch(struct made_up_check *check);

/* Makes it a check of rows 0, 1, 98 and 99 of 100. */
void made_up_subset(struct made_up_check *check);

#endif
