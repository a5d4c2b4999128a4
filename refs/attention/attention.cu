/*
 * attention.cu - scaled dot product attention: y = softmax(score) v, score = s q k^T (Vaswani et
 * al. 2017), never written as a matrix.
 *
 * score(i, j) = s (q(i) k(j)), capped at first to cap tanh(score / cap) where softcap is given
 * (Gemma 2). Query i stands at place i + keys - queries among the keys, so that the last query is
 * at the last key (FlashAttention from 2.1 on), or with bottom = 0 at place i (torch's is_causal);
 * its keys are those from `left` places before to `right` places after its own, -1 for all of them:
 * right = 0 is causal. Head h reads the keys of head h kv_heads / heads. lse = ln(sum(exp(score))).
 * A query without keys, or with scores of -inf alone, has zeros in y and `empty` for its lse (+inf
 * in FlashAttention 2).
 *
 * Arrays are [batch][time][heads][dim]; torch's [batch][heads][time][dim] is given by strides.
 * Kernels on tensor cores round the probabilities to the inputs' dtype before they divide by their
 * sum: MIX's rounding point, `inner` in the tolerance. tanh.approx is a contract, too.
 *
 * A seeded sample of pieces of CHANNELS elements of y, each with scores of its own: about 2^26
 * multiplications a pass, but 16 pieces at least.
 */
#include "attention.h"

// batch after batch; `bias` is added to the scores: ALiBi, or a mask of 0 and -inf
REFERENCE_ONCE(attention,
               "in bias?[batch][heads][queries][keys], in q[batch][queries][heads][dim], "
               "in k[batch][keys][kv_heads][dim], in v[batch][keys][kv_heads][width], "
               "out y[batch][queries][heads][width], out lse?[batch][heads][queries], "
               "real scale, real softcap = 0, real empty = -inf, "
               "int left = -1, int right = -1, int bottom = 1, each batch, "
               "each kv_heads with heads, each width")
{
    SAMPLE(item, batch * heads * queries * PIECES(width), PIECE_BUDGET(keys * dim))
    {
        QUERY(item, queries, width);
        const ref_window seen = ref_sequence(queries, keys).seen(i, left, right, bottom);
        TERM(key, j, j + seen.first);
        TERM(product, j, DOT(l, dim, q(n, i, h, l) * k(n, key(j), g, l)) * scale);
        TERM(capped, j, CAPPED(product(j)));
        TERM(score, j, bias.given ? capped(j) + bias(n, h, i, key(j)) : capped(j));
        LARGEST(j, seen.count);
        auto mixed = MIX(CHANNELS, j, seen.count, exp(score(j) - m), c, PIECE(width, from),
                         v(n, key(j), g, from + c));
        LOOP(c, PIECE(width, from)) y(n, i, h, from + c) = ATTENDED(c);
        if (lse.given && from == 0)
            lse(n, h, i) = ATTENDED_LSE;
    }
}

// `attention` of padded sequences: sequence n has lengths(n) queries and key_lengths(n) keys, and y
// and lse of the queries behind its last one are not judged: cuDNN's padding mask
REFERENCE_ONCE(attention_lengths,
               "in bias?[batch][heads][queries][keys], in q[batch][queries][heads][dim], "
               "in k[batch][keys][kv_heads][dim], in v[batch][keys][kv_heads][width], "
               "in lengths[batch], in key_lengths[batch], "
               "out y[batch][queries][heads][width], out lse?[batch][heads][queries], "
               "real scale, real empty = -inf, int left = -1, int right = -1, int bottom = 1, "
               "each batch, each kv_heads with heads, each width")
{
    SAMPLE(item, batch * heads * queries * PIECES(width), PIECE_BUDGET(keys * dim))
    {
        QUERY(item, queries, width);
        const ref_sequence own(INDEX(lengths(n)), INDEX(key_lengths(n)));
        const ref_window seen = own.seen(i, left, right, bottom);
        TERM(key, j, j + seen.first);
        TERM(product, j, DOT(l, dim, q(n, i, h, l) * k(n, key(j), g, l)) * scale);
        TERM(score, j, bias.given ? product(j) + bias(n, h, i, key(j)) : product(j));
        LARGEST(j, seen.count);
        auto mixed = MIX(CHANNELS, j, seen.count, exp(score(j) - m), c, PIECE(width, from),
                         v(n, key(j), g, from + c));
        LOOP(c, i < own.queries ? PIECE(width, from) : 0) y(n, i, h, from + c) = ATTENDED(c);
        if (lse.given && i < own.queries && from == 0)
            lse(n, h, i) = ATTENDED_LSE;
    }
}

