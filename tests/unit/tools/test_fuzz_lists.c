/*
 * test_fuzz_lists.c - cases of a struct that lists arrays: its tables lead to every part of every
 * array, and what lies behind an array's end is no output.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "tests/unit/common/registry_fixture.h"
#include "tests/unit/common/says.h"
#include "tools/fuzz/case/case.h"

enum { TENSORS = 4, BLOCKS = 16, CHUNK = 256, CASES = 200 };

struct lists {
    uint64_t x[TENSORS], y[TENSORS];
    int64_t numel[TENSORS];
    uint8_t tensor[BLOCKS];
    int32_t chunk[BLOCKS];
};

static struct fuzz_case drawn;

static struct registry *registry_with(const char *pick, const char *fuzz,
                                      struct complaints *complaints)
{
    char text[2048];
    snprintf(
        text, sizeof text,
        "version: 1\nkernels:\n- kernel: k\n  signature: >\n    struct 176 {\n"
        "      const f32 x[count from first] @0[tensor], f32 y[count from first] @32[tensor],\n"
        "      i64 numel @64[tensor], u8 tensor @96[block], i32 chunk @112[block] }\n"
        "  %s\n  let: {first: chunk * 256, count: \"min(numel - first, 256)\"}\n"
        "  reference: scale\n  bind: {alpha: first}\n  fuzz: {block: 64, %s}\n",
        pick, fuzz);
    return registry_of(text, complaints);
}

#define PICK "pick: {block: grid.x}"
#define LISTS                                                                                      \
    "lists: {count: tensors, length: numel, tensor: tensor, part: chunk, "                         \
    "parts: \"ceil_div(numel, 256)\"}"
#define SIZES_OF "tensors: 1..4, numel: 1..1000, "

/* ---- what is refused ---- */

static void refused(const char *pick, const char *fuzz, const char *part)
{
    struct complaints complaints;
    struct registry *registry = registry_with(pick, fuzz, &complaints);
    if (registry && complaints.count == 0)
        fuzz_rules_check(registry, complain_to, &complaints);
    expect_refused(fuzz, !complaints.count, complaints.text[0], part);
    registry_destroy(registry);
}

static void lists_that_cannot_be_filled_are_refused(void **state)
{
    (void)state;
    refused(PICK, "grid: 1", "cases of a struct that lists arrays need 'lists'");
    refused(PICK, SIZES_OF "grid: 1, lists: 4", "'lists' is no mapping");
    refused(PICK, SIZES_OF "grid: 1, lists: {count: tensors, size: 4}", "cases are not drawn for");
    refused(PICK,
            SIZES_OF "grid: 1, lists: {count: tensors, length: numel, tensor: tensor, part: chunk, "
                     "size: 4}",
            "'size' of 'lists' is unknown");
    refused(PICK,
            SIZES_OF "grid: 1, lists: {count: tensors, length: numel, tensor: tensor, part: chunk}",
            "'lists' lacks 'parts'");
    refused(PICK,
            SIZES_OF "grid: 1, lists: {count: tensors, length: x, tensor: tensor, part: chunk, "
                     "parts: 1}",
            "that 'lists' does not name");
    refused(PICK, "tensors: 1..4, grid: lists.blocks, " LISTS, "no values are given for 'numel'");
    refused(PICK, SIZES_OF "grid: lists.block, " LISTS, "unknown name 'lists.block'");
}

/* ---- cases ---- */

struct seen {
    bool shorter, several, longest; /* arrays; a part behind the first */
    unsigned most;                  /* arrays */
};

/* Blocks come in the order of arrays and parts, and there is one for each part. */
static void expect_tables(const struct lists *lists, struct seen *seen)
{
    unsigned block = 0;
    for (unsigned t = 0; t < drawn.tensors; t++) {
        assert_in_range(lists->numel[t], 1, lists->numel[0]);
        for (int part = 0; part * CHUNK < lists->numel[t]; part++, block++) {
            assert_int_equal(lists->tensor[block], t);
            assert_int_equal(lists->chunk[block], part);
            seen->several |= part > 0;
        }
        seen->shorter |= lists->numel[t] < lists->numel[0];
        seen->longest |= t > 0 && lists->numel[t] == lists->numel[0];
    }
    assert_int_equal(block, drawn.grid[0]);
    seen->most = drawn.tensors > seen->most ? drawn.tensors : seen->most;
}

