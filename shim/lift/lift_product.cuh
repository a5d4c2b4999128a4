/*
 * lift_product.cuh - products of matrices as a lifted kernel forms them, see lift_product.c. A part
 * of lift.cu, which has what it uses.
 */
/* Bytes of a row of the matrix's smallest parts. */
static __device__ uint32_t span_of(uint64_t descriptor)
{
    const uint32_t mode = (uint32_t)(descriptor >> 62);
    return mode ? 256u >> mode : 16;
}

static __device__ uint32_t swizzled(uint32_t at, uint32_t span)
{
    return at ^ (at >> 7 & (span / 16 - 1)) * 16;
}

/* Line `line` of a matrix that a descriptor names, place k: as an address in shared memory, before
 * it is swizzled. */
static __device__ uint32_t straight_place(uint64_t descriptor, bool across, uint32_t bytes,
                                          uint32_t line, uint32_t k)
{
    const uint32_t mode = (uint32_t)(descriptor >> 62), span = span_of(descriptor);
    const uint32_t lead = (uint32_t)(descriptor >> 16 & 0x3fff) * 16;
    const uint32_t stride = (uint32_t)(descriptor >> 32 & 0x3fff) * 16;
    const uint32_t byte = (across ? line : k) * bytes, other = across ? k : line;
    const bool turned = across && mode == 0;
    uint32_t at = (uint32_t)(descriptor & 0x3fff) * 16 + byte % span + other % 8 * span;
    return at + byte / span * (turned ? stride : lead) + other / 8 * (turned ? lead : stride);
}

static __device__ uint32_t place_there(uint64_t descriptor, bool across, uint32_t bytes,
                                       uint32_t line, uint32_t k)
{
    return swizzled(straight_place(descriptor, across, bytes, line, k), span_of(descriptor));
}

/* A number of a tensor core's operand. */
static __device__ lift_number number_there(const lift_product *p, uint32_t at)
{
    uint32_t bits;
    if (p->format == LIFT_F32)
        asm volatile("ld.shared.u32 %0, [%1];" : "=r"(bits) : "r"(at));
    else
        asm volatile("{ .reg .b16 h; ld.shared.u16 h, [%1]; cvt.u32.u16 %0, h; }"
                     : "=r"(bits)
                     : "r"(at));
    if (p->cells) {
        const uint32_t cell = (at - p->shared) / p->cell;
        const lift_number *there = (const lift_number *)p->cells + cell;
        if (there->e >= 0)
            return *there;
    }
    return {widen(bits, p->format), 0};
}

/* A tensor core leaves the last bits of an f32 out. */
static __device__ lift_number operand(const lift_product *p, lift_number n, bool minus)
{
    if (p->format == LIFT_F32 && n.e > 0)
        n.e += fabs(n.v) * 0x1p-10;
    else if (p->format == LIFT_F32)
        n.v = __uint_as_float(__float_as_uint((float)n.v) & 0xffffe000u);
    return {minus ? -n.v : n.v, n.e};
}

/* Whether all of both rows has no error, and the numbers have 16 bits. */
static __device__ void note_exact(lift_product *p)
{
    bool exact = p->format != LIFT_F32 && p->depth % 8 == 0;
    for (uint32_t k = 0; k < p->depth; k++)
        exact = exact && p->a[0][k].e == 0 && p->a[1][k].e == 0;
    p->exact = exact;
}

/* The rows of a that this thread has sums in, from its warp's registers: register i of a lane has
 * numbers of row lane / 4, or 8 more where i is odd. `each`: numbers in a register. */
LIFT_FN void cuvet_lift_rows(lift_product *p, uint64_t, uint32_t each)
{
    const uint32_t lane = lane_of() & ~3u;
    for (uint32_t k = 0; k < p->depth; k++) {
        const uint32_t from = lane + k % (4 * each) / each;
        for (uint32_t r = 0; r < 2; r++) {
            const uint32_t mine = (k / (4 * each) * 2 + r) * each + k % each;
            const lift_number n = {__shfl_sync(~0u, p->own[mine].v, (int)from),
                                   __shfl_sync(~0u, p->own[mine].e, (int)from)};
            p->a[r][k] = operand(p, n, p->flags & LIFT_A_MINUS);
        }
    }
    note_exact(p);
}

/* The columns of b: register i of a lane has numbers of column lane / 4. */
LIFT_FN void cuvet_lift_columns(lift_product *p, uint64_t, uint32_t each)
{
    const uint32_t lane = lane_of() % 4 * 2;
    for (uint32_t k = 0; k < p->depth; k++) {
        const uint32_t mine = k / (4 * each) * each + k % each;
        for (uint32_t c = 0; c < 2; c++) {
            const uint32_t from = (lane + c) * 4 + k % (4 * each) / each;
            const lift_number n = {__shfl_sync(~0u, p->own[mine].v, (int)from),
                                   __shfl_sync(~0u, p->own[mine].e, (int)from)};
            p->b[c][k] = operand(p, n, p->flags & LIFT_B_MINUS);
        }
    }
}

