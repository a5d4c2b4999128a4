/*
 * quant.cu - numbers in 8 bits and fewer: to and from codes, and products of them.
 *
 * Scales come as high x wide of them over an array of rows x cols. One of a kind is for all, as
 * many as there are rows or columns are for one each, and else each is for a group of `group`
 * neighbours (0: as many as share them evenly). So scale[1][1] is for a tensor, scale[rows][1] for
 * rows, scale[rows][cols / 128] for groups of a row, scale[ceil_div(rows, 128)][..] for tiles.
 *
 * Codes are integers (i8, u8, ...) or f8, by the arrays' dtypes. Those of ggml's block
 * formats bring their scales along (ref_blocks.h).
 */
#include "ref.h"

/* How many neighbours of `total` share one of `count` scales. */
#define QUANT_GROUP(count, total, group)                                                           \
    ((count) <= 1         ? (total)                                                                \
     : (count) == (total) ? 1                                                                      \
     : (group) > 0        ? (group)                                                                \
                          : ((total) + (count)-1) / (count))

/* Elements of a sample, for about 2^21 products: decoding is slower than loading. */
#define QUANT_BUDGET(k) ((k) > 16384 ? 128 : (k) < 512 ? 4096 : 2097152 / (k))

// y = q scale - zero scale = (q - zero) scale, whichever the kernel prefers (Jacob et al. 2018); of
// a cache in f8, whose heads lie side by side in a row, with group = their size
REFERENCE_ONCE(dequantise, "in q[rows][cols], in scale[high][wide], in zero[high][wide] = 0, "
                           "out y[rows][cols], int group = 0, each rows like high, "
                           "each cols like wide")
{
    const long long tall = QUANT_GROUP(high, rows, group), broad = QUANT_GROUP(wide, cols, group);
    ELEMENT(r, rows, c, cols)
    {
        auto s = scale(r / tall, c / broad);
        y(r, c) = q(r, c) * s - zero(r / tall, c / broad) * s;
    }
}

// q = x / scale + zero, or x scale + zero with `multiply`, rounded to nearest and clamped to what
// q's dtype holds, or to -limit .. limit
REFERENCE_ONCE(quantise, "in x[rows][cols], in scale[high][wide], in zero[high][wide] = 0, "
                         "out q[rows][cols], real limit = 0, int group = 0, int multiply = 0, "
                         "each rows like high, each cols like wide")
{
    const long long tall = QUANT_GROUP(high, rows, group), broad = QUANT_GROUP(wide, cols, group);
    const double top = limit.v > 0 ? limit.v : q.largest();
    const double bottom = limit.v > 0 ? -limit.v : q.lowest();
    ELEMENT(r, rows, c, cols)
    {
        auto s = scale(r / tall, c / broad);
        auto z = zero(r / tall, c / broad);
        if (multiply)
            q(r, c) = max(min(x(r, c) * s + z, top), bottom);
        else
            q(r, c) = max(min(x(r, c) / s + z, top), bottom);
    }
}

// q = x scale, clamped to what f8 holds, and its transpose t: Transformer Engine's cast_transpose
REFERENCE_ONCE(quantise_transpose, "in x[rows][cols], in scale[1] = 1, out q?[rows][cols], "
                                   "out t?[cols][rows], each rows, each cols")
{
    const double most = q.given ? q.largest() : t.largest();
    const double top = most < 65504 ? most : ref_infinity();
    ELEMENT(r, q.given ? rows : 0, c, cols) q(r, c) = max(min(x(r, c) * scale(0), top), -top);
    ELEMENT(c, t.given ? cols : 0, r, rows) t(c, r) = max(min(x(r, c) * scale(0), top), -top);
}

/* The largest power of two that is not above a positive number of f32. */
static REF_FN double quant_power(double value)
{
    return ref_from_bits(ref_bits((double)(float)value) & ((uint64_t)0x7ff << 52));
}

/* How many of `most` neighbours from `first` on there are below `end`. */
static REF_FN long long quant_part(long long first, long long end, long long most)
{
    return first >= end ? 0 : end - first < most ? end - first : most;
}

