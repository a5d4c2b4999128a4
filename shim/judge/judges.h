/*
 * judges.h - what a check is judged by besides its reference: the rows of one table, in judges.c.
 * A judge may enqueue work in front of the reference, and reads what came of it once the reference
 * has its answer. Collector thread only.
 */
#ifndef JUDGE_JUDGES_H
#define JUDGE_JUDGES_H

#include "context/side.h"

struct history;
struct meetings;
struct repeats;

/* What they keep between checks; each is made when a kernel first needs it, NULL before. */
struct judges {
    struct history *history;   /* of caches */
    struct repeats *repeats;   /* outputs by input */
    struct meetings *meetings; /* outputs by item of a contract */
};

/* What they keep is freed. */
void judges_close(struct judges *judges);

/* Whether a judge has the check run alone, in the order of launches. */
bool judges_want_order(const struct check *check);

/* Enqueues what the judges of the lane's check need, in front of its reference. */
enum status judges_enqueue(struct side *side, struct lane *lane, struct error *err);

/* A check whose reference has its answer. */
struct judged {
    struct judges *judges;
    struct side *side;
    const struct lane *lane;
};

/* Judges whose findings stand even where the reference has no verdict; the others. */
enum judge_phase { JUDGE_RULES, JUDGE_RESULTS };

/* Adds what the judges of that phase found, from which the verdict follows: verdict_of_launch. */
void judges_report(const struct judged *of, enum judge_phase phase, struct check_report *report);

#endif
