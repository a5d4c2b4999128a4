/* flow.c - makes a flow, and its queries. */
#include "tools/flow/flow_parts.h"

#include <stdlib.h>
#include <string.h>

enum status flow_no_memory(struct error *err)
{
    return error_set(err, STATUS_NO_MEMORY, "no memory for the graph of a function");
}

uint32_t *flow_numbers(struct flow *flow, size_t count, uint32_t value, struct error *err)
{
    uint32_t *list = arena_alloc(&flow->arena, (count + !count) * sizeof *list);
    if (!list)
        flow_no_memory(err);
    for (size_t i = 0; list && value && i < count; i++)
        list[i] = value;
    return list;
}

enum status flow_make(struct flow **out, const struct ptx_module *module,
                      const struct ptx_function *function, struct error *err)
{
    static enum status (*const steps[])(struct flow *, struct error *) = {
        flow_graph, flow_trees, flow_controls, flow_loops, flow_values, flow_sources};
    *out = NULL;
    if (!function->body_read || function->instruction_count == 0)
        return error_set(err, STATUS_INVALID, "%s has no instructions", function->name);
    if (function->instruction_count > FLOW_INSTRUCTIONS)
        return error_set(err, STATUS_FULL, "%s has %u instructions, over %d", function->name,
                         function->instruction_count, FLOW_INSTRUCTIONS);
    struct flow *flow = calloc(1, sizeof *flow);
    if (!flow)
        return flow_no_memory(err);
    flow->module = module;
    flow->function = function;
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        enum status status = steps[i](flow, err);
        if (status) {
            flow_free(flow);
            return status;
        }
    }
    *out = flow;
    return STATUS_OK;
}

void flow_free(struct flow *flow)
{
    if (!flow)
        return;
    free(flow->value);
    arena_release(&flow->arena);
    free(flow);
}

const struct ptx_instruction *flow_instruction(const struct flow *flow, uint32_t value)
{
    const struct flow_value *v = &flow->value[value];
    bool of_one = v->kind == FLOW_RESULT || v->kind == FLOW_EFFECT || v->kind == FLOW_MERGE;
    return of_one ? &flow->function->instructions[v->at] : NULL;
}

uint32_t flow_block_of(const struct flow *flow, uint32_t value)
{
    const struct flow_value *v = &flow->value[value];
    if (v->kind == FLOW_PHI)
        return v->at;
    return flow_instruction(flow, value) ? flow->block_of[v->at] : FLOW_NONE;
}

bool flow_is(const struct flow *flow, uint32_t value, const char *opcode)
{
    const struct ptx_instruction *i = flow_instruction(flow, value);
    return i && flow->value[value].kind != FLOW_MERGE && strcmp(i->opcode, opcode) == 0;
}

bool flow_dominates(const struct flow *flow, uint32_t a, uint32_t b)
{
    const struct flow_block *above = &flow->block[a], *below = &flow->block[b];
    return above->number != FLOW_NONE && below->number != FLOW_NONE &&
           above->enter <= below->enter && below->leave <= above->leave;
}

bool flow_in_loop(const struct flow *flow, uint32_t block, uint32_t loop)
{
    uint32_t at = block == FLOW_NONE ? FLOW_NONE : flow->block[block].loop;
    while (at != FLOW_NONE && at != loop)
        at = flow->loop[at].parent;
    return at == loop && loop != FLOW_NONE;
}

uint32_t flow_condition(const struct flow *flow, uint32_t block)
{
    uint32_t last = flow->block[block].end - 1;
    const struct ptx_instruction *i = &flow->function->instructions[last];
    if (i->guarded)
        return flow->guard[last];
    return strcmp(i->opcode, "brx") == 0 ? flow_arg(flow, flow->result[last], 0) : FLOW_NONE;
}

void flow_each_condition(const struct flow *flow, uint32_t block, flow_condition_fn use, void *user)
{
    enum { MOST = 1024 };
    uint32_t list[MOST], count = 0;
    list[count++] = block;
    for (uint32_t i = 0; i < count; i++) {
        const struct flow_block *b = &flow->block[list[i]];
        for (uint32_t c = 0; c < b->controls; c++) {
            uint32_t branch = flow->control[b->control + c], known = 0;
            while (known < count && list[known] != branch)
                known++;
            bool first = known == count || (known == 0 && branch == block);
            if (!first)
                continue;
            if (known == count && count < MOST)
                list[count++] = branch;
            uint32_t condition = flow_condition(flow, branch);
            if (condition != FLOW_NONE && !use(user, branch, condition))
                return;
        }
    }
}

bool flow_constant(const struct flow *flow, uint32_t value, uint64_t *bits)
{
    enum { MOST_STEPS = 64 };
    for (int step = 0; step < MOST_STEPS; step++) {
        const struct flow_value *v = &flow->value[value];
        if (v->kind == FLOW_CONSTANT) {
            *bits = v->bits;
            return true;
        }
        if (v->args != 1 || !flow_is(flow, value, "mov"))
            return false;
        value = flow_arg(flow, value, 0);
    }
    return false;
}
