/* newest.c - the kernels of newest_kernels.cu and newest_copies.cu, as contract.c launches them. */
#include "contract.h"
#include "tiles.h"

#define EXACT                                                                                      \
    {                                                                                              \
        0                                                                                          \
    }
#define ROW_OF(copies, name, plain, kind, threads, count)                                          \
    {                                                                                              \
        {name, kind, 1, threads, count, EXACT}, plain, -1, false, copies                           \
    }
#define ROW(...)  ROW_OF(false, __VA_ARGS__)
#define COPY(...) ROW_OF(true, __VA_ARGS__)

enum { PRODUCTS = 64 * 64, SMALL_PRODUCTS = 16 * 8, VECTOR_WORDS = 64 * 8 + 8 };

#define MMA(type, depth) ROW("mma_" type "_k" #depth, "plain_mma_k" #depth, F32, 32, SMALL_PRODUCTS)
#define PLAIN_MMA(name)  ROW("plain_mma_" name, NULL, F32, 32, SMALL_PRODUCTS)
#define OWN_MMA(name)    PLAIN_MMA(name), ROW("mma_" name, "plain_mma_" name, F32, 32, SMALL_PRODUCTS)

#define MATRIX(name, count)                                                                        \
    ROW("plain_ldmatrix_" name, NULL, I32, 32, 32 * (count)),                                      \
        ROW("ldmatrix_" name, "plain_ldmatrix_" name, I32, 32, 32 * (count)),                      \
        ROW("plain_stmatrix_" name, NULL, I16, 32, 256),                                           \
        ROW("stmatrix_" name, "plain_stmatrix_" name, I16, 32, 256)

#define WGMMA(name, depth) ROW("wgmma_" name, "plain_wgmma_k" #depth, F32, 128, PRODUCTS)
#define PLAIN_WGMMA(depth) ROW("plain_wgmma_k" #depth, NULL, F32, 128, PRODUCTS)
#define FORMS(name, depth) WGMMA(name, depth), WGMMA(name "_registers", depth)
#define SWIZZLED(name, depth)                                                                      \
    FORMS(name "_none", depth), FORMS(name "_32", depth), FORMS(name "_64", depth),                \
        FORMS(name "_128", depth)

#define BULK(name) COPY("bulk_" name, "plain_bulk", I32, 128, 1024)
#define VECTORS(name)                                                                              \
    COPY("plain_vectors_" name, NULL, I32, 64, VECTOR_WORDS),                                      \
        COPY("vectors_" name, "plain_vectors_" name, I32, 64, VECTOR_WORDS)

#define TILE(name, type, bytes, width, height, box_width, box_height, span, x, y) TILE_##name,
enum { TILES TILE_COUNT };
#undef TILE
#define TILE_ROW(name, plain, count, tile, stores)                                                 \
    {                                                                                              \
        {name, I32, 1, 128, count, EXACT}, plain, tile, stores, true                               \
    }
