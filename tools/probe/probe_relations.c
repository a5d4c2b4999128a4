/*
 * probe_relations.c - relations between results: an input times two, rows in another order, other
 * rows around one.
 *
 * The first two do not hold for every kernel. So each is first tested in three launches whose
 * inputs hold the bundle's elements in another order: where it is exact for every element of these,
 * it is tested on the launch itself.
 */
#include <stdlib.h>
#include <string.h>
#include "lang/dtype.h"
#include "lang/formals.h"
#include "tools/probe/probe_work.h"

enum { POWERS = 2 /* outputs may scale by 2^-2 to 2^2 */ };

/* ---- the bits of floating-point formats ---- */

struct format {
    unsigned bytes, exponent, mantissa; /* bits of the last two */
};

static bool format_of(enum dtype dtype, struct format *out)
{
    static const struct format formats[DTYPE_COUNT] = {
        [DTYPE_F64] = {8, 11, 52},
        [DTYPE_F32] = {4, 8, 23},
        [DTYPE_F16] = {2, 5, 10},
        [DTYPE_BF16] = {2, 8, 7},
    };
    *out = formats[dtype];
    return out->bytes > 0;
}

static uint64_t load_bits(const uint8_t *bytes, unsigned count)
{
    uint64_t bits = 0;
    memcpy(&bits, bytes, count);
    return bits;
}

/* Times 2^power; false where the result is no normal number. Zeros stay, and NaN. */
static bool scale_bits(const struct format *format, int power, uint64_t *bits)
{
    uint64_t most = (UINT64_C(1) << format->exponent) - 1;
    int64_t exponent = (int64_t)(*bits >> format->mantissa & most);
    uint64_t fraction = *bits & ((UINT64_C(1) << format->mantissa) - 1);
    if (exponent == (int64_t)most || (exponent == 0 && fraction == 0))
        return true;
    if (exponent == 0 || exponent + power < 1 || exponent + power >= (int64_t)most)
        return false;
    *bits = (*bits & ~(most << format->mantissa)) | (uint64_t)(exponent + power)
                                                        << format->mantissa;
    return true;
}

/* ---- contents ---- */

/* Reorders the elements; the same for the same seed. */
static void shuffle(uint8_t *dense, int64_t count, size_t size, uint64_t seed)
{
    uint8_t kept[16];
    uint64_t state = seed * 0x9e3779b97f4a7c15 + 1;
    for (int64_t i = count - 1; i > 0 && size <= sizeof(kept); i--) {
        state = state * 6364136223846793005 + 1442695040888963407;
        size_t a = (size_t)i * size, b = (size_t)((state >> 16) % (uint64_t)(i + 1)) * size;
        memcpy(kept, dense + a, size);
        memcpy(dense + a, dense + b, size);
        memcpy(dense + b, kept, size);
    }
}

static bool is_input(const struct bundle_array *array)
{
    return role_reads(array->role) && bundle_whole(array, BUNDLE_BEFORE) && !array->by_rows;
}

/* The bundle's inputs, shuffled where `seed` is not 0. Arrays that are no numbers stay: they are
 * indices or lengths. */
enum status probe_refill(struct probe *probe, uint64_t seed, struct error *err)
{
    const struct bundle *bundle = probe->scene->bundle;
    for (int i = 0; i < bundle->arrays; i++) {
        const struct bundle_array *array = &bundle->array[i];
        size_t size = dtype_bytes(array->dtype);
        struct format format;
        if (!is_input(array))
            continue;
        uint8_t *dense = malloc((size_t)array->elements * size + 1);
        if (!dense)
            return error_set(err, STATUS_NO_MEMORY, "no memory for %s", array->name);
        memcpy(dense, array->part[BUNDLE_BEFORE][0].bytes, (size_t)array->elements * size);
        if (seed && format_of(array->dtype, &format))
            shuffle(dense, array->elements, size, seed + (uint64_t)i);
        scene_scatter(probe->scene, i, dense, NULL);
        free(dense);
    }
    return STATUS_OK;
}

/* ---- scale ---- */

