/* Which items a subset has, which dim of a launch is cut, and what an estimate of its cost is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "driver/cuda_api.h"
#include "tests/unit/common/registry_fixture.h"
#include "gate/costs.h"
#include "gate/gate.h"
#include "plan/plan.h"
#include "copy/shrink.h"

/* ---- selection ---- */

/* Whatever is drawn: sorted, disjoint, from the first item to the last if there are three blocks,
 * as many as it counts, each block in its own part, and subset_item counts through it. */
static void expect_sound(const struct subset *s, int64_t total, int64_t unit)
{
    int64_t end = 0, seen = 0, from, to, blocks = s->select.blocks, edge = blocks > 2;
    int64_t inner = total - total % unit - 2 * edge * (int64_t)s->select.length;
    assert_in_range(blocks, 1, SELECT_BLOCKS);
    for (int64_t block = 0; block < blocks; block++) {
        subset_block(s, (uint32_t)block, &from, &to);
        assert_int_equal(from % unit, 0);
        assert_true(from >= end && to > from && to <= total);
        assert_true(!edge || block > 0 || from == 0);
        assert_true(!edge || block + 1 < blocks || to == total);
        assert_true(to - from == (int64_t)s->select.length || to == total);
        if (block >= edge && block + edge < blocks) {
            int64_t parts = blocks - 2 * edge, part = inner / parts;
            int64_t first = edge * (int64_t)s->select.length + (block - edge) * part;
            assert_true(from + unit * parts >= first &&
                        to <= first + part + unit * parts + total % unit);
        }
        for (int64_t item = from; item < to; item++)
            assert_int_equal(subset_item(s, seen++), item);
        end = to;
    }
    assert_int_equal(seen, s->count);
    assert_int_equal(s->total, total);
}

static void subsets_are_sound(void **state)
{
    (void)state;
    static const int64_t totals[] = {9, 10, 33, 100, 1000, 1021, 4096, 100001};
    int drawn = 0, few = 0;
    for (size_t t = 0; t < sizeof totals / sizeof *totals; t++) {
        for (int64_t unit = 1; unit <= 16; unit *= 2) {
            for (int64_t count = 1; count < 2 * totals[t]; count += 1 + count / 3) {
                struct subset s = {0};
                if (!subset_draw(&s, totals[t], count, unit, (uint64_t)count))
                    continue;
                drawn++;
                expect_sound(&s, totals[t], unit);
                assert_true(s.count < totals[t]);
                assert_true(s.count < count + unit && 2 * s.count >= count - count % unit);
                few += s.select.blocks < 3;
            }
        }
    }
    assert_true(drawn > 300 && few > 50);
}

static void a_subset_that_is_everything_is_none(void **state)
{
    (void)state;
    struct subset s = {0};
    assert_false(subset_draw(&s, 100, 100, 1, 0));
    assert_false(subset_draw(&s, 100, 1000, 1, 0));
    assert_false(subset_draw(&s, 100, 0, 1, 0));
    assert_false(subset_draw(&s, 100, 15, 16, 0)); /* less than a unit */
    assert_false(subset_draw(&s, 1, 1, 1, 0));
    assert_false(subset_draw(&s, 100, 99, 16, 0)); /* six units of six */
    assert_false(subset_draw(&s, INT64_MAX / 2, 100, 1, 0));
    assert_true(subset_draw(&s, 100, 99, 1, 0));
}

static void the_seed_decides(void **state)
{
    (void)state;
    struct subset a = {0}, b = {0};
    int different = 0;
    for (uint64_t seed = 0; seed < 50; seed++) {
        assert_true(subset_draw(&a, 16384, 512, 1, seed));
        assert_true(subset_draw(&b, 16384, 512, 1, seed));
        assert_memory_equal(&a.select, &b.select, sizeof a.select);
        assert_true(subset_draw(&b, 16384, 512, 1, seed + 1));
        different += memcmp(&a.select, &b.select, sizeof a.select) != 0;
    }
    assert_int_equal(different, 50);
}

