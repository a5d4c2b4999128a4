/*
 * tensor.c - mma, ldmatrix and stmatrix: what a whole warp does with small matrices that lie spread
 * over its registers.
 *
 * A sum of products is exact here, and rounded once. A device cuts off what lies below the largest
 * product, so that results may differ in the last digits of the sum.
 */
#include "exec/lane/lane_num.h"
#include "exec/ops/ops.h"

/* All lanes of the warp, together. */
bool warp_is_whole(struct warp *w)
{
    if (w->active == w->live)
        return true;
    fault_at(w, w->active, EXEC_ILLEGAL_INSTRUCTION, 0,
             "an instruction of the whole warp, whose threads have parted");
    return false;
}

/* ---- mma ---- */

static f64 small_float(u32 bits, unsigned mantissa, int bias)
{
    const unsigned exponents = 7 - mantissa, exponent = bits >> mantissa & ((1u << exponents) - 1);
    const unsigned fraction = bits & ((1u << mantissa) - 1);
    const f64 magnitude =
        exponent ? ldexp(fraction + (1u << mantissa), (int)exponent - bias - (int)mantissa)
                 : ldexp(fraction, 1 - bias - (int)mantissa);
    return bits & 0x80 ? -magnitude : magnitude;
}

static f64 e4m3(u32 bits)
{
    return (bits & 0x7f) == 0x7f ? (f64)NAN : small_float(bits, 3, 7);
}

static f64 f16_of(u32 bits)
{
    _Float16 value;
    const u16 half = (u16)bits;
    memcpy(&value, &half, 2);
    return (f64)value;
}

f64 mma_number(enum mma_kind kind, u32 word, unsigned e)
{
    switch (kind) {
    case MMA_F16:
        return f16_of(word >> 16 * e);
    case MMA_BF16:
        return (f64)from32(word >> 16 * e << 16);
    case MMA_TF32:
        return (f64)from32(word & 0xffffe000);
    case MMA_E4M3:
        return e4m3(word >> 8 * e & 0xff);
    case MMA_E5M2:
        return f16_of(word >> 8 * e << 8 & 0xff00);
    case MMA_S8:
        return (f64)(int8_t)(word >> 8 * e);
    default:
        return (f64)(uint8_t)(word >> 8 * e);
    }
}

struct matrices {
    f64 a[MMA_LINES][MMA_DEPTH], b[MMA_LINES][MMA_DEPTH];
};

void mma_gather_a(const struct warp *w, const struct mma *m, f64 a[][MMA_DEPTH])
{
    unsigned row, k;
    for (unsigned lane = 0; lane < LANES; lane++)
        for (unsigned r = 0; r < m->a_count; r++)
            for (unsigned e = 0; e < m->each; e++) {
                mma_place_a(m, lane, r, e, &row, &k);
                a[row][k] = mma_number(m->a_kind, ((const u32 *)at(w, m->a[r]))[lane], e);
            }
}

static void gather_b(const struct warp *w, const struct mma *m, f64 b[][MMA_DEPTH])
{
    unsigned column, k;
    for (unsigned lane = 0; lane < LANES; lane++)
        for (unsigned r = 0; r < m->b_count; r++)
            for (unsigned e = 0; e < m->each; e++) {
                mma_place_b(m, lane, r, e, &column, &k);
                b[column][k] = mma_number(m->b_kind, ((const u32 *)at(w, m->b[r]))[lane], e);
            }
}

static f64 product(const f64 *a, const f64 *b, unsigned depth, f64 sum)
{
    for (unsigned k = 0; k < depth; k++)
        sum += a[k] * b[k];
    return sum;
}

/* Integers wrap, or stop at the largest. */
static u32 integer_sum(const struct mma *m, f64 products, s32 c)
{
    const s64 sum = (s64)products + c;
    if (m->saturates)
        return (u32)(s32)(sum > INT32_MAX ? INT32_MAX : sum < INT32_MIN ? INT32_MIN : sum);
    return (u32)sum;
}

u32 mma_sum(const struct mma *m, const f64 *a, const f64 *b, u32 c)
{
    if (m->a_kind >= MMA_S8)
        return integer_sum(m, product(a, b, m->depth, 0), (s32)c);
    if (!m->half)
        return store32((f32)product(a, b, m->depth, (f64)from32(c)));
    const f64 sum = product(a, b, m->depth, f16_of(c));
    const _Float16 rounded = (_Float16)sum;
    u16 bits;
    memcpy(&bits, &rounded, 2);
    return sum != sum ? NAN_HALF : bits;
}

