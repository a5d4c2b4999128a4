/*
 * test_fuzz_case.c - cases of `cuvet fuzz`: elements, rules, and that a seed is one case.
 *
 * tests/golden/fuzz-cases.txt holds a hash of all bytes of each case: KERNEL SEED HASH. A change of
 * the generator that makes other cases shows there, and so does a machine on which a seed is
 * another case.
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

#include "tests/unit/common/registry_fixture.h"
#include "tests/unit/common/says.h"
#include "tools/fuzz/case/block.h"
#include "tools/fuzz/case/case.h"
#include "tools/fuzz/case/random.h"

/* ---- elements ---- */

static double round_trip(enum dtype dtype, double value)
{
    uint8_t bytes[8] = {0};
    fuzz_encode(dtype, bytes, value);
    return fuzz_decode(dtype, bytes);
}

/* Every value that a type holds is encoded as itself. */
static void values_keep(enum dtype dtype, unsigned bits)
{
    for (uint32_t code = 0; code < 1u << bits; code++) {
        double value = fuzz_decode(dtype, &code);
        double again = round_trip(dtype, value);
        if (!(isnan(value) ? isnan(again) : again == value && signbit(again) == signbit(value)))
            fail_msg("%s: code 0x%x is %g, and comes back as %g", dtype_text(dtype), code, value,
                     again);
    }
}

static void elements_come_back(void **state)
{
    (void)state;
    values_keep(DTYPE_F16, 16);
    values_keep(DTYPE_BF16, 16);
    values_keep(DTYPE_F8E4M3, 8);
    values_keep(DTYPE_F8E5M2, 8);
    values_keep(DTYPE_I8, 8);
    values_keep(DTYPE_U8, 8);
    values_keep(DTYPE_I16, 16);
}

static void elements_are_decoded(void **state)
{
    static const struct {
        enum dtype dtype;
        uint16_t code;
        double value;
    } rows[] = {{DTYPE_F8E4M3, 0x38, 1},
                {DTYPE_F8E4M3, 0x7e, 448},
                {DTYPE_F8E4M3, 0x81, -0x1p-9},
                {DTYPE_F8E5M2, 0x3c, 1},
                {DTYPE_F8E5M2, 0x7b, 57344},
                {DTYPE_F8E5M2, 0xfc, (double)-INFINITY},
                {DTYPE_F8E5M2, 0x01, 0x1p-16},
                {DTYPE_F16, 0x7bff, 65504},
                {DTYPE_F16, 0x0001, 0x1p-24},
                {DTYPE_BF16, 0xbf80, -1},
                {DTYPE_BF16, 0x7f80, (double)INFINITY}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        double value = fuzz_decode(rows[i].dtype, &rows[i].code);
        if (!(value == rows[i].value))
            fail_msg("%s 0x%x is %g, not %g", dtype_text(rows[i].dtype), rows[i].code, value,
                     rows[i].value);
    }
    for (uint32_t code = 0; code < 65536; code++) {
        double f16 = fuzz_decode(DTYPE_F16, &code), other = dtype_load(DTYPE_F16, &code);
        assert_true(f16 == other || (isnan(f16) && isnan(other)));
    }
}

static void elements_round_to_even(void **state)
{
    (void)state;
    assert_true(round_trip(DTYPE_F16, 1 + 0x1p-11) == 1);
    assert_true(round_trip(DTYPE_F16, 1 + 0x3p-11) == 1 + 0x1p-9);
    assert_true(round_trip(DTYPE_BF16, 1 + 0x1p-8 + 0x1p-30) == 1 + 0x1p-7);
    assert_true(isinf(round_trip(DTYPE_F16, 65520)));
    assert_true(round_trip(DTYPE_F16, 65519) == 65504);
    assert_true(isnan(round_trip(DTYPE_F8E4M3, 1e4)));
    assert_true(round_trip(DTYPE_F16, 0x1p-25) == 0);
    assert_true(round_trip(DTYPE_F16, 0x1.8p-25) == 0x1p-24);
    assert_true(round_trip(DTYPE_I8, -1000) == -128);
    assert_true(round_trip(DTYPE_U8, 1000) == 255);
    assert_true(round_trip(DTYPE_BOOL, 7) == 1);
}

