/* softmax.cu - rows to probabilities, their logarithms, losses and gradients: a row a block. */
#include "corpus.cuh"

/* y = softmax(scale x), in two passes; the rows of x are `pitch` elements apart */
#define softmax_PARAMETERS(T) const T *x, T *y, int rows, int cols, int pitch, float scale
#define softmax_ARGUMENTS     x, y, rows, cols, pitch, scale
OPERATION(softmax)
{
    __shared__ float part[BLOCK];
    float factor = MUTANT == 6 ? 1 : scale;
    EACH_ROW(r, rows)
    {
        const T *row = x + (size_t)r * pitch;
        float most = MUTANT == 1 ? -1e4f : -INFINITY, sum = 0;
        EACH_COLUMN(c, cols) most = larger(most, (float)row[c] * factor);
        part[threadIdx.x] = most;
        __syncthreads();
        for (int i = 0; i < BLOCK; i++)
            most = larger(most, part[i]);
        __syncthreads();
        if (MUTANT == 3)
            most = 0;
        EACH_COLUMN(c, cols)
        sum += kept<T, MUTANT == 8>(expf((float)row[c] * factor - most));
        EACH_COLUMN(c, MUTANT == 2 ? (cols + 31) / 32 * 32 : 0)
        sum += c >= cols ? expf(0 - most) : 0;
        if (MUTANT == 7 && threadIdx.x >= cols)
            return;
        part[threadIdx.x] = sum;
        if (MUTANT != 5)
            __syncthreads();
        sum = 0;
        for (int i = 0; i < BLOCK; i++)
            sum += part[i];
        __syncthreads();
        EACH_COLUMN(c, cols)
        y[r * cols + c] = (T)(kept<T, MUTANT == 8>(expf((float)row[c] * factor - most)) / sum);
    }
}

/* The same in one pass: a thread keeps the largest so far, and the sum relative to it. */
#define softmax_online_PARAMETERS(T) const T *x, T *y, int rows, int cols
#define softmax_online_ARGUMENTS     x, y, rows, cols
OPERATION(softmax_online)
{
    EACH_ROW(r, rows)
    {
        const T *row = x + (size_t)r * cols;
        float most = -INFINITY, sum = 0;
        EACH_COLUMN(c, cols)
        {
            float v = (float)row[c], next = larger(most, v);
            float rescale = MUTANT == 1 || next == most ? 1 : expf(most - next);
            sum = sum * rescale + (MUTANT != 3 && v == -INFINITY ? 0 : expf(v - next));
            most = next;
        }
        float all = block_max(most);
        float total = block_sum(sum * (MUTANT == 2 || most == all ? 1 : expf(most - all)));
        EACH_COLUMN(c, cols) y[r * cols + c] = (T)(expf((float)row[c] - all) / total);
    }
}

/* y = x - m - ln(sum(exp(x - m))) */
#define log_softmax_PARAMETERS(T) const T *x, T *y, int rows, int cols
#define log_softmax_ARGUMENTS     x, y, rows, cols
OPERATION(log_softmax)
{
    EACH_ROW(r, rows)
    {
        const T *row = x + (size_t)r * cols;
        float most = -INFINITY, sum = 0;
        EACH_COLUMN(c, cols) most = larger(most, (float)row[c]);
        most = MUTANT == 2 ? 0 : block_max(most);
        EACH_COLUMN(c, cols) sum += expf((float)row[c] - most);
        sum = block_sum(sum);
        EACH_COLUMN(c, cols)
        {
            float v = (float)row[c] - most;
            y[r * cols + c] = (T)(MUTANT == 1 ? logf(expf(v) / sum) : v - logf(sum));
        }
    }
}

/* y = softmax(x + mask); NaN where a row is masked as a whole, as in torch */
#define softmax_masked_PARAMETERS(T)                                                               \
    const T *x, const T *mask, T *y, int batch, int heads, int rows, int cols
#define softmax_masked_ARGUMENTS x, mask, y, batch, heads, rows, cols
OPERATION(softmax_masked)
{
    EACH_ROW(r, batch * heads * rows)
    {
        size_t row = (size_t)r * cols;
        float most = -INFINITY, sum = 0;
        EACH_COLUMN(c, cols)
        most = larger(most, (float)x[row + c] + (MUTANT == 2 ? fmaxf((float)mask[row + c], -1e4f)
                                                             : (float)mask[row + c]));
        most = block_max(most);
        if (MUTANT == 1 && most == -INFINITY)
            most = 0;
        EACH_COLUMN(c, cols)
        sum +=
            expf((float)x[row + c] +
                 (MUTANT == 2 ? fmaxf((float)mask[row + c], -1e4f) : (float)mask[row + c]) - most);
        sum = block_sum(sum);
        EACH_COLUMN(c, cols)
        {
            float m = MUTANT == 2 ? fmaxf((float)mask[row + c], -1e4f) : (float)mask[row + c];
            float e = expf((float)x[row + c] + m - most);
            y[row + c] = (T)(MUTANT == 1 && sum == 0 ? 0 : e / sum);
        }
    }
}

