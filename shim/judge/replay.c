#include "judge/replay.h"

#include <math.h>
#include <string.h>
#include "refs/abi/ref_batch.h"
#include "refs/abi/ref_merge.h"
#include "extra/fetch.h"
#include "judge/judges.h"
#include "judge/modules/module_variables.h"
#include "lang/dtype.h"
#include "lift/lift.h"
#include "lift/lift_abi.h"
#include "lifted/side_lift.h"

/* A reference holds up whole-GPU kernels of the program for as long as one launch of it runs, so a
 * big check runs in pieces of some tens of microseconds each. */
static const uint64_t piece_bytes = 64u << 20;

enum { BYTES_PER_BLOCK = 4096, FEWEST_BLOCKS = 64 };

/* Bounds in f64, and those of chains that truncate, are carried by one variant alone. */
static bool is_wide(const struct ref_call *call, int tensors)
{
    for (int i = 0; i < tensors; i++) {
        if (call->tensor[i].dtype == DTYPE_F64)
            return true;
    }
    return call->unit_roundoff < 0x1p-40 || call->chain_roundoff > 0;
}

/* Dense rows of whole words of 16 bytes, from an aligned base. */
static bool is_dense(const struct ref_tensor *tensor, const void *base, int64_t size)
{
    if ((uintptr_t)base % 16 || tensor->stride[tensor->ndim - 1] != 1)
        return false;
    for (int i = 0; i + 1 < tensor->ndim; i++) {
        if (tensor->dim[i] > 1 && tensor->stride[i] * size % 16)
            return false;
    }
    return true;
}

/* The quickest kernel for these arrays; any of them would be right, but special ones have no
 * rounding points, and wider bounds where inputs are rounded. */
static enum ref_variant choose_variant(const struct ref_builtin *reference,
                                       const struct ref_call *call, int tensors)
{
    static const enum ref_variant special[DTYPE_COUNT] = {
        [DTYPE_BF16] = REF_BF16, [DTYPE_F16] = REF_F16, [DTYPE_F32] = REF_F32};
    if (is_wide(call, tensors))
        return REF_WIDE;
    enum ref_variant variant = special[call->tensor[0].dtype];
    int64_t size = call->tensor[0].dtype == DTYPE_F32 ? 4 : 2;
    if (!variant || !reference->symbol[variant] || binding_has_points(call) ||
        call->input_roundoff > 0)
        return REF_ANY;
    for (int i = 0; i < tensors; i++) {
        const struct ref_tensor *tensor = &call->tensor[i];
        const void *base = tensor->in ? tensor->in : tensor->got;
        bool row_result = !tensor->in && tensor->ndim == 1; /* one element a row: never hot */
        if (base && !row_result &&
            (tensor->dtype != call->tensor[0].dtype || !is_dense(tensor, base, size)))
            return REF_ANY;
    }
    return variant;
}

/* Strides over the program's memory become strides over the snapshot, where rows may have moved
 * together: a stride that steps over rows steps over packed rows. */
static int64_t packed_stride(int64_t stride, const struct bound_array *array,
                             const struct placement *placement)
{
    for (int i = 0; i < array->ndim && stride > 0; i++) {
        if (stride >= array->stride[i])
            return stride / array->stride[i] * placement->stride[i];
    }
    return stride;
}

static void repitch(struct ref_tensor *tensor, const struct check *check, int index)
{
    const struct bound_array *array = &check->binding.array[index];
    const struct placement *placement = &check->placement[index];
    if (array->ndim != 2 && !binding_gathers(&check->binding, index))
        return;
    for (int i = 0; i < tensor->ndim; i++)
        tensor->stride[i] = packed_stride(tensor->stride[i], array, placement);
}

static const void *at(const struct check *check, int64_t offset)
{
    return offset == NOT_COPIED ? NULL
                                : (const void *)(uintptr_t)(check->room.at + (uint64_t)offset);
}

/* The reference's view of the snapshot. */
static void fill_tensors(const struct check *check, struct ref_call *call)
{
    for (int i = 0; i < check->binding.tensors; i++) {
        struct ref_tensor *tensor = &call->tensor[i];
        int index = check->binding.tensor_array[i];
        tensor->in = tensor->got = NULL;
        if (index < 0)
            continue;
        const struct bound_array *array = &check->binding.array[index];
        const struct placement *placement = &check->placement[index];
        if (array->role != ROLE_WRITE)
            tensor->in =
                at(check, placement->before != NOT_COPIED ? placement->before : placement->after);
        if (role_writes(array->role))
            tensor->got = at(check, placement->after);
        tensor->bytes = (int64_t)placement->bytes;
        repitch(tensor, check, index);
    }
}

