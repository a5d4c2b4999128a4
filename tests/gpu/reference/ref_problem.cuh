/*
 * ref_problem.cuh - built-in references bound to arrays that are drawn, for ref_parity: the
 * elements of every dtype, how arrays lie on the host and on the GPU, and the calls over both.
 */
#ifndef TESTS_GPU_REF_PROBLEM_H
#define TESTS_GPU_REF_PROBLEM_H

#include <cmath>
#include <string>
#include <cuda.h>
#include <cuda_fp8.h>
#include "../programs/common.cuh"
#include "refs/abi/ref_host.h"
extern "C" {
#include "refs/abi/ref_list.h"
#include "lang/formals.h"
}
#include "refs/abi/ref_merge.h"
#include "tests/common/ref_codes.h"
#include "tests/common/ref_inputs.h"

#define TRY(call)                                                                                  \
    do {                                                                                           \
        CUresult try_result = (call);                                                              \
        if (try_result != CUDA_SUCCESS) {                                                          \
            printf("%s:%d: %s: error %d\n", __FILE__, __LINE__, #call, (int)try_result);           \
            exit(3);                                                                               \
        }                                                                                          \
    } while (0)

/* Sizes by the names that formals use; without: optional arrays stay unbound. */
struct shape {
    long long rows, cols, n, few;
    bool without, wild; /* wild: Inf and NaN among inputs and faults */
};

/* --------------------------------------------------------------------------- elements */

static size_t bytes_of(enum dtype dtype)
{
    return code_is_byte(dtype)                        ? 1
           : dtype == DTYPE_F64 || dtype == DTYPE_I64 ? 8
           : dtype == DTYPE_F32                       ? 4
                                                      : 2;
}

/* The bits of `value` in dtype, to nearest even; what 8 bits cannot hold saturates. */
static uint64_t encode(enum dtype dtype, double value)
{
    uint64_t bits = 0;
    if (code_is_block(dtype)) /* a byte of a block */
        return (uint64_t)(long long)value & 255;
    if (dtype == DTYPE_F8E4M3 || dtype == DTYPE_F8E5M2)
        return __nv_cvt_double_to_fp8(value, __NV_SATFINITE,
                                      dtype == DTYPE_F8E4M3 ? __NV_E4M3 : __NV_E5M2);
    if (code_is_byte(dtype))
        return (uint64_t)code_byte(dtype, value);
    float f = (float)value;
    __half half = __double2half(value);
    __nv_bfloat16 brain = __double2bfloat16(value);
    long long integer = std::isfinite(value) ? (long long)value : 0;
    const void *from = dtype == DTYPE_F64   ? (const void *)&value
                       : dtype == DTYPE_I64 ? (const void *)&integer
                       : dtype == DTYPE_F32 ? (const void *)&f
                       : dtype == DTYPE_F16 ? (const void *)&half
                                            : (const void *)&brain;
    memcpy(&bits, from, bytes_of(dtype));
    return bits;
}

/* ----------------------------------------------------------------------------- arrays */

/* An array formal, its elements dense in row-major order, and where the GPU has them. */
struct array {
    const struct formal *formal;
    enum dtype dtype;
    int ndim;
    int64_t dim[REF_MAX_DIMS], count;
    bool given;
    std::vector<uint64_t> bits;
    std::vector<char> dense, padded; /* what lies in memory */
    CUdeviceptr dense_at, padded_at;
};

static bool is_output(const array &a)
{
    return a.formal->kind == FORMAL_OUT || a.formal->kind == FORMAL_INOUT;
}

/* Elements from one row to the next. */
static int64_t pitch_of(const array &a, bool padded)
{
    int64_t per_word = 16 / (int64_t)bytes_of(a.dtype), cols = a.dim[a.ndim - 1];
    return padded ? (cols + per_word - 1) / per_word * per_word : cols;
}

/* Rows of random blocks, without anything between them. */
static std::vector<char> lay_out_blocks(const array &a)
{
    size_t size = (size_t)block_bytes(a.dtype);
    size_t blocks = (size_t)(a.count / block_elements(a.dtype));
    std::vector<char> memory(blocks * size + 64);
    for (size_t i = 0; i < blocks * size; i++)
        memory[i] = (char)a.bits[i % a.bits.size()];
    for (size_t b = 0; b < blocks; b++)
        block_settle(a.dtype, (uint8_t *)&memory[b * size]);
    return memory;
}

/* Memory as the kernels find it: rows `pitch` apart, NaN between and behind them. */
static std::vector<char> lay_out(const array &a, bool padded)
{
    if (code_is_block(a.dtype))
        return lay_out_blocks(a);

    int64_t cols = a.dim[a.ndim - 1], pitch = pitch_of(a, padded),
            size = (int64_t)bytes_of(a.dtype);
    std::vector<char> memory((size_t)(a.count / cols * pitch * size + 64), (char)0xff);
    for (int64_t i = 0; i < a.count; i++)
        memcpy(&memory[(size_t)((i / cols * pitch + i % cols) * size)], &a.bits[(size_t)i],
               (size_t)size);
    return memory;
}

static void renew(CUdeviceptr *at, const std::vector<char> &memory)
{
    if (!*at)
        TRY(cuMemAlloc(at, memory.size()));
    TRY(cuMemcpyHtoD(*at, memory.data(), memory.size()));
}

/* Brings the elements to where both sides read them. */
static void publish(array &a)
{
    a.dense = lay_out(a, false);
    a.padded = lay_out(a, true);
    renew(&a.dense_at, a.dense);
    renew(&a.padded_at, a.padded);
}

/* What lay_out_blocks made. */
static void view_blocks(const array &a, struct ref_tensor &t)
{
    int64_t stride = block_bytes(a.dtype), count = a.dim[a.ndim - 1] / block_elements(a.dtype);
    for (int k = a.ndim - 1; k >= 0; k--) {
        t.dim[k] = a.dim[k];
        t.stride[k] = stride;
        stride *= k == a.ndim - 1 ? count : a.dim[k];
    }
    t.bytes = stride;
}

static struct ref_tensor view(const array &a, const void *base, bool padded, uint32_t id)
{
    struct ref_tensor t = {};
    t.dtype = (uint8_t)a.dtype;
    t.ndim = (uint8_t)a.ndim;
    t.rule = RULE_BOUND;
    t.id = id;
    t.absent = a.formal->fallback;
    int64_t stride = 1, last = 0;
    for (int k = a.ndim - 1; k >= 0; k--) {
        t.dim[k] = a.dim[k];
        t.stride[k] = stride;
        last += (a.dim[k] - 1) * stride;
        stride *= k == a.ndim - 1 ? pitch_of(a, padded) : a.dim[k];
    }
    t.bytes = (last + 1) * (int64_t)bytes_of(a.dtype);
    if (code_is_block(a.dtype))
        view_blocks(a, t);
    if (a.given && is_output(a))
        t.got = base;
    if (a.given && (!is_output(a) || a.formal->kind == FORMAL_INOUT))
        t.in = base; /* of an inout array both are the same: what it held is what it holds */
    return t;
}

/* --------------------------------------------------------------------------- problems */

/* A reference bound to arrays of one shape and dtype. */
struct problem {
    const struct ref_builtin *reference;
    struct formals formals;
    shape size;
    enum dtype dtype;
    bool wide;
    unsigned turn; /* which codes: ref_input_dtype */
    std::vector<array> arrays;
    std::string name;
    uint64_t seed;
    int point; /* what the rounding points are declared as; special kernels have none */
};

static int64_t size_named(const shape &s, const char *name)
{
    static const struct {
        const char *name;
        long long shape::*size;
    } rows[] = {
        {"rows", &shape::rows},    {"m", &shape::rows},          {"tokens", &shape::rows},
        {"cols", &shape::cols},    {"k", &shape::cols},          {"classes", &shape::cols},
        {"size", &shape::cols},    {"half", &shape::cols},       {"n", &shape::n},
        {"entries", &shape::n},    {"positions", &shape::n},     {"bins", &shape::n},
        {"time", &shape::rows},    {"batch", &shape::few},       {"heads", &shape::few},
        {"groups", &shape::few},   {"channels", &shape::few},    {"planes", &shape::few},
        {"queries", &shape::rows}, {"keys", &shape::cols},       {"dim", &shape::n},
        {"width", &shape::n},      {"kv_heads", &shape::few},    {"blocks", &shape::rows},
        {"page", &shape::few},     {"pages", &shape::n},         {"chunks", &shape::n},
        {"inner", &shape::few},    {"bounds", &shape::n},        {"added", &shape::few},
        {"places", &shape::n},     {"splits", &shape::few},      {"best", &shape::n},
        {"high", &shape::few},     {"wide", &shape::few},        {"xs", &shape::rows},
        {"ws", &shape::n},         {"xh", &shape::rows},         {"xw", &shape::few},
        {"wh", &shape::few},       {"ww", &shape::few},          {"listed", &shape::rows},
        {"sequences", &shape::n},  {"items", &shape::few},       {"words", &shape::cols},
        {"filters", &shape::few},  {"depth", &shape::few},       {"height", &shape::n},
        {"window_h", &shape::few}, {"window_w", &shape::few},    {"out_h", &shape::n},
        {"out_w", &shape::few},    {"pixels", &shape::n},        {"ah", &shape::rows},
        {"aw", &shape::few},       {"bh", &shape::few},          {"bw", &shape::n},
        {"outer", &shape::few},    {"taps", &shape::few},        {"stored", &shape::n},
        {"count", &shape::cols},   {"parts", &shape::few},       {"states", &shape::few},
        {"kept", &shape::few},     {"steps", &shape::few},       {"t_high", &shape::few},
        {"t_wide", &shape::few},   {"sources", &shape::rows},    {"bags", &shape::few},
        {"out_d", &shape::few},    {"second_size", &shape::few}, {"third_size", &shape::few},
        {"valid", &shape::cols},   {"scales", &shape::few},      {"sums", &shape::few},
        {"pairs", &shape::cols},   {"threads", &shape::few}};
    if (strcmp(name, "triples") == 0)
        return 3 * s.few;
    if (strcmp(name, "area") == 0 || strcmp(name, "length") == 0) /* dim states, chunks steps */
        return s.n * s.few;
    if (strcmp(name, "square") == 0)
        return s.few * s.few;
    for (const auto &row : rows)
        if (strcmp(row.name, name) == 0)
            return s.*row.size;
    printf("no size for '%s'\n", name);
    exit(3);
}

/* The size that this formal's elements are indices below, or NULL. */
static const char *index_below(const problem &p, const struct formal &f)
{
    const struct ref_input *kind = ref_input_find(p.reference->name, f.name);
    return kind ? kind->below : NULL;
}

/* One result a row is often kept in f32; indices are integers. */
static enum dtype dtype_of(const problem &p, const struct formal &f)
{
    const struct ref_input *kind = ref_input_find(p.reference->name, f.name);
    if (index_below(p, f))
        return DTYPE_I64;
    if (kind && kind->dtype)
        return ref_input_dtype(kind, p.dtype, p.turn);
    bool row_result = f.kind == FORMAL_OUT && f.ndim == 1 && !p.wide;
    return row_result ? DTYPE_F32 : p.dtype;
}

static void draw(const problem &p, array &a, uint64_t seed)
{
    const struct ref_input *kind = ref_input_find(p.reference->name, a.formal->name);
    a.bits.resize((size_t)a.count);
    for (int64_t i = 0; i < a.count; i++) {
        double value = random_value(seed, (uint64_t)i, 2); /* in -2 .. 2 */
        if (kind && kind->below)
            value = ref_input_index(kind, i, a.count, size_named(p.size, kind->below),
                                    (value + 2) / 4.0001);
        else if (kind && kind->kind == BIT)
            value = value > -1.6;
        else if (kind && kind->kind == POSITIVE)
            value = std::fabs(value) + 0.1;
        else if (kind && kind->kind == SHARE)
            value = 0.5 + value / 5;
        else if (code_is_block(a.dtype) || a.dtype == DTYPE_I8 || a.dtype == DTYPE_U8)
            value = std::floor(value * 63.9); /* blocks are made of bytes */
        a.bits[(size_t)i] = encode(a.dtype, value);
    }
    if (kind)
        return;
    if (p.size.wild && a.ndim > 1 && !is_output(a)) {
        a.bits[(size_t)(a.count / 3)] = encode(a.dtype, INFINITY);
        a.bits[(size_t)(a.count / 2)] = encode(a.dtype, -INFINITY);
        a.bits[(size_t)(a.count - 1)] = encode(a.dtype, NAN);
    }
}

static void make_arrays(problem &p)
{
    for (int i = 0; i < p.formals.count; i++) {
        const struct formal &f = p.formals.formal[i];
        if (!formal_is_array(&f))
            continue;
        array a = {};
        a.formal = &f;
        a.dtype = dtype_of(p, f);
        a.ndim = f.ndim;
        a.count = 1;
        a.given = !(f.optional && p.size.without);
        for (int k = 0; k < f.ndim; k++) {
            int named = f.dim[k].size;
            a.dim[k] =
                named >= 0 ? size_named(p.size, p.formals.size_name[named]) : f.dim[k].literal;
            a.count *= a.dim[k];
        }
        draw(p, a, p.seed + (uint64_t)i);
        publish(a);
        p.arrays.push_back(a);
    }
}

static void drop_arrays(problem &p)
{
    for (array &a : p.arrays) {
        TRY(cuMemFree(a.dense_at));
        TRY(cuMemFree(a.padded_at));
    }
}

/* A dim by its name; an int formal has its default, or 8. */
static int64_t size_of(const problem &p, const char *name)
{
    const struct formal *formal = formals_find(&p.formals, name);
    if (!formal || formal->kind != FORMAL_INT)
        return size_named(p.size, name);
    if (std::string(p.reference->name).rfind("conv3d", 0) == 0 && !formal->optional)
        return std::string(name).rfind("window", 0) == 0 ? 1 : 2; /* they divide a volume's sizes */
    return formal->optional ? (int64_t)formal->fallback : 8;
}

/* The call over host memory or over the GPU's, all but answer and group. */
static struct ref_call call_of(const problem &p, bool host, bool padded)
{
    struct ref_call call = {};
    for (const array &a : p.arrays) {
        const void *device = (const void *)(uintptr_t)(padded ? a.padded_at : a.dense_at);
        call.tensor[a.formal->slot] =
            view(a, host ? a.dense.data() : device, padded, (uint32_t)a.formal->slot);
    }
    for (int i = 0; i < p.formals.count; i++)
        if (p.formals.formal[i].kind == FORMAL_REAL)
            call.scalar[p.formals.formal[i].slot] = ref_scalar(p.formals.formal[i].name);
    for (int i = 0; i < p.formals.points; i++)
        call.point[i] = (uint8_t)p.point;
    for (int i = 0; i < p.formals.sizes; i++)
        call.size[i] = size_of(p, p.formals.size_name[i]);
    call.seed = p.seed;
    call.lambda = 8;
    call.unit_roundoff = p.dtype == DTYPE_F64 ? 0x1p-53 : 0x1p-24;
    call.underflow = p.dtype == DTYPE_F64 ? 0x1p-1022 : 0x1p-126;
    call.pieces = 1;
    call.sequence = 1;
    return call;
}

#endif
