#include "extra/digest.h"

#include <string.h>
#include "lang/dtype.h"
#include "lang/signature.h"

/* No launch of ours holds the GPU for long: a block hashes 4096 elements. */
enum { MOST_BLOCKS = 4096, BLOCK_ELEMENTS = DIGEST_THREADS * DIGEST_RUN, ALIGNMENT = 256 };

static uint64_t mix(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
    return hash ^ hash >> 29;
}

bool digest_wanted(const struct check *check)
{
    return check->kernel->spec->deterministic && check->params_bytes > 0 &&
           !check->binding.subset.dim;
}

static enum status launch_part(struct side *side, struct digest_call *call, uint64_t count,
                               struct error *err)
{
    uint64_t left = count - call->first, blocks = (left + BLOCK_ELEMENTS - 1) / BLOCK_ELEMENTS;
    void *params[] = {call};
    if (blocks > MOST_BLOCKS)
        blocks = MOST_BLOCKS;
    call->end = left < blocks * BLOCK_ELEMENTS ? count : call->first + blocks * BLOCK_ELEMENTS;
    return cuda_check(err,
                      cuda.cuLaunchKernel(side->digest, (unsigned)blocks, 1, 1, DIGEST_THREADS, 1,
                                          1, 0, side->stream, params, NULL),
                      "launching a digest");
}

/* One side of an array: before the launch what it read, after it what it wrote. */
static enum status launch(struct side *side, struct lane *lane, int index, int64_t offset, bool out,
                          struct error *err)
{
    const struct bound_array *array = &lane->check->binding.array[index];
    const struct placement *placement = &lane->check->placement[index];
    struct digest_sums *sums = (struct digest_sums *)(uintptr_t)lane->digest;
    struct digest_call call = {.base = lane->check->arena + (uint64_t)offset,
                               .ndim = (uint32_t)array->ndim,
                               .element = dtype_bytes(array->dtype),
                               .seed = mix(0, (uint64_t)index + 1),
                               .sum = out ? &sums->out : &sums->in,
                               .sums = sums};
    enum status status = STATUS_OK;
    uint64_t count = 1;
    for (int i = 0; i < array->ndim; i++) {
        call.dim[i] = (uint64_t)array->dim[i];
        call.stride[i] = (uint64_t)placement->stride[i];
        count *= call.dim[i];
    }
    for (; !status && call.first < count; call.first = call.end)
        status = launch_part(side, &call, count, err);
    return status;
}

enum status digest_start(struct side *side, struct lane *lane, struct error *err)
{
    const struct check *check = lane->check;
    enum status status = cuda_check(
        err, cuda.cuMemsetD8Async(lane->digest, 0, sizeof(struct digest_sums), side->stream),
        "cuMemsetD8Async");
    for (int i = 0; !status && i < check->binding.arrays; i++) {
        const struct placement *placement = &check->placement[i];
        enum role role = check->binding.array[i].role;
        int64_t read = placement->before != NOT_COPIED ? placement->before : placement->after;
        if (binding_is_list(&check->binding, i))
            continue; /* where its arrays lie is not what the kernel reads of them */
        if (role != ROLE_WRITE)
            status = launch(side, lane, i, read, false, err);
        if (!status && role_writes(role))
            status = launch(side, lane, i, placement->after, true, err);
    }
    return status ? status
                  : cuda_check(err,
                               cuda.cuMemcpyDtoHAsync(lane->digest_host, lane->digest,
                                                      sizeof(struct digest_sums), side->stream),
                               "cuMemcpyDtoHAsync");
}

uint64_t digest_busy(const struct lane *lane)
{
    return lane->digest_host->ended - ~lane->digest_host->not_started;
}

/* The packed parameters with addresses of the signature's arrays reduced to their alignment. */
static uint64_t add_params(uint64_t hash, const struct check *check)
{
    const struct signature *signature = check->kernel->spec->signature;
    uint8_t bytes[CHECK_PARAMS];
    memcpy(bytes, check->params, check->params_bytes);
    for (unsigned i = 0; i < signature->items; i++) {
        const struct signature_item *item = &signature->item[i];
        uint64_t address;
        if (!item->array || item->param >= check->kernel->layout.count)
            continue;
        size_t at = check->kernel->layout.param[item->param].offset + (size_t)item->offset;
        if (at + sizeof(address) > check->params_bytes)
            continue;
        memcpy(&address, bytes + at, sizeof(address));
        address = address ? ALIGNMENT + address % ALIGNMENT : 0;
        memcpy(bytes + at, &address, sizeof(address));
    }
    for (size_t i = 0; i < check->params_bytes; i++)
        hash = mix(hash, bytes[i]);
    return hash;
}

/* Which arrays are the same memory: a kernel in place is another launch. */
static uint64_t add_aliases(uint64_t hash, const struct binding *binding)
{
    for (int i = 0; i < binding->arrays; i++) {
        int first = 0;
        while (binding->array[first].address != binding->array[i].address)
            first++;
        hash = mix(hash, (uint64_t)first);
    }
    return hash;
}

uint64_t digest_key(const struct check *check, const struct digest_sums *sums)
{
    uint64_t hash = mix(check->kernel->key, check->kernel->spec->number);
    for (int i = 0; i < 3; i++)
        hash = mix(mix(hash, check->grid[i]), check->block[i]);
    hash = mix(hash, check->shared_bytes);
    hash = add_aliases(add_params(hash, check), &check->binding);
    return mix(hash, sums->in);
}
