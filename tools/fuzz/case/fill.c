/*
 * fill.c - the bytes of a case's pool.
 *
 * Element i of an array (row major over its dims) is made of block i under the array's name, and,
 * where its distribution chooses, of block i under "NAME choice" and block r under "NAME row" for
 * its row r. Of a block format that number is the scale of block i. What lies around elements is
 * made of the pool's byte offset under "NAME guard".
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tools/fuzz/case/block.h"
#include "tools/fuzz/case/case.h"
#include "tools/fuzz/case/element.h"
#include "tools/fuzz/case/lists.h"
#include "plan/plan.h"
#include "tools/fuzz/case/random.h"

/* Exponent of a block's scale whose f16 is subnormal in every format. */
enum { SUBNORMAL_BLOCK = -12 };

struct source {
    uint64_t seed, value, choice, row, codes, low, guard; /* hashes of the names */
    const struct fuzz_extent *array;
    const struct fuzz_recipe *recipe;
    int64_t cols;
};

static struct source source_of(const struct fuzz_case *c, unsigned i)
{
    const struct fuzz_extent *array = &c->array[i];
    char name[2 * SPEC_NAME + 16];
    struct source source = {.seed = c->choices.seed,
                            .array = array,
                            .recipe = &c->choices.recipe[i],
                            .cols = array->ndim ? array->dim[array->ndim - 1] : 1};
    source.value = fuzz_hash(array->item->name);
    snprintf(name, sizeof name, "%.*s choice", 2 * SPEC_NAME, array->item->name);
    source.choice = fuzz_hash(name);
    snprintf(name, sizeof name, "%.*s row", 2 * SPEC_NAME, array->item->name);
    source.row = fuzz_hash(name);
    snprintf(name, sizeof name, "%.*s codes", 2 * SPEC_NAME, array->item->name);
    source.codes = fuzz_hash(name);
    snprintf(name, sizeof name, "%.*s low", 2 * SPEC_NAME, array->item->name);
    source.low = fuzz_hash(name);
    snprintf(name, sizeof name, "%.*s guard", 2 * SPEC_NAME, array->item->name);
    source.guard = fuzz_hash(name);
    return source;
}

/* ---- what lies around elements ---- */

/* A byte of a guard: bits that are set, and bits that are drawn. */
struct guard_form {
    uint8_t set, drawn;
};

/* A NaN of every real type, of blocks in every f16, or a large number with a sign. `place`: of the
 * byte in its element, 0 is the highest. */
static struct guard_form guard_form(enum dtype dtype, unsigned place)
{
    static const struct guard_form forms[][2] = {
        [DTYPE_F64] = {{0x7f, 0x80}, {0xf8, 0x07}},
        [DTYPE_F32] = {{0x7f, 0x80}, {0xc0, 0x3f}},
        [DTYPE_F16] = {{0x7e, 0x81}, {0x00, 0xff}},
        [DTYPE_BF16] = {{0x7f, 0x80}, {0xc0, 0x3f}},
        [DTYPE_F8E4M3] = {{0x7f, 0x80}, {0x00, 0xff}},
        [DTYPE_F8E5M2] = {{0x7e, 0x81}, {0x00, 0xff}},
    };
    static const struct guard_form of_blocks = {0x7e, 0x81}, of_integers = {0xa0, 0x0f},
                                   any = {0x00, 0xff};
    if (dtype_block(dtype))
        return of_blocks;
    if (dtype_is_real(dtype))
        return place < 2 ? forms[dtype][place] : any;
    return place ? any : of_integers;
}

/* [from, to) of the pool. No two elements are alike, so that a guard that was copied onto another
 * one shows. */
static void put_guard(const struct source *s, uint8_t *pool, uint64_t from, uint64_t to)
{
    const enum dtype dtype = s->array->dtype;
    const uint64_t size = dtype_bytes(dtype), first = s->array->at % size;
    struct fuzz_block bits;
    for (uint64_t at = from; at < to; at++) {
        if (at == from || at % sizeof bits == 0)
            bits = fuzz_random(s->seed, s->guard, at / sizeof bits);
        unsigned place = (unsigned)(size - 1 - (at + size - first) % size);
        struct guard_form form = guard_form(dtype, place);
        uint8_t drawn = (uint8_t)(bits.v[at % sizeof bits / 4] >> at % 4 * 8);
        pool[at] = form.set | (drawn & form.drawn);
    }
}

/* ---- elements ---- */

/* One of `count` for the element, and one for its row. */
static uint32_t choose(const struct source *s, int64_t i, uint32_t count)
{
    return (uint32_t)((uint64_t)fuzz_random(s->seed, s->choice, (uint64_t)i).v[0] * count >> 32);
}

static uint64_t choose_of_row(const struct source *s, int64_t i, uint64_t count)
{
    struct fuzz_block block = fuzz_random(s->seed, s->row, (uint64_t)(i / s->cols));
    return (uint64_t)block.v[0] * count >> 32;
}