/* Tile i of `codes`, whose element (a, b) is `element`: their scale, and what is stored. */
#define QUANT_TILE(i, codes, scales, many, tall_of, broad_of, down, right, element)                \
    const long long wide_of = (many);                                                              \
    const long long first = (i) / wide_of * (tall_of), left = (i) % wide_of * (broad_of);          \
    const long long h = quant_part(first, down, tall_of), w = quant_part(left, right, broad_of);   \
    const double top = codes.largest();                                                            \
    real peak = max(MAX_IF(k, h * w, true, abs(element(first + k / w, left + k % w))), least);     \
    const bool plain = !(peak.value(0) > 0) || peak.value(0) >= ref_infinity();                    \
    const double power = plain ? 1 : quant_power(top / peak.value(0));                             \
    real factor = 1;                                                                               \
    if (!plain)                                                                                    \
        factor = top / peak;                                                                       \
    if (powers)                                                                                    \
        scales((i) / wide_of, (i) % wide_of) = 1 / power;                                          \
    else                                                                                           \
        scales((i) / wide_of, (i) % wide_of) = 1 / factor;                                         \
    LOOP(a, h)                                                                                     \
    {                                                                                              \
        EACH(b, w)                                                                                 \
        {                                                                                          \
            if (powers)                                                                            \
                codes(first + a, b + left) =                                                       \
                    max(min(element(first + a, b + left) * power, top), -top);                     \
            else                                                                                   \
                codes(first + a, b + left) =                                                       \
                    max(min(element(first + a, b + left) * factor, top), -top);                    \
        }                                                                                          \
    }

#define QUANT_STRAIGHT(r, c) x(r, c)
#define QUANT_TURNED(c, r)   x(r, c)

// scale = max |x| / top for each tile, top the largest of q's dtype, the maximum `least` at least,
// 1 / scale cut to a power of two with powers = 1, and q = x / scale. Of t, the transpose, the same
// with tiles of its own: Transformer Engine's block scaling, 128 of a row or of a column, or both
REFERENCE_ONCE(quantise_tiles,
               "in x[rows][cols], out q?[rows][cols], out scale?[high][wide], out t?[cols][rows], "
               "out t_scale?[t_high][t_wide], int group = 0, int powers = 0, real least = 0")
{
    const long long tall = QUANT_GROUP(high, rows, group), broad = QUANT_GROUP(wide, cols, group);
    ROW(i, q.given && scale.given ? high * wide : 0)
    {
        QUANT_TILE(i, q, scale, wide, tall, broad, rows, cols, QUANT_STRAIGHT)
    }
    const long long t_tall = QUANT_GROUP(t_high, cols, group);
    const long long t_broad = QUANT_GROUP(t_wide, rows, group);
    ROW(i, t.given && t_scale.given ? t_high * t_wide : 0)
    {
        QUANT_TILE(i, t, t_scale, t_wide, t_tall, t_broad, cols, rows, QUANT_TURNED)
    }
}

// scale(r) = max(min(max |x(r)|, most) / top, least), q = x / scale(r) clamped to -top .. top, top
// the largest of q's dtype or `limit`: dynamic scales by row, or by group where rows are groups; a
// row of zeros has codes of 0
REFERENCE_ONCE(quantise_rows, "in x[rows][cols], in most[1] = 3e38, out q[rows][cols], "
                              "out scale?[rows], real limit = 0, real least = 0, each rows")
{
    const double top = limit.v > 0 ? limit.v : q.largest();
    ROW(r, rows)
    {
        real peak = min(MAX(c, cols, abs(x(r, c))), most(0));
        real s = max(peak / top, least);
        if (scale.given)
            scale(r) = s;
        EACH(c, cols)
        {
            auto code = where(equals(s, 0), 0, x(r, c) / s);
            q(r, c) = max(min(code, top), -top);
        }
    }
}

// A number of parts: what is divided by it has 1 to 65536.
REF_FN long long quant_count(long long n)
{
    return n < 1 ? 1 : n < 65536 ? n : 65536;
}

