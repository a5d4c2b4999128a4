#include "tools/worker/library_call.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "call/product.h"
#include "driver/find.h"
#include "hook/calls/blas_types.h"
#include "lang/dtype.h"

#define WORKSPACE_MOST ((int64_t)1 << 32)

/* The functions that are called, of both libraries. */
#define LIBRARY_LIST(BLAS, LT)                                                                     \
    BLAS(create, "cublasCreate_v2", (void **handle))                                               \
    BLAS(set_pointer_mode, "cublasSetPointerMode_v2", (void *handle, int mode))                    \
    BLAS(set_math_mode, "cublasSetMathMode", (void *handle, int mode))                             \
    BLAS(gemm, "cublasGemmEx",                                                                     \
         (void *handle, int transa, int transb, int m, int n, int k, const void *alpha,            \
          const void *a, int a_type, int lda, const void *b, int b_type, int ldb,                  \
          const void *beta, void *c, int c_type, int ldc, int compute, int algorithm))             \
    BLAS(gemm_batch, "cublasGemmStridedBatchedEx",                                                 \
         (void *handle, int transa, int transb, int m, int n, int k, const void *alpha,            \
          const void *a, int a_type, int lda, long long a_batch, const void *b, int b_type,        \
          int ldb, long long b_batch, const void *beta, void *c, int c_type, int ldc,              \
          long long c_batch, int batch, int compute, int algorithm))                               \
    BLAS(gemm_list, "cublasGemmBatchedEx",                                                         \
         (void *handle, int transa, int transb, int m, int n, int k, const void *alpha,            \
          const void *a, int a_type, int lda, const void *b, int b_type, int ldb,                  \
          const void *beta, void *c, int c_type, int ldc, int batch, int compute, int algorithm))  \
    LT(lt_create, "cublasLtCreate", (void **handle))                                               \
    LT(desc_create, "cublasLtMatmulDescCreate", (void **desc, int compute, int scale))             \
    LT(desc_set, "cublasLtMatmulDescSetAttribute",                                                 \
       (void *desc, int attribute, const void *in, size_t size))                                   \
    LT(layout_create, "cublasLtMatrixLayoutCreate",                                                \
       (void **layout, int type, uint64_t rows, uint64_t cols, int64_t ld))                        \
    LT(layout_set, "cublasLtMatrixLayoutSetAttribute",                                             \
       (void *layout, int attribute, const void *in, size_t size))                                 \
    LT(matmul, "cublasLtMatmul",                                                                   \
       (void *handle, const void *desc, const void *alpha, const void *a, const void *a_layout,    \
        const void *b, const void *b_layout, const void *beta, const void *c,                      \
        const void *c_layout, void *d, const void *d_layout, const void *algorithm,                \
        void *workspace, size_t workspace_bytes, void *stream))

static struct library {
#define FUNCTION(name, symbol, parameters) blas_status(*name) parameters;
    LIBRARY_LIST(FUNCTION, FUNCTION)
#undef FUNCTION
    size_t (*version)(void);
    void *handle, *lt_handle;
} library;

/* Matrices and vectors: y = alpha op(a) x + beta y. */
typedef blas_status gemv_one(void *handle, int trans, int m, int n, const void *alpha,
                             const void *a, int lda, const void *x, int incx, const void *beta,
                             void *y, int incy);
typedef blas_status gemv_strided(void *handle, int trans, int m, int n, const void *alpha,
                                 const void *a, int lda, long long a_batch, const void *x, int incx,
                                 long long x_batch, const void *beta, void *y, int incy,
                                 long long y_batch, int batch);
typedef blas_status gemv_list(void *handle, int trans, int m, int n, const void *alpha,
                              const void *a, int lda, const void *x, int incx, const void *beta,
                              void *y, int incy, int batch);

enum form { FORM_GEMM, FORM_GEMV, FORM_LT };

struct library_call {
    struct product kind; /* types, accumulation, words */
    char function[PRODUCT_FUNCTION];
    enum form form;
    void *gemv; /* the function itself */
};

