/* outlier_phases.cu - the outlier kernel with a stamp at the end of each of its phases. */
#include "outlier_phases.cuh"

static __device__ unsigned long long stamp[OUTLIER_LINES][OUTLIER_PHASES + 1];

#define OUTLIER_PHASE(number)                                                                      \
    if (threadIdx.x == 0)                                                                          \
    stamp[blockIdx.x][number] = global_timer()
#include "shim/device/outlier.cu"

bool outlier_phases(const outlier_call_few &call, unsigned blocks, cudaStream_t stream,
                    double phase_us[OUTLIER_PHASES])
{
    static unsigned long long at[OUTLIER_LINES][OUTLIER_PHASES + 1];
    memset(at, 0, sizeof at);
    if (cudaMemcpyToSymbol(stamp, at, sizeof at))
        return false;
    cuvet_outlier_few<<<blocks, OUTLIER_THREADS + OUTLIER_CLERKS, 0, stream>>>(call);
    if (cudaStreamSynchronize(stream) || cudaMemcpyFromSymbol(at, stamp, sizeof at))
        return false;
    for (unsigned b = 0; b < blocks; b++) {
        if (!at[b][OUTLIER_PHASES])
            continue; /* only the block that judges comes so far */
        for (int i = 0; i < OUTLIER_PHASES; i++)
            phase_us[i] = (double)(at[b][i + 1] - at[b][i]) / 1000;
        return true;
    }
    return false;
}
