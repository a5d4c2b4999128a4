/* The gradient of an embedding, alone and fused with a norm, whose sums over tokens are kept in
 * bf16: found on tokens as benchmarks draw them and as text has them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/unit/common/ref_view.h"

enum { TOKENS = 4096, ENTRIES = 32000, COLS = 8 };

static int64_t ids[TOKENS];
static uint16_t table[ENTRIES * COLS], grad[TOKENS * COLS], dtable[ENTRIES * COLS];
static float sums[ENTRIES * COLS];

/* The rows' own rms, no weights; `narrow_sums` keeps the sum over tokens in bf16. */
static void embedding_gradient(bool norm, bool narrow_sums)
{
    memset(sums, 0, sizeof sums);
    for (int64_t t = 0; t < TOKENS; t++) {
        const uint16_t *x = table + ids[t] * COLS, *g = grad + t * COLS;
        float square = 0, dot = 0;
        for (int c = 0; c < COLS; c++) {
            square += widen(x[c]) * widen(x[c]) / COLS;
            dot += widen(x[c]) * widen(g[c]) / COLS;
        }
        float inv = 1 / sqrtf(square + 1e-5f);
        for (int c = 0; c < COLS; c++) {
            float one = inv * (widen(g[c]) - widen(x[c]) * inv * inv * dot);
            float *sum = &sums[ids[t] * COLS + c];
            *sum += norm ? one : widen(g[c]);
            *sum = narrow_sums ? round_bf16(*sum) : *sum;
        }
    }
    for (int64_t i = 0; i < ENTRIES * COLS; i++)
        dtable[i] = narrow(sums[i]);
}

static struct ref_verdict judge_embedding(bool norm, uint64_t seed)
{
    struct ref_call call = new_call();
    int out = norm ? 5 : 2;
    call.tensor[0] = view(ids, DTYPE_I64, 0, 0, 0, 0, TOKENS);
    call.tensor[1] = view(grad, DTYPE_BF16, 1, 0, 0, TOKENS, COLS);
    if (norm) {
        call.tensor[2] = view(table, DTYPE_BF16, 2, 0, 0, ENTRIES, COLS);
        call.tensor[3].absent = 1;
    }
    call.tensor[out] = output(dtable, DTYPE_BF16, (uint32_t)out, 0, 0, ENTRIES, COLS);
    const int64_t size[] = {TOKENS, COLS, ENTRIES};
    memcpy(call.size, size, sizeof size);
    call.scalar[0] = norm ? (double)1e-5f : 1;
    call.seed = seed;
    return run(norm ? "embedding_rmsnorm_backward" : "embedding_backward", &call);
}

/* Tokens as benchmarks draw them: no row is hit more than a few times, and still there are
 * elements that were rounded twice. Four launches, since one reads a sample. */
static void bf16_sums_show_on_uniform_tokens(void **state)
{
    (void)state;
    random_state = 9;
    fill(table, ENTRIES * COLS, 0, 1);
    for (int norm = 0; norm < 2; norm++) {
        uint64_t right = 0, wrong = 0;
        for (uint64_t launch = 0; launch < 4; launch++) {
            for (int64_t t = 0; t < TOKENS; t++)
                ids[t] = (int64_t)(uniform() * ENTRIES);
            fill(grad, TOKENS * COLS, 0, 1);
            embedding_gradient(norm, false);
            right += judge_embedding(norm, launch).violations;
            embedding_gradient(norm, true);
            wrong += judge_embedding(norm, launch).violations;
        }
        assert_int_equal(right, 0);
        assert_true(wrong > (norm ? 50 : 3));
    }
}

/* Tokens as text has them: the most frequent of them takes a good part. */
static void bf16_sums_show_on_frequent_tokens(void **state)
{
    (void)state;
    random_state = 10;
    for (int64_t t = 0; t < TOKENS; t++)
        ids[t] = (int64_t)(pow(ENTRIES, uniform())) - 1;
    fill(table, ENTRIES * COLS, 0, 1);
    fill(grad, TOKENS * COLS, 0.25, 1);
    for (int norm = 0; norm < 2; norm++) {
        embedding_gradient(norm, false);
        assert_int_equal(judge_embedding(norm, 1).violations, 0);
        embedding_gradient(norm, true);
        assert_true(judge_embedding(norm, 1).violations > 400);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bf16_sums_show_on_uniform_tokens),
        cmocka_unit_test(bf16_sums_show_on_frequent_tokens),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
