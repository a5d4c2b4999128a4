/* scene_judge.c - the reference over the dense elements of a run. */
#include <stdlib.h>
#include <string.h>
#include "lang/dtype.h"
#include "tools/replay/scene.h"

int64_t scene_dense_stride(const struct bundle_array *array, int64_t stride)
{
    int64_t dense[BUNDLE_DIMS], step = 1;
    for (int d = array->ndim - 1; d >= 0; d--) {
        dense[d] = step;
        step *= array->seen[d];
    }
    for (int d = 0; d < array->ndim && stride > 0; d++) {
        int64_t own = array->stride[d];
        if (own > 0 && stride % own == 0 && stride / own < array->dim[d])
            return stride / own * dense[d];
    }
    for (int d = 0; d < array->ndim && stride > 0; d++) {
        if (array->stride[d] > 0 && stride >= array->stride[d])
            return stride / array->stride[d] * dense[d];
    }
    return stride;
}

static enum status judge_upload(struct scene *scene, int index, uint8_t *const *after,
                                uint64_t *address, struct error *err)
{
    const struct bundle_array *array = &scene->bundle->array[index];
    const struct worker_array place = {.bytes =
                                           (uint64_t)array->elements * dtype_bytes(array->dtype)};
    uint8_t *dense = scene_gather(scene, index, after);
    if (!dense)
        return error_set(err, STATUS_NO_MEMORY, "no memory for %s", array->name);
    enum status status = worker_allocate(scene->worker, &place, address, err);
    if (!status)
        status = worker_write(scene->worker, *address, dense, place.bytes, err);
    free(dense);
    return status;
}

/* One tensor of the call: dims, strides and the addresses of its bytes. */
static enum status judge_tensor(struct scene *scene, const struct scene_run *run, int number,
                                struct ref_call *call, struct error *err)
{
    const struct bundle_tensor *from = &scene->bundle->tensor[number];
    struct ref_tensor *tensor = &call->tensor[number];
    uint64_t before = 0, after = 0;
    enum status status = STATUS_OK;
    tensor->in = tensor->got = NULL;
    if (from->array < 0)
        return STATUS_OK;
    const struct bundle_array *array = &scene->bundle->array[from->array];
    if (array->role != ROLE_WRITE && !bundle_whole(array, BUNDLE_BEFORE))
        return error_set(err, STATUS_UNSUPPORTED,
                         "the bundle holds only a part of %s, so that the reference cannot run",
                         array->name);
    if (array->role != ROLE_WRITE)
        status = judge_upload(scene, from->array, NULL, &before, err);
    if (!status && role_writes(array->role))
        status = judge_upload(scene, from->array, run->after, &after, err);
    tensor->in = (const void *)(uintptr_t)before;
    tensor->got = (const void *)(uintptr_t)after;
    tensor->bytes = array->elements * (int64_t)dtype_bytes(array->dtype);
    tensor->ndim = (uint8_t)from->ndim;
    for (int d = 0; d < from->ndim; d++) {
        tensor->dim[d] = from->dim[d];
        tensor->stride[d] = scene_dense_stride(array, from->stride[d]);
    }
    return status;
}

static void judge_free(struct scene *scene, const struct ref_call *call)
{
    for (int i = 0; i < scene->bundle->tensors && !worker_lost(scene->worker); i++) {
        const void *side[2] = {call->tensor[i].in, call->tensor[i].got};
        for (int s = 0; s < 2; s++) {
            if (side[s])
                worker_free(scene->worker, (uint64_t)(uintptr_t)side[s], NULL);
        }
    }
}

enum status scene_judge(struct scene *scene, const struct scene_run *run, enum worker_oracle oracle,
                        struct ref_verdict *numbers, enum verdict *verdict, struct error *err)
{
    struct ref_call call = scene->bundle->call;
    enum status status = STATUS_OK;
    for (int i = 0; i < scene->bundle->tensors && !status; i++)
        status = judge_tensor(scene, run, i, &call, err);
    if (!status)
        status =
            worker_reference(scene->worker, scene->bundle->reference, oracle, &call, numbers, err);
    judge_free(scene, &call);
    if (!status && numbers->refused)
        return error_set(err, STATUS_UNSUPPORTED,
                         "the reference reaches outside the stored elements, %llu times",
                         (unsigned long long)numbers->refused);
    *verdict = status ? VERDICT_INCONCLUSIVE : verdict_of(numbers);
    return status == STATUS_NOT_FOUND ? STATUS_UNSUPPORTED : status;
}
