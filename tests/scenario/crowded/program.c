/*
 * program.c - steps of many small launches and two large ones, each of whose snapshots needs nearly
 * all of the arena: `program FATBIN right|wrong`, of the first of them.
 */
#include "common/program.h"

#include <string.h>
#include <unistd.h>

enum { ROWS = 4, COLS = 100, SMALL = 12, LARGE = 4600, STEPS = 400, PAUSE_US = 3000 };

int main(int argc, char **argv)
{
    CUstream stream;
    start(argc, argv);
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    const char *large = !strcmp(word(0), "wrong") ? "large_wrong" : "large_right";
    struct norm norm = norm_new(ROWS, COLS, 1);
    CUdeviceptr x = upload(LARGE, 2), y = upload(LARGE, 3);
    CUdeviceptr z[2] = {upload(LARGE, 4), upload(LARGE, 5)};
    int n = LARGE;
    for (int step = 0; step < STEPS; step++) {
        for (int i = 0; i < 2 * SMALL; i++) {
            norm_launch("norm_right", &norm, stream);
            if (i % SMALL == SMALL - 1)
                launch(kernel(i < SMALL ? large : "large_other"), (LARGE + 63) / 64, 64, stream,
                       (void *[]){&x, &y, &z[i >= SMALL], &n});
        }
        CHECK(cuStreamSynchronize(stream));
        usleep(PAUSE_US); /* so that the checks of some steps overlap, not of all */
    }
    norm_print("small", &norm);
    print_sum("large", z[1], LARGE * sizeof(float));
    finish();
    return 0;
}
