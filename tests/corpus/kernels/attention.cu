/* attention.cu - scaled dot product attention, a query's head a block. */
#include "corpus.cuh"

enum { MOST_KEYS = 512 };

/*
 * y = softmax(score) v, score = cap tanh(scale q k / cap), or uncapped where softcap is 0; causal,
 * the last query facing the last key; head h reads the keys of head h kv_heads / heads. Queries
 * that see nothing, or scores of -inf alone, get 0, as in FlashAttention.
 */
#define attention_PARAMETERS(T)                                                                    \
    const T *q, const T *k, const T *v, T *y, int batch, int queries, int keys, int heads,         \
        int kv_heads, int dim, float scale, float softcap
#define attention_ARGUMENTS q, k, v, y, batch, queries, keys, heads, kv_heads, dim, scale, softcap
OPERATION(attention)
{
    __shared__ float score[MOST_KEYS];
    EACH_ROW(row, batch * queries * heads)
    {
        int h = row % heads, i = row / heads % queries, n = row / heads / queries;
        int head = MUTANT == 4 ? h % kv_heads : h * kv_heads / heads;
        int place = (MUTANT == 2 ? i : i + keys - queries) + (MUTANT == 1 ? 1 : 0);
        int seen = max(min(place + 1, keys), 0);
        float most = -INFINITY, sum = 0;
        EACH_COLUMN(j, seen)
        {
            size_t key = ((size_t)(n * keys + j) * kv_heads + head) * dim;
            float dot = 0;
            for (int l = 0; l < dim; l++)
                dot += (float)q[(size_t)row * dim + l] * (float)k[key + l];
            dot *= scale;
            score[j] = softcap == 0 || MUTANT == 3 ? dot : tanhf(dot / softcap) * softcap;
            most = larger(most, score[j]);
        }
        most = block_max(most);
        bool nothing = most == -INFINITY;
        most = nothing ? 0 : most;
        EACH_COLUMN(j, seen)
        {
            score[j] = expf(score[j] - most);
            sum += score[j];
        }
        sum = block_sum(sum);
        EACH_COLUMN(c, dim)
        {
            float all = 0;
            for (int j = 0; j < seen; j++) {
                size_t key = ((size_t)(n * keys + j) * kv_heads + head) * dim;
                all = kept<T, MUTANT == 5>(all + score[j] * (float)v[key + c]);
            }
            y[(size_t)row * dim + c] = (T)(nothing && MUTANT != 6 ? 0 : all / sum);
        }
        __syncthreads();
    }
}
