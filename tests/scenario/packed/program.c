/*
 * program.c - launches a kernel of a fatbin that no entry names: `program FATBIN KERNEL
 * [once | again]`, with the fatbin unloaded and loaded again now and then. PACKED in the
 * environment names another fatbin. It is launched many times, since its own PTX takes a while to
 * become its reference.
 */
#include "common/program.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LAUNCHES = 24, LAUNCHES_OF_A_LOAD = 4, PAUSE_US = 30000, ROWS = 64, COLS = 700 };

/* Numbers of f16 between 1 and 1.06. */
static CUdeviceptr upload_halves(size_t count)
{
    CUdeviceptr array;
    uint16_t *host = malloc(count * sizeof *host);
    for (size_t i = 0; i < count; i++)
        host[i] = (uint16_t)(0x3c00 + i * 7 % 64);
    CHECK(cuMemAlloc(&array, count * sizeof *host));
    CHECK(cuMemcpyHtoD(array, host, count * sizeof *host));
    free(host);
    return array;
}

int main(int argc, char **argv)
{
    CUdeviceptr x, sums;
    int cols = COLS;
    char *other = getenv("PACKED");
    if (other && argc > 1)
        argv[1] = other;
    const void *image = start(argc, argv);
    CUfunction function = kernel(word(0));
    x = upload_halves(ROWS * COLS);
    CHECK(cuMemAlloc(&sums, ROWS * sizeof(float)));
    for (int i = 0; i < LAUNCHES; i++) {
        if (!strcmp(word(1), "again") && i % LAUNCHES_OF_A_LOAD == 0) {
            CHECK(cuModuleUnload(module));
            CHECK(cuModuleLoadData(&module, image));
            function = kernel(word(0));
        }
        if (i == 0 || strcmp(word(1), "once"))
            launch(function, ROWS / 32, 32, NULL, (void *[]){&x, &sums, &cols});
        CHECK(cuCtxSynchronize());
        usleep(PAUSE_US);
    }
    print_sum(word(0), sums, ROWS * sizeof(float));
    finish();
    return 0;
}
