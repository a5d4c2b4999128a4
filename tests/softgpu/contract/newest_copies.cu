// newest_copies.cu - kernels of the copies that shared memory's barriers wait for, of atomic
// operations on vectors and of elect; newest.c has the list.
//
// A kernel named plain_... does the same without the instruction, and must give the same bits.
#include <cuda.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <stdint.h>
#include "tiles.h"

enum { BULK_BYTES = 4096 };

__device__ static unsigned address_of(const void *shared)
{
    return (unsigned)__cvta_generic_to_shared(shared);
}

// ---- mbarrier ----

// For one arrival, and `bytes` of copies.
__device__ static void expect(uint64_t *barrier, unsigned bytes)
{
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;\n"
                     "fence.proxy.async.shared::cta;" ::"r"(address_of(barrier))
                     : "memory");
        asm volatile("{\n.reg .b64 state;\n"
                     "mbarrier.arrive.expect_tx.shared::cta.b64 state, [%0], %1;\n}" ::"r"(
                         address_of(barrier)),
                     "r"(bytes)
                     : "memory");
    }
    __syncthreads();
}

__device__ static void wait(uint64_t *barrier)
{
    unsigned done = 0;
    while (!done)
        asm volatile("{\n.reg .pred p;\n"
                     "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0;\n"
                     "selp.u32 %0, 1, 0, p;\n}"
                     : "=r"(done)
                     : "r"(address_of(barrier))
                     : "memory");
}

__device__ static void wait_for_stores()
{
    asm volatile("cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;" ::: "memory");
}

__device__ static void give(uint32_t *out, const void *shared, unsigned bytes)
{
    for (unsigned i = threadIdx.x; i < bytes / 4; i += blockDim.x)
        out[i] = ((const uint32_t *)shared)[i];
}

// ---- cp.async.bulk ----

extern "C" __global__ void bulk_load(uint32_t *out, const uint32_t *in)
{
    __shared__ __align__(16) uint32_t to[BULK_BYTES / 4];
    __shared__ uint64_t barrier;
    expect(&barrier, BULK_BYTES);
    if (threadIdx.x == 0)
        for (unsigned half = 0; half < 2; half++)
            asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
                         "[%0], [%1], %2, [%3];" ::"r"(address_of(to) + half * BULK_BYTES / 2),
                         "l"(in + half * BULK_BYTES / 8), "r"(BULK_BYTES / 2),
                         "r"(address_of(&barrier))
                         : "memory");
    wait(&barrier);
    give(out, to, BULK_BYTES);
}

extern "C" __global__ void bulk_store(uint32_t *out, const uint32_t *in)
{
    __shared__ __align__(16) uint32_t from[BULK_BYTES / 4];
    for (unsigned i = threadIdx.x; i < BULK_BYTES / 4; i += blockDim.x)
        from[i] = in[i];
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    if (threadIdx.x == 0) {
        asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(out),
                     "r"(address_of(from)), "r"(BULK_BYTES)
                     : "memory");
        wait_for_stores();
    }
}

extern "C" __global__ void __cluster_dims__(1, 1, 1) bulk_shared(uint32_t *out, const uint32_t *in)
{
    __shared__ __align__(16) uint32_t from[BULK_BYTES / 4], to[BULK_BYTES / 4];
    __shared__ uint64_t barrier;
    for (unsigned i = threadIdx.x; i < BULK_BYTES / 4; i += blockDim.x)
        from[i] = in[i];
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    expect(&barrier, BULK_BYTES);
    if (threadIdx.x == 0)
        asm volatile("cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes "
                     "[%0], [%1], %2, [%3];" ::"r"(address_of(to)),
                     "r"(address_of(from)), "r"(BULK_BYTES), "r"(address_of(&barrier))
                     : "memory");
    wait(&barrier);
    give(out, to, BULK_BYTES);
}

extern "C" __global__ void plain_bulk(uint32_t *out, const uint32_t *in)
{
    give(out, in, BULK_BYTES);
}

// ---- cp.async.bulk.tensor ----

struct tile {
    int bytes, width, height, box_width, box_height, span, x, y;
};

// Where byte `at` of a box lies in shared memory.
__device__ static int swizzled(const struct tile &t, int at)
{
    return at ^ (at >> 7 & (t.span / 16 - 1)) * 16;
}

__device__ static int box_bytes(const struct tile &t)
{
    return t.box_width * t.box_height * t.bytes;
}

