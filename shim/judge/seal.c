#include "judge/seal.h"

#include <string.h>
#include "base/clock.h"
#include "extra/outlier.h"

/* Reads the outlier gate's decision on a launch that it probed. */
static void read_decision(struct side *side, struct check *check)
{
    const struct outlier_answer *answer = &side->outlier.answer[check->slot];
    const struct kernel_spec *spec = check_spec(check);
    if (check->probe.centroid)
        outlier_collect(&side->outlier, &spec->outlier, check->probe.index, check->probe.epoch,
                        answer);
    if (check->seal.ordinary || answer->input >= OUTLIER_SPEC_INPUTS)
        return;
    check->probe.found = (struct outlier_call_report){
        .input = check->probe.input[answer->input],
        .statistic = outlier_feature_text(answer->feature),
        .score = (double)answer->score,
        .threshold = (double)answer->threshold,
        .sigmas = answer->feature < OUTLIER_CHARTS,
    };
}

#define SEAL_MASK (((uint64_t)1 << SEAL_BITS) - 1)

/* A word of the seal, if it is this check's. */
static bool read_seal_word(const uint64_t *word, const struct check *check, uint64_t *value)
{
    const uint64_t now = __atomic_load_n(word, __ATOMIC_ACQUIRE);
    *value = now & SEAL_MASK;
    return now >> SEAL_BITS == check->sequence << SEAL_BITS >> SEAL_BITS;
}

/* Offsets in the arena grow for ever. No word holds such a one as a whole, but none that is taken
 * lies far ahead of what is free. */
static uint64_t offset_of(uint64_t value, uint64_t tail)
{
    const uint64_t low = tail / SNAPSHOT_ALIGN;
    return (low + ((value - low) & SEAL_MASK)) * SNAPSHOT_ALIGN;
}

/* The words come in any order. */
static bool read_copies(const struct side *side, struct check *check)
{
    const struct snapshot_seal *seal = &side->slot.seal[check->slot];
    uint64_t begin, end, started, stopped, missed;
    if (__atomic_load_n(&seal->sequence, __ATOMIC_ACQUIRE) != check->sequence ||
        !read_seal_word(&seal->begin, check, &begin) || !read_seal_word(&seal->end, check, &end) ||
        !read_seal_word(&seal->started, check, &started) ||
        !read_seal_word(&seal->stopped, check, &stopped))
        return false;
    check->cost.copy = (stopped - started) & SEAL_MASK; /* a probe that selects its launch is part
                                                         * of the copy */
    check->seal.missed = read_seal_word(&seal->missed, check, &missed);
    memcpy(check->seal.value, seal->value, sizeof check->seal.value);
    if (begin == end)
        return true;
    check->room.begin = offset_of(begin, *side->arena.tail);
    check->room.end = offset_of(end, *side->arena.tail);
    check->room.at =
        side->arena.base + ((check->room.end - check->room.bytes) & (side->arena.lap - 1));
    return true;
}

bool seal_seen(struct side *side, struct check *check)
{
    if (check->seal.read)
        return true;
    check->room.at = check->room.begin = check->room.end = 0;
    check->cost.copy = check->cost.probe = 0;
    check->seal.missed = false;
    uint64_t ordinary = __atomic_load_n(&side->slot.seal[check->slot].ordinary, __ATOMIC_ACQUIRE);
    check->seal.ordinary = ordinary >> SEAL_TIME_BITS == check->sequence;
    if (!check->seal.ordinary && !read_copies(side, check))
        return false;
    if (check->seal.ordinary)
        check->cost.probe = ordinary & ((1u << SEAL_TIME_BITS) - 1);
    if (check->gate.result == GATE_OUTLIER)
        read_decision(side, check);
    if (check->room.end > atomic_load_explicit(&side->arena.newest, memory_order_relaxed))
        atomic_store_explicit(&side->arena.newest, check->room.end, memory_order_relaxed);
    side_note_sealed(side, check);
    check->seal.at = clock_ns();
    check->seal.read = true;
    return true;
}
