/*
 * test_catalogue.c - every reference that is compiled once, run on the host against plain loops.
 *
 * The loops of catalogue_kernels.inc and its like are compiled twice. In long double they are an
 * independent computation: rounded to f64 they must agree with the reference to f64's own bound. In
 * float they are kernels as people write them, over f32, f16 and bf16 arrays: they must be quiet,
 * and their mutants must not be. test_refs.c has the references with special kernels,
 * test_ref_rules.c the judging itself.
 */
#include "tests/unit/refs/catalogue_problem.h"
#include "tests/common/philox.h"

#define REAL         float
#define FUNCTION(op) JOIN(float_, op)
#include "tests/unit/refs/catalogue_kernels.inc"
#include "tests/unit/refs/catalogue_select.inc"
#include "tests/unit/refs/catalogue_scan.inc"
#include "tests/unit/refs/catalogue_more.inc"
#include "tests/unit/refs/catalogue_codes.inc"
#include "tests/unit/refs/catalogue_spatial.inc"
#include "tests/unit/refs/catalogue_volume.inc"
#include "tests/unit/refs/catalogue_random.inc"
#undef REAL
#undef FUNCTION
#define REAL         long double
#define FUNCTION(op) JOIN(exact_, op)
#include "tests/unit/refs/catalogue_kernels.inc"
#include "tests/unit/refs/catalogue_select.inc"
#include "tests/unit/refs/catalogue_scan.inc"
#include "tests/unit/refs/catalogue_more.inc"
#include "tests/unit/refs/catalogue_codes.inc"
#include "tests/unit/refs/catalogue_spatial.inc"
#include "tests/unit/refs/catalogue_volume.inc"
#include "tests/unit/refs/catalogue_random.inc"

/* --------------------------------------------------------------------------- the cases */

typedef void kernel(struct problem *p);

enum { SAMPLED = 1 }; /* some elements twice, where indices are the same */

/* `checked` 0: as many as the outputs have elements; `turn`: which codes (ref_input_dtype). */
#define CASE(name, sizes)                                                                          \
    {                                                                                              \
#name, sizes, float_##name, exact_##name, 0, 0                                             \
    }
#define SOME(name, sizes, n)                                                                       \
    {                                                                                              \
#name, sizes, float_##name, exact_##name, n, 0                                             \
    }
#define CODED(name, sizes, turn)                                                                   \
    {                                                                                              \
#name, sizes, float_##name, exact_##name, 0, turn                                          \
    }
#define BYTES(name, sizes) CODED(name, sizes, 0), CODED(name, sizes, 1), CODED(name, sizes, 2)
/* In the order of enum dtype. */
#define BLOCKS(name, sizes)                                                                        \
    CODED(name, sizes, 0), CODED(name, sizes, 1), CODED(name, sizes, 2), CODED(name, sizes, 3),    \
        CODED(name, sizes, 4), CODED(name, sizes, 5), CODED(name, sizes, 6),                       \
        CODED(name, sizes, 7), CODED(name, sizes, 8), CODED(name, sizes, 9),                       \
        CODED(name, sizes, 10), CODED(name, sizes, 11), CODED(name, sizes, 12)

#define IMAGES  "batch=3 channels=4 height=7 width=9"
#define WINDOWS "window_h=3 window_w=2 stride_h=2 stride_w=2"
/* 4 frames of 3 x 5, windows of 2 x 3 x 2, outputs of 3 x 3 x 4 or fewer */
#define VOLUMES                                                                                    \
    "batch=2 channels=4 filters=6 depth=2 pixels=60 height=3 width=5 taps=12 window_h=3 "          \
    "window_w=2 places=36 out_h=3 out_w=4"
#define VOXELS    "planes=3 depth=4 height=6 width=5"
#define ATTENTION "batch=2 heads=4 kv_heads=2 queries=17 keys=13 dim=24 width=20"

static const struct {
    const char *name, *sizes;
    kernel *usual, *exact;
    uint64_t checked;
    unsigned turn;
} cases[] = {
#include "tests/unit/refs/catalogue_cases.inc"
#include "tests/unit/refs/catalogue_more_cases.inc"
};
enum { CASES = sizeof cases / sizeof *cases };

/* ------------------------------------------------------------------------ preparation */

static bool counts(const struct problem *p, const struct formal *formal)
{
    return strncmp(p->reference->name, "row_argmax", 10) == 0 ||
           strcmp(p->reference->name, "histogram") == 0 || strcmp(formal->name, "places") == 0;
}

