#include "state/fetch.h"

#include <string.h>
#include "lang/dtype.h"
#include "plan/plan.h"

/* One copy from the snapshot: `height` pieces of `width` bytes. */
struct part {
    uint64_t from; /* device address */
    size_t width, pitch, height;
    size_t at; /* in pinned memory */
};

/* Where everything goes: the same each time for one check. */
struct parts {
    uint8_t *base;
    size_t used;
    int count;
    struct part part[STATE_COPIES];
};

int64_t state_id(const struct state_ids *ids, int64_t i)
{
    int64_t offset = 0, wide;
    int32_t narrow;
    for (int k = ids->ndim - 1; k >= 0; k--) {
        offset += i % ids->dim[k] * ids->stride[k];
        i /= ids->dim[k];
    }
    const uint8_t *at = ids->bytes + offset * ids->width;
    if (ids->width == 8)
        return memcpy(&wide, at, sizeof(wide)), wide;
    memcpy(&narrow, at, sizeof(narrow));
    return narrow;
}

/* Where the part will lie, or NULL: there is no room. */
static const uint8_t *add_state_part(struct parts *parts, uint64_t from, size_t width, size_t pitch,
                                     size_t height)
{
    size_t bytes = (width * height + 15) / 16 * 16;
    if (parts->count == STATE_COPIES || bytes > STATE_BYTES - parts->used)
        return NULL;
    parts->part[parts->count++] = (struct part){from, width, pitch, height, parts->used};
    parts->used += bytes;
    return parts->base + parts->used - bytes;
}

static uint64_t state_place(const struct check *check, int array, bool after)
{
    const struct placement *placement = &check->placement[array];
    bool is_after = after || placement->before == NOT_COPIED;
    return check->room.at + (uint64_t)(is_after ? placement->after : placement->before);
}

/* The binding's array that the plan's is, or -1. */
static int find_bound(const struct check *check, int plan_array)
{
    const struct binding_plan *plan = check_spec(check)->plan;
    if (plan_array < 0)
        return -1;
    const char *name = plan->array[plan_array].item->name;
    for (int i = 0; i < check->binding.arrays; i++) {
        if (check->binding.array[i].name == name && !check->binding.array[i].guard)
            return i;
    }
    return -1;
}

static void add_ids(struct parts *parts, const struct check *check, int plan_array,
                    struct state_ids *ids)
{
    int index = find_bound(check, plan_array);
    *ids = (struct state_ids){0};
    if (index < 0)
        return;
    const struct bound_array *array = &check->binding.array[index];
    size_t bytes = check->placement[index].bytes;
    ids->ndim = array->ndim;
    ids->width = (int)dtype_bytes(array->dtype);
    ids->count = 1;
    for (int k = 0; k < array->ndim; k++) {
        ids->dim[k] = binding_seen(&check->binding, index, k);
        ids->stride[k] = check->placement[index].stride[k];
        ids->count *= ids->dim[k];
    }
    ids->bytes = add_state_part(parts, state_place(check, index, false), bytes, bytes, 1);
}

/* The formal that the array is bound to, where it has the dims of a cache. */
static const struct ref_tensor *state_tensor(const struct check *check, int index)
{
    const struct binding *binding = &check->binding;
    for (int i = 0; index >= 0 && i < binding->tensors; i++) {
        const struct ref_tensor *tensor = &binding->call.tensor[i];
        if (binding->tensor_array[i] == index && tensor->ndim == 4 && tensor->stride[3] == 1 &&
            tensor->stride[1] > 0)
            return tensor;
    }
    return NULL;
}