#define TILE(name, type, bytes, width, height, box_width, box_height, span, x, y)                  \
    TILE_ROW("plain_tile_load_" #name, NULL, box_width *box_height *bytes / 4, -1, false),         \
        TILE_ROW("tile_load_" #name, "plain_tile_load_" #name, box_width *box_height *bytes / 4,   \
                 TILE_##name, false),                                                              \
        TILE_ROW("plain_tile_store_" #name, NULL, width *height *bytes / 4, -1, false),            \
        TILE_ROW("tile_store_" #name, "plain_tile_store_" #name, width *height *bytes / 4,         \
                 TILE_##name, true),

static const struct newest KERNELS[] = {
    PLAIN_MMA("k4"),
    PLAIN_MMA("k8"),
    PLAIN_MMA("k16"),
    PLAIN_MMA("k32"),
    MMA("f16", 8),
    MMA("f16", 16),
    MMA("f16_half", 8),
    MMA("f16_half", 16),
    MMA("bf16", 8),
    MMA("bf16", 16),
    MMA("tf32", 4),
    MMA("tf32", 8),
    MMA("e4m3", 32),
    MMA("e5m2", 32),
    MMA("e4m3_e5m2", 32),
    MMA("e4m3", 16),
    MMA("e5m2_e4m3", 16),
    MMA("e4m3_half", 16),
    MMA("e5m2_half", 32),
    MMA("s8", 16),
    MMA("s8", 32),
    OWN_MMA("u8_k16"),
    OWN_MMA("u8_k32"),
    OWN_MMA("s8_u8_k32"),
    ROW("plain_mma_eight", NULL, F32, 32, 64),
    ROW("mma_s8_eight", "plain_mma_eight", F32, 32, 64),
    ROW("plain_mma_quads", NULL, F32, 32, 256),
    ROW("mma_quads", "plain_mma_quads", F32, 32, 256),
    ROW("mma_quads_across", "plain_mma_quads", F32, 32, 256),
    ROW("mma_quads_half", "plain_mma_quads", F32, 32, 256),
    MATRIX("x1", 1),
    MATRIX("x2", 2),
    MATRIX("x4", 4),
    MATRIX("x1_trans", 1),
    MATRIX("x2_trans", 2),
    MATRIX("x4_trans", 4),
    PLAIN_WGMMA(32),
    PLAIN_WGMMA(64),
    PLAIN_WGMMA(128),
    SWIZZLED("f16", 64),
    SWIZZLED("f16_half", 64),
    SWIZZLED("bf16", 64),
    SWIZZLED("tf32", 32),
    SWIZZLED("e4m3", 128),
    SWIZZLED("e4m3_half", 128),
    SWIZZLED("e5m2", 128),
    SWIZZLED("s8", 128),
    SWIZZLED("f16_tb", 64),
    SWIZZLED("bf16_tb", 64),
    SWIZZLED("f16_tab", 64),
    WGMMA("f16_negative_a", 64),
    WGMMA("f16_negative_b", 64),
    COPY("plain_bulk", NULL, I32, 128, 1024),
    BULK("load"),
    BULK("store"),
    BULK("shared"),
    TILES VECTORS("f32"),
    VECTORS("f16"),
    VECTORS("bf16"),
    COPY("elected", NULL, I32, 32, 128),
};
#undef TILE

const struct newest *newest_kernels(unsigned *count)
{
    *count = sizeof KERNELS / sizeof KERNELS[0];
    return KERNELS;
}

/* ---- maps ------------------------------------------------------------------------------------ */

#define TILE(name, type, bytes, width, height, box_width, box_height, span, x, y)                  \
    {CU_TENSOR_MAP_DATA_TYPE_##type, bytes, width, height, box_width, box_height, span},
static const struct {
    CUtensorMapDataType type;
    unsigned bytes, width, height, box_width, box_height, span;
} SHAPES[] = {TILES};

struct tensor tensor_of(const struct newest *kernel)
{
    struct tensor tensor = {.type = SHAPES[kernel->tile].type, .steps = {1, 1}};
    const unsigned span = SHAPES[kernel->tile].span;
    tensor.size[0] = SHAPES[kernel->tile].width;
    tensor.size[1] = SHAPES[kernel->tile].height;
    tensor.pitch = tensor.size[0] * SHAPES[kernel->tile].bytes;
    tensor.box[0] = SHAPES[kernel->tile].box_width;
    tensor.box[1] = SHAPES[kernel->tile].box_height;
    tensor.swizzle = span == 128  ? CU_TENSOR_MAP_SWIZZLE_128B
                     : span == 64 ? CU_TENSOR_MAP_SWIZZLE_64B
                     : span == 32 ? CU_TENSOR_MAP_SWIZZLE_32B
                                  : CU_TENSOR_MAP_SWIZZLE_NONE;
    return tensor;
}
