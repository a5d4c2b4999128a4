/*
 * test_project.c - projections of whole products: right kernels stay quiet whatever their values
 * and layouts are, big faults anywhere are found, and the odds are those that are stated.
 *
 * The kernels are loops in f32 over host memory, as entries of a registry describe it; the
 * projection is the host's (refs/ref_product.h), over the plan that a launch would get.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "random_values.h"
#include "refs/ref_host.h"
#include "refs/ref_list.h"
#include "registry_fixture.h"
#include "verify/dtype.h"
#include "verify/plan.h"
#include "verify/project.h"

enum { M = 96, N = 128, K = 64, BATCH = 3, ROOM = 1 << 20, POINTERS = 6 };

/* ---- elements ---- */

static void encode_f32(double value, void *at)
{
    float f = (float)value;
    memcpy(at, &f, 4);
}

static void encode_bf16(double value, void *at)
{
    float f = (float)value;
    uint32_t word;
    memcpy(&word, &f, 4);
    bool is_nan = f != f;
    word = is_nan ? 0x7fc0u : (word + 0x7fff + (word >> 16 & 1)) >> 16;
    memcpy(at, &word, 2);
}

static void encode_f16(double value, void *at)
{
    _Float16 h = (_Float16)(float)value;
    memcpy(at, &h, 2);
}

static void encode_f64(double value, void *at)
{
    memcpy(at, &value, 8);
}

static void encode(int dtype, double value, void *at)
{
    switch (dtype) {
    case DTYPE_F64:
        encode_f64(value, at);
        return;
    case DTYPE_F32:
        encode_f32(value, at);
        return;
    case DTYPE_F16:
        encode_f16(value, at);
        return;
    default:
        assert_int_equal(dtype, DTYPE_BF16);
        encode_bf16(value, at);
    }
}

static void *element(const struct ref_matrix *x, int64_t s, int64_t i, int64_t j)
{
    int64_t at = s * x->stride[0] + i * x->stride[1] + j * x->stride[2];
    return (char *)(uintptr_t)x->data + at * (int64_t)dtype_bytes((enum dtype)x->dtype);
}

static double get(const struct ref_matrix *x, int64_t s, int64_t i, int64_t j)
{
    return dtype_load((enum dtype)x->dtype, element(x, s, i, j));
}

static void set(const struct ref_matrix *x, int64_t s, int64_t i, int64_t j, double value)
{
    encode((int)x->dtype, value, element(x, s, i, j));
}

/* ---- a launch ---- */

struct world {
    struct resolved resolved;
    void *pointer[POINTERS], *params[POINTERS];
    struct launch launch;
    struct binding binding;
    struct snapshot_plan snapshot;
    struct project_plan plan;
    double *vectors;
    struct ref_product_answer answer;
};

static void plan_again(struct world *w)
{
    struct error why = {{0}};
    if (binding_make(w->resolved.spec, &w->launch, &w->binding, &why))
        fail_msg("%s", why.text);
    assert_int_equal(snapshot_plan_make(&w->binding, &w->snapshot, &why), SKIP_NONE);
    project_plan_make(&w->plan, &w->binding, w->resolved.spec->plan->formals, &w->snapshot, 1);
}

static struct world *world_of(const char *signature, const char *rest)
{
    struct world *w = calloc(1, sizeof *w);
    char entry[600];
    unsigned sizes[POINTERS + 1] = {8, 8, 8, 8, 8, 8, 0};
    int pointers = 1;
    for (const char *c = signature; *c; c++)
        pointers += *c == ',';
    sizes[pointers] = 0;
    snprintf(entry, sizeof entry, "{kernel: k, signature: \"%s\", %s}", signature, rest);
    w->resolved = resolve_entry(entry, sizes);
    for (int i = 0; i < pointers; i++) {
        w->pointer[i] = aligned_alloc(256, ROOM);
        memset(w->pointer[i], 0, ROOM);
        w->params[i] = &w->pointer[i];
    }
    w->launch = (struct launch){.symbol = "k", .params = w->params, .grid = {1, 1, 1}};
    plan_again(w);
    if (w->plan.wanted)
        w->vectors = malloc(w->plan.bytes);
    return w;
}

static void world_end(struct world *w)
{
    registry_destroy(w->resolved.registry);
    for (int i = 0; i < POINTERS; i++)
        free(w->pointer[i]);
    free(w->vectors);
    free(w);
}

static struct ref_product *product_of(struct world *w)
{
    assert_true(w->plan.wanted);
    return &w->plan.call.product;
}