/* ---- the libraries ---- */

static const char *const toolkit[] = {"lib64", "targets/x86_64-linux/lib", "lib", NULL};

static void *open_one(const char *name, const char *path, struct error *err)
{
    const struct find_library what = {name, "--library", toolkit, "cublas"};
    struct find_hints hints = {.path = path};
    find_homes(&hints);
    return find_library(&what, &hints, err);
}

/* What the library has of both: cuBLAS brings cuBLASLt along. */
static void take_functions(void *opened)
{
    const struct {
        const char *name;
        void *out;
    } rows[] = {
#define FUNCTION(name, symbol, parameters) {symbol, &library.name},
        LIBRARY_LIST(FUNCTION, FUNCTION)
#undef FUNCTION
            {"cublasLtGetVersion", &library.version},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        void *address = dlsym(opened, rows[i].name);
        if (address)
            memcpy(rows[i].out, &address, sizeof address);
    }
}

/* Each library once in a process. */
static enum status open_library(struct library_call *call, const char *path, struct error *err)
{
    static void *opened[2];
    const bool lt = call->form == FORM_LT;
    struct error why = {{0}};
    if (!opened[lt]) {
        opened[lt] = open_one(lt ? "libcublasLt.so" : "libcublas.so", path, &why);
        if (!opened[lt])
            return error_set(err, STATUS_UNSUPPORTED,
                             "the call's library is not here: %s. --library FILE names one",
                             why.text);
        take_functions(opened[lt]);
    }
    if (call->form != FORM_GEMV)
        return STATUS_OK;
    char *wide = strstr(call->function, "_64"); /* the same with other integers */
    if (wide)
        *wide = '\0';
    call->gemv = dlsym(opened[lt], call->function);
    return call->gemv ? STATUS_OK
                      : error_set(err, STATUS_UNSUPPORTED, "the library has no %s", call->function);
}

/* ---- the kind of call ---- */

static int blas_type(uint8_t dtype)
{
    static const struct {
        uint8_t dtype;
        int type;
    } rows[] = {{DTYPE_F64, BLAS_R_64F},        {DTYPE_F32, BLAS_R_32F},
                {DTYPE_F16, BLAS_R_16F},        {DTYPE_BF16, BLAS_R_16BF},
                {DTYPE_F8E4M3, BLAS_R_8F_E4M3}, {DTYPE_F8E5M2, BLAS_R_8F_E5M2}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (rows[i].dtype == dtype)
            return rows[i].type;
    }
    return -1;
}

static enum status refuse(struct error *err, const char *name, const char *why)
{
    return error_set(err, STATUS_UNSUPPORTED, "%.80s is not made again: %s", name, why);
}

enum status library_call_find(const char *name, const char *path, struct library_call **out,
                              struct worker_kernel *about, struct error *err)
{
    static const uint32_t unable = PRODUCT_OTHER | PRODUCT_SCALED | PRODUCT_AMAX;
    struct library_call *call = calloc(1, sizeof *call);
    enum status status = STATUS_OK;
    if (!call)
        return error_set(err, STATUS_NO_MEMORY, "no memory for a call");
    if (!strncmp(name, "cudnn", 5))
        status = refuse(err, name,
                        "its plan is an object of the program, of which a bundle holds the "
                        "arguments alone, not the engine and its settings");
    else if (!product_parse(name, &call->kind, call->function))
        status = refuse(err, name, "only products of cuBLAS and cuBLASLt are");
    call->form = !strcmp(call->function, "cublasLtMatmul") ? FORM_LT
                 : strstr(call->function, "gemv")          ? FORM_GEMV
                                                           : FORM_GEMM;
    if (!status && call->kind.words & unable)
        status = refuse(err, name,
                        "a scale or the maximum of C, and what the name calls other, are not "
                        "rebuilt");
    if (!status && (blas_type(call->kind.a_type) < 0 || blas_type(call->kind.b_type) < 0 ||
                    blas_type(call->kind.c_type) < 0))
        status = refuse(err, name, "one of its types is an integer");
    if (!status)
        status = open_library(call, path, err);
    if (status) {
        free(call);
        return status;
    }
    about->param_bytes = sizeof(struct product_arguments);
    about->layout = product_layout;
    *out = call;
    return STATUS_OK;
}