// A box that is stored may pass the tensor's end, but its first corner may not lie before the
// tensor.
__device__ static struct tile stored(struct tile t)
{
    t.x = t.x < 0 ? 0 : t.x;
    t.y = t.y < 0 ? 0 : t.y;
    return t;
}

// The byte of the tensor that byte `at` of the box is; -1 outside.
__device__ static int tensor_byte(const struct tile &t, int at)
{
    const int row = t.box_width * t.bytes, x = t.x + at % row / t.bytes, y = t.y + at / row;
    if (x < 0 || y < 0 || x >= t.width || y >= t.height)
        return -1;
    return (y * t.width + x) * t.bytes + at % t.bytes;
}

__device__ static void tile_load(const struct tile &t, uint8_t *box, uint32_t *out,
                                 const CUtensorMap *map)
{
    __shared__ uint64_t barrier;
    expect(&barrier, (unsigned)box_bytes(t));
    if (threadIdx.x == 0)
        asm volatile(
            "cp.async.bulk.tensor.2d.shared::cluster.global.tile"
            ".mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(address_of(box)),
            "l"(map), "r"(t.x), "r"(t.y), "r"(address_of(&barrier))
            : "memory");
    wait(&barrier);
    give(out, box, (unsigned)box_bytes(t));
}

__device__ static void plain_load(const struct tile &t, uint8_t *out, const uint8_t *in)
{
    for (int i = (int)threadIdx.x; i < box_bytes(t); i += (int)blockDim.x) {
        const int from = tensor_byte(t, i);
        out[swizzled(t, i)] = from < 0 ? 0 : in[from];
    }
}

__device__ static void tile_store(const struct tile &t, uint8_t *box, const uint8_t *in,
                                  const CUtensorMap *map)
{
    for (int i = (int)threadIdx.x; i < box_bytes(t); i += (int)blockDim.x)
        box[swizzled(t, i)] = in[i];
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    if (threadIdx.x == 0) {
        asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group "
                     "[%0, {%1, %2}], [%3];" ::"l"(map),
                     "r"(t.x), "r"(t.y), "r"(address_of(box))
                     : "memory");
        wait_for_stores();
    }
}

__device__ static void plain_store(const struct tile &t, uint8_t *out, const uint8_t *in)
{
    for (int i = (int)threadIdx.x; i < box_bytes(t); i += (int)blockDim.x) {
        const int to = tensor_byte(t, i);
        if (to >= 0)
            out[to] = in[i];
    }
}

