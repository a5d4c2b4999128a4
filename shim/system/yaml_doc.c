/*
 * yaml_doc.c - libyaml's events folded into a tree.
 *
 * Events, not libyaml's own documents: nodes are counted, limited and marked as they come, and the
 * open collections are a fixed array, so no input causes recursion. An alias shares the anchored
 * node; its weight (nodes below it, aliases expanded) is added to the total, so a short file cannot
 * make the tree's walkers run for ever ("a billion laughs").
 */
#include "system/yaml_doc.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <yaml.h>
#include "base/arena.h"
#include "system/files.h"
#include "text/number.h"

enum {
    MAX_ANCHORS = 256,
    MAX_KEYS = 4096, /* of one mapping: the search for duplicates is quadratic */
};

struct yaml_doc {
    struct arena arena;
    const char *name;
    const struct yaml_node *root;
};

/* One open sequence or mapping: children so far, in a growing array. */
struct level {
    struct yaml_node *node;
    const struct yaml_node **child; /* of a mapping: key, value, key, value */
    size_t children, room;
    size_t weight;
};

struct anchor {
    const char *name;
    const struct yaml_node *node;
    size_t weight;
};

struct loader {
    struct yaml_doc *doc;
    struct error *err;
    yaml_parser_t parser;
    struct level level[YAML_MAX_DEPTH];
    int depth;
    struct anchor anchor[MAX_ANCHORS];
    int anchors;
    size_t nodes;
};

static enum status fail_at(struct loader *loader, const yaml_mark_t *mark, const char *sentence)
{
    return error_set(loader->err, STATUS_INVALID, "%s:%zu:%zu: %s", loader->doc->name,
                     mark->line + 1, mark->column + 1, sentence);
}

static enum status no_yaml_memory(struct loader *loader)
{
    return error_set(loader->err, STATUS_NO_MEMORY, "%s: no memory", loader->doc->name);
}

static enum status libyaml_error(struct loader *loader)
{
    const yaml_parser_t *parser = &loader->parser;
    if (parser->error == YAML_MEMORY_ERROR)
        return no_yaml_memory(loader);
    yaml_mark_t mark = parser->problem_mark;
    char sentence[256];
    snprintf(sentence, sizeof sentence, "%s%s%s", parser->problem ? parser->problem : "not YAML",
             parser->context ? ", " : "", parser->context ? parser->context : "");
    return fail_at(loader, &mark, sentence);
}

/* Registers a finished node under its anchor. */
static enum status keep_anchor(struct loader *loader, const yaml_mark_t *mark, const char *name,
                               const struct yaml_node *node, size_t weight)
{
    if (!name)
        return STATUS_OK;
    if (loader->anchors == MAX_ANCHORS)
        return fail_at(loader, mark, "more than 256 anchors");
    char *copy = arena_text(&loader->doc->arena, name, strlen(name));
    if (!copy)
        return no_yaml_memory(loader);
    loader->anchor[loader->anchors++] = (struct anchor){copy, node, weight};
    return STATUS_OK;
}

static enum status check_key(struct loader *loader, const struct level *level,
                             const yaml_mark_t *mark, const struct yaml_node *key)
{
    if (key->kind != YAML_KIND_SCALAR)
        return fail_at(loader, mark, "a key must be a word, not a list or a mapping");
    if (level->children / 2 >= MAX_KEYS)
        return fail_at(loader, mark, "more than 4096 keys in one mapping");
    for (size_t i = 0; i < level->children; i += 2) {
        const struct yaml_node *other = level->child[i];
        if (strcmp(other->text, key->text) != 0)
            continue;
        char sentence[160];
        snprintf(sentence, sizeof sentence, "key '%.60s' appears twice, first in line %u",
                 key->text, other->line);
        return fail_at(loader, mark, sentence);
    }
    return STATUS_OK;
}

