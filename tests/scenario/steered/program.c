/*
 * program.c - launches a kernel every few milliseconds for as long as its companion runs: while
 * the file BESIDE of its environment is there. `program FATBIN`.
 */
#include "common/program.h"

#include <stdlib.h>
#include <time.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    const struct timespec pace = {.tv_nsec = 2000000};
    const char *beside = getenv("BESIDE");
    start(argc, argv);
    struct norm norm = norm_new(4, 100, 1);
    do {
        norm_launch("norm_right", &norm, NULL);
        CHECK(cuStreamSynchronize(NULL));
        nanosleep(&pace, NULL);
    } while (beside && access(beside, F_OK) == 0);
    norm_print("steered", &norm);
    finish();
    return 0;
}
