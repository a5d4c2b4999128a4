/* The tables of the library: what the build made of them is what their files have, and of an entry
 * nothing is read before a name of it is seen. */
#include <glob.h>
#include <pthread.h>

#include "tests/unit/registry/registry_says.h"
#include "tests/unit/registry/pattern_names.h"
#include "tables/tables.h"

static char files[8192]; /* as the library has them, in their order */
static glob_t found;

static int find_files(void **state)
{
    (void)state;
    assert_int_equal(glob("config/calls/*.yaml", 0, NULL, &found), 0);
    assert_int_equal(glob("config/kernels/*.yaml", GLOB_APPEND, NULL, &found), 0);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        strcat(files, i ? ":" : "");
        strcat(files, found.gl_pathv[i]);
    }
    return 0;
}

static int forget_files(void **state)
{
    (void)state;
    globfree(&found);
    return 0;
}

static struct registry *load(const char *of)
{
    struct registry *registry;
    struct registry_source source = {.files = of, .tables = !of};
    memset(&complaints, 0, sizeof complaints);
    registry_load(&registry, &source, complain_to, &complaints);
    if (complaints.count)
        fail_msg("%s", complaints.text[0]);
    return registry;
}

static const char *base_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static void expect_same_node(const struct yaml_node *a, const struct yaml_node *b)
{
    bool scalar = a->kind == YAML_KIND_SCALAR;
    if (a->kind != b->kind || a->line != b->line || a->column != b->column ||
        a->quoted != b->quoted || a->literal != b->literal || a->count != b->count ||
        strcmp(base_of(a->file), base_of(b->file)) != 0 ||
        (scalar && strcmp(a->text, b->text) != 0))
        fail_msg("%s:%u:%u: not the node of %s:%u:%u", a->file, a->line, a->column, b->file,
                 b->line, b->column);
    for (size_t i = 0; i < a->count; i++) {
        expect_same_node(a->item[i], b->item[i]);
        assert_int_equal(!a->key, !b->key);
        if (a->key)
            expect_same_node(a->key[i], b->key[i]);
    }
}

static void nodes_are_those_of_the_files(void **state)
{
    struct arena arena = {0};
    struct error err = {{0}};
    size_t number = 0;
    (void)state;
    for (size_t i = 0; i < found.gl_pathc; i++) {
        struct yaml_doc *doc;
        if (yaml_doc_load(&doc, found.gl_pathv[i], &err))
            fail_msg("%s", err.text);
        const struct yaml_node *kernels = yaml_get(yaml_doc_root(doc), "kernels");
        for (size_t j = 0; j < kernels->count; j++) {
            assert_true(number < tables_entries());
            expect_same_node(tables_read(number++, &arena), kernels->item[j]);
        }
        yaml_doc_destroy(doc);
    }
    assert_int_equal(number, tables_entries());
    arena_release(&arena);
}

/* What `cuvet check` prints of all entries, under the names of the tables. */
static char *printed(struct registry *registry)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    registry_print(registry, out);
    fclose(out);
    static const char *const folders[] = {"config/kernels/", "config/calls/"};
    for (size_t i = 0; i < 2; i++) {
        for (char *at; (at = strstr(text, folders[i]));) {
            memcpy(at, "tables/", 7);
            memmove(at + 7, at + strlen(folders[i]), strlen(at + strlen(folders[i])) + 1);
        }
    }
    return text;
}

static void expect_same_numbers(const struct registry_entry *a, const struct registry_entry *b)
{
    if (strcmp(pattern_text(a->pattern), pattern_text(b->pattern)) != 0 ||
        a->source.builtin != b->source.builtin || !a->label != !b->label ||
        !a->typed != !b->typed || a->sample != b->sample || a->first != b->first ||
        a->budget != b->budget || a->subset != b->subset || a->freivalds != b->freivalds ||
        a->outlier.spec.detector != b->outlier.spec.detector ||
        a->deterministic != b->deterministic || a->call != b->call || a->after != b->after ||
        !a->after_pattern != !b->after_pattern || !a->source.override != !b->source.override ||
        a->tolerance.rule != b->tolerance.rule || a->tolerance.lambda != b->tolerance.lambda ||
        a->tolerance.accumulate != b->tolerance.accumulate ||
        a->tolerance.needs != b->tolerance.needs || a->tolerance.rtol != b->tolerance.rtol ||
        a->tolerance.atol != b->tolerance.atol || a->tolerance.points != b->tolerance.points)
        fail_msg("%s: not the entry of %s", a->where, b->where);
}

