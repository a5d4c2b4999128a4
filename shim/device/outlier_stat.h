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

/* The part of a judgement that depends on the entry alone, and the launch's statistics. */
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

/* log2 of the sum of all squares. */
OUTLIER_FN float outlier_log2_square(const struct outlier_sums *sums)
{
    int is_far = sums->far > 0;
    float far = sums->far + sums->square * 0x1p-80f * 0x1p-80f;
    return outlier_log2(is_far ? far : sums->square) + (is_far ? 160.0f : 0.0f);
}

/* Hellinger's distance of the exponents from their running shares, in units of its noise; and the
 * launch's shares. */
OUTLIER_FN float outlier_shape(struct outlier_ready *ready, const struct outlier_sums *sums)
{
    static_assert(OUTLIER_BINS == 32, "no lane to spare, which would add a bin once more");
    uint32_t count = 0;
    float distance = 0;
    OUTLIER_FEW(i, 0, OUTLIER_BINS)
    count += sums->bin[i];
    float total = (float)outlier_count(count), inverse = outlier_inverse(fmaxf(total, 1));
    OUTLIER_FEW(i, 0, OUTLIER_BINS)
    {
        float part = total == 0 ? -1 : (float)sums->bin[i] * inverse;
        float step = outlier_sqrt(fmaxf(part, 0)) - ready->root[i];
        ready->part[i] = part;
        distance += step * step;
    }
    return outlier_sqrt(4 * total * outlier_total(distance));
}

/* The word of the sums that a statistic of a float input is of; any for RMS and SHAPE. */
OUTLIER_FN uint32_t outlier_feature_word(const struct outlier_sums *sums, uint32_t feature)
{
    enum { AT_NANS = offsetof(struct outlier_sums, nans) / 4 };
    enum { AT_HOTTEST = offsetof(struct outlier_sums, hottest) / 4 };
    enum { AT_SKETCH = offsetof(struct outlier_sums, sketch) / 4 };
    static_assert(OUTLIER_NANS == 0 && OUTLIER_ABSMAX == AT_HOTTEST - 1 - AT_NANS &&
                      OUTLIER_HOTTEST > OUTLIER_ABSMAX && OUTLIER_HOTTEST < OUTLIER_MEAN,
                  "the first statistics are in the order of the sums");
    uint32_t before = AT_NANS + feature;
    uint32_t word = feature < OUTLIER_MEAN ? (before < AT_HOTTEST ? before : AT_HOTTEST)
                                           : AT_SKETCH + feature - OUTLIER_MEAN;
    return outlier_word_at(sums, word);
}

/*
 * A statistic of a float input; SHAPE comes from outlier_shape. Choices instead of branches: each
 * lane has another statistic, and all of them take the same logarithms and the same power.
 *
 * Counts of what is rare: log2(count + 1). Of what may be common: 2 sqrt(count + 3/8), whose
 * variance is 1 where the count is Poisson's. A sketch's sum: its part in the whole, whose
 * magnitude is at most the root mean square.
 */
