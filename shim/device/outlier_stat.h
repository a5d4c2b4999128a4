/*
 * outlier_stat.h - the arithmetic of the outlier gate, once for the GPU and for the host (unit
 * tests, the table of `make outlier-table`).
 *
 * fingerprint: each launch gives a vector of statistics, mostly logarithms. Each statistic has a
 * running mean and variance; the launch's score is the largest distance from the mean in standard
 * deviations. Scores are not held against a table of the normal distribution, which no maximum and
 * no heavy tail obeys, but against each other: a launch is called when its score exceeds those of
 * the last 1 / alpha launches. Of exchangeable launches one in 1 / alpha does so, whatever they
 * are distributed like, however many statistics there are and however they depend on one another.
 *
 * centroid: the published rule, mean(distance) / quantile(distances) >= threshold.
 *
 * Code for a warp (GPU: lanes = 32) or for one caller (host: lanes = 1): OUTLIER_EACH gives each
 * lane its share, outlier_most and outlier_total put the shares together, OUTLIER_TOGETHER lets all
 * lanes see what each wrote.
 */
#ifndef DEVICE_OUTLIER_STAT_H
#define DEVICE_OUTLIER_STAT_H

#include "device/outlier_abi.h"
#include "refs/ref_abi.h"

#ifdef __CUDACC__
#define OUTLIER_FN         static __device__ __forceinline__
#define OUTLIER_LANE()     (threadIdx.x % 32)
#define OUTLIER_LANES()    32
#define OUTLIER_TOGETHER() __syncwarp()
#define OUTLIER_ONES(x)    (uint32_t) __popc(x)
#else
#include <math.h>
#include <stdbool.h>
#include <string.h>
#define OUTLIER_FN         static inline
#define OUTLIER_LANE()     0u
#define OUTLIER_LANES()    1
#define OUTLIER_TOGETHER() (void)0
#define OUTLIER_ONES(x)    (uint32_t) __builtin_popcount(x)
#endif

#define OUTLIER_EACH(i, from, end)                                                                 \
    for (uint32_t i = (from) + OUTLIER_LANE(); i < (uint32_t)(end); i += OUTLIER_LANES())

OUTLIER_FN float outlier_float(uint32_t bits)
{
#ifdef __CUDA_ARCH__
    return __uint_as_float(bits);
#else
    float value;
    memcpy(&value, &bits, sizeof(value));
    return value;
#endif
}

OUTLIER_FN uint32_t outlier_bits(float value)
{
#ifdef __CUDA_ARCH__
    return __float_as_uint(value);
#else
    uint32_t bits;
    memcpy(&bits, &value, sizeof(bits));
    return bits;
#endif
}

OUTLIER_FN float outlier_most(float value)
{
#ifdef __CUDA_ARCH__
    for (int step = 16; step; step /= 2)
        value = fmaxf(value, __shfl_xor_sync(~0u, value, step));
#endif
    return value;
}

OUTLIER_FN float outlier_total(float value)
{
#ifdef __CUDA_ARCH__
    for (int step = 16; step; step /= 2)
        value += __shfl_xor_sync(~0u, value, step);
#endif
    return value;
}

/* A hash of 32 bits with good low bits (the finaliser of MurmurHash3). */
OUTLIER_FN uint32_t outlier_hash(uint32_t x)
{
    x = (x ^ x >> 16) * 0x85ebca6bu;
    x = (x ^ x >> 13) * 0xc2b2ae35u;
    return x ^ x >> 16;
}

/*
 * Which piece is the k-th of the sample: one in each of `sampled` equal parts of all pieces, part k
 * being those from floor(pieces * k / sampled) on. `sampled` is `pieces` or a power of two:
 * divisions take the GPU longer than the rest of it.
 */
OUTLIER_FN uint64_t outlier_pick(uint64_t pieces, uint32_t sampled, uint64_t seed, uint32_t k)
{
    if (sampled == pieces)
        return k;
    uint32_t shift = OUTLIER_ONES(sampled - 1);
    uint64_t low = pieces * k >> shift, high = pieces * (k + 1) >> shift;
    uint32_t draw = outlier_hash((uint32_t)seed ^ outlier_hash((uint32_t)(seed >> 32) + k));
    return low + ((high - low) * (draw >> 8) >> 24);
}

