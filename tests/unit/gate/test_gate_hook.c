/* The hook's own read of the gate's table: it passes over what the gate would. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "tests/unit/common/gate_fixture.h"
#include "gate/tally.h"

/* As the hook does it: most are passed over by their signature's entry alone. *passed counts those.
 */
static enum gate_result ask_as_hook(struct gate *gate, const struct kernel_spec *of,
                                    const struct gate_recipe *recipe, const struct launch *launch,
                                    int *passed)
{
    uint32_t shape[GATE_SHAPE_WORDS] = {launch->grid[0],     launch->grid[1],  launch->grid[2],
                                        launch->block[0],    launch->block[1], launch->block[2],
                                        launch->shared_bytes};
    unsigned own = tally_own();
    assert_true(own < TALLIES_OWNED);
    struct gate_note *notes = gate_notes(gate_all_notes(gate), own + 1);
    enum skip skip = gate_passes(notes, recipe, shape, launch->params, gate_stamp());
    if (skip) {
        assert_int_equal(skip, SKIP_NOT_SAMPLED);
        ++*passed;
        return GATE_NO;
    }
    return gate_decide(gate, of, recipe, launch, true).result;
}

/* Two pointers, sizes of 8, 4 and, in a struct, 4 bytes. */
static const struct kernel_spec many = {
    .sample = -1,
    .first = -1,
    .shape_params = 5,
    .shape_param = {{.index = 2, .size = 4, .start = 16},
                    {.index = 0, .size = 8, .pointer = true},
                    {.index = 3, .size = 8, .start = 24},
                    {.index = 1, .size = 8, .start = 8, .pointer = true},
                    {.index = 4, .size = 4, .start = 32, .offset = 4}},
};

struct arguments {
    uint64_t x, y;
    int32_t rows, unused;
    int64_t cols;
    int32_t pair[2];
    void *list[5];
    struct launch launch;
};

/* Launch i of a program with a handful of signatures. */
static void make_launch(struct arguments *a, int i)
{
    *a = (struct arguments){.x = 0x1000 + (uint64_t)i * 16, .y = 0x900000, .rows = 3, .cols = -7};
    if (i % 5 == 0)
        a->y = a->x;
    if (i % 3 == 0)
        a->rows = 4;
    a->pair[0] = i; /* not part of the signature */
    a->pair[1] = i % 2;
    void *list[] = {&a->x, &a->y, &a->rows, &a->cols, a->pair};
    memcpy(a->list, list, sizeof(list));
    a->launch = (struct launch){.grid = {7, 1, 1}, .block = {32, 1, 1}, .params = a->list};
}

static void the_hook_passes_over_what_the_gate_would(void **state)
{
    enum { LAUNCHES = 60000 };
    static const double rates[] = {0, 0.001, 0.01, 0.1, 0.7, 1};
    (void)state;
    for (size_t r = 0; r < sizeof(rates) / sizeof(*rates); r++) {
        struct gate *probed = make(rates[r], 2, 5), *asked = make(rates[r], 2, 5);
        struct gate_recipe recipe;
        struct arguments a;
        int passed = 0, taken = 0;
        gate_recipe_make(&recipe, &many, 9);
        assert_false(recipe.odd);
        for (int i = 0; i < LAUNCHES; i++) {
            make_launch(&a, i);
            enum gate_result result = gate_decide(asked, &many, &recipe, &a.launch, true).result;
            assert_int_equal(ask_as_hook(probed, &many, &recipe, &a.launch, &passed), result);
            taken += result != GATE_NO;
        }
        assert_true(taken >= LAUNCHES * rates[r] * 0.9);
        assert_true(passed >= (LAUNCHES - taken) * (rates[r] < 0.02 ? 0.9 : 0));
        assert_true(passed <= LAUNCHES - taken);
        gate_destroy(probed);
        gate_destroy(asked);
    }
}

static uint64_t signature_by(struct gate *gate, const struct kernel_spec *of,
                             const struct launch *launch)
{
    return decide(gate, of, 9, launch).signature;
}

