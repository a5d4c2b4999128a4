/* Which launches are projected, by their entries and references; what was in the output
 * before; and which rows are left out. test_project.c has what is found. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/unit/common/project_fixture.h"

/* ---- launches that add to what was there ---- */

static const struct {
    const char *signature, *rest;
    double beta;
} adding[] = {
    {"const bf16 a[96][64], const bf16 b[64][128], inout f32 c[96][128]",
     "reference: gemm, bind: {beta: -0.5, alpha: 2}", -0.5},
    {"const f16 a[96][64], const f16 b[64][128], acc f16 c[96][128]", "reference: matmul", 1},
    {"const f32 a[3][64][96], const f32 b[3][64][128], acc f32 c[3:12576][96:131][128]",
     "reference: bmm_tn, bind: {alpha: 3}", 1},
};

/* The launch, between the projections; one row adds `beta_of_one` times what was there. */
static const struct ref_product_answer *add_up(struct world *w, draw_fn draw, uint64_t seed,
                                               double beta, double beta_of_one)
{
    const struct ref_product *p = product_of(w);
    fill(&p->c, p->batch, p->m, p->n, draw);
    product_of(w)->seed = seed;
    ref_product_host_before(p, w->vectors);
    for (int64_t s = 0; s < p->batch; s++)
        for (int64_t i = 0; i < p->m; i++)
            for (int64_t j = 0; j < p->n; j++) {
                float old = (float)get(&p->c, s, i, j);
                float factor = (float)(s + 1 == p->batch && i == 17 ? beta_of_one : beta);
                set(&p->c, s, i, j, (float)p->alpha * dot(p, s, i, j, &plain) + factor * old);
            }
    return project(w, seed);
}

static void what_was_there_counts(void **state)
{
    (void)state;
    random_state = 16;
    for (size_t i = 0; i < sizeof adding / sizeof *adding; i++) {
        struct world *w = world_of(adding[i].signature, adding[i].rest);
        const struct ref_product *p = product_of(w);
        double beta = adding[i].beta;
        assert_true(p->before == beta);
        for (int draw = 0; draw < DRAWS; draw++) {
            fill_inputs(w, draws[draw]);
            for (uint64_t seed = 0; seed < 4; seed++) {
                draw_fn old = seed ? draws[draw] : draw_huge; /* far more than is added to it */
                if (add_up(w, old, seed, beta, beta)->violations)
                    fail_msg("%s, draw %d: called", adding[i].signature, draw);
            }
        }
        fill_inputs(w, draw_normal);
        int found = 0;
        for (uint64_t seed = 0; seed < 10; seed++) {
            const struct ref_product_answer *answer = add_up(w, draw_normal, seed, beta, 0);
            found +=
                answer->violations == 1 && (int64_t)answer->first == (p->batch - 1) * p->m + 17;
        }
        assert_true(found >= 8);
        world_end(w);
    }
}

/* Sums that began with what was there, which is far more than the terms: every element off by
 * nearly as much as that allows, all the same way; and by thirty times that. */
static void what_was_there_may_begin_the_sum(void **state)
{
    static const struct {
        const char *rest;
        double share;
    } cases[] = {
        {"reference: matmul", 8 * 8 * 0x1p-24}, /* sqrt(K) = 8 */
        {"reference: matmul, tolerance: {accumulate: fp8_tensor}", 0x1.1p-13 * K},
    };
    (void)state;
    random_state = 17;
    for (int i = 0; i < 4; i++) {
        struct world *w = world_of(
            "const bf16 a[96][64], const bf16 b[64][128], acc f32 c[96][128]", cases[i / 2].rest);
        const struct ref_product *p = product_of(w);
        double off = (i % 2 ? 30 : 0.99) * cases[i / 2].share;
        int found = 0;
        fill_inputs(w, draw_normal);
        for (uint64_t seed = 0; seed < 40; seed++) {
            fill(&p->c, 1, M, N, draw_huge);
            product_of(w)->seed = seed;
            ref_product_host_before(p, w->vectors);
            for (int64_t j = 0; j < M * N; j++) {
                double old = get(&p->c, 0, j / N, j % N);
                set(&p->c, 0, j / N, j % N, old + off * fabs(old));
            }
            found += project(w, seed)->violations > 0;
        }
        assert_true(i % 2 ? found > 35 : found == 0);
        world_end(w);
    }
}

