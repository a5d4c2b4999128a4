/* Arrays behind addresses in device memory: how they are written, what is refused, what becomes of
 * them at a launch, and which addresses may be followed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "driver/cuda_api.h"
#include "report/place.h"
#include "tests/unit/common/binding_fixture.h"
#include "tests/unit/fakes/fake_memory.h"
#include "extra/digest.h"
#include "judge/listed.h"
#include "bind/ranges.h"
#include "copy/shrink.h"
#include "copy/touch.h"

/* Allocations of SIZE bytes, GAP apart, the first `alive` of them; all on device 1. */
enum { START = 0x100000, SIZE = 0x1000, GAP = 0x2000, DEVICE = 1 };
static int alive = 100;
static int asked;

/* And a reservation of which the mappings from `mapped_from` to below `mapped_to` are there. */
enum { RESERVED = 0x40000000, RESERVED_SIZE = 0x1000000, MAPPING = 0x10000 };
static uint64_t mapped_from = RESERVED + 2 * MAPPING, mapped_to = RESERVED + 50 * MAPPING;

static CUresult attributes(unsigned count, CUpointer_attribute *wanted, void **into,
                           CUdeviceptr address)
{
    bool reserved = address >= RESERVED && address < RESERVED + RESERVED_SIZE;
    uint64_t number = (address - START) / GAP, start = START + number * GAP;
    bool known = address >= START && number < (uint64_t)alive && address < start + SIZE;
    asked++;
    if (!address)
        return CUDA_ERROR_INVALID_VALUE;
    const struct fake_range allocation = {start, SIZE, DEVICE, (void *)1},
                            reservation = {RESERVED, RESERVED_SIZE, DEVICE, NULL};
    if (known || reserved)
        fake_range_describe(known ? &allocation : &reservation, count, wanted, into);
    return CUDA_SUCCESS;
}

static CUresult attribute(void *out, CUpointer_attribute wanted, CUdeviceptr address)
{
    asked++;
    if (address < mapped_from || address >= mapped_to)
        return CUDA_ERROR_INVALID_VALUE;
    if (wanted == CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR)
        *(CUdeviceptr *)out = address / MAPPING * MAPPING;
    else
        *(size_t *)out = MAPPING;
    return CUDA_SUCCESS;
}

static bool copies_fail;

static CUresult copy_to_host(void *to, CUdeviceptr from, size_t bytes, CUstream stream)
{
    (void)stream;
    if (copies_fail)
        return CUDA_ERROR_UNKNOWN;
    memcpy(to, (void *)(uintptr_t)from, bytes);
    return CUDA_SUCCESS;
}

static CUresult query(CUstream stream)
{
    (void)stream;
    return CUDA_SUCCESS;
}

static CUresult error_name(CUresult result, const char **name)
{
    (void)result;
    *name = "CUDA_ERROR_UNKNOWN";
    return CUDA_SUCCESS;
}

static int install(void **state)
{
    (void)state;
    cuda.cuPointerGetAttributes = attributes;
    cuda.cuPointerGetAttribute = attribute;
    cuda.cuMemcpyDtoHAsync = copy_to_host;
    cuda.cuStreamQuery = query;
    cuda.cuGetErrorName = error_name;
    return 0;
}

/* ---- the language ---- */

static void addresses_are_written_with_an_ampersand(void **state)
{
    (void)state;
    const struct signature *s = signature_of(
        "const f32 a[ & 2 * batch ][m: lda][k], inout f16 **c[&batch][8], f32 *const *d"
        "[&(b && 1)], struct 16 { const bf16 **p[&n][4] @8 } s, i32 batch",
        NULL);
    const struct signature_item *a = signature_find(s, "a"), *c = signature_find(s, "c");
    assert_true(signature_listed(a) && signature_listed(c));
    assert_true(signature_listed(signature_find(s, "d")) &&
                signature_listed(signature_find(s, "s.p")));
    assert_false(signature_listed(signature_find(s, "batch")));
    assert_string_equal(a->dim[0].extent, "2 * batch");
    assert_int_equal(a->dim[0].kind, DIM_LISTED);
    assert_int_equal(a->dim[1].kind, DIM_SIZE);
    assert_string_equal(a->dim[1].stride, "lda");
    assert_int_equal(a->role, ROLE_READ);
    assert_int_equal(c->role, ROLE_INOUT);
    assert_int_equal(signature_find(s, "d")->role, ROLE_WRITE);
}

