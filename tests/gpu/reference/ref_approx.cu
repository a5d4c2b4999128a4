/*
 * ref_approx.cu - what the references take of the GPU's approximate instructions is so good, for
 * each of the 2^32 numbers of f32.
 *
 * Special kernels hold a result of f16 or bf16 against a number that is computed as a kernel in f32
 * may compute it (near() in refs/dialect/ref_value.h); that is sound if these are no worse than the
 * error bounds allow. Exit code 1: one is.
 *
 * Like ref_parity it is made of this tree's parts (programs.mk).
 */
#include "../programs/common.cuh"
#include "refs/dialect/ref_function.h"

/* Good to a share of the exact value, or, where that is no normal number, 0 or next to it. */
struct approximation {
    const char *name;
    double share;
};

enum { EXP2, INVERSE, APPROXIMATIONS };

static const approximation approximations[APPROXIMATIONS] = {
    {"ex2.approx.ftz.f32", 0x1p-22},
    {"rcp.approx.ftz.f32", 0x1p-23},
};

static __device__ double exact_of(int which, float x)
{
    return which == EXP2 ? exp2((double)x) : 1 / (double)x;
}

static __device__ float taken_of(int which, float x)
{
    return which == EXP2 ? ref_rough_exp2(x) : ref_rough_inverse(x);
}

/* By how much of what is allowed it is off; 2 where one is a number and the other is not. */
static __device__ double excess_of(int which, float x, double share)
{
    const double normal = 0x1p-126;
    /* On its way in, too, less than that is 0. */
    if (which == INVERSE && fabsf(x) < normal)
        return 0;
    double exact = exact_of(which, x), taken = taken_of(which, x);
    if (exact != exact)
        return taken != taken ? 0 : 2;
    if (fabs(exact) >= 0x1p128)
        return isinf(taken) && (taken > 0) == (exact > 0) ? 0 : 2;
    if (fabs(exact) < normal)
        return fabs(taken) <= normal ? 0 : 2;
    return fabs(taken - exact) / (share * fabs(exact));
}

static __global__ void worst_of(int which, double share, unsigned *worst)
{
    unsigned all = gridDim.x * blockDim.x;
    float mine = 0;
    for (unsigned long long i = blockIdx.x * blockDim.x + threadIdx.x; i < 1ull << 32; i += all)
        mine = fmaxf(mine, (float)excess_of(which, __uint_as_float((unsigned)i), share));
    atomicMax(worst, __float_as_uint(mine));
}

int main()
{
    unsigned *worst, bits;
    bool good = true;
    CHECK(cudaMalloc(&worst, sizeof *worst));
    for (int which = 0; which < APPROXIMATIONS; which++) {
        const approximation &a = approximations[which];
        CHECK(cudaMemset(worst, 0, sizeof *worst));
        worst_of<<<1056, 256>>>(which, a.share, worst);
        CHECK(cudaMemcpy(&bits, worst, sizeof bits, cudaMemcpyDeviceToHost));
        float excess;
        memcpy(&excess, &bits, sizeof excess);
        printf("%s: off by up to %.3f of %g\n", a.name, excess, a.share);
        good = good && excess <= 1 && excess > 0;
    }
    return good ? 0 : 1;
}
