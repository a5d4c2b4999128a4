/*
 * run.c - exec_run(): gives blocks their memory and their turns, on the calling thread.
 *
 * Blocks run one after another, each to its end, which is fastest. Only when all warps of a block
 * wait (for memory to change, or for a barrier) does another block get its turn; blocks that have
 * begun take turns from then on, as many as memory allows. A cooperative launch begins all of them.
 */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include "exec/run/state.h"

/* Ops of a block without a sign of waiting after which others get a turn all the same: a loop may
 * wait in a way that is not recognised. */
enum { LONG_TURN = 32 << 20, PATIENCE = 4096 };
/* Memory for blocks that have begun, in a launch that is not cooperative. */
static const size_t RESIDENT_BYTES = (size_t)512 << 20;
enum { RESIDENT_LEAST = 4, RESIDENT_SEEDED = 8 };

struct run {
    struct launch launch;
    struct exec_launch request;
    struct block **resident;
    uint64_t resident_count, resident_most;
    uint64_t begun, total, step, offset;
    unsigned idle; /* turns in a row in which nothing moved */
};

uint64_t draw(struct launch *l)
{
    l->random ^= l->random << 13;
    l->random ^= l->random >> 7;
    l->random ^= l->random << 17;
    return l->random;
}

static void set_threads(struct warp *w)
{
    const unsigned *block = w->launch->request->block;
    for (unsigned i = 0; i < LANES; i++) {
        unsigned t = w->id * LANES + i;
        w->tid[0][i] = t % block[0];
        w->tid[1][i] = t / block[0] % block[1];
        w->tid[2][i] = t / block[0] / block[1];
    }
}

static struct warp *warp_new(struct launch *l, struct block *b, unsigned id)
{
    struct warp *w = calloc(1, sizeof *w);
    uint8_t *local = calloc(1, (size_t)l->stack_bytes * LANES + WORD_STRIDE);
    if (!w || !local) {
        free(w);
        free(local);
        return NULL;
    }
    w->launch = l;
    w->block = b;
    w->id = id;
    w->local = local;
    set_threads(w);
    return w;
}

static void block_free(struct block *b)
{
    for (unsigned i = 0; b->warps && i < b->warp_count; i++) {
        if (b->warps[i])
            free(b->warps[i]->local);
        free(b->warps[i]);
    }
    free(b->warps);
    free(b->shared);
    free(b);
}

static struct block *block_new(struct launch *l)
{
    struct block *b = calloc(1, sizeof *b);
    if (!b)
        return NULL;
    b->launch = l;
    b->shared_bytes = l->shared_bytes;
    b->shared = aligned_alloc(128, (l->shared_bytes + 256) / 128 * 128);
    b->warps = calloc(l->warps, sizeof *b->warps);
    b->warp_count = l->warps;
    bool fine = b->shared && b->warps;
    for (unsigned i = 0; fine && i < l->warps; i++)
        fine = (b->warps[i] = warp_new(l, b, i)) != NULL;
    if (!fine) {
        block_free(b);
        return NULL;
    }
    memset(b->shared, 0, (l->shared_bytes + 256) / 128 * 128);
    return b;
}

/* The next block of the grid; with a seed in a shuffled order. */
static bool begin_block(struct run *run)
{
    struct launch *l = &run->launch;
    struct block *b = l->free_blocks;
    if (b)
        l->free_blocks = b->next;
    else
        b = block_new(l);
    if (!b)
        return false;
    const unsigned *grid = l->request->grid;
    const uint64_t turn = (run->offset + run->begun * run->step) % run->total;
    b->number = l->request->blocks ? l->request->blocks[turn] : turn;
    run->begun++;
    b->index[0] = (unsigned)(b->number % grid[0]);
    b->index[1] = (unsigned)(b->number / grid[0] % grid[1]);
    b->index[2] = (unsigned)(b->number / grid[0] / grid[1]);
    b->cluster_phase = 0;
    memset(b->barrier, 0, sizeof b->barrier);
    for (unsigned i = 0; i < l->warps; i++) {
        unsigned lanes = l->threads - i * LANES;
        warp_start(b->warps[i], lanes >= LANES ? ALL_LANES : (1u << lanes) - 1);
    }
    run->resident[run->resident_count++] = b;
    return true;
}

static void end_block(struct run *run, uint64_t at)
{
    struct block *b = run->resident[at];
    run->resident[at] = run->resident[--run->resident_count];
    b->next = run->launch.free_blocks;
    run->launch.free_blocks = b;
}