#define GELU(x) "signature: \"" x ", f32 y[b][n], i32 n, i32 b\"\n  reference: gelu\n"

static void nonsense_is_refused(void **state)
{
    (void)state;
    entry_refused(GELU("const f32 x[n][&b]"), "[&n] is a first dim, once");
    entry_refused(GELU("const f32 x[&n][&b]"), "[&n] is a first dim, once");
    entry_refused(GELU("const f32 x[&b][*]"), "does not go with [*]");
    entry_refused(GELU("const f32 x[*][&b]"), "does not go with [*]");
    entry_refused(GELU("const f32 x[&b][@n]"), "does not go with [*] and [@ids]");
    entry_refused(GELU("const f32 x[&b from 3][n]"), "'from' does not go with [&n]");
    entry_refused(GELU("const f32 x[&b][n from 3]"), "'from' does not go with [&n]");
    entry_refused(GELU("const f32 x[&b: 3][n]"), "strides belong to the dims behind it");
    entry_refused(GELU("const f32 x[&]"), "expected how many addresses there are");
    entry_refused(GELU("const f32 x[&-3][n]"), "extent -3 is negative");
    entry_refused(GELU("const f32 x[&z][n]"), "unknown name 'z'");
    entry_refused(GELU("const f32 **x[b][n]"), "as in x[&batch][rows][cols], or _ to skip it");
    entry_refused(GELU("const f32 **x"), "as in x[&batch][rows][cols], or _ to skip it");
    entry_refused(GELU("const f32 ***x[&b][n]"), "is a pointer to pointers");
    entry_refused(GELU("const f32 &x"), "expected a name");
    entry_refused(GELU("const f32x4 x[&b]"), "vectors and blocks need a last dim of their own");
    entry_refused("signature: const f32 x[&b][n], f32 y[b][n], const f32 a[&b], i32 n, i32 b\n"
                  "  reference: scale\n  bind: {alpha: \"a[0]\"}\n",
                  "its elements lie behind addresses in device memory");
    entry_refused(GELU("const f32 x[&b][n]") "  outlier: {inputs: x}\n",
                  "the gate does not follow them");
    entry_refused("signature: const f32 t[@ids][n], const i64 ids[&b], f32 y[b][n], i32 n, i32 b\n"
                  "  reference: embedding\n  bind: {table: t}\n",
                  "'ids' cannot name rows");
    entry_refused(GELU("const f32 x[&b][n], const f32 p[&b][n], const f32 q[&b][n], "
                       "const f32 r[&b][n], const f32 s[&b][n], const f32 t[&b][n], "
                       "const f32 u[&b][n]"),
                  "more than 6 arrays [&n]");
}

/* ---- launches ---- */

static struct error err;
static uint64_t P = START, Q = START + GAP, R = START + 2 * GAP, odd = START + 4, null = 0;
static int32_t two = 2, three = 3, four = 4, six = 6, ten = 10, none = 0, minus = -1,
               thousands = 70000;

static const struct bound_array *tensor(int slot)
{
    return &b.array[b.tensor_array[slot]];
}

#define BMM                                                                                        \
    "signature: \"const f32 **a[&s][m: ten][k], const f32 **b[&s][k][n], f32 **c[&s][m][n], "      \
    "i32 s, i32 m, i32 n, i32 k, i32 ten\"\n  reference: bmm\n"
#define BMM_SIZES  SIZES(8, 8, 8, 4, 4, 4, 4, 4)
#define BMM_PARAMS PARAMS(&P, &Q, &R, &three, &two, &four, &six, &ten)