/* ---- elements ---- */

/* A float format of at most 16 bits, as f32 holds it. `bias` 2^(127 - its bias); all ones in the
 * exponent is Inf and NaN when `ieee`. */
OUTLIER_FN float outlier_small_float(uint32_t bits, int exponent, int fraction, int ieee)
{
    uint32_t magnitude = bits & ((1u << (exponent + fraction)) - 1);
    uint32_t top = ((1u << exponent) - 1) << fraction;
    uint32_t sign = (bits >> (exponent + fraction) & 1) << 31;
    if (ieee ? magnitude >= top : magnitude == (top | ((1u << fraction) - 1)))
        return outlier_float(sign | 0x7f800000u |
                             (ieee ? (magnitude - top) << (23 - fraction) : 1));
    /* The exponent field lands below f32's; a product by a power of two puts it right, subnormals
     * too. */
    float scale = outlier_float((uint32_t)(254 - ((1 << (exponent - 1)) - 1)) << 23);
    float value = outlier_float(magnitude << (23 - fraction)) * scale;
    return outlier_float(sign | outlier_bits(value));
}

/* An element of a float dtype as f32; f64 keeps its class: what f32 cannot hold is the largest or
 * smallest that it can. */
OUTLIER_FN float outlier_decode(int dtype, uint64_t raw)
{
    uint32_t bits = (uint32_t)raw;
    switch (dtype) {
    case DTYPE_F32:
        return outlier_float(bits);
    case DTYPE_BF16:
        return outlier_float(bits << 16);
    case DTYPE_F16:
        return outlier_small_float(bits, 5, 10, 1);
    case DTYPE_F8E4M3:
        return outlier_small_float(bits, 4, 3, 0);
    case DTYPE_F8E5M2:
        return outlier_small_float(bits, 5, 2, 1);
    default:
        break;
    }
    uint32_t sign = (uint32_t)(raw >> 63) << 31;
    uint64_t magnitude = raw & ~((uint64_t)1 << 63);
    int exponent = (int)(magnitude >> 52) - 1023 + 127;
    uint32_t fraction = (uint32_t)(magnitude >> 29) & 0x7fffff;
    if (magnitude > (uint64_t)0x7ff << 52)
        return outlier_float(0x7fc00000u);
    if (magnitude == (uint64_t)0x7ff << 52)
        return outlier_float(sign | 0x7f800000u);
    if (magnitude == 0)
        return outlier_float(sign);
    if (exponent >= 255)
        return outlier_float(sign | 0x7f7fffffu);
    return outlier_float(sign | (exponent <= 0 ? 1 : (uint32_t)exponent << 23 | fraction));
}

/* The smallest normal value of a float dtype. */
OUTLIER_FN float outlier_tiny(int dtype)
{
    int exponent = dtype == DTYPE_F16 || dtype == DTYPE_F8E5M2 ? -14
                   : dtype == DTYPE_F8E4M3                     ? -6
                                                               : -126;
    return outlier_float((uint32_t)(127 + exponent) << 23);
}

/* An element of an integer dtype, sign-extended. */
OUTLIER_FN int64_t outlier_integer(int dtype, uint64_t raw)
{
    switch (dtype) {
    case DTYPE_I8:
        return (signed char)raw;
    case DTYPE_I16:
        return (short)raw;
    case DTYPE_I32:
        return (int32_t)raw;
    default:
        return (int64_t)raw;
    }
}

/* An element of any dtype, for the centroid detector. */
OUTLIER_FN float outlier_any(int dtype, int integer, uint64_t raw)
{
    return integer ? (float)outlier_integer(dtype, raw) : outlier_decode(dtype, raw);
}

/* Orders signed integers as unsigned ones, above 0. */
OUTLIER_FN uint64_t outlier_rank(int64_t value)
{
    return (uint64_t)value ^ (uint64_t)1 << 63;
}

OUTLIER_FN uint32_t outlier_id_bin(int64_t value)
{
    return outlier_hash((uint32_t)value ^ outlier_hash((uint32_t)((uint64_t)value >> 32))) %
           OUTLIER_ID_BINS;
}