/* Over many launches every item is seen, none of them much more often than it should. */
static void all_items_have_their_turn(void **state)
{
    (void)state;
    static int times[2000];
    struct subset s = {0};
    for (uint64_t seed = 0; seed < 4000; seed++) {
        assert_true(subset_draw(&s, 2000, 128, 1, seed * 77777));
        for (int64_t i = 0; i < s.count; i++)
            times[subset_item(&s, i)]++;
    }
    for (int i = 0; i < 2000; i++) { /* 256 on average */
        if (i >= 4 && i < 1996 && (times[i] < 30 || times[i] > 400))
            fail_msg("item %d was seen %d times", i, times[i]);
    }
    assert_int_equal(times[0], 4000);
    assert_int_equal(times[1999], 4000);
}

/* Of few blocks, too: then the first and the last item have no place of their own. */
static void all_of_few_have_their_turn(void **state)
{
    (void)state;
    for (int64_t count = 1; count < 8; count++) {
        int times[8] = {0}, twice = 0;
        struct subset s = {0};
        for (uint64_t seed = 0; seed < 800; seed++) {
            assert_true(subset_draw(&s, 8, count, 1, seed * 77777));
            assert_int_equal(s.count, count);
            for (int64_t i = 0; i < s.count; i++)
                twice += times[subset_item(&s, i)]++ > 799;
        }
        for (int i = 0; i < 8; i++) {
            if (times[i] < 50 || (count < 3 && times[i] > 400))
                fail_msg("of %d, item %d was seen %d times", (int)count, i, times[i]);
        }
        assert_int_equal(twice, 0);
    }
    struct subset s = {0};
    int with_rest = 0;
    for (uint64_t seed = 0; seed < 100; seed++) { /* one of four units, and two items more */
        assert_true(subset_draw(&s, 34, 8, 8, seed));
        expect_sound(&s, 34, 8);
        with_rest += s.count == 10;
        assert_true(s.count == (subset_item(&s, 0) == 24 ? 10 : 8));
    }
    assert_in_range(with_rest, 5, 50);
}

static void entries_go_with_their_items(void **state)
{
    (void)state;
    struct subset s = {.share = 3, .linked = {[2] = true}};
    assert_true(subset_draw(&s, 8, 2, 1, 5));
    for (int64_t i = 0; i < 6; i++)
        assert_int_equal(subset_entry(&s, 2, i), subset_item(&s, i / 3) * 3 + i % 3);
    for (int64_t i = 0; i < 2; i++)
        assert_int_equal(subset_entry(&s, 1, i), subset_item(&s, i));
}

static void launches_kernels_and_ranks_draw_differently(void **state)
{
    (void)state;
    struct gate_settings settings = {.seed = 5};
    struct gate *a = gate_create(&settings), *b = gate_create(&settings);
    settings.rank = 1;
    struct gate *other = gate_create(&settings);
    assert_true(gate_seed_of(a, 7, 3) == gate_seed_of(b, 7, 3));
    assert_true(gate_seed_of(a, 7, 3) != gate_seed_of(a, 7, 4));
    assert_true(gate_seed_of(a, 7, 3) != gate_seed_of(a, 8, 3));
    assert_true(gate_seed_of(a, 7, 3) != gate_seed_of(other, 7, 3));
    gate_destroy(a);
    gate_destroy(b);
    gate_destroy(other);
}

/* ---- which dim ---- */

static struct binding b;
static struct snapshot_plan plan;
static uint64_t whole_bytes;

/* Binds one entry whose parameters are pointers, and makes it smaller; the dim, or "". */
static const char *cut(const char *entry, int pointers, uint64_t aim)
{
    static char dim[FORMAL_NAME];
    static uint64_t pointer[8] = {1 << 20, 2 << 20, 3 << 20, 4 << 20, 5 << 20, 6 << 20};
    unsigned sizes[9] = {0};
    void *params[8];
    struct error why = {{0}};
    for (int i = 0; i < pointers; i++) {
        sizes[i] = 8;
        params[i] = &pointer[i];
    }
    struct resolved r = resolve_entry(entry, sizes);
    struct launch launch = {.grid = {1, 1, 1}, .block = {32, 1, 1}, .params = params};
    if (binding_make(r.spec, &launch, &b, &why) || snapshot_plan_make(&b, &plan, &why))
        fail_msg("%s", why.text);
    whole_bytes = plan.bytes;
    struct shrink_limits limits = {aim, plan.bytes};
    bool some = shrink_binding(&b, r.spec->plan->formals, &plan, &limits, 1);
    assert_int_equal(some, b.subset.dim != NULL);
    snprintf(dim, sizeof dim, "%s", some ? b.subset.dim : "");
    assert_int_equal(snapshot_plan_make(&b, &plan, &why), SKIP_NONE);
    assert_true(plan.gathers == some &&
                (some ? plan.bytes < whole_bytes : plan.bytes == whole_bytes));
    registry_destroy(r.registry);
    b.subset.dim = some ? dim : NULL; /* the name dies with the registry */
    return dim;
}

