/* YAML: the tree and its marks, every limit, the typed reads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "tests/unit/common/says.h"
#include "tests/unit/common/tmp_folder.h"
#include "system/yaml_doc.h"

static struct error err;

static struct yaml_doc *parse(const char *text)
{
    struct yaml_doc *doc = NULL;
    err = (struct error){0};
    yaml_doc_parse(&doc, "k.yaml", text, strlen(text), &err);
    return doc;
}

static void expect_error(const char *text, const char *part)
{
    assert_null(parse(text));
    expect_says(err.text, part);
}

static void the_tree_knows_its_lines(void **state)
{
    (void)state;
    struct yaml_doc *doc = parse("a: 1\nb:\n  - x\n  - {c: 'y', d: \"\"}\n");
    assert_non_null(doc);
    const struct yaml_node *root = yaml_doc_root(doc), *b = yaml_get(root, "b");
    assert_int_equal(root->count, 2);
    assert_string_equal(yaml_get(root, "a")->text, "1");
    assert_int_equal(b->kind, YAML_KIND_SEQUENCE);
    assert_int_equal(b->count, 2);
    assert_int_equal(b->item[1]->line, 4);
    assert_int_equal(b->item[1]->column, 5);
    assert_true(yaml_get(b->item[1], "c")->quoted);
    assert_false(b->item[0]->quoted);
    assert_null(yaml_get(root, "z"));
    assert_null(yaml_get(b, "a"));
    yaml_doc_destroy(doc);
    yaml_doc_destroy(NULL);
}

static void aliases_share_the_node(void **state)
{
    (void)state;
    struct yaml_doc *doc = parse("a: &x {k: 1}\nb: *x\n");
    assert_non_null(doc);
    assert_ptr_equal(yaml_get(yaml_doc_root(doc), "a"), yaml_get(yaml_doc_root(doc), "b"));
    yaml_doc_destroy(doc);
}

static void an_empty_text_has_no_root(void **state)
{
    (void)state;
    struct yaml_doc *doc = parse("# nothing\n");
    assert_non_null(doc);
    assert_null(yaml_doc_root(doc));
    yaml_doc_destroy(doc);
}

static void bad_texts_are_told_where(void **state)
{
    (void)state;
    expect_error("a: [1, 2\n", "k.yaml:2:1: ");
    expect_error("a: 1\na: 2\n", "k.yaml:2:1: key 'a' appears twice, first in line 1");
    expect_error("? [x]\n: 1\n", "a key must be a word");
    expect_error("a: !!int 1\n", "tags are not supported");
    expect_error("a: *nobody\n", "k.yaml:1:4: an alias of an unknown anchor");
    expect_error("a: &x [*x]\n", "an alias inside its own anchor");
    expect_error("a: 1\n---\nb: 2\n", "a second document");
    expect_error("a: \"x\\0y\"\n", "a NUL byte");
    expect_error("a: \x01\n", "k.yaml:");
    expect_error("\t- a\n b", "k.yaml:");
}

static void depth_is_limited(void **state)
{
    (void)state;
    char text[200] = "";
    memset(text, '[', 32);
    memset(text + 32, ']', 32);
    struct yaml_doc *doc = parse(text);
    assert_non_null(doc);
    yaml_doc_destroy(doc);
    memset(text, '[', 33);
    memset(text + 33, ']', 33);
    expect_error(text, "nested deeper than 32 levels");
    char *deep = malloc(200001);
    memset(deep, '[', 200000);
    deep[200000] = '\0';
    expect_error(deep, "nested deeper than 32 levels");
    free(deep);
}

static void a_billion_laughs_end_early(void **state)
{
    (void)state;
    char text[2048];
    int used = snprintf(text, sizeof text, "a0: &a0 [x,x,x,x,x,x,x,x,x]\n");
    for (int i = 1; i < 10; i++)
        used += snprintf(text + used, sizeof text - (size_t)used,
                         "a%d: &a%d [*a%d,*a%d,*a%d,*a%d,*a%d,*a%d,*a%d,*a%d,*a%d]\n", i, i, i - 1,
                         i - 1, i - 1, i - 1, i - 1, i - 1, i - 1, i - 1, i - 1);
    expect_error(text, "more than 100000 nodes, aliases expanded");
}

static void size_is_limited(void **state)
{
    (void)state;
    size_t length = YAML_MAX_BYTES + 1;
    char *text = malloc(length);
    memset(text, ' ', length);
    struct yaml_doc *doc = NULL;
    err = (struct error){0};
    assert_int_equal(yaml_doc_parse(&doc, "k.yaml", text, length, &err), STATUS_INVALID);
    assert_string_equal(err.text, "k.yaml: larger than 1 MiB");
    free(text);
    char *many = malloc(500000);
    size_t used = 0;
    for (int i = 0; i < 5000; i++)
        used += (size_t)sprintf(many + used, "k%d: 1\n", i);
    expect_error(many, "more than 4096 keys");
    free(many);
}

static void files_that_cannot_be_read_are_told(void **state)
{
    (void)state;
    struct yaml_doc *doc = NULL;
    err = (struct error){0};
    assert_int_equal(yaml_doc_load(&doc, "/nowhere/k.yaml", &err), STATUS_IO);
    assert_non_null(strstr(err.text, "/nowhere/k.yaml: cannot be opened: No such file"));
    err = (struct error){0};
    assert_int_equal(yaml_doc_load(&doc, "/tmp", &err), STATUS_IO);
    assert_string_equal(err.text, "/tmp: expected a regular file, found a folder");
    err = (struct error){0};
    assert_int_equal(yaml_doc_load(&doc, "/dev/zero", &err), STATUS_IO);
    assert_string_equal(err.text, "/dev/zero: expected a regular file, found a device");
}

/* It has no writer: a plain open would wait for good. */
static void a_fifo_is_not_waited_for(void **state)
{
    (void)state;
    struct yaml_doc *doc = NULL;
    struct tmp_folder folder;
    char path[600];
    tmp_folder_make(&folder);
    snprintf(path, sizeof path, "%s/k.yaml", folder.path);
    assert_int_equal(mkfifo(path, 0600), 0);
    alarm(20);
    err = (struct error){0};
    assert_int_equal(yaml_doc_load(&doc, path, &err), STATUS_IO);
    alarm(0);
    assert_non_null(strstr(err.text, "/k.yaml: expected a regular file, found a FIFO or pipe"));
    tmp_folder_remove(&folder);
}

