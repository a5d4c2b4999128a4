/*
 * registry_load.c - files into entries.
 *
 * What is wrong is reported and left out; the rest stands. Tables of the library are checked when
 * it is built, so their entries are read when a name that they may name is seen; only those with
 * keys that count before are read at start.
 */
#include <libgen.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include "plan/registry_keys.h"
#include "registry/registry_entry.h"
#include "tables/tables.h"

struct loading {
    struct registry_content *content;
    registry_complain_fn complain;
    void *user;
    enum status worst;
    const char *open[REGISTRY_INCLUDES]; /* real paths of the files that are being read */
    int depth;
    bool checked; /* entries were checked before */
};

/* Reports the sentence. NO_MEMORY ends the load; everything else only spoils its status. */
static enum status report_failure(struct loading *l, enum status status, const struct error *err)
{
    if (status == STATUS_OK)
        return status;
    if (l->worst != STATUS_NO_MEMORY)
        l->worst = status == STATUS_NO_MEMORY ? status : STATUS_INVALID;
    if (l->complain)
        l->complain(l->user, err->text);
    return status;
}

static void report_row(void *user, const char *sentence)
{
    struct loading *l = user;
    if (l->complain)
        l->complain(l->user, sentence);
}

/* ---- entries ---- */

/* One more place in the list. */
static bool add_entry_place(struct registry_content *content, struct registry_entry *entry)
{
    if (content->entries == content->room) {
        size_t room = content->room ? 2 * content->room : 32;
        void *grown = realloc(content->entry, room * sizeof *content->entry);
        if (!grown)
            return false;
        content->entry = grown;
        content->room = room;
    }
    content->entry[content->entries++] = entry;
    return true;
}

static uint32_t owner_of(size_t entry, enum registry_role role)
{
    return (uint32_t)entry << REGISTRY_ROLE_BITS | role;
}

static bool keep_entry(struct registry_content *content, struct registry_entry *entry)
{
    size_t number = content->entries;
    content->has_calls |= entry->call;
    return name_filter_add(&content->filter, pattern_text(entry->pattern),
                           owner_of(number, entry->call ? REGISTRY_CALL : REGISTRY_KERNEL)) &&
           (!entry->after_pattern ||
            name_filter_add(&content->filter, pattern_text(entry->after_pattern),
                            owner_of(number, REGISTRY_AFTER))) &&
           add_entry_place(content, entry);
}

static enum status add_entry(struct loading *l, const struct yaml_node *node, struct error *err)
{
    struct registry_entry *entry;
    enum status status = registry_entry_read(l->content, node, NULL, l->checked, &entry, err);
    if (!status && !keep_entry(l->content, entry)) {
        registry_entry_release(entry);
        status = error_set(err, STATUS_NO_MEMORY, "%s: no memory", node->file);
    }
    return status;
}

static void read_entries(struct loading *l, const struct yaml_node *node)
{
    struct error err = {0};
    if (report_failure(l, yaml_expect(node, "kernels", YAML_KIND_SEQUENCE, &err), &err))
        return;
    for (size_t i = 0; i < node->count && l->worst != STATUS_NO_MEMORY; i++) {
        err = (struct error){0};
        report_failure(l, add_entry(l, node->item[i], &err), &err);
    }
}

static void add_tolerances(struct loading *l, const struct yaml_node *node)
{
    if (tolerance_add(&l->content->tolerances, &l->content->arena, node, report_row, l))
        l->worst = l->worst ? l->worst : STATUS_INVALID;
}

static void read_contracts(struct loading *l, const struct yaml_node *node)
{
    struct error err = {0};
    if (report_failure(l, yaml_expect(node, "parity", YAML_KIND_SEQUENCE, &err), &err))
        return;
    for (size_t i = 0; i < node->count && l->worst != STATUS_NO_MEMORY; i++) {
        err = (struct error){0};
        report_failure(
            l, contracts_add(&l->content->contracts, &l->content->arena, node->item[i], &err),
            &err);
    }
}

/* ---- files ---- */

static void load_file(struct loading *l, const char *path, const struct yaml_node *from);

