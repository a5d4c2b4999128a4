/* Notes on the errors of launches that match, as references count their elements. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "tests/unit/common/made_up_check.h"
#include "tests/unit/common/ref_fixture.h"
#include "judge/notes.h"

enum { TOKENS = 256, DIM = 8, ENTRIES = 64, LAUNCHES = 40 };

static const struct ref_builtin *builtin(const char *name)
{
    for (size_t i = 0; i < ref_builtin_count; i++) {
        if (strcmp(ref_builtins[i].name, name) == 0)
            return &ref_builtins[i];
    }
    fail_msg("no reference '%s'", name);
    return NULL;
}

/* What a match of bf16 outputs with these numbers is noted for. */
static unsigned notes_of(const char *name, const struct ref_verdict *numbers, bool *statistics)
{
    struct made_up_check check;
    made_up_match(&check);
    check.spec.reference = builtin(name);
    check.report.numbers = *numbers;
    notes_fill(&check.report);
    *statistics = check.report.statistics;
    return check.report.notes;
}

/* To bf16, towards 0. */
static float cut_off(float x)
{
    int last = x != 0 ? ilogbf(x) - 7 : 0;
    return ldexpf(truncf(ldexpf(x, -last)), last);
}

/* Right gradients of an embedding, in which two tokens of three are the same. */
static struct ref_verdict embedding_gradient(uint64_t seed, bool truncates)
{
    static float sum[ENTRIES][DIM];
    random_state = seed;
    fill(&in_x, DTYPE_BF16, TOKENS * DIM, 0, 1);
    shape(&in_w, DTYPE_I32, TOKENS);
    shape(&out_y, DTYPE_BF16, ENTRIES * DIM);
    memset(sum, 0, sizeof sum);
    for (int64_t t = 0; t < TOKENS; t++) {
        int64_t id = uniform() < 0.67 ? 5 : (int64_t)(uniform() * ENTRIES);
        set(&in_w, t, (double)id);
        for (int64_t c = 0; c < DIM; c++)
            sum[id][c] += x_at(t * DIM + c);
    }
    for (int64_t i = 0; i < ENTRIES * DIM; i++) {
        float y = sum[i / DIM][i % DIM];
        set(&out_y, i, truncates ? cut_off(y) : y);
    }
    struct ref_call call = new_call();
    call.seed = seed;
    call.tensor[0] = tensor(&in_w, 0, 1, TOKENS, 0, 0);
    call.tensor[1] = tensor(&in_x, 0, 2, TOKENS, DIM, 0);
    call.tensor[2] = tensor(&out_y, 1, 2, ENTRIES, DIM, 0);
    call.scalar[0] = 1;
    int64_t size[] = {TOKENS, DIM, ENTRIES};
    memcpy(call.size, size, sizeof size);
    return run("embedding_backward", &call);
}

/* An element that many tokens name is counted as often, and its error leans as it happens to. */
static void elements_counted_again_get_no_note(void **state)
{
    (void)state;
    int leaning = 0;
    for (uint64_t seed = 1; seed <= LAUNCHES; seed++) {
        struct ref_verdict v = embedding_gradient(seed, false);
        bool statistics;
        assert_int_equal(v.violations, 0);
        assert_true(v.checked > ENTRIES * DIM);
        leaning += verdict_notes(&v, false) != 0;
        assert_int_equal(notes_of("embedding_backward", &v, &statistics), 0);
        assert_false(statistics);
    }
    assert_true(leaning > LAUNCHES / 10); /* if they were taken as independent */
}

/* What such a launch does wrong is still found by its bounds. */
static void elements_counted_again_are_judged(void **state)
{
    (void)state;
    assert_true(embedding_gradient(1, true).violations > 0);
}

/* Where each element is counted once, errors that lean are noted. */
static void elements_counted_once_get_notes(void **state)
{
    (void)state;
    static const char *const again[] = {"embedding_backward", "embedding_positions_backward",
                                        "embedding_rmsnorm_backward", "index_add", "scatter_add"};
    static const char *const once[] = {"embedding", "col_sum", "rmsnorm", "attention_paged"};
    const struct ref_verdict lean = {
        .checked = 10000, .measured = 10000, .sum_square = 833, .sum_signed = 1000};
    bool statistics;
    for (size_t i = 0; i < sizeof once / sizeof *once; i++) {
        assert_int_equal(notes_of(once[i], &lean, &statistics), NOTE_LEAN);
        assert_true(statistics);
    }
    for (size_t i = 0; i < sizeof again / sizeof *again; i++)
        assert_int_equal(notes_of(again[i], &lean, &statistics), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(elements_counted_again_get_no_note),
        cmocka_unit_test(elements_counted_again_are_judged),
        cmocka_unit_test(elements_counted_once_get_notes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
