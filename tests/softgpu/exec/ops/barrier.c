/*
 * barrier.c - barriers of a block: bar, barrier and the cluster's, of which a block is all.
 *
 * A barrier counts threads. Threads that have exited are not waited for. A warp of which every
 * remaining lane has come counts as 32 towards a stated count, as on the device.
 */
#include "exec/ops/ops.h"

static unsigned arrived_threads(const struct block *b, const struct barrier *bar)
{
    unsigned sum = 0;
    for (unsigned i = 0; i < b->warp_count; i++) {
        uint32_t live = b->warps[i]->live, came = bar->arrived[i];
        sum += came && !(live & ~came) ? LANES : (unsigned)__builtin_popcount(came);
    }
    return sum;
}

static bool all_there(const struct block *b, const struct barrier *bar)
{
    if (bar->count)
        return arrived_threads(b, bar) >= bar->count;
    for (unsigned i = 0; i < b->warp_count; i++)
        if (b->warps[i]->live & ~bar->arrived[i])
            return false;
    return true;
}

static uint32_t reduce(const struct block *b, const struct barrier *bar, unsigned mode)
{
    uint32_t any = 0, missing = 0, sum = 0;
    for (unsigned i = 0; i < b->warp_count; i++) {
        any |= bar->predicate[i];
        missing |= bar->arrived[i] & ~bar->predicate[i];
        sum += (uint32_t)__builtin_popcount(bar->predicate[i]);
    }
    return mode == BAR_AND  ? (missing ? 0 : ALL_LANES)
           : mode == BAR_OR ? (any ? ALL_LANES : 0)
                            : sum;
}

static void give_result(struct warp *w, const struct fragment *f, uint32_t value)
{
    uint8_t *registers = w->base[0];
    struct fragment *current = w->f;
    const uint32_t active = w->active;
    const struct op *op = f->op;
    w->base[0] = f->frame->registers;
    w->f = (struct fragment *)f;
    w->active = f->mask;
    if (op->mode == BAR_POPC) {
        uint64_t values[LANES];
        for (unsigned i = 0; i < LANES; i++)
            values[i] = value;
        put64(w, op->d, op->width, values);
    } else if (op->mode >= BAR_AND) {
        put_pred(w, op->d, value);
    }
    w->base[0] = registers;
    w->f = current;
    w->active = active;
}

static void release(struct block *b, unsigned id)
{
    struct barrier *bar = b->barrier + id;
    b->released = true;
    for (unsigned i = 0; i < b->warp_count; i++) {
        struct warp *w = b->warps[i];
        for (struct fragment *f = w->fragment; f < w->fragment + LANES; f++) {
            if (f->state != FRAGMENT_BARRIER || f->barrier != id)
                continue;
            if (f->op->mode >= BAR_AND)
                give_result(w, f, reduce(b, bar, f->op->mode));
            f->pc++;
            f->state = FRAGMENT_READY;
        }
    }
    memset(bar, 0, sizeof *bar);
}

/* The cluster's barrier opens: those who wait for this phase go on. */
static void release_cluster(struct block *b)
{
    b->cluster_phase++;
    b->released = true;
    memset(b->barrier + BARRIERS, 0, sizeof *b->barrier);
    for (unsigned i = 0; i < b->warp_count; i++) {
        struct warp *w = b->warps[i];
        for (struct fragment *f = w->fragment; f < w->fragment + LANES; f++) {
            if (f->state != FRAGMENT_CLUSTER)
                continue;
            f->pc++;
            f->state = FRAGMENT_READY;
        }
    }
}

void block_lanes_left(struct block *b)
{
    for (unsigned id = 0; id < BARRIERS; id++)
        if (b->barrier[id].waiting && all_there(b, b->barrier + id))
            release(b, id);
    if (b->barrier[BARRIERS].waiting && all_there(b, b->barrier + BARRIERS))
        release_cluster(b);
}

/* Keeps the lanes that name the same barrier as the first; the others come again by themselves. */
static unsigned one_barrier(struct warp *w, const struct op *op)
{
    uint64_t ids[LANES];
    uint32_t same = 0;
    get64(w, op->s[0], op->source, ids);
    unsigned id = (unsigned)ids[first_lane(w->active)];
    for (unsigned i = 0; i < LANES; i++)
        same |= (uint32_t)(ids[i] == id) << i;
    if (w->active & ~same)
        split_off(w, w->active & ~same, w->f->pc);
    w->active &= same;
    return id;
}

enum step op_barrier(struct warp *w, const struct op *op)
{
    struct fragment *f = w->f;
    unsigned id = one_barrier(w, op);
    unsigned lane = first_lane(w->active);
    unsigned count = op->s[1] == REF_NONE ? 0 : (unsigned)lane_value(w, op->s[1], 4, lane);
    if (id >= BARRIERS)
        return fault_at(w, w->active, EXEC_ILLEGAL_INSTRUCTION, id, "there is no such barrier");
    if (op->s[1] != REF_NONE && (!count || count % LANES))
        return fault_at(w, w->active, EXEC_ILLEGAL_INSTRUCTION, count,
                        "the barrier's thread count is not a multiple of the warp size");
    struct barrier *bar = w->block->barrier + id;
    bar->waiting = true;
    bar->count = count;
    bar->arrived[w->id] |= w->active;
    if (op->mode >= BAR_AND)
        bar->predicate[w->id] |= (pred_at(w, op->s[2]) ^ (uint32_t)op->imm) & w->active;
    if (op->mode == BAR_ARRIVE) {
        f->pc++;
    } else {
        f->state = FRAGMENT_BARRIER;
        f->barrier = id;
        f->op = op;
    }
    if (all_there(w->block, bar))
        release(w->block, id);
    return STEP_SWITCH;
}

enum step op_cluster_arrive(struct warp *w, const struct op *op)
{
    (void)op;
    struct barrier *bar = w->block->barrier + BARRIERS;
    w->f->phase = w->block->cluster_phase;
    w->f->pc++;
    bar->waiting = true;
    bar->arrived[w->id] |= w->active;
    if (all_there(w->block, bar))
        release_cluster(w->block);
    return STEP_SWITCH;
}

enum step op_cluster_wait(struct warp *w, const struct op *op)
{
    (void)op;
    if (w->block->cluster_phase > w->f->phase)
        return STEP_NEXT;
    w->f->state = FRAGMENT_CLUSTER;
    return STEP_SWITCH;
}