/* Whether index i names no row: every ninth does where the case has a rule for those. */
static bool is_outside(const struct problem *p, const struct formal *formal, int64_t i)
{
    return strcmp(formal->name, "ids") == 0 && i % 9 == 4 && formals_find(&p->formals, "outside") &&
           size_named(p, "outside");
}

/* Whether element i of the sums of attention's parts is of one without keys: of all parts where
 * i is 7 by 30, else of some. */
static bool saw_nothing(const struct formal *formal, int64_t i)
{
    return strncmp(formal->name, "lse", 3) == 0 &&
           (i % 30 == 7 || i % 4 == (strcmp(formal->name, "lse_b") == 0));
}

/* The size that an index is below: that of its own dim, where several name a place. */
static const char *below_of(const struct problem *p, const struct formal *formal,
                            const struct ref_input *kind)
{
    bool several = strcmp(formal->name, "index") == 0 && formals_find(&p->formals, "second");
    return several && size_named(p, "size") ? "size" : kind->below;
}

static double drawn(const struct problem *p, const struct formal *formal,
                    const struct ref_input *kind, int64_t i)
{
    int64_t count = p->array[formal->slot].count;
    if (is_outside(p, formal, i))
        return i % 2 ? -1 : (double)size_named(p, "entries") + 3;
    if (strncmp(p->reference->name, "attention_merge", 15) == 0 && saw_nothing(formal, i))
        return -INFINITY;
    if (kind && kind->below)
        return ref_input_index(kind, i, count, size_named(p, below_of(p, formal, kind)), uniform());
    if (kind && kind->kind == BIT)
        return uniform() < 0.9;
    if (kind && kind->kind == POSITIVE)
        return 0.5 + uniform();
    if (kind && kind->kind == SHARE)
        return 0.05 + 0.9 * uniform();
    if (strncmp(p->reference->name, "topk", 4) == 0 || /* many of them are the same */
        strcmp(p->reference->name, "row_mode") == 0 ||
        strcmp(p->reference->name, "row_argmax_first") == 0)
        return floor(8 * normal());
    if (strcmp(formal->name, "mask") == 0)
        return i % 3 == 0 ? -INFINITY : i % 3 == 1 ? -1e4 : 0;
    if (strcmp(formal->name, "w") == 0)
        return formal->ndim == 2 ? 0.05 * normal() : 1 + 0.1 * normal();
    return normal();
}

static void draw_blocks(struct array *a, void *bits, double *values)
{
    int per_block = block_elements((int)a->dtype), bytes = block_bytes((int)a->dtype);
    for (int64_t b = 0; b * per_block < a->count; b++) {
        uint8_t *block = (uint8_t *)bits + b * bytes;
        struct block_values decoded;
        for (int i = 0; i < bytes; i++)
            block[i] = (uint8_t)(uniform() * 256);
        block_settle((int)a->dtype, block);
        block_decode((int)a->dtype, block, BLOCK_RIGHT, &decoded);
        for (int i = 0; i < per_block; i++) {
            values[b * per_block + i] = decoded.step[i] + decoded.low[i];
            a->low[b * per_block + i] = decoded.low[i];
            a->share[b * per_block + i] = decoded.share[i];
        }
    }
}

static void draw(const struct problem *p, const struct formal *formal, const struct ref_input *kind,
                 struct array *a)
{
    if (code_is_block((int)a->dtype)) {
        draw_blocks(a, a->before_bits, a->before);
        return;
    }
    for (int64_t k = 0; k < a->count; k++) {
        double value = code_is_byte((int)a->dtype) && a->dtype == DTYPE_I8
                           ? floor(uniform() * 256) - 128
                           : drawn(p, formal, kind, k);
        a->before[k] = encode(a->dtype, a->before_bits, k, value);
        a->after[k] = encode(a->dtype, a->after_bits, k, NAN);
    }
}

