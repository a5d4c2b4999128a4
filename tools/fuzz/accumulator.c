#include "tools/fuzz/accumulator.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The exponents of FUZZ_integers, and what a failure with each means. */
static const struct {
    int scale;
    struct fuzz_accumulator found;
} steps[] = {
    {0, {NULL, 0, 0}}, {FUZZ_INTEGERS_BF16, {"bf16", 11, 0}}, {FUZZ_INTEGERS_F16, {"f16", 24, 0}}};

/* Gives every such array that exponent; false: there is none. */
static bool set_scale(const struct fuzz_rule *rule, struct fuzz_choices *choices, int scale)
{
    bool any = false;
    for (unsigned i = 0; i < rule->arrays; i++) {
        bool has = rule->array[i].item && choices->recipe[i].dist == FUZZ_integers &&
                   role_reads(rule->array[i].item->role);
        if (has)
            choices->recipe[i].scale = scale;
        any = any || has;
    }
    return any;
}

enum status fuzz_accumulator_find(struct fuzz_subject *subject, const struct fuzz_case *c,
                                  struct fuzz_accumulator *out, struct error *err)
{
    struct fuzz_case *trial = malloc(sizeof *trial);
    struct fuzz_choices choices = c->choices;
    struct fuzz_result result = {.outcome = FUZZ_MATCH};
    enum status status = STATUS_OK;
    *out = (struct fuzz_accumulator){0};
    if (!trial)
        return error_set(err, STATUS_NO_MEMORY, "no memory for a case");
    for (size_t i = 0; i < sizeof steps / sizeof steps[0] && !status; i++) {
        if (!set_scale(c->rule, &choices, steps[i].scale))
            break;
        status = fuzz_case_make(trial, c->rule, &c->layout, &choices, c->rule->elements, err);
        if (!status)
            status = fuzz_subject_run(subject, trial, &result, err);
        bool fails = status || fuzz_is_finding(result.outcome);
        if (fails)
            *out = steps[i].found;
        out->runs = (unsigned)i + 1;
        if (fails)
            break;
    }
    free(trial);
    return status;
}

void fuzz_accumulator_describe(const struct fuzz_accumulator *found, struct fuzz_result *result)
{
    size_t used = strlen(result->sentence);
    if (found->name && result->outcome == FUZZ_MISMATCH)
        snprintf(
            result->sentence + used, sizeof result->sentence - used,
            "; small integers are summed exactly, those up to 2^%d are not: an accumulator in %s",
            found->wrong, found->name);
}