static const struct ref_product_answer *project(struct world *w, uint64_t seed)
{
    product_of(w)->seed = seed;
    ref_product_host(product_of(w), w->vectors, &w->answer);
    return &w->answer;
}

/* ---- values ---- */

static double draw_normal(void)
{
    return normal();
}

static double draw_positive(void)
{
    return uniform();
}

static double draw_tiny(void)
{
    return normal() * 1e-18; /* products at the edge of f32's normal numbers */
}

static double draw_huge(void)
{
    return normal() * 1e15;
}

static double draw_sparse(void)
{
    return uniform() < 0.02 ? normal() : 0;
}

static double draw_mixed(void)
{
    return normal() * exp(6 * normal());
}

static double draw_one(void)
{
    return 1;
}

typedef double (*draw_fn)(void);
static const draw_fn draws[] = {draw_normal, draw_positive, draw_tiny, draw_huge,
                                draw_sparse, draw_mixed,    draw_one};
enum { DRAWS = sizeof draws / sizeof *draws };

static void fill(const struct ref_matrix *x, int64_t batch, int64_t rows, int64_t cols,
                 draw_fn draw)
{
    for (int64_t s = 0; s < batch; s++)
        for (int64_t i = 0; i < rows; i++)
            for (int64_t j = 0; j < cols; j++)
                set(x, s, i, j, draw());
}

static void fill_inputs(struct world *w, draw_fn draw)
{
    const struct ref_product *p = product_of(w);
    fill(&p->a, p->batch, p->m, p->k, draw);
    fill(&p->b, p->batch, p->k, p->n, draw);
    for (uint32_t i = 0; i < p->addends; i++)
        fill(&p->added[i], p->batch, p->m, p->n, draw);
}

/* ---- kernels ---- */

static float to_tf32(double value)
{
    float f = (float)value;
    uint32_t word;
    memcpy(&word, &f, 4);
    word = (word + 0xfff + (word >> 13 & 1)) & ~0x1fffu;
    memcpy(&f, &word, 4);
    return f;
}

struct way {
    int splits; /* of k, each added up by itself */
    bool tf32;
    bool down; /* the largest index first */
};

static float dot(const struct ref_product *p, int64_t s, int64_t i, int64_t j,
                 const struct way *way)
{
    float all = 0;
    for (int part = 0; part < way->splits; part++) {
        int64_t from = p->k * part / way->splits, to = p->k * (part + 1) / way->splits;
        float sum = 0;
        for (int64_t l = from; l < to; l++) {
            int64_t at = way->down ? to - 1 - (l - from) : l;
            double a = get(&p->a, s, i, at), b = get(&p->b, s, at, j);
            sum += way->tf32 ? to_tf32(a) * to_tf32(b) : (float)a * (float)b;
        }
        all += sum;
    }
    return all;
}

/* c, element by element; `spoil` may change what is stored. */
static void run(struct world *w, const struct way *way)
{
    const struct ref_product *p = product_of(w);
    for (int64_t s = 0; s < p->batch; s++)
        for (int64_t i = 0; i < p->m; i++)
            for (int64_t j = 0; j < p->n; j++) {
                float value = (float)p->alpha * dot(p, s, i, j, way);
                for (uint32_t d = 0; d < p->addends; d++)
                    value += (float)(p->scale[d] * get(&p->added[d], s, i, j));
                set(&p->c, s, i, j, value);
            }
}

static const struct way plain = {.splits = 1};

/* ---- right kernels ---- */

