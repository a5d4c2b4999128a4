#include "tests/unit/fakes/outlier_host.h"

#include <math.h>
#include <string.h>
#include "device/outlier_stat.h"

static uint64_t load(const char *at, unsigned size)
{
    uint64_t raw = 0;
    memcpy(&raw, at, size);
    return raw;
}

/* Neighbours that a thread takes at once: a 16-byte unit, or one element. */
static uint32_t unit_of(const struct outlier_input *input)
{
    return input->aligned ? 16u / input->size : 1;
}

static void take_ids(const struct outlier_input *input, const char *row, uint64_t first,
                     uint64_t last, struct outlier_sums *sums)
{
    for (uint64_t i = first; i < last; i++) {
        int64_t value = outlier_integer(input->dtype, load(row + i * input->size, input->size));
        uint32_t rank = outlier_rank(value);
        sums->count++;
        sums->most = rank > sums->most ? rank : sums->most;
        sums->hottest = ~rank > sums->hottest ? ~rank : sums->hottest;
        sums->bin[outlier_id_bin(value)]++;
    }
}

static void merge(struct outlier_sums *sums, const struct outlier_tally *tally, uint64_t elements)
{
    float hottest = tally->square / (float)elements;
    sums->square += tally->square;
    sums->far += (float)(tally->odd.far * 0x1p-160);
    for (int i = 0; i < OUTLIER_SKETCH; i++)
        sums->sketch[i] += tally->sketch[i];
    sums->count += tally->count;
    sums->nans += tally->odd.nans;
    sums->infs += tally->odd.infs;
    sums->zeros += tally->small.zeros;
    sums->subnormals += tally->small.all - tally->small.zeros;
    sums->most =
        outlier_bits(fmaxf(fmaxf(outlier_float(sums->most), tally->most), tally->odd.most));
    sums->hottest = outlier_bits(fmaxf(outlier_float(sums->hottest), hottest));
}

static void take_floats(const struct outlier_input *input, const char *row, uint64_t first,
                        uint64_t last, struct outlier_sums *sums)
{
    struct outlier_tally tally = {0};
    uint32_t unit = unit_of(input);
    float tiny = outlier_tiny(input->dtype), value[16];
    for (uint64_t i = first; i < last; i += unit) {
        uint32_t column = (uint32_t)(i / unit % input->period);
        for (uint32_t j = 0; j < unit; j++)
            value[j] = outlier_decode(input->dtype, load(row + (i + j) * input->size, input->size));
        outlier_take(&tally, value, (int)unit, outlier_signs(column, (int)unit), tiny);
        int bin = outlier_bin(value[outlier_binned_element((uint32_t)((i - first) / unit), unit)]);
        if (bin >= 0)
            sums->bin[bin]++;
    }
    merge(sums, &tally, last - first);
}

void outlier_host_look(const struct outlier_input *input, uint64_t seed, struct outlier_sums *sums)
{
    uint64_t step = OUTLIER_PIECE / input->size, elements = input->row_bytes / input->size;
    for (uint32_t k = 0; k < input->sampled; k++) {
        uint64_t piece = outlier_pick(input->pieces, input->sampled, seed, k);
        uint64_t first = piece % input->pieces_per_row * step, last = first + step;
        const char *row = (const char *)(uintptr_t)(input->address +
                                                    piece / input->pieces_per_row * input->pitch);
        last = last < elements ? last : elements;
        if (input->integer)
            take_ids(input, row, first, last, sums);
        else
            take_floats(input, row, first, last, sums);
    }
}

void outlier_host_batch(const struct outlier_input *input, const struct outlier_batch *batch,
                        uint64_t seed, float *distance, uint32_t *bad)
{
    struct outlier_centroid *centroid = batch->centroid;
    memset(distance, 0, OUTLIER_ROWS * sizeof(*distance));
    memset(bad, 0, OUTLIER_ROWS * sizeof(*bad));
    for (uint32_t c = 0; c < batch->columns; c++) {
        float sum = 0, finite = 0, centre = centroid->center[c];
        for (uint32_t k = 0; k < batch->rows; k++) {
            uint64_t row = outlier_pick(batch->all_rows, batch->rows, seed, k);
            const char *at = (const char *)(uintptr_t)(input->address + row * batch->pitch +
                                                       (uint64_t)c * input->size);
            float value = outlier_any(input->dtype, input->integer, load(at, input->size));
            if (fabsf(value) <= 3.402823466e38f) {
                sum += value;
                finite++;
                distance[k] += centroid->batches ? (value - centre) * (value - centre) : 0;
            } else {
                bad[k]++;
            }
        }
        if (finite > 0)
            centroid->center[c] =
                outlier_centre(centre, sum / finite, centroid->batches, batch->alpha);
    }
}

static struct outlier_finding decide_batch(const struct outlier_header *header,
                                           const struct outlier_input *input)
{
    const struct outlier_batch *batch = &header->batch;
    struct outlier_centroid *centroid = batch->centroid;
    struct outlier_answer *answer = header->answer;
    float distance[OUTLIER_ROWS], sum = 0;
    uint32_t bad[OUTLIER_ROWS], bad_rows = 0;
    int32_t ahead = outlier_ahead(header->epoch, centroid->epoch);
    answer->rows = 0;
    if (ahead < 0)
        return (struct outlier_finding){0, 0, 0, 0};
    centroid->batches = ahead > 0 ? 0 : centroid->batches;
    centroid->epoch = header->epoch;
    outlier_host_batch(input, batch, header->seed, distance, bad);
    for (uint32_t k = 0; k < batch->rows; k++) {
        bad_rows += bad[k] != 0;
        if (!bad[k] && centroid->batches)
            sum += answer->distance[answer->rows++] = sqrtf(distance[k]);
    }
    struct outlier_finding finding = outlier_centroid_judge(
        centroid->batches, answer->rows ? sum / (float)answer->rows : 0, bad_rows,
        batch->quantile->epoch == header->epoch ? batch->quantile->value : -1, batch->threshold);
    centroid->batches++;
    return finding;
}

bool outlier_host_decide(const struct outlier_header *header, const struct outlier_input *input)
{
    struct outlier_answer *answer = header->answer;
    bool called = false;
    answer->rows = 0;
    for (uint32_t i = 0; i < header->inputs; i++) {
        struct outlier_finding finding;
        if (header->detector == OUTLIER_CENTROID) {
            finding = decide_batch(header, input);
        } else {
            struct outlier_sums sums = {0};
            outlier_host_look(&input[i], header->seed, &sums);
            finding = outlier_judge(input[i].entry, header->epoch, &sums, input[i].integer,
                                    input[i].group);
        }
        if (!finding.called || called)
            continue;
        called = true;
        answer->input = i;
        answer->feature = finding.feature;
        answer->score = finding.score;
        answer->threshold = finding.threshold;
    }
    return called;
}