static void prepare(struct problem *p, size_t at, enum dtype dtype)
{
    struct error err = {{0}};
    size_t i = 0;
    while (i < ref_builtin_count && strcmp(ref_builtins[i].name, cases[at].name) != 0)
        i++;
    assert_true(i < ref_builtin_count);
    p->reference = &ref_builtins[i];
    p->sizes = cases[at].sizes;
    if (formals_parse(&p->formals, p->reference->formals, &err))
        fail_msg("%s: %s", p->reference->name, err.text);
    for (int f = 0; f < p->formals.count; f++) {
        const struct formal *formal = &p->formals.formal[f];
        struct array *a = &p->array[formal->slot];
        if (!formal_is_array(formal))
            continue;
        const struct ref_input *kind = ref_input_find(p->reference->name, formal->name);
        bool index = (kind && kind->below) || (counts(p, formal) && formal->kind == FORMAL_OUT);
        a->dtype = index ? DTYPE_I64 : ref_input_dtype(kind, dtype, cases[at].turn);
        a->count = 1;
        for (int d = 0; d < formal->ndim; d++) {
            int size = formal->dim[d].size;
            a->count *=
                size < 0 ? formal->dim[d].literal : size_named(p, p->formals.size_name[size]);
        }
        assert_true(a->count <= ELEMENTS_MAX);
        draw(p, formal, kind, a);
    }
}

static void view(const struct problem *p, const struct formal *formal, struct ref_tensor *t)
{
    const struct array *a = &p->array[formal->slot];
    if (is_input(formal))
        t->in = a->before_bits;
    if (formal->kind != FORMAL_IN)
        t->got = a->after_bits;
    t->bytes = length_of(a);
    t->absent = formal->fallback;
    t->dtype = (uint8_t)a->dtype;
    t->ndim = (uint8_t)formal->ndim;
    t->rule = a->dtype == DTYPE_I64 ? RULE_BITWISE : RULE_BOUND;
    t->id = (uint32_t)formal->slot;
    int64_t stride = 1;
    for (int d = formal->ndim - 1; d >= 0; d--) {
        int size = formal->dim[d].size;
        bool blocks = code_is_block((int)a->dtype) && d == formal->ndim - 1;
        stride = blocks ? block_bytes((int)a->dtype) : stride;
        t->stride[d] = stride;
        t->dim[d] = size < 0 ? formal->dim[d].literal : size_named(p, p->formals.size_name[size]);
        stride *= blocks ? t->dim[d] / block_elements((int)a->dtype) : t->dim[d];
    }
}

static struct ref_verdict judge(const struct problem *p, double roundoff)
{
    static struct ref_verdict answer;
    struct ref_call call = {.lambda = 8,
                            .unit_roundoff = roundoff,
                            .underflow = roundoff < 0x1p-40 ? 0x1p-1022 : 0x1p-126,
                            .pieces = 1,
                            .seed = 1,
                            .sequence = 7,
                            .group = 1,
                            .answer = &answer};
    int size = 0;
    for (int f = 0; f < p->formals.count; f++) {
        const struct formal *formal = &p->formals.formal[f];
        if (formal->kind == FORMAL_REAL)
            call.scalar[formal->slot] = scalar_named(p, formal->name);
        else if (formal->kind == FORMAL_INT)
            call.size[formal->slot] = size_named(p, formal->name);
        else if (formal_is_array(formal))
            view(p, formal, &call.tensor[formal->slot]);
        size += formal->kind == FORMAL_INT;
    }
    for (int i = 0; i < p->formals.sizes - size; i++)
        call.size[i] = size_named(p, p->formals.size_name[i]);
    ref_verdict_clear(&answer);
    assert_int_equal(ref_host_run(p->reference->name, &call, roundoff < 0x1p-40), 0);
    assert_int_equal(answer.sequence, 7);
    return answer;
}

static uint64_t outputs(const struct problem *p, size_t at)
{
    uint64_t count = cases[at].checked;
    for (int f = 0; f < p->formals.count && !cases[at].checked; f++) {
        const struct formal *formal = &p->formals.formal[f];
        if (formal->kind == FORMAL_OUT || formal->kind == FORMAL_INOUT)
            count += (uint64_t)p->array[formal->slot].count;
    }
    return count;
}

static void expect_quiet(const struct problem *p, size_t at, const struct ref_verdict *v)
{
    bool all = v->checked == outputs(p, at) || (cases[at].checked == SAMPLED && v->checked > 0);
    if (v->violations || v->refused || !all || v->wide > v->checked / 20)
        fail_msg("%s: %llu violations, %llu wide, %llu refused of %llu, not %llu; worst tensor %u "
                 "[%lld] got %a ref %a bound %a",
                 p->reference->name, (unsigned long long)v->violations, (unsigned long long)v->wide,
                 (unsigned long long)v->refused, (unsigned long long)v->checked,
                 (unsigned long long)outputs(p, at), v->worst_tensor, (long long)v->worst_index,
                 v->worst_got, v->worst_ref, v->worst_bound);
}

