#include "verify/seal.h"

#include <string.h>
#include "base/clock.h"

/* What the outlier gate says of a launch that it was asked about. */
static void hear(struct side *side, struct check *check)
{
    const struct outlier_answer *answer = &side->outlier.answer[check->slot];
    const struct kernel_spec *spec = check->kernel->spec;
    if (check->look.centroid)
        outlier_collect(&side->outlier, &spec->outlier, check->look.index, check->look.epoch,
                        answer);
    if (check->ordinary || answer->input >= OUTLIER_SPEC_INPUTS)
        return;
    check->outlier = (struct outlier_call_report){
        .input = check->look.input[answer->input],
        .statistic = outlier_feature_text(answer->feature),
        .score = (double)answer->score,
        .threshold = (double)answer->threshold,
        .sigmas = answer->feature < OUTLIER_CHARTS,
    };
}

bool seal_seen(struct side *side, struct check *check)
{
    const struct snapshot_seal *seal = &side->seal[check->slot];
    if (check->heard)
        return true;
    uint64_t ordinary = __atomic_load_n(&seal->ordinary, __ATOMIC_ACQUIRE);
    check->ordinary = ordinary >> SEAL_TIME_BITS == check->sequence;
    if (!check->ordinary && __atomic_load_n(&seal->sequence, __ATOMIC_ACQUIRE) != check->sequence)
        return false;
    check->arena = check->ordinary ? 0 : seal->base;
    check->begin = check->ordinary ? 0 : seal->begin;
    check->end = check->ordinary ? 0 : seal->end;
    check->cost.copy = check->ordinary ? 0 : seal->busy; /* a look that calls is part of the copy */
    check->cost.look = check->ordinary ? ordinary & ((1u << SEAL_TIME_BITS) - 1) : 0;
    memcpy(check->value, seal->value, sizeof check->value);
    if (check->gate == GATE_OUTLIER)
        hear(side, check);
    if (check->end > side->newest)
        side->newest = check->end;
    check->sealed = clock_ns();
    check->heard = true;
    return true;
}
