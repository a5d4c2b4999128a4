#include "tools/report/diff/processes.h"

#include <stdio.h>

static const char *const run_text[2] = {"first", "second"};

void processes_add(struct processes *processes, uint32_t process)
{
    if (process < PROCESSES_MOST)
        processes->seen[process / 64] |= (uint64_t)1 << process % 64;
}

static bool has(const struct processes *processes, uint32_t process)
{
    return process < PROCESSES_MOST && processes->seen[process / 64] >> process % 64 & 1;
}

/* The first numbers, with commas between. */
static void list(const struct processes *processes, char *out, size_t size)
{
    size_t length = 0;
    int shown = 0;
    *out = '\0';
    for (uint32_t i = 0; i < PROCESSES_MOST && length < size; i++) {
        if (!has(processes, i))
            continue;
        if (shown == PROCESSES_SHOWN) {
            snprintf(out + length, size - length, ", ...");
            return;
        }
        length += (size_t)snprintf(out + length, size - length, "%s%u", shown++ ? ", " : "", i);
    }
}

static bool share_one(const struct processes runs[2])
{
    for (int i = 0; i < PROCESSES_MOST / 64; i++) {
        if (runs[0].seen[i] & runs[1].seen[i])
            return true;
    }
    return false;
}

bool processes_apart(const struct processes runs[2], const uint32_t *ranks, char *out, size_t size)
{
    char text[2][160];
    list(&runs[0], text[0], sizeof text[0]);
    list(&runs[1], text[1], sizeof text[1]);
    for (int run = 0; ranks && run < 2; run++) {
        if (has(&runs[run], ranks[run]))
            continue;
        snprintf(out, size, "the %s run has no digests of process %u: its processes are %s",
                 run_text[run], ranks[run], text[run]);
        return true;
    }
    if (ranks || share_one(runs) || !*text[0] || !*text[1])
        return false;
    snprintf(out, size,
             "the runs have no process in common: those of the first are %s, of the second %s; "
             "--ranks A,B holds one against another",
             text[0], text[1]);
    return true;
}
