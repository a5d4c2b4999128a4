#include "tools/report/model/timeline.h"

#include <string.h>

static int64_t floor_div(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

/* Bins of twice the width. */
static void coarsen(struct timeline *t)
{
    int64_t first = floor_div(t->first, 2);
    for (int kind = 0; kind < TIMELINE_KINDS; kind++) {
        uint64_t merged[TIMELINE_BINS] = {0};
        for (int64_t i = 0; i <= t->last; i++)
            merged[floor_div(t->first + i, 2) - first] += t->count[kind][i];
        memcpy(t->count[kind], merged, sizeof merged);
    }
    t->last = floor_div(t->first + t->last, 2) - first;
    t->first = first;
    t->width *= 2;
}

/* Bin 0 becomes that of number `first`, which lies `by` bins before it. */
static void move_right(struct timeline *t, int64_t by)
{
    for (int kind = 0; kind < TIMELINE_KINDS; kind++) {
        uint64_t *count = t->count[kind];
        memmove(count + by, count, (size_t)(t->last + 1) * sizeof *count);
        memset(count, 0, (size_t)by * sizeof *count);
    }
    t->first -= by;
    t->last += by;
}

void timeline_add(struct timeline *t, int kind, int64_t ms, uint64_t count)
{
    if (!t->used) {
        t->used = true;
        t->width = 1;
        t->first = ms;
    }
    for (;;) {
        int64_t bin = floor_div(ms, t->width) - t->first;
        int64_t low = bin < 0 ? bin : 0, high = bin > t->last ? bin : t->last;
        if (high - low < TIMELINE_BINS) {
            if (low < 0)
                move_right(t, -low);
            bin -= low;
            if (bin > t->last)
                t->last = bin;
            t->count[kind][bin] += count;
            return;
        }
        coarsen(t);
    }
}
