/*
 * kernels.cu - kernels as Numba compiles them, by its symbols and its parameters: an array is its
 * owner, its parent, its items, the bytes of one, its data, its sizes and its strides in bytes.
 */

/* y = s a + b, of saxpy(s, a, b, y). */
extern "C" __global__ void
_ZN8__main__5saxpyB2v1Ef5ArrayIfLi1E1C7mutable7alignedE5ArrayIfLi1E1C7mutable7alignedE5ArrayIfLi1E1C7mutable7alignedE(
    float s, void *, void *, long long, long long, const float *a, long long, long long, void *,
    void *, long long, long long, const float *b, long long, long long, void *, void *, long long,
    long long, float *y, long long n, long long)
{
    const long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = s * a[i] + b[i];
}

/* The sum of each row, of rowsum(x, y). */
extern "C" __global__ void
_ZN8__main__6rowsumB2v2E5ArrayIfLi2E1C7mutable7alignedE5ArrayIfLi1E1C7mutable7alignedE(
    void *, void *, long long, long long, const float *x, long long, long long cols,
    long long row_bytes, long long, void *, void *, long long, long long, float *y, long long rows,
    long long)
{
    const long long r = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (r >= rows)
        return;
    float sum = 0;
    for (long long c = 0; c < cols; c++)
        sum += x[r * (row_bytes / 4) + c];
    y[r] = sum;
}
