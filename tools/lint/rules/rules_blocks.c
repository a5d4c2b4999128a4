/* rules_blocks.c - what one block stores and another one loads. */
#include <stdlib.h>
#include <string.h>
#include "tools/lint/places.h"
#include "tools/lint/rules/rules.h"

/* -- blocks that count each other -- */

/* Calls `use` for each instruction on the ways behind `at`; one ends where `use` returns false. */
typedef bool (*step_fn)(void *user, uint32_t at);
static void each_behind(const struct flow *flow, uint32_t at, step_fn use, void *user)
{
    uint8_t *seen = calloc(flow->blocks, 1);
    uint32_t *queue = malloc(flow->blocks * sizeof *queue), count = 0;
    uint32_t block = flow->block_of[at], next = at + 1;
    for (uint32_t i = 0; seen && queue; block = queue[i++], next = flow->block[block].first) {
        const struct flow_block *b = &flow->block[block];
        while (next < b->end && use(user, next))
            next++;
        for (uint32_t e = 0; next == b->end && e < b->succs; e++) {
            uint32_t to = flow->edge[b->succ + e];
            if (!seen[to])
                queue[count++] = to;
            seen[to] = 1;
        }
        if (i == count)
            break;
    }
    free(seen);
    free(queue);
}

enum { EACH_CTAID = 7 * FLOW_CTAID };

struct counted {
    struct lint_kernel *k;
    struct lint_access store;
    uint32_t atomic; /* at hand */
    unsigned atomics;
    uint32_t load; /* of what other blocks stored, behind it; 0: none */
};

static bool same_array(const struct flow_base *a, const struct flow_base *b)
{
    if (a->kind != b->kind || a->kind == FLOW_BASE_UNKNOWN)
        return false;
    if (a->kind == FLOW_BASE_VARIABLE)
        return a->variable == b->variable;
    return a->param == b->param && a->field == b->field;
}

/* Orders a thread's writes for other blocks; a call may. */
static bool is_fence(const struct ptx_instruction *i)
{
    bool fence = strcmp(i->opcode, "membar") == 0 || strcmp(i->opcode, "fence") == 0;
    if (fence)
        return !ptx_has_modifier(i, "cta") && !ptx_has_modifier(i, "proxy");
    return strcmp(i->opcode, "call") == 0 || ptx_has_modifier(i, "release") ||
           ptx_has_modifier(i, "acq_rel");
}

/* A load of the stored array whose address lacks the block's number. */
static bool visit_foreign_load(void *user, uint32_t at)
{
    const uint32_t hidden = FLOW_GLOBAL | FLOW_SHARED | FLOW_LOCAL | FLOW_ATOMIC | FLOW_OTHER;
    struct counted *c = user;
    const struct flow *flow = c->k->flow;
    struct lint_access a;
    if (!lint_access(flow, at, &a) || !a.reads || a.writes || !same_array(&a.base, &c->store.base))
        return !c->load;
    uint32_t own = flow->value[c->store.address].sources & EACH_CTAID,
             sources = flow->value[a.address].sources;
    if ((own & ~sources) && !(sources & hidden))
        c->load = at;
    return !c->load;
}

static bool visit_atomic(void *user, uint32_t at)
{
    enum { MOST_ATOMICS = 16 };
    struct counted *c = user;
    const struct flow *flow = c->k->flow;
    const struct ptx_instruction *i = &flow->function->instructions[at];
    struct lint_access a;
    if (is_fence(i) || c->load || c->atomics == MOST_ATOMICS)
        return false;
    if (strcmp(i->opcode, "atom") != 0 || !lint_access(flow, at, &a) || a.space != PTX_GLOBAL ||
        !flow->value[a.value].users)
        return true;
    c->atomic = at;
    c->atomics++;
    each_behind(flow, at, visit_foreign_load, c);
    return !c->load;
}

/* Whether the kernel has an atomic at all. */
static bool counts_blocks(const struct flow *flow)
{
    bool found = false;
    for (uint32_t at = 0; at < flow->function->instruction_count && !found; at++)
        found = strcmp(flow->function->instructions[at].opcode, "atom") == 0;
    return found;
}

/* The last block adds up what all have stored: it counts them by an atomic, which orders nothing
 * else. */
void rule_fence_absent(struct lint_kernel *k)
{
    enum { MOST_STORES = 64 };
    const struct flow *flow = k->flow;
    const uint32_t end = counts_blocks(flow) ? flow->function->instruction_count : 0;
    unsigned stores = 0;
    for (uint32_t at = 0; at < end; at++) {
        struct counted c = {.k = k};
        if (!lint_stores_global(flow, at, &c.store) || c.store.atomic || !c.store.weak ||
            !(flow->value[c.store.address].sources & EACH_CTAID) || ++stores > MOST_STORES)
            continue;
        each_behind(flow, at, visit_atomic, &c);
        if (c.load)
            lint_add(k, c.atomic,
                     "blocks are counted with no fence behind the store at line %u, which the load "
                     "at line %u reads in another block",
                     flow->function->instructions[at].line,
                     flow->function->instructions[c.load].line);
    }
}

