// tensor.cu - a matrix product and an attention on tensor cores, with right and narrow
// accumulators.
//
// c[32][8n] = a[32][k] b[8n][k]^T, a block of two warps for 8 columns; k in tiles of 16 that
// cp.async brings to shared memory and ldmatrix to registers.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <mma.h>
#include <stdint.h>

enum { F32, F16, BETWEEN }; // where sums are kept: f32, f16, or f32 that is rounded after each tile

__device__ static uint32_t shared_address(const void *p)
{
    return (uint32_t)__cvta_generic_to_shared(p);
}

__device__ static void copy_16(void *to, const void *from)
{
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared_address(to)), "l"(from));
}

__device__ static void load_tiles(const __half *a, const __half *b, int k, int at, __half (*x)[16],
                                  __half (*y)[16])
{
    int row = threadIdx.x / 2, half = threadIdx.x % 2 * 8;
    if (row < 32)
        copy_16(&x[row][half], a + row * k + at + half);
    if (row < 8)
        copy_16(&y[row][half], b + (blockIdx.x * 8 + row) * k + at + half);
    asm volatile("cp.async.commit_group;\n cp.async.wait_group 0;" ::: "memory");
    __syncthreads();
}

__device__ static void load_fragments(const __half (*x)[16], const __half (*y)[16], uint32_t *a,
                                      uint32_t *b)
{
    int lane = threadIdx.x % 32, row = threadIdx.x / 32 * 16 + lane % 16;
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(a[0]), "=r"(a[1]), "=r"(a[2]), "=r"(a[3])
                 : "r"(shared_address(&x[row][lane / 16 * 8])));
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0,%1}, [%2];"
                 : "=r"(b[0]), "=r"(b[1])
                 : "r"(shared_address(&y[lane % 8][lane / 8 % 2 * 8])));
}

