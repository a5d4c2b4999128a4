/*
 * embedding.cu - rows of a table by index, and sums into rows by index.
 *
 * An index that the table does not have is refused: such a launch is not judged. Sums into a table
 * are checked on a sample: elements of rows that are touched, drawn by token (so that a frequent
 * row is drawn often; an element may come up twice), and elements of any rows.
 */
#include "ref.h"

/* Elements of a sample, for about 2^23 comparisons of n indices. */
#define SCATTER_BUDGET(n) ((n) > 32768 ? 256 : 8388608 / ((n) + 1))

// y(t) = table(ids(t)): torch.nn.functional.embedding, index_select along the first dim
REFERENCE_ONCE(embedding, "in ids[tokens], in table[entries][cols], out y[tokens][cols], "
                          "each tokens, each cols")
{
    ELEMENT(t, tokens, c, cols) y(t, c) = table(INDEX(ids(t)), c);
}

// y(n, t) = table(ids(n, t)) + positions(t), learned positions (GPT-2, llm.c's encoder_forward)
REFERENCE_ONCE(embedding_positions, "in ids[batch][time], in table[entries][cols], "
                                    "in positions[time][cols], out y[batch][time][cols], "
                                    "each batch, each time, each cols")
{
    ELEMENT(i, batch * time, c, cols)
    {
        long long n = i / time, t = i % time;
        y(n, t, c) = table(INDEX(ids(n, t)), c) + positions(t, c);
    }
}

// y(r, c) = x(r, index(r, c)): torch.gather along the last dim; a sample of 65536 elements
REFERENCE_ONCE(gather,
               "in x[rows][entries], in index[rows][cols], out y[rows][cols], each rows, each cols")
{
    SAMPLE(i, rows * cols, 65536)
    {
        long long r = i / cols, c = i % cols;
        y(r, c) = x(r, INDEX(index(r, c)));
    }
}

// dtable(e) = scale * the sum of dy(t) over the tokens t with ids(t) = e, the gradient of embedding
REFERENCE_ONCE(embedding_backward, "in ids[tokens], in dy[tokens][cols], "
                                   "out dtable[entries][cols], real scale = 1, each cols")
{
    SAMPLE(i, tokens * cols, SCATTER_BUDGET(tokens))
    {
        long long e = INDEX(ids(i / cols)), c = i % cols;
        real sum = SUM(t, tokens, where(equals(ids(t), e), dy(t, c), 0));
        dtable(e, c) = sum * scale;
    }
    SAMPLE(i, entries * cols, SCATTER_BUDGET(tokens) / 4)
    {
        long long e = i / cols, c = i % cols;
        real sum = SUM(t, tokens, where(equals(ids(t), e), dy(t, c), 0));
        dtable(e, c) = sum * scale;
    }
}

// y(e) = y(e) before + alpha * the sum of x(t) over those t with ids(t) = e: torch.index_add along
// the first dim
REFERENCE_ONCE(index_add, "in ids[tokens], in x[tokens][cols], inout y[entries][cols], "
                          "real alpha = 1, each cols")
{
    SAMPLE(i, tokens * cols, SCATTER_BUDGET(tokens))
    {
        long long e = INDEX(ids(i / cols)), c = i % cols;
        real sum = SUM(t, tokens, where(equals(ids(t), e), x(t, c), 0));
        y(e, c) = y.before(e, c) + sum * alpha;
    }
    SAMPLE(i, entries * cols, SCATTER_BUDGET(tokens) / 4)
    {
        long long e = i / cols, c = i % cols;
        real sum = SUM(t, tokens, where(equals(ids(t), e), x(t, c), 0));
        y(e, c) = y.before(e, c) + sum * alpha;
    }
}