/* ------------------------------------------------------------------------------- tests */

static void they_agree_with_long_double(void **state)
{
    (void)state;
    for (size_t i = 0; i < CASES; i++) {
        random_state = i;
        problem.wrong = false;
        prepare(&problem, i, DTYPE_F64);
        cases[i].exact(&problem);
        struct ref_verdict v = judge(&problem, 0x1p-53);
        expect_quiet(&problem, i, &v);
    }
}

static void right_kernels_are_quiet(void **state)
{
    (void)state;
    static const enum dtype dtypes[] = {DTYPE_BF16, DTYPE_F16, DTYPE_F32};
    for (size_t i = 0; i < 3 * CASES; i++) {
        random_state = i;
        problem.wrong = false;
        prepare(&problem, i / 3, dtypes[i % 3]);
        cases[i / 3].usual(&problem);
        struct ref_verdict v = judge(&problem, 0x1p-24);
        expect_quiet(&problem, i / 3, &v);
    }
}

static void mutants_are_caught(void **state)
{
    (void)state;
    static const enum dtype dtypes[] = {DTYPE_BF16, DTYPE_F16, DTYPE_F32};
    for (size_t i = 0; i < 3 * CASES; i++) {
        random_state = i;
        problem.wrong = true;
        prepare(&problem, i / 3, dtypes[i % 3]);
        cases[i / 3].usual(&problem);
        struct ref_verdict v = judge(&problem, 0x1p-24);
        if (v.violations == 0 || v.refused)
            fail_msg("%s: a mutant in dtype %d passes, %llu refused", cases[i / 3].name,
                     (int)dtypes[i % 3], (unsigned long long)v.refused);
    }
}

/* Whether 2 % are more of a than of b. */
static bool shows_more(double a, double b)
{
    return isfinite(a) && (!isfinite(b) || fabs(a) > fabs(b));
}

/* One element of one output off by 2 %: the smallest fault that there is. */
static void one_element_is_enough(void **state)
{
    (void)state;
    for (size_t i = 0; i < CASES; i++) {
        random_state = i;
        problem.wrong = false;
        prepare(&problem, i, DTYPE_F32);
        cases[i].usual(&problem);
        for (int f = 0; f < problem.formals.count; f++) {
            const struct formal *formal = &problem.formals.formal[f];
            struct array *a = &problem.array[formal->slot];
            if (formal->kind != FORMAL_OUT && formal->kind != FORMAL_INOUT)
                continue;
            int64_t at = a->count / 2;
            for (int64_t k = 0; k < a->count; k++)
                at = shows_more(a->after[k], a->after[at]) ? k : at;
            double right = a->after[at];
            double off = 0.02 * right + (a->dtype == DTYPE_I64 ? 1 : 1e-3);
            if (code_is_byte((int)a->dtype)) /* coarse, and saturated on the other side */
                off = -0.1 * right - copysign(1, right);
            encode(a->dtype, a->after_bits, at, right + off);
            struct ref_verdict v = judge(&problem, 0x1p-24);
            encode(a->dtype, a->after_bits, at, right);
            if (v.violations == 0)
                fail_msg("%s: %s[%lld] off by 2 %% passes", cases[i].name, formal->name,
                         (long long)at);
        }
    }
}

static void every_reference_has_a_case(void **state)
{
    (void)state;
    for (size_t i = 0; i < ref_builtin_count; i++) {
        bool once = strcmp(ref_builtins[i].symbol[REF_ANY], ref_builtins[i].symbol[REF_WIDE]) == 0;
        size_t at = 0;
        while (at < CASES && strcmp(cases[at].name, ref_builtins[i].name) != 0)
            at++;
        if (once != (at < CASES))
            fail_msg("%s %s", ref_builtins[i].name, once ? "has no case" : "is not compiled once");
    }
}

/* A correct f32 kernel overflows where fp64 does not, in its general kernel as in its wide one. */
static void overflow_of_the_accumulator_is_inconclusive(void **state)
{
    (void)state;
    size_t at = 0;
    while (strcmp(cases[at].name, "l2norm") != 0)
        at++;
    random_state = 1;
    problem.wrong = false;
    prepare(&problem, at, DTYPE_F32);
    struct array *x = array_named(&problem, "x");
    for (int64_t i = 0; i < x->count; i++)
        x->before[i] = encode(DTYPE_F32, x->before_bits, i, 1e25);
    cases[at].usual(&problem);
    struct ref_verdict v = judge(&problem, 0x1p-24);
    assert_int_equal(v.violations, 0);
    assert_int_equal(v.wide, v.checked);
}