// scale(r, b, g) = max |x| / top over group g of block b of row r, top the largest of q's dtype or
// `limit`, q = x / scale, and sum(r, b, p) of `part` numbers of x. Groups share a block evenly, or
// are of `group` numbers where no scale is stored; behind the `valid` numbers of a row there are
// zeros. A group of zeros has codes of 0. As ggml lays out activations for products with weights in
// blocks: a NaN changes no scale
REFERENCE_ONCE(quantise_blocks,
               "in x[rows][valid], out q[rows][blocks][wide], out scale?[rows][blocks][scales], "
               "out sum?[rows][blocks][sums], int group = 0, int part = 0, real limit = 0, "
               "each rows")
{
    const double top = limit.v > 0 ? limit.v : q.largest();
    const long long some = quant_count(scale.given ? scales
                                       : group > 0 ? (wide + group - 1) / group
                                                   : 1);
    const long long span = (wide + some - 1) / some;
    ROW(i, rows * blocks * some)
    {
        long long r = i / (blocks * some), b = i / some % blocks, first = i % some * span;
        long long size = quant_part(first, wide, span), from = b * wide + first;
        long long here = quant_part(from, valid, size);
        real peak = max(
            MAX(c, here, where(equals(x(r, c + from), x(r, c + from)), abs(x(r, c + from)), 0)), 0);
        real s = peak / top;
        if (scale.given)
            scale(r, b, i % some) = s;
        EACH(c, here)
        {
            auto code = where(equals(s, 0), 0, x(r, c + from) / s);
            q(r, b, c + first) = max(min(code, top), -top);
        }
        EACH(c, size - here) q(r, b, c + (first + here)) = 0;
    }
    const long long each = part > 0 ? part : sum.given ? (wide + sums - 1) / quant_count(sums) : 1;
    ROW(i, sum.given ? rows * blocks * sums : 0)
    {
        long long r = i / (blocks * sums), b = i / sums % blocks, first = i % sums * each;
        long long from = b * wide + first;
        long long here = quant_part(from, valid, quant_part(first, wide, each));
        sum(r, b, i % sums) = SUM(c, here, x(r, c + from));
    }
}

// y = w, elements of blocks as numbers
REFERENCE_ONCE(dequantise_blocks, "coded w[rows][cols], out y[rows][cols], each rows")
{
    ELEMENT(r, rows, c, cols) y(r, c) = w.step(r, c) + w.low(r, c);
}

// y(t) = table(ids(t)), the table in blocks, as ggml's get_rows
REFERENCE_ONCE(embedding_blocks,
               "in ids[tokens], coded table[entries][cols], out y[tokens][cols], each tokens, "
               "touch entries by ids")
{
    ELEMENT(t, tokens, c, cols)
    {
        long long e = INDEX(ids(t));
        y(t, c) = table.step(e, c) + table.low(e, c);
    }
}

// A product of linear_blocks at output column j of row i, step and low apart; by_sum:
// w.low_by_sum(). WHOLE_PRODUCT: by the elements as numbers, for an infinite x, of which the other
// is inf - inf.
#define BLOCK_PRODUCT(w, by_sum, i, j)                                                             \
    (SUM(l, k, x(i, l) * w.step(j, l)) +                                                           \
     SUM(l, k, ((by_sum) ? x.share(i, l) : x(i, l)) * w.low(j, l)))
#define WHOLE_PRODUCT(w, i, j) SUM(l, k, x(i, l) * (w.step(j, l) + w.low(j, l)))

// y = x w^T + bias with w in blocks. Codes and what is common to a block are multiplied apart, as
// llama.cpp's kernels do. x is of any usual dtype, or in q8_1 (mul_mat_vec_q): then what is common
// to a block of 32 is multiplied by the sum that x brings along, taken before x was rounded
REFERENCE_ONCE(linear_blocks, "coded x[m][k], coded w[n][k], in bias[n] = 0, out y[m][n], "
                              "each m, each n")
{
    const bool by_sum = w.low_by_sum();
    SAMPLE(i, m * n, QUANT_BUDGET(k))
    {
        real u = BLOCK_PRODUCT(w, by_sum, i / n, i % n);
        if (is_nan(u))
            u = WHOLE_PRODUCT(w, i / n, i % n);
        y(i / n, i % n) = u + bias(i % n);
    }
}