/* Doubles the input in the scene; false: some number has no double. */
static bool double_input(struct probe *probe, int input)
{
    const struct bundle_array *array = &probe->scene->bundle->array[input];
    struct format format;
    uint8_t *dense = scene_gather(probe->scene, input, NULL);
    bool good = dense && format_of(array->dtype, &format);
    for (int64_t e = 0; good && e < array->elements; e++) {
        uint8_t *at = dense + (size_t)e * format.bytes;
        uint64_t bits = load_bits(at, format.bytes);
        good = scale_bits(&format, 1, &bits);
        memcpy(at, &bits, format.bytes);
    }
    if (good)
        scene_scatter(probe->scene, input, dense, NULL);
    free(dense);
    return good;
}

/* Elements of an output that are not 2^power times the other's. */
static uint64_t scaled_wrong(const struct probe *probe, const struct probe_outputs *plain,
                             const struct probe_outputs *doubled, int output, int power,
                             int64_t *first)
{
    const struct bundle_array *array = &probe->scene->bundle->array[output];
    struct format format;
    uint64_t wrong = 0;
    if (!format_of(array->dtype, &format))
        return UINT64_MAX;
    for (int64_t e = 0; e < array->elements; e++) {
        uint64_t bits = load_bits(plain->dense[output] + (size_t)e * format.bytes, format.bytes);
        uint64_t is = load_bits(doubled->dense[output] + (size_t)e * format.bytes, format.bytes);
        if (!scale_bits(&format, power, &bits) || bits == is || probe->unsteady[output][e])
            continue;
        if (!wrong++)
            *first = e;
    }
    return wrong;
}

/* One pair of launches over the inputs of `seed`: the powers of two that fit, as bits, for each
 * output; or, with `power`, where the given one does not fit. */
static enum status scale_pair(struct probe *probe, int input, uint64_t seed, uint8_t *fits,
                              const int *power, struct error *err)
{
    const struct scene_change change = {0};
    const struct bundle *bundle = probe->scene->bundle;
    struct probe_outputs plain = {0}, doubled = {0};
    enum status status = probe_refill(probe, seed, err);
    if (!status)
        status = probe_run(probe, &change, &plain, NULL, err);
    bool good = !status && plain.result.outcome == WORKER_RAN && double_input(probe, input);
    if (good)
        status = probe_run(probe, &change, &doubled, NULL, err);
    good = good && !status && doubled.result.outcome == WORKER_RAN;
    for (int o = 0; o < bundle->arrays; o++) {
        int64_t first = 0;
        for (int p = -POWERS; p <= POWERS && fits && fits[o] && plain.dense[o]; p++) {
            if (!good || scaled_wrong(probe, &plain, &doubled, o, p, &first))
                fits[o] &= (uint8_t) ~(1u << (p + POWERS));
        }
        if (!good || !power || !plain.dense[o] || power[o] > POWERS)
            continue;
        uint64_t wrong = scaled_wrong(probe, &plain, &doubled, o, power[o], &first);
        if (wrong)
            probe_find(probe, PROBE_SCALE,
                       "with %s times 2, %s should be times 2^%d, and %llu elements are not; the "
                       "first is element %lld",
                       bundle->array[input].name, bundle->array[o].name, power[o],
                       (unsigned long long)wrong, (long long)first);
    }
    probe_release(&plain);
    probe_release(&doubled);
    return status;
}

static enum status scale_input(struct probe *probe, int input, bool *shown, struct error *err)
{
    uint8_t fits[BUNDLE_ARRAYS];
    int power[BUNDLE_ARRAYS];
    enum status status = STATUS_OK;
    bool any = false;
    memset(fits, (1 << (2 * POWERS + 1)) - 1, sizeof(fits));
    for (uint64_t seed = 1; seed <= PROBE_LEARNT && !status; seed++)
        status = scale_pair(probe, input, seed, fits, NULL, err);
    for (int o = 0; o < BUNDLE_ARRAYS; o++) {
        power[o] = POWERS + 1;
        for (int p = -POWERS; p <= POWERS; p++) {
            if (fits[o] == 1u << (p + POWERS) && probe->first.dense[o])
                power[o] = p;
        }
        any = any || power[o] <= POWERS;
    }
    *shown = *shown || any;
    return status || !any ? status : scale_pair(probe, input, 0, NULL, power, err);
}

