/*
 * program.c - x[i, j], x[i, j] = v, flip and triu as PyTorch launches them: `program FATBIN
 * [wrong]`. What lies beyond the dims of a struct is whatever memory held.
 */
#include "common/program.h"

#include <string.h>
#include "torch_places/structs.h"

#define INDEX(vt)      "_ZN2at6native24index_elementwise_kernelILi128ELi" vt "ENS0_16"
#define BY_INDEX(kind) "gpu_index_kernelINS0_" kind "INS0_10OpaqueTypeILi4EEEEEEEEEvlT1_"
#define GATHER         BY_INDEX("17index_kernel_impl")
#define PUT            BY_INDEX("21index_put_kernel_impl")
#define FLIP           "flip_kernel_implINS0_10OpaqueTypeILi4EEEEEEEvlT1_"
#define TRIU(each)                                                                                 \
    "_ZN2at6native16triu_tril_kernelIfiLb1ELi" each "ELb0EEEvNS0_4cuda6detail10TensorInfoIT_T0_"   \
    "EENS4_IKS5_S6_EEllS6_"

enum {
    REPEAT = 4,
    ROWS = 40,
    COLS = 57,
    COUNT = 20,
    PLANES = 5,
    HIGH = 7,
    WIDE = 11,
    GARBAGE = 0xa5
};

static bool wrong;

/* COUNT different numbers below `most`, every third counted from the end. */
static CUdeviceptr places(int most, int step)
{
    long long index[COUNT];
    CUdeviceptr at;
    for (int i = 0; i < COUNT; i++)
        index[i] = i * step % most - (i % 3 == 0 ? most : 0);
    CHECK(cuMemAlloc(&at, sizeof index));
    CHECK(cuMemcpyHtoD(at, index, sizeof index));
    return at;
}

/* COUNT elements of x[ROWS][COLS] by rows and columns, or of y, which are put there. */
static void by_index(bool puts)
{
    struct by_index f;
    long n = COUNT;
    memset(&f, GARBAGE, sizeof f);
    CUdeviceptr table = upload(ROWS * COLS, 3), list = upload(COUNT, 4);
    f.dims = 1;
    f.size[0].divisor = COUNT;
    f.stride[0][0] = puts ? 0 : 4;
    f.stride[0][1] = puts ? 4 : 0;
    f.stride[0][2] = 8;
    f.out = (char *)(uintptr_t)(puts ? table : list);
    f.in = (const char *)(uintptr_t)(puts ? list : table);
    f.indices = 2;
    memset(f.index, 0, sizeof f.index);
    memset(f.entries, 0, sizeof f.entries);
    memset(f.step, 0, sizeof f.step);
    f.index[0] = (const long long *)(uintptr_t)places(ROWS, 7);
    f.index[1] = (const long long *)(uintptr_t)places(COLS, 5);
    f.entries[0] = ROWS;
    f.step[0] = 4 * COLS;
    f.entries[1] = COLS;
    f.step[1] = 4;
    CUfunction function = puts ? kernel(wrong ? INDEX("5") PUT : INDEX("4") PUT)
                               : kernel(wrong ? INDEX("5") GATHER : INDEX("4") GATHER);
    for (int j = 0; j < REPEAT; j++) {
        fill(puts ? table : list, puts ? ROWS * COLS : COUNT, 5u + (unsigned)j);
        launch(function, 1, 32, NULL, (void *[]){&n, &f});
    }
    print_sum("by index", puts ? table : list, 4 * (puts ? ROWS * COLS : COUNT));
}

/* Of [PLANES][HIGH][WIDE] planes and columns. */
static void flip(void)
{
    struct flipping f;
    long n = (long)PLANES * HIGH * WIDE;
    memset(&f, GARBAGE, sizeof f);
    CUdeviceptr x = upload((size_t)n, 3), y = upload((size_t)n, 4);
    const unsigned size[] = {WIDE, HIGH, PLANES};
    const int stride[] = {4, 4 * WIDE, 4 * WIDE * HIGH}, back[] = {1, 0, 1};
    f.dims = 3;
    f.in = (const char *)(uintptr_t)x;
    f.out = (char *)(uintptr_t)y;
    for (int d = 0; d < 3; d++) {
        f.size[d].divisor = size[d];
        f.stride[d][0] = back[d] ? -stride[d] : stride[d];
        f.stride[d][1] = stride[d];
        f.out += back[d] ? ((int)size[d] - 1) * stride[d] : 0;
    }
    for (int j = 0; j < REPEAT; j++) {
        fill(y, (size_t)n, 5u + (unsigned)j);
        launch(kernel(wrong ? INDEX("5") FLIP : INDEX("4") FLIP), 1, 32, NULL, (void *[]){&n, &f});
    }
    print_sum("flip", y, 4 * (size_t)n);
}

/* Of [PLANES][HIGH][WIDE]; x lies column by column. */
static void triu(void)
{
    struct tensor_info y, x;
    long diagonal = 1, n = (long)PLANES * HIGH * WIDE;
    int padded = WIDE;
    memset(&y, GARBAGE, sizeof y);
    memset(&x, GARBAGE, sizeof x);
    CUdeviceptr from = upload((size_t)n, 3), to = upload((size_t)n, 4);
    const int size[] = {PLANES, HIGH, WIDE}, dense[] = {HIGH * WIDE, WIDE, 1},
              turned[] = {HIGH * WIDE, 1, HIGH};
    x.data = (char *)(uintptr_t)from;
    y.data = (char *)(uintptr_t)to;
    x.dims = y.dims = 3;
    for (int d = 0; d < 3; d++) {
        x.size[d] = y.size[d] = size[d];
        y.stride[d] = dense[d];
        x.stride[d] = turned[d];
    }
    for (int j = 0; j < REPEAT; j++)
        launch(kernel(wrong ? TRIU("3") : TRIU("2")), 1, 32, NULL,
               (void *[]){&y, &x, &diagonal, &n, &padded});
    print_sum("triu", to, 4 * (size_t)n);
}

int main(int argc, char **argv)
{
    start(argc, argv);
    wrong = strcmp(word(0), "wrong") == 0;
    by_index(false);
    by_index(true);
    flip();
    triu();
    finish();
    return 0;
}