/* One column of a row of three is marked, of an array with one row always. */
static bool is_marked(const struct source *s, int64_t i)
{
    return i / s->cols % 3 == 0 && i % s->cols == (int64_t)choose_of_row(s, i, (uint64_t)s->cols);
}

static double infinite_value(const struct source *s, int64_t i, double n)
{
    int64_t r = i / s->cols;
    if (r % 9 == 4)
        return -INFINITY;
    return !is_marked(s, i) ? n : r % 2 ? INFINITY : -INFINITY;
}

static double subnormal_value(enum dtype dtype, double n)
{
    static const int least[] = {[DTYPE_F64] = -1022, [DTYPE_F32] = -126,  [DTYPE_F16] = -14,
                                [DTYPE_BF16] = -126, [DTYPE_F8E4M3] = -6, [DTYPE_F8E5M2] = -14};
    return ldexp(n, dtype_block(dtype) ? SUBNORMAL_BLOCK : least[dtype] - 3);
}

/* Each row has a large integer and its negative, so that its sum is small and only what was lost
 * beside them shows. */
static double integers_value(const struct source *s, int64_t i, struct fuzz_block block)
{
    int64_t col = i % s->cols;
    struct fuzz_block row = fuzz_random(s->seed, s->row, (uint64_t)(i / s->cols));
    int64_t at = (int64_t)((uint64_t)row.v[0] * (uint64_t)s->cols >> 32);
    int64_t other = (int64_t)((uint64_t)row.v[1] * (uint64_t)(s->cols - 1) >> 32) + 1 + at;
    bool narrow = s->array->dtype == DTYPE_F8E4M3; /* 448 at most */
    int large = 3 << (narrow && s->recipe->scale ? FUZZ_INTEGERS_BF16 : s->recipe->scale) >> 2;
    if (large && s->cols > 1 && col == at)
        return large;
    if (large && s->cols > 1 && col == other % s->cols)
        return -large;
    return block.v[0] >> 31 ? 1 : -1;
}

static double real_value(const struct source *s, int64_t i)
{
    struct fuzz_block block = fuzz_random(s->seed, s->value, (uint64_t)i);
    double n = fuzz_normal(block);
    switch (s->recipe->dist) {
    case FUZZ_uniform:
        return fuzz_uniform(block);
    case FUZZ_wide:
        return (fuzz_uniform(block) - 0.5) * 20;
    case FUZZ_positive:
        return 0.25 + fabs(n);
    case FUZZ_negative:
        return -5 - fabs(n);
    case FUZZ_offset:
        return 1000 + n;
    case FUZZ_low:
        return -60000 + n;
    case FUZZ_scaled:
        return ldexp(n, s->recipe->scale);
    case FUZZ_spikes:
        return choose(s, i, 32) ? n : n + (n < 0 ? -100 : 100);
    case FUZZ_sparse:
        return choose(s, i, 10) ? 0 : n;
    case FUZZ_zero:
        return 0;
    case FUZZ_rising:
        return n + (double)(40 * (i % s->cols)) / (double)s->cols;
    case FUZZ_constant:
        return (double)choose_of_row(s, i, 64) / 8 - 4;
    case FUZZ_exact:
        return (double)(block.v[0] % 9) - 4;
    case FUZZ_integers:
        return integers_value(s, i, block);
    case FUZZ_bits:
        return block.v[0] >> 31;
    case FUZZ_mask:
        return block.v[0] % 3 == 0 ? -INFINITY : block.v[0] % 3 == 1 ? -2 : 0;
    case FUZZ_subnormal:
        return subnormal_value(s->array->dtype, n);
    case FUZZ_nan:
        return is_marked(s, i) ? NAN : n;
    case FUZZ_inf:
        return infinite_value(s, i, n);
    default:
        return n;
    }
}

static int64_t integer_value(const struct source *s, int64_t i)
{
    if (s->array->also != s->array->from && choose(s, i, 8) == 0)
        return s->array->also;
    uint64_t count = (uint64_t)(s->array->below - s->array->from);
    struct fuzz_block block =
        fuzz_random(s->seed, s->value, s->recipe->dist == FUZZ_below_equal ? 0 : (uint64_t)i);
    uint64_t bits = (uint64_t)block.v[1] << 32 | block.v[0];
    uint64_t at = (uint64_t)((unsigned __int128)bits * count >> 64);
    if (s->recipe->dist == FUZZ_below_zipf) { /* an order of magnitude, then one inside it */
        unsigned order = block.v[2] % (64 - (unsigned)__builtin_clzll(count));
        at = ((uint64_t)1 << order) - 1 + (bits & (((uint64_t)1 << order) - 1));
    } else if (s->recipe->dist == FUZZ_below_counted) {
        at = (uint64_t)i % count;
    } else if (s->recipe->dist == FUZZ_below_ends) {
        at = bits & 1 ? count - 1 : 0;
    }
    return s->array->from + (int64_t)(at < count ? at : count - 1);
}

/* The scale is made as an element is, a minimum in the same way under "NAME low". The other bytes
 * are bits of "NAME codes"; of one block in sixteen all are 0, of another all 1. */
