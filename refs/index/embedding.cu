/*
 * embedding.cu - rows of a table by index, and sums into rows by index; more of that in select.cu.
 *
 * An index that the table does not have is refused, so that the launch is not judged; but with
 * outside = 1 its token gets zeros, and nothing of it is added to the table. Sums into a table
 * are checked on a sample: elements of rows that are touched, drawn by token (so that a frequent
 * row is drawn often; an element may come up twice), and elements of any rows.
 */
#include "ref.h"

/* Elements of a sample, for about 2^23 comparisons of n indices. */
#define SCATTER_BUDGET(n) ((n) > 32768 ? 256 : 8388608 / ((n) + 1))

// y(t) = table(ids(t)), or with outside = 1 zeros where the table has no such entry:
// torch.nn.functional.embedding, index_select along the first dim
REFERENCE_ONCE(embedding, "in ids[tokens], in table[entries][cols], out y[tokens][cols], "
                          "int outside = 0, each tokens, each cols, touch entries by ids")
{
    ELEMENT(t, tokens, c, cols)
    {
        long long e = INDEX(ids(t));
        if (outside && (e < 0 || e >= entries))
            y(t, c) = 0.0;
        else
            y(t, c) = table(e, c);
    }
}

// y(n, t) = table(ids(n, t)) + positions(t), learned positions (GPT-2, llm.c's encoder_forward)
REFERENCE_ONCE(embedding_positions, "in ids[batch][time], in table[entries][cols], "
                                    "in positions[time][cols], out y[batch][time][cols], "
                                    "each batch, each time, each cols, touch entries by ids")
{
    ELEMENT(i, batch * time, c, cols)
    {
        long long n = i / time, t = i % time;
        y(n, t, c) = table(INDEX(ids(n, t)), c) + positions(t, c);
    }
}

// dtable(e) = scale * the sum of dy(t) over the tokens t with ids(t) = e, the gradient of
// embedding; with outside = 1 a token whose entry the table does not have adds to none
REFERENCE_ONCE(embedding_backward, "in ids[tokens], in dy[tokens][cols], "
                                   "out dtable[entries][cols], real scale = 1, int outside = 0, "
                                   "each cols, touch entries by ids")
{
    SAMPLE(i, tokens * cols, SCATTER_BUDGET(tokens))
    {
        REPEATED(dtable);
        long long e = INDEX(ids(i / cols)), c = i % cols;
        real sum = SUM_IF(t, tokens, INDEX(ids(t)) == e, dy(t, c));
        LOOP(once, outside && (e < 0 || e >= entries) ? 0 : 1) dtable(e, c) = sum * scale;
    }
    SAMPLE(i, entries * cols, SCATTER_BUDGET(tokens) / 4)
    {
        long long e = i / cols, c = i % cols;
        real sum = SUM_IF(t, tokens, INDEX(ids(t)) == e, dy(t, c));
        dtable(e, c) = sum * scale;
    }
}

// the same without the tokens whose index is padding_idx, or one that the table does not have:
// torch.nn.functional.embedding with padding_idx
REFERENCE_ONCE(embedding_backward_padding,
               "in ids[tokens], in dy[tokens][cols], out dtable[entries][cols], "
               "real scale = 1, int padding_idx, each cols")
{
    TERM(entry, t, INDEX(ids(t)) == padding_idx ? -1 : INDEX(ids(t)));
    SAMPLE(i, tokens * cols, SCATTER_BUDGET(tokens))
    {
        REPEATED(dtable);
        long long e = entry(i / cols), c = i % cols;
        real sum = SUM_IF(t, tokens, entry(t) == e, dy(t, c));
        LOOP(once, e < 0 || e >= entries ? 0 : 1) dtable(e, c) = sum * scale;
    }
    SAMPLE(i, entries * cols, SCATTER_BUDGET(tokens) / 4)
    {
        long long e = i / cols, c = i % cols;
        real sum = SUM_IF(t, tokens, entry(t) == e, dy(t, c));
        dtable(e, c) = sum * scale;
    }
}

