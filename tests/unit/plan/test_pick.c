/* Structs that hold arrays, of which each check draws one element: how it is written, what is
 * refused, and what becomes of it at a launch. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "tests/unit/common/registry_fixture.h"
#include "bind/binding.h"
#include "plan/plan.h"
#include "lang/signature.h"

static void refuses(const char *text, const char *part)
{
    signature_refused(text, NULL, part);
}

static void fields_may_lie_at_an_index(void **state)
{
    (void)state;
    const struct signature *s = signature_of(
        "struct 64 { f32 p[n from 2 * k ][8] @ 8[ t ], i32 n @40[t: 12]; i32 k @48 } s", NULL);
    const struct signature_item *p = signature_find(s, "p"), *n = signature_find(s, "n");
    assert_string_equal(p->index, "t");
    assert_int_equal(p->index_stride, 8);
    assert_int_equal(p->offset, 8);
    assert_string_equal(p->dim[0].extent, "n");
    assert_string_equal(p->dim[0].from, "2 * k");
    assert_null(p->dim[1].from);
    assert_string_equal(n->index, "t");
    assert_int_equal(n->index_stride, 12);
    assert_null(signature_find(s, "k")->index);
    const struct signature *from = signature_of("f32 x[from]", NULL);
    assert_string_equal(from->item[0].dim[0].extent, "from");
    from = signature_of("f32 x[fromage from from_here]", NULL);
    assert_string_equal(from->item[0].dim[0].extent, "fromage");
}

static void badly_written_fields_are_refused(void **state)
{
    (void)state;
    refuses("struct 8 { i32 n @0[ }", "expected ']' behind the index");
    refuses("struct 8 { i32 n @0[] }", "expected an index, as in @0[i]");
    refuses("struct 8 { i32 n @0[i: x] }", "expected the bytes from one field to the next");
    refuses("struct 8 { i32 n @0[i: 4 4] }", "expected ']'");
    refuses("f32 x[n from ]", "expected [n from first]");
    refuses("const f32 x[@ids from 2][4]", "'from' does not go with");
    refuses("const f32 x[@ids][4 from 2]", "'from' does not go with");
    refuses("const f32 x[*][4 from 2]", "'from' does not go with");
    refuses("const q8_0 x[4][32 from 32]", "'from' does not go with");
    refuses("const f32 **x[n]", "is a pointer to pointers in device memory");
    refuses("f32 *const *x", "is a pointer to pointers in device memory");
}

/* ---- what is refused when a registry is read ---- */

static void nonsense_is_refused(void **state)
{
    (void)state;
    const char *const entry = "signature: \"struct 64 { inout f32 x[n] @0[%s], i32 n @32[%s] }\"\n"
                              "  reference: gelu\n  bind: {x: x, y: x}\n  pick: {%s}\n%s";
    char text[1024];
    snprintf(text, sizeof text, entry, "b", "b", "b: 4, c: 4, d: 4", "");
    entry_refused(text, "more than 2 picks");
    snprintf(text, sizeof text, entry, "b", "b", "b: 0", "");
    entry_refused(text, "pick 'b' is one of 0; expected at least one");
    snprintf(text, sizeof text, entry, "b", "b", "n: 4", "");
    entry_refused(text, "pick 'n': the name is taken");
    snprintf(text, sizeof text, entry, "b", "b", "b: m", "");
    entry_refused(text, "pick 'b': expression 'm': unknown name 'm'");
    snprintf(text, sizeof text, entry, "b", "n", "b: 4", "");
    entry_refused(text, "'n' depends on itself");
    snprintf(text, sizeof text, entry, "z", "b", "b: 4", "");
    entry_refused(text, "signature: field 'x': expression 'z': unknown name 'z'");
    snprintf(text, sizeof text, entry, "b", "b", "b: 4", "  deterministic: yes\n");
    entry_refused(text, "each check copies what 'pick' draws");
}

/* ---- launches ---- */

/* What a fused kernel gets: tensors, and which block works on what. */
struct lists {
    uint64_t x[3], y[3];
    int64_t count[3];
    float factor[3];
    uint8_t tensor[8];
    int32_t chunk[8];
};

static const char *const chunks = "signature: >\n"
                                  "    struct 128 { const f32 x[count from first] @0[tensor], f32 "
                                  "y[count from first] @24[tensor],\n"
                                  "      i64 numel @48[tensor], f32 factor @72[tensor], u8 tensor "
                                  "@84[block], i32 chunk @92[block] },\n"
                                  "    i32 blocks\n"
                                  "  pick: {block: blocks}\n"
                                  "  let: {first: chunk * 16, count: \"min(numel - first, 16)\"}\n"
                                  "  reference: scale\n  bind: {alpha: factor}\n";