/* Of one launch: as many as are resident at once, for each has a beginning and an end that cost as
 * much as some rows. */
static uint32_t most_blocks(const struct side_reference *reference)
{
    return reference->blocks < REF_MAX_BLOCKS ? reference->blocks : REF_MAX_BLOCKS;
}

/* That the check takes where it is alone: fewer for a small one. */
static uint32_t blocks_wanted(const struct check *check)
{
    uint64_t blocks = check->room.bytes / BYTES_PER_BLOCK, most = most_blocks(check->reference);
    if (blocks < FEWEST_BLOCKS)
        blocks = FEWEST_BLOCKS;
    return (uint32_t)(blocks < most ? blocks : most);
}

static void add_ref_call(struct side *side, struct ref_batch *launch, struct ref_call *calls,
                         struct lane *lane, const struct ref_call *call, uint32_t blocks)
{
    struct ref_call *own = ref_batch_add(launch, calls, call, blocks);
    lane->sequence = atomic_fetch_add(&side->sequence, 1);
    own->group = ref_batch_group(call, blocks);
    own->sequence = lane->sequence;
    own->partial = (struct ref_verdict *)(uintptr_t)lane->partial + own->first_block;
    own->answer = (struct ref_verdict *)(uintptr_t)lane->answer_device;
    own->ticket = (uint32_t *)(uintptr_t)lane->ticket;
}

/* With several calls `calls` is pinned, and unchanged until the kernel has written its verdicts;
 * `there` is their place on the device. */
static enum status launch_reference(struct side *side, const struct side_reference *reference,
                                    struct ref_batch *batch, const struct ref_call *calls,
                                    CUdeviceptr there, struct error *err)
{
    void *params[] = {batch};
    uint64_t bytes = ref_batch_close(batch, calls, there);
    if (bytes && cuda_check(err, cuda.cuMemcpyHtoDAsync(there, calls, bytes, side->stream),
                            "cuMemcpyHtoDAsync"))
        return STATUS_DRIVER;
    return cuda_check(err,
                      cuda.cuLaunchKernel(reference->function, batch->blocks, 1, 1, REF_THREADS, 1,
                                          1, 0, side->stream, params, NULL),
                      "launching a reference");
}

/* The kernel's own PTX in place of a reference: one launch, of one check. */
static enum status launch_lifted(struct side *side, struct lane *lane, struct error *err)
{
    struct ref_call call = lane->check->binding.call;
    fill_tensors(lane->check, &call);
    return side_lift_launch(side, lane, lane->check, &call, false, err);
}

/* The next pieces of `count` lanes' checks. */
static enum status launch_pieces(struct side *side, struct lane *lanes, int count,
                                 struct error *err)
{
    const struct side_reference *reference = lanes->check->reference;
    if (check_spec(lanes->check)->lift)
        return launch_lifted(side, lanes, err);
    struct ref_batch batch = {0};
    uint64_t all = 0;
    for (int i = 0; i < count; i++)
        all += blocks_wanted(lanes[i].check);
    for (int i = 0; i < count; i++) {
        const struct check *check = lanes[i].check;
        struct ref_call call = check->binding.call;
        fill_tensors(check, &call);
        call.piece = lanes[i].piece;
        call.pieces = lanes[i].pieces;
        add_ref_call(side, &batch, lanes->calls, &lanes[i], &call,
                     ref_batch_share(blocks_wanted(check), all, most_blocks(reference)));
    }
    return launch_reference(side, reference, &batch, lanes->calls, lanes->calls_device, err);
}

enum status replay_prepare(struct side *side, struct check *check, struct error *err)
{
    const struct ref_builtin *reference = check_spec(check)->reference;
    if (check->reference)
        return STATUS_OK;
    if (check_spec(check)->lift) {
        check->reference = side_lift_reference(side, check_spec(check));
        return check->reference ? STATUS_OK
                                : error_set(err, STATUS_DRIVER, "its lifted PTX is not loaded");
    }
    struct ref_call call = check->binding.call;
    fill_tensors(check, &call);
    check->reference = side_reference(
        side, reference, choose_variant(reference, &call, check->binding.tensors), err);
    return check->reference ? STATUS_OK : STATUS_DRIVER;
}

/* A lifted kernel runs in one: its grid is the program's. Half as many bytes again are no reason
 * for one more, which begins and ends as they all do. */
static int piece_count(const struct check *check)
{
    uint64_t pieces = (check->room.bytes + piece_bytes / 2) / piece_bytes;
    return pieces > 1 && !check_spec(check)->lift ? (int)pieces : 1;
}