static const struct layout {
    const char *signature, *rest;
} layouts[] = {
    {"const bf16 a[96][64], const bf16 b[64][128], bf16 c[96][128]", "reference: matmul"},
    {"const f16 a[96][64], const f16 b[64][128], f16 c[96][128]", "reference: matmul"},
    {"const bf16 a[96][64], const bf16 b[64][128], f32 c[96][128]", "reference: matmul"},
    {"const f32 a[96:1][64:96], const f32 b[64:130][128], const bf16 bias[128], f32 c[96:131][128]",
     "reference: matmul, bind: {alpha: 1.5}"},
    {"const bf16 x[96][64], const bf16 w[128][64], const bf16 bias[128], bf16 y[96][128]",
     "reference: linear"},
    {"const f16 x[96:70][64], const f16 w[128][64], f16 y[96][128]", "reference: linear"},
    {"const f32 a[64][96], const f32 b[64][128], f32 c[96][128]",
     "reference: matmul_tn, bind: {alpha: 0.25}"},
    {"const bf16 a[64][96], const bf16 b[64][128], bf16 c[96:1][128:96]",
     "reference: matmul_tn, bind: {alpha: -2}"},
    {"const f32 a[96][64], const f32 b[64][128], inout f32 c[96][128]",
     "reference: gemm, bind: {beta: 0, alpha: 1}"},
    {"const bf16 a[3][96][64], const bf16 b[3][64][128], bf16 c[3][96][128]",
     "reference: bmm, bind: {alpha: 0.125}"},
    {"const f16 a[3][96][64], const f16 b[3:0][128][64], f16 c[3:128][96:384][128]",
     "reference: bmm_nt, bind: {alpha: 1}"},
    {"const f32 a[3][64][96], const f32 b[3][64][128], f32 c[3][96][128]",
     "reference: bmm_tn, bind: {alpha: 3}"},
    {"const bf16 x[96][64], const bf16 w[128][64], const f32 bias[128], const bf16 "
     "residual[96][128], bf16 y[96][128]",
     "reference: linear_add"},
};
enum { LAYOUTS = sizeof layouts / sizeof *layouts };

/* Rows that were looked at have to be most, but where products leave the dtype. */
static void stays_quiet(struct world *w, const struct layout *layout, int draw, uint64_t seeds)
{
    const struct ref_product *p = product_of(w);
    for (uint64_t seed = 0; seed < seeds; seed++) {
        const struct ref_product_answer *answer = project(w, seed * 77);
        if (answer->violations || answer->done != (uint64_t)(p->batch * p->m) ||
            (draw < 2 && answer->left))
            fail_msg("%s, draw %d: %llu violations, %llu left of %llu, %g times", layout->signature,
                     draw, (unsigned long long)answer->violations, (unsigned long long)answer->left,
                     (unsigned long long)answer->done, (double)answer->worst);
    }
}

static void right_kernels_stay_quiet(void **state)
{
    static const struct way ways[] = {{.splits = 1}, {.splits = 7}, {.splits = 1, .down = true}};
    (void)state;
    random_state = 5;
    for (int i = 0; i < LAYOUTS; i++) {
        struct world *w = world_of(layouts[i].signature, layouts[i].rest);
        for (int draw = 0; draw < DRAWS; draw++) {
            fill_inputs(w, draws[draw]);
            run(w, &ways[(i + draw) % 3]);
            stays_quiet(w, &layouts[i], draw, 20);
        }
        world_end(w);
    }
}

static void tf32_stays_quiet_where_it_is_declared(void **state)
{
    static const struct layout declared = {
        "const f32 a[96][64], const f32 b[64][128], f32 c[96][128]",
        "reference: matmul, tolerance: {rule: bound, accumulate: f32, inputs: tf32}"};
    static const struct way tf32 = {.splits = 1, .tf32 = true};
    (void)state;
    random_state = 6;
    struct world *w = world_of(declared.signature, declared.rest);
    fill_inputs(w, draw_normal);
    run(w, &tf32);
    stays_quiet(w, &declared, 0, 50);
    world_end(w);
    w = world_of(declared.signature, "reference: matmul");
    fill_inputs(w, draw_normal);
    run(w, &tf32);
    assert_true(project(w, 1)->violations > 0); /* undeclared, all elements are off by much */
    world_end(w);
}

static void a_close_contract_has_its_own_margin(void **state)
{
    static const struct layout loose = {
        "const f32 a[96][64], const f32 b[64][128], f32 c[96][128]",
        "reference: matmul, tolerance: {rule: close, rtol: 0.01, atol: 0.001}"};
    (void)state;
    random_state = 7;
    struct world *w = world_of(loose.signature, loose.rest);
    const struct ref_product *p = product_of(w);
    fill_inputs(w, draw_normal);
    run(w, &plain);
    for (int64_t i = 0; i < p->m; i++)
        for (int64_t j = 0; j < p->n; j++)
            set(&p->c, 0, i, j, get(&p->c, 0, i, j) * 1.0095 + 0.0009);
    stays_quiet(w, &loose, 0, 50);
    for (int64_t j = 0; j < p->n; j++)
        set(&p->c, 0, 5, j, get(&p->c, 0, 5, j) * 1.2);
    int found = 0;
    for (uint64_t seed = 0; seed < 50; seed++)
        found += project(w, seed)->violations > 0;
    assert_true(found > 25);
    world_end(w);
}