static void include_one(struct loading *l, const struct yaml_node *node)
{
    struct error err = {0};
    const char *path;
    char folder[PATH_MAX];
    if (report_failure(l, yaml_text(node, "include", &path, &err), &err))
        return;
    size_t length = strlen(node->file);
    if (path[0] == '/' || length >= sizeof folder) {
        load_file(l, path, node);
        return;
    }
    memcpy(folder, node->file, length + 1);
    char *full = arena_format(&l->content->arena, "%s/%s", dirname(folder), path);
    if (full)
        load_file(l, full, node);
    else
        report_failure(l, error_set(&err, STATUS_NO_MEMORY, "%s: no memory", node->file), &err);
}

static void read_includes(struct loading *l, const struct yaml_node *node)
{
    if (node->kind != YAML_KIND_SEQUENCE) {
        include_one(l, node);
        return;
    }
    for (size_t i = 0; i < node->count && l->worst != STATUS_NO_MEMORY; i++)
        include_one(l, node->item[i]);
}

static enum status check_version(const struct yaml_node *root, struct error *err)
{
    enum status status = yaml_expect(root, "registry", YAML_KIND_MAPPING, err);
    if (status)
        return status;
    const struct yaml_node *node = yaml_get(root, "version");
    if (!node)
        return yaml_error(err, root, "'version' is missing; expected 'version: 1'");
    int64_t version;
    return yaml_integer(node, "version", 1, 1, &version, err);
}

static void read_root(struct loading *l, const struct yaml_node *root)
{
    struct error err = {0};
    const struct yaml_node *tolerances = yaml_get(root, "tolerances");
    const struct yaml_node *include = yaml_get(root, "include");
    const struct yaml_node *kernels = yaml_get(root, "kernels");
    const struct yaml_node *parity = yaml_get(root, "parity");
    if (report_failure(l, check_version(root, &err), &err))
        return; /* another version's entries may mean other things */
    report_failure(l, keys_check(root, KEYS_FILE, &err), &err);
    if (include)
        read_includes(l, include);
    if (tolerances)
        add_tolerances(l, tolerances);
    if (kernels)
        read_entries(l, kernels);
    if (parity)
        read_contracts(l, parity);
}

/* A file may be included from two places, but not from itself. */
static enum status enter_file(struct loading *l, const char *path, char real[PATH_MAX],
                              struct error *err)
{
    if (!realpath(path, real))
        return error_set(err, STATUS_IO, "%s: cannot be opened: %m", path);
    for (int i = 0; i < l->depth; i++) {
        if (strcmp(l->open[i], real) == 0)
            return error_set(err, STATUS_INVALID, "%s includes itself", path);
    }
    if (l->depth == REGISTRY_INCLUDES)
        return error_set(err, STATUS_INVALID, "%s: more than 8 levels of 'include'", path);
    if (l->content->docs == REGISTRY_FILES)
        return error_set(err, STATUS_INVALID, "%s: more than 64 files", path);
    return STATUS_OK;
}

static void load_file(struct loading *l, const char *path, const struct yaml_node *from)
{
    struct error err = {0};
    char real[PATH_MAX];
    struct yaml_doc *doc = NULL;
    enum status status = enter_file(l, path, real, &err);
    if (status && from)
        error_prefix(&err, "%s:%u:%u", from->file, from->line, from->column);
    if (!status)
        status = yaml_doc_load(&doc, path, &err);
    if (!status && !yaml_doc_root(doc))
        status = error_set(&err, STATUS_INVALID, "%s: empty; expected 'version: 1'", path);
    if (doc)
        l->content->doc[l->content->docs++] = doc;
    if (report_failure(l, status, &err))
        return;
    l->open[l->depth++] = real;
    read_root(l, yaml_doc_root(doc));
    l->depth--;
}

/* ---- tolerances and the whole ---- */

static void no_memory_for_tables(struct loading *l)
{
    struct error err = {0};
    report_failure(l, error_set(&err, STATUS_NO_MEMORY, "tables: no memory"), &err);
}

/* The built-in tolerances, or the other keys of the tables. */
static void load_sections(struct loading *l, bool tolerances)
{
    int part;
    for (size_t i = 0; (part = tables_part(i)) >= 0 && l->worst != STATUS_NO_MEMORY; i++) {
        if ((part == TABLES_BUILT_IN_TOLERANCES) != tolerances)
            continue;
        const struct yaml_node *node = tables_section(i, &l->content->arena);
        if (!node)
            no_memory_for_tables(l);
        else if (part == TABLES_PARITY)
            read_contracts(l, node);
        else
            add_tolerances(l, node);
    }
}