/* Hangs a node into the innermost open collection, or makes it the root. */
static enum status attach(struct loader *loader, const yaml_mark_t *mark,
                          const struct yaml_node *node, size_t weight)
{
    loader->nodes += weight;
    if (loader->nodes > YAML_MAX_NODES)
        return fail_at(loader, mark, "more than 100000 nodes, aliases expanded");
    if (loader->depth == 0) {
        loader->doc->root = node;
        return STATUS_OK;
    }
    struct level *level = &loader->level[loader->depth - 1];
    bool is_key = level->node->kind == YAML_KIND_MAPPING && level->children % 2 == 0;
    if (is_key) {
        enum status status = check_key(loader, level, mark, node);
        if (status)
            return status;
    }
    if (level->children == level->room) {
        size_t room = level->room ? 2 * level->room : 16;
        void *grown = realloc(level->child, room * sizeof *level->child);
        if (!grown)
            return no_yaml_memory(loader);
        level->child = grown;
        level->room = room;
    }
    level->child[level->children++] = node;
    level->weight += weight;
    return STATUS_OK;
}

static struct yaml_node *new_node(struct loader *loader, enum yaml_kind kind,
                                  const yaml_mark_t *mark)
{
    struct yaml_node *node = arena_alloc(&loader->doc->arena, sizeof *node);
    if (!node)
        return NULL;
    node->kind = kind;
    node->file = loader->doc->name;
    node->line = (unsigned)mark->line + 1;
    node->column = (unsigned)mark->column + 1;
    return node;
}

static enum status on_scalar(struct loader *loader, const yaml_event_t *event)
{
    const yaml_mark_t *mark = &event->start_mark;
    const char *value = (const char *)event->data.scalar.value;
    size_t length = event->data.scalar.length;
    if (strlen(value) != length)
        return fail_at(loader, mark, "a NUL byte in a text");
    if (event->data.scalar.tag)
        return fail_at(loader, mark, "tags are not supported");
    struct yaml_node *node = new_node(loader, YAML_KIND_SCALAR, mark);
    char *text = arena_text(&loader->doc->arena, value, length);
    if (!node || !text)
        return no_yaml_memory(loader);
    node->text = text;
    node->literal = event->data.scalar.style == YAML_LITERAL_SCALAR_STYLE;
    node->quoted = event->data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
    enum status status =
        keep_anchor(loader, mark, (const char *)event->data.scalar.anchor, node, 1);
    return status ? status : attach(loader, mark, node, 1);
}

static enum status on_alias(struct loader *loader, const yaml_event_t *event)
{
    const yaml_mark_t *mark = &event->start_mark;
    const char *name = (const char *)event->data.alias.anchor;
    for (int i = loader->anchors - 1; i >= 0; i--) { /* the last one of that name counts */
        const struct anchor *anchor = &loader->anchor[i];
        if (strcmp(anchor->name, name) != 0)
            continue;
        if (anchor->weight == 0)
            return fail_at(loader, mark, "an alias inside its own anchor");
        return attach(loader, mark, anchor->node, anchor->weight);
    }
    return fail_at(loader, mark, "an alias of an unknown anchor");
}

static enum status on_open(struct loader *loader, enum yaml_kind kind, const yaml_mark_t *mark,
                           const void *anchor, const void *tag)
{
    if (tag)
        return fail_at(loader, mark, "tags are not supported");
    if (loader->depth == YAML_MAX_DEPTH)
        return fail_at(loader, mark, "nested deeper than 32 levels");
    struct yaml_node *node = new_node(loader, kind, mark);
    if (!node)
        return no_yaml_memory(loader);
    struct level *level = &loader->level[loader->depth++];
    level->node = node;
    level->children = 0;
    level->weight = 1;
    return keep_anchor(loader, mark, anchor, node, 0); /* weight 0: still open */
}

