#include "tools/worker/oracle.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "refs/abi/ref_batch.h"
#include "refs/abi/ref_host.h"
#include "refs/abi/ref_list.h"
#include "lang/dtype.h"
#include "device/embedded.h"

enum { PACK = 32, BLOCKS = 264, SIDES = 2 * REF_MAX_TENSORS };

static const struct ref_builtin *oracle_find(const char *name)
{
    for (size_t i = 0; i < ref_builtin_count; i++) {
        if (!strcmp(ref_builtins[i].name, name))
            return &ref_builtins[i];
    }
    return NULL;
}

/* Bounds in f64, and those of chains that truncate, are carried by one variant alone. */
static bool oracle_wide(const struct ref_call *call)
{
    for (int i = 0; i < REF_MAX_TENSORS; i++) {
        if (call->tensor[i].dtype == DTYPE_F64)
            return true;
    }
    return call->unit_roundoff < 0x1p-40 || call->chain_roundoff > 0;
}

/* What a call from outside may hold: a wrong shape is refused by the reference, element by element.
 */
static enum status oracle_check(const struct space *space, const struct ref_call *call,
                                struct error *err)
{
    for (int i = 0; i < REF_MAX_TENSORS; i++) {
        const struct ref_tensor *tensor = &call->tensor[i];
        const void *side[2] = {tensor->in, tensor->got};
        if (tensor->bytes < 0 || tensor->ndim > REF_MAX_DIMS || tensor->dtype >= DTYPE_COUNT)
            return error_set(err, STATUS_INVALID, "tensor %d of the reference is damaged", i);
        for (int s = 0; s < 2; s++) {
            if (side[s] && space_check(space, (uintptr_t)side[s], (uint64_t)tensor->bytes, err))
                return STATUS_INVALID;
        }
    }
    return STATUS_OK;
}

/* ---- on the CPU ---- */

static enum status oracle_fetch(const struct space *space, const void **side, int64_t bytes,
                                void **copy, struct error *err)
{
    if (!*side)
        return STATUS_OK;
    *copy = calloc(1, (size_t)bytes + PACK);
    if (!*copy)
        return error_set(err, STATUS_NO_MEMORY, "no memory for an array of %lld bytes",
                         (long long)bytes);
    uint64_t from = (uint64_t)(uintptr_t)*side;
    *side = *copy;
    return space->device->ops->read(space->device, from, *copy, (uint64_t)bytes, err);
}

static enum status oracle_host(const struct space *space, const struct wire_reference *wanted,
                               struct ref_verdict *verdict, double *values, struct error *err)
{
    struct ref_call call = wanted->call;
    void *copy[SIDES] = {NULL};
    struct ref_verdict unused = {0};
    enum status status = STATUS_OK;
    for (int i = 0; i < REF_MAX_TENSORS && !status && !space->device->ops->host_memory; i++) {
        status = oracle_fetch(space, &call.tensor[i].in, call.tensor[i].bytes, &copy[2 * i], err);
        if (!status)
            status = oracle_fetch(space, &call.tensor[i].got, call.tensor[i].bytes,
                                  &copy[2 * i + 1], err);
    }
    call.store = values;
    call.answer = verdict ? verdict : &unused;
    call.group = 1;
    call.piece = 0;
    call.pieces = 1;
    if (!status)
        ref_host_run(wanted->name, &call, oracle_wide(&call));
    for (int i = 0; i < SIDES; i++)
        free(copy[i]);
    return status;
}

/* ---- on the device ---- */

struct scratch {
    uint64_t partial, answer, ticket, store;
};

static enum status oracle_scratch(struct device *device, const struct ref_call *call, bool stores,
                                  struct scratch *out, struct error *err)
{
    const struct device_ops *ops = device->ops;
    uint64_t doubles = (uint64_t)call->store_count * sizeof(double);
    enum status status =
        ops->allocate(device, BLOCKS * sizeof(struct ref_verdict), &out->partial, err);
    if (!status)
        status = ops->allocate(device, sizeof(struct ref_verdict), &out->answer, err);
    if (!status)
        status = ops->allocate(device, sizeof(uint32_t), &out->ticket, err);
    if (!status)
        status = ops->fill(device, out->ticket, sizeof(uint32_t), 0, err);
    if (!status && stores)
        status = ops->allocate(device, doubles, &out->store, err);
    if (!status && stores)
        status = ops->fill(device, out->store, doubles, 0xff, err);
    return status;
}

