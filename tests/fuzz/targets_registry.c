/* targets_registry.c - what a registry file is made of. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "tests/fuzz/targets.h"
#include "lang/expr.h"
#include "lang/formals.h"
#include "names/pattern.h"
#include "lang/ref_text.h"
#include "registry/registry.h"
#include "plan/tolerance.h"

static void ignore(void *user, const char *sentence)
{
    size_t *length = user;
    *length += strlen(sentence);
}

/* A file without a name that holds the text; its path is written to `path`. */
static int make_file(const char *text, size_t size, char path[64])
{
    int file = memfd_create("registry", MFD_CLOEXEC);
    if (file < 0 || write(file, text, size) != (ssize_t)size)
        abort();
    snprintf(path, 64, "/proc/self/fd/%d", file);
    return file;
}

/* Few rows, for the built-in ones take longer to read than an input does. */
static const char *few_tolerances(void)
{
    static const char text[] = "version: 1\ntolerances: {gelu, rmsnorm: {f32: {rule: bitwise}}}\n";
    static char path[64];
    if (!path[0])
        make_file(text, sizeof(text) - 1, path);
    return path;
}

/* Loads the text as a file, prints the table and looks two kernels up. */
static void load(const char *text, size_t size)
{
    static const struct param_layout layout = {
        .count = 3,
        .param = {{.offset = 0, .size = 8}, {.offset = 8, .size = 8}, {.offset = 16, .size = 4}}};
    char path[64];
    int file = make_file(text, size, path);
    size_t told = 0;
    struct registry *registry = NULL;
    struct error err = {{0}};
    enum skip skip;
    struct registry_source source = {.files = path, .tolerances = few_tolerances()};
    registry_load(&registry, &source, ignore, &told);
    if (registry) {
        FILE *null = fopen("/dev/null", "w");
        registry_print(registry, null);
        fclose(null);
        registry_resolve(registry, "gelu_kernel", &layout, &skip, &err);
        registry_resolve(registry, "_Z6kernelI6__halfLi8EEvPKT_PS1_i", &layout, &skip, &err);
    }
    registry_destroy(registry);
    close(file);
}

void target_registry(const uint8_t *data, size_t size)
{
    load((const char *)data, size);
}

/* One entry's keys, from its second line on. */
void target_entry(const uint8_t *data, size_t size)
{
    static const char head[] = "version: 1\nkernels:\n- kernel: gelu_kernel\n";
    size_t length = sizeof(head) - 1;
    char *text = malloc(length + size + 1);
    if (!text)
        abort();
    memcpy(text, head, length);
    memcpy(text + length, data, size);
    load(text, length + size);
    free(text);
}

static int find(void *user, const char *name, const char *index, struct error *err)
{
    (void)user;
    (void)err;
    return index || name[0] == '\0' || name[1] != '\0' || name[0] < 'a' || name[0] > 'h'
               ? -1
               : name[0] - 'a';
}

static void use(void *user, int slot)
{
    *(int *)user += slot;
}

void target_expression(const uint8_t *data, size_t size)
{
    static const int64_t slots[][8] = {{1, 2, 3, 4, 5, 6, 7, 8},
                                       {INT64_MAX, INT64_MIN, 0, -1, 1, 64, 1 << 30, -7}};
    char *text = target_text(data, size);
    struct arena arena = {0};
    struct expr_names names = {find, NULL};
    const struct expr *expr;
    struct error err = {{0}};
    if (!expr_compile(&expr, &arena, text, &names, &err)) {
        int64_t value;
        int sum = 0;
        expr_constant(expr, &value);
        expr_slots(expr, use, &sum);
        for (size_t i = 0; i < sizeof(slots) / sizeof(*slots); i++)
            if (!expr_eval(expr, slots[i], &value))
                expr_explain(expr, slots[i], &err);
    }
    arena_release(&arena);
    free(text);
}

void target_signature(const uint8_t *data, size_t size)
{
    static const struct captures captures = {1, {{"T", "float"}}};
    char *text = target_text(data, size);
    struct arena arena = {0};
    const struct signature *signature;
    struct error err = {{0}};
    signature_parse(&signature, &arena, text, &captures, &err);
    arena_release(&arena);
    free(text);
}

void target_formals(const uint8_t *data, size_t size)
{
    char *text = target_text(data, size);
    struct formals formals;
    struct error err = {{0}};
    formals_parse(&formals, text, &err);
    free(text);
}

void target_tolerance(const uint8_t *data, size_t size)
{
    struct yaml_doc *doc = NULL;
    struct arena arena = {0};
    struct tolerance_table table = {0};
    struct error err = {{0}};
    size_t told = 0;
    if (!yaml_doc_parse(&doc, "t.yaml", (const char *)data, size, &err)) {
        const struct yaml_node *node = yaml_get(yaml_doc_root(doc), "tolerances");
        if (node)
            tolerance_add(&table, &arena, node, ignore, &told);
    }
    arena_release(&arena);
    yaml_doc_destroy(doc);
}

/* The first line is the pattern, the second one the symbol. */
void target_pattern(const uint8_t *data, size_t size)
{
    char *text = target_text(data, size), *symbol = strchr(text, '\n');
    struct pattern *pattern = NULL;
    struct error err = {{0}};
    if (symbol)
        *symbol++ = '\0';
    if (!pattern_compile(&pattern, text, &err)) {
        struct arena arena = {0};
        struct symbol_names names;
        struct captures captures;
        if (symbol_describe(&names, &arena, symbol ? symbol : "_Z1fIfEvPT_"))
            pattern_match(pattern, &names, &arena, &captures);
        arena_release(&arena);
    }
    pattern_destroy(pattern);
    free(text);
}

void target_symbol(const uint8_t *data, size_t size)
{
    char *text = target_text(data, size);
    struct arena arena = {0};
    struct symbol_names names;
    symbol_describe(&names, &arena, text);
    symbol_normalise(&arena, text);
    arena_release(&arena);
    free(text);
}

void target_reference(const uint8_t *data, size_t size)
{
    static struct ref_declaration declared;
    char *text = target_text(data, size);
    const char *at = text;
    struct error err = {{0}};
    while (!ref_text_next(text, &at, &declared, &err))
        ;
    free(text);
}
