/*
 * demo.c - an ordinary CUDA program without a link to cuvet.
 *
 * It runs four kernels for some steps and then does what most projects do: an allclose against the
 * CPU with 1e-4. All four pass, and one of them is wrong. The driver is opened at run time, so that
 * the demo builds on machines without one.
 */
#include <dlfcn.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cuda.h>

enum { ROWS = 512, COLS = 1021, COUNT = ROWS * COLS, STEPS = 20 };
static const float EPS = 1e-5f;

/* ---- the driver ------------------------------------------------------------------------------ */

#define DRIVER(API)                                                                                \
    API(cuInit, (unsigned))                                                                        \
    API(cuDeviceGet, (CUdevice *, int))                                                            \
    API(cuDevicePrimaryCtxRetain, (CUcontext *, CUdevice))                                         \
    API(cuCtxSetCurrent, (CUcontext))                                                              \
    API(cuModuleLoad, (CUmodule *, const char *))                                                  \
    API(cuModuleGetFunction, (CUfunction *, CUmodule, const char *))                               \
    API(cuMemAlloc, (CUdeviceptr *, size_t))                                                       \
    API(cuMemcpyHtoD, (CUdeviceptr, const void *, size_t))                                         \
    API(cuMemcpyDtoH, (void *, CUdeviceptr, size_t))                                               \
    API(cuStreamCreate, (CUstream *, unsigned))                                                    \
    API(cuStreamSynchronize, (CUstream))                                                           \
    API(cuLaunchKernel, (CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,   \
                         unsigned, CUstream, void **, void **))

/* The names are macros of cuda.h for the current version of each function, such as _v2. */
#define TEXT_OF(name)      #name
#define TEXT(name)         TEXT_OF(name)
#define JOIN_OF(a, b)      a##b
#define JOIN(a, b)         JOIN_OF(a, b)
#define API(name, formals) static CUresult(*JOIN(p_, name)) formals;
DRIVER(API)
#undef API
#define CALL(name) JOIN(p_, name)

static void give_up(const char *sentence)
{
    fprintf(stderr, "demo: %s\n", sentence);
    exit(1);
}

static void must(CUresult result, const char *what)
{
    if (result == CUDA_SUCCESS)
        return;
    fprintf(stderr, "demo: %s failed with error %d.\n", what, (int)result);
    exit(1);
}

static void open_driver(void)
{
    void *driver = dlopen("libcuda.so.1", RTLD_NOW);
    if (!driver)
        give_up("no NVIDIA driver was found (libcuda.so.1), and the demo needs a GPU.");
#define API(name, formals)                                                                         \
    *(void **)&CALL(name) = dlsym(driver, TEXT(name));                                             \
    if (!CALL(name))                                                                               \
        give_up("the NVIDIA driver is too old: it has no " TEXT(name) ".");
    DRIVER(API)
#undef API
    CUdevice device;
    if (CALL(cuInit)(0) != CUDA_SUCCESS || CALL(cuDeviceGet)(&device, 0) != CUDA_SUCCESS)
        give_up("no NVIDIA GPU was found, and the demo needs one.");
    CUcontext context;
    must(CALL(cuDevicePrimaryCtxRetain)(&context, device), "cuDevicePrimaryCtxRetain");
    must(CALL(cuCtxSetCurrent)(context), "cuCtxSetCurrent");
}

/* kernels.fatbin lies beside the program. */
static CUmodule load_kernels(void)
{
    char path[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - sizeof "kernels.fatbin");
    if (length <= 0)
        give_up("/proc/self/exe cannot be read.");
    path[length] = '\0';
    strcpy(strrchr(path, '/') + 1, "kernels.fatbin");
    CUmodule module;
    must(CALL(cuModuleLoad)(&module, path), path);
    return module;
}

static CUdeviceptr upload(const float *values, size_t count)
{
    CUdeviceptr memory;
    must(CALL(cuMemAlloc)(&memory, count * sizeof *values), "cuMemAlloc");
    if (values)
        must(CALL(cuMemcpyHtoD)(memory, values, count * sizeof *values), "cuMemcpyHtoD");
    return memory;
}