static bool must_stop(const struct run *run)
{
    const struct exec_launch *request = run->launch.request;
    return (request->stop && atomic_load_explicit(request->stop, memory_order_relaxed)) ||
           (request->step_limit && run->launch.steps > request->step_limit);
}

/* Whether a warp (bit 1) or a block (bit 0 of holds 1 to 4) is one of those that are held back. */
static bool is_held(const struct launch *l, uint64_t number, unsigned bit)
{
    uint64_t holds = l->request->holds;
    if (holds > 4)
        return (number * 0x9e3779b97f4a7c15u ^ (holds + bit) * 0xbf58476d1ce4e5b9u) >> 40 & 1;
    return holds && ((number ^ (holds - 1) >> bit) & 1);
}

/* Now and then a held one goes on all the same: a loop may wait in a way that is not recognised. */
static bool has_patience(struct launch *l)
{
    return draw(l) % PATIENCE != 0;
}

/* What a turn of one warp makes of the round. */
static enum turn round_add(enum turn most, enum turn turn)
{
    if (turn == TURN_SPUN && most == TURN_BLOCKED)
        return TURN_SPUN;
    return turn == TURN_SLICE || turn == TURN_DONE ? TURN_SLICE : most;
}

/* Each warp of the block once; those that are held only where no other goes on. DONE: the block has
 * ended; BLOCKED: nothing in it can go on by itself; SPUN: all that can go on is waiting; SLICE:
 * there is more to do. */
static enum turn block_round(struct run *run, struct block *b)
{
    struct launch *l = &run->launch;
    enum turn most = TURN_BLOCKED;
    unsigned live = 0, first = l->random ? (unsigned)(draw(l) % b->warp_count) : 0;
    b->released = false;
    for (int held = 0; held < (l->request->holds ? 2 : 1); held++) {
        for (unsigned i = 0; i < b->warp_count; i++) {
            struct warp *w = b->warps[(first + i) % b->warp_count];
            if (!w->live || is_held(l, w->id, 1) != (bool)held)
                continue;
            bool passed = held && most == TURN_SLICE && has_patience(l);
            enum turn turn = passed ? TURN_SLICE : warp_run(w);
            live += w->live != 0;
            if (turn == TURN_FAULT)
                return turn;
            most = round_add(most, turn);
            if (turn == TURN_SLICE && must_stop(run))
                return TURN_SPUN;
        }
    }
    if (b->released) /* warps that had their turn already may go on */
        most = TURN_SLICE;
    return live ? most : TURN_DONE;
}

/* A turn of one block: until it ends, waits, or has had enough. */
static enum turn block_turn(struct run *run, struct block *b)
{
    const uint64_t begin = run->launch.steps;
    for (;;) {
        enum turn turn = block_round(run, b);
        if (turn != TURN_SLICE)
            return turn;
        if (run->launch.random || must_stop(run) || run->launch.steps - begin > LONG_TURN)
            return TURN_SLICE;
    }
}

/* When nothing moves, the processor is left to the thread that is waited for. */
static void rest(struct run *run)
{
    if (run->idle < 8 * (unsigned)run->resident_count + 8)
        return;
    if (run->idle < 64 * (unsigned)run->resident_count + 64) {
        sched_yield();
        return;
    }
    nanosleep(&(struct timespec){.tv_nsec = 50000}, NULL);
}

static void stopped(struct run *run, const char *why)
{
    struct exec_fault *fault = run->launch.fault;
    fault->outcome = EXEC_STOPPED;
    snprintf(fault->text, sizeof fault->text, "%.100s: %s after %llu instructions",
             run->launch.kernel->ptx->name, why, (unsigned long long)run->launch.steps);
}

/* Begins the blocks that run from the start: one, or several to draw from, or all. */
static void begin_blocks(struct run *run)
{
    uint64_t want = run->launch.request->cooperative ? run->total
                    : run->launch.random             ? RESIDENT_SEEDED
                                                     : 1;
    want = want < run->resident_most ? want : run->resident_most;
    while (run->begun < run->total && run->resident_count < want && begin_block(run))
        ;
}

/* A block with holds: one that is not held, where there is any and it goes on. */
static uint64_t draw_block(struct run *run)
{
    uint64_t next = draw(&run->launch) % run->resident_count;
    for (uint64_t i = 0; !run->idle && has_patience(&run->launch) && i < run->resident_count; i++) {
        uint64_t at = (next + i) % run->resident_count;
        if (!is_held(&run->launch, run->resident[at]->number, 0))
            return at;
    }
    return next;
}