/* Rows of a in shared memory: 16 for each of four warps. */
LIFT_FN void cuvet_lift_rows_there(lift_product *p, uint64_t descriptor, uint32_t)
{
    const uint32_t warp = thread_of() / 32 % 4, bytes = p->format == LIFT_F32 ? 4 : 2;
    for (uint32_t r = 0; r < 2; r++)
        for (uint32_t k = 0; k < p->depth; k++) {
            const uint32_t at = place_there(descriptor, p->flags & LIFT_A_ACROSS, bytes,
                                            16 * warp + lane_of() / 4 + 8 * r, k);
            p->a[r][k] = operand(p, number_there(p, at), p->flags & LIFT_A_MINUS);
        }
    note_exact(p);
}

/* Of both rows: the sum, what is wrong with it, and the sizes of its terms. */
struct lift_sums {
    double v[2], e[2], size[2];
};

static __device__ void add_term(lift_sums *sums, const lift_product *p, lift_number b, uint32_t k)
{
    for (int r = 0; r < 2; r++) {
        const lift_number a = p->a[r][k];
        const double term = a.v * b.v;
        sums->v[r] += term;
        sums->size[r] += fabs(term);
        sums->e[r] += fabs(a.v) * b.e + (fabs(b.v) + b.e) * a.e;
    }
}

LIFT_FN lift_sums cuvet_lift_sum(const lift_product *p, uint64_t, uint32_t column)
{
    lift_sums sums = {};
    for (uint32_t k = 0; k < p->depth; k++)
        add_term(&sums, p, p->b[column % 2][k], k);
    return sums;
}

/* Eight numbers of 16 bits along a line; false: one of them has a shadow. */
static __device__ bool read_exact(double *out, const lift_product *p, uint64_t descriptor,
                                  uint32_t line, uint32_t k)
{
    const bool across = p->flags & LIFT_B_ACROSS;
    const uint32_t span = span_of(descriptor), shift = 31 - __clz((int)p->cell);
    const uint32_t first = straight_place(descriptor, across, 2, line, k);
    uint32_t word[4];
    if (!across)
        asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                     : "=r"(word[0]), "=r"(word[1]), "=r"(word[2]), "=r"(word[3])
                     : "r"(swizzled(first, span)));
    for (uint32_t i = 0; i < 8; i++) {
        const uint32_t at =
            across ? swizzled(first + i * span, span) : swizzled(first, span) + 2 * i;
        uint32_t bits;
        if (across)
            asm volatile("{ .reg .b16 h; ld.shared.u16 h, [%1]; cvt.u32.u16 %0, h; }"
                         : "=r"(bits)
                         : "r"(at));
        else
            bits = word[i / 2] >> i % 2 * 16 & 0xffff;
        out[i] = widen(bits, p->format);
        if (p->cells && ((const lift_number *)p->cells)[(at - p->shared) >> shift].e >= 0)
            return false;
    }
    return true;
}

/* Terms of numbers without an error, which are most: those that a kernel multiplies as it has read
 * them. */
static __device__ void add_exact(lift_sums *sums, const lift_product *p, const double *b,
                                 uint32_t k)
{
    const double sign = p->flags & LIFT_B_MINUS ? -1 : 1;
    for (uint32_t i = 0; i < 8; i++)
        for (int r = 0; r < 2; r++) {
            const double a = p->a[r][k + i].v;
            sums->v[r] = fma(a, sign * b[i], sums->v[r]);
            sums->size[r] = fma(fabs(a), fabs(b[i]), sums->size[r]);
        }
}

LIFT_FN lift_sums cuvet_lift_sum_there(const lift_product *p, uint64_t descriptor, uint32_t column)
{
    lift_sums sums = {};
    const uint32_t bytes = p->format == LIFT_F32 ? 4 : 2, line = column + lane_of() % 4 * 2;
    uint32_t k = 0;
    double b[8];
    for (; p->exact && k < p->depth && read_exact(b, p, descriptor, line, k); k += 8)
        add_exact(&sums, p, b, k);
    for (; k < p->depth; k++) {
        const uint32_t at = place_there(descriptor, p->flags & LIFT_B_ACROSS, bytes, line, k);
        add_term(&sums, p, operand(p, number_there(p, at), p->flags & LIFT_B_MINUS), k);
    }
    return sums;
}

/* ---- products of numbers of 8 bits, which are exact ---- */

/* e4m3 has the bits of an f16 that is 256 times smaller, but no infinity. */
static __device__ double widen8(uint32_t bits, uint32_t format, bool minus)
{
    double v = __longlong_as_double(0x7ff8000000000000ll);
    if (format == LIFT_E5M2)
        v = widen((bits & 0xff) << 8, LIFT_F16);
    else if ((bits & 0x7f) != 0x7f)
        v = 256 * widen((bits & 0x80) << 8 | (bits & 0x7f) << 7, LIFT_F16);
    return minus ? -v : v;
}

