#include "context/refused.h"

#include <string.h>

/* Where a snapshot that is taken at `head` ends; false: there is no room. */
static bool place_in_ring(const struct refused_ring *ring, uint64_t head, uint64_t bytes,
                          uint64_t *end)
{
    uint64_t start = head, at = head & (ring->lap - 1);
    if (at + bytes > ring->bytes)
        start += ring->lap - at;
    *end = start + bytes;
    return *end - ring->tail <= ring->lap || head == ring->tail;
}

bool refused_admits(struct refused *refused, const struct refused_ring *ring, uint64_t signature,
                    uint64_t bytes, int64_t now)
{
    uint64_t turn = atomic_load_explicit(&refused->turn, memory_order_acquire), end;
    if (!turn || now >= atomic_load_explicit(&refused->until, memory_order_relaxed))
        return true;
    if (!place_in_ring(ring, ring->head, bytes, &end))
        return false;
    if (turn == signature) {
        atomic_compare_exchange_strong(&refused->turn, &turn, 0);
        return true;
    }
    return place_in_ring(ring, end, atomic_load_explicit(&refused->bytes, memory_order_relaxed),
                         &end);
}

static int find_refused(const struct refused *refused, uint64_t signature)
{
    int i = 0;
    while (i < refused->waiting && refused->line[i].signature != signature)
        i++;
    return i;
}

static void leave_turn(struct refused *refused, int i)
{
    refused->waiting--;
    memmove(&refused->line[i], &refused->line[i + 1],
            (size_t)(refused->waiting - i) * sizeof refused->line[0]);
}

void refused_add(struct refused *refused, uint64_t signature, uint64_t bytes)
{
    int i = find_refused(refused, signature);
    if (i == REFUSED_MOST)
        return;
    if (i == refused->waiting)
        refused->line[refused->waiting++] =
            (struct refused_one){.signature = signature, .hold = REFUSED_HOLD_NS};
    refused->line[i].bytes = bytes;
}

void refused_served(struct refused *refused, uint64_t signature)
{
    int i = find_refused(refused, signature);
    if (i < refused->waiting)
        leave_turn(refused, i);
}

/* Its owner goes to the end of the line, until a snapshot of it was made; its next turn is longer
 * if nothing of it was enqueued in this one. */
static void end_turn(struct refused *refused, int64_t now, bool unused)
{
    int i = find_refused(refused, refused->owner);
    refused->next = now + (now - refused->since);
    refused->since = 0;
    if (i == refused->waiting)
        return;
    struct refused_one one = refused->line[i];
    leave_turn(refused, i);
    if (unused)
        one.hold *= 2;
    if (one.hold <= REFUSED_MOST_HOLD_NS)
        refused->line[refused->waiting++] = one;
}

static void begin_turn(struct refused *refused, int64_t now)
{
    const struct refused_one *first = &refused->line[0];
    refused->owner = first->signature;
    refused->since = now;
    atomic_store(&refused->bytes, first->bytes);
    atomic_store(&refused->until, now + first->hold);
    atomic_store_explicit(&refused->turn, first->signature, memory_order_release);
}

void refused_step(struct refused *refused, int64_t now)
{
    if (refused->since) {
        bool enqueued = !refused_any(refused);
        bool waits = find_refused(refused, refused->owner) < refused->waiting;
        if (!enqueued && waits && now < atomic_load(&refused->until))
            return;
        atomic_store(&refused->turn, 0);
        end_turn(refused, now, !enqueued);
    }
    if (refused->waiting && now >= refused->next)
        begin_turn(refused, now);
}