/* ---- one call ---- */

/* The arguments as the library has them. */
struct raw_matrix {
    uint64_t data;
    bool trans, by_rows;
    uint64_t rows, cols; /* as stored */
    int64_t ld, batch;
};

struct raw {
    struct raw_matrix a, b, added, d;
    int64_t m, n;
    const void *alpha_at, *beta_at; /* the factors, of the host's memory or the device's */
    union {
        float f32;
        double f64;
        uint16_t f16;
    } alpha, beta;
    int scale; /* cudaDataType of these */
};

/* `row`, `col`: distances of op(matrix), which has `rows` rows. */
static struct raw_matrix matrix_of(uint64_t data, bool trans, bool by_rows, int64_t rows,
                                   int64_t cols, int64_t row, int64_t col, int64_t batch)
{
    return (struct raw_matrix){.data = data,
                               .trans = trans,
                               .by_rows = by_rows,
                               .rows = (uint64_t)(trans ? cols : rows),
                               .cols = (uint64_t)(trans ? rows : cols),
                               .ld = by_rows != trans ? row : col,
                               .batch = batch};
}

/* The f16 of that value, which came from one; 0 where none is equal. */
static uint16_t half_of(double value)
{
    for (uint32_t bits = 0; bits < 0x10000; bits++) {
        uint16_t half = (uint16_t)bits;
        if (dtype_load(DTYPE_F16, &half) == value)
            return half;
    }
    return 0;
}

static void set_factors(const struct library_call *call, const struct product_arguments *is,
                        struct raw *out)
{
    if (call->kind.accumulation == ACCUMULATION_F64) {
        out->scale = BLAS_R_64F;
        out->alpha.f64 = is->alpha;
        out->beta.f64 = is->beta;
    } else if (call->kind.accumulation == ACCUMULATION_F16) {
        out->scale = BLAS_R_16F;
        out->alpha.f16 = half_of(is->alpha);
        out->beta.f16 = half_of(is->beta);
    } else {
        out->scale = BLAS_R_32F;
        out->alpha.f32 = (float)is->alpha;
        out->beta.f32 = (float)is->beta;
    }
}

static void *as_pointer(uint64_t address)
{
    return (void *)(uintptr_t)address;
}

/* product_set the other way. */
static void raw_of(const struct library_call *call, const struct product_arguments *is,
                   struct raw *out)
{
    bool turned = is->how & PRODUCT_TURNED;
    out->m = turned ? is->n : is->m;
    out->n = turned ? is->m : is->n;
    out->a = matrix_of(turned ? is->b : is->a, is->how & PRODUCT_TRANS_A, is->how & PRODUCT_ROWS_A,
                       out->m, is->k, turned ? is->b_col : is->a_row,
                       turned ? is->b_row : is->a_col, turned ? is->b_batch : is->a_batch);
    out->b = matrix_of(turned ? is->a : is->b, is->how & PRODUCT_TRANS_B, is->how & PRODUCT_ROWS_B,
                       is->k, out->n, turned ? is->a_col : is->b_row,
                       turned ? is->a_row : is->b_col, turned ? is->a_batch : is->b_batch);
    out->d = matrix_of(is->c, false, is->how & PRODUCT_ROWS_C, out->m, out->n, is->c_row, is->c_row,
                       is->c_batch);
    out->added = out->d;
    if (call->kind.words & PRODUCT_ADDED)
        out->added = matrix_of(is->added, false, is->how & PRODUCT_ROWS_ADDED, out->m, out->n,
                               turned ? is->added_col : is->added_row,
                               turned ? is->added_row : is->added_col, is->added_batch);
    set_factors(call, is, out);
    out->alpha_at = &out->alpha;
    out->beta_at = &out->beta;
    if (call->kind.words & PRODUCT_DEVICE) {
        out->alpha_at = as_pointer(is->alpha_at);
        out->beta_at = as_pointer(is->beta_at);
    }
}

