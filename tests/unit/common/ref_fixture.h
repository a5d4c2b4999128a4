/*
 * ref_fixture.h - references run on the host, for unit tests: arrays of any dtype, calls, and the
 * kernels that several tests judge. All of it is here; the state is the including file's own.
 *
 * The "kernels" are plain C loops with the accumulator and the output dtype of a usual GPU kernel;
 * each mutant is the same loop with one fault.
 */
#ifndef TESTS_UNIT_REF_FIXTURE_H
#define TESTS_UNIT_REF_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <string.h>
#include <cmocka.h>
#include "tests/unit/common/random_values.h"
#include "refs/abi/ref_host.h"
#include "refs/abi/ref_list.h"
#include "refs/abi/ref_merge.h"

/* ------------------------------------------------------------------- arrays and dtypes */

enum { ARRAY_MAX = 1 << 17 };

struct array {
    enum dtype dtype;
    int64_t count;
    size_t used;            /* bytes of the storage that may not be 0xff */
    double bits[ARRAY_MAX]; /* storage, aligned for any dtype */
};

static struct array in_x, in_w, in_b, out_y, out_s;

static inline float round_bf16(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    if ((bits & 0x7fffffff) > 0x7f800000)
        return x;
    bits += 0x7fff + (bits >> 16 & 1);
    bits &= 0xffff0000;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static inline size_t bytes_of(enum dtype dtype)
{
    switch ((int)dtype) {
    case DTYPE_F64:
    case DTYPE_I64:
        return 8;
    case DTYPE_F32:
    case DTYPE_I32:
        return 4;
    case DTYPE_BOOL:
        return 1;
    default:
        return 2;
    }
}

static inline void set(struct array *a, int64_t i, double value)
{
    char *at = (char *)a->bits + i * (int64_t)bytes_of(a->dtype);
    float f = (float)value;
    int32_t integer = (int32_t)value;
    uint32_t bits;
    _Float16 half = (_Float16)value;
    size_t end = (size_t)(i + 1) * bytes_of(a->dtype);
    a->used = end > a->used ? end : a->used;
    switch ((int)a->dtype) {
    case DTYPE_F64:
        memcpy(at, &value, 8);
        break;
    case DTYPE_F32:
        memcpy(at, &f, 4);
        break;
    case DTYPE_I32:
        memcpy(at, &integer, 4);
        break;
    case DTYPE_F16:
        memcpy(at, &half, 2);
        break;
    default:
        f = round_bf16(f);
        memcpy(&bits, &f, 4);
        bits >>= 16;
        memcpy(at, &bits, 2);
    }
}

static inline double get(const struct array *a, int64_t i)
{
    const char *at = (const char *)a->bits + i * (int64_t)bytes_of(a->dtype);
    double d;
    float f;
    uint32_t bits = 0;
    int32_t integer;
    _Float16 half;
    switch ((int)a->dtype) {
    case DTYPE_F64:
        memcpy(&d, at, 8);
        return d;
    case DTYPE_F32:
        memcpy(&f, at, 4);
        return f;
    case DTYPE_I32:
        memcpy(&integer, at, 4);
        return integer;
    case DTYPE_F16:
        memcpy(&half, at, 2);
        return half;
    default:
        memcpy(&bits, at, 2);
        bits <<= 16;
        memcpy(&f, &bits, 4);
        return f;
    }
}

static inline float x_at(int64_t i)
{
    return (float)get(&in_x, i);
}

static inline void shape(struct array *a, enum dtype dtype, int64_t count)
{
    assert_true(count <= ARRAY_MAX);
    memset(a->bits, 0xff, a->count ? a->used : sizeof a->bits);
    a->dtype = dtype;
    a->count = count;
    a->used = (size_t)count * bytes_of(dtype);
}

static inline void fill(struct array *a, enum dtype dtype, int64_t count, double mean,
                        double spread)
{
    shape(a, dtype, count);
    for (int64_t i = 0; i < count; i++)
        set(a, i, mean + spread * normal());
}

/* ------------------------------------------------------------------------------- calls */

static struct ref_verdict answer;

static inline struct ref_call new_call(void)
{
    struct ref_call call = {.lambda = 8,
                            .unit_roundoff = 0x1p-24,
                            .underflow = 0x1p-126,
                            .pieces = 1,
                            .seed = 1,
                            .sequence = 7,
                            .group = 1,
                            .answer = &answer};
    return call;
}

/* The next tensor: dense, row major, `dims` given outermost first. */
static inline struct ref_tensor tensor(const struct array *a, int output, int ndim, int64_t d0,
                                       int64_t d1, int64_t d2)
{
    struct ref_tensor t = {.bytes = a->count * (int64_t)bytes_of(a->dtype),
                           .dim = {d0, d1, d2},
                           .dtype = (uint8_t)a->dtype,
                           .ndim = (uint8_t)ndim,
                           .rule = RULE_BOUND};
    if (output)
        t.got = a->bits;
    else
        t.in = a->bits;
    int64_t stride = 1;
    for (int k = ndim - 1; k >= 0; k--) {
        t.stride[k] = stride;
        stride *= t.dim[k];
    }
    return t;
}

static inline struct ref_verdict run(const char *name, const struct ref_call *call)
{
    ref_verdict_clear(&answer);
    assert_int_equal(ref_host_run(name, call, call->unit_roundoff < 0x1p-40), 0);
    assert_true(answer.sequence == call->sequence);
    return answer;
}

static inline void expect_quiet(const char *what, const struct ref_verdict *v, uint64_t checked)
{
    if (v->violations || v->checked != checked || v->refused || v->wide)
        print_error("%s: %llu violations, %llu wide, %llu refused of %llu; worst got %a ref %a "
                    "bound %a\n",
                    what, (unsigned long long)v->violations, (unsigned long long)v->wide,
                    (unsigned long long)v->refused, (unsigned long long)v->checked, v->worst_got,
                    v->worst_ref, v->worst_bound);
    assert_int_equal(v->violations, 0);
    assert_int_equal(v->refused, 0);
    assert_int_equal(v->wide, 0);
    assert_int_equal(v->checked, checked);
}

static const enum dtype float_dtypes[] = {DTYPE_BF16, DTYPE_F16, DTYPE_F32};
static const int64_t shapes[][2] = {{1, 1}, {3, 7}, {5, 64}, {2, 1000}, {16, 768}, {1, 16384}};

#define EACH_CASE(dtype, rows, cols)                                                               \
    for (size_t case_ = 0; case_ < 3 * sizeof shapes / sizeof *shapes; case_++)                    \
        for (int64_t rows = shapes[case_ / 3][0], cols = shapes[case_ / 3][1], once_ = 1; once_;   \
             once_ = 0)                                                                            \
            for (enum dtype dtype = float_dtypes[case_ % 3]; once_; once_ = 0)

/* ----------------------------------------------------------------------------- kernels */

enum mutant {
    RIGHT,
    LOW_ACCUMULATOR,
    WRONG_EPS,
    NO_TAIL,
    NO_SQRT,
    WRONG_ALPHA,
    NO_MAX,
    TAIL_LEAKS,
    NO_MEAN
};

static inline float narrow(float x, enum mutant mutant)
{
    return mutant == LOW_ACCUMULATOR ? round_bf16(x) : x;
}

static inline void rmsnorm_kernel(int64_t rows, int64_t cols, float eps, enum mutant mutant)
{
    for (int64_t r = 0; r < rows; r++) {
        float sum = 0;
        int64_t end = cols - (mutant == NO_TAIL ? cols % 8 + 1 : 0);
        for (int64_t c = 0; c < end; c++)
            sum = narrow(sum + narrow(x_at(r * cols + c) * x_at(r * cols + c), mutant), mutant);
        float scale = sum / (float)cols + (mutant == WRONG_EPS ? 10 * eps : eps);
        float inv = mutant == NO_SQRT ? 1 / scale : 1 / sqrtf(scale);
        for (int64_t c = 0; c < cols; c++)
            set(&out_y, r * cols + c, x_at(r * cols + c) * inv * (float)get(&in_w, c));
        set(&out_s, r, inv);
    }
}

static inline struct ref_verdict check_rmsnorm(enum dtype dtype, int64_t rows, int64_t cols,
                                               enum mutant mutant, double spread)
{
    fill(&in_x, dtype, rows * cols, 0, spread);
    fill(&in_w, dtype, cols, 1, 0.1);
    shape(&out_y, dtype, rows * cols);
    shape(&out_s, DTYPE_F32, rows);
    rmsnorm_kernel(rows, cols, 1e-5f, mutant);
    struct ref_call call = new_call();
    call.tensor[0] = tensor(&in_x, 0, 2, rows, cols, 0);
    call.tensor[1] = tensor(&in_w, 0, 1, cols, 0, 0);
    call.tensor[2] = tensor(&out_y, 1, 2, rows, cols, 0);
    call.tensor[3] = tensor(&out_s, 1, 1, rows, 0, 0);
    call.scalar[0] = 1e-5f;
    call.size[0] = rows;
    call.size[1] = cols;
    return run("rmsnorm", &call);
}

static inline void softmax_kernel(int64_t rows, int64_t cols, enum mutant mutant)
{
    for (int64_t r = 0; r < rows; r++) {
        float most = -INFINITY, sum = 0;
        for (int64_t c = 0; c < cols; c++)
            most = fmaxf(most, x_at(r * cols + c));
        if (mutant == NO_MAX)
            most = 0;
        for (int64_t c = 0; c < cols; c++)
            sum = narrow(sum + expf(x_at(r * cols + c) - most), mutant);
        if (mutant == TAIL_LEAKS)
            sum += 24 * expf(0 - most);
        for (int64_t c = 0; c < cols; c++)
            set(&out_y, r * cols + c, expf(x_at(r * cols + c) - most) / sum);
    }
}

static inline struct ref_call softmax_call(enum dtype dtype, int64_t rows, int64_t cols)
{
    shape(&out_y, dtype, rows * cols);
    struct ref_call call = new_call();
    call.tensor[0] = tensor(&in_x, 0, 2, rows, cols, 0);
    call.tensor[1] = tensor(&out_y, 1, 2, rows, cols, 0);
    call.scalar[0] = 1;
    call.size[0] = rows;
    call.size[1] = cols;
    return call;
}

static inline struct ref_verdict check_softmax(enum dtype dtype, int64_t rows, int64_t cols,
                                               enum mutant mutant, double spread)
{
    fill(&in_x, dtype, rows * cols, 0, spread);
    struct ref_call call = softmax_call(dtype, rows, cols);
    softmax_kernel(rows, cols, mutant);
    return run("softmax", &call);
}

static inline float silu(float x)
{
    return x / (1 + expf(-x));
}

static inline struct ref_call matmul_call(enum dtype dtype, int64_t m, int64_t k, int64_t n,
                                          int linear)
{
    fill(&in_x, dtype, m * k, 0, 1);
    fill(&in_w, dtype, k * n, 0, 1);
    fill(&in_b, dtype, n, 0, 1);
    shape(&out_y, dtype, m * n);
    struct ref_call call = new_call();
    call.tensor[0] = tensor(&in_x, 0, 2, m, k, 0);
    call.tensor[1] = linear ? tensor(&in_w, 0, 2, n, k, 0) : tensor(&in_w, 0, 2, k, n, 0);
    call.tensor[2] = tensor(&in_b, 0, 1, n, 0, 0);
    call.tensor[3] = tensor(&out_y, 1, 2, m, n, 0);
    call.scalar[0] = 1;
    int64_t size[] = {m, k, n, 0};
    if (linear) {
        size[1] = k;
        size[2] = n;
    }
    memcpy(call.size, size, sizeof size);
    return call;
}

/* bf16_every: the partial sum goes through bf16 after so many terms; 0: never. */
static inline void matmul_kernel(int64_t m, int64_t k, int64_t n, int linear, int64_t bf16_every)
{
    for (int64_t i = 0; i < m * n; i++) {
        float sum = 0;
        for (int64_t l = 0; l < k; l++) {
            int64_t at = (int64_t)(linear ? i % n * k + l : l * n + i % n);
            sum += x_at(i / n * k + l) * (float)get(&in_w, at);
            if (bf16_every && l % bf16_every == bf16_every - 1)
                sum = round_bf16(sum);
        }
        set(&out_y, i, sum + (float)get(&in_b, i % n));
    }
}

static inline float round_to(enum dtype dtype, float x)
{
    return dtype == DTYPE_BF16 ? round_bf16(x) : dtype == DTYPE_F16 ? (float)(_Float16)x : x;
}

#endif