static void what_is_listed_is_one_dense_array(void **state)
{
    (void)state;
    expect_bound(bind_and_plan(BMM, BMM_SIZES, BMM_PARAMS, 0));
    assert_int_equal(b.arrays, 6);
    const struct bound_array *a = tensor(0), *c = tensor(2), *list = &b.array[bound_ids(a)];
    assert_true(a->rows.listed && c->rows.listed && !list->rows.listed);
    assert_string_equal(a->name, "a");
    assert_string_equal(list->name, "&a");
    assert_int_equal(list->address, P);
    assert_int_equal(list->dtype, DTYPE_U64);
    assert_int_equal(list->bytes, 3 * 8);
    assert_true(binding_is_list(&b, bound_ids(a)) && !binding_is_list(&b, b.tensor_array[0]));
    /* 2 rows of 6 at a distance of 10, and the reference's matrices are dense. */
    assert_int_equal(a->rows.reach, (10 + 6) * 4);
    assert_int_equal(a->rows.runs, 2);
    assert_int_equal(a->rows.run, 6);
    assert_int_equal(a->rows.run_stride, 10);
    assert_int_equal(a->bytes, 3 * 2 * 6 * 4);
    const struct ref_tensor *t = &b.call.tensor[0];
    assert_true(t->ndim == 3 && t->dim[0] == 3 && t->dim[1] == 2 && t->dim[2] == 6);
    assert_true(t->stride[0] == 12 && t->stride[1] == 6 && t->stride[2] == 1);
    /* Where outputs lie is not known, so all that is read is copied before, and only that. */
    assert_true(plan.touches && plan.listed && plan.has_before);
    assert_true(plan.placement[b.tensor_array[0]].before != NOT_COPIED &&
                plan.placement[b.tensor_array[0]].after == NOT_COPIED);
    assert_true(plan.placement[b.tensor_array[2]].before == NOT_COPIED &&
                plan.placement[b.tensor_array[2]].after != NOT_COPIED);
    assert_int_equal(plan.placement[bound_ids(a)].scratch, 0);
    assert_int_equal(bound_reach(a), 0); /* nothing of it is at the list's address */
    struct place place;
    char text[64];
    assert_true(place_of(&b, b.call.tensor[2].id, 2 * 8 + 4 + 3, &place));
    place_text(&place, text, sizeof text);
    assert_string_equal(text, "c[2][1][3]");
}

static void dims_fold_and_turn(void **state)
{
    (void)state;
    expect_bound(
        bind_and_plan("signature: \"const f32 x[&s][m][k], f32 y[rows][k], i32 s, i32 m, i32 k\"\n"
                      "  let: {rows: s * m}\n  reference: relu\n",
                      SIZES(8, 8, 4, 4, 4), PARAMS(&P, &Q, &three, &two, &six), 0));
    const struct ref_tensor *t = &b.call.tensor[0];
    assert_true(t->ndim == 2 && t->dim[0] == 6 && t->dim[1] == 6 && t->stride[0] == 6);
    /* Columns outside: the copy keeps that order. */
    expect_bound(
        bind_and_plan("signature: \"const f32 a[&s][m: 1][k: four], const f32 b[&s][k][n], "
                      "inout f32 c[&s][m: 1][n: four], i32 s, i32 m, i32 n, i32 k, i32 four\"\n"
                      "  reference: bmm\n",
                      BMM_SIZES, PARAMS(&P, &Q, &R, &three, &two, &four, &six, &four), 0));
    t = &b.call.tensor[0];
    assert_true(t->stride[0] == 12 && t->stride[1] == 1 && t->stride[2] == 2);
    assert_int_equal(tensor(0)->rows.reach, (1 + 5 * 4 + 1) * 4);
    assert_true(plan.placement[b.tensor_array[2]].before != NOT_COPIED);
    /* One element behind each address. */
    expect_bound(
        bind_and_plan("signature: \"const f32 x[&s], f32 y[s], i32 s\"\n  reference: relu\n",
                      SIZES(8, 8, 4), PARAMS(&P, &Q, &three), 0));
    assert_int_equal(tensor(0)->rows.reach, 4);
    assert_int_equal(b.call.tensor[0].dim[1], 3);
}

/* Blocks are bytes to all but the reference. */
static void blocks_are_listed_too(void **state)
{
    (void)state;
    expect_bound(bind_and_plan("signature: \"const q4_0 **w[&s][64], f32 y[s][64], i32 s\"\n"
                               "  reference: dequantise_blocks\n",
                               SIZES(8, 8, 4), PARAMS(&P, &Q, &three), 0));
    const struct ref_tensor *t = &b.call.tensor[0];
    assert_int_equal(tensor(0)->rows.reach, 2 * 18);
    assert_int_equal(tensor(0)->bytes, 3 * 2 * 18);
    assert_true(t->dim[0] == 3 && t->dim[1] == 64 && t->stride[0] == 36 && t->stride[1] == 18);
}