static void poison_is_told_from_values(void **state)
{
    (void)state;
    for (int dtype = DTYPE_F64; dtype <= DTYPE_BOOL; dtype++) {
        for (int kind = 0; kind < 2; kind++) {
            uint8_t poison[8], zero[8] = {0};
            fuzz_poison((enum dtype)dtype, (enum fuzz_poison)kind, poison);
            assert_true(fuzz_is_poison((enum dtype)dtype, (enum fuzz_poison)kind, poison));
            assert_false(fuzz_is_poison((enum dtype)dtype, (enum fuzz_poison)kind, zero));
            if (dtype_is_real((enum dtype)dtype))
                assert_int_equal(!isnan(fuzz_decode((enum dtype)dtype, poison)), kind);
        }
    }
}

/* Mean and variance of what stands for a normal distribution. */
static void normal_numbers_have_moments(void **state)
{
    enum { COUNT = 100000 };
    double sum = 0, squares = 0;
    (void)state;
    for (uint64_t i = 0; i < COUNT; i++) {
        double n = fuzz_normal(fuzz_random(1, fuzz_hash("x"), i));
        sum += n;
        squares += n * n;
    }
    assert_true(fabs(sum / COUNT) < 0.02);
    assert_true(fabs(squares / COUNT - 1) < 0.02);
}

/* ---- rules ---- */

struct made {
    struct registry *registry;
    struct arena arena;
    struct param_layout layout;
    const struct fuzz_rule *rule;
    struct error err;
};

static struct registry *golden_registry(void)
{
    struct complaints complaints = {0};
    struct registry *registry;
    const struct registry_source source = {.files = "tests/golden/fuzz.yaml"};
    registry_load(&registry, &source, complain_to, &complaints);
    if (!registry || complaints.count)
        fail_msg("%s", complaints.text[0]);
    return registry;
}

/* For one kernel of tests/golden/fuzz.yaml. */
static void make_rule(struct made *made, struct registry *registry, const char *kernel,
                      const unsigned *sizes)
{
    struct registry_bench bench;
    enum skip skip;
    *made = (struct made){.registry = registry, .layout = layout_of(sizes)};
    const struct kernel_spec *spec =
        registry_resolve(registry, kernel, &made->layout, &skip, &made->err);
    if (!spec || registry_bench(registry, spec, &made->layout, &bench, &made->err) ||
        fuzz_rule_make(&made->rule, &made->arena, &bench, NULL, &made->err))
        fail_msg("%s", made->err.text);
}

#define ENTRY                                                                                      \
    "version: 1\nkernels:\n- kernel: k\n  signature: const f32 x[rows][cols], f32 y[rows][cols], " \
    "i32 rows, i32 cols, f32 alpha\n  reference: scale\n  "

/* A mapping that is wrong is refused with a sentence that holds `part`. */
static void refused(const char *fuzz, const char *part)
{
    char text[2048];
    struct complaints complaints;
    snprintf(text, sizeof text, ENTRY "fuzz: %s\n", fuzz);
    struct registry *registry = registry_of(text, &complaints);
    if (complaints.count == 0)
        fuzz_rules_check(registry, complain_to, &complaints);
    expect_refused(fuzz, !complaints.count, complaints.text[0], part);
    registry_destroy(registry);
}

#define WHOLE "alpha: [1], block: 128, grid: 1"

static void bad_rules_are_refused(void **state)
{
    (void)state;
    refused("[1, 2]", "expected a mapping");
    refused("{alpha: [1], grid: 1}", "'block' is missing");
    refused("{alpha: [1], block: 128}", "'grid' is missing");
    refused("{block: 128, grid: 1}", "no values are given for 'alpha'");
    refused("{" WHOLE ", rows: 5..2}", "expected the smaller number first");
    refused("{" WHOLE ", rows: []}", "expected 1 to 32 values");
    refused("{" WHOLE ", rows: 1..}", "fuzz");
    refused("{" WHOLE ", rows: cols, cols: rows}", "depends on itself");
    refused("{" WHOLE ", rowz: 1..5}", "did you mean 'rows'?");
    refused("{" WHOLE ", x: 7}", "'x' is an array; expected a mapping");
    refused("{" WHOLE ", x: {values: gaussian}}", "is no distribution of numbers");
    refused("{" WHOLE ", x: {value: zero}}", "'value' of array 'x' is unknown");
    refused("{" WHOLE ", x: {alias: y}}", "may coincide with an array that is read alone");
    refused("{" WHOLE ", y: {alias: z}}", "'z' is no other array");
    refused("{" WHOLE ", x: {rows: }}", "'rows' has no value");
    refused("{" WHOLE ", align: 3}", "expected a power of two");
    refused("{alpha: [a], block: 128, grid: 1}", "expected numbers");
    refused("{alpha: [1], block: 128, grid: [1, 1, 1, 1]}", "expected 1 to 3");
    refused("{alpha: [1], block: 128, grid: block.q}", "unknown name 'block.q'");
    refused("{" WHOLE ", elements: 0}", "'elements' is '0'");
}

