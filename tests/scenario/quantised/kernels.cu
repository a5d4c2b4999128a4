/*
 * kernels.cu - products of weights in blocks with activations in blocks of codes, by the names and
 * the parameters that llama.cpp's kernels have, a thread for each block or each element.
 *
 * `ntx.x` and `used` are parameters that the entries leave out: 1 makes a kernel a wrong one.
 */
#include <cuda_fp16.h>

enum ggml_type { Q4_0 = 2, Q4_1 = 3, Q8_0 = 8, Q4_K = 12 };
enum ggml_prec { USUAL = 30 };
enum mmq_q8_1_ds_layout { SINGLE, HALF, SIXTEENS };

/* 128 codes: 4 scales, 4 scales each with a sum, or 2 scales and 6 sums. */
struct codes {
    union {
        float single[4];
        half pair[4][2];
        half both[8];
    };
    signed char q[128];
};

static __device__ float sum_of(const float *x, long long at, long long count, int many)
{
    float sum = 0;
    for (int i = 0; i < many; i++)
        sum += at + i < count ? x[at + i] : 0;
    return sum;
}

static __device__ float peak_of(const float *x, long long at, long long count, int many)
{
    float peak = 0;
    for (int i = 0; i < many; i++)
        peak = fmaxf(peak, at + i < count ? fabsf(x[at + i]) : 0);
    return peak;
}

/* A wrong one takes the maximum of one number less. */
template <mmq_q8_1_ds_layout layout, bool scatter>
__global__ void quantize_mmq_q8_1(const float *x, const int *ids, void *y, long long ne00,
                                  long long s01, long long s02, long long s03, long long ne0,
                                  int ne1, int ne2, int used)
{
    const long long blocks = ne0 / 128, c = blockIdx.z, r = blockIdx.x, b = threadIdx.x;
    const int span = layout == SIXTEENS ? 64 : 32;
    x += c / ne2 * s03 + c % ne2 * s02 + r * s01;
    if (b >= blocks)
        return;
    codes *out = (codes *)y + (c * blocks + b) * ne1 + r;
    for (int g = 0; g < 128 / span; g++) {
        const long long at = b * 128 + g * span;
        const float scale = peak_of(x, at, ne00, span - used) / 127;
        for (int i = 0; i < span; i++) {
            float number = at + i < ne00 && scale > 0 ? rintf(x[at + i] / scale) : 0;
            out->q[g * span + i] = (signed char)fminf(fmaxf(number, -127), 127);
        }
        if (layout == SINGLE)
            out->single[g] = scale;
        else if (layout == HALF)
            out->pair[g][0] = __float2half(scale);
        else
            out->both[g] = __float2half(scale);
        if (layout == HALF)
            out->pair[g][1] = __float2half(sum_of(x, at, ne00, span));
    }
    for (int p = 0; p < 6 && layout == SIXTEENS; p++)
        out->both[2 + p] = __float2half(sum_of(x, b * 128 + 16 * p, ne00, 16));
}

template __global__ void quantize_mmq_q8_1<SINGLE, false>(const float *, const int *, void *,
                                                          long long, long long, long long,
                                                          long long, long long, int, int, int);
template __global__ void quantize_mmq_q8_1<HALF, false>(const float *, const int *, void *,
                                                        long long, long long, long long, long long,
                                                        long long, int, int, int);
template __global__ void quantize_mmq_q8_1<SIXTEENS, false>(const float *, const int *, void *,
                                                            long long, long long, long long,
                                                            long long, long long, int, int, int);

/* ---- weights ---- */

static __device__ float half_at(const unsigned char *at)
{
    return __half2float(__ushort_as_half((unsigned short)(at[0] | at[1] << 8)));
}

/* Element l of a row as code times `step` and something common to 32 of them. */
struct element {
    float code, step, low;
};

static __device__ element of_4(const unsigned char *row, int l, bool minimum)
{
    const unsigned char *block = row + l / 32 * (minimum ? 20 : 18);
    const unsigned char byte = block[(minimum ? 4 : 2) + l % 16];
    const int code = l % 32 < 16 ? byte & 15 : byte >> 4;
    const float step = half_at(block);
    return {minimum ? (float)code : (float)(code - 8), step, minimum ? half_at(block + 2) : 0};
}

static __device__ element of_8(const unsigned char *row, int l)
{
    const unsigned char *block = row + l / 32 * 34;
    return {(float)(signed char)block[2 + l % 32], half_at(block), 0};
}

