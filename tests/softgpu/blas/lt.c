/* lt.c - libcublasLt.so.13, as far as the scenarios call it. */
#include "lt.h"

#include <cuda.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern const unsigned char softblas_fatbin[];

enum { ATTRIBUTES = 40 };

/* A descriptor or a layout: 8 bytes for each attribute. */
struct described {
    uint64_t attribute[ATTRIBUTES];
};

static bool fault(const char *name)
{
    const char *wanted = getenv("SOFTBLAS_FAULT");
    return wanted && strcmp(wanted, name) == 0;
}

struct kernels {
    CUfunction prologue, product, epilogue, flip;
};

/* The module of the current context; contexts are never released before the program ends. */
static CUresult find_kernels(struct kernels *out)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static struct {
        CUcontext context;
        CUmodule module;
    } loaded[8];
    CUcontext context;
    CUmodule module = NULL;
    CUresult result = cuCtxGetCurrent(&context);
    pthread_mutex_lock(&lock);
    for (int i = 0; !result && i < 8 && !module; i++) {
        if (!loaded[i].context) {
            result = cuModuleLoadData(&loaded[i].module, softblas_fatbin);
            loaded[i].context = result ? NULL : context;
        }
        if (loaded[i].context == context)
            module = loaded[i].module;
    }
    pthread_mutex_unlock(&lock);
    const struct {
        const char *name;
        CUfunction *function;
    } rows[] = {{"softblas_prologue", &out->prologue},
                {"softblas_product", &out->product},
                {"softblas_epilogue", &out->epilogue},
                {"softblas_flip", &out->flip}};
    for (size_t i = 0; !result && i < sizeof rows / sizeof *rows; i++)
        result = cuModuleGetFunction(rows[i].function, module, rows[i].name);
    return result;
}

/* SOFTBLAS_FLIP=CALL:ELEMENT:BIT: in the call of that number one bit of an f32 element of the
 * product is flipped behind the product's kernel, as by faulty memory. */
static CUresult flip_bit(CUfunction function, const struct softblas_job *job, void *stream)
{
    static atomic_ulong calls;
    const char *wanted = getenv("SOFTBLAS_FLIP");
    unsigned long call = atomic_fetch_add(&calls, 1), which, element;
    unsigned bit;
    if (!wanted || sscanf(wanted, "%lu:%lu:%u", &which, &element, &bit) != 3 || call != which)
        return CUDA_SUCCESS;
    uint64_t word = job->d.address + element * sizeof(uint32_t);
    unsigned mask = 1u << bit % 32;
    void *params[] = {&word, &mask};
    return cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, params, NULL);
}

int softblas_run(struct softblas_job *job, unsigned batch, void *stream)
{
    enum { THREADS = 128 };
    struct kernels kernels;
    int nothing = 0;
    void *first[] = {&nothing}, *second[] = {job};
    if (fault("refuse"))
        return SOFTBLAS_NOT_SUPPORTED;
    if (job->m <= 0 || job->n <= 0)
        return 0;
    job->terms = fault("tail") ? job->k / 64 * 64 : job->k;
    job->hole = fault("hole");
    job->parts = fault("parts");
    job->rounds = fault("rounds");
    job->lacks = fault("epilogue");
    if (job->lacks)
        job->epilogue &= ~(SOFTBLAS_BIAS | SOFTBLAS_DRELU | SOFTBLAS_DGELU);
    job->adds = !fault("beta");
    if (find_kernels(&kernels))
        return SOFTBLAS_FAILED;
    unsigned blocks = (unsigned)((job->m * job->n + THREADS - 1) / THREADS);
    bool masks = (job->epilogue & SOFTBLAS_RELU) && (job->epilogue & SOFTBLAS_AUX);
    if (cuLaunchKernel(kernels.prologue, 1, 1, 1, 1, 1, 1, 0, stream, first, NULL) ||
        cuLaunchKernel(kernels.product, blocks, batch, 1, THREADS, 1, 1, 0, stream, second, NULL))
        return SOFTBLAS_FAILED;
    if ((masks || job->epilogue & SOFTBLAS_SUMS) &&
        cuLaunchKernel(kernels.epilogue, blocks, 1, 1, THREADS, 1, 1, 0, stream, second, NULL))
        return SOFTBLAS_FAILED;
    return flip_bit(kernels.flip, job, stream) ? SOFTBLAS_FAILED : 0;
}

int cublasLtCreate(void **handle)
{
    *handle = calloc(1, 8);
    return 0;
}

int cublasLtDestroy(void *handle)
{
    free(handle);
    return 0;
}

static int set(void *described, int attribute, const void *in, size_t size)
{
    memcpy(&((struct described *)described)->attribute[attribute], in, size);
    return 0;
}

static int get(const void *described, int attribute, void *out, size_t size, size_t *written)
{
    if (attribute < 0 || attribute >= ATTRIBUTES || size > sizeof(uint64_t))
        return SOFTBLAS_INVALID;
    memcpy(out, &((const struct described *)described)->attribute[attribute], size);
    *written = size;
    return 0;
}

