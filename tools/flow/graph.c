/* graph.c - instructions cut into blocks, and the edges between them. */
#include "tools/flow/flow_parts.h"

#include <string.h>

/* Whether control never, or not always, goes on with the next instruction. */
static bool is_jump(const struct ptx_instruction *i)
{
    static const char *const words[] = {"bra", "brx", "ret", "exit", "trap"};
    for (size_t w = 0; w < sizeof words / sizeof *words; w++) {
        if (strcmp(i->opcode, words[w]) == 0)
            return true;
    }
    return false;
}

typedef void (*target_fn)(struct flow *flow, uint32_t block, uint32_t target, uint32_t *edges);

/* The instructions that a jump may go to, besides the next. */
static void each_target(struct flow *flow, uint32_t at, uint32_t block, target_fn use,
                        uint32_t *edges)
{
    const struct ptx_instruction *i = &flow->function->instructions[at];
    for (unsigned o = 0; o < i->operand_count; o++) {
        const struct ptx_operand *operand = &i->operands[o];
        if (operand->kind == PTX_LABEL && i->opcode[0] == 'b')
            use(flow, block, operand->target, edges);
        for (unsigned k = 0;
             operand->kind == PTX_VECTOR && i->opcode[0] == 'b' && k < operand->count; k++) {
            if (operand->items[k].kind == PTX_LABEL)
                use(flow, block, operand->items[k].target, edges);
        }
    }
}

static void mark_leader(struct flow *flow, uint32_t block, uint32_t target, uint32_t *leader)
{
    (void)flow;
    (void)block;
    leader[target] = 1;
}

static enum status cut(struct flow *flow, struct error *err)
{
    uint32_t count = flow->function->instruction_count;
    uint32_t *leader = flow_numbers(flow, (size_t)count + 1, 0, err);
    uint32_t *block_of = flow_numbers(flow, (size_t)count + 1, 0, err);
    if (!leader || !block_of)
        return STATUS_NO_MEMORY;
    leader[0] = 1;
    for (uint32_t i = 0; i < count; i++) {
        if (!is_jump(&flow->function->instructions[i]))
            continue;
        leader[i + 1] = 1;
        each_target(flow, i, 0, mark_leader, leader);
    }
    for (uint32_t i = 0; i < count; i++)
        flow->blocks += leader[i];
    flow->block = arena_alloc(&flow->arena, ((size_t)flow->blocks + 1) * sizeof *flow->block);
    if (!flow->block)
        return flow_no_memory(err);
    uint32_t block = 0;
    for (uint32_t i = 0; i < count; i++) {
        block += i > 0 && leader[i];
        if (leader[i])
            flow->block[block] =
                (struct flow_block){.first = i, .loop = FLOW_NONE, .phi = FLOW_NONE};
        flow->block[block].end = i + 1;
        block_of[i] = block;
    }
    block_of[count] = FLOW_NONE;
    flow->block_of = block_of;
    return STATUS_OK;
}

/* edges NULL: counts alone. */
static void add_edge(struct flow *flow, uint32_t block, uint32_t target, uint32_t *edges)
{
    uint32_t to = flow->block_of[target];
    if (to == FLOW_NONE)
        return;
    struct flow_block *a = &flow->block[block], *b = &flow->block[to];
    if (edges) {
        edges[a->succ + a->succs] = to;
        edges[b->pred + b->preds] = block;
    }
    a->succs++;
    b->preds++;
}

static void each_edge(struct flow *flow, uint32_t *edges)
{
    for (uint32_t b = 0; b < flow->blocks; b++) {
        uint32_t last = flow->block[b].end - 1;
        const struct ptx_instruction *i = &flow->function->instructions[last];
        bool jump = is_jump(i);
        if (jump)
            each_target(flow, last, b, add_edge, edges);
        if (!jump || i->guarded)
            add_edge(flow, b, last + 1, edges);
    }
}

enum status flow_graph(struct flow *flow, struct error *err)
{
    enum status status = cut(flow, err);
    if (status)
        return status;
    each_edge(flow, NULL);
    size_t total = 0;
    for (uint32_t b = 0; b < flow->blocks; b++)
        total += flow->block[b].succs + flow->block[b].preds;
    if (total > FLOW_LINKS)
        return error_set(err, STATUS_FULL, "%s: too many branches", flow->function->name);
    uint32_t *edges = flow_numbers(flow, total + 1, 0, err), at = 0;
    if (!edges)
        return STATUS_NO_MEMORY;
    for (uint32_t b = 0; b < flow->blocks; b++) {
        struct flow_block *block = &flow->block[b];
        block->succ = at;
        block->pred = at + block->succs;
        at += block->succs + block->preds;
        block->succs = block->preds = 0;
    }
    each_edge(flow, edges);
    flow->edge = edges;
    return STATUS_OK;
}