// y = x w^T + bias with w in blocks and x in codes, 128 in a chunk, whose scales lie apart:
// x(i, l) = x(i, l / 128, l % 128) scale, each scale for 128 / scales codes. Where sums are given,
// each of `part` numbers from the first of the 128 on, what is common to a block of w is multiplied
// by these, else by x: llama.cpp's mul_mat_q, which rounds the products of two scales of w to f16
// in some formats (`factor`). A sample of elements.
REFERENCE_ONCE(linear_blocks_scaled,
               "in x[m][chunks][128], in scale[m][chunks][scales], in sum?[m][chunks][sums], "
               "coded w[n][k], in bias[n] = 0, out y[m][n], int part = 32, point factor, "
               "each m, each n")
{
    const long long parts = quant_count(scales), each = quant_count(part);
    const int span = (int)((128 + parts - 1) / parts);
    const long long summed = sum.given ? sums * part : 0;
    SAMPLE(i, m * n, QUANT_BUDGET(k))
    {
        long long r = i / n, j = i % n;
        TERM(value, l, x(r, l / 128, l % 128) * scale(r, l / 128, (int)(l % 128) / span));
        TERM(share, l,
             l % 128 < summed ? real(sum(r, l / 128, l % 128 / each) / (double)each)
                              : real(value(l)));
        TERM(step, l, factor(w.scale(j, l)) * w.code(j, l));
        real u = SUM_IF(l, k, true, value(l) * step(l)) +
                 SUM_IF(l, k, true, share(l) * factor(w.low(j, l)));
        if (is_nan(u))
            u = SUM_IF(l, k, true, value(l) * (step(l) + factor(w.low(j, l))));
        y(r, j) = u + bias(j);
    }
}

// y = u act(t), u = x w^T w_scale + bias, t = x gate^T gate_scale + gate_bias, w and gate in
// blocks; act 0: t itself, 1: gelu by tanh, 2: silu. Without a gate y = u.
REFERENCE_ONCE(linear_blocks_gated,
               "coded x[m][k], coded w[n][k], coded gate?[n][k], in bias[n] = 0, "
               "in gate_bias[n] = 0, out y[m][n], real w_scale = 1, real gate_scale = 1, "
               "int act = 2, each m, each n")
{
    const bool by_sum = w.low_by_sum(), gate_by_sum = gate.given && gate.low_by_sum();
    SAMPLE(i, m * n, QUANT_BUDGET(2 * k))
    {
        real u = BLOCK_PRODUCT(w, by_sum, i / n, i % n);
        if (is_nan(u))
            u = WHOLE_PRODUCT(w, i / n, i % n);
        u = u * w_scale + bias(i % n);
        if (gate.given) {
            real t = BLOCK_PRODUCT(gate, gate_by_sum, i / n, i % n);
            if (is_nan(t))
                t = WHOLE_PRODUCT(gate, i / n, i % n);
            t = t * gate_scale + gate_bias(i % n);
            if (act == 1)
                t = t * 0.5 * one_plus_tanh(t * 0.79788456080286536 * (1 + 0.044715 * t * t));
            else if (act == 2)
                t = t * sigmoid(t);
            u = u * t;
        }
        y(i / n, i % n) = u;
    }
}

// y = (x w^T) x_scale w_scale + bias over i8 with a sum in i32, which is exact; scales by row of x
// and of w, or one for all (Dettmers et al. 2022)
REFERENCE_ONCE(linear_int8, "in x[m][k], in w[n][k], in x_scale[xs] = 1, in w_scale[ws] = 1, "
                            "in bias[n] = 0, out y[m][n], each m like xs, each n like ws")
{
    SAMPLE(i, m * n, QUANT_BUDGET(k))
    {
        long long r = i / n, j = i % n;
        real sum = SUM(l, k, x(r, l) * w(j, l));
        real dot = exactly(sum) + 0; /* which rounds, as its conversion to a float does */
        y(r, j) = dot * x_scale(xs > 1 ? r : 0) * w_scale(ws > 1 ? j : 0) + bias(j);
    }
}

