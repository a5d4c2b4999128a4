/*
 * tree.c - dominators, postdominators, control dependence and natural loops.
 *
 * Dominators by Cooper, Harvey and Kennedy: intersection along the tree made so far, in reverse
 * post-order, until nothing changes. Postdominators are those of the reversed graph, with one exit
 * (number flow->blocks) behind every block without successors, and behind every endless loop.
 */
#include "tools/flow/flow_parts.h"

#include <string.h>

struct walk {
    struct flow *flow;
    bool reverse;
    uint32_t *number, *list, *parent, *stack, *next;
    uint32_t count; /* nodes in `list`, in reverse post-order from the end */
};

static uint32_t edges_of(const struct walk *w, uint32_t node, const uint32_t **to)
{
    const struct flow_block *b = &w->flow->block[node];
    *to = w->flow->edge + (w->reverse ? b->pred : b->succ);
    return w->reverse ? b->preds : b->succs;
}

/* Numbers all that is reachable from `root`, in post-order. */
static void visit(struct walk *w, uint32_t root)
{
    uint32_t depth = 0;
    if (w->number[root] != FLOW_NONE)
        return;
    w->number[root] = 0;
    w->stack[depth] = root;
    w->next[depth++] = 0;
    while (depth) {
        const uint32_t *to;
        uint32_t node = w->stack[depth - 1], n = edges_of(w, node, &to);
        if (w->next[depth - 1] == n) {
            w->number[node] = w->count;
            w->list[w->count++] = node;
            depth--;
            continue;
        }
        uint32_t target = to[w->next[depth - 1]++];
        if (w->number[target] == FLOW_NONE) {
            w->number[target] = 0;
            w->stack[depth] = target;
            w->next[depth++] = 0;
        }
    }
}

static uint32_t meet(const struct walk *w, uint32_t a, uint32_t b)
{
    while (a != b) {
        while (w->number[a] < w->number[b])
            a = w->parent[a];
        while (w->number[b] < w->number[a])
            b = w->parent[b];
    }
    return a;
}

static uint32_t best_parent(const struct walk *w, uint32_t node)
{
    const struct flow_block *b = &w->flow->block[node];
    const uint32_t *from = w->flow->edge + (w->reverse ? b->succ : b->pred);
    uint32_t n = w->reverse ? b->succs : b->preds, found = w->parent[node];
    bool root = w->reverse && found == w->flow->blocks; /* hangs on the exit */
    if (root)
        return found;
    found = FLOW_NONE;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t p = from[i];
        if (w->number[p] == FLOW_NONE || w->parent[p] == FLOW_NONE)
            continue;
        found = found == FLOW_NONE ? p : meet(w, found, p);
    }
    return found;
}

static void settle(struct walk *w, uint32_t root)
{
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t i = w->count; i-- > 0;) {
            uint32_t node = w->list[i];
            if (node == root)
                continue;
            uint32_t parent = best_parent(w, node);
            changed |= parent != w->parent[node];
            w->parent[node] = parent;
        }
    }
}

static bool open_walk(struct walk *w, struct flow *flow, bool reverse, struct error *err)
{
    size_t n = (size_t)flow->blocks + 1;
    *w = (struct walk){.flow = flow, .reverse = reverse};
    w->number = flow_numbers(flow, n, FLOW_NONE, err);
    w->list = flow_numbers(flow, n, 0, err);
    w->parent = flow_numbers(flow, n, FLOW_NONE, err);
    w->stack = flow_numbers(flow, n, 0, err);
    w->next = flow_numbers(flow, n, 0, err);
    return w->number && w->list && w->parent && w->stack && w->next;
}

/* In the dominator tree b lies below a where a.enter <= b.enter and b.leave <= a.leave. Children
 * follow their parents in reverse post-order, so one pass sums up sizes, a second places. */
