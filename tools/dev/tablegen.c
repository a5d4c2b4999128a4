/*
 * tablegen.c - puts the tables of the library into the form of shim/tables/tables_format.h:
 * tablegen OUT config/tolerances.yaml config/kernels/NAME.yaml ...
 *
 * Whether each entry is right is a matter of the unit tests; what does not go with this form is an
 * error of the build.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "system/yaml_doc.h"
#include "tables/tables_format.h"

struct list {
    char *data;
    size_t bytes, room, count;
};

/* Of all files. `text_place` and `word_place`: open addressing, 1 more than the place in the list.
 */
enum { PLACES = 1 << 16 };
static struct list entries, words, nodes, sections, references, texts;
static uint32_t text_place[PLACES], word_place[PLACES], distinct;

static void fail(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));
static void fail(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
    exit(1);
}

/* ---- lists ---- */

/* Room for `count` more rows of zeros; returns the number of the first. */
static uint32_t extend(struct list *list, size_t size, size_t count)
{
    size_t first = list->count, bytes = size * count;
    if (list->bytes + bytes > list->room) {
        list->room = 2 * (list->bytes + bytes);
        list->data = realloc(list->data, list->room);
        if (!list->data)
            fail("tablegen: no memory");
    }
    memset(list->data + list->bytes, 0, bytes);
    list->bytes += bytes;
    list->count += count;
    return (uint32_t)first;
}

static void *row(const struct list *list, size_t number)
{
    return list->data + number * (list->bytes / list->count);
}

static size_t first_place(const char *text)
{
    size_t hash = 5381;
    for (; *text; text++)
        hash = hash * 33 + (unsigned char)*text;
    return hash;
}

static uint32_t add_text(const char *text)
{
    size_t at = first_place(text), length = strlen(text) + 1;
    while (text_place[at % PLACES] && strcmp(texts.data + text_place[at % PLACES] - 1, text) != 0)
        at++;
    uint32_t *place = &text_place[at % PLACES];
    if (*place)
        return *place - 1;
    if (++distinct > PLACES / 2)
        fail("tablegen: more than 32768 different texts");
    uint32_t start = extend(&texts, 1, length);
    memcpy(texts.data + start, text, length);
    *place = start + 1;
    return start;
}

static uint16_t add_word(const char *text, bool whole)
{
    const struct tables_word word = {add_text(text), whole ? TABLES_WHOLE : 0};
    size_t at = word.text + word.flags;
    while (word_place[at % PLACES] &&
           memcmp(row(&words, word_place[at % PLACES] - 1), &word, sizeof word) != 0)
        at++;
    uint32_t *place = &word_place[at % PLACES];
    if (words.count > PLACES / 2)
        fail("tablegen: more than 32768 words");
    if (!*place) {
        uint32_t number = extend(&words, sizeof word, 1);
        *(struct tables_word *)row(&words, number) = word;
        *place = number + 1;
    }
    return (uint16_t)(*place - 1);
}

static void add_reference(const char *name)
{
    uint32_t text = add_text(name);
    for (size_t i = 0; i < references.count; i++) {
        if (*(uint32_t *)row(&references, i) == text)
            return;
    }
    uint32_t number = extend(&references, sizeof text, 1);
    *(uint32_t *)row(&references, number) = text;
}

/* ---- nodes ---- */

static void fill_node(uint32_t number, const struct yaml_node *node)
{
    struct tables_node made = {.line = node->line,
                               .column = (uint16_t)node->column,
                               .kind = (uint8_t)node->kind,
                               .style = (uint8_t)((node->quoted ? TABLES_QUOTED : 0) |
                                                  (node->literal ? TABLES_LITERAL : 0)),
                               .count = (uint32_t)node->count};
    unsigned each = node->kind == YAML_KIND_MAPPING ? 2 : 1;
    if (node->column > UINT16_MAX)
        fail("%s:%u: a line of more than 65535 bytes", node->file, node->line);
    made.value = node->kind == YAML_KIND_SCALAR ? add_text(node->text)
                                                : extend(&nodes, sizeof made, each * node->count);
    *(struct tables_node *)row(&nodes, number) = made;
    for (uint32_t i = 0; i < made.count; i++) {
        if (each > 1)
            fill_node(made.value + each * i, node->key[i]);
        fill_node(made.value + each * i + each - 1, node->item[i]);
    }
}

static uint32_t add_tree(const struct yaml_node *node)
{
    uint32_t number = extend(&nodes, sizeof(struct tables_node), 1);
    fill_node(number, node);
    return number;
}

/* ---- files ---- */

static const char *need_text(const struct yaml_node *node, const char *key)
{
    struct error err = {{0}};
    const char *text;
    if (yaml_text(node, key, &text, &err))
        fail("%s", err.text);
    return text;
}