static void a_signature_does_not_depend_on_how_parameters_are_passed(void **state)
{
    struct gate *gate = make(0, 0, 0);
    uint64_t known[64];
    int kinds = 0;
    (void)state;
    for (int i = 0; i < 30; i++) {
        struct arguments a;
        make_launch(&a, i);
        uint64_t signature = signature_by(gate, &many, &a.launch);
        struct launch packed = a.launch;
        uint8_t bytes[40];
        memcpy(bytes, &a, 16);
        memcpy(bytes + 16, &a.rows, 4);
        memcpy(bytes + 24, &a.cols, 8);
        memcpy(bytes + 32, a.pair, 8);
        packed.params = NULL;
        packed.packed = bytes;
        packed.packed_bytes = sizeof(bytes);
        assert_true(signature_by(gate, &many, &packed) == signature);
        int kind = 0;
        while (kind < kinds && known[kind] != signature)
            kind++;
        if (kind == kinds)
            known[kinds++] = signature;
    }
    assert_int_equal(kinds, 8); /* aliased or not, two rows, two of the pair */
    gate_destroy(gate);
}

/* A parameter under a guard counts where the guard is above its number; the hook's loops and the
 * slow way agree. */
static void absent_parameters_do_not_count(void **state)
{
    static const struct kernel_spec guarded = {
        .shape_params = 4,
        .shape_param = {{.index = 0, .size = 4, .guard = 3, .above = 0},
                        {.index = 0, .size = 4, .offset = 4, .guard = 3, .above = 1},
                        {.index = 1, .size = 4, .start = 8},
                        {.index = 2, .size = 1, .start = 12}}};
    static const bool counts[3][2] = {{false, false}, {true, false}, {true, true}};
    struct gate *gate = make(0, 0, 0);
    struct gate_recipe recipe;
    int32_t value[2] = {0}, dims = 0;
    uint8_t flag = 0;
    void *list[] = {value, &dims, &flag};
    struct launch launch = {.grid = {1, 1, 1}, .block = {32, 1, 1}, .params = list},
                  packed = launch;
    (void)state;
    gate_recipe_make(&recipe, &guarded, 9);
    assert_false(recipe.odd);
    for (dims = 0; dims < 3; dims++) {
        uint64_t before = signature_by(gate, &guarded, &launch);
        for (int i = 0; i < 2; i++) {
            value[i] = 7;
            assert_int_equal(signature_by(gate, &guarded, &launch) != before, counts[dims][i]);
            int32_t bytes[4] = {value[0], value[1], dims, flag};
            packed.params = NULL;
            packed.packed = (const uint8_t *)bytes;
            packed.packed_bytes = sizeof(bytes);
            assert_true(signature_by(gate, &guarded, &packed) ==
                        signature_by(gate, &guarded, &launch));
            value[i] = 0;
        }
        flag = 1;
        assert_true(signature_by(gate, &guarded, &launch) != before);
        flag = 0;
    }
    gate_destroy(gate);
}

/* What the hook's short loops cannot read is distinguished all the same. */
static void odd_parameters_are_left_to_the_gate(void **state)
{
    static const struct kernel_spec odd = {
        .shape_params = 2,
        .shape_param = {{.index = 0, .size = 2}, {.index = 1, .size = 4, .start = 4}}};
    struct gate *gate = make(0, 0, 0);
    struct gate_recipe recipe;
    int16_t small = 1;
    int32_t size = 1;
    void *list[] = {&small, &size};
    struct launch launch = {.params = list};
    (void)state;
    gate_recipe_make(&recipe, &odd, 1);
    assert_true(recipe.odd);
    uint64_t before = signature_by(gate, &odd, &launch);
    small = 2;
    assert_true(signature_by(gate, &odd, &launch) != before);
    small = 1;
    size = 2;
    assert_true(signature_by(gate, &odd, &launch) != before);
    size = 1;
    assert_true(signature_by(gate, &odd, &launch) == before);
    gate_destroy(gate);
}

