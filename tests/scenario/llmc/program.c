/* program.c - `program FATBIN BLOCK`: each kernel of the table in blocks of so many threads. */
#include "common/program.h"

#include <stdlib.h>

enum { B = 2, N = 5, NH = 3, DIM = 8, OUT = B * N * 3 * NH * DIM, PARTS = 4 };

static void permutes(unsigned block)
{
    int b = B, n = N, heads = NH, d = DIM;
    CUdeviceptr q = upload(OUT, 1), k = upload(OUT, 2), v = upload(OUT, 3), y = upload(OUT, 4);
    void *params[] = {&y, &q, &k, &v, &b, &n, &heads, &d};
    void *two[] = {&y, &q, &b, &n, &heads, &d};
    launch(kernel("_Z23permute_kernel_backwardPfPKfS1_S1_iiii"), OUT / block + 1, block, NULL,
           params);
    print_sum("permute", y, 4 * OUT);
    launch(kernel("_Z23permute_kernel_backwardP13__nv_bfloat16PKS_S2_S2_iiii"), OUT / block + 1,
           block, NULL, params);
    print_sum("permute bf16", y, 2 * OUT);
    launch(kernel("_Z25unpermute_kernel_backwardPfPKfiiii"), OUT / 3 / block + 1, block, NULL, two);
    print_sum("unpermute", y, 4 * OUT / 3);
}

static void sums(unsigned block)
{
    size_t count = 700, all = 2000;
    ptrdiff_t stride = 0;
    unsigned short ones[700];
    CUdeviceptr out = upload(PARTS, 5), data = upload(count, 6), sum = upload(1, 7),
                x = upload(all, 8);
    for (size_t i = 0; i < count; i++)
        ones[i] = (unsigned short)(0x3f80 + i % 97);
    CHECK(cuMemcpyHtoD(data, ones, sizeof ones));
    void *squares[] = {&out, &data, &count, &stride};
    void *one[] = {&sum, &x, &all};
    CHECK(cuLaunchKernel(kernel("_Z26global_norm_squared_kernelI13__nv_bfloat16EvPfPKT_ml"), PARTS,
                         1, 1, block, 1, 1, 0, NULL, squares, NULL));
    print_sum("squares", out, 4 * PARTS);
    launch(kernel("_Z30global_sum_single_block_kernelIfEvPfPKT_m"), 1, block, NULL, one);
    print_sum("sum", sum, 4);
}

int main(int argc, char **argv)
{
    start(argc, argv);
    unsigned block = (unsigned)atoi(word(0));
    permutes(block);
    sums(block);
    finish();
    return 0;
}