/* -- loads of what other blocks store, in whatever order -- */

enum { MOST_STORED = 64, NEIGHBOURS = 4 };
struct stored {
    struct lint_access store[MOST_STORED];
    unsigned count;
};

/* What may order accesses of different blocks, or of threads of a block. */
static bool orders(const struct ptx_instruction *i)
{
    static const char *const words[] = {"atom", "red", "call", "bar", "barrier", "griddepcontrol"};
    bool found = is_fence(i) || ptx_has_modifier(i, "acquire");
    for (size_t w = 0; w < sizeof words / sizeof *words; w++)
        found |= strcmp(i->opcode, words[w]) == 0;
    return found;
}

static bool list_stores(const struct flow *flow, struct stored *out)
{
    struct lint_access a;
    out->count = 0;
    for (uint32_t at = 0; at < flow->function->instruction_count; at++) {
        if (orders(&flow->function->instructions[at]))
            return false;
        if (lint_stores_global(flow, at, &a) && (flow->value[a.address].sources & EACH_CTAID)) {
            if (out->count == MOST_STORED)
                return false;
            out->store[out->count++] = a;
        }
    }
    return out->count > 0;
}

static bool same_params(const struct flow_value *a, const struct flow_value *b)
{
    return memcmp(a->params, b->params, sizeof a->params) == 0;
}

/* A load, walked by threads or in a loop, of an array in which each block stores at its number: not
 * at its own number, and with no part of another size in the address. */
static bool lacks_block(const struct flow *flow, const struct lint_access *store,
                        const struct lint_access *load)
{
    const uint32_t hidden = FLOW_GLOBAL | FLOW_SHARED | FLOW_LOCAL | FLOW_ATOMIC | FLOW_OTHER;
    const struct flow_value *s = &flow->value[store->address], *l = &flow->value[load->address];
    struct lint_place place = {.whole = true};
    lint_take_apart(flow, load->address, &place, 0);
    return (s->sources & EACH_CTAID & ~l->sources) && !((s->sources | l->sources) & hidden) &&
           place.whole && place.terms > 1 && same_params(s, l);
}

static int64_t apart(const struct flow *flow, const struct lint_access *a,
                     const struct lint_access *b, struct lint_place *place)
{
    struct lint_place from = {.whole = true}, to = {.whole = true};
    lint_take_apart(flow, a->address, &from, 0);
    lint_take_apart(flow, b->address, &to, 0);
    *place = to;
    if (!from.whole || !to.whole || !lint_same_terms(flow, &from, &to))
        return INT64_MAX;
    return to.offset + b->offset - from.offset - a->offset;
}

/* A few whole elements of other threads away from where the thread stores, who store there. Farther
 * away another part of the array may begin. */
static bool is_neighbour(const struct flow *flow, const struct stored *stored,
                         const struct lint_access *load)
{
    const uint32_t both = FLOW_TID | FLOW_CTAID;
    bool found = false;
    if ((flow->value[load->address].sources & both) != both)
        return false;
    for (unsigned i = 0; i < stored->count; i++) {
        struct lint_place place;
        int64_t by = apart(flow, &stored->store[i], load, &place);
        int64_t stride = (int64_t)lint_stride(flow, &place);
        if (by == 0)
            return false; /* its own element, too */
        found |= by != INT64_MAX && stride > 0 && by % stride == 0 &&
                 (by < 0 ? -by : by) <= NEIGHBOURS * stride;
    }
    return found;
}

static uint32_t stored_at(const struct flow *flow, const struct stored *stored,
                          const struct lint_access *load)
{
    for (unsigned i = 0; i < stored->count; i++) {
        const struct lint_access *store = &stored->store[i];
        if (same_array(&store->base, &load->base) && lacks_block(flow, store, load))
            return store->at;
    }
    struct stored same = {.count = 0};
    for (unsigned i = 0; i < stored->count; i++) {
        if (same_array(&stored->store[i].base, &load->base))
            same.store[same.count++] = stored->store[i];
    }
    return is_neighbour(flow, &same, load) ? same.store[0].at : FLOW_NONE;
}

/* Blocks run in no order, so that a load gets old or new bytes. */
void rule_block_order(struct lint_kernel *k)
{
    const struct flow *flow = k->flow;
    struct stored stored;
    struct lint_access load;
    for (uint32_t at = 0, any = list_stores(flow, &stored);
         any && at < flow->function->instruction_count; at++) {
        if (!lint_access(flow, at, &load) || load.writes || !load.weak || load.space != PTX_GLOBAL)
            continue;
        uint32_t store = stored_at(flow, &stored, &load);
        if (store != FLOW_NONE)
            lint_add(k, at,
                     "reads what other blocks store at line %u, and nothing orders the blocks",
                     flow->function->instructions[store].line);
    }
}
