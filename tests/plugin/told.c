/*
 * A plugin for tests: PLUGIN_ACT sets how it behaves at each finding, PLUGIN_OUT names the
 * file that it writes a line to before.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "cuvet_plugin.h"

static void tell(const struct cuvet_mismatch *finding)
{
    const char *path = getenv("PLUGIN_OUT");
    FILE *out = path ? fopen(path, "a") : stdout;

    if (!out)
        return;
    fprintf(out, "%s launch %llu occurrence %llu %s[%lld][%lld] got %g bundle %s preload %s",
            finding->label, (unsigned long long)finding->launch,
            (unsigned long long)finding->occurrence, finding->worst.array,
            (long long)finding->worst.index[0], (long long)finding->worst.index[1],
            finding->worst.got, finding->bundle ? finding->bundle : "none",
            getenv("LD_PRELOAD") || getenv("CUVET_CONFIG") ? "kept" : "gone");
    if (finding->size > offsetof(struct cuvet_mismatch, subset) && finding->subset)
        fprintf(out, " subset %s %lld of %lld", finding->subset, (long long)finding->subset_checked,
                (long long)finding->subset_of);
    if (finding->size > offsetof(struct cuvet_mismatch, differs_from_launch) && finding->differs)
        fprintf(out, " differs from launch %llu", (unsigned long long)finding->differs_from_launch);
    if (finding->size > offsetof(struct cuvet_mismatch, graph_replay) && finding->graph)
        fprintf(out, " node %u of graph %u, replay %llu", (unsigned)finding->graph_node,
                (unsigned)finding->graph, (unsigned long long)finding->graph_replay);
    if (finding->size > offsetof(struct cuvet_mismatch, contract) && finding->contract)
        fprintf(out, " %s", finding->contract);
    fputc('\n', out);
    for (int fd = 3; fd < 64; fd++) {
        char name[64], target[256];

        snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
        ssize_t length = readlink(name, target, sizeof target - 1);
        if (length > 0 && (target[length] = '\0', strstr(target, "inherited")))
            fprintf(out, "descriptor %s\n", target);
    }
    fflush(out);
    if (out != stdout)
        fclose(out);
}

void cuvet_plugin_finding(const struct cuvet_mismatch *finding)
{
    const char *act = getenv("PLUGIN_ACT");

    tell(finding);
    if (!act)
        return;
    if (strcmp(act, "crash") == 0 || (strcmp(act, "crash once") == 0 && finding->launch == 18))
        *(volatile int *)0 = 1;
    if (strcmp(act, "exit") == 0)
        exit(3);
    if (strcmp(act, "hang") == 0)
        pause();
    if (strcmp(act, "slow") == 0)
        usleep(20000);
}
