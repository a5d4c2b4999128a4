/*
 * test_fuzz_tables.c - `fuzz` mappings of the built-in tables are rules, and each yields cases.
 *
 * tests/golden/fuzz-names.txt has a kernel's name for each entry whose pattern is a regex.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "lang/signature.h"
#include "plan/plan.h"
#include "tests/unit/common/registry_fixture.h"
#include "registry/registry_parts.h"
#include "tools/fuzz/case/case.h"

enum { MAPPINGS = 256, SEEDS = 3 };

struct mapping {
    const char *where;
    unsigned sizes[SIGNATURE_ITEMS + 1]; /* of the parameters */
};

static struct registry *registry;
static struct mapping mappings[MAPPINGS];
static unsigned count;
static struct fuzz_case drawn;

static enum status note(void *user, const struct registry_bench *bench, struct error *err)
{
    const struct signature *signature = bench->plan->signature;
    struct mapping *out = &mappings[count++];
    (void)user;
    (void)err;
    assert_in_range(count, 1, MAPPINGS);
    out->where = bench->where;
    for (unsigned i = 0; i < signature->params; i++) {
        const struct signature_param *param = &signature->param[i];
        unsigned open = param->kind == PARAM_SKIPPED ? 8 : 4;
        out->sizes[i] = param->size ? param->size : open;
    }
    return STATUS_OK;
}

static int load(void **state)
{
    struct complaints complaints = {0};
    const struct registry_source source = {.tables = true};
    (void)state;
    assert_int_equal(registry_load(&registry, &source, complain_to, &complaints), STATUS_OK);
    assert_int_equal(registry_visit_fuzz(registry, note, NULL, complain_to, &complaints),
                     STATUS_OK);
    return complaints.count;
}

static int unload(void **state)
{
    (void)state;
    registry_destroy(registry);
    return 0;
}

static void mappings_are_rules(void **state)
{
    struct complaints complaints = {0};
    (void)state;
    fuzz_rules_check(registry, complain_to, &complaints);
    if (complaints.count)
        fail_msg("%s", complaints.text[0]);
    assert_true(count > 80);
}

/* Draws cases of seeds 1 to SEEDS; false: the name is not that of the entry. */
static bool draw_of(const struct mapping *mapping, const char *name)
{
    struct param_layout layout = layout_of(mapping->sizes);
    struct arena arena = {0};
    struct registry_bench bench;
    struct error err = {{0}};
    const struct fuzz_rule *rule;
    enum skip skip;
    const struct kernel_spec *spec = registry_resolve(registry, name, &layout, &skip, &err);
    if (!spec || strcmp(spec->where, mapping->where) != 0)
        return false;
    assert_int_equal(registry_bench(registry, spec, &layout, &bench, &err), STATUS_OK);
    enum status status = fuzz_rule_make(&rule, &arena, &bench, NULL, &err);
    for (uint64_t seed = 1; !status && seed <= SEEDS; seed++)
        status = fuzz_case_draw(&drawn, rule, &layout, fuzz_case_seed(seed, 0), &err);
    if (status)
        fail_msg("%s, %s: %s", mapping->where, name, err.text);
    arena_release(&arena);
    return true;
}

/* Types that the kernel's code shows (`types`) need an image. */
static const char *pattern_at(const char *where)
{
    for (size_t i = 0; i < registry->content.entries; i++) {
        const struct registry_entry *entry = registry->content.entry[i];
        if (entry && strcmp(entry->where, where) == 0)
            return entry->typed ? NULL : pattern_text(entry->pattern);
    }
    return NULL;
}

static bool draw_of_golden(const struct mapping *mapping)
{
    char name[1024];
    bool found = false;
    FILE *file = fopen("tests/golden/fuzz-names.txt", "r");
    assert_non_null(file);
    while (!found && fscanf(file, "%1023s", name) == 1)
        found = draw_of(mapping, name);
    fclose(file);
    return found;
}

static void mappings_yield_cases(void **state)
{
    (void)state;
    for (unsigned i = 0; i < count; i++) {
        const char *pattern = pattern_at(mappings[i].where);
        if (pattern &&
            !(*pattern == '/' ? draw_of_golden(&mappings[i]) : draw_of(&mappings[i], pattern)))
            fail_msg("%s: tests/golden/fuzz-names.txt has no name of %s", mappings[i].where,
                     pattern);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(mappings_are_rules),
                                       cmocka_unit_test(mappings_yield_cases)};
    return cmocka_run_group_tests(tests, load, unload);
}