// sequences of any lengths one behind the other, sequence s from starts(s) to starts(s + 1):
// FlashAttention's varlen functions, cu_seqlens_q and cu_seqlens_k
REFERENCE_ONCE(attention_varlen,
               "in q[tokens][heads][dim], in k[rows][kv_heads][dim], in v[rows][kv_heads][width], "
               "in starts[bounds], in key_starts[bounds], "
               "out y[tokens][heads][width], out lse?[heads][tokens], "
               "real scale, real softcap = 0, real empty = -inf, "
               "int left = -1, int right = -1, int bottom = 1, each kv_heads with heads, "
               "each width")
{
    TERM(start, s, INDEX(starts(s)));
    TERM(key_start, s, INDEX(key_starts(s)));
    SAMPLE(item, tokens * heads * PIECES(width), PIECE_BUDGET(rows * dim))
    {
        QUERY(item, 1, width);
        const ref_sequence own(SEQUENCE(start, n), bounds, start, key_start);
        const ref_window seen = own.seen(n, left, right, bottom);
        TERM(key, j, j + seen.first);
        TERM(product, j, DOT(l, dim, q(n, h, l) * k(key(j), g, l)) * scale);
        TERM(score, j, CAPPED(product(j)));
        LARGEST(j, seen.count);
        auto mixed = MIX(CHANNELS, j, seen.count, exp(score(j) - m), c, PIECE(width, from),
                         v(key(j), g, from + c));
        LOOP(c, own.inside ? PIECE(width, from) : 0) y(n, h, from + c) = ATTENDED(c);
        if (lse.given && own.inside && from == 0)
            lse(h, n) = ATTENDED_LSE;
    }
}

// keys and values in pages: key j of sequence n is in page table(n, j / page), of lengths(n) keys,
// the last of which belong to the queries: FlashAttention's flash_attn_with_kvcache, vLLM's v1
REFERENCE_ONCE(attention_paged,
               "in q[batch][queries][heads][dim], in k[blocks][page][kv_heads][dim], "
               "in v[blocks][page][kv_heads][width], in table[batch][pages], in lengths[batch], "
               "out y[batch][queries][heads][width], out lse?[batch][heads][queries], "
               "real scale, real softcap = 0, real empty = -inf, int left = -1, int right = 0, "
               "each batch, each kv_heads with heads, each width, touch blocks by table")
{
    SAMPLE(item, page > 0 ? batch * heads * queries * PIECES(width) : 0,
           PIECE_BUDGET(pages * page * dim))
    {
        QUERY(item, queries, width);
        long long keys = INDEX(lengths(n));
        ref_window seen(i + keys - queries, keys, left, right);
        TERM(place, j, INDEX(table(n, (j + seen.first) / page)));
        TERM(slot, j, (j + seen.first) % page);
        TERM(product, j, DOT(l, dim, q(n, i, h, l) * k(place(j), slot(j), g, l)) * scale);
        TERM(score, j, CAPPED(product(j)));
        LARGEST(j, seen.count);
        auto mixed = MIX(CHANNELS, j, seen.count, exp(score(j) - m), c, PIECE(width, from),
                         v(place(j), slot(j), g, from + c));
        LOOP(c, PIECE(width, from)) y(n, i, h, from + c) = ATTENDED(c);
        if (lse.given && from == 0)
            lse(n, h, i) = ATTENDED_LSE;
    }
}

// keys and values in pages that are listed one sequence behind the other: key j of sequence s is in
// page kv_indices(kv_indptr(s) + j / page), the last of its pages holds last_page_len(s) keys, the
// last keys belong to the queries; token t is of the sequence s with qo_indptr(s) <= t, or sequence
// t has one query: FlashInfer's page tables. Its lse is to the base 2: lse_scale = log2(e). Pages
// of heads before places (HND) are given by strides.
REFERENCE_ONCE(attention_paged_csr,
               "in q[tokens][heads][dim], in k[blocks][page][kv_heads][dim], "
               "in v[blocks][page][kv_heads][width], in qo_indptr?[bounds], in kv_indptr[bounds], "
               "in kv_indices[listed], in last_page_len[sequences], out y[tokens][heads][width], "
               "out lse?[tokens][heads], real scale, real softcap = 0, real empty = -inf, "
               "real lse_scale = 1, int left = -1, int right = 0, "
               "each kv_heads with heads, each width, touch blocks by kv_indices")
{
    TERM(start, s, INDEX(qo_indptr(s)));
    long long mean = listed * page / (bounds > 1 ? bounds - 1 : 1); /* keys of a sequence */
    SAMPLE(item, page > 0 ? tokens * heads * PIECES(width) : 0, PIECE_BUDGET(mean * dim))
    {
        QUERY(item, 1, width);
        long long s = qo_indptr.given ? SEQUENCE(start, n) : n;
        bool inside = s >= 0 && s + 1 < bounds; /* padding behind the last one is not judged */
        long long last = inside ? s + 1 : 0, before = inside ? s : 0;
        long long base = INDEX(kv_indptr(before)), held = INDEX(kv_indptr(last)) - base;
        long long keys = held > 0 ? (held - 1) * page + INDEX(last_page_len(before)) : 0;
        long long end = qo_indptr.given ? start(last) : n + 1;
        ref_window seen(n - end + keys, keys, left, right);
        TERM(place, j, INDEX(kv_indices(base + (j + seen.first) / page)));
        TERM(slot, j, (j + seen.first) % page);
        TERM(product, j, DOT(l, dim, q(n, h, l) * k(place(j), slot(j), g, l)) * scale);
        TERM(score, j, CAPPED(product(j)));
        LARGEST(j, seen.count);
        auto mixed = MIX(CHANNELS, j, seen.count, exp(score(j) - m), c, PIECE(width, from),
                         v(place(j), slot(j), g, from + c));
        LOOP(c, inside ? PIECE(width, from) : 0) y(n, h, from + c) = ATTENDED(c);
        if (lse.given && inside && from == 0)
            lse(n, h) = nothing ? real(empty) : ATTENDED_LSE * lse_scale;
    }
}

