/*
 * rule.c - compiles a `fuzz` mapping.
 *
 * Every integer parameter of the signature is a variable: one that the mapping names, or one whose
 * part in the signature bounds it, a stride or an extent. The entry's lets are variables where an
 * expression of the mapping reads them.
 */
#include "tools/fuzz/case/rule.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "text/nearest.h"
#include "text/number.h"
#include "tools/fuzz/case/rule_builder.h"
#include "plan/plan.h"
#include "tools/fuzz/case/dense.h"

/* ---- distributions ---- */

static const struct {
    const char *name, *sentence;
} dists[FUZZ_DISTS] = {
#define DIST(name, sentence) {#name, sentence},
#include "tools/fuzz/case/dists.def"
#undef DIST
};

const char *fuzz_dist_text(enum fuzz_dist dist)
{
    const char *name = dists[dist].name;
    return fuzz_dist_integers(dist) ? name + strlen("below_") : name;
}

const char *fuzz_dist_sentence(enum fuzz_dist dist)
{
    return dists[dist].sentence;
}

bool fuzz_dist_integers(enum fuzz_dist dist)
{
    return dist >= FUZZ_below_uniform;
}

bool fuzz_dist_of(const char *text, enum fuzz_dist *out)
{
    for (int i = 0; i < FUZZ_DISTS; i++) {
        if (strcmp(dists[i].name, text) == 0) {
            *out = (enum fuzz_dist)i;
            return true;
        }
    }
    return false;
}

/* ---- names ---- */

static struct fuzz_variable *find_variable(struct rule_builder *b, const char *name)
{
    for (unsigned i = 0; i < b->rule->variables; i++) {
        if (strcmp(b->rule->variable[i].name, name) == 0)
            return &b->rule->variable[i];
    }
    return NULL;
}

static int new_slot(struct rule_builder *b)
{
    if (b->slots == FUZZ_SLOTS) {
        error_set(b->err, STATUS_INVALID, "more than %d names", FUZZ_SLOTS - FUZZ_SLOT_FREE);
        return -1;
    }
    return b->slots++;
}

struct fuzz_variable *rule_variable(struct rule_builder *b, const char *name, enum fuzz_kind kind)
{
    int slot = new_slot(b);
    if (slot < 0)
        return NULL;
    struct fuzz_variable *variable = &b->rule->variable[b->rule->variables++];
    *variable = (struct fuzz_variable){.name = name, .kind = kind, .slot = slot};
    return variable;
}

/* A name of the image's metadata; before a kernel is seen it is anything. */
static int known_name(struct rule_builder *b, const char *name)
{
    const struct fuzz_known *known = b->known;
    if (strncmp(name, FUZZ_TRITON, strlen(FUZZ_TRITON)) != 0)
        return -2;
    while (known && known->name && strcmp(known->name, name) != 0)
        known++;
    if (known && !known->name) {
        error_set(b->err, STATUS_INVALID,
                  "'%s' is not known; expected an integer of KERNEL.json beside the image, as in a "
                  "folder of Triton's cache",
                  name);
        return -1;
    }
    char *own = arena_text(b->arena, name, strlen(name));
    struct fuzz_variable *variable = own ? rule_variable(b, own, FUZZ_VALUE) : NULL;
    if (!variable)
        return -1;
    b->rule->constant[variable->slot] = known ? known->value : 0;
    variable->let = true;
    return variable->slot;
}

/* The name of a variable of the entry's lets or pattern, as a variable of the rule; its slot. */
static int borrow_name(struct rule_builder *b, const char *name)
{
    const struct yaml_node *let = yaml_get(b->bench->let, name);
    if (let) {
        struct fuzz_variable *variable = rule_variable(b, name, FUZZ_VALUE);
        if (!variable)
            return -1;
        int slot = variable->slot;
        int launch_names = b->launch_names;
        variable->let = true;
        b->launch_names = 0; /* variables come before the launch */
        enum status status = rule_expr(b, let, let->text ? let->text : "", &variable->low);
        b->launch_names = launch_names;
        return status ? -1 : slot;
    }
    for (unsigned i = 0; i < b->bench->captures->count; i++) {
        const struct capture *capture = &b->bench->captures->capture[i];
        int64_t value = 0;
        if (strcmp(capture->name, name) != 0)
            continue;
        if (capture->text && !number_integer(capture->text, &value)) {
            error_set(b->err, STATUS_INVALID, "the pattern's %s is '%.40s', not a whole number",
                      name, capture->text);
            return -1;
        }
        struct fuzz_variable *variable = rule_variable(b, capture->name, FUZZ_VALUE);
        if (!variable)
            return -1;
        b->rule->constant[variable->slot] = value;
        variable->let = true;
        return variable->slot;
    }
    return known_name(b, name);
}