/* Every element off by nearly as much as the sum's part of its margin, all the same way; and by
 * thirty times that. `share`: of S. */
static void errors_are_held_to(double share, const char *signature, const char *rest)
{
    static const double sizes[] = {0.99, 30};
    random_state = 15;
    struct world *w = world_of(signature, rest);
    const struct ref_product *p = product_of(w);
    fill_inputs(w, draw_normal);
    for (int size = 0; size < 2; size++) {
        for (int64_t i = 0; i < p->m; i++)
            for (int64_t j = 0; j < p->n; j++) {
                double sum = 0, sizes_sum = 0;
                for (int64_t l = 0; l < p->k; l++) {
                    double term = get(&p->a, 0, i, l) * get(&p->b, 0, l, j);
                    sum += term;
                    sizes_sum += fabs(term);
                }
                sum += sizes[size] * share * sizes_sum;
                set(&p->c, 0, i, j, sum);
            }
        int found = 0;
        for (uint64_t seed = 0; seed < 40; seed++)
            found += project(w, seed)->violations > 0;
        assert_true(size ? found > 35 : found == 0);
    }
    world_end(w);
}

static void the_sum_has_its_margin(void **state)
{
    (void)state;
    errors_are_held_to(8 * sqrt((double)K) * 0x1p-24, layouts[2].signature, layouts[2].rest);
}

/* Tensor cores that truncate: errors of one sign, in proportion to the terms up to where the chain
 * ends, and sums in f32. */
static void chains_have_their_margin(void **state)
{
    static const char signature[] = "const bf16 a[96][256], const bf16 b[256][128], f32 c[96][128]";
    const double sums = 8 * sqrt(256) * 0x1p-24;
    (void)state;
    errors_are_held_to(0x1.1p-13 * 128 + sums, signature,
                       "reference: matmul, tolerance: {accumulate: fp8_tensor}");
    errors_are_held_to(0x1.1p-13 * 256 + sums, signature,
                       "reference: matmul, tolerance: {accumulate: fp8_fast}");
}

/* f64, and so small that squares vanish. */
static void f64_stays_quiet(void **state)
{
    static const struct layout layout = {
        "const f64 a[96][64], const f64 b[64][128], f64 c[96][128]", "reference: matmul"};
    static const double sizes[] = {1, 1e-160, 1e-300, 1e140};
    (void)state;
    random_state = 8;
    struct world *w = world_of(layout.signature, layout.rest);
    const struct ref_product *p = product_of(w);
    for (size_t size = 0; size < sizeof sizes / sizeof *sizes; size++) {
        fill_inputs(w, draw_normal);
        for (int64_t l = 0; l < p->k; l++)
            for (int64_t j = 0; j < p->n; j++)
                set(&p->b, 0, l, j, get(&p->b, 0, l, j) * sizes[size]);
        for (int64_t i = 0; i < p->m; i++)
            for (int64_t j = 0; j < p->n; j++) {
                double sum = 0;
                for (int64_t l = 0; l < p->k; l++)
                    sum += get(&p->a, 0, i, l) * get(&p->b, 0, l, j);
                set(&p->c, 0, i, j, sum);
            }
        stays_quiet(w, &layout, 0, 20);
    }
    world_end(w);
}

/* The stated odds, where they are so low that they can be seen: errors of the whole margin in every
 * element, all of one sign. Hoeffding's bound for t = 2 is 0.27; a normal sum has 0.046. */
static void the_odds_are_kept(void **state)
{
    (void)state;
    random_state = 9;
    struct world *w = world_of("const f32 a[96][64], const f32 b[64][128], f32 c[96][128]",
                               "reference: matmul, tolerance: {rule: close, rtol: 0, atol: 1}");
    struct ref_product *p = product_of(w);
    assert_true(p->odds > 7 && p->odds < 7.5); /* sqrt(2 ln(2 96 / 1e-9)) = 7.2 */
    p->odds = 2;
    fill_inputs(w, draw_normal);
    run(w, &plain);
    for (int64_t i = 0; i < p->m; i++)
        for (int64_t j = 0; j < p->n; j++)
            set(&p->c, 0, i, j, get(&p->c, 0, i, j) + (i % 2 && j % 3 ? -1 : 1));
    uint64_t violations = 0, rows = 0;
    for (uint64_t seed = 0; seed < 400; seed++) {
        violations += project(w, seed)->violations;
        rows += w->answer.done;
    }
    double share = (double)violations / (double)rows;
    if (!(share > 0.02 && share < 0.1))
        fail_msg("a share of %g of the rows is over 2", share);
    world_end(w);
}