int cublasLtMatmulDescCreate(void **desc, int compute, int scale)
{
    struct described *made = calloc(1, sizeof *made);
    made->attribute[0] = (uint64_t)compute;
    made->attribute[1] = (uint64_t)scale;
    made->attribute[6] = 2;
    made->attribute[7] = 1;
    made->attribute[22] = (uint64_t)-1;
    made->attribute[26] = (uint64_t)-1;
    *desc = made;
    return 0;
}

int cublasLtMatrixLayoutCreate(void **layout, int type, uint64_t rows, uint64_t cols, int64_t ld)
{
    struct described *made = calloc(1, sizeof *made);
    made->attribute[0] = (uint64_t)type;
    made->attribute[2] = rows;
    made->attribute[3] = cols;
    made->attribute[4] = (uint64_t)ld;
    made->attribute[5] = 1;
    *layout = made;
    return 0;
}

int cublasLtMatmulDescDestroy(void *desc)
{
    free(desc);
    return 0;
}

int cublasLtMatrixLayoutDestroy(void *layout)
{
    free(layout);
    return 0;
}

int cublasLtMatmulDescSetAttribute(void *desc, int attribute, const void *in, size_t size)
{
    return set(desc, attribute, in, size);
}

int cublasLtMatmulDescGetAttribute(const void *desc, int attribute, void *out, size_t size,
                                   size_t *written)
{
    return get(desc, attribute, out, size, written);
}

int cublasLtMatrixLayoutSetAttribute(void *layout, int attribute, const void *in, size_t size)
{
    return set(layout, attribute, in, size);
}

int cublasLtMatrixLayoutGetAttribute(const void *layout, int attribute, void *out, size_t size,
                                     size_t *written)
{
    return get(layout, attribute, out, size, written);
}

int cublasLtMatmulAlgoConfigGetAttribute(const void *algorithm, int attribute, void *out,
                                         size_t size, size_t *written)
{
    enum { REDUCTION = 3 };
    if (attribute != REDUCTION || size < sizeof(int))
        return SOFTBLAS_INVALID;
    memcpy(out, algorithm, sizeof(int));
    *written = sizeof(int);
    return 0;
}

static struct softblas_matrix matrix(const struct described *layout, const void *data, bool turned)
{
    bool by_rows = (layout->attribute[1] == 1) != turned;
    int64_t ld = (int64_t)layout->attribute[4];
    return (struct softblas_matrix){(uint64_t)(uintptr_t)data, by_rows ? ld : 1,
                                    by_rows ? 1 : ld,          (int64_t)layout->attribute[6],
                                    (int)layout->attribute[0], 0};
}

/* As the mode has them; those of 16 and 32 elements are not read. */
static struct softblas_scales scales(const struct described *how, int side, int64_t size, int64_t k)
{
    const int mode = (int)how->attribute[31 + side];
    const int64_t blocks = (k + 127) / 128;
    struct softblas_scales one = {how->attribute[17 + side], size, k, 1, 1};
    if (mode == 3)
        one.outer = 1;
    if (mode == 4)
        one = (struct softblas_scales){one.address, 1, 128, 1, size};
    if (mode == 5)
        one = (struct softblas_scales){one.address, 128, 128, (blocks + 3) / 4 * 4, 1};
    return one;
}

int cublasLtMatmul(void *handle, const void *desc, const void *alpha, const void *a,
                   const void *a_layout, const void *b, const void *b_layout, const void *beta,
                   const void *c, const void *c_layout, void *d, const void *d_layout,
                   const void *algorithm, void *workspace, size_t workspace_bytes, void *stream)
{
    const struct described *how = desc, *left = a_layout, *right = b_layout, *out = d_layout;
    bool device = how->attribute[2] == 1, turn_a = how->attribute[3] != 0;
    struct softblas_job job = {
        .a = matrix(left, a, turn_a),
        .b = matrix(right, b, how->attribute[4] != 0),
        .c = matrix(c_layout, c, false),
        .d = matrix(out, d, false),
        .alpha_at = device ? (uint64_t)(uintptr_t)alpha : 0,
        .beta_at = device ? (uint64_t)(uintptr_t)beta : 0,
        .alpha = device ? 0 : *(const float *)alpha,
        .beta = device ? 0 : *(const float *)beta,
        .bias = how->attribute[8],
        .aux = how->attribute[11],
        .aux_ld = (int64_t)how->attribute[12],
        .m = (int64_t)out->attribute[2],
        .n = (int64_t)out->attribute[3],
        .k = (int64_t)left->attribute[turn_a ? 2 : 3],
        .epilogue = (int)how->attribute[7],
    };
    job.a_scale = scales(how, 0, job.m, job.k);
    job.b_scale = scales(how, 1, job.n, job.k);
    (void)handle, (void)algorithm, (void)workspace, (void)workspace_bytes;
    return softblas_run(&job, (unsigned)out->attribute[5], stream);
}