static void oracle_discard(struct device *device, const struct scratch *scratch)
{
    const uint64_t all[] = {scratch->partial, scratch->answer, scratch->ticket, scratch->store};
    for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
        if (all[i])
            device->ops->release(device, all[i]);
    }
}

/* A reference that is compiled once has one symbol, in the wide image, for both variants. */
static enum status oracle_kernel(struct oracle *oracle, struct device *device, const char *name,
                                 enum ref_variant variant, void **kernel, struct error *err)
{
    const struct ref_builtin *reference = oracle_find(name);
    const char *symbol = reference->symbol[variant];
    bool wide = !strcmp(symbol, reference->symbol[REF_WIDE]);
    const void *image = wide ? cuvet_refs_wide_fatbin : cuvet_refs_fatbin;
    size_t bytes = wide ? cuvet_refs_wide_fatbin_size : cuvet_refs_fatbin_size;
    struct worker_kernel about;
    enum status status = STATUS_OK;
    if (!oracle->module[wide])
        status = device->ops->load(device, image, bytes, &oracle->module[wide], err);
    return status ? status
                  : device->ops->kernel(device, oracle->module[wide], symbol, kernel, &about, err);
}

static enum status oracle_launch(struct device *device, void *kernel, const struct ref_call *call,
                                 struct error *err)
{
    struct ref_batch batch = {0};
    struct worker_result result = {0};
    ref_batch_alone(&batch, call, BLOCKS);
    const struct worker_launch launch = {.grid = {batch.blocks, 1, 1},
                                         .block = {REF_THREADS, 1, 1},
                                         .param_bytes = sizeof(batch),
                                         .params = &batch};
    device->ops->launch(device, kernel, &launch, &result);
    return result.outcome == WORKER_RAN
               ? STATUS_OK
               : error_set(err, STATUS_DRIVER, "the reference did not run: %s", result.sentence);
}

static enum status oracle_device(struct oracle *oracle, struct device *device,
                                 const struct wire_reference *wanted, struct ref_verdict *verdict,
                                 double *values, struct error *err)
{
    struct ref_call call = wanted->call;
    struct scratch scratch = {0};
    void *kernel = NULL;
    enum ref_variant variant = oracle_wide(&call) ? REF_WIDE : REF_ANY;
    enum status status = oracle_kernel(oracle, device, wanted->name, variant, &kernel, err);
    if (!status)
        status = oracle_scratch(device, &call, values != NULL, &scratch, err);
    call.store = (double *)(uintptr_t)scratch.store;
    call.partial = (struct ref_verdict *)(uintptr_t)scratch.partial;
    call.answer = (struct ref_verdict *)(uintptr_t)scratch.answer;
    call.ticket = (uint32_t *)(uintptr_t)scratch.ticket;
    call.piece = 0;
    call.pieces = 1;
    call.group = ref_batch_group(&call, BLOCKS);
    call.sequence = 1;
    if (!status)
        status = oracle_launch(device, kernel, &call, err);
    if (!status && values)
        status = device->ops->read(device, scratch.store, values,
                                   (uint64_t)call.store_count * sizeof(double), err);
    else if (!status)
        status = device->ops->read(device, scratch.answer, verdict, sizeof(*verdict), err);
    oracle_discard(device, &scratch);
    return status;
}

enum status oracle_run(struct oracle *oracle, const struct space *space,
                       const struct wire_reference *wanted, enum worker_oracle where,
                       struct ref_verdict *verdict, double *values, struct error *err)
{
    if (!memchr(wanted->name, '\0', sizeof(wanted->name)) || !oracle_find(wanted->name))
        return error_set(err, STATUS_NOT_FOUND, "there is no built-in reference %.60s",
                         wanted->name);
    enum status status = oracle_check(space, &wanted->call, err);
    if (status)
        return status;
    for (int64_t i = 0; values && i < wanted->call.store_count; i++)
        values[i] = NAN;
    if (where == WORKER_ORACLE_CPU || space->device->ops->host_memory)
        return oracle_host(space, wanted, verdict, values, err);
    return oracle_device(oracle, space->device, wanted, verdict, values, err);
}
