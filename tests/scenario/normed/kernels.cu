/*
 * kernels.cu - the norm of each head, its weight and the rotation in one kernel, by the name and
 * the parameters that llama.cpp's has, a thread for a head. `wrong` is a stride that the entries
 * leave out: 1 makes a pair turn by the angle of the next.
 */
#include <cuda_fp16.h>

struct rope_corr_dims {
    float from, to;
};

template <int block, bool given, typename D>
__global__ void
rms_norm_mul_rope_f32(const float *x, D *y, int cols, long long s01, long long s02, long long s03,
                      long long s1, long long s2, long long s3, float eps, const float *mul,
                      long long wrong, long long, long long, uint3 m0, uint3 m1, uint3 m2, uint3 m3,
                      int n_dims, const int *position, float scale, float extrapolate, float length,
                      rope_corr_dims ramp, float base, const float *factors, const long long *slots,
                      int to_rows, bool neox)
{
    const long long head = blockIdx.x, token = blockIdx.y;
    x += head * s01 + token * s02;
    y += head * s1 + (to_rows ? slots[token] * to_rows : token * s2);
    float sum = 0;
    for (int c = 0; c < cols; c++)
        sum += x[c] * x[c];
    const float inverse = rsqrtf(sum / cols + eps);
    for (int c = 0; c < cols / 2; c++) {
        const bool turned = c < n_dims / 2;
        const int first = turned && neox ? c : 2 * c,
                  second = first + (turned && neox ? n_dims / 2 : 1);
        const float a = x[first] * inverse * mul[first], b = x[second] * inverse * mul[second];
        const float angle = turned ? position[token] * powf(base, c + (float)wrong) * scale : 0;
        const float size = turned ? length : 1;
        y[first] = (D)((a * cosf(angle) - b * sinf(angle)) * size);
        y[second] = (D)((a * sinf(angle) + b * cosf(angle)) * size);
    }
}

#define KERNEL(D)                                                                                  \
    template __global__ void rms_norm_mul_rope_f32<256, false, D>(                                 \
        const float *, D *, int, long long, long long, long long, long long, long long, long long, \
        float, const float *, long long, long long, long long, uint3, uint3, uint3, uint3, int,    \
        const int *, float, float, float, rope_corr_dims, float, const float *, const long long *, \
        int, bool);

KERNEL(float)
KERNEL(half)
