/* gate_fixture.h - a gate, and launches to pass to it, for unit tests. */
#ifndef TESTS_UNIT_GATE_FIXTURE_H
#define TESTS_UNIT_GATE_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "gate/gate.h"
#include "gate/gate_table.h"

/* A kernel of one pointer (parameter 0), one size (1) and one float (2), which decides no shape. */
static const struct kernel_spec spec = {
    .sample = -1,
    .first = -1,
    .shape_params = 2,
    .shape_param = {{.index = 0, .size = 8, .pointer = true}, {.index = 1, .size = 4, .start = 8}},
};

static inline struct gate_answer decide(struct gate *gate, const struct kernel_spec *of,
                                        uint64_t key, const struct launch *launch)
{
    struct gate_recipe recipe;
    gate_recipe_make(&recipe, of, key);
    return gate_decide(gate, of, &recipe, launch, true);
}

static inline enum gate_result ask(struct gate *gate, const struct kernel_spec *of,
                                   uint64_t pointer, int32_t size, float eps)
{
    void *params[] = {&pointer, &size, &eps};
    struct launch launch = {.grid = {1, 1, 1}, .block = {32, 1, 1}, .params = params};
    return decide(gate, of, 77, &launch).result;
}

static inline struct gate *make_ranked(double sample, uint64_t first, uint64_t seed, int64_t rank)
{
    struct gate_settings settings = {sample, first, seed, rank};
    struct gate *gate = gate_create(&settings);
    assert_non_null(gate);
    return gate;
}

static inline struct gate *make(double sample, uint64_t first, uint64_t seed)
{
    return make_ranked(sample, first, seed, 0);
}

#endif
