/*
 * registry_load.c - files into entries.
 *
 * Every entry is compiled once without a kernel, into an arena that is thrown away: so a misspelt
 * name or a formal without an argument is reported when the program starts, and not when, or if,
 * the kernel is first launched. What is wrong is left out; the rest stands.
 */
#include <libgen.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include "text/number.h"
#include "device/embedded.h"
#include "plan/ref_names.h"
#include "registry/registry_formula.h"
#include "registry/registry_entry.h"
#include "plan/registry_keys.h"

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

static enum status read_reference(struct registry_content *content, const struct yaml_node *node,
                                  struct registry_entry *entry, struct error *err)
{
    const char *name;
    if (node->kind == YAML_KIND_MAPPING)
        return user_reference_read(&content->users, &content->arena, node, &entry->source.builtin,
                                   err);
    enum status status = yaml_text(node, "reference", &name, err);
    if (status)
        return status;
    entry->source.builtin = ref_names_find(name);
    if (entry->source.builtin)
        return STATUS_OK;
    char hint[160];
    return yaml_error(err, node, "unknown reference '%.60s'%s", name,
                      ref_names_hint(name, hint, sizeof hint));
}

/* `key`: "kernel" or "call". */
static enum status read_pattern(const struct yaml_node *node, const char *key, struct pattern **out,
                                struct error *err)
{
    const char *text;
    enum status status = yaml_text(node, key, &text, err);
    if (status)
        return status;
    status = pattern_compile(out, text, err);
    if (status)
        error_prefix(err, "%s:%u:%u", node->file, node->line, node->column);
    return status;
}

static enum status read_after(struct registry_content *content, const struct yaml_node *node,
                              struct registry_entry *entry, struct error *err)
{
    entry->after = -1;
    if (!node)
        return STATUS_OK;
    enum status status = yaml_expect(node, "after", YAML_KIND_MAPPING, err);
    if (!status)
        status = keys_check(node, KEYS_AFTER, err);
    if (status)
        return status;
    if (!yaml_get(node, "kernel") || !yaml_get(node, "signature"))
        return yaml_error(err, node, "'after' needs a 'kernel' and its 'signature'");
    if (content->afters == REGISTRY_AFTERS)
        return yaml_error(err, node, "more than 64 entries with 'after'");
    entry->after = content->afters++;
    entry->source.after = yaml_get(node, "signature");
    return read_pattern(yaml_get(node, "kernel"), "kernel", &entry->after_pattern, err);
}

static enum status read_share(const struct yaml_node *node, const char *what, double *out,
                              struct error *err)
{
    const char *text;
    enum status status = yaml_text(node, what, &text, err);
    if (!status && !number_share(text, out))
        status =
            yaml_error(err, node, "'%s' is '%s'; expected a share such as 5%%, or off", what, text);
    return status;
}

static enum status read_limit(const struct yaml_node *node, const char *what, int64_t *out,
                              struct error *err)
{
    const char *text;
    uint64_t bytes = 0;
    enum status status = yaml_text(node, what, &text, err);
    if (!status && !(number_limit(text, &bytes) && bytes <= INT64_MAX))
        status =
            yaml_error(err, node, "'%s' is '%s'; expected bytes such as 4M, or off", what, text);
    *out = (int64_t)bytes;
    return status;
}

/* An input that is not copied could explain any difference, so all must be declared. */
static enum status check_deterministic(const struct registry_entry *entry,
                                       const struct yaml_node *node,
                                       const struct binding_plan *plan, struct error *err)
{
    if (entry->deterministic && plan->signature->earlier)
        return yaml_error(err, node,
                          "deterministic: what the kernel of 'after' was given is not compared; "
                          "leave 'deterministic' out");
    if (entry->deterministic && plan->picks)
        return yaml_error(err, node,
                          "deterministic: each check sees what 'pick' draws, not all that the "
                          "kernel reads; leave 'deterministic' out");
    for (unsigned i = 0; entry->deterministic && i < plan->sizes; i++) {
        if (plan->size[i].is_dim && plan->size[i].reads)
            return yaml_error(err, node,
                              "deterministic: '%s' lowers a dim, and what lies beyond it may be "
                              "anything; leave 'deterministic' out",
                              plan->size[i].source);
    }
    for (unsigned i = 0; entry->deterministic && i < plan->arrays; i++) {
        const struct signature_item *item = plan->array[i].item;
        if (role_reads(item->role) && !plan->array[i].bound && !plan->array[i].read)
            return yaml_error(
                err, node,
                "deterministic: the kernel reads '%s', which no formal is bound to, so "
                "its bytes are not seen; bind it, or leave 'deterministic' out",
                item->name);
    }
    return STATUS_OK;
}