static void launches_that_make_no_sense_are_refused(void **state)
{
    (void)state;
    expect_refusal(
        bind_and_plan(BMM, BMM_SIZES, PARAMS(&P, &Q, &R, &none, &two, &four, &six, &ten), 0),
        SKIP_EMPTY, "extent s is 0");
    expect_refusal(
        bind_and_plan(BMM, BMM_SIZES, PARAMS(&P, &Q, &R, &minus, &two, &four, &six, &ten), 0),
        SKIP_SHAPE, "extent s is -1");
    expect_refusal(
        bind_and_plan(BMM, BMM_SIZES, PARAMS(&P, &Q, &R, &thousands, &two, &four, &six, &ten), 0),
        SKIP_TOO_LARGE, "'a' lists 70000 addresses, more than 65536");
    expect_refusal(
        bind_and_plan(BMM, BMM_SIZES, PARAMS(&odd, &Q, &R, &three, &two, &four, &six, &ten), 0),
        SKIP_SHAPE, "'a' lists addresses at 0x100004, which is not aligned to them");
    expect_refusal(
        bind_and_plan(BMM, BMM_SIZES, PARAMS(&P, &null, &R, &three, &two, &four, &six, &ten), 0),
        SKIP_NULL_POINTER, "'b' is null");
    expect_refusal(
        bind_and_plan(BMM, BMM_SIZES, PARAMS(&P, &Q, &R, &three, &two, &four, &six, &two), 0),
        SKIP_SHAPE, "'a': what an address leads to must be one run of elements");
    expect_refusal(bind_and_plan("signature: \"const f32 x[&s][k], f32 y[s][k], i32 s, i32 k\"\n"
                                 "  reference: relu\n",
                                 SIZES(8, 8, 4, 4), PARAMS(&P, &P, &three, &six), 0),
                   SKIP_SHAPE, "'&x' names rows of 'x', and 'y' writes over it");
}

/* What is chosen of a batch are addresses, and what lies behind them. */
static void a_part_of_a_batch_is_chosen(void **state)
{
    (void)state;
    static int32_t many = 500, k = 64;
    const uint64_t aim = 64 * 1024;
    expect_bound(
        bind_and_plan(BMM, BMM_SIZES, PARAMS(&P, &Q, &R, &many, &four, &four, &k, &k), aim));
    assert_non_null(b.subset.dim);
    int64_t seen = b.subset.count;
    assert_true(seen > 4 && seen < 60 && b.subset.total == 500);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(b.call.tensor[i].dim[0], seen);
        assert_int_equal(b.subset.axis[i], 0);
        assert_int_equal(tensor(i)->dim[0], seen);
        const struct bound_array *list = &b.array[bound_ids(tensor(i))];
        assert_true(list->axis == 0 && list->dim[0] == 500);
        assert_true(binding_gathers(&b, bound_ids(tensor(i))));
        assert_int_equal(binding_seen(&b, bound_ids(tensor(i)), 0), seen);
    }
    assert_true(plan.bytes < aim * 5 / 4);
    struct place place;
    assert_true(place_of(&b, b.call.tensor[2].id, (uint64_t)seen * 16 - 1, &place));
    assert_int_equal(place.index[0], 499);
    /* Folded with another dim there is nothing to choose by. */
    expect_bound(
        bind_and_plan("signature: \"const f32 x[&s][m][k], f32 y[rows][k], i32 s, i32 m, i32 k\"\n"
                      "  let: {rows: s * m}\n  reference: relu\n",
                      SIZES(8, 8, 4, 4, 4), PARAMS(&P, &Q, &many, &four, &k), aim));
    assert_null(b.subset.dim);
}

/* ---- ranges ---- */

static struct ranges ranges;

static uint32_t taken(struct snapshot_range out[SNAPSHOT_RANGES])
{
    return ranges_take(&ranges, DEVICE, out);
}