static void add_pattern(struct tables_entry *entry, const char *pattern)
{
    struct arena arena = {0};
    struct name_need need;
    entry->pattern = add_text(pattern);
    name_need_find(&need, &arena, pattern);
    entry->words = (uint16_t)need.words;
    for (unsigned i = 0; i < need.words; i++)
        entry->word[i] = add_word(need.word[i].text, need.word[i].whole);
    arena_release(&arena);
}

static void add_entry(const struct yaml_node *node, uint32_t file)
{
    const struct yaml_node *call = yaml_get(node, "call"), *kernel = yaml_get(node, "kernel");
    const struct yaml_node *reference = yaml_get(node, "reference");
    struct tables_entry entry = {.node = add_tree(node), .file = file};
    if (!call == !kernel)
        fail("%s:%u: an entry needs either 'kernel' or 'call'", node->file, node->line);
    if (call)
        entry.flags |= TABLES_CALL;
    if (yaml_get(node, "after") || yaml_get(node, "outlier"))
        entry.flags |= TABLES_AT_START;
    add_pattern(&entry, need_text(call ? call : kernel, call ? "call" : "kernel"));
    add_reference(reference ? need_text(reference, "reference") : "formula");
    uint32_t number = extend(&entries, sizeof entry, 1);
    *(struct tables_entry *)row(&entries, number) = entry;
}

static void add_section(const struct yaml_node *node, uint32_t file, enum tables_part part)
{
    const struct tables_section section = {add_tree(node), file, part};
    uint32_t number = extend(&sections, sizeof section, 1);
    *(struct tables_section *)row(&sections, number) = section;
}

static void add_file(const char *path, const char *name, enum tables_part tolerances)
{
    struct yaml_doc *doc = NULL;
    struct error err = {{0}};
    if (yaml_doc_load(&doc, path, &err))
        fail("%s", err.text);
    const struct yaml_node *root = yaml_doc_root(doc);
    if (!yaml_get(root, "version") || strcmp(need_text(yaml_get(root, "version"), "version"), "1"))
        fail("%s: expected 'version: 1'", path);
    uint32_t file = add_text(name);
    for (size_t i = 0; i < root->count; i++) {
        const char *key = root->key[i]->text;
        const struct yaml_node *value = root->item[i];
        if (!strcmp(key, "tolerances"))
            add_section(value, file, tolerances);
        else if (!strcmp(key, "parity"))
            add_section(value, file, TABLES_PARITY);
        else if (!strcmp(key, "kernels") && value->kind == YAML_KIND_SEQUENCE)
            for (size_t j = 0; j < value->count; j++)
                add_entry(value->item[j], file);
        else if (strcmp(key, "version") != 0)
            fail("%s:%u: '%s' does not go with a table of the library", path, value->line, key);
    }
    yaml_doc_destroy(doc);
}

/* ---- output ---- */

static void place_list(struct tables_list *out, const struct list *list, uint32_t *at)
{
    *out = (struct tables_list){*at, (uint32_t)list->count};
    *at += (uint32_t)((list->bytes + 7) / 8 * 8);
}

static void write_all(const char *path)
{
    static const struct list *const lists[] = {&entries,  &words,      &nodes,
                                               &sections, &references, &texts};
    struct tables_header header = {0};
    struct tables_list *place = &header.entries;
    const char zeros[8] = {0};
    uint32_t at = sizeof header;
    FILE *out = fopen(path, "wb");
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++)
        place_list(&place[i], lists[i], &at);
    bool good = out && fwrite(&header, sizeof header, 1, out) == 1;
    for (size_t i = 0; good && i < sizeof lists / sizeof lists[0]; i++) {
        size_t bytes = lists[i]->bytes, rest = (8 - bytes % 8) % 8;
        good =
            fwrite(lists[i]->data, 1, bytes, out) == bytes && fwrite(zeros, 1, rest, out) == rest;
    }
    if (!good || fclose(out) != 0)
        fail("%s: cannot be written", path);
}

int main(int argc, char **argv)
{
    if (argc < 3)
        fail("usage: tablegen OUT config/tolerances.yaml config/kernels/NAME.yaml ...");
    add_file(argv[2], "built-in tolerances", TABLES_BUILT_IN_TOLERANCES);
    for (int i = 3; i < argc; i++) {
        char name[64];
        const char *base = strrchr(argv[i], '/');
        if (snprintf(name, sizeof name, "tables/%s", base ? base + 1 : argv[i]) >= (int)sizeof name)
            fail("%s: the name is too long", argv[i]);
        add_file(argv[i], name, TABLES_TOLERANCES);
    }
    write_all(argv[1]);
    return 0;
}
