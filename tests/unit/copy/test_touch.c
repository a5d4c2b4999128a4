/* Touched rows: how they are written, what is refused, and what becomes of them at a launch. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "driver/cuda_api.h"
#include "report/place.h"
#include "tests/unit/common/binding_fixture.h"
#include "lang/formals.h"
#include "copy/touch.h"

/* All memory is one allocation. */
enum { START = 0x10000, SIZE = 0x80000 };

static CUresult attributes(unsigned count, CUpointer_attribute *wanted, void **into,
                           CUdeviceptr address)
{
    for (unsigned i = 0; i < count && address >= START && address < START + SIZE; i++) {
        if (wanted[i] == CU_POINTER_ATTRIBUTE_RANGE_START_ADDR)
            *(CUdeviceptr *)into[i] = START;
        else if (wanted[i] == CU_POINTER_ATTRIBUTE_RANGE_SIZE)
            *(size_t *)into[i] = SIZE;
        else if (wanted[i] == CU_POINTER_ATTRIBUTE_MEMORY_TYPE)
            *(unsigned *)into[i] = CU_MEMORYTYPE_DEVICE;
        else if (wanted[i] == CU_POINTER_ATTRIBUTE_CONTEXT)
            *(void **)into[i] = (void *)1;
    }
    return CUDA_SUCCESS;
}

static int install(void **state)
{
    (void)state;
    cuda.cuPointerGetAttributes = attributes;
    return 0;
}

/* ---- the language ---- */

static void refuses(const char *text, const char *part)
{
    signature_refused(text, NULL, part);
}

static void rows_are_written_with_an_at(void **state)
{
    (void)state;
    const struct signature *s =
        signature_of("const f32 x[ @ ids : pitch ][cols], const i32 ids[n],"
                     " inout f32 y[@s.slots / page:a][@s.slots % page:b][8], f32 z[ * :p][4],"
                     " struct 8 { const i64 slots[n] @0 } s, i32 page",
                     NULL);
    const struct signature_item *x = signature_find(s, "x"), *y = signature_find(s, "y");
    assert_string_equal(x->rows, "ids");
    assert_int_equal(x->dim[0].kind, DIM_ROWS);
    assert_null(x->dim[0].extent);
    assert_string_equal(x->dim[0].stride, "pitch");
    assert_int_equal(x->dim[1].kind, DIM_SIZE);
    assert_string_equal(y->rows, "s.slots");
    assert_int_equal(y->dim[0].kind, DIM_PAGES);
    assert_string_equal(y->dim[0].extent, "page");
    assert_int_equal(y->dim[1].kind, DIM_PLACE);
    assert_string_equal(y->dim[1].stride, "b");
    assert_int_equal(signature_find(s, "z")->dim[0].kind, DIM_REST);
    assert_null(signature_find(s, "z")->rows);
    assert_null(signature_find(s, "ids")->rows);
}

static void badly_written_rows_are_refused(void **state)
{
    (void)state;
    refuses("f32 x[@]", "expected the array that names the rows");
    refuses("f32 x[@ids + 1]", "expected [@ids], or [@ids / n] and [@ids % n]");
    refuses("f32 x[4][@ids]", "are first dims");
    refuses("f32 x[4][*]", "are first dims");
    refuses("f32 x[@ids % p][4]", "comes behind a first dim [@ids / n]");
    refuses("f32 x[@ids / p][4]", "come together, once each");
    refuses("f32 x[@ids / p][@ids % p][@ids % p]", "come together, once each");
    refuses("f32 x[@ids][@ids % p]", "come together, once each");
    refuses("f32 x[@ids / p][@ids % q]", "pages have p places, and q");
    refuses("f32 x[@ids / p][@other % p]", "are named by 'ids' and 'other'");
    refuses("f32 x[@ids / 2 * p][@ids % 2 * p]", "a name, a number or parentheses");
    refuses("f32 x[@ids / ][@ids % 2]", "a name, a number or parentheses");
    signature_of("f32 x[@ids / (2 * p)][@ids % (2 * p)]", NULL);
}

