/*
 * program.c - kernels whose PTX does not show what they read and write, each launched in two
 * shapes: `program FATBIN`. For tests/check_discover.sh.
 */
#include "common/program.h"

#include <stdlib.h>

enum { BLOCK = 64, VALUES = 16, PART = 32 };

static CUdeviceptr empty(size_t bytes)
{
    CUdeviceptr array;
    CHECK(cuMemAlloc(&array, bytes));
    CHECK(cuMemsetD8(array, 0, bytes));
    return array;
}

static CUdeviceptr values_below(int limit, size_t count)
{
    int *host = calloc(count, sizeof *host);
    CUdeviceptr array;
    for (size_t i = 0; i < count; i++)
        host[i] = (int)(i * i + i / 3) % limit;
    CHECK(cuMemAlloc(&array, count * sizeof *host));
    CHECK(cuMemcpyHtoD(array, host, count * sizeof *host));
    free(host);
    return array;
}

static void pointers(int n, CUstream stream)
{
    size_t count = (size_t)n;
    unsigned blocks = (unsigned)(n + BLOCK - 1) / BLOCK;
    int which = 1;
    CUdeviceptr x = upload(count, 1), y = upload(count, 2), z = empty(4 * count), table;
    CUdeviceptr a = upload(count, 3), b = upload(count, 4), rows[] = {x, y, z};
    CHECK(cuMemAlloc(&table, sizeof rows));
    CHECK(cuMemcpyHtoD(table, rows, sizeof rows));
    launch(kernel("through_table"), blocks, BLOCK, stream, (void *[]){&table, &n});
    launch(kernel("add_to_chosen"), blocks, BLOCK, stream, (void *[]){&a, &b, &x, &which, &n});
    print_sum("z", z, 4 * count);
    print_sum("b", b, 4 * count);
}

static void parts(int n, CUstream stream)
{
    size_t count = (size_t)n;
    unsigned blocks = (unsigned)(n + BLOCK - 1) / BLOCK;
    int biased = 0;
    CUdeviceptr x = upload(count, 1), y = empty(4 * count), bias = upload(count, 2);
    CUdeviceptr half = empty(4 * count), values = values_below(VALUES, count);
    CUdeviceptr counts = empty(4 * VALUES), scaled = empty(4 * count), ticket = empty(4);
    CUdeviceptr sums = empty(4 * count / PART), total = empty(4);
    launch(kernel("first_half"), blocks, BLOCK, stream, (void *[]){&x, &half, &n});
    launch(kernel("count_values"), blocks, BLOCK, stream, (void *[]){&values, &counts, &n});
    launch(kernel("maybe_bias"), blocks, BLOCK, stream, (void *[]){&x, &bias, &y, &biased, &n});
    launch(kernel("total_by_ticket"), (unsigned)n / PART, PART, stream,
           (void *[]){&x, &sums, &ticket, &total});
    launch(kernel("by_factor"), blocks, BLOCK, stream, (void *[]){&x, &scaled, &n});
    print_sum("half", half, 4 * count);
    print_sum("counts", counts, 4 * VALUES);
    print_sum("total", total, 4);
    print_sum("scaled", scaled, 4 * count);
}

int main(int argc, char **argv)
{
    CUstream stream;
    CUdeviceptr variable;
    size_t bytes;
    const float factor = 2;
    start(argc, argv);
    CHECK(cuStreamCreate(&stream, CU_STREAM_DEFAULT));
    CHECK(cuModuleGetGlobal(&variable, &bytes, module, "factor"));
    CHECK(cuMemcpyHtoD(variable, &factor, sizeof factor));
    for (int n = 256; n <= 320; n += 64) {
        pointers(n, stream);
        parts(n, stream);
    }
    finish();
    return 0;
}