static void rows_are_cut_where_there_are_many(void **state)
{
    (void)state;
    assert_string_equal(cut("kernel: k\n  signature: const f32 a[512][64], const f32 b[512][64],"
                            " f32 y[512][64]\n  reference: add\n",
                            3, 49152),
                        "rows");
    assert_int_equal(b.subset.count, 64); /* 768 bytes each */
    assert_int_equal(b.call.size[0], 64);
    assert_true(b.call.part == 64 && b.call.whole == b.subset.total);
    assert_int_equal(b.call.tensor[2].dim[0], 64);
    assert_in_range(plan.bytes, 49152, 49152 + 3 * 256);
    assert_int_equal(b.array[0].dim[0], 512); /* of the launch */
    assert_int_equal(binding_seen(&b, 0, 0), 64);
}

static void columns_are_cut_where_rows_are_few(void **state)
{
    (void)state;
    assert_string_equal(
        cut("kernel: k\n  signature: const f32 a[50000], const f32 b[50000], f32 y[50000]\n"
            "  reference: add\n",
            3, 49152),
        "cols");
    assert_in_range(b.subset.count, 3900, 4096);
    assert_int_equal(b.subset.count % 4, 0); /* whole words of 16 bytes, as 50000 is */
    assert_string_equal(cut("kernel: k\n  signature: const f32 x[4][2][9999], f32 y[4][9999]\n"
                            "  reference: silu_and_mul\n",
                            2, 49152),
                        "cols");
    assert_int_equal(b.array[0].ndim, 2); /* 8 times the columns */
    assert_int_equal(b.array[0].dim[0], 8);
    assert_int_equal(b.array[0].axis, 1);
}

static void weights_count_but_leave_a_quarter(void **state)
{
    (void)state;
    const char *entry = "kernel: k\n  signature: const f32 x[512][16], const f32 w[64][16],"
                        " f32 y[512][64]\n  reference: linear\n";
    assert_string_equal(cut(entry, 3, 16384), "m"); /* w: 4096 */
    assert_int_equal(b.subset.count, 32);           /* of 320 bytes in the other 12288 */
    assert_string_equal(cut(entry, 3, 8192), "m");
    assert_int_equal(b.subset.count, 12);
    assert_string_equal(cut("kernel: k\n  signature: const f32 x[64][512], const f32 w[64][512],"
                            " f32 y[64][64]\n  reference: linear\n",
                            3, 32768),
                        "m"); /* w alone is 131072 */
    assert_int_equal(b.subset.count, 4);
}

static void what_cannot_be_cut_is_whole(void **state)
{
    (void)state;
    assert_string_equal(cut("kernel: k\n  signature: const i32 x[9999], i32 y[10]\n"
                            "  reference: histogram\n",
                            2, 4096),
                        "");
    assert_string_equal(cut("kernel: k\n  signature: const f32 x[5][9999], f32 y[5][9999]\n"
                            "  reference: softmax\n",
                            2, 4096),
                        ""); /* five rows are too few */
    /* A sum over the rows needs them all; without it they are independent. */
    const char *backward =
        "kernel: k\n  signature: const f32 dy[512][16], const f32 x[512][16], const f32 rstd[512],"
        " f32 dx[512][16]%s\n  reference: rmsnorm_backward\n";
    char entry[300];
    snprintf(entry, sizeof entry, backward, ", f32 dw[16]");
    assert_string_equal(cut(entry, 5, 16384), "");
    snprintf(entry, sizeof entry, backward, "");
    assert_string_equal(cut(entry, 4, 16384), "rows");
    /* Windows that slide over each other are no items of their own. */
    assert_string_equal(cut("kernel: k\n  signature: const f32 x[512:1][16], f32 y[512]\n"
                            "  reference: row_sum\n",
                            2, 1024),
                        "");
    /* One array as two inputs, along different dims. */
    assert_string_equal(cut("kernel: k\n  signature: const f32 x[64][64], f32 y[64][64]\n"
                            "  reference: matmul\n  bind: {a: x, b: x, c: y}\n",
                            2, 4096),
                        "");
}