/* Of [blocks][page][heads][dim], by its formal. Blocks that lie apart are copied one by one. */
static void add_heads(struct parts *parts, const struct check *check, int plan_array,
                      struct state_heads *heads)
{
    int index = find_bound(check, plan_array);
    const struct ref_tensor *tensor = state_tensor(check, index);
    *heads = (struct state_heads){0};
    if (!tensor || binding_gathers(&check->binding, index))
        return;
    const struct bound_array *array = &check->binding.array[index];
    size_t size = dtype_bytes(array->dtype), row = (size_t)tensor->dim[3] * size;
    size_t pitch = (size_t)tensor->stride[1] * size, page = (size_t)tensor->dim[1];
    bool even = tensor->stride[0] == tensor->dim[1] * tensor->stride[1];
    bool packed = array->ndim == 2 && bound_ids(array) < 0; /* rows that moved together */
    if (packed || (!even && row < STATE_HEAD))
        return;
    heads->width = row < STATE_HEAD ? row : STATE_HEAD;
    heads->blocks = tensor->dim[0];
    heads->page = tensor->dim[1];
    heads->numbered = bound_ids(array) >= 0;
    uint64_t from = state_place(check, index, true);
    int64_t copies = even ? 1 : heads->blocks;
    for (int64_t i = 0; i < copies; i++) {
        const uint8_t *at =
            add_state_part(parts, from + (uint64_t)(i * tensor->stride[0]) * size, heads->width,
                           pitch, even ? page * (size_t)heads->blocks : page);
        if (i == 0 || !at)
            heads->bytes = at;
        if (!at)
            return;
    }
}

static void add_guards(struct parts *parts, const struct check *check, struct state_view *view)
{
    for (int i = 0; i < check->binding.arrays && view->guards < STATE_GUARDS; i++) {
        const struct bound_array *array = &check->binding.array[i];
        const struct placement *placement = &check->placement[i];
        if (!array->guard || placement->before == NOT_COPIED || placement->after == NOT_COPIED)
            continue;
        struct state_guard *guard = &view->guard[view->guards];
        guard->array = array;
        guard->stride = placement->stride;
        guard->before = add_state_part(parts, state_place(check, i, false), placement->bytes,
                                       placement->bytes, 1);
        guard->after = add_state_part(parts, state_place(check, i, true), placement->bytes,
                                      placement->bytes, 1);
        view->guards += guard->before && guard->after;
    }
}

/* What the kernel read besides: by that a launch is known to have other data than the last one. */
static void add_inputs(struct parts *parts, const struct check *check, struct state_view *view)
{
    const struct plan_state *state = check_spec(check)->plan->state;
    for (int i = 0; i < check->binding.arrays && view->inputs < STATE_INPUTS; i++) {
        const struct bound_array *array = &check->binding.array[i];
        bool is_index =
            i == find_bound(check, state->append) || i == find_bound(check, state->table) ||
            i == find_bound(check, state->lengths) || i == find_bound(check, state->indptr) ||
            i == find_bound(check, state->last) || i == find_bound(check, state->positions);
        bool reads = array->role == ROLE_READ || (array->role == ROLE_INOUT && !state->caches);
        if (!reads || is_index || array->guard)
            continue;
        size_t bytes = check->placement[i].bytes;
        bytes = bytes < STATE_DATA ? bytes : STATE_DATA;
        view->input[view->inputs].size = bytes;
        view->input[view->inputs].bytes =
            add_state_part(parts, state_place(check, i, false), bytes, bytes, 1);
        view->inputs += view->input[view->inputs].bytes != NULL;
    }
}

/* The beginning of the array before and behind the launch. */
static void add_flow(struct parts *parts, const struct check *check, int plan_array,
                     struct state_flow *flow)
{
    int index = find_bound(check, plan_array);
    *flow = (struct state_flow){0};
    if (index < 0 || binding_gathers(&check->binding, index) ||
        bound_ids(&check->binding.array[index]) >= 0)
        return;
    const struct placement *placement = &check->placement[index];
    enum role role = check->binding.array[index].role;
    flow->whole = placement->bytes;
    flow->size = placement->bytes < STATE_DATA ? placement->bytes : STATE_DATA;
    if (role != ROLE_WRITE)
        flow->before =
            add_state_part(parts, state_place(check, index, false), flow->size, flow->size, 1);
    flow->after = role == ROLE_READ ? flow->before
                                    : add_state_part(parts, state_place(check, index, true),
                                                     flow->size, flow->size, 1);
}

bool state_reads_rows;

