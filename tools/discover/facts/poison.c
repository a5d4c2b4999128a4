#include "tools/discover/facts/poison.h"

#include <math.h>
#include <string.h>
#include "lang/dtype.h"

/* ---- contents ---- */

static int64_t load(const uint8_t *at, unsigned size)
{
    uint64_t bits = 0;
    memcpy(&bits, at, size);
    return (int64_t)(bits << (64 - 8 * size)) >> (64 - 8 * size);
}

/* 1.5e16 and -2.9e-16 in f32 and bf16, 203 and -0.02 in f16. */
static void fill_real(const uint8_t *held, uint64_t bytes, unsigned number, uint8_t *out)
{
    const uint8_t fill = number ? 0xa5 : 0x5a;
    for (uint64_t i = 0; i < bytes; i++)
        out[i] = held[i] == fill ? fill ^ 0x21 : fill;
}

/* The least and the greatest value that the array holds take the place of each other's. */
static void fill_held(const uint8_t *held, uint64_t bytes, unsigned size, unsigned number,
                      uint8_t *out)
{
    int64_t least = INT64_MAX, most = INT64_MIN;
    for (uint64_t at = 0; at + size <= bytes; at += size) {
        int64_t value = load(held + at, size);
        least = value < least ? value : least;
        most = value > most ? value : most;
    }
    int64_t first = number ? most : least, second = number ? least : most;
    for (uint64_t at = 0; at + size <= bytes; at += size) {
        int64_t value = load(held + at, size);
        int64_t other = least == most ? value ^ 1 : value != first ? first : second;
        memcpy(out + at, &other, size);
    }
}

void poison_make(enum dtype dtype, unsigned size, const uint8_t *held, uint64_t bytes,
                 unsigned number, uint8_t *out)
{
    uint64_t whole = size && size <= 8 ? bytes / size * size : 0;
    if (dtype_is_real(dtype))
        whole = 0;
    else if (whole)
        fill_held(held, whole, size, number, out);
    fill_real(held + whole, bytes - whole, number, out + whole);
}

bool poison_small(enum dtype dtype, const uint8_t *held, uint64_t bytes, uint8_t *out)
{
    static const struct {
        enum dtype dtype;
        uint64_t four, eight;
    } rows[] = {{DTYPE_F64, UINT64_C(0x4010000000000000), UINT64_C(0x4020000000000000)},
                {DTYPE_F32, 0x40800000, 0x41000000},
                {DTYPE_F16, 0x4400, 0x4800},
                {DTYPE_BF16, 0x4080, 0x4100}};
    unsigned size = dtype_bytes(dtype), row = 0;
    while (row < sizeof rows / sizeof *rows && rows[row].dtype != dtype)
        row++;
    bool known = row < sizeof rows / sizeof *rows;
    if (!known && (!dtype_is_integer(dtype) || size > 8))
        return false;
    uint64_t four = known ? rows[row].four : 4, eight = known ? rows[row].eight : 8;
    memcpy(out, held, bytes);
    for (uint64_t at = 0; at + size <= bytes; at += size)
        memcpy(out + at, memcmp(held + at, &four, size) != 0 ? &four : &eight, size);
    return true;
}

/* ---- results ---- */

static void mark(struct poison_marks *marks, uint64_t at, uint64_t size)
{
    if (!marks->elements++)
        marks->begin = at;
    marks->end = at + size;
}

void poison_written(const struct poison_run *run, unsigned runs, uint64_t bytes, unsigned size,
                    struct poison_marks *written, struct poison_marks *kept)
{
    *written = *kept = (struct poison_marks){0};
    for (uint64_t at = 0, count; at < bytes; at += count) {
        bool changed = false, differs = false;
        count = bytes - at < size ? bytes - at : size;
        for (unsigned i = 0; i < runs; i++) {
            changed |= memcmp(run[i].held + at, run[i].after + at, count) != 0;
            differs |= memcmp(run[0].after + at, run[i].after + at, count) != 0;
        }
        if (changed)
            mark(written, at, count);
        if (changed && differs)
            mark(kept, at, count);
    }
}

bool poison_differs(const struct poison_run *base, const struct poison_run *run, uint64_t bytes)
{
    if (base->held == run->held)
        return memcmp(base->after, run->after, bytes) != 0;
    for (uint64_t i = 0; i < bytes; i++) {
        bool untouched = base->after[i] == base->held[i] && run->after[i] == run->held[i];
        if (!untouched && base->after[i] != run->after[i])
            return true;
    }
    return false;
}

/* Of a type's numbers, as a part of the greatest of those that took part. */
static double rounding_of(enum dtype dtype)
{
    switch (dtype) {
    case DTYPE_F64:
        return 0x1p-30;
    case DTYPE_F32:
        return 0x1p-14;
    default:
        return 0x1p-5;
    }
}

/* The greatest magnitude of finite numbers. */
static double greatest(enum dtype dtype, const uint8_t *bytes, uint64_t count)
{
    double most = 0;
    unsigned size = dtype_bytes(dtype);
    for (uint64_t at = 0; at + size <= count; at += size) {
        double value = fabs(dtype_load(dtype, bytes + at));
        most = isfinite(value) && value > most ? value : most;
    }
    return most;
}

enum poison_apart poison_compare(enum dtype dtype, const uint8_t *one, const uint8_t *other,
                                 uint64_t bytes)
{
    unsigned size = dtype_bytes(dtype);
    if (memcmp(one, other, bytes) == 0)
        return APART_NOT;
    if (!dtype_is_real(dtype) || !size)
        return APART_FAR;
    double bound = rounding_of(dtype) * greatest(dtype, one, bytes);
    for (uint64_t at = 0; at + size <= bytes; at += size) {
        if (memcmp(one + at, other + at, size) == 0)
            continue;
        double apart = dtype_load(dtype, one + at) - dtype_load(dtype, other + at);
        if (!(fabs(apart) <= bound))
            return APART_FAR;
    }
    return APART_ROUNDING;
}

static bool adds_integer(unsigned size, const struct poison_run *base, const struct poison_run *run,
                         uint64_t at)
{
    uint64_t results =
        (uint64_t)load(run->after + at, size) - (uint64_t)load(base->after + at, size);
    uint64_t contents =
        (uint64_t)load(run->held + at, size) - (uint64_t)load(base->held + at, size);
    return (results - contents) << (64 - 8 * size) == 0;
}

static bool adds_real(enum dtype dtype, const struct poison_run *base, const struct poison_run *run,
                      uint64_t at)
{
    double one = dtype_load(dtype, base->after + at), other = dtype_load(dtype, run->after + at);
    double held = dtype_load(dtype, base->held + at), small = dtype_load(dtype, run->held + at);
    double scale = fmax(fmax(fabs(one), fabs(other)), fmax(fabs(held), fabs(small)));
    double step = dtype == DTYPE_F16 ? 0x1p-9 : dtype == DTYPE_BF16 ? 0x1p-6 : 0x1p-18;
    return fabs((other - one) - (small - held)) <= step * scale;
}

bool poison_adds(enum dtype dtype, const struct poison_run *base, const struct poison_run *run,
                 uint64_t bytes)
{
    unsigned size = dtype_bytes(dtype);
    bool real = dtype_is_real(dtype);
    for (uint64_t at = 0; size && at + size <= bytes; at += size) {
        if (!(real ? adds_real(dtype, base, run, at) : adds_integer(size, base, run, at)))
            return false;
    }
    return size > 0;
}