static bool scale_holds(const struct probe *probe, int input)
{
    for (unsigned i = 0; i < probe->settings->scaled; i++) {
        if (strcmp(probe->settings->scale[i], probe->scene->bundle->array[input].name) == 0)
            return true;
    }
    return false;
}

/* On the launch itself: with the input doubled, each output is the old one times a power of two. */
static enum status scale_held(struct probe *probe, int input, bool *shown, struct error *err)
{
    const struct bundle *bundle = probe->scene->bundle;
    uint8_t fits[BUNDLE_ARRAYS];
    enum status status = probe_refill(probe, 0, err);
    memset(fits, (1 << (2 * POWERS + 1)) - 1, sizeof(fits));
    if (status || !double_input(probe, input))
        return status;
    *shown = true;
    status = scale_pair(probe, input, 0, fits, NULL, err);
    for (int o = 0; o < bundle->arrays && !status; o++) {
        if (probe->first.dense[o] && !fits[o])
            probe_find(probe, PROBE_SCALE,
                       "with %s times 2, %s is not times a power of two from 2^-%d to 2^%d",
                       bundle->array[input].name, bundle->array[o].name, POWERS, POWERS);
    }
    return status;
}

enum status probe_scale(struct probe *probe, struct error *err)
{
    const struct bundle *bundle = probe->scene->bundle;
    enum status status = STATUS_OK;
    struct format format;
    bool shown = false;
    probe->now = PROBE_SCALE;
    for (int i = 0; i < bundle->arrays && !status; i++) {
        if (!is_input(&bundle->array[i]) || !format_of(bundle->array[i].dtype, &format))
            continue;
        if (scale_holds(probe, i))
            status = scale_held(probe, i, &shown, err);
        else if (!probe->settings->declared)
            status = scale_input(probe, i, &shown, err);
    }
    if (!status)
        status = probe_refill(probe, 0, err);
    if (shown)
        probe_good(probe, PROBE_SCALE);
    else
        probe_skip(probe, PROBE_SCALE, "no output scales with an input");
    return status;
}

/* ---- rows ---- */

/* Where the tensor has the dim that is the outermost of the first output, by its name: the same
 * number may be that of columns too. -1: it has not. 0 where the bundle has no formals. */
static int rows_axis(const struct bundle *bundle, int tensor)
{
    struct formals formals;
    struct error err;
    if (!*bundle->formals || formals_parse(&formals, bundle->formals, &err) ||
        tensor >= formals.tensors)
        return 0;
    for (int t = 0; t < formals.tensors; t++) {
        const struct formal *formal = formals_array(&formals, t);
        if (formal->kind == FORMAL_IN || t >= bundle->tensors || bundle->tensor[t].array < 0)
            continue;
        if (formal->ndim == 0 || formal->dim[0].size < 0)
            return 0;
        return formals_axis(formals_array(&formals, tensor), formal->dim[0].size);
    }
    return 0;
}

/* Rows of a tensor whose outermost dim is dense; 0: none. */
static int64_t rows_of(const struct bundle *bundle, int array)
{
    const struct bundle_array *of = &bundle->array[array];
    for (int t = 0; t < bundle->tensors; t++) {
        const struct bundle_tensor *tensor = &bundle->tensor[t];
        if (tensor->array != array || tensor->ndim == 0 || tensor->dim[0] < 2 ||
            of->elements % tensor->dim[0] || of->by_rows || rows_axis(bundle, t) != 0)
            continue;
        if (scene_dense_stride(of, tensor->stride[0]) == of->elements / tensor->dim[0])
            return tensor->dim[0];
    }
    return 0;
}

int64_t probe_input_rows(const struct probe *probe, int array)
{
    const struct bundle *bundle = probe->scene->bundle;
    return is_input(&bundle->array[array]) ? rows_of(bundle, array) : 0;
}

static void reverse_rows(uint8_t *dense, int64_t rows, size_t row, uint8_t *kept)
{
    for (int64_t r = 0; r < rows / 2; r++) {
        uint8_t *a = dense + (size_t)r * row, *b = dense + (size_t)(rows - 1 - r) * row;
        memcpy(kept, a, row);
        memcpy(a, b, row);
        memcpy(b, kept, row);
    }
}

