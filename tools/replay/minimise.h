/* minimise.h - the smallest launch that still fails: inputs with as many zeros as can be, then the
 * smallest grid that gives one wrong element its value. */
#ifndef TOOLS_REPLAY_MINIMISE_H
#define TOOLS_REPLAY_MINIMISE_H

#include "tools/replay/scene.h"

struct minimal_input {
    const char *name;
    int64_t elements, needed; /* of the array; that could not be zero */
    int64_t first, last;      /* needed elements lie between these */
};

struct minimal {
    bool fails; /* the launch as it is; else nothing else is known */
    int runs;
    struct minimal_input input[BUNDLE_ARRAYS];
    int inputs;
    uint32_t grid[3];
    const char *array; /* of the wrong element; NULL: the grid was not tried */
    int64_t element;
};

/* Leaves the scene's content as the smallest inputs. STATUS_UNSUPPORTED: there is no verdict. */
enum status minimise(struct scene *scene, enum worker_oracle oracle, struct minimal *out,
                     struct error *err);

#endif
