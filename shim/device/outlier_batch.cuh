/*
 * outlier_batch.cuh - the reading of a batch for the centroid detector, and its judgement.
 */
#ifndef DEVICE_OUTLIER_BATCH_CUH
#define DEVICE_OUTLIER_BATCH_CUH

#include "device/outlier_look.cuh"

/* Batches of the probe's epoch; `ahead` is outlier_ahead's, as in an entry. Each block reads it
 * before the last one of the launch changes it. */
static __device__ uint32_t batches_so_far(const outlier_header &outlier, int32_t *ahead)
{
    const volatile outlier_centroid *centroid = outlier.batch.centroid;
    *ahead = outlier_ahead(outlier.epoch, centroid->epoch);
    return *ahead > 0 ? 0 : centroid->batches;
}

static __device__ float quantile_so_far(const outlier_header &outlier)
{
    uint64_t both = *(const volatile uint64_t *)outlier.batch.quantile;
    return (uint32_t)(both >> 32) == outlier.epoch ? outlier_float((uint32_t)both) : -1;
}

/* A thread has one column and goes down the rows; the centre before this batch is what distances
 * are from. */
static __device__ void probe_batch(const outlier_header &outlier, const outlier_input &input)
{
    __shared__ float distance[OUTLIER_ROWS];
    __shared__ uint32_t bad[OUTLIER_ROWS];
    const outlier_batch &batch = outlier.batch;
    uint32_t column = blockIdx.x * OUTLIER_THREADS + threadIdx.x;
    int32_t ahead;
    uint32_t batches = batches_so_far(outlier, &ahead);
    bool mine = column < batch.columns;
    float centre = mine ? batch.centroid->center[column] : 0, sum = 0, finite = 0;
    distance[threadIdx.x] = 0;
    bad[threadIdx.x] = 0;
    __syncthreads();
#pragma unroll 4
    for (uint32_t k = 0; k < batch.rows; k++) {
        uint64_t row = outlier_pick(batch.all_rows, batch.rows, outlier.seed, k);
        uint64_t at = input.address + row * batch.pitch + (uint64_t)column * input.size;
        float value =
            mine ? outlier_any(input.dtype, input.integer, load_raw(at, input.size)) : centre;
        bool good = fabsf(value) <= 3.402823466e38f;
        float step = good && mine && batches ? value - centre : 0;
        sum += good && mine ? value : 0;
        finite += good && mine;
        float square = outlier_total(step * step);
        uint32_t spoilt = __popc(__ballot_sync(~0u, !good));
        if (threadIdx.x % 32 == 0) {
            atomicAdd(&distance[k], square);
            if (spoilt)
                atomicAdd(&bad[k], spoilt);
        }
    }
    __syncthreads();
    if (mine && finite > 0 && ahead >= 0)
        batch.centroid->center[column] = outlier_centre(centre, sum / finite, batches, batch.alpha);
    if (threadIdx.x < batch.rows) {
        atomicAdd(&outlier.slot->distance[threadIdx.x], distance[threadIdx.x]);
        if (bad[threadIdx.x])
            atomicAdd(&outlier.slot->bad[threadIdx.x], bad[threadIdx.x]);
    }
}

/* Hands the distances of the good rows to the collector, one behind the other. */
static __device__ void judge_batch(const outlier_header &outlier, outlier_finding *out)
{
    __shared__ float sum[WARPS];
    __shared__ uint32_t rows[WARPS], bad_rows[WARPS];
    const outlier_batch &batch = outlier.batch;
    uint32_t warp = threadIdx.x / 32, lane = threadIdx.x % 32, before = 0;
    int32_t ahead;
    uint32_t batches = batches_so_far(outlier, &ahead);
    bool is_row = threadIdx.x < batch.rows;
    bool bad = is_row && __ldcg(&outlier.slot->bad[threadIdx.x]) != 0;
    float distance = is_row ? sqrtf(__ldcg(&outlier.slot->distance[threadIdx.x])) : 0;
    bool good = is_row && !bad && batches && ahead >= 0;
    uint32_t good_lanes = __ballot_sync(~0u, good), bad_lanes = __ballot_sync(~0u, bad);
    float total = outlier_total(good ? distance : 0);
    if (lane == 0) {
        sum[warp] = total;
        rows[warp] = __popc(good_lanes);
        bad_rows[warp] = __popc(bad_lanes);
    }
    __syncthreads();
    for (uint32_t w = 0; w < warp; w++)
        before += rows[w];
    if (good)
        outlier.answer->distance[before + __popc(good_lanes & ((1u << lane) - 1))] = distance;
    outlier.slot->distance[threadIdx.x] = 0;
    outlier.slot->bad[threadIdx.x] = 0;
    if (threadIdx.x == 0) {
        uint32_t count = 0, spoilt = 0;
        for (int w = 0; w < WARPS; w++) {
            count += rows[w];
            spoilt += bad_rows[w];
            total = w ? total + sum[w] : sum[0];
        }
        outlier.answer->rows = count;
        *out = outlier_centroid_judge(batches, count ? total / (float)count : 0, spoilt,
                                      quantile_so_far(outlier), batch.threshold);
        if (ahead >= 0) {
            batch.centroid->batches = batches + 1;
            batch.centroid->epoch = outlier.epoch;
        }
        out->called &= ahead >= 0;
    }
    __syncthreads();
}

#endif