/*
 * What was there is the negative of the product, which a kernel rounds to c's dtype before it adds
 * them: 0 is left, and the exact result is what was rounded away. One row is the product alone.
 */
static uint64_t rounds_before_adding(struct world *w, uint64_t seed, int64_t wrong)
{
    const struct ref_product *p = product_of(w);
    for (int64_t s = 0; s < p->batch; s++)
        for (int64_t i = 0; i < p->m; i++)
            for (int64_t j = 0; j < p->n; j++) {
                set(&p->c, s, i, j, dot(p, s, i, j, &plain));
                set(&p->c, s, i, j, -get(&p->c, s, i, j));
            }
    product_of(w)->seed = seed;
    ref_product_host_before(p, w->vectors);
    for (int64_t s = 0; s < p->batch; s++)
        for (int64_t i = 0; i < p->m; i++)
            for (int64_t j = 0; j < p->n; j++)
                set(&p->c, s, i, j, s == 0 && i == wrong ? -get(&p->c, s, i, j) : 0);
    return project(w, seed)->violations;
}

static void a_product_may_be_rounded_before_c_is_added(void **state)
{
    static const struct {
        const char *signature, *rounding;
        bool quiet;
    } cases[] = {
        {"const bf16 a[3][96][64], const bf16 b[3][64][128], inout bf16 c[3][96][128]", "output?",
         true},
        {"const f16 a[3][96][64], const f16 b[3][64][128], inout f16 c[3][96][128]", "f16?", true},
        {"const bf16 a[3][96][64], const bf16 b[3][64][128], inout bf16 c[3][96][128]", NULL,
         false},
    };
    (void)state;
    random_state = 18;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char rest[200] = "reference: gemm_bias, bind: {alpha: 1, beta: 1, c: c, d: c}";
        if (cases[i].rounding)
            snprintf(rest + strlen(rest), 100, ", tolerance: {rounding: {dot: %s}}",
                     cases[i].rounding);
        struct world *w = world_of(cases[i].signature, rest);
        for (int draw = 0; draw < 2; draw++) {
            fill_inputs(w, draws[draw]);
            for (uint64_t seed = 0; seed < 10; seed++) {
                uint64_t found = rounds_before_adding(w, seed, -1);
                assert_true(cases[i].quiet ? found == 0 : found > 200);
            }
            int found = 0;
            for (uint64_t seed = 0; seed < 10; seed++)
                found += rounds_before_adding(w, seed, 17) > 0 && w->answer.first <= 17;
            assert_true(found >= 8);
        }
        world_end(w);
    }
}

/* ---- what is left out ---- */

static void rows_whose_inputs_are_not_finite_are_left(void **state)
{
    (void)state;
    random_state = 13;
    struct world *w =
        world_of("const f16 a[96][64], const f16 b[64][128], f16 c[96][128]", "reference: matmul");
    const struct ref_product *p = product_of(w);
    fill_inputs(w, draw_normal);
    set(&p->a, 0, 3, 5, NAN);
    set(&p->a, 0, 4, 5, INFINITY);
    run(w, &plain);
    set(&p->c, 0, 5, 0, 65504); /* may be what is left of a larger one */
    assert_int_equal(project(w, 1)->violations, 0);
    assert_int_equal(w->answer.left, 3);
    set(&p->c, 0, 7, 0, 500);
    assert_int_equal(project(w, 1)->violations, 1);
    set(&p->b, 0, 0, 0, INFINITY);
    assert_int_equal(project(w, 1)->left, M);
    assert_int_equal(w->answer.violations, 0);
    world_end(w);
}

static const struct {
    const char *signature, *rest;
} products[] = {
    {"const f16 a[96][64], const f16 b[64][128], f16 c[96][128]", "reference: matmul"},
    {"const f32 a[96][64], const f32 b[64][128], const bf16 bias[128], f32 c[96][128]",
     "reference: matmul, bind: {alpha: 0.01}"},
    {"const bf16 a[96][64], const bf16 b[64][128], acc f32 c[96][128]", "reference: matmul"},
    {"const f64 a[96][64], const f64 b[64][128], f64 c[96][128]", "reference: matmul"},
};

