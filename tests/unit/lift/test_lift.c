/* test_lift.c - kernels that Triton 3.6 made, held against their own PTX: right ones are quiet,
 * those with an accumulator of bf16 are found, and what was written wrongly is. */
#include "lift_bench.h"
#define PTX(name) "tests/unit/lift/ptx/" name ".ptx"

static uint32_t next_random(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

static float number(uint32_t *state, float middle)
{
    return middle + (float)next_random(state) / 8388608.0f - 1.0f;
}

static uint16_t to_bf16(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, 4);
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static float middle;

static void fill_bf16(unsigned param, void *array, uint64_t bytes)
{
    uint32_t state = param + 1;
    for (uint64_t i = 0; i < bytes / 2; i++)
        ((uint16_t *)array)[i] = to_bf16(number(&state, middle));
}

static void fill_f32(unsigned param, void *array, uint64_t bytes)
{
    uint32_t state = param + 1;
    for (uint64_t i = 0; i < bytes / 4; i++)
        ((float *)array)[i] = number(&state, middle);
}

/* Any bits of f16 that are numbers between 2^-7 and 2. */
static void fill_f16(unsigned param, void *array, uint64_t bytes)
{
    uint32_t state = param + 1;
    for (uint64_t i = 0; i < bytes / 2; i++)
        ((uint16_t *)array)[i] = (uint16_t)(0x2000 + next_random(&state) % 0x2000);
}

/* Indices below 7. */
static void fill_indices(void *array, uint64_t bytes)
{
    for (uint64_t i = 0; i < bytes / 8; i++)
        ((int64_t *)array)[i] = (int64_t)(i * 5 % 7);
}

static void fill_embed(unsigned param, void *array, uint64_t bytes)
{
    if (param == 0)
        fill_indices(array, bytes);
    else
        fill_bf16(param, array, bytes);
}

static void fill_loss(unsigned param, void *array, uint64_t bytes)
{
    if (param == 1)
        fill_indices(array, bytes);
    else
        fill_bf16(param, array, bytes);
}

static void fill_rope(unsigned param, void *array, uint64_t bytes)
{
    if (param == 1)
        fill_f32(param, array, bytes);
    else
        fill_bf16(param, array, bytes);
}

/* Second moments are not negative. */
static void fill_adam(unsigned param, void *array, uint64_t bytes)
{
    fill_f32(param, array, bytes);
    for (uint64_t i = 0; param == 3 && i < bytes / 4; i++)
        ((float *)array)[i] *= ((float *)array)[i];
}

enum { N = 3000 /* elements of a pointwise kernel, no multiple of its block */ };
#define ARRAY(n, size)                                                                             \
    {                                                                                              \
        (uint64_t)(n) * (size), 0                                                                  \
    }
#define VALUE(bits)                                                                                \
    {                                                                                              \
        0, bits                                                                                    \
    }
#define EPS VALUE(0x358637bd) /* 1e-6 */

static const struct kernel_case {
    const char *path;
    struct bench_launch launch;
    bench_fill_fn fill;
    uint64_t checked;
    float middle;
    bool wrong;
} cases[] = {
    {PTX("add_f32"),
     {"add_kernel", 3, 128, 0, {ARRAY(N, 4), ARRAY(N, 4), ARRAY(N, 4), VALUE(N)}},
     fill_f32,
     N,
     0,
     false},
    {PTX("add_bf16"),
     {"add_kernel", 3, 128, 0, {ARRAY(N, 2), ARRAY(N, 2), ARRAY(N, 2), VALUE(N)}},
     fill_bf16,
     N,
     0,
     false},
    {PTX("silu_mul"),
     {"silu_mul", 3, 128, 0, {ARRAY(N, 2), ARRAY(N, 2), ARRAY(N, 2), VALUE(N)}},
     fill_bf16,
     N,
     0,
     false},
    {PTX("add_into"),
     {"add_into", 6, 128, 0, {ARRAY(N, 2), ARRAY(N, 2), VALUE(N)}},
     fill_f16,
     N,
     0,
     false},
    {PTX("gelu"),
     {"gelu", 6, 128, 0, {ARRAY(N, 2), ARRAY(N, 2), VALUE(N)}},
     fill_bf16,
     N,
     0,
     false},
    {PTX("dropout"),
     {"dropout", 3, 128, 0, {ARRAY(N, 4), ARRAY(N, 4), VALUE(N), VALUE(0x3e800000), VALUE(5)}},
     fill_f32,
     N,
     0,
     false},
    {PTX("softmax"),
     {"softmax_kernel",
      2,
      128,
      4112,
      {ARRAY(5 * 776, 4), ARRAY(5 * 776, 4), VALUE(776), VALUE(776), VALUE(5), VALUE(776)}},
     fill_f32,
     5 * 776,
     0,
     false},
    {PTX("layer_norm"),
     {"layer_norm",
      3,
      128,
      16,
      {ARRAY(3 * 1536, 2), ARRAY(3 * 1536, 2), ARRAY(1536, 2), ARRAY(1536, 2), ARRAY(3, 4),
       ARRAY(3, 4), VALUE(1536), VALUE(1536), EPS}},
     fill_bf16,
     3 * 1536 + 6,
     0.5f,
     false},
    {PTX("rms_llama"),
     {"rms_llama",
      3,
      128,
      16,
      {ARRAY(3 * 768, 2), ARRAY(768, 2), ARRAY(3 * 768, 2), VALUE(768), VALUE(768), EPS}},
     fill_bf16,
     3 * 768,
     0,
     false},
    {PTX("softmax_row"),
     {"softmax_row", 3, 128, 16, {ARRAY(3 * 768, 2), ARRAY(3 * 768, 2), VALUE(768)}},
     fill_bf16,
     3 * 768,
     0,
     false},
    {PTX("softmax_bf16"),
     {"softmax_row", 3, 128, 16, {ARRAY(3 * 768, 2), ARRAY(3 * 768, 2), VALUE(768)}},
     fill_bf16,
     3 * 768,
     0,
     true},
    {PTX("i_layer_norm"),
     {"per_layer_norm",
      3,
      128,
      16,
      {ARRAY(3 * 768, 2), ARRAY(768, 2), ARRAY(768, 2), ARRAY(3, 4), ARRAY(3, 4), ARRAY(3 * 768, 2),
       VALUE(3), VALUE(768)}},
     fill_bf16,
     3 * 768 + 6,
     0.5f,
     false},
    {PTX("i_welford"),
     {"red_welford",
      2,
      128,
      4096,
      {ARRAY(8 * 1536, 2), ARRAY(8, 4), ARRAY(8, 4), VALUE(8), VALUE(1536)}},
     fill_bf16,
     16,
     0.5f,
     false},
    {PTX("i_tanh_gelu"),
     {"poi_tanh_gelu", 6, 128, 0, {ARRAY(N, 2), ARRAY(N, 2), VALUE(N)}},
     fill_bf16,
     N,
     0,
     false},
    {PTX("i_log_softmax"),
     {"per_log_softmax",
      5,
      128,
      4096,
      {ARRAY(5 * 1000, 2), ARRAY(5, 8), ARRAY(5, 4), ARRAY(5, 4), VALUE(5), VALUE(1000)}},
     fill_loss,
     10,
     0,
     false},
    {PTX("i_adam"),
     {"poi_adam",
      6,
      128,
      0,
      {ARRAY(N, 4), ARRAY(N, 4), ARRAY(N, 4), ARRAY(N, 4), VALUE(0x3a83126f), VALUE(N)}},
     fill_adam,
     3 * N,
     0,
     false},
    {PTX("i_rope"),
     {"poi_rope", 32, 128, 0, {ARRAY(16384, 2), ARRAY(32, 4), ARRAY(16384, 2), VALUE(16384)}},
     fill_rope,
     16384,
     0,
     false},
    {PTX("i_embed"),
     {"poi_embed", 6, 128, 0, {ARRAY(4, 8), ARRAY(7 * 768, 2), ARRAY(N, 2), ARRAY(N, 4), VALUE(N)}},
     fill_embed,
     N,
     0,
     false},
    {PTX("i_argmax"),
     {"per_argmax", 3, 128, 32, {ARRAY(3072, 4), ARRAY(3, 8), ARRAY(3, 4), VALUE(3), VALUE(1024)}},
     fill_f32,
     3,
     0,
     false},
    {PTX("i_colsum"),
     {"red_colsum", 8, 128, 2048, {ARRAY(512 * 300, 2), ARRAY(512, 4), VALUE(512), VALUE(300)}},
     fill_bf16,
     512,
     0,
     false},
    {PTX("rowsum_f32"),
     {"rowsum", 8, 128, 16, {ARRAY(8 * 4096, 2), ARRAY(8, 4), VALUE(4096)}},
     fill_bf16,
     8,
     1,
     false},
    {PTX("clamped"), /* by min.xorsign.abs: to half of the range */
     {"clamped", 2, 128, 0, {ARRAY(1024, 4), ARRAY(1024, 4)}},
     fill_f32,
     1024,
     0,
     false},
    {PTX("directed"),
     {"directed", 4, 128, 0, {ARRAY(512, 4), ARRAY(512, 4)}},
     fill_f32,
     512,
     0,
     false},
    {PTX("formats"),
     {"formats", 1, 32, 0, {ARRAY(64, 4), ARRAY(64, 2), ARRAY(64, 4)}},
     fill_f32,
     128,
     0,
     false},
    {PTX("halves"), {"halves", 1, 32, 0, {ARRAY(64, 4), ARRAY(96, 2)}}, fill_f32, 96, 0, false},
    {PTX("rowsum_bf16"),
     {"rowsum", 8, 128, 16, {ARRAY(8 * 4096, 2), ARRAY(8, 4), VALUE(4096)}},
     fill_bf16,
     8,
     1,
     true},
};

static void tell(const struct kernel_case *c, const struct bench_result *r)
{
    const struct ref_verdict *v = &r->verdict;
    print_message(
        "%s: %s checked %llu violations %llu wide %llu refused %llu ratio %g rel %g: %g, %g "
        "bound %g\n",
        c->path, r->refused, (unsigned long long)v->checked, (unsigned long long)v->violations,
        (unsigned long long)v->wide, (unsigned long long)v->refused, v->max_ratio, v->max_rel,
        v->worst_got, v->worst_ref, v->worst_bound);
}

static void kernels_are_held_against_themselves(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct kernel_case *c = &cases[i];
        middle = c->middle;
        struct bench_result r = bench_check(&c->launch, c->path, c->fill, NULL);
        if ((r.verdict.violations > 0) != c->wrong || r.verdict.wide || r.verdict.refused)
            tell(c, &r);
        assert_string_equal(r.refused, "");
        assert_int_equal(r.verdict.checked, c->checked);
        assert_int_equal(r.verdict.refused, 0);
        assert_int_equal(r.verdict.wide, 0);
        assert_int_equal(r.verdict.violations > 0, c->wrong);
        assert_int_equal(r.verdict.max_ratio > 1, c->wrong);
        assert_int_equal(r.verdict.max_ratio > 0, r.verdict.max_abs > 0);
    }
}