static void add_state_rows(struct parts *parts, const struct check *check, int plan_array,
                           const struct state_ids *ids, struct state_rows *rows)
{
    int index = find_bound(check, plan_array);
    const struct bound_array *array = index < 0 ? NULL : &check->binding.array[index];
    *rows = (struct state_rows){0};
    if (!array || !ids->bytes || array->ndim < 2 || bound_ids(array) < 0 || array->rows.listed ||
        array->dim[0] != ids->count || check->placement[index].after == NOT_COPIED)
        return;
    const struct placement *placement = &check->placement[index];
    rows->each = dtype_bytes(array->dtype);
    for (int k = array->ndim - 1; k > 0; k--) {
        if (placement->stride[k] * (int64_t)dtype_bytes(array->dtype) !=
            (int64_t)(k == array->ndim - 1 ? dtype_bytes(array->dtype) : rows->each))
            return; /* not dense */
        rows->each *= (size_t)array->dim[k];
    }
    rows->count = ids->count;
    rows->bytes = add_state_part(parts, state_place(check, index, true), rows->each,
                                 (size_t)placement->stride[0] * dtype_bytes(array->dtype),
                                 (size_t)ids->count);
}

static void lay_out_state(const struct check *check, struct parts *parts, struct state_view *view)
{
    const struct plan_state *state = check_spec(check)->plan->state;
    view->guards = view->inputs = 0;
    add_ids(parts, check, state->append, &view->append);
    add_ids(parts, check, state->table, &view->table);
    add_ids(parts, check, state->lengths, &view->lengths);
    add_ids(parts, check, state->indptr, &view->indptr);
    add_ids(parts, check, state->last, &view->last);
    add_ids(parts, check, state->positions, &view->positions);
    add_inputs(parts, check, view);
    add_guards(parts, check, view);
    for (unsigned i = 0; i < state->flows; i++)
        add_flow(parts, check, state->flow[i].array, &view->flow[i]);
    view->heads = (struct state_heads){0};
    if (state->blank && (state->length || view->lengths.bytes || view->indptr.bytes))
        add_heads(parts, check, state->cache[0], &view->heads);
    for (unsigned c = 0; c < PLAN_CACHES; c++) {
        view->rows[c] = (struct state_rows){0};
        if (state_reads_rows && state->append >= 0 && c < state->caches)
            add_state_rows(parts, check, state->cache[c], &view->append, &view->rows[c]);
    }
}

static enum status copy_state_part(struct side *side, uint8_t *base, const struct part *part,
                                   struct error *err)
{
    if (part->height == 1)
        return cuda_check(
            err, cuda.cuMemcpyDtoHAsync(base + part->at, part->from, part->width, side->stream),
            "cuMemcpyDtoHAsync");
    const CUDA_MEMCPY2D plane = {
        .srcMemoryType = CU_MEMORYTYPE_DEVICE,
        .srcDevice = part->from,
        .srcPitch = part->pitch,
        .dstMemoryType = CU_MEMORYTYPE_HOST,
        .dstHost = base + part->at,
        .dstPitch = part->width,
        .WidthInBytes = part->width,
        .Height = part->height,
    };
    return cuda_check(err, cuda.cuMemcpy2DAsync(&plane, side->stream), "cuMemcpy2DAsync");
}

enum status state_fetch(struct side *side, struct lane *lane, struct error *err)
{
    struct state_view view;
    enum status status = STATUS_OK;
    lane->fetched = false;
    if (!check_spec(lane->check)->plan->state || !cuda.cuMemcpy2DAsync)
        return STATUS_OK;
    if (!lane->state_host)
        status = cuda_check(err, cuda.cuMemHostAlloc(&lane->state_host, STATE_BYTES, 0),
                            "cuMemHostAlloc");
    if (status)
        return status;
    struct parts parts = {.base = lane->state_host};
    lay_out_state(lane->check, &parts, &view);
    for (int i = 0; !status && i < parts.count; i++)
        status = copy_state_part(side, parts.base, &parts.part[i], err);
    lane->fetched = !status;
    return status;
}

void state_view(const struct lane *lane, struct state_view *view)
{
    struct parts parts = {.base = lane->state_host};
    lay_out_state(lane->check, &parts, view);
}