/* The launch with an element of row 17 replaced, right behind it. */
static const struct ref_product_answer *with_one(struct world *w, double value)
{
    const struct ref_product *p = product_of(w);
    fill(&p->c, p->batch, p->m, p->n, draw_normal);
    if (p->before != 0)
        ref_product_host_before(p, w->vectors);
    for (int64_t i = 0; i < p->m; i++)
        for (int64_t j = 0; j < p->n; j++) {
            double sum = p->before * get(&p->c, 0, i, j);
            for (uint32_t d = 0; d < p->addends; d++)
                sum += p->scale[d] * get(&p->added[d], 0, i, j);
            for (int64_t l = 0; l < p->k; l++)
                sum += p->alpha * get(&p->a, 0, i, l) * get(&p->b, 0, l, j);
            set(&p->c, 0, i, j, i == 17 && j == 3 ? value : sum);
        }
    ref_product_host(p, w->vectors, &w->answer);
    return &w->answer;
}

static void what_is_not_finite_is_found_where_the_inputs_are_finite(void **state)
{
    static const double values[] = {INFINITY, -INFINITY, NAN};
    (void)state;
    random_state = 19;
    for (size_t i = 0; i < sizeof products / sizeof *products; i++) {
        struct world *w = world_of(products[i].signature, products[i].rest);
        fill_inputs(w, draw_normal);
        for (size_t v = 0; v < sizeof values / sizeof *values; v++) {
            const struct ref_product_answer *answer = with_one(w, values[v]);
            if (answer->violations != 1 || answer->first != 17 || answer->last != 17 ||
                answer->left || answer->worst != ((uint64_t)0x7f800000 << 32 | 17))
                fail_msg("%s, %g: %llu violations, %llu left", products[i].signature, values[v],
                         (unsigned long long)answer->violations, (unsigned long long)answer->left);
        }
        world_end(w);
    }
}

/* Whether the row with an Inf is left once element (17, 3) of one input is so large. */
static bool is_left(struct world *w, const struct ref_matrix *input, double value)
{
    set(input, 0, 17, 3, value);
    const struct ref_product_answer *answer = with_one(w, INFINITY);
    return answer->violations == 0 && answer->left >= 1;
}

static void what_may_overflow_is_left(void **state)
{
    static const double large[] = {60000, 1e38, 1e38, 1e300};
    (void)state;
    random_state = 20;
    for (size_t i = 0; i < sizeof products / sizeof *products; i++) {
        struct world *w = world_of(products[i].signature, products[i].rest);
        const struct ref_product *p = product_of(w);
        for (int way = 0; way < 3; way++) {
            const struct ref_matrix *input = way == 2 ? &p->added[0] : way ? &p->b : &p->a;
            if (way == 2 && !p->addends)
                continue;
            fill_inputs(w, draw_normal);
            set(&p->a, 0, 17, 17, 1); /* the factor of element (17, 3) of b */
            if (!is_left(w, input, large[i]))
                fail_msg("%s, large values in input %d: called", products[i].signature, way);
            if (way != 2 && (!is_left(w, input, NAN) || !is_left(w, input, INFINITY)))
                fail_msg("%s, input %d is not finite: called", products[i].signature, way);
        }
        world_end(w);
    }
}

/* A kernel may round 1e5 to f16, which makes Inf of it. */
static void inputs_that_are_rounded_to_f16_are_left(void **state)
{
    (void)state;
    random_state = 21;
    struct world *w = world_of("const f32 a[96][64], const f32 b[64][128], f32 c[96][128]",
                               "reference: matmul, tolerance: {inputs: f16}");
    fill_inputs(w, draw_normal);
    assert_true(is_left(w, &product_of(w)->a, 1e5));
    world_end(w);
}

