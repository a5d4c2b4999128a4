/*
 * warp.c - runs a warp: which of its fragments is next, how they part and come together again.
 *
 * The deepest frame and in it the lowest pc goes first, so lanes that parted meet at the first
 * place that all of them reach. A fragment that has used up its slice lets the others go, or a lane
 * that waits for another lane of its warp would wait for ever.
 */
#include <stdlib.h>
#include "exec/run/state.h"

/* Ops a fragment may run before others get their turn. Long, because lanes that are cut off here
 * may pass the place where they would have met. Loops that wait are known by what they do: see
 * spin(). */
enum { SLICE = 1 << 20 };

static int64_t new_slice(struct launch *l)
{
    int64_t slice = SLICE;
    if (l->random)
        slice = 1 + (int64_t)(draw(l) % (draw(l) % 8 ? 200 : 20000));
    if (l->request->step_limit) {
        uint64_t rest = l->request->step_limit > l->steps ? l->request->step_limit - l->steps : 0;
        slice = (uint64_t)slice > rest + 1 ? (int64_t)(rest + 1) : slice;
    }
    return slice;
}

static struct fragment *free_fragment(struct warp *w)
{
    unsigned i = first_lane(~w->used);
    w->used |= 1u << i;
    w->fragments++;
    return w->fragment + i;
}

void warp_start(struct warp *w, uint32_t live)
{
    for (unsigned i = 0; i < LANES; i++)
        w->fragment[i].state = FRAGMENT_NONE;
    w->used = 0;
    w->live = live;
    w->carry = 0;
    w->cluster_phase = 0;
    w->fragments = 0;
    struct fragment *f = free_fragment(w);
    w->f = f;
    f->frame = frame_enter(w, w->launch->program->codes[0], live);
    f->mask = live;
    f->pc = 0;
    f->left = new_slice(w->launch);
    f->state = FRAGMENT_READY;
}

void split_off(struct warp *w, uint32_t mask, uint32_t pc)
{
    struct fragment *f = free_fragment(w);
    *f = *w->f;
    f->mask = mask;
    f->pc = pc;
    f->state = FRAGMENT_READY;
    w->f->mask &= ~mask;
}

void fragment_drop(struct warp *w, struct fragment *f)
{
    f->state = FRAGMENT_NONE;
    w->used &= ~(1u << (f - w->fragment));
    w->fragments--;
}

/* Frames are taken from a pool for each function, so what a register holds before it is first
 * written is left over from an earlier call: as on the device, it may be anything. */
struct frame *frame_enter(struct warp *w, const struct code *code, uint32_t mask)
{
    struct launch *l = w->launch;
    struct frame *frame = l->free_frames[code->index];
    if (frame) {
        l->free_frames[code->index] = frame->next;
    } else {
        size_t head = (sizeof *frame + 63) & ~(size_t)63;
        size_t bytes = (head + code->frame_bytes + 63) & ~(size_t)63;
        frame = pages_take(bytes);
        if (!frame)
            abort();
        frame->made = l->frames;
        l->frames = frame;
        frame->registers = (uint8_t *)frame + head;
    }
    frame->code = code;
    frame->parent = NULL;
    frame->lanes = mask;
    frame->depth = 0;
    frame->call = NULL;
    frame->base = 0;
    frame->next = NULL;
    for (unsigned i = 0; i < LANES; i++)
        frame->top[i] = code->local_bytes;
    return frame;
}

void frame_leave(struct warp *w, struct frame *frame, uint32_t mask)
{
    frame->lanes &= ~mask;
    if (!frame->lanes) {
        frame->next = w->launch->free_frames[frame->code->index];
        w->launch->free_frames[frame->code->index] = frame;
    }
}

/* Fragments that are ready at the same place become one. */
static void merge(struct warp *w)
{
    for (uint32_t rest = w->used; rest; rest &= rest - 1) {
        struct fragment *a = w->fragment + first_lane(rest);
        if (a->state != FRAGMENT_READY)
            continue;
        for (uint32_t after = rest & (rest - 1); after; after &= after - 1) {
            struct fragment *b = w->fragment + first_lane(after);
            if (b->state != FRAGMENT_READY || b->pc != a->pc || b->frame != a->frame)
                continue;
            a->mask |= b->mask;
            a->left = a->left > b->left ? a->left : b->left;
            fragment_drop(w, b);
        }
    }
}

