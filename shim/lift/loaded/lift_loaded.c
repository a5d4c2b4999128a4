/*
 * lift_loaded.c - what depends on memory: a store whose place does may be one of several to that
 * place, of which the snapshot has the last: it is noted. A loop that memory ends might have no end
 * where an access is refused and gives 0: it is left then.
 */
#include <string.h>
#include "lift/lift_parts.h"

/* Loads that count: all; those that are not settled; nor from tables, whose addresses lead to
 * different memory. */
enum loads { ALL_LOADS, UNSETTLED_LOADS, INDEX_LOADS };

struct loaded {
    struct lift *lift;
    bool any, changed;
    enum loads loads;        /* what counts as memory */
    bool local;              /* local memory has what depends on memory */
    bool strays;             /* memory decides which way a thread goes */
    bool *passed;            /* or, for each instruction, whether it passes over it */
    struct lift_span *span;  /* of each access to shared memory */
    unsigned *store, stores; /* those that write there */
};

static void gather_loaded(void *user, unsigned reg)
{
    struct loaded *l = user;
    l->any |= l->lift->reg[reg].loaded;
}

static void give_loaded(void *user, unsigned reg)
{
    struct loaded *l = user;
    l->changed |= l->any && !l->lift->reg[reg].loaded;
    l->lift->reg[reg].loaded |= l->any;
}

/* Whether an instruction counts at a barrier, or waits there or for other threads of the warp. */
static bool concerns_others(const struct ptx_instruction *ins)
{
    return strstr(ins->opcode, "bar") || ptx_has_modifier(ins, "mbarrier") ||
           ptx_has_modifier(ins, "sync") || ins->opcode[0] == 'w'; /* wgmma.wait_group */
}

/* The end of the instructions that a branch passes over, where they are some that concern their own
 * thread alone, and both ways go on at one place, which may lie elsewhere; 0: they are not. */
static unsigned end_of_passed(const struct lift *lift, unsigned at)
{
    static const char own[] = {CLASS_OTHER, CLASS_FLOAT, CLASS_MOVE, CLASS_LOAD, CLASS_STORE};
    const struct ptx_instruction *all = lift->kernel->instructions;
    const unsigned count = lift->kernel->instruction_count;
    if (lift->step[at].class_ != CLASS_BRANCH)
        return 0;
    unsigned target = all[at].operands[0].target, i = at + 1;
    while (i < count && i != target && memchr(own, lift->step[i].class_, sizeof own) &&
           !lift->step[i].target && !concerns_others(&all[i]))
        i++;
    bool joins = i < count && lift->step[i].class_ == CLASS_BRANCH && !all[i].guarded &&
                 !lift->step[i].target && all[i].operands[0].target == target;
    return i == target || joins ? i : 0;
}

/* `any` is that of what an instruction writes, to registers or to local memory. */
static void give_loaded_results(struct loaded *l, const struct ptx_instruction *ins)
{
    if (ins->space == PTX_LOCAL && strcmp(ins->opcode, "st") == 0) {
        l->changed |= l->any && !l->local;
        l->local |= l->any;
    }
    lift_each_result(ins, give_loaded, l);
}

/* Marks what a branch may skip as dependent on memory, where the branch's condition is. */
static void spread_passed(struct loaded *l, unsigned at)
{
    const struct ptx_instruction *ins = &l->lift->kernel->instructions[at];
    const unsigned end = end_of_passed(l->lift, at);
    l->any = ins->guarded && l->lift->reg[ins->guard].loaded;
    for (unsigned i = at + 1; l->any && i < end; i++) {
        l->changed |= !l->passed[i];
        l->passed[i] = true;
        give_loaded_results(l, &l->lift->kernel->instructions[i]);
    }
}

/* Whether a value from memory is the condition of a branch that does more than skip a few
 * instructions of its own thread. */
static bool branches_loaded(const struct lift *lift)
{
    for (unsigned i = 0; i < lift->kernel->instruction_count; i++) {
        const struct ptx_instruction *ins = &lift->kernel->instructions[i];
        enum lift_class class_ = lift->step[i].class_;
        if ((class_ == CLASS_BRANCH || class_ == CLASS_END || class_ == CLASS_FAIL) &&
            ins->guarded && lift->reg[ins->guard].loaded && !end_of_passed(lift, i))
            return true;
    }
    return false;
}

/* ---- shared memory ---- */

/* Reads where accesses to shared memory go. false: no memory. */
static bool find_spans(struct loaded *l)
{
    const unsigned count = l->lift->kernel->instruction_count;
    l->passed = arena_alloc(&l->lift->arena, count * sizeof *l->passed);
    l->span = arena_alloc(&l->lift->arena, count * sizeof *l->span);
    l->store = arena_alloc(&l->lift->arena, count * sizeof *l->store);
    if (!l->passed || !l->span || !l->store)
        return false;
    for (unsigned i = 0; i < count; i++) {
        enum lift_class class_ = l->lift->step[i].class_;
        bool shared = l->lift->kernel->instructions[i].space == PTX_SHARED;
        bool writes =
            class_ == CLASS_ASYNC || class_ == CLASS_BULK_LOAD || (class_ == CLASS_STORE && shared);
        if (writes)
            l->store[l->stores++] = i;
        if (writes || (class_ == CLASS_LOAD && shared))
            l->span[i] = lift_span_of(l->lift, i);
    }
    return true;
}

