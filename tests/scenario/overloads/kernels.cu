/* Two functions of one name: C++ symbols that differ in their parameters' types alone. */
template <typename T> static __device__ void doubled(T *y, const T *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = x[i] + x[i];
}

__global__ void twice(float *y, const float *x, int n)
{
    doubled(y, x, n);
}

__global__ void twice(int *y, const int *x, int n)
{
    doubled(y, x, n);
}
