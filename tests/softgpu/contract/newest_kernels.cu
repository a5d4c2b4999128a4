// newest_kernels.cu - kernels of what compute capability 9.0 alone has, and of matrix products;
// newest.c has the list.
//
// Inputs are small integers, so that each sum is exact in any order. A kernel named plain_... does
// the same without the instruction, and must give the same bits.
#include <cuda.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <stdint.h>
#include "tiles.h"

enum { EXTENT = 64, STEPS = 4, STEP_BYTES = 32, DEPTH_BYTES = STEPS * STEP_BYTES };

// -3 ... 3
__device__ static int small(unsigned salt, unsigned line, unsigned k)
{
    return (int)(((salt * 977 + line * 131 + k + 1) * 2654435761u >> 20) % 7) - 3;
}

// ---- numbers of each type ----

struct F16 {
    enum { BYTES = 2 };
    __device__ static uint32_t bits(int x)
    {
        return __half_as_ushort(__int2half_rn(x));
    }
};
struct BF16 {
    enum { BYTES = 2 };
    __device__ static uint32_t bits(int x)
    {
        return __float_as_uint((float)x) >> 16;
    }
};
struct TF32 {
    enum { BYTES = 4 };
    __device__ static uint32_t bits(int x)
    {
        return __float_as_uint((float)x);
    }
};
struct S8 {
    enum { BYTES = 1 };
    __device__ static uint32_t bits(int x)
    {
        return (uint32_t)x & 0xff;
    }
};
struct U8 {
    enum { BYTES = 1 };
    __device__ static uint32_t bits(int x)
    {
        return (uint32_t)(x + 3);
    }
};
// The sign, and a byte of each magnitude.
__device__ static uint32_t byte_of(int x, uint32_t magnitudes)
{
    return (magnitudes >> 8 * abs(x) & 0xff) | (x < 0 ? 0x80 : 0);
}
struct E4M3 {
    enum { BYTES = 1 };
    __device__ static uint32_t bits(int x)
    {
        return byte_of(x, 0x44403800);
    }
};
struct E5M2 {
    enum { BYTES = 1 };
    __device__ static uint32_t bits(int x)
    {
        return byte_of(x, 0x42403c00);
    }
};

// What a sum's register holds, as f32.
struct REAL {
    enum { PER_REGISTER = 1 };
    __device__ static uint32_t bits(int x)
    {
        return __float_as_uint((float)x);
    }
    __device__ static float value(uint32_t word, unsigned)
    {
        return __uint_as_float(word);
    }
};
struct INTEGER {
    enum { PER_REGISTER = 1 };
    __device__ static uint32_t bits(int x)
    {
        return (uint32_t)x;
    }
    __device__ static float value(uint32_t word, unsigned)
    {
        return (float)(int)word;
    }
};
struct HALF {
    enum { PER_REGISTER = 2 };
    __device__ static uint32_t bits(int x)
    {
        return F16::bits(x);
    }
    __device__ static float value(uint32_t word, unsigned half)
    {
        return __half2float(__ushort_as_half((unsigned short)(word >> 16 * half)));
    }
};

// A register of a fragment: elements k and on of a line.
template <class T> __device__ static uint32_t packed(unsigned salt, unsigned line, unsigned k)
{
    uint32_t word = 0;
    for (unsigned e = 0; e < 4 / T::BYTES; e++)
        word |= T::bits(small(salt, line, k + e)) << 8 * T::BYTES * e;
    return word;
}

// The first element of register r of a's fragment, rows by 8 and depth by 16 bytes.
template <class T> __device__ static uint32_t a_register(unsigned r, unsigned row, unsigned k)
{
    const unsigned lane = threadIdx.x % 32, each = 4 / T::BYTES;
    return packed<T>(1, row + lane / 4 + 8 * (r & 1), k + lane % 4 * each + (r >> 1) * 4 * each);
}

__device__ static void sum_place(unsigned i, unsigned *row, unsigned *column)
{
    const unsigned lane = threadIdx.x % 32;
    *row = lane / 4 + 8 * (i >> 1 & 1);
    *column = i / 4 * 8 + lane % 4 * 2 + (i & 1);
}

// ---- mma.sync ----

