#include "context/side.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SIDES = 64 };

struct sides {
    pthread_mutex_t lock; /* of changes; finding takes none */
    _Atomic(struct side *) side[SIDES];
    struct side *closed[SIDES * 16];
    unsigned closed_count;
};

struct sides *sides_create(void)
{
    struct sides *sides = calloc(1, sizeof(*sides));
    if (sides)
        pthread_mutex_init(&sides->lock, NULL);
    return sides;
}

static void side_free(struct side *side)
{
    if (!side)
        return;
    for (int i = 0; i < OUTLIER_CENTROIDS; i++)
        outlier_window_destroy(side->outlier.window[i]);
    slots_destroy(side->slot.free);
    slots_destroy(side->slot.free_large);
    free(side->slot.large_params);
    reclaim_destroy(side->arena.reclaim);
    free(side->slot.check);
    free(side->refs.each);
    side_users_release(&side->refs.users);
    free(side->slot.submitted);
    free(side);
}

void sides_destroy(struct sides *sides)
{
    if (!sides)
        return;
    for (unsigned i = 0; i < SIDES; i++)
        side_free(atomic_load(&sides->side[i]));
    for (unsigned i = 0; i < sides->closed_count; i++)
        side_free(sides->closed[i]);
    pthread_mutex_destroy(&sides->lock);
    free(sides);
}

/* With the lock held. */
static struct side *side_open(struct sides *sides, CUcontext context)
{
    struct side *side = NULL;
    for (unsigned i = 0; i < SIDES && !side; i++) {
        if (atomic_load(&sides->side[i]))
            continue;
        side = calloc(1, sizeof(*side));
        if (!side)
            break;
        side->context = context;
        atomic_store_explicit(&sides->side[i], side, memory_order_release);
    }
    return side;
}

struct side *sides_open(struct sides *sides, CUcontext context)
{
    pthread_mutex_lock(&sides->lock);
    struct side *side = side_open(sides, context);
    pthread_mutex_unlock(&sides->lock);
    return side;
}

struct side *sides_open_unseen(struct sides *sides, CUcontext context)
{
    bool closed = false;
    pthread_mutex_lock(&sides->lock);
    struct side *side = sides_find(sides, context);
    for (unsigned i = 0; i < sides->closed_count && !closed; i++)
        closed = sides->closed[i]->context == context;
    if (!side && !closed)
        side = side_open(sides, context);
    pthread_mutex_unlock(&sides->lock);
    return side;
}

struct side *sides_find(struct sides *sides, CUcontext context)
{
    for (unsigned i = 0; i < SIDES; i++) {
        struct side *side = atomic_load_explicit(&sides->side[i], memory_order_acquire);
        if (side && side->context == context)
            return side;
    }
    return NULL;
}

void sides_each(struct sides *sides, void (*visit)(struct side *, void *), void *user)
{
    for (unsigned i = 0; i < SIDES; i++) {
        struct side *side = atomic_load_explicit(&sides->side[i], memory_order_acquire);
        if (side)
            visit(side, user);
    }
}

void sides_close(struct sides *sides, struct side *side)
{
    pthread_mutex_lock(&sides->lock);
    for (unsigned i = 0; i < SIDES; i++) {
        if (atomic_load(&sides->side[i]) != side)
            continue;
        atomic_store(&sides->side[i], NULL);
        /* A program that makes contexts by the thousand leaks a few kilobytes for each, past this.
         */
        if (sides->closed_count < sizeof(sides->closed) / sizeof(sides->closed[0]))
            sides->closed[sides->closed_count++] = side;
    }
    pthread_mutex_unlock(&sides->lock);
}

void side_submit(struct side *side, struct check *check, enum check_state state)
{
    atomic_store_explicit(&check->state, state, memory_order_relaxed);
    atomic_fetch_or(&side->slot.submitted[check->slot / 64], (uint64_t)1 << check->slot % 64);
}

static uint32_t submitted_words(const struct side *side)
{
    return (side->slot.count + 63) / 64;
}