/* The products of two scales become numbers of f16. */
static __device__ element of_4_K(const unsigned char *row, int l)
{
    const unsigned char *block = row + l / 256 * 144, *six = block + 4;
    const int g = l / 32 % 8, byte = block[16 + l / 64 % 4 * 32 + l % 32];
    const int a = g < 4 ? six[g] & 63 : (six[g + 4] & 15) | six[g - 4] >> 6 << 4;
    const int m = g < 4 ? six[g + 4] & 63 : six[g + 4] >> 4 | six[g] >> 6 << 4;
    return {(float)(g % 2 ? byte >> 4 : byte & 15), __half2float(__float2half(half_at(block) * a)),
            __half2float(__float2half(-half_at(block + 2) * m))};
}

template <ggml_type type> static __device__ element weight(const char *w, int row, int l)
{
    const unsigned char *at = (const unsigned char *)w;
    if (type == Q8_0)
        return of_8(at + row * 34, l);
    if (type == Q4_K)
        return of_4_K(at + row * 144, l);
    return of_4(at + row * (type == Q4_1 ? 20 : 18), l, type == Q4_1);
}

/* ---- products ---- */

/* From element `from` to `end`. */
template <ggml_type type>
static __device__ float dot(const char *w, int row, const codes *y, int column, int columns,
                            int from, int end)
{
    float sum = 0;
    for (int l = from; l < end; l++) {
        const codes *block = y + l / 128 * columns + column;
        const element e = weight<type>(w, row, l);
        const float scale =
            type == Q8_0 ? block->single[l % 128 / 32] : __half2float(block->pair[l % 128 / 32][0]);
        sum += e.code * block->q[l % 128] * e.step * scale;
        if (l % 32 == 0)
            sum += type == Q8_0 ? 0 : e.low * __half2float(block->pair[l % 128 / 32][1]);
    }
    return sum;
}

/* A block for each column; with tmp the second half of k goes there. A wrong one leaves out the
 * last 32 of k. */
template <ggml_type type, int J, bool fallback, ggml_prec precision>
__global__ void mul_mat_q(const char *w, const int *y, const int *ids, const int *bounds,
                          float *out, float *tmp, const float *y_scale, uint3 groups, int rows,
                          int cols, int stride_w, int cols_y, int stride_out, uint3 cr,
                          uint3 channels, int sc_w, int sc_y, int sc_out, uint3 sr, uint3 samples,
                          int ss_w, int ss_y, int ss_out, uint3 ntx)
{
    const int k = (int)groups.z * (type == Q4_K ? 256 : 32), end = k - (ntx.x ? 32 : 0);
    const int column = blockIdx.x, middle = tmp ? k / 2 : end;
    for (int row = threadIdx.x; row < rows; row += blockDim.x) {
        out[column * stride_out + row] =
            dot<type>(w, row * stride_w, (const codes *)y, column, cols_y, 0, middle);
        if (tmp)
            tmp[column * rows + row] =
                dot<type>(w, row * stride_w, (const codes *)y, column, cols_y, middle, end);
    }
}

template <ggml_type type, int J, bool fallback, ggml_prec precision>
__global__ void mul_mat_q_stream_k_fixup(const int *ids, const int *bounds, float *out, float *tmp,
                                         uint3 groups, int rows, int cols, int stride_out,
                                         uint3 channels, int sc_out, uint3 samples, int ss_out,
                                         uint3 ntx)
{
    for (int row = threadIdx.x; row < rows; row += blockDim.x)
        out[blockIdx.x * stride_out + row] += tmp[blockIdx.x * rows + row];
}

#define PRODUCT(type)                                                                              \
    template __global__ void mul_mat_q<type, 16, true, USUAL>(                                     \
        const char *, const int *, const int *, const int *, float *, float *, const float *,      \
        uint3, int, int, int, int, int, uint3, uint3, int, int, int, uint3, uint3, int, int, int,  \
        uint3);                                                                                    \
    template __global__ void mul_mat_q_stream_k_fixup<type, 16, true, USUAL>(                      \
        const int *, const int *, float *, float *, uint3, int, int, int, uint3, int, uint3, int,  \
        uint3);

PRODUCT(Q4_0)
PRODUCT(Q4_1)
PRODUCT(Q8_0)
PRODUCT(Q4_K)
