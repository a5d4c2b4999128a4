/*
 * expect.c - the right outputs, and the verdicts of the oracles of benchmarks.
 *
 * The right outputs are the references' on the host, unrounded f64, rounded once to the output's
 * dtype: what a reference of the same dtype in torch gives, but for its own last bits. Where a
 * reference is checked on a sample of its elements and the sample does not hold all of them, as
 * with large sums into tables, there are plain loops.
 */
#include "corpus.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "refs/abi/ref_host.h"
#include "refs/abi/ref_merge.h"

enum dtype dtype_of(const char *type, enum dtype own)
{
    static const struct {
        const char *name;
        enum dtype dtype;
    } names[] = {{"f32", DTYPE_F32},
                 {"f16", DTYPE_F16},
                 {"bf16", DTYPE_BF16},
                 {"i32", DTYPE_I32},
                 {"i64", DTYPE_I64}};
    if (strcmp(type, "T") == 0)
        return own;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i].name, type) == 0)
            return names[i].dtype;
    die("unknown type '%s'", type);
}

size_t dtype_size(enum dtype dtype)
{
    return dtype == DTYPE_I64 ? 8 : dtype == DTYPE_F32 || dtype == DTYPE_I32 ? 4 : 2;
}

double dtype_decode(enum dtype dtype, const void *array, int64_t i)
{
    uint32_t word;
    float f;
    switch ((int)dtype) {
    case DTYPE_I64:
        return (double)((const int64_t *)array)[i];
    case DTYPE_I32:
        return ((const int32_t *)array)[i];
    case DTYPE_F32:
        return (double)((const float *)array)[i];
    case DTYPE_F16:
        return (double)((const _Float16 *)array)[i];
    default:
        word = (uint32_t)((const uint16_t *)array)[i] << 16;
        memcpy(&f, &word, 4);
        return (double)f;
    }
}

/* To nearest even; from f64 by way of f32 rounded to odd, so that no bit is rounded twice. */
static uint16_t to_bf16(double value)
{
    float f = (float)value;
    uint32_t word;
    if (isnan(value))
        return 0x7fff;
    memcpy(&word, &f, 4);
    if ((double)f != value && isfinite(value)) {
        if (fabs((double)f) > fabs(value))
            word--;
        word |= 1;
    }
    return (uint16_t)((word + 0x7fff + (word >> 16 & 1)) >> 16);
}

void dtype_encode(enum dtype dtype, void *array, int64_t i, double value)
{
    switch ((int)dtype) {
    case DTYPE_I64:
        ((int64_t *)array)[i] = (int64_t)value;
        break;
    case DTYPE_I32:
        ((int32_t *)array)[i] = (int32_t)value;
        break;
    case DTYPE_F32:
        ((float *)array)[i] = (float)value;
        break;
    case DTYPE_F16:
        ((_Float16 *)array)[i] = (_Float16)value;
        break;
    default:
        ((uint16_t *)array)[i] = to_bf16(value);
    }
}

/* ------------------------------------------------------------------------ expectation */

static struct array *array_of(struct problem *p, const struct formal *formal)
{
    const struct param *param = operation_param(p->op, formal->name);
    for (int i = 0; i < p->arrays; i++)
        if (p->array[i].param == param)
            return &p->array[i];
    return NULL;
}

/* The array in the formal's shape: its outer dims folded into one where it has more, dims of 1 in
 * front where it has fewer. */
static void view(const struct array *array, const struct formal *formal, struct ref_tensor *t)
{
    t->absent = formal->fallback;
    t->ndim = (uint8_t)formal->ndim;
    t->id = (uint32_t)formal->slot;
    if (!array)
        return;
    int64_t stride = 1, fold = array->ndim - formal->ndim;
    for (int d = formal->ndim - 1; d >= 0; d--) {
        t->stride[d] = stride;
        t->dim[d] = d + fold < 0 ? 1 : array->dim[d + fold];
        for (int64_t outer = 0; d == 0 && outer < fold; outer++)
            t->dim[0] *= array->dim[outer];
        stride *= t->dim[d];
    }
    t->dtype = (uint8_t)array->dtype;
    t->bytes = array->count * (int64_t)dtype_size(array->dtype);
    if (formal->kind != FORMAL_OUT)
        t->in = array->before;
    if (formal->kind != FORMAL_IN)
        t->got = array->want;
}