static void entries_are_those_of_the_files(void **state)
{
    struct registry *tables = load(NULL), *eager = load(files);
    (void)state;
    assert_int_equal(registry_entries(tables), registry_entries(eager));
    for (size_t i = 0; i < registry_entries(eager); i++)
        expect_same_numbers(registry_content_entry(&tables->content, i), eager->content.entry[i]);
    char *lazily = printed(tables), *eagerly = printed(eager);
    assert_true(strlen(lazily) > 10000);
    assert_string_equal(lazily, eagerly);
    free(lazily);
    free(eagerly);
    registry_destroy(tables);
    registry_destroy(eager);
}

static void what_counts_at_start_is_known(void **state)
{
    struct registry *tables = load(NULL), *eager = load(files);
    bool *lazily = calloc(ref_builtin_count, sizeof *lazily);
    bool *eagerly = calloc(ref_builtin_count, sizeof *eagerly);
    (void)state;
    registry_references(tables, lazily);
    registry_references(eager, eagerly);
    assert_memory_equal(lazily, eagerly, ref_builtin_count * sizeof *lazily);
    assert_int_equal(registry_has_calls(tables), registry_has_calls(eager));
    for (int fallback = 0; fallback < 3; fallback++)
        assert_int_equal(registry_detectors(tables, fallback), registry_detectors(eager, fallback));
    assert_int_equal(tables->content.afters, eager->content.afters);
    assert_int_equal(tables->content.contracts.count, eager->content.contracts.count);
    assert_int_equal(tables->content.tolerances.count, eager->content.tolerances.count);
    free(lazily);
    free(eagerly);
    registry_destroy(tables);
    registry_destroy(eager);
}

/* Entries that are read, and patterns that were tried. */
static size_t count_read(const struct registry *registry, size_t *tried)
{
    size_t count = 0;
    *tried = 0;
    for (size_t i = 0; i < registry_entries(registry); i++) {
        count += registry->content.entry[i] != NULL;
        *tried += registry->content.tried[i] != NULL;
    }
    return count;
}

static void an_entry_is_read_when_its_name_is_seen(void **state)
{
    struct registry *tables = load(NULL);
    size_t at_start = 0, tried;
    (void)state;
    for (size_t i = 0; i < tables_entries(); i++) {
        const struct registry_entry *entry = tables->content.entry[i];
        bool early = tables_entry(i)->flags & TABLES_AT_START;
        assert_int_equal(!entry, !early);
        assert_true(!early || entry->after_pattern || entry->outlier.spec.detector >= 0);
        at_start += early;
    }
    assert_true(at_start < tables_entries() / 20);
    assert_int_equal(count_read(tables, &tried), at_start);
    assert_int_equal(tried, 0);
    struct textbuf unmet;
    textbuf_init(&unmet);
    assert_false(registry_names(tables, "_Z9no_kernelPf"));
    assert_int_equal(registry_after(tables, "_Z9no_kernelPf"), 0);
    registry_unmet(tables, &unmet);
    assert_int_equal(unmet.length, 0);
    assert_int_equal(count_read(tables, &tried), at_start);
    assert_int_equal(tried, 0);
    assert_true(registry_names(tables, "_Z19gelu_forward_kernelPfPKfi"));
    assert_int_equal(count_read(tables, &tried), at_start + 1);
    assert_int_equal(tried, 0);
    /* a name of the same words */
    assert_false(registry_names(tables, "_ZN5other19gelu_forward_kernelIiEEvPf"));
    assert_int_equal(count_read(tables, &tried), at_start + 1);
    textbuf_release(&unmet);
    registry_destroy(tables);
}