OUTLIER_FN float outlier_float_value(const struct outlier_sums *sums, uint32_t feature)
{
    int is_rare = feature == OUTLIER_NANS || feature == OUTLIER_INFS;
    int is_common = feature == OUTLIER_ZEROS || feature == OUTLIER_SUBNORMALS;
    int is_sum = feature >= OUTLIER_MEAN;
    uint32_t finite = sums->count - sums->nans - sums->infs,
             word = outlier_feature_word(sums, feature);
    float base = is_rare || is_common ? (float)word : fabsf(outlier_float(word));
    float log = outlier_log2(base + (is_rare ? 1.0f : is_common ? 0.375f : 0.0f));
    float of_count = outlier_log2((float)(finite ? finite : 1));
    float rms = 0.5f * fmaxf(outlier_log2_square(sums) - of_count, -300);
    float power = outlier_exp2(is_sum ? fminf(log - of_count - rms, 1) : 0.5f * log + 1);
    float value = feature == OUTLIER_RMS ? rms : log;
    value = feature == OUTLIER_HOTTEST ? 0.5f * log - rms : value;
    return is_sum || is_common ? copysignf(power, outlier_float(word)) : value;
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

/* Ranks back to sizes: logarithms with a sign. */
OUTLIER_FN float outlier_id_value(const struct outlier_sums *sums, uint32_t feature, float most,
                                  float distinct)
{
    float index = outlier_of_rank(feature == OUTLIER_LOWEST ? ~sums->hottest : sums->most);
    float of = feature == OUTLIER_MULTIPLICITY ? most : index;
    float value = copysignf(outlier_log2(1 + fabsf(of)), of);
    return feature == OUTLIER_DISTINCT ? distinct : value;
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
OUTLIER_FN void outlier_update_value(struct outlier_entry *entry, uint32_t feature,
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
 * that one bad launch does not hide the next, and that frequent scores still raise the limit. */
OUTLIER_FN void outlier_note(struct outlier_entry *entry, float score, float threshold,
                             const struct outlier_ready *ready)
{
    float *top = &entry->top[ready->group];
    float kept = fminf(score, 1.5f * threshold + 1);
    *top = ready->first ? kept : fmaxf(*top, kept);
}

/* How far a probe's epoch is ahead of that of the statistics. */
OUTLIER_FN int32_t outlier_ahead(uint32_t look, uint32_t statistics)
{
    return (int32_t)(look - statistics);
}

/* Empties an entry of an earlier epoch; returns how far the probe was ahead. Negative: the probe is
 * not to use the entry. */
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
 * An input is judged in three steps, so that on the GPU only the second one is waited for: the part
 * of the entry alone, made ready while the input is being read; the finding; then, after the
 * decision, the update of the entry. Each is for all lanes of a warp, or one caller.
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

/* Notes the value of a statistic, and its score where it is the largest yet. */
OUTLIER_FN void outlier_weigh(const struct outlier_entry *entry, struct outlier_ready *ready,
                              uint32_t feature, float value, struct outlier_finding *worst)
{
    float score = fminf(fabsf(value - entry->mean[feature]) * ready->inverse[feature], 1e6f);
    ready->value[feature] = value;
    worst->feature = score > worst->score ? feature : worst->feature;
    worst->score = fmaxf(score, worst->score);
}

/* Every lane gets the finding; its feature where the launch is called. */
OUTLIER_FN struct outlier_finding outlier_find(const struct outlier_entry *entry,
                                               struct outlier_ready *ready,
                                               const struct outlier_sums *sums, int integer)
{
    uint32_t first = integer ? OUTLIER_FLOATS_END : 0;
    struct outlier_finding finding = {0, first, 0, ready->threshold};
    if (integer) {
        float most, distinct;
        outlier_bins(sums, &most, &distinct);
        OUTLIER_FEW(i, OUTLIER_FLOATS_END, OUTLIER_CHARTS)
        outlier_weigh(entry, ready, i, outlier_id_value(sums, i, most, distinct), &finding);
    } else {
        float shape = outlier_shape(ready, sums);
        OUTLIER_FEW(i, 0, OUTLIER_FLOATS_END)
        {
            float value = outlier_float_value(sums, i);
            outlier_weigh(entry, ready, i, i == OUTLIER_SHAPE ? shape : value, &finding);
        }
    }
    float score = finding.score;
    finding.score = outlier_most(score);
    finding.called = finding.score > finding.threshold;
#ifdef __CUDA_ARCH__
    if (finding.called) {
        uint32_t holders = __ballot_sync(~0u, score == finding.score);
        finding.feature = __shfl_sync(~0u, finding.feature, __ffs((int)holders) - 1);
    }
#endif
    return finding;
}

OUTLIER_FN void outlier_update(struct outlier_entry *entry, const struct outlier_ready *ready,
                               int integer, struct outlier_finding finding)
{
    uint32_t from = integer ? OUTLIER_FLOATS_END : 0, seen = entry->launches;
    uint32_t end = integer ? OUTLIER_CHARTS : OUTLIER_FLOATS_END;
    OUTLIER_EACH(i, from, end)
    outlier_update_value(entry, i, ready);
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

/* The three at once, for a probe of `epoch`. */
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
    outlier_update(entry, &ready, integer, finding);
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
