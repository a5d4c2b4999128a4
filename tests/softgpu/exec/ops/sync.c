/*
 * sync.c - instructions by which the lanes of a warp exchange values: shfl, vote, match, redux,
 * elect, bar.warp.sync and activemask.
 *
 * With a member mask, a lane waits until every lane of the mask that has not exited stands at
 * the same kind of instruction with the same mask, be it the same place of the code or not.
 */
#include "exec/run/state.h"
#include "exec/ops/ops.h"

/* What the lanes of all fragments that take part bring and get. */
struct exchange {
    uint32_t in;
    uint64_t a[LANES], b[LANES], c[LANES];
    uint32_t predicate;
    uint64_t d[LANES];
    uint32_t q; /* the second result, or a predicate that is the only one */
};

static bool lane_in(uint32_t mask, unsigned lane)
{
    return mask >> lane & 1;
}

unsigned shuffle_source(unsigned mode, uint32_t b, uint32_t c, unsigned lane, uint32_t in,
                        bool *inside)
{
    const unsigned clamp = c & 31, segment = c >> 8 & 31;
    const unsigned lowest = lane & segment, highest = (lane & segment) | (clamp & ~segment & 31);
    b &= 31;
    int j = 0;
    switch (mode & 3) {
    case SHFL_UP:
        j = (int)lane - (int)b;
        *inside = j >= (int)highest;
        break;
    case SHFL_DOWN:
        j = (int)(lane + b);
        *inside = j <= (int)highest;
        break;
    case SHFL_BFLY:
        j = (int)(lane ^ b);
        *inside = j <= (int)highest;
        break;
    default:
        j = (int)(lowest | (b & ~segment));
        *inside = j <= (int)highest;
    }
    return *inside && lane_in(in, (unsigned)j & 31) ? (unsigned)j : lane;
}

static void shuffle(const struct op *op, struct exchange *x)
{
    for (unsigned i = 0; i < LANES; i++) {
        bool inside;
        x->d[i] =
            x->a[shuffle_source(op->mode, (uint32_t)x->b[i], (uint32_t)x->c[i], i, x->in, &inside)];
        x->q |= (uint32_t)inside << i;
    }
}

static void vote(const struct op *op, struct exchange *x)
{
    uint32_t yes = x->predicate & x->in;
    switch (op->mode) {
    case VOTE_ALL:
        x->q = yes == x->in ? ALL_LANES : 0;
        break;
    case VOTE_ANY:
        x->q = yes ? ALL_LANES : 0;
        break;
    case VOTE_UNI:
        x->q = yes == x->in || !yes ? ALL_LANES : 0;
        break;
    default:
        for (unsigned i = 0; i < LANES; i++)
            x->d[i] = yes;
    }
}

static void match(const struct op *op, struct exchange *x)
{
    for (unsigned i = 0; i < LANES; i++) {
        uint32_t same = 0;
        for (unsigned j = 0; j < LANES; j++)
            same |= (uint32_t)(lane_in(x->in, j) && x->a[j] == x->a[i]) << j;
        bool all = same == x->in;
        x->d[i] = op->mode == MATCH_ANY || all ? same : 0;
        x->q |= (uint32_t)all << i;
    }
}

static uint32_t redux_step(unsigned mode, uint32_t a, uint32_t b)
{
    switch (mode) {
    case REDUX_ADD:
        return a + b;
    case REDUX_MIN_U:
        return a < b ? a : b;
    case REDUX_MAX_U:
        return a > b ? a : b;
    case REDUX_MIN_S:
        return (int32_t)a < (int32_t)b ? a : b;
    case REDUX_MAX_S:
        return (int32_t)a > (int32_t)b ? a : b;
    case REDUX_AND:
        return a & b;
    case REDUX_OR:
        return a | b;
    default:
        return a ^ b;
    }
}

static void redux(const struct op *op, struct exchange *x)
{
    unsigned first = first_lane(x->in);
    uint32_t sum = (uint32_t)x->a[first];
    for (unsigned i = first + 1; i < LANES; i++)
        if (lane_in(x->in, i))
            sum = redux_step(op->mode, sum, (uint32_t)x->a[i]);
    for (unsigned i = 0; i < LANES; i++)
        x->d[i] = sum;
}

static void elect(struct exchange *x)
{
    unsigned leader = first_lane(x->in);
    for (unsigned i = 0; i < LANES; i++)
        x->d[i] = leader;
    x->q = 1u << leader;
}

static void compute(const struct op *op, struct exchange *x)
{
    switch (((const struct sync *)op->more)->kind) {
    case SYNC_SHFL:
        shuffle(op, x);
        break;
    case SYNC_VOTE:
        vote(op, x);
        break;
    case SYNC_MATCH:
        match(op, x);
        break;
    case SYNC_REDUX:
        redux(op, x);
        break;
    case SYNC_ELECT:
        elect(x);
        break;
    case SYNC_WARP:
        break;
    }
}

