"""hooks_cupy.py - CuPy: generated kernels, cuBLAS, a kernel of the program's own."""

import cupy

SOURCE = r"""extern "C" __global__ void plain_add(const float *x, const float *y, float *z, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        z[i] = x[i] + y[i];
}"""

a = cupy.ones((300, 300), dtype=cupy.float32)
for _ in range(20):
    a = cupy.sin(a @ a) + a * 0.5
kernel = cupy.RawKernel(SOURCE, "plain_add")
x, z = cupy.ones(1000, dtype=cupy.float32), cupy.empty(1000, dtype=cupy.float32)
for _ in range(10):
    kernel((4,), (256,), (x, x, z, cupy.int32(1000)))
print(float(a.sum()), float(z.sum()))