int side_next_submitted(struct side *side, uint32_t from)
{
    for (uint32_t step = 0; step <= submitted_words(side); step++) {
        uint32_t word = (from / 64 + step) % submitted_words(side);
        uint64_t bits = atomic_load_explicit(&side->slot.submitted[word], memory_order_acquire);
        if (step == 0)
            bits &= ~(uint64_t)0 << from % 64;
        else if (step == submitted_words(side))
            bits &= ~(~(uint64_t)0 << from % 64);
        if (bits)
            return (int)(word * 64) + __builtin_ctzll(bits);
    }
    return -1;
}

struct refused_ring side_ring(const struct side *side)
{
    struct side *ours = (struct side *)side;
    /* `newest` is raised before `unsealed` is lowered, so this order of reads misses no
     * snapshot. */
    uint64_t unsealed = atomic_load_explicit(&ours->arena.unsealed, memory_order_acquire);
    return (struct refused_ring){
        .bytes = side->arena.bytes,
        .lap = side->arena.lap,
        .head = atomic_load_explicit(&ours->arena.newest, memory_order_relaxed) + unsealed,
        .tail = __atomic_load_n(side->arena.tail, __ATOMIC_ACQUIRE),
    };
}

void side_note_unsealed(struct side *side, struct check *check, uint64_t bytes)
{
    check->room.unsealed = bytes;
    atomic_fetch_add_explicit(&side->arena.unsealed, bytes, memory_order_relaxed);
}

void side_note_sealed(struct side *side, struct check *check)
{
    atomic_fetch_sub_explicit(&side->arena.unsealed, check->room.unsealed, memory_order_release);
    check->room.unsealed = 0;
}

void side_reclaim(struct side *side, const struct check *check)
{
    __atomic_store_n(side->arena.tail,
                     reclaim_end(side->arena.reclaim, check->room.begin, check->room.end),
                     __ATOMIC_RELEASE);
}

uint8_t *side_large_params(struct side *side, struct check *check)
{
    int number = side->slot.free_large ? slots_claim(side->slot.free_large) : -1;
    if (number < 0)
        return NULL;
    check->params.large = number + 1;
    return side->slot.large_params + (size_t)number * CHECK_LARGE_PARAMS;
}

void side_release(struct side *side, struct check *check)
{
    side_note_sealed(side, check);
    if (check->params.large)
        slots_release(side->slot.free_large, check->params.large - 1);
    check->params.large = 0;
    atomic_fetch_and(&side->slot.submitted[check->slot / 64], ~((uint64_t)1 << check->slot % 64));
    atomic_store_explicit(&check->state, CHECK_FREE, memory_order_relaxed);
    atomic_fetch_sub(&side->pending, 1);
    slots_release(side->slot.free, (int)check->slot);
}

bool side_request(struct side *side)
{
    enum side_state fresh = SIDE_FRESH;
    return atomic_compare_exchange_strong(&side->state, &fresh, SIDE_WANTED);
}

bool side_request_probes(struct side *side)
{
    enum outlier_state none = OUTLIER_NONE;
    return atomic_compare_exchange_strong(&side->outlier.state, &none, OUTLIER_WANTED);
}

static bool is_settled(struct side *side)
{
    enum side_state state = atomic_load_explicit(&side->state, memory_order_acquire);
    return state != SIDE_FRESH && state != SIDE_WANTED;
}

/* Also where the collector will no longer come to it. */
static bool probes_are_settled(struct side *side)
{
    return atomic_load_explicit(&side->outlier.state, memory_order_acquire) >= OUTLIER_READY ||
           atomic_load_explicit(&side->state, memory_order_relaxed) != SIDE_READY;
}

static void wait_until(struct side *side, bool (*settled)(struct side *), int timeout_ms)
{
    const struct timespec pause = {.tv_nsec = 100000};
    for (int i = 0; i < timeout_ms * 10; i++) {
        if (settled(side) || atomic_load_explicit(&side->late, memory_order_relaxed))
            return;
        nanosleep(&pause, NULL);
    }
    atomic_store(&side->late, true);
}

bool side_wait_ready(struct side *side, int timeout_ms)
{
    wait_until(side, is_settled, timeout_ms);
    return atomic_load_explicit(&side->state, memory_order_acquire) == SIDE_READY;
}

bool side_wait_probes(struct side *side, int timeout_ms)
{
    wait_until(side, probes_are_settled, timeout_ms);
    return atomic_load_explicit(&side->outlier.state, memory_order_acquire) == OUTLIER_READY;
}