// y(e) = y(e) before + alpha * the sum of x(t) over those t with ids(t) = e: torch.index_add along
// the first dim, by atomics that add to y itself; with outside = 1 a token without an entry adds to
// none
REFERENCE_ONCE(index_add, "in ids[tokens], in x[tokens][cols], inout y[entries][cols], "
                          "real alpha = 1, int outside = 0, each cols, touch entries by ids")
{
    SAMPLE(i, tokens * cols, SCATTER_BUDGET(tokens))
    {
        REPEATED(y);
        long long e = INDEX(ids(i / cols)), c = i % cols;
        REPEAT(once, outside && (e < 0 || e >= entries) ? 0 : 1)
        {
            real held = HELD(y.before(e, c), t, tokens, INDEX(ids(t)) == e);
            real sum = SUM_IF(t, tokens, INDEX(ids(t)) == e, x(t, c));
            y(e, c) = held + sum * alpha;
        }
    }
    SAMPLE(i, entries * cols, SCATTER_BUDGET(tokens) / 4)
    {
        long long e = i / cols, c = i % cols;
        real held = HELD(y.before(e, c), t, tokens, INDEX(ids(t)) == e);
        real sum = SUM_IF(t, tokens, INDEX(ids(t)) == e, x(t, c));
        y(e, c) = held + sum * alpha;
    }
}

// y(e) = y(e) before + the sum of x(order(t)) over those t with sorted(t) = e: the gradient of
// x[ids] in PyTorch, which sorts the ids and keeps in `order` the place that each had
REFERENCE_ONCE(index_add_sorted,
               "in sorted[tokens], in order[tokens], in x[tokens][cols], inout y[entries][cols], "
               "each cols, touch entries by sorted")
{
    SAMPLE(i, tokens * cols, SCATTER_BUDGET(tokens))
    {
        REPEATED(y);
        long long e = INDEX(sorted(i / cols)), c = i % cols;
        real held = HELD(y.before(e, c), t, tokens, INDEX(sorted(t)) == e);
        y(e, c) = held + SUM_IF(t, tokens, INDEX(sorted(t)) == e, x(INDEX(order(t)), c));
    }
    SAMPLE(i, entries * cols, SCATTER_BUDGET(tokens) / 4)
    {
        long long e = i / cols, c = i % cols;
        real held = HELD(y.before(e, c), t, tokens, INDEX(sorted(t)) == e);
        y(e, c) = held + SUM_IF(t, tokens, INDEX(sorted(t)) == e, x(INDEX(order(t)), c));
    }
}

// y(n, t) = table(ids(n, t)) + positions(t): dtable as above, dpositions(t) = the sum of dy(n, t)
// over n (llm.c's encoder_backward)
REFERENCE_ONCE(embedding_positions_backward,
               "in ids[batch][time], in dy[batch][time][cols], out dtable?[entries][cols], "
               "out dpositions?[time][cols], each cols, touch entries by ids")
{
    long long tokens = batch * time;
    SAMPLE(i, dtable.given ? tokens * cols : 0, SCATTER_BUDGET(tokens))
    {
        REPEATED(dtable);
        long long e = INDEX(ids(i / cols / time, i / cols % time)), c = i % cols;
        dtable(e, c) =
            SUM_IF(t, tokens, INDEX(ids(t / time, t % time)) == e, dy(t / time, t % time, c));
    }
    SAMPLE(i, dtable.given ? entries * cols : 0, SCATTER_BUDGET(tokens) / 4)
    {
        long long e = i / cols, c = i % cols;
        dtable(e, c) =
            SUM_IF(t, tokens, INDEX(ids(t / time, t % time)) == e, dy(t / time, t % time, c));
    }
    ELEMENT(t, dpositions.given ? time : 0, c, cols) dpositions(t, c) = SUM(n, batch, dy(n, t, c));
}

