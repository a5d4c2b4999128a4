/*
 * lift_chain.c - which roundings to f16 and bf16 are those of an accumulator.
 *
 * A number that is rounded once on its way, before it is multiplied or stored, has a rounding of
 * the program's own. A sum whose partial sums are rounded again and again has an accumulator of
 * that format. So the roundings on each way of additions are counted, there and back; a loop counts
 * as unbounded. From LIFT_CHAIN on the sum is an accumulator, and is compared with one of f32.
 *
 * Shared memory counts as a whole. Where a kernel has products of matrices, it holds factors,
 * outputs and terms, and a load cannot be matched to the store that it reads: chains end there.
 *
 * A number that is rounded and then only stored is an output: the comparison allows for that.
 */
#include <string.h>
#include "lift/lift_parts.h"

struct chains {
    struct lift *lift;
    const struct ptx_instruction *ins;
    unsigned most; /* of the sources, or of the results */
    unsigned give;
    bool forward, changed;
    bool products;      /* the kernel has products of matrices */
    const bool *feeds;  /* by instruction: feeds_wgmma(); NULL: of none */
    unsigned shared[2]; /* before, after: of shared memory as a whole */
};

static uint8_t *count_of(struct chains *c, unsigned reg)
{
    struct lift_register *r = &c->lift->reg[reg];
    return c->forward ? &r->before : &r->after;
}

static void take_chain(void *user, unsigned reg)
{
    struct chains *c = user;
    unsigned count = *count_of(c, reg);
    c->most = count > c->most ? count : c->most;
}

static void give_chain(void *user, unsigned reg)
{
    struct chains *c = user;
    uint8_t *count = count_of(c, reg);
    if (*count >= c->give)
        return;
    *count = (uint8_t)c->give;
    c->changed = true;
}

/* Whether additions lead through the instruction: then visits those operands. */
static bool visit_terms(const struct ptx_instruction *ins, enum lift_class class_,
                        lift_visit_fn visit, void *user)
{
    const struct ptx_operand *o = ins->operands;
    bool fused = strcmp(ins->opcode, "fma") == 0;
    static const char sums[] = "add sub cvt neg";
    if (class_ == CLASS_FLOAT && (fused || strstr(sums, ins->opcode))) {
        if (fused)
            lift_each_register(&o[3], visit, user);
        for (unsigned i = 1; !fused && i < ins->operand_count; i++)
            lift_each_register(&o[i], visit, user);
        return true;
    }
    if (class_ == CLASS_PRODUCT) {
        lift_each_register(lift_product_sum(ins), visit, user);
        return true;
    }
    if (class_ == CLASS_SHUFFLE || class_ == CLASS_MOVE) {
        for (unsigned i = 1; i < ins->operand_count; i++)
            lift_each_register(&o[i], visit, user);
        return true;
    }
    return false;
}

/* Through shared memory: `in` takes what stores bring, loads get it. */
static void pass_shared_chains(struct chains *c, enum lift_class class_)
{
    bool store = class_ == CLASS_STORE, from = store == c->forward;
    unsigned *there = &c->shared[!c->forward];
    const struct ptx_operand *value = &c->ins->operands[store ? 1 : 0];
    c->most = 0;
    if (from) {
        lift_each_register(value, take_chain, c);
        c->changed |= c->most > *there;
        *there = c->most > *there ? c->most : *there;
    } else {
        c->give = *there;
        lift_each_register(value, give_chain, c);
    }
}

static void pass_chains(struct chains *c, enum lift_class class_)
{
    const struct ptx_instruction *ins = c->ins;
    if (ins->space == PTX_SHARED && (class_ == CLASS_LOAD || class_ == CLASS_STORE)) {
        if (!c->products)
            pass_shared_chains(c, class_);
        return;
    }
    bool product = class_ == CLASS_PRODUCT && lift_product_kind(ins, 0) == KIND_F16X2;
    bool rounds = product || (class_ == CLASS_FLOAT && lift_rounds_narrow(ins));
    c->most = 0;
    if (c->forward) {
        bool sums = visit_terms(ins, class_, take_chain, c);
        c->give = (sums ? c->most : 0) + rounds;
    } else {
        lift_each_result(ins, take_chain, c);
        c->give = c->most + rounds;
    }
    c->give = c->give > LIFT_CHAIN ? LIFT_CHAIN : c->give;
    if (c->forward && (rounds || c->give))
        lift_each_result(ins, give_chain, c);
    else if (!c->forward)
        visit_terms(ins, class_, give_chain, c);
}

static void count_chains(struct lift *lift, bool forward)
{
    struct chains c = {.lift = lift, .forward = forward};
    unsigned count = lift->kernel->instruction_count;
    for (unsigned i = 0; i < count; i++)
        c.products |= lift->step[i].class_ == CLASS_PRODUCT;
    do {
        c.changed = false;
        for (unsigned i = 0; i < count; i++) {
            unsigned at = forward ? i : count - 1 - i;
            c.ins = &lift->kernel->instructions[at];
            pass_chains(&c, lift->step[at].class_);
        }
    } while (c.changed);
}

/* ---- outputs ---- */

static void gather_worked(void *user, unsigned reg)
{
    struct chains *c = user;
    c->most |= c->lift->reg[reg].worked;
}

static void give_worked(void *user, unsigned reg)
{
    struct chains *c = user;
    c->changed |= !c->lift->reg[reg].worked;
    c->lift->reg[reg].worked = true;
}

static bool has_wgmma(const struct lift *lift, unsigned first, unsigned end)
{
    for (unsigned i = first; i < end; i++) {
        if (lift_is_wgmma(&lift->kernel->instructions[i]))
            return true;
    }
    return false;
}