static void some_launches_are_not_projected(void **state)
{
    static const struct {
        const char *signature, *rest;
        bool in_place, wanted;
    } cases[] = {
        {"const f32 a[96][64], const f32 b[64][128], f32 c[96][128]", "reference: matmul", false,
         true},
        {"const f32 a[96][64], const f32 b[64][64], f32 c[96][64]", "reference: matmul", false,
         false}, /* small */
        {"const f32 a[96][64], const f32 b[64][128], f32 c[96][128]",
         "reference: matmul, tolerance: {rule: bound, rounding: {dot: bf16}}", false, false},
        {"const f32 a[96][64], const f32 b[64][128], f32 c[96][128]",
         "reference: matmul, tolerance: {rule: bound, rounding: {dot: bf16?}}", false, false},
        {"const bf16 a[96][64], const bf16 b[64][128], bf16 c[96][128]",
         "reference: matmul, tolerance: {rule: bound, rounding: {dot: bf16?}}", false, true},
        {"const bf16 a[96][64], const bf16 b[64][128], bf16 c[96][128]",
         "reference: matmul, tolerance: {rule: bound, rounding: {dot: bf16}}", false, false},
        {"const f32 a[96][64], const f32 b[64][128], acc f32 c[96][128]", "reference: matmul",
         false, true},
        {"const f32 a[96][64], const f32 b[64][128], inout f32 c[96][128]",
         "reference: gemm, bind: {beta: 1, alpha: 1}", false, true},
        {"const f32 a[96][64], const f32 b[64][128], inout f32 c[96][128]",
         "reference: gemm, bind: {beta: 0, alpha: 1}", false, true},
        {"const f32 a[96][128], const f32 b[128][128], f32 c[96][128]", "reference: matmul", true,
         false},
        {"const i8 a[96][64], const i8 b[64][128], i32 c[96][128]", "reference: matmul", false,
         false},
        {"const i8 a[96][64], const i8 b[64][128], f32 c[96][128]", "reference: matmul", false,
         true},
        {"const f32 a[2000][2], const f32 b[2][8], f32 c[2000][8]", "reference: matmul", false,
         false}, /* long vectors for the little that they show */
        {"const f32 a[2000][2], const f32 b[2][64], f32 c[2000][64]", "reference: matmul", false,
         true},
        {"const bf16 a[1][64], const bf16 b[64:0][200003], bf16 c[1][200003]", "reference: matmul",
         false, false}, /* more signs than a block has room for */
        {"const bf16 a[1][64], const bf16 b[64:0][190000], bf16 c[1][190000]", "reference: matmul",
         false, true},
        {"const f32 x[96][64], const f32 w[128][64], f32 y[96][128]", "reference: linear_silu",
         false, false}, /* not linear */
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct world *w = world_of(cases[i].signature, cases[i].rest);
        if (cases[i].in_place) {
            void *own = w->pointer[2];
            w->pointer[2] = w->pointer[0];
            plan_again(w);
            w->pointer[2] = own;
        }
        if (w->plan.wanted != cases[i].wanted)
            fail_msg("%s, %s: %s", cases[i].signature, cases[i].rest,
                     w->plan.wanted ? "projected" : "not projected");
        world_end(w);
    }
}

/* The room is behind the arrays, or there is none. */
static void room_is_taken_or_not(void **state)
{
    (void)state;
    struct world *w = world_of("const bf16 a[96][64], const bf16 b[64][128], bf16 c[96][128]",
                               "reference: matmul");
    uint64_t before = w->snapshot.bytes, needed = w->plan.bytes;
    assert_int_equal(needed, PROJECT_ANSWER + 2 * (M + K) * sizeof(double));
    project_take_room(&w->plan, &w->snapshot, 1 << 30);
    assert_true(w->plan.wanted);
    assert_true(w->plan.call.offset >= before && w->plan.call.offset % 256 == 0);
    assert_true(w->snapshot.bytes >= w->plan.call.offset + needed);
    uint64_t after = w->snapshot.bytes;
    project_take_room(&w->plan, &w->snapshot, after);
    assert_false(w->plan.wanted);
    assert_int_equal(w->snapshot.bytes, after);
    world_end(w);
}

/* ---- the promises of the catalogue ---- */

static double draw_array(double *values, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        values[i] = normal();
    return values[0];
}

static int64_t dim_of(const struct formal *formal, int d, const struct ref_call *call)
{
    return formal->dim[d].size < 0 ? formal->dim[d].literal : call->size[formal->dim[d].size];
}

/* The element of the array in `slot` that the indices name. */
static double number_at(const struct formals *f, const struct ref_call *call, int slot,
                        const int64_t *index)
{
    const struct formal *formal = formals_array(f, slot);
    const double *values = call->tensor[slot].in;
    int64_t place = 0;
    for (int d = 0; d < formal->ndim; d++)
        place +=
            formal->dim[d].size < 0 ? 0 : index[formal->dim[d].size] * call->tensor[slot].stride[d];
    return values[place];
}

