/*
 * program.c - runs every built-in reference through a kernel that is right, or that has one wrong
 * element in one of its outputs: `program FATBIN right|wrong PART`, f32 for what
 * is run in f32, codes for what is run in it with several kinds of codes, others for other types.
 *
 * References are found in their list. The outputs are those of their host build, rounded; the
 * inputs are drawn by the names of formals, as tests/common/ref_inputs.h has them. A reference is
 * run once for each of its kernels, where the type chooses the kernel, once more without the inputs
 * that it can do without, for each kind of codes that an array of it may hold, and under `wrong`
 * once for each output.
 */
#include "common/program.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "refs/abi/ref_host.h"
#include "tests/common/ref_codes.h"
#include "tests/scenario/catalogue/job.h"
#include "tests/scenario/catalogue/ways.h"

enum { BLOCK = 64, BYTES_MAX = 1 << 16, ELEMENTS_MAX = 4096 };

/* An array formal: host memory before the launch, and as it should be after it. */
struct array {
    const struct formal *formal;
    enum dtype dtype;
    int64_t count, bytes, dim[REF_MAX_DIMS];
    bool given;
    unsigned char *before, *after;
    CUdeviceptr device;
};

struct problem {
    const struct ref_builtin *reference;
    const struct way *way;
    unsigned turn; /* which codes: ref_input_dtype */
    char kernel[KERNEL_NAME];
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
    printf("%s: %s '%s'\n", p->kernel, what, name);
    exit(3);
}

/* --------------------------------------------------------------------------- elements */

/* To eight bits, ties to even. */
static double to_bf16(double value)
{
    int exponent;
    double fraction = frexp(value, &exponent);
    return isfinite(value) ? ldexp(rint(ldexp(fraction, 8)), exponent - 8) : value;
}

