// kernels.cu - kernels whose PTX does not show what they read and write in a launch: pointers that
// are loaded or chosen, parts of arrays, branches that no launch takes. For
// tests/check_discover.sh.

// z = x + y, of pointers in memory.
extern "C" __global__ void through_table(float *const *table, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        table[2][i] = table[0][i] + table[1][i];
}

// Adds x to one of two arrays.
extern "C" __global__ void add_to_chosen(float *a, float *b, const float *x, int which, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float *p = which ? b : a;
    if (i < n)
        p[i] += x[i];
}

// y = 2 x, of the first half of x alone.
extern "C" __global__ void first_half(const float *x, float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n / 2)
        y[i] = 2 * x[i];
}

extern "C" __global__ void count_values(const int *values, int *counts, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        atomicAdd(&counts[values[i]], 1);
}

// y = x + bias, where there is to be one; y is read back.
extern "C" __global__ void maybe_bias(const float *x, const float *bias, float *y, int biased,
                                      int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    y[i] = x[i];
    __threadfence();
    if (biased)
        y[i] = *(volatile float *)&y[i] + bias[i];
    else
        y[i] = *(volatile float *)&y[i] * 3;
}

// The last block adds up what the others have left; its ticket goes back to 0.
extern "C" __global__ void total_by_ticket(const float *x, float *parts, unsigned *ticket,
                                           float *total)
{
    __shared__ unsigned turn;
    if (threadIdx.x == 0) {
        float sum = 0;
        for (int i = 0; i < 32; i++)
            sum += x[blockIdx.x * 32 + i];
        parts[blockIdx.x] = sum;
        __threadfence();
        turn = atomicAdd(ticket, 1);
        if (turn == gridDim.x - 1) {
            sum = 0;
            for (int i = 0; i < gridDim.x; i++)
                sum += ((volatile float *)parts)[i];
            *total = sum;
            *ticket = 0;
        }
    }
}

// Its factor lies in the module, where the program writes it.
__device__ float factor = 1;
extern "C" __global__ void by_factor(const float *x, float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = x[i] * factor;
}