static void shapes_without_cases_are_refused(void **state)
{
    struct complaints complaints;
    (void)state;
    struct registry *registry = registry_of(
        "version: 1\nkernels:\n- kernel: k\n  signature: const f32 **a[&n][m][k], const f32 "
        "**b[&n][k][m], f32 **c[&n][m][m], i32 n, i32 m, i32 k\n  reference: bmm\n  "
        "fuzz: {block: 1, grid: 1}\n",
        &complaints);
    fuzz_rules_check(registry, complain_to, &complaints);
    assert_int_equal(complaints.count, 1);
    expect_says(complaints.text[0], "cases are not drawn for arrays with [&n]");
    registry_destroy(registry);
}

/* ---- cases ---- */

static const unsigned dot_sizes[] = {8, 8, 8, 4, 4, 4, 4, 0};
static const struct {
    const char *kernel;
    const unsigned *sizes;
} kernels[] = {{"norm_bf16", (const unsigned[]){8, 8, 8, 8, 4, 4, 4, 0}},
               {"lookup_f32", (const unsigned[]){8, 8, 8, 4, 4, 4, 0}},
               {"halves_f16", (const unsigned[]){24, 0}},
               {"cast_f8", (const unsigned[]){8, 8, 4, 0}},
               {"dot_q4_0", dot_sizes},
               {"dot_q4_1", dot_sizes},
               {"dot_q5_0", dot_sizes},
               {"dot_q5_1", dot_sizes},
               {"dot_q8_0", dot_sizes},
               {"dot_q8_1", dot_sizes},
               {"dot_q4_K", dot_sizes},
               {"dot_q5_K", dot_sizes},
               {"dot_q6_K", dot_sizes},
               {"lists_f32", (const unsigned[]){176, 4, 0}},
               {"sums_f16", (const unsigned[]){8, 8, 4, 4, 0}}};
enum { KERNELS = sizeof kernels / sizeof kernels[0], DOTS = 4, LISTS = KERNELS - 2, CASES = 400 };

static struct fuzz_case drawn;

static void draw(const struct made *made, uint64_t number)
{
    struct error err = {{0}};
    uint64_t seed = fuzz_case_seed(1, number);
    if (fuzz_case_draw(&drawn, made->rule, &made->layout, seed, &err))
        fail_msg("%s", err.text);
}

static void cases_keep_their_rule(void **state)
{
    struct registry *registry = golden_registry();
    struct made made;
    bool aliased = false, absent = false, padded = false, moved = false;
    (void)state;
    make_rule(&made, registry, "norm_bf16", kernels[0].sizes);
    for (uint64_t i = 0; i < CASES; i++) {
        draw(&made, i);
        const struct fuzz_extent *x = &drawn.array[0], *w = &drawn.array[1], *y = &drawn.array[2];
        int64_t elements = 0;
        for (int a = 0; a < 3; a++)
            elements += drawn.array[a].there ? (int64_t)drawn.array[a].bytes / 2 : 0;
        assert_in_range(x->dim[0], 1, 300);
        assert_in_range(x->dim[1], 1, 2048);
        assert_true(x->stride[0] >= x->dim[1]);
        assert_true(elements <= FUZZ_ELEMENTS);
        assert_int_equal(drawn.grid[0], x->dim[0] < 64 ? x->dim[0] : 64);
        assert_int_equal(x->at % 16, 0);
        aliased |= y->at == x->at;
        absent |= !w->there;
        padded |= x->stride[0] > x->dim[1];
        moved |= x->at % 256 != 0;
    }
    assert_true(aliased && absent && padded && moved);
    arena_release(&made.arena);
    registry_destroy(registry);
}