static enum status read_deterministic(const struct yaml_node *node, struct registry_entry *entry,
                                      struct error *err)
{
    const char *text = "no";
    enum status status = node ? yaml_text(node, "deterministic", &text, err) : STATUS_OK;
    entry->deterministic = strcmp(text, "yes") == 0;
    if (!status && !entry->deterministic && strcmp(text, "no") != 0)
        status = yaml_error(err, node, "'deterministic' is '%.40s'; expected yes or no", text);
    return status;
}

static enum status read_numbers(const struct yaml_node *node, struct registry_entry *entry,
                                struct error *err)
{
    const struct yaml_node *sample = yaml_get(node, "sample"), *first = yaml_get(node, "first");
    const struct yaml_node *budget = yaml_get(node, "budget"), *subset = yaml_get(node, "subset");
    const struct yaml_node *row = yaml_get(node, "tolerance"), *label = yaml_get(node, "label");
    const struct yaml_node *freivalds = yaml_get(node, "freivalds");
    enum status status = STATUS_OK;
    if (sample)
        status = yaml_real(sample, "sample", 0, 1, &entry->sample, err);
    if (!status && first)
        status = yaml_integer(first, "first", 0, 1 << 30, &entry->first, err);
    if (!status && budget)
        status = read_share(budget, "budget", &entry->budget, err);
    if (!status && subset)
        status = read_limit(subset, "subset", &entry->subset, err);
    if (!status && freivalds)
        status = yaml_real(freivalds, "freivalds", 0, 1, &entry->freivalds, err);
    if (!status && row)
        status = tolerance_read(row, &entry->tolerance, NULL, err);
    if (!status && row)
        entry->source.override = &entry->tolerance;
    if (!status && label)
        status = yaml_text(label, "label", &entry->label, err);
    return status;
}

/* Compiles the entry for no kernel in particular, for the sake of its errors. */
static enum status check_entry(struct registry_entry *entry, const struct yaml_node *node,
                               struct error *err)
{
    struct arena scratch = {0};
    struct captures groups;
    const struct binding_plan *plan = NULL;
    pattern_groups(entry->pattern, &groups);
    struct outlier_spec outlier;
    enum status status = typed_open(entry->typed, &groups, err);
    if (!status)
        status = plan_make(&plan, &scratch, &entry->source, &groups, NULL, err);
    if (!status && entry->typed)
        status = typed_find(entry->typed, plan->signature, &(struct param_layout){0},
                            &(struct typed_places){0}, err);
    if (!status)
        status = outlier_choice_resolve(&entry->outlier, plan, &outlier, err);
    if (!status)
        status = check_deterministic(entry, yaml_get(node, "deterministic"), plan, err);
    if (!status && entry->freivalds > 0 && !plan->formals->has_product)
        status = yaml_error(err, yaml_get(node, "freivalds"),
                            "freivalds: the reference '%s' promises no product; leave it out",
                            entry->source.builtin->name);
    arena_release(&scratch);
    return status;
}

/* What the entry is of: kernels or library calls. */
static enum status read_subject(const struct yaml_node *node, struct registry_entry *entry,
                                struct error *err)
{
    const struct yaml_node *kernel = yaml_get(node, "kernel"), *call = yaml_get(node, "call");
    if (!kernel && !call)
        return yaml_error(err, node, "the entry has no 'kernel' and no 'call'");
    if (kernel && call)
        return yaml_error(err, call, "'call' and 'kernel' in one entry; expected one of them");
    if (call && yaml_get(node, "after"))
        return yaml_error(err, call, "'call' with 'after': that is for kernels alone");
    entry->call = call != NULL;
    return read_pattern(call ? call : kernel, call ? "call" : "kernel", &entry->pattern, err);
}

