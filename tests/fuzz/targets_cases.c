/* targets_cases.c - `fuzz` mappings, and the cases that they make. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "tests/fuzz/targets.h"
#include "tools/fuzz/case/case.h"

enum { CASES = 4, MOST_BYTES = 1 << 18 };

static void ignore(void *user, const char *sentence)
{
    *(size_t *)user += strlen(sentence);
}

static struct registry *load(const char *text, size_t size)
{
    char path[64];
    size_t told = 0;
    struct registry *registry = NULL;
    int file = memfd_create("registry", MFD_CLOEXEC);
    if (file < 0 || write(file, text, size) != (ssize_t)size)
        abort();
    snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
    const struct registry_source source = {.files = path};
    registry_load(&registry, &source, ignore, &told);
    if (registry)
        fuzz_rules_check(registry, ignore, &told);
    close(file);
    return registry;
}

static void make_cases(const struct fuzz_rule *rule, const struct param_layout *layout)
{
    static struct fuzz_case drawn;
    for (uint64_t seed = 0; seed < CASES; seed++) {
        struct error err = {{0}};
        if (fuzz_case_draw(&drawn, rule, layout, seed, &err) || drawn.pool_bytes > MOST_BYTES)
            continue;
        uint8_t *pool = malloc(2 * (size_t)drawn.pool_bytes + 1);
        struct textbuf text;
        if (!pool)
            abort();
        fuzz_case_fill(&drawn, pool);
        fuzz_case_mark(&drawn, pool, pool + drawn.pool_bytes);
        fuzz_case_hash(&drawn, pool);
        textbuf_init(&text);
        fuzz_case_describe(&drawn, &text);
        textbuf_release(&text);
        free(pool);
    }
}

/* The keys of a mapping, as they follow `fuzz:`. */
void target_cases(const uint8_t *data, size_t size)
{
    static const char head[] = "version: 1\nkernels:\n- kernel: k\n  signature: const f16 "
                               "x[rows:pitch][cols], const i32 ids?[rows], f16 y[rows][cols], i32 "
                               "rows, i32 cols, i64 pitch, f32 alpha\n  let: {twice: rows * 2}\n"
                               "  reference: scale\n  fuzz: ";
    static const struct param_layout layout = {
        .count = 7,
        .param = {
            {0, 8, 0}, {8, 8, 0}, {16, 8, 0}, {24, 4, 0}, {28, 4, 0}, {32, 8, 0}, {40, 4, 0}}};
    size_t length = sizeof(head) - 1;
    char *text = malloc(length + size + 1);
    struct arena arena = {0};
    const struct fuzz_rule *rule;
    struct registry_bench bench;
    struct error err = {{0}};
    enum skip skip;
    if (!text)
        abort();
    memcpy(text, head, length);
    memcpy(text + length, data, size);
    struct registry *registry = load(text, length + size);
    const struct kernel_spec *spec =
        registry ? registry_resolve(registry, "k", &layout, &skip, &err) : NULL;
    if (spec && !registry_bench(registry, spec, &layout, &bench, &err) && bench.fuzz &&
        !fuzz_rule_make(&rule, &arena, &bench, NULL, &err))
        make_cases(rule, &layout);
    arena_release(&arena);
    registry_destroy(registry);
    free(text);
}
