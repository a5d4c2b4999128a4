/*
 * program.c - runs every built-in reference through a kernel that is right, or that has one wrong
 * element in one of its outputs: `program FATBIN right|wrong f32|others`.
 *
 * References are found in their list. The outputs are what their host build says, rounded; the
 * inputs are drawn by the names of formals, as tests/ref_inputs.h has them. A reference is run once
 * for each of its kernels, where the type chooses the kernel, once more without the inputs that
 * it can do without, and under `wrong` once for each output.
 */
#include "common/program.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "refs/ref_host.h"
#include "refs/ref_list.h"
#include "tests/ref_inputs.h"
#include "tests/scenario/catalogue/job.h"
#include "verify/formals.h"

enum { BLOCK = 64, BYTES_MAX = 1 << 16, ELEMENTS_MAX = 4096 };

/* A way to run a reference, and the kernel of it that is meant. */
static const struct way {
    const char *type;
    enum dtype dtype;
    enum ref_variant variant;
    int row;   /* elements of a row: some are whole words of 16 bytes, some are not */
    bool bare; /* optional inputs are not given */
} ways[] = {{"f32", DTYPE_F32, REF_ANY, 13, false},    {"f32", DTYPE_F32, REF_ANY, 13, true},
            {"f64", DTYPE_F64, REF_WIDE, 13, false},   {"f32", DTYPE_F32, REF_F32, 16, false},
            {"bf16", DTYPE_BF16, REF_BF16, 16, false}, {"f16", DTYPE_F16, REF_F16, 16, false}};

/* An array formal: host memory before the launch, and as it should be after it. */
struct array {
    const struct formal *formal;
    enum dtype dtype;
    int64_t count, dim[REF_MAX_DIMS];
    bool given;
    unsigned char *before, *after;
    CUdeviceptr device;
};

struct problem {
    const struct ref_builtin *reference;
    const struct way *way;
    struct formals formals;
    struct array array[REF_MAX_TENSORS];
};

/* Inputs on one side, outputs on the other, the same distances on the host and on the GPU. */
static struct {
    unsigned char host[BYTES_MAX];
    CUdeviceptr device;
    size_t used;
} in, out, want;

static void fail(const struct problem *p, const char *what, const char *name)
{
    printf("%s_%s: %s '%s'\n", p->reference->name, p->way->type, what, name);
    exit(3);
}

/* --------------------------------------------------------------------------- elements */

static size_t bytes_of(enum dtype dtype)
{
    return dtype == DTYPE_F64 || dtype == DTYPE_I64 ? 8 : dtype == DTYPE_F32 ? 4 : 2;
}

/* To eight bits, ties to even. */
static double to_bf16(double value)
{
    int exponent;
    double fraction = frexp(value, &exponent);
    return isfinite(value) ? ldexp(rint(ldexp(fraction, 8)), exponent - 8) : value;
}

static void encode(enum dtype dtype, void *at, double value)
{
    float f = (float)(dtype == DTYPE_BF16 ? to_bf16(value) : value);
    _Float16 half = (_Float16)value;
    int64_t integer = (int64_t)value;
    uint32_t word;
    if (dtype == DTYPE_F64)
        memcpy(at, &value, 8);
    else if (dtype == DTYPE_I64)
        memcpy(at, &integer, 8);
    else if (dtype == DTYPE_F32)
        memcpy(at, &f, 4);
    else if (dtype == DTYPE_F16)
        memcpy(at, &half, 2);
    else {
        memcpy(&word, &f, 4);
        word >>= 16;
        memcpy(at, &word, 2);
    }
}

/* ---------------------------------------------------------------------------- problems */

/* Rows of arrays are `row` long, and everything else is small. A reference that wants another size
 * for a dim of its own gets it here. */
static int64_t size_of(const struct problem *p, const char *name)
{
    static const char *const rows[] = {"cols", "k", "classes", "size", "half", "n"};
    const struct formal *formal = formals_find(&p->formals, name);
    if (formal && formal->kind == FORMAL_INT)
        return (int64_t)formal->fallback;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(rows[i], name) == 0)
            return p->way->row;
    return 3;
}

static double uniform(void)
{
    static uint32_t state = 1;
    state = state * 1664525u + 1013904223u;
    return (state >> 8) * 0x1p-24;
}

static double draw(const struct problem *p, const struct formal *formal)
{
    const struct ref_input *kind = ref_input_find(p->reference->name, formal->name);
    double value = uniform();
    if (kind && kind->below)
        return floor(value * (double)size_of(p, kind->below));
    if (kind && kind->bit)
        return value > 0.1;
    return kind && kind->positive ? value + 0.5 : 2 * value - 1;
}

