/* Short copies: their pieces put each element where the plan has it, and which checks get one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "tests/unit/common/binding_fixture.h"
#include "lang/dtype.h"
#include "copy/snapshot_short.h"

enum { ARRAYS = 4, ROOM = 1 << 20, NONE = -1 };

static uint8_t memory[ARRAYS][ROOM], image[ARRAYS * ROOM] __attribute__((aligned(SNAPSHOT_ALIGN)));
static struct check check;

static int fill(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof memory; i++)
        ((uint8_t *)memory)[i] = (uint8_t)(i * 2654435761u >> 13);
    return 0;
}

/* Plans a launch with `pointers` arrays, `skew` bytes behind aligned addresses. */
static void plan_launch(const char *entry, int pointers, unsigned skew, uint64_t aim)
{
    static uint64_t pointer[ARRAYS];
    unsigned sizes[ARRAYS + 1] = {0};
    void *params[ARRAYS];
    for (int i = 0; i < pointers; i++) {
        uint64_t start = (uint64_t)(uintptr_t)memory[i];
        pointer[i] = (start + SNAPSHOT_ALIGN - 1) / SNAPSHOT_ALIGN * SNAPSHOT_ALIGN + skew;
        params[i] = &pointer[i];
        sizes[i] = 8;
    }
    expect_bound(bind_and_plan(entry, sizes, params, aim));
    memset(&check, 0, sizeof check);
    check.binding = b;
    check.room.bytes = (plan.bytes + 255) / 256 * 256;
    memcpy(check.placement, plan.placement, sizeof check.placement);
}

/* All elements of what the check copies of array `index`, by the strides that the reference uses.
 */
static void expect_array(int index, enum snapshot_part part)
{
    const struct bound_array *array = &b.array[index];
    const uint64_t size = dtype_bytes(array->dtype);
    int64_t at[8] = {0};
    for (;;) {
        int64_t from = 0, to = 0;
        for (int d = 0; d < array->ndim; d++) {
            bool chosen = binding_gathers(&b, index) && d == array->axis;
            from += (chosen ? subset_item(&b.subset, at[d]) : at[d]) * array->stride[d];
            to += at[d] * plan.placement[index].stride[d];
        }
        const uint8_t *source = (const uint8_t *)(uintptr_t)array->address + from * (int64_t)size;
        const uint8_t *target =
            image + snapshot_target(&plan.placement[index], part) + to * (int64_t)size;
        if (memcmp(source, target, size))
            fail_msg("'%s': element %lld of the launch is not at %lld", array->name,
                     (long long)from, (long long)to);
        int d = array->ndim - 1;
        while (d >= 0 && ++at[d] == binding_seen(&b, index, d))
            at[d--] = 0;
        if (d < 0)
            return;
    }
}

static bool is_the_programs(const struct snapshot_piece *piece)
{
    for (int i = 0; i < b.arrays; i++) {
        const struct bound_array *array = &b.array[i];
        if (piece->source >= array->address &&
            piece->source + piece->bytes <= array->address + array->bytes)
            return true;
    }
    return false;
}

/* The launch's pieces, each of which a block can move and none of which touches anything else;
 * NONE: there would be too many. */
static void expect_pieces(enum snapshot_part part, int least, int most)
{
    struct snapshot_piece piece[SNAPSHOT_PIECES];
    const int pieces = snapshot_pieces(&check, &plan, part, piece, SNAPSHOT_PIECES);
    assert_int_equal(snapshot_pieces(&check, &plan, part, NULL, SNAPSHOT_PIECES), pieces);
    assert_in_range(pieces + 1, least + 1, most + 1);
    if (pieces == NONE)
        return;
    memset(image, 0xee, sizeof image);
    for (int i = 0; i < pieces; i++) {
        assert_true(is_the_programs(&piece[i]) && piece[i].bytes > 0);
        assert_int_equal(piece[i].source % SNAPSHOT_UNIT, piece[i].target % SNAPSHOT_UNIT);
        assert_true(piece[i].source % SNAPSHOT_UNIT + piece[i].bytes <= SNAPSHOT_CHUNK);
        assert_true(piece[i].target + piece[i].bytes <= plan.bytes);
        memcpy(image + piece[i].target, (void *)(uintptr_t)piece[i].source, piece[i].bytes);
    }
    for (int i = 0; i < b.arrays; i++) {
        if (snapshot_target(&plan.placement[i], part) != NOT_COPIED)
            expect_array(i, part);
    }
}