/* ---- wrong kernels ---- */

enum { TILE = 32, TILE_ROW = 32, TILE_COL = 64 };

struct fault {
    const char *name;
    void (*spoil)(const struct ref_product *p);
    int64_t first, last;
};

static void no_tile(const struct ref_product *p)
{
    for (int64_t i = 0; i < TILE; i++)
        for (int64_t j = 0; j < TILE; j++)
            set(&p->c, 0, TILE_ROW + i, TILE_COL + j, 0);
}

static void stale_tile(const struct ref_product *p)
{
    for (int64_t i = 0; i < TILE; i++)
        for (int64_t j = 0; j < TILE; j++)
            set(&p->c, 0, TILE_ROW + i, TILE_COL + j, get(&p->c, 0, i, j));
}

/* The tile as if its leading dimension were another: its rows and columns changed places. */
static void wrong_stride(const struct ref_product *p)
{
    for (int64_t i = 0; i < TILE; i++)
        for (int64_t j = 0; j < i; j++) {
            double x = get(&p->c, 0, TILE_ROW + i, TILE_COL + j);
            double y = get(&p->c, 0, TILE_ROW + j, TILE_COL + i);
            set(&p->c, 0, TILE_ROW + i, TILE_COL + j, y);
            set(&p->c, 0, TILE_ROW + j, TILE_COL + i, x);
        }
}

static void swapped_rows(const struct ref_product *p)
{
    for (int64_t j = 0; j < p->n; j++) {
        double x = get(&p->c, 0, TILE_ROW, j), y = get(&p->c, 0, TILE_ROW + TILE - 1, j);
        set(&p->c, 0, TILE_ROW, j, y);
        set(&p->c, 0, TILE_ROW + TILE - 1, j, x);
    }
}

/* The last 8 of k are missing in some rows. */
static void missing_block(const struct ref_product *p)
{
    for (int64_t i = TILE_ROW; i < TILE_ROW + TILE; i++)
        for (int64_t j = 0; j < p->n; j++) {
            double sum = 0;
            for (int64_t l = 0; l < p->k - 8; l++)
                sum += get(&p->a, 0, i, l) * get(&p->b, 0, l, j);
            set(&p->c, 0, i, j, sum);
        }
}

static const struct fault faults[] = {
    {"a tile is not written", no_tile, TILE_ROW, TILE_ROW + TILE - 1},
    {"a stale tile", stale_tile, TILE_ROW, TILE_ROW + TILE - 1},
    {"a tile of a wrong stride", wrong_stride, TILE_ROW, TILE_ROW + TILE - 1},
    {"swapped rows", swapped_rows, TILE_ROW, TILE_ROW + TILE - 1},
    {"a missing block of k", missing_block, TILE_ROW, TILE_ROW + TILE - 1},
};

/* In rows of the fault alone; with nearly every seed, since signs may happen to cancel what is off:
 * of swapped rows one is off by what the other lacks, so both are missed together. */
static void finds(const struct layout *layout, const struct fault *fault)
{
    enum { SEEDS = 40, MISSES = 3 };
    int found = 0;
    struct world *w = world_of(layout->signature, layout->rest);
    fill_inputs(w, draw_normal);
    run(w, &plain);
    fault->spoil(product_of(w));
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        const struct ref_product_answer *answer = project(w, seed);
        int64_t worst = (uint32_t)answer->worst;
        if (!answer->violations)
            continue;
        found++;
        if ((int64_t)answer->first < fault->first || (int64_t)answer->last > fault->last ||
            worst < (int64_t)answer->first || worst > (int64_t)answer->last ||
            answer->worst >> 32 <= 0x3f800000)
            fail_msg("%s, %s, seed %llu: rows %lld to %lld, %lld the worst", layout->signature,
                     fault->name, (unsigned long long)seed, (long long)answer->first,
                     (long long)answer->last, (long long)worst);
    }
    if (found < SEEDS - MISSES)
        fail_msg("%s, %s: found with %d of %d seeds", layout->signature, fault->name, found, SEEDS);
    world_end(w);
}

static void big_faults_are_found(void **state)
{
    (void)state;
    random_state = 10;
    for (size_t i = 0; i < 3; i++)
        for (size_t f = 0; f < sizeof faults / sizeof *faults; f++)
            finds(&layouts[i], &faults[f]);
}