bool replay_alone(const struct check *check)
{
    return piece_count(check) > 1 || judges_want_order(check) || check_spec(check)->lift;
}

void replay_call(const struct check *check, struct ref_call *call)
{
    *call = check->binding.call;
    fill_tensors(check, call);
}

/* What runs before the reference is enqueued; the lane is the check's. */
static enum status begin_replay(struct side *side, struct lane *lane, struct check *check,
                                double share, struct error *err)
{
    lane->check = check;
    lane->share = share;
    lane->piece = 0;
    lane->pieces = piece_count(check);
    ref_verdict_clear(&lane->numbers);
    check->started = true;
    return judges_enqueue(side, lane, err);
}

enum status replay_start(struct side *side, struct batch *batch, struct check *const *checks,
                         int count, struct error *err)
{
    enum status status = STATUS_OK;
    uint64_t bytes = 0;
    for (int i = 0; i < count; i++)
        bytes += checks[i]->room.bytes;
    for (int i = 0; !status && i < count; i++)
        status = begin_replay(side, &batch->lane[i], checks[i],
                              bytes ? (double)checks[i]->room.bytes / (double)bytes : 1, err);
    if (!status)
        status = launch_pieces(side, batch->lane, count, err);
    for (int i = 0; status && i < count; i++)
        batch->lane[i].check = NULL;
    return status;
}

/* The GPU writes the sequence last, after a system-scope fence. */
static bool has_verdict(const struct lane *lane)
{
    return __atomic_load_n(&lane->answer->sequence, __ATOMIC_ACQUIRE) == lane->sequence;
}

enum replay_progress replay_poll(struct lane *lane)
{
    if (!has_verdict(lane))
        return REPLAY_RUNNING;
    struct ref_verdict answer = *lane->answer;
    answer.busy = (uint64_t)((double)answer.busy * lane->share);
    ref_verdict_merge(&lane->numbers, &answer);
    lane->piece++;
    return lane->piece < lane->pieces ? REPLAY_PIECE_DONE : REPLAY_DONE;
}

enum status replay_next(struct side *side, struct lane *lane, struct error *err)
{
    return launch_pieces(side, lane, 1, err);
}

/* ---- for bundles ---- */

/* Offset in the snapshot of dense row `row` of the array, where a row is the innermost dim. */
static uint64_t row_offset(const struct check *check, int index, uint64_t row)
{
    const struct bound_array *array = &check->binding.array[index];
    uint64_t size = dtype_bytes(array->dtype), offset = 0;
    for (int i = array->ndim - 2; i >= 0; i--) {
        uint64_t dim = (uint64_t)binding_seen(&check->binding, index, i);
        offset += row % dim * (uint64_t)check->placement[index].stride[i] * size;
        row /= dim;
    }
    return offset;
}

int replay_has_array(void *user, int index, int after)
{
    const struct replay_source *source = user;
    const struct placement *placement = &source->check->placement[index];
    bool is_read = source->check->binding.array[index].role == ROLE_READ;
    if (source->check->binding.array[index].guard)
        return 0;
    if (after)
        return !is_read && placement->after != NOT_COPIED;
    return placement->before != NOT_COPIED || (is_read && placement->after != NOT_COPIED);
}

/* A window of the snapshot in pinned memory, moved along as rows are read. */
struct window {
    uint64_t base, span;  /* device address of element 0, bytes behind it */
    uint64_t start, size; /* what the staging buffer holds */
};

static enum status window_copy(struct side *side, struct window *window, uint64_t offset, void *out,
                               size_t bytes)
{
    while (bytes) {
        if (offset < window->start || offset >= window->start + window->size) {
            window->start = offset;
            window->size =
                window->span - offset < STAGING_BYTES ? window->span - offset : STAGING_BYTES;
            enum status status = fetch(side, window->base + offset, window->size);
            if (status)
                return status;
        }
        size_t there = (size_t)(window->start + window->size - offset);
        size_t part = bytes < there ? bytes : there;
        memcpy(out, (char *)side->staging_host + (offset - window->start), part);
        out = (char *)out + part;
        offset += part;
        bytes -= part;
    }
    return STATUS_OK;
}

