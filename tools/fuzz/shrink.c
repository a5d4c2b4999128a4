#include "tools/fuzz/shrink.h"

#include <stdlib.h>
#include <string.h>
#include "base/clock.h"

struct shrinking {
    struct fuzz_subject *subject;
    const struct fuzz_rule *rule;
    struct fuzz_case *best, *trial;
    struct fuzz_result result;
    unsigned runs, most;
    int64_t end; /* clock_ns() */
    bool progress;
    struct error *err;
    enum status status;
};

static bool over(const struct shrinking *s)
{
    return s->status || s->runs >= s->most || clock_ns() > s->end;
}

/* Keeps the choices if the case that they make still fails. */
static bool attempt(struct shrinking *s, const struct fuzz_choices *choices)
{
    struct error why = {{0}};
    struct fuzz_result result;
    if (over(s) ||
        fuzz_case_make(s->trial, s->rule, &s->best->layout, choices, s->rule->elements, &why))
        return false;
    /* Both come from memory that was all zeros.
     * NOLINTNEXTLINE(bugprone-suspicious-memory-comparison) */
    if (memcmp(&s->trial->choices, &s->best->choices, sizeof s->best->choices) == 0)
        return false;
    s->runs++;
    s->status = fuzz_subject_run(s->subject, s->trial, &result, s->err);
    if (s->status || !fuzz_is_finding(result.outcome))
        return false;
    struct fuzz_case *kept = s->trial;
    s->trial = s->best;
    s->best = kept;
    s->result = result;
    s->progress = true;
    return true;
}

/* ---- sizes ---- */

static bool try_value(struct shrinking *s, const struct fuzz_variable *v, int64_t value)
{
    struct fuzz_choices choices = s->best->choices;
    if (choices.value[v->slot] == value)
        return false;
    choices.value[v->slot] = value;
    return attempt(s, &choices);
}

/* The least value that fails, by halving: failing is mostly, not always, monotonous. */
static void shrink_range(struct shrinking *s, const struct fuzz_variable *v)
{
    int64_t low, step = 1;
    int64_t at = s->best->choices.value[v->slot];
    if (!expr_eval(v->low, s->best->choices.value, &low) ||
        (v->step && !expr_eval(v->step, s->best->choices.value, &step)) || step < 1)
        return;
    if (at <= low || try_value(s, v, low))
        return;
    int64_t passes = 0, fails = (at - low) / step;
    while (fails - passes > 1 && !over(s)) {
        int64_t middle = passes + (fails - passes) / 2;
        if (try_value(s, v, low + middle * step))
            fails = middle;
        else
            passes = middle;
    }
}

static void shrink_list(struct shrinking *s, const struct fuzz_variable *v)
{
    for (unsigned i = 0; i < v->items; i++) {
        int64_t value;
        if (expr_eval(v->item[i], s->best->choices.value, &value) &&
            value < s->best->choices.value[v->slot] && try_value(s, v, value))
            return;
    }
}

static void shrink_sizes(struct shrinking *s)
{
    for (unsigned i = 0; i < s->rule->variables && !over(s); i++) {
        const struct fuzz_variable *v = &s->rule->variable[i];
        if (v->kind == FUZZ_RANGE)
            shrink_range(s, v);
        else if (v->kind == FUZZ_LIST)
            shrink_list(s, v);
        else if (v->kind == FUZZ_STRIDE)
            try_value(s, v, 0); /* then it is dense */
    }
}

/* ---- data ---- */

static bool allowed(const struct fuzz_array *array, enum fuzz_dist dist)
{
    return dtype_is_integer(array->item->type.dtype) == fuzz_dist_integers(dist) &&
           (!array->dists || (array->dists & 1u << dist));
}

static void shrink_array(struct shrinking *s, unsigned i)
{
    static const enum fuzz_dist plain[] = {FUZZ_zero, FUZZ_exact, FUZZ_normal, FUZZ_below_counted,
                                           FUZZ_below_equal};
    const struct fuzz_array *array = &s->rule->array[i];
    struct fuzz_choices choices = s->best->choices;
    if (choices.recipe[i].skew || choices.recipe[i].aliased) {
        choices.recipe[i].skew = 0;
        choices.recipe[i].aliased = false;
        attempt(s, &choices);
    }
    if (!role_reads(array->item->role))
        return;
    for (size_t d = 0; d < sizeof plain / sizeof plain[0]; d++) {
        choices = s->best->choices;
        if (choices.recipe[i].dist == plain[d])
            return;
        choices.recipe[i].dist = plain[d];
        if (allowed(array, plain[d]) && attempt(s, &choices))
            return;
    }
}

static void shrink_data(struct shrinking *s)
{
    for (unsigned i = 0; i < s->rule->arrays && !over(s); i++) {
        if (s->rule->array[i].item)
            shrink_array(s, i);
    }
}

/* ---- the whole ---- */

enum status fuzz_shrink_case(struct fuzz_subject *subject, const struct fuzz_shrink *limits,
                             struct fuzz_case *c, struct fuzz_result *result, unsigned *runs,
                             struct error *err)
{
    struct fuzz_case *cases = calloc(2, sizeof *cases);
    if (!cases)
        return error_set(err, STATUS_NO_MEMORY, "no memory for a smaller case");
    struct shrinking s = {.subject = subject,
                          .rule = c->rule,
                          .best = cases,
                          .trial = cases + 1,
                          .result = *result,
                          .most = limits->runs,
                          .end = clock_ns() + (int64_t)(limits->seconds * 1e9),
                          .err = err};
    *s.best = *c;
    do {
        s.progress = false;
        shrink_sizes(&s);
        shrink_data(&s);
    } while (s.progress && !over(&s));
    *runs = s.runs;
    *c = *s.best;
    free(cases);
    if (!s.status) /* once more, for its bytes; a fault of chance may not come again */
        s.status = fuzz_subject_run(subject, c, result, err);
    if (!s.status && !fuzz_is_finding(result->outcome))
        *result = s.result;
    return s.status;
}