static int find_name(void *user, const char *name, const char *index, struct error *err)
{
    static const char *const builtin[] = {"block.x", "block.y", "block.z",
                                          "grid.x",  "grid.y",  "grid.z"};
    struct rule_builder *b = user;
    for (int i = 0; !index && i < b->launch_names; i++) {
        if (strcmp(name, builtin[i]) == 0)
            return i;
    }
    if (index)
        return -1;
    const struct fuzz_variable *variable = find_variable(b, name);
    if (!variable) { /* a field by its short name */
        const struct signature_item *item = signature_find(b->rule->plan->signature, name);
        variable = item ? find_variable(b, item->name) : NULL;
    }
    if (variable) {
        b->read[variable->slot] = true;
        return variable->slot;
    }
    int slot = borrow_name(b, name);
    if (slot != -2)
        return slot;
    struct nearest nearest = {.word = name};
    char question[96];
    for (unsigned i = 0; i < b->rule->variables; i++)
        nearest_offer(&nearest, b->rule->variable[i].name);
    error_set(err, STATUS_INVALID, "unknown name '%s'%s", name,
              nearest.name ? nearest_text(&nearest, question, sizeof question)
                           : "; expected a parameter, or a name that `fuzz` gives values");
    return -1;
}

enum status rule_expr(struct rule_builder *b, const struct yaml_node *node, const char *text,
                      const struct expr **out)
{
    struct expr_names names = {find_name, b};
    enum status status = expr_compile(out, b->arena, text, &names, b->err);
    if (status && node)
        error_prefix(b->err, "%s:%u:%u: fuzz", node->file, node->line, node->column);
    return status;
}

enum status rule_error(struct rule_builder *b, const struct yaml_node *node, const char *format,
                       ...)
{
    char sentence[sizeof b->err->text];
    va_list args;
    va_start(args, format);
    vsnprintf(sentence, sizeof sentence, format, args);
    va_end(args);
    return yaml_error(b->err, node, "fuzz: %s", sentence);
}

/* ---- the order of variables ---- */

struct reads {
    const struct fuzz_rule *rule;
    unsigned placed;
    bool ready;
};

static void reads_slot(void *user, int slot)
{
    struct reads *reads = user;
    for (unsigned i = reads->placed; i < reads->rule->variables; i++) {
        if (reads->rule->variable[i].slot == slot)
            reads->ready = false;
    }
}

static bool is_ready(const struct fuzz_rule *rule, unsigned placed, unsigned at)
{
    struct reads reads = {rule, placed, true};
    const struct fuzz_variable *v = &rule->variable[at];
    const struct expr *const few[] = {v->low, v->high, v->step};
    for (int i = 0; i < 3; i++) {
        if (few[i])
            expr_slots(few[i], reads_slot, &reads);
    }
    for (unsigned i = 0; i < v->items; i++)
        expr_slots(v->item[i], reads_slot, &reads);
    return reads.ready;
}

static enum status sort_variables(struct rule_builder *b)
{
    struct fuzz_rule *rule = b->rule;
    for (unsigned placed = 0; placed < rule->variables; placed++) {
        unsigned next = placed;
        while (next < rule->variables && !is_ready(rule, placed, next))
            next++;
        if (next == rule->variables)
            return rule_error(b, b->bench->fuzz, "'%s' depends on itself",
                              rule->variable[placed].name);
        struct fuzz_variable moved = rule->variable[next];
        memmove(&rule->variable[placed + 1], &rule->variable[placed],
                (next - placed) * sizeof moved);
        rule->variable[placed] = moved;
    }
    return STATUS_OK;
}

/* A name that nothing reads is a misspelt one. */
static enum status check_read(struct rule_builder *b)
{
    const struct fuzz_rule *rule = b->rule;
    const struct signature *signature = rule->plan->signature;
    for (unsigned i = 0; i < rule->variables; i++) {
        const struct fuzz_variable *v = &rule->variable[i];
        struct nearest nearest = {.word = v->name};
        char question[96];
        if (v->into || v->let || b->read[v->slot])
            continue;
        for (unsigned j = 0; j < signature->items; j++)
            nearest_offer(&nearest, signature->item[j].name);
        return rule_error(b, b->bench->fuzz, "nothing reads '%s', and no parameter is called so%s",
                          v->name, nearest_text(&nearest, question, sizeof question));
    }
    return STATUS_OK;
}

