/*
 * rotary.cu - rotary position embedding: pairs of a head's elements are turned by an angle that
 * grows with the token's position (Su et al. 2021).
 *
 * A pair (a, b) becomes (a cos - b sin, a sin + b cos). Which elements make a pair differs: c and
 * c + half (GPT-NeoX, Hugging Face), or 2 c and 2 c + 1 (the paper, GPT-J). Cosines and sines come
 * from two tables or from one, a row for each position, or from a base; a token's position is read
 * from `position` or is its own index. direction = -1 turns back, which is the gradient. Elements
 * of a head behind the turned ones stay out by way of strides.
 */
#include "ref.h"

#define POSITION(t)                                                                                \
    (offset + (position.given ? INDEX(position(t)) : period > 0 ? (t) % period : (t)))

// c and c + half, two tables
REFERENCE_ONCE(rope_halves,
               "in x[tokens][heads][2][half], in cos[positions][half], in sin[positions][half], "
               "in position?[tokens], "
               "out y[tokens][heads][2][half], real direction = 1, int offset = 0, int period = 0, "
               "each tokens given position, each heads, each half")
{
    ELEMENT(i, tokens * heads, c, half)
    {
        long long t = i / heads, h = i % heads, p = POSITION(t);
        auto a = x(t, h, 0, c);
        auto b = x(t, h, 1, c);
        auto u = cos(p, c);
        auto v = sin(p, c) * direction;
        y(t, h, 0, c) = a * u - b * v;
        y(t, h, 1, c) = a * v + b * u;
    }
}

// 2 c and 2 c + 1, two tables
REFERENCE_ONCE(rope_pairs,
               "in x[tokens][heads][half][2], in cos[positions][half], in sin[positions][half], "
               "in position?[tokens], "
               "out y[tokens][heads][half][2], real direction = 1, int offset = 0, int period = 0, "
               "each tokens given position, each heads, each half")
{
    ELEMENT(i, tokens * heads, c, half)
    {
        long long t = i / heads, h = i % heads, p = POSITION(t);
        auto a = x(t, h, c, 0);
        auto b = x(t, h, c, 1);
        auto u = cos(p, c);
        auto v = sin(p, c) * direction;
        y(t, h, c, 0) = a * u - b * v;
        y(t, h, c, 1) = a * v + b * u;
    }
}

// c and c + half, one table of cosines, then sines: vLLM's rotary_embedding
REFERENCE_ONCE(rope_halves_table,
               "in x[tokens][heads][2][half], in table[positions][2][half], "
               "in position?[tokens], "
               "out y[tokens][heads][2][half], real direction = 1, int offset = 0, int period = 0, "
               "each tokens given position, each heads, each half")
{
    ELEMENT(i, tokens * heads, c, half)
    {
        long long t = i / heads, h = i % heads, p = POSITION(t);
        auto a = x(t, h, 0, c);
        auto b = x(t, h, 1, c);
        auto u = table(p, 0, c);
        auto v = table(p, 1, c) * direction;
        y(t, h, 0, c) = a * u - b * v;
        y(t, h, 1, c) = a * v + b * u;
    }
}

// 2 c and 2 c + 1, one table: the same with is_neox = false
REFERENCE_ONCE(rope_pairs_table,
               "in x[tokens][heads][half][2], in table[positions][2][half], "
               "in position?[tokens], "
               "out y[tokens][heads][half][2], real direction = 1, int offset = 0, int period = 0, "
               "each tokens given position, each heads, each half")
{
    ELEMENT(i, tokens * heads, c, half)
    {
        long long t = i / heads, h = i % heads, p = POSITION(t);
        auto a = x(t, h, c, 0);
        auto b = x(t, h, c, 1);
        auto u = table(p, 0, c);
        auto v = table(p, 1, c) * direction;
        y(t, h, c, 0) = a * u - b * v;
        y(t, h, c, 1) = a * v + b * u;
    }
}

/* Rows of a sample, for about 2^22 comparisons of n slots. */
#define ROPE_ROWS(n) ((n) > 32768 ? 128 : (n) < 1 ? 65536 : 4194304 / (n))

/* The cosine u and the sine v that turn pair c of token t, by formals of the names below. */
#define ROPE_TURN(t, c)                                                                            \
    real rate = base;                                                                              \
    real plain = position(t) * exp(NUMBER(c) * log(rate)) / factors(c);                            \
    real angle = plain * scale;                                                                    \
    real size = length;                                                                            \
    if (extrapolate.v != 0) {                                                                      \
        double span = ramp_to.v - ramp_from.v, from = c - ramp_from.v;                             \
        real part = NUMBER(from > 0 ? 0 : 1);                                                      \
        if (from > 0 && from < span)                                                               \
            part = 1 - real(NUMBER(c) - ramp_from) / span;                                         \
        real share = part * extrapolate;                                                           \
        real ratio = scale;                                                                        \
        angle = angle * (1 - share) + plain * share;                                               \
        size = size * (1 + 0.1 * log(1 / ratio));                                                  \
    }                                                                                              \
    real u = cosine(angle) * size;                                                                 \
    real v = sine(angle) * size;

