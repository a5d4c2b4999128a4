/* Products whose factors lie in memory: scales of one matrix, of rows and columns, of blocks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/unit/common/project_fixture.h"

#define MATRICES "const bf16 a[96][64], const bf16 b[64][128], "

static const struct {
    const char *signature, *rest;
    int scale[2][2]; /* of a and b */
} products[] = {
    {MATRICES "const f32 a_scale[1][1], const f32 b_scale[1][1], bf16 d[96][128]",
     "reference: gemm_f8",
     {{1, 1}, {1, 1}}},
    {MATRICES "const f32 a_scale[96][1], const f32 b_scale[1][128], bf16 d[96][128]",
     "reference: gemm_f8, bind: {alpha: 2}",
     {{96, 1}, {1, 128}}},
    {MATRICES "const f32 a_scale[3][2], const f32 b_scale[2][4], bf16 d[96][128]",
     "reference: gemm_f8, bind: {group: 32}",
     {{3, 2}, {2, 4}}},
    {MATRICES "const f32 a_scale[1][1], const f32 b_scale[1][1], f32 d[96][128], "
              "const f32 d_scale[1]",
     "reference: gemm_f8, bind: {alpha: -1.5}",
     {{1, 1}, {1, 1}}},
};
enum { PRODUCTS = sizeof products / sizeof *products, A_SCALE = 2, B_SCALE = 3, D_SCALE = 5 };

/* The scale of element (i, j) of a matrix of that size. */
static float scale_at(const float *scale, const int of[2], const int64_t size[2], int64_t i,
                      int64_t j)
{
    return scale[i * of[0] / size[0] * of[1] + j * of[1] / size[1]];
}

static void draw_scales(struct world *w, size_t number)
{
    float *scale[] = {w->pointer[A_SCALE], w->pointer[B_SCALE], w->pointer[D_SCALE]};
    for (int side = 0; side < 2; side++)
        for (int i = 0; i < products[number].scale[side][0] * products[number].scale[side][1]; i++)
            scale[side][i] = (float)exp(2 * normal());
    if (scale[2])
        *scale[2] = 0.375F;
}

/* The launch; the last scale of b is multiplied by `last`. */
static void multiply(struct world *w, size_t number, float last)
{
    const struct ref_product *p = product_of(w);
    const int *of_a = products[number].scale[0], *of_b = products[number].scale[1];
    const int64_t a_size[] = {p->m, p->k}, b_size[] = {p->k, p->n};
    float *b_scale = w->pointer[B_SCALE];
    float out = p->times ? *(const float *)w->pointer[D_SCALE] : 1;
    b_scale[of_b[0] * of_b[1] - 1] *= last;
    for (int64_t i = 0; i < p->m; i++)
        for (int64_t j = 0; j < p->n; j++) {
            float sum = 0;
            for (int64_t l = 0; l < p->k; l++)
                sum += (float)get(&p->a, 0, i, l) * (float)get(&p->b, 0, l, j) *
                       scale_at(w->pointer[A_SCALE], of_a, a_size, i, l) *
                       scale_at(b_scale, of_b, b_size, l, j);
            set(&p->c, 0, i, j, (float)p->alpha * sum * out);
        }
    b_scale[of_b[0] * of_b[1] - 1] /= last;
}

static void scales_count(void **state)
{
    (void)state;
    random_state = 31;
    for (size_t i = 0; i < PRODUCTS; i++) {
        struct world *w = world_of(products[i].signature, products[i].rest);
        for (uint64_t seed = 0; seed < 6; seed++) {
            fill_inputs(w, draws[seed % DRAWS]);
            draw_scales(w, i);
            multiply(w, i, 1);
            const struct ref_product_answer *answer = project(w, seed);
            if (answer->violations || answer->left)
                fail_msg("product %zu, seed %d: %d rows called, %d left", i, (int)seed,
                         (int)answer->violations, (int)answer->left);
        }
        world_end(w);
    }
}

static void a_wrong_scale_is_found(void **state)
{
    (void)state;
    random_state = 32;
    for (size_t i = 0; i < PRODUCTS; i++) {
        struct world *w = world_of(products[i].signature, products[i].rest);
        int found = 0;
        for (uint64_t seed = 0; seed < 10; seed++) {
            fill_inputs(w, draw_normal);
            for (int side = A_SCALE; side <= B_SCALE; side++)
                for (int at = 0; at < 128; at++)
                    ((float *)w->pointer[side])[at] = 1 + (float)at / 128;
            if (w->pointer[D_SCALE])
                *(float *)w->pointer[D_SCALE] = 0.5F;
            multiply(w, i, 1.5F);
            found += project(w, seed)->violations > 0;
        }
        if (found < 9)
            fail_msg("product %zu: found with %d of 10 seeds", i, found);
        world_end(w);
    }
}

