/*
 * poison.h - what an array is filled with where a recorded launch is run again, and what the runs
 * show of it: which elements are written, which depend on what the array held, and whether a run
 * left other results than another one. Bytes alone: nothing here runs anything. Any thread.
 */
#ifndef TOOLS_DISCOVER_POISON_H
#define TOOLS_DISCOVER_POISON_H

#include <stdbool.h>
#include <stdint.h>
#include "refs/abi/ref_abi.h"

enum { POISONS = 2 };

/* Another content for an array that held `held`: every element has another value, in the second
 * poison than in the first wherever there are three values. Real numbers are large or tiny, and
 * finite. Integers and unknown elements get values that the array holds, so that an index stays an
 * index. `size`: bytes of an element. */
void poison_make(enum dtype dtype, unsigned size, const uint8_t *held, uint64_t bytes,
                 unsigned number, uint8_t *out);

/* A content of small numbers, 4, or 8 where the array held 4; false: not for this type. */
bool poison_small(enum dtype dtype, const uint8_t *held, uint64_t bytes, uint8_t *out);

/* One array in one run. */
struct poison_run {
    const uint8_t *held, *after; /* before the launch and behind it */
};

/* A range of bytes from the first marked element to the end of the last; begin == end: none is. */
struct poison_marks {
    uint64_t begin, end, elements;
};

/* Of runs whose contents differ in each element: `written` are elements that some run changed,
 * `kept` those of them whose result differs between runs: it depends on what the array held. */
void poison_written(const struct poison_run *run, unsigned runs, uint64_t bytes, unsigned size,
                    struct poison_marks *written, struct poison_marks *kept);

/* Whether the run left other results than `base`. An element that neither run changed is none. */
bool poison_differs(const struct poison_run *base, const struct poison_run *run, uint64_t bytes);

/* How far two results are apart. */
enum poison_apart { APART_NOT, APART_ROUNDING, APART_FAR };
enum poison_apart poison_compare(enum dtype dtype, const uint8_t *one, const uint8_t *other,
                                 uint64_t bytes);

/* Whether each element's difference between the results is that of the contents, within rounding:
 * the launch adds to the array. */
bool poison_adds(enum dtype dtype, const struct poison_run *base, const struct poison_run *run,
                 uint64_t bytes);

#endif