static void promises_are_read(void **state)
{
    (void)state;
    struct formals f;
    struct error err;
    assert_int_equal(formals_parse(&f,
                                   "in ids[n], in table[entries][c], inout y?[entries][c], "
                                   "each c, touch entries by ids",
                                   &err),
                     STATUS_OK);
    assert_int_equal(f.touches, 1);
    assert_non_null(formals_touch(&f, formals_find(&f, "table"), 0));
    assert_non_null(formals_touch(&f, formals_find(&f, "y"), 0));
    assert_null(formals_touch(&f, formals_find(&f, "table"), 1));
    assert_null(formals_touch(&f, formals_find(&f, "ids"), 0));
    assert_int_equal(formals_parse(&f,
                                   "in s[n], inout k[blocks][page][c], touch blocks page by s, "
                                   "each c",
                                   &err),
                     STATUS_OK);
    assert_int_equal(f.touch[0].size[0], 1);
    assert_int_equal(f.touch[0].size[1], 2);
    assert_int_equal(f.each[0].by, -1);
    assert_int_equal(formals_parse(&f, "in s[n], out y[e], touch e by s, each n by s", &err),
                     STATUS_OK);
    assert_int_equal(f.each[0].by, 0);
    static const struct {
        const char *text, *says;
    } wrong[] = {
        {"in s[n], out y[e], touch e", "expected by, or another named dim"},
        {"in s[n], out y[e], touch x by s", "expected a named dim"},
        {"in s[n], out y[e], touch e by t", "the input whose elements are the indices"},
        {"in s[n], out y[e], touch e by y", "the input whose elements are the indices"},
        {"in s[n], out y[n][e], touch e by s", "must be the first dims of its arrays"},
        {"in s[n], out y[n], touch n by s", "must be the first dims of its arrays"},
        {"in s[n], out y[e][f][p], touch e p by s", "must be the first dims of its arrays"},
        {"in s[n], out y[e], touch e by s, in x[e]", "nothing else follows"},
        {"in s[n], out touch[e]", "a keyword"},
        {"in s[n], out y[e], touch e by s, each n", "an output has not the dim of each"},
        {"in s[n], out y[e], each n by s, touch e by s", "the input of a touch before"},
        {"in s[n], in t[n], out y[e], touch e by s, each n by t", "the input of a touch before"},
        {"in s[n], out y[e], out z[n][e], touch e by s", "must be the first dims"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        err = (struct error){0};
        bool accepted = !formals_parse(&f, wrong[i].text, &err);
        expect_refused(wrong[i].text, accepted, err.text, wrong[i].says);
    }
}

/* ---- what is refused when a registry is read ---- */

#define EMBED(table, ids)                                                                          \
    "signature: const " table ", const " ids ", f32 y[n][c], i32 n, i32 c\n  reference: "          \
    "embedding\n"

static void nonsense_is_refused(void **state)
{
    (void)state;
    entry_refused(EMBED("f32 table[@idz][c]", "i32 ids[n]"), "no array is called 'idz'");
    entry_refused(EMBED("f32 table[@n][c]", "i32 ids[n]"), "no array is called 'n'");
    entry_refused(EMBED("f32 table[@ids][c]", "f32 ids[n]"), "'ids' cannot name rows");
    entry_refused(EMBED("f32 table[@ids][c]", "i32 ids[*]"), "'ids' cannot name rows");
    entry_refused(EMBED("f32x4 table[@ids]", "i32 ids[n]"), "need a last dim of their own");
    entry_refused(EMBED("f32 table[@ids]", "i32 ids[n]"),
                  "its dims are not those of formal 'table'");
    entry_refused(EMBED("f32 table[@ids][2][c]", "i32 ids[n]"),
                  "which are 2, the first the rows [@ids]");
    entry_refused("signature: const f32 x[@ids][c], const i32 ids[n], f32 y[n][c], i32 n, i32 c\n"
                  "  reference: gelu\n",
                  "'ids' names, but these do not stand for one formal");
    entry_refused("signature: const f32 x[@index][c], const i32 index[r][c], f32 y[r][c], i32 r,"
                  " i32 c\n  reference: gather\n",
                  "does not promise to reach rows of its formal 'x' through 'index' alone");
    entry_refused("signature: const i32 a[n], const f32 table[@b][c], const i32 b[n], f32 y[n][c],"
                  " i32 n, i32 c\n  reference: embedding\n  bind: {ids: a}\n",
                  "these do not stand for one formal");
    entry_refused(
        "signature: const f32 key[n][h][d], const i64 slots[n], inout f32 a[@slots][h][d],"
        " inout f32 b[8][4][h][d], i32 n, i32 h, i32 d\n  reference: cache_append\n"
        "  bind: {key_cache: a, value: key, value_cache: b}\n",
        "all rows of 'b', which the reference reaches through them, too");
    entry_refused("signature: const f32 key[n][h][d], const i64 slots[n],"
                  " inout f32 a[@slots][4][h][d], i32 n, i32 h, i32 d\n  reference: cache_append\n"
                  "  bind: {key_cache: a}\n",
                  "expected [@slots / n][@slots % n]");
    entry_refused(
        "signature: const f32 table[@ids][c], const i32 ids[n], f32 y[n][c], i32 n, i32 c\n"
        "  reference: embedding\n  outlier: {inputs: table}\n",
        "'table' has touched rows, [@...]: the gate cannot find out which");
}

/* ---- launches ---- */

static uint64_t P = START, Q = START + 0x20000, R = START + 0x40000, null = 0;
static int32_t four = 4, six = 6, ten = 10;

/* Gives arrays the names of their pointers. */
static enum skip bind(const char *entry, const unsigned *sizes, void *const *params, uint64_t aim)
{
    enum skip skip = bind_and_plan(entry, sizes, params, aim);
    for (int i = 0; !skip && i < b.arrays; i++)
        b.array[i].name = b.array[i].address == P ? "P" : b.array[i].address == Q ? "Q" : "R";
    return skip;
}

static void rows_are_as_many_as_indices(void **state)
{
    (void)state;
    expect_bound(
        bind("signature: const bf16 t[@ids:10][six], const i64 ids[2][n], bf16 y[2 * n][six],"
             " i32 n, i32 six\n  reference: embedding\n  bind: {table: t}\n",
             SIZES(8, 8, 8, 4, 4), PARAMS(&P, &Q, &R, &four, &six), 0));
    assert_int_equal(b.arrays, 3);
    const struct bound_array *t = &b.array[b.tensor_array[1]];
    assert_int_equal(b.array[bound_ids(t)].address, Q);
    assert_int_equal(bound_ids(&b.array[bound_ids(t)]), -1);
    assert_int_equal(t->dim[0], 8);
    assert_int_equal(t->dim[1], 6);
    assert_int_equal(t->stride[0], 6);
    assert_int_equal(t->bytes, 8 * 6 * 2);
    assert_int_equal(t->rows.page, 1);
    assert_int_equal(t->rows.stride[0], 10);
    assert_int_equal(t->rows.run, 6);
    assert_int_equal(t->rows.runs, 1);
    assert_int_equal(bound_reach(t), 12);
    assert_int_equal(t->rows.limit, (SIZE - 12) / 20 + 1);
    assert_int_equal(b.call.tensor[1].dim[0], 8);
    assert_int_equal(b.call.tensor[1].stride[0], 6);
    assert_true(plan.touches && !plan.gathers && !plan.has_before);
    const struct placement *ids = &plan.placement[bound_ids(t)];
    assert_true(ids->scratch > 0 && (uint64_t)ids->scratch + touch_scratch(8) <= plan.bytes);
    assert_int_equal(plan.placement[b.tensor_array[1]].after % 256, 0);
    assert_int_equal(plan.placement[b.tensor_array[1]].scratch, 0);
}

#define CACHE(dims)                                                                                \
    "signature: const f32 key[n][2][8], const i64 slots[n], inout f32 c" dims ", i32 n, i32 p\n"   \
    "  reference: cache_append\n  bind: {key_cache: c}\n"

static void places_of_pages_are_rows(void **state)
{
    (void)state;
    expect_bound(bind(CACHE("[@slots / p][@slots % p][2][8]"), SIZES(8, 8, 8, 4, 4),
                      PARAMS(&P, &Q, &R, &ten, &four), 0));
    const struct bound_array *c = &b.array[b.tensor_array[3]];
    assert_int_equal(c->rows.page, 4);
    assert_int_equal(c->rows.stride[0], 64);
    assert_int_equal(c->rows.stride[1], 16);
    assert_int_equal(c->rows.runs, 1);
    assert_int_equal(c->rows.limit, (START + SIZE - R) / 256 * 4);
    assert_int_equal(b.call.tensor[3].dim[0], 10);
    assert_int_equal(b.call.tensor[3].dim[1], 1);
    assert_true(plan.has_before);
    struct place place;
    char text[64];
    assert_true(place_of(&b, b.call.tensor[3].id, 7 * 16 + 8 + 3, &place));
    place_text(&place, text, sizeof text);
    assert_string_equal(text, "R[Q[7]][0][1][3]");
    expect_bound(bind(CACHE("[@slots / p:64][@slots % p:8][2:32][8]"), SIZES(8, 8, 8, 4, 4),
                      PARAMS(&P, &Q, &R, &ten, &four), 0)); /* heads outside */
    c = &b.array[b.tensor_array[3]];
    assert_int_equal(c->rows.runs, 2);
    assert_int_equal(c->rows.run_stride, 32);
    assert_int_equal(c->rows.run, 8);
    assert_int_equal(b.call.tensor[3].stride[2], 8);
    expect_bound(bind(CACHE("[@slots][2][8]"), SIZES(8, 8, 8, 4, 4),
                      PARAMS(&P, &Q, &R, &ten, &four), 0)); /* one page of all places */
    assert_int_equal(b.call.tensor[3].dim[0], 1);
    assert_int_equal(b.call.tensor[3].dim[1], 10);
    assert_true(place_of(&b, b.call.tensor[3].id, 7 * 16 + 8 + 3, &place));
    place_text(&place, text, sizeof text);
    assert_string_equal(text, "R[Q[7]][1][3]");
}

static void launches_that_cannot_be_gathered_are_refused(void **state)
{
    (void)state;
    expect_refusal(bind(CACHE("[@slots / p:64][@slots % p:16][2:12][8]"), SIZES(8, 8, 8, 4, 4),
                        PARAMS(&P, &Q, &R, &ten, &four), 0),
                   SKIP_SHAPE, "its strides let rows overlap");
    expect_refusal(
        bind(CACHE("[@slots:0][2][8]"), SIZES(8, 8, 8, 4, 4), PARAMS(&P, &Q, &R, &ten, &four), 0),
        SKIP_SHAPE, "one run of elements, or several at one stride");
    expect_refusal(bind(CACHE("[@slots:900][2:100][8:2]"), SIZES(8, 8, 8, 4, 4),
                        PARAMS(&P, &Q, &R, &ten, &four), 0),
                   SKIP_SHAPE, "one run of elements, or several at one stride");
    expect_refusal(
        bind(CACHE("[@slots][2][8]"), SIZES(8, 8, 8, 4, 4), PARAMS(&P, &Q, &Q, &ten, &four), 0),
        SKIP_SHAPE, "names rows of 'c', and 'c' writes over it");
    uint64_t last = START + SIZE - 32, outside = START + SIZE;
    expect_refusal(
        bind(CACHE("[@slots][2][8]"), SIZES(8, 8, 8, 4, 4), PARAMS(&P, &Q, &last, &ten, &four), 0),
        SKIP_EXTENT, "no row of it fits the 32 bytes");
    expect_refusal(bind(CACHE("[@slots][2][8]"), SIZES(8, 8, 8, 4, 4),
                        PARAMS(&P, &Q, &outside, &ten, &four), 0),
                   SKIP_EXTENT, "argument 'c': 0x90000 is no memory");
    int64_t most = (1 << 30) + 1;
    expect_refusal(bind("signature: const f32 t[@ids][4], const i32 ids[n], f32 y[n][4], i64 n\n"
                        "  reference: embedding\n  bind: {table: t}\n",
                        SIZES(8, 8, 8, 8), PARAMS(&P, &Q, &R, &most), 0),
                   SKIP_TOO_LARGE, "'ids' names 1073741825 rows of 't'");
    expect_refusal(bind("signature: const f32 t[@ids][4], const i32 ids?[n], f32 y[n][4], i32 n\n"
                        "  reference: embedding\n  bind: {table: t}\n",
                        SIZES(8, 8, 8, 4), PARAMS(&P, &null, &R, &four), 0),
                   SKIP_NULL_POINTER, "'ids' is absent, and names rows of 't'");
}

static void the_rest_goes_to_the_end_of_the_allocation(void **state)
{
    (void)state;
    static const char entry[] = "signature: const f32 x[*:10][c], const i32 ids[n], f32 y[n][c],"
                                " i32 n, i32 c\n  reference: embedding\n  bind: {table: x}\n";
    expect_bound(bind(entry, SIZES(8, 8, 8, 4, 4), PARAMS(&R, &Q, &P, &four, &six), 0));
    assert_int_equal(b.call.tensor[1].dim[0], (0x40000 - 24) / 40 + 1);
    assert_true(b.array[b.tensor_array[1]].bytes <= 0x40000 && !plan.touches);
    uint64_t last = START + SIZE - 24, beyond = START + SIZE - 20;
    expect_bound(bind(entry, SIZES(8, 8, 8, 4, 4), PARAMS(&last, &Q, &P, &four, &six), 0));
    assert_int_equal(b.call.tensor[1].dim[0], 1);
    expect_refusal(bind(entry, SIZES(8, 8, 8, 4, 4), PARAMS(&beyond, &Q, &P, &four, &six), 0),
                   SKIP_EXTENT, "no row of it fits the 20 bytes");
}

static void few_indices_are_few_rows(void **state)
{
    (void)state;
    static const char entry[] =
        "signature: const f32 t[@ids][64], const i32 ids[1000], f32 y[1000][64]\n"
        "  reference: embedding\n  bind: {table: t}\n";
    expect_bound(bind(entry, SIZES(8, 8, 8), PARAMS(&P, &Q, &R), 0));
    uint64_t whole = plan.bytes;
    expect_bound(bind(entry, SIZES(8, 8, 8), PARAMS(&P, &Q, &R), 32768));
    assert_true(b.subset.dim && plan.gathers && plan.touches);
    assert_true(plan.bytes < whole / 4 && b.subset.count >= 40);
    const struct bound_array *t = &b.array[b.tensor_array[1]];
    assert_int_equal(t->dim[0], b.subset.count);
    assert_int_equal(b.call.tensor[1].dim[0], b.subset.count);
    assert_int_equal(b.call.tensor[0].dim[0], b.subset.count);
    assert_int_equal(b.array[bound_ids(t)].dim[0], 1000);
    static const char caches[] = CACHE("[@slots / p][@slots % p][2][8]");
    int32_t many = 1000;
    expect_bound(bind(caches, SIZES(8, 8, 8, 4, 4), PARAMS(&P, &Q, &R, &many, &four), 16384));
    assert_true(b.subset.dim && b.subset.count >= 40 && b.subset.count < 200);
    assert_int_equal(b.call.tensor[3].dim[0], b.subset.count);
    assert_int_equal(b.call.tensor[3].dim[1], 1);
    struct place place;
    char text[64];
    assert_true(place_of(&b, b.call.tensor[3].id, (uint64_t)b.subset.count * 16 - 1, &place));
    place_text(&place, text, sizeof text);
    assert_string_equal(text, "R[Q[999]][0][1][7]"); /* the last is always among them */
    static const char sums[] = "signature: const i32 ids[1000], const f32 x[1000][8],"
                               " inout f32 y[@ids][8]\n  reference: index_add\n";
    expect_bound(bind(sums, SIZES(8, 8, 8), PARAMS(&P, &Q, &R), 4096));
    assert_null(b.subset.dim); /* all tokens go into a sum, and its columns are in the rows */
    static const char whole_cache[] =
        "signature: const f32 key[1000][2][8], const i64 slots[1000], inout f32 c[64][16][2][8]\n"
        "  reference: cache_append\n  bind: {key_cache: c}\n";
    expect_bound(bind(whole_cache, SIZES(8, 8, 8), PARAMS(&P, &Q, &R), 100000));
    assert_int_equal(b.call.tensor[0].dim[0], 1000); /* its heads are fewer, its tokens not */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_written_with_an_at),
        cmocka_unit_test(badly_written_rows_are_refused),
        cmocka_unit_test(promises_are_read),
        cmocka_unit_test(nonsense_is_refused),
        cmocka_unit_test(rows_are_as_many_as_indices),
        cmocka_unit_test(places_of_pages_are_rows),
        cmocka_unit_test(launches_that_cannot_be_gathered_are_refused),
        cmocka_unit_test(the_rest_goes_to_the_end_of_the_allocation),
        cmocka_unit_test(few_indices_are_few_rows),
    };
    return cmocka_run_group_tests(tests, install, bound_release);
}
