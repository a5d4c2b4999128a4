/* inputs.c - what the operations are fed: every pair of edge values first, then seeded random bits.
 */
#include <math.h>
#include <string.h>
#include "contract.h"

static const uint64_t EDGES_F32[] = {
    0x00000000, 0x80000000, 0x3f800000, 0xbf800000, 0x00000001, 0x80000001, 0x7f800000, 0xff800000,
    0x7fc00000, 0x007fffff, 0x807fffff, 0x00800000, 0x80800000, 0x7f7fffff, 0xff7fffff, 0xffc12345,
    0x7f800001, 0x3f7fffff, 0x3f800001, 0x3f000000, 0xbf000000, 0x3fc00000, 0x40200000, 0xc0200000,
    0x40000000, 0x40400000, 0x4b800000, 0x4b7fffff, 0x4f000000, 0xcf000000, 0x4effffff, 0x4f800000,
    0x4f7fffff, 0x5f000000, 0xdf000000, 0x5f800000, 0x5f7fffff, 0x7e800000, 0x7f000000, 0x7e800001,
    0x33800000, 0x387fffff, 0x38800000, 0x33000000, 0x477fe000, 0x477fefff, 0x477ff000, 0xc77ff000,
    0x43e00000, 0x43e80000, 0x47600000, 0x3eaaaaab, 0x42fe0000, 0x43000000, 0xc3000000, 0x43800000,
    0xc3150000, 0x42b17218, 0x40490fdb, 0xff800001, 0x7fbfffff, 0x0d800000, 0x1fffffff, 0x20000000,
};
static const uint64_t EDGES_F64[] = {
    0x0000000000000000, 0x8000000000000000, 0x3ff0000000000000, 0xbff0000000000000,
    0x0000000000000001, 0x8000000000000001, 0x7ff0000000000000, 0xfff0000000000000,
    0x7ff8000000000000, 0x000fffffffffffff, 0x0010000000000000, 0x7fefffffffffffff,
    0xffefffffffffffff, 0xfff8000123456789, 0x7ff0000000000001, 0x3fefffffffffffff,
    0x3ff0000000000001, 0x3fe0000000000000, 0xbfe0000000000000, 0x3ff8000000000000,
    0x4004000000000000, 0xc004000000000000, 0x4000000000000000, 0x41dfffffffc00000,
    0x41e0000000000000, 0xc1e0000000000000, 0xc1e0000000200000, 0x41efffffffe00000,
    0x41f0000000000000, 0x43e0000000000000, 0xc3e0000000000000, 0x43f0000000000000,
    0x43dfffffffffffff, 0x47efffffe0000000, 0x47efffffefffffff, 0x47effffff0000000,
    0x47f0000000000000, 0x3810000000000000, 0x380fffffffffffff, 0x36a0000000000000,
    0x3690000000000000, 0x3690000000000001, 0x40efe00000000000, 0x40effdffffffffff,
    0x40effe0000000000, 0x3e70000000000000, 0x3e60000000000000, 0x3f10000000000000,
    0x3fd5555555555555, 0x000fffff00000000, 0x7fd0000000000000, 0x7fe0000000000000,
    0x0008000000000000, 0x3ca0000000000000, 0x4330000000000000, 0x4340000000000001,
    0xfff0000000000001, 0x7ff4000000000000,
};
static const uint64_t EDGES_F16[] = {
    0x0000, 0x8000, 0x3c00, 0xbc00, 0x0001, 0x8001, 0x7c00, 0xfc00, 0x7e00, 0x03ff, 0x0400, 0x7bff,
    0xfbff, 0xfe12, 0x7c01, 0x3bff, 0x3c01, 0x3800, 0xb800, 0x3e00, 0x4100, 0xc100, 0x4000, 0x4200,
    0x6400, 0x6800, 0x0200, 0x83ff, 0x8400, 0x1400, 0x5bff, 0x5c00, 0x7800, 0xf800, 0x3555, 0x0002,
    0x0003, 0x1000, 0x0c00, 0x77ff, 0xfc01, 0x7dff, 0x5800, 0x5f00, 0x5f80, 0x5f40, 0xc900, 0x4c00,
};
static const uint64_t EDGES_BF16[] = {
    0x0000, 0x8000, 0x3f80, 0xbf80, 0x0001, 0x8001, 0x7f80, 0xff80, 0x7fc0, 0x007f, 0x0080, 0x7f7f,
    0xff7f, 0xffd2, 0x7f81, 0x3f7f, 0x3f81, 0x3f00, 0xbf00, 0x3fc0, 0x4020, 0xc020, 0x4000, 0x4040,
    0x4380, 0x4f00, 0xcf00, 0x4f80, 0x5f00, 0xdf00, 0x5f80, 0x7f00, 0x7e80, 0x3eab, 0x0002, 0x0003,
    0x0040, 0x807f, 0x8080, 0x2000, 0x1fff, 0xff81, 0x7fbf, 0x0d80, 0x3380, 0x4780, 0x477f, 0xc2fe,
};
static const uint64_t EDGES_I32[] = {
    0,          1,          0xffffffff, 0x80000000, 0x7fffffff, 2,          3,          0xfffffffe,
    7,          0x80000001, 0x0000ffff, 0x00010000, 0x000000ff, 0x00000080, 0x0000007f, 0x00008000,
    0x00007fff, 31,         32,         33,         0xffff8000, 0xffff7fff, 0xffffff80, 0xffffff7f,
    0x00800000, 0x007fffff, 0x00ffffff, 0x01000000, 0x01000001, 0x02000001, 0x02000003, 0xff000000,
    0x55555555, 0xaaaaaaaa, 0x12345678, 0x9abcdef0, 0x00000800, 0x00000801, 0x00001001, 0x0000ffe0,
    0x0000fff0, 0x0000ffef, 0x7fffff80, 0x7fffffc0, 0xffffff00, 0xf0f0f0f0, 10,         0x3f800000,
};
static const uint64_t EDGES_I64[] = {
    0,
    1,
    0xffffffffffffffff,
    0x8000000000000000,
    0x7fffffffffffffff,
    2,
    3,
    0xfffffffffffffffe,
    7,
    0x8000000000000001,
    0xffffffff,
    0x100000000,
    0x80000000,
    0x7fffffff,
    0xffffffff80000000,
    0xffffffff7fffffff,
    0x00ffffff,
    0x01000001,
    0x0020000000000001,
    0x001fffffffffffff,
    0x0020000000000003,
    0x7ffffffffffffc00,
    0x7ffffffffffffbff,
    0x7ffffffffffffe00,
    0xfffffffffffffc00,
    0xfffffffffffff400,
    0xfffffffffffffbff,
    0x8000000000000400,
    0x8000000000000401,
    0xffffff7fffffffff,
    0xffffff8000000000,
    0xffffff8000000001,
    0x7fffff4000000000,
    0x7fffffbfffffffff,
    0x5555555555555555,
    0xaaaaaaaaaaaaaaaa,
    0x123456789abcdef0,
    0xff,
    0x80,
    0x8000,
    0xffff,
    0xffe0,
    0xfff0,
    0xffffffffffff8000,
    63,
    64,
    10,
    0x4000008000000000,
    0x4000004000000001,
};
static const uint64_t EDGES_AMOUNT[] = {
    0,  1,  31, 32, 33,  63,  64,         65,         8,          15,    16,    17,    7,
    30, 34, 62, 66, 127, 128, 0xffffffff, 0x80000000, 0x00000100, 0x101, 0x11f, 0x120, 255,
};
static const uint64_t EDGES_I16[] = {
    0,      1,      0xffff, 0x8000, 0x7fff, 2,      3, 0xfffe, 0x00ff, 0x0080, 0x007f,
    0x0100, 0x8001, 0xff80, 0xff7f, 0x5555, 0xaaaa, 7, 15,     16,     0x1234, 0xfedc,
};