static const struct kernel_case *case_of(const char *path)
{
    size_t i = 0;
    while (strcmp(cases[i].path, path) != 0)
        i++;
    middle = cases[i].middle;
    return &cases[i];
}

static void add_a_bit(unsigned param, void *array, uint64_t bytes)
{
    if (param == 2 && bytes == N * 4)
        ((uint32_t *)array)[1234] ^= 4;
}

/* A sum of two numbers of f32 is rounded once: it is off by an ulp at most. */
static void one_wrong_bit_is_found(void **state)
{
    (void)state;
    const struct kernel_case *c = case_of(PTX("add_f32"));
    struct bench_result r = bench_check(&c->launch, c->path, c->fill, add_a_bit);
    assert_int_equal(r.verdict.violations, 1);
    assert_int_equal(r.verdict.first_index, 1234);
    assert_int_equal(r.verdict.worst_index, 1234);
    assert_int_equal(r.verdict.first_tensor, 2);
    assert_true(r.verdict.max_ratio > 1);
    assert_true(r.verdict.worst_got != r.verdict.worst_ref);
}

static void lose_a_number(unsigned param, void *array, uint64_t bytes)
{
    (void)bytes;
    if (param == 2)
        ((uint16_t *)array)[7] = 0x7fc0;
}

static void a_nan_is_found(void **state)
{
    (void)state;
    const struct kernel_case *c = case_of(PTX("silu_mul"));
    struct bench_result r = bench_check(&c->launch, c->path, c->fill, lose_a_number);
    assert_int_equal(r.verdict.violations, 1);
    assert_int_equal(r.verdict.class_mismatch, 1);
    assert_int_equal(r.verdict.first_index, 7);
}

/* Arrays are too short: what lies outside is refused, and nothing else is touched. */
static void accesses_outside_are_refused(void **state)
{
    (void)state;
    const char *const paths[] = {PTX("silu_mul"), PTX("softmax"), PTX("layer_norm")};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        const struct kernel_case *c = case_of(paths[i]);
        bench_cut = 64;
        struct bench_result r = bench_check(&c->launch, c->path, c->fill, NULL);
        bench_cut = 0;
        assert_true(r.verdict.refused > 0);
    }
}

static void refusals_have_reasons(void **state)
{
    static const struct {
        const char *path, *kernel, *reason;
    } rows[] = {{PTX("count"), "count", "atomics"}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct bench_launch launch = {.kernel = rows[i].kernel};
        struct bench_result r = bench_check(&launch, rows[i].path, fill_f32, NULL);
        assert_non_null(strstr(r.refused, rows[i].reason));
        assert_non_null(strstr(r.refused, "PTX line"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernels_are_held_against_themselves),
        cmocka_unit_test(one_wrong_bit_is_found),
        cmocka_unit_test(a_nan_is_found),
        cmocka_unit_test(accesses_outside_are_refused),
        cmocka_unit_test(refusals_have_reasons),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