static void what_the_driver_knows_is_learnt(void **state)
{
    (void)state;
    struct snapshot_range out[SNAPSHOT_RANGES];
    memset(&ranges, 0, sizeof ranges);
    assert_int_equal(taken(out), 0);
    assert_false(ranges_hold(&ranges, 0, 1));
    assert_int_equal(ranges_add(&ranges, START + 100, 50, DEVICE, &err), RANGES_ADDED);
    assert_int_equal(ranges_add(&ranges, START, SIZE, DEVICE, &err), RANGES_HELD);
    assert_int_equal(taken(out), 1);
    assert_true(out[0].begin == START && out[0].end == START + SIZE);
    assert_true(ranges_hold(&ranges, START + SIZE - 1, 1));
    assert_false(ranges_hold(&ranges, START + SIZE - 1, 2));
    assert_false(ranges_hold(&ranges, START - 1, 2));
    assert_false(ranges_hold(&ranges, START + SIZE, 1));
    assert_false(ranges_hold(&ranges, START + 8, UINT64_MAX - 4));
    static const struct {
        uint64_t address, bytes;
        const char *says;
    } wrong[] = {
        {START + SIZE - 4, 8, "reach outside the allocation"},
        {START + SIZE, 4, "no memory of the driver's"},
        {0x10, 4, "no memory of the driver's"},
        {UINT64_MAX - 2, 8, "no memory of the driver's"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        err = (struct error){0};
        assert_int_equal(ranges_add(&ranges, wrong[i].address, wrong[i].bytes, DEVICE, &err),
                         RANGES_REFUSED);
        if (!strstr(err.text, wrong[i].says))
            fail_msg("'%s' does not say '%s'", err.text, wrong[i].says);
    }
    assert_int_equal(ranges_add(&ranges, START + GAP, 4, 0, &err), RANGES_REFUSED);
    assert_int_equal(taken(out), 1);
}

static void what_is_freed_is_not_handed_out(void **state)
{
    (void)state;
    struct snapshot_range out[SNAPSHOT_RANGES];
    memset(&ranges, 0, sizeof ranges);
    for (uint64_t i = 0; i < 3; i++)
        ranges_add(&ranges, START + i * GAP, 8, DEVICE, &err);
    assert_int_equal(taken(out), 3);
    assert_int_equal(ranges_take(&ranges, DEVICE + 1, out), 0);
    alive = 1;
    assert_int_equal(taken(out), 1);
    assert_int_equal(out[0].begin, START);
    alive = 100;
    assert_int_equal(taken(out), 3); /* as it is read each time */
    alive = 1;
    ranges_purge(&ranges, DEVICE);
    alive = 100;
    assert_int_equal(taken(out), 1);
    asked = 0;
    taken(out);
    assert_int_equal(asked, 1); /* nothing is queried of what is absent */
}

static void the_oldest_goes(void **state)
{
    (void)state;
    struct snapshot_range out[SNAPSHOT_RANGES];
    memset(&ranges, 0, sizeof ranges);
    for (uint64_t i = 0; i < SNAPSHOT_RANGES; i++)
        assert_int_equal(ranges_add(&ranges, START + i * GAP, 8, DEVICE, &err), RANGES_ADDED);
    assert_int_equal(taken(out), SNAPSHOT_RANGES);
    assert_int_equal(ranges_add(&ranges, START + 90 * GAP, 8, DEVICE, &err), RANGES_REPLACED);
    assert_false(ranges_hold(&ranges, START, 8));
    assert_true(ranges_hold(&ranges, START + GAP, 8));
    assert_int_equal(taken(out), SNAPSHOT_RANGES);
}

static void pieces_are_mapped(void **state)
{
    (void)state;
    struct snapshot_range out[SNAPSHOT_RANGES];
    memset(&ranges, 0, sizeof ranges);
    const uint64_t at = RESERVED + 10 * MAPPING;
    assert_int_equal(ranges_add(&ranges, at + 8, 64, DEVICE, &err), RANGES_ADDED);
    assert_int_equal(taken(out), 1);
    assert_true(out[0].begin == at && out[0].end == at + 32 * MAPPING);
    /* One that is longer than a few pieces is held as a whole, and takes the place of its part. */
    assert_int_equal(ranges_add(&ranges, RESERVED + 2 * MAPPING, 48 * MAPPING, DEVICE, &err),
                     RANGES_ADDED);
    assert_int_equal(taken(out), 1);
    assert_true(out[0].begin == mapped_from && out[0].end == mapped_to);
    assert_int_equal(ranges_add(&ranges, RESERVED, 8, DEVICE, &err), RANGES_REFUSED);
    assert_int_equal(ranges_add(&ranges, mapped_to - 8, 16, DEVICE, &err), RANGES_REFUSED);
    mapped_to -= MAPPING; /* unmapped since */
    assert_int_equal(taken(out), 0);
    mapped_to += MAPPING;
}

/* ---- what becomes of a check that did not follow an address ---- */

static struct side side;
static struct check check;
static uint64_t copied[3][80];
static char staging[STAGING_BYTES];

/* A check of a launch that BMM describes, whose lists were copied as in `copied`. */
static enum skip look(int32_t count, bool *again)
{
    expect_bound(
        bind_and_plan(BMM, BMM_SIZES, PARAMS(&P, &Q, &R, &count, &two, &four, &six, &ten), 0));
    memset(&check, 0, sizeof check);
    check.binding = b;
    check.room.at = (uint64_t)(uintptr_t)copied;
    for (int i = 0; i < b.arrays; i++)
        check.placement[i] = plan.placement[i];
    for (int i = 0; i < 3; i++) {
        struct placement *list = &check.placement[bound_ids(tensor(i))];
        list->before = (char *)copied[i] - (char *)copied;
    }
    side.device = DEVICE;
    side.staging_host = staging;
    why = (struct error){0};
    return listed_read(&side, &check, again, &why);
}

static void fill_lists(uint64_t step)
{
    for (uint64_t i = 0; i < 3; i++) {
        for (uint64_t t = 0; t < 80; t++)
            copied[i][t] = START + (t * step + i) % 100 * GAP + 64;
    }
    memset(&side.ranges, 0, sizeof side.ranges);
}

static void lists_are_learnt_from(void **state)
{
    (void)state;
    struct snapshot_range out[SNAPSHOT_RANGES];
    bool again = false;
    fill_lists(1);
    assert_int_equal(look(5, &again), SKIP_NEW_MEMORY);
    assert_true(again);
    assert_int_equal(ranges_take(&side.ranges, DEVICE, out), 7);
    assert_int_equal(look(5, &again), SKIP_NEW_MEMORY);
    alive = 3; /* what is freed meanwhile is dropped, and reported */
    assert_int_equal(look(5, &again), SKIP_ADDRESS);
    assert_non_null(strstr(why.text, "'a': address 3 of 5, 0x106040: "));
    assert_non_null(strstr(why.text, "no memory of the driver's"));
    alive = 100;
    copies_fail = true;
    assert_int_equal(look(5, &again), SKIP_DRIVER);
    assert_non_null(strstr(why.text, "'a': the addresses cannot be copied"));
    copies_fail = false;
}

static void bad_addresses_are_told(void **state)
{
    (void)state;
    static const struct {
        uint64_t address;
        const char *says;
    } wrong[] = {
        {0, "'b': address 2 of 5, 0x0: it is null"},
        {START + 2, "'b': address 2 of 5, 0x100002: it is no multiple of 4 bytes"},
        {START + SIZE - 92, "reach outside the allocation"},
        {0xdeadbeef0000, "'b': address 2 of 5, 0xdeadbeef0000: 0xdeadbeef0000 is no memory"},
        {UINT64_MAX - 3, "no memory of the driver's"},
    };
    bool again;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        fill_lists(1);
        copied[1][2] = wrong[i].address;
        if (look(5, &again) != SKIP_ADDRESS)
            fail_msg("0x%llx was taken", (unsigned long long)wrong[i].address);
        if (!strstr(why.text, wrong[i].says))
            fail_msg("'%s' does not say '%s'", why.text, wrong[i].says);
        copied[1][2] = START + SIZE - 96; /* b has 96 bytes */
        assert_int_equal(look(5, &again), SKIP_NEW_MEMORY);
    }
}

