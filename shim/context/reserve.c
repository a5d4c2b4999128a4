#include "context/reserve.h"

#include <stdatomic.h>
#include <stdlib.h>
#include "context/reclaim.h"

struct reserve {
    uint64_t bytes;
    _Atomic(uint64_t) head;    /* all below was handed out */
    _Atomic(uint64_t) careful; /* until the tail has come here nothing is handed out ahead */
    _Atomic(uint64_t) ahead;   /* bytes beyond the ring that are handed out then */
    uint64_t raised;           /* the tail when `ahead` was changed last; the collector's */
    atomic_bool shut;
    uint64_t *tail;          /* all below is free again */
    uint64_t newest;         /* the end of the latest snapshot whose seal the collector has read */
    struct reclaim *reclaim; /* the collector's */
};

struct reserve *reserve_create(uint64_t bytes, uint64_t *tail, uint32_t most)
{
    struct reserve *reserve = calloc(1, sizeof(*reserve));
    if (!reserve)
        return NULL;
    reserve->bytes = bytes;
    reserve->tail = tail;
    atomic_init(&reserve->careful, bytes);
    atomic_init(&reserve->ahead, (RESERVE_ROUNDS - 1) * bytes);
    reserve->reclaim = reclaim_create(most);
    if (reserve->reclaim)
        return reserve;
    free(reserve);
    return NULL;
}

void reserve_destroy(struct reserve *reserve)
{
    if (reserve)
        reclaim_destroy(reserve->reclaim);
    free(reserve);
}

static uint64_t most_ahead(const struct reserve *reserve, uint64_t tail)
{
    uint64_t careful = atomic_load_explicit(&reserve->careful, memory_order_relaxed);
    uint64_t ahead = atomic_load_explicit(&reserve->ahead, memory_order_relaxed);
    return reserve->bytes + (tail < careful ? 0 : ahead);
}

static bool is_handed_out(const struct reserve *reserve, uint64_t bytes)
{
    return bytes && bytes <= reserve->bytes / 4 &&
           !atomic_load_explicit(&reserve->shut, memory_order_relaxed);
}

/* Where a snapshot ends that is taken at `head`; false: too far ahead. */
static bool place_in_reserve(const struct reserve *reserve, uint64_t head, uint64_t tail,
                             uint64_t bytes, uint64_t *end)
{
    const uint64_t ring = reserve->bytes, at = head & (ring - 1);
    *end = head + (at + bytes > ring ? ring - at : 0) + bytes;
    return *end - tail <= ring || *end - tail <= most_ahead(reserve, tail);
}

bool reserve_has(const struct reserve *reserve, uint64_t bytes)
{
    uint64_t end;
    return is_handed_out(reserve, bytes) &&
           place_in_reserve(reserve, atomic_load_explicit(&reserve->head, memory_order_relaxed),
                            __atomic_load_n(reserve->tail, __ATOMIC_ACQUIRE), bytes, &end);
}

bool reserve_take(struct reserve *reserve, uint64_t bytes, struct reserve_room *room)
{
    const uint64_t ring = reserve->bytes;
    if (!is_handed_out(reserve, bytes))
        return false;
    const uint64_t tail = __atomic_load_n(reserve->tail, __ATOMIC_ACQUIRE);
    uint64_t head = atomic_load_explicit(&reserve->head, memory_order_relaxed), end;
    do {
        if (!place_in_reserve(reserve, head, tail, bytes, &end))
            return false;
    } while (!atomic_compare_exchange_weak_explicit(&reserve->head, &head, end,
                                                    memory_order_relaxed, memory_order_relaxed));
    *room = (struct reserve_room){.begin = head, .end = end};
    if (end - tail > ring)
        room->needs = end - ring;
    return true;
}

uint64_t reserve_place(const struct reserve *reserve, uint64_t end, uint64_t bytes)
{
    return (end - bytes) & (reserve->bytes - 1);
}

void reserve_shut(struct reserve *reserve)
{
    atomic_store_explicit(&reserve->shut, true, memory_order_relaxed);
}

void reserve_sealed(struct reserve *reserve, uint64_t end)
{
    if (end > reserve->newest)
        reserve->newest = end;
}

/* One miss seldom comes alone: those that follow before the tail is past `careful` are the same. */
void reserve_missed(struct reserve *reserve)
{
    uint64_t head = atomic_load_explicit(&reserve->head, memory_order_relaxed);
    uint64_t ahead = atomic_load_explicit(&reserve->ahead, memory_order_relaxed);
    if (*reserve->tail >= atomic_load_explicit(&reserve->careful, memory_order_relaxed)) {
        atomic_store_explicit(&reserve->ahead, ahead / 2, memory_order_relaxed);
        reserve->raised = head;
    }
    atomic_store_explicit(&reserve->careful, head, memory_order_relaxed);
}

/* Each round without a miss allows a quarter of one more. */
static void raise_ahead(struct reserve *reserve, uint64_t tail)
{
    const uint64_t most = (RESERVE_ROUNDS - 1) * reserve->bytes;
    uint64_t ahead = atomic_load_explicit(&reserve->ahead, memory_order_relaxed);
    if (ahead >= most || tail < reserve->raised + reserve->bytes)
        return;
    ahead += reserve->bytes / 4;
    atomic_store_explicit(&reserve->ahead, ahead < most ? ahead : most, memory_order_relaxed);
    reserve->raised = tail;
}

void reserve_end(struct reserve *reserve, uint64_t begin, uint64_t end)
{
    uint64_t tail = reclaim_end(reserve->reclaim, begin, end);
    __atomic_store_n(reserve->tail, tail, __ATOMIC_RELEASE);
    raise_ahead(reserve, tail);
}

bool reserve_is_short(const struct reserve *reserve)
{
    const uint64_t tail = *reserve->tail;
    return reserve->newest > tail && reserve->newest - tail >= reserve->bytes / 4;
}
