/*
 * program.c - products by the stand-ins of cuBLAS, `program FATBIN WORD [K]`, each REPEAT times:
 *
 *   ex sgemm tf32 beta device batch list gemv gemvs grouped capture refused
 *   wide                         as sgemm, of a size at which a projection is worth its cost
 *   many                         MANY small ones
 *   found                        a function by dlsym
 *   lt, lt_added                 by rows; by columns, with another matrix added
 *   lt_bias, lt_relu, lt_gelu    with an epilogue; lt_gelu writes what gelu is taken of as well
 *   lt_relu_aux                  relu alone, with its mask
 *   lt_drelu, lt_dgelu           gradients by the mask or by gelu's argument, with the sums of C
 *   lt_bgrada, lt_bgradb         with the sums of an input
 *   lt_half                      f16 matrices, added to C
 *   lt_half_relu                 the same, then relu
 *   lt_parts SCHEME              the same without C, parts of sums being added up in such a way;
 *                                `own`: in that of the library's choice
 *   lt_ones K                    f16 matrices of ones, by rows, into f32
 *   f8_rows f8_blocks f8_tiles   f8 inputs into f16, with scales of each kind
 *   f8_one f8_relu               with one scale for each input; with relu besides
 *   f8_aux                       with relu's mask, and a scale for it
 */
#include "common/program.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../softgpu/blas/lt.h"

enum {
    M = 24,
    N = 40,
    K = 200,
    BATCH = 3,
    ROOM = 1 << 15,
    REPEAT = 3,
    MANY = 120,
    LISTS = 10,
    R_32F = 0,
    R_16F = 2,
    COMPUTE_32F = 68
};

static struct {
    void *blas, *lt;
    CUstream stream;
    CUdeviceptr a, b, c, added, bias, scales;
    float alpha, beta;
} job;

static bool is(const char *name)
{
    return strcmp(word(0), name) == 0;
}

static void expect(int status, const char *what)
{
    if (status)
        check(CUDA_ERROR_UNKNOWN, what, __FILE__, status);
}

/* f16 numbers between 0.5 and 1 of either sign, the same for the same seed. */
static void fill_half(CUdeviceptr array, size_t count, unsigned seed)
{
    uint16_t *bits = malloc(2 * count);
    for (size_t i = 0; i < count; i++) {
        uint32_t z = ((uint32_t)i + seed * 7919) * 2654435761u;
        z = (z ^ z >> 15) * 2246822519u;
        bits[i] = (uint16_t)(0x3800 | (z >> 20 & 0x3ff) | (z >> 16 & 0x8000));
    }
    CHECK(cuMemcpyHtoD(array, bits, 2 * count));
    free(bits);
}

/* f16 inputs, an f32 product, the first factor transposed. */
static void call_ex(void)
{
    fill_half(job.a, M * K, 1);
    fill_half(job.b, K * N, 2);
    expect(cublasGemmEx(job.blas, 1, 0, M, N, K, &job.alpha, (void *)job.a, R_16F, K, (void *)job.b,
                        R_16F, K, &job.beta, (void *)job.c, R_32F, M, COMPUTE_32F, -1),
           "cublasGemmEx");
}

static void call_wide(void)
{
    enum { WIDE_M = 96, WIDE_N = 192, WIDE_K = 64 };
    expect(cublasSgemm_v2(job.blas, 0, 0, WIDE_M, WIDE_N, WIDE_K, &job.alpha, (float *)job.a,
                          WIDE_M, (float *)job.b, WIDE_K, &job.beta, (float *)job.c, WIDE_M),
           "cublasSgemm");
}

static void call_small(void)
{
    enum { SIDE = 8 };
    expect(cublasSgemm_v2(job.blas, 0, 0, SIDE, SIDE, SIDE, &job.alpha, (float *)job.a, SIDE,
                          (float *)job.b, SIDE, &job.beta, (float *)job.c, SIDE),
           "cublasSgemm");
}

static int sgemm(const void *alpha, const void *beta)
{
    return cublasSgemm_v2(job.blas, 0, 1, M, N, K, alpha, (float *)job.a, M, (float *)job.b, N,
                          beta, (float *)job.c, M);
}

static void call_found(void)
{
    __typeof__(cublasSgemm_v2) *function;
    void *library = dlopen("libcublas.so.13", RTLD_LAZY | RTLD_LOCAL);
    void *address = library ? dlsym(library, "cublasSgemm_v2") : NULL;
    expect(address ? 0 : 1, "dlsym of cublasSgemm_v2");
    memcpy(&function, &address, sizeof function);
    expect(function(job.blas, 0, 1, M, N, K, &job.alpha, (float *)job.a, M, (float *)job.b, N,
                    &job.beta, (float *)job.c, M),
           "cublasSgemm");
}