static void sizes_are_spread(void **state)
{
    struct registry *registry = golden_registry();
    struct made made;
    int large = 0, one = 0, odd = 0;
    (void)state;
    make_rule(&made, registry, "norm_bf16", kernels[0].sizes);
    for (uint64_t i = 0; i < CASES; i++) {
        draw(&made, i);
        int64_t cols = drawn.array[0].dim[1];
        large += cols > 1024;
        one += cols == 1;
        odd += cols % 8 != 0 && cols > 32;
    }
    assert_in_range(large, CASES / 50, CASES / 2);
    assert_in_range(one, CASES / 50, CASES / 3);
    assert_in_range(odd, CASES / 20, CASES);
    arena_release(&made.arena);
    registry_destroy(registry);
}

/* Indices, steps and expressions over the block. */
static void integers_keep_their_range(void **state)
{
    struct registry *registry = golden_registry();
    struct made made;
    (void)state;
    make_rule(&made, registry, "lookup_f32", kernels[1].sizes);
    for (uint64_t i = 0; i < CASES; i++) {
        draw(&made, i);
        uint8_t *pool = malloc((size_t)drawn.pool_bytes);
        assert_non_null(pool);
        fuzz_case_fill(&drawn, pool);
        const struct fuzz_extent *table = &drawn.array[0], *ids = &drawn.array[1];
        for (int64_t e = 0; e < ids->count; e++) {
            int64_t id;
            memcpy(&id, pool + ids->at + fuzz_element_at(ids, e), sizeof id);
            assert_true(id >= 0 && id < table->dim[0]);
        }
        assert_int_equal(table->dim[1] % 8, 0);
        assert_int_equal(drawn.block[0], table->dim[1] / 8);
        assert_int_equal(drawn.grid[0], (ids->count + 3) / 4);
        assert_int_equal(drawn.shared, 16 * drawn.block[0]);
        free(pool);
    }
    arena_release(&made.arena);
    registry_destroy(registry);
}

/* A cache whose places are named by slots: its pages are the rule's, and only named places may
 * change. */
static void touched_rows_are_whole_arrays(void **state)
{
    static const char text[] =
        "version: 1\nkernels:\n- kernel: k\n  signature: >\n"
        "    const f32 key[tokens][heads][dim], const i64 slots[tokens],\n"
        "    inout f32 key_cache[@slots / page: heads * page * dim][@slots % page: heads * dim]\n"
        "    [heads][dim], i32 tokens, i32 heads, i32 dim, i32 page\n"
        "  reference: cache_append\n"
        "  fuzz: {tokens: 1..9, heads: 1..3, dim: 1..8, page: [4], pages: 2..5, block: 32,\n"
        "         grid: [tokens], key_cache: {rows: pages}, slots: {below: pages * page}}\n";
    struct complaints complaints;
    struct made made = {0};
    struct registry_bench bench;
    enum skip skip;
    (void)state;
    struct registry *registry = registry_of(text, &complaints);
    if (complaints.count)
        fail_msg("%s", complaints.text[0]);
    made.layout = layout_of((const unsigned[]){8, 8, 8, 4, 4, 4, 4, 0});
    const struct kernel_spec *spec =
        registry_resolve(registry, "k", &made.layout, &skip, &made.err);
    if (!spec || registry_bench(registry, spec, &made.layout, &bench, &made.err) ||
        fuzz_rule_make(&made.rule, &made.arena, &bench, NULL, &made.err))
        fail_msg("%s", made.err.text);
    for (uint64_t i = 0; i < 20; i++) {
        draw(&made, i);
        const struct fuzz_extent *cache = &drawn.array[2], *slots = &drawn.array[1];
        assert_int_equal(cache->ndim, 4);
        assert_in_range(cache->dim[0], 2, 5);
        assert_int_equal(cache->dim[1], 4);
        uint8_t *pool = malloc(2 * (size_t)drawn.pool_bytes), *may = pool + drawn.pool_bytes;
        assert_non_null(pool);
        fuzz_case_fill(&drawn, pool);
        fuzz_case_mark(&drawn, pool, may);
        for (int64_t e = 0; e < cache->count; e++) {
            int64_t place = e / (cache->dim[2] * cache->dim[3]), named = 0, slot;
            for (int64_t t = 0; t < slots->count; t++) {
                memcpy(&slot, pool + slots->at + 8 * t, sizeof slot);
                named |= slot == place;
            }
            assert_int_equal(may[cache->at + fuzz_element_at(cache, e)], named);
        }
        free(pool);
    }
    arena_release(&made.arena);
    registry_destroy(registry);
}

