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
    if (check->ordinary || answer->input >= OUTLIER_SPEC_INPUTS)
        return;
    check->outlier = (struct outlier_call_report){
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
    const struct snapshot_seal *seal = &side->seal[check->slot];
    uint64_t begin, end, started, stopped, missed;
    if (__atomic_load_n(&seal->sequence, __ATOMIC_ACQUIRE) != check->sequence ||
        !read_seal_word(&seal->begin, check, &begin) || !read_seal_word(&seal->end, check, &end) ||
        !read_seal_word(&seal->started, check, &started) ||
        !read_seal_word(&seal->stopped, check, &stopped))
        return false;
    check->cost.copy = (stopped - started) & SEAL_MASK; /* a probe that selects its launch is part
                                                         * of the copy */
    check->missed = read_seal_word(&seal->missed, check, &missed);
    memcpy(check->value, seal->value, sizeof check->value);
    if (begin == end)
        return true;
    if (check->reserved) {
        check->arena = side_reserved_at(side, check);
        return true;
    }
    check->begin = offset_of(begin, *side->tail);
    check->end = offset_of(end, *side->tail);
    check->arena = side->arena_base + ((check->end - check->arena_bytes) & (side->arena_lap - 1));
    return true;
}

static void note_reserved(struct side *side, const struct check *check)
{
    reserve_sealed(side->reserve, check->end);
    if (!check->arena)
        reserve_missed(side->reserve);
}

bool seal_seen(struct side *side, struct check *check)
{
    if (check->seal_read)
        return true;
    check->arena = 0;
    if (!check->reserved)
        check->begin = check->end = 0;
    check->cost.copy = check->cost.probe = 0;
    check->missed = false;
    uint64_t ordinary = __atomic_load_n(&side->seal[check->slot].ordinary, __ATOMIC_ACQUIRE);
    check->ordinary = ordinary >> SEAL_TIME_BITS == check->sequence;
    if (!check->ordinary && !read_copies(side, check))
        return false;
    if (check->ordinary)
        check->cost.probe = ordinary & ((1u << SEAL_TIME_BITS) - 1);
    if (check->gate == GATE_OUTLIER)
        read_decision(side, check);
    if (check->reserved)
        note_reserved(side, check);
    else if (check->end > atomic_load_explicit(&side->newest, memory_order_relaxed))
        atomic_store_explicit(&side->newest, check->end, memory_order_relaxed);
    side_note_sealed(side, check);
    check->sealed = clock_ns();
    check->seal_read = true;
    return true;
}