static void what_changes_the_gate_is_seen_by_the_hook(void **state)
{
    struct gate *gate = make(0, 1, 5);
    struct gate_recipe recipe;
    struct arguments a;
    int passed = 0;
    (void)state;
    gate_recipe_make(&recipe, &many, 9);
    make_launch(&a, 1);
    struct gate_answer answer = gate_decide(gate, &many, &recipe, &a.launch, true);
    assert_int_equal(answer.result, GATE_FIRST);
    for (int i = 0; i < 4; i++)
        assert_int_equal(ask_as_hook(gate, &many, &recipe, &a.launch, &passed), GATE_NO);
    assert_int_equal(passed, 3);
    gate_return(answer.turn);
    assert_int_equal(ask_as_hook(gate, &many, &recipe, &a.launch, &passed), GATE_FIRST);
    for (int i = 0; i < 4; i++)
        assert_int_equal(ask_as_hook(gate, &many, &recipe, &a.launch, &passed), GATE_NO);
    assert_int_equal(passed, 6);
    gate_set_sample(gate, 1);
    assert_int_equal(ask_as_hook(gate, &many, &recipe, &a.launch, &passed), GATE_RANDOM);
    gate_set_sample(gate, 0);
    for (int i = 0; i < 4; i++)
        assert_int_equal(ask_as_hook(gate, &many, &recipe, &a.launch, &passed), GATE_NO);
    assert_int_equal(passed, 9);
    gate_reset(gate);
    assert_int_equal(ask_as_hook(gate, &many, &recipe, &a.launch, &passed), GATE_FIRST);
    gate_destroy(gate);
}

static void a_gate_is_idle_where_nothing_can_be_taken(void **state)
{
    struct gate *gate = make(0, 0, 0);
    struct kernel_spec first = spec, drawn = spec;
    (void)state;
    first.first = 1;
    drawn.sample = 1e-9;
    assert_true(gate_idle(gate, &spec));
    assert_false(gate_idle(gate, &first));
    assert_false(gate_idle(gate, &drawn));
    gate_set_sample(gate, 0.5);
    assert_false(gate_idle(gate, &spec));
    gate_destroy(gate);
}

enum { ASKING_THREADS = 6, ASKS = 50000, STRATUM = 16 };

static struct asking {
    struct gate *gate;
    atomic_int taken, passed;
} asking;

static void *ask_often(void *user)
{
    struct gate_recipe recipe;
    struct arguments a;
    int passed = 0, taken = 0;
    gate_recipe_make(&recipe, &many, 9);
    for (int i = 0; i < ASKS; i++) {
        make_launch(&a, 1);
        taken += ask_as_hook(asking.gate, &many, &recipe, &a.launch, &passed) != GATE_NO;
    }
    atomic_fetch_add(&asking.taken, taken);
    atomic_fetch_add(&asking.passed, passed);
    return user;
}

/* More than can take numbers ahead. Each number is one launch's: one of each stratum is taken, but
 * for numbers that were never used. */
static void threads_share_the_numbers_of_a_signature(void **state)
{
    pthread_t thread[ASKING_THREADS];
    (void)state;
    asking.gate = make(1.0 / STRATUM, 0, 5);
    for (int i = 0; i < ASKING_THREADS; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, ask_often, NULL), 0);
    for (int i = 0; i < ASKING_THREADS; i++)
        pthread_join(thread[i], NULL);
    int launches = ASKING_THREADS * ASKS, ahead = 3 * 4096;
    assert_in_range(asking.taken, launches / STRATUM - ahead / STRATUM - 1,
                    (launches + ahead) / STRATUM + 1);
    assert_true(asking.passed > ASKS);
    gate_destroy(asking.gate);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_hook_passes_over_what_the_gate_would),
        cmocka_unit_test(a_signature_does_not_depend_on_how_parameters_are_passed),
        cmocka_unit_test(absent_parameters_do_not_count),
        cmocka_unit_test(odd_parameters_are_left_to_the_gate),
        cmocka_unit_test(what_changes_the_gate_is_seen_by_the_hook),
        cmocka_unit_test(a_gate_is_idle_where_nothing_can_be_taken),
        cmocka_unit_test(threads_share_the_numbers_of_a_signature),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
