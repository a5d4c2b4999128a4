/* program.c - two kernels such as Numba's, each launched in two shapes: `program FATBIN`. For
 * tests/check_discover.sh. */
#include "common/program.h"

enum { BLOCK = 64, MOST_WORDS = 32 };

/* Of a launch, in their order. */
static struct words {
    void *param[MOST_WORDS];
    long long word[MOST_WORDS];
    int count;
} words;

static void add(long long word)
{
    words.word[words.count] = word;
    words.param[words.count] = &words.word[words.count];
    words.count++;
}

/* An array of rows, or of `cols` alone where `rows` is 0. */
static void add_array(CUdeviceptr data, long long rows, long long cols)
{
    long long item = sizeof(float);
    add(0);
    add(0);
    add(rows ? rows * cols : cols);
    add(item);
    add((long long)data);
    if (rows)
        add(rows);
    add(cols);
    if (rows)
        add(cols * item);
    add(item);
}

static void saxpy(long long n, CUstream stream)
{
    size_t count = (size_t)n;
    float s = 1.5f;
    CUdeviceptr a = upload(count, 1), b = upload(count, 2), y = upload(count, 3);
    words.count = 0;
    add(0);
    words.param[0] = &s;
    add_array(a, 0, n);
    add_array(b, 0, n);
    add_array(y, 0, n);
    launch(
        kernel(
            "_ZN8__main__5saxpyB2v1Ef5ArrayIfLi1E1C7mutable7alignedE5ArrayIfLi1E1C7mutable7aligned"
            "E5ArrayIfLi1E1C7mutable7alignedE"),
        (unsigned)(n + BLOCK - 1) / BLOCK, BLOCK, stream, words.param);
    print_sum("saxpy", y, count * sizeof(float));
}

static void rowsum(long long rows, long long cols, CUstream stream)
{
    size_t count = (size_t)(rows * cols);
    CUdeviceptr x = upload(count, 4), y = upload((size_t)rows, 5);
    words.count = 0;
    add_array(x, rows, cols);
    add_array(y, 0, rows);
    launch(kernel("_ZN8__main__"
                  "6rowsumB2v2E5ArrayIfLi2E1C7mutable7alignedE5ArrayIfLi1E1C7mutable7alignedE"),
           (unsigned)(rows + BLOCK - 1) / BLOCK, BLOCK, stream, words.param);
    print_sum("rowsum", y, (size_t)rows * sizeof(float));
}

int main(int argc, char **argv)
{
    CUstream stream;
    start(argc, argv);
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    saxpy(300, stream);
    saxpy(1000, stream);
    rowsum(30, 70, stream);
    rowsum(12, 129, stream);
    finish();
    return 0;
}
