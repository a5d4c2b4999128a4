/* control.c - where lanes go: branches, calls, returns, exits, and the stack they use. */
#include <stdio.h>
#include "exec/ops/ops.h"

enum step op_nop(struct warp *w, const struct op *op)
{
    (void)w;
    (void)op;
    return STEP_NEXT;
}

enum step op_bra(struct warp *w, const struct op *op)
{
    w->f->pc = op->target;
    return STEP_JUMP;
}

/* Keeps the lanes that have the first one's value; the others come again by themselves. */
static uint64_t one_value(struct warp *w, ref r, unsigned width)
{
    uint64_t values[LANES];
    uint32_t same = 0;
    get64(w, r, width, values);
    uint64_t value = values[first_lane(w->active)];
    for (unsigned i = 0; i < LANES; i++)
        same |= (uint32_t)(values[i] == value) << i;
    if (w->active & ~same)
        split_off(w, w->active & ~same, w->f->pc);
    w->active &= same;
    return value;
}

enum step op_brx(struct warp *w, const struct op *op)
{
    const struct jump_table *table = op->more;
    uint64_t index = one_value(w, op->s[0], op->source);
    if (index >= table->count)
        return fault_at(w, w->active, EXEC_ILLEGAL_INSTRUCTION, index,
                        "the index of the branch is past its list of targets");
    w->f->pc = table->targets[index];
    return STEP_SWITCH;
}

/* One parameter from one function's view to another's. */
static void copy_slot(uint8_t *to, const struct slot *d, const uint8_t *from, const struct slot *s,
                      uint32_t mask)
{
    const uint32_t bytes = d->bytes < s->bytes ? d->bytes : s->bytes;
    for (uint32_t b = 0; b < bytes; b += WORD) {
        const uint32_t n = bytes - b < WORD ? bytes - b : WORD;
        for (unsigned i = 0; i < LANES; i++)
            if (mask >> i & 1)
                memcpy(to + (size_t)b / WORD * WORD_STRIDE + (size_t)i * d->stride,
                       from + (size_t)b / WORD * WORD_STRIDE + (size_t)i * s->stride, n);
    }
}

/* Room on the stacks of the lanes that enter, from where the highest of them stands. */
static bool push_stack(struct warp *w, struct frame *frame, const struct frame *caller)
{
    uint32_t base = 0;
    for (unsigned i = 0; i < LANES; i++)
        if (frame->lanes >> i & 1 && caller->top[i] > base)
            base = caller->top[i];
    base = (base + frame->code->local_align - 1) / frame->code->local_align;
    base *= frame->code->local_align;
    frame->base = base;
    uint32_t need = frame->code->local_bytes;
    if (w->launch->program->deep && need < 32)
        need = 32; /* a call takes some room always, or a recursion without variables has no end */
    for (unsigned i = 0; i < LANES; i++)
        frame->top[i] = base + need;
    return base + need <= w->launch->stack_bytes;
}

static enum step enter(struct warp *w, const struct op *op, const struct code *code,
                       const struct call_site *site)
{
    struct fragment *f = w->f;
    struct frame *caller = f->frame;
    if (code->broken)
        return fault_at(w, w->active, EXEC_ILLEGAL_INSTRUCTION, 0, code->why);
    if (site->args != code->ptx->param_count || site->results != code->ptx->result_count)
        return fault_at(w, w->active, EXEC_ILLEGAL_INSTRUCTION, 0,
                        "the function called has other parameters");
    struct frame *frame = frame_enter(w, code, w->active);
    frame->parent = caller;
    frame->depth = caller->depth + 1;
    frame->return_pc = f->pc + 1;
    frame->call = op;
    if (!push_stack(w, frame, caller)) {
        frame_leave(w, frame, ALL_LANES);
        return fault_at(w, w->active, EXEC_STACK_OVERFLOW, w->launch->stack_bytes, NULL);
    }
    for (unsigned i = 0; i < site->args; i++) {
        const struct slot *from = site->slots + site->results + i;
        copy_slot(frame->registers + code->params[i].at, code->params + i, at(w, from->at),
                  &(struct slot){0, from->stride, from->bytes}, w->active);
    }
    f->frame = frame;
    f->pc = 0;
    return STEP_SWITCH;
}

