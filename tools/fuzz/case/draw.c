/*
 * draw.c - choices of a seed.
 *
 * Each number is drawn under a name of its own: a variable's under its name, what concerns an array
 * under the array's name and a suffix, so that keys may be added to a mapping without changing what
 * is drawn for the others. Sizes are drawn again, with ever lower limits, until the case fits.
 */
#include <string.h>
#include "tools/fuzz/case/block.h"
#include "tools/fuzz/case/case.h"
#include "tools/fuzz/case/random.h"
#include "plan/plan.h"

enum { ATTEMPTS = 96, ATTEMPTS_A_LIMIT = 3 };

/* Beyond these a size is a mistake, and arithmetic with it might overflow. */
static const int64_t size_limit = (int64_t)1 << 48;

uint64_t fuzz_case_seed(uint64_t run, uint64_t number)
{
    struct fuzz_block block = fuzz_random(run, fuzz_hash("case"), number);
    return (uint64_t)block.v[1] << 32 | block.v[0];
}

/* A stream for "NAME SUFFIX"; `attempt` keeps redraws apart. */
static struct fuzz_stream stream_of(uint64_t seed, const char *name, const char *suffix,
                                    uint64_t attempt)
{
    struct fuzz_stream stream = fuzz_stream(seed, name);
    stream.hash ^= fuzz_hash(suffix) * 3;
    stream.next = attempt << 32;
    return stream;
}

/* ---- sizes ---- */

static unsigned bits_of(uint64_t value)
{
    return value ? 64 - (unsigned)__builtin_clzll(value) : 0;
}

/* Evenly in the logarithm: each binary order has the same chance. */
static int64_t log_uniform(struct fuzz_stream *stream, int64_t low, int64_t high)
{
    uint64_t span = (uint64_t)(high - low) + 1;
    uint64_t order = fuzz_below(stream, bits_of(span));
    uint64_t at = ((uint64_t)1 << order) - 1 + fuzz_below(stream, (uint64_t)1 << order);
    return low + (int64_t)(at < span ? at : span - 1);
}

static bool is_prime(int64_t n)
{
    for (int64_t d = 2; d * d <= n; d++) {
        if (n % d == 0)
            return false;
    }
    return n > 1;
}

static int64_t prime_below(int64_t n, int64_t low)
{
    for (int64_t p = n; p > low && p > n - 256 && n < INT32_MAX; p--) {
        if (is_prime(p))
            return p;
    }
    return n;
}

/* A size that shows faults: the least, the largest, at and beside the boundaries of warps, blocks
 * and tiles, a prime, or any. */
static int64_t draw_size(struct fuzz_stream *stream, int64_t low, int64_t high)
{
    uint64_t way = fuzz_below(stream, 16);
    int64_t beside = (int64_t)fuzz_below(stream, 3) - 1;
    int64_t any = log_uniform(stream, low, high);
    int64_t base = (int64_t)8 << fuzz_below(stream, 6);
    int64_t value = any;
    if (way < 2)
        value = low;
    else if (way < 3)
        value = low + 1;
    else if (way < 6)
        value = ((int64_t)1 << (bits_of((uint64_t)(any < 1 ? 1 : any)) - 1)) + beside;
    else if (way < 9)
        value = (any + base - 1) / base * base + beside;
    else if (way < 12)
        value = prime_below(any, low);
    else if (way < 13)
        value = high;
    return value < low ? low : value > high ? high : value;
}

/* One case of eight is as large as it may be. */
static bool is_large(uint64_t seed)
{
    struct fuzz_stream stream = fuzz_stream(seed, "size of the case");
    return fuzz_below(&stream, 8) == 0;
}

static enum status draw_range(const struct fuzz_variable *v, struct fuzz_stream *stream,
                              unsigned limit, struct fuzz_choices *choices, struct error *err)
{
    bool largest = is_large(choices->seed) && fuzz_below(stream, 4) != 0;
    int64_t low, high, step = 1;
    if (!expr_eval(v->low, choices->value, &low) || !expr_eval(v->high, choices->value, &high) ||
        (v->step && !expr_eval(v->step, choices->value, &step)) || low > high || step < 1 ||
        low < -size_limit || high > size_limit)
        return error_set(err, STATUS_INVALID, "the range of '%s' is empty, or beyond 2^48",
                         v->name);
    int64_t steps = (high - low) / step;
    steps = limit < 63 ? steps >> limit : 0;
    int64_t value = low + steps * step;
    value = largest ? value : draw_size(stream, low, value);
    choices->value[v->slot] = low + (value - low) / step * step;
    return STATUS_OK;
}