static enum status on_close(struct loader *loader, const yaml_mark_t *mark)
{
    struct level *level = &loader->level[--loader->depth];
    struct yaml_node *node = level->node;
    bool mapping = node->kind == YAML_KIND_MAPPING;
    size_t count = mapping ? level->children / 2 : level->children;
    const struct yaml_node **item = arena_alloc(&loader->doc->arena, (count + 1) * sizeof *item);
    const struct yaml_node **key =
        mapping ? arena_alloc(&loader->doc->arena, (count + 1) * sizeof *key) : NULL;
    if (!item || (mapping && !key))
        return no_yaml_memory(loader);
    for (size_t i = 0; i < count; i++) {
        item[i] = mapping ? level->child[2 * i + 1] : level->child[i];
        if (mapping)
            key[i] = level->child[2 * i];
    }
    node->count = count;
    node->item = item;
    node->key = key;
    for (int i = 0; i < loader->anchors; i++) {
        if (loader->anchor[i].node == node)
            loader->anchor[i].weight = level->weight;
    }
    /* The children were counted when they were attached; only this node itself is new. */
    loader->nodes -= level->weight - 1;
    return attach(loader, mark, node, level->weight);
}

static enum status on_event(struct loader *loader, const yaml_event_t *event)
{
    const yaml_mark_t *mark = &event->start_mark;
    switch (event->type) {
    case YAML_DOCUMENT_START_EVENT:
        return loader->doc->root ? fail_at(loader, mark, "a second document in one file")
                                 : STATUS_OK;
    case YAML_SCALAR_EVENT:
        return on_scalar(loader, event);
    case YAML_ALIAS_EVENT:
        return on_alias(loader, event);
    case YAML_SEQUENCE_START_EVENT:
        return on_open(loader, YAML_KIND_SEQUENCE, mark, event->data.sequence_start.anchor,
                       event->data.sequence_start.tag);
    case YAML_MAPPING_START_EVENT:
        return on_open(loader, YAML_KIND_MAPPING, mark, event->data.mapping_start.anchor,
                       event->data.mapping_start.tag);
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:
        return on_close(loader, mark);
    default:
        return STATUS_OK;
    }
}

static enum status read_yaml_events(struct loader *loader)
{
    for (;;) {
        yaml_event_t event;
        if (!yaml_parser_parse(&loader->parser, &event))
            return libyaml_error(loader);
        bool done = event.type == YAML_STREAM_END_EVENT;
        enum status status = on_event(loader, &event);
        yaml_event_delete(&event);
        if (status || done)
            return status;
    }
}

enum status yaml_doc_parse(struct yaml_doc **out, const char *name, const char *text, size_t length,
                           struct error *err)
{
    if (length > YAML_MAX_BYTES)
        return error_set(err, STATUS_INVALID, "%s: larger than 1 MiB", name);
    struct yaml_doc *doc = calloc(1, sizeof *doc);
    struct loader *loader = calloc(1, sizeof *loader);
    enum status status = STATUS_NO_MEMORY;
    if (!doc || !loader)
        goto out;
    doc->name = arena_text(&doc->arena, name, strlen(name));
    loader->doc = doc;
    loader->err = err;
    if (!doc->name || !yaml_parser_initialize(&loader->parser))
        goto out;
    yaml_parser_set_input_string(&loader->parser, (const unsigned char *)text, length);
    status = read_yaml_events(loader);
    yaml_parser_delete(&loader->parser);
    for (int i = 0; i < YAML_MAX_DEPTH; i++)
        free(loader->level[i].child);
out:
    free(loader);
    if (status == STATUS_NO_MEMORY)
        error_set(err, status, "%s: no memory", name);
    if (status)
        yaml_doc_destroy(doc);
    else
        *out = doc;
    return status;
}