static void a_struct_gets_its_fields(void **state)
{
    struct registry *registry = golden_registry();
    struct made made;
    struct launch launch;
    uint64_t pointers[2];
    int32_t n;
    (void)state;
    make_rule(&made, registry, "halves_f16", kernels[2].sizes);
    draw(&made, 3);
    fuzz_case_place(&drawn, 0x10000, &launch);
    memcpy(pointers, launch.packed, sizeof pointers);
    memcpy(&n, launch.packed + 16, sizeof n);
    assert_int_equal(pointers[0], 0x10000 + drawn.array[0].at);
    assert_int_equal(pointers[1], 0x10000 + drawn.array[1].at);
    assert_int_equal(2 * n, drawn.array[0].count);
    arena_release(&made.arena);
    registry_destroy(registry);
}

/* ---- blocks ---- */

/* What the blocks of one array held. */
struct blocks_seen {
    uint64_t count, zero, subnormal, low, high; /* by their scale; by their codes: all 0, all 1 */
};

static double half_at(const uint8_t *at)
{
    return fuzz_decode(DTYPE_F16, at);
}

/* Codes of 8 bits are those of a quantiser, and the sum is theirs. */
static void codes_are_whole(enum dtype dtype, const uint8_t *block)
{
    const int8_t *code = (const int8_t *)block + (dtype == DTYPE_Q8_0 ? 2 : 4);
    int sum = 0;
    for (int i = 0; i < 32; i++) {
        assert_int_not_equal(code[i], -128);
        sum += code[i];
    }
    uint8_t expected[2];
    fuzz_encode(DTYPE_F16, expected, half_at(block) * sum);
    if (dtype == DTYPE_Q8_1)
        assert_memory_equal(expected, block + 2, 2);
}

static void see_block(enum dtype dtype, const uint8_t *block, struct blocks_seen *seen)
{
    bool minimum = dtype == DTYPE_Q4_1 || dtype == DTYPE_Q5_1 || dtype == DTYPE_Q4_K ||
                   dtype == DTYPE_Q5_K || dtype == DTYPE_Q8_1;
    const uint8_t *codes = block + (dtype == DTYPE_Q6_K ? 0 : 4);
    double scale = half_at(block + (dtype == DTYPE_Q6_K ? 208 : 0));
    assert_true(isfinite(scale) && (!minimum || isfinite(half_at(block + 2))));
    if (dtype == DTYPE_Q8_0 || dtype == DTYPE_Q8_1)
        codes_are_whole(dtype, block);
    seen->count++;
    seen->zero += scale == 0;
    seen->subnormal += scale != 0 && fabs(scale) < 0x1p-14;
    seen->low += codes[0] == 0 && memcmp(codes, codes + 1, 13) == 0;
    seen->high += codes[0] == 0xff && memcmp(codes, codes + 1, 13) == 0;
}

static void see_array(const struct fuzz_extent *array, const uint8_t *pool,
                      struct blocks_seen *seen)
{
    for (int64_t e = 0; e < array->count; e++)
        see_block(array->dtype, pool + array->at + fuzz_element_at(array, e), seen);
}

/* Whole blocks along the last dim, and rows as far apart as the pitch, which counts blocks. */
static void expect_whole_blocks(const struct fuzz_extent *w)
{
    const int64_t bytes = dtype_bytes(w->dtype);
    const int64_t *value = drawn.choices.value;
    for (unsigned i = 0; i < drawn.rule->variables; i++) {
        const struct fuzz_variable *v = &drawn.rule->variable[i];
        if (strcmp(v->name, "k") == 0)
            assert_int_equal(w->dim[1] * dtype_block(w->dtype), value[v->slot]);
        if (strcmp(v->name, "pitch") == 0)
            assert_int_equal(w->stride[0], value[v->slot] * bytes);
    }
    assert_int_equal(w->at % 16, 0);
    assert_int_equal(w->stride[1], bytes);
    assert_true(w->stride[0] >= w->dim[1] * bytes);
}

