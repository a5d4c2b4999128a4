/*
 * ggml_convert.cu - ggml's kernels that make numbers of weights in blocks, which its
 * test-backend-ops launches none of.
 *
 *     nvcc -O2 -std=c++17 -extended-lambda --use_fast_math -cudart shared -gencode
 * arch=compute_90,code=compute_90 \
 *         -I GGML/include -I GGML/src -I GGML/src/ggml-cuda -o ggml_convert ggml_convert.cu \
 *         GGML/src/ggml-cuda/convert.cu -L GGML/build/src -lggml-base -Xlinker
 * -rpath=GGML/build/src
 *
 * GGML is a clone of ggml with its libraries built. Each type of blocks is filled by ggml's own
 * quantisation and made f32, f16 and bf16, densely and with rows apart. Results are held against
 * ggml's on the CPU, by half a hundredth. Prints what is wrong, and a count; the exit status is 1
 * if a result is wrong.
 */
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "convert.cuh"
#include "ggml.h"

#define TRY(call)                                                                                  \
    do {                                                                                           \
        cudaError_t error_ = (call);                                                               \
        if (error_) {                                                                              \
            printf("%s: %s\n", #call, cudaGetErrorString(error_));                                 \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

/* What convert.cu takes of the rest of the backend. */
[[noreturn]] void ggml_cuda_error(const char *text, const char *, const char *file, int line,
                                  const char *message)
{
    printf("%s:%d: %s: %s\n", file, line, text, message);
    exit(1);
}

int ggml_cuda_get_device()
{
    return 0;
}

const ggml_cuda_device_info &ggml_cuda_info()
{
    static ggml_cuda_device_info info;
    int major, minor;
    TRY(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0));
    TRY(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, 0));
    info.devices[0].cc = 100 * major + 10 * minor;
    return info;
}

static int calls, wrong;

template <typename T> static float number(T value)
{
    return (float)value;
}

template <typename T>
static void judge(const char *name, const char *how, const T *device,
                  const std::vector<float> &right)
{
    std::vector<T> got(right.size());
    TRY(cudaDeviceSynchronize());
    TRY(cudaMemcpy(got.data(), device, got.size() * sizeof(T), cudaMemcpyDeviceToHost));
    double away = 0, norm = 0;
    for (size_t i = 0; i < right.size(); i++) {
        away += std::pow(number(got[i]) - right[i], 2);
        norm += std::pow(right[i], 2);
    }
    calls++;
    if (!(std::sqrt(away) <= 0.005 * std::sqrt(norm))) {
        printf("%s %s, %zu bytes an element: WRONG, by %.3g of the norm\n", name, how, sizeof(T),
               std::sqrt(away / norm));
        wrong++;
    }
}

/* `rows` rows of `cols` numbers, densely and, where the backend can, every other row of them. */
template <typename T>
static void convert(ggml_type type, const void *blocks, int64_t rows, int64_t cols,
                    const std::vector<float> &right, to_t_cuda_t<T> dense, to_t_nc_cuda_t<T> apart)
{
    T *y;
    TRY(cudaMalloc(&y, rows * cols * sizeof(T)));
    TRY(cudaMemset(y, 0, rows * cols * sizeof(T)));
    if (dense) {
        dense(blocks, y, rows * cols, 0);
        judge(ggml_type_name(type), "dense", y, right);
    }
    if (apart) {
        std::vector<float> half;
        for (int64_t row = 0; row < rows; row += 2)
            half.insert(half.end(), &right[row * cols], &right[(row + 1) * cols]);
        int64_t step = 2 * cols / ggml_blck_size(type), count = (rows + 1) / 2;
        TRY(cudaMemset(y, 0, rows * cols * sizeof(T)));
        apart(blocks, y, cols, count, 1, 1, step, step * count, step * count, 0);
        judge(ggml_type_name(type), "rows apart", y, half);
    }
    TRY(cudaFree(y));
}

static void run(ggml_type type, int64_t rows, int64_t cols)
{
    std::vector<float> x(rows * cols), right(rows * cols);
    std::vector<char> blocks(ggml_row_size(type, cols) * rows);
    for (float &value : x)
        value = (float)rand() / RAND_MAX * 2 - 1;
    ggml_quantize_chunk(type, x.data(), blocks.data(), 0, rows, cols, nullptr);
    ggml_get_type_traits(type)->to_float(blocks.data(), right.data(), rows * cols);
    void *device;
    TRY(cudaMalloc(&device, blocks.size()));
    TRY(cudaMemcpy(device, blocks.data(), blocks.size(), cudaMemcpyHostToDevice));
    convert<float>(type, device, rows, cols, right, ggml_get_to_fp32_cuda(type),
                   ggml_get_to_fp32_nc_cuda(type));
    convert<half>(type, device, rows, cols, right, ggml_get_to_fp16_cuda(type),
                  ggml_get_to_fp16_nc_cuda(type));
    convert<nv_bfloat16>(type, device, rows, cols, right, ggml_get_to_bf16_cuda(type),
                         ggml_get_to_bf16_nc_cuda(type));
    TRY(cudaFree(device));
}

int main()
{
    static const ggml_type types[] = {GGML_TYPE_Q4_0, GGML_TYPE_Q4_1, GGML_TYPE_Q5_0,
                                      GGML_TYPE_Q5_1, GGML_TYPE_Q8_0, GGML_TYPE_Q4_K,
                                      GGML_TYPE_Q5_K, GGML_TYPE_Q6_K};
    srand(5);
    for (ggml_type type : types) {
        run(type, 3, 1024);
        run(type, 8, 2048);
    }
    printf("%d calls, %d wrong\n", calls, wrong);
    return wrong != 0;
}
