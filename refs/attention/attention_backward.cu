/*
 * attention_backward.cu - the gradient of attention (Dao et al. 2022), from the lse of the forward
 * pass: probabilities are computed again, never stored.
 *
 *   p = exp(score - lse), t = p (dy v^T - delta), delta = the sum of dy y over a row, from y unless
 *   given; dv = p^T dy, dq = s w k, dk = s w^T q, dbias = t, where w is t, or
 *   t (1 - tanh(product / cap)^2) where the score is capped.
 *
 * Scores, places and windows are those of attention.cu. A query without keys, whose lse is
 * -inf, has no share in any gradient. Heads of one kv head add up in dk and dv. t, or s t, is
 * rounded as p is: `inner` in the tolerance. `probability` is p where t is made of it, rounded in
 * kernels that keep p in a narrow type alone; `head` is a query head's share in dk and dv, rounded
 * in those that add up the heads afterwards.
 */
#include "ref.h"

/* The terms of b: query i and head h against key j and head g, which may be terms themselves. `of`
 * is what stands before them: BATCHED or nothing. Of the score itself: */
#define BATCHED n,
#define SCORE_TERMS(of, b, i, h, j, g)                                                             \
    TERM(product, b, DOT(l, dim, q(of i, h, l) * k(of j, g, l)) * scale);                          \
    TERM(bend, b, tanh(product(b) / softcap));                                                     \
    TERM(capped, b, softcap.v == 0 ? product(b) : bend(b) * softcap)
/* and of what follows from `score`: */
#define GRADIENT_TERMS(of, b, i, h, j, g, slope)                                                   \
    TERM(p, b, lse(of h, i).value(0) < -1e300 ? real(0.0) : exp(score(b) - lse(of h, i)));         \
    TERM(change, b, DOT(c, width, dy(of i, h, c) * v(of j, g, c)) - slope);                        \
    TERM(t, b, probability(p(b)) * change(b));                                                     \
    TERM(weight, b, softcap.v == 0 ? t(b) : t(b) * (1 - square(bend(b))))
/* Kernels round t or s t to a narrow type. f16's numbers below 2^-14 lose the more of what is
 * smaller, so that is taken: t FACTOR is summed, and the sum times REST is that of s t. */
#define SHRINKS (scale.v * scale.v < 1)
#define FACTOR  (SHRINKS ? real(1.0) * scale : real(1.0))
#define REST    (SHRINKS ? real(1.0) : real(1.0) * scale)
/* One lane's own delta of query i and head h. */
#define SLOPE(of, i, h)                                                                            \
    (delta.given ? real(delta(of h, i)) : DOT(c, width, dy(of i, h, c) * y(of i, h, c)))

