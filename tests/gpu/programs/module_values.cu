/*
 * module_values.cu - a kernel that reads every kind of variable of its module, of the runtime API:
 * constant, global, one that leads to memory, a table of functions, one that stays as it was,
 * managed memory. `module_values FACTOR`: y = 2 x for FACTOR 2.
 */
#include "common.cuh"

enum { N = 4096 };

typedef float (*function)(float);

__device__ __noinline__ float same(float x)
{
    return x;
}
__device__ __noinline__ float negative(float x)
{
    return -x;
}

__constant__ float factor;
static __device__ float offset = 7;
__device__ const float *source;
__device__ float fixed[3] = {0, 1, 0};
__device__ function table[2] = {same, negative};
__managed__ int which;

extern "C" __global__ void scaled(const float *x, float *y, int n)
{
    int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < n)
        y[i] = factor * table[which & 1](source[i]) * fixed[1 + (n < 0)] + offset;
}

int main(int argc, char **argv)
{
    float given = argc > 1 ? (float)atof(argv[1]) : 2, zero = 0;
    std::vector<float> host(N);
    float *x, *y;
    for (int i = 0; i < N; i++)
        host[i] = random_value(1, i, 1);
    CHECK(cudaMalloc(&x, N * sizeof(float)));
    CHECK(cudaMalloc(&y, N * sizeof(float)));
    CHECK(cudaMemcpy(x, host.data(), N * sizeof(float), cudaMemcpyHostToDevice));
    CHECK(cudaMemcpyToSymbol(factor, &given, sizeof(given)));
    CHECK(cudaMemcpyToSymbol(offset, &zero, sizeof(zero)));
    CHECK(cudaMemcpyToSymbol(source, &x, sizeof(x)));
    scaled<<<N / 256, 256>>>(x, y, N);
    CHECK(cudaMemcpy(host.data(), y, N * sizeof(float), cudaMemcpyDeviceToHost));
    printf("y %016llx\n", (unsigned long long)fnv(host.data(), N * sizeof(float)));
    return 0;
}
