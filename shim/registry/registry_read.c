/*
 * registry_read.c - a mapping of a file becomes an entry.
 *
 * An entry is compiled once without a kernel, into an arena that is thrown away: so a misspelt name
 * or a formal without an argument is reported when the program starts, and not when, or if, the
 * kernel is first launched.
 */
#include <string.h>
#include "text/number.h"
#include "names/ref_names.h"
#include "plan/registry_keys.h"
#include "registry/registry_entry.h"
#include "registry/registry_formula.h"

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

static enum status read_entry_limit(const struct yaml_node *node, const char *what, int64_t *out,
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
                          "deterministic: each check copies what 'pick' draws, not all that the "
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

static enum status read_entry_numbers(const struct yaml_node *node, struct registry_entry *entry,
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
        status = read_entry_limit(subset, "subset", &entry->subset, err);
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
    return entry->pattern
               ? STATUS_OK
               : read_pattern(call ? call : kernel, call ? "call" : "kernel", &entry->pattern, err);
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
    bool open = false;
    status = registry_formula_bind(&content->arena, node, entry->source.signature, &groups,
                                   &entry->source.bind, &open, err);
    entry->formula = open ? node : NULL;
    return status;
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

static enum status read_entry(struct registry_content *content, const struct yaml_node *node,
                              struct registry_entry *entry, struct error *err)
{
    static const char *const required[] = {"signature"};
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
    entry->source.flow = yaml_get(node, "flow");
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
        status = read_entry_numbers(node, entry, err);
    if (!status)
        status = outlier_choice_read(yaml_get(node, "outlier"), &entry->outlier, err);
    if (!status)
        status = read_deterministic(yaml_get(node, "deterministic"), entry, err);
    return status;
}

void registry_entry_release(struct registry_entry *entry)
{
    if (!entry)
        return;
    pattern_destroy(entry->pattern);
    pattern_destroy(entry->after_pattern);
}

enum status registry_entry_read(struct registry_content *content, const struct yaml_node *node,
                                struct pattern *pattern, bool checked, struct registry_entry **out,
                                struct error *err)
{
    *out = NULL;
    struct registry_entry *entry = arena_alloc(&content->arena, sizeof *entry);
    if (entry)
        entry->where = arena_format(&content->arena, "%s:%u", node->file, node->line);
    if (!entry || !entry->where)
        return error_set(err, STATUS_NO_MEMORY, "%s: no memory", node->file);
    entry->pattern = pattern;
    entry->source.tolerances = &content->tolerances;
    enum status status = read_entry(content, node, entry, err);
    if (!status && !checked)
        status = check_entry(entry, node, err);
    if (!status)
        *out = entry;
    else if (!pattern)
        registry_entry_release(entry);
    return status;
}
