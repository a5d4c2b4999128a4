/*
 * ref_depth.h - how many additions a term of a row's sum goes through.
 *
 * A sum of n terms is off by at most lambda sqrt(d) u S, d the depth: the most additions between a
 * term and the result. One thread that adds up a row has d = n. Where L lanes share the row, each
 * adds up n / L terms, and a tree adds up the lanes: d = n / L + log2(L).
 *
 * L is what the tolerance declares (`lanes`). Else it is 32 where the subject's grid fits the rows:
 * two blocks or more, each with as many rows as the others, and 32 threads or more for each row; or
 * as many blocks as hold the rows with a warp for each. A grid of one thread for each row has
 * blocks of more rows than that. A grid that loops over rows has no fixed number of rows in a
 * block, and keeps d = n.
 *
 * The two may be mistaken for each other where rows and blocks agree by chance. That costs a right
 * kernel little: one chain of n additions is then held to lambda / 5.6 = 1.4, and chains were
 * measured at 0.9 sqrt(n) u S at most.
 */
#ifndef REFS_REF_DEPTH_H
#define REFS_REF_DEPTH_H

#include "ref_space.h"

enum { REF_WARP_STEPS = 5 };

/* Rows of the whole launch, of which `rows` are checked; 0: not known. */
REF_FN long long ref_launch_rows(const ref_call &call, long long rows)
{
    if (call.part <= 0)
        return rows;
    return rows % call.part == 0 ? rows / call.part * call.whole : 0;
}

/* log2 of the lanes of the subject that share each of so many rows; 0 where nothing is known of
 * them. */
REF_SLOW int ref_lane_steps(const ref_call *call, long long rows)
{
    const long long blocks = call->launch_blocks, warps = call->launch_warps;
    int steps = 0;
    while (steps < 10 && 1u << steps < call->lanes)
        steps++;
    if (call->lanes > 0)
        return steps;
    rows = ref_launch_rows(*call, rows);
    if (blocks < 2 || warps < 1 || rows < blocks)
        return 0;
    bool even = rows % blocks == 0 && rows / blocks <= warps;
    return even || (rows + warps - 1) / warps == blocks ? REF_WARP_STEPS : 0;
}

/* The depth of a sum of n terms that 2^steps lanes share. */
REF_FN long long ref_depth(long long n, int steps)
{
    long long shared = ((n - 1) >> steps) + 1 + steps;
    return shared < n ? shared : n;
}

#endif