static void blocks_are_valid_and_varied(void **state)
{
    struct registry *registry = golden_registry();
    (void)state;
    for (int k = DOTS; k < LISTS; k++) {
        struct made made;
        struct blocks_seen seen = {0};
        make_rule(&made, registry, kernels[k].kernel, kernels[k].sizes);
        for (uint64_t i = 0; i < CASES / 4; i++) {
            draw(&made, i);
            uint8_t *pool = malloc((size_t)drawn.pool_bytes);
            assert_non_null(pool);
            fuzz_case_fill(&drawn, pool);
            expect_whole_blocks(&drawn.array[0]);
            see_array(&drawn.array[0], pool, &seen);
            see_array(&drawn.array[1], pool, &seen);
            free(pool);
        }
        assert_true(seen.zero && seen.subnormal && seen.low && seen.high);
        assert_true(seen.zero + seen.low + seen.high < seen.count / 2);
        arena_release(&made.arena);
    }
    registry_destroy(registry);
}

/* A large finite scale stays one; of poisons one has scales that are NaN, the other has none. */
static void extreme_blocks_keep_their_meaning(void **state)
{
    uint8_t block[FUZZ_BLOCK_BYTES] = {0};
    (void)state;
    fuzz_encode_block(DTYPE_Q4_1, 1e30, -1e30, block);
    assert_true(half_at(block) == 65504 && half_at(block + 2) == -65504);
    fuzz_encode_block(DTYPE_Q8_0, (double)NAN, 0, block);
    assert_true(isnan(half_at(block)));
    for (int dtype = DTYPE_Q4_0; dtype <= DTYPE_LAST_BLOCK; dtype++) {
        for (int kind = 0; kind < 2; kind++) {
            fuzz_poison((enum dtype)dtype, (enum fuzz_poison)kind, block);
            assert_true(fuzz_is_poison((enum dtype)dtype, (enum fuzz_poison)kind, block));
            assert_int_equal(isnan(half_at(block)), kind == FUZZ_POISON_NAN);
            block[dtype_bytes((enum dtype)dtype) - 1] ^= 1;
            assert_false(fuzz_is_poison((enum dtype)dtype, (enum fuzz_poison)kind, block));
        }
    }
}

/* ---- golden cases ---- */

static void print_golden(FILE *out, struct registry *registry)
{
    for (int k = 0; k < KERNELS; k++) {
        struct made made;
        make_rule(&made, registry, kernels[k].kernel, kernels[k].sizes);
        for (uint64_t i = 0; i < 24; i++) {
            draw(&made, i);
            uint8_t *pool = malloc((size_t)drawn.pool_bytes);
            assert_non_null(pool);
            fuzz_case_fill(&drawn, pool);
            fprintf(out, "%s %016llx %016llx\n", kernels[k].kernel,
                    (unsigned long long)drawn.choices.seed,
                    (unsigned long long)fuzz_case_hash(&drawn, pool));
            free(pool);
        }
        arena_release(&made.arena);
    }
}

/* CUVET_GOLDEN=1 writes the file again. */
static void a_seed_is_one_case(void **state)
{
    static const char path[] = "tests/golden/fuzz-cases.txt";
    struct registry *registry = golden_registry();
    char *now = NULL, *kept = NULL;
    size_t size = 0, room = 0;
    FILE *memory = open_memstream(&now, &size);
    (void)state;
    assert_non_null(memory);
    print_golden(memory, registry);
    fclose(memory);
    FILE *file = fopen(path, getenv("CUVET_GOLDEN") ? "w+" : "r");
    assert_non_null(file);
    if (getenv("CUVET_GOLDEN")) {
        fputs(now, file);
        rewind(file);
    }
    if (getdelim(&kept, &room, '\0', file) < 0)
        fail_msg("%s is empty", path);
    fclose(file);
    if (strcmp(now, kept) != 0)
        fail_msg("cases differ from %s; now:\n%s", path, now);
    free(now);
    free(kept);
    registry_destroy(registry);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(elements_come_back),
        cmocka_unit_test(elements_are_decoded),
        cmocka_unit_test(elements_round_to_even),
        cmocka_unit_test(poison_is_told_from_values),
        cmocka_unit_test(normal_numbers_have_moments),
        cmocka_unit_test(bad_rules_are_refused),
        cmocka_unit_test(shapes_without_cases_are_refused),
        cmocka_unit_test(cases_keep_their_rule),
        cmocka_unit_test(sizes_are_spread),
        cmocka_unit_test(integers_keep_their_range),
        cmocka_unit_test(touched_rows_are_whole_arrays),
        cmocka_unit_test(a_struct_gets_its_fields),
        cmocka_unit_test(blocks_are_valid_and_varied),
        cmocka_unit_test(extreme_blocks_keep_their_meaning),
        cmocka_unit_test(a_seed_is_one_case),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