#define LIST(edges)                                                                                \
    {                                                                                              \
        edges, sizeof edges / sizeof edges[0]                                                      \
    }
static const struct edge_list {
    const uint64_t *values;
    unsigned count;
} EDGES[KINDS] = {
    [I8] = LIST(EDGES_I16),    [I16] = LIST(EDGES_I16),       [I32] = LIST(EDGES_I32),
    [I64] = LIST(EDGES_I64),   [AMOUNT] = LIST(EDGES_AMOUNT), [F16] = LIST(EDGES_F16),
    [BF16] = LIST(EDGES_BF16), [F16X2] = LIST(EDGES_F16),     [BF16X2] = LIST(EDGES_BF16),
    [F32] = LIST(EDGES_F32),   [F32X2] = LIST(EDGES_F32),     [F64] = LIST(EDGES_F64),
};

unsigned kind_bits(enum kind kind)
{
    static const unsigned char BITS[KINDS] = {
        [PREDICATE] = 32, [I8] = 16,  [I16] = 16,   [I32] = 32,   [I64] = 64,    [AMOUNT] = 32,
        [SELECTOR] = 32,  [F16] = 16, [BF16] = 16,  [F16X2] = 32, [BF16X2] = 32, [E4M3X2] = 16,
        [E5M2X2] = 16,    [F32] = 32, [F32X2] = 64, [F64] = 64,
    };
    return BITS[kind];
}