#define TILE(name, type, bytes, width, height, box_width, box_height, span, x, y)                  \
    __device__ static const struct tile tile_##name = {bytes,      width, height, box_width,       \
                                                       box_height, span,  x,      y};              \
    extern "C" __global__ void tile_load_##name(uint32_t *out, const uint8_t *,                    \
                                                const __grid_constant__ CUtensorMap map)           \
    {                                                                                              \
        __shared__ __align__(1024) uint8_t box[box_width * box_height * bytes];                    \
        tile_load(tile_##name, box, out, &map);                                                    \
    }                                                                                              \
    extern "C" __global__ void plain_tile_load_##name(uint8_t *out, const uint8_t *in)             \
    {                                                                                              \
        plain_load(tile_##name, out, in);                                                          \
    }                                                                                              \
    extern "C" __global__ void tile_store_##name(uint8_t *, const uint8_t *in,                     \
                                                 const __grid_constant__ CUtensorMap map)          \
    {                                                                                              \
        __shared__ __align__(1024) uint8_t box[box_width * box_height * bytes];                    \
        tile_store(stored(tile_##name), box, in, &map);                                            \
    }                                                                                              \
    extern "C" __global__ void plain_tile_store_##name(uint8_t *out, const uint8_t *in)            \
    {                                                                                              \
        plain_store(stored(tile_##name), out, in);                                                 \
    }
TILES

// ---- atom and red on vectors ----

// Bits of small integers, so that the order of the sums does not matter.
__device__ static uint32_t packed_f16(unsigned x)
{
    return __half_as_ushort(__int2half_rn((int)(x % 5))) |
           (uint32_t)__half_as_ushort(__int2half_rn((int)(x / 5 % 7) - 3)) << 16;
}
__device__ static uint32_t packed_bf16(unsigned x)
{
    return __float_as_uint((float)(x % 3)) >> 16 |
           (__float_as_uint((float)(x / 5 % 3) - 1) & 0xffff0000);
}
__device__ static uint32_t real(unsigned x)
{
    return __float_as_uint((float)(x % 11) - 4);
}

// Each thread has 4 words of its own, gets what they held, and all threads of a warp share 4 more.
enum { THREADS = 64, SHARED_AT = THREADS * 8 };

#define VECTORS(name, number, atom4, atom2, red4, PLAIN)                                           \
    extern "C" __global__ void vectors_##name(uint32_t *out)                                       \
    {                                                                                              \
        const unsigned t = threadIdx.x;                                                            \
        uint32_t *own = out + t * 8, v[4], old[4];                                                 \
        for (unsigned i = 0; i < 4; i++)                                                           \
            own[i] = number(t + i * 3), v[i] = number(t * 7 + i);                                  \
        asm volatile(atom4 " {%0,%1,%2,%3}, [%4], {%5,%6,%7,%8};"                                  \
                     : "=r"(old[0]), "=r"(old[1]), "=r"(old[2]), "=r"(old[3])                      \
                     : "l"(own), "r"(v[0]), "r"(v[1]), "r"(v[2]), "r"(v[3])                        \
                     : "memory");                                                                  \
        asm volatile(atom2 " {%0,%1}, [%2], {%3,%4};"                                              \
                     : "=r"(own[4]), "=r"(own[5])                                                  \
                     : "l"(own), "r"(v[0]), "r"(v[1])                                              \
                     : "memory");                                                                  \
        own[6] = old[0] ^ old[1] << 1;                                                             \
        own[7] = old[2] ^ old[3] << 1;                                                             \
        asm volatile(red4 " [%0], {%1,%2,%3,%4};" ::"l"(out + SHARED_AT + t / 32 * 4), "r"(v[0]),  \
                     "r"(v[1]), "r"(v[2]), "r"(v[3])                                               \
                     : "memory");                                                                  \
    }                                                                                              \
    extern "C" __global__ void plain_vectors_##name(uint32_t *out)                                 \
    {                                                                                              \
        const unsigned t = threadIdx.x;                                                            \
        uint32_t *own = out + t * 8, old[4];                                                       \
        for (unsigned i = 0; i < 4; i++) {                                                         \
            own[i] = old[i] = number(t + i * 3);                                                   \
            PLAIN(own + i, number(t * 7 + i));                                                     \
            if (i < 2) {                                                                           \
                own[4 + i] = own[i];                                                               \
                PLAIN(own + i, number(t * 7 + i));                                                 \
            }                                                                                      \
            PLAIN(out + SHARED_AT + t / 32 * 4 + i, number(t * 7 + i));                            \
        }                                                                                          \
        own[6] = old[0] ^ old[1] << 1;                                                             \
        own[7] = old[2] ^ old[3] << 1;                                                             \
    }
#define ADD_REAL(to, bits) atomicAdd((float *)(to), __uint_as_float(bits))
__device__ static void add_f16(uint32_t *to, uint32_t bits)
{
    __half2 value;
    memcpy(&value, &bits, sizeof value);
    atomicAdd((__half2 *)to, value);
}
__device__ static void add_bf16(uint32_t *to, uint32_t bits)
{
    __nv_bfloat162 value;
    memcpy(&value, &bits, sizeof value);
    atomicAdd((__nv_bfloat162 *)to, value);
}
VECTORS(f32, real, "atom.global.v4.f32.add", "atom.global.v2.f32.add", "red.global.v4.f32.add",
        ADD_REAL)
VECTORS(f16, packed_f16, "atom.global.v4.f16x2.add.noftz", "atom.global.v2.f16x2.add.noftz",
        "red.global.v4.f16x2.add.noftz", add_f16)
VECTORS(bf16, packed_bf16, "atom.global.v4.bf16x2.add.noftz", "atom.global.v2.bf16x2.add.noftz",
        "red.global.v4.bf16x2.add.noftz", add_bf16)

// ---- elect.sync ----

// The lane of each mask that is elected, and who was.
extern "C" __global__ void elected(uint32_t *out)
{
    const unsigned lane = threadIdx.x;
    const uint32_t masks[4] = {0xffffffff, 0xaaaaaaaa, 0x00f0f000, 0x80000000};
    for (unsigned i = 0; i < 4; i++) {
        uint32_t leader = ~0u, is_leader = 0;
        if (masks[i] >> lane & 1)
            asm volatile("{\n.reg .pred p;\nelect.sync %0|p, %2;\nselp.u32 %1, 1, 0, p;\n}"
                         : "=r"(leader), "=r"(is_leader)
                         : "r"(masks[i])
                         : "memory");
        __syncwarp();
        out[i * 32 + lane] = leader * 2 + is_leader;
    }
}