/* The element at `at`; of a block it is a byte. */
static void encode(enum dtype dtype, void *at, double value)
{
    float f = (float)(dtype == DTYPE_BF16 ? to_bf16(value) : value);
    _Float16 half = (_Float16)value;
    int64_t integer = isfinite(value) ? (int64_t)value : 0;
    uint32_t word;
    if (code_is_byte((int)dtype) || code_is_block((int)dtype))
        *(uint8_t *)at =
            (uint8_t)code_byte(code_is_block((int)dtype) ? DTYPE_U8 : (int)dtype, value);
    else if (dtype == DTYPE_F64)
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

static double decode(enum dtype dtype, const void *at)
{
    return code_is_byte((int)dtype) ? code_value((int)dtype, *(const uint8_t *)at)
                                    : dtype_load(dtype, at);
}

/* ------------------------------------------------------------------------------- sizes */

enum { ROW = 0, USUAL = 3 };

/* What dims and int formals without a default are, USUAL unless they are here; ROW: as the way has
 * it, 13 or 16. Sizes of one reference have to fit together. */
static const struct {
    const char *name;
    int64_t size;
} sizes[] = {
    {"cols", ROW},
    {"k", ROW},
    {"classes", ROW},
    {"size", ROW},
    {"half", ROW},
    {"n", ROW},
    {"stored", ROW},
    {"rows", 5},
    {"time", 4},
    {"entries", 11},
    {"heads", 4},
    {"kv_heads", 2},
    {"triples", 12},
    {"tokens", 6},
    {"positions", 7},
    {"queries", 4},
    {"keys", 5},
    {"dim", 6},
    {"width", 9},
    {"valid", 30},
    {"blocks", 13},
    {"page", 4},
    {"chunks", 3},
    {"steps", 4},
    {"length", 11},
    {"square", 16},
    {"area", 18},
    {"inner", 8},
    {"added", 2},
    {"places", 6},
    {"part", 6},
    {"high", 2},
    {"wide", 4},
    {"t_high", 4},
    {"t_wide", 2},
    {"ws", ROW},
    {"xw", 4},
    {"wh", 4},
    {"ww", 4},
    {"bounds", 7},
    {"sequences", 6},
    {"bits", 8},
    {"height", 7},
    {"pixels", 60},
    {"aw", 4},
    {"bh", 4},
    {"bw", ROW},
    /* so that the element in the middle of a mask has bits of columns alone */
    {"m", 4},
    {"xs", 4},
    {"xh", 4},
    {"ah", 4},
    {"words", 2},
    {"sources", 6},
};

/* Enough more for whole blocks, where the elements of an array along `name` come in some. */
static int64_t in_blocks(const struct problem *p, const char *name, int64_t size)
{
    for (int i = 0; i < p->formals.count; i++) {
        const struct formal *formal = &p->formals.formal[i];
        int last = formal->ndim > 0 ? formal->dim[formal->ndim - 1].size : -1;
        enum dtype dtype = way_dtype(p->reference->name, formal->name, p->way->dtype, p->turn);
        if (last < 0 || strcmp(p->formals.size_name[last], name) != 0 || !dtype_block(dtype))
            continue;
        int64_t block = dtype_block(dtype);
        size = (size + block - 1) / block * block;
    }
    return size;
}

/* Those of volumes, whose pixels, taps and places are frames of rows of columns. */
static const struct {
    const char *name;
    int64_t size;
} volumes[] = {{"height", 3},   {"width", 4}, {"taps", 12}, {"window_h", 3},
               {"window_w", 2}, {"out_h", 3}, {"out_w", 2}};

static int64_t size_of(const struct problem *p, const char *name)
{
    const struct formal *formal = formals_find(&p->formals, name);
    int64_t size = USUAL;
    for (size_t i = 0;
         strncmp(p->reference->name, "conv3d", 6) == 0 && i < sizeof volumes / sizeof *volumes; i++)
        if (strcmp(volumes[i].name, name) == 0)
            return volumes[i].size;
    if (formal && formal->kind == FORMAL_INT && formal->optional)
        return (int64_t)formal->fallback;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        if (strcmp(sizes[i].name, name) == 0)
            size = sizes[i].size == ROW ? p->way->row : sizes[i].size;
    return in_blocks(p, name, size);
}

/* ---------------------------------------------------------------------------- problems */

static double uniform(void)
{
    static uint32_t state = 1;
    state = state * 1664525u + 1013904223u;
    return (state >> 8) * 0x1p-24;
}

/* Element i of the array; of one in a block format a byte. */
static double draw(const struct problem *p, const struct array *a, int64_t i)
{
    const struct ref_input *kind = ref_input_find(p->reference->name, a->formal->name);
    double value = uniform();
    if (kind && kind->below)
        return ref_input_index(kind, i, a->count, size_of(p, kind->below), value);
    if (kind && kind->kind == BIT)
        return value > 0.1;
    if (kind && kind->kind == POSITIVE)
        return value + 0.5;
    if (kind && kind->kind == SHARE)
        return 0.05 + 0.9 * value;
    if (a->dtype == DTYPE_U8 || code_is_block((int)a->dtype))
        return floor(256 * value);
    return a->dtype == DTYPE_I8 ? floor(256 * value) - 128 : 2 * value - 1;
}

static void draw_array(const struct problem *p, struct array *a)
{
    bool blocks = code_is_block((int)a->dtype);
    int64_t size = blocks ? 1 : dtype_bytes(a->dtype);
    for (int64_t i = 0; i * size < a->bytes; i++)
        encode(a->dtype, a->before + i * size, draw(p, a, i));
    for (int64_t at = 0; blocks && at < a->bytes; at += dtype_bytes(a->dtype))
        block_settle((int)a->dtype, a->before + at);
}

static bool is_output(const struct array *a)
{
    return a->formal->kind == FORMAL_OUT || a->formal->kind == FORMAL_INOUT;
}

static void make_array(struct problem *p, const struct formal *formal)
{
    struct array *a = &p->array[formal->slot];
    *a = (struct array){.formal = formal, .count = 1};
    a->dtype = way_dtype(p->reference->name, formal->name, p->way->dtype, p->turn);
    a->given = !(p->way->bare && formal->optional && formal->kind == FORMAL_IN);
    for (int i = 0; i < formal->ndim; i++) {
        int named = formal->dim[i].size;
        a->dim[i] = named < 0 ? formal->dim[i].literal : size_of(p, p->formals.size_name[named]);
        a->count *= a->dim[i];
    }
    int64_t per = dtype_block(a->dtype) ? dtype_block(a->dtype) : 1;
    a->bytes = a->count / per * dtype_bytes(a->dtype);
    size_t *used = is_output(a) ? &out.used : &in.used;
    if (a->count > ELEMENTS_MAX || *used + (size_t)a->bytes + 16 > BYTES_MAX)
        fail(p, "too large by sizes[] in catalogue/program.c:", formal->name);
    a->before = (is_output(a) ? out.host : in.host) + *used;
    a->after = want.host + *used;
    a->device = (is_output(a) ? out.device : in.device) + *used;
    *used += ((size_t)a->bytes + 15) / 16 * 16;
    draw_array(p, a);
}

static void prepare(struct problem *p)
{
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
                           .bytes = a->bytes};
    int64_t per = dtype_block(a->dtype), stride = per ? dtype_bytes(a->dtype) : 1;
    for (int i = t.ndim - 1; i >= 0; i--) {
        t.dim[i] = a->dim[i];
        t.stride[i] = stride;
        stride *= per && i == t.ndim - 1 ? a->dim[i] / per : a->dim[i];
    }
    if (a->given && a->formal->kind != FORMAL_OUT)
        t.in = a->before;
    if (is_output(a))
        t.got = a->after;
    return t;
}

