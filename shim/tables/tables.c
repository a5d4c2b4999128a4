/* tables.c - see tables.h. */
#include "tables/tables.h"

#include "device/embedded.h"

static const void *list_of(const struct tables_list *list)
{
    return cuvet_tables + list->at;
}

static const struct tables_header *header(void)
{
    return (const void *)cuvet_tables;
}

static const char *table_text(uint32_t at)
{
    return (const char *)list_of(&header()->texts) + at;
}

size_t tables_entries(void)
{
    return header()->entries.count;
}

const struct tables_entry *tables_entry(size_t number)
{
    return (const struct tables_entry *)list_of(&header()->entries) + number;
}

const char *tables_pattern(size_t number)
{
    return table_text(tables_entry(number)->pattern);
}

size_t tables_words(void)
{
    return header()->words.count;
}

const char *tables_word(size_t number, bool *whole)
{
    const struct tables_word *word = list_of(&header()->words);
    *whole = word[number].flags & TABLES_WHOLE;
    return table_text(word[number].text);
}

const char *tables_reference(size_t number)
{
    const uint32_t *reference = list_of(&header()->references);
    return number < header()->references.count ? table_text(reference[number]) : NULL;
}

/* ---- nodes ---- */

static bool read_table_node(struct yaml_node *out, uint32_t number, const char *file,
                            struct arena *arena);

/* Items; or pairs. */
static bool read_children(struct yaml_node *node, uint32_t first, struct arena *arena)
{
    unsigned each = node->kind == YAML_KIND_MAPPING ? 2 : 1;
    struct yaml_node *child = arena_alloc(arena, each * node->count * sizeof *child);
    const struct yaml_node **list = arena_alloc(arena, each * node->count * sizeof *list);
    if (!child || !list)
        return false;
    node->item = list;
    node->key = each > 1 ? list + node->count : NULL;
    for (size_t i = 0; i < each * node->count; i++) {
        bool is_key = each > 1 && i % 2 == 0;
        list[(is_key ? node->count : 0) + i / each] = &child[i];
        if (!read_table_node(&child[i], first + (uint32_t)i, node->file, arena))
            return false;
    }
    return true;
}

/* As deep as yaml_doc.h lets a file be. */
static bool read_table_node(struct yaml_node *out, uint32_t number, const char *file,
                            struct arena *arena)
{
    const struct tables_node *node = (const struct tables_node *)list_of(&header()->nodes) + number;
    *out = (struct yaml_node){.kind = node->kind,
                              .file = file,
                              .line = node->line,
                              .column = node->column,
                              .quoted = node->style & TABLES_QUOTED,
                              .literal = node->style & TABLES_LITERAL};
    if (out->kind == YAML_KIND_SCALAR) {
        out->text = table_text(node->value);
        return true;
    }
    out->count = node->count;
    return read_children(out, node->value, arena);
}

static const struct yaml_node *read_tree(uint32_t number, uint32_t file, struct arena *arena)
{
    struct yaml_node *root = arena_alloc(arena, sizeof *root);
    return root && read_table_node(root, number, table_text(file), arena) ? root : NULL;
}

const struct yaml_node *tables_read(size_t entry, struct arena *arena)
{
    const struct tables_entry *row = tables_entry(entry);
    return read_tree(row->node, row->file, arena);
}

static const struct tables_section *section_of(size_t number)
{
    return (const struct tables_section *)list_of(&header()->sections) + number;
}

int tables_part(size_t number)
{
    return number < header()->sections.count ? (int)section_of(number)->part : -1;
}

const struct yaml_node *tables_section(size_t number, struct arena *arena)
{
    return read_tree(section_of(number)->node, section_of(number)->file, arena);
}
