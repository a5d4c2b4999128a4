/* gathered.h - rows of an array that another array names (`table[@ids][cols]`), gathered in the
 * worker for a trial: one for each index, and indices that count them. */
#ifndef TOOLS_DISCOVER_GATHERED_H
#define TOOLS_DISCOVER_GATHERED_H

#include "bind/binding.h"
#include "tools/discover/facts/record.h"
#include "tools/worker/worker.h"

/* From here on binding_make(), which queries the driver how far memory reaches, gets what was
 * recorded of this launch, in a process without a driver. NULL: no memory. One thread. */
void gathered_answer(const struct seen_sample *sample);

enum { GATHERED_MOST = 8 };

/* Arrays of the worker that were made for it. */
struct gathered {
    struct worker *worker;
    uint64_t address[GATHERED_MOST];
    unsigned count;
};

/* Replaces the views of such arrays, and makes them plain in the binding. STATUS_UNSUPPORTED: the
 * launch writes one, its rows are not all recorded, or an index names none. */
enum status gathered_make(struct gathered *out, struct worker *worker,
                          const struct seen_sample *sample, struct binding *binding,
                          struct worker_view *views, struct error *err);
void gathered_release(struct gathered *gathered);

#endif