static bool overlap(const struct lift_span *a, const struct lift_span *b)
{
    bool known = a->variable && b->variable;
    return !known || (a->variable == b->variable && a->first < b->end && b->first < a->end);
}

/* The end of the bytes from `first` on that the kernel stores to, each at a place that is the same
 * for all threads. */
static int64_t end_of_fixed(const struct loaded *l, const struct lift_span *there, int64_t first)
{
    for (unsigned i = 0; i < l->stores && first < there->end; i++) {
        const struct lift_span *span = &l->span[l->store[i]];
        if (span->fixed && span->variable == there->variable && span->first <= first &&
            first < span->end)
            return end_of_fixed(l, there, span->end);
    }
    return first;
}

/* Whether what a store writes, or where, or whether it does, comes from memory. */
static bool stores_loaded(struct loaded *l, unsigned at)
{
    const struct ptx_instruction *ins = &l->lift->kernel->instructions[at];
    struct loaded of = {.lift = l->lift, .any = ins->guarded && l->lift->reg[ins->guard].loaded};
    for (unsigned i = 0; i < ins->operand_count; i++)
        lift_each_register(&ins->operands[i], gather_loaded, &of);
    return of.any || l->passed[at] || l->lift->step[at].class_ != CLASS_STORE;
}

/* Whether shared memory may have something from memory where a load reads. Where boxes go is seldom
 * known: they go beside words that the kernel stores itself, all at fixed places. */
static bool loads_loaded(struct loaded *l, unsigned at)
{
    const struct lift_span *there = &l->span[at];
    if (!there->variable)
        return true;
    bool any = false, fixed = end_of_fixed(l, there, there->first) >= there->end;
    for (unsigned i = 0; i < l->stores; i++) {
        const unsigned store = l->store[i];
        if (!overlap(there, &l->span[store]) ||
            (fixed && l->lift->step[store].class_ == CLASS_BULK_LOAD))
            continue;
        any = true;
        if (stores_loaded(l, store))
            return true;
    }
    return !any;
}

/* ---- what depends on it ---- */

/* Whether an instruction takes something from memory. */
static bool takes_loaded(struct loaded *l, unsigned at)
{
    const struct ptx_instruction *ins = &l->lift->kernel->instructions[at];
    switch ((enum lift_class)l->lift->step[at].class_) {
    case CLASS_PRODUCT:
        return true;
    case CLASS_LOAD:
        if (l->loads != ALL_LOADS && l->lift->step[at].settled)
            return false;
        if (l->loads == INDEX_LOADS && lift_reads_table(l->lift, at))
            return false;
        return ins->space != PTX_SHARED || l->strays || loads_loaded(l, at);
    default:
        return l->local && ins->space == PTX_LOCAL && strcmp(ins->opcode, "ld") == 0;
    }
}

static bool spread_loaded(struct lift *lift, enum loads loads)
{
    struct loaded l = {.lift = lift, .loads = loads};
    if (!find_spans(&l))
        return false;
    for (unsigned i = 0; i < lift->kernel->register_count; i++)
        lift->reg[i].loaded = false;
    do {
        l.changed = false;
        l.strays = branches_loaded(lift);
        for (unsigned i = 0; i < lift->kernel->instruction_count; i++) {
            const struct ptx_instruction *ins = &lift->kernel->instructions[i];
            l.any = takes_loaded(&l, i);
            lift_each_source(ins, gather_loaded, &l);
            if (ins->guarded)
                l.any |= lift->reg[ins->guard].loaded;
            give_loaded_results(&l, ins);
            if (lift->step[i].class_ == CLASS_BRANCH)
                spread_passed(&l, i);
        }
    } while (l.changed);
    return true;
}

/* ---- threads that wait ---- */

/* Whether a barrier counts threads: those that have ended are missing from it. */
static bool counts_threads(const struct ptx_instruction *ins)
{
    bool barrier = strcmp(ins->opcode, "bar") == 0 || strcmp(ins->opcode, "barrier") == 0;
    return barrier && !ptx_has_modifier(ins, "warp") && !ptx_has_modifier(ins, "red") &&
           ins->operand_count > 1;
}

/* It waits for copies, or for other threads to arrive. */
static bool waits_at_mbarrier(const struct ptx_instruction *ins)
{
    return strcmp(ins->opcode, "mbarrier") == 0 &&
           (ptx_has_modifier(ins, "try_wait") || ptx_has_modifier(ins, "test_wait"));
}