static const struct {
    const char *entry;
    int pointers;
    unsigned skew;
    uint64_t aim; /* 0: whole */
    const char *dim;
    int least, most; /* pieces */
} shapes[] = {
    {"signature: const f32 a[50000], const f32 b[50000], f32 y[50000]\n  reference: add\n", 3, 0, 0,
     "", 39, 39},
    {"signature: const f32 a[50000], const f32 b[50000], f32 y[50000]\n  reference: add\n", 3, 4, 0,
     "", 39, 39},
    {"signature: const f32 a[50000], const f32 b[50000], f32 y[50000]\n  reference: add\n", 3, 4,
     49152, "cols", 96, 96},
    {"signature: const f32 a[3], const f32 b[3], f32 y[3]\n  reference: add\n", 3, 8, 0, "", 3, 3},
    {"signature: const f32 x[40:130][101], f32 y[40:130][101]\n  reference: softmax\n", 2, 4, 0, "",
     80, 80},
    {"signature: const f32 x[5:9001][9000], f32 y[5:9001][9000]\n  reference: softmax\n", 2, 4, 0,
     "", 30, 30},
    {"signature: const f32 a[512][64], const f32 b[512][64], f32 y[512][64]\n  reference: add\n", 3,
     0, 49152, "rows", 96, 96},
    {"signature: const bf16 x[1000][101], bf16 y[1000][101]\n  reference: softmax\n", 2, 2, 65536,
     "rows", 40, 64},
    {"signature: const f32 x[600:130][101], f32 y[600:130][101]\n  reference: softmax\n", 2, 0,
     32768, "rows", 64, 90},
    {"signature: const f32 x[1][2][9999], f32 y[1][9999]\n  reference: silu_and_mul\n", 2, 0, 8192,
     "cols", 96, 96},
    {"signature: const f32 x[4][2][9999], f32 y[4][9999]\n  reference: silu_and_mul\n", 2, 0, 49152,
     "cols", NONE, NONE},
    {"signature: const f32 x[600:130][101], f32 y[600:130][101]\n  reference: softmax\n", 2, 0, 0,
     "", NONE, NONE},
    {"signature: const f32 a[260000], const f32 b[260000], f32 y[260000]\n  reference: add\n", 3, 0,
     0, "", NONE, NONE},
};

static void pieces_are_what_the_plan_says(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        plan_launch(shapes[i].entry, shapes[i].pointers, shapes[i].skew, shapes[i].aim);
        assert_string_equal(b.subset.dim ? b.subset.dim : "", shapes[i].dim);
        expect_pieces(SNAPSHOT_AFTER, shapes[i].least, shapes[i].most);
        expect_pieces(SNAPSHOT_BEFORE, 0, 0);
    }
}

static void what_is_overwritten_goes_before(void **state)
{
    (void)state;
    plan_launch("signature: inout f32 a[600][100], const f32 b[600][100]\n  reference: add\n"
                "  bind: {y: a}\n",
                2, 4, 65536);
    assert_string_equal(b.subset.dim, "rows");
    expect_pieces(SNAPSHOT_BEFORE, 1, SNAPSHOT_PIECES);
    expect_pieces(SNAPSHOT_AFTER, 2, SNAPSHOT_PIECES);
}

/* ---- which checks ---- */

enum { RING = 1 << 18 };

static struct side side;
static uint64_t tail;

static uint64_t needs_of(const struct check *of)
{
    return of->room.end > tail + RING ? of->room.end - RING : 0;
}

static bool describe_part(enum snapshot_part part, struct snapshot_call_short *call)
{
    int pieces = 0;
    bool described = snapshot_short_describe(&side, &check, &plan, part, call, &pieces);
    assert_int_equal(described, check.room.reserved);
    assert_int_equal(described, pieces > 0 && check.room.end > check.room.begin);
    return described;
}

static bool describe(struct snapshot_call_short *call)
{
    return describe_part(SNAPSHOT_AFTER, call);
}

static void plan_small(void)
{
    plan_launch("signature: const f32 a[5000], const f32 b[5000], f32 y[5000]\n  reference: add\n",
                3, 0, 0);
}

static void a_small_snapshot_has_room_of_its_own(void **state)
{
    (void)state;
    struct snapshot_call_short call;
    uint64_t before = 0;
    for (int i = 0; i < 12; i++) {
        plan_small();
        check.sequence = 7 + (uint64_t)i;
        assert_true(describe(&call));
        assert_int_equal(call.header.sequence, 7 + i);
        assert_int_equal(call.header.seals, 1);
        assert_null(call.header.place);
        assert_true(call.header.base >= side.arena.reserve_base &&
                    call.header.base + check.room.bytes <= side.arena.reserve_base + RING);
        assert_true(call.header.base != before);
        assert_int_equal(call.needs, needs_of(&check));
        before = call.header.base;
    }
    assert_true(call.needs > 0);
}

