/* kernels.cu - the kernels of scenarios that need no others. */
#include "kernels.cuh"

RMSNORM_RIGHT(norm_right)
RMSNORM_RIGHT(norm_other)
RMSNORM_RIGHT(norm_long)
RMSNORM_WRONG(norm_wrong)

/* Keeps its thread busy for that many steps, and writes what comes out. */
extern "C" __global__ void spin(int *out, int steps)
{
    unsigned state = threadIdx.x + 1;
    for (int i = 0; i < steps; i++)
        state = state * 1664525u + 1013904223u;
    out[threadIdx.x] = (int)state;
}

/* Writes a number to an address. */
extern "C" __global__ void poke(int *out, int value)
{
    *out = value;
}

/* Updates its output. */
extern "C" __global__ void update(float *y, const float *x, int n)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        y[i] = y[i] + x[i];
}

/* A row of the table for each id; zeros where the table has none. */
extern "C" __global__ void lookup(const int *ids, const float *table, float *y, int entries,
                                  int cols)
{
    int id = ids[blockIdx.x];
    for (int c = threadIdx.x; c < cols; c += blockDim.x)
        y[blockIdx.x * cols + c] = id < 0 || id >= entries ? 0.0f : table[id * cols + c];
}