static const struct ptx_instruction *
find_instruction(const struct lift *lift, bool (*fits)(const struct ptx_instruction *ins))
{
    for (unsigned i = 0; i < lift->kernel->instruction_count; i++) {
        if (fits(&lift->kernel->instructions[i]))
            return &lift->kernel->instructions[i];
    }
    return NULL;
}

/* Whether what an instruction counts at an mbarrier, or which threads run it, comes from memory. A
 * box's corner may: the box's bytes are counted wherever it lies. */
static bool counts_loaded(struct lift *lift, unsigned at)
{
    const struct ptx_instruction *ins = &lift->kernel->instructions[at];
    const bool bulk = lift_is_bulk(lift->step[at].class_);
    struct loaded l = {.lift = lift, .any = ins->guarded && lift->reg[ins->guard].loaded};
    if (bulk || strcmp(ins->opcode, "mbarrier") == 0) {
        for (unsigned i = 0; i < ins->operand_count; i++) {
            if (!bulk || &ins->operands[i] != lift_bulk_box(ins))
                lift_each_register(&ins->operands[i], gather_loaded, &l);
        }
    }
    return l.any && (bulk || concerns_others(ins));
}

static bool any_counts_loaded(struct lift *lift)
{
    for (unsigned i = 0; i < lift->kernel->instruction_count; i++) {
        if (counts_loaded(lift, i))
            return true;
    }
    return false;
}

/* ---- stores ---- */

/* What decides on where the array of a map lies. */
static void gather_map(struct loaded *l, const struct lift_made *made)
{
    lift_each_register(made->address, gather_loaded, l);
    for (unsigned i = 1; i < made->rank; i++)
        lift_each_register(made->stride[i - 1], gather_loaded, l);
}

/* Stores at places that memory decides on, to arrays behind addresses or to others. Kernels that
 * read addresses from memory have none, nor has an array that is read as well: where a place comes
 * twice, what is read there depends on which store came first. */
static enum lift_refusal find_scattered(struct lift *lift, bool listed, struct error *err)
{
    for (unsigned i = 0; i < lift->kernel->instruction_count; i++) {
        const struct ptx_instruction *ins = &lift->kernel->instructions[i];
        const struct lift_step *step = &lift->step[i];
        struct loaded place = {.lift = lift}, map = {.lift = lift};
        lift->step[i].index = -1;
        if (!lift_stores(lift, i) || step->array < 0 || lift->view[step->array].listed != listed)
            continue;
        lift_each_register(&ins->operands[0], gather_loaded, &place);
        if (step->made >= 0)
            gather_map(&map, &lift->made[step->made]);
        struct lift_view *view = &lift->view[step->array];
        if (map.any || (place.any && (lift->tables || view->role == ROLE_INOUT)))
            return lift_refuse(lift, ins, LIFT_SCATTER, err);
        view->scattered |= place.any;
    }
    return LIFT_OK;
}

/* Settled loads may decide on places behind addresses, each of which has its own memory. */
static enum lift_refusal find_scatter(struct lift *lift, struct error *err)
{
    if (lift->tables && !spread_loaded(lift, INDEX_LOADS))
        return LIFT_OTHER;
    enum lift_refusal refusal = find_scattered(lift, true, err);
    if (!refusal && lift->tables && !spread_loaded(lift, ALL_LOADS))
        refusal = LIFT_OTHER;
    return refusal ? refusal : find_scattered(lift, false, err);
}

/* The loops that refused accesses end. */
static enum lift_refusal find_leaving(struct lift *lift, bool any, struct error *err)
{
    const struct ptx_instruction *counting = find_instruction(lift, counts_threads);
    for (unsigned i = 0; i < lift->kernel->instruction_count; i++) {
        const struct ptx_instruction *ins = &lift->kernel->instructions[i];
        bool back = lift->step[i].class_ == CLASS_BRANCH && ins->operands[0].target <= i;
        /* Without a guard the loop is left from its middle: any branch may decide that. */
        bool decides = ins->guarded ? lift->reg[ins->guard].loaded && !end_of_passed(lift, i) : any;
        lift->step[i].leaves = back && decides;
        if (lift->step[i].leaves && counting)
            return lift_refuse(lift, counting, LIFT_WAITS, err);
    }
    return LIFT_OK;
}

enum lift_refusal lift_find_loaded(struct lift *lift, struct error *err)
{
    const struct ptx_instruction *waiting = find_instruction(lift, waits_at_mbarrier);
    lift_find_settled(lift);
    if (!spread_loaded(lift, UNSETTLED_LOADS))
        return LIFT_OTHER;
    const bool any = branches_loaded(lift);
    /* Where accesses are refused, threads may go other ways than the kernel's. */
    if (waiting && (any || any_counts_loaded(lift)))
        return lift_refuse(lift, waiting, LIFT_WAITS, err);
    enum lift_refusal refusal = find_leaving(lift, any, err);
    return refusal ? refusal : find_scatter(lift, err);
}