static void plan_overwriting(const char *dims, uint64_t aim)
{
    char entry[200];
    snprintf(entry, sizeof entry,
             "signature: inout f32 a%s, const f32 b%s\n  reference: add\n  bind: {y: a}\n", dims,
             dims);
    plan_launch(entry, 2, 0, aim);
    assert_true(plan.has_before);
}

static void both_copies_share_their_room(void **state)
{
    (void)state;
    struct snapshot_call_short before, after;
    for (int i = 0; i < 12; i++) {
        plan_overwriting("[5000]", 0);
        assert_true(describe_part(SNAPSHOT_BEFORE, &before));
        assert_true(describe_part(SNAPSHOT_AFTER, &after));
        assert_int_equal(before.header.seals, 0);
        assert_int_equal(after.header.seals, 1);
        assert_ptr_equal(before.header.place, after.header.place);
        assert_non_null(after.header.place);
        assert_int_equal(before.header.base, after.header.base);
        assert_int_equal(before.needs, needs_of(&check));
        assert_int_equal(after.needs, before.needs);
        assert_int_not_equal(before.piece[0].target, after.piece[0].target);
    }
    assert_true(before.needs > 0);
}

/* With no room for the first, the second is no short one either, though there is room by then. */
static void the_second_copy_is_as_the_first(void **state)
{
    (void)state;
    enum { TAKEN = 4 * RESERVE_ROUNDS };
    struct snapshot_call_short call;
    struct reserve_room room[TAKEN];
    for (int i = 0; i < TAKEN; i++)
        assert_true(reserve_take(side.arena.reserve, 1 << 16, &room[i]));
    plan_overwriting("[5000]", 0);
    assert_false(describe_part(SNAPSHOT_BEFORE, &call));
    for (int i = 0; i < TAKEN; i++)
        reserve_end(side.arena.reserve, room[i].begin, room[i].end);
    assert_false(describe_part(SNAPSHOT_AFTER, &call));
    assert_true(describe_part(SNAPSHOT_BEFORE, &call));
}

static void others_are_copied_another_way(void **state)
{
    (void)state;
    struct snapshot_call_short call;
    plan_overwriting("[600:130][101]", 0); /* too many pieces */
    assert_false(describe_part(SNAPSHOT_BEFORE, &call));
    assert_false(describe_part(SNAPSHOT_AFTER, &call));
    plan_small();
    check.gate.result = GATE_OUTLIER;
    assert_false(describe(&call));
    plan_small();
    plan.projected = true;
    assert_false(describe(&call));
    plan_small();
    plan.touches = true;
    assert_false(describe(&call));
    plan_launch("signature: const f32 x[600:130][101], f32 y[600:130][101]\n  reference: softmax\n",
                2, 0, 0);
    assert_false(describe(&call));
    plan_small();
    reserve_shut(side.arena.reserve);
    assert_false(describe(&call));
}

static int make_side(void **state)
{
    (void)state;
    tail = 0;
    side.slot.place = 1 << 12;
    side.arena.reserve_base = 1 << 20;
    side.arena.reserve = reserve_create(RING, &tail, 16);
    for (int i = 0; i < 4 && side.arena.reserve; i++) { /* once around */
        struct reserve_room room;
        assert_true(reserve_take(side.arena.reserve, RING / 4, &room));
        reserve_end(side.arena.reserve, room.begin, room.end);
    }
    return side.arena.reserve ? 0 : -1;
}

static int drop_side(void **state)
{
    reserve_destroy(side.arena.reserve);
    return bound_release(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(pieces_are_what_the_plan_says, fill),
        cmocka_unit_test_setup(what_is_overwritten_goes_before, fill),
        cmocka_unit_test_setup_teardown(a_small_snapshot_has_room_of_its_own, make_side, drop_side),
        cmocka_unit_test_setup_teardown(both_copies_share_their_room, make_side, drop_side),
        cmocka_unit_test_setup_teardown(the_second_copy_is_as_the_first, make_side, drop_side),
        cmocka_unit_test_setup_teardown(others_are_copied_another_way, make_side, drop_side),
    };
    return cmocka_run_group_tests(tests, NULL, bound_release);
}