static enum status place(struct flow *flow, struct error *err)
{
    uint32_t *size = flow_numbers(flow, flow->blocks, 1, err);
    uint32_t *used = flow_numbers(flow, flow->blocks, 1, err);
    if (!size || !used)
        return STATUS_NO_MEMORY;
    for (uint32_t i = flow->ordered; i-- > 1;)
        size[flow->block[flow->order[i]].dominator] += size[flow->order[i]];
    for (uint32_t i = 0; i < flow->ordered; i++) {
        struct flow_block *b = &flow->block[flow->order[i]];
        if (i > 0) {
            b->enter = flow->block[b->dominator].enter + used[b->dominator];
            used[b->dominator] += size[flow->order[i]];
        }
        b->leave = b->enter + size[flow->order[i]];
    }
    return STATUS_OK;
}

static enum status dominators(struct flow *flow, struct error *err)
{
    struct walk w;
    if (!open_walk(&w, flow, false, err))
        return STATUS_NO_MEMORY;
    visit(&w, 0);
    w.parent[0] = 0;
    settle(&w, 0);
    uint32_t *order = flow_numbers(flow, w.count, 0, err);
    if (!order)
        return STATUS_NO_MEMORY;
    for (uint32_t b = 0; b < flow->blocks; b++) {
        flow->block[b].number = FLOW_NONE;
        flow->block[b].dominator = b ? w.parent[b] : FLOW_NONE;
    }
    for (uint32_t i = 0; i < w.count; i++) {
        order[i] = w.list[w.count - 1 - i];
        flow->block[order[i]].number = i;
    }
    flow->order = order;
    flow->ordered = w.count;
    return place(flow, err);
}

/* Whether the function may end behind the block. */
static bool may_leave(const struct flow *flow, uint32_t b)
{
    const char *word = flow->function->instructions[flow->block[b].end - 1].opcode;
    bool traps = strcmp(word, "trap") == 0;
    return (flow->block[b].succs == 0 && !traps) || strcmp(word, "ret") == 0 ||
           strcmp(word, "exit") == 0;
}

/* Blocks from which every way ends in a trap, as that of a failed assertion: threads that go there
 * come to no barrier and no join, so the other way decides what follows a branch. Of a function
 * that always traps none is. */
static bool *trapping(struct flow *flow)
{
    bool *dead = arena_alloc(&flow->arena, (size_t)flow->blocks + 1);
    for (uint32_t i = flow->ordered; dead && i-- > 0;) {
        const struct flow_block *b = &flow->block[flow->order[i]];
        bool all =
            b->succs > 0 || strcmp(flow->function->instructions[b->end - 1].opcode, "trap") == 0;
        for (uint32_t s = 0; s < b->succs; s++)
            all = all && dead[flow->edge[b->succ + s]];
        dead[flow->order[i]] = all && !(b->succs > 0 && may_leave(flow, flow->order[i]));
    }
    if (dead && dead[0])
        memset(dead, 0, flow->blocks);
    return dead;
}

static enum status followers(struct flow *flow, struct error *err)
{
    struct walk w;
    uint32_t end = flow->blocks;
    if (!open_walk(&w, flow, true, err))
        return STATUS_NO_MEMORY;
    for (uint32_t b = 0; b < flow->blocks; b++) {
        if (!may_leave(flow, b))
            continue;
        visit(&w, b);
        w.parent[b] = end;
    }
    bool *dead = trapping(flow);
    for (uint32_t i = flow->ordered; dead && i-- > 0;) { /* endless loops */
        uint32_t b = flow->order[i];
        if (w.number[b] != FLOW_NONE || dead[b])
            continue;
        visit(&w, b);
        w.parent[b] = end;
    }
    if (!dead)
        return flow_no_memory(err);
    w.number[end] = w.count;
    w.parent[end] = end;
    settle(&w, end);
    for (uint32_t b = 0; b < flow->blocks; b++)
        flow->block[b].follower = w.parent[b] == end ? FLOW_NONE : w.parent[b];
    return STATUS_OK;
}

enum status flow_trees(struct flow *flow, struct error *err)
{
    enum status status = dominators(flow, err);
    return status ? status : followers(flow, err);
}

/* -- control dependence -- */

/* Block b runs or not by the branch of a where b lies on the way from a successor of a up to what
 * follows a in any case. out NULL: counts. */
