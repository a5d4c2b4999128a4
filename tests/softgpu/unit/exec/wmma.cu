/*
 * wmma.cu - products of one warp by nvcuda::wmma, for test_exec_wmma: d = a b + c, of each shape
 * and type, and a loop over tiles that scales its sums.
 */
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <mma.h>

using namespace nvcuda;
using wmma::col_major;
using wmma::row_major;

/* T: the type of a and b in fragments; M: in memory; S: of c and d. */
template <int m, int n, int k, typename T, typename M, typename S, typename A, typename B>
__device__ void product(const M *a, const M *b, const S *c, S *d, unsigned stride_a,
                        unsigned stride_b, unsigned stride_c, wmma::layout_t layout)
{
    wmma::fragment<wmma::matrix_a, m, n, k, T, A> fa;
    wmma::fragment<wmma::matrix_b, m, n, k, T, B> fb;
    wmma::fragment<wmma::accumulator, m, n, k, S> sum;
    wmma::load_matrix_sync(fa, a, stride_a);
    wmma::load_matrix_sync(fb, b, stride_b);
    wmma::load_matrix_sync(sum, c, stride_c, layout);
    wmma::mma_sync(sum, fa, fb, sum);
    wmma::store_matrix_sync(d, sum, stride_c, layout);
}

#define PRODUCT(name, m, n, k, T, M, S, A, B, layout)                                              \
    extern "C" __global__ void name(const M *a, const M *b, const S *c, S *d, unsigned stride_a,   \
                                    unsigned stride_b, unsigned stride_c)                          \
    {                                                                                              \
        product<m, n, k, T, M, S, A, B>(a, b, c, d, stride_a, stride_b, stride_c, layout);         \
    }

PRODUCT(square_f16, 16, 16, 16, half, half, float, row_major, col_major, wmma::mem_row_major)
PRODUCT(square_f16_half, 16, 16, 16, half, half, half, col_major, row_major, wmma::mem_col_major)
PRODUCT(tall_f16, 32, 8, 16, half, half, float, row_major, row_major, wmma::mem_col_major)
PRODUCT(wide_f16_half, 8, 32, 16, half, half, half, row_major, col_major, wmma::mem_row_major)
PRODUCT(square_bf16, 16, 16, 16, __nv_bfloat16, __nv_bfloat16, float, row_major, row_major,
        wmma::mem_row_major)
PRODUCT(tall_bf16, 32, 8, 16, __nv_bfloat16, __nv_bfloat16, float, col_major, col_major,
        wmma::mem_row_major)
PRODUCT(square_tf32, 16, 16, 8, wmma::precision::tf32, float, float, row_major, col_major,
        wmma::mem_col_major)
PRODUCT(square_s8, 16, 16, 16, signed char, signed char, int, row_major, col_major,
        wmma::mem_row_major)
PRODUCT(wide_s8, 8, 32, 16, signed char, signed char, int, col_major, row_major,
        wmma::mem_col_major)
PRODUCT(tall_u8, 32, 8, 16, unsigned char, unsigned char, int, row_major, col_major,
        wmma::mem_row_major)

/* d = 2 a b of 16 x 16 numbers and `depth` more, by way of shared memory, stored as halves. */
extern "C" __global__ void tiles_f16(const half *a, const half *b, half *d, unsigned depth)
{
    __shared__ half tile[2][256];
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, row_major> fa;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, row_major> fb;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
    wmma::fragment<wmma::accumulator, 16, 16, 16, half> out;
    wmma::fill_fragment(sum, 0.0f);
    for (unsigned first = 0; first < depth; first += 16) {
        for (unsigned i = threadIdx.x; i < 256; i += 32) {
            tile[0][i] = a[i / 16 * depth + first + i % 16];
            tile[1][i] = b[(first + i / 16) * 16 + i % 16];
        }
        __syncwarp();
        wmma::load_matrix_sync(fa, tile[0], 16);
        wmma::load_matrix_sync(fb, tile[1], 16);
        wmma::mma_sync(sum, fa, fb, sum);
        __syncwarp();
    }
    for (unsigned i = 0; i < sum.num_elements; i++)
        out.x[i] = __float2half(2 * sum.x[i]);
    wmma::store_matrix_sync(d, out, 16, wmma::mem_row_major);
}
