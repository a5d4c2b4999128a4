/*
 * test_each.c - what references promise by `each`, held against the references themselves.
 *
 * For each promise a problem is drawn, a third to a half of the dim's items is picked, and these
 * are presented as a problem of their own. Its reference values must be those of the whole problem,
 * bit by bit: then a launch may be checked on some items, and the others have no verdict.
 * A dim that goes with another has one, two or three entries for each item; one that is like
 * another as many as that or one.
 *
 * So with what they promise by `touch`: the rows that the indices name are presented as a problem
 * of their own, in which the indices are the numbers of these rows.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "tests/unit/common/random_values.h"
#include "refs/abi/ref_host.h"
#include "refs/abi/ref_list.h"
#include "refs/abi/ref_merge.h"
#include "tests/common/ref_inputs.h"
#include "lang/formals.h"

enum { ELEMENTS_MAX = 4096, ITEMS_MAX = 32, NO_SIZE = -2 };

/* One array: the whole problem's, and what is left of it for the chosen items. Doubles, or integers
 * where they are indices. */
struct array {
    bool bound;
    uint64_t before[ELEMENTS_MAX], after[ELEMENTS_MAX];
    uint64_t some_before[ELEMENTS_MAX], some_after[ELEMENTS_MAX];
};

struct problem {
    const struct ref_builtin *reference;
    struct formals formals;
    int size; /* the dim of the promise, or NO_SIZE ... */
    int64_t items, chosen, choice[ITEMS_MAX];
    int with; /* the dim that goes with it, or NO_SIZE */
    int64_t entries;
    const struct formal_touch *touch; /* ... and this, or both */
    int64_t rows, row[ITEMS_MAX];     /* that are touched; -1: one of zeros */
    struct array array[REF_MAX_TENSORS];
    double whole[ELEMENTS_MAX], some[ELEMENTS_MAX]; /* reference values */
};

static struct problem problem;
static int64_t size_named(const char *name)
{
    static const struct {
        const char *name;
        int64_t size;
    } rows[] = {
        {"rows", 9},      {"m", 7},        {"tokens", 8},  {"cols", 10},    {"k", 12},
        {"classes", 9},   {"half", 6},     {"n", 9},       {"entries", 11}, {"positions", 13},
        {"bins", 5},      {"time", 6},     {"batch", 5},   {"heads", 4},    {"groups", 4},
        {"channels", 3},  {"size", 5},     {"queries", 6}, {"keys", 7},     {"dim", 6},
        {"width", 9},     {"kv_heads", 2}, {"blocks", 13}, {"page", 4},     {"pages", 3},
        {"chunks", 3},    {"inner", 8},    {"bounds", 3},  {"added", 2},    {"places", 6},
        {"splits", 3},    {"best", 3},     {"planes", 4},  {"triples", 12}, {"listed", 3},
        {"sequences", 2}, {"high", 3},     {"wide", 2},    {"xs", 7},       {"ws", 9},
        {"xh", 7},        {"xw", 3},       {"wh", 3},      {"ww", 3},       {"items", 9},
        {"words", 3},     {"filters", 6},  {"depth", 1},   {"height", 5},   {"window_h", 2},
        {"window_w", 3},  {"out_h", 3},    {"out_w", 3},   {"pixels", 40},  {"ah", 7},
        {"aw", 3},        {"bh", 3},       {"outer", 2},   {"bw", 3},       {"taps", 12},
        {"stored", 9},    {"count", 7},    {"parts", 3},   {"states", 3},   {"kept", 4},
        {"steps", 4},     {"length", 11},  {"area", 18},   {"square", 16},  {"t_high", 5},
        {"t_wide", 3},    {"sources", 8},  {"bags", 4},    {"out_d", 1},    {"second_size", 1},
        {"valid", 5},     {"scales", 4},   {"sums", 3},    {"pairs", 6},    {"third_size", 1}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (strcmp(rows[i].name, name) == 0)
            return rows[i].size;
    }
    fail_msg("no size for '%s'", name);
    return 0;
}

static bool is_output(const struct formal *formal)
{
    return formal->kind == FORMAL_OUT || formal->kind == FORMAL_INOUT;
}

static const struct ref_input *kind_of(const struct problem *p, const struct formal *formal)
{
    return ref_input_find(p->reference->name, formal->name);
}

static enum dtype dtype_of(const struct problem *p, const struct formal *formal)
{
    const struct ref_input *kind = kind_of(p, formal);
    return kind && kind->below ? DTYPE_I64 : DTYPE_F64;
}