static void call_device(void)
{
    CUdeviceptr factors;
    const float values[2] = {job.alpha, 0.5f};
    CHECK(cuMemAlloc(&factors, sizeof values));
    CHECK(cuMemcpyHtoD(factors, values, sizeof values));
    cublasSetPointerMode_v2(job.blas, 1);
    expect(sgemm((void *)factors, (void *)(factors + sizeof(float))), "cublasSgemm");
    cublasSetPointerMode_v2(job.blas, 0);
    CHECK(cuStreamSynchronize(job.stream));
    CHECK(cuMemFree(factors));
}

static void call_batch(void)
{
    expect(cublasSgemmStridedBatched(job.blas, 0, 0, M, N, K, &job.alpha, (float *)job.a, M, M * K,
                                     (float *)job.b, K, K * N, &job.beta, (float *)job.c, M, M * N,
                                     BATCH),
           "cublasSgemmStridedBatched");
}

static void call_list(void)
{
    static CUdeviceptr lists;
    CUdeviceptr address[3][BATCH];
    for (unsigned s = 0; s < BATCH; s++) {
        address[0][s] = job.a + s * M * K * sizeof(float);
        address[1][s] = job.b + s * K * N * sizeof(float);
        address[2][s] = job.c + s * M * N * sizeof(float);
    }
    if (!lists)
        CHECK(cuMemAlloc(&lists, sizeof address));
    CHECK(cuMemcpyHtoD(lists, address, sizeof address));
    expect(cublasSgemmBatched(job.blas, 0, 0, M, N, K, &job.alpha, (void *)lists, M,
                              (void *)(lists + sizeof address[0]), K, &job.beta,
                              (void *)(lists + 2 * sizeof address[0]), M, BATCH),
           "cublasSgemmBatched");
    CHECK(cuStreamSynchronize(job.stream));
}

/* Groups of one and of two products, of several sizes. */
static void call_grouped(void)
{
    enum { GROUPS = 2 };
    static CUdeviceptr lists;
    const int none[GROUPS] = {0, 0}, m[GROUPS] = {M, 16}, n[GROUPS] = {N, 8}, k[GROUPS] = {K, 72};
    const int size[GROUPS] = {1, 2};
    const float alpha[GROUPS] = {job.alpha, 2}, beta[GROUPS] = {0, 0};
    CUdeviceptr address[3][BATCH];
    for (unsigned s = 0; s < BATCH; s++) {
        address[0][s] = job.a + s * M * K * sizeof(float);
        address[1][s] = job.b + s * K * N * sizeof(float);
        address[2][s] = job.c + s * M * N * sizeof(float);
    }
    if (!lists)
        CHECK(cuMemAlloc(&lists, sizeof address));
    CHECK(cuMemcpyHtoD(lists, address, sizeof address));
    const int *sizes[] = {NULL, size}; /* the library refuses the first */
    for (int i = 0; i < 2; i++)
        printf("grouped: %d\n", (int)cublasSgemmGroupedBatched(
                                    job.blas, none, none, m, n, k, alpha, (void *)lists, m,
                                    (void *)(lists + sizeof address[0]), k, beta,
                                    (void *)(lists + 2 * sizeof address[0]), m, GROUPS, sizes[i]));
    CHECK(cuStreamSynchronize(job.stream));
}

static void call_gemvs(void)
{
    expect(cublasSgemvStridedBatched(job.blas, 0, M, K, &job.alpha, (float *)job.a, M, M * K,
                                     (float *)job.b, 1, K, &job.beta, (float *)job.c, 1, M, BATCH),
           "cublasSgemvStridedBatched");
}

static void call_gemv(void)
{
    expect(cublasSgemv_v2(job.blas, 1, K, N, &job.alpha, (float *)job.b, K, (float *)job.a, 1,
                          &job.beta, (float *)job.c, 2),
           "cublasSgemv");
}

static void set(void *desc, int attribute, const void *value, size_t size)
{
    expect(cublasLtMatmulDescSetAttribute(desc, attribute, value, size), "an attribute");
}

