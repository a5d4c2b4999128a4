/*
 * binding_fixture.h - one entry of a registry bound for one launch, for unit tests. All of it is
 * here; what came out is the including file's own.
 */
#ifndef TESTS_UNIT_BINDING_FIXTURE_H
#define TESTS_UNIT_BINDING_FIXTURE_H

#include <stdio.h>
#include <string.h>
#include "tests/unit/common/registry_fixture.h"
#include "tests/unit/common/says.h"
#include "plan/plan.h"
#include "copy/shrink.h"

static struct resolved bound; /* until the next launch is bound */
static struct binding b;
static struct snapshot_plan plan;
static struct error why;

/* A group's teardown, too. */
static inline int bound_release(void **state)
{
    (void)state;
    if (bound.registry)
        registry_destroy(bound.registry);
    bound = (struct resolved){0};
    return 0;
}

/* Binds a launch of 3 x 5 x 1 blocks of 64 threads. `entry` is that of kernel "k", from its second
 * line on, indented by two. */
static inline enum skip bind_launch(const char *entry, const unsigned *sizes, void *const *params)
{
    char text[1024];
    snprintf(text, sizeof text, "kernel: k\n  %s", entry);
    bound_release(NULL);
    bound = resolve_entry(text, sizes);
    struct launch launch = {.grid = {3, 5, 1}, .block = {64, 1, 1}, .params = params};
    memset(&b, 0xa5, sizeof b);
    why = (struct error){0};
    return binding_make(bound.spec, &launch, &b, &why);
}

/* And plans its snapshot: of some of its items where `aim` bytes are not 0 and they can be kept
 * apart. */
static inline enum skip bind_and_plan(const char *entry, const unsigned *sizes, void *const *params,
                                      uint64_t aim)
{
    enum skip skip = bind_launch(entry, sizes, params);
    if (!skip)
        skip = snapshot_plan_make(&b, &plan, &why);
    struct shrink_limits limits = {aim, plan.bytes};
    if (!skip && aim && shrink_binding(&b, bound.spec->plan->formals, &plan, &limits, 1))
        skip = snapshot_plan_make(&b, &plan, &why);
    return skip;
}

static inline void expect_bound(enum skip got)
{
    if (got)
        fail_msg("%s: %s", skip_text(got), why.text);
}

static inline void expect_refusal(enum skip got, enum skip skip, const char *part)
{
    if (got != skip)
        fail_msg("'%s', not '%s': %s", skip_text(got), skip_text(skip), why.text);
    expect_says(why.text, part);
    why = (struct error){0};
}

#endif
