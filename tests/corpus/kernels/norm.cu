/* norm.cu - normalisation of rows: a row a block. */
#include "corpus.cuh"

/* y = x / sqrt(mean(x^2) + eps) * w; the rows of x are `pitch` elements apart */
#define rmsnorm_PARAMETERS(T) const T *x, const T *w, T *y, int rows, int cols, int pitch, float eps
#define rmsnorm_ARGUMENTS     x, w, y, rows, cols, pitch, eps
OPERATION(rmsnorm)
{
    EACH_ROW(r, rows)
    {
        const T *row = x + (size_t)r * (MUTANT == 7 ? cols : pitch);
        float squares = 0;
        EACH_COLUMN(c, cols)
        squares = kept<T, MUTANT == 4>(squares + (float)row[c] * (float)row[c]);
        float ms =
            block_sum<T, MUTANT == 4>(squares) / (MUTANT == 6 ? (cols + 31) / 32 * 32 : cols);
        float inverse = MUTANT == 1   ? 1 / sqrtf(ms)
                        : MUTANT == 2 ? 1 / (sqrtf(ms) + eps)
                        : MUTANT == 3 ? 1 / sqrtf(ms + 1e-6f)
                        : MUTANT == 9 ? 1 / (ms + eps)
                                      : 1 / sqrtf(ms + eps);
        EACH_COLUMN(c, cols)
        y[r * cols + c] =
            (T)(kept<T, MUTANT == 5>((float)row[c] * inverse) * (MUTANT == 8 ? 1 : (float)w[c]));
    }
}

/* y = (x - mean) / sqrt(var + eps) * w + b */
#define layernorm_PARAMETERS(T)                                                                    \
    const T *x, const T *w, const T *b, T *y, int rows, int cols, float eps
#define layernorm_ARGUMENTS x, w, b, y, rows, cols, eps
OPERATION(layernorm)
{
    EACH_ROW(r, rows)
    {
        const T *row = x + (size_t)r * cols;
        float sum = 0, squares = 0;
        EACH_COLUMN(c, cols) sum += (float)row[c];
        float mean = kept<T, MUTANT == 5>(block_sum(sum) / cols);
        EACH_COLUMN(c, cols)
        {
            float off = (float)row[c] - (MUTANT == 1 ? 0 : mean);
            squares += off * off;
        }
        float var = block_sum(squares) / (MUTANT == 2 ? max(cols - 1, 1) : cols);
        if (MUTANT == 1)
            var -= mean * mean;
        float inverse = 1 / sqrtf(MUTANT == 3 ? var : var + eps);
        EACH_COLUMN(c, cols)
        {
            float h = ((float)row[c] - mean) * inverse * (float)w[c];
            y[r * cols + c] = (T)(MUTANT == 4 ? h : h + (float)b[c]);
        }
    }
}

/* y = x / sqrt(mean(x^2) + eps) * (1 + w) */
#define rmsnorm_offset_PARAMETERS(T) const T *x, const T *w, T *y, int rows, int cols, float eps
#define rmsnorm_offset_ARGUMENTS     x, w, y, rows, cols, eps
OPERATION(rmsnorm_offset)
{
    EACH_ROW(r, rows)
    {
        const T *row = x + (size_t)r * cols;
        float squares = 0;
        EACH_COLUMN(c, cols) squares += (float)row[c] * (float)row[c];
        float inverse = 1 / sqrtf(block_sum(squares) / cols + eps);
        EACH_COLUMN(c, cols)
        y[r * cols + c] = (T)((float)row[c] * inverse *
                              (MUTANT == 1 ? (float)w[c] : kept<T, MUTANT == 2>(1 + (float)w[c])));
    }
}

/* z = x + residual, y = rmsnorm(z), z as it was stored */
#define add_rmsnorm_PARAMETERS(T)                                                                  \
    const T *x, const T *residual, const T *w, T *z, T *y, int rows, int cols, float eps
#define add_rmsnorm_ARGUMENTS x, residual, w, z, y, rows, cols, eps
OPERATION(add_rmsnorm)
{
    EACH_ROW(r, rows)
    {
        float squares = 0;
        EACH_COLUMN(c, cols)
        {
            int i = r * cols + c;
            float sum = (float)x[i] + (float)residual[i];
            z[i] = (T)sum;
            float part = MUTANT == 2 ? (float)x[i] : (float)z[i];
            squares += part * part;
        }
        float inverse = 1 / sqrtf(block_sum(squares) / cols + eps);
        EACH_COLUMN(c, cols)
        {
            int i = r * cols + c;
            float sum = MUTANT == 1 ? (float)x[i] + (float)residual[i] : (float)z[i];
            y[i] = (T)(sum * inverse * (float)w[c]);
        }
    }
}

/* What a mutant keeps from launch to launch, by the address of a row: its first length. */
enum { HELD = 64 };
static __device__ const void *held_row[HELD];
static __device__ float held_length[HELD];
__device__ static float first_length(const void *row, int r, float length)
{
    bool held = held_row[r % HELD] == row;
    float first = held_length[r % HELD];
    __syncthreads();
    if (threadIdx.x == 0 && !held) {
        held_row[r % HELD] = row;
        held_length[r % HELD] = length;
    }
    return held ? first : length;
}

