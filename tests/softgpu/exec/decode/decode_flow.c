/* decode_flow.c - branches, calls, and what ends or delays a thread. */
#include "exec/decode/decode.h"

static enum status plain(struct decoder *d, op_fn *fn, bool splits, struct op **made)
{
    struct op *op = emit(d, fn);
    if (!op)
        return no_memory(d);
    op->splits = splits;
    if (made)
        *made = op;
    return STATUS_OK;
}

enum status decode_nothing(struct decoder *d)
{
    return plain(d, op_nop, false, NULL);
}

enum status decode_fence(struct decoder *d)
{
    return plain(d, op_fence, false, NULL);
}

enum status decode_trap(struct decoder *d)
{
    return plain(d, op_trap, false, NULL);
}

enum status decode_exit(struct decoder *d)
{
    return plain(d, op_exit, true, NULL);
}

enum status decode_ret(struct decoder *d)
{
    return plain(d, op_ret, true, NULL);
}

enum status decode_nanosleep(struct decoder *d)
{
    return plain(d, op_nanosleep, false, NULL);
}

/* Targets are instructions until the whole function is decoded: see link_jumps(). */
enum status decode_bra(struct decoder *d)
{
    struct op *op = NULL;
    TRY(want_operands(d, 1, 1));
    if (d->ins->operands->kind != PTX_LABEL)
        return refuse(d, "a branch to something that is no label");
    TRY(plain(d, op_bra, true, &op));
    op->target = d->ins->operands->target;
    return STATUS_OK;
}

enum status decode_brx(struct decoder *d)
{
    const struct ptx_operand *o = d->ins->operands;
    ref at;
    unsigned bytes;
    TRY(want_operands(d, 2, 2));
    if (o[1].kind != PTX_VECTOR)
        return refuse(d, "a list of targets was expected");
    TRY(source(d, o, PTX_U32, &at, &bytes));
    struct jump_table *table = own(d, sizeof *table + o[1].count * sizeof *table->targets);
    if (!table)
        return no_memory(d);
    table->count = o[1].count;
    for (unsigned i = 0; i < table->count; i++)
        table->targets[i] = o[1].items[i].target;
    struct op *op = NULL;
    TRY(plain(d, op_brx, true, &op));
    op->s[0] = at;
    op->source = (uint8_t)bytes;
    op->more = table;
    return STATUS_OK;
}

/* One argument or result of a call, on the caller's side. */
static enum status slot_of(struct decoder *d, const struct ptx_operand *o,
                           const struct ptx_variable *formal, bool result, struct slot *slot)
{
    unsigned bytes = 0;
    if (o->kind == PTX_SINK && result) {
        slot->at = REF_NONE;
        return STATUS_OK;
    }
    if (o->kind == PTX_ADDRESS_OF) {
        enum memory memory;
        uint64_t address;
        TRY(locate(d, o->variable, &memory, &address, &slot->at));
        if (memory != IN_FRAME)
            return refuse(d, "%s is no parameter that a call can take", o->variable->name);
        slot->stride = WORD;
        slot->bytes = (uint32_t)o->variable->bytes;
        return STATUS_OK;
    }
    if (result)
        TRY(destination(d, o, &slot->at, &bytes));
    else
        TRY(source(d, o, formal ? formal->type : PTX_B64, &slot->at, &bytes));
    if (!bytes)
        return refuse(d, "a predicate as a parameter");
    slot->stride = bytes;
    slot->bytes = bytes;
    return STATUS_OK;
}

static enum status fill_site(struct decoder *d, const struct ptx_variable *results,
                             unsigned result_count, const struct ptx_variable *params,
                             unsigned param_count, struct call_site *site)
{
    const struct ptx_instruction *ins = d->ins;
    site->results = ins->results;
    site->args = ins->operand_count - 1 - ins->results;
    if (site->results != result_count || site->args != param_count)
        return refuse(d, "%u results and %u arguments, but the function has %u and %u",
                      site->results, site->args, result_count, param_count);
    site->slots = own(d, (ins->operand_count + 1) * sizeof *site->slots);
    if (!site->slots)
        return no_memory(d);
    for (unsigned i = 0; i + 1 < ins->operand_count; i++) {
        bool result = i < site->results;
        const struct ptx_variable *formal = result ? results + i : params + (i - site->results);
        TRY(slot_of(d, ins->operands + 1 + i, formal, result, site->slots + i));
    }
    return STATUS_OK;
}