// y(t) = x rstd w, x = table(ids(t)), rstd = 1 / rms(x) or as given: the gradients of the table, to
// which each token brings rstd (g - h mean(g h)), g = dy w, h = x rstd, and of w, which is the sum
// of dy h. The sums over tokens belong in f32: in bf16 they lose small gradients of frequent ones.
REFERENCE_ONCE(embedding_rmsnorm_backward,
               "in ids[tokens], in dy[tokens][cols], in table[entries][cols], in w[cols] = 1, "
               "in rstd?[tokens], out dtable[entries][cols], out dw?[cols], real eps = 0, "
               "real offset = 0, touch entries by ids")
{
    SAMPLE(i, tokens * cols, SCATTER_BUDGET(tokens + tokens / 16 * cols))
    {
        REPEATED(dtable);
        long long e = INDEX(ids(i / cols)), c = i % cols;
        real own = rsqrt(SUM(l, cols, square(table(e, l))) / cols + eps);
        TERM(inv, t, rstd.given ? real(rstd(t)) : own);
        TERM(dot, t, DOT(l, cols, dy(t, l) * (w(l) + offset) * table(e, l)) * square(inv(t)));
        dtable(e, c) = SUM_IF(t, tokens, INDEX(ids(t)) == e,
                              inv(t) * (dy(t, c) * (w(c) + offset) - table(e, c) * dot(t) / cols));
    }
    SAMPLE(i, entries * cols, SCATTER_BUDGET(tokens) / 4)
    {
        long long e = i / cols, hits = INDEX(SUM_IF(t, tokens, INDEX(ids(t)) == e, NUMBER(1)));
        LOOP(once, hits == 0) dtable(e, i % cols) = 0.0;
    }
    SAMPLE(c, dw.given ? cols : 0, 64)
    {
        TERM(e, t, INDEX(ids(t)));
        TERM(own, t, rsqrt(DOT(l, cols, square(table(e(t), l))) / cols + eps));
        TERM(inv, t, rstd.given ? real(rstd(t)) : own(t));
        dw(c) = SUM_IF(t, tokens, true, dy(t, c) * table(e(t), c) * inv(t));
    }
}

/* The tokens of bag b, from `from` on: those up to the next bag, or to the end. */
#define BAG_TERMS(b)                                                                               \
    const long long from = (b) ? INDEX(starts(b)) : 0;                                             \
    const long long count = ((b) + 1 < bags ? INDEX(starts((b) + 1)) : tokens) - from

/* How many tokens each bag has, and the bag of each token. */
#define BAG_RESULTS                                                                                \
    SAMPLE(b, counts.given ? bags : 0, 65536)                                                      \
    {                                                                                              \
        BAG_TERMS(b);                                                                              \
        counts(b) = NUMBER(count);                                                                 \
    }                                                                                              \
    SAMPLE(t, bag.given ? tokens : 0, SCATTER_BUDGET(bags))                                        \
    {                                                                                              \
        bag(t) = SUM_IF(b, bags - 1, INDEX(starts(b + 1)) <= t, NUMBER(1));                        \
    }

// y(b) = the sum of table(ids(t)) over the tokens of bag b, which begins at starts(b), each times
// its factor, or with mean = 1 over their number: torch.nn.functional.embedding_bag. A sample of
// 65536 elements.
REFERENCE_ONCE(embedding_bag,
               "in ids[tokens], in starts[bags], in table[entries][cols], in factors?[tokens], "
               "out y[bags][cols], out counts?[bags], out bag?[tokens], int mean = 0, each cols, "
               "touch entries by ids")
{
    SAMPLE(i, bags * cols, 65536)
    {
        const long long b = i / cols, c = i % cols;
        BAG_TERMS(b);
        TERM(row, t, real(table(INDEX(ids(from + t)), c)));
        TERM(part, t, factors.given ? row(t) * real(factors(from + t)) : row(t));
        real sum = SUM_IF(t, count, true, part(t));
        y(b, c) = mean && count > 0 ? sum / count : sum;
    }
    BAG_RESULTS;
}

// y(b) = the largest of table(ids(t)) over the tokens of bag b, 0 of none, places = the id that has
// it, any of several, or -1. As in PyTorch NaN counts where it comes first alone.
REFERENCE_ONCE(embedding_bag_max,
               "in ids[tokens], in starts[bags], in table[entries][cols], out y[bags][cols], "
               "out places?[bags][cols], out counts?[bags], out bag?[tokens], each cols")
{
    SAMPLE(i, bags * cols, 65536)
    {
        const long long b = i / cols, c = i % cols;
        BAG_TERMS(b);
        TERM(id, t, INDEX(ids(from + t)));
        TERM(value, t, table(id(t), c));
        TERM(number, t, value(t).value(0) == value(t).value(0));
        const long long lead = count > 0 && !number(0);
        real best = MAX_IF(t, lead ? 1 : count, lead || number(t), value(t));
        real most = count > 0 ? best : real(0.0);
        TERM(holds, t, equals(value(t), most).yes[0]);
        const long long got = INDEX(places.after(b, c));
        real hits = SUM_IF(t, count, holds(t) && id(t) == got, NUMBER(1));
        real other = -MAX_IF(t, count, holds(t), -NUMBER(id(t)));
        y(b, c) = most;
        if (places.given && count > 0)
            places(b, c) = hits.value(0) > 0 ? real(NUMBER(got)) : other;
        else if (places.given)
            places(b, c) = -1.0;
    }
    BAG_RESULTS;
}