/* The word's epilogue. The mask of relu has a bit for each element, in lines of 128. */
static void set_epilogue(void *desc)
{
    enum { EPILOGUE = 7, BIAS_POINTER = 8, AUX_POINTER = 11, AUX_LD = 12 };
    enum { AUX = SOFTBLAS_AUX, MASK = SOFTBLAS_RELU | SOFTBLAS_DRELU, MASK_LD = 128 };
    static const struct {
        const char *word;
        int epilogue;
    } rows[] = {{"lt_bias", SOFTBLAS_BIAS},
                {"lt_relu", SOFTBLAS_RELU | SOFTBLAS_BIAS},
                {"lt_gelu", SOFTBLAS_GELU | AUX | SOFTBLAS_BIAS},
                {"lt_relu_aux", SOFTBLAS_RELU | AUX},
                {"lt_drelu", SOFTBLAS_DRELU | AUX | SOFTBLAS_BGRAD},
                {"lt_dgelu", SOFTBLAS_DGELU | AUX | SOFTBLAS_BGRAD},
                {"lt_bgrada", SOFTBLAS_BGRADA},
                {"lt_bgradb", SOFTBLAS_BGRADB}};
    int epilogue = 0;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        epilogue |= is(rows[i].word) ? rows[i].epilogue : 0;
    const int64_t ld = epilogue & MASK ? MASK_LD : M;
    set(desc, EPILOGUE, &epilogue, sizeof epilogue);
    set(desc, BIAS_POINTER, &job.bias, sizeof job.bias);
    if (epilogue & AUX) {
        set(desc, AUX_POINTER, &job.added, sizeof job.added);
        set(desc, AUX_LD, &ld, sizeof ld);
    }
}

/* By rows; or by columns, with another matrix added or an epilogue. */
static void call_lt(void)
{
    const int by_rows = 1;
    const bool by_columns = !is("lt");
    void *desc, *a, *b, *c;
    cublasLtMatmulDescCreate(&desc, COMPUTE_32F, R_32F);
    cublasLtMatrixLayoutCreate(&a, R_32F, M, K, by_columns ? M : K);
    cublasLtMatrixLayoutCreate(&b, R_32F, K, N, by_columns ? K : N);
    cublasLtMatrixLayoutCreate(&c, R_32F, M, N, by_columns ? M : N);
    if (!by_columns) {
        cublasLtMatrixLayoutSetAttribute(a, 1, &by_rows, sizeof by_rows);
        cublasLtMatrixLayoutSetAttribute(b, 1, &by_rows, sizeof by_rows);
        cublasLtMatrixLayoutSetAttribute(c, 1, &by_rows, sizeof by_rows);
    }
    job.beta = is("lt_added") ? 0.75f : 0;
    if (!is("lt") && !is("lt_added"))
        set_epilogue(desc);
    expect(cublasLtMatmul(job.lt, desc, &job.alpha, (void *)job.a, a, (void *)job.b, b, &job.beta,
                          (void *)(is("lt_added") ? job.added : job.c), c, (void *)job.c, c, NULL,
                          NULL, 0, job.stream),
           "cublasLtMatmul");
    cublasLtMatmulDescDestroy(desc);
    cublasLtMatrixLayoutDestroy(a);
    cublasLtMatrixLayoutDestroy(b);
    cublasLtMatrixLayoutDestroy(c);
}

/* By columns, added to what C holds, or by an algorithm that adds up parts of sums in such a way.
 */
static void call_half(void)
{
    void *desc, *a, *b, *c;
    enum { EPILOGUE = 7 };
    const int scheme = is("lt_parts") ? atoi(word(1)) : 0, relu = SOFTBLAS_RELU;
    const bool own = is("lt_parts") && strcmp(word(1), "own") == 0;
    CHECK(cuStreamSynchronize(job.stream));
    fill_half(job.a, M * K, 1);
    fill_half(job.b, K * N, 2);
    fill_half(job.c, M * N, 3);
    cublasLtMatmulDescCreate(&desc, COMPUTE_32F, R_32F);
    if (is("lt_half_relu"))
        set(desc, EPILOGUE, &relu, sizeof relu);
    cublasLtMatrixLayoutCreate(&a, R_16F, M, K, M);
    cublasLtMatrixLayoutCreate(&b, R_16F, K, N, K);
    cublasLtMatrixLayoutCreate(&c, R_16F, M, N, M);
    expect(cublasLtMatmul(job.lt, desc, &job.alpha, (void *)job.a, a, (void *)job.b, b, &job.beta,
                          (void *)job.c, c, (void *)job.c, c, own ? NULL : &scheme, NULL, 0,
                          job.stream),
           "cublasLtMatmul");
    cublasLtMatmulDescDestroy(desc);
    cublasLtMatrixLayoutDestroy(a);
    cublasLtMatrixLayoutDestroy(b);
    cublasLtMatrixLayoutDestroy(c);
}

