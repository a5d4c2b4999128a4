/*
 * program.c - torch.cat and torch.var_mean as PyTorch launches them: `program FATBIN cat|reduce
 * [wrong]`. What lies beyond the inputs and dims of a struct is whatever memory held.
 */
#include "common/program.h"

#include <stdlib.h>
#include <string.h>
#include "torch_structs/structs.h"

#define NATIVE "_ZN2at6native"
#define CAT(D)                                                                                     \
    NATIVE "26CatArrayBatchedCopy_contigINS0_10OpaqueTypeILj2EEEjLi" D                             \
           "ELi128ELi1EEEvPT_NS0_25Cat"                                                            \
           "ArrInputTensorMetadataIS4_T0_XT2_EXT3_EEENS0_16TensorSizeStrideIS7_Lj4EEEiS7_"
#define REDUCE(vec)                                                                                \
    NATIVE "13reduce_kernelILi512ELi" vec "ENS0_8ReduceOpIfNS0_10WelfordOpsIffiNS0_4pairIffEEEEjf" \
           "Li2ELi2EEEEEvT1_"

enum { REPEAT = 4, ROWS = 11, COLS = 300, GARBAGE = 0xa5 };

/* out[11][90] from x[11][20], x[11][37] and x[11][33]; as three dims [11][1][90]. */
static void cat(bool wrong)
{
    static const unsigned widths[3] = {20, 37, 33};
    struct cat_inputs in;
    struct cat_output os;
    int dim = wrong ? 2 : 1;
    unsigned dim_stride = 1, at = 0, rows = ROWS, wide = 90;
    memset(&in, GARBAGE, sizeof in);
    memset(&os, GARBAGE, sizeof os);
    for (unsigned i = 0; i < 3; i++) {
        in.input[i] = (const void *)(uintptr_t)upload(ROWS * widths[i], 3 + i);
        in.offset[i] = at;
        in.dim_size[i] = widths[i];
        in.elements[i] = ROWS * widths[i];
        at += widths[i];
    }
    os.size[0] = rows;
    os.stride[0] = wide;
    os.size[1] = 1;
    os.stride[1] = wide;
    os.size[dim] = wide;
    os.stride[dim] = 1;
    CUdeviceptr out = upload(ROWS * wide, 9);
    void *params[] = {&out, &in, &os, &dim, &dim_stride};
    for (int j = 0; j < REPEAT; j++)
        CHECK(cuLaunchKernel(kernel(wrong ? CAT("3") : CAT("2")), 2, 3, 1, 128, 1, 1, 0, NULL,
                             params, NULL));
    print_sum("cat", out, 2 * ROWS * wide);
}

/* The variance of each row of x[11][300], whose rows lie 320 apart, and its mean. */
static void reduce(bool wrong)
{
    struct reduced op;
    memset(&op, GARBAGE, sizeof op);
    op.correction = 1;
    op.take_root = 0;
    op.inner = op.outer = 1;
    op.inner_size[0].divisor = COLS;
    op.inner_stride[0] = 4;
    op.outer_size[0].divisor = ROWS;
    op.outer_stride[0][0] = 4;
    op.outer_stride[0][1] = 4 * 320;
    CUdeviceptr x = upload(ROWS * 320, 5), y = upload(ROWS, 6), mean = upload(ROWS, 7);
    op.source = (const char *)(uintptr_t)x;
    op.out[0] = (char *)(uintptr_t)y;
    op.out[1] = (char *)(uintptr_t)mean;
    op.accumulate = 0;
    op.last = 1;
    for (int j = 0; j < REPEAT; j++) {
        op.outputs = j % 2 + 1;
        memset(&op.inner_size[1], GARBAGE + j, sizeof op.inner_size - sizeof op.inner_size[0]);
        memset(&op.outer_stride[1], GARBAGE + j,
               sizeof op.outer_stride - sizeof op.outer_stride[0]);
        launch(kernel(wrong ? REDUCE("4") : REDUCE("1")), 1, 32, NULL, (void *[]){&op});
    }
    print_sum("variance", y, 4 * ROWS);
    print_sum("mean", mean, 4 * ROWS);
}

int main(int argc, char **argv)
{
    start(argc, argv);
    bool wrong = strcmp(word(1), "wrong") == 0;
    if (strcmp(word(0), "cat") == 0)
        cat(wrong);
    else
        reduce(wrong);
    finish();
    return 0;
}