/* The handle, with the math mode and the pointer mode of the call. False: there is none. */
static bool set_handle(const struct library_call *call, const struct product_arguments *is)
{
    bool device = call->kind.words & PRODUCT_DEVICE;
    if (!library.handle && (!library.create || library.create(&library.handle)))
        return false;
    if (library.set_math_mode)
        library.set_math_mode(library.handle, (int)is->math_mode);
    return library.set_pointer_mode
               ? !library.set_pointer_mode(library.handle,
                                           device ? BLAS_POINTER_DEVICE : BLAS_POINTER_HOST)
               : !device;
}

static blas_status run_gemm(const struct library_call *call, const struct product_arguments *is,
                            const struct raw *raw)
{
    int a = blas_type(call->kind.a_type), b = blas_type(call->kind.b_type);
    int c = blas_type(call->kind.c_type), m = (int)raw->m, n = (int)raw->n, k = (int)is->k;
    bool turned = is->how & PRODUCT_TURNED, batched = call->kind.words & PRODUCT_BATCH;
    bool list = call->kind.words & PRODUCT_LIST;
    int left = turned ? b : a, right = turned ? a : b;
    if (!set_handle(call, is) || (list      ? !library.gemm_list
                                  : batched ? !library.gemm_batch
                                            : !library.gemm))
        return BLAS_NOT_SUPPORTED;
    if (list)
        return library.gemm_list(library.handle, raw->a.trans, raw->b.trans, m, n, k, raw->alpha_at,
                                 as_pointer(raw->a.data), left, (int)raw->a.ld,
                                 as_pointer(raw->b.data), right, (int)raw->b.ld, raw->beta_at,
                                 as_pointer(raw->d.data), c, (int)raw->d.ld, (int)is->batch,
                                 (int)is->compute, -1);
    if (batched)
        return library.gemm_batch(
            library.handle, raw->a.trans, raw->b.trans, m, n, k, raw->alpha_at,
            as_pointer(raw->a.data), left, (int)raw->a.ld, raw->a.batch, as_pointer(raw->b.data),
            right, (int)raw->b.ld, raw->b.batch, raw->beta_at, as_pointer(raw->d.data), c,
            (int)raw->d.ld, raw->d.batch, (int)is->batch, (int)is->compute, -1);
    return library.gemm(library.handle, raw->a.trans, raw->b.trans, m, n, k, raw->alpha_at,
                        as_pointer(raw->a.data), left, (int)raw->a.ld, as_pointer(raw->b.data),
                        right, (int)raw->b.ld, raw->beta_at, as_pointer(raw->d.data), c,
                        (int)raw->d.ld, (int)is->compute, -1);
}

/* By the program's own function: x is the product's b, y its c, a lies by columns. */
static blas_status run_gemv(const struct library_call *call, const struct product_arguments *is,
                            const struct raw *raw)
{
    gemv_one *one;
    gemv_strided *strided;
    gemv_list *list;
    bool trans = is->how & PRODUCT_TRANS_A;
    int m = (int)(trans ? is->k : is->m), n = (int)(trans ? is->m : is->k);
    int lda = (int)(trans ? is->a_row : is->a_col), incx = (int)is->b_row, incy = (int)is->c_row;
    if (!set_handle(call, is))
        return BLAS_NOT_SUPPORTED;
    if (strstr(call->function, "StridedBatched")) {
        memcpy(&strided, &call->gemv, sizeof strided);
        return strided(library.handle, trans, m, n, raw->alpha_at, as_pointer(is->a), lda,
                       is->a_batch, as_pointer(is->b), incx, is->b_batch, raw->beta_at,
                       as_pointer(is->c), incy, is->c_batch, (int)is->batch);
    }
    if (call->kind.words & PRODUCT_LIST) {
        memcpy(&list, &call->gemv, sizeof list);
        return list(library.handle, trans, m, n, raw->alpha_at, as_pointer(is->a), lda,
                    as_pointer(is->b), incx, raw->beta_at, as_pointer(is->c), incy, (int)is->batch);
    }
    memcpy(&one, &call->gemv, sizeof one);
    return one(library.handle, trans, m, n, raw->alpha_at, as_pointer(is->a), lda,
               as_pointer(is->b), incx, raw->beta_at, as_pointer(is->c), incy);
}