static void typed_reads_say_what_they_expect(void **state)
{
    (void)state;
    struct yaml_doc *doc =
        parse("sample: often\nfirst: 3\nratio: 0.25\nlist: [1]\nnone:\nq: '1'\n");
    const struct yaml_node *root = yaml_doc_root(doc);
    double real = -1;
    int64_t whole = -1;
    const char *text = NULL;
    err = (struct error){0};
    assert_int_equal(yaml_real(yaml_get(root, "sample"), "sample", 0, 1, &real, &err),
                     STATUS_INVALID);
    assert_string_equal(err.text, "k.yaml:1:9: 'sample' is 'often'; expected a number from 0 to 1");
    assert_true(real == -1);
    assert_int_equal(yaml_real(yaml_get(root, "ratio"), "ratio", 0, 1, &real, NULL), STATUS_OK);
    assert_true(real == 0.25);
    assert_int_equal(yaml_real(yaml_get(root, "first"), "first", 0, 1, &real, NULL),
                     STATUS_INVALID);
    assert_int_equal(yaml_real(yaml_get(root, "q"), "q", 0, 1, &real, NULL), STATUS_INVALID);
    assert_int_equal(yaml_integer(yaml_get(root, "first"), "first", 0, 9, &whole, NULL), STATUS_OK);
    assert_int_equal(whole, 3);
    assert_int_equal(yaml_integer(yaml_get(root, "ratio"), "ratio", 0, 9, &whole, NULL),
                     STATUS_INVALID);
    err = (struct error){0};
    assert_int_equal(yaml_text(yaml_get(root, "list"), "list", &text, &err), STATUS_INVALID);
    assert_string_equal(err.text, "k.yaml:4:7: 'list' is a list; expected a text");
    err = (struct error){0};
    assert_int_equal(yaml_text(yaml_get(root, "none"), "none", &text, &err), STATUS_INVALID);
    assert_non_null(strstr(err.text, "'none' has no value; expected a text"));
    err = (struct error){0};
    assert_int_equal(yaml_expect(root, "list", YAML_KIND_SEQUENCE, &err), STATUS_INVALID);
    assert_string_equal(err.text, "k.yaml:1:1: 'list' is a mapping; expected a list");
    yaml_doc_destroy(doc);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_tree_knows_its_lines),
        cmocka_unit_test(aliases_share_the_node),
        cmocka_unit_test(an_empty_text_has_no_root),
        cmocka_unit_test(bad_texts_are_told_where),
        cmocka_unit_test(depth_is_limited),
        cmocka_unit_test(a_billion_laughs_end_early),
        cmocka_unit_test(size_is_limited),
        cmocka_unit_test(a_fifo_is_not_waited_for),
        cmocka_unit_test(files_that_cannot_be_read_are_told),
        cmocka_unit_test(typed_reads_say_what_they_expect),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