template <class T, class U, class SUM, int DEPTH, class STEP> __device__ static void mma(float *out)
{
    const unsigned lane = threadIdx.x % 32, each = 4 / T::BYTES;
    uint32_t a[4] = {0}, b[2] = {0}, d[4] = {0};
    for (unsigned r = 0; r < DEPTH / (2 * each); r++)
        a[r] = a_register<T>(r, 0, 0);
    for (unsigned r = 0; r < DEPTH / (4 * each); r++)
        b[r] = packed<U>(2, lane / 4, lane % 4 * each + r * 4 * each);
    unsigned row, column;
    for (unsigned i = 0; i < 4; i++) {
        sum_place(i, &row, &column);
        d[i / SUM::PER_REGISTER] |= SUM::bits(small(3, row, column))
                                    << 16 * (i % SUM::PER_REGISTER);
    }
    STEP::apply(d, a, b);
    for (unsigned i = 0; i < 4; i++) {
        sum_place(i, &row, &column);
        out[row * 8 + column] = SUM::value(d[i / SUM::PER_REGISTER], i % SUM::PER_REGISTER);
    }
}

#define MMA_4_2      "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
#define MMA_2_1      "{%0,%1,%2,%3}, {%4,%5}, {%8}, {%0,%1,%2,%3};"
#define MMA_HALF_4_2 "{%0,%1}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1};"
#define MMA_HALF_2_1 "{%0,%1}, {%4,%5}, {%8}, {%0,%1};"
#define MMA(name, T, U, SUM, DEPTH, types, registers)                                              \
    struct mma_step_##name {                                                                       \
        __device__ static void apply(uint32_t *d, const uint32_t *a, const uint32_t *b)            \
        {                                                                                          \
            asm volatile("mma.sync.aligned.m16n8k" #DEPTH ".row.col." types " " registers          \
                         : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])                          \
                         : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));      \
        }                                                                                          \
    };                                                                                             \
    extern "C" __global__ void mma_##name(float *out)                                              \
    {                                                                                              \
        mma<T, U, SUM, DEPTH, mma_step_##name>(out);                                               \
    }
MMA(f16_k8, F16, F16, REAL, 8, "f32.f16.f16.f32", MMA_2_1)
MMA(f16_k16, F16, F16, REAL, 16, "f32.f16.f16.f32", MMA_4_2)
MMA(f16_half_k8, F16, F16, HALF, 8, "f16.f16.f16.f16", MMA_HALF_2_1)
MMA(f16_half_k16, F16, F16, HALF, 16, "f16.f16.f16.f16", MMA_HALF_4_2)
MMA(bf16_k8, BF16, BF16, REAL, 8, "f32.bf16.bf16.f32", MMA_2_1)
MMA(bf16_k16, BF16, BF16, REAL, 16, "f32.bf16.bf16.f32", MMA_4_2)
MMA(tf32_k4, TF32, TF32, REAL, 4, "f32.tf32.tf32.f32", MMA_2_1)
MMA(tf32_k8, TF32, TF32, REAL, 8, "f32.tf32.tf32.f32", MMA_4_2)
MMA(e4m3_k32, E4M3, E4M3, REAL, 32, "f32.e4m3.e4m3.f32", MMA_4_2)
MMA(e5m2_k32, E5M2, E5M2, REAL, 32, "f32.e5m2.e5m2.f32", MMA_4_2)
MMA(e4m3_e5m2_k32, E4M3, E5M2, REAL, 32, "f32.e4m3.e5m2.f32", MMA_4_2)
MMA(e4m3_k16, E4M3, E4M3, REAL, 16, "f32.e4m3.e4m3.f32", MMA_2_1)
MMA(e5m2_e4m3_k16, E5M2, E4M3, REAL, 16, "f32.e5m2.e4m3.f32", MMA_2_1)
MMA(e4m3_half_k16, E4M3, E4M3, HALF, 16, "f16.e4m3.e4m3.f16", MMA_HALF_2_1)
MMA(e5m2_half_k32, E5M2, E5M2, HALF, 32, "f16.e5m2.e5m2.f16", MMA_HALF_4_2)
MMA(u8_k16, U8, U8, INTEGER, 16, "s32.u8.u8.s32", MMA_2_1)
MMA(u8_k32, U8, U8, INTEGER, 32, "s32.u8.u8.s32", MMA_4_2)
MMA(s8_u8_k32, S8, U8, INTEGER, 32, "s32.s8.u8.s32", MMA_4_2)
MMA(s8_k16, S8, S8, INTEGER, 16, "s32.s8.s8.s32", MMA_2_1)
MMA(s8_k32, S8, S8, INTEGER, 32, "s32.s8.s8.s32", MMA_4_2)