/* ---- cublasLtMatmul ---- */

static void set_desc(void *desc, int attribute, const void *value, size_t size)
{
    library.desc_set(desc, attribute, value, size);
}

static uint32_t epilogue_of(uint32_t words)
{
    static const struct {
        uint32_t word, bit;
    } rows[] = {
#define EPILOGUE(name) {PRODUCT_##name, LT_EPILOGUE_##name},
        LT_EPILOGUE_LIST(EPILOGUE)
#undef EPILOGUE
    };
    uint32_t bits = 0;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        bits |= words & rows[i].word ? rows[i].bit : 0;
    return bits ? bits : LT_EPILOGUE_DEFAULT;
}

static void set_epilogue(void *desc, const struct library_call *call,
                         const struct product_arguments *is)
{
    uint32_t epilogue = epilogue_of(call->kind.words);
    int bias_type = blas_type(call->kind.bias_type);
    set_desc(desc, LT_EPILOGUE, &epilogue, sizeof epilogue);
    if (epilogue != LT_EPILOGUE_DEFAULT && epilogue & LT_EPILOGUE_WITH_BIAS) {
        set_desc(desc, LT_BIAS_POINTER, &is->bias, sizeof is->bias);
        set_desc(desc, LT_BIAS_TYPE, &bias_type, sizeof bias_type);
        if (is->bias_batch)
            set_desc(desc, LT_BIAS_BATCH_STRIDE, &is->bias_batch, sizeof is->bias_batch);
    }
    if (epilogue & LT_EPILOGUE_AUX) {
        set_desc(desc, LT_AUX_POINTER, &is->aux, sizeof is->aux);
        set_desc(desc, LT_AUX_LD, &is->aux_row, sizeof is->aux_row);
        set_desc(desc, LT_AUX_BATCH_STRIDE, &is->aux_batch, sizeof is->aux_batch);
    }
}

static void set_scales(void *desc, const struct library_call *call,
                       const struct product_arguments *is)
{
    bool turned = is->how & PRODUCT_TURNED;
    int8_t fast = 1;
    if (call->kind.words & PRODUCT_SCALES) {
        for (int i = 0; i < 2; i++) {
            int32_t mode = (int32_t)(is->how >> (i ? PRODUCT_MODE_B_SHIFT : PRODUCT_MODE_A_SHIFT) &
                                     PRODUCT_MODE_MOST);
            set_desc(desc, LT_A_SCALE_MODE + i, &mode, sizeof mode);
        }
    }
    if (call->kind.words & (PRODUCT_SCALE | PRODUCT_SCALES)) {
        set_desc(desc, LT_A_SCALE_POINTER, turned ? &is->b_scale : &is->a_scale, 8);
        set_desc(desc, LT_B_SCALE_POINTER, turned ? &is->a_scale : &is->b_scale, 8);
    }
    if (call->kind.words & PRODUCT_FAST)
        set_desc(desc, LT_FAST_ACCUM, &fast, sizeof fast);
}

static void *make_layout(const struct raw_matrix *matrix, uint8_t dtype, int64_t batch)
{
    void *layout = NULL;
    int order = matrix->by_rows ? LT_ORDER_ROW : LT_ORDER_COL;
    int32_t count = (int32_t)batch;
    if (library.layout_create(&layout, blas_type(dtype), matrix->rows, matrix->cols, matrix->ld))
        return NULL;
    library.layout_set(layout, LT_LAYOUT_ORDER, &order, sizeof order);
    library.layout_set(layout, LT_LAYOUT_BATCH_COUNT, &count, sizeof count);
    library.layout_set(layout, LT_LAYOUT_BATCH_OFFSET, &matrix->batch, sizeof matrix->batch);
    return layout;
}