/* The same of 32 bits: their sign has a hash that is known. */
OUTLIER_FN uint32_t outlier_small_id_bin(int32_t value)
{
    const uint32_t of_ones = 0x81f16f39u; /* outlier_hash(UINT32_MAX) */
    return outlier_hash((uint32_t)value ^ (value < 0 ? of_ones : 0)) % OUTLIER_ID_BINS;
}

/* What one thread has seen of a float input. */
struct outlier_tally {
    float square; /* of the piece under way */
    double far;   /* squares that f32 could not hold */
    float sketch[OUTLIER_SKETCH];
    float most;
    uint32_t count, nans, infs, small, zeros; /* small: below the normal range, zeros included */
};

/* Elements that are not finite, or have squares beyond f32. */
OUTLIER_FN void outlier_take_slowly(struct outlier_tally *tally, const float *value, int count)
{
    for (int i = 0; i < count; i++) {
        float magnitude = fabsf(value[i]);
        if (!(magnitude >= 0)) {
            tally->nans++;
        } else if (magnitude > 3.402823466e38f) {
            tally->infs++;
        } else {
            tally->far += (double)magnitude * magnitude;
            tally->most = fmaxf(tally->most, magnitude);
        }
    }
}

/* `count` neighbours, 1 or an even number, in the 16-byte unit (or the element) number `column` of
 * their row. */
OUTLIER_FN void outlier_take(struct outlier_tally *tally, const float *value, int count,
                             uint32_t column, float tiny)
{
    float square = value[0] * value[0], even = value[0], odd = count > 1 ? value[1] : 0;
    float most = fabsf(value[0]), least = most;
    for (int i = 1; i < count; i++) {
        square += value[i] * value[i];
        most = fmaxf(most, fabsf(value[i]));
        least = fminf(least, fabsf(value[i]));
    }
    for (int i = 2; i + 1 < count; i += 2) {
        even += value[i];
        odd += value[i + 1];
    }
    for (int i = 0; i < count && least < tiny; i++) {
        tally->small += fabsf(value[i]) < tiny;
        tally->zeros += value[i] == 0;
    }
    tally->count += (uint32_t)count;
    if (!(square < 1e34f)) { /* a piece of such units stays far below the end of f32 */
        outlier_take_slowly(tally, value, count);
        return;
    }
    uint32_t hash = outlier_hash(column);
    tally->square += square;
    tally->most = fmaxf(tally->most, most);
    tally->sketch[0] += even + odd;
    tally->sketch[1] += count == 1 && (column & 1) ? -even : even - odd;
    tally->sketch[2] += hash & 1 ? even + odd : -(even + odd);
    tally->sketch[3] += hash & 2 ? even - odd : odd - even;
}

/* Of the `count` elements of a piece's unit, which one goes into the histogram. */
OUTLIER_FN uint32_t outlier_binned_element(uint32_t unit, uint32_t count)
{
    return unit / 32 % 4 * count / 4;
}

/* The exponent's bin of a finite value other than 0, else -1. */
OUTLIER_FN int outlier_bin(float value)
{
    uint32_t magnitude = outlier_bits(value) & 0x7fffffff;
    return magnitude == 0 || magnitude >= 0x7f800000 ? -1 : (int)(magnitude >> 23) % OUTLIER_BINS;
}

/* ---- statistics ---- */

/* What an entry says before the launch is known, and the launch's statistics. */
struct outlier_ready {
    float threshold; /* infinite: no call yet */
    float deviation[OUTLIER_CHARTS], value[OUTLIER_CHARTS];
    float root[OUTLIER_BINS]; /* of the shares */
};

struct outlier_finding {
    int called;
    uint32_t feature;
    float score, threshold;
};

/* What a statistic's standard deviation is taken for at least. */
OUTLIER_FN float outlier_floor(uint32_t feature)
{
    switch (feature) {
#define FEATURE(name, text, floor)                                                                 \
    case OUTLIER_##name:                                                                           \
        return floor;
        OUTLIER_FEATURES(FEATURE)
#undef FEATURE
    default:
        return 1;
    }
}

