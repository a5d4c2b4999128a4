/*
 * rules.h - what one launch must obey that appends to a cache or reads one. Pure.
 *
 * append   beyond    a row that the cache does not have
 *          twice     two tokens in one row
 *          changed   a guarded row is not what it was before
 * read     beyond    a page that the cache does not have, or more places than the table has pages
 *                    for, or entries that a table in CSR does not have
 *          null      the null page
 *          shared    a page of another sequence
 *          blank     a place that was never written
 */
#ifndef STATE_RULES_H
#define STATE_RULES_H

#include "plan/plan.h"
#include "state/fetch.h"

/* One launch as the rules see it. */
struct state_case {
    const struct check *check;
    const struct binding_plan *plan;
    const struct state_view *view;
    int64_t rows, page, null; /* 0, 0, -1: not known */
};

/* Evaluates the entry's expressions. */
void state_case_open(struct state_case *of, const struct check *check,
                     const struct state_view *view);

/* The number of sequences that a reader has; 0: it reads by no table. */
int64_t state_sequences(const struct state_case *of);
/* How many places of a sequence are read. */
int64_t state_length(const struct state_case *of, int64_t sequence);
/* The same, as far as the table has pages. */
int64_t state_reach(const struct state_case *of, int64_t sequence);
/* The page that place `place` of the sequence lies in; only below its length. */
int64_t state_page(const struct state_case *of, int64_t sequence, int64_t place);

/* The first rule that the launch breaks is in the report; false: none. */
bool state_rules(const struct state_case *of, struct state_report *report);

/* Some of the rows that the launch appended or read. */
void state_live(const struct state_case *of, struct state_live *out);

/* Writes rule and sentence; returns true. */
bool state_find(struct state_report *report, const char *rule, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The value of an expression of the entry, or `otherwise` where there is none, or it has none. */
int64_t state_number(const struct check *check, const struct expr *expr, int64_t otherwise);

#endif
