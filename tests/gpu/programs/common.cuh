/* common.cuh - what every CUDA test program needs: error checks, seeded data, checksums of bits. */
#ifndef TESTS_GPU_COMMON_CUH
#define TESTS_GPU_COMMON_CUH

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <dlfcn.h>

#define CHECK(call)                                                                                \
    do {                                                                                           \
        cudaError_t check_error = (call);                                                          \
        if (check_error != cudaSuccess) {                                                          \
            printf("%s:%d: %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorName(check_error));   \
            exit(3);                                                                               \
        }                                                                                          \
    } while (0)

/* FNV-1a of bytes, continued from `hash`. */
#define FNV_START 14695981039346656037ull
static inline uint64_t fnv(const void *bytes, size_t size, uint64_t hash = FNV_START)
{
    const unsigned char *byte = (const unsigned char *)bytes;
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ byte[i]) * 1099511628211ull;
    return hash;
}

/* A value in [-scale, scale) that depends on seed and index only. */
static inline __host__ __device__ float random_value(uint64_t seed, uint64_t index, float scale)
{
    uint64_t z = seed * 0x9E3779B97F4A7C15ull + (index + 1) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    z ^= z >> 31;
    return ((float)(z >> 40) * (1.0f / 8388608.0f) - 1.0f) * scale;
}

/* A device array of `count` elements of T with seeded values, there for every stream. */
template <typename T> static T *device_array(size_t count, uint64_t seed, float scale)
{
    std::vector<T> host(count ? count : 1);
    for (size_t i = 0; i < count; i++)
        host[i] = T(random_value(seed, i, scale));
    T *device;
    CHECK(cudaMalloc(&device, host.size() * sizeof(T)));
    CHECK(cudaMemcpy(device, host.data(), host.size() * sizeof(T), cudaMemcpyHostToDevice));
    CHECK(cudaStreamSynchronize(cudaStreamLegacy));
    return device;
}

/* For all launches so far, and under cuvet for the checks of them too, so that none lacks room. */
static inline void wait_for_checks()
{
    static int (*const flush)(int) = (int (*)(int))dlsym(RTLD_DEFAULT, "cuvet_flush");
    CHECK(cudaDeviceSynchronize());
    if (flush)
        flush(10000);
}

/* FNV of the bits of a device array. */
template <typename T> static uint64_t device_fnv(const T *device, size_t count)
{
    std::vector<T> host(count);
    CHECK(cudaMemcpy(host.data(), device, count * sizeof(T), cudaMemcpyDeviceToHost));
    return fnv(host.data(), count * sizeof(T));
}

#endif