static void an_index_that_is_not_given_is_a_place(void **state)
{
    (void)state;
    const char *rope = "kernel: k\n  signature: const f32 x[512][4][2][64], const f32 cos[512][64],"
                       " const f32 sin[512][64], f32 y[512][4][2][64]%s\n  reference: rope_halves\n"
                       "  bind: {direction: 1}\n";
    char entry[300];
    snprintf(entry, sizeof entry, rope, ", const i32 position[512]");
    assert_string_equal(cut(entry, 5, 131072), "tokens");
    snprintf(entry, sizeof entry, rope, "");
    assert_string_equal(cut(entry, 4, 131072), "half"); /* four heads are too few */
}

static void odd_rows_are_cut_by_whole_words(void **state)
{
    (void)state;
    assert_string_equal(cut("kernel: k\n  signature: const bf16 x[1000][101], bf16 y[1000][101]\n"
                            "  reference: softmax\n",
                            2, 65536),
                        "rows");
    assert_int_equal(b.subset.select.unit, 8); /* 202 bytes */
    expect_sound(&b.subset, 1000, 8);
}

/* ---- dims that go together ---- */

#define ATTENTION(q, k, v, y, more)                                                                \
    "kernel: k\n  signature: const f32 q" q ", const f32 k" k ", const f32 v" v ", f32 y" y more   \
    "\n  reference: attention\n  bind: {scale: 1}\n"

static void heads_are_cut_with_their_keys(void **state)
{
    (void)state;
    const char *entry = ATTENTION("[1][64][24][16]", "[1][64][8][16]", "[1][64][8][16]",
                                  "[1][64][24][16]", ", f32 lse[1][24][64]");
    assert_string_equal(cut(entry, 5, 65536), "kv_heads"); /* 33536 each */
    assert_int_equal(b.subset.count, 1);
    assert_int_equal(b.subset.share, 3);
    assert_string_equal(cut(entry, 5, 110000), "kv_heads");
    assert_int_equal(b.subset.count, 3);
    assert_int_equal(b.subset.total, 8);
    expect_sound(&b.subset, 8, 1);
    for (int i = 0; i < 5; i++) { /* q, k, v, y, lse in the order of the formals but for bias */
        const struct bound_array *array = &b.array[i];
        bool of_heads = i == 0 || i >= 3;
        assert_int_equal(array->dim[array->axis], 8); /* of the launch, whatever it is called */
        assert_int_equal(b.subset.linked[i + 1], of_heads);
        int axis = b.subset.axis[i + 1];
        assert_int_equal(axis, i == 4 ? 1 : 2);
        assert_int_equal(b.call.tensor[i + 1].dim[axis], of_heads ? 9 : 3);
    }
    assert_int_equal(b.array[0].stride[b.array[0].axis], 48); /* of all three heads ... */
    assert_int_equal(b.call.tensor[1].stride[2], 16);         /* ... and of one */
    assert_int_equal(b.array[4].stride[b.array[4].axis], 192);
    assert_int_equal(b.call.tensor[0].dim[1], 9); /* bias is absent */
    assert_in_range(plan.bytes, 3 * 33536, 3 * 33536 + 64 * 64);
}

static void heads_that_lie_in_a_row_are_cut_too(void **state)
{
    (void)state;
    /* torch's order, and the heads innermost, as FlashInfer's lse has them */
    assert_string_equal(
        cut(ATTENTION("[1][64:16][24:1024][16]", "[1][64:16][8:1024][16]", "[1][64:16][8:1024][16]",
                      "[1][64:16][24:1024][16]", ", f32 lse[1][24:1][64:24]"),
            5, 65536),
        "kv_heads");
    assert_int_equal(b.array[0].stride[b.array[0].axis], 3072);
    assert_int_equal(b.array[4].stride[b.array[4].axis], 3);
    assert_int_equal(b.subset.select.unit, 4); /* 12 bytes each */
    assert_int_equal(b.subset.count, 4);
    /* Heads with gaps between them have no group in one piece ... */
    assert_string_equal(cut(ATTENTION("[1][64][24:20][16]", "[1][64][8][16]", "[1][64][8][16]",
                                      "[1][64][24][16]", ""),
                            4, 65536),
                        "");
    /* ... but where each stands alone that is no matter. */
    assert_string_equal(cut(ATTENTION("[1][64][8:20][16]", "[1][64][8][16]", "[1][64][8][16]",
                                      "[1][64][8][16]", ""),
                            4, 65536),
                        "kv_heads");
    assert_int_equal(b.subset.share, 1);
}

