/*
 * layout.c - what a kernel reaches: the functions it calls, directly or through pointers, and the
 * shared variables they use, which get their places in the block's memory.
 */
#include <stdio.h>
#include <stdlib.h>
#include "exec/decode/decode.h"

struct code *program_code(const struct program *program, const struct ptx_function *fn)
{
    for (unsigned i = 0; i < program->code_count; i++)
        if (program->codes[i]->ptx == fn)
            return program->codes[i];
    return NULL;
}

uint64_t *shared_offset(const struct program *program, const struct ptx_variable *variable)
{
    for (unsigned i = 0; i < program->shared_count; i++)
        if (program->shared[i].variable == variable)
            return &program->shared[i].offset;
    return NULL;
}

static bool is_dynamic(const struct ptx_variable *v)
{
    return v->is_extern || v->bytes == 0;
}

static enum status add_shared(struct program *program, const struct ptx_variable *v)
{
    if (shared_offset(program, v))
        return STATUS_OK;
    struct shared_place *grown =
        realloc(program->shared, (program->shared_count + 1) * sizeof *grown);
    if (!grown)
        return STATUS_NO_MEMORY;
    program->shared = grown;
    size_t align = v->align ? v->align : 1;
    uint64_t offset = 0;
    if (!is_dynamic(v)) {
        offset = (program->static_shared + align - 1) / align * align;
        program->static_shared = offset + v->bytes;
    }
    grown[program->shared_count++] = (struct shared_place){v, offset};
    return STATUS_OK;
}

/* Dynamic shared memory follows the static, and all its names mean its beginning. */
static void place_dynamic(struct program *program)
{
    size_t align = SHARED_ALIGN;
    bool any = false;
    for (unsigned i = 0; i < program->shared_count; i++) {
        const struct ptx_variable *v = program->shared[i].variable;
        any |= is_dynamic(v);
        if (is_dynamic(v) && v->align > align)
            align = v->align;
    }
    if (any)
        program->static_shared = (program->static_shared + align - 1) / align * align;
    for (unsigned i = 0; i < program->shared_count; i++)
        if (is_dynamic(program->shared[i].variable))
            program->shared[i].offset = program->static_shared;
}

static enum status add_code(struct program *program, const struct ptx_function *fn, bool by_pointer)
{
    struct code *known = program_code(program, fn);
    if (known) {
        known->by_pointer &= by_pointer;
        return STATUS_OK;
    }
    struct code **grown = realloc(program->codes, (program->code_count + 1) * sizeof *grown);
    if (!grown)
        return STATUS_NO_MEMORY;
    program->codes = grown;
    struct code *code = calloc(1, sizeof *code);
    if (!code)
        return STATUS_NO_MEMORY;
    code->program = program;
    code->ptx = fn;
    code->index = program->code_count;
    code->by_pointer = by_pointer;
    grown[program->code_count++] = code;
    return STATUS_OK;
}

static enum status reach_operand(struct program *program, const struct ptx_operand *o)
{
    if (o->kind == PTX_ADDRESS_OF && o->variable->space == PTX_SHARED)
        return add_shared(program, o->variable);
    if (o->kind == PTX_FUNCTION) {
        const struct ptx_function *fn = ptx_find_function(program->module->ptx, o->name);
        return fn && fn->has_body ? add_code(program, fn, false) : STATUS_OK;
    }
    enum status status = STATUS_OK;
    for (unsigned i = 0; i < o->count && !status && o->items; i++)
        status = reach_operand(program, o->items + i);
    return status;
}

/* A pointer may come from anywhere, from another kernel too: all functions may be meant. */
static enum status reach_all(struct program *program)
{
    const struct ptx_module *ptx = program->module->ptx;
    enum status status = STATUS_OK;
    for (unsigned i = 0; i < ptx->function_count && !status; i++)
        if (ptx->functions[i].has_body && !ptx->functions[i].is_entry)
            status = add_code(program, ptx->functions + i, true);
    return status;
}

static enum status reach_body(struct program *program, struct code *code, struct error *err)
{
    struct ptx_module *ptx = program->module->ptx;
    struct ptx_function *fn = ptx->functions + (code->ptx - ptx->functions);
    struct error why = {{0}};
    enum status status = ptx_read_body(ptx, fn, &why);
    if (status && code->by_pointer) {
        code->broken = true;
        snprintf(code->why, sizeof code->why, "%.190s", why.text);
        return STATUS_OK;
    }
    if (status)
        return error_set(err, status, "%s", why.text);
    for (unsigned i = 0; i < fn->instruction_count && !status; i++) {
        const struct ptx_instruction *ins = fn->instructions + i;
        bool call = strcmp(ins->opcode, "call") == 0;
        program->deep |= strcmp(ins->opcode, "alloca") == 0;
        if (call && ins->operand_count && ins->operands->kind != PTX_FUNCTION) {
            program->deep = true;
            status = reach_all(program);
        }
        for (unsigned k = 0; k < ins->operand_count && !status; k++)
            status = reach_operand(program, ins->operands + k);
    }
    return status ? error_set(err, status, "no memory to decode %s", fn->name) : STATUS_OK;
}

enum status program_reach(struct program *program, const struct ptx_function *kernel,
                          struct error *err)
{
    if (add_code(program, kernel, false))
        return error_set(err, STATUS_NO_MEMORY, "no memory to decode %s", kernel->name);
    for (unsigned i = 0; i < program->code_count; i++) {
        enum status status = reach_body(program, program->codes[i], err);
        if (status)
            return status;
    }
    place_dynamic(program);
    return STATUS_OK;
}

/* The local memory that a call of `code` needs, with all that it calls in turn. */
static uint32_t stack_of(struct program *program, const struct code *code, uint32_t *known,
                         unsigned depth)
{
    if (known[code->index] || program->deep)
        return known[code->index];
    if (depth > program->code_count) {
        program->deep = true;
        return 0;
    }
    uint32_t most = 0;
    for (uint32_t i = 0; i < code->count; i++) {
        const struct op *op = code->ops + i;
        const struct call_site *site = op->fn == op_call ? op->more : NULL;
        uint32_t need = site && site->code ? stack_of(program, site->code, known, depth + 1) : 0;
        most = need > most ? need : most;
    }
    known[code->index] = code->local_bytes + code->local_align + most;
    return known[code->index];
}

void program_stack(struct program *program)
{
    uint32_t *known = calloc(program->code_count, sizeof *known);
    uint32_t need = known ? stack_of(program, program->codes[0], known, 0) : 0;
    program->deep |= !known;
    program->stack_bytes = (need + 15) & ~15u;
    if (program->deep && program->stack_bytes < STACK_DEEP)
        program->stack_bytes = STACK_DEEP + program->codes[0]->local_bytes;
    free(known);
}
