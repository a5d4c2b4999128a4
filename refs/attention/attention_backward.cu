/*
 * attention_backward.cu - the gradient of attention (Dao et al. 2022), from the lse of the forward
 * pass: probabilities are computed again, never stored.
 *
 *   p = exp(score - lse), dp = dy v^T, delta = the sum of dy y over a row, from y unless given,
 *   ds = p (dp - delta), times 1 - tanh(product / cap)^2 where the score is capped;
 *   dq = s ds k, dk = s ds^T q, dv = p^T dy, dbias = p (dp - delta).
 *
 * Scores, places and windows are those of attention.cu. A query without keys, whose lse is
 * -inf, has no share in any gradient. Heads of one kv head add up in dk and dv. ds, or s ds, is
 * rounded as p is: `inner` in the tolerance. `probability` is p where ds is made of it, rounded in
 * kernels that keep p in a narrow type alone; `head` is a query head's share in dk and dv, rounded
 * in those that add up the heads afterwards.
 *
 * b counts the keys of a query, or the queries of a key, of all heads that read it.
 */
#include "attention.h"

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
    const ref_sequence own(queries, keys);
    SAMPLE(item, dq.given ? batch * heads * queries * PIECES(dim) : 0, PIECE_BUDGET(keys * dim))
    {
        QUERY(item, queries, dim);
        const ref_window seen = own.seen(i, left, right, bottom);
        real sum = SUM(c, width, dy(n, i, h, c) * y(n, i, h, c));
        real own_delta = delta.given ? real(delta(n, h, i)) : sum;
        TERM(j, b, seen.first + b);
        TERM(product, b, DOT(l, dim, q(n, i, h, l) * k(n, j(b), g, l)) * scale);
        TERM(capped, b, CAPPED(product(b)));
        TERM(score, b, bias.given ? capped(b) + bias(n, h, i, j(b)) : capped(b));
        TERM(p, b, PROBABILITY(score(b), lse(n, h, i)));
        TERM(dp, b, DOT(c, width, dy(n, i, h, c) * v(n, j(b), g, c)));
        TERM(ds, b, UNCAPPED(probability(p(b)) * (dp(b) - own_delta), product(b)));
        auto ds_k = MIX(CHANNELS, b, seen.count, ds(b) * SCALE_BEFORE, c, PIECE(dim, from),
                        k(n, j(b), g, from + c));
        LOOP(c, PIECE(dim, from)) dq(n, i, h, from + c) = ds_k[c] * SCALE_BEHIND;
    }
    SAMPLE(item, dk.given || dv.given ? batch * kv_heads * keys * PIECES(WIDER) : 0,
           PIECE_BUDGET(queries * SHARE * dim))
    {
        KEY(item, keys, WIDER);
        const ref_window by = own.seeing(j, left, right, bottom);
        const long long k_columns = PIECE_OF(dk, dim, from), v_columns = PIECE_OF(dv, width, from);
        real sum_k[CHANNELS], sum_v[CHANNELS];
        LOOP(c, CHANNELS) sum_k[c] = sum_v[c] = real(0.0);
        REPEAT(o, SHARE)
        {
            const long long h = g * SHARE + o;
            TERM(i, b, by.first + b);
            TERM(product, b, DOT(l, dim, q(n, i(b), h, l) * k(n, j, g, l)) * scale);
            TERM(capped, b, CAPPED(product(b)));
            TERM(score, b, bias.given ? capped(b) + bias(n, h, i(b), j) : capped(b));
            TERM(p, b, PROBABILITY(score(b), lse(n, h, i(b))));
            TERM(dp, b, DOT(c, width, dy(n, i(b), h, c) * v(n, j, g, c)));
            TERM(sum, b, DOT(c, width, dy(n, i(b), h, c) * y(n, i(b), h, c)));
            TERM(own_delta, b, delta.given ? real(delta(n, h, i(b))) : sum(b));
            TERM(ds, b, UNCAPPED(probability(p(b)) * (dp(b) - own_delta(b)), product(b)));
            auto ds_q = MIX(CHANNELS, b, k_columns > 0 ? by.count : 0, ds(b) * SCALE_BEFORE, c,
                            k_columns, q(n, i(b), h, from + c));
            auto p_dy = MIX(CHANNELS, b, v_columns > 0 ? by.count : 0, p(b), c, v_columns,
                            dy(n, i(b), h, from + c));
            LOOP(c, k_columns) sum_k[c] = sum_k[c] + head(ds_q[c] * SCALE_BEHIND);
            LOOP(c, v_columns) sum_v[c] = sum_v[c] + head(p_dy[c]);
        }
        LOOP(c, k_columns) dk(n, j, g, from + c) = sum_k[c];
        LOOP(c, v_columns) dv(n, j, g, from + c) = sum_v[c];
    }
    SAMPLE(item, dbias.given ? batch * heads * queries * keys : 0, PIECE_BUDGET(dim + 2 * width))
    {
        const long long row = item / keys, n = row / queries / heads, h = row / queries % heads;
        const long long g = h / SHARE, i = row % queries, j = item % keys;
        real capped = CAPPED(DOT(l, dim, q(n, i, h, l) * k(n, j, g, l)) * scale);
        real score = bias.given ? capped + bias(n, h, i, j) : capped;
        real p = PROBABILITY(score, lse(n, h, i));
        real dp = DOT(c, width, dy(n, i, h, c) * v(n, j, g, c));
        real sum = DOT(c, width, dy(n, i, h, c) * y(n, i, h, c));
        real own_delta = delta.given ? real(delta(n, h, i)) : sum;
        const bool seen = own.seen(i, left, right, bottom).has(j);
        dbias(n, h, i, j) = seen ? probability(p) * (dp - own_delta) : real(0.0);
    }
}

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
    SAMPLE(item, dq.given ? batch * heads * queries * PIECES(dim) : 0, PIECE_BUDGET(keys * dim))
    {
        QUERY(item, queries, dim);
        const ref_sequence own(INDEX(lengths(n)), INDEX(key_lengths(n)));
        const ref_window seen = own.seen(i, left, right, bottom);
        real delta = SUM(c, width, dy(n, i, h, c) * y(n, i, h, c));
        TERM(j, b, seen.first + b);
        TERM(product, b, DOT(l, dim, q(n, i, h, l) * k(n, j(b), g, l)) * scale);
        TERM(score, b, bias.given ? product(b) + bias(n, h, i, j(b)) : product(b));
        TERM(p, b, PROBABILITY(score(b), lse(n, h, i)));
        TERM(dp, b, DOT(c, width, dy(n, i, h, c) * v(n, j(b), g, c)));
        TERM(ds, b, p(b) * (dp(b) - delta));
        auto ds_k = MIX(CHANNELS, b, seen.count, ds(b) * SCALE_BEFORE, c, PIECE(dim, from),
                        k(n, j(b), g, from + c));
        LOOP(c, i < own.queries ? PIECE(dim, from) : 0)
        dq(n, i, h, from + c) = ds_k[c] * SCALE_BEHIND;
    }
    SAMPLE(item, dk.given || dv.given ? batch * kv_heads * keys * PIECES(WIDER) : 0,
           PIECE_BUDGET(queries * SHARE * dim))
    {
        KEY(item, keys, WIDER);
        const ref_sequence own(INDEX(lengths(n)), INDEX(key_lengths(n)));
        const ref_window by = own.seeing(j, left, right, bottom);
        TERM(i, b, by.first + b % by.count);
        TERM(h, b, g * SHARE + b / by.count);
        TERM(product, b, DOT(l, dim, q(n, i(b), h(b), l) * k(n, j, g, l)) * scale);
        TERM(score, b, bias.given ? product(b) + bias(n, h(b), i(b), j) : product(b));
        TERM(p, b, PROBABILITY(score(b), lse(n, h(b), i(b))));
        TERM(dp, b, DOT(c, width, dy(n, i(b), h(b), c) * v(n, j, g, c)));
        TERM(delta, b, DOT(c, width, dy(n, i(b), h(b), c) * y(n, i(b), h(b), c)));
        TERM(ds, b, p(b) * (dp(b) - delta(b)));
        const long long k_columns = j < own.keys ? PIECE_OF(dk, dim, from) : 0;
        auto ds_q = MIX(CHANNELS, b, k_columns > 0 ? SHARE * by.count : 0, ds(b) * SCALE_BEFORE, c,
                        k_columns, q(n, i(b), h(b), from + c));
        LOOP(c, k_columns) dk(n, j, g, from + c) = ds_q[c] * SCALE_BEHIND;
        const long long v_columns = j < own.keys ? PIECE_OF(dv, width, from) : 0;
        auto p_dy = MIX(CHANNELS, b, v_columns > 0 ? SHARE * by.count : 0, p(b), c, v_columns,
                        dy(n, i(b), h(b), from + c));
        LOOP(c, v_columns) dv(n, j, g, from + c) = p_dy[c];
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
    TERM(start, s, INDEX(starts(s)));
    TERM(key_start, s, INDEX(key_starts(s)));
    SAMPLE(item, dq.given ? tokens * heads * PIECES(dim) : 0, PIECE_BUDGET(rows * dim))
    {
        QUERY(item, 1, dim);
        const ref_sequence own(SEQUENCE(start, n), bounds, start, key_start);
        const ref_window seen = own.seen(n, left, right, bottom);
        real sum = SUM(c, width, dy(n, h, c) * y(n, h, c));
        real own_delta = delta.given ? real(delta(h, n)) : sum;
        TERM(j, b, seen.first + b);
        TERM(product, b, DOT(l, dim, q(n, h, l) * k(j(b), g, l)) * scale);
        TERM(p, b, PROBABILITY(CAPPED(product(b)), lse(h, n)));
        TERM(dp, b, DOT(c, width, dy(n, h, c) * v(j(b), g, c)));
        TERM(ds, b, UNCAPPED(probability(p(b)) * (dp(b) - own_delta), product(b)));
        auto ds_k = MIX(CHANNELS, b, seen.count, ds(b) * SCALE_BEFORE, c, PIECE(dim, from),
                        k(j(b), g, from + c));
        LOOP(c, own.inside ? PIECE(dim, from) : 0) dq(n, h, from + c) = ds_k[c] * SCALE_BEHIND;
    }
    SAMPLE(item, dk.given || dv.given ? rows * kv_heads * PIECES(WIDER) : 0,
           PIECE_BUDGET(tokens * SHARE * dim))
    {
        KEY(item, 1, WIDER);
        const ref_sequence own(SEQUENCE(key_start, n), bounds, start, key_start);
        const ref_window by = own.seeing(n, left, right, bottom);
        TERM(i, b, by.first + b % by.count);
        TERM(h, b, g * SHARE + b / by.count);
        TERM(product, b, DOT(l, dim, q(i(b), h(b), l) * k(n, g, l)) * scale);
        TERM(p, b, PROBABILITY(CAPPED(product(b)), lse(h(b), i(b))));
        TERM(dp, b, DOT(c, width, dy(i(b), h(b), c) * v(n, g, c)));
        TERM(sum, b, DOT(c, width, dy(i(b), h(b), c) * y(i(b), h(b), c)));
        TERM(own_delta, b, delta.given ? real(delta(h(b), i(b))) : sum(b));
        TERM(ds, b, UNCAPPED(probability(p(b)) * (dp(b) - own_delta(b)), product(b)));
        const long long k_columns = own.inside ? PIECE_OF(dk, dim, from) : 0;
        auto ds_q = MIX(CHANNELS, b, k_columns > 0 ? SHARE * by.count : 0, ds(b) * SCALE_BEFORE, c,
                        k_columns, q(i(b), h(b), from + c));
        LOOP(c, k_columns) dk(n, g, from + c) = ds_q[c] * SCALE_BEHIND;
        const long long v_columns = own.inside ? PIECE_OF(dv, width, from) : 0;
        auto p_dy = MIX(CHANNELS, b, v_columns > 0 ? SHARE * by.count : 0, p(b), c, v_columns,
                        dy(i(b), h(b), from + c));
        LOOP(c, v_columns) dv(n, g, from + c) = p_dy[c];
    }
}