static struct lists lists = {.x = {0x10000, 0x20000, 0x30000},
                             .y = {0x50000, 0x60000, 0x70000},
                             .count = {20, 16, 40},
                             .factor = {1.5f, 2.5f, 3.5f},
                             .tensor = {0, 0, 1, 2, 2, 2, 20, 1},
                             .chunk = {0, 1, 0, 0, 1, 2, 0, 7}};
static struct binding b;
static struct error why;

static enum skip bind(int32_t blocks, uint64_t seed)
{
    char text[1024];
    snprintf(text, sizeof text, "kernel: k\n  %s", chunks);
    struct resolved r = resolve_entry(text, SIZES(128, 4));
    struct launch launch = {
        .grid = {6, 1, 1}, .block = {64, 1, 1}, .params = PARAMS(&lists, &blocks), .seed = seed};
    memset(&b, 0xa5, sizeof b);
    why = (struct error){0};
    enum skip skip = binding_make(r.spec, &launch, &b, &why);
    registry_destroy(r.registry);
    return skip;
}

static void each_block_is_drawn_and_its_part_found(void **state)
{
    (void)state;
    static const struct {
        int tensor;
        int64_t first, count;
    } expected[6] = {{0, 0, 16}, {0, 16, 4}, {1, 0, 16}, {2, 0, 16}, {2, 16, 16}, {2, 32, 8}};
    int seen[6] = {0};
    for (uint64_t seed = 0; seed < 120; seed++) {
        if (bind(6, seed * 77))
            fail_msg("%s", why.text);
        int64_t block = b.pick[0].value;
        assert_int_equal(b.picks, 1);
        assert_int_equal(b.pick[0].count, 6);
        assert_in_range(block, 0, 5);
        seen[block]++;
        int tensor = expected[block].tensor;
        uint64_t skipped = (uint64_t)expected[block].first * 4;
        assert_int_equal(b.arrays, 2);
        assert_int_equal(b.array[0].address, lists.x[tensor] + skipped);
        assert_int_equal(b.array[1].address, lists.y[tensor] + skipped);
        assert_int_equal(b.array[1].bytes, expected[block].count * 4);
        assert_int_equal(b.call.tensor[0].dim[1], expected[block].count);
        assert_true(b.call.scalar[0] == (double)lists.factor[tensor]);
    }
    for (int i = 0; i < 6; i++)
        assert_in_range(seen[i], 5, 50);
    assert_int_equal(bind(6, 3), SKIP_NONE);
    int64_t first = b.pick[0].value;
    assert_int_equal(bind(6, 3), SKIP_NONE);
    assert_int_equal(b.pick[0].value, first);
}

static void what_cannot_be_is_refused(void **state)
{
    (void)state;
    assert_int_equal(bind(0, 1), SKIP_EMPTY);
    assert_non_null(strstr(why.text, "pick 'block' is one of 0"));
    bool outside = false, negative = false;
    for (uint64_t seed = 0; seed < 80; seed++) {
        enum skip skip = bind(8, seed);
        if (b.pick[0].value == 6) { /* tensor 20 of a struct that has no such */
            outside = true;
            assert_int_equal(skip, SKIP_SHAPE);
            assert_non_null(strstr(why.text, "number 20 of it lies outside its struct of 128"));
        } else if (b.pick[0].value == 7) { /* chunk 7 of a tensor of 16 */
            negative = true;
            assert_int_equal(skip, SKIP_SHAPE);
            assert_non_null(strstr(why.text, "extent count is -96"));
        } else {
            assert_int_equal(skip, SKIP_NONE);
        }
    }
    assert_true(outside && negative);
}

/* Such as the output of torch.flip, which is written from its end on. */
static void a_negative_first_item_lies_in_front(void **state)
{
    (void)state;
    uint64_t x = 0x10000, y = 0x20000;
    int32_t n = 100;
    struct resolved r =
        resolve_entry("kernel: k\n  signature: >\n    const f32 x[n], f32 y[n from 1 - "
                      "n], i32 n\n  reference: scale\n  bind: {alpha: 2}\n",
                      SIZES(8, 8, 4));
    struct launch launch = {
        .grid = {1, 1, 1}, .block = {64, 1, 1}, .params = PARAMS(&x, &y, &n), .seed = 1};
    assert_int_equal(binding_make(r.spec, &launch, &b, &why), SKIP_NONE);
    assert_int_equal(b.array[1].address, y - 4 * 99);
    assert_int_equal(b.array[1].bytes, 400);
    registry_destroy(r.registry);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fields_may_lie_at_an_index),
        cmocka_unit_test(badly_written_fields_are_refused),
        cmocka_unit_test(nonsense_is_refused),
        cmocka_unit_test(each_block_is_drawn_and_its_part_found),
        cmocka_unit_test(what_cannot_be_is_refused),
        cmocka_unit_test(a_negative_first_item_lies_in_front),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