static void what_fits_best_is_cut_first(void **state)
{
    (void)state;
    const char *batches =
        ATTENTION("[32][64][24][16]", "[32][64][8][16]", "[32][64][8][16]", "[32][64][24][16]", "");
    assert_string_equal(cut(batches, 4, 4 << 20), "batch");
    assert_null(b.subset.with);
    assert_string_equal(cut(batches, 4, 300000),
                        "batch"); /* four of 262144, or 1048576 of a head */
    assert_string_equal(
        cut(ATTENTION("[6][64][24][16]", "[6][64][8][16]", "[6][64][8][16]", "[6][64][24][16]", ""),
            4, 300000),
        "kv_heads"); /* 196608 of a head, 262144 of a batch, of which four are least */
}

static void heads_that_do_not_divide_are_whole(void **state)
{
    (void)state;
    const char *uneven =
        ATTENTION("[1][64][20][16]", "[1][64][8][16]", "[1][64][8][16]", "[1][64][20][16]", "");
    assert_string_equal(cut(uneven, 4, 65536), "");
    const char *one =
        ATTENTION("[1][64][24][16]", "[1][64][1][16]", "[1][64][1][16]", "[1][64][24][16]", "");
    assert_string_equal(cut(one, 4, 65536), "");
    const char *fewer =
        ATTENTION("[1][64][4][16]", "[1][64][8][16]", "[1][64][8][16]", "[1][64][4][16]", "");
    assert_string_equal(cut(fewer, 4, 32768), "");
}

/* All memory is one allocation. */
static CUresult attributes(unsigned count, CUpointer_attribute *wanted, void **into,
                           CUdeviceptr address)
{
    (void)address;
    for (unsigned i = 0; i < count; i++) {
        if (wanted[i] == CU_POINTER_ATTRIBUTE_RANGE_START_ADDR)
            *(CUdeviceptr *)into[i] = 1 << 20;
        else if (wanted[i] == CU_POINTER_ATTRIBUTE_RANGE_SIZE)
            *(size_t *)into[i] = 16 << 20;
        else if (wanted[i] == CU_POINTER_ATTRIBUTE_MEMORY_TYPE)
            *(unsigned *)into[i] = CU_MEMORYTYPE_DEVICE;
        else if (wanted[i] == CU_POINTER_ATTRIBUTE_CONTEXT)
            *(void **)into[i] = (void *)1;
    }
    return CUDA_SUCCESS;
}

/* Touched pages are copied whole, with all of their heads. */
static void heads_inside_touched_pages_are_whole(void **state)
{
    (void)state;
    cuda.cuPointerGetAttributes = attributes;
    const char *paged = "kernel: k\n  signature: const f32 q[1][64][24][16],"
                        " const f32 k[%s][8][8][16], const f32 v[%s][8][8][16],"
                        " const i32 table[1][8], const i32 lengths[1], f32 y[1][64][24][16]\n"
                        "  reference: attention_paged\n  bind: {scale: 1}\n";
    char entry[400];
    snprintf(entry, sizeof entry, paged, "8", "8");
    assert_string_equal(cut(entry, 6, 65536), "kv_heads");
    snprintf(entry, sizeof entry, paged, "@table", "@table");
    assert_string_equal(cut(entry, 6, 65536), "");
}

