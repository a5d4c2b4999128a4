/* decode.c - makes the program of a kernel: every function it reaches, instruction by instruction.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include "exec/decode/decode.h"

enum status refuse(struct decoder *d, const char *format, ...)
{
    char text[300];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return error_set(d->err, STATUS_UNSUPPORTED, "%s:%u: %s: %s (in %s)",
                     d->program->module->ptx->name, d->ins ? d->ins->line : d->fn->line,
                     d->ins ? d->ins->text : "function", text, d->fn->name);
}

enum status no_memory(struct decoder *d)
{
    return error_set(d->err, STATUS_NO_MEMORY, "no memory to decode %s", d->fn->name);
}

struct op *emit_hidden(struct decoder *d, op_fn *fn)
{
    struct code *code = d->code;
    if (code->count + 1 >= d->op_room) { /* one more for the end */
        size_t room = d->op_room ? d->op_room * 2 : 64;
        struct op *grown = realloc(code->ops, room * sizeof *grown);
        if (!grown)
            return NULL;
        code->ops = grown;
        d->op_room = room;
    }
    struct op *op = code->ops + code->count++;
    memset(op, 0, sizeof *op);
    op->fn = fn;
    op->guard = op->d = op->q = REF_NONE;
    for (unsigned i = 0; i < LANE_SOURCES; i++)
        op->s[i] = REF_NONE;
    op->instruction = d->ins;
    op->hidden = true;
    return op;
}

struct op *emit(struct decoder *d, op_fn *fn)
{
    struct op *op = emit_hidden(d, fn);
    if (!op)
        return NULL;
    op->hidden = false;
    if (d->ins && d->ins->guarded) {
        op->guard = d->register_at[d->ins->guard];
        op->flip = d->ins->guard_negated ? ALL_LANES : 0;
    }
    return op;
}

void *own(struct decoder *d, size_t bytes)
{
    struct code *code = d->code;
    if (code->owned_count == d->owned_room) {
        size_t room = d->owned_room ? d->owned_room * 2 : 64;
        void **grown = realloc(code->owned, room * sizeof *grown);
        if (!grown)
            return NULL;
        code->owned = grown;
        d->owned_room = room;
    }
    void *made = calloc(1, bytes);
    if (made)
        code->owned[code->owned_count++] = made;
    return made;
}

static size_t words(size_t bytes)
{
    return (bytes + WORD - 1) / WORD * WORD_STRIDE;
}

static enum status place_registers(struct decoder *d)
{
    const struct ptx_function *fn = d->fn;
    d->register_at = calloc(fn->register_count + 1, sizeof *d->register_at);
    if (!d->register_at)
        return no_memory(d);
    size_t at = 0;
    for (unsigned i = 0; i < fn->register_count; i++) {
        if (fn->registers[i].type != PTX_PRED)
            continue;
        d->register_at[i] = (ref)at;
        at += sizeof(uint32_t);
    }
    at = (at + 63) & ~(size_t)63;
    for (unsigned i = 0; i < fn->register_count; i++) {
        unsigned bytes = register_bytes(fn->registers[i].type);
        if (!bytes)
            continue;
        d->register_at[i] = (ref)at;
        at += (size_t)bytes * LANES;
    }
    d->frame_end = at;
    return STATUS_OK;
}

static struct slot *place_formals(struct decoder *d, const struct ptx_variable *list,
                                  unsigned count)
{
    struct slot *slots = own(d, (count + 1) * sizeof *slots);
    for (unsigned i = 0; slots && i < count; i++) {
        slots[i] = (struct slot){(ref)d->frame_end, WORD, (uint32_t)list[i].bytes};
        d->frame_end += words(list[i].bytes);
    }
    return slots;
}

/* The instructions between which each of the function's variables is used. */
struct life {
    unsigned first, last;
};

static void live(const struct ptx_function *fn, const struct ptx_operand *o, unsigned at,
                 struct life *lives)
{
    if (o->kind == PTX_ADDRESS_OF && o->variable >= fn->variables &&
        o->variable < fn->variables + fn->variable_count) {
        struct life *life = lives + (o->variable - fn->variables);
        if (at < life->first)
            life->first = at;
        life->last = at;
    }
    for (unsigned i = 0; o->items && i < o->count; i++)
        live(fn, o->items + i, at, lives);
}

/* The parameters of calls: those of one call live together, those of the next take their place. */
static void place_call_params(struct decoder *d, const struct life *lives)
{
    const struct ptx_function *fn = d->fn;
    const size_t base = d->frame_end;
    size_t at = base;
    unsigned from = 0, busy = 0; /* the instructions in which something below `at` is in use */
    for (unsigned i = 0; i < fn->variable_count; i++) {
        const struct ptx_variable *v = fn->variables + i;
        if (v->space != PTX_PARAM || lives[i].first == ~0u)
            continue;
        if (lives[i].first > busy) {
            at = base;
            from = lives[i].first;
        } else if (lives[i].first < from) {
            at = d->frame_end; /* out of order: not shared */
        }
        d->variable_at[i] = (uint32_t)at;
        at += words(v->bytes);
        busy = lives[i].last > busy ? lives[i].last : busy;
        d->frame_end = at > d->frame_end ? at : d->frame_end;
    }
}

