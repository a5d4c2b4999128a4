#include "judge/transform.h"

#include <math.h>
#include "extra/fetch.h"
#include "plan/plan.h"
#include "refs/abi/ref_merge.h"
#include "value/verdict.h"

bool transform_explains(const struct ref_verdict *numbers, double share, double largest)
{
    return numbers->class_mismatch == 0 && numbers->max_abs <= share * largest;
}

/* The largest size of `bytes` bytes of finite f32 numbers; 0: they cannot be read. */
static double largest_number(struct side *side, CUdeviceptr from, uint64_t bytes)
{
    double largest = 0;
    for (uint64_t at = 0; at < bytes; at += STAGING_BYTES) {
        size_t part = bytes - at < STAGING_BYTES ? (size_t)(bytes - at) : STAGING_BYTES;
        if (fetch(side, from + at, part))
            return 0;
        const float *numbers = side->staging_host;
        for (size_t i = 0; i < part / sizeof *numbers; i++)
            largest = isfinite(numbers[i]) ? fmax(largest, fabs((double)numbers[i])) : largest;
    }
    return largest;
}

/* The launch's only output, as an array of its binding; -1: it has several. */
static int only_output(const struct binding *binding)
{
    int found = -1;
    for (int i = 0; i < binding->arrays; i++) {
        if (!role_writes(binding->array[i].role))
            continue;
        if (found >= 0)
            return -1;
        found = i;
    }
    return found;
}

void transform_allow(struct side *side, struct lane *lane)
{
    const struct check *check = lane->check;
    const struct binding_plan *plan = check_spec(check)->plan;
    const double share = plan ? plan->tolerance.transform : 0;
    struct ref_verdict *numbers = &lane->numbers;
    int output = -1;
    if (share > 0 && !numbers->refused && verdict_of(numbers) == VERDICT_MISMATCH)
        output = only_output(&check->binding);
    if (output < 0 || check->binding.array[output].dtype != DTYPE_F32)
        return;
    const struct placement *placement = &check->placement[output];
    uint64_t count = 1;
    for (int i = 0; i < check->binding.array[output].ndim; i++)
        count *= (uint64_t)binding_seen(&check->binding, output, i);
    if (placement->after == NOT_COPIED || placement->bytes != count * sizeof(float))
        return;
    CUdeviceptr from = check->room.at + (uint64_t)placement->after;
    if (!transform_explains(numbers, share, largest_number(side, from, placement->bytes)))
        return;
    numbers->wide = numbers->checked;
    numbers->violations = 0;
    numbers->max_ratio = 0;
    numbers->first_index = numbers->worst_index = REF_NO_INDEX;
}
