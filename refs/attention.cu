/*
 * attention.cu - scaled dot product attention: y = softmax(score) v, score = s q k^T (Vaswani et
 * al. 2017), never written as a matrix.
 *
 * score(i, j) = s (q(i) k(j)), capped at first to cap tanh(score / cap) where softcap is given
 * (Gemma 2). Query i stands at place i + keys - queries among the keys, so that the last of both
 * face each other (FlashAttention from 2.1 on), or with bottom = 0 at place i (torch's is_causal);
 * it sees the keys from `left` places before to `right` places after its own, -1 for all of them:
 * right = 0 is causal. Head h reads the keys of head h kv_heads / heads. lse = ln(sum(exp(score))).
 * A query that sees nothing gets zeros, and `empty` for its lse (+inf in FlashAttention 2).
 *
 * Arrays are [batch][time][heads][dim]; torch's [batch][heads][time][dim] is said by strides.
 * Tensor cores want the probabilities rounded to the inputs' dtype, before they are divided by
 * their sum: MIX's rounding point, `inner` in the tolerance. tanh.approx is not within the bound.
 *
 * A seeded sample of pieces of CHANNELS elements of y, each with scores of its own: about 2^26
 * multiplications a pass, but 16 pieces at least.
 */
#include "ref.h"

#define CHANNELS            8
#define PIECES(width)       (((width) + CHANNELS - 1) / CHANNELS)
#define PIECE(width, from)  ((width) - (from) < CHANNELS ? (width) - (from) : CHANNELS)
#define PIECE_BUDGET(score) ((score) > 4194304 ? 16 : 67108864 / ((score) + 1))

#ifndef REFS_ATTENTION_WINDOW
#define REFS_ATTENTION_WINDOW
/* Those of `there` places which one at place `at` sees, from `before` it to `after` it. */
struct ref_window {
    long long first, count;

    REF_FN ref_window(long long at, long long there, long long before, long long after)
    {
        first = before < 0 || before >= at ? 0 : at - before;
        long long end = after < 0 || after >= there - at ? there : at + after + 1;
        count = end > first ? end - first : 0;
    }
};
#endif

// batch after batch; `bias` is added to the scores: ALiBi, or a mask of 0 and -inf
REFERENCE_ONCE(attention,
               "in bias?[batch][heads][queries][keys], in q[batch][queries][heads][dim], "
               "in k[batch][keys][kv_heads][dim], in v[batch][keys][kv_heads][width], "
               "out y[batch][queries][heads][width], out lse?[batch][heads][queries], "
               "real scale, real softcap = 0, real empty = -inf, "
               "int left = -1, int right = -1, int bottom = 1, each batch, each width")
{
    SAMPLE(item, batch * heads * queries * PIECES(width), PIECE_BUDGET(keys * dim))
    {
        long long row = item / PIECES(width), from = item % PIECES(width) * CHANNELS;
        long long n = row / queries / heads, h = row / queries % heads, i = row % queries;
        long long g = h * kv_heads / heads;
        ref_window seen(bottom ? i + keys - queries : i, keys, left, right);
        TERM(product, j, DOT(l, dim, q(n, i, h, l) * k(n, j, g, l)) * scale);
        TERM(capped, j, softcap.v == 0 ? product(j) : tanh(product(j) / softcap) * softcap);
        TERM(score, j, bias.given ? capped(j) + bias(n, h, i, j) : capped(j));
        real most = MAX_IF(j, seen.count, true, score(j + seen.first));
        real m = exactly(where(abs(most) < 1e300, most, 0));
        auto mixed = MIX(CHANNELS, j, seen.count, exp(score(j + seen.first) - m), c,
                         PIECE(width, from), v(n, j + seen.first, g, from + c));
        bool nothing = most.value(0) < -1e300;
        LOOP(c, PIECE(width, from))
        y(n, i, h, from + c) = nothing ? real(0.0) : mixed[c] / mixed.total();
        if (lse.given && from == 0)
            lse(n, h, i) = nothing ? real(empty) : m + log(mixed.total());
    }
}