/* Without a word, each name of each program would be tried. */
static void each_entry_needs_a_word(void **state)
{
    (void)state;
    for (size_t i = 0; i < tables_entries(); i++) {
        if (!tables_entry(i)->words)
            fail_msg("%s needs no word", tables_pattern(i));
    }
}

/* Names drawn from each pattern, as they are and as a compiler spells them. */
static void drawn_names_pass(struct registry *registry)
{
    enum { DRAWN = 6 };
    for (size_t i = 0; i < registry_entries(registry); i++) {
        const struct pattern *pattern = registry_content_pattern(&registry->content, i);
        unsigned named = 0;
        for (unsigned j = 0; j < DRAWN; j++) {
            struct arena arena = {0};
            char *name = name_of_pattern(pattern_text(pattern), j);
            char *mangled = mangled_like(name);
            const char *plain = symbol_plain(&arena, name);
            struct captures captures;
            struct symbol_names raw = {name, name, name}, spelled = {mangled, name, plain};
            if (pattern_match(pattern, &raw, &arena, &captures) == PATTERN_YES) {
                named++;
                if (!is_tried(registry, name, i))
                    fail_msg("%s names %s", pattern_text(pattern), name);
            }
            if (pattern_match(pattern, &spelled, &arena, &captures) == PATTERN_YES &&
                !is_tried(registry, mangled, i))
                fail_msg("%s names %s", pattern_text(pattern), mangled);
            free(name);
            free(mangled);
            arena_release(&arena);
        }
        if (named < DRAWN / 2)
            fail_msg("%s: %u of %d names drawn", pattern_text(pattern), named, DRAWN);
    }
}

static void no_name_of_a_pattern_is_lost(void **state)
{
    glob_t more = {0};
    struct registry *tables = load(NULL);
    (void)state;
    drawn_names_pass(tables);
    registry_destroy(tables);
    glob("config/untried/*.yaml", 0, NULL, &more);
    for (size_t i = 0; i < more.gl_pathc; i++) {
        tables = load(more.gl_pathv[i]);
        drawn_names_pass(tables);
        registry_destroy(tables);
    }
    globfree(&more);
}

struct reader {
    pthread_t thread;
    struct registry *registry;
    unsigned named;
};

static void *read_all(void *of)
{
    struct reader *reader = of;
    char symbol[128];
    for (unsigned i = 0; i < tables_entries(); i++) {
        const char *pattern = tables_pattern(i);
        if (strlen(pattern) == name_run(pattern)) {
            snprintf(symbol, sizeof symbol, "_Z%zu%.80sPf", strlen(pattern), pattern);
            reader->named += registry_names(reader->registry, symbol);
        }
    }
    return NULL;
}

static void threads_read_one_entry_each(void **state)
{
    struct reader reader[4];
    struct registry *tables = load(NULL);
    (void)state;
    for (unsigned i = 0; i < 4; i++) {
        reader[i] = (struct reader){.registry = tables};
        assert_int_equal(pthread_create(&reader[i].thread, NULL, read_all, &reader[i]), 0);
    }
    for (unsigned i = 0; i < 4; i++)
        pthread_join(reader[i].thread, NULL);
    assert_true(reader[0].named > 20);
    for (unsigned i = 1; i < 4; i++)
        assert_int_equal(reader[i].named, reader[0].named);
    registry_destroy(tables);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nodes_are_those_of_the_files),
        cmocka_unit_test(entries_are_those_of_the_files),
        cmocka_unit_test(what_counts_at_start_is_known),
        cmocka_unit_test(an_entry_is_read_when_its_name_is_seen),
        cmocka_unit_test(each_entry_needs_a_word),
        cmocka_unit_test(threads_read_one_entry_each),
        cmocka_unit_test(no_name_of_a_pattern_is_lost),
    };
    return cmocka_run_group_tests(tests, find_files, forget_files);
}
