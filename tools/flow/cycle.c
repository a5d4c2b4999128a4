/* cycle.c - strongly connected parts of the graph of data (Tarjan's algorithm, without recursion).
 */
#include "tools/flow/flow_parts.h"

#include <string.h>

uint32_t flow_data(const struct flow *flow, uint32_t value)
{
    static const struct {
        const char *word;
        uint32_t args;
    } rows[] = {{"ld", 0},  {"atom", 0}, {"setp", 0}, {"selp", 2}, {"shfl", 1},  {"set", 0},
                {"ldu", 0}, {"tex", 0},  {"vote", 0}, {"slct", 2}, {"testp", 0}, {"ldmatrix", 0}};
    const struct flow_value *v = &flow->value[value];
    if (v->kind == FLOW_MERGE)
        return 2;
    if (v->kind == FLOW_PHI)
        return v->args;
    if (v->kind != FLOW_RESULT)
        return 0;
    const char *word = flow_instruction(flow, value)->opcode;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (strcmp(word, rows[i].word) == 0)
            return rows[i].args < v->args ? rows[i].args : v->args;
    }
    return v->args;
}

struct tarjan {
    struct flow *flow;
    uint32_t *index, *low, *next, *path, *stack, *cycle;
    uint32_t counter, depth, height, cycles;
};

static void enter(struct tarjan *t, uint32_t v)
{
    t->index[v] = t->low[v] = ++t->counter;
    t->stack[t->height++] = v;
    t->path[t->depth++] = v;
}

static bool reads_itself(const struct flow *flow, uint32_t v)
{
    for (uint32_t a = 0, n = flow_data(flow, v); a < n; a++) {
        if (flow_arg(flow, v, a) == v)
            return true;
    }
    return false;
}

static void leave(struct tarjan *t, uint32_t v)
{
    t->depth--;
    if (t->depth && t->low[t->path[t->depth - 1]] > t->low[v])
        t->low[t->path[t->depth - 1]] = t->low[v];
    if (t->low[v] != t->index[v])
        return;
    bool alone = t->stack[t->height - 1] == v && !reads_itself(t->flow, v);
    uint32_t member;
    do {
        member = t->stack[--t->height];
        t->low[member] = FLOW_NONE; /* off the stack */
        t->cycle[member] = alone ? FLOW_NONE : t->cycles;
    } while (member != v);
    t->cycles += !alone;
}

const uint32_t *flow_cycles(struct flow *flow)
{
    size_t n = flow->values;
    struct tarjan t = {.flow = flow};
    t.index = flow_numbers(flow, n, 0, NULL);
    t.low = flow_numbers(flow, n, 0, NULL);
    t.next = flow_numbers(flow, n, 0, NULL);
    t.path = flow_numbers(flow, n, 0, NULL);
    t.stack = flow_numbers(flow, n, 0, NULL);
    t.cycle = flow_numbers(flow, n, FLOW_NONE, NULL);
    if (!t.index || !t.low || !t.next || !t.path || !t.stack || !t.cycle)
        return NULL;
    for (uint32_t root = 0; root < n; root++) {
        if (!t.index[root])
            enter(&t, root);
        while (t.depth) {
            uint32_t v = t.path[t.depth - 1];
            if (t.next[v] == flow_data(flow, v)) {
                leave(&t, v);
                continue;
            }
            uint32_t to = flow_arg(flow, v, t.next[v]++);
            if (!t.index[to])
                enter(&t, to);
            else if (t.low[to] != FLOW_NONE && t.low[v] > t.index[to])
                t.low[v] = t.index[to];
        }
    }
    return t.cycle;
}