enum status yaml_doc_load(struct yaml_doc **out, const char *path, struct error *err)
{
    char *text = NULL;
    enum status status = STATUS_OK;
    int fd;
    if (files_open_read(path, &fd, err)) {
        error_prefix(err, "%s", path);
        return STATUS_IO;
    }
    FILE *file = fdopen(fd, "r");
    if (!file) {
        close(fd);
        return error_set(err, STATUS_NO_MEMORY, "%s: no memory", path);
    }
    text = malloc(YAML_MAX_BYTES + 1);
    if (!text) {
        status = error_set(err, STATUS_NO_MEMORY, "%s: no memory", path);
        goto out;
    }
    size_t length = fread(text, 1, YAML_MAX_BYTES + 1, file);
    if (ferror(file)) {
        status = error_set(err, STATUS_IO, "%s: cannot be read: %m", path);
        goto out;
    }
    status = yaml_doc_parse(out, path, text, length, err);
out:
    free(text);
    fclose(file);
    return status;
}

void yaml_doc_destroy(struct yaml_doc *doc)
{
    if (!doc)
        return;
    arena_release(&doc->arena);
    free(doc);
}

const struct yaml_node *yaml_doc_root(const struct yaml_doc *doc)
{
    return doc->root;
}

enum status yaml_error(struct error *err, const struct yaml_node *node, const char *format, ...)
{
    char sentence[sizeof err->text];
    va_list args;
    va_start(args, format);
    vsnprintf(sentence, sizeof sentence, format, args);
    va_end(args);
    return error_set(err, STATUS_INVALID, "%s:%u:%u: %s", node->file, node->line, node->column,
                     sentence);
}

const struct yaml_node *yaml_get(const struct yaml_node *node, const char *key)
{
    if (!node || node->kind != YAML_KIND_MAPPING)
        return NULL;
    for (size_t i = 0; i < node->count; i++) {
        if (strcmp(node->key[i]->text, key) == 0)
            return node->item[i];
    }
    return NULL;
}

static enum status wrong(const struct yaml_node *node, const char *what, const char *expected,
                         struct error *err)
{
    if (node->kind == YAML_KIND_SCALAR && !*node->text && !node->quoted)
        return yaml_error(err, node, "'%s' has no value; expected %s", what, expected);
    if (node->kind == YAML_KIND_SCALAR)
        return yaml_error(err, node, "'%s' is '%.80s'; expected %s", what, node->text, expected);
    const char *is = node->kind == YAML_KIND_SEQUENCE ? "a list" : "a mapping";
    return yaml_error(err, node, "'%s' is %s; expected %s", what, is, expected);
}

enum status yaml_text(const struct yaml_node *node, const char *what, const char **out,
                      struct error *err)
{
    if (node->kind != YAML_KIND_SCALAR || (!*node->text && !node->quoted))
        return wrong(node, what, "a text", err);
    *out = node->text;
    return STATUS_OK;
}

enum status yaml_real(const struct yaml_node *node, const char *what, double low, double high,
                      double *out, struct error *err)
{
    char expected[96];
    double value;
    if (node->kind == YAML_KIND_SCALAR && !node->quoted && number_real(node->text, &value) &&
        value >= low && value <= high) {
        *out = value;
        return STATUS_OK;
    }
    snprintf(expected, sizeof expected, "a number from %g to %g", low, high);
    return wrong(node, what, expected, err);
}

enum status yaml_integer(const struct yaml_node *node, const char *what, int64_t low, int64_t high,
                         int64_t *out, struct error *err)
{
    char expected[96];
    int64_t value;
    if (node->kind == YAML_KIND_SCALAR && !node->quoted && number_integer(node->text, &value) &&
        value >= low && value <= high) {
        *out = value;
        return STATUS_OK;
    }
    snprintf(expected, sizeof expected, "a whole number from %lld to %lld", (long long)low,
             (long long)high);
    return wrong(node, what, expected, err);
}

enum status yaml_expect(const struct yaml_node *node, const char *what, enum yaml_kind kind,
                        struct error *err)
{
    static const char *const names[] = {[YAML_KIND_SCALAR] = "a text",
                                        [YAML_KIND_SEQUENCE] = "a list",
                                        [YAML_KIND_MAPPING] = "a mapping"};
    return node->kind == kind ? STATUS_OK : wrong(node, what, names[kind], err);
}