static void too_many_allocations_are_told(void **state)
{
    (void)state;
    bool again = true;
    fill_lists(1);
    assert_int_equal(look(62, &again), SKIP_NEW_MEMORY); /* and two more: 64 */
    assert_true(again);
    fill_lists(1);
    assert_int_equal(look(63, &again), SKIP_ADDRESS);
    assert_non_null(strstr(why.text, "lead to more than 64 allocations"));
    /* Others' go where they have to, but then the launch's turn is not given back. */
    fill_lists(1);
    assert_int_equal(look(50, &again), SKIP_NEW_MEMORY);
    assert_true(again);
    for (int i = 0; i < 3; i++)
        for (uint64_t t = 0; t < 80; t++)
            copied[i][t] = START + (60 + t % 30) * GAP;
    assert_int_equal(look(30, &again), SKIP_NEW_MEMORY);
    assert_false(again);
}

/* Only where it is written does it matter. */
static void what_is_written_twice_is_told(void **state)
{
    (void)state;
    bool again;
    fill_lists(1);
    copied[0][1] = copied[0][2];
    look(50, &again);
    assert_int_equal(listed_twice(&side, &check, &why), SKIP_NONE);
    copied[2][40] = copied[2][3];
    look(40, &again);
    assert_int_equal(listed_twice(&side, &check, &why), SKIP_NONE);
    look(50, &again);
    assert_int_equal(listed_twice(&side, &check, &why), SKIP_SHAPE);
    assert_non_null(strstr(why.text, "'c' is written, and its addresses 3 and 40 of 50 are one, "));
    copies_fail = true; /* then a finding stays one */
    assert_int_equal(listed_twice(&side, &check, &why), SKIP_NONE);
    copies_fail = false;
}

