/* reduce.cu - one number from each row or column. */
#include "corpus.cuh"

/* y = sum(x), by any thread of the block; the rows of x are `pitch` elements apart, which may be
 * many */
#define row_sum_PARAMETERS(T) const T *x, T *y, int rows, int cols, int64_t pitch
#define row_sum_ARGUMENTS     x, y, rows, cols, pitch
OPERATION(row_sum)
{
    __shared__ float part[BLOCK];
    EACH_ROW(r, rows)
    {
        const T *row = x + (MUTANT == 3 ? (unsigned)(r * (unsigned)pitch) : (size_t)(r * pitch));
        float sum = 0;
        EACH_COLUMN(c, MUTANT == 4 ? cols / 2 * 2 : cols)
        sum = kept<T, MUTANT == 1>(sum + (float)row[c]);
        part[threadIdx.x] = sum;
        if (MUTANT != 2)
            __syncthreads();
        sum = 0;
        for (int i = 0; i < BLOCK; i++)
            sum = kept<T, MUTANT == 5>(sum + part[i]);
        __syncthreads();
        part[threadIdx.x] = 0;
        __syncthreads();
        if (threadIdx.x == r % BLOCK)
            y[r] = (T)sum;
    }
}

/* y = max(x), NaN where one is */
#define row_max_PARAMETERS(T) const T *x, T *y, int rows, int cols
#define row_max_ARGUMENTS     x, y, rows, cols
OPERATION(row_max)
{
    EACH_ROW(r, rows)
    {
        float most = MUTANT == 1 ? 0 : MUTANT == 3 ? -1e4f : -INFINITY;
        EACH_COLUMN(c, cols)
        {
            float v = (float)x[(size_t)r * cols + c];
            most = MUTANT == 2 ? fmaxf(most, v) : larger(most, v);
        }
        most = block_max(most);
        if (threadIdx.x == 0)
            y[r] = (T)most;
    }
}

/* y = min(x), NaN where one is */
#define row_min_PARAMETERS(T) const T *x, T *y, int rows, int cols
#define row_min_ARGUMENTS     x, y, rows, cols
OPERATION(row_min)
{
    EACH_ROW(r, rows)
    {
        float least = INFINITY;
        EACH_COLUMN(c, MUTANT == 1 ? (cols + 31) / 32 * 32 : cols)
        least = smaller(least, c < cols ? (float)x[(size_t)r * cols + c] : 0);
        least = block_fold(least, smaller);
        if (threadIdx.x == 0)
            y[r] = (T)least;
    }
}

/* y = mean(x) */
#define row_mean_PARAMETERS(T) const T *x, T *y, int rows, int cols
#define row_mean_ARGUMENTS     x, y, rows, cols
OPERATION(row_mean)
{
    EACH_ROW(r, rows)
    {
        float sum = 0;
        EACH_COLUMN(c, cols) sum += (float)x[(size_t)r * cols + c];
        sum = block_sum(sum);
        int count = MUTANT == 1 ? (cols + 31) / 32 * 32 : MUTANT == 3 ? rows : cols;
        if (threadIdx.x == 0)
            y[r] = (T)(MUTANT == 2 ? 0 : sum / count);
    }
}

/* y = the place of max(x), the first of several; NaN counts as the largest */
#define row_argmax_PARAMETERS(T) const T *x, int64_t *y, int rows, int cols
#define row_argmax_ARGUMENTS     x, y, rows, cols
OPERATION(row_argmax)
{
    __shared__ float values[BLOCK];
    __shared__ int places[BLOCK];
    EACH_ROW(r, rows)
    {
        const T *row = x + (size_t)r * cols;
        float most = MUTANT == 1 ? 0 : -INFINITY;
        int at = MUTANT == 1 ? 0 : min((int)threadIdx.x, cols - 1);
        EACH_COLUMN(c, cols)
        {
            float v = (float)row[c];
            bool over = v > most || (MUTANT != 2 && v != v && most == most);
            at = over ? c : at;
            most = over ? v : most;
        }
        values[threadIdx.x] = most;
        places[threadIdx.x] = at;
        __syncthreads();
        for (int i = 0; i < BLOCK && threadIdx.x == 0; i++) {
            float v = values[i];
            bool over = v > most || (MUTANT != 2 && v != v && most == most);
            bool first = (v == most || (v != v && most != most)) && places[i] < at;
            at = over || first ? places[i] : at;
            most = over ? v : most;
        }
        if (threadIdx.x == 0)
            y[r] = at;
        __syncthreads();
    }
}

/* y = the product of x */
#define row_prod_PARAMETERS(T) const T *x, T *y, int rows, int cols
#define row_prod_ARGUMENTS     x, y, rows, cols
struct times {
    __device__ float operator()(float a, float b) const
    {
        return a * b;
    }
};
OPERATION(row_prod)
{
    EACH_ROW(r, rows)
    {
        float product = 1;
        EACH_COLUMN(c, MUTANT == 1 ? (cols + 31) / 32 * 32 : cols)
        product *= c < cols ? (float)x[(size_t)r * cols + c] : 0;
        product = block_fold(product, times());
        if (threadIdx.x == 0)
            y[r] = (T)product;
    }
}

/* y(c) = x(0) + .. + x(c); a thread has a row */
#define row_cumsum_PARAMETERS(T) const T *x, T *y, int rows, int cols
#define row_cumsum_ARGUMENTS     x, y, rows, cols
OPERATION(row_cumsum)
{
    EACH_CELL(r, rows)
    {
        float sum = 0;
        for (int c = 0; c < cols; c++) {
            if (MUTANT == 2 && c % BLOCK == 0)
                sum = 0;
            sum = kept<T, MUTANT == 1>(sum + (float)x[(size_t)r * cols + c]);
            y[(size_t)r * cols + c] = (T)sum;
        }
    }
}

/* y = the sum of each column, four rows at a time and then the rest */
#define col_sum_PARAMETERS(T) const T *x, T *y, int rows, int cols
#define col_sum_ARGUMENTS     x, y, rows, cols
OPERATION(col_sum)
{
    EACH_CELL(c, cols)
    {
        float sum = 0;
        int r = 0;
        for (; r + 4 <= rows; r += 4)
            for (int i = 0; i < 4; i++)
                sum = kept<T, MUTANT == 1>(sum + (float)x[(size_t)(r + i) * cols + c]);
        for (; r < rows && MUTANT != 2; r++)
            sum = kept<T, MUTANT == 1>(sum + (float)x[(size_t)r * cols + c]);
        y[c] = (T)sum;
    }
}

/* y(b) = how many x are b */
#define histogram_PARAMETERS(T) const int *x, int *y, int n, int bins
#define histogram_ARGUMENTS     x, y, n, bins
OPERATION(histogram)
{
    EACH_CELL(b, bins)
    {
        int count = 0;
        for (int i = 0; i < (MUTANT == 2 ? n - 1 : n); i++)
            count += x[i] == b;
        y[b] = MUTANT == 1 ? (unsigned char)count : count;
    }
}