static bool is_output(const struct array *a)
{
    return a->formal->kind == FORMAL_OUT || a->formal->kind == FORMAL_INOUT;
}

static void make_array(struct problem *p, const struct formal *formal)
{
    struct array *a = &p->array[formal->slot];
    const struct ref_input *kind = ref_input_find(p->reference->name, formal->name);
    *a = (struct array){.formal = formal, .dtype = p->way->dtype, .count = 1};
    if (kind && kind->below)
        a->dtype = DTYPE_I64;
    a->given = !(p->way->bare && formal->optional && formal->kind == FORMAL_IN);
    for (int i = 0; i < formal->ndim; i++) {
        int named = formal->dim[i].size;
        a->dim[i] = named < 0 ? formal->dim[i].literal : size_of(p, p->formals.size_name[named]);
        a->count *= a->dim[i];
    }
    size_t bytes = (size_t)a->count * bytes_of(a->dtype);
    size_t *used = is_output(a) ? &out.used : &in.used;
    if (a->count > ELEMENTS_MAX || *used + bytes + 16 > BYTES_MAX)
        fail(p, "size_of() in catalogue/program.c makes it too large:", formal->name);
    a->before = (is_output(a) ? out.host : in.host) + *used;
    a->after = want.host + *used;
    a->device = (is_output(a) ? out.device : in.device) + *used;
    *used += (bytes + 15) / 16 * 16;
    for (int64_t i = 0; i < a->count; i++)
        encode(a->dtype, a->before + (size_t)i * bytes_of(a->dtype), draw(p, formal));
}

static void prepare(struct problem *p, const struct ref_builtin *reference, const struct way *way)
{
    struct error err = {{0}};
    p->reference = reference;
    p->way = way;
    if (formals_parse(&p->formals, reference->formals, &err))
        fail(p, "formals:", err.text);
    in.used = out.used = 0;
    for (int i = 0; i < p->formals.count; i++) {
        const struct formal *formal = &p->formals.formal[i];
        if (formal_is_array(formal))
            make_array(p, formal);
    }
    memcpy(want.host, out.host, out.used);
}

/* ------------------------------------------------------------------- what it should hold */

static struct ref_tensor view(const struct array *a)
{
    struct ref_tensor t = {.dtype = (uint8_t)a->dtype,
                           .ndim = (uint8_t)a->formal->ndim,
                           .rule = RULE_BOUND,
                           .id = (uint32_t)a->formal->slot,
                           .absent = a->formal->fallback,
                           .bytes = a->count * (int64_t)bytes_of(a->dtype)};
    int64_t stride = 1;
    for (int i = t.ndim - 1; i >= 0; i--) {
        t.dim[i] = a->dim[i];
        t.stride[i] = stride;
        stride *= a->dim[i];
    }
    if (a->given && a->formal->kind != FORMAL_OUT)
        t.in = a->before;
    if (is_output(a))
        t.got = a->after;
    return t;
}

/* Output `a` of the host build, into its place. Later outputs may read it there. */
static void compute(struct problem *p, struct array *a)
{
    static double store[ELEMENTS_MAX];
    struct ref_verdict answer;
    bool wide = p->way->dtype == DTYPE_F64;
    struct ref_call call = {.lambda = 8,
                            .unit_roundoff = wide ? 0x1p-53 : 0x1p-24,
                            .underflow = wide ? DBL_MIN : (double)FLT_MIN,
                            .pieces = 1,
                            .group = 1,
                            .answer = &answer,
                            .store = store,
                            .store_count = a->count,
                            .store_tensor = (uint32_t)a->formal->slot};
    for (int i = 0; i < p->formals.count; i++) {
        const struct formal *formal = &p->formals.formal[i];
        if (formal->kind == FORMAL_REAL)
            call.scalar[formal->slot] = (double)(float)ref_scalar(formal->name);
        else if (formal_is_array(formal))
            call.tensor[formal->slot] = view(&p->array[formal->slot]);
    }
    for (int i = 0; i < p->formals.sizes; i++)
        call.size[i] = size_of(p, p->formals.size_name[i]);
    for (int64_t i = 0; i < a->count; i++)
        store[i] = NAN;
    memset(&answer, 0, sizeof answer);
    if (ref_host_run(p->reference->name, &call, wide))
        fail(p, "not in the host build:", p->reference->name);
    for (int64_t i = 0; i < a->count; i++) {
        if (!isfinite(store[i]))
            fail(p, "no finite value for every element, see tests/ref_inputs.h and size_of() here:",
                 a->formal->name);
        encode(a->dtype, a->after + (size_t)i * bytes_of(a->dtype), store[i]);
    }
}

