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
 */
#ifndef DEVICE_OUTLIER_STAT_H
#define DEVICE_OUTLIER_STAT_H

#include "device/outlier_element.h"

/* What an entry says before the launch is known, and the launch's statistics. */
struct outlier_ready {
    float threshold; /* infinite: no call yet */
    float weight;    /* of the launch among those so far */
    uint32_t group;  /* of the launch; whether it is the first of it */
    uint32_t first;
    float deviation[OUTLIER_CHARTS], inverse[OUTLIER_CHARTS], value[OUTLIER_CHARTS];
    float root[OUTLIER_BINS]; /* of the shares; */
    float part[OUTLIER_BINS]; /* the launch's own shares, negative: it has none */
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
    return 2 * outlier_sqrt((float)count + 0.375f);
}

/* Of any double that is not negative: f32 does not hold the squares of large values. */
OUTLIER_FN float outlier_log2_far(double x)
{
#ifdef __CUDA_ARCH__
    uint64_t bits = (uint64_t)__double_as_longlong(x);
#else
    uint64_t bits;
    memcpy(&bits, &x, sizeof(bits));
#endif
    float significand = outlier_float(0x3f800000u | ((uint32_t)(bits >> 29) & 0x7fffff));
    return fmaxf((float)((int)(bits >> 52) - 1023) + outlier_log2(significand), -300);
}

/* Rank back to size: a logarithm with a sign. */
OUTLIER_FN float outlier_log_rank(uint32_t rank)
{
    float value = outlier_of_rank(rank);
    float magnitude = outlier_log2(1 + fabsf(value));
    return value < 0 ? -magnitude : magnitude;
}

/* Hellinger's distance of the exponents from their running shares, in units of its noise; and the
 * launch's shares. */
OUTLIER_FN float outlier_shape(struct outlier_ready *ready, const struct outlier_sums *sums)
{
    uint32_t count = 0;
    float distance = 0;
    OUTLIER_EACH(i, 0, OUTLIER_BINS)
    count += sums->bin[i];
    float total = (float)outlier_count(count), inverse = outlier_inverse(fmaxf(total, 1));
    OUTLIER_EACH(i, 0, OUTLIER_BINS)
    {
        float part = total == 0 ? -1 : (float)sums->bin[i] * inverse;
        float step = outlier_sqrt(fmaxf(part, 0)) - ready->root[i];
        ready->part[i] = part;
        distance += step * step;
    }
    return total == 0 ? 0 : outlier_sqrt(4 * total * outlier_total(distance));
}

/* The number whose logarithm the statistic of a float input is, or is made of. */
OUTLIER_FN float outlier_float_base(const struct outlier_sums *sums, uint32_t feature)
{
    uint32_t count = feature == OUTLIER_NANS ? sums->nans : sums->infs;
    float base = (float)count + 1;
    base = feature == OUTLIER_ABSMAX ? outlier_float(sums->most) : base;
    base = feature == OUTLIER_HOTTEST ? outlier_float(sums->hottest) : base;
    return feature >= OUTLIER_MEAN ? fabsf(sums->sketch[feature - OUTLIER_MEAN]) : base;
}

/* A statistic of a float input; SHAPE comes from outlier_shape. Choices instead of branches: each
 * lane has another statistic, and all of them take the same logarithms. */
OUTLIER_FN float outlier_float_value(const struct outlier_sums *sums, uint32_t feature)
{
    uint32_t finite = sums->count - sums->nans - sums->infs;
    float of_count = outlier_log2((float)(finite ? finite : 1));
    float rms = 0.5f * fmaxf(outlier_log2_far(sums->square) - of_count, -300);
    float value = outlier_log2(outlier_float_base(sums, feature));
    uint32_t small = feature == OUTLIER_ZEROS ? sums->zeros : sums->subnormals;
    value = feature == OUTLIER_RMS ? rms : value;
    value = feature == OUTLIER_HOTTEST ? 0.5f * value - rms : value;
    value = feature == OUTLIER_ZEROS || feature == OUTLIER_SUBNORMALS ? outlier_root(small) : value;
    if (feature < OUTLIER_MEAN)
        return value;
    /* The sum's part in the whole; its magnitude is at most the root mean square. */
    float magnitude = exp2f(fminf(value - of_count - rms, 1));
    return sums->sketch[feature - OUTLIER_MEAN] < 0 ? -magnitude : magnitude;
}

