/*
 * program.c - runs grouped products of matrices that Triton made, whose addresses and sizes lie in
 * device memory, and that no entry names: `program FATBIN PTX KERNEL [null | wild | freed | shared
 * | long]`, with an address of that kind in a group of no rows, which the kernel does not follow,
 * with two groups that write the same memory, or with a matrix of more than 64 KiB. It is launched
 * many times, since its own PTX takes a while to become its reference.
 */
#include "common/program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LAUNCHES = 24, PAUSE_MS = 30, GROUPS = 3, LISTS = 3, GRID = 2, THREADS = 128 };
enum { SHARED = 32 << 10, SCRATCH = 8 << 10 };

/* m, n, k: products of a (m x k) and b (n x k), f16. */
static int sizes[GROUPS + 1][3] = {{128, 32, 64}, {64, 64, 96}, {64, 32, 32}, {0, 32, 32}};

static CUdeviceptr matrix[LISTS][GROUPS + 1];

static size_t elements_of(int list, int group)
{
    const int *size = sizes[group];
    return (size_t)(list == 1 ? size[1] : size[0]) * (size_t)(list == 2 ? size[1] : size[2]);
}

/* Numbers of f16 between 1/16 and 1/8. */
static CUdeviceptr new_matrix(int list, int group)
{
    const size_t elements = elements_of(list, group);
    CUdeviceptr made;
    uint16_t *host = malloc(elements * 2);
    for (size_t i = 0; i < elements; i++)
        host[i] = list == 2 ? 0 : (uint16_t)(0x2c00 + (i * 37 + (size_t)group) % 1024);
    CHECK(cuMemAlloc(&made, elements * 2));
    CHECK(cuMemcpyHtoD(made, host, elements * 2));
    free(host);
    return made;
}

/* The group of no rows. */
static CUdeviceptr odd_address(void)
{
    CUdeviceptr freed;
    if (!strcmp(word(2), "wild"))
        return 0x123450;
    if (strcmp(word(2), "freed") != 0)
        return 0;
    CHECK(cuMemAlloc(&freed, 64 << 20));
    CHECK(cuMemFree(freed));
    return freed;
}

static CUdeviceptr copy_of(const void *bytes, size_t count)
{
    CUdeviceptr made;
    CHECK(cuMemAlloc(&made, count));
    CHECK(cuMemcpyHtoD(made, bytes, count));
    return made;
}

int main(int argc, char **argv)
{
    CUmodule own;
    CUfunction function;
    CUdeviceptr list[LISTS], scratch, none = 0;
    start(argc, argv);
    CHECK(cuModuleLoad(&own, word(0)));
    CHECK(cuModuleGetFunction(&function, own, word(1)));
    const bool shared = !strcmp(word(2), "shared");
    const bool longer = !strcmp(word(2), "long");
    int count = *word(2) && !shared && !longer ? GROUPS + 1 : GROUPS;
    sizes[0][2] = longer ? 320 : sizes[0][2];
    for (int i = 0; i < LISTS; i++) {
        for (int group = 0; group < GROUPS; group++)
            matrix[i][group] = new_matrix(i, group);
        matrix[i][GROUPS] = i == 1 ? odd_address() : matrix[i][0];
        if (shared && i == 2)
            matrix[i][2] = matrix[i][0];
        list[i] = copy_of(matrix[i], (size_t)count * sizeof matrix[i][0]);
    }
    CUdeviceptr table = copy_of(sizes, sizeof sizes);
    CHECK(cuMemAlloc(&scratch, SCRATCH));
    void *params[] = {&list[0], &list[1], &list[2], &table, &count, &scratch, &none};
    const char *pause_ms = getenv("PAUSE_MS");
    for (int i = 0; i < LAUNCHES; i++) {
        CHECK(cuLaunchKernel(function, GRID, 1, 1, THREADS, 1, 1, SHARED, NULL, params, NULL));
        CHECK(cuCtxSynchronize());
        usleep(1000 * (useconds_t)(pause_ms ? atoi(pause_ms) : PAUSE_MS));
    }
    for (int group = 0; group < GROUPS && !shared; group++)
        print_sum(word(1), matrix[2][group], elements_of(2, group) * 2);
    CHECK(cuModuleUnload(own));
    finish();
    return 0;
}