/* y = softmax(x) over the columns up to the row's own number, 0 in the others */
#define softmax_causal_PARAMETERS(T) const T *x, T *y, int batch, int rows, int cols
#define softmax_causal_ARGUMENTS     x, y, batch, rows, cols
OPERATION(softmax_causal)
{
    EACH_ROW(r, batch * rows)
    {
        size_t row = (size_t)r * cols;
        int seen = min(r % rows + (MUTANT == 1 ? 2 : 1), cols);
        float most = -INFINITY, sum = 0;
        EACH_COLUMN(c, seen) most = larger(most, (float)x[row + c]);
        most = block_max(most);
        EACH_COLUMN(c, seen) sum += expf((float)x[row + c] - most);
        sum = block_sum(sum);
        EACH_COLUMN(c, MUTANT == 2 ? seen : cols)
        y[row + c] = (T)(c < seen ? expf((float)x[row + c] - most) / sum : 0);
    }
}

/* y = m + ln(sum(exp(x - m))), m the row's largest, 0 where that is infinite */
#define logsumexp_PARAMETERS(T) const T *x, T *y, int rows, int cols
#define logsumexp_ARGUMENTS     x, y, rows, cols
OPERATION(logsumexp)
{
    EACH_ROW(r, rows)
    {
        const T *row = x + (size_t)r * cols;
        float most = -INFINITY, sum = 0;
        EACH_COLUMN(c, cols) most = larger(most, (float)row[c]);
        most = block_max(most);
        if (MUTANT == 2 || fabsf(most) == INFINITY)
            most = 0;
        EACH_COLUMN(c, cols) sum = kept<T, MUTANT == 1>(sum + expf((float)row[c] - most));
        sum = block_sum<T, MUTANT == 1>(sum);
        if (threadIdx.x == 0)
            y[r] = (T)(most + logf(sum));
    }
}

/* loss = ln(sum(exp(x))) - x(target), 0 where the target is -100 */
#define cross_entropy_PARAMETERS(T)                                                                \
    const T *x, const int64_t *target, float *loss, int rows, int classes
#define cross_entropy_ARGUMENTS x, target, loss, rows, classes
OPERATION(cross_entropy)
{
    EACH_ROW(r, rows)
    {
        const T *row = x + (size_t)r * classes;
        float most = -INFINITY, sum = 0;
        EACH_COLUMN(c, classes) most = larger(most, (float)row[c]);
        most = MUTANT == 2 ? 0 : block_max(most);
        EACH_COLUMN(c, classes) sum += expf((float)row[c] - most);
        float all = most + logf(block_sum(sum));
        int64_t t = target[r];
        if (MUTANT == 3 && t >= 0)
            t = (unsigned char)t;
        if (threadIdx.x == 0)
            loss[r] = t < 0 && MUTANT != 1 ? 0 : all - (float)row[t < 0 ? 0 : t];
    }
}

/* dx = (softmax(x) - [c = target]) dloss scale, 0 where the target is -100 */
#define cross_entropy_backward_PARAMETERS(T)                                                       \
    const T *x, const int64_t *target, const float *dloss, T *dx, int rows, int classes, float scale
#define cross_entropy_backward_ARGUMENTS x, target, dloss, dx, rows, classes, scale
OPERATION(cross_entropy_backward)
{
    EACH_ROW(r, rows)
    {
        size_t row = (size_t)r * classes;
        int64_t t = target[r];
        if (MUTANT == 2 && t < 0)
            continue;
        float most = -INFINITY, sum = 0;
        EACH_COLUMN(c, classes) most = larger(most, (float)x[row + c]);
        most = block_max(most);
        EACH_COLUMN(c, classes) sum += expf((float)x[row + c] - most);
        sum = block_sum(sum);
        EACH_COLUMN(c, classes)
        {
            float share = expf((float)x[row + c] - most) / sum;
            float d = (MUTANT == 3 ? 1 : dloss[r]) * (MUTANT == 1 ? 1 : scale);
            dx[row + c] = (T)(t < 0 ? 0 : (kept<T, MUTANT == 4>(share) - (c == t)) * d);
        }
    }
}

/* y = softmax(scale x): dx = scale y (dy - sum(y dy)) */
#define softmax_backward_PARAMETERS(T)                                                             \
    const T *dy, const T *y, T *dx, int rows, int cols, float scale
#define softmax_backward_ARGUMENTS dy, y, dx, rows, cols, scale
OPERATION(softmax_backward)
{
    EACH_ROW(r, rows)
    {
        size_t row = (size_t)r * cols;
        float dot = 0;
        EACH_COLUMN(c, cols)
        dot = kept<T, MUTANT == 1>(dot + (float)y[row + c] * (float)dy[row + c]);
        dot = block_sum<T, MUTANT == 1>(dot);
        EACH_COLUMN(c, cols)
        dx[row + c] =
            (T)((float)y[row + c] * ((float)dy[row + c] - dot) * (MUTANT == 2 ? 1 : scale));
    }
}

/* y = log_softmax(x): dx = dy - exp(y) sum(dy) */
#define log_softmax_backward_PARAMETERS(T) const T *dy, const T *y, T *dx, int rows, int cols
#define log_softmax_backward_ARGUMENTS     dy, y, dx, rows, cols
OPERATION(log_softmax_backward)
{
    EACH_ROW(r, rows)
    {
        size_t row = (size_t)r * cols;
        float sum = 0;
        EACH_COLUMN(c, cols) sum = kept<T, MUTANT == 2>(sum + (float)dy[row + c]);
        sum = block_sum<T, MUTANT == 2>(sum);
        EACH_COLUMN(c, cols)
        {
            float v = (float)y[row + c];
            dx[row + c] = (T)((float)dy[row + c] - (MUTANT == 1 ? 1 + v : expf(v)) * sum);
        }
    }
}