__device__ static void multiply(float *c, const uint32_t *a, const uint32_t *b)
{
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, "
                 "{%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

__device__ static void multiply_half(uint32_t *c, const uint32_t *a, const uint32_t *b)
{
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%0,%1}, {%2,%3,%4,%5}, "
                 "{%6,%7}, {%0,%1};"
                 : "+r"(c[0]), "+r"(c[1])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

template <int KEPT>
__device__ static void product(const __half *a, const __half *b, __half *c, int n, int k)
{
    __shared__ alignas(16) __half x[32][16], y[8][16];
    float sum[4] = {};
    uint32_t half_sum[2] = {}, fa[4], fb[2];
    for (int at = 0; at < k; at += 16) {
        load_tiles(a, b, k, at, x, y);
        load_fragments(x, y, fa, fb);
        if (KEPT == F16)
            multiply_half(half_sum, fa, fb);
        else
            multiply(sum, fa, fb);
        for (int i = 0; i < 4 && KEPT == BETWEEN; i++)
            sum[i] = __bfloat162float(__float2bfloat16(sum[i]));
        __syncthreads();
    }
    for (int i = 0; i < 4; i++) {
        int lane = threadIdx.x % 32, row = threadIdx.x / 32 * 16 + lane / 4 + i / 2 * 8;
        __half h = KEPT == F16 ? ((const __half *)half_sum)[i] : __float2half(sum[i]);
        c[row * n + blockIdx.x * 8 + lane % 4 * 2 + i % 2] = h;
    }
}

#define PRODUCT(name, kept)                                                                        \
    extern "C" __global__ void name(const __half *a, const __half *b, __half *c, int n, int k)     \
    {                                                                                              \
        product<kept>(a, b, c, n, k);                                                              \
    }
PRODUCT(product_right, F32)
PRODUCT(product_half, F16)
PRODUCT(product_between, BETWEEN)

// The same product through nvcuda::wmma: the first of two warps computes 32 x 8 elements: forward,
// from the end of k, or without the last 16 terms.
enum { FORWARD, BACKWARD, SHORT };
template <typename T, int ORDER>
__device__ static void wmma_product(const __half *a, const __half *b, __half *c, int n, int k)
{
    using namespace nvcuda::wmma;
    __shared__ T tile[32 * 8];
    fragment<matrix_a, 32, 8, 16, __half, row_major> x;
    fragment<matrix_b, 32, 8, 16, __half, col_major> y;
    fragment<accumulator, 32, 8, 16, T> sum;
    if (threadIdx.x >= 32)
        return;
    fill_fragment(sum, T(0.0f));
    for (int at = 0; at < k - (ORDER == SHORT) * 16; at += 16) {
        int from = ORDER == BACKWARD ? k - 16 - at : at;
        load_matrix_sync(x, a + from, k);
        load_matrix_sync(y, b + blockIdx.x * 8 * k + from, k);
        mma_sync(sum, x, y, sum);
    }
    store_matrix_sync(tile, sum, 8, mem_row_major);
    __syncwarp();
    for (int i = threadIdx.x; i < 32 * 8; i += 32)
        c[i / 8 * n + blockIdx.x * 8 + i % 8] = __half(tile[i]);
}

#define WMMA_PRODUCT(name, type, order)                                                            \
    extern "C" __global__ void name(const __half *a, const __half *b, __half *c, int n, int k)     \
    {                                                                                              \
        wmma_product<type, order>(a, b, c, n, k);                                                  \
    }
WMMA_PRODUCT(product_wmma, float, FORWARD)
WMMA_PRODUCT(product_wmma_backward, float, BACKWARD)
WMMA_PRODUCT(product_wmma_short, float, SHORT)
WMMA_PRODUCT(product_wmma_half, __half, FORWARD)

// y = softmax(s) v for 16 queries, 16 keys at a time: scores stay in registers and are rounded to
// f16 as the operand of the second product, in a tensor core's layout.
template <int KEPT>
__device__ static void attention(const __half *q, const __half *k, const __half *v, __half *y,
                                 int keys)
{
    __shared__ alignas(16) __half x[16][16], tile[16][16];
    int lane = threadIdx.x, row = lane / 2, part = lane % 2 * 8;
    uint32_t fq[4], fk[4];
    float out[8] = {}, most[2] = {-INFINITY, -INFINITY}, total[2] = {};
    copy_16(&x[row][part], q + row * 16 + part);
    asm volatile("cp.async.commit_group;\n cp.async.wait_group 0;" ::: "memory");
    __syncwarp();
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(fq[0]), "=r"(fq[1]), "=r"(fq[2]), "=r"(fq[3])
                 : "r"(shared_address(&x[lane % 16][lane / 16 * 8])));
    for (int at = 0; at < keys; at += 16) {
        float s[8] = {};
        __half p[8];
        *(uint4 *)&tile[row][part] = *(const uint4 *)(k + (at + row) * 16 + part);
        __syncwarp();
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                     : "=r"(fk[0]), "=r"(fk[1]), "=r"(fk[2]), "=r"(fk[3])
                     : "r"(shared_address(&tile[lane % 8 + lane / 16 * 8][lane / 8 % 2 * 8])));
        multiply(s, fq, fk);
        multiply(s + 4, fq, fk + 2);
        for (int h = 0; h < 2; h++) {
            float m = fmaxf(fmaxf(s[2 * h], s[2 * h + 1]), fmaxf(s[2 * h + 4], s[2 * h + 5]));
            m = fmaxf(m, __shfl_xor_sync(~0u, m, 1));
            m = fmaxf(most[h], fmaxf(m, __shfl_xor_sync(~0u, m, 2)));
            float scale = exp2f(1.44269504f * 0.25f * (most[h] - m)), sum = 0;
            most[h] = m;
            for (int j = 0; j < 4; j++) {
                int i = 2 * h + j % 2 + j / 2 * 4;
                float e = exp2f(1.44269504f * 0.25f * (s[i] - m));
                p[2 * h + j % 2 + j / 2 * 4] = __float2half(e);
                sum += e;
            }
            sum += __shfl_xor_sync(~0u, sum, 1);
            total[h] = total[h] * scale + sum + __shfl_xor_sync(~0u, sum, 2);
            for (int j = 0; j < 4; j++)
                out[2 * h + j % 2 + j / 2 * 4] *= scale;
        }
        __syncwarp();
        *(uint4 *)&tile[row][part] = *(const uint4 *)(v + (at + row) * 16 + part);
        __syncwarp();
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
                     : "=r"(fk[0]), "=r"(fk[1]), "=r"(fk[2]), "=r"(fk[3])
                     : "r"(shared_address(&tile[lane % 16][lane / 16 * 8])));
        multiply(out, (const uint32_t *)p, fk);
        multiply(out + 4, (const uint32_t *)p, fk + 2);
        for (int i = 0; i < 8 && KEPT == BETWEEN; i++)
            out[i] = __bfloat162float(__float2bfloat16(out[i]));
        __syncwarp();
    }
    for (int i = 0; i < 8; i++)
        y[(lane / 4 + i % 4 / 2 * 8) * 16 + lane % 4 * 2 + i % 2 + i / 4 * 8] =
            __float2half(out[i] / total[i % 4 / 2]);
}

#define ATTENTION(name, kept)                                                                      \
    extern "C" __global__ void name(const __half *q, const __half *k, const __half *v, __half *y,  \
                                    int keys, float scale)                                         \
    {                                                                                              \
        attention<kept>(q, k, v, y, keys);                                                         \
    }
ATTENTION(attention_right, F32)
ATTENTION(attention_between, BETWEEN)