// What U8 adds to each number is added here.
#define PLAIN_MMA(name, DEPTH, add_a, add_b)                                                       \
    extern "C" __global__ void plain_mma_##name(float *out)                                        \
    {                                                                                              \
        for (unsigned i = threadIdx.x; i < 128; i += 32) {                                         \
            int sum = small(3, i / 8, i % 8);                                                      \
            for (unsigned k = 0; k < DEPTH; k++)                                                   \
                sum += (small(1, i / 8, k) + add_a) * (small(2, i % 8, k) + add_b);                \
            out[i] = (float)sum;                                                                   \
        }                                                                                          \
    }
PLAIN_MMA(k4, 4, 0, 0)
PLAIN_MMA(k8, 8, 0, 0)
PLAIN_MMA(k16, 16, 0, 0)
PLAIN_MMA(k32, 32, 0, 0)
PLAIN_MMA(u8_k16, 16, 3, 3)
PLAIN_MMA(u8_k32, 32, 3, 3)
PLAIN_MMA(s8_u8_k32, 32, 0, 3)

// Eight rows of bytes.
extern "C" __global__ void mma_s8_eight(float *out)
{
    const unsigned lane = threadIdx.x % 32, row = lane / 4, column = lane % 4 * 2;
    uint32_t d[2] = {INTEGER::bits(small(3, row, column)),
                     INTEGER::bits(small(3, row, column + 1))};
    asm volatile("mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {%0,%1}, {%2}, {%3}, {%0,%1};"
                 : "+r"(d[0]), "+r"(d[1])
                 : "r"(packed<S8>(1, row, lane % 4 * 4)), "r"(packed<S8>(2, row, lane % 4 * 4)));
    for (unsigned i = 0; i < 2; i++)
        out[row * 8 + column + i] = INTEGER::value(d[i], 0);
}

extern "C" __global__ void plain_mma_eight(float *out)
{
    for (unsigned i = threadIdx.x; i < 64; i += 32) {
        int sum = small(3, i / 8, i % 8);
        for (unsigned k = 0; k < 16; k++)
            sum += small(1, i / 8, k) * small(2, i % 8, k);
        out[i] = (float)sum;
    }
}

// Four products of eight rows and columns by four, each of two times four lanes: lines 8 q and on.
// Register r of a fragment has a part of a line (k = 2 r and 2 r + 1), or, across, two lines.
__device__ static uint32_t quad_register(unsigned salt, unsigned r, bool across)
{
    const unsigned lane = threadIdx.x % 32, first = lane % 16 / 4 * 8 + lane / 16 * 4;
    uint32_t word = 0;
    for (unsigned e = 0; e < 2; e++) {
        const unsigned i = 2 * r + e, own = lane % 4;
        word |= F16::bits(small(salt, first + (across ? i : own), across ? own : i)) << 16 * e;
    }
    return word;
}

template <class SUM> __device__ static void quad_place(unsigned i, unsigned *row, unsigned *column)
{
    const unsigned lane = threadIdx.x % 32, half = lane / 16 * 4;
    const bool real = SUM::PER_REGISTER == 1;
    *row = lane % 16 / 4 * 8 + half + (real ? (lane & 1) + (i & 2) : lane % 4);
    *column = real ? (i & 4) + (lane & 2) + (i & 1) : i;
}

template <class SUM, class STEP> __device__ static void quads(float *out, bool a, bool b)
{
    uint32_t d[8] = {0};
    unsigned row, column;
    for (unsigned i = 0; i < 8; i++) {
        quad_place<SUM>(i, &row, &column);
        d[i / SUM::PER_REGISTER] |= SUM::bits(small(3, row, column))
                                    << 16 * (i % SUM::PER_REGISTER);
    }
    STEP::apply(d, quad_register(1, 0, a), quad_register(1, 1, a), quad_register(2, 0, b),
                quad_register(2, 1, b));
    for (unsigned i = 0; i < 8; i++) {
        quad_place<SUM>(i, &row, &column);
        out[row * 8 + column] = SUM::value(d[i / SUM::PER_REGISTER], i % SUM::PER_REGISTER);
    }
}