/* Whether a wgmma, which takes factors from shared memory, runs after the instruction: behind it,
 * or in a loop around it. A store behind the last one has an output. */
static bool feeds_wgmma(const struct lift *lift, unsigned at)
{
    bool feeds = has_wgmma(lift, at, lift->kernel->instruction_count);
    for (unsigned i = at; !feeds && i < lift->kernel->instruction_count; i++) {
        unsigned target = lift->step[i].class_ == CLASS_BRANCH
                              ? lift->kernel->instructions[i].operands[0].target
                              : i;
        feeds = target < at && has_wgmma(lift, target, at);
    }
    return feeds;
}

/* Copies pass it on to their sources; what is loaded from shared memory, to all that is stored
 * there. */
static void pass_worked(struct chains *c, unsigned at)
{
    const enum lift_class class_ = c->lift->step[at].class_;
    bool shared = c->ins->space == PTX_SHARED;
    c->most = class_ == CLASS_FLOAT || class_ == CLASS_OTHER || class_ == CLASS_PRODUCT ||
              lift_is_widening(c->lift, c->ins);
    if (class_ == CLASS_MOVE || class_ == CLASS_SHUFFLE || (class_ == CLASS_LOAD && shared))
        lift_each_result(c->ins, gather_worked, c);
    if (class_ == CLASS_LOAD && shared)
        c->shared[0] |= c->most;
    if (class_ == CLASS_STORE)
        c->most = shared && (c->shared[0] || (c->feeds && c->feeds[at]));
    if (c->most && class_ != CLASS_LOAD)
        lift_each_source(c->ins, give_worked, c);
}

/* feeds_wgmma() by instruction; NULL: there is no wgmma, or no memory. */
static const bool *find_feeding(struct lift *lift)
{
    const unsigned count = lift->kernel->instruction_count;
    bool *feeds = has_wgmma(lift, 0, count) ? arena_alloc(&lift->arena, count) : NULL;
    for (unsigned i = 0; feeds && i < count; i++)
        feeds[i] = lift->step[i].class_ == CLASS_STORE && feeds_wgmma(lift, i);
    return feeds;
}

static void find_worked(struct lift *lift)
{
    struct chains c = {.lift = lift, .feeds = find_feeding(lift)};
    unsigned there;
    do {
        c.changed = false;
        there = c.shared[0];
        for (unsigned i = lift->kernel->instruction_count; i-- > 0;) {
            c.ins = &lift->kernel->instructions[i];
            pass_worked(&c, i);
        }
    } while (c.changed || there != c.shared[0]);
}

/* ---- loops ---- */

/* From the result of a rounding on: registers that hold what it became by sums, products and
 * copies. */
struct circle {
    struct lift *lift;
    bool *in; /* by register */
    bool any, changed;
};

static void is_in(void *user, unsigned reg)
{
    struct circle *c = user;
    c->any |= c->in[reg];
}

static void put_in(void *user, unsigned reg)
{
    struct circle *c = user;
    c->changed |= c->any && !c->in[reg];
    c->in[reg] |= c->any;
}

static void visit_factors(const struct ptx_instruction *ins, enum lift_class class_,
                          lift_visit_fn visit, void *user)
{
    bool product = strcmp(ins->opcode, "mul") == 0 || strcmp(ins->opcode, "fma") == 0;
    if (class_ == CLASS_FLOAT && product)
        lift_each_source(ins, visit, user);
    else
        visit_terms(ins, class_, visit, user);
}

/* Whether a number that is rounded here comes to be rounded here again: a sum whose parts fade by a
 * factor, as that of an attention, is an accumulator, too. */
static bool returns(struct lift *lift, unsigned at, bool *in)
{
    const struct ptx_function *kernel = lift->kernel;
    struct circle c = {lift, in, true, false};
    memset(in, 0, kernel->register_count);
    lift_each_result(&kernel->instructions[at], put_in, &c);
    do {
        c.changed = false;
        for (unsigned i = 0; i < kernel->instruction_count; i++) {
            c.any = false;
            visit_factors(&kernel->instructions[i], lift->step[i].class_, is_in, &c);
            lift_each_result(&kernel->instructions[i], put_in, &c);
        }
    } while (c.changed);
    c.any = false;
    visit_factors(&kernel->instructions[at], CLASS_FLOAT, is_in, &c);
    return c.any;
}

static bool has_loop(const struct lift *lift)
{
    for (unsigned i = 0; i < lift->kernel->instruction_count; i++) {
        if (lift->step[i].class_ == CLASS_BRANCH &&
            lift->kernel->instructions[i].operands[0].target <= i)
            return true;
    }
    return false;
}

/* ---- the whole ---- */

static void add_both(void *user, unsigned reg)
{
    struct chains *c = user;
    unsigned all = c->lift->reg[reg].before + c->lift->reg[reg].after;
    c->most = all > c->most ? all : c->most;
    c->give |= c->lift->reg[reg].worked;
}

void lift_find_chains(struct lift *lift)
{
    count_chains(lift, true);
    count_chains(lift, false);
    find_worked(lift);
    bool *in = has_loop(lift) ? arena_alloc(&lift->arena, lift->kernel->register_count + 1) : NULL;
    for (unsigned i = 0; i < lift->kernel->instruction_count; i++) {
        struct chains c = {.lift = lift};
        const struct ptx_instruction *ins = &lift->kernel->instructions[i];
        if (lift->step[i].class_ != CLASS_FLOAT || !lift_rounds_narrow(ins))
            continue;
        lift_each_result(ins, add_both, &c);
        lift->step[i].strict = c.most >= LIFT_CHAIN || !c.give || (in && returns(lift, i, in));
    }
}
