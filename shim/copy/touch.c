#include "copy/touch.h"

#include "device/touch_abi.h"
#include "lang/dtype.h"

static uint64_t slots_for(uint64_t count)
{
    uint64_t slots = 64;
    while (slots < 2 * count)
        slots *= 2;
    return slots;
}

uint64_t touch_scratch(uint64_t count)
{
    return (count + slots_for(count)) * sizeof(uint32_t);
}

/* The copies of rows that the indices name. */
static void add_copies(struct touch_call *call, const struct check *check, int ids)
{
    for (int i = 0; i < check->binding.arrays; i++) {
        const struct bound_array *array = &check->binding.array[i];
        const struct placement *placement = &check->placement[i];
        if (bound_ids(array) != ids || array->guard)
            continue;
        call->limit = (uint64_t)array->rows.limit; /* the same for all of them */
        const int64_t copies[] = {placement->before, placement->after};
        for (int j = 0; j < 2; j++) {
            if (copies[j] == NOT_COPIED)
                continue;
            call->copy[call->copies].rows = check->room.at + (uint64_t)copies[j];
            call->copy[call->copies++].row_bytes =
                (uint64_t)array->dim[1] * dtype_bytes(array->dtype);
        }
    }
}

static void describe_touch(struct touch_call *call, const struct check *check, int ids)
{
    const struct bound_array *array = &check->binding.array[ids];
    const struct placement *placement = &check->placement[ids];
    int64_t offset = placement->before != NOT_COPIED ? placement->before : placement->after;
    int ahead = SNAPSHOT_IDS_DIMS - array->ndim;
    *call = (struct touch_call){.ids = check->room.at + (uint64_t)offset,
                                .count = 1,
                                .id_bytes = dtype_bytes(array->dtype)};
    for (int i = 0; i < SNAPSHOT_IDS_DIMS; i++) {
        call->dim[i] = i < ahead ? 1 : (uint32_t)binding_seen(&check->binding, ids, i - ahead);
        call->stride[i] = i < ahead ? 0 : (uint64_t)placement->stride[i - ahead];
        call->count *= call->dim[i];
    }
    call->slots = (uint32_t)slots_for(call->count);
    call->table = (uint32_t *)(uintptr_t)(check->room.at + (uint64_t)placement->scratch);
    call->place = call->table + call->slots;
    add_copies(call, check, ids);
}

static enum status launch_touch(struct side *side, CUfunction function, struct touch_call *call,
                                unsigned per_block, struct error *err)
{
    void *params[] = {call};
    return cuda_check(err,
                      cuda.cuLaunchKernel(function, (call->count + per_block - 1) / per_block, 1, 1,
                                          TOUCH_THREADS, 1, 1, 0, side->stream, params, NULL),
                      "numbering touched rows");
}

enum status touch_start(struct side *side, struct lane *lane, struct error *err)
{
    const struct check *check = lane->check;
    enum status status = STATUS_OK;
    for (int i = 0; !status && i < check->binding.arrays; i++) {
        struct touch_call call;
        if (!check->placement[i].scratch)
            continue;
        describe_touch(&call, check, i);
        status = cuda_check(err,
                            cuda.cuMemsetD32Async((CUdeviceptr)(uintptr_t)call.table, UINT32_MAX,
                                                  call.slots, side->stream),
                            "cuMemsetD32Async");
        if (!status)
            status = launch_touch(side, side->kernel.touch_find, &call, TOUCH_THREADS, err);
        if (!status)
            status = launch_touch(side, side->kernel.touch_number, &call, TOUCH_THREADS / 32, err);
    }
    return status;
}

const char *touch_refusal(const struct check *check)
{
    if (check_spec(check)->lift)
        return "its lifted PTX reached outside what was copied: its arrays reach further than the "
               "analysis of its addresses shows, or an assertion of it failed";
    for (int i = 0; i < check->binding.arrays; i++) {
        if (bound_ids(&check->binding.array[i]) >= 0 && !check->binding.array[i].rows.listed)
            return "the reference reached outside what was copied: an index names a row beyond the "
                   "memory that holds its array, or is negative where the reference needs one, or "
                   "the registry entry does not describe the kernel's arrays";
    }
    return "the reference reached outside what was copied: the signature or bind of its registry "
           "entry does not describe the kernel's arrays";
}