// the gradient of `attention`; of a key all queries that see it, of all heads that read it, count
REFERENCE_ONCE(attention_backward,
               "in q[batch][queries][heads][dim], in k[batch][keys][kv_heads][dim], "
               "in v[batch][keys][kv_heads][width], in dy[batch][queries][heads][width], "
               "in lse[batch][heads][queries], in y?[batch][queries][heads][width], "
               "in delta?[batch][heads][queries], in bias?[batch][heads][queries][keys], "
               "out dq?[batch][queries][heads][dim], out dk?[batch][keys][kv_heads][dim], "
               "out dv?[batch][keys][kv_heads][width], out dbias?[batch][heads][queries][keys], "
               "real scale, real softcap = 0, int left = -1, int right = -1, int bottom = 1, "
               "point probability, point head, each batch, each kv_heads with heads")
{
    long long shift = bottom ? keys - queries : 0, share = heads / (kv_heads > 0 ? kv_heads : 1);
    SAMPLE(item, dq.given ? batch * heads * queries * PIECES(dim) : 0, PIECE_BUDGET(keys * dim))
    {
        QUERY(item, queries, dim);
        ref_window seen(i + shift, keys, left, right);
        real slope = SUM(c, width, dy(n, i, h, c) * y(n, i, h, c));
        slope = delta.given ? real(delta(n, h, i)) : slope;
        TERM(j, b, b + seen.first);
        SCORE_TERMS(BATCHED, b, i, h, j(b), g);
        TERM(score, b, bias.given ? capped(b) + bias(n, h, i, j(b)) : capped(b));
        GRADIENT_TERMS(BATCHED, b, i, h, j(b), g, slope);
        auto mixed = MIX(CHANNELS, b, seen.count, weight(b) * FACTOR, c, PIECE(dim, from),
                         k(n, j(b), g, from + c));
        LOOP(c, PIECE(dim, from)) dq(n, i, h, from + c) = mixed[c] * REST;
    }
    long long most = PIECES(dim) > PIECES(width) ? PIECES(dim) : PIECES(width);
    SAMPLE(item, dk.given || dv.given ? batch * kv_heads * keys * most : 0,
           PIECE_BUDGET(queries * share * dim))
    {
        long long row = item / most, from = item % most * CHANNELS;
        long long n = row / keys / kv_heads, g = row / keys % kv_heads, j = row % keys;
        ref_window by(j - shift, queries, right, left);
        long long wide_k = dk.given && from < dim ? PIECE(dim, from) : 0;
        long long wide_v = dv.given && from < width ? PIECE(width, from) : 0;
        real sum_k[CHANNELS], sum_v[CHANNELS];
        LOOP(c, CHANNELS) sum_k[c] = sum_v[c] = real(0.0);
        LOOP(o, share)
        {
            long long h = g * share + o;
            TERM(i, b, by.first + b);
            SCORE_TERMS(BATCHED, b, i(b), h, j, g);
            TERM(score, b, bias.given ? capped(b) + bias(n, h, i(b), j) : capped(b));
            GRADIENT_TERMS(BATCHED, b, i(b), h, j, g, SLOPE(BATCHED, i(b), h));
            auto pulled = MIX(CHANNELS, b, wide_k > 0 ? by.count : 0, weight(b) * FACTOR, c, wide_k,
                              q(n, i(b), h, from + c));
            auto mixed = MIX(CHANNELS, b, wide_v > 0 ? by.count : 0, p(b), c, wide_v,
                             dy(n, i(b), h, from + c));
            LOOP(c, wide_k) sum_k[c] = sum_k[c] + head(pulled[c] * REST);
            LOOP(c, wide_v) sum_v[c] = sum_v[c] + head(mixed[c]);
        }
        LOOP(c, wide_k) dk(n, j, g, from + c) = sum_k[c];
        LOOP(c, wide_v) dv(n, j, g, from + c) = sum_v[c];
    }
    SAMPLE(item, dbias.given ? batch * heads * queries * keys : 0, PIECE_BUDGET(dim + 2 * width))
    {
        long long row = item / keys, n = row / queries / heads;
        long long h = row / queries % heads, i = row % queries, j = item % keys;
        ref_window seen(i + shift, keys, left, right);
        SCORE_TERMS(BATCHED, b, i, h, b, h / share);
        TERM(score, b, bias.given ? capped(b) + bias(n, h, i, b) : capped(b));
        GRADIENT_TERMS(BATCHED, b, i, h, b, h / share, SLOPE(BATCHED, i, h));
        bool inside = j >= seen.first && j < seen.first + seen.count;
        dbias(n, h, i, j) = inside ? t(j) : real(0.0);
    }
}

/* The terms of b where no score is capped. */
#define PADDED_TERMS(b, i, h, j, g, slope)                                                         \
    TERM(product, b, DOT(l, dim, q(n, i, h, l) * k(n, j, g, l)) * scale);                          \
    TERM(score, b, bias.given ? product(b) + bias(n, h, i, j) : product(b));                       \
    TERM(p, b, lse(n, h, i).value(0) < -1e300 ? real(0.0) : exp(score(b) - lse(n, h, i)));         \
    TERM(change, b, DOT(c, width, dy(n, i, h, c) * v(n, j, g, c)) - slope);                        \
    TERM(t, b, p(b) * change(b))

// the gradient of `attention_lengths`: rows behind a sequence's last query or key are not judged
REFERENCE_ONCE(attention_lengths_backward,
               "in q[batch][queries][heads][dim], in k[batch][keys][kv_heads][dim], "
               "in v[batch][keys][kv_heads][width], in dy[batch][queries][heads][width], "
               "in lengths[batch], in key_lengths[batch], in lse[batch][heads][queries], "
               "in y[batch][queries][heads][width], in bias?[batch][heads][queries][keys], "
               "out dq?[batch][queries][heads][dim], out dk?[batch][keys][kv_heads][dim], "
               "out dv?[batch][keys][kv_heads][width], real scale, int left = -1, "
               "int right = -1, int bottom = 1, each batch, each kv_heads with heads")
{
    const long long share = heads / (kv_heads > 0 ? kv_heads : 1);
    SAMPLE(item, dq.given ? batch * heads * queries * PIECES(dim) : 0, PIECE_BUDGET(keys * dim))
    {
        QUERY(item, queries, dim);
        long long own = INDEX(lengths(n)), there = INDEX(key_lengths(n));
        ref_window seen(bottom ? i + there - own : i, there, left, right);
        real slope = SUM(c, width, dy(n, i, h, c) * y(n, i, h, c));
        TERM(j, b, b + seen.first);
        PADDED_TERMS(b, i, h, j(b), g, slope);
        auto mixed = MIX(CHANNELS, b, seen.count, t(b) * FACTOR, c, PIECE(dim, from),
                         k(n, j(b), g, from + c));
        LOOP(c, i < own ? PIECE(dim, from) : 0) dq(n, i, h, from + c) = mixed[c] * REST;
    }
    long long most = PIECES(dim) > PIECES(width) ? PIECES(dim) : PIECES(width);
    SAMPLE(item, dk.given || dv.given ? batch * kv_heads * keys * most : 0,
           PIECE_BUDGET(queries * share * dim))
    {
        long long row = item / most, from = item % most * CHANNELS;
        long long n = row / keys / kv_heads, g = row / keys % kv_heads, j = row % keys;
        long long own = INDEX(lengths(n)), there = INDEX(key_lengths(n));
        ref_window by(bottom ? j - there + own : j, own, right, left);
        TERM(i, b, by.first + b % by.count);
        TERM(h, b, g * share + b / by.count);
        PADDED_TERMS(b, i(b), h(b), j, g,
                     DOT(c, width, dy(n, i(b), h(b), c) * y(n, i(b), h(b), c)));
        long long wide = j < there && dk.given && from < dim ? PIECE(dim, from) : 0;
        auto pulled = MIX(CHANNELS, b, wide > 0 ? share * by.count : 0, t(b) * FACTOR, c, wide,
                          q(n, i(b), h(b), from + c));
        LOOP(c, wide) dk(n, j, g, from + c) = pulled[c] * REST;
        wide = j < there && dv.given && from < width ? PIECE(width, from) : 0;
        auto mixed = MIX(CHANNELS, b, wide > 0 ? share * by.count : 0, p(b), c, wide,
                         dy(n, i(b), h(b), from + c));
        LOOP(c, wide) dv(n, j, g, from + c) = mixed[c];
    }
}