/* Descriptors stay until the worker ends: a replay makes few. */
static blas_status run_matmul(const struct library_call *call, const struct product_arguments *is,
                              const struct raw *raw, void *workspace)
{
    void *desc = NULL;
    int trans[2] = {raw->a.trans, raw->b.trans};
    bool turned = is->how & PRODUCT_TURNED;
    int32_t pointers = call->kind.words & PRODUCT_DEVICE ? BLAS_POINTER_DEVICE : BLAS_POINTER_HOST;
    if (!library.matmul || !library.desc_create || !library.desc_set || !library.layout_create ||
        !library.layout_set ||
        (!library.lt_handle && (!library.lt_create || library.lt_create(&library.lt_handle))) ||
        library.desc_create(&desc, (int)is->compute, raw->scale))
        return BLAS_NOT_SUPPORTED;
    set_desc(desc, LT_POINTER_MODE, &pointers, sizeof pointers);
    set_desc(desc, LT_TRANSA, &trans[0], sizeof trans[0]);
    set_desc(desc, LT_TRANSB, &trans[1], sizeof trans[1]);
    set_epilogue(desc, call, is);
    set_scales(desc, call, is);
    void *a = make_layout(&raw->a, turned ? call->kind.b_type : call->kind.a_type, is->batch);
    void *b = make_layout(&raw->b, turned ? call->kind.a_type : call->kind.b_type, is->batch);
    void *d = make_layout(&raw->d, call->kind.c_type, is->batch);
    void *added = call->kind.words & PRODUCT_ADDED
                      ? make_layout(&raw->added, call->kind.c_type, is->batch)
                      : d;
    if (!a || !b || !d || !added)
        return BLAS_NOT_SUPPORTED;
    return library.matmul(library.lt_handle, desc, raw->alpha_at, as_pointer(raw->a.data), a,
                          as_pointer(raw->b.data), b, raw->beta_at, as_pointer(raw->added.data),
                          added, as_pointer(raw->d.data), d,
                          is->how & PRODUCT_ALGORITHM ? (const void *)&is->algorithm0 : NULL,
                          workspace, workspace ? (size_t)is->workspace : 0, NULL);
}

static void refuse_run(struct worker_result *out, const char *format, ...)
{
    va_list args;
    *out = (struct worker_result){.outcome = WORKER_REFUSED};
    va_start(args, format);
    vsnprintf(out->sentence, sizeof out->sentence, format, args);
    va_end(args);
}

uint64_t library_call_workspace(const struct worker_launch *launch)
{
    struct product_arguments is;
    if (launch->param_bytes != sizeof is)
        return 0;
    memcpy(&is, launch->params, sizeof is);
    return is.workspace > 0 && is.workspace <= WORKSPACE_MOST ? (uint64_t)is.workspace : 0;
}

void library_call_run(struct library_call *call, const struct worker_launch *launch,
                      uint64_t workspace, struct worker_result *out)
{
    struct product_arguments is;
    struct raw raw = {0};
    if (launch->param_bytes != sizeof is) {
        refuse_run(out, "the bundle does not have the call's arguments");
        return;
    }
    memcpy(&is, launch->params, sizeof is);
    if (!(is.how & PRODUCT_HOW_KNOWN)) {
        refuse_run(out, "the program's own arguments of %s were not recorded", call->function);
        return;
    }
    raw_of(call, &is, &raw);
    blas_status status = call->form == FORM_LT ? run_matmul(call, &is, &raw, as_pointer(workspace))
                         : call->form == FORM_GEMV ? run_gemv(call, &is, &raw)
                                                   : run_gemm(call, &is, &raw);
    if (status)
        refuse_run(out, "%s returned status %d (cuBLASLt %lld; the program had %lld)",
                   call->function, status, library.version ? (long long)library.version() : 0,
                   (long long)is.version);
    else
        *out = (struct worker_result){.outcome = WORKER_RAN};
}
