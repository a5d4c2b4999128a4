/*
 * lift.h - a bundle's launch with fp64 shadows: which outputs are off by more than the declared
 * accumulator explains, and at which instructions their numbers left the bound.
 */
#ifndef TOOLS_LIFT_LIFT_H
#define TOOLS_LIFT_LIFT_H

#include "tools/lift/shadow.h"
#include "tools/lift/stage.h"

enum {
    LIFT_BLOCKS = 64, /* of a larger grid, so many are followed */
    LIFT_SPOTS = 2,
    LIFT_RANGES = 64
};

/* Blocks of a grid by their numbers, x first. */
struct lift_range {
    uint64_t first, last;
};

struct lift_settings {
    double unit;             /* roundoff of the declared accumulator */
    double input;            /* declared rounding of inputs as they are loaded: tf32's, or 0 */
    uint8_t rounds[FORMATS]; /* how often the kernel may round to a format on the way */
    const char *stored[SHADOW_STORED]; /* outputs that it goes on from as stored, by name */
    unsigned stored_count;
    uint64_t blocks;           /* most that are followed */
    uint64_t spot[LIFT_SPOTS]; /* addresses in the program: blocks that write there are followed */
    unsigned spots;
    struct lift_range range[LIFT_RANGES]; /* where there are any, no other block runs */
    unsigned ranges;
    unsigned seconds; /* of each run of the interpreter */
};

/* One element of an output. */
struct lift_element {
    int64_t index; /* among the stored ones */
    double got, y, bound, allowed;
    uint32_t origin;
};

struct lift_output {
    const char *name;
    enum format format;
    int64_t elements, judged; /* stored in the bundle; computed by the blocks that were followed */
    int64_t outside;
    int64_t lost; /* NaN or infinite in the kernel and in the shadow: not outside */
    int64_t wide; /* whose bound is over a sixteenth of the number, too wide to judge it */
    struct lift_element worst;
    double worst_ratio; /* error / allowed */
};

/* An instruction at which numbers left their bound that made elements of outputs wrong. */
struct lift_line {
    uint32_t origin;
    int64_t elements;
};

struct lift_report {
    struct shadow shadow; /* tallies and instructions */
    struct lift_output output[BUNDLE_ARRAYS];
    int outputs;
    struct lift_line *line; /* the most elements first */
    size_t lines;
    uint64_t followed, blocks; /* of the grid */
    uint64_t instructions;     /* of a thread, in the blocks that were followed and the others */
    double seconds;
    enum exec_outcome outcome;
    char sentence[256]; /* why the launch did not run to its end */
    bool short_of_memory;
};

/* What the bundle's reference declares, where the settings do not. */
void lift_declare(struct lift_settings *settings, const struct bundle *bundle);

/* STATUS_OK whatever the outcome of the launch; release the report. */
enum status lift_launch(struct stage *stage, const struct lift_settings *settings,
                        struct lift_report *report, struct error *err);
void lift_release(struct lift_report *report);

/* "0,5,10-12": false where it is no list, or a range ends before it begins. */
bool lift_read_ranges(const char *text, struct lift_settings *settings);

/* The blocks to follow, a bit each, for free(), and how many; NULL: all of them. STATUS_INVALID: a
 * range is outside of the grid. STATUS_UNSUPPORTED: ranges of a launch whose blocks wait for each
 * other. */
enum status lift_choose(struct stage *stage, const struct lift_settings *settings, uint8_t **chosen,
                        uint64_t *count, struct error *err);

/* Their numbers, in ascending order, for free(); NULL: no memory. */
uint64_t *lift_numbers(const uint8_t *chosen, uint64_t blocks, uint64_t count);

static inline uint64_t lift_grid(const struct bundle *bundle)
{
    return (uint64_t)bundle->grid[0] * bundle->grid[1] * bundle->grid[2];
}

#endif
