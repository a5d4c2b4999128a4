/*
 * program.c - torch.rand, randn, randint, bernoulli and dropout as PyTorch launches them, with seed
 * and offset by value and, as in its CUDA graphs, in memory: `program FATBIN all|parts [wrong]`.
 */
#include "common/program.h"

#include <stddef.h>
#include <string.h>
#include "torch_random/names.h"

#define STRING_(text) #text
#define STRING(text)  STRING_(text)
#define NAME(op)      (wrong ? STRING(op(WRONG)) : STRING(op(RIGHT)))

enum {
    REPEAT = 8,
    COUNT = 3001,
    MANY = 600001,
    GRID = 2,
    BLOCK = 64,
    WIDE = 37,
    HIGH = 20,
    GARBAGE = 0xa5
};

static bool wrong;
static CUdeviceptr words; /* seed and offset of a graph */

/* What launch j is given: numbers, then where they lie. */
static struct philox_state state_of(int j)
{
    unsigned long long seed = 0x123456789abcdef0, offset = 8 * (unsigned long long)j;
    struct philox_state state;
    memset(&state, GARBAGE, sizeof state);
    state.captured = j % 2;
    state.within = state.captured ? 12 : 0;
    if (state.captured) {
        CHECK(cuMemcpyHtoD(words, (unsigned long long[]){seed, offset}, 16));
        seed = words;
        offset = words + 8;
    }
    state.seed = seed;
    state.offset = offset;
    return state;
}

/* A launch of `name` over `n` elements with what its lambda holds, REPEAT times. */
static void distribute(const char *name, long n, void *lambda, CUdeviceptr y, size_t bytes)
{
    struct nothing nothing = {0};
    CUfunction function = kernel(name);
    for (int j = 0; j < REPEAT; j++) {
        struct philox_state state = state_of(j);
        fill(y, bytes / 4, 9);
        launch(function, GRID, BLOCK, NULL, (void *[]){&n, &state, &nothing, lambda});
    }
    print_sum("numbers", y, bytes);
}

static void plain(void)
{
    CUdeviceptr y = upload(2 * COUNT, 1);
    void *at = (void *)(uintptr_t)y;
    struct uniform uniform = {at, 4, 5, -2, 3};
    distribute(NAME(UNIFORM), COUNT, &uniform, y, 4 * COUNT);
    struct normal normal = {at, 8, 0.5f, 2};
    distribute(NAME(NORMAL), COUNT, &normal, y, 8 * COUNT);
    struct normal_double doubles = {at, 8, 0, 1};
    distribute(NAME(NORMAL_DOUBLE), COUNT, &doubles, y, 8 * COUNT);
    struct integers integers = {at, 8, 1000, -10};
    distribute(NAME(INTEGERS), COUNT, &integers, y, 8 * COUNT);
}

/* More elements than a check has. */
static void parts(void)
{
    CUdeviceptr y = upload(MANY, 1);
    struct uniform uniform = {(void *)(uintptr_t)y, 4, 5, -2, 3};
    distribute(NAME(UNIFORM), MANY, &uniform, y, 4 * MANY);
}

/* Every element of HIGH rows of WIDE, as of an array with gaps; then a number. */
static void strided(void)
{
    struct normal_strided f;
    CUdeviceptr y = upload(HIGH * WIDE, 2);
    memset(&f, GARBAGE, sizeof f);
    f.dims = 2;
    f.size[0].divisor = WIDE;
    f.size[1].divisor = HIGH;
    f.step[0] = 4;
    f.step[1] = 4 * WIDE;
    f.y = (void *)(uintptr_t)y;
    f.mean = 1;
    f.std = 3;
    distribute(NAME(NORMAL_STRIDED), HIGH * WIDE, &f, y, 4 * HIGH * WIDE);
    memset(&f, GARBAGE, offsetof(struct normal_strided, y));
    f.dims = 0;
    distribute(NAME(NORMAL_STRIDED), 1, &f, y, 4);
}

static struct tensor_info tensor(CUdeviceptr at)
{
    struct tensor_info t;
    memset(&t, GARBAGE, sizeof t);
    t.data = (void *)(uintptr_t)at;
    t.size[0] = COUNT;
    t.stride[0] = 1;
    t.dims = 1;
    return t;
}

static void choices(void)
{
    unsigned n = COUNT;
    float keep = 0.75f;
    struct tensor_info x = tensor(upload(COUNT, 3)), y = tensor(upload(COUNT, 4));
    struct tensor_info mask = tensor(upload(COUNT, 5));
    for (int j = 0; j < REPEAT; j++) {
        struct philox_state state = state_of(j);
        launch(kernel(NAME(BERNOULLI)), GRID, BLOCK, NULL, (void *[]){&y, &x, &n, &state});
    }
    print_sum("bernoulli", (CUdeviceptr)(uintptr_t)y.data, 4 * COUNT);
    for (int j = 0; j < REPEAT; j++) {
        struct philox_state state = state_of(j);
        launch(kernel(NAME(DROPOUT)), GRID, BLOCK, NULL,
               (void *[]){&x, &y, &mask, &n, &keep, &state});
    }
    print_sum("dropout", (CUdeviceptr)(uintptr_t)y.data, 4 * COUNT);
}

int main(int argc, char **argv)
{
    start(argc, argv);
    wrong = strcmp(word(1), "wrong") == 0;
    CHECK(cuMemAlloc(&words, 16));
    if (strcmp(word(0), "parts") == 0) {
        parts();
    } else {
        plain();
        strided();
        choices();
    }
    finish();
    return 0;
}
