/* lane_bits.c - bits within a word: counts, fields, permutations, shifts. */
#include "exec/lane/lane_loop.h"

/* ---- counting and finding -------------------------------------------------------------------- */

LANE_INLINE u32 popc64(u64 x)
{
    return (u32)__builtin_popcountll(x);
}
LANE_INLINE u32 clz32(u32 x)
{
    return x ? (u32)__builtin_clz(x) : 32;
}
LANE_INLINE u32 clz64(u64 x)
{
    return x ? (u32)__builtin_clzll(x) : 64;
}
/* A negative number's most significant bit that differs from its sign. */
#define UNSIGNED_32(v)  ((u32)(v))
#define UNSIGNED_64(v)  ((u64)(v))
#define MAGNITUDE_32(v) ((u32)(v) ^ (0u - ((u32)(v) >> 31)))
#define MAGNITUDE_64(v) ((u64)(v) ^ (0ull - ((u64)(v) >> 63)))
#define FIND(T, BITS, LOAD)                                                                        \
    MAP1(bfind_##T, 32, u32, u##BITS, LOAD, SAME, x ? BITS - 1 - clz##BITS(x) : ~0u)               \
    MAP1(bfind_shiftamt_##T, 32, u32, u##BITS, LOAD, SAME, x ? clz##BITS(x) : ~0u)
FIND(u32, 32, UNSIGNED_32)
FIND(s32, 32, MAGNITUDE_32)
FIND(u64, 64, UNSIGNED_64)
FIND(s64, 64, MAGNITUDE_64)
MAP1(popc_b32, 32, u32, u32, AS_U32, SAME, popc64(x))
MAP1(popc_b64, 32, u32, u64, AS_U64, SAME, popc64(x))
MAP1(clz_b32, 32, u32, u32, AS_U32, SAME, clz32(x))
MAP1(clz_b64, 32, u32, u64, AS_U64, SAME, clz64(x))

LANE_INLINE u64 reverse(u64 x)
{
    x = (x >> 1 & 0x5555555555555555) | (x & 0x5555555555555555) << 1;
    x = (x >> 2 & 0x3333333333333333) | (x & 0x3333333333333333) << 2;
    x = (x >> 4 & 0x0f0f0f0f0f0f0f0f) | (x & 0x0f0f0f0f0f0f0f0f) << 4;
    return __builtin_bswap64(x);
}
MAP1(brev_b32, 32, u32, u32, AS_U32, SAME, (u32)(reverse(x) >> 32))
MAP1(brev_b64, 32, u64, u64, AS_U64, SAME, reverse(x))

/* The n-th set bit of mask from base on: upwards for n > 0, downwards for n < 0, base itself for 0.
 */
static u32 nth_set(u32 mask, u32 base, s32 n)
{
    if (base > 31)
        return ~0u;
    if (n == 0)
        return mask >> base & 1 ? base : ~0u;
    s32 step = n > 0 ? 1 : -1;
    s64 left = n > 0 ? n : -(s64)n;
    for (s32 at = (s32)base; at >= 0 && at < 32; at += step)
        if (mask >> at & 1 && --left == 0)
            return (u32)at;
    return ~0u;
}
LANE_SLOW_FN(fns_b32, u32 *d = args->d; const u32 *mask = args->s[0]; const u32 *base = args->s[1];
             const s32 *n = args->s[2];
             for (unsigned i = 0; i < LANES; i++) d[i] = nth_set(mask[i], base[i], n[i]);)

/* ---- fields ---------------------------------------------------------------------------------- */

LANE_INLINE u64 ones(u32 count)
{
    return count < 64 ? (1ull << count) - 1 : ~0ull;
}
/* pos and len are taken modulo 256; a field may reach beyond the word, and is filled from the sign.
 */
LANE_INLINE u64 extract(u64 value, u32 pos, u32 len, u32 bits, int is_signed)
{
    pos &= 0xff;
    len &= 0xff;
    u64 fill =
        is_signed && len ? value >> (pos + len - 1 < bits - 1 ? pos + len - 1 : bits - 1) & 1 : 0;
    u64 field = pos < bits ? value >> pos : 0;
    u32 got = pos < bits ? bits - pos : 0;
    got = len < got ? len : got;
    return (field & ones(got)) | (fill ? ~ones(got) : 0);
}
LANE_INLINE u64 insert(u64 part, u64 into, u32 pos, u32 len, u32 bits)
{
    pos &= 0xff;
    len &= 0xff;
    if (pos >= bits)
        return into;
    u64 mask = ones(len) << pos;
    return (into & ~mask) | (part << pos & mask);
}
#define FIELD(T, BITS, SIGNED)                                                                     \
    LANE_FN(bfe_##T, u##BITS *d = args->d; const u##BITS *s0 = args->s[0];                         \
            const u32 *pos = args->s[1]; const u32 *len = args->s[2];                              \
            EACH(LANES) d[i] = (u##BITS)extract(s0[i], pos[i], len[i], BITS, SIGNED);)
FIELD(u32, 32, 0)
FIELD(s32, 32, 1)
FIELD(u64, 64, 0)
FIELD(s64, 64, 1)
#define INSERT(BITS)                                                                               \
    LANE_FN(bfi_b##BITS, u##BITS *d = args->d; const u##BITS *s0 = args->s[0];                     \
            const u##BITS *s1 = args->s[1]; const u32 *pos = args->s[2];                           \
            const u32 *len = args->s[3];                                                           \
            EACH(LANES) d[i] = (u##BITS)insert(s0[i], s1[i], pos[i], len[i], BITS);)
INSERT(32)
INSERT(64)

/* A width of 0 gives 0; one of 32 and more gives the value itself. */
LANE_INLINE u32 extend(u32 value, u32 width, int is_signed)
{
    if (width == 0)
        return 0;
    if (width >= 32)
        return value;
    u32 up = value << (32 - width);
    return is_signed ? (u32)((s32)up >> (32 - width)) : up >> (32 - width);
}
MAP2(szext_wrap_u32, 32, u32, u32, AS_U32, SAME, extend(x, y & 31, 0))
MAP2(szext_wrap_s32, 32, u32, u32, AS_U32, SAME, extend(x, y & 31, 1))
MAP2(szext_clamp_u32, 32, u32, u32, AS_U32, SAME, extend(x, y, 0))
MAP2(szext_clamp_s32, 32, u32, u32, AS_U32, SAME, extend(x, y, 1))

#define CLAMP_32(v) ((v) > 32 ? 32u : (v))
MAP2(bmsk_wrap, 32, u32, u32, AS_U32, AS_U32, ones(y & 31) << (x & 31))
MAP2(bmsk_clamp, 32, u32, u32, AS_U32, AS_U32, ones(CLAMP_32(y)) << CLAMP_32(x))

/* ---- bytes ----------------------------------------------------------------------------------- */

/* Bit 3 of a selector selects the byte's sign in all its bits. */
LANE_INLINE u32 pick(u64 both, u32 selector)
{
    u32 byte = (u32)(both >> (selector & 7) * 8) & 0xff;
    return selector & 8 ? (byte & 0x80 ? 0xff : 0) : byte;
}
LANE_INLINE u32 permute(u32 x, u32 y, u32 s0, u32 s1, u32 s2, u32 s3)
{
    u64 both = (u64)y << 32 | x;
    return pick(both, s0) | pick(both, s1) << 8 | pick(both, s2) << 16 | pick(both, s3) << 24;
}
#define ABOVE(a, b) ((a) > (b) ? (a) : (b))
#define BELOW(a, b) ((a) < (b) ? (a) : (b))
#define PRMT(NAME, A, B, C, D)                                                                     \
    MAP3(prmt_##NAME, 32, u32, u32, AS_U32, AS_U32, SAME, permute(x, y, A, B, C, D))
PRMT(index, z & 15, z >> 4 & 15, z >> 8 & 15, z >> 12 & 15)
PRMT(f4e, z & 3, (z & 3) + 1, (z & 3) + 2, (z & 3) + 3)
PRMT(b4e, z & 3, ((z & 3) + 7) & 7, ((z & 3) + 6) & 7, ((z & 3) + 5) & 7)
PRMT(rc8, z & 3, z & 3, z & 3, z & 3)
PRMT(ecl, z & 3, ABOVE(1u, z & 3), ABOVE(2u, z & 3), 3)
PRMT(ecr, 0, BELOW(1u, z & 3), BELOW(2u, z & 3), z & 3)
PRMT(rc16, (z & 1) * 2, (z & 1) * 2 + 1, (z & 1) * 2, (z & 1) * 2 + 1)

/* ---- shifts ---------------------------------------------------------------------------------- */

/* The amount is 32 bits whatever the type; from the width on everything has been shifted out. */
#define SHIFT(NAME, BITS, LOAD, EXPR)                                                              \
    LANE_FN(                                                                                       \
        NAME, u##BITS *d = args->d; const u##BITS *s0 = args->s[0]; const u32 *s1 = args->s[1];    \
        EACH(LANES) {                                                                              \
            __auto_type x = LOAD(s0[i]);                                                           \
            u32 n = s1[i];                                                                         \
            d[i] = (u##BITS)(EXPR);                                                                \
        })
#define AS_S16(v) ((s32)(s16)(v))
SHIFT(shl_b16, 16, AS_U32, n < 16 ? x << n : 0)
SHIFT(shl_b32, 32, AS_U32, n < 32 ? x << n : 0)
SHIFT(shl_b64, 64, AS_U64, n < 64 ? x << n : 0)
SHIFT(shr_u16, 16, AS_U32, n < 16 ? x >> n : 0)
SHIFT(shr_u32, 32, AS_U32, n < 32 ? x >> n : 0)
SHIFT(shr_u64, 64, AS_U64, n < 64 ? x >> n : 0)
SHIFT(shr_s16, 16, AS_S16, x >> (n < 15 ? n : 15))
SHIFT(shr_s32, 32, AS_S32, x >> (n < 31 ? n : 31))
SHIFT(shr_s64, 64, AS_S64, x >> (n < 63 ? n : 63))

/* x is the low word and y the high one. */
#define PAIR(x, y) ((u64)(y) << 32 | (x))
MAP3(shf_l_wrap, 32, u32, u32, AS_U32, AS_U32, SAME, (u32)(PAIR(x, y) << (z & 31) >> 32))
MAP3(shf_l_clamp, 32, u32, u32, AS_U32, AS_U32, SAME, (u32)(PAIR(x, y) << CLAMP_32(z) >> 32))
MAP3(shf_r_wrap, 32, u32, u32, AS_U32, AS_U32, SAME, (u32)(PAIR(x, y) >> (z & 31)))
MAP3(shf_r_clamp, 32, u32, u32, AS_U32, AS_U32, SAME, (u32)(PAIR(x, y) >> CLAMP_32(z)))

/* ---- rows ------------------------------------------------------------------------------------ */

#define FIND_ROWS(T, L)                                                                            \
    ROW("bfind." #T, "w" L, bfind_##T), ROW("bfind.shiftamt." #T, "w" L, bfind_shiftamt_##T)

static const struct lane_row ROWS[] = {
    FIND_ROWS(u32, "w"),
    FIND_ROWS(s32, "w"),
    FIND_ROWS(u64, "d"),
    FIND_ROWS(s64, "d"),
    ROW("popc.b32", "ww", popc_b32),
    ROW("popc.b64", "wd", popc_b64),
    ROW("clz.b32", "ww", clz_b32),
    ROW("clz.b64", "wd", clz_b64),
    ROW("brev.b32", "ww", brev_b32),
    ROW("brev.b64", "dd", brev_b64),
    SLOW_ROW("fns.b32", "wwww", fns_b32),
    ROW("bfe.u32", "wwww", bfe_u32),
    ROW("bfe.s32", "wwww", bfe_s32),
    ROW("bfe.u64", "ddww", bfe_u64),
    ROW("bfe.s64", "ddww", bfe_s64),
    ROW("bfi.b32", "wwwww", bfi_b32),
    ROW("bfi.b64", "dddww", bfi_b64),
    ROW("szext.wrap.u32", "www", szext_wrap_u32),
    ROW("szext.wrap.s32", "www", szext_wrap_s32),
    ROW("szext.clamp.u32", "www", szext_clamp_u32),
    ROW("szext.clamp.s32", "www", szext_clamp_s32),
    ROW("bmsk.wrap.b32", "www", bmsk_wrap),
    ROW("bmsk.clamp.b32", "www", bmsk_clamp),
    ROW("prmt.b32", "wwww", prmt_index),
    ROW("prmt.f4e.b32", "wwww", prmt_f4e),
    ROW("prmt.b4e.b32", "wwww", prmt_b4e),
    ROW("prmt.rc8.b32", "wwww", prmt_rc8),
    ROW("prmt.ecl.b32", "wwww", prmt_ecl),
    ROW("prmt.ecr.b32", "wwww", prmt_ecr),
    ROW("prmt.rc16.b32", "wwww", prmt_rc16),
    ROW("shl.b16", "hhw", shl_b16),
    ROW("shl.b32", "www", shl_b32),
    ROW("shl.b64", "ddw", shl_b64),
    ROW("shr.b16", "hhw", shr_u16),
    ROW("shr.b32", "www", shr_u32),
    ROW("shr.b64", "ddw", shr_u64),
    ROW("shr.u16", "hhw", shr_u16),
    ROW("shr.u32", "www", shr_u32),
    ROW("shr.u64", "ddw", shr_u64),
    ROW("shr.s16", "hhw", shr_s16),
    ROW("shr.s32", "www", shr_s32),
    ROW("shr.s64", "ddw", shr_s64),
    ROW("shf.l.wrap.b32", "wwww", shf_l_wrap),
    ROW("shf.l.clamp.b32", "wwww", shf_l_clamp),
    ROW("shf.r.wrap.b32", "wwww", shf_r_wrap),
    ROW("shf.r.clamp.b32", "wwww", shf_r_clamp),
};
LANE_FAMILY(lane_bits_family, ROWS);