static void run_blocks(struct run *run)
{
    struct launch *l = &run->launch;
    uint64_t next = 0, barred = 0;
    for (;;) {
        begin_blocks(run);
        if (!run->resident_count) {
            if (run->begun < run->total)
                stopped(run, "no memory for a block: stopped");
            return;
        }
        next = l->random ? draw_block(run) : next % run->resident_count;
        enum turn turn = block_turn(run, run->resident[next]);
        if (turn == TURN_FAULT)
            return;
        barred = turn == TURN_BLOCKED ? barred + 1 : 0;
        run->idle = turn == TURN_SPUN || turn == TURN_BLOCKED ? run->idle + 1 : 0;
        if (turn == TURN_DONE) {
            end_block(run, next);
            if (!run->resident_count && run->begun == run->total)
                return;
        }
        if (must_stop(run)) {
            stopped(run, "stopped");
            return;
        }
        if (turn == TURN_DONE)
            continue;
        bool more = run->begun < run->total && run->resident_count < run->resident_most;
        if (l->request->step_limit && barred > 64 * run->resident_count && !more) {
            stopped(run, "all threads wait at barriers that nobody else will reach, stopped");
            return;
        }
        next++;
        if (more && next >= run->resident_count)
            begin_block(run);
        rest(run);
    }
}

static void free_launch(struct run *run)
{
    struct launch *l = &run->launch;
    while (run->resident_count)
        end_block(run, 0);
    while (l->free_blocks) {
        struct block *b = l->free_blocks;
        l->free_blocks = b->next;
        block_free(b);
    }
    while (l->frames) {
        struct frame *frame = l->frames;
        l->frames = frame->made;
        pages_give(frame);
    }
    free(l->free_frames);
    free(l->counts);
    free(l->params);
    free(l->out.text);
    free(run->resident);
}

static size_t block_bytes(const struct launch *l)
{
    return l->shared_bytes + sizeof(struct block) +
           l->warps * (sizeof(struct warp) + l->program->codes[0]->frame_bytes +
                       (size_t)l->stack_bytes * LANES);
}

static uint64_t gcd(uint64_t a, uint64_t b)
{
    return b ? gcd(b, a % b) : a;
}

static void set_order(struct run *run)
{
    struct launch *l = &run->launch;
    uint64_t room = RESIDENT_BYTES / block_bytes(l);
    room = room < RESIDENT_LEAST ? RESIDENT_LEAST : room;
    run->resident_most = l->request->cooperative || room > run->total ? run->total : room;
    run->step = 1;
    if (!l->random || run->total < 2)
        return;
    run->offset = draw(l) % run->total;
    do
        run->step = 1 + draw(l) % (run->total - 1);
    while (gcd(run->step, run->total) != 1);
}

static bool begin(struct run *run, const struct exec_launch *request, struct exec_fault *fault)
{
    static _Atomic uint64_t grids;
    struct launch *l = &run->launch;
    run->request = *request;
    l->request = &run->request;
    l->kernel = request->kernel;
    l->program = request->kernel->program;
    l->host = &request->kernel->module->host;
    l->fault = fault;
    l->grid_id = atomic_fetch_add_explicit(&grids, 1, memory_order_relaxed) + 1;
    l->threads = request->block[0] * request->block[1] * request->block[2];
    l->warps = (l->threads + LANES - 1) / LANES;
    l->shared_bytes = l->program->static_shared + request->dynamic_shared;
    l->stack_bytes = l->program->stack_bytes;
    l->random = (request->seed ? request->seed : request->holds) * 0x9e3779b97f4a7c15u;
    run->total = request->blocks ? request->block_count
                                 : (uint64_t)request->grid[0] * request->grid[1] * request->grid[2];
    size_t bytes = l->kernel->info.param_bytes;
    l->params = aligned_alloc(128, (bytes + 128) / 128 * 128);
    l->counts = calloc(l->program->op_count, sizeof *l->counts);
    l->free_frames = calloc(l->program->code_count, sizeof *l->free_frames);
    if (!l->threads || l->warps > WARPS_MAX || !l->params || !l->counts || !l->free_frames)
        return false;
    if (bytes)
        memcpy(l->params, request->params, bytes);
    set_order(run);
    run->resident = calloc(run->resident_most + 1, sizeof *run->resident);
    return run->resident != NULL;
}

enum exec_outcome exec_run(const struct exec_launch *request, struct exec_fault *fault)
{
    struct run run;
    memset(&run, 0, sizeof run);
    memset(fault, 0, sizeof *fault);
    if (begin(&run, request, fault))
        run_blocks(&run);
    else
        stopped(&run, "no memory, or not 1 to 1024 threads a block: not begun");
    fault->steps = run.launch.steps;
    report_launch(&run.launch);
    out_flush(&run.launch);
    free_launch(&run);
    return fault->outcome;
}