static enum status place_variables(struct decoder *d)
{
    const struct ptx_function *fn = d->fn;
    d->variable_at = calloc(fn->variable_count + 1, sizeof *d->variable_at);
    struct life *lives = malloc((fn->variable_count + 1) * sizeof *lives);
    if (!d->variable_at || !lives) {
        free(lives);
        return no_memory(d);
    }
    memset(lives, 0xff, (fn->variable_count + 1) * sizeof *lives);
    for (unsigned i = 0; i < fn->instruction_count; i++)
        for (unsigned k = 0; k < fn->instructions[i].operand_count; k++)
            live(fn, fn->instructions[i].operands + k, i, lives);
    place_call_params(d, lives);
    free(lives);
    uint32_t local = 0, widest = 16;
    for (unsigned i = 0; i < fn->variable_count; i++) {
        const struct ptx_variable *v = fn->variables + i;
        if (v->space != PTX_LOCAL)
            continue;
        uint32_t align = v->align > 1 ? (uint32_t)v->align : 1;
        widest = align > widest ? align : widest;
        local = (local + align - 1) / align * align;
        d->variable_at[i] = local;
        local += (uint32_t)v->bytes;
    }
    d->code->local_bytes = (local + 15) & ~15u;
    d->code->local_align = widest;
    return STATUS_OK;
}

/* Formals have to be placed in all functions before any call is decoded. */
static enum status prepare_code(struct decoder *d)
{
    const struct ptx_function *fn = d->fn;
    TRY(place_registers(d));
    d->code->params = place_formals(d, fn->params, fn->is_entry ? 0 : fn->param_count);
    d->code->results = place_formals(d, fn->results, fn->result_count);
    if (!d->code->params || !d->code->results)
        return no_memory(d);
    TRY(place_variables(d));
    d->frame_end = (d->frame_end + 63) & ~(size_t)63;
    d->temporaries_end = d->frame_end;
    return STATUS_OK;
}

static enum status link_jumps(struct decoder *d)
{
    struct code *code = d->code;
    for (uint32_t i = 0; i < code->count; i++) {
        struct op *op = code->ops + i;
        if (op->fn == op_bra)
            op->target = d->first[op->target];
        for (unsigned k = 0; k < code->owned_count && op->fn == op_brx; k++) {
            struct jump_table *table = code->owned[k];
            if (table != op->more)
                continue;
            for (unsigned t = 0; t < table->count; t++)
                table->targets[t] = d->first[table->targets[t]];
        }
    }
    return STATUS_OK;
}

static enum status decode_body(struct decoder *d)
{
    const struct ptx_function *fn = d->fn;
    d->first = calloc(fn->instruction_count + 1, sizeof *d->first);
    if (!d->first)
        return no_memory(d);
    for (unsigned i = 0; i < fn->instruction_count; i++) {
        d->ins = fn->instructions + i;
        d->first[i] = d->code->count;
        d->temporaries = d->frame_end;
        TRY(decode_instruction(d));
    }
    d->ins = NULL;
    d->first[fn->instruction_count] = d->code->count;
    struct op *end = emit_hidden(d, op_ret);
    if (!end)
        return no_memory(d);
    end->splits = true;
    d->code->count--; /* the end is not counted */
    d->code->frame_bytes = (d->temporaries_end + 63) & ~(size_t)63;
    return link_jumps(d);
}

static enum status decode_code(struct program *program, struct code *code, struct error *err)
{
    struct error why = {{0}};
    struct decoder d = {.program = program, .code = code, .fn = code->ptx, .err = &why};
    enum status status = prepare_code(&d);
    if (!status)
        status = decode_body(&d);
    free(d.first);
    free(d.register_at);
    free(d.variable_at);
    free(d.constants);
    if (status && code->by_pointer) {
        code->broken = true;
        snprintf(code->why, sizeof code->why, "%.190s", why.text);
        code->count = 0;
        return STATUS_OK;
    }
    return status ? error_set(err, status, "%s", why.text) : STATUS_OK;
}

static enum status decode_all(struct program *program, struct error *err)
{
    for (unsigned i = 0; i < program->code_count; i++) {
        struct code *code = program->codes[i];
        if (!code->broken)
            TRY(decode_code(program, code, err));
        code->first = program->op_count;
        program->op_count += code->count + 1;
    }
    program->totals = calloc(program->op_count, sizeof *program->totals);
    if (!program->totals)
        return error_set(err, STATUS_NO_MEMORY, "no memory for counters");
    program_stack(program);
    return STATUS_OK;
}

enum status program_make(struct exec_function *kernel, struct program **made, struct error *err)
{
    struct program *program = calloc(1, sizeof *program);
    if (!program)
        return error_set(err, STATUS_NO_MEMORY, "no memory to decode %s", kernel->ptx->name);
    program->module = kernel->module;
    program->kernel = kernel;
    enum status status = program_reach(program, kernel->ptx, err);
    if (!status)
        status = decode_all(program, err);
    if (status) {
        program_free(program);
        return status;
    }
    *made = program;
    return STATUS_OK;
}

void program_free(struct program *program)
{
    if (!program)
        return;
    for (unsigned i = 0; i < program->code_count; i++) {
        struct code *code = program->codes[i];
        for (size_t k = 0; k < code->owned_count; k++)
            free(code->owned[k]);
        free(code->owned);
        free(code->ops);
        free(code->constants);
        free(code);
    }
    free(program->codes);
    free(program->shared);
    free((void *)program->totals);
    free(program);
}