// the gradient of `attention_varlen`: sequences one behind the other, s from starts(s) to
// starts(s + 1), lse and delta as [heads][tokens]: FlashAttention's varlen functions
REFERENCE_ONCE(attention_varlen_backward,
               "in q[tokens][heads][dim], in k[rows][kv_heads][dim], in v[rows][kv_heads][width], "
               "in dy[tokens][heads][width], in starts[bounds], in key_starts[bounds], "
               "in lse[heads][tokens], in y?[tokens][heads][width], in delta?[heads][tokens], "
               "out dq?[tokens][heads][dim], out dk?[rows][kv_heads][dim], "
               "out dv?[rows][kv_heads][width], real scale, real softcap = 0, int left = -1, "
               "int right = -1, int bottom = 1, point probability, each kv_heads with heads")
{
    long long share = heads / (kv_heads > 0 ? kv_heads : 1);
    SAMPLE(item, dq.given ? tokens * heads * PIECES(dim) : 0, PIECE_BUDGET(rows * dim))
    {
        QUERY(item, 1, dim);
        ref_sequence own(SEQUENCE(starts, n), bounds, starts, key_starts);
        long long shift = bottom ? own.keys - own.queries : 0;
        ref_window seen(n - own.query + shift, own.keys, left, right);
        real slope = SUM(c, width, dy(n, h, c) * y(n, h, c));
        slope = delta.given ? real(delta(h, n)) : slope;
        TERM(j, b, own.key + seen.first + b);
        SCORE_TERMS(, b, n, h, j(b), g);
        TERM(score, b, capped(b));
        GRADIENT_TERMS(, b, n, h, j(b), g, slope);
        auto mixed = MIX(CHANNELS, b, seen.count, weight(b) * FACTOR, c, PIECE(dim, from),
                         k(j(b), g, from + c));
        LOOP(c, own.inside ? PIECE(dim, from) : 0) dq(n, h, from + c) = mixed[c] * REST;
    }
    long long most = PIECES(dim) > PIECES(width) ? PIECES(dim) : PIECES(width);
    SAMPLE(item, dk.given || dv.given ? rows * kv_heads * most : 0,
           PIECE_BUDGET(tokens * share * dim))
    {
        long long row = item / most, from = item % most * CHANNELS;
        long long j = row / kv_heads, g = row % kv_heads;
        ref_sequence own(SEQUENCE(key_starts, j), bounds, starts, key_starts);
        long long shift = bottom ? own.keys - own.queries : 0;
        ref_window by(j - own.key - shift, own.queries, right, left);
        TERM(i, b, own.query + by.first + b % by.count);
        TERM(h, b, g * share + b / by.count);
        SCORE_TERMS(, b, i(b), h(b), j, g);
        TERM(score, b, capped(b));
        GRADIENT_TERMS(, b, i(b), h(b), j, g, SLOPE(, i(b), h(b)));
        long long wide = own.inside && dk.given && from < dim ? PIECE(dim, from) : 0;
        auto pulled = MIX(CHANNELS, b, wide > 0 ? share * by.count : 0, weight(b) * FACTOR, c, wide,
                          q(i(b), h(b), from + c));
        LOOP(c, wide) dk(j, g, from + c) = pulled[c] * REST;
        wide = own.inside && dv.given && from < width ? PIECE(width, from) : 0;
        auto mixed = MIX(CHANNELS, b, wide > 0 ? share * by.count : 0, p(b), c, wide,
                         dy(i(b), h(b), from + c));
        LOOP(c, wide) dv(j, g, from + c) = mixed[c];
    }
}