static u32 sum_of(const struct warp *w, const struct mma *m, const struct matrices *x,
                  unsigned lane, unsigned i)
{
    unsigned row, column;
    const u32 word = ((const u32 *)at(w, m->c[m->half ? i / 2 : i]))[lane];
    mma_place_sum(m, lane, i, &row, &column);
    return mma_sum(m, x->a[row], x->b[column], m->half ? word >> 16 * (i % 2) & 0xffff : word);
}

enum step op_mma(struct warp *w, const struct op *op)
{
    const struct mma *m = op->more;
    struct matrices x;
    u32 sums[MMA_SUMS][LANES];
    if (!warp_is_whole(w))
        return STEP_FAULT;
    mma_gather_a(w, m, x.a);
    gather_b(w, m, x.b);
    for (unsigned lane = 0; lane < LANES; lane++)
        for (unsigned i = 0; i < m->sums; i++)
            sums[i][lane] = sum_of(w, m, &x, lane, i);
    const unsigned registers = mma_sum_registers(m);
    for (unsigned i = 0; m->half && i < registers; i++)
        for (unsigned lane = 0; lane < LANES; lane++)
            sums[i][lane] = sums[2 * i][lane] | sums[2 * i + 1][lane] << 16;
    for (unsigned i = 0; i < registers; i++)
        put(w, m->d[i], 4, sums[i]);
    return STEP_NEXT;
}

/* ---- matrices of 8 x 8 halves in shared memory ---- */

bool matrix_rows(struct warp *w, const struct matrix_access *x, bool write, uint8_t *rows[8 * 4])
{
    const uint32_t active = w->active;
    const unsigned count = 8 * x->access.count;
    uint64_t address[LANES];
    struct pointers p;
    if (!warp_is_whole(w))
        return false;
    w->active = count == LANES ? ALL_LANES : (1u << count) - 1;
    addresses(w, &x->access, address);
    for (unsigned i = 0; x->access.memory == IN_GENERIC && i < LANES; i++)
        address[i] -= EXEC_SHARED_BASE;
    const bool fine = resolve(w, IN_SHARED, address, 16, 16, write, &p);
    w->active = active;
    for (unsigned i = 0; fine && i < count; i++)
        rows[i] = p.p[i];
    return fine;
}

enum step op_ldmatrix(struct warp *w, const struct op *op)
{
    const struct matrix_access *x = op->more;
    uint8_t *rows[8 * 4];
    u32 values[4][LANES] = {{0}};
    if (!matrix_rows(w, x, false, rows))
        return STEP_FAULT;
    for (unsigned m = 0; m < x->access.count; m++)
        for (unsigned lane = 0; lane < LANES; lane++)
            for (unsigned e = 0; e < 2; e++) {
                unsigned row, column;
                matrix_place(x, lane, e, &row, &column);
                const u16 half = __atomic_load_n(
                    (const u16 *)(const void *)(rows[8 * m + row] + 2 * column), __ATOMIC_RELAXED);
                values[m][lane] |= (u32)half << 16 * e;
            }
    for (unsigned m = 0; m < x->access.count; m++)
        put(w, x->access.regs[m], 4, values[m]);
    return STEP_NEXT;
}

enum step op_stmatrix(struct warp *w, const struct op *op)
{
    const struct matrix_access *x = op->more;
    uint8_t *rows[8 * 4];
    if (!matrix_rows(w, x, true, rows))
        return STEP_FAULT;
    for (unsigned m = 0; m < x->access.count; m++)
        for (unsigned lane = 0; lane < LANES; lane++)
            for (unsigned e = 0; e < 2; e++) {
                unsigned row, column;
                matrix_place(x, lane, e, &row, &column);
                const u32 word = ((const u32 *)at(w, x->access.regs[m]))[lane];
                __atomic_store_n((u16 *)(void *)(rows[8 * m + row] + 2 * column),
                                 (u16)(word >> 16 * e), __ATOMIC_RELAXED);
            }
    return STEP_NEXT;
}