static int64_t size_of(const struct problem *p, int size, bool some)
{
    if (p->touch && some && size == p->touch->size[0])
        return p->rows;
    if (p->touch && some && size == p->touch->size[1])
        return 1;
    if (size == p->size)
        return some ? p->chosen : p->items;
    if (size == p->with)
        return some && p->entries > 1 ? p->chosen * p->entries / p->items : p->entries;
    return size_named(p->formals.size_name[size]);
}

static int64_t dim_of(const struct problem *p, const struct formal *formal, int d, bool some)
{
    int size = formal->dim[d].size;
    return size < 0 ? formal->dim[d].literal : size_of(p, size, some);
}

static int64_t count_of(const struct problem *p, const struct formal *formal, bool some)
{
    int64_t count = 1;
    for (int d = 0; d < formal->ndim; d++)
        count *= dim_of(p, formal, d, some);
    assert_true(count <= ELEMENTS_MAX);
    return count;
}

/* The same for touched rows; -1 where it is one of no row. */
static int64_t touched_index(const struct problem *p, const struct formal *formal, int64_t i)
{
    bool pages = p->touch->size[1] >= 0;
    int64_t rows = dim_of(p, formal, 0, false), inside;
    if (pages)
        rows *= dim_of(p, formal, 1, false);
    inside = count_of(p, formal, false) / rows;
    int64_t row = p->row[i / inside];
    return row < 0 ? -1 : row * inside + i % inside;
}

/* Of entry `at` of dim `size` in the small problem the number in the whole one. */
static int64_t whole_entry(const struct problem *p, int size, int64_t at)
{
    int64_t share = p->entries / p->items;
    if (size >= 0 && size == p->size)
        return p->choice[at];
    if (size >= 0 && size == p->with && share > 0)
        return p->choice[at / share] * share + at % share;
    return at;
}

/* The element of the whole array that is element `i` of the chosen items. */
static int64_t whole_index(const struct problem *p, const struct formal *formal, int64_t i)
{
    if (p->touch && formals_touch(&p->formals, formal, p->touch->by))
        return touched_index(p, formal, i);
    int64_t index = 0, stride = 1;
    for (int d = formal->ndim - 1; d >= 0; d--) {
        int64_t dim = dim_of(p, formal, d, true), at = i % dim;
        i /= dim;
        index += stride * whole_entry(p, formal->dim[d].size, at);
        stride *= dim_of(p, formal, d, false);
    }
    return index;
}