/* What a scalar formal gets: a parameter's value, the number in `bind`, or its default. */
static double scalar_of(const struct problem *p, const struct formal *formal)
{
    const struct param *param = operation_param(p->op, formal->name);
    double number = formal->fallback;
    if (param)
        return problem_scalar(p, param);
    operation_number(p->op, formal->name, &number);
    return number;
}

static void make_call(struct problem *p, struct ref_call *call)
{
    const struct formals *formals = &p->op->formals;
    for (int f = 0; f < formals->count; f++) {
        const struct formal *formal = &formals->formal[f];
        if (formal->kind == FORMAL_REAL) {
            call->scalar[formal->slot] = scalar_of(p, formal);
        } else if (formal->kind == FORMAL_INT) {
            call->size[formal->slot] = (int64_t)scalar_of(p, formal);
        } else {
            struct ref_tensor *t = &call->tensor[formal->slot];
            const struct array *array = array_of(p, formal);
            view(array, formal, t);
            for (int d = 0; array && d < formal->ndim; d++)
                if (formal->dim[d].size >= 0)
                    call->size[formal->dim[d].size] = t->dim[d];
        }
    }
}

/* Sums into rows of a table, of which the reference computes some alone: y = before + alpha sum. */
static bool expect_scatter(struct problem *p)
{
    bool add = strcmp(p->op->reference, "index_add") == 0;
    if (!add && strcmp(p->op->reference, "embedding_backward") != 0)
        return false;
    const struct array *ids = &p->array[0], *x = &p->array[1];
    struct array *y = &p->array[p->arrays - 1];
    int64_t cols = y->dim[1];
    double *sum = calloc((size_t)y->count, sizeof *sum);
    if (!sum)
        die("no memory for %lld sums", (long long)y->count);
    for (int64_t i = 0; i < x->count; i++)
        sum[(int64_t)dtype_decode(ids->dtype, ids->before, i / cols) * cols + i % cols] +=
            dtype_decode(x->dtype, x->before, i);
    const struct param *alpha_param = operation_param(p->op, "alpha");
    double alpha = add && alpha_param ? problem_scalar(p, alpha_param) : 1;
    for (int64_t i = 0; i < y->count; i++)
        dtype_encode(y->dtype, y->want, i,
                     alpha * sum[i] + (add ? dtype_decode(y->dtype, y->before, i) : 0));
    free(sum);
    return true;
}

static void expect_output(struct problem *p, const struct formal *formal, struct array *array)
{
    static const uint64_t unvisited = 0xfff8dead0000beef;
    struct ref_verdict answer;
    struct ref_call call = {.lambda = 8,
                            .unit_roundoff = 0x1p-24,
                            .underflow = 0x1p-126,
                            .pieces = 1,
                            .seed = 1,
                            .sequence = 7,
                            .group = 1};
    double *store = malloc((size_t)array->count * sizeof *store);
    if (!store)
        die("no memory for %lld numbers", (long long)array->count);
    make_call(p, &call);
    for (int64_t i = 0; i < array->count; i++)
        memcpy(&store[i], &unvisited, sizeof unvisited);
    ref_verdict_clear(&answer);
    call.answer = &answer;
    call.store = store;
    call.store_count = array->count;
    call.store_tensor = (uint32_t)formal->slot;
    if (ref_host_run(p->op->reference, &call, 0))
        die("no reference '%s' on the host", p->op->reference);
    for (int64_t i = 0; i < array->count; i++) {
        if (memcmp(&store[i], &unvisited, sizeof unvisited) == 0)
            die("%s: the reference looks at a sample of these shapes alone: take smaller ones",
                p->op->name);
        dtype_encode(array->dtype, array->want, i, store[i]);
    }
    free(store);
}

