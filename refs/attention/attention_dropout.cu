/*
 * attention_dropout.cu - attention with dropout, and its gradient, as FlashAttention 2 has them
 * (Dao 2023): y = rescale (z p) v, where p are the probabilities of attention.cu, z is 1 or 0 for
 * each query and key, and rescale one over the share of ones.
 *
 * z follows from the seed and the offset that a launch was given: 16 x 32 scores of one head of one
 * batch share 32 blocks of 16 bytes from Philox4x32 with seven rounds (Salmon et al. 2011), a block
 * for each lane of the warp that holds them, and z is 1 where the byte is at most `keep`. In a CUDA
 * graph the seed and the offset lie in memory, and `within` is added to the offset. `first` is the
 * number of the first batch, where only some of a launch are checked.
 */
#include "attention.h"

/* The launch's random state. */
struct ref_dropout {
    uint64_t seed, offset;
    long long heads;
    int keep;

    /* Whether dropout keeps the weight of key j for query i, of head h of batch n. The order of
     * bytes is that of the accumulators of mma.m16n8k16: rows and columns of 8, two neighbours a
     * lane. */
    REF_FN bool keeps(long long n, long long h, long long i, long long j) const
    {
        const int row = (int)(i % 16), column = (int)(j % 32);
        const uint64_t lane = (uint64_t)(row % 8 * 4 + column % 8 / 2);
        const uint64_t place = (uint64_t)(i / 16) | (uint64_t)(j / 32) << 32;
        const ref_four block =
            ref_philox<7>(seed, place, offset + (uint64_t)(n * heads + h) * 32 + lane);
        const int byte = column / 8 * 4 + row / 8 * 2 + column % 2;
        return (int)(block.word(byte / 4) >> byte % 4 * 8 & 255) <= keep;
    }
};

#define DROPOUT const ref_dropout dropout = {RANDOM_SEED, RANDOM_OFFSET, heads, (int)keep}

// y = rescale (z softmax(scale q k^T)) v; lse without z
REFERENCE_ONCE(attention_dropout,
               "in q[batch][queries][heads][dim], in k[batch][keys][kv_heads][dim], "
               "in v[batch][keys][kv_heads][width], in seed_at?[2], in offset_at?[2], "
               "out y[batch][queries][heads][width], out lse?[batch][heads][queries], "
               "real scale, real rescale = 1, real empty = -inf, real seed_low = 0, "
               "real seed_high = 0, real offset = 0, real within = 0, int keep = 255, "
               "int first = 0, int left = -1, int right = -1, each width")
{
    DROPOUT;
    SAMPLE(item, batch * heads * queries * PIECES(width), PIECE_BUDGET(keys * dim))
    {
        QUERY(item, queries, width);
        const ref_window seen = ref_sequence(queries, keys).seen(i, left, right, true);
        TERM(key, j, j + seen.first);
        TERM(kept, j, dropout.keeps(first + n, h, i, key(j)));
        TERM(score, j, DOT(l, dim, q(n, i, h, l) * k(n, key(j), g, l)) * scale);
        LARGEST(j, seen.count);
        auto mixed = MIX(CHANNELS, j, seen.count, exp(score(j) - m), c, PIECE(width, from),
                         v(n, key(j), g, from + c) * NUMBER(kept(j)));
        LOOP(c, PIECE(width, from)) y(n, i, h, from + c) = ATTENDED(c) * rescale;
        if (lse.given && from == 0)
            lse(n, h, i) = ATTENDED_LSE;
    }
}

// the gradient of `attention_dropout`, from y and lse of its forward pass: dv = rescale (z p)^T dy,
// and those of `attention` with rescale z dp in the place of dp; ds is the gradient of a score over
// rescale
REFERENCE_ONCE(attention_dropout_backward,
               "in q[batch][queries][heads][dim], in k[batch][keys][kv_heads][dim], "
               "in v[batch][keys][kv_heads][width], in dy[batch][queries][heads][width], "
               "in lse[batch][heads][queries], in y[batch][queries][heads][width], "
               "in seed_at?[2], in offset_at?[2], out dq?[batch][queries][heads][dim], "
               "out dk?[batch][keys][kv_heads][dim], out dv?[batch][keys][kv_heads][width], "
               "real scale, real rescale = 1, real seed_low = 0, real seed_high = 0, "
               "real offset = 0, real within = 0, int keep = 255, int first = 0, int left = -1, "
               "int right = -1")
{
    DROPOUT;
    const ref_sequence own(queries, keys);
    SAMPLE(item, dq.given ? batch * heads * queries * PIECES(dim) : 0, PIECE_BUDGET(keys * dim))
    {
        QUERY(item, queries, dim);
        const ref_window seen = own.seen(i, left, right, true);
        real delta = SUM(c, width, dy(n, i, h, c) * y(n, i, h, c));
        TERM(j, b, seen.first + b);
        TERM(kept, b, dropout.keeps(first + n, h, i, j(b)));
        TERM(score, b, DOT(l, dim, q(n, i, h, l) * k(n, j(b), g, l)) * scale);
        TERM(p, b, PROBABILITY(score(b), lse(n, h, i)));
        TERM(dp, b, DOT(c, width, dy(n, i, h, c) * v(n, j(b), g, c)));
        TERM(ds, b, p(b) * ((kept(b) ? dp(b) : real(0.0)) - delta / rescale));
        auto ds_k = MIX(CHANNELS, b, seen.count, ds(b) * SCALE_BEFORE, c, PIECE(dim, from),
                        k(n, j(b), g, from + c));
        LOOP(c, PIECE(dim, from)) dq(n, i, h, from + c) = ds_k[c] * SCALE_BEHIND * rescale;
    }
    SAMPLE(item, dk.given || dv.given ? batch * kv_heads * keys * PIECES(WIDER) : 0,
           PIECE_BUDGET(queries * SHARE * dim))
    {
        KEY(item, keys, WIDER);
        const ref_window by = own.seeing(j, left, right, true);
        TERM(i, b, by.first + b % by.count);
        TERM(h, b, g * SHARE + b / by.count);
        TERM(kept, b, dropout.keeps(first + n, h(b), i(b), j));
        TERM(score, b, DOT(l, dim, q(n, i(b), h(b), l) * k(n, j, g, l)) * scale);
        TERM(p, b, PROBABILITY(score(b), lse(n, h(b), i(b))));
        TERM(dp, b, DOT(c, width, dy(n, i(b), h(b), c) * v(n, j, g, c)));
        TERM(delta, b, DOT(c, width, dy(n, i(b), h(b), c) * y(n, i(b), h(b), c)));
        TERM(ds, b, p(b) * ((kept(b) ? dp(b) : real(0.0)) - delta(b) / rescale));
        const long long k_columns = PIECE_OF(dk, dim, from), v_columns = PIECE_OF(dv, width, from);
        auto ds_q = MIX(CHANNELS, b, k_columns > 0 ? SHARE * by.count : 0, ds(b) * SCALE_BEFORE, c,
                        k_columns, q(n, i(b), h(b), from + c));
        LOOP(c, k_columns) dk(n, j, g, from + c) = ds_q[c] * SCALE_BEHIND * rescale;
        auto p_dy = MIX(CHANNELS, b, v_columns > 0 ? SHARE * by.count : 0,
                        kept(b) ? p(b) : real(0.0), c, v_columns, dy(n, i(b), h(b), from + c));
        LOOP(c, v_columns) dv(n, j, g, from + c) = p_dy[c] * rescale;
    }
}
