/*
 * merge.cu - parts of an attention over some of the keys each, merged by the logarithms of the sums
 * of their exponentials (Dao et al. 2023, Flash-Decoding).
 *
 * With lse(s) = ln(sum(exp(score))) of part s and m the largest of them, the weight of a part is
 * exp(lse(s) - m). lse is given and written times lse_scale: log2(e) where it is to the base 2
 * (FlashInfer). A part that saw nothing has -inf there, and is not looked at. Where no part saw
 * anything y is 0 and the merged lse `empty`.
 */
#include "ref.h"

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
// merge_attn_states, FlashInfer's merge_state. Other orders of rows and heads are said by strides.
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