/* Reverses the rows of an array's dense elements. */
static bool reverse(const struct bundle_array *array, int64_t rows, uint8_t *dense)
{
    size_t row = (size_t)(array->elements / rows) * dtype_bytes(array->dtype);
    uint8_t *kept = malloc(row + 1);
    if (kept && dense)
        reverse_rows(dense, rows, row, kept);
    free(kept);
    return kept && dense;
}

/* One pair of launches: elements that are not those of the reversed rows. */
static enum status permute_pair(struct probe *probe, int64_t rows, uint64_t seed,
                                struct probe_count *out, struct error *err)
{
    const struct scene_change change = {0};
    const struct bundle *bundle = probe->scene->bundle;
    struct probe_outputs plain = {0}, turned = {0};
    enum status status = probe_refill(probe, seed, err);
    *out = (struct probe_count){.array = -1};
    if (!status)
        status = probe_run(probe, &change, &plain, NULL, err);
    bool good = !status && plain.result.outcome == WORKER_RAN;
    for (int i = 0; i < bundle->arrays && good; i++) {
        if (!is_input(&bundle->array[i]) || rows_of(bundle, i) != rows)
            continue;
        uint8_t *dense = scene_gather(probe->scene, i, NULL);
        good = reverse(&bundle->array[i], rows, dense);
        if (good)
            scene_scatter(probe->scene, i, dense, NULL);
        free(dense);
    }
    if (good)
        status = probe_run(probe, &change, &turned, NULL, err);
    good = good && !status && turned.result.outcome == WORKER_RAN;
    for (int i = 0; i < bundle->arrays && good; i++) {
        if (turned.dense[i] && rows_of(bundle, i) == rows)
            good = reverse(&bundle->array[i], rows, turned.dense[i]);
    }
    if (good)
        *out = probe_differ(probe, &plain, &turned);
    else
        out->elements = UINT64_MAX;
    probe_release(&plain);
    probe_release(&turned);
    return status;
}

int64_t probe_rows(const struct probe *probe)
{
    const struct bundle *bundle = probe->scene->bundle;
    int64_t rows = 0, inputs = 0;
    for (int t = 0; t < bundle->tensors; t++) {
        if (bundle->tensor[t].array >= 0 && rows_axis(bundle, t) > 0)
            return 0;
    }
    for (int i = 0; i < bundle->arrays; i++) {
        int64_t own = rows_of(bundle, i);
        if (probe->first.dense[i] && (own == 0 || (rows && own != rows)))
            return 0;
        rows = probe->first.dense[i] ? own : rows;
    }
    for (int i = 0; i < bundle->arrays; i++)
        inputs += is_input(&bundle->array[i]) && rows_of(bundle, i) == rows;
    return inputs ? rows : 0;
}

/* The formals "out y[rows][cols]" and "each rows" declare it. */
bool probe_rows_declared(const struct probe *probe, enum probe_check check)
{
    const struct bundle *bundle = probe->scene->bundle;
    if (probe->settings->held & PROBE_BIT(check))
        return true;
    const char *out = strstr(bundle->formals, "out "), *name = out ? strchr(out, '[') : NULL;
    size_t length = name ? strcspn(name + 1, "]") : 0;
    for (const char *at = bundle->formals; length && (at = strstr(at, "each ")); at++) {
        if (!strncmp(at + 5, name + 1, length) && (!at[5 + length] || at[5 + length] == ','))
            return true;
    }
    return false;
}

enum status probe_permute(struct probe *probe, struct error *err)
{
    int64_t rows = probe_rows(probe);
    struct probe_count count = {0};
    enum status status = STATUS_OK;
    probe->now = PROBE_PERMUTE;
    bool declared = probe_rows_declared(probe, PROBE_PERMUTE);
    bool learns = rows && !declared && !probe->settings->declared;
    for (uint64_t seed = 1; seed <= PROBE_LEARNT && learns && !status && !count.elements; seed++)
        status = permute_pair(probe, rows, seed, &count, err);
    bool shown = rows && !count.elements && !status && (declared || !probe->settings->declared);
    if (shown)
        status = permute_pair(probe, rows, 0, &count, err);
    if (shown && count.elements && count.elements != UINT64_MAX)
        probe_find(probe, PROBE_PERMUTE,
                   "with the rows of the inputs reversed, %llu elements are not those of the "
                   "reversed rows; the first is element %lld of %s",
                   (unsigned long long)count.elements, (long long)count.first,
                   probe->scene->bundle->array[count.array].name);
    if (shown)
        probe_good(probe, PROBE_PERMUTE);
    else
        probe_skip(probe, PROBE_PERMUTE, "rows of inputs and outputs do not go together");
    return status ? status : probe_refill(probe, 0, err);
}