void problem_expect(struct problem *p)
{
    const struct formals *formals = &p->op->formals;
    for (int i = 0; i < p->arrays; i++)
        memcpy(p->array[i].want, p->array[i].after,
               (size_t)p->array[i].count * dtype_size(p->array[i].dtype));
    if (expect_scatter(p))
        return;
    for (int f = 0; f < formals->count; f++) {
        const struct formal *formal = &formals->formal[f];
        struct array *array = array_of(p, formal);
        if (array && (formal->kind == FORMAL_OUT || formal->kind == FORMAL_INOUT))
            expect_output(p, formal, array);
    }
}

/* ---------------------------------------------------------------------------- oracles */

const char oracle_letters[ORACLES + 1] = "KSGA";
const char *const oracle_names[ORACLES] = {"KernelBench", "SOL-ExecBench", "GEAK",
                                           "torch.testing.assert_close"};

/* |got - right| <= atol + rtol |base|; equal infinities are close, a NaN is close to nothing. */
static bool close_to(double got, double want, double base, double atol, double rtol)
{
    return got == want ||
           (isfinite(got) && isfinite(want) && fabs(got - want) <= atol + rtol * fabs(base));
}

static bool is_low(enum dtype dtype)
{
    return dtype == DTYPE_F16 || dtype == DTYPE_BF16;
}

/* torch.allclose(right, got): its rtol is of its second argument. */
static bool all_close(const struct array *a, double atol, double rtol)
{
    for (int64_t i = 0; i < a->count; i++) {
        double got = dtype_decode(a->dtype, a->after, i), want = dtype_decode(a->dtype, a->want, i);
        if (!close_to(got, want, got, atol, rtol))
            return false;
    }
    return true;
}

/* 99 of 100 within 1e-2 + 1e-2 |right|; no NaN or Inf, and not all zeros where the right ones are
 * not. */
static bool sol_passes(const struct array *a)
{
    int64_t within = 0, zeros = 0, right_zeros = 0;
    for (int64_t i = 0; i < a->count; i++) {
        double got = dtype_decode(a->dtype, a->after, i), want = dtype_decode(a->dtype, a->want, i);
        if (!isfinite(got) || !isfinite(want))
            return false;
        within += close_to(got, want, want, 1e-2, 1e-2);
        zeros += got == 0;
        right_zeros += want == 0;
    }
    if (zeros == a->count && right_zeros < a->count)
        return false;
    return (double)within >= 0.99 * (double)a->count;
}

static bool assert_close_passes(const struct array *a)
{
    double rtol = 0, atol = 0;
    switch ((int)a->dtype) {
    case DTYPE_F32:
        rtol = 1.3e-6, atol = 1e-5;
        break;
    case DTYPE_F16:
        rtol = 1e-3, atol = 1e-5;
        break;
    case DTYPE_BF16:
        rtol = 1.6e-2, atol = 1e-5;
    }
    for (int64_t i = 0; i < a->count; i++) {
        double got = dtype_decode(a->dtype, a->after, i), want = dtype_decode(a->dtype, a->want, i);
        if (!close_to(got, want, want, atol, rtol))
            return false;
    }
    return true;
}

static bool oracle_passes(enum oracle oracle, const struct array *a)
{
    double kernelbench = is_low(a->dtype) ? 1e-2 : 1e-4;
    switch (oracle) {
    case ORACLE_KERNELBENCH:
        return all_close(a, kernelbench, kernelbench);
    case ORACLE_SOL:
        return sol_passes(a);
    case ORACLE_GEAK:
        return all_close(a, 1e-3, 1e-1);
    default:
        return assert_close_passes(a);
    }
}

void oracles_judge(const struct problem *p, char letters[ORACLES + 1])
{
    memcpy(letters, oracle_letters, ORACLES + 1);
    for (int i = 0; i < p->arrays; i++) {
        enum role role = p->array[i].param->role;
        for (int o = 0; o < ORACLES && (role == ROLE_WRITTEN || role == ROLE_INOUT); o++)
            if (letters[o] != '-' && !oracle_passes((enum oracle)o, &p->array[i]))
                letters[o] = '-';
    }
}