unsigned result_bits(enum kind kind)
{
    return kind == PREDICATE ? 8 : kind_bits(kind);
}

/* splitmix64. */
static uint64_t random_bits(uint64_t at)
{
    uint64_t z = (at + 1) * 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
}

/* Every other float has an exponent near that of 1, so that sums cancel and products do not
 * overflow. */
static uint64_t random_value(enum kind kind, uint64_t bits, unsigned index)
{
    switch (kind) {
    case F32:
        if (index % 2)
            return (bits & 0x807fffff) | (uint64_t)(120 + (bits >> 40) % 14) << 23;
        return bits & 0xffffffff;
    case F64:
        if (index % 2)
            return (bits & 0x800fffffffffffff) | (uint64_t)(1016 + (bits >> 52) % 14) << 52;
        return bits;
    case F16:
        if (index % 2)
            return (bits & 0x83ff) | (uint64_t)(10 + (bits >> 20) % 10) << 10;
        return bits & 0xffff;
    case BF16:
        if (index % 2)
            return (bits & 0x807f) | (uint64_t)(122 + (bits >> 20) % 10) << 7;
        return bits & 0xffff;
    case F16X2:
    case BF16X2: {
        enum kind half = kind == F16X2 ? F16 : BF16;
        return random_value(half, bits, index) << 16 | random_value(half, bits >> 32, index);
    }
    case AMOUNT:
        return bits % 70;
    case PREDICATE:
        return bits & 1;
    default:
        return kind_bits(kind) == 64 ? bits : bits & ((1ull << kind_bits(kind)) - 1);
    }
}

/* Which of the edges, when a pair has two different ones. */
static uint64_t edge_value(enum kind kind, unsigned at)
{
    const struct edge_list *list = &EDGES[kind];
    if (kind == F16X2 || kind == BF16X2)
        return list->values[at] << 16 | list->values[(at * 7 + 3) % list->count];
    if (kind == F32X2)
        return list->values[at] << 32 | list->values[(at * 7 + 3) % list->count];
    return list->values[at];
}

/* The unary ones of approximation get their sources dense: evenly over all bit patterns, and in the
 * range in which the bound holds. */
static uint64_t dense_value(const struct operation *operation, unsigned index)
{
    enum kind kind = operation->sources[0];
    double spread = (double)index / operation->count, within = operation->bound.within;
    if (kind == F64)
        return (uint64_t)(spread * 0x1p64) ^ (random_bits(index) & 0xffffffffffff);
    if (kind != F32)
        return random_value(kind, random_bits(index), index);
    float value = (float)((spread * 2 - 1) * (within ? within : 16));
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return index % 2 ? bits
                     : (uint32_t)(spread * 0x1p32) ^ (uint32_t)(random_bits(index) & 0x3ffff);
}

uint64_t input_of(const struct operation *operation, unsigned source, unsigned index)
{
    static const unsigned MOST[SOURCES_MAX + 1] = {1, 64, 52, 14, 7};
    enum kind kind = operation->sources[source];
    if (operation->source_count == 1 && kind_bits(kind) == 16 && operation->count == 65536)
        return index;
    unsigned before = 1, product = 1;
    for (unsigned s = 0; s < operation->source_count; s++) {
        unsigned edges = EDGES[operation->sources[s]].count;
        edges = edges > MOST[operation->source_count] ? MOST[operation->source_count] : edges;
        if (s < source && edges)
            before *= edges;
        product *= edges ? edges : 1;
    }
    unsigned count = EDGES[kind].count;
    count = count > MOST[operation->source_count] ? MOST[operation->source_count] : count;
    if (count && index < product)
        return edge_value(kind, index / before % count);
    if (operation->bound.approximate && operation->source_count == 1)
        return dense_value(operation, index);
    return random_value(kind, random_bits((uint64_t)index * 8 + source), index);
}