/* ---- one row among others ---- */

/* The row stays, in every input that has rows; all others get each other's elements. */
static enum status change_others(struct probe *probe, int64_t rows, int64_t row, struct error *err)
{
    const struct bundle *bundle = probe->scene->bundle;
    for (int i = 0; i < bundle->arrays; i++) {
        const struct bundle_array *array = &bundle->array[i];
        size_t size = dtype_bytes(array->dtype), one = (size_t)(array->elements / rows) * size;
        struct format format;
        if (!is_input(array) || rows_of(bundle, i) != rows || !format_of(array->dtype, &format))
            continue;
        uint8_t *dense = malloc((size_t)array->elements * size + 1);
        if (!dense)
            return error_set(err, STATUS_NO_MEMORY, "no memory for %s", array->name);
        memcpy(dense, array->part[BUNDLE_BEFORE][0].bytes, (size_t)array->elements * size);
        shuffle(dense, array->elements, size, (uint64_t)(row + i) + 1);
        memcpy(dense + (size_t)row * one,
               (const uint8_t *)array->part[BUNDLE_BEFORE][0].bytes + (size_t)row * one, one);
        scene_scatter(probe->scene, i, dense, NULL);
        free(dense);
    }
    return STATUS_OK;
}

/* Elements of the row that are not those of the first run. */
static uint64_t row_differs(const struct probe *probe, const struct probe_outputs *other,
                            int64_t rows, int64_t row, int *array, int64_t *first)
{
    const struct bundle *bundle = probe->scene->bundle;
    uint64_t count = 0;
    for (int i = 0; i < bundle->arrays; i++) {
        size_t size = dtype_bytes(bundle->array[i].dtype);
        int64_t each = bundle->array[i].elements / rows;
        for (int64_t e = row * each; other->dense[i] && e < (row + 1) * each; e++) {
            size_t at = (size_t)e * size;
            if (probe->unsteady[i][e] ||
                !memcmp(probe->first.dense[i] + at, other->dense[i] + at, size))
                continue;
            if (!count++) {
                *array = i;
                *first = e;
            }
        }
    }
    return count;
}

static enum status neighbours_of(struct probe *probe, int64_t rows, int64_t row, struct error *err)
{
    const struct scene_change change = {0};
    struct probe_outputs other = {0};
    int64_t first = 0;
    int array = 0;
    enum status status = change_others(probe, rows, row, err);
    if (!status)
        status = probe_run(probe, &change, &other, NULL, err);
    bool ran = !status && other.result.outcome == WORKER_RAN;
    uint64_t count = ran ? row_differs(probe, &other, rows, row, &array, &first) : 0;
    if (count)
        probe_find(probe, PROBE_NEIGHBOURS,
                   "with other rows around row %lld, %llu of its elements differ; the first is "
                   "element %lld of %s",
                   (long long)row, (unsigned long long)count, (long long)first,
                   probe->scene->bundle->array[array].name);
    probe_release(&other);
    return status;
}

enum status probe_neighbours(struct probe *probe, struct error *err)
{
    int64_t rows = probe_rows(probe);
    enum status status = STATUS_OK;
    probe->now = PROBE_NEIGHBOURS;
    if (!rows || !probe_rows_declared(probe, PROBE_NEIGHBOURS)) {
        probe_skip(probe, PROBE_NEIGHBOURS, "the reference does not declare rows as independent");
        return STATUS_OK;
    }
    const int64_t row[] = {0, rows / 2, rows - 1};
    for (int i = 0; i < 3 && !status; i++)
        status = neighbours_of(probe, rows, row[i], err);
    if (!status)
        probe_good(probe, PROBE_NEIGHBOURS);
    return status ? status : probe_refill(probe, 0, err);
}
