/*
 * program.c - launches that need much, little or nothing of what a check needs: `program FATBIN
 * other|captured|own|looks`.
 *
 *   other     a kernel that no entry names; followed by `alone` or nothing
 *   captured  one that an entry names, in a graph alone
 *   own       the same as ordinary launches
 *   looks     many of those, with the same input
 *
 * `captured` and `other alone` print how many threads the library has beside that of its control
 * socket.
 */
#include "common/program.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>

enum { ROWS = 4, COLS = 100, STEPS = 6, LOOKS = 20 };

static CUstream stream;

static bool is_ours(const char *thread)
{
    char path[300], name[32] = "";
    snprintf(path, sizeof path, "/proc/self/task/%s/comm", thread);
    FILE *file = fopen(path, "r");
    if (!file)
        return false;
    if (!fgets(name, sizeof name, file))
        name[0] = 0;
    fclose(file);
    return !strncmp(name, "cuvet", 5) && strncmp(name, "cuvet-ctl", 9) != 0;
}

static void print_threads(void)
{
    int threads = 0;
    DIR *folder = opendir("/proc/self/task");
    for (struct dirent *entry; folder && (entry = readdir(folder));)
        threads += entry->d_name[0] != '.' && is_ours(entry->d_name);
    if (folder)
        closedir(folder);
    printf("threads %d\n", threads);
}

static void other(void)
{
    CUdeviceptr out;
    int steps = 10;
    CHECK(cuMemAlloc(&out, 64 * sizeof(int)));
    for (int i = 0; i < STEPS; i++)
        launch(kernel("spin"), 1, 64, stream, (void *[]){&out, &steps});
    print_sum("other", out, 64 * sizeof(int));
}

static void captured(struct norm *norm)
{
    CUgraph graph;
    CUgraphExec exec;
    CHECK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    for (int i = 0; i < STEPS; i++)
        norm_launch("norm_right", norm, stream);
    CHECK(cuStreamEndCapture(stream, &graph));
    CHECK(cuGraphInstantiate(&exec, graph, 0));
    for (int i = 0; i < STEPS; i++)
        CHECK(cuGraphLaunch(exec, stream));
}

static void own(struct norm *norm, int launches)
{
    for (int i = 0; i < launches; i++)
        norm_launch("norm_right", norm, stream);
}

int main(int argc, char **argv)
{
    start(argc, argv);
    const char *kind = word(0);
    struct norm norm = norm_new(ROWS, COLS, 1);
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    if (!strcmp(kind, "other"))
        other();
    else if (!strcmp(kind, "captured"))
        captured(&norm);
    else
        own(&norm, !strcmp(kind, "looks") ? LOOKS : STEPS);
    norm_print(kind, &norm);
    if (!strcmp(kind, "captured") || (!strcmp(kind, "other") && !strcmp(word(1), "alone")))
        print_threads();
    finish();
    return 0;
}