/* An element of the promised product. Each element of a scaled matrix has a scale of its own. */
static double promised(const struct formals *f, const struct ref_call *call, int64_t *index)
{
    const struct formal_product *p = &f->product;
    const int sides[][3] = {{p->a_scale, p->rows, p->sum}, {p->b_scale, p->sum, p->cols}};
    double sum = 0;
    for (int64_t l = 0; l < call->size[p->sum]; l++) {
        index[p->sum] = l;
        double term = number_at(f, call, p->a, index) * number_at(f, call, p->b, index);
        for (int side = 0; p->scaled && side < 2; side++) {
            const struct formal *scale = formals_array(f, sides[side][0]);
            for (int d = 0; d < 2; d++)
                index[scale->dim[d].size] = index[sides[side][1 + d]];
            term *= number_at(f, call, sides[side][0], index);
        }
        sum += term;
    }
    sum *= p->alpha < 0 ? 1 : call->scalar[p->alpha];
    for (int i = 0; i < p->addends; i++)
        sum += (p->added[i].scale < 0 ? 1 : call->scalar[p->added[i].scale]) *
               number_at(f, call, p->added[i].array, index);
    return p->timed ? sum * number_at(f, call, p->times, index) : sum;
}

/* Every reference that promises a product gives the product that it promises. */
static int hold(const struct ref_builtin *reference)
{
    static double array[REF_MAX_TENSORS][4096], stored[4096];
    struct formals f;
    struct ref_verdict answer;
    struct ref_call call = {.lambda = 8, .unit_roundoff = 0x1p-53, .pieces = 1, .group = 1};
    assert_int_equal(formals_parse(&f, reference->formals, NULL), STATUS_OK);
    if (!f.has_product)
        return 0;
    const struct formal_product *p = &f.product;
    for (int i = 0; i < f.sizes; i++)
        call.size[i] = 3 + 2 * i;
    for (int i = 0; i < f.scalars; i++)
        call.scalar[i] = 1.5 + i;
    for (int i = 0; i < f.count; i++) {
        const struct formal *formal = &f.formal[i];
        if (!formal_is_array(formal))
            continue;
        struct ref_tensor *t = &call.tensor[formal->slot];
        *t = (struct ref_tensor){.dtype = DTYPE_F64, .ndim = (uint8_t)formal->ndim};
        int64_t count = 1;
        for (int d = formal->ndim - 1; d >= 0; d--) {
            t->dim[d] = dim_of(formal, d, &call);
            t->stride[d] = count;
            count *= t->dim[d];
        }
        t->id = (uint32_t)formal->slot;
        t->bytes = count * 8;
        t->in = formal->kind == FORMAL_OUT ? NULL : array[formal->slot];
        t->got = formal->kind == FORMAL_IN ? NULL : array[formal->slot];
        draw_array(array[formal->slot], count);
    }
    const struct ref_tensor *c = &call.tensor[p->out];
    call.store = stored;
    call.store_tensor = c->id;
    call.store_count = c->bytes / 8;
    call.answer = &answer;
    assert_int_equal(ref_host_run(reference->name, &call, 1), 0);
    for (int64_t at = 0; at < call.store_count; at++) {
        int64_t index[REF_MAX_SIZES] = {0}, rest = at;
        for (int d = c->ndim - 1; d >= 0; d--) {
            index[formals_array(&f, p->out)->dim[d].size] = rest % c->dim[d];
            rest /= c->dim[d];
        }
        double sum = promised(&f, &call, index);
        if (!(fabs(sum - stored[at]) < 1e-11))
            fail_msg("%s: element %lld is %g, and the product that it promises is %g",
                     reference->name, (long long)at, stored[at], sum);
    }
    return 1;
}

static void promised_products_are_kept(void **state)
{
    int held = 0;
    (void)state;
    random_state = 14;
    for (size_t i = 0; i < ref_builtin_count; i++)
        held += hold(&ref_builtins[i]);
    assert_true(held >= 9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_there_counts),
        cmocka_unit_test(what_was_there_may_begin_the_sum),
        cmocka_unit_test(a_product_may_be_rounded_before_c_is_added),
        cmocka_unit_test(rows_whose_inputs_are_not_finite_are_left),
        cmocka_unit_test(what_is_not_finite_is_found_where_the_inputs_are_finite),
        cmocka_unit_test(what_may_overflow_is_left),
        cmocka_unit_test(inputs_that_are_rounded_to_f16_are_left),
        cmocka_unit_test(some_launches_are_not_projected),
        cmocka_unit_test(room_is_taken_or_not),
        cmocka_unit_test(promised_products_are_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