/* ---- what the kernels should compute -----------------------------------------------------------
 */

static float x[COUNT], w[COLS];

/* Normally distributed, the same on every run. */
static float next_normal(void)
{
    static unsigned long long state = 1;
    double uniform[2];
    for (int i = 0; i < 2; i++) {
        state = state * 6364136223846793005ull + 1442695040888963407ull;
        uniform[i] = ((double)(state >> 11) + 0.5) / 9007199254740992.0;
    }
    return (float)(sqrt(-2 * log(uniform[0])) * cos(6.283185307179586 * uniform[1]));
}

static double cpu_rmsnorm(int row, int col)
{
    double squares = 0;
    for (int c = 0; c < COLS; c++)
        squares += (double)x[row * COLS + c] * x[row * COLS + c];
    return x[row * COLS + col] / sqrt(squares / COLS + EPS) * w[col];
}

static double cpu_gelu(int row, int col)
{
    double value = x[row * COLS + col];
    return value * (1 + erf(value / sqrt(2))) / 2;
}

static double cpu_softmax(int row, int col)
{
    double sum = 0;
    for (int c = 0; c < COLS; c++)
        sum += exp(x[row * COLS + c]);
    return exp(x[row * COLS + col]) / sum;
}

/* |got - right| <= atol + rtol * |right|, both 1e-4; every 32nd row. */
static int allclose(const float *got, double (*want)(int row, int col))
{
    for (int row = 0; row < ROWS; row += 32)
        for (int col = 0; col < COLS; col++) {
            double y = want(row, col);
            if (!(fabs(got[row * COLS + col] - y) <= 1e-4 + 1e-4 * fabs(y)))
                return 0;
        }
    return 1;
}

/* ---- the program -------------------------------------------------------------------------------
 */

int main(void)
{
    open_driver();
    CUmodule module = load_kernels();
    for (int i = 0; i < COUNT; i++)
        x[i] = 0.5f * next_normal();
    for (int i = 0; i < COLS; i++)
        w[i] = 1 + 0.1f * next_normal();

    CUdeviceptr dx = upload(x, COUNT), dw = upload(w, COLS), dy = upload(NULL, COUNT);
    int cols = COLS, count = COUNT;
    float eps = EPS;
    const struct {
        const char *name;
        unsigned grid, block;
        void *params[5];
        double (*want)(int row, int col);
    } kernels[] = {
        {"demo_rmsnorm", ROWS, 256, {&dx, &dw, &dy, &cols, &eps}, cpu_rmsnorm},
        {"demo_gelu", (COUNT + 255) / 256, 256, {&dx, &dy, &count}, cpu_gelu},
        {"demo_softmax", ROWS, 1024, {&dx, &dy, &cols}, cpu_softmax},
        {"demo_softmax_tail", ROWS, 1024, {&dx, &dy, &cols}, cpu_softmax},
    };

    static float got[COUNT];
    CUstream stream;
    must(CALL(cuStreamCreate)(&stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
    int wrong = 0;
    for (size_t k = 0; k < sizeof kernels / sizeof *kernels; k++) {
        CUfunction function;
        must(CALL(cuModuleGetFunction)(&function, module, kernels[k].name), kernels[k].name);
        for (int step = 0; step < STEPS; step++)
            must(CALL(cuLaunchKernel)(function, kernels[k].grid, 1, 1, kernels[k].block, 1, 1, 0,
                                      stream, (void **)kernels[k].params, NULL),
                 kernels[k].name);
        must(CALL(cuStreamSynchronize)(stream), "cuStreamSynchronize");
        must(CALL(cuMemcpyDtoH)(got, dy, sizeof got), "cuMemcpyDtoH");
        int close = allclose(got, kernels[k].want);
        printf("%-18s allclose 1e-4: %s\n", kernels[k].name, close ? "pass" : "FAIL");
        wrong += !close;
    }
    return wrong ? 2 : 0;
}