static void scales_are_cut_with_their_rows(void **state)
{
    (void)state;
    const char *int8 = "kernel: k\n  signature: const i8 x[512][16], const i8 w[8][16],"
                       " const f32 x_scale[%s], f32 y[512][8]\n  reference: linear_int8\n";
    char entry[300];
    snprintf(entry, sizeof entry, int8, "512");
    assert_string_equal(cut(entry, 4, 8192), "m");
    assert_int_equal(b.subset.share, 1);
    assert_int_equal(b.array[2].axis, 0);
    assert_int_equal(b.call.tensor[2].dim[0], b.subset.count);
    snprintf(entry, sizeof entry, int8, "1"); /* one for all */
    assert_string_equal(cut(entry, 4, 8192), "m");
    assert_null(b.subset.with);
    assert_int_equal(b.array[2].axis, -1);
    assert_int_equal(b.call.tensor[2].dim[0], 1);
    snprintf(entry, sizeof entry, int8, "1024"); /* more than there are rows */
    assert_string_equal(cut(entry, 4, 8192), "");
    assert_string_equal(cut("kernel: k\n  signature: const i8 x[512][16], const i8 w[8][16],"
                            " f32 y[512][8]\n  reference: linear_int8\n",
                            3, 8192),
                        "m"); /* none at all */
}

static void rows_of_blocks_are_cut(void **state)
{
    (void)state;
    assert_string_equal(cut("kernel: k\n  signature: const q4_K w[512][512], f32 y[512][512]\n"
                            "  reference: dequantise_blocks\n",
                            2, 65536),
                        "rows");
    assert_int_equal(b.array[0].ndim, 2);
    assert_int_equal(b.array[0].stride[0], 288); /* bytes: two blocks of 144 */
    assert_int_equal(b.array[0].dim[1], 288);
    assert_int_equal(b.call.tensor[0].dim[1], 512);
    assert_string_equal(cut("kernel: k\n  signature: const f32 x[2][512], const q8_0 w[512][512],"
                            " f32 y[2][512]\n  reference: linear_blocks\n",
                            3, 65536),
                        "n");
    assert_int_equal(b.array[1].stride[0], 16 * 34);
}

/* ---- what it costs ---- */

static void estimates_follow_the_size(void **state)
{
    (void)state;
    static struct costs costs;
    assert_int_equal(costs_estimate(&costs, 1 << 20), 0);
    costs_note(&costs, 32 << 20, 73000);
    assert_int_equal(costs_estimate(&costs, 32 << 20), 73000);
    assert_int_equal(costs_estimate(&costs, 4 << 20), 73000);   /* nothing smaller was seen */
    assert_int_equal(costs_estimate(&costs, 64 << 20), 146000); /* twice the size */
    costs_note(&costs, 4 << 20, 15000);
    assert_int_equal(costs_estimate(&costs, 4 << 20), 15000);
    assert_int_equal(costs_estimate(&costs, 100), 15000);
    assert_int_equal(costs_estimate(&costs, 32 << 20), 73000);
    costs_note(&costs, 4 << 20, 19000);
    assert_int_equal(costs_estimate(&costs, 4 << 20), 16000);
    assert_int_equal(costs_estimate(&costs, UINT64_MAX), 73000ll << 6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(subsets_are_sound),
        cmocka_unit_test(a_subset_that_is_everything_is_none),
        cmocka_unit_test(the_seed_decides),
        cmocka_unit_test(all_items_have_their_turn),
        cmocka_unit_test(all_of_few_have_their_turn),
        cmocka_unit_test(entries_go_with_their_items),
        cmocka_unit_test(launches_kernels_and_ranks_draw_differently),
        cmocka_unit_test(rows_are_cut_where_there_are_many),
        cmocka_unit_test(columns_are_cut_where_rows_are_few),
        cmocka_unit_test(weights_count_but_leave_a_quarter),
        cmocka_unit_test(what_cannot_be_cut_is_whole),
        cmocka_unit_test(an_index_that_is_not_given_is_a_place),
        cmocka_unit_test(odd_rows_are_cut_by_whole_words),
        cmocka_unit_test(heads_are_cut_with_their_keys),
        cmocka_unit_test(heads_that_lie_in_a_row_are_cut_too),
        cmocka_unit_test(what_fits_best_is_cut_first),
        cmocka_unit_test(heads_that_do_not_divide_are_whole),
        cmocka_unit_test(heads_inside_touched_pages_are_whole),
        cmocka_unit_test(scales_are_cut_with_their_rows),
        cmocka_unit_test(rows_of_blocks_are_cut),
        cmocka_unit_test(estimates_follow_the_size),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
