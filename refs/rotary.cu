/*
 * rotary.cu - rotary position embedding: pairs of a head's elements are turned by an angle that
 * grows with the token's position (Su et al. 2021).
 *
 * A pair (a, b) becomes (a cos - b sin, a sin + b cos). Which elements make a pair differs: c and
 * c + half (GPT-NeoX, Hugging Face), or 2 c and 2 c + 1 (the paper, GPT-J). Cosines and sines come
 * from two tables or from one, a row for each position; a token's position is read from `position`
 * or is its own index. direction = -1 turns back, which is the gradient. Elements of a head behind
 * the turned ones stay out by way of strides.
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