/* The expected value of an element is given once: by a reference, or by a formula. */
static enum status check_formula(const struct yaml_node *node, const struct yaml_node *formula,
                                 struct error *err)
{
    const struct yaml_node *bind = yaml_get(node, "bind");
    if (!formula && !yaml_get(node, "reference"))
        return yaml_error(err, node, "the entry has no 'reference', and no 'formula' instead");
    if (formula && yaml_get(node, "reference"))
        return yaml_error(err, formula,
                          "the entry has a 'reference' and a 'formula'; expected one "
                          "of them");
    if (formula && bind)
        return yaml_error(err, bind,
                          "'bind' does not go with 'formula', which names the arguments "
                          "itself");
    return STATUS_OK;
}

static enum status read_formula(struct registry_content *content, const struct yaml_node *node,
                                struct registry_entry *entry, struct error *err)
{
    struct captures groups;
    pattern_groups(entry->pattern, &groups);
    entry->source.builtin = ref_names_find("formula");
    enum status status = typed_open(entry->typed, &groups, err);
    if (status)
        return status;
    return registry_formula_bind(&content->arena, node, entry->source.signature, &groups,
                                 &entry->source.bind, err);
}

/* What the offline tools read. lint: {ignore: [id, ...]}; which ids exist is known to `cuvet lint`.
 */
static enum status read_tools(const struct yaml_node *node, struct registry_entry *entry,
                              struct error *err)
{
    const char *text;
    enum status status = STATUS_OK;
    entry->fuzz = yaml_get(node, "fuzz");
    entry->lint = yaml_get(node, "lint");
    if (entry->fuzz)
        status = yaml_expect(entry->fuzz, "fuzz", YAML_KIND_MAPPING, err);
    if (!status && entry->lint)
        status = yaml_expect(entry->lint, "lint", YAML_KIND_MAPPING, err);
    if (!status && entry->lint)
        status = keys_check(entry->lint, KEYS_LINT, err);
    const struct yaml_node *list = entry->lint && !status ? yaml_get(entry->lint, "ignore") : NULL;
    if (list)
        status = yaml_expect(list, "ignore", YAML_KIND_SEQUENCE, err);
    for (size_t i = 0; list && !status && i < list->count; i++)
        status = yaml_text(list->item[i], "ignore", &text, err);
    return status;
}

static enum status read_entry(struct loading *l, const struct yaml_node *node,
                              struct registry_entry *entry, struct error *err)
{
    static const char *const required[] = {"signature"};
    struct registry_content *content = l->content;
    const struct yaml_node *formula = yaml_get(node, "formula");
    enum status status = yaml_expect(node, "kernels", YAML_KIND_MAPPING, err);
    if (!status)
        status = keys_check(node, KEYS_ENTRY, err);
    for (size_t i = 0; !status && i < sizeof required / sizeof required[0]; i++) {
        if (!yaml_get(node, required[i]))
            status = yaml_error(err, node, "the entry has no '%s'", required[i]);
    }
    if (!status)
        status = check_formula(node, formula, err);
    if (status)
        return status;
    entry->sample = -1;
    entry->first = -1;
    entry->budget = -1;
    entry->subset = -1;
    entry->freivalds = -1;
    entry->source.signature = yaml_get(node, "signature");
    entry->source.let = yaml_get(node, "let");
    entry->source.pick = yaml_get(node, "pick");
    entry->source.when = yaml_get(node, "when");
    entry->source.bind = yaml_get(node, "bind");
    entry->source.state = yaml_get(node, "state");
    entry->source.position = yaml_get(node, "position");
    entry->source.reference = formula ? formula : yaml_get(node, "reference");
    status = read_tools(node, entry, err);
    if (!status)
        status = read_subject(node, entry, err);
    if (!status)
        status = typed_read(&content->arena, yaml_get(node, "types"), &entry->typed, err);
    if (!status)
        status = read_after(content, yaml_get(node, "after"), entry, err);
    if (!status && formula)
        status = read_formula(content, formula, entry, err);
    else if (!status)
        status = read_reference(content, entry->source.reference, entry, err);
    if (!status)
        status = read_numbers(node, entry, err);
    if (!status)
        status = outlier_choice_read(yaml_get(node, "outlier"), &entry->outlier, err);
    if (!status)
        status = read_deterministic(yaml_get(node, "deterministic"), entry, err);
    return status || l->checked ? status : check_entry(entry, node, err);
}