/* Parts of a wide product count the scales of b from its first column on. */
static void parts_have_their_own_scales(void **state)
{
    (void)state;
    random_state = 33;
    const struct ref_product *p;
    struct world *w = world_of("const bf16 a[16][8], const bf16 b[8][9216], "
                               "const f32 a_scale[16][1], const f32 b_scale[1][9216], "
                               "bf16 d[16][9216]",
                               "reference: gemm_f8");
    p = product_of(w);
    assert_int_equal(p->batch, 2);
    assert_int_equal(p->part, 4608);
    fill(&p->a, 1, p->m, p->k, draw_normal);
    float *a_scale = w->pointer[A_SCALE], *b_scale = w->pointer[B_SCALE];
    for (int i = 0; i < 16; i++)
        a_scale[i] = (float)exp(normal());
    for (int j = 0; j < 9216; j++)
        b_scale[j] = (float)exp(normal());
    fill(&p->b, p->batch, p->k, p->n, draw_normal);
    for (int64_t s = 0; s < p->batch; s++)
        for (int64_t i = 0; i < p->m; i++)
            for (int64_t j = 0; j < p->n; j++)
                set(&p->c, s, i, j,
                    dot(p, s, i, j, &plain) * a_scale[i] * b_scale[s * p->part + j]);
    assert_int_equal(project(w, 5)->violations, 0);
    float *other = &b_scale[p->part];
    for (int j = 0; j < p->part; j++)
        other[j] *= 2;
    assert_int_equal(project(w, 5)->violations, p->m);
    assert_int_equal(w->answer.first, p->m);
    world_end(w);
}

/* Each pattern of 8 bits that is a number, as a projection reads it. */
static void eight_bits_are_numbers(void **state)
{
    static const struct {
        const char *signature;
        unsigned patterns;
    } cases[] = {
        {"const f8e4m3 a[96][64], const bf16 b[64][128], const f32 a_scale[1][1], "
         "const f32 b_scale[1][1], f32 d[96][128]",
         0x7f},
        {"const f8e5m2 a[96][64], const bf16 b[64][128], const f32 a_scale[1][1], "
         "const f32 b_scale[1][1], f32 d[96][128]",
         0x7c},
    };
    (void)state;
    random_state = 34;
    for (int i = 0; i < 2; i++) {
        struct world *w = world_of(cases[i].signature, "reference: gemm_f8");
        const struct ref_product *p = product_of(w);
        unsigned char *a = w->pointer[0];
        for (unsigned at = 0; at < M * K; at++)
            a[at] = (unsigned char)(at % cases[i].patterns | (at / cases[i].patterns % 2) << 7);
        fill(&p->b, 1, p->k, p->n, draw_normal);
        *(float *)w->pointer[A_SCALE] = *(float *)w->pointer[B_SCALE] = 1;
        run(w, &plain);
        const struct ref_product_answer *answer = project(w, 1);
        if (answer->violations || answer->left)
            fail_msg("%s: %d rows called", cases[i].signature, (int)answer->violations);
        a[17 * K + 5] ^= 0x38; /* the kernel read another number */
        answer = project(w, 1);
        assert_true(answer->violations == 1 && answer->first == 17);
        world_end(w);
    }
}

static void some_are_not_projected(void **state)
{
    static const char *const signatures[] = {
        MATRICES "const f16 a_scale[1][1], const f32 b_scale[1][1], bf16 d[96][128]",
        MATRICES "const f32 a_scale[1][1], const f32 b_scale[1][1], bf16 d[96][128], "
                 "const f16 d_scale[1]",
        MATRICES "inout f32 a_scale[1][1], const f32 b_scale[1][1], bf16 d[96][128]",
        MATRICES "const f32 a_scale[96][2], const f32 b_scale[2][128], bf16 d[96][128]",
    };
    (void)state;
    for (size_t i = 0; i < sizeof signatures / sizeof *signatures; i++) {
        /* A scale for 16 elements of k, where there are two. */
        struct world *w = world_of(signatures[i], "reference: gemm_f8, bind: {group: 16}");
        if (w->plan.wanted)
            fail_msg("%s: projected", signatures[i]);
        world_end(w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scales_count),
        cmocka_unit_test(a_wrong_scale_is_found),
        cmocka_unit_test(parts_have_their_own_scales),
        cmocka_unit_test(eight_bits_are_numbers),
        cmocka_unit_test(some_are_not_projected),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
