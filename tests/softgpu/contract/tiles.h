/*
 * tiles.h - the tensors whose boxes cp.async.bulk.tensor copies: a list for TILE, which the
 * kernels and the host each define.
 *
 * TILE(name, type, bytes of an element, width, height, box width, box height, bytes of a swizzled
 *      row (16: none), x, y); TENSORS and BOXES are the largest of each in bytes.
 */
#ifndef TILES_H
#define TILES_H

#define TILES                                                                                      \
    TILE(u8_none, UINT8, 1, 80, 20, 32, 8, 16, 16, 3)                                              \
    TILE(f16_none, FLOAT16, 2, 40, 12, 64, 8, 16, -8, 6)                                           \
    TILE(f16_32, FLOAT16, 2, 40, 16, 16, 16, 32, -8, 2)                                            \
    TILE(f32_64, FLOAT32, 4, 40, 16, 16, 8, 64, 32, 12)                                            \
    TILE(f16_64, FLOAT16, 2, 48, 20, 32, 16, 64, 8, -3)                                            \
    TILE(f16_128, FLOAT16, 2, 104, 40, 64, 16, 128, 48, -3)                                        \
    TILE(f32_128, FLOAT32, 4, 64, 40, 32, 32, 128, 36, 20)                                         \
    TILE(u8_128, UINT8, 1, 256, 30, 128, 32, 128, 144, 1)

#endif