#define QUADS_REAL "{%0,%1,%2,%3,%4,%5,%6,%7}, {%8,%9}, {%10,%11}, {%0,%1,%2,%3,%4,%5,%6,%7};"
#define QUADS_HALF "{%0,%1,%2,%3}, {%8,%9}, {%10,%11}, {%0,%1,%2,%3};"
#define QUADS(name, SUM, a, b, text)                                                               \
    struct mma_step_##name {                                                                       \
        __device__ static void apply(uint32_t *d, uint32_t a0, uint32_t a1, uint32_t b0,           \
                                     uint32_t b1)                                                  \
        {                                                                                          \
            asm volatile("mma.sync.aligned.m8n8k4." text                                           \
                         : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3]), "+r"(d[4]), "+r"(d[5]), \
                           "+r"(d[6]), "+r"(d[7])                                                  \
                         : "r"(a0), "r"(a1), "r"(b0), "r"(b1));                                    \
        }                                                                                          \
    };                                                                                             \
    extern "C" __global__ void mma_##name(float *out)                                              \
    {                                                                                              \
        quads<SUM, mma_step_##name>(out, a, b);                                                    \
    }
QUADS(quads, REAL, false, false, "row.col.f32.f16.f16.f32 " QUADS_REAL)
QUADS(quads_across, REAL, true, true, "col.row.f32.f16.f16.f32 " QUADS_REAL)
QUADS(quads_half, HALF, false, true, "row.row.f16.f16.f16.f16 " QUADS_HALF)

extern "C" __global__ void plain_mma_quads(float *out)
{
    for (unsigned i = threadIdx.x; i < 256; i += 32) {
        int sum = small(3, i / 8, i % 8);
        for (unsigned k = 0; k < 4; k++)
            sum += small(1, i / 8, k) * small(2, i / 64 * 8 + i % 8, k);
        out[i] = (float)sum;
    }
}

// ---- ldmatrix, stmatrix ----

// Row r of matrix m lies at 16 bytes times row_place(m, r), out of order.
__device__ static unsigned row_place(unsigned m, unsigned r)
{
    return (m * 8 + r) * 5 % 32;
}
__device__ static unsigned address_of(const void *shared)
{
    return (unsigned)__cvta_generic_to_shared(shared);
}

// Element e of the register that a lane has of matrix m.
__device__ static unsigned matrix_element(unsigned m, unsigned e, bool transposed)
{
    const unsigned lane = threadIdx.x, row = lane / 4, column = lane % 4 * 2 + e;
    return transposed ? row_place(m, column) * 8 + row : row_place(m, row) * 8 + column;
}