static void rows_of_a_batch_are_counted_through(void **state)
{
    (void)state;
    random_state = 11;
    struct world *w = world_of(layouts[9].signature, layouts[9].rest);
    const struct ref_product *p = product_of(w);
    fill_inputs(w, draw_normal);
    run(w, &plain);
    for (int64_t j = 0; j < p->n; j++)
        set(&p->c, 2, 7, j, 0);
    assert_int_equal(project(w, 1)->violations, 1);
    assert_int_equal(w->answer.first, 2 * M + 7);
    assert_int_equal(w->answer.last, 2 * M + 7);
    world_end(w);
}

/* What it does not claim: one element that is off by three times its margin. */
static void a_small_fault_is_not_seen(void **state)
{
    (void)state;
    random_state = 12;
    struct world *w = world_of(layouts[0].signature, layouts[0].rest);
    const struct ref_product *p = product_of(w);
    fill_inputs(w, draw_normal);
    run(w, &plain);
    double value = get(&p->c, 0, 9, 9);
    set(&p->c, 0, 9, 9, value * (1 + 3 * 0x1p-8));
    for (uint64_t seed = 0; seed < 40; seed++)
        assert_int_equal(project(w, seed)->violations, 0);
    set(&p->c, 0, 9, 9, value + 1000);
    assert_int_equal(project(w, 1)->violations, 1);
    world_end(w);
}

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

/* ---- what is left out ---- */

static void rows_that_are_not_finite_are_left(void **state)
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
    set(&p->c, 0, 6, 0, NAN);   /* the element-wise check's, too */
    assert_int_equal(project(w, 1)->violations, 0);
    assert_int_equal(w->answer.left, 4);
    set(&p->c, 0, 7, 0, 500);
    assert_int_equal(project(w, 1)->violations, 1);
    set(&p->b, 0, 0, 0, INFINITY);
    assert_int_equal(project(w, 1)->left, M);
    assert_int_equal(w->answer.violations, 0);
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
         false}, /* long vectors for what they tell */
        {"const f32 a[2000][2], const f32 b[2][64], f32 c[2000][64]", "reference: matmul", false,
         true},
        {"const bf16 a[1][64], const bf16 b[64:0][200000], bf16 c[1][200000]", "reference: matmul",
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
    struct world *w = world_of(layouts[0].signature, layouts[0].rest);
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
            t->dim[d] = call.size[formal->dim[d].size];
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
        double sum = 0, factor[2];
        for (int64_t l = 0; l < call.size[p->sum]; l++) {
            index[p->sum] = l;
            for (int side = 0; side < 2; side++) {
                const struct formal *formal = formals_array(&f, side ? p->b : p->a);
                int64_t place = 0;
                for (int d = 0; d < formal->ndim; d++)
                    place += index[formal->dim[d].size] * call.tensor[formal->slot].stride[d];
                factor[side] = array[formal->slot][place];
            }
            sum += factor[0] * factor[1];
        }
        sum *= p->alpha < 0 ? 1 : call.scalar[p->alpha];
        for (int i = 0; i < p->addends; i++) {
            const struct formal *formal = formals_array(&f, p->added[i].array);
            int64_t place = 0;
            for (int d = 0; d < formal->ndim; d++)
                place += index[formal->dim[d].size] * call.tensor[formal->slot].stride[d];
            sum += (p->added[i].scale < 0 ? 1 : call.scalar[p->added[i].scale]) *
                   array[formal->slot][place];
        }
        if (!(fabs(sum - stored[at]) < 1e-12))
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
    assert_true(held >= 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(right_kernels_stay_quiet),
        cmocka_unit_test(tf32_stays_quiet_where_it_is_declared),
        cmocka_unit_test(a_close_contract_has_its_own_margin),
        cmocka_unit_test(the_sum_has_its_margin),
        cmocka_unit_test(chains_have_their_margin),
        cmocka_unit_test(f64_stays_quiet),
        cmocka_unit_test(the_odds_are_kept),
        cmocka_unit_test(big_faults_are_found),
        cmocka_unit_test(rows_of_a_batch_are_counted_through),
        cmocka_unit_test(a_small_fault_is_not_seen),
        cmocka_unit_test(what_was_there_counts),
        cmocka_unit_test(what_was_there_may_begin_the_sum),
        cmocka_unit_test(rows_that_are_not_finite_are_left),
        cmocka_unit_test(some_launches_are_not_projected),
        cmocka_unit_test(room_is_taken_or_not),
        cmocka_unit_test(promised_products_are_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
