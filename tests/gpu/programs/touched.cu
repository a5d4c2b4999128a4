/*
 * touched.cu - launches that touch some rows of large arrays: a table of 1.2 GB, and a cache in
 * pages whose number is not given. Right kernels, and kernels that are wrong in a
 * row.
 */
#include "kernels.cuh"

enum { ENTRIES = 400000, COLS = 768, TOKENS = 2048, LAUNCHES = 16 };
enum { BLOCKS = 4096, PAGE = 16, HEADS = 8, DIM = 128 };

/* y[t] = table[ids[t]]; the last token gets the row behind its own. */
template <class Id>
__device__ static void look(const float *table, const Id *ids, float *y, int cols, bool wrong)
{
    long long row = ids[blockIdx.x] + (wrong && blockIdx.x + 1 == gridDim.x);
    for (int c = threadIdx.x; c < cols; c += blockDim.x)
        y[(size_t)blockIdx.x * cols + c] = table[row * cols + c];
}

#define LOOK(name, Id, wrong)                                                                      \
    extern "C" __global__ void name(const float *table, const Id *ids, float *y, int cols)         \
    {                                                                                              \
        look(table, ids, y, cols, wrong);                                                          \
    }
LOOK(touched_look32, int, false)
LOOK(touched_look32_next, int, true)
LOOK(touched_look64, long long, false)

/* Keys into the cache; where heads lie outermost in a page, if `outer`. A token's last element goes
 * missing where it is `wrong`. */
__device__ static void append(const __nv_bfloat16 *key, const long long *slots,
                              __nv_bfloat16 *cache, int outer, int wrong)
{
    long long slot = slots[blockIdx.x];
    if (slot < 0)
        return;
    size_t place = outer ? DIM : HEADS * DIM, head = outer ? PAGE * DIM : DIM;
    int count = (int)blockIdx.x == wrong ? HEADS * DIM - 1 : HEADS * DIM;
    for (int i = threadIdx.x; i < count; i += blockDim.x)
        cache[slot / PAGE * (PAGE * HEADS * DIM) + slot % PAGE * place + i / DIM * head + i % DIM] =
            key[(size_t)blockIdx.x * HEADS * DIM + i];
}

#define APPEND(name, wrong)                                                                        \
    extern "C" __global__ void name(const __nv_bfloat16 *key, const long long *slots,              \
                                    __nv_bfloat16 *cache, int outer)                               \
    {                                                                                              \
        append(key, slots, cache, outer, wrong);                                                   \
    }
APPEND(touched_append, -1)
APPEND(touched_append_short, 77)

__global__ static void fill(float *table, size_t count)
{
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < count;
         i += (size_t)gridDim.x * blockDim.x)
        table[i] = random_value(9, i, 1.0f);
}

template <class T> static T *upload(const std::vector<T> &values)
{
    T *device;
    CHECK(cudaMalloc(&device, values.size() * sizeof(T)));
    CHECK(cudaMemcpy(device, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice));
    return device;
}

int main()
{
    const size_t elements = (size_t)ENTRIES * COLS, cached = (size_t)BLOCKS * PAGE * HEADS * DIM;
    float *table, *y = device_array<float>((size_t)TOKENS * COLS, 2, 1.0f);
    __nv_bfloat16 *key = device_array<__nv_bfloat16>((size_t)TOKENS * HEADS * DIM, 3, 1.0f), *cache;
    CHECK(cudaMalloc(&table, elements * sizeof(float)));
    CHECK(cudaMalloc(&cache, cached * sizeof(*cache)));
    CHECK(cudaMemset(cache, 0, cached * sizeof(*cache)));
    fill<<<1024, 256>>>(table, elements);
    for (int i = 0; i < LAUNCHES; i++) {
        std::vector<int> narrow;
        std::vector<long long> wide, slots;
        for (long long t = 0; t < TOKENS; t++) {
            wide.push_back((t * 104729 + i * 7919) % (ENTRIES - 1));
            narrow.push_back((int)wide.back());
            slots.push_back(t % 13 == 5 ? -1 : (t * 31 + i) % (BLOCKS * PAGE));
        }
        int *ids = upload(narrow);
        long long *ids64 = upload(wide), *places = upload(slots);
        touched_look32<<<TOKENS, 256>>>(table, ids, y, COLS);
        wait_for_checks();
        touched_look32_next<<<TOKENS, 256>>>(table, ids, y, COLS);
        wait_for_checks();
        touched_look64<<<TOKENS, 256>>>(table, ids64, y, COLS);
        wait_for_checks();
        touched_append<<<TOKENS, 128>>>(key, places, cache, i % 2);
        wait_for_checks();
        CHECK(cudaMemset(cache, 0, cached * sizeof(*cache)));
        touched_append_short<<<TOKENS, 128>>>(key, places, cache, i % 2);
        wait_for_checks();
        CHECK(cudaFree(ids));
        CHECK(cudaFree(ids64));
        CHECK(cudaFree(places));
    }
    uint64_t hash = device_fnv(y, (size_t)TOKENS * COLS) * 31 + device_fnv(cache, cached);
    printf("%016llx\n", (unsigned long long)hash);
    return 0;
}
