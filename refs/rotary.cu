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
        real rate = base;
        real plain = position(t) * exp(NUMBER(c) * log(rate)) / factors(c);
        real angle = plain * scale;
        real size = length;
        if (extrapolate.v != 0) {
            double span = ramp_to.v - ramp_from.v, from = c - ramp_from.v;
            real part = NUMBER(from > 0 ? 0 : 1);
            if (from > 0 && from < span)
                part = 1 - real(NUMBER(c) - ramp_from) / span;
            real share = part * extrapolate;
            real ratio = scale;
            angle = angle * (1 - share) + plain * share;
            size = size * (1 + 0.1 * log(1 / ratio));
        }
        real u = cosine(angle) * size;
        real v = sine(angle) * size * direction;
        real a = x(t, h, 0, c);
        real b = x(t, h, 1, c);
        y(t, h, 0, c) = a * u - b * v;
        y(t, h, 1, c) = a * v + b * u;
    }
}