// y = sum of x w x_scale w_scale + bias over f8, with scales over x and w as at the top, such as
// x_scale[m][k / 128] and w_scale[n / 128][k / 128] (DeepSeek-AI 2024)
REFERENCE_ONCE(linear_f8, "in x[m][k], in w[n][k], in x_scale[xh][xw] = 1, "
                          "in w_scale[wh][ww] = 1, in bias[n] = 0, out y[m][n], int group = 0, "
                          "each m like xh, each n like wh")
{
    const long long xr = QUANT_GROUP(xh, m, group), xc = QUANT_GROUP(xw, k, group);
    const long long wr = QUANT_GROUP(wh, n, group), wc = QUANT_GROUP(ww, k, group);
    SAMPLE(i, m * n, QUANT_BUDGET(k))
    {
        long long r = i / n, j = i % n;
        real dot = SUM(l, k, x(r, l) * w(j, l) * x_scale(r / xr, l / xc) * w_scale(j / wr, l / wc));
        y(r, j) = dot + bias(j);
    }
}

/* What a code of 4 bits stands for in bitsandbytes: FP4, a sign and three bits, or NF4, quantiles
 * of the normal distribution (Dettmers et al. 2023, appendix E). */
REF_SLOW double ref_four_bits(long long code, bool normal)
{
    const float fp4[8] = {0.0f, 0.005208333333f, 0.66666667f, 1.0f, 0.33333333f,
                          0.5f, 0.16666667f,     0.25f};
    const float nf4[16] = {-1.0f,
                           -0.6961928009986877f,
                           -0.5250730514526367f,
                           -0.39491748809814453f,
                           -0.28444138169288635f,
                           -0.18477343022823334f,
                           -0.09105003625154495f,
                           0.0f,
                           0.07958029955625534f,
                           0.16093020141124725f,
                           0.24611230194568634f,
                           0.33791524171829224f,
                           0.44070982933044434f,
                           0.5626170039176941f,
                           0.7229568362236023f,
                           1.0f};
    return normal ? nf4[code & 15] : (code & 8 ? -1 : 1) * (double)fp4[code & 7];
}

/* Number i of bytes that hold two codes each, the upper half first. */
REF_FN long long ref_half_byte(long long byte, long long i)
{
    return i % 2 ? byte & 15 : byte >> 4 & 15;
}

// y(i) = level(q(i)) scale(i / group), q a byte each and its levels in memory, or with half = 1 two
// codes a byte, of NF4 or with normal = 0 of FP4: bitsandbytes. Without a group one scale is for
// all. A sample of elements.
REFERENCE_ONCE(dequantise_codes, "in q[stored], in levels?[count], in scale[groups], out y[n], "
                                 "int group = 0, int half = 0, int normal = 1")
{
    SAMPLE(i, n, 65536)
    {
        long long code = INDEX(q(half ? i / 2 : i));
        real level;
        if (half)
            level = ref_four_bits(ref_half_byte(code, i), normal != 0);
        else
            level = levels(code);
        y(i) = level * scale(group > 0 ? i / group : 0);
    }
}

// y = x w^T + bias, w in codes of 4 bits: w(j, l) = level(q(j, l)) scale((j k + l) / group), levels
// as above or in memory. A scale may itself be a code, factors(codes) scale(.. / 256) + offset.
// Kernels round the level, the scale, their product, or that and x to the dtype of x
// (bitsandbytes). A sample of elements.
REFERENCE_ONCE(
    linear_codes,
    "in x[m][k], in q[n][half], in levels?[16], in scale[groups], in codes?[parts], "
    "in factors?[256], in offset?[1], in bias[n] = 0, out y[m][n], "
    "int group = 0, int normal = 1, point level, point size, point w, point term, each m")
{
    SAMPLE(i, m * n, QUANT_BUDGET(k))
    {
        long long r = i / n, j = i % n;
        TERM(table, l,
             levels.given ? real(levels(ref_half_byte(INDEX(q(j, l / 2)), l)))
                          : real(ref_four_bits(ref_half_byte(INDEX(q(j, l / 2)), l), normal != 0)));
        TERM(factor, g,
             codes.given ? real(factors(INDEX(codes(g))) * scale(g / 256) + offset(0))
                         : real(scale(g)));
        TERM(weight, l, w(level(table(l)) * size(factor(group > 0 ? (j * k + l) / group : 0))));
        y(r, j) = SUM_IF(l, k, true, term(x(r, l) * weight(l))) + bias(j);
    }
}