static void put_block(const struct source *s, int64_t i, uint8_t *out)
{
    enum dtype dtype = s->array->dtype;
    uint8_t codes[FUZZ_BLOCK_BYTES];
    struct source low = *s;
    struct fuzz_block bits;
    const uint64_t each = FUZZ_BLOCK_BYTES / sizeof bits, first = (uint64_t)i * each;
    low.value = s->low;
    for (uint64_t at = 0; at * sizeof bits < dtype_bytes(dtype); at++) {
        bits = fuzz_random(s->seed, s->codes, first + at);
        memcpy(codes + at * sizeof bits, &bits, sizeof bits);
    }
    bits = fuzz_random(s->seed, s->codes, first + each - 1); /* behind every format's bytes */
    uint32_t way = bits.v[0] >> 28;
    if (way < 2)
        memset(codes, way ? 0xff : 0, sizeof codes);
    memcpy(out, codes, dtype_bytes(dtype));
    fuzz_encode_block(dtype, real_value(s, i), real_value(&low, i), out);
}

/* Integers beyond 2^53 stay whole. */
static void put_element(const struct source *s, int64_t i, uint8_t *out)
{
    enum dtype dtype = s->array->dtype;
    if (dtype_block(dtype)) {
        put_block(s, i, out);
        return;
    }
    if (!dtype_is_integer(dtype)) {
        fuzz_encode(dtype, out, real_value(s, i));
        return;
    }
    int64_t value = integer_value(s, i);
    if (dtype == DTYPE_BOOL)
        value = value != 0;
    memcpy(out, &value, dtype_bytes(dtype));
}

uint64_t fuzz_element_at(const struct fuzz_extent *array, int64_t index)
{
    int64_t at = 0;
    for (int d = array->ndim - 1; d >= 0; d--) {
        at += index % array->dim[d] * array->stride[d];
        index /= array->dim[d];
    }
    return (uint64_t)at * (dtype_block(array->dtype) ? 1 : dtype_bytes(array->dtype));
}

void fuzz_case_fill(const struct fuzz_case *c, uint8_t *pool)
{
    struct source source = {0};
    uint64_t done = 0;
    for (unsigned i = 0; i < c->rule->arrays; i++) {
        const struct fuzz_extent *array = &c->array[i];
        if (!array->there || c->choices.recipe[i].aliased)
            continue;
        source = source_of(c, i);
        bool reads = role_reads(array->item->role);
        uint64_t next = array->at + array->bytes; /* the guard behind it, too */
        uint64_t end = c->pool_bytes - next < FUZZ_GUARD ? c->pool_bytes : next + FUZZ_GUARD;
        put_guard(&source, pool, done, end);
        for (int64_t e = 0; e < array->count; e++) {
            uint8_t *out = pool + array->at + fuzz_element_at(array, e);
            if (reads)
                put_element(&source, e, out);
            else
                fuzz_poison(array->dtype, c->choices.poison, out);
        }
        done = end;
    }
    if (done)
        put_guard(&source, pool, done, c->pool_bytes);
    else
        memset(pool, 0xff, (size_t)c->pool_bytes);
}

/* Rows, or places of pages, that the elements of `ids` name: a byte for each. */
static uint8_t *named_rows(const struct fuzz_case *c, const struct fuzz_extent *array,
                           const uint8_t *pool, int64_t *rows)
{
    bool pages = array->item->dim[0].kind == DIM_PAGES;
    const struct signature_item *by = signature_find(c->rule->plan->signature, array->item->rows);
    const struct fuzz_extent *ids = by ? &c->array[by->number] : NULL;
    *rows = array->dim[0] * (pages ? array->dim[1] : 1);
    uint8_t *named = calloc((size_t)*rows, 1);
    for (int64_t e = 0; named && ids && ids->there && e < ids->count; e++) {
        int64_t id = 0;
        int32_t narrow;
        memcpy(&id, pool + ids->at + fuzz_element_at(ids, e), dtype_bytes(ids->dtype));
        memcpy(&narrow, &id, sizeof narrow);
        id = ids->dtype == DTYPE_I32 ? narrow : id;
        if (id >= 0 && id < *rows)
            named[id] = 1;
    }
    return named;
}

static void mark_array(const struct fuzz_case *c, const struct fuzz_extent *array,
                       const uint8_t *pool, uint8_t *may)
{
    int64_t rows = 1;
    uint8_t *named = array->item->rows ? named_rows(c, array, pool, &rows) : NULL;
    for (int64_t e = 0; e < array->count; e++) {
        if (fuzz_lists_has(c, array, e) && (!named || named[e / (array->count / rows)]))
            memset(may + array->at + fuzz_element_at(array, e), 1, dtype_bytes(array->dtype));
    }
    free(named);
}

void fuzz_case_mark(const struct fuzz_case *c, const uint8_t *pool, uint8_t *may)
{
    memset(may, 0, (size_t)c->pool_bytes);
    for (unsigned i = 0; i < c->rule->arrays; i++) {
        const struct fuzz_extent *array = &c->array[i];
        if (array->there && array->item->role != ROLE_READ)
            mark_array(c, array, pool, may);
    }
}