static size_t each_control(struct flow *flow, uint32_t *out)
{
    size_t total = 0;
    for (uint32_t i = 0; i < flow->ordered; i++) {
        uint32_t a = flow->order[i];
        const struct flow_block *block = &flow->block[a];
        const struct ptx_instruction *last = &flow->function->instructions[block->end - 1];
        if (!last->guarded && block->succs < 2)
            continue;
        for (uint32_t s = 0; s < block->succs; s++) {
            uint32_t b = flow->edge[block->succ + s];
            for (uint32_t steps = 0; b != FLOW_NONE && b != block->follower && steps < flow->blocks;
                 steps++) {
                struct flow_block *below = &flow->block[b];
                if (out)
                    out[below->control + below->controls] = a;
                below->controls++;
                if (++total > FLOW_LINKS)
                    return total;
                b = below->follower;
            }
        }
    }
    return total;
}

enum status flow_controls(struct flow *flow, struct error *err)
{
    size_t total = each_control(flow, NULL);
    if (total > FLOW_LINKS)
        return error_set(err, STATUS_FULL, "%s: too many branches", flow->function->name);
    uint32_t *list = flow_numbers(flow, total + 1, 0, err), at = 0;
    if (!list)
        return STATUS_NO_MEMORY;
    for (uint32_t b = 0; b < flow->blocks; b++) {
        flow->block[b].control = at;
        at += flow->block[b].controls;
        flow->block[b].controls = 0;
    }
    each_control(flow, list);
    flow->control = list;
    return STATUS_OK;
}

/* -- loops -- */

static bool is_header(const struct flow *flow, uint32_t b)
{
    const struct flow_block *block = &flow->block[b];
    for (uint32_t i = 0; i < block->preds; i++) {
        if (flow_dominates(flow, b, flow->edge[block->pred + i]))
            return true;
    }
    return false;
}

/* Takes `b` into the loop, or the outermost loop that has it already; returns the block whose
 * predecessors are next, or FLOW_NONE. */
static uint32_t take(struct flow *flow, uint32_t loop, uint32_t b)
{
    struct flow_block *block = &flow->block[b];
    if (block->number == FLOW_NONE)
        return FLOW_NONE;
    if (block->loop == FLOW_NONE) {
        block->loop = loop;
        return b;
    }
    uint32_t outer = block->loop;
    while (outer != loop && flow->loop[outer].parent != FLOW_NONE)
        outer = flow->loop[outer].parent;
    if (outer == loop)
        return FLOW_NONE;
    flow->loop[outer].parent = loop;
    return flow->loop[outer].header;
}

static void fill(struct flow *flow, uint32_t loop, uint32_t *stack, uint32_t room)
{
    uint32_t header = flow->loop[loop].header, depth = 0;
    struct flow_block *block = &flow->block[header];
    block->loop = loop;
    for (uint32_t i = 0; i < block->preds && depth < room; i++) {
        uint32_t latch = flow->edge[block->pred + i];
        if (flow_dominates(flow, header, latch))
            stack[depth++] = latch;
    }
    while (depth) {
        uint32_t b = take(flow, loop, stack[--depth]);
        if (b == FLOW_NONE)
            continue;
        const struct flow_block *from = &flow->block[b];
        for (uint32_t i = 0; i < from->preds && depth < room; i++) {
            uint32_t p = flow->edge[from->pred + i];
            if (flow_dominates(flow, header, p))
                stack[depth++] = p;
        }
    }
}

enum status flow_loops(struct flow *flow, struct error *err)
{
    size_t room = 1;
    for (uint32_t b = 0; b < flow->blocks; b++)
        room += flow->block[b].preds;
    uint32_t *stack = flow_numbers(flow, room, 0, err);
    flow->loop = arena_alloc(&flow->arena, ((size_t)flow->ordered + 1) * sizeof *flow->loop);
    if (!stack || !flow->loop)
        return flow_no_memory(err);
    for (uint32_t i = flow->ordered; i-- > 0;) {
        if (!is_header(flow, flow->order[i]))
            continue;
        flow->loop[flow->loops] = (struct flow_loop){flow->order[i], FLOW_NONE};
        fill(flow, flow->loops++, stack, (uint32_t)room);
    }
    return STATUS_OK;
}
