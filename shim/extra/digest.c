#include "extra/digest.h"

#include <stddef.h>
#include <string.h>
#include "lang/dtype.h"
#include "lang/signature.h"

/* No launch of ours holds the GPU for long: a block hashes 4096 elements. */
enum { MOST_BLOCKS = 4096, BLOCK_ELEMENTS = DIGEST_THREADS * DIGEST_RUN, ALIGNMENT = 256 };

uint64_t digest_mix(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
    return hash ^ hash >> 29;
}

bool digest_all;

bool digest_wanted(const struct check *check)
{
    return (check_spec(check)->deterministic || digest_all) && check->params.bytes > 0 &&
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
                      cuda.cuLaunchKernel(side->kernel.digest, (unsigned)blocks, 1, 1,
                                          DIGEST_THREADS, 1, 1, 0, side->stream, params, NULL),
                      "launching a digest");
}

enum status digest_enqueue(struct side *side, struct digest_call *call, uint64_t count,
                           struct error *err)
{
    enum status status = STATUS_OK;
    for (; !status && call->first < count; call->first = call->end)
        status = launch_part(side, call, count, err);
    return status;
}

/* Lists of addresses have no digest, which would differ from run to run; nor have guards, which are
 * no arrays of the launch, and kept rows, whose copies hold arbitrary bytes where an index leads
 * nowhere. */
static bool has_digest(const struct check *check, int index)
{
    const struct bound_array *array = &check->binding.array[index];
    return !array->guard && !array->rows.kept && !binding_is_list(&check->binding, index);
}

/* One side of an array: before the launch what it read, after it what it wrote. */
static enum status launch_digest(struct side *side, struct lane *lane, int index, int64_t offset,
                                 bool out, struct error *err)
{
    const struct bound_array *array = &lane->check->binding.array[index];
    const struct placement *placement = &lane->check->placement[index];
    struct digest_sums *sums = (struct digest_sums *)(uintptr_t)lane->digest;
    struct digest_call call = {.base = lane->check->room.at + (uint64_t)offset,
                               .ndim = (uint32_t)array->ndim,
                               .element = dtype_bytes(array->dtype),
                               .seed = digest_mix(0, (uint64_t)index + 1),
                               .sum = out ? &sums->out : &sums->in,
                               .sums = sums};
    uint64_t count = 1;
    for (int i = 0; i < array->ndim; i++) {
        call.dim[i] = (uint64_t)array->dim[i];
        call.stride[i] = (uint64_t)placement->stride[i];
        count *= call.dim[i];
    }
    return digest_enqueue(side, &call, count, err);
}

/* The sums of items lie behind the others. */
static size_t sums_bytes(bool items)
{
    return items ? sizeof(struct digest_sums) : offsetof(struct digest_sums, shared);
}

enum status digest_begin(struct side *side, struct lane *lane, bool items, struct error *err)
{
    return cuda_check(err, cuda.cuMemsetD8Async(lane->digest, 0, sums_bytes(items), side->stream),
                      "cuMemsetD8Async");
}

enum status digest_end(struct side *side, struct lane *lane, bool items, struct error *err)
{
    return cuda_check(
        err,
        cuda.cuMemcpyDtoHAsync(lane->digest_host, lane->digest, sums_bytes(items), side->stream),
        "cuMemcpyDtoHAsync");
}

enum status digest_start(struct side *side, struct lane *lane, struct error *err)
{
    const struct check *check = lane->check;
    enum status status = STATUS_OK;
    for (int i = 0; !status && i < check->binding.arrays; i++) {
        const struct placement *placement = &check->placement[i];
        enum role role = check->binding.array[i].role;
        int64_t read = placement->before != NOT_COPIED ? placement->before : placement->after;
        if (!has_digest(check, i))
            continue;
        if (role != ROLE_WRITE)
            status = launch_digest(side, lane, i, read, false, err);
        if (!status && role_writes(role))
            status = launch_digest(side, lane, i, placement->after, true, err);
    }
    return status;
}

uint64_t digest_busy(const struct lane *lane)
{
    return lane->digest_host->ended - ~lane->digest_host->not_started;
}