/* Of an index input; all lanes. */
OUTLIER_FN void outlier_bins(const struct outlier_sums *sums, float *most, float *distinct)
{
    uint32_t high = 0, used = 0;
    OUTLIER_EACH(i, 0, OUTLIER_ID_BINS)
    {
        high = sums->bin[i] > high ? sums->bin[i] : high;
        used += sums->bin[i] != 0;
    }
    *most = (float)outlier_most_bits(high);
    *distinct = (float)outlier_count(used);
}

OUTLIER_FN float outlier_id_value(const struct outlier_sums *sums, uint32_t feature, float most,
                                  float distinct)
{
    switch (feature) {
    case OUTLIER_MULTIPLICITY:
        return outlier_log2(1 + most);
    case OUTLIER_DISTINCT:
        return distinct;
    case OUTLIER_LOWEST:
        return outlier_log_rank(~sums->hottest);
    default:
        return outlier_log_rank(sums->most);
    }
}

OUTLIER_FN float outlier_deviation(const struct outlier_entry *entry, uint32_t feature)
{
    float floor = outlier_floor(feature);
    return outlier_sqrt(fmaxf(entry->variance[feature], floor * floor));
}

/* The weight of a launch among those so far. */
OUTLIER_FN float outlier_weight(uint32_t seen)
{
    return outlier_inverse((float)(seen < OUTLIER_MEMORY ? seen + 1 : OUTLIER_MEMORY));
}

/* Moves mean and variance; one launch far away moves them by eight deviations at most, so that it
 * does not hide the next. */
OUTLIER_FN void outlier_learn_value(struct outlier_entry *entry, uint32_t feature,
                                    const struct outlier_ready *ready)
{
    uint32_t seen = entry->launches;
    /* The first launch has no shares to be held against. */
    float weight = feature == OUTLIER_SHAPE && seen == 1 ? 1 : ready->weight;
    float step = ready->value[feature] - entry->mean[feature], most = 8 * ready->deviation[feature];
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
                             const struct outlier_ready *ready)
{
    float *top = &entry->top[ready->group];
    float kept = fminf(score, 1.5f * threshold + 1);
    *top = ready->first ? kept : fmaxf(*top, kept);
}

/* How far a look's epoch is ahead of the statistics' one. */
OUTLIER_FN int32_t outlier_ahead(uint32_t look, uint32_t statistics)
{
    return (int32_t)(look - statistics);
}

/* Empties an entry of an earlier epoch; how far the look was ahead. Negative: the look is not to
 * use the entry. */
OUTLIER_FN int32_t outlier_renew(struct outlier_entry *entry, uint32_t epoch)
{
    int32_t ahead = outlier_ahead(epoch, entry->epoch);
    OUTLIER_TOGETHER();
    if (ahead <= 0)
        return ahead;
    OUTLIER_EACH(i, 0, OUTLIER_CHARTS)
    entry->mean[i] = entry->variance[i] = 0;
    OUTLIER_EACH(i, 0, OUTLIER_BINS)
    entry->share[i] = 0;
    OUTLIER_EACH(i, 0, OUTLIER_GROUPS)
    entry->top[i] = 0;
    if (OUTLIER_LANE() == 0) {
        entry->epoch = epoch;
        entry->launches = 0;
    }
    OUTLIER_TOGETHER();
    return ahead;
}