/* Elements that keep rows where the arrays' alignment requires them. */
static int64_t pad_unit(const struct fuzz_rule *rule, const struct fuzz_variable *v)
{
    int64_t unit = 1;
    for (unsigned i = 0; i < rule->arrays; i++) {
        const struct signature_item *item = rule->array[i].item;
        for (unsigned d = 0; item && d < item->ndim; d++) {
            if (!item->dim[d].stride || strcmp(item->dim[d].stride, v->name) != 0)
                continue;
            int64_t element = (int64_t)dtype_bytes(item->type.dtype) * item->type.lanes;
            int64_t own = rule->array[i].align / element;
            unit = own > unit ? own : unit;
        }
    }
    return unit;
}

static enum status draw_stride(const struct fuzz_rule *rule, const struct fuzz_variable *v,
                               struct fuzz_stream *stream, struct fuzz_choices *choices,
                               struct error *err)
{
    static const int64_t pads[] = {0, 0, 0, 0, 1, 2, 3, 8};
    int64_t dense, pad = pads[fuzz_below(stream, sizeof pads / sizeof pads[0])];
    if (!expr_eval(v->low, choices->value, &dense) || dense < -size_limit || dense > size_limit)
        return error_set(err, STATUS_INVALID, "the stride '%s' cannot be evaluated", v->name);
    choices->value[v->slot] = dense + pad * pad_unit(rule, v);
    return STATUS_OK;
}

static enum status draw_variable(const struct fuzz_rule *rule, const struct fuzz_variable *v,
                                 uint64_t attempt, struct fuzz_choices *choices, struct error *err)
{
    struct fuzz_stream stream = stream_of(choices->seed, v->name, "", attempt);
    int64_t *value = &choices->value[v->slot];
    const struct expr *from = v->low;
    switch (v->kind) {
    case FUZZ_RANGE:
        return draw_range(v, &stream, (unsigned)(attempt / ATTEMPTS_A_LIMIT), choices, err);
    case FUZZ_STRIDE:
        return draw_stride(rule, v, &stream, choices, err);
    case FUZZ_LIST:
        from = v->item[fuzz_below(&stream, v->items)];
        break;
    case FUZZ_VALUE:
        if (!from) {
            *value = rule->constant[v->slot];
            return STATUS_OK;
        }
    }
    return expr_eval(from, choices->value, value)
               ? STATUS_OK
               : error_set(err, STATUS_INVALID, "'%s' cannot be evaluated", v->name);
}

static void draw_real(const struct fuzz_real *real, uint64_t seed, double *out)
{
    struct fuzz_stream stream = stream_of(seed, real->into->name, "", 0);
    double share = fuzz_uniform(fuzz_random(stream.seed, stream.hash, stream.next));
    double wide = (real->item[1] - real->item[0]) * share;
    if (real->range)
        *out = real->item[0] + wide;
    else
        *out = real->item[fuzz_below(&stream, real->items)];
}

/* ---- arrays ---- */

/* Scales of blocks that are finite, and far from what f16 holds at most. */
static const uint32_t fuzz_block_dists =
    1u << FUZZ_normal | 1u << FUZZ_uniform | 1u << FUZZ_wide | 1u << FUZZ_positive |
    1u << FUZZ_negative | 1u << FUZZ_scaled | 1u << FUZZ_spikes | 1u << FUZZ_sparse |
    1u << FUZZ_zero | 1u << FUZZ_constant | 1u << FUZZ_exact | 1u << FUZZ_subnormal;

/* What the case is about: most of its largest arrays have values of one kind. Infinities are in all
 * of them or in none, beside values near 1: times a number that f32 rounds to 0, an infinity is a
 * NaN that a right kernel may make. */
static enum fuzz_dist draw_dist(const struct fuzz_array *array, uint32_t without, uint64_t seed,
                                bool main)
{
    bool integers = dtype_is_integer(array->item->type.dtype);
    unsigned first = integers ? FUZZ_below_uniform : 0;
    unsigned reals = array->dists & 1u << FUZZ_integers ? FUZZ_below_uniform : FUZZ_integers;
    unsigned end = integers ? FUZZ_DISTS : array->dists ? reals : FUZZ_bits;
    struct fuzz_stream common = fuzz_stream(seed, "values of the case");
    struct fuzz_stream own = stream_of(seed, array->item->name, "values", 0);
    bool infinite = fuzz_below(&common, FUZZ_bits) == FUZZ_inf && !integers;
    bool shared = (main && fuzz_below(&own, 4) != 0) || infinite;
    bool blocks = dtype_block(array->item->type.dtype) != 0;
    uint32_t dists = array->dists ? array->dists : blocks ? fuzz_block_dists : 0;
    common.next = 0;
    for (int i = 0; i < 64; i++) {
        unsigned dist = first + (unsigned)fuzz_below(shared ? &common : &own, end - first);
        if (infinite && i == 0)
            dist = main ? FUZZ_inf : FUZZ_normal;
        if (!array->dists && !main && !integers && i == 0 && fuzz_below(&own, 4) != 0)
            dist = FUZZ_normal;
        if (dist == FUZZ_inf && !infinite)
            continue;
        if (!array->dists && (without & 1u << dist))
            continue;
        if (!dists || (dists & 1u << dist))
            return (enum fuzz_dist)dist;
    }
    return array->dists ? (enum fuzz_dist)__builtin_ctz(array->dists) : FUZZ_normal;
}