/* y = x / max(|x|, eps) */
#define l2norm_PARAMETERS(T) const T *x, T *y, int rows, int cols, float eps
#define l2norm_ARGUMENTS     x, y, rows, cols, eps
OPERATION(l2norm)
{
    EACH_ROW(r, rows)
    {
        const T *row = x + (size_t)r * cols;
        float squares = 0;
        EACH_COLUMN(c, cols) squares += (float)row[c] * (float)row[c];
        float length = sqrtf(block_sum(squares));
        if (MUTANT == 3)
            length = first_length(row, r, length);
        float by = MUTANT == 1 ? length + eps : MUTANT == 2 ? length : larger(length, eps);
        EACH_COLUMN(c, cols) y[r * cols + c] = (T)((float)row[c] / by);
    }
}

/* layernorm over the channels of a group and their places, weights a channel each */
#define groupnorm_PARAMETERS(T)                                                                    \
    const T *x, const T *w, const T *b, T *y, int batch, int groups, int channels, int size,       \
        float eps
#define groupnorm_ARGUMENTS x, w, b, y, batch, groups, channels, size, eps
OPERATION(groupnorm)
{
    int count = channels * size;
    EACH_ROW(g, batch * groups)
    {
        const T *part = x + (size_t)g * count;
        float sum = 0, squares = 0;
        EACH_COLUMN(i, count) sum += (float)part[i];
        float mean = block_sum(sum) / count;
        EACH_COLUMN(i, count) squares += ((float)part[i] - mean) * ((float)part[i] - mean);
        float inverse = 1 / sqrtf(block_sum(squares) / count + eps);
        EACH_COLUMN(i, count)
        {
            int channel = (MUTANT == 1 ? 0 : g % groups * channels) + i / size;
            y[(size_t)g * count + i] =
                (T)(((float)part[i] - mean) * inverse * (float)w[channel] + (float)b[channel]);
        }
    }
}

/* dx = rstd (g - h mean(g h)), g = dy w, h = x rstd; dw = the sum over rows of dy h */
#define rmsnorm_backward_PARAMETERS(T)                                                             \
    const T *dy, const T *x, const T *w, const float *rstd, T *dx, T *dw, int rows, int cols
#define rmsnorm_backward_ARGUMENTS dy, x, w, rstd, dx, dw, rows, cols
OPERATION(rmsnorm_backward)
{
    EACH_ROW(r, rows)
    {
        float inverse = rstd[r], dot = 0;
        EACH_COLUMN(c, cols)
        {
            int i = r * cols + c;
            dot += (float)dy[i] * (float)w[c] * ((float)x[i] * inverse);
        }
        float mean = block_sum(dot) / (MUTANT == 1 ? rows : cols);
        EACH_COLUMN(c, cols)
        {
            int i = r * cols + c;
            float g = (float)dy[i] * (MUTANT == 3 ? 1 : (float)w[c]);
            dx[i] = (T)(inverse * (g - (float)x[i] * inverse * mean));
        }
    }
    EACH_CELL(c, cols)
    {
        float sum = 0;
        for (int r = 0; r < rows; r++)
            sum = kept<T, MUTANT == 2>(sum + (float)dy[r * cols + c] *
                                                 ((float)x[r * cols + c] * rstd[r]));
        dw[c] = (T)sum;
    }
}

/* dx = rstd (g - mean(g) - h mean(g h)), g = dy w, h = (x - mean) rstd; dw and db sums over rows */
#define layernorm_backward_PARAMETERS(T)                                                           \
    const T *dy, const T *x, const T *w, const float *mean, const float *rstd, T *dx, T *dw,       \
        T *db, int rows, int cols
#define layernorm_backward_ARGUMENTS dy, x, w, mean, rstd, dx, dw, db, rows, cols
OPERATION(layernorm_backward)
{
    EACH_ROW(r, rows)
    {
        float sum = 0, dot = 0;
        EACH_COLUMN(c, cols)
        {
            float g = (float)dy[r * cols + c] * (float)w[c];
            sum += g;
            dot += g * (((float)x[r * cols + c] - mean[r]) * rstd[r]);
        }
        float mean_g = MUTANT == 1 ? 0 : block_sum(sum) / cols, mean_gh = block_sum(dot) / cols;
        EACH_COLUMN(c, cols)
        {
            float h = ((float)x[r * cols + c] - mean[r]) * rstd[r];
            float g = (float)dy[r * cols + c] * (float)w[c];
            dx[r * cols + c] = (T)(rstd[r] * (g - mean_g - h * mean_gh));
        }
    }
    EACH_CELL(c, cols)
    {
        float sum_w = 0, sum_b = 0;
        for (int r = 0; r < rows; r++) {
            float d = (float)dy[r * cols + c];
            sum_w += d * (((float)x[r * cols + c] - mean[r]) * rstd[r]);
            sum_b = MUTANT == 2 ? d : kept<T, MUTANT == 3>(sum_b + d);
        }
        dw[c] = (T)sum_w;
        db[c] = (T)sum_b;
    }
}