static enum status call_of(struct decoder *d, const struct ptx_function *fn)
{
    struct builtin_call *call = own(d, sizeof *call);
    struct op *op = NULL;
    if (!call)
        return no_memory(d);
    TRY(fill_site(d, fn->results, fn->result_count, fn->params, fn->param_count, &call->site));
    call->fn = fn->has_body ? NULL : find_builtin(fn->name);
    call->name = fn->name;
    if (!fn->has_body && !call->fn) {
        TRY(plain(d, op_unresolved, true, &op));
        op->more = fn->name;
        return STATUS_OK;
    }
    if (call->fn) {
        TRY(plain(d, call->fn, false, &op));
        op->more = &call->site;
        return STATUS_OK;
    }
    call->site.code = program_code(d->program, fn);
    if (!call->site.code)
        return refuse(d, "the function %s was not reached", fn->name);
    TRY(plain(d, op_call, true, &op));
    op->more = &call->site;
    return STATUS_OK;
}

enum status decode_call(struct decoder *d)
{
    const struct ptx_instruction *ins = d->ins;
    const struct ptx_operand *target = ins->operands;
    TRY(want_operands(d, 1 + ins->results, ~0u));
    if (target->kind == PTX_FUNCTION) {
        const struct ptx_function *fn = ptx_find_function(d->program->module->ptx, target->name);
        return fn ? call_of(d, fn) : refuse(d, "there is no function %s", target->name);
    }
    const struct ptx_prototype *p = ins->prototype;
    struct call_site *site = own(d, sizeof *site);
    struct op *op = NULL;
    ref at;
    unsigned bytes;
    if (!site)
        return no_memory(d);
    if (!p)
        return refuse(d, "a call through a register without a prototype");
    TRY(source(d, target, PTX_B64, &at, &bytes));
    TRY(fill_site(d, p->results, p->result_count, p->params, p->param_count, site));
    TRY(plain(d, op_call, true, &op));
    op->more = site;
    op->s[0] = at;
    op->source = (uint8_t)bytes;
    return STATUS_OK;
}

enum status decode_alloca(struct decoder *d)
{
    const struct ptx_operand *o = d->ins->operands;
    ref to, size;
    unsigned bytes, size_bytes;
    TRY(want_operands(d, 2, 3));
    if (d->ins->operand_count == 3 && o[2].kind != PTX_IMMEDIATE)
        return refuse(d, "an alignment that is no constant");
    TRY(source(d, o + 1, last_type(d), &size, &size_bytes));
    TRY(destination(d, o, &to, &bytes));
    struct op *op = NULL;
    TRY(plain(d, op_alloca, false, &op));
    op->d = to;
    op->s[0] = size;
    op->width = (uint8_t)bytes;
    op->source = (uint8_t)size_bytes;
    op->imm = d->ins->operand_count == 3 ? o[2].bits : 8;
    return op->imm && !(op->imm & (op->imm - 1)) && op->imm <= 4096
               ? STATUS_OK
               : refuse(d, "an alignment of %llu", (unsigned long long)op->imm);
}

enum status decode_stack(struct decoder *d)
{
    const bool save = strcmp(d->ins->opcode, "stacksave") == 0;
    ref at;
    unsigned bytes;
    struct op *op = NULL;
    TRY(want_operands(d, 1, 1));
    if (save)
        TRY(destination(d, d->ins->operands, &at, &bytes));
    else
        TRY(source(d, d->ins->operands, last_type(d), &at, &bytes));
    TRY(plain(d, save ? op_stacksave : op_stackrestore, false, &op));
    op->d = save ? at : REF_NONE;
    op->s[0] = save ? REF_NONE : at;
    op->width = op->source = (uint8_t)bytes;
    return STATUS_OK;
}