/*
 * An input is judged in three steps, so that on the GPU only the second one is waited for: what the
 * entry alone says, made ready while the input is being read; the finding; then, behind the
 * decision, the entry learns. Each is for all lanes of a warp, or one caller.
 */
OUTLIER_FN void outlier_make_ready(const struct outlier_entry *entry, uint32_t group,
                                   struct outlier_ready *ready)
{
    uint32_t seen = entry->launches, number = seen < OUTLIER_START ? 0 : seen - OUTLIER_START;
    OUTLIER_EACH(i, 0, OUTLIER_CHARTS)
    {
        ready->deviation[i] = outlier_deviation(entry, i);
        ready->inverse[i] = outlier_inverse(ready->deviation[i]);
    }
    OUTLIER_EACH(i, 0, OUTLIER_BINS)
    ready->root[i] = outlier_sqrt(entry->share[i]);
    float threshold = seen < OUTLIER_START ? INFINITY : outlier_threshold(entry, group);
    if (OUTLIER_LANE())
        return;
    ready->threshold = threshold;
    ready->weight = outlier_weight(seen);
    ready->group = number / group % OUTLIER_GROUPS;
    ready->first = number % group == 0;
}

/* Every lane gets the finding; its feature where the launch is called. */
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
        shape = outlier_shape(ready, sums);
    OUTLIER_EACH(i, from, end)
    {
        float value = integer              ? outlier_id_value(sums, i, most, distinct)
                      : i == OUTLIER_SHAPE ? shape
                                           : outlier_float_value(sums, i);
        float distance = fminf(fabsf(value - entry->mean[i]) * ready->inverse[i], 1e6f);
        ready->value[i] = value;
        if (distance > score) {
            score = distance;
            worst = i;
        }
    }
    finding.score = outlier_most(score);
    finding.feature = worst;
    if (entry->launches >= OUTLIER_START) {
        finding.threshold = ready->threshold;
        finding.called = finding.score > finding.threshold;
    }
#ifdef __CUDA_ARCH__
    if (finding.called) {
        uint32_t holders = __ballot_sync(~0u, score == finding.score);
        finding.feature = __shfl_sync(~0u, worst, __ffs((int)holders) - 1);
    }
#endif
    return finding;
}

OUTLIER_FN void outlier_learn(struct outlier_entry *entry, const struct outlier_ready *ready,
                              int integer, struct outlier_finding finding)
{
    uint32_t from = integer ? OUTLIER_FLOATS_END : 0, seen = entry->launches;
    uint32_t end = integer ? OUTLIER_CHARTS : OUTLIER_FLOATS_END;
    OUTLIER_EACH(i, from, end)
    outlier_learn_value(entry, i, ready);
    OUTLIER_EACH(i, 0, integer ? 0 : OUTLIER_BINS)
    {
        if (ready->part[i] >= 0)
            entry->share[i] += ready->weight * (ready->part[i] - entry->share[i]);
    }
    OUTLIER_TOGETHER();
    if (OUTLIER_LANE() == 0) {
        if (seen >= OUTLIER_START)
            outlier_note(entry, finding.score, finding.threshold, ready);
        /* Groups go round; far below the wrap their numbers matter only modulo their count. */
        entry->launches = seen < 0x7fffffff ? seen + 1 : seen;
    }
}

/* The three at once, for a look of `epoch`. */
OUTLIER_FN struct outlier_finding outlier_judge(struct outlier_entry *entry, uint32_t epoch,
                                                const struct outlier_sums *sums, int integer,
                                                uint32_t group)
{
    struct outlier_ready ready;
    if (outlier_renew(entry, epoch) < 0) {
        struct outlier_finding none = {0, 0, 0, 0};
        return none;
    }
    outlier_make_ready(entry, group, &ready);
    struct outlier_finding finding = outlier_find(entry, &ready, sums, integer);
    outlier_learn(entry, &ready, integer, finding);
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
