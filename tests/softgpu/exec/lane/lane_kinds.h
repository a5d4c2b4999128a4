/*
 * lane_kinds.h - the integers that cvt takes, each with the registers that may hold it, as two
 * lists (two, so that one can be expanded within the other): X(..., T, REG, LETTER), the register's
 * width and letter. The usual register of a type comes first.
 */
#ifndef SOFTGPU_LANE_KINDS_H
#define SOFTGPU_LANE_KINDS_H

#define KINDS_FROM(X, ...)                                                                         \
    X(__VA_ARGS__, u8, 16, "h")                                                                    \
    X(__VA_ARGS__, u8, 32, "w")                                                                    \
    X(__VA_ARGS__, u8, 64, "d")                                                                    \
    X(__VA_ARGS__, s8, 16, "h")                                                                    \
    X(__VA_ARGS__, s8, 32, "w")                                                                    \
    X(__VA_ARGS__, s8, 64, "d")                                                                    \
    X(__VA_ARGS__, u16, 16, "h")                                                                   \
    X(__VA_ARGS__, u16, 32, "w")                                                                   \
    X(__VA_ARGS__, u16, 64, "d")                                                                   \
    X(__VA_ARGS__, s16, 16, "h")                                                                   \
    X(__VA_ARGS__, s16, 32, "w")                                                                   \
    X(__VA_ARGS__, s16, 64, "d")                                                                   \
    X(__VA_ARGS__, u32, 32, "w")                                                                   \
    X(__VA_ARGS__, u32, 64, "d")                                                                   \
    X(__VA_ARGS__, s32, 32, "w")                                                                   \
    X(__VA_ARGS__, s32, 64, "d")                                                                   \
    X(__VA_ARGS__, u64, 64, "d")                                                                   \
    X(__VA_ARGS__, s64, 64, "d")
#define KINDS_TO(X, ...)                                                                           \
    X(__VA_ARGS__, u8, 16, "h")                                                                    \
    X(__VA_ARGS__, u8, 32, "w")                                                                    \
    X(__VA_ARGS__, u8, 64, "d")                                                                    \
    X(__VA_ARGS__, s8, 16, "h")                                                                    \
    X(__VA_ARGS__, s8, 32, "w")                                                                    \
    X(__VA_ARGS__, s8, 64, "d")                                                                    \
    X(__VA_ARGS__, u16, 16, "h")                                                                   \
    X(__VA_ARGS__, u16, 32, "w")                                                                   \
    X(__VA_ARGS__, u16, 64, "d")                                                                   \
    X(__VA_ARGS__, s16, 16, "h")                                                                   \
    X(__VA_ARGS__, s16, 32, "w")                                                                   \
    X(__VA_ARGS__, s16, 64, "d")                                                                   \
    X(__VA_ARGS__, u32, 32, "w")                                                                   \
    X(__VA_ARGS__, u32, 64, "d")                                                                   \
    X(__VA_ARGS__, s32, 32, "w")                                                                   \
    X(__VA_ARGS__, s32, 64, "d")                                                                   \
    X(__VA_ARGS__, u64, 64, "d")                                                                   \
    X(__VA_ARGS__, s64, 64, "d")

/* A value of type T extended to a register: through T, so that its sign fills the rest. */
#define WIDEN(T, REG, value) ((u##REG)(T)(value))

#define MIN_u8  0
#define MIN_u16 0
#define MIN_u32 0
#define MIN_u64 0
#define MIN_s8  INT8_MIN
#define MIN_s16 INT16_MIN
#define MIN_s32 INT32_MIN
#define MIN_s64 INT64_MIN
#define MAX_u8  UINT8_MAX
#define MAX_u16 UINT16_MAX
#define MAX_u32 UINT32_MAX
#define MAX_u64 UINT64_MAX
#define MAX_s8  INT8_MAX
#define MAX_s16 INT16_MAX
#define MAX_s32 INT32_MAX
#define MAX_s64 INT64_MAX

#endif
