/*
 * plan_state.c - the keys `position` and `state` of an entry (`flow` is plan_flow.c's): which
 * arguments are a cache, the places that a launch writes or reads of it, and the place in the
 * sequence that it is at.
 */
#include <string.h>

#include "plan/plan_builder.h"
#include "plan/registry_keys.h"
#include "text/nearest.h"

enum status plan_find_array(struct plan_builder *b, const struct yaml_node *node, const char *key,
                            const char *name, int *out)
{
    const struct binding_plan *plan = b->plan;
    struct nearest nearest = {.word = name};
    char question[96];
    for (unsigned i = 0; i < plan->arrays; i++) {
        const struct plan_array *array = &plan->array[i];
        if (!array->bound || array->list || array->item->earlier)
            continue;
        nearest_offer(&nearest, array->item->name);
        if (strcmp(array->item->name, name) == 0) {
            *out = (int)i;
            return STATUS_OK;
        }
    }
    return yaml_error(b->err, node,
                      "%s: '%.60s' is no array that a formal of the reference is bound to%s", key,
                      name, nearest_text(&nearest, question, sizeof question));
}

/* One of i32 or i64 that the kernel reads. */
static enum status find_indices(struct plan_builder *b, const struct yaml_node *node,
                                const char *key, int *out)
{
    const char *name;
    enum status status = yaml_text(node, key, &name, b->err);
    if (!status)
        status = plan_find_array(b, node, key, name, out);
    if (status)
        return status;
    const struct signature_item *item = b->plan->array[*out].item;
    enum dtype dtype = item->type.dtype;
    bool fits = dtype == DTYPE_I32 || dtype == DTYPE_I64 || dtype == DTYPE_NONE;
    if (fits && item->type.lanes == 1 && item->role == ROLE_READ && !item->rows)
        return STATUS_OK;
    return yaml_error(b->err, node, "%s: '%.60s' is no const array of i32 or i64", key, name);
}

static enum status read_caches(struct plan_builder *b, const struct yaml_node *node,
                               struct plan_state *state)
{
    bool list = node->kind == YAML_KIND_SEQUENCE;
    size_t count = list ? node->count : 1;
    enum status status = STATUS_OK;
    if (count < 1 || count > PLAN_CACHES)
        return yaml_error(b->err, node, "cache: %zu names; expected one or two", count);
    for (size_t i = 0; !status && i < count; i++) {
        const struct yaml_node *item = list ? node->item[i] : node;
        const char *name;
        status = yaml_text(item, "cache", &name, b->err);
        if (!status)
            status = plan_find_array(b, item, "cache", name, &state->cache[i]);
        if (!status && dtype_block(b->plan->array[state->cache[i]].item->type.dtype))
            status = yaml_error(b->err, item, "cache: '%.60s' is in a block format", name);
    }
    state->caches = (unsigned)count;
    return status;
}

static enum status read_state_word(struct plan_builder *b, const struct yaml_node *mapping,
                                   const char *key, const char *const *words, int *out)
{
    const struct yaml_node *node = yaml_get(mapping, key);
    const char *text;
    enum status status = node ? yaml_text(node, key, &text, b->err) : STATUS_OK;
    if (status || !node)
        return status;
    for (int i = 0; words[i]; i++) {
        if (strcmp(text, words[i]) == 0) {
            *out = i;
            return STATUS_OK;
        }
    }
    return yaml_error(b->err, node, "'%s' is '%.40s'; expected %s%s%s%s%s", key, text, words[0],
                      words[2] ? ", " : " or ", words[1], words[2] ? " or " : "",
                      words[2] ? words[2] : "");
}

static enum status read_expr(struct plan_builder *b, const struct yaml_node *mapping,
                             const char *key, const struct expr **out)
{
    const struct yaml_node *node = yaml_get(mapping, key);
    const char *text;
    enum status status = node ? yaml_text(node, key, &text, b->err) : STATUS_OK;
    if (status || !node)
        return status;
    return plan_expr(b, node, mapping == b->source->state ? "state:" : "position:", key, text, out);
}