enum status replay_read_array(void *user, int index, int after, uint64_t offset, void *out,
                              size_t size)
{
    const struct replay_source *source = user;
    const struct bound_array *array = &source->check->binding.array[index];
    const struct placement *placement = &source->check->placement[index];
    int64_t place = after || placement->before == NOT_COPIED ? placement->after : placement->before;
    uint64_t element = dtype_bytes(array->dtype);
    bool scalar_rows = array->stride[array->ndim - 1] != 1;
    uint64_t columns = (uint64_t)binding_seen(&source->check->binding, index, array->ndim - 1);
    uint64_t row_bytes = columns * element;
    struct window window = {.base = source->check->room.at + (uint64_t)place,
                            .span = placement->bytes};

    while (size) {
        uint64_t row = offset / row_bytes, inside = offset % row_bytes;
        uint64_t from = row_offset(source->check, index, row);
        size_t part = (size_t)(row_bytes - inside);
        if (scalar_rows) { /* a strided innermost dim: element by element */
            from += inside / element * (uint64_t)placement->stride[array->ndim - 1] * element +
                    inside % element;
            part = (size_t)(element - inside % element);
        } else {
            from += inside;
        }
        if (part > size)
            part = size;
        enum status status = window_copy(source->side, &window, from, out, part);
        if (status)
            return status;
        out = (char *)out + part;
        offset += part;
        size -= part;
    }
    return STATUS_OK;
}

int replay_has_reference(void *user, int tensor)
{
    const struct replay_source *source = user;
    int index = source->check->binding.tensor_array[tensor];
    return index >= 0 && role_writes(source->check->binding.array[index].role);
}

/* Makes a call of store mode, for `count` elements of a tensor from `first` on, which are `cells`
 * numbers of the staging buffer. All bits set is a NaN: what the reference does not visit stays
 * one. */
static enum status begin_store(const struct replay_source *source, int tensor, int64_t first,
                               int64_t count, int64_t cells, struct ref_call *call)
{
    struct side *side = source->side;
    struct error err = {{0}};
    enum status status = side_staging(side, &err);
    if (status)
        return status;
    *call = source->check->binding.call;
    fill_tensors(source->check, call);
    call->piece = 0;
    call->pieces = 1;
    call->store = (double *)(uintptr_t)side->staging;
    call->store_tensor = call->tensor[tensor].id;
    call->store_first = first;
    call->store_count = count;
    return cuda_check(
        &err, cuda.cuMemsetD32Async(side->staging, UINT32_MAX, (size_t)cells * 2, side->stream),
        "memset");
}

/* Store mode over one window of the staging buffer. */
static enum status store_window(const struct replay_source *source, int tensor, int64_t first,
                                int64_t count)
{
    struct side *side = source->side;
    struct error err = {{0}};
    struct ref_batch batch = {0};
    struct ref_call one, call;
    enum status status = begin_store(source, tensor, first, count, count, &call);
    if (status)
        return status;
    if (check_spec(source->check)->lift) {
        status = side_lift_launch(side, source->lane, source->check, &call, false, &err);
    } else {
        add_ref_call(side, &batch, &one, source->lane, &call, blocks_wanted(source->check));
        status = launch_reference(side, source->check->reference, &batch, &one, 0, &err);
    }
    return status ? status : fetch(side, side->staging, (size_t)count * sizeof(double));
}

enum status replay_read_reference(void *user, int tensor, int64_t first, int64_t count, double *out)
{
    const struct replay_source *source = user;
    const int64_t most = STAGING_BYTES / (int64_t)sizeof(double);
    while (count > 0) {
        int64_t part = count < most ? count : most;
        enum status status = store_window(source, tensor, first, part);
        if (status)
            return status;
        memcpy(out, source->side->staging_host, (size_t)part * sizeof(double));
        out += part;
        first += part;
        count -= part;
    }
    return STATUS_OK;
}

bool replay_read_variables(void *user, struct bundle_variables *out)
{
    struct replay_source *source = user;
    module_variables_free(source->variables);
    source->variables = module_variables_read(source->side, source->check, source->image,
                                              source->image_bytes, source->arch);
    if (source->variables)
        module_variables_list(source->variables, out);
    return source->variables != NULL;
}

/* The tensor of the call that a verdict names; -1: none. */
static int find_tensor(const struct binding *binding, uint32_t id)
{
    int tensor = binding->tensors - 1;
    while (tensor >= 0 && binding->call.tensor[tensor].id != id)
        tensor--;
    return tensor;
}

/* Where a place is not known, neither what was written there is, nor what was expected. */
static bool is_known(double got, double ref)
{
    return !isnan(got) || !isnan(ref);
}

bool replay_known_place(const struct ref_verdict *numbers, struct replay_place *place)
{
    *place = (struct replay_place){numbers->first_tensor, numbers->first_index, numbers->first_ref,
                                   numbers->first_bound};
    if (is_known(numbers->first_got, numbers->first_ref))
        return true;
    *place = (struct replay_place){numbers->worst_tensor, numbers->worst_index, numbers->worst_ref,
                                   numbers->worst_bound};
    return is_known(numbers->worst_got, numbers->worst_ref);
}