static void pick_lanes(const struct warp *w, ref r, unsigned width, uint32_t mask, uint64_t *to)
{
    uint64_t values[LANES];
    if (r == REF_NONE)
        return;
    get64(w, r, width, values);
    for (unsigned i = 0; i < LANES; i++)
        to[i] = lane_in(mask, i) ? values[i] : to[i];
}

/* The running lanes (w->active) put their operands into x. */
static void bring(const struct warp *w, const struct op *op, struct exchange *x)
{
    const struct sync *sync = op->more;
    x->in |= w->active;
    if (sync->kind == SYNC_VOTE) {
        uint32_t p = pred_at(w, op->s[0]) ^ sync->flip;
        x->predicate |= p & w->active;
        return;
    }
    pick_lanes(w, op->s[0], op->source, w->active, x->a);
    pick_lanes(w, op->s[1], 4, w->active, x->b);
    pick_lanes(w, op->s[2], 4, w->active, x->c);
}

static void take(struct warp *w, const struct op *op, const struct exchange *x)
{
    if (op->width && op->d != REF_NONE)
        put64(w, op->d, op->width, x->d);
    put_pred(w, op->q, x->q);
}

static void alone(struct warp *w, const struct op *op)
{
    struct exchange x;
    x.in = x.predicate = x.q = 0;
    memset(x.b, 0, sizeof x.b);
    memset(x.c, 0, sizeof x.c);
    bring(w, op, &x);
    compute(op, &x);
    take(w, op, &x);
}

static void become(struct warp *w, struct fragment *f)
{
    w->f = f;
    w->active = f->mask;
    w->base[0] = f->frame->registers;
    w->base[1] = f->frame->code->constants;
}

static bool goes_with(const struct fragment *f, const struct fragment *o)
{
    if (o->state != FRAGMENT_SYNC || o->member != f->member)
        return false;
    const struct sync *a = f->op->more, *b = o->op->more;
    return a->kind == b->kind && f->op->mode == o->op->mode && f->op->source == o->op->source;
}

/* Lets the fragments go that f goes with, when all lanes are there. */
static bool complete(struct warp *w, struct fragment *f)
{
    uint32_t there = 0;
    for (unsigned i = 0; i < LANES; i++)
        there |= goes_with(f, w->fragment + i) ? w->fragment[i].mask : 0;
    if (f->member & w->live & ~there)
        return false;
    struct fragment *group[LANES], *current = w->f;
    unsigned count = 0;
    struct exchange x;
    memset(&x, 0, sizeof x);
    for (unsigned i = 0; i < LANES; i++) {
        if (!goes_with(f, w->fragment + i))
            continue;
        group[count++] = w->fragment + i;
        become(w, w->fragment + i);
        bring(w, w->f->op, &x);
    }
    compute(f->op, &x);
    for (unsigned i = 0; i < count; i++) {
        become(w, group[i]);
        take(w, w->f->op, &x);
        w->f->pc++;
        w->f->state = FRAGMENT_READY;
    }
    w->f = current;
    return true;
}

void warp_lanes_left(struct warp *w)
{
    for (struct fragment *f = w->fragment; f < w->fragment + LANES; f++)
        if (f->state == FRAGMENT_SYNC)
            complete(w, f);
}

/* Keeps the lanes whose member mask is the first one's; the others come again by themselves. */
static uint32_t one_mask(struct warp *w, const struct op *op)
{
    const uint32_t *masks = at(w, op->s[3]);
    uint32_t member = masks[first_lane(w->active)], same = 0;
    if (op->s[3] & REF_CONSTANT)
        return member;
    for (unsigned i = 0; i < LANES; i++)
        same |= (uint32_t)(masks[i] == member) << i;
    if (w->active & ~same) {
        split_off(w, w->active & ~same, w->f->pc);
        w->active &= same;
    }
    return member;
}

enum step op_sync(struct warp *w, const struct op *op)
{
    struct fragment *f = w->f;
    const unsigned fragments = w->fragments;
    uint32_t member = one_mask(w, op);
    if (w->active & ~member)
        return fault_at(w, w->active & ~member, EXEC_ILLEGAL_INSTRUCTION, member,
                        "the member mask lacks the thread that executes it");
    if (!(member & w->live & ~w->active)) {
        alone(w, op);
        if (w->fragments == fragments)
            return STEP_NEXT;
        f->pc++;
        return STEP_SWITCH;
    }
    f->state = FRAGMENT_SYNC;
    f->member = member;
    f->op = op;
    complete(w, f);
    return STEP_SWITCH;
}

/* The forms without .sync: among the lanes that run together. */
enum step op_exchange(struct warp *w, const struct op *op)
{
    alone(w, op);
    return STEP_NEXT;
}

enum step op_activemask(struct warp *w, const struct op *op)
{
    uint64_t values[LANES];
    for (unsigned i = 0; i < LANES; i++)
        values[i] = w->active;
    put64(w, op->d, op->width, values);
    return STEP_NEXT;
}