/* An array of numbers, or one number, which may be an element of memory, "lengths[0]". */
static enum status read_state_numbers(struct plan_builder *b, const struct yaml_node *node,
                                      const char *key, int *array, const struct expr **out)
{
    const char *text;
    enum status status = yaml_text(node, key, &text, b->err);
    if (status)
        return status;
    const struct signature_item *item = signature_find(b->plan->signature, text);
    if (item && item->array)
        return find_indices(b, node, key, array);
    b->may_read = true;
    status = plan_expr(b, node, key, text, text, out);
    b->may_read = false;
    return status;
}

/* The pages of sequence n are indices[indptr[n]] to indices[indptr[n + 1] - 1]. */
static enum status read_csr(struct plan_builder *b, const struct yaml_node *node,
                            struct plan_state *state)
{
    const struct yaml_node *indptr = yaml_get(node, "indptr"), *last = yaml_get(node, "last");
    const struct yaml_node *indices = yaml_get(node, "indices");
    enum status status = keys_check(node, KEYS_TABLE, b->err);
    if (!status && (!indptr || !indices))
        status = yaml_error(b->err, node, "table: a mapping without '%s'",
                            indptr ? "indices" : "indptr");
    if (!status)
        status = find_indices(b, indptr, "indptr", &state->indptr);
    if (!status)
        status = find_indices(b, indices, "indices", &state->table);
    if (!status && last)
        status = find_indices(b, last, "last", &state->last);
    return status;
}

/* The pages of each sequence, and how much of them is read. */
static enum status read_table(struct plan_builder *b, const struct yaml_node *table,
                              const struct yaml_node *lengths, struct plan_state *state)
{
    if (table && table->kind == YAML_KIND_MAPPING)
        return lengths
                   ? yaml_error(b->err, lengths, "state: 'lengths' beside a table that has its own")
                   : read_csr(b, table, state);
    enum status status = table ? find_indices(b, table, "table", &state->table) : STATUS_OK;
    if (!status && table && !lengths)
        return yaml_error(b->err, table,
                          "state: 'table' without 'lengths', how much of it is read");
    if (!status && lengths)
        status = read_state_numbers(b, lengths, "lengths", &state->lengths, &state->length);
    return status;
}

static enum status read_reads(struct plan_builder *b, const struct yaml_node *node,
                              struct plan_state *state)
{
    const struct yaml_node *lengths = yaml_get(node, "lengths"), *table = yaml_get(node, "table");
    const struct yaml_node *reads = lengths ? lengths : table;
    enum status status = read_table(b, table, lengths, state);
    if (!status)
        status = read_expr(b, node, "page", &state->page);
    const struct plan_array *cache = &b->plan->array[state->cache[0]];
    if (!status && reads && !state->page && cache->item->ndim > 1)
        state->page = cache->dim[1].extent;
    if (!status && reads && !state->page)
        status = yaml_error(b->err, reads, "state: '%s' without 'page', the places of a page",
                            lengths ? "lengths" : "table");
    return status;
}

/* A name of positions; its token is no address. */
static enum status read_name(struct plan_builder *b, const struct yaml_node *node, const char *key,
                             struct plan_state *state)
{
    if (state->named)
        return yaml_error(b->err, node, "'%s' beside 'positions' of the same entry", key);
    enum status status = yaml_text(node, key, &state->named, b->err);
    state->token = 1;
    for (const char *c = status ? "" : state->named; *c; c++)
        state->token = (state->token ^ (unsigned char)*c) * 0x9e3779b97f4a7c15u;
    state->token |= (uint64_t)1 << 63 | 1;
    return status;
}