/* Rows that may end with their memory end where their range was noted to. */
static void what_was_cut_is_told(void **state)
{
    (void)state;
    fill_lists(1);
    look(5, &(bool){false});
    for (int i = 0; i < check.binding.arrays; i++)
        check.binding.array[i].rows.reach = 4;
    assert_int_equal(listed_cut(&side, &check, &why), SKIP_NONE);
    for (int i = 0; i < SNAPSHOT_RANGES; i++)
        atomic_fetch_sub(&side.ranges.end[i], SIZE - 64 - 8);
    assert_int_equal(listed_cut(&side, &check, &why), SKIP_ADDRESS);
}

/* What a kernel reads does not depend on where its matrices lie. */
static int digests;
static CUresult count_launch(CUfunction function, unsigned gx, unsigned gy, unsigned gz,
                             unsigned bx, unsigned by, unsigned bz, unsigned shared,
                             CUstream stream, void **params, void **extra)
{
    (void)function, (void)gx, (void)gy, (void)gz, (void)bx, (void)by, (void)bz, (void)shared;
    (void)stream, (void)params, (void)extra;
    digests++;
    return CUDA_SUCCESS;
}

static CUresult set_bytes(CUdeviceptr to, unsigned char value, size_t count, CUstream stream)
{
    (void)to, (void)value, (void)count, (void)stream;
    return CUDA_SUCCESS;
}

static void addresses_are_not_hashed(void **state)
{
    (void)state;
    bool again;
    static struct digest_sums sums;
    cuda.cuLaunchKernel = count_launch;
    cuda.cuMemsetD8Async = set_bytes;
    fill_lists(1);
    look(5, &again);
    struct lane lane = {.check = &check, .digest = (CUdeviceptr)(uintptr_t)&sums};
    lane.digest_host = &sums;
    assert_int_equal(digest_start(&side, &lane, &err), STATUS_OK);
    assert_int_equal(digests, 3); /* a, b, c */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(addresses_are_written_with_an_ampersand),
        cmocka_unit_test(nonsense_is_refused),
        cmocka_unit_test(what_is_listed_is_one_dense_array),
        cmocka_unit_test(dims_fold_and_turn),
        cmocka_unit_test(blocks_are_listed_too),
        cmocka_unit_test(launches_that_make_no_sense_are_refused),
        cmocka_unit_test(a_part_of_a_batch_is_chosen),
        cmocka_unit_test(what_the_driver_knows_is_learnt),
        cmocka_unit_test(what_is_freed_is_not_handed_out),
        cmocka_unit_test(the_oldest_goes),
        cmocka_unit_test(pieces_are_mapped),
        cmocka_unit_test(lists_are_learnt_from),
        cmocka_unit_test(bad_addresses_are_told),
        cmocka_unit_test(too_many_allocations_are_told),
        cmocka_unit_test(what_is_written_twice_is_told),
        cmocka_unit_test(what_was_cut_is_told),
        cmocka_unit_test(addresses_are_not_hashed),
    };
    return cmocka_run_group_tests(tests, install, NULL);
}
