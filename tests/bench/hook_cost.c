/*
 * hook_cost.c - what cuvet's callback takes of a launch that is not sampled, by itself: the program
 * calls the subscriber as CUPTI would, around no launch. Runs on the stand-in driver.
 *
 *   hook_cost [CALLS [SHAPES]]
 *
 * Under libcuvet.so, with hook_cupti.so (toggle_cupti.c) for a libcupti. One JSON line for each
 * state of the caches: ns of ENTER and of EXIT beyond those of a callback that does nothing. warm:
 * as the call before left them. core: the program ran more code, touched more data and took more
 * branches in between than the first caches of a core hold, as the driver does in a launch. chip:
 * more data than the second ones hold, too. Launches take turns with SHAPES sizes.
 */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cuda.h>
#include <cupti.h>
#include "base/clock.h"
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

enum { LINE = 64, FUNCTIONS = 2048, WARM_UP = 2000, ROUNDS = 12 };
enum { NEAR_BYTES = 128 << 10, FAR_BYTES = 8 << 20 };

/* ---- what a launch does to the caches ---- */

/* A function on a line of its own, with a branch that goes its own way. */
#define ONE(n)                                                                                     \
    __attribute__((noinline, aligned(LINE))) static uint64_t touch_##n(uint64_t x)                 \
    {                                                                                              \
        if (x >> (0x##n % 61) & 1)                                                                 \
            return x * 0x9E3779B97F4A7C15u + 0x##n;                                                \
        return (x ^ x >> 7) + 0x##n;                                                               \
    }
#define NAME(n) touch_##n,
/* clang-format off */
#define LAST_16(DO, n)                                                                             \
    DO(n##0) DO(n##1) DO(n##2) DO(n##3) DO(n##4) DO(n##5) DO(n##6) DO(n##7)                        \
    DO(n##8) DO(n##9) DO(n##a) DO(n##b) DO(n##c) DO(n##d) DO(n##e) DO(n##f)
#define ALL_256(DO, n)                                                                             \
    LAST_16(DO, n##0) LAST_16(DO, n##1) LAST_16(DO, n##2) LAST_16(DO, n##3)                        \
    LAST_16(DO, n##4) LAST_16(DO, n##5) LAST_16(DO, n##6) LAST_16(DO, n##7)                        \
    LAST_16(DO, n##8) LAST_16(DO, n##9) LAST_16(DO, n##a) LAST_16(DO, n##b)                        \
    LAST_16(DO, n##c) LAST_16(DO, n##d) LAST_16(DO, n##e) LAST_16(DO, n##f)
#define ALL(DO)                                                                                    \
    ALL_256(DO, 0) ALL_256(DO, 1) ALL_256(DO, 2) ALL_256(DO, 3)                                    \
    ALL_256(DO, 4) ALL_256(DO, 5) ALL_256(DO, 6) ALL_256(DO, 7)
/* clang-format on */

ALL(ONE)
static uint64_t (*const touch[FUNCTIONS])(uint64_t) = {ALL(NAME)};

enum state { WARM, CORE, CHIP, STATES };
static const char *const state_name[STATES] = {"warm", "core", "chip"};

static void make_cold(enum state state)
{
    static volatile char near[NEAR_BYTES], far[FAR_BYTES];
    static volatile uint64_t sink = 0x123456789ABCDEFu;
    uint64_t x = sink;
    if (state == WARM)
        return;
    for (size_t i = 0; state == CHIP && i < FAR_BYTES; i += LINE)
        x += (uint64_t)far[i];
    for (size_t i = 0; i < NEAR_BYTES; i += LINE)
        x += (uint64_t)near[i];
    for (size_t i = 0; i < FUNCTIONS; i++)
        x = touch[(x ^ i * 677) % FUNCTIONS](x);
    sink = x;
}

/* ---- a launch, as CUPTI shows it ---- */

static const char symbol[] = "bench_empty";

struct setting {
    volatile int *toggle;
    CUpti_CallbackFunc callback;
    CUcontext context;
    CUfunction function;
    unsigned shapes;
    CUdeviceptr x, y;
};

static uint64_t ticks(void)
{
#if defined(__x86_64__)
    _mm_lfence();
    uint64_t now = __rdtsc();
    _mm_lfence();
    return now;
#else
    return (uint64_t)clock_ns();
#endif
}

/* The two calls around launch i. Nothing of the library is touched in between. */
static void call(const struct setting *s, unsigned i, enum state state, uint64_t spent[2])
{
    int n = (int)(i % s->shapes) + 1;
    void *params[] = {(void *)&s->x, (void *)&s->y, &n};
    cuLaunchKernel_params launch = {.f = s->function,
                                    .gridDimX = 1,
                                    .gridDimY = 1,
                                    .gridDimZ = 1,
                                    .blockDimX = 32,
                                    .blockDimY = 1,
                                    .blockDimZ = 1,
                                    .kernelParams = params};
    CUresult result = CUDA_SUCCESS;
    CUpti_CallbackData data = {.functionParams = &launch,
                               .functionReturnValue = &result,
                               .symbolName = symbol,
                               .context = s->context};
    for (int site = 0; site < 2; site++) {
        data.callbackSite = site ? CUPTI_API_EXIT : CUPTI_API_ENTER;
        make_cold(state);
        uint64_t start = ticks();
        s->callback(NULL, CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel,
                    &data);
        spent[site] = ticks() - start;
    }
}

static int by_size(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

/* The mean but for the largest tenth, which interrupts are in: some clocks have steps as wide as
 * what is to be measured, so no single value shows it. */
static double usual(uint64_t *values, size_t count)
{
    size_t most = count - count / 10;
    double sum = 0;
    qsort(values, count, sizeof(*values), by_size);
    for (size_t i = 0; i < most; i++)
        sum += (double)values[i];
    return sum / (double)most;
}

/* With and without the subscriber in turn; ticks. */
static void measure(const struct setting *s, enum state state, unsigned calls, double over[2])
{
    uint64_t *spent[2][2];
    for (int i = 0; i < 4; i++)
        spent[i / 2][i % 2] = calloc(calls, sizeof(uint64_t));
    for (unsigned i = 0; i < 2 * calls; i++) {
        uint64_t both[2];
        int on = (int)(i & 1);
        *s->toggle = on;
        call(s, i / 2, state, both);
        for (int site = 0; site < 2; site++)
            spent[on][site][i / 2] = both[site];
    }
    *s->toggle = 1;
    for (int site = 0; site < 2; site++)
        over[site] = usual(spent[1][site], calls) - usual(spent[0][site], calls);
    for (int i = 0; i < 4; i++)
        free(spent[i / 2][i % 2]);
}

/* ---- the stand-in driver ---- */

static const char ptx[] =
    ".version 7.5\n.target sm_75\n.address_size 64\n.visible .entry bench_empty"
    "(.param .u64 x, .param .u64 y, .param .u32 n)\n{\n ret;\n}\n";

static void *entry(void *library, const char *name)
{
    void *found = library ? dlsym(library, name) : NULL;
    if (!found) {
        fprintf(stderr, "hook_cost: no %s\n", name);
        exit(3);
    }
    return found;
}

static void check(CUresult result, const char *what)
{
    if (result == CUDA_SUCCESS)
        return;
    fprintf(stderr, "hook_cost: %s: error %d\n", what, (int)result);
    exit(3);
}

static void open_driver(struct setting *s)
{
    void *cuda = dlopen("libcuda.so.1", RTLD_NOW);
    CUresult (*init)(unsigned) = entry(cuda, "cuInit");
    CUresult (*create)(CUcontext *, unsigned, CUdevice) = entry(cuda, "cuCtxCreate_v2");
    CUresult (*load)(CUmodule *, const void *) = entry(cuda, "cuModuleLoadData");
    CUresult (*get)(CUfunction *, CUmodule, const char *) = entry(cuda, "cuModuleGetFunction");
    CUresult (*alloc)(CUdeviceptr *, size_t) = entry(cuda, "cuMemAlloc_v2");
    CUmodule module;
    check(init(0), "cuInit");
    check(create(&s->context, 0, 0), "cuCtxCreate");
    check(load(&module, ptx), "cuModuleLoadData");
    check(alloc(&s->x, 4096), "cuMemAlloc");
    check(alloc(&s->y, 4096), "cuMemAlloc");
    check(get(&s->function, module, symbol), "cuModuleGetFunction");
    void *cupti = dlopen(getenv("CUVET_CUPTI"), RTLD_NOW | RTLD_NOLOAD);
    s->toggle = entry(cupti, "toggle_forward");
    s->callback = entry(cupti, "toggle_callback");
}

/* Of the rounds' values, the lower quartile: other programs make rounds dearer, none cheaper. */
static double low_quartile(double *values)
{
    for (int i = 1; i < ROUNDS; i++) {
        double value = values[i];
        int at = i;
        for (; at > 0 && values[at - 1] > value; at--)
            values[at] = values[at - 1];
        values[at] = value;
    }
    return values[ROUNDS / 4];
}

int main(int argc, char **argv)
{
    unsigned calls = argc > 1 ? (unsigned)atoi(argv[1]) : 2000;
    static struct setting s;
    static double over[STATES][2][ROUNDS];
    uint64_t unused[2];
    s.shapes = argc > 2 ? (unsigned)atoi(argv[2]) : 1;
    if (!getenv("CUVET_CUPTI") || calls < 100 || !s.shapes) {
        fprintf(stderr, "usage: hook_cost [CALLS [SHAPES]], 100 calls or more; CUVET_CUPTI names "
                        "hook_cupti.so\n");
        return 2;
    }
    open_driver(&s);
    for (unsigned i = 0; i < WARM_UP + 100 * s.shapes; i++)
        call(&s, i, WARM, unused);
    uint64_t start = ticks();
    int64_t began = clock_ns();
    for (int round = 0; round < ROUNDS; round++) {
        for (int state = 0; state < STATES; state++) {
            double both[2];
            measure(&s, (enum state)state, calls / (state == CHIP ? 10 : 1), both);
            over[state][0][round] = both[0];
            over[state][1][round] = both[1];
        }
    }
    double per_ns = (double)(ticks() - start) / (double)(clock_ns() - began);
    for (int state = 0; state < STATES; state++)
        printf("{\"state\": \"%s\", \"enter_ns\": %.1f, \"exit_ns\": %.1f}\n", state_name[state],
               low_quartile(over[state][0]) / per_ns, low_quartile(over[state][1]) / per_ns);
    return 0;
}