// sequences of any lengths one behind the other, sequence s from starts(s) to starts(s + 1):
// FlashAttention's varlen functions, cu_seqlens_q and cu_seqlens_k
REFERENCE_ONCE(attention_varlen,
               "in q[tokens][heads][dim], in k[rows][kv_heads][dim], in v[rows][kv_heads][width], "
               "in starts[bounds], in key_starts[bounds], "
               "out y[tokens][heads][width], out lse?[heads][tokens], "
               "real scale, real softcap = 0, real empty = -inf, "
               "int left = -1, int right = -1, int bottom = 1, each width")
{
    SAMPLE(item, tokens * heads * PIECES(width), PIECE_BUDGET(rows * dim))
    {
        long long row = item / PIECES(width), from = item % PIECES(width) * CHANNELS;
        long long t = row / heads, h = row % heads, g = h * kv_heads / heads;
        long long s = INDEX(SUM_IF(b, bounds, INDEX(starts(b)) <= t, NUMBER(1))) - 1;
        bool inside = s >= 0 && s + 1 < bounds; /* padding behind the last one is not judged */
        long long last = inside ? s + 1 : 0, before = inside ? s : 0;
        long long queries = INDEX(starts(last)) - INDEX(starts(before));
        long long base = INDEX(key_starts(before)), keys = INDEX(key_starts(last)) - base;
        long long i = t - INDEX(starts(before));
        ref_window seen(bottom ? i + keys - queries : i, keys, left, right);
        base = base + seen.first;
        TERM(product, j, DOT(l, dim, q(t, h, l) * k(j + base, g, l)) * scale);
        TERM(score, j, softcap.v == 0 ? product(j) : tanh(product(j) / softcap) * softcap);
        real most = MAX_IF(j, seen.count, true, score(j));
        real m = exactly(where(abs(most) < 1e300, most, 0));
        auto mixed = MIX(CHANNELS, j, seen.count, exp(score(j) - m), c, PIECE(width, from),
                         v(j + base, g, from + c));
        bool nothing = most.value(0) < -1e300;
        LOOP(c, inside ? PIECE(width, from) : 0)
        y(t, h, from + c) = nothing ? real(0.0) : mixed[c] / mixed.total();
        if (lse.given && inside && from == 0)
            lse(h, t) = nothing ? real(empty) : m + log(mixed.total());
    }
}

// keys and values in pages: key j of sequence n is in page table(n, j / page), of lengths(n) keys,
// the last of which belong to the queries: FlashAttention's flash_attn_with_kvcache, vLLM's v1
REFERENCE_ONCE(attention_paged,
               "in q[batch][queries][heads][dim], in k[blocks][page][kv_heads][dim], "
               "in v[blocks][page][kv_heads][width], in table[batch][pages], in lengths[batch], "
               "out y[batch][queries][heads][width], out lse?[batch][heads][queries], "
               "real scale, real softcap = 0, real empty = -inf, int left = -1, int right = 0, "
               "each batch, each width, touch blocks by table")
{
    SAMPLE(item, page > 0 ? batch * heads * queries * PIECES(width) : 0,
           PIECE_BUDGET(pages * page * dim))
    {
        long long row = item / PIECES(width), from = item % PIECES(width) * CHANNELS;
        long long n = row / queries / heads, h = row / queries % heads, i = row % queries;
        long long g = h * kv_heads / heads, keys = INDEX(lengths(n));
        ref_window seen(i + keys - queries, keys, left, right);
        TERM(place, j, INDEX(table(n, (j + seen.first) / page)));
        TERM(slot, j, (j + seen.first) % page);
        TERM(product, j, DOT(l, dim, q(n, i, h, l) * k(place(j), slot(j), g, l)) * scale);
        TERM(score, j, softcap.v == 0 ? product(j) : tanh(product(j) / softcap) * softcap);
        real most = MAX_IF(j, seen.count, true, score(j));
        real m = exactly(where(abs(most) < 1e300, most, 0));
        auto mixed = MIX(CHANNELS, j, seen.count, exp(score(j) - m), c, PIECE(width, from),
                         v(place(j), slot(j), g, from + c));
        bool nothing = most.value(0) < -1e300;
        LOOP(c, PIECE(width, from))
        y(n, i, h, from + c) = nothing ? real(0.0) : mixed[c] / mixed.total();
        if (lse.given && from == 0)
            lse(n, h, i) = nothing ? real(empty) : m + log(mixed.total());
    }
}

// one query a sequence, keys in pages as [dim / x][page][x], values as [dim][page]: vLLM's
// paged_attention_v1, whose x elements are 16 bytes; inner = page x
REFERENCE_ONCE(attention_paged_split,
               "in q[batch][heads][dim], in k[blocks][kv_heads][chunks][inner], "
               "in v[blocks][kv_heads][width][page], in table[batch][pages], in lengths[batch], "
               "out y[batch][heads][width], real scale, real softcap = 0, each batch, each width, "
               "touch blocks by table")
{
    long long x = page > 0 ? inner / page : 0;
    SAMPLE(item, x > 0 ? batch * heads * PIECES(width) : 0, PIECE_BUDGET(pages * page * dim))
    {
        long long row = item / PIECES(width), from = item % PIECES(width) * CHANNELS;
        long long n = row / heads, h = row % heads, g = h * kv_heads / heads;
        long long keys = INDEX(lengths(n));
        TERM(place, j, INDEX(table(n, j / page)));
        TERM(product, j,
             SUM(l, dim, q(n, h, l) * k(place(j), g, l / x, j % page * x + l % x)) * scale);
        TERM(score, j, softcap.v == 0 ? product(j) : tanh(product(j) / softcap) * softcap);
        real m = exactly(MAX_IF(j, keys, true, score(j)));
        auto mixed = MIX(CHANNELS, j, keys, exp(score(j) - m), c, PIECE(width, from),
                         v(place(j), g, from + c, j % page));
        LOOP(c, PIECE(width, from))
        y(n, h, from + c) = keys == 0 ? real(0.0) : mixed[c] / mixed.total();
    }
}

