/*
 * kernels.cu - a step of training: gradients of micro-steps are added up, those of two ranks are
 * added, and the optimiser goes on from them; right ones and wrong ones.
 */
#define ELEMENTS(name, body)                                                                       \
    int i = blockIdx.x * blockDim.x + threadIdx.x;                                                 \
    if (i < count)                                                                                 \
    body

#define ACCUMULATE(name, op)                                                                       \
    extern "C" __global__ void name(const float *part, float *grad, int count)                     \
    {                                                                                              \
        ELEMENTS(name, grad[i] op part[i]);                                                        \
    }
ACCUMULATE(accumulate, +=)
ACCUMULATE(accumulate_overwrites, =)

/* What an all-reduce leaves on each rank; the wrong one leaves this rank's own part. */
extern "C" __global__ void all_reduce(const float *mine, const float *theirs, float *grad,
                                      int count)
{
    ELEMENTS(all_reduce, grad[i] = mine[i] + theirs[i]);
}

extern "C" __global__ void all_reduce_alone(const float *mine, const float *theirs, float *grad,
                                            int count)
{
    ELEMENTS(all_reduce_alone, grad[i] = mine[i] + mine[i]);
}

struct rates {
    float lr, beta1, beta2, eps, decay, c1, c2;
};

static __device__ float step_of(float p, float g, float *m, float *v, const rates &r)
{
    *m = *m * r.beta1 + g * (1 - r.beta1);
    *v = *v * r.beta2 + g * g * (1 - r.beta2);
    return p - r.lr * (*m / r.c1 / (sqrtf(*v / r.c2) + r.eps) + r.decay * p);
}

/* The wrong one goes on from a tenth of the gradient, as a loss scale that was left in it does. */
#define ADAMW(name, scale)                                                                         \
    extern "C" __global__ void name(float *p, const float *grad, float *m, float *v, float lr,     \
                                    float beta1, float beta2, float eps, float decay, float c1,    \
                                    float c2, int count)                                           \
    {                                                                                              \
        rates r = {lr, beta1, beta2, eps, decay, c1, c2};                                          \
        ELEMENTS(name, p[i] = step_of(p[i], grad[i] * scale, m + i, v + i, r));                    \
    }
ADAMW(adamw, 1.0f)
ADAMW(adamw_scaled, 0.1f)