/* Numbers of 8 bits, none of which is a NaN. */
static CUdeviceptr upload_f8(size_t count, unsigned seed)
{
    CUdeviceptr array;
    unsigned char *bytes = malloc(count);
    for (size_t i = 0; i < count; i++) {
        uint32_t z = ((uint32_t)i + seed * 7919) * 2654435761u;
        z = (z ^ z >> 15) * 2246822519u;
        bytes[i] = (unsigned char)((z >> 8 & 0x3f) | (z >> 16 & 0x80));
    }
    CHECK(cuMemAlloc(&array, count));
    CHECK(cuMemcpyHtoD(array, bytes, count));
    free(bytes);
    return array;
}

/* The modes of the word's scales. */
static void scale_modes(int modes[2])
{
    enum { ONE = 0, TILE = 2, ROW = 3, VEC = 4, BLOCK = 5 };
    const bool one = is("f8_one") || is("f8_relu") || is("f8_aux");
    modes[0] = one ? ONE : is("f8_rows") ? ROW : is("f8_tiles") ? TILE : VEC;
    modes[1] = one ? ONE : is("f8_rows") ? ROW : is("f8_tiles") ? TILE : BLOCK;
}

/* Scales for each input; for each row; for 128 elements and for blocks of 128 x 128; or for 32
 * elements, in tiles, which the stand-in does not read. By columns, the first factor transposed. */
static void call_f8(void)
{
    enum { F8_M = 8, F8_N = 144, F8_K = 304, F8 = 28 };
    enum { EPILOGUE = 7, AUX_POINTER = 11, AUX_LD = 12, SCALE = 17, AUX_SCALE = 23, MODE = 31 };
    const int trans = 1, f16 = R_16F, relu = SOFTBLAS_RELU;
    const int masked = SOFTBLAS_RELU | SOFTBLAS_AUX;
    const int64_t mask_ld = 128;
    int modes[2];
    static CUdeviceptr left, right;
    void *desc, *a, *b, *c;
    if (!left) {
        left = upload_f8(F8_M * F8_K, 1);
        right = upload_f8(F8_K * F8_N, 2);
    }
    scale_modes(modes);
    cublasLtMatmulDescCreate(&desc, COMPUTE_32F, R_32F);
    cublasLtMatrixLayoutCreate(&a, F8, F8_K, F8_M, F8_K);
    cublasLtMatrixLayoutCreate(&b, F8, F8_K, F8_N, F8_K);
    cublasLtMatrixLayoutCreate(&c, f16, F8_M, F8_N, F8_M);
    set(desc, 3, &trans, sizeof trans);
    set(desc, SCALE, &job.added, sizeof job.added);
    set(desc, SCALE + 1, &job.scales, sizeof job.scales);
    set(desc, MODE, &modes[0], sizeof modes[0]);
    set(desc, MODE + 1, &modes[1], sizeof modes[1]);
    if (is("f8_relu"))
        set(desc, EPILOGUE, &relu, sizeof relu);
    if (is("f8_aux")) {
        set(desc, EPILOGUE, &masked, sizeof masked);
        set(desc, AUX_POINTER, &job.added, sizeof job.added);
        set(desc, AUX_LD, &mask_ld, sizeof mask_ld);
        set(desc, AUX_SCALE, &job.scales, sizeof job.scales);
    }
    job.alpha = 0.01f;
    expect(cublasLtMatmul(job.lt, desc, &job.alpha, (void *)left, a, (void *)right, b, &job.beta,
                          (void *)job.c, c, (void *)job.c, c, NULL, NULL, 0, job.stream),
           "cublasLtMatmul");
    cublasLtMatmulDescDestroy(desc);
    cublasLtMatrixLayoutDestroy(a);
    cublasLtMatrixLayoutDestroy(b);
    cublasLtMatrixLayoutDestroy(c);
}