// p = exp(score - lse), t = p (dy v^T - delta) and, where capped, times 1 - (score / cap)^2:
// dv = p^T dy, dq = s t k, dk = s t^T q, delta = the sum of dy y over a row, from y unless given
// (Dao et al. 2022). Heads of one kv head add up in dk and dv. t is rounded as p is.
REFERENCE_ONCE(attention_backward,
               "in q[batch][queries][heads][dim], in k[batch][keys][kv_heads][dim], "
               "in v[batch][keys][kv_heads][width], in dy[batch][queries][heads][width], "
               "in lse[batch][heads][queries], in y?[batch][queries][heads][width], "
               "in delta?[batch][heads][queries], out dq?[batch][queries][heads][dim], "
               "out dk?[batch][keys][kv_heads][dim], out dv?[batch][keys][kv_heads][width], "
               "real scale, real softcap = 0, int left = -1, int right = -1, int bottom = 1, "
               "each batch")
{
    long long shift = bottom ? keys - queries : 0, share = heads / (kv_heads > 0 ? kv_heads : 1);
    SAMPLE(item, dq.given ? batch * heads * queries * PIECES(dim) : 0, PIECE_BUDGET(keys * dim))
    {
        long long row = item / PIECES(dim), from = item % PIECES(dim) * CHANNELS;
        long long n = row / queries / heads, h = row / queries % heads, i = row % queries;
        long long g = h / share;
        ref_window seen(i + shift, keys, left, right);
        real slope = SUM(c, width, dy(n, i, h, c) * y(n, i, h, c));
        slope = delta.given ? real(delta(n, h, i)) : slope;
        TERM(product, j, DOT(l, dim, q(n, i, h, l) * k(n, j, g, l)) * scale);
        TERM(bend, j, tanh(product(j) / softcap));
        TERM(score, j, softcap.v == 0 ? product(j) : bend(j) * softcap);
        TERM(change, j, DOT(c, width, dy(n, i, h, c) * v(n, j, g, c)) - slope);
        TERM(t, j, exp(score(j) - lse(n, h, i)) * change(j));
        TERM(weight, j, softcap.v == 0 ? t(j) : t(j) * (1 - square(bend(j))));
        auto mixed = MIX(CHANNELS, j, seen.count, weight(j + seen.first), c, PIECE(dim, from),
                         k(n, j + seen.first, g, from + c));
        LOOP(c, PIECE(dim, from)) dq(n, i, h, from + c) = mixed[c] * scale;
    }
    /* Of a key all queries that see it, of all heads that read it: b counts both. */
    SAMPLE(item, dk.given ? batch * kv_heads * keys * PIECES(dim) : 0,
           PIECE_BUDGET(queries * share * dim))
    {
        long long row = item / PIECES(dim), from = item % PIECES(dim) * CHANNELS;
        long long n = row / keys / kv_heads, g = row / keys % kv_heads, j = row % keys;
        ref_window by(j - shift, queries, right, left);
        TERM(i, b, by.first + b % by.count);
        TERM(h, b, g * share + b / by.count);
        TERM(product, b, DOT(l, dim, q(n, i(b), h(b), l) * k(n, j, g, l)) * scale);
        TERM(bend, b, tanh(product(b) / softcap));
        TERM(score, b, softcap.v == 0 ? product(b) : bend(b) * softcap);
        TERM(slope, b,
             delta.given ? real(delta(n, h(b), i(b)))
                         : DOT(c, width, dy(n, i(b), h(b), c) * y(n, i(b), h(b), c)));
        TERM(change, b, DOT(c, width, dy(n, i(b), h(b), c) * v(n, j, g, c)) - slope(b));
        TERM(t, b, exp(score(b) - lse(n, h(b), i(b))) * change(b));
        TERM(weight, b, softcap.v == 0 ? t(b) : t(b) * (1 - square(bend(b))));
        auto mixed = MIX(CHANNELS, b, share * by.count, weight(b), c, PIECE(dim, from),
                         q(n, i(b), h(b), from + c));
        LOOP(c, PIECE(dim, from)) dk(n, j, g, from + c) = mixed[c] * scale;
    }
    SAMPLE(item, dv.given ? batch * kv_heads * keys * PIECES(width) : 0,
           PIECE_BUDGET(queries * share * dim))
    {
        long long row = item / PIECES(width), from = item % PIECES(width) * CHANNELS;
        long long n = row / keys / kv_heads, g = row / keys % kv_heads, j = row % keys;
        ref_window by(j - shift, queries, right, left);
        TERM(i, b, by.first + b % by.count);
        TERM(h, b, g * share + b / by.count);
        TERM(product, b, DOT(l, dim, q(n, i(b), h(b), l) * k(n, j, g, l)) * scale);
        TERM(score, b, softcap.v == 0 ? product(b) : tanh(product(b) / softcap) * softcap);
        auto mixed = MIX(CHANNELS, b, share * by.count, exp(score(b) - lse(n, h(b), i(b))), c,
                         PIECE(width, from), dy(n, i(b), h(b), from + c));
        LOOP(c, PIECE(width, from)) dv(n, j, g, from + c) = mixed[c];
    }
}