static uint64_t drawn(const struct problem *p, const struct formal *formal, int64_t i)
{
    const struct ref_input *kind = kind_of(p, formal);
    double value = 4 * uniform() - 2;
    uint64_t bits;
    if (kind && kind->below)
        return (uint64_t)(int64_t)ref_input_index(kind, i, count_of(p, formal, false),
                                                  size_named(kind->below), uniform());
    if (kind && kind->kind == BIT)
        value = uniform() < 0.9;
    if (kind && kind->kind == POSITIVE)
        value = 0.5 + uniform();
    if (kind && kind->kind == SHARE)
        value = 0.05 + 0.9 * uniform();
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* Which row each index names, if none before it does; in the small problem it is the number of the
 * first that does. */
static void choose_rows(struct problem *p)
{
    for (int f = 0; f < p->formals.count; f++) {
        const struct formal *formal = &p->formals.formal[f];
        struct array *a = &p->array[formal->slot];
        if (!formal_is_array(formal) || formal->slot != p->touch->by)
            continue;
        p->rows = count_of(p, formal, true);
        assert_true(p->rows <= ITEMS_MAX);
        for (int64_t t = 0; t < p->rows; t++) {
            int64_t id = (int64_t)a->before[whole_index(p, formal, t)], first = 0;
            while ((int64_t)a->before[whole_index(p, formal, first)] != id)
                first++;
            p->row[t] = id < 0 || first < t ? -1 : id;
            a->some_before[t] = (uint64_t)(id < 0 ? -1 : first);
        }
    }
}

static void take_some(struct problem *p, const struct formal *formal)
{
    struct array *a = &p->array[formal->slot];
    for (int64_t k = 0; k < count_of(p, formal, true); k++) {
        int64_t from = whole_index(p, formal, k);
        a->some_before[k] = from < 0 ? 0 : a->before[from];
        a->some_after[k] = from < 0 ? 0 : a->after[from];
    }
}

/* Draws everything; `without` is an input that stays unbound, or NULL. */
static void draw(struct problem *p, const char *without)
{
    for (int f = 0; f < p->formals.count; f++) {
        const struct formal *formal = &p->formals.formal[f];
        struct array *a = &p->array[formal->slot];
        if (!formal_is_array(formal))
            continue;
        bool has = formals_axis(formal, p->size) >= 0 || formals_axis(formal, p->with) >= 0;
        a->bound = !(without && strcmp(without, formal->name) == 0) &&
                   (p->touch || !is_output(formal) || has);
        for (int64_t k = 0; k < count_of(p, formal, false); k++) {
            a->before[k] = drawn(p, formal, k);
            a->after[k] = drawn(p, formal, k);
        }
    }
    if (p->touch)
        choose_rows(p);
    for (int f = 0; f < p->formals.count; f++) {
        const struct formal *formal = &p->formals.formal[f];
        if (formal_is_array(formal) && !(p->touch && formal->slot == p->touch->by))
            take_some(p, formal);
    }
}

static void find_reference(struct problem *p, const char *reference)
{
    struct error err = {{0}};
    size_t i = 0;
    while (i < ref_builtin_count && strcmp(ref_builtins[i].name, reference) != 0)
        i++;
    assert_true(i < ref_builtin_count);
    p->reference = &ref_builtins[i];
    if (formals_parse(&p->formals, p->reference->formals, &err))
        fail_msg("%s: %s", reference, err.text);
}

static int size_of_name(const struct formals *formals, const char *name)
{
    int size = 0;
    while (strcmp(formals->size_name[size], name) != 0)
        assert_true(++size < formals->sizes);
    return size;
}

/* A promise, held or not: `items` and `entries` 0 for as many as the dims usually have. */
struct promise {
    const char *reference, *dim, *with; /* with NULL: no other dim */
    const char *without;                /* an input that stays unbound, or NULL */
    int64_t items, entries;
    int by; /* slot of the input whose touched rows count as items, or -1 */
};

static void prepare(struct problem *p, const struct promise *promise)
{
    find_reference(p, promise->reference);
    p->touch = promise->by < 0 ? NULL : &p->formals.touch[0];
    p->size = size_of_name(&p->formals, promise->dim);
    p->with = promise->with ? size_of_name(&p->formals, promise->with) : NO_SIZE;
    p->items = promise->items ? promise->items : size_named(promise->dim);
    p->entries = promise->entries;
    p->chosen = 0;
    for (int64_t item = 1; item < p->items; item++) { /* not the first: places must not matter */
        if (item == p->items - 1 || uniform() < 0.4)
            p->choice[p->chosen++] = item;
    }
    draw(p, promise->without);
}

static void prepare_touch(struct problem *p, const struct formal_touch *touch)
{
    p->touch = touch;
    p->size = p->with = NO_SIZE;
    p->items = p->entries = 1;
    draw(p, NULL);
}

static void view(const struct problem *p, const struct formal *formal, bool some,
                 struct ref_tensor *t)
{
    const struct array *a = &p->array[formal->slot];
    int64_t stride = 1;
    if (a->bound && formal->kind != FORMAL_OUT)
        t->in = some ? a->some_before : a->before;
    if (a->bound && is_output(formal))
        t->got = some ? a->some_after : a->after;
    t->bytes = count_of(p, formal, some) * 8;
    t->absent = formal->fallback;
    t->dtype = (uint8_t)dtype_of(p, formal);
    t->ndim = (uint8_t)formal->ndim;
    t->id = (uint32_t)formal->slot;
    for (int d = formal->ndim - 1; d >= 0; d--) {
        t->dim[d] = dim_of(p, formal, d, some);
        t->stride[d] = stride;
        stride *= t->dim[d];
    }
}

/* An int formal without a default. Those of a volume divide its sizes. */
static int64_t number_named(const struct problem *p, const char *name)
{
    bool volume = strncmp(p->reference->name, "conv3d", 6) == 0;
    return !volume ? 4 : strcmp(name, "out_h") == 0 ? 3 : 2;
}

/* Rows of queries behind the end of a sequence are not visited. */
static bool visits_all(const struct problem *p)
{
    return strncmp(p->reference->name, "attention_lengths", 17) != 0;
}

/* The reference's values of one output; what it does not visit stays NaN. False where it reached
 * outside an array. */
static bool store(const struct problem *p, const struct formal *output, bool some, double *out)
{
    struct ref_verdict answer;
    struct ref_call call = {.lambda = 8,
                            .unit_roundoff = 0x1p-53,
                            .pieces = 1,
                            .group = 1,
                            .seed = 1,
                            .answer = &answer,
                            .store = out,
                            .store_tensor = (uint32_t)output->slot,
                            .store_count = count_of(p, output, some)};
    ref_verdict_clear(&answer);
    memset(out, 0xff, (size_t)call.store_count * sizeof *out);
    for (int i = 0; i < p->formals.sizes; i++) {
        const struct formal *formal = formals_find(&p->formals, p->formals.size_name[i]);
        call.size[i] =
            formal ? (formal->optional ? (int64_t)formal->fallback : number_named(p, formal->name))
                   : size_of(p, i, some);
    }
    for (int f = 0; f < p->formals.count; f++) {
        const struct formal *formal = &p->formals.formal[f];
        if (formal->kind == FORMAL_REAL)
            call.scalar[formal->slot] = ref_scalar(formal->name);
        else if (formal_is_array(formal))
            view(p, formal, some, &call.tensor[formal->slot]);
    }
    assert_int_equal(ref_host_run(p->reference->name, &call, 1), 0);
    return answer.refused == 0;
}

/* Elements of all outputs whose value differs between the two problems, or that none visited. */
static int differences(struct problem *p)
{
    static const double nothing = 0;
    int count = 0, elements = 0;
    for (int f = 0; f < p->formals.count; f++) {
        const struct formal *formal = &p->formals.formal[f];
        if (!formal_is_array(formal) || !is_output(formal) || !p->array[formal->slot].bound)
            continue;
        assert_true(store(p, formal, false, p->whole));
        count += !store(p, formal, true, p->some);
        for (int64_t i = 0; i < count_of(p, formal, true); i++, elements++) {
            int64_t at = whole_index(p, formal, i);
            const double *whole = at < 0 ? &nothing : &p->whole[at];
            count +=
                memcmp(whole, &p->some[i], sizeof *whole) != 0 || (isnan(*whole) && visits_all(p));
        }
    }
    assert_true(elements > 0);
    return count;
}

/* Four tries; of a dim with another one with as many entries of that one as there may be. */
static void expect_promise(const char *reference, const struct formals *formals,
                           const struct formal_each *each)
{
    struct promise promise = {.reference = reference, .by = each->by};
    promise.dim = formals->size_name[each->size];
    for (int64_t seed = 0; seed < 4; seed++) {
        if (each->with >= 0) {
            promise.with = formals->size_name[each->with];
            promise.items = each->like ? size_named(promise.dim) : 4;
            promise.entries =
                each->like ? (seed % 2 ? 1 : promise.items) : promise.items * (1 + seed % 3);
        }
        random_state = (uint64_t)seed;
        prepare(&problem, &promise);
        int bad = differences(&problem);
        if (bad)
            fail_msg("%s is not independent along %s, %lld of %s: %d elements differ", reference,
                     promise.dim, (long long)promise.entries, promise.with ? promise.with : "none",
                     bad);
    }
}

static void promises_hold(void **state)
{
    (void)state;
    int promises = 0, linked = 0;
    for (size_t i = 0; i < ref_builtin_count; i++) {
        struct formals formals;
        assert_int_equal(formals_parse(&formals, ref_builtins[i].formals, NULL), STATUS_OK);
        for (int e = 0; e < formals.eaches; e++, promises++) {
            expect_promise(ref_builtins[i].name, &formals, &formals.each[e]);
            linked += formals.each[e].with >= 0;
        }
    }
    assert_true(promises >= 210); /* each reference but histogram and the like makes some */
    assert_true(linked >= 15);
}

/* What is not promised, because it does not hold: the comparison above would fail. */
static void what_is_not_promised_would_be_noticed(void **state)
{
    (void)state;
    static const struct promise rows[] = {
        {"softmax_causal", "rows", .by = -1},
        {"softmax", "cols", .by = -1},
        {"row_cumsum", "cols", .by = -1},
        {"rmsnorm", "cols", .by = -1},
        {"rope_halves", "tokens", .without = "position", .by = -1},
        {"rope_pairs_table", "tokens", .without = "position", .by = -1},
        {"groupnorm", "channels", .by = -1},
        {"histogram", "bins", .by = -1},
        {"index_add", "entries", .by = -1},
        {"cross_entropy_backward", "classes", .by = -1},
        {"layernorm_backward", "cols", .by = -1},
        {"embedding_backward", "entries", .by = -1},
        {"embedding_rmsnorm_backward", "cols", .by = -1},
        {"attention", "heads", .by = -1},
        {"attention_varlen_backward", "kv_heads", .by = -1},
        /* these heads are not those of these kv heads */
        {"attention", "kv_heads", "heads", .items = 4, .entries = 6, .by = -1},
        /* scales of groups of rows, two for each row, and of tiles */
        {"dequantise", "rows", .by = -1},
        {"dequantise", "rows", "high", .entries = 18, .by = -1},
        {"quantise", "cols", .by = -1},
        {"linear_int8", "m", .by = -1},
        {"linear_f8", "n", .by = -1},
        {"conv", "filters", .by = -1},
        {"batchnorm_training", "batch", .by = -1},
        {"adaptive_avg_pool", "out_h", .by = -1}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        random_state = i;
        prepare(&problem, &rows[i]);
        if (!differences(&problem))
            fail_msg("%s looks independent along %s", rows[i].reference, rows[i].dim);
    }
    random_state = 1; /* two tokens of one row */
    prepare(&problem, &(struct promise){"index_add", "tokens", .by = 0});
    assert_true(differences(&problem) > 0);
}

static void promises_of_rows_hold(void **state)
{
    (void)state;
    int promises = 0;
    for (size_t i = 0; i < ref_builtin_count; i++) {
        struct formals formals;
        assert_int_equal(formals_parse(&formals, ref_builtins[i].formals, NULL), STATUS_OK);
        for (int t = 0; t < formals.touches; t++, promises++) {
            for (uint64_t seed = 0; seed < 4; seed++) {
                random_state = seed;
                find_reference(&problem, ref_builtins[i].name);
                prepare_touch(&problem, &formals.touch[t]);
                int bad = differences(&problem);
                if (bad)
                    fail_msg("%s does not touch rows by %s alone: %d elements differ",
                             ref_builtins[i].name, formals.size_name[formals.touch[t].size[0]],
                             bad);
            }
        }
    }
    assert_true(promises >= 13);
}

/* Inputs that are no indices of those rows, or not of them alone. */
static void other_rows_would_be_noticed(void **state)
{
    (void)state;
    static const struct {
        const char *reference, *size, *by;
    } rows[] = {{"attention_paged", "blocks", "lengths"},
                {"cache_append_rows", "rows", "filled"},
                {"cache_append_paged", "blocks", "filled"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct formal_touch touch = {.size = {0, -1}};
        find_reference(&problem, rows[i].reference);
        const struct formals *formals = &problem.formals;
        while (strcmp(formals->size_name[touch.size[0]], rows[i].size) != 0)
            touch.size[0]++;
        touch.by = formals_find(formals, rows[i].by)->slot;
        problem.formals.touch[0] = touch; /* as if it promised that */
        random_state = i;
        prepare_touch(&problem, &touch);
        if (!differences(&problem))
            fail_msg("%s seems to touch %s by %s", rows[i].reference, rows[i].size, rows[i].by);
    }
}

/* Sums of all items into each place; or an element depends on its place among all. */
static bool depends_on_all(const char *reference)
{
    return strcmp(reference, "histogram") == 0 || strcmp(reference, "arange") == 0 ||
           strcmp(reference, "cross_entropy_total") == 0 || strcmp(reference, "nll_loss") == 0 ||
           strcmp(reference, "conv_backward_weight") == 0 ||
           strcmp(reference, "conv3d_backward_weight") == 0 || strcmp(reference, "mse_loss") == 0 ||
           strcmp(reference, "bce_loss") == 0 || strcmp(reference, "dequantise_codes") == 0 ||
           strcmp(reference, "embedding_rmsnorm_backward") == 0 ||
           strcmp(reference, "quantise_tiles") == 0 || strcmp(reference, "nll_loss_images") == 0 ||
           strcmp(reference, "flip") == 0 || strcmp(reference, "repeat_index") == 0 ||
           strcmp(reference, "histogram_range") == 0 || strcmp(reference, "linspace") == 0 ||
           strcmp(reference, "attention_dropout_backward") == 0 ||
           strncmp(reference, "random_", 7) == 0;
}

static void all_others_promise_something(void **state)
{
    (void)state;
    for (size_t i = 0; i < ref_builtin_count; i++) {
        struct formals formals;
        assert_int_equal(formals_parse(&formals, ref_builtins[i].formals, NULL), STATUS_OK);
        if ((formals.eaches > 0) == depends_on_all(ref_builtins[i].name))
            fail_msg("%s has %d", ref_builtins[i].name, formals.eaches);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(promises_hold),
        cmocka_unit_test(promises_of_rows_hold),
        cmocka_unit_test(other_rows_would_be_noticed),
        cmocka_unit_test(what_is_not_promised_would_be_noticed),
        cmocka_unit_test(all_others_promise_something),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