// c and c + half, turned by position(t) base^c / factors(c) scale, as ggml computes them where no
// table is. With extrapolate > 0 the angle is mixed with the one that has no scale, by pairs from
// ramp_from to ramp_to, and lengths grow with the scale's logarithm: YaRN (Peng et al. 2023). 65536
// pairs.
REFERENCE_ONCE(rope_angles,
               "in x[tokens][heads][2][half], in position[tokens], in factors[half] = 1, "
               "out y[tokens][heads][2][half], real base, real scale = 1, real length = 1, "
               "real extrapolate = 0, real ramp_from = 0, real ramp_to = 0, real direction = 1, "
               "each tokens, each heads")
{
    SAMPLE(i, tokens * heads * half, 65536)
    {
        long long c = i % half, t = i / half / heads, h = i / half % heads;
        ROPE_TURN(t, c)
        v = v * direction;
        real a = x(t, h, 0, c);
        real b = x(t, h, 1, c);
        y(t, h, 0, c) = a * u - b * v;
        y(t, h, 1, c) = a * v + b * u;
    }
}

// the same, but token t goes to row slots(t) of y, none where that is negative, and the other rows
// stay: a cache of keys
REFERENCE_ONCE(rope_angles_rows,
               "in x[tokens][heads][2][half], in position[tokens], in slots[tokens], "
               "in factors[half] = 1, inout y[entries][heads][2][half], real base, real scale = 1, "
               "real length = 1, real extrapolate = 0, real ramp_from = 0, real ramp_to = 0, "
               "each heads, touch entries by slots, each tokens by slots")
{
    SAMPLE(i, tokens * heads * half, 65536)
    {
        long long c = i % half, t = i / half / heads, h = i / half % heads;
        long long slot = INDEX(slots(t));
        ROPE_TURN(t, c)
        real a = x(t, h, 0, c);
        real b = x(t, h, 1, c);
        LOOP(once, slot < 0 ? 0 : 1)
        {
            y(slot, h, 0, c) = a * u - b * v;
            y(slot, h, 1, c) = a * v + b * u;
        }
    }
    SAMPLE(i, entries * heads, ROPE_ROWS(tokens))
    {
        long long e = i / heads, h = i % heads;
        long long hits = INDEX(SUM_IF(t, tokens, INDEX(slots(t)) == e, NUMBER(1)));
        LOOP(part, hits > 0 ? 0 : 2)
        {
            EACH(c, half) y(e, h, part, c) = y.before(e, h, part, c);
        }
    }
}

/* Elements a and b of pair c of a head behind its norm: c and c + turned, or neighbours. The last
 * of an odd row is both. */
#define NORMED_PAIR(t, h, c)                                                                       \
    const bool apart = halves && c < turned;                                                       \
    const long long first = apart ? c : 2 * c;                                                     \
    const long long second = apart ? c + turned : first + 1 < cols ? first + 1 : first;            \
    real inv = rsqrt(SUM(l, cols, square(x(t, h, l))) / cols + eps);                               \
    real a = x(t, h, first) * inv * w(first);                                                      \
    real b = x(t, h, second) * inv * w(second);

/* The pair in row e of y: turned, or as it is. */
#define TURNED_PAIR(e, t, h, c)                                                                    \
    if (c < turned) {                                                                              \
        ROPE_TURN(t, c)                                                                            \
        y(e, h, first) = a * u - b * v;                                                            \
        y(e, h, second) = a * v + b * u;                                                           \
    } else {                                                                                       \
        y(e, h, first) = a;                                                                        \
        if (second != first)                                                                       \
            y(e, h, second) = b;                                                                   \
    }

/* Pairs of a sample, about 2^22 squares. */
#define NORMED_BUDGET(cols) ((cols) < 64 ? 65536 : (cols) > 16384 ? 256 : 4194304 / (cols))

// rmsnorm of each head, and then its first `turned` pairs turned as in rope_angles: c and c +
// turned with halves = 1, else 2 c and 2 c + 1. What lies behind them is not turned: ggml's fusion
// of three steps. A sample of pairs.
REFERENCE_ONCE(rmsnorm_rope,
               "in x[tokens][heads][cols], in w[cols] = 1, in position[tokens], "
               "in factors[pairs] = 1, out y[tokens][heads][cols], int turned, int halves = 1, "
               "real eps, real base, real scale = 1, real length = 1, real extrapolate = 0, "
               "real ramp_from = 0, real ramp_to = 0, each tokens, each heads")
{
    const long long all = (cols + 1) / 2;
    SAMPLE(i, tokens * heads * all, NORMED_BUDGET(cols))
    {
        long long c = i % all, t = i / all / heads, h = i / all % heads;
        NORMED_PAIR(t, h, c)
        TURNED_PAIR(t, t, h, c)
    }
}

// the same, but token t goes to row slots(t) of y, as above
REFERENCE_ONCE(rmsnorm_rope_rows,
               "in x[tokens][heads][cols], in w[cols] = 1, in position[tokens], in slots[tokens], "
               "in factors[pairs] = 1, inout y[entries][heads][cols], int turned, int halves = 1, "
               "real eps, real base, real scale = 1, real length = 1, real extrapolate = 0, "
               "real ramp_from = 0, real ramp_to = 0, each heads, touch entries by slots, "
               "each tokens by slots")
{
    const long long all = (cols + 1) / 2;
    SAMPLE(i, tokens * heads * all, NORMED_BUDGET(cols))
    {
        long long c = i % all, t = i / all / heads, h = i / all % heads;
        long long slot = INDEX(slots(t));
        NORMED_PAIR(t, h, c)
        LOOP(once, slot < 0 ? 0 : 1)
        {
            TURNED_PAIR(slot, t, h, c)
        }
    }
    SAMPLE(i, entries * heads, ROPE_ROWS(tokens))
    {
        long long e = i / heads, h = i % heads;
        long long hits = INDEX(SUM_IF(t, tokens, INDEX(slots(t)) == e, NUMBER(1)));
        EACH(c, hits > 0 || !y.before.has(e, h, cols - 1) ? 0 : cols)
        y(e, h, c) = y.before(e, h, c);
    }
}