/* What the reference computed: anything, NaN too, but for what lay there before. */
static void take(const struct problem *p, struct array *a, const double *store, double unvisited)
{
    for (int64_t i = 0; i < a->count; i++) {
        if (memcmp(&store[i], &unvisited, sizeof unvisited) == 0)
            fail(p,
                 "elements are left out, see sizes[] in catalogue/program.c and "
                 "tests/common/ref_inputs.h:",
                 a->formal->name);
        encode(a->dtype, a->after + i * dtype_bytes(a->dtype), store[i]);
    }
}

/* Output `a` of the host build, into its place. Later outputs may read it there. */
static void compute(struct problem *p, struct array *a)
{
    static double store[ELEMENTS_MAX];
    struct ref_verdict answer;
    bool wide = p->way->dtype == DTYPE_F64;
    const double unvisited = -0x1.c0ffeep1001;
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
        store[i] = unvisited;
    memset(&answer, 0, sizeof answer);
    if (ref_host_run(p->reference->name, &call, wide))
        fail(p, "not in the host build:", p->reference->name);
    if (answer.refused)
        fail(p,
             "it reads outside an array, see sizes[] in catalogue/program.c and "
             "tests/common/ref_inputs.h, for:",
             a->formal->name);
    take(p, a, store, unvisited);
}

/* What no bound lets pass where it should be `right`. */
static double wrong(enum dtype dtype, double right)
{
    if (!isfinite(right))
        return 1;
    if (dtype == DTYPE_U8)
        return right < 128 ? right + 64 : right - 64;
    if (code_is_byte((int)dtype)) /* inside of what they hold */
        return right / 2 - copysign(8, right);
    return right * 1.5 + copysign(2, right);
}

/* One element in the middle. */
static void spoil(const struct array *a)
{
    unsigned char *at = a->after + a->count / 2 * dtype_bytes(a->dtype);
    encode(a->dtype, at, wrong(a->dtype, decode(a->dtype, at)));
}

/* --------------------------------------------------------------------------------- runs */

static void run(const struct problem *p, const char *spoilt)
{
    char name[KERNEL_NAME + FORMAL_NAME + 2];
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
    launch(kernel(p->kernel), 1, BLOCK, NULL, (void *[]){&job});
    snprintf(name, sizeof name, "%s %s", p->kernel, spoilt);
    print_sum(name, out.device, out.used);
}

/* Right, or each output wrong in turn. */
static void run_problem(struct problem *p, bool spoilt)
{
    for (int i = 0; i < p->formals.tensors; i++)
        if (is_output(&p->array[i]))
            compute(p, &p->array[i]);
    if (!spoilt)
        run(p, "right");
    for (int i = 0; i < p->formals.tensors && spoilt; i++) {
        struct array *a = &p->array[i];
        static unsigned char right[BYTES_MAX];
        if (!is_output(a))
            continue;
        memcpy(right, want.host, out.used);
        spoil(a);
        run(p, a->formal->name);
        memcpy(want.host, right, out.used);
    }
}

/* Without what the reference can do without, if there is anything. */
static bool differs(const struct problem *p)
{
    bool lacks = false;
    for (int i = 0; i < p->formals.tensors; i++)
        lacks |= !p->array[i].given;
    return lacks || !p->way->bare;
}

/* The part of all runs that a problem belongs to, so that no process takes long. */
static const char *part_of(const struct problem *p, unsigned turns)
{
    return p->way->dtype != DTYPE_F32 ? "others" : turns > 1 ? "codes" : "f32";
}

/* Every way that it has, of this part. */
static void run_reference(const struct ref_builtin *reference, const char *part, bool spoilt)
{
    static struct problem p;
    struct error err = {{0}};
    p = (struct problem){.reference = reference};
    snprintf(p.kernel, sizeof p.kernel, "%s", reference->name);
    if (formals_parse(&p.formals, reference->formals, &err))
        fail(&p, "formals:", err.text);
    unsigned turns = way_turns(reference->name, &p.formals);
    for (unsigned i = 0; i < WAYS * turns; i++) {
        p.way = &ways[i / turns];
        p.turn = i % turns;
        if (!way_applies(p.way, reference) || strcmp(part_of(&p, turns), part) != 0)
            continue;
        way_kernel(p.kernel, reference->name, &p.formals, p.way->type, p.turn);
        prepare(&p);
        if (differs(&p))
            run_problem(&p, spoilt);
    }
}

int main(int argc, char **argv)
{
    start(argc, argv);
    CHECK(cuMemAlloc(&in.device, BYTES_MAX));
    CHECK(cuMemAlloc(&out.device, BYTES_MAX));
    CHECK(cuMemAlloc(&want.device, BYTES_MAX));
    for (size_t i = 0; i < ref_builtin_count; i++)
        run_reference(&ref_builtins[i], word(1), strcmp(word(0), "wrong") == 0);
    finish();
    return 0;
}
