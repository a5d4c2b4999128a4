/*
 * attention.h - what the references of attention share: items of their samples, scores, and the
 * scale of their gradients.
 */
#ifndef REFS_ATTENTION_H
#define REFS_ATTENTION_H

#include "ref.h"

/* Items of a sample are pieces of CHANNELS columns of a row. */
#define CHANNELS            8
#define PIECES(width)       (((width) + CHANNELS - 1) / CHANNELS)
#define PIECE(width, from)  ((width) - (from) < CHANNELS ? (width) - (from) : CHANNELS)
#define PIECE_BUDGET(score) ((score) > 4194304 ? 16 : 67108864 / ((score) + 1))
/* The columns of a piece that an output has: none where it is not given, or narrower. */
#define PIECE_OF(output, width, from)                                                              \
    ((output).given && (from) < (width) ? (PIECE(width, from)) : 0)

/* Item number `item` of SAMPLE: the piece from column `from` on of query i of batch n and head h,
 * whose keys are those of head g. Of tokens, `queries` is 1 and n the token. */
#define QUERY(item, queries, width)                                                                \
    const long long row = item / PIECES(width), from = item % PIECES(width) * CHANNELS;            \
    const long long n = row / (queries) / heads, h = row / (queries) % heads;                      \
    [[maybe_unused]] const long long i = row % (queries);                                          \
    const long long g = h * kv_heads / heads
/* The same of key j of batch n and head g, which SHARE heads of queries read. */
#define KEY(item, keys, width)                                                                     \
    const long long row = item / PIECES(width), from = item % PIECES(width) * CHANNELS;            \
    const long long n = row / (keys) / kv_heads, g = row / (keys) % kv_heads;                      \
    [[maybe_unused]] const long long j = row % (keys)
#define SHARE (heads / (kv_heads > 0 ? kv_heads : 1))
#define WIDER (dim > width ? dim : width)

/* The sequence of token t, of those that begin at start(0) to start(bounds - 1). */
#define SEQUENCE(start, t) (INDEX(SUM_IF(s, bounds, start(s) <= (t), NUMBER(1))) - 1)

/* cap tanh(product / cap), or the product where there is no cap. */
#define CAPPED(product) ref_capped(product, softcap)
template <class A, class S, class R = ref_same<A>>
REF_FN R ref_capped(const A &product, const S &softcap)
{
    if (softcap.v == 0)
        return product;
    return tanh(product / softcap) * softcap;
}

/* exp(score - lse); 0 for a query without keys. */
#define PROBABILITY(score, lse) ref_probability(score, lse)
template <class A, class B, class R = ref_both<A, B>>
REF_FN R ref_probability(const A &score, const B &lse)
{
    if (lse.value(0) < -1e300)
        return R(0.0);
    return exp(score - lse);
}

/* A gradient by the capped product times 1 - tanh(product / cap)^2: that by the product. */
#define UNCAPPED(gradient, product)                                                                \
    (softcap.v == 0 ? (gradient) : (gradient) * (1 - square(tanh((product) / softcap))))

/* The scale of a gradient's sum, before and behind it. Kernels round the terms to a narrow type,
 * times the scale or not. f16's numbers below 2^-14 lose the more of what is smaller, so that is
 * taken. */
#define SHRINKS      (scale.v * scale.v < 1)
#define SCALE_BEFORE (SHRINKS ? real(1.0) * scale : real(1.0))
#define SCALE_BEHIND (SHRINKS ? real(1.0) : real(1.0) * scale)

/* The largest score over `count` keys j, which is subtracted from each. */
#define LARGEST(j, count)                                                                          \
    real most = MAX_IF(j, count, true, score(j));                                                  \
    real m = exactly(where(abs(most) < 1e300, most, 0));                                           \
    const bool nothing = most.value(0) < -1e300
/* Column c of the piece, and the logarithm, of MIX's sum `mixed`. */
#define ATTENDED(c)  (nothing ? real(0.0) : mixed[c] / mixed.total())
#define ATTENDED_LSE (nothing ? real(empty) : m + log(mixed.total()))

#endif