/* Counts as if their variance were 1, as a Poisson count's square root has it. */
OUTLIER_FN float outlier_root(uint32_t count)
{
    return 2 * sqrtf((float)count + 0.375f);
}

/* Of any double that is not negative: f32 does not hold the squares of large values. 0 counts as
 * about the smallest square of an f32. */
OUTLIER_FN float outlier_log2(double x)
{
#ifdef __CUDA_ARCH__
    uint64_t bits = (uint64_t)__double_as_longlong(x);
#else
    uint64_t bits;
    memcpy(&bits, &x, sizeof(bits));
#endif
    float significand = outlier_float(0x3f800000u | ((uint32_t)(bits >> 29) & 0x7fffff));
    return fmaxf((float)((int)(bits >> 52) - 1023) + log2f(significand), -300);
}

/* Rank back to size: a logarithm with a sign. */
OUTLIER_FN float outlier_log_rank(uint64_t rank)
{
    int64_t value = (int64_t)(rank ^ (uint64_t)1 << 63);
    float magnitude = log2f(1 + fabsf((float)value));
    return value < 0 ? -magnitude : magnitude;
}

/* Hellinger's distance of the exponents from their running shares, in units of its noise. `total`:
 * elements in all bins. */
OUTLIER_FN float outlier_shape(const struct outlier_ready *ready, const struct outlier_sums *sums,
                               float total)
{
    float distance = 0;
    if (total == 0)
        return 0;
    OUTLIER_EACH(i, 0, OUTLIER_BINS)
    {
        float step = sqrtf((float)sums->bin[i] / total) - ready->root[i];
        distance += step * step;
    }
    return sqrtf(4 * total * outlier_total(distance));
}

/* The number whose logarithm the statistic of a float input is, or is made of. */
OUTLIER_FN double outlier_float_base(const struct outlier_sums *sums, uint32_t feature, double part)
{
    double base = sums->square * part;
    base = feature == OUTLIER_NANS ? (double)sums->nans + 1 : base;
    base = feature == OUTLIER_INFS ? (double)sums->infs + 1 : base;
    base = feature == OUTLIER_ABSMAX ? (double)outlier_float(sums->most) : base;
    base = feature == OUTLIER_HOTTEST ? (double)outlier_float(sums->hottest) : base;
    return feature >= OUTLIER_MEAN ? fabs(sums->sketch[feature - OUTLIER_MEAN] * part) : base;
}

/* A statistic of a float input; SHAPE comes from outlier_shape. Choices instead of branches: each
 * lane has another statistic, and all of them take one logarithm. */
OUTLIER_FN float outlier_float_value(const struct outlier_sums *sums, uint32_t feature)
{
    uint32_t finite = sums->count - sums->nans - sums->infs;
    double part = (double)(1 / (finite ? (float)finite : 1));
    float rms = 0.5f * outlier_log2(sums->square * part);
    float value = outlier_log2(outlier_float_base(sums, feature, part));
    bool halved = feature == OUTLIER_HOTTEST || feature == OUTLIER_RMS;
    value = halved ? 0.5f * value : value;
    value = feature == OUTLIER_HOTTEST ? value - rms : value;
    value = feature == OUTLIER_ZEROS ? outlier_root(sums->zeros) : value;
    value = feature == OUTLIER_SUBNORMALS ? outlier_root(sums->subnormals) : value;
    if (feature < OUTLIER_MEAN)
        return value;
    /* The sum's part in the whole; its magnitude is at most the root mean square. */
    float magnitude = exp2f(fminf(value - rms, 1));
    return sums->sketch[feature - OUTLIER_MEAN] < 0 ? -magnitude : magnitude;
}

/* Of an index input; all lanes. */
OUTLIER_FN void outlier_bins(const struct outlier_sums *sums, float *most, float *distinct)
{
    float high = 0, used = 0;
    OUTLIER_EACH(i, 0, OUTLIER_ID_BINS)
    {
        high = fmaxf(high, (float)sums->bin[i]);
        used += sums->bin[i] != 0;
    }
    *most = outlier_most(high);
    *distinct = outlier_total(used);
}

