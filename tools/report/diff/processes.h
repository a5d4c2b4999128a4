/* processes.h - which processes of two runs have digests, and why none of the two go together. */
#ifndef TOOLS_REPORT_PROCESSES_H
#define TOOLS_REPORT_PROCESSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PROCESSES_MOST = 1024, PROCESSES_SHOWN = 8 };

/* All zero at first. Numbers from PROCESSES_MOST on are not kept. */
struct processes {
    uint64_t seen[PROCESSES_MOST / 64];
};

void processes_add(struct processes *processes, uint32_t process);

/* Why no process of the first run has its like in the second: a sentence, true; false where some
 * have. `ranks`: the two that were chosen, or NULL. */
bool processes_apart(const struct processes runs[2], const uint32_t *ranks, char *out, size_t size);

#endif