/* One element in the middle, by far more than its bound. */
static void spoil(const struct array *a, double right)
{
    int64_t at = a->count / 2;
    encode(a->dtype, a->after + (size_t)at * bytes_of(a->dtype), right * 1.5 + 2);
}

/* What element count / 2 should hold. */
static double middle(const struct array *a)
{
    const unsigned char *at = a->after + (size_t)(a->count / 2) * bytes_of(a->dtype);
    uint32_t word = 0;
    double value;
    float f;
    _Float16 half;
    switch ((int)a->dtype) {
    case DTYPE_F64:
        memcpy(&value, at, 8);
        return value;
    case DTYPE_F16:
        memcpy(&half, at, 2);
        return (double)half;
    case DTYPE_BF16:
        memcpy((char *)&word + 2, at, 2);
        memcpy(&f, &word, 4);
        return (double)f;
    default:
        memcpy(&f, at, 4);
        return (double)f;
    }
}

/* --------------------------------------------------------------------------------- runs */

static void run(const struct problem *p, const char *spoilt)
{
    char name[64];
    struct job job = {.bytes = (long long)out.used};
    CHECK(cuMemcpyHtoD(in.device, in.host, in.used ? in.used : 1));
    CHECK(cuMemcpyHtoD(out.device, out.host, out.used));
    CHECK(cuMemcpyHtoD(want.device, want.host, out.used));
    job.to = (unsigned char *)(uintptr_t)out.device;
    job.from = (const unsigned char *)(uintptr_t)want.device;
    for (int i = 0; i < p->formals.count; i++) {
        const struct formal *formal = &p->formals.formal[i];
        if (formal->kind == FORMAL_REAL)
            job.scalar[formal->slot] = (float)ref_scalar(formal->name);
        else if (formal_is_array(formal) && p->array[formal->slot].given)
            job.array[formal->slot] = p->array[formal->slot].device;
    }
    for (int i = 0; i < p->formals.sizes; i++)
        job.size[i] = size_of(p, p->formals.size_name[i]);
    snprintf(name, sizeof name, "%s_%s", p->reference->name, p->way->type);
    launch(kernel(name), 1, BLOCK, NULL, (void *[]){&job});
    snprintf(name, sizeof name, "%s_%s %s", p->reference->name, p->way->type, spoilt);
    print_sum(name, out.device, out.used);
}

/* Right, or each output wrong in turn. */
static void run_problem(struct problem *p, bool wrong)
{
    for (int i = 0; i < p->formals.tensors; i++)
        if (is_output(&p->array[i]))
            compute(p, &p->array[i]);
    if (!wrong)
        run(p, "right");
    for (int i = 0; i < p->formals.tensors && wrong; i++) {
        struct array *a = &p->array[i];
        static unsigned char right[BYTES_MAX];
        if (!is_output(a))
            continue;
        memcpy(right, want.host, out.used);
        spoil(a, middle(a));
        run(p, a->formal->name);
        memcpy(want.host, right, out.used);
    }
}

static bool applies(const struct ref_builtin *reference, const struct way *way)
{
    const char *symbol = reference->symbol[way->variant];
    if (way->variant == REF_WIDE && strcmp(symbol, reference->symbol[REF_ANY]) == 0)
        return false; /* it has run */
    bool asked = (way->dtype == DTYPE_F32) == (strcmp(word(1), "f32") == 0);
    return symbol && asked;
}

/* Without what the reference can do without, if there is anything. */
static bool differs(const struct problem *p)
{
    bool lacks = false;
    for (int i = 0; i < p->formals.tensors; i++)
        lacks |= !p->array[i].given;
    return lacks || !p->way->bare;
}

int main(int argc, char **argv)
{
    static struct problem problem;
    start(argc, argv);
    CHECK(cuMemAlloc(&in.device, BYTES_MAX));
    CHECK(cuMemAlloc(&out.device, BYTES_MAX));
    CHECK(cuMemAlloc(&want.device, BYTES_MAX));
    for (size_t i = 0; i < ref_builtin_count; i++)
        for (size_t k = 0; k < sizeof ways / sizeof *ways; k++)
            if (applies(&ref_builtins[i], &ways[k])) {
                prepare(&problem, &ref_builtins[i], &ways[k]);
                if (differs(&problem))
                    run_problem(&problem, strcmp(word(0), "wrong") == 0);
            }
    finish();
    return 0;
}