OUTLIER_FN float outlier_id_value(const struct outlier_sums *sums, uint32_t feature, float most,
                                  float distinct)
{
    switch (feature) {
    case OUTLIER_MULTIPLICITY:
        return log2f(1 + most);
    case OUTLIER_DISTINCT:
        return distinct;
    case OUTLIER_LOWEST:
        return outlier_log_rank(~sums->low);
    default:
        return outlier_log_rank(sums->high);
    }
}

OUTLIER_FN float outlier_deviation(const struct outlier_entry *entry, uint32_t feature)
{
    float floor = outlier_floor(feature);
    return sqrtf(fmaxf(entry->variance[feature], floor * floor));
}

/* The weight of a launch among those so far. */
OUTLIER_FN float outlier_weight(uint32_t seen)
{
    return 1 / (float)(seen < OUTLIER_MEMORY ? seen + 1 : OUTLIER_MEMORY);
}

/* Moves mean and variance; one launch far away moves them by eight deviations at most, so that it
 * does not hide the next. */
OUTLIER_FN void outlier_learn_value(struct outlier_entry *entry, uint32_t feature, float value,
                                    float deviation)
{
    uint32_t seen = entry->launches;
    if (feature == OUTLIER_SHAPE && seen == 1)
        seen = 0; /* the first launch has no shares to be held against */
    float weight = outlier_weight(seen);
    float step = value - entry->mean[feature], most = 8 * deviation;
    if (seen >= 4)
        step = fminf(fmaxf(step, -most), most);
    entry->mean[feature] += weight * step;
    entry->variance[feature] = (1 - weight) * (entry->variance[feature] + weight * step * step);
}

/* What a score must exceed: the largest of the last launches. Before there are 1 / alpha of them,
 * it is taken further by what the largest of that many would be more, for an exponential tail. */
OUTLIER_FN float outlier_threshold(const struct outlier_entry *entry, uint32_t group)
{
    float most = 0, window = (float)group * (OUTLIER_GROUPS - 1);
    float scores = (float)(entry->launches - OUTLIER_START) + 1;
    OUTLIER_EACH(i, 0, OUTLIER_GROUPS)
    most = fmaxf(most, entry->top[i]);
    most = outlier_most(most);
    return scores < window ? most + logf(window / scores) : most;
}

/* Notes a score. One that is far above all others counts as half as much again and one more, so
 * that one bad launch does not hide the next, and that what is usual is learnt nevertheless. */
OUTLIER_FN void outlier_note(struct outlier_entry *entry, float score, float threshold,
                             uint32_t group)
{
    uint32_t number = entry->launches - OUTLIER_START;
    float *top = &entry->top[number / group % OUTLIER_GROUPS];
    float kept = fminf(score, 1.5f * threshold + 1);
    *top = number % group == 0 ? kept : fmaxf(*top, kept);
}

/*
 * An input is judged in three steps, so that on the GPU only the second one is waited for: what the
 * entry alone says, made ready while the input is being read; the finding; then, behind the
 * decision, the entry learns. Each is for all lanes of a warp, or one caller.
 */
OUTLIER_FN void outlier_make_ready(const struct outlier_entry *entry, uint32_t group,
                                   struct outlier_ready *ready)
{
    OUTLIER_EACH(i, 0, OUTLIER_CHARTS)
    ready->deviation[i] = outlier_deviation(entry, i);
    OUTLIER_EACH(i, 0, OUTLIER_BINS)
    ready->root[i] = sqrtf(entry->share[i]);
    float threshold = entry->launches < OUTLIER_START ? INFINITY : outlier_threshold(entry, group);
    if (OUTLIER_LANE() == 0)
        ready->threshold = threshold;
}

OUTLIER_FN float outlier_binned(const struct outlier_sums *sums)
{
    float total = 0;
    OUTLIER_EACH(i, 0, OUTLIER_BINS)
    total += (float)sums->bin[i];
    return outlier_total(total);
}