enum step op_call(struct warp *w, const struct op *op)
{
    const struct call_site *site = op->more;
    if (site->code)
        return enter(w, op, site->code, site);
    uint64_t address = one_value(w, op->s[0], op->source);
    const struct code *code = function_at(w->launch->program, address);
    if (!code)
        return fault_at(w, w->active, EXEC_ILLEGAL_INSTRUCTION, address,
                        "a call to an address that is no function's");
    return enter(w, op, code, site);
}

enum step op_unresolved(struct warp *w, const struct op *op)
{
    char what[100];
    const char *name = op->more;
    snprintf(what, sizeof what, "a call of %.60s, which nothing defines", name);
    return fault_at(w, w->active, EXEC_ILLEGAL_INSTRUCTION, 0, what);
}

enum step op_exit(struct warp *w, const struct op *op)
{
    struct fragment *f = w->f;
    const uint32_t mask = w->active;
    (void)op;
    for (struct frame *frame = f->frame; frame;) {
        struct frame *parent = frame->parent;
        frame_leave(w, frame, mask);
        frame = parent;
    }
    w->live &= ~mask;
    fragment_drop(w, f);
    if (w->fragments)
        warp_lanes_left(w);
    block_lanes_left(w->block);
    return STEP_SWITCH;
}

enum step op_ret(struct warp *w, const struct op *op)
{
    struct fragment *f = w->f;
    struct frame *frame = f->frame, *caller = frame->parent;
    if (!caller)
        return op_exit(w, op);
    const struct call_site *site = frame->call->more;
    const struct code *code = frame->code;
    for (unsigned i = 0; i < site->results; i++) {
        const struct slot *to = site->slots + i;
        if (to->at == REF_NONE)
            continue;
        copy_slot(caller->registers + to->at, &(struct slot){0, to->stride, to->bytes},
                  frame->registers + code->results[i].at, code->results + i, w->active);
    }
    f->frame = caller;
    f->pc = frame->return_pc;
    frame_leave(w, frame, w->active);
    return STEP_SWITCH;
}

enum step op_trap(struct warp *w, const struct op *op)
{
    (void)op;
    return fault_at(w, w->active, EXEC_TRAP, 0, NULL);
}

enum step op_nanosleep(struct warp *w, const struct op *op)
{
    (void)op;
    return spin(w, SPIN_FULL);
}

/* An atomic operation on one word that all fences share orders as a fence does, and unlike a fence
 * it is understood by the thread sanitizer. */
enum step op_fence(struct warp *w, const struct op *op)
{
    static _Atomic unsigned all;
    (void)op;
    atomic_fetch_add_explicit(&all, 0, memory_order_seq_cst);
    return spin(w, 1);
}

enum step op_alloca(struct warp *w, const struct op *op)
{
    uint64_t size[LANES];
    struct frame *frame = w->f->frame;
    const uint32_t align = op->imm ? (uint32_t)op->imm : 16;
    get64(w, op->s[0], op->source, size);
    for (uint32_t rest = w->active; rest; rest &= rest - 1) {
        unsigned i = first_lane(rest);
        uint32_t begin = (frame->top[i] + align - 1) & ~(align - 1);
        if (size[i] > w->launch->stack_bytes || begin + size[i] > w->launch->stack_bytes)
            return fault_at(w, 1u << i, EXEC_STACK_OVERFLOW, size[i], NULL);
        frame->top[i] = begin + (uint32_t)size[i];
        size[i] = begin;
    }
    put64(w, op->d, op->width, size);
    return STEP_NEXT;
}

enum step op_stacksave(struct warp *w, const struct op *op)
{
    uint64_t tops[LANES];
    for (unsigned i = 0; i < LANES; i++)
        tops[i] = w->f->frame->top[i];
    put64(w, op->d, op->width, tops);
    return STEP_NEXT;
}

enum step op_stackrestore(struct warp *w, const struct op *op)
{
    uint64_t tops[LANES];
    get64(w, op->s[0], op->source, tops);
    for (uint32_t rest = w->active; rest; rest &= rest - 1) {
        unsigned i = first_lane(rest);
        if (tops[i] > w->launch->stack_bytes)
            return fault_at(w, 1u << i, EXEC_STACK_OVERFLOW, tops[i], NULL);
        w->f->frame->top[i] = (uint32_t)tops[i];
    }
    return STEP_NEXT;
}
