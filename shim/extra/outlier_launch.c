#include "extra/outlier_launch.h"

#include <string.h>
#include "context/enqueue.h"

static void describe_outlier(const struct side *side, const struct check *check,
                             const struct outlier_plan *plan, struct outlier_header *header)
{
    const struct outlier_side *gate = &side->outlier;
    *header = (struct outlier_header){
        .slot = (struct outlier_slot *)(uintptr_t)gate->slots + check->slot,
        .answer = (struct outlier_answer *)(uintptr_t)gate->answer_device + check->slot,
        .seed = check->binding.call.seed,
        .inputs = plan->inputs,
        .detector = plan->detector,
        .epoch = plan->epoch,
        .batch = plan->batch,
    };
}

/* Fewer bytes for the driver to carry. */
static void shorten(const struct outlier_call *call, struct outlier_call_few *few)
{
    few->header = call->header;
    few->outlier = call->outlier;
    few->select = call->select;
    few->input[0] = call->input[0];
    memcpy(few->segment, call->segment, sizeof(few->segment));
}

static enum status enqueue_probe(const struct outlier_side *gate, CUfunction function, void *call,
                                 const struct outlier_plan *plan, const struct launch *launch,
                                 struct error *err)
{
    unsigned clerks = plan->detector == OUTLIER_FINGERPRINT ? OUTLIER_CLERKS : 0;
    const struct own_kernel kernel = {.function = function,
                                      .waits = gate->waits,
                                      .blocks = plan->blocks,
                                      .threads = OUTLIER_THREADS + clerks,
                                      .doing = "launching the outlier kernel"};
    return enqueue_kernel(&kernel, call, launch, err);
}

_Static_assert(sizeof(struct outlier_call) <= 4096, "a launch carries no more");

enum status outlier_enqueue(struct side *side, const struct check *check,
                            const struct snapshot_plan *snapshot, const struct outlier_plan *plan,
                            enum snapshot_part part, const struct launch *launch, struct error *err)
{
    struct outlier_call call; /* large: inputs and segments are written as they are added */
    struct outlier_call_few few;
    uint64_t chunks = 0;
    if (snapshot->touches)
        snapshot_header_of(side, check, &call.header); /* the probe alone */
    else
        chunks = snapshot_describe(side, check, snapshot, part, &call.header, &call.select,
                                   call.segment);
    if (chunks >= (uint64_t)1 << OUTLIER_CHUNK_BITS)
        return error_set(err, STATUS_INVALID, "a copy of %llu chunks", (unsigned long long)chunks);
    describe_outlier(side, check, plan, &call.outlier);
    call.header.seals = part == SNAPSHOT_AFTER;
    call.outlier.chunks = chunks;
    memcpy(call.input, plan->input, plan->inputs * sizeof(call.input[0]));
    if (plan->inputs > 1 || call.header.segments > SNAPSHOT_FEW)
        return enqueue_probe(&side->outlier, side->outlier.kernel, &call, plan, launch, err);
    shorten(&call, &few);
    return enqueue_probe(&side->outlier, side->outlier.few, &few, plan, launch, err);
}