#define MATRIX(name, count, transposed, load, store)                                               \
    extern "C" __global__ void ldmatrix_##name(uint32_t *out, const uint16_t *in)                  \
    {                                                                                              \
        __shared__ __align__(16) uint16_t tile[256];                                               \
        uint32_t d[4] = {0};                                                                       \
        for (unsigned i = threadIdx.x; i < 256; i += 32)                                           \
            tile[i] = in[i];                                                                       \
        __syncwarp();                                                                              \
        const unsigned at =                                                                        \
            address_of(tile + 8 * row_place(threadIdx.x / 8 % count, threadIdx.x % 8));            \
        asm volatile("ldmatrix.sync.aligned.m8n8." load                                            \
                     : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3])                              \
                     : "r"(at)                                                                     \
                     : "memory");                                                                  \
        for (unsigned m = 0; m < count; m++)                                                       \
            out[threadIdx.x * count + m] = d[m];                                                   \
    }                                                                                              \
    extern "C" __global__ void plain_ldmatrix_##name(uint32_t *out, const uint16_t *in)            \
    {                                                                                              \
        for (unsigned m = 0; m < count; m++)                                                       \
            out[threadIdx.x * count + m] = in[matrix_element(m, 0, transposed)] |                  \
                                           (uint32_t)in[matrix_element(m, 1, transposed)] << 16;   \
    }                                                                                              \
    extern "C" __global__ void stmatrix_##name(uint16_t *out, const uint32_t *in)                  \
    {                                                                                              \
        __shared__ __align__(16) uint16_t tile[256];                                               \
        for (unsigned i = threadIdx.x; i < 256; i += 32)                                           \
            tile[i] = 0;                                                                           \
        __syncwarp();                                                                              \
        const uint32_t *s = in + threadIdx.x * 4;                                                  \
        const unsigned at =                                                                        \
            address_of(tile + 8 * row_place(threadIdx.x / 8 % count, threadIdx.x % 8));            \
        asm volatile("stmatrix.sync.aligned.m8n8." store ::"r"(s[0]), "r"(s[1]), "r"(s[2]),        \
                     "r"(s[3]), "r"(at)                                                            \
                     : "memory");                                                                  \
        __syncwarp();                                                                              \
        for (unsigned i = threadIdx.x; i < 256; i += 32)                                           \
            out[i] = tile[i];                                                                      \
    }                                                                                              \
    extern "C" __global__ void plain_stmatrix_##name(uint16_t *out, const uint32_t *in)            \
    {                                                                                              \
        for (unsigned m = 0; m < count; m++)                                                       \
            for (unsigned e = 0; e < 2; e++)                                                       \
                out[matrix_element(m, e, transposed)] =                                            \
                    (uint16_t)(in[threadIdx.x * 4 + m] >> 16 * e);                                 \
    }