// one query a sequence, keys in pages as [dim / x][page][x], values as [dim][page]: vLLM's
// paged_attention_v1, whose x elements are 16 bytes; inner = page x
REFERENCE_ONCE(attention_paged_split,
               "in q[batch][heads][dim], in k[blocks][kv_heads][chunks][inner], "
               "in v[blocks][kv_heads][width][page], in table[batch][pages], in lengths[batch], "
               "out y[batch][heads][width], real scale, real softcap = 0, each batch, "
               "each kv_heads with heads, each width, touch blocks by table")
{
    long long x = page > 0 ? inner / page : 0;
    SAMPLE(item, x > 0 ? batch * heads * PIECES(width) : 0, PIECE_BUDGET(pages * page * dim))
    {
        QUERY(item, 1, width);
        long long keys = INDEX(lengths(n));
        TERM(place, j, INDEX(table(n, j / page)));
        TERM(dot, j, SUM(l, dim, q(n, h, l) * k(place(j), g, l / x, j % page * x + l % x)) * scale);
        TERM(score, j, CAPPED(dot(j)));
        LARGEST(j, keys);
        auto mixed = MIX(CHANNELS, j, keys, exp(score(j) - m), c, PIECE(width, from),
                         v(place(j), g, from + c, j % page));
        LOOP(c, PIECE(width, from)) y(n, h, from + c) = ATTENDED(c);
    }
}

/*
 * Parts of an attention over some of the keys each, merged by the logarithms of the sums of their
 * exponentials (Dao et al. 2023, Flash-Decoding).
 *
 * With lse(s) = ln(sum(exp(score))) of part s and m the largest of them, the weight of a part is
 * exp(lse(s) - m). lse is given and written times lse_scale: log2(e) where it is to the base 2
 * (FlashInfer). A part without keys has -inf there, and its values are not used. Where no part has
 * keys y is 0 and the merged lse `empty`.
 */

// y = the sum over parts of weight(s) part(s), divided by the sum of the weights; merged = m plus
// the logarithm of the latter: FlashAttention's combine kernel, FlashInfer's merge_states
REFERENCE_ONCE(attention_merge,
               "in part[splits][rows][width], in lse[splits][rows], out y[rows][width], "
               "out merged?[rows], real lse_scale = 1, real empty = -inf, each rows, each width")
{
    ROW(r, rows)
    {
        real most = MAX(s, splits, lse(s, r));
        bool nothing = most.value(0) < -1e300;
        real m = exactly(nothing ? real(0.0) : most / lse_scale);
        TERM(weight, s, exp(lse(s, r) / lse_scale - m));
        real total = SUM_IF(s, splits, true, weight(s));
        EACH(c, width)
        {
            auto sum =
                SUM(s, splits, where(lse(s, r) < -1e300, 0, part(s, r, c) * weight(s))) / total;
            if (nothing)
                y(r, c) = 0.0;
            else
                y(r, c) = sum;
        }
        if (merged.given)
            merged(r) = nothing ? real(empty) : (m + log(total)) * lse_scale;
    }
}

// the same of two parts, a and b, in arrays of their own; here +inf is nothing as well: vLLM's
// merge_attn_states, FlashInfer's merge_state. Other orders of rows and heads are given by strides.
REFERENCE_ONCE(attention_merge_two,
               "in a[rows][heads][width], in b[rows][heads][width], in lse_a[rows][heads], "
               "in lse_b[rows][heads], out y[rows][heads][width], out merged?[rows][heads], "
               "real lse_scale = 1, real empty = -inf, each rows, each heads, each width")
{
    ROW(i, rows * heads)
    {
        long long r = i / heads, h = i % heads;
        bool has_a = !(abs(lse_a(r, h)).value(0) > 1e300);
        bool has_b = !(abs(lse_b(r, h)).value(0) > 1e300);
        real one = lse_a(r, h) / lse_scale, two = lse_b(r, h) / lse_scale;
        real m = exactly(max(one, two));
        real weight_a = exp(one - m), weight_b = exp(two - m), total = weight_a + weight_b;
        EACH(c, width)
        {
            if (has_a && has_b)
                y(r, h, c) = (a(r, h, c) * weight_a + b(r, h, c) * weight_b) / total;
            else if (has_a)
                y(r, h, c) = a(r, h, c);
            else if (has_b)
                y(r, h, c) = b(r, h, c);
            else
                y(r, h, c) = 0.0;
        }
        if (merged.given && has_a && has_b)
            merged(r, h) = (m + log(total)) * lse_scale;
        else if (merged.given)
            merged(r, h) = has_a ? one * lse_scale : has_b ? two * lse_scale : real(empty);
    }
}