/* Atomics add to y itself: each of many small terms is rounded where y is, not where their sum is.
 */
static void sums_that_begin_with_the_old_value_are_quiet(void **state)
{
    (void)state;
    size_t at = 0;
    while (strcmp(cases[at].name, "index_add") != 0)
        at++;
    for (int wrong = 0; wrong < 2; wrong++) {
        random_state = 3;
        problem.wrong = false;
        prepare(&problem, at, DTYPE_F32);
        struct array *ids = array_named(&problem, "ids"), *x = array_named(&problem, "x");
        struct array *y = array_named(&problem, "y");
        int64_t cols = x->count / ids->count;
        float alpha = (float)scalar_named(&problem, "alpha");
        for (int64_t i = 0; i < y->count; i++)
            encode(DTYPE_F32, y->after_bits, i, y->before[i]);
        for (int64_t i = 0; i < x->count; i++) {
            x->before[i] = encode(DTYPE_F32, x->before_bits, i, x->before[i] * 1e-3);
            float *to = (float *)y->after_bits + (int64_t)ids->before[i / cols] * cols + i % cols;
            *to += alpha * (float)x->before[i];
            if (wrong)
                *to = (float)coarse((double)*to);
        }
        struct ref_verdict v = judge(&problem, 0x1p-24);
        assert_int_equal(v.refused, 0);
        assert_int_equal(v.violations > 0, wrong);
    }
}

static size_t case_of(const char *name)
{
    size_t at = 0;
    while (at < CASES && strcmp(cases[at].name, name) != 0)
        at++;
    assert_true(at < CASES);
    return at;
}

/* powf of a rounded beta: in the first steps 1 - beta^step cancels, later the power's error grows.
 */
static void adamw_is_quiet_at_any_step(void **state)
{
    (void)state;
    static const char *const steps[] = {
        "rows=5 cols=777 step=1 beta2=0.999",      "rows=5 cols=777 step=2 beta2=0.9999",
        "rows=5 cols=777 step=10 beta1=0.99",      "rows=5 cols=777 step=1000 beta2=0.999",
        "rows=5 cols=777 step=12345 beta2=0.9999", "rows=5 cols=777 step=3000000"};
    size_t at = case_of("adamw_step");
    for (size_t i = 0; i < 2 * sizeof steps / sizeof *steps; i++) {
        random_state = i;
        problem.wrong = false;
        prepare(&problem, at, i % 2 ? DTYPE_F32 : DTYPE_BF16);
        problem.sizes = steps[i / 2];
        cases[at].usual(&problem);
        struct ref_verdict v = judge(&problem, 0x1p-24);
        expect_quiet(&problem, at, &v);
    }
}

/* A step is a whole number of 0 or more: of others the corrections are NaN, which no kernel meets.
 */
static void a_step_is_whole(void **state)
{
    (void)state;
    size_t at = case_of("adamw_step");
    random_state = 1;
    problem.wrong = false;
    prepare(&problem, at, DTYPE_F32);
    problem.sizes = "rows=5 cols=777 step=2";
    cases[at].usual(&problem);
    problem.sizes = "rows=5 cols=777 step=2.5";
    assert_true(judge(&problem, 0x1p-24).violations >= 5 * 777);
}

/* One group of lanes would take too long: the launch is inconclusive. */
static void too_many_logits_are_not_judged(void **state)
{
    (void)state;
    size_t at = case_of("cross_entropy_total");
    random_state = 1;
    prepare(&problem, at, DTYPE_F32);
    problem.sizes = "rows=65536 classes=1025";
    struct ref_verdict v = judge(&problem, 0x1p-24);
    assert_int_equal(v.checked, 0);
    assert_int_equal(v.refused, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_reference_has_a_case),
        cmocka_unit_test(they_agree_with_long_double),
        cmocka_unit_test(right_kernels_are_quiet),
        cmocka_unit_test(mutants_are_caught),
        cmocka_unit_test(one_element_is_enough),
        cmocka_unit_test(overflow_of_the_accumulator_is_inconclusive),
        cmocka_unit_test(sums_that_begin_with_the_old_value_are_quiet),
        cmocka_unit_test(adamw_is_quiet_at_any_step),
        cmocka_unit_test(a_step_is_whole),
        cmocka_unit_test(too_many_logits_are_not_judged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