/* What a lifted kernel stores to one element. */
static enum status read_extremes(const struct replay_source *source, int tensor, int64_t index,
                                 double out[LIFT_EXTREMES])
{
    struct side *side = source->side;
    struct error err = {{0}};
    struct ref_call call;
    enum status status = begin_store(source, tensor, index, 1, LIFT_EXTREMES, &call);
    if (!status)
        status = side_lift_launch(side, source->lane, source->check, &call, true, &err);
    if (!status)
        status = fetch(side, side->staging, LIFT_EXTREMES * sizeof(double));
    if (!status)
        memcpy(out, side->staging_host, LIFT_EXTREMES * sizeof(double));
    return status;
}

/* Whether just one element of an array of indices is `value`; false, too: it cannot be read. */
static bool stands_once(const struct replay_source *source, int array, double value)
{
    const struct bound_array *of = &source->check->binding.array[array];
    const struct placement *placement = &source->check->placement[array];
    const uint64_t element = dtype_bytes(of->dtype), all = of->bytes / element * element;
    const CUdeviceptr base =
        source->check->room.at +
        (uint64_t)(placement->before != NOT_COPIED ? placement->before : placement->after);
    unsigned found = 0;
    for (uint64_t at = 0; at < all && found < 2; at += STAGING_BYTES) {
        const uint64_t bytes = all - at < STAGING_BYTES ? all - at : STAGING_BYTES;
        if (fetch(source->side, base + at, bytes))
            return false;
        const int64_t *wide = source->side->staging_host;
        const int32_t *narrow = source->side->staging_host;
        for (uint64_t i = 0; i < bytes / element && found < 2; i++)
            found += (double)(element == sizeof *wide ? wide[i] : narrow[i]) == value;
    }
    return found == 1;
}

/* Whether other stores may go to an element, whose place memory names: those of blocks that the
 * check does not cover, behind any address, and those to another copy of its row. `index`: the
 * number that names it. */
static bool stored_elsewhere(const struct replay_source *source, int tensor, double index)
{
    const struct lift_view *view;
    const struct binding *binding = &source->check->binding;
    lift_views(check_spec(source->check)->lift, &view);
    if (view[tensor].listed && binding->picks)
        return true;
    if (!view[tensor].scattered || !(binding->picks || view[tensor].rows))
        return false;
    int array = view[tensor].index < 0 ? -1 : binding->tensor_array[view[tensor].index];
    return array < 0 || !stands_once(source, array, index);
}

enum skip replay_written_again(struct side *side, struct lane *lane, struct error *why)
{
    struct check *check = lane->check;
    struct replay_source source = {.side = side, .lane = lane, .check = check};
    struct replay_place at;
    double stored[LIFT_EXTREMES];
    if (!check_spec(check)->lift)
        return SKIP_NONE;
    if (!replay_known_place(&lane->numbers, &at)) {
        error_set(
            why, STATUS_INVALID,
            "too many elements are outside the bound at once: neither the first nor the worst was "
            "kept, so a wrong store and several stores to one element cannot be distinguished");
        return SKIP_REFUSED;
    }
    int tensor = find_tensor(&check->binding, at.tensor);
    if (tensor < 0)
        return SKIP_NONE;
    const char *name = check->binding.array[check->binding.tensor_array[tensor]].name;
    const unsigned long long element = (unsigned long long)at.index;
    if (read_extremes(&source, tensor, (int64_t)at.index, stored))
        error_set(why, STATUS_INVALID,
                  "element %llu of '%s' is outside the bound, but whether it is stored to several "
                  "times cannot be read",
                  element, name);
    else if (!isnan(stored[LIFT_LEAST]) && stored[LIFT_LEAST] != stored[LIFT_MOST])
        error_set(why, STATUS_INVALID,
                  "it stores to element %llu of '%s' several times: %.17g, and %.17g; expected one "
                  "store to each element of what its own PTX is to judge",
                  element, name, stored[LIFT_LEAST], stored[LIFT_MOST]);
    else if (stored_elsewhere(&source, tensor, stored[LIFT_INDEX]))
        error_set(why, STATUS_INVALID,
                  "element %llu of '%s' is outside the bound, but another store may go to it, too: "
                  "the index of its place occurs several times, or is not known",
                  element, name);
    else
        return SKIP_NONE;
    return SKIP_REFUSED;
}