#define MATRICES(count, loaded, stored)                                                            \
    MATRIX(x##count, count, false, "x" #count ".shared.b16 " loaded ", [%4];",                     \
           "x" #count ".shared.b16 [%4], " stored ";")                                             \
    MATRIX(x##count##_trans, count, true, "x" #count ".trans.shared.b16 " loaded ", [%4];",        \
           "x" #count ".trans.shared.b16 [%4], " stored ";")
MATRICES(1, "{%0}", "{%0}")
MATRICES(2, "{%0,%1}", "{%0,%1}")
MATRICES(4, "{%0,%1,%2,%3}", "{%0,%1,%2,%3}")

// ---- wgmma.mma_async ----

// Panels of 64 rows of SPAN bytes, whose 16-byte chunks swizzled() exchanges; along a row lies the
// depth, or the lines where the matrix is transposed.
template <int SPAN>
__device__ static unsigned place(bool transposed, unsigned bytes, unsigned line, unsigned k)
{
    const unsigned along = (transposed ? line : k) * bytes, across = transposed ? k : line;
    return along / SPAN * (EXTENT * SPAN) + across * SPAN + along % SPAN;
}
template <int SPAN> __device__ static unsigned swizzled(unsigned at)
{
    return at ^ (at >> 7 & (SPAN / 16 - 1)) * 16;
}

template <class T, int SPAN, bool TRANSPOSED>
__device__ static void lay(uint8_t *matrix, unsigned salt)
{
    for (unsigned i = threadIdx.x; i < EXTENT * DEPTH_BYTES / T::BYTES; i += blockDim.x) {
        const unsigned line = i / (DEPTH_BYTES / T::BYTES), k = i % (DEPTH_BYTES / T::BYTES);
        const uint32_t bits = T::bits(small(salt, line, k));
        uint8_t *to = matrix + swizzled<SPAN>(place<SPAN>(TRANSPOSED, T::BYTES, line, k));
        if (T::BYTES == 1)
            *to = (uint8_t)bits;
        else if (T::BYTES == 2)
            *(uint16_t *)to = (uint16_t)bits;
        else
            *(uint32_t *)to = bits;
    }
}

// Step `step` of the matrix, 32 bytes deep.
template <class T, int SPAN, bool TRANSPOSED>
__device__ static uint64_t descriptor(const uint8_t *matrix, unsigned step)
{
    const uint64_t mode = SPAN == 128 ? 1 : SPAN == 64 ? 2 : SPAN == 32 ? 3 : 0;
    const bool exchanged = SPAN == 16 && TRANSPOSED;
    const uint64_t lead = exchanged ? 8 * SPAN : EXTENT * SPAN;
    const uint64_t stride = exchanged ? EXTENT * SPAN : 8 * SPAN;
    const unsigned at = place<SPAN>(TRANSPOSED, T::BYTES, 0, step * STEP_BYTES / T::BYTES);
    return (address_of(matrix) + at) / 16 | lead / 16 << 16 | stride / 16 << 32 | mode << 62;
}

template <class SUM> __device__ static void store_sums(float *out, const uint32_t *d, bool negative)
{
    for (unsigned i = 0; i < EXTENT / 2; i++) {
        unsigned row, column;
        sum_place(i, &row, &column);
        const float sum = SUM::value(d[i / SUM::PER_REGISTER], i % SUM::PER_REGISTER);
        out[(threadIdx.x / 32 * 16 + row) * EXTENT + column] = negative ? 0 - sum : sum;
    }
}

template <class T, class SUM, int SPAN, bool TA, bool TB, bool NEGATIVE, class STEP>
__device__ static void wgmma(float *out)
{
    __shared__ __align__(1024) uint8_t a[EXTENT * DEPTH_BYTES], b[EXTENT * DEPTH_BYTES];
    uint32_t d[32 / SUM::PER_REGISTER], words[STEPS][4];
    lay<T, SPAN, TA>(a, 1);
    lay<T, SPAN, TB>(b, 2);
#pragma unroll
    for (unsigned i = 0; i < 32 / SUM::PER_REGISTER; i++)
        d[i] = SUM::bits(7); // the first step takes no sum
#pragma unroll
    for (unsigned s = 0; s < STEPS; s++)
#pragma unroll
        for (unsigned r = 0; r < 4; r++)
            words[s][r] = a_register<T>(r, threadIdx.x / 32 * 16, s * STEP_BYTES / T::BYTES);
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
    for (unsigned s = 0; s < STEPS; s++)
        STEP::apply(d, words[s], descriptor<T, SPAN, TA>(a, s), descriptor<T, SPAN, TB>(b, s),
                    s > 0);
    asm volatile("wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;" ::: "memory");
    store_sums<SUM>(out, d, NEGATIVE);
}

#define EIGHT(d, i)                                                                                \
    "+r"(d[i]), "+r"(d[i + 1]), "+r"(d[i + 2]), "+r"(d[i + 3]), "+r"(d[i + 4]), "+r"(d[i + 5]),    \
        "+r"(d[i + 6]), "+r"(d[i + 7])
#define FIRST_16  "%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15"
#define OTHER_16  "%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31"
#define SUMS_REAL EIGHT(d, 0), EIGHT(d, 8), EIGHT(d, 16), EIGHT(d, 24)
#define SUMS_HALF EIGHT(d, 0), EIGHT(d, 8)
#define OPERANDS  "l"(at_b), "r"(adds), "l"(at_a), "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3])

// Operands after the sums: b's descriptor, whether it adds, a's descriptor or registers.
#define TAKE_REAL_SHARED    "{" FIRST_16 "," OTHER_16 "}, %34, %32, p"
#define TAKE_REAL_REGISTERS "{" FIRST_16 "," OTHER_16 "}, {%35,%36,%37,%38}, %32, p"
#define TAKE_HALF_SHARED    "{" FIRST_16 "}, %18, %16, p"
#define TAKE_HALF_REGISTERS "{" FIRST_16 "}, {%19,%20,%21,%22}, %16, p"
#define SCALE_REAL          "%33"
#define SCALE_HALF          "%17"

#define WGMMA(name, T, SUM, SPAN, TA, TB, NEGATIVE, types, FORM, MEMORY, tail)                     \
    struct wgmma_step_##name {                                                                     \
        __device__ static void apply(uint32_t *d, const uint32_t *a, uint64_t at_a, uint64_t at_b, \
                                     int adds)                                                     \
        {                                                                                          \
            asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, " SCALE_##FORM                          \
                         ", 0;\n"                                                                  \
                         "wgmma.mma_async.sync.aligned.m64n64" types                               \
                         " " TAKE_##FORM##_##MEMORY tail ";\n}"                                    \
                         : SUMS_##FORM:OPERANDS                                                    \
                         : "memory");                                                              \
        }                                                                                          \
    };                                                                                             \
    extern "C" __global__ void __launch_bounds__(128) wgmma_##name(float *out)                     \
    {                                                                                              \
        wgmma<T, SUM, SPAN, TA, TB, NEGATIVE, wgmma_step_##name>(out);                             \
    }

// All swizzles, with a in shared memory and in registers.
#define SWIZZLED(name, T, SUM, TA, TB, types, FORM, tail_shared, tail_registers)                   \
    FORMS(name##_none, T, SUM, 16, TA, TB, types, FORM, tail_shared, tail_registers)               \
    FORMS(name##_32, T, SUM, 32, TA, TB, types, FORM, tail_shared, tail_registers)                 \
    FORMS(name##_64, T, SUM, 64, TA, TB, types, FORM, tail_shared, tail_registers)                 \
    FORMS(name##_128, T, SUM, 128, TA, TB, types, FORM, tail_shared, tail_registers)
#define FORMS(name, T, SUM, SPAN, TA, TB, types, FORM, tail_shared, tail_registers)                \
    WGMMA(name, T, SUM, SPAN, TA, TB, false, types, FORM, SHARED, tail_shared)                     \
    WGMMA(name##_registers, T, SUM, SPAN, false, TB, false, types, FORM, REGISTERS, tail_registers)

SWIZZLED(f16, F16, REAL, 0, 0, "k16.f32.f16.f16", REAL, ", 1, 1, 0, 0", ", 1, 1, 0")
SWIZZLED(f16_half, F16, HALF, 0, 0, "k16.f16.f16.f16", HALF, ", 1, 1, 0, 0", ", 1, 1, 0")
SWIZZLED(bf16, BF16, REAL, 0, 0, "k16.f32.bf16.bf16", REAL, ", 1, 1, 0, 0", ", 1, 1, 0")
SWIZZLED(tf32, TF32, REAL, 0, 0, "k8.f32.tf32.tf32", REAL, ", 1, 1", ", 1, 1")
SWIZZLED(e4m3, E4M3, REAL, 0, 0, "k32.f32.e4m3.e4m3", REAL, ", 1, 1", ", 1, 1")
SWIZZLED(e4m3_half, E4M3, HALF, 0, 0, "k32.f16.e4m3.e4m3", HALF, ", 1, 1", ", 1, 1")
SWIZZLED(e5m2, E5M2, REAL, 0, 0, "k32.f32.e5m2.e5m2", REAL, ", 1, 1", ", 1, 1")
SWIZZLED(s8, S8, INTEGER, 0, 0, "k32.s32.s8.s8", REAL, "", "")
SWIZZLED(f16_tb, F16, REAL, 0, 1, "k16.f32.f16.f16", REAL, ", 1, 1, 0, 1", ", 1, 1, 1")
SWIZZLED(bf16_tb, BF16, REAL, 0, 1, "k16.f32.bf16.bf16", REAL, ", 1, 1, 0, 1", ", 1, 1, 1")
SWIZZLED(f16_tab, F16, HALF, 1, 1, "k16.f16.f16.f16", HALF, ", 1, 1, 1, 1", ", 1, 1, 1")
WGMMA(f16_negative_a, F16, REAL, 128, 0, 0, true, "k16.f32.f16.f16", REAL, SHARED, ", -1, 1, 0, 0")
WGMMA(f16_negative_b, F16, REAL, 128, 0, 0, true, "k16.f32.f16.f16", REAL, REGISTERS, ", 1, -1, 0")

#define PLAIN_WGMMA(DEPTH)                                                                         \
    extern "C" __global__ void plain_wgmma_k##DEPTH(float *out)                                    \
    {                                                                                              \
        for (unsigned i = threadIdx.x; i < EXTENT * EXTENT; i += blockDim.x) {                     \
            int sum = 0;                                                                           \
            for (unsigned k = 0; k < DEPTH; k++)                                                   \
                sum += small(1, i / EXTENT, k) * small(2, i % EXTENT, k);                          \
            out[i] = (float)sum;                                                                   \
        }                                                                                          \
    }
PLAIN_WGMMA(32)
PLAIN_WGMMA(64)
PLAIN_WGMMA(128)