/* The next fragment: not at the end of its slice, deepest frame, lowest pc. NULL where none is. */
static struct fragment *choose(struct warp *w)
{
    struct fragment *best = NULL;
    for (uint32_t rest = w->used; rest; rest &= rest - 1) {
        struct fragment *f = w->fragment + first_lane(rest);
        if (f->state != FRAGMENT_READY || f->left <= 0)
            continue;
        if (!best || f->frame->depth > best->frame->depth ||
            (f->frame->depth == best->frame->depth && f->pc < best->pc))
            best = f;
    }
    return best;
}

/* The pc at which the running fragment meets another or lets it go first. */
static uint32_t meeting_point(const struct warp *w)
{
    uint32_t limit = UINT32_MAX;
    const struct fragment *f = w->f;
    for (uint32_t rest = w->used; rest; rest &= rest - 1) {
        const struct fragment *o = w->fragment + first_lane(rest);
        if (o != f && o->state == FRAGMENT_READY && o->frame == f->frame && o->pc > f->pc &&
            o->pc < limit)
            limit = o->pc;
    }
    return limit;
}

/* Whether lanes that the running fragment lacks are on their way to it: cut off behind it, or in a
 * call. */
static bool others_follow(const struct warp *w)
{
    const struct fragment *f = w->f;
    for (uint32_t rest = w->used; rest; rest &= rest - 1) {
        const struct fragment *o = w->fragment + first_lane(rest);
        bool behind = o->frame == f->frame && o->pc <= f->pc;
        if (o != f && o->state == FRAGMENT_READY && (behind || o->frame->depth > f->frame->depth))
            return true;
    }
    return false;
}

/* Runs ops of w->f until it stops being the one to run. False after a fault. */
static bool run_fragment(struct warp *w)
{
    struct fragment *f = w->f;
    const struct code *code = f->frame->code;
    const struct op *ops = code->ops;
    uint64_t *counts = w->launch->counts + code->first;
    uint32_t limit = w->fragments > 1 ? meeting_point(w) : UINT32_MAX;
    enum step step = STEP_NEXT;
    uint64_t steps = 0;
    w->base[0] = f->frame->registers;
    w->base[1] = code->constants;
    while (f->left-- > 0 && f->pc < limit) {
        const struct op *op = ops + f->pc;
        steps++;
        w->active = f->mask;
        if (op->guard != REF_NONE) {
            w->active &= pred_at(w, op->guard) ^ op->flip;
            if (!w->active) {
                f->pc++;
                continue;
            }
            if (op->splits && w->active != f->mask) {
                split_off(w, f->mask & ~w->active, f->pc + 1);
                limit = meeting_point(w);
            }
        }
        if (op->whole && w->active != w->live && others_follow(w)) {
            f->left = 0;
            break;
        }
        counts[f->pc]++;
        step = op->fn(w, op);
        if (step == STEP_NEXT) {
            f->pc++;
            continue;
        }
        if (step == STEP_JUMP && w->fragments == 1)
            continue;
        if (step == STEP_SPIN) {
            f->pc++;
            f->left = 0;
            w->spins = 0;
            w->spun = true;
        }
        break;
    }
    w->launch->steps += steps;
    return step != STEP_FAULT;
}

enum turn warp_run(struct warp *w)
{
    w->spins = 0;
    w->spun = false;
    for (;;) {
        if (w->fragments > 1)
            merge(w);
        w->f = choose(w);
        if (!w->f)
            break;
        if (!run_fragment(w))
            return TURN_FAULT;
        if (!w->live)
            return TURN_DONE;
    }
    bool ready = false;
    for (uint32_t rest = w->used; rest; rest &= rest - 1) {
        struct fragment *f = w->fragment + first_lane(rest);
        if (f->state == FRAGMENT_READY) {
            f->left = new_slice(w->launch);
            ready = true;
        }
    }
    return !ready ? TURN_BLOCKED : w->spun ? TURN_SPUN : TURN_SLICE;
}
