/*
 * project_fixture.h - products of matrices to project, for unit tests: as entries of a registry
 * describe them, over host memory, by kernels that are loops in f32. All of it is here.
 */
#ifndef TESTS_UNIT_PROJECT_FIXTURE_H
#define TESTS_UNIT_PROJECT_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "tests/unit/common/random_values.h"
#include "refs/abi/ref_host.h"
#include "refs/abi/ref_list.h"
#include "tests/unit/common/registry_fixture.h"
#include "lang/dtype.h"
#include "plan/plan.h"
#include "extra/project.h"

enum { M = 96, N = 128, K = 64, BATCH = 3, ROOM = 1 << 20, POINTERS = 6 };

/* ---- elements ---- */

static inline void encode_f32(double value, void *at)
{
    float f = (float)value;
    memcpy(at, &f, 4);
}

static inline void encode_bf16(double value, void *at)
{
    float f = (float)value;
    uint32_t word;
    memcpy(&word, &f, 4);
    bool is_nan = f != f;
    word = is_nan ? 0x7fc0u : (word + 0x7fff + (word >> 16 & 1)) >> 16;
    memcpy(at, &word, 2);
}

static inline void encode_f16(double value, void *at)
{
    _Float16 h = (_Float16)(float)value;
    memcpy(at, &h, 2);
}

static inline void encode_f64(double value, void *at)
{
    memcpy(at, &value, 8);
}

static inline void encode(int dtype, double value, void *at)
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

static inline void *element(const struct ref_matrix *x, int64_t s, int64_t i, int64_t j)
{
    int64_t at = s * x->stride[0] + i * x->stride[1] + j * x->stride[2];
    return (char *)(uintptr_t)x->data + at * (int64_t)dtype_bytes((enum dtype)x->dtype);
}

static inline double get(const struct ref_matrix *x, int64_t s, int64_t i, int64_t j)
{
    return dtype_load((enum dtype)x->dtype, element(x, s, i, j));
}

static inline void set(const struct ref_matrix *x, int64_t s, int64_t i, int64_t j, double value)
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

static inline void plan_again(struct world *w)
{
    struct error why = {{0}};
    if (binding_make(w->resolved.spec, &w->launch, &w->binding, &why))
        fail_msg("%s", why.text);
    assert_int_equal(snapshot_plan_make(&w->binding, &w->snapshot, &why), SKIP_NONE);
    project_plan_make(&w->plan, &w->binding, w->resolved.spec->plan->formals, &w->snapshot, 1);
}

static inline struct world *world_of(const char *signature, const char *rest)
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

static inline void world_end(struct world *w)
{
    registry_destroy(w->resolved.registry);
    for (int i = 0; i < POINTERS; i++)
        free(w->pointer[i]);
    free(w->vectors);
    free(w);
}

static inline struct ref_product *product_of(struct world *w)
{
    assert_true(w->plan.wanted);
    return &w->plan.call.product;
}

static inline const struct ref_product_answer *project(struct world *w, uint64_t seed)
{
    product_of(w)->seed = seed;
    ref_product_host(product_of(w), w->vectors, &w->answer);
    return &w->answer;
}

/* ---- values ---- */

static inline double draw_normal(void)
{
    return normal();
}

static inline double draw_positive(void)
{
    return uniform();
}

static inline double draw_tiny(void)
{
    return normal() * 1e-18; /* products at the edge of f32's normal numbers */
}

static inline double draw_huge(void)
{
    return normal() * 1e15;
}

static inline double draw_sparse(void)
{
    return uniform() < 0.02 ? normal() : 0;
}

static inline double draw_mixed(void)
{
    return normal() * exp(6 * normal());
}

static inline double draw_one(void)
{
    return 1;
}

typedef double (*draw_fn)(void);
static const draw_fn draws[] = {draw_normal, draw_positive, draw_tiny, draw_huge,
                                draw_sparse, draw_mixed,    draw_one};
enum { DRAWS = sizeof draws / sizeof *draws };

static inline void fill(const struct ref_matrix *x, int64_t batch, int64_t rows, int64_t cols,
                        draw_fn draw)
{
    for (int64_t s = 0; s < batch; s++)
        for (int64_t i = 0; i < rows; i++)
            for (int64_t j = 0; j < cols; j++)
                set(x, s, i, j, draw());
}

static inline void fill_inputs(struct world *w, draw_fn draw)
{
    const struct ref_product *p = product_of(w);
    fill(&p->a, p->batch, p->m, p->k, draw);
    fill(&p->b, p->batch, p->k, p->n, draw);
    for (uint32_t i = 0; i < p->addends; i++)
        fill(&p->added[i], p->batch, p->m, p->n, draw);
}

/* ---- kernels ---- */

static inline float to_tf32(double value)
{
    float f = (float)value;
    uint32_t word;
    memcpy(&word, &f, 4);
    word = (word + 0xfff + (word >> 13 & 1)) & ~0x1fffu;
    memcpy(&f, &word, 4);
    return f;
}

/* As tensor cores read it. */
static inline float cut_tf32(double value)
{
    float f = (float)value;
    uint32_t word;
    memcpy(&word, &f, 4);
    word &= ~0x1fffu;
    memcpy(&f, &word, 4);
    return f;
}

struct way {
    int splits; /* of k, each added up by itself */
    bool tf32, cut;
    bool down; /* the largest index first */
};

static inline float dot(const struct ref_product *p, int64_t s, int64_t i, int64_t j,
                        const struct way *way)
{
    float all = 0;
    for (int part = 0; part < way->splits; part++) {
        int64_t from = p->k * part / way->splits, to = p->k * (part + 1) / way->splits;
        float sum = 0;
        for (int64_t l = from; l < to; l++) {
            int64_t at = way->down ? to - 1 - (l - from) : l;
            double a = get(&p->a, s, i, at), b = get(&p->b, s, at, j);
            if (way->cut)
                a = (double)cut_tf32(a), b = (double)cut_tf32(b);
            sum += way->tf32 ? to_tf32(a) * to_tf32(b) : (float)a * (float)b;
        }
        all += sum;
    }
    return all;
}

/* c, element by element; `spoil` may change what is stored. */
static inline void run(struct world *w, const struct way *way)
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

#endif