static enum status read_state(struct plan_builder *b, const struct yaml_node *node,
                              struct plan_state *state)
{
    static const char *const sharing[] = {"no", "prefix", "yes", NULL};
    static const char *const owning[] = {"no", "yes", "cached", NULL};
    static const char *const answer[] = {"no", "yes", NULL}, *const blank[] = {"no", "zero", NULL};
    const struct yaml_node *append = yaml_get(node, "append"), *cache = yaml_get(node, "cache");
    const struct yaml_node *positions = yaml_get(node, "positions");
    int shared = 0, advance = 1, is_blank = 0, fresh = 0, owned = 0;
    enum status status = yaml_expect(node, "state", YAML_KIND_MAPPING, b->err);
    if (!status)
        status = keys_check(node, KEYS_STATE, b->err);
    if (!status && !cache)
        status = yaml_error(b->err, node, "'state' has no 'cache'");
    if (!status)
        status = read_caches(b, cache, state);
    if (!status && append)
        status = find_indices(b, append, "append", &state->append);
    if (!status)
        status = read_expr(b, node, "rows", &state->rows);
    if (!status)
        status = read_expr(b, node, "null", &state->null);
    if (!status)
        status = read_reads(b, node, state);
    if (!status)
        status = read_state_word(b, node, "shared", sharing, &shared);
    if (!status)
        status = read_state_word(b, node, "advance", answer, &advance);
    if (!status)
        status = read_state_word(b, node, "blank", blank, &is_blank);
    if (!status)
        status = read_state_word(b, node, "fresh", answer, &fresh);
    if (!status)
        status = read_state_word(b, node, "owned", owning, &owned);
    if (!status && positions && state->lengths < 0 && !state->length)
        status = yaml_error(b->err, positions,
                            "state: 'positions' without 'lengths', of which each ends at one");
    if (!status && positions)
        status = read_name(b, positions, "positions", state);
    bool dense = state->table < 0 && (state->lengths >= 0 || state->length);
    if (!status && owned && ((state->table < 0 && !dense) || shared == SHARED_YES))
        status = yaml_error(b->err, yaml_get(node, "owned"),
                            "state: 'owned' needs 'lengths', or a 'table' of whose pages sequences "
                            "have none in common or those that begin them ('shared: prefix')");
    if (!status && owned && dense && shared != SHARED_NO)
        status = yaml_error(b->err, yaml_get(node, "shared"),
                            "state: 'shared' beside 'owned' without a 'table'");
    if (!status && owned == OWNED_CACHED && shared != SHARED_PREFIX)
        status = yaml_error(b->err, yaml_get(node, "owned"),
                            "state: 'owned: cached' without 'shared: prefix'");
    state->shared = (enum plan_sharing)shared;
    state->advance = advance;
    state->blank = is_blank;
    state->fresh = fresh;
    state->owned = (enum plan_owned)owned;
    return status;
}

static enum status read_position(struct plan_builder *b, const struct yaml_node *node,
                                 struct plan_state *state)
{
    const struct yaml_node *of = node;
    enum status status = STATUS_OK;
    if (node->kind == YAML_KIND_MAPPING) {
        status = keys_check(node, KEYS_POSITION, b->err);
        of = yaml_get(node, "of");
        if (!status && !of)
            status = yaml_error(b->err, node, "'position' has no 'of', the argument that holds it");
        if (!status)
            status = read_expr(b, node, "step", &state->step);
        if (!status && yaml_get(node, "as"))
            status = read_name(b, yaml_get(node, "as"), "as", state);
        state->names = yaml_get(node, "as") != NULL;
    }
    if (!status)
        status = read_state_numbers(b, of, "position", &state->positions, &state->position);
    if (!status)
        status = yaml_text(of, "position", &state->position_name, b->err);
    state->direct = !status && state->position && !plan_reads(b, state->position);
    return status;
}

enum status plan_state(struct plan_builder *b)
{
    const struct yaml_node *node = b->source->state, *position = b->source->position;
    const struct yaml_node *flow = b->source->flow;
    if (!node && !position && !flow)
        return STATUS_OK;
    struct plan_state *state = arena_alloc(b->arena, sizeof *state);
    if (!state)
        return error_set(b->err, STATUS_NO_MEMORY, "no memory");
    *state = (struct plan_state){.append = -1,
                                 .table = -1,
                                 .lengths = -1,
                                 .indptr = -1,
                                 .last = -1,
                                 .positions = -1,
                                 .advance = true};
    enum status status = node ? read_state(b, node, state) : STATUS_OK;
    if (!status && position)
        status = read_position(b, position, state);
    if (!status && flow)
        status = plan_flow(b, flow, state);
    const struct expr *exprs[] = {state->rows,   state->page,     state->null,
                                  state->length, state->position, state->step};
    for (size_t i = 0; i < sizeof exprs / sizeof exprs[0]; i++)
        plan_use(b, exprs[i]);
    b->plan->state = state;
    return status;
}