static bool add_table_entry(struct loading *l, size_t number, const uint16_t *word)
{
    const struct tables_entry *row = tables_entry(number);
    uint16_t needed[NAME_WORDS];
    if (row->flags & TABLES_AT_START) {
        struct error err = {0};
        const struct yaml_node *node = tables_read(number, &l->content->arena);
        return node && !report_failure(l, add_entry(l, node, &err), &err);
    }
    bool call = row->flags & TABLES_CALL;
    l->content->has_calls |= call;
    for (size_t i = 0; i < row->words; i++)
        needed[i] = word[row->word[i]];
    return name_filter_pattern(
               &l->content->filter, needed, row->words,
               owner_of(l->content->entries, call ? REGISTRY_CALL : REGISTRY_KERNEL)) &&
           add_entry_place(l->content, NULL);
}

static void load_tables(struct loading *l)
{
    size_t words = tables_words();
    uint16_t *word = calloc(words + 1, sizeof *word);
    l->content->tried = calloc(tables_entries() + 1, sizeof *l->content->tried);
    bool whole, good = word && l->content->tried;
    l->checked = true;
    l->content->tables = true;
    l->content->before_tables = l->content->entries;
    load_sections(l, false);
    for (size_t i = 0; good && i < words; i++) {
        const char *text = tables_word(i, &whole);
        good = name_filter_word(&l->content->filter, text, whole, &word[i]);
    }
    for (size_t i = 0; good && i < tables_entries(); i++)
        good = add_table_entry(l, i, word);
    if (!good)
        no_memory_for_tables(l);
    free(word);
    l->checked = false;
}

/* Of one that is not read. */
static struct pattern **tried(struct registry_content *content, size_t number)
{
    return &content->tried[number - content->before_tables];
}

const struct pattern *registry_content_pattern(struct registry_content *content, size_t number)
{
    const struct registry_entry *entry = content->entry[number];
    if (entry)
        return entry->pattern;
    struct pattern **pattern = tried(content, number);
    if (!*pattern)
        pattern_compile(pattern, tables_pattern(number - content->before_tables), NULL);
    return *pattern;
}

struct registry_entry *registry_content_entry(struct registry_content *content, size_t number)
{
    struct registry_entry **entry = &content->entry[number];
    if (*entry)
        return *entry;
    const struct yaml_node *node = tables_read(number - content->before_tables, &content->arena);
    struct pattern **pattern = tried(content, number);
    if (node && !registry_entry_read(content, node, *pattern, true, entry, NULL))
        *pattern = NULL;
    if (*entry)
        (*entry)->shipped = true;
    return *entry;
}

static void load_list(struct loading *l, const char *files)
{
    while (files && *files && l->worst != STATUS_NO_MEMORY) {
        size_t length = strcspn(files, ":");
        char *path = length ? arena_text(&l->content->arena, files, length) : NULL;
        if (path)
            load_file(l, path, NULL);
        else if (length)
            l->worst = STATUS_NO_MEMORY;
        files += length + (files[length] == ':');
    }
}

enum status registry_content_load(struct registry_content *content,
                                  const struct registry_source *source,
                                  registry_complain_fn complain, void *user)
{
    struct loading l = {.content = content, .complain = complain, .user = user};
    size_t before = content->tolerances.count;
    if (source->tolerances && *source->tolerances)
        load_file(&l, source->tolerances, NULL);
    if (content->tolerances.count == before)
        load_sections(&l, true);
    if (source->tables)
        load_tables(&l);
    for (size_t i = content->before_tables; i < content->entries; i++) {
        if (content->entry[i])
            content->entry[i]->shipped = true;
    }
    content->shipped = content->entries;
    load_list(&l, source->files);
    return l.worst;
}

void registry_content_release(struct registry_content *content)
{
    for (size_t i = 0; i < content->entries; i++)
        registry_entry_release(content->entry[i]);
    for (size_t i = 0; content->tried && i < tables_entries(); i++)
        pattern_destroy(content->tried[i]);
    free(content->tried);
    contracts_release(&content->contracts);
    free(content->entry);
    name_filter_release(&content->filter);
    for (size_t i = 0; i < content->docs; i++)
        yaml_doc_destroy(content->doc[i]);
    arena_release(&content->arena);
}