/* Each element of the product is K. */
static void call_ones(void)
{
    enum { SIDE = 8 };
    const int by_rows = 1;
    const unsigned k = (unsigned)atoi(word(1));
    void *desc, *a, *b, *c;
    CUdeviceptr ones;
    CHECK(cuMemAlloc(&ones, SIDE * k * sizeof(uint16_t)));
    CHECK(cuMemsetD16(ones, 0x3c00, SIDE * k));
    CHECK(cuCtxSynchronize());
    cublasLtMatmulDescCreate(&desc, COMPUTE_32F, R_32F);
    cublasLtMatrixLayoutCreate(&a, R_16F, SIDE, k, k);
    cublasLtMatrixLayoutCreate(&b, R_16F, k, SIDE, SIDE);
    cublasLtMatrixLayoutCreate(&c, R_32F, SIDE, SIDE, SIDE);
    cublasLtMatrixLayoutSetAttribute(a, 1, &by_rows, sizeof by_rows);
    cublasLtMatrixLayoutSetAttribute(b, 1, &by_rows, sizeof by_rows);
    cublasLtMatrixLayoutSetAttribute(c, 1, &by_rows, sizeof by_rows);
    job.alpha = 1;
    expect(cublasLtMatmul(job.lt, desc, &job.alpha, (void *)ones, a, (void *)ones, b, &job.beta,
                          (void *)job.c, c, (void *)job.c, c, NULL, NULL, 0, job.stream),
           "cublasLtMatmul");
    CHECK(cuStreamSynchronize(job.stream));
    cublasLtMatmulDescDestroy(desc);
    cublasLtMatrixLayoutDestroy(a);
    cublasLtMatrixLayoutDestroy(b);
    cublasLtMatrixLayoutDestroy(c);
    CHECK(cuMemFree(ones));
}

static void call_captured(void)
{
    CUgraph graph;
    CUgraphExec exec;
    CHECK(cuStreamBeginCapture(job.stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    expect(sgemm(&job.alpha, &job.beta), "cublasSgemm");
    CHECK(cuStreamEndCapture(job.stream, &graph));
    CHECK(cuGraphInstantiateWithFlags(&exec, graph, 0));
    CHECK(cuGraphLaunch(exec, job.stream));
    CHECK(cuStreamSynchronize(job.stream));
    CHECK(cuGraphExecDestroy(exec));
    CHECK(cuGraphDestroy(graph));
}

static void call(void)
{
    cublasSetMathMode(job.blas, is("tf32") ? 3 : 0);
    if (is("ex"))
        call_ex();
    else if (strncmp(word(0), "lt_half", 7) == 0 || is("lt_parts"))
        call_half();
    else if (is("wide"))
        call_wide();
    else if (is("many"))
        call_small();
    else if (is("found"))
        call_found();
    else if (is("device"))
        call_device();
    else if (is("batch"))
        call_batch();
    else if (is("list"))
        call_list();
    else if (is("grouped"))
        call_grouped();
    else if (is("gemvs"))
        call_gemvs();
    else if (is("gemv"))
        call_gemv();
    else if (is("lt_ones"))
        call_ones();
    else if (strncmp(word(0), "f8", 2) == 0)
        call_f8();
    else if (strncmp(word(0), "lt", 2) == 0)
        call_lt();
    else if (is("capture"))
        call_captured();
    else if (is("refused"))
        expect(sgemm(&job.alpha, &job.beta) == SOFTBLAS_NOT_SUPPORTED ? 0 : 1, "a refused call");
    else
        expect(sgemm(&job.alpha, &job.beta), "cublasSgemm");
}

int main(int argc, char **argv)
{
    const struct timespec pause = {.tv_nsec = 60000000};
    start(argc, argv);
    const bool lists = is("list") || is("grouped");
    job.a = upload(ROOM, 1);
    job.b = upload(ROOM, 2);
    job.c = upload(ROOM, 3);
    job.added = upload(ROOM, 4);
    job.bias = upload(M + N, 5);
    job.scales = upload(1 << 10, 6);
    job.alpha = 1.25f;
    job.beta = is("beta") || strncmp(word(0), "lt_half", 7) == 0 ? 0.5f : 0;
    CHECK(cuStreamCreate(&job.stream, CU_STREAM_NON_BLOCKING));
    expect(cublasCreate_v2(&job.blas), "cublasCreate");
    expect(cublasLtCreate(&job.lt), "cublasLtCreate");
    expect(cublasSetStream_v2(job.blas, job.stream), "cublasSetStream");
    for (unsigned i = 0; i < (is("many") ? MANY : lists ? LISTS : REPEAT); i++) {
        call();
        if (lists) /* where its addresses lead to is found out between calls */
            nanosleep(&pause, NULL);
    }
    CHECK(cuStreamSynchronize(job.stream));
    print_sum(word(0), job.c, ROOM * sizeof(float));
    cublasLtDestroy(job.lt);
    cublasDestroy_v2(job.blas);
    CHECK(cuStreamDestroy(job.stream));
    finish();
    return 0;
}