/* The rows of a, as cuvet_lift_rows has them. */
LIFT_FN void cuvet_lift_rows8(lift_product *p, uint64_t, uint32_t)
{
    for (uint32_t k = 0; k < p->depth; k++)
        for (uint32_t r = 0; r < 2; r++) {
            const uint32_t from = (lane_of() & ~3u) + k % 16 / 4;
            const uint32_t word = __shfl_sync(~0u, p->word[k / 16 * 2 + r], (int)from);
            p->a8[r][k] = widen8(word >> k % 4 * 8, p->format, p->flags & LIFT_A_MINUS);
        }
}

LIFT_FN void cuvet_lift_columns8(lift_product *p, uint64_t, uint32_t)
{
    for (uint32_t k = 0; k < p->depth; k++)
        for (uint32_t c = 0; c < 2; c++) {
            const uint32_t from = (lane_of() % 4 * 2 + c) * 4 + k % 16 / 4;
            const uint32_t word = __shfl_sync(~0u, p->word[k / 16], (int)from);
            p->b8[c][k] = widen8(word >> k % 4 * 8, p->format_b, p->flags & LIFT_B_MINUS);
        }
}

/* A line of a matrix in shared memory. */
static __device__ void line_there(double *out, const lift_product *p, uint64_t descriptor,
                                  uint32_t line, uint32_t format, bool minus)
{
    for (uint32_t k = 0; k < p->depth; k++) {
        uint32_t bits;
        asm volatile("ld.shared.u8 %0, [%1];"
                     : "=r"(bits)
                     : "r"(place_there(descriptor, false, 1, line, k)));
        out[k] = widen8(bits, format, minus);
    }
}

LIFT_FN void cuvet_lift_rows8_there(lift_product *p, uint64_t descriptor, uint32_t)
{
    const uint32_t row = 16 * (thread_of() / 32 % 4) + lane_of() / 4;
    for (uint32_t r = 0; r < 2; r++)
        line_there(p->a8[r], p, descriptor, row + 8 * r, p->format, p->flags & LIFT_A_MINUS);
}

/* The power of two in a number's exponent. */
static __device__ double power(double x)
{
    return __longlong_as_double(__double_as_longlong(x) & 0x7ff0000000000000ll);
}

/* A tensor core does not normalise what lies below a format's least normal number, nor zero. */
static __device__ double power8(double x, uint32_t format)
{
    return fmax(power(x), format == LIFT_E4M3 ? 0x1p-6 : 0x1p-14);
}

/* What a sum in row r may lose: all terms are cut off at 2^-13 of the largest one's power of two,
 * and the result at 2^-13 of its own (TENSOR_ROUNDOFF has the source). */
static __device__ double lost(const lift_product *p, const lift_sums *sums, const double *b, int r)
{
    const double before = fabs(p->before[r].v) + p->before[r].e;
    const bool halves = p->flags & LIFT_HALVES;
    double top = power(halves ? before + sums->size[r] : before);
    for (uint32_t k = 0; k < p->depth; k++) {
        const double a = p->a8[r][k];
        top = fmax(top, fmax(power(a * b[k]), power8(a, p->format) * power8(b[k], p->format_b)));
    }
    /* In two steps the first one's result is cut as well, and cut again. */
    double all = halves ? 3 * 0x1p-13 * top : fmin(before, 0x1p-13 * top);
    for (uint32_t k = 0; k < p->depth; k++) {
        const double units = fabs(p->a8[r][k] * b[k]) / top * 0x1p13;
        all += (units - trunc(units)) * (0x1p-13 * top);
    }
    return all + power(fabs(p->before[r].v + sums->v[r]) + p->before[r].e + all) *
                     (halves ? 0x1p-12 : 0x1p-13);
}

LIFT_FN lift_sums cuvet_lift_sum8(const lift_product *p, uint64_t, uint32_t column)
{
    lift_sums sums = {};
    const double *b = p->b8[column % 2];
    for (int r = 0; r < 2; r++) {
        for (uint32_t k = 0; k < p->depth; k++) {
            sums.v[r] += p->a8[r][k] * b[k];
            sums.size[r] += fabs(p->a8[r][k] * b[k]);
        }
        if (p->flags & LIFT_CUTS)
            sums.e[r] = lost(p, &sums, b, r);
    }
    return sums;
}

LIFT_FN lift_sums cuvet_lift_sum8_there(lift_product *p, uint64_t descriptor, uint32_t column)
{
    line_there(p->b8[column % 2], p, descriptor, column + lane_of() % 4 * 2, p->format_b,
               p->flags & LIFT_B_MINUS);
    return cuvet_lift_sum8(p, descriptor, column);
}