/* Every lane gets the finding. */
OUTLIER_FN struct outlier_finding outlier_find(const struct outlier_entry *entry,
                                               struct outlier_ready *ready,
                                               const struct outlier_sums *sums, int integer)
{
    uint32_t from = integer ? OUTLIER_FLOATS_END : 0, worst = from;
    uint32_t end = integer ? OUTLIER_CHARTS : OUTLIER_FLOATS_END;
    float most = 0, distinct = 0, shape = 0, score = 0;
    struct outlier_finding finding = {0, from, 0, 0};
    if (integer)
        outlier_bins(sums, &most, &distinct);
    else
        shape = outlier_shape(ready, sums, outlier_binned(sums));
    OUTLIER_EACH(i, from, end)
    {
        float value = integer              ? outlier_id_value(sums, i, most, distinct)
                      : i == OUTLIER_SHAPE ? shape
                                           : outlier_float_value(sums, i);
        float distance = fminf(fabsf(value - entry->mean[i]) / ready->deviation[i], 1e6f);
        ready->value[i] = value;
        if (distance > score) {
            score = distance;
            worst = i;
        }
    }
    finding.score = outlier_most(score);
    finding.feature = worst;
#ifdef __CUDA_ARCH__
    uint32_t holders = __ballot_sync(~0u, score == finding.score);
    finding.feature = __shfl_sync(~0u, worst, __ffs((int)holders) - 1);
#endif
    if (entry->launches >= OUTLIER_START) {
        finding.threshold = ready->threshold;
        finding.called = finding.score > finding.threshold;
    }
    return finding;
}

OUTLIER_FN void outlier_learn(struct outlier_entry *entry, const struct outlier_ready *ready,
                              const struct outlier_sums *sums, int integer, uint32_t group,
                              struct outlier_finding finding)
{
    uint32_t from = integer ? OUTLIER_FLOATS_END : 0, seen = entry->launches;
    uint32_t end = integer ? OUTLIER_CHARTS : OUTLIER_FLOATS_END;
    float weight = outlier_weight(seen), total = integer ? 0 : outlier_binned(sums);
    OUTLIER_EACH(i, from, end)
    outlier_learn_value(entry, i, ready->value[i], ready->deviation[i]);
    OUTLIER_EACH(i, 0, total == 0 ? 0 : OUTLIER_BINS)
    entry->share[i] += weight * ((float)sums->bin[i] / total - entry->share[i]);
    OUTLIER_TOGETHER();
    if (OUTLIER_LANE() == 0) {
        if (seen >= OUTLIER_START)
            outlier_note(entry, finding.score, finding.threshold, group);
        /* Groups go round; far below the wrap their numbers matter only modulo their count. */
        entry->launches = seen < 0x7fffffff ? seen + 1 : seen;
    }
}

/* The three at once. */
OUTLIER_FN struct outlier_finding outlier_judge(struct outlier_entry *entry,
                                                const struct outlier_sums *sums, int integer,
                                                uint32_t group)
{
    struct outlier_ready ready;
    outlier_make_ready(entry, group, &ready);
    struct outlier_finding finding = outlier_find(entry, &ready, sums, integer);
    outlier_learn(entry, &ready, sums, integer, group, finding);
    return finding;
}

/* ---- centroid ---- */

/* The published rule. `quantile` negative: not known yet. */
OUTLIER_FN struct outlier_finding outlier_centroid_judge(uint32_t batches, float mean,
                                                         uint32_t bad_rows, float quantile,
                                                         float threshold)
{
    struct outlier_finding finding = {0, OUTLIER_DISTANCE, 0, threshold};
    if (quantile > 0)
        finding.score = fminf(mean / quantile, 1);
    else if (quantile == 0 && mean > 0)
        finding.score = 1;
    finding.called = quantile >= 0 && finding.score >= threshold && finding.score > 0;
    if (bad_rows) {
        finding.called = 1;
        finding.feature = OUTLIER_ROWS_WITH_NAN;
        finding.score = (float)bad_rows;
    }
    if (!batches) {
        finding.called = 1;
        finding.feature = OUTLIER_NEW;
    }
    return finding;
}

/* A column's centre after a batch with that mean. */
OUTLIER_FN float outlier_centre(float centre, float mean, uint32_t batches, float alpha)
{
    return batches ? alpha * mean + (1 - alpha) * centre : mean;
}

#endif