/* Addresses lie in the field's extent, one array behind the other with room for a guard between. */
static void expect_addresses(const struct lists *lists, uint64_t base)
{
    for (unsigned t = 0; t < drawn.tensors; t++) {
        const uint64_t *of[] = {lists->x, lists->y};
        for (int a = 0; a < 2; a++) {
            assert_int_equal(of[a][0], base + drawn.array[a].at);
            assert_true(t == 0 || of[a][t] >= of[a][t - 1] + 4 * (uint64_t)lists->numel[0] + 4);
            assert_true(of[a][t] + 4 * (uint64_t)lists->numel[t] <=
                        base + drawn.array[a].at + drawn.array[a].bytes);
        }
    }
}

/* The kernel may write the elements of each y, and no other byte. */
static void expect_marks(const struct lists *lists, uint64_t base)
{
    uint8_t *pool = malloc(2 * (size_t)drawn.pool_bytes), *may = pool + drawn.pool_bytes;
    uint64_t marked = 0, expected = 0;
    assert_non_null(pool);
    fuzz_case_fill(&drawn, pool);
    fuzz_case_mark(&drawn, pool, may);
    for (uint64_t i = 0; i < drawn.pool_bytes; i++)
        marked += may[i];
    for (unsigned t = 0; t < drawn.tensors; t++) {
        uint64_t bytes = 4 * (uint64_t)lists->numel[t], at = lists->y[t] - base;
        for (uint64_t i = 0; i < bytes; i++)
            assert_int_equal(may[at + i], 1);
        expected += bytes;
    }
    assert_int_equal(marked, expected);
    free(pool);
}

struct made {
    struct registry *registry;
    struct arena arena;
    struct param_layout layout;
    const struct fuzz_rule *rule;
};

static struct made make(const char *fuzz)
{
    struct complaints complaints;
    struct registry_bench bench;
    struct error err = {{0}};
    struct made made = {.layout = layout_of((const unsigned[]){176, 0})};
    enum skip skip;
    made.registry = registry_with(PICK, fuzz, &complaints);
    const struct kernel_spec *spec =
        registry_resolve(made.registry, "k", &made.layout, &skip, &err);
    if (!spec || registry_bench(made.registry, spec, &made.layout, &bench, &err) ||
        fuzz_rule_make(&made.rule, &made.arena, &bench, NULL, &err))
        fail_msg("%s", err.text);
    return made;
}

/* More arrays, or longer ones, than the struct has room for: no case, and the reason. */
static void no_case(const char *fuzz, const char *part)
{
    struct made made = make(fuzz);
    struct error err = {{0}};
    assert_int_equal(fuzz_case_draw(&drawn, made.rule, &made.layout, 1, &err), STATUS_INVALID);
    expect_says(err.text, part);
    arena_release(&made.arena);
    registry_destroy(made.registry);
}

static void lists_beyond_their_struct_make_no_case(void **state)
{
    (void)state;
    no_case("tensors: 5, numel: 1, grid: 1, " LISTS, "'numel' has no place for number 4");
    no_case("tensors: 65, numel: 1, grid: 1, " LISTS, "a struct lists 1 to 64 arrays");
    no_case("tensors: 1, numel: 5000, grid: 1, " LISTS, "'tensor' has no place for number 16");
    no_case("tensors: 1, numel: 100000, grid: 1, " LISTS, "the longest array has 100000 of 65536");
}

static void tables_lead_to_every_part(void **state)
{
    const uint64_t base = 0x100000;
    struct made made = make(SIZES_OF "grid: lists.blocks, " LISTS);
    struct error err = {{0}};
    struct seen seen = {0};
    (void)state;
    for (uint64_t i = 0; i < CASES; i++) {
        struct launch launch;
        struct lists lists;
        if (fuzz_case_draw(&drawn, made.rule, &made.layout, fuzz_case_seed(1, i), &err))
            fail_msg("%s", err.text);
        fuzz_case_place(&drawn, base, &launch);
        memcpy(&lists, launch.packed, sizeof lists);
        expect_tables(&lists, &seen);
        expect_addresses(&lists, base);
        expect_marks(&lists, base);
    }
    assert_true(seen.shorter && seen.several && seen.longest && seen.most == TENSORS);
    arena_release(&made.arena);
    registry_destroy(made.registry);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_that_cannot_be_filled_are_refused),
        cmocka_unit_test(lists_beyond_their_struct_make_no_case),
        cmocka_unit_test(tables_lead_to_every_part),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