/* The packed parameters with addresses of the signature's arrays reduced to their alignment. */
static uint64_t add_params(uint64_t hash, const struct check *check)
{
    const struct signature *signature = check_spec(check)->signature;
    uint8_t bytes[CHECK_LARGE_PARAMS];
    memcpy(bytes, check->params.packed, check->params.bytes);
    for (unsigned i = 0; i < signature->items; i++) {
        const struct signature_item *item = &signature->item[i];
        uint64_t address;
        if (!item->array || item->param >= check->kernel->layout.count)
            continue;
        size_t at = check->kernel->layout.param[item->param].offset + (size_t)item->offset;
        if (at + sizeof(address) > check->params.bytes)
            continue;
        memcpy(&address, bytes + at, sizeof(address));
        address = address ? ALIGNMENT + address % ALIGNMENT : 0;
        memcpy(bytes + at, &address, sizeof(address));
    }
    for (size_t i = 0; i < check->params.bytes; i++)
        hash = digest_mix(hash, bytes[i]);
    return hash;
}

/* Which arrays are the same memory: a kernel in place is another launch. Guards are no arrays of
 * the launch, and are drawn by its number. */
static uint64_t add_aliases(uint64_t hash, const struct binding *binding)
{
    for (int i = 0; i < binding->arrays; i++) {
        int first = 0;
        if (binding->array[i].guard)
            continue;
        while (binding->array[first].address != binding->array[i].address)
            first++;
        hash = digest_mix(hash, (uint64_t)first);
    }
    return hash;
}

uint64_t digest_key(const struct check *check, const struct digest_sums *sums)
{
    uint64_t hash = digest_mix(check->kernel->key, check_spec(check)->number);
    for (int i = 0; i < 3; i++)
        hash = digest_mix(digest_mix(hash, check->how.grid[i]), check->how.block[i]);
    hash = digest_mix(hash, check->how.shared_bytes);
    hash = add_aliases(add_params(hash, check), &check->binding);
    return digest_mix(hash, sums->in);
}

/* The scalars that the signature names; others may be addresses of this process. */
static uint64_t add_scalars(uint64_t hash, const struct check *check)
{
    const struct signature *signature = check_spec(check)->signature;
    const struct param_layout *layout = &check->kernel->layout;
    for (unsigned i = 0; i < signature->items; i++) {
        const struct signature_item *item = &signature->item[i];
        if (item->array || item->earlier || item->index || item->param >= layout->count ||
            !signature_present(signature, item, layout, check->params.packed, check->params.bytes))
            continue;
        size_t at = layout->param[item->param].offset + (size_t)item->offset;
        size_t end = at + (size_t)dtype_bytes(item->type.dtype) * item->type.lanes;
        for (; at < end && at < check->params.bytes; at++)
            hash = digest_mix(hash, check->params.packed[at]);
    }
    return hash;
}

uint64_t digest_input(const struct check *check, const struct digest_sums *sums)
{
    uint64_t hash = add_scalars(digest_mix(0, check->kernel->key), check);
    for (int i = 0; i < check->binding.arrays; i++) {
        if (check->binding.array[i].guard) /* is drawn by the launch's number */
            continue;
        for (int k = 0; k < check->binding.array[i].ndim; k++)
            hash = digest_mix(hash, (uint64_t)check->binding.array[i].dim[k]);
    }
    for (unsigned i = 0; i < check->binding.picks; i++)
        hash = digest_mix(hash, (uint64_t)check->binding.pick[i].value);
    return digest_mix(hash, sums->in);
}

/* Whether the launch passes no array there. */
static bool item_is_null(const struct check *check, const struct signature_item *item)
{
    const struct param_layout *layout = &check->kernel->layout;
    uint64_t address = 1;
    if (item->param >= layout->count || item->param >= LAYOUT_MAX)
        return false;
    size_t at = layout->param[item->param].offset + (size_t)item->offset;
    if (at + sizeof(address) <= check->params.bytes)
        memcpy(&address, check->params.packed + at, sizeof(address));
    return address == 0;
}

unsigned digest_unseen(const struct check *check)
{
    const struct signature *signature = check_spec(check)->signature;
    unsigned unseen = 0;
    for (unsigned i = 0; i < signature->items; i++) {
        const struct signature_item *item = &signature->item[i];
        bool copied = !item->array || !role_reads(item->role) || item_is_null(check, item);
        for (int k = 0; !copied && k < check->binding.arrays; k++)
            copied =
                check->binding.array[k].name == item->name && !check->binding.array[k].rows.kept;
        unseen += !copied;
    }
    return unseen;
}