static void draw_array(const struct fuzz_rule *rule, unsigned i, unsigned rank,
                       struct fuzz_choices *choices)
{
    const struct fuzz_array *array = &rule->array[i];
    struct fuzz_recipe *recipe = &choices->recipe[i];
    uint64_t seed = choices->seed;
    struct fuzz_stream place = stream_of(seed, array->item->name, "place", 0);
    struct type type = array->item->type;
    bool blocks = dtype_block(type.dtype) != 0;
    uint32_t natural = blocks ? fuzz_block_align(type.dtype) : type_align(type);
    uint32_t unit = array->align > natural ? array->align : natural;
    bool moved = fuzz_below(&place, 2) == 1;
    recipe->skew = moved ? unit * (uint32_t)fuzz_below(&place, FUZZ_ALIGN / unit) : 0;
    recipe->aliased = array->alias >= 0 && fuzz_below(&place, 4) == 0;
    bool quarter = array->null && fuzz_below(&place, 4) == 0;
    recipe->absent = array->null == FUZZ_NULL_ALWAYS || quarter;
    recipe->dist = draw_dist(array, rule->without, seed, array->item->ndim >= rank);
    recipe->scale = (int)fuzz_below(&place, 31) - 20;
    if (recipe->dist == FUZZ_integers)
        recipe->scale = recipe->scale & 1 ? FUZZ_INTEGERS_BF16 : FUZZ_INTEGERS_F16;
}

static void draw_arrays(const struct fuzz_rule *rule, struct fuzz_choices *choices)
{
    unsigned rank = 0; /* of the array of reals with the most dims that is read */
    for (unsigned i = 0; i < rule->arrays; i++) {
        const struct signature_item *item = rule->array[i].item;
        if (item && role_reads(item->role) && dtype_is_real(item->type.dtype) && item->ndim > rank)
            rank = item->ndim;
    }
    for (unsigned i = 0; i < rule->arrays; i++) {
        if (rule->array[i].item)
            draw_array(rule, i, rank, choices);
    }
}

/* ---- the whole ---- */

/* Elements that the case may have: most cases are small. */
static int64_t draw_limit(const struct fuzz_rule *rule, uint64_t seed)
{
    static const int shift[] = {8, 6, 4, 4, 2, 2, 0, 0};
    struct fuzz_stream stream = fuzz_stream(seed, "elements of the case");
    int64_t limit = rule->elements >> shift[fuzz_below(&stream, 8)];
    if (is_large(seed))
        limit = rule->elements;
    return limit < 16 ? 16 : limit;
}

enum status fuzz_case_draw(struct fuzz_case *out, const struct fuzz_rule *rule,
                           const struct param_layout *layout, uint64_t seed, struct error *err)
{
    static _Thread_local struct fuzz_choices choices;
    memset(&choices, 0, sizeof choices);
    choices.seed = seed;
    struct fuzz_stream stream = fuzz_stream(seed, "poison of the case");
    choices.poison = (enum fuzz_poison)fuzz_below(&stream, 2);
    for (unsigned i = 0; i < rule->reals; i++)
        draw_real(&rule->real[i], seed, &choices.real[i]);
    draw_arrays(rule, &choices);
    int64_t limit = draw_limit(rule, seed);
    for (uint64_t attempt = 0;; attempt++) {
        struct error why = {{0}};
        enum status status = STATUS_OK;
        for (unsigned i = 0; !status && i < rule->variables; i++)
            status = draw_variable(rule, &rule->variable[i], attempt, &choices, &why);
        if (attempt == ATTEMPTS / 2) /* the least may be more than the limit drawn */
            limit = rule->elements;
        if (!status)
            status = fuzz_case_make(out, rule, layout, &choices, limit, &why);
        if (!status || status == STATUS_UNSUPPORTED)
            return status ? error_set(err, status, "%s", why.text) : STATUS_OK;
        if (attempt == ATTEMPTS)
            return error_set(err, STATUS_INVALID,
                             "none of %d draws made a case of at most %lld elements; the last: %s",
                             ATTEMPTS, (long long)rule->elements, why.text);
    }
}
