/*
 * kernels.cu - random numbers with the names and parameter lists of PyTorch's kernels, so that its
 * table names them. Those called WRONG have a fault each: the same words in each turn, another
 * radius, a last element that is left, a number of 32 bits for 53, an offset without what is added
 * in a graph, the other side of a comparison, the words of another offset.
 */
#include "../../common/philox.h"
#include "names.h"

struct words {
    unsigned w[4];
};

/* Words `at` to `at` + 3 of this thread. */
__device__ words four(const philox_state &s, unsigned long long at, bool adds = true)
{
    unsigned long long seed = s.seed, offset = s.offset;
    if (s.captured) {
        seed = *(const unsigned long long *)s.seed;
        offset = *(const unsigned long long *)s.offset + (adds ? s.within : 0);
    }
    words four;
    for (int i = 0; i < 4; i++)
        four.w[i] = philox_word(seed, blockIdx.x * blockDim.x + threadIdx.x, offset + at + i);
    return four;
}

/* make(element, words, which of a turn) for all n elements, EACH a turn. */
template <int EACH, class Make>
__device__ void distribute(long n, const philox_state &s, const Make &make, bool again = false,
                           bool adds = true)
{
    long all = (long)gridDim.x * blockDim.x, own = blockIdx.x * blockDim.x + threadIdx.x;
    for (long turn = 0; turn * EACH * all < n; turn++) {
        words drawn = four(s, again ? 0 : 4 * (unsigned long long)turn, adds);
        for (int i = 0; i < EACH; i++) {
            long at = own + all * (turn * EACH + i);
            if (at < n)
                make(at, drawn, i);
        }
    }
}

__device__ float single(unsigned word)
{
    return (float)philox_single(word);
}

__device__ float box_muller(const words &drawn, int i, bool wrong)
{
    float angle = (float)drawn.w[i / 2 * 2 + 1] * (6.2831855f * 0x1p-32f) + 6.2831855f * 0x1p-33f;
    float sine, cosine, power = (wrong ? -1.0f : -2.0f) * logf(single(drawn.w[i / 2 * 2]));
    __sincosf(angle, &sine, &cosine);
    return sqrtf(power) * (i % 2 ? cosine : sine);
}

struct make_uniform : uniform {
    __device__ void operator()(long at, const words &drawn, int i) const
    {
        float value = single(drawn.w[i]) * range + bottom;
        *(float *)((char *)y + at * stride) = value == top ? bottom : value;
    }
};

template <bool IS_WRONG> struct make_normal : normal {
    __device__ void operator()(long at, const words &drawn, int i) const
    {
        *(float *)((char *)y + at * stride) = box_muller(drawn, i, IS_WRONG) * std + mean;
    }
};

template <bool IS_WRONG> struct make_normal_double : normal_double {
    __device__ void operator()(long at, const words &drawn, int i) const
    {
        double u = IS_WRONG ? philox_single(drawn.w[0]) : philox_double(drawn.w[0], drawn.w[1]);
        double sine, cosine, radius = sqrt(-2 * log(u));
        sincospi(2 * philox_double(drawn.w[2], drawn.w[3]), &sine, &cosine);
        *(double *)((char *)y + at * stride) = radius * (i ? cosine : sine) * std + mean;
    }
};

struct make_integers : integers {
    __device__ void operator()(long at, const words &drawn, int i) const
    {
        *(long *)((char *)y + at * stride) = (long)(drawn.w[i] % range) + base;
    }
};

struct make_normal_strided : normal_strided {
    __device__ void operator()(long at, const words &drawn, int i) const
    {
        long place = 0;
        for (int d = 0; d < dims; d++) {
            place += at % size[d].divisor * step[d];
            at /= size[d].divisor;
        }
        unsigned bits = __float_as_uint(box_muller(drawn, i, false) * std + mean);
        *(unsigned short *)((char *)y + place) =
            (unsigned short)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
    }
};

template <bool IS_WRONG>
__device__ void choose(const tensor_info &y, const tensor_info &p, unsigned n, philox_state s)
{
    unsigned all = gridDim.x * blockDim.x * 4, own = (blockIdx.x * blockDim.x + threadIdx.x) * 4;
    for (unsigned from = own; from < n; from += all) {
        words drawn = four(s, 0);
        for (unsigned at = from; at < n && at < from + 4; at++) {
            float chance = ((const float *)p.data)[at * (unsigned)p.stride[0]];
            bool yes = single(drawn.w[at - from]) <= (IS_WRONG ? 1 - chance : chance);
            ((float *)y.data)[at * (unsigned)y.stride[0]] = yes;
        }
    }
}

template <bool IS_WRONG>
__device__ void drop(const tensor_info &x, const tensor_info &y, const tensor_info &mask,
                     unsigned n, float keep, philox_state s)
{
    unsigned all = gridDim.x * blockDim.x * 4, own = (blockIdx.x * blockDim.x + threadIdx.x) * 4;
    float scale = 1 / keep;
    for (unsigned turn = 0; turn * all + own < n; turn++) {
        words drawn = four(s, 4 * turn + (IS_WRONG ? 4 : 0));
        for (unsigned i = 0; i < 4 && turn * all + own + i < n; i++) {
            unsigned at = turn * all + own + i;
            bool kept = single(drawn.w[i]) < keep;
            ((float *)y.data)[at] = ((const float *)x.data)[at] * (float)kept * scale;
            ((bool *)mask.data)[at] = kept;
        }
    }
}

#define KERNELS(hash, is_wrong)                                                                    \
    extern "C" __global__ void UNIFORM(hash)(long n, philox_state s, nothing, make_uniform f)      \
    {                                                                                              \
        distribute<4>(n, s, f, is_wrong);                                                          \
    }                                                                                              \
    extern "C" __global__ void NORMAL(hash)(long n, philox_state s, nothing,                       \
                                            make_normal<is_wrong> f)                               \
    {                                                                                              \
        distribute<4>(n, s, f);                                                                    \
    }                                                                                              \
    extern "C" __global__ void NORMAL_DOUBLE(hash)(long n, philox_state s, nothing,                \
                                                   make_normal_double<is_wrong> f)                 \
    {                                                                                              \
        distribute<2>(n, s, f);                                                                    \
    }                                                                                              \
    extern "C" __global__ void NORMAL_STRIDED(hash)(long n, philox_state s, nothing,               \
                                                    make_normal_strided f)                         \
    {                                                                                              \
        distribute<4>(n, s, f, false, !is_wrong);                                                  \
    }                                                                                              \
    extern "C" __global__ void INTEGERS(hash)(long n, philox_state s, nothing, make_integers f)    \
    {                                                                                              \
        distribute<4>(n - is_wrong, s, f);                                                         \
    }                                                                                              \
    extern "C" __global__ void BERNOULLI(hash)(tensor_info y, tensor_info p, unsigned n,           \
                                               philox_state s)                                     \
    {                                                                                              \
        choose<is_wrong>(y, p, n, s);                                                              \
    }                                                                                              \
    extern "C" __global__ void DROPOUT(hash)(tensor_info x, tensor_info y, tensor_info mask,       \
                                             unsigned n, float keep, philox_state s)               \
    {                                                                                              \
        drop<is_wrong>(x, y, mask, n, keep, s);                                                    \
    }

KERNELS(RIGHT, false)
KERNELS(WRONG, true)
