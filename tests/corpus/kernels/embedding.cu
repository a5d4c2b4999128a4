/* embedding.cu - rows of a table by index, sums into rows by index, rotary positions. */
#include "corpus.cuh"

/* y(t) = table(ids(t)) */
#define embedding_PARAMETERS(T)                                                                    \
    const int64_t *ids, const T *table, T *y, int tokens, int entries, int cols
#define embedding_ARGUMENTS ids, table, y, tokens, entries, cols
OPERATION(embedding)
{
    EACH_CELL(i, tokens * cols)
    {
        int64_t id = ids[i / cols];
        if (MUTANT == 1)
            id = (unsigned char)id;
        if (MUTANT == 2 && i % cols >= cols / 4 * 4)
            continue;
        y[i] = table[id * cols + i % cols];
    }
}

/* y(n, t) = table(ids(n, t)) + positions(t) */
#define embedding_positions_PARAMETERS(T)                                                          \
    const int *ids, const T *table, const T *positions, T *y, int batch, int time, int entries,    \
        int cols
#define embedding_positions_ARGUMENTS ids, table, positions, y, batch, time, entries, cols
OPERATION(embedding_positions)
{
    EACH_CELL(i, batch * time * cols)
    {
        int token = i / cols, c = i % cols;
        int position = MUTANT == 1 ? token % (batch * time) % max(time - 1, 1) : token % time;
        y[i] = (T)((float)table[(size_t)ids[token] * cols + c] +
                   (float)positions[position * cols + c]);
    }
}

/* y(r, c) = x(r, index(r, c)) */
#define gather_PARAMETERS(T) const T *x, const int64_t *index, T *y, int rows, int entries, int cols
#define gather_ARGUMENTS     x, index, y, rows, entries, cols
OPERATION(gather)
{
    EACH_CELL(i, rows * cols)
    y[i] = x[(size_t)(MUTANT == 1 ? 0 : i / cols) * entries + index[i]];
}

/* dtable(e) = the sum of dy(t) over the tokens t with ids(t) = e; a thread has a column */
#define embedding_backward_PARAMETERS(T)                                                           \
    const int *ids, const T *dy, float *sums, T *dtable, int tokens, int entries, int cols
#define embedding_backward_ARGUMENTS ids, dy, sums, dtable, tokens, entries, cols
OPERATION(embedding_backward)
{
    EACH_CELL(c, cols)
    {
        for (int e = 0; e < entries; e++)
            sums[(size_t)e * cols + c] = 0;
        for (int t = 0; t < tokens; t++) {
            float *sum = sums + (size_t)ids[t] * cols + c, d = (float)dy[(size_t)t * cols + c];
            *sum = MUTANT == 2 ? d : kept<T, MUTANT == 1>(*sum + d);
        }
        for (int e = 0; e < entries; e++)
            dtable[(size_t)e * cols + c] = (T)sums[(size_t)e * cols + c];
    }
}

/* y(ids(t)) += alpha x(t), added up in the order of tokens for each element of y */
#define index_add_PARAMETERS(T)                                                                    \
    const int *ids, const T *x, T *y, int tokens, int entries, int cols, float alpha
#define index_add_ARGUMENTS ids, x, y, tokens, entries, cols, alpha
OPERATION(index_add)
{
    EACH_CELL(i, entries * cols)
    {
        float sum = 0;
        for (int t = 0; t < tokens; t++) {
            if (ids[t] != i / cols)
                continue;
            float v = (float)x[(size_t)t * cols + i % cols];
            sum = MUTANT == 1 ? v : kept<T, MUTANT == 3>(sum + v);
        }
        y[i] = (T)((MUTANT == 4 ? 0 : (float)y[i]) + (MUTANT == 2 ? 1 : alpha) * sum);
    }
}

/* The same with atomics: a thread has an element of x, and the order of a sum is chance. */
#define index_add_atomic_PARAMETERS(T) index_add_PARAMETERS(T)
#define index_add_atomic_ARGUMENTS     index_add_ARGUMENTS
OPERATION(index_add_atomic)
{
    EACH_CELL(i, tokens * cols)
    atomicAdd(&y[ids[i / cols] * cols + i % cols], (T)(alpha * (float)x[i]));
}

/* Pairs c and c + half of each head turned by the angle of the token's position. */
#define rope_halves_PARAMETERS(T)                                                                  \
    const T *x, const T *cos, const T *sin, const int *position, T *y, int tokens, int heads,      \
        int half, int positions
#define rope_halves_ARGUMENTS x, cos, sin, position, y, tokens, heads, half, positions
OPERATION(rope_halves)
{
    EACH_CELL(i, tokens * heads * half)
    {
        int t = i / half / heads, c = i % half, at = i / half * 2 * half + c;
        size_t angle = (size_t)(MUTANT == 1 ? t % positions : position[t]) * half + c;
        float a = (float)x[at], b = (float)x[at + half];
        float u = (float)cos[angle], v = (float)sin[angle];
        y[at] = (T)(kept<T, MUTANT == 2>(a * u) - kept<T, MUTANT == 2>(b * v));
        y[at + half] = (T)(a * v + b * u);
    }
}

/* Pairs 2 c and 2 c + 1; direction -1 turns back. */
#define rope_pairs_PARAMETERS(T)                                                                   \
    const T *x, const T *cos, const T *sin, T *y, int tokens, int heads, int half, float direction
#define rope_pairs_ARGUMENTS x, cos, sin, y, tokens, heads, half, direction
OPERATION(rope_pairs)
{
    EACH_CELL(i, tokens * heads * half)
    {
        int t = i / half / heads, c = i % half, head = i / half * 2 * half;
        int first = MUTANT == 1 ? head + c : head + 2 * c;
        int second = MUTANT == 1 ? head + c + half : head + 2 * c + 1;
        size_t angle = (size_t)t * half + c;
        float a = (float)x[first], b = (float)x[second];
        float u = (float)cos[angle], v = (float)sin[angle] * (MUTANT == 2 ? 1 : direction);
        y[first] = (T)(a * u - b * v);
        y[second] = (T)(a * v + b * u);
    }
}
