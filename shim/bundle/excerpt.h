/*
 * excerpt.h - makes the tensors of a bundle fit its size: what is too large is cut to the rows
 * around the first and the worst violation, or left out.
 *
 * Small tensors stay whole: each gets an equal part of the room, and what they do not need goes to
 * the others.
 * Rows are those of the outermost dimension longer than 1. A tensor that is too large is cut if it
 * has as many of them as the output that holds the violations, so that its rows belong to the same
 * work; else it is left out, as is the one with the largest row while one row of all does not fit.
 * All that are cut keep the same rows: rows 100 to 139 of `after.y` are the tensor
 * `after.y[100:140]`. Pure.
 */
#ifndef BUNDLE_EXCERPT_H
#define BUNDLE_EXCERPT_H

#include "text/json_out.h"
#include "bundle/safetensors.h"

/* What became of the tensors that do not stand whole in the plan. */
struct excerpts {
    int count;
    struct excerpt {
        struct tensor_plan whole; /* as it would have been */
        int parts;                /* 0: left out, for the reason in `why` */
        char part[2][TENSOR_NAME];
        char why[160];
    } tensor[TENSORS_WHOLE];
};

/* Changes *plan so that its data takes `limit` bytes at most. */
void excerpt_fit(struct tensors_plan *plan, struct excerpts *excerpts,
                 const struct check_report *report, uint64_t limit);

/* "excerpts":[{"tensor","shape","bytes","stored":[names]} or with "left_out":why]; nothing when all
 * are whole. */
void excerpt_json(struct json_out *json, const struct excerpts *excerpts);

#endif