/* ---- the whole ---- */

static enum status read_without(struct rule_builder *b)
{
    const struct yaml_node *node = yaml_get(b->bench->fuzz, "without");
    const bool list = node && node->kind == YAML_KIND_SEQUENCE;
    enum status status = STATUS_OK;
    for (size_t i = 0; node && !status && i < (list ? node->count : 1); i++) {
        const struct yaml_node *at = list ? node->item[i] : node;
        const char *text;
        enum fuzz_dist dist = FUZZ_normal;
        status = yaml_text(at, "without", &text, b->err);
        if (!status && (!fuzz_dist_of(text, &dist) || fuzz_dist_integers(dist)))
            status = rule_error(b, at,
                                "'%s' is no distribution of numbers; `cuvet help fuzz` "
                                "lists them",
                                text);
        b->rule->without |= status ? 0 : 1u << dist;
    }
    return status;
}

/* "permute", "neighbours", "split", or "scale NAME" of an input. */
static enum status read_relation(struct rule_builder *b, const struct yaml_node *node)
{
    static const char *const checks[] = {"permute", "neighbours", "split"};
    static const char scale[] = "scale ";
    struct fuzz_rule *rule = b->rule;
    const char *text;
    enum status status = yaml_text(node, "relations", &text, b->err);
    if (status)
        return status;
    if (rule->relations == FUZZ_RELATIONS || rule->scaled == FUZZ_RELATIONS)
        return rule_error(b, node, "more than %d relations", FUZZ_RELATIONS);
    for (size_t i = 0; i < sizeof checks / sizeof checks[0]; i++) {
        if (strcmp(text, checks[i]) == 0) {
            rule->relation[rule->relations++] = checks[i];
            return STATUS_OK;
        }
    }
    const struct signature_item *item =
        strncmp(text, scale, sizeof scale - 1) == 0
            ? signature_find(rule->plan->signature, text + sizeof scale - 1)
            : NULL;
    if (!item || !item->array || !role_reads(item->role))
        return rule_error(b, node,
                          "'%s' is no relation; expected permute, neighbours, split, or `scale "
                          "NAME` of an array that is read",
                          text);
    rule->scale[rule->scaled++] = item->name;
    return STATUS_OK;
}

static enum status read_relations(struct rule_builder *b)
{
    const struct yaml_node *node = yaml_get(b->bench->fuzz, "relations");
    enum status status = node && node->kind != YAML_KIND_SEQUENCE
                             ? rule_error(b, node,
                                          "'relations' is no list; expected such as "
                                          "[permute, split, scale x]")
                             : STATUS_OK;
    for (size_t i = 0; node && !status && i < node->count; i++)
        status = read_relation(b, node->item[i]);
    return status;
}

enum status fuzz_rule_make(const struct fuzz_rule **out, struct arena *arena,
                           const struct registry_bench *bench, const struct fuzz_known *known,
                           struct error *err)
{
    struct rule_builder b = {.arena = arena,
                             .bench = bench,
                             .known = known,
                             .err = err,
                             .rule = arena_alloc(arena, sizeof *b.rule),
                             .slots = FUZZ_SLOT_FREE};
    if (!b.rule)
        return error_set(err, STATUS_NO_MEMORY, "no memory");
    b.rule->plan = bench->plan;
    b.rule->source = bench->source;
    b.rule->captures = bench->captures;
    b.rule->sparse = fuzz_is_sparse(bench->plan->signature);
    b.rule->elements = FUZZ_ELEMENTS;
    enum status status = rule_refuse(&b);
    if (!status)
        status = rule_variables(&b);
    if (!status)
        status = rule_lists(&b);
    if (!status)
        status = rule_launch(&b);
    if (!status)
        status = rule_arrays(&b);
    if (!status)
        status = read_without(&b);
    if (!status)
        status = read_relations(&b);
    if (!status)
        status = check_read(&b);
    if (!status)
        status = sort_variables(&b);
    *out = b.rule;
    return status;
}

struct checking {
    struct arena arena;
};

static enum status check_one(void *user, const struct registry_bench *bench, struct error *err)
{
    struct checking *checking = user;
    const struct fuzz_rule *rule;
    return fuzz_rule_make(&rule, &checking->arena, bench, NULL, err);
}

enum status fuzz_rules_check(struct registry *registry, registry_complain_fn complain, void *user)
{
    struct checking checking = {{0}};
    enum status status = registry_visit_fuzz(registry, check_one, &checking, complain, user);
    arena_release(&checking.arena);
    return status;
}
