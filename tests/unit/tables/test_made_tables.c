/* Two tables in the place of the library's: keys that count before a kernel is seen, the order of
 * files, and what the build refuses. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "registry/registry_parts.h"
#include "tables/tables.h"
#include "tests/unit/common/registry_fixture.h"

#define FIRST  "tests/unit/tables/first.yaml"
#define SECOND "tests/unit/tables/second.yaml"

static struct complaints complaints;

static struct registry *load(const char *files, bool tables)
{
    struct registry *registry;
    struct registry_source source = {.files = files, .tables = tables};
    memset(&complaints, 0, sizeof complaints);
    registry_load(&registry, &source, complain_to, &complaints);
    if (complaints.count)
        fail_msg("%s", complaints.text[0]);
    return registry;
}

static bool is_read(const struct registry *registry, size_t entry)
{
    return registry->content.entry[entry] != NULL;
}

static void keys_that_count_at_start_are_read(void **state)
{
    struct registry *tables = load(NULL, true), *none = load(NULL, false);
    (void)state;
    assert_int_equal(registry_entries(tables), 5);
    assert_int_equal(registry_entries(none), 0);
    static const bool expected[] = {true, true, false, false, false};
    for (size_t i = 0; i < 5; i++)
        assert_int_equal(is_read(tables, i), expected[i]);
    assert_int_equal(registry_detectors(tables, 0), 1u << OUTLIER_SPEC_CENTROID | 1u);
    assert_int_equal(registry_after(tables, "comes_first"), 1);
    assert_int_equal(registry_after(tables, "comes_last"), 0);
    const struct contract *pair = registry_contract(tables, 0);
    assert_non_null(pair);
    assert_string_equal(pair->name, "pair");
    assert_string_equal(pair->where, "tables/second.yaml:4");
    assert_null(registry_contract(tables, 1));
    assert_null(registry_contract(none, 0));
    assert_false(registry_has_calls(tables));
    const struct tolerance_row *row =
        tolerance_find(&tables->content.tolerances, "relu", DTYPE_F32);
    assert_string_equal(row->reason, "a row of a table");
    row = tolerance_find(&none->content.tolerances, "relu", DTYPE_F32);
    assert_string_not_equal(row->reason, "a row of a table");
    registry_destroy(tables);
    registry_destroy(none);
}

static const struct kernel_spec *resolve(struct registry *registry, const char *symbol)
{
    struct param_layout layout = layout_of((const unsigned[]){8, 8, 4, 0});
    struct error err = {{0}};
    enum skip skip;
    return registry_resolve(registry, symbol, &layout, &skip, &err);
}

static void later_tables_win_and_files_win_over_them(void **state)
{
    struct registry *tables = load(NULL, true), *both = load(FIRST, true);
    (void)state;
    const struct kernel_spec *spec = resolve(tables, "plain_float_kernel");
    assert_non_null(spec);
    assert_string_equal(spec->where, "tables/second.yaml:8");
    assert_string_equal(spec->label, "the later one");
    assert_string_equal(spec->reference->name, "formula");
    assert_true(is_read(tables, 2)); /* it has the name, too */
    assert_true(is_read(tables, 3));
    assert_false(is_read(tables, 4));
    assert_string_equal(resolve(tables, "plain_double_kernel")->where, "tables/first.yaml:15");
    assert_null(resolve(tables, "plain_half_kernel"));
    assert_string_equal(resolve(both, "plain_float_kernel")->where, FIRST ":15");
    assert_string_equal(resolve(both, "plain_float_kernel_2")->where, FIRST ":15");
    struct textbuf unmet;
    textbuf_init(&unmet);
    registry_unmet(both, &unmet); /* of the files alone */
    assert_string_equal(unmet.data, "with_outlier (first.yaml:7), with_after (first.yaml:11)");
    textbuf_release(&unmet);
    registry_destroy(tables);
    registry_destroy(both);
}

static enum status count_visits(void *user, const struct registry_bench *bench, struct error *err)
{
    (void)err;
    assert_string_equal(bench->where, "tables/second.yaml:8");
    ++*(int *)user;
    return STATUS_OK;
}

static void visits_read_what_was_not(void **state)
{
    struct registry *tables = load(NULL, true);
    int visits = 0;
    (void)state;
    assert_int_equal(registry_visit_fuzz(tables, count_visits, &visits, complain_to, &complaints),
                     STATUS_OK);
    assert_int_equal(visits, 1);
    registry_destroy(tables);
}

static char *printed(struct registry *registry)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    registry_print(registry, out);
    fclose(out);
    for (char *at; (at = strstr(text, "tests/unit/"));)
        memmove(at, at + 11, strlen(at + 11) + 1);
    return text;
}

static void entries_are_those_of_the_files(void **state)
{
    struct registry *tables = load(NULL, true), *eager = load(FIRST ":" SECOND, false);
    (void)state;
    char *lazily = printed(tables), *eagerly = printed(eager);
    assert_string_equal(lazily, eagerly);
    free(lazily);
    free(eagerly);
    registry_destroy(tables);
    registry_destroy(eager);
}

/* The program of the build that is beside this one. */
static int tablegen(const char *yaml, char *said, size_t room)
{
    char command[4096], self[2048], path[] = "/tmp/cuvet-table-XXXXXX";
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    assert_true(length > 0);
    self[length] = '\0';
    *strstr(self, "/tests/unit/") = '\0';
    int fd = mkstemp(path);
    assert_true(fd >= 0 && write(fd, yaml, strlen(yaml)) == (ssize_t)strlen(yaml));
    close(fd);
    snprintf(command, sizeof command, "%s/tablegen /dev/null config/tolerances.yaml %s 2>&1", self,
             path);
    FILE *out = popen(command, "r");
    assert_non_null(out);
    said[fread(said, 1, room - 1, out)] = '\0';
    unlink(path);
    return pclose(out);
}

static void the_build_refuses_what_does_not_go(void **state)
{
    static const struct {
        const char *yaml, *says;
    } bad[] = {
        {"version: 2\n", "expected 'version: 1'"},
        {"version: 1\ninclude: other.yaml\n", ":2: 'include' does not go with a table"},
        {"version: 1\nkernels:\n- {kernel: a, call: b}\n", ":3: an entry needs either"},
        {"version: 1\nkernels:\n- {signature: b}\n", ":3: an entry needs either"},
        {"version: 1\nkernels:\n- {kernel: a, reference: {inline: x}}\n",
         "'reference' is a mapping"},
        {"version: 1\nkernels: {a: b}\n", "does not go with a table"},
        {"version: 1\nkernels: [\n", ":3:1: "},
    };
    char said[1024];
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_int_not_equal(tablegen(bad[i].yaml, said, sizeof said), 0);
        if (!strstr(said, bad[i].says))
            fail_msg("'%s', expected '%s'", said, bad[i].says);
    }
    assert_int_equal(tablegen("version: 1\nkernels: []\n", said, sizeof said), 0);
    assert_string_equal(said, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_that_count_at_start_are_read),
        cmocka_unit_test(later_tables_win_and_files_win_over_them),
        cmocka_unit_test(visits_read_what_was_not),
        cmocka_unit_test(entries_are_those_of_the_files),
        cmocka_unit_test(the_build_refuses_what_does_not_go),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