static enum status keep_entry(struct registry_content *content, struct registry_entry *entry)
{
    if (content->entries == content->room) {
        size_t room = content->room ? 2 * content->room : 32;
        void *grown = realloc(content->entry, room * sizeof *content->entry);
        if (!grown)
            return STATUS_NO_MEMORY;
        content->entry = grown;
        content->room = room;
    }
    if (!name_filter_add(&content->filter, pattern_text(entry->pattern)) ||
        (entry->after_pattern &&
         !name_filter_add(&content->filter, pattern_text(entry->after_pattern))))
        return STATUS_NO_MEMORY;
    content->entry[content->entries++] = entry;
    return STATUS_OK;
}

static enum status add_entry(struct loading *l, const struct yaml_node *node, struct error *err)
{
    struct registry_content *content = l->content;
    struct registry_entry *entry = arena_alloc(&content->arena, sizeof *entry);
    if (entry)
        entry->where = arena_format(&content->arena, "%s:%u", node->file, node->line);
    if (!entry || !entry->where)
        return error_set(err, STATUS_NO_MEMORY, "%s: no memory", node->file);
    entry->source.tolerances = &content->tolerances;
    enum status status = read_entry(l, node, entry, err);
    if (!status && keep_entry(content, entry))
        status = error_set(err, STATUS_NO_MEMORY, "%s: no memory", node->file);
    if (status) {
        pattern_destroy(entry->pattern);
        pattern_destroy(entry->after_pattern);
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
    if (tolerances &&
        tolerance_add(&l->content->tolerances, &l->content->arena, tolerances, report_row, l))
        l->worst = l->worst ? l->worst : STATUS_INVALID;
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

static void load_builtin_tolerances(struct loading *l)
{
    struct error err = {0};
    struct yaml_doc *doc = NULL;
    enum status status = yaml_doc_parse(&doc, "built-in tolerances", cuvet_tolerances_yaml,
                                        cuvet_tolerances_yaml_len, &err);
    if (report_failure(l, status, &err))
        return;
    l->content->doc[l->content->docs++] = doc;
    read_root(l, yaml_doc_root(doc));
}

/* A table is checked when it is built, so its entries are compiled for the kernels alone that they
 * meet. */
static void load_tables(struct loading *l)
{
    l->checked = true;
    for (const struct embedded_text *table = cuvet_tables; table->name; table++) {
        struct error err = {0};
        struct yaml_doc *doc = NULL;
        char name[64];
        snprintf(name, sizeof name, "tables/%s", table->name);
        enum status status = yaml_doc_parse(&doc, name, table->text, strlen(table->text), &err);
        if (report_failure(l, status, &err))
            continue;
        l->content->doc[l->content->docs++] = doc;
        read_root(l, yaml_doc_root(doc));
    }
    l->checked = false;
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
        load_builtin_tolerances(&l);
    if (source->tables)
        load_tables(&l);
    for (size_t i = 0; i < content->entries; i++)
        content->entry[i]->shipped = true;
    content->shipped = content->entries;
    load_list(&l, source->files);
    return l.worst;
}

void registry_content_release(struct registry_content *content)
{
    for (size_t i = 0; i < content->entries; i++) {
        pattern_destroy(content->entry[i]->pattern);
        pattern_destroy(content->entry[i]->after_pattern);
    }
    contracts_release(&content->contracts);
    free(content->entry);
    name_filter_release(&content->filter);
    for (size_t i = 0; i < content->docs; i++)
        yaml_doc_destroy(content->doc[i]);
    arena_release(&content->arena);
}
