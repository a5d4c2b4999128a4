#include "lifted/side_lift.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include "bind/extent.h"
#include "compile/ptx_compiler.h"
#include "lang/dtype.h"
#include "lift/lift.h"
#include "lift/lift_abi.h"
#include "lifted/lift_params.h"
#include "system/log.h"

_Static_assert(sizeof(struct lift_call) <= sizeof(struct ref_call), "it takes a ref_call's place");
_Static_assert(sizeof(struct lift_figures) <= REF_MAX_BLOCKS * sizeof(struct ref_verdict),
               "they take the blocks' place");

enum state { NONE, WANTED, READY, FAILED };

struct side_lift {
    _Atomic(const struct kernel_spec *) spec;
    _Atomic(int) state;               /* enum state */
    _Atomic(struct lift_code *) code; /* what it waits for or has; NULL: not known yet */
    struct side_reference reference;
    int shared; /* dynamic, that the kernel may have */
};

/* Of shadows of shared memory that has no room for them; a block whose launch finds no place waits
 * for another's. */
enum { PLACES_BYTES = 64 << 20 };

struct side_lifts {
    struct ptx_compiler *compiler;
    atomic_uint requested;
    unsigned forwarded, seen; /* of these, and of the compiler's results, that were acted on */
    bool warned;              /* of a kernel that could not be loaded */
    CUdeviceptr places;       /* PLACES_BYTES, struct lift_slot in front; 0: none were needed yet */
    struct side_lift lift[SIDE_LIFTS];
};

void side_lifts_open(struct side *side, struct ptx_compiler *compiler)
{
    side->refs.lifts = calloc(1, sizeof *side->refs.lifts);
    if (side->refs.lifts)
        side->refs.lifts->compiler = compiler;
}

/* The place of a spec, which may be another's: then there is none for it. */
static struct side_lift *side_lift_of(struct side *side, const struct kernel_spec *spec)
{
    const struct kernel_spec *none = NULL;
    if (!side->refs.lifts)
        return NULL;
    struct side_lift *lift = &side->refs.lifts->lift[spec->number % SIDE_LIFTS];
    if (atomic_load_explicit(&lift->spec, memory_order_acquire) == spec)
        return lift;
    return atomic_compare_exchange_strong(&lift->spec, &none, spec) || none == spec ? lift : NULL;
}

static void count_missed(struct side_lift *lift)
{
    struct lift_code *code = atomic_load_explicit(&lift->code, memory_order_acquire);
    if (code)
        atomic_fetch_add_explicit(&code->missed, 1, memory_order_relaxed);
}

enum skip side_lift_request(struct side *side, const struct kernel_spec *spec, bool *wake)
{
    struct side_lift *lift = side_lift_of(side, spec);
    int none = NONE;
    *wake = false;
    if (!lift)
        return SKIP_NOT_COMPILED;
    int state = atomic_load_explicit(&lift->state, memory_order_acquire);
    if (state == NONE && atomic_compare_exchange_strong(&lift->state, &none, WANTED)) {
        atomic_fetch_add(&side->refs.lifts->requested, 1);
        *wake = true;
    }
    if (state == WANTED)
        count_missed(lift);
    return state == READY ? SKIP_NONE : SKIP_NOT_COMPILED;
}

/* Shortens an array of one dim to what fits `room` bytes; not to none. */
static void clip(struct binding *binding, int index, uint64_t room)
{
    struct bound_array *array = &binding->array[index];
    uint64_t element = array->bytes / (uint64_t)array->dim[0];
    int64_t count = (int64_t)(room / element);
    if (room >= array->bytes || count == 0)
        return;
    array->bytes = element * (uint64_t)count;
    array->dim[0] = count;
    for (int i = 0; i < binding->tensors; i++) {
        if (binding->tensor_array[i] == index)
            binding->call.tensor[i].dim[0] = count;
    }
}

enum {
    ROW_BYTES = 64 << 10, /* behind an address, until a check has reached farther */
    MOST_ADDRESSES = 1024 /* of a table, all of which each access is held against */
};

/* What addresses lead to may end with its memory at once, or where no check has reached: of an
 * array of rows, one run of elements each. */
static void clip_rows(struct binding *binding, int index, uint64_t reached)
{
    struct bound_array *array = &binding->array[index];
    const uint64_t element = dtype_bytes(array->dtype);
    const uint64_t most = reached > ROW_BYTES ? reached : ROW_BYTES;
    array->rows.reach = element;
    if ((uint64_t)array->dim[1] * element <= most)
        return;
    array->dim[1] = array->stride[0] = array->rows.run = array->rows.stride[0] =
        (int64_t)(most / element);
    array->bytes = (uint64_t)array->dim[0] * most;
    for (int i = 0; i < binding->tensors; i++) {
        if (binding->tensor_array[i] == index)
            binding->call.tensor[i].dim[1] = binding->call.tensor[i].stride[0] = array->dim[1];
    }
}

/* Whether scattered stores to a tensor's array may go to what is read from another's: where a row
 * is named twice, what is read there depends on which store came first. `launch` has the arrays'
 * starts: those of the binding are a window's. An array of no known extent counts as one byte. */
static bool scatters_to(const struct lift_view *view, const struct binding *binding,
                        const struct launch *launch, const struct param_layout *layout,
                        const int tensor[2])
{
    uint64_t start[2], end[2];
    for (int k = 0; k < 2; k++) {
        const struct lift_view *of = &view[tensor[k]];
        const int index = binding->tensor_array[tensor[k]];
        if (index < 0)
            return false;
        const struct bound_array *array = &binding->array[index];
        start[k] = array->address;
        if (!of->dims && of->param < layout->count && of->param < LAYOUT_MAX)
            launch_read(launch, of->param, layout->param[of->param].offset, 0, sizeof start[k],
                        &start[k]);
        end[k] = of->extent || of->rows ? array->address + bound_reach(array) : start[k] + 1;
    }
    return start[0] < end[1] && start[1] < end[0];
}

/* An array that is read, of whose memory the stores of tensor `written` may be; -1: there is none.
 */
static int find_read_by_scatter(const struct lift *lift, const struct binding *binding,
                                const struct launch *launch, const struct param_layout *layout,
                                int written)
{
    const struct lift_view *view;
    const int views = (int)lift_views(lift, &view);
    for (int i = 0; i < views; i++) {
        const int pair[] = {written, i};
        if (view[i].role != ROLE_WRITE && scatters_to(view, binding, launch, layout, pair))
            return i;
    }
    return -1;
}

static enum skip refuse_scattered(const struct lift *lift, const struct binding *binding,
                                  const struct launch *launch, const struct param_layout *layout,
                                  struct error *why)
{
    const struct lift_view *view;
    const int views = (int)lift_views(lift, &view);
    for (int i = 0; i < views; i++) {
        const int read =
            view[i].scattered ? find_read_by_scatter(lift, binding, launch, layout, i) : -1;
        if (read < 0)
            continue;
        error_set(why, STATUS_UNSUPPORTED,
                  "'p%u' is written at places from memory, and 'p%u' is read: they are the same "
                  "memory",
                  view[i].param, view[read].param);
        return SKIP_SHAPE;
    }
    return SKIP_NONE;
}

/* Two arrays that begin at one address, or have one table of addresses, and are both written: of
 * each element the last store alone is left to compare, whichever array it was of. */
static enum skip refuse_shared(const struct binding *binding, struct error *why)
{
    const struct bound_array *array = binding->array;
    for (int i = 0; i < binding->arrays; i++) {
        for (int j = 0; j < i; j++) {
            if (array[i].address == array[j].address && role_writes(array[i].role) &&
                role_writes(array[j].role)) {
                error_set(why, STATUS_UNSUPPORTED,
                          "'%s' and '%s' are written, and are the same memory", array[j].name,
                          array[i].name);
                return SKIP_SHAPE;
            }
        }
    }
    return SKIP_NONE;
}

/* Rows that a clipped array names. */
static void clip_touched(struct binding *binding, int index)
{
    struct bound_array *array = &binding->array[index];
    array->rows.kept = true;
    array->dim[0] = binding->array[bound_ids(array)].dim[0];
    array->bytes = (uint64_t)array->dim[0] * (uint64_t)array->dim[1] * dtype_bytes(array->dtype);
    for (int i = 0; i < binding->tensors; i++) {
        if (binding->tensor_array[i] == index)
            binding->call.tensor[i].dim[0] = array->dim[0];
    }
}

/* Tables of which the check has a part, or that are too long. */
static enum skip refuse_tables(const struct binding *binding, struct error *why)
{
    for (int i = 0; i < binding->arrays; i++) {
        const struct bound_array *array = &binding->array[i];
        if (!array->rows.listed)
            continue;
        const int64_t there = binding->array[bound_ids(array)].dim[0];
        if (there < array->dim[0]) {
            error_set(why, STATUS_UNSUPPORTED,
                      "the memory of '%s' ends behind %lld of the %lld addresses that it may have",
                      array->name, (long long)there, (long long)array->dim[0]);
            return SKIP_EXTENT;
        }
        if (there > MOST_ADDRESSES) {
            error_set(why, STATUS_UNSUPPORTED, "'%s' has %lld addresses, more than %d", array->name,
                      (long long)there, MOST_ADDRESSES);
            return SKIP_TOO_LARGE;
        }
    }
    return SKIP_NONE;
}

enum skip side_lift_clip(const struct lift *lift, struct binding *binding,
                         const struct launch *launch, const struct param_layout *layout,
                         struct error *why)
{
    if (binding->picks && binding->pick[0].count == 1)
        binding->picks = 0; /* it covers the whole launch */
    for (int i = 0; i < binding->arrays; i++) {
        uint64_t room = 0;
        if (binding->array[i].rows.listed) {
            clip_rows(binding, i, lift_reached(lift));
            continue;
        }
        if (binding->array[i].rows.by)
            continue;
        if (extent_room(binding->array[i].address, &room, why)) {
            error_prefix(why, "argument '%s'", binding->array[i].name);
            return SKIP_EXTENT;
        }
        clip(binding, i, room);
    }
    for (int i = 0; i < binding->arrays; i++) {
        if (binding->array[i].rows.by && !binding->array[i].rows.listed)
            clip_touched(binding, i);
    }
    enum skip skip = refuse_tables(binding, why);
    skip = skip ? skip : refuse_shared(binding, why);
    return skip ? skip : refuse_scattered(lift, binding, launch, layout, why);
}

bool side_lifts_due(const struct side *side)
{
    struct side_lifts *lifts = side->refs.lifts;
    return lifts && (atomic_load(&lifts->requested) !=
                         __atomic_load_n(&lifts->forwarded, __ATOMIC_RELAXED) ||
                     ptx_compiler_results(lifts->compiler) !=
                         __atomic_load_n(&lifts->seen, __ATOMIC_RELAXED));
}

/* ---- loading ---- */

static int side_arch(const struct side *side)
{
    int major = 0, minor = 0;
    cuda.cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, side->device);
    cuda.cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, side->device);
    return 10 * major + minor;
}

/* The most dynamic shared memory that a launch may have of it. */
static void allow_shared(struct side *side, struct side_lift *lift)
{
    int most = 0, fixed = 0;
    CUfunction function = lift->reference.function;
    lift->shared = 48 << 10;
    if (!cuda.cuFuncGetAttribute || !cuda.cuFuncSetAttribute ||
        cuda.cuDeviceGetAttribute(&most, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN,
                                  side->device) ||
        cuda.cuFuncGetAttribute(&fixed, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, function))
        return;
    if (!cuda.cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                 most - fixed))
        lift->shared = most - fixed;
}

static enum status load_lift(struct side *side, struct side_lift *lift, const char *image,
                             struct error *err)
{
    CUmodule module = NULL;
    enum status status =
        cuda_check(err, cuda.cuModuleLoadData(&module, image), "loading its machine code");
    if (!status)
        status =
            cuda_check(err, cuda.cuModuleGetFunction(&lift->reference.function, module, LIFT_ENTRY),
                       LIFT_ENTRY);
    lift->reference.blocks = 1;
    if (!status)
        allow_shared(side, lift);
    return status;
}

/* A context in error refuses every kernel: the first is a warning, the others are information. */
static void complain_of_lift(struct side *side, const struct kernel_spec *spec, bool missing,
                             const char *why)
{
    bool *warned = &side->refs.lifts->warned;
    if (missing)
        log_once(LOG_WARN, "kernels without an entry are not held against their own PTX: %s", why);
    else if (atomic_load(&side->state) != SIDE_GONE)
        log_line(*warned ? LOG_INFO : LOG_WARN,
                 "%s: unchecked: its lifted PTX cannot be loaded on device %d: %s", spec->label,
                 side->device, why);
    *warned |= !missing;
}

/* `code` NULL: there is no room for the machine code of one more architecture. */
static void settle_lift(struct side *side, struct side_lift *lift, const struct lift_code *code)
{
    const struct kernel_spec *spec = atomic_load(&lift->spec);
    struct error err = {{0}};
    bool ready = code && atomic_load(&code->state) == LIFT_CODE_READY;
    enum status status = ready ? load_lift(side, lift, code->image, &err) : STATUS_UNSUPPORTED;
    if (status)
        complain_of_lift(side, spec, code && !ready && code->missing,
                         !code   ? "the process has devices of too many architectures"
                         : ready ? err.text
                                 : code->why.text);
    atomic_store_explicit(&lift->state, status ? FAILED : READY, memory_order_release);
}

/* Has a wanted kernel compiled, or loads its machine code once that is there. */
static void step_lift(struct side *side, struct side_lift *lift, int arch)
{
    const struct lift *from = atomic_load(&lift->spec)->lift;
    struct lift_code *code = lift_code(from, arch);
    int none = LIFT_CODE_NONE;
    atomic_store_explicit(&lift->code, code, memory_order_release);
    if (code && atomic_compare_exchange_strong(&code->state, &none, LIFT_CODE_QUEUED))
        ptx_compiler_request(side->refs.lifts->compiler, from, code);
    else if (none != LIFT_CODE_QUEUED)
        settle_lift(side, lift, code);
}

void side_lifts_load(struct side *side)
{
    struct side_lifts *lifts = side->refs.lifts;
    const unsigned requested = atomic_load(&lifts->requested);
    const unsigned results = ptx_compiler_results(lifts->compiler);
    const int arch = side_arch(side);
    for (unsigned i = 0; i < SIDE_LIFTS && atomic_load(&side->state) == SIDE_READY; i++) {
        if (atomic_load(&lifts->lift[i].state) == WANTED)
            step_lift(side, &lifts->lift[i], arch);
    }
    __atomic_store_n(&lifts->forwarded, requested, __ATOMIC_RELAXED);
    __atomic_store_n(&lifts->seen, results, __ATOMIC_RELAXED);
}

const struct side_reference *side_lift_reference(struct side *side, const struct kernel_spec *spec)
{
    struct side_lift *lift = side_lift_of(side, spec);
    return lift && atomic_load(&lift->state) == READY ? &lift->reference : NULL;
}

/* ---- launching ---- */

/* Where the array lies in the snapshot. One that lies otherwise in a unit of 16 bytes than the
 * program's is left out: an access of a vector would not be aligned. */
static void fill_array(struct lift_array *out, const struct binding *binding, int tensor,
                       const struct ref_tensor *from)
{
    int index = binding->tensor_array[tensor];
    if (index < 0)
        return;
    const struct bound_array *array = &binding->array[index];
    uint64_t base = array->rows.listed ? 0 : array->address, in = (uint64_t)(uintptr_t)from->in;
    uint64_t got = (uint64_t)(uintptr_t)from->got;
    if ((in && (in ^ base) % 16) || (got && (got ^ base) % 16))
        return;
    *out = (struct lift_array){.base = base,
                               .in = in ? in : got,
                               .got = got ? got : in,
                               .bytes = (uint64_t)from->bytes,
                               .id = from->id,
                               .rows = LIFT_WHOLE};
    if (array->rows.by && !array->rows.listed) {
        const uint64_t element = dtype_bytes(array->dtype);
        out->bytes = (uint64_t)array->dim[1] * element;
        out->pitch = (uint64_t)array->rows.stride[0] * element;
        out->rows = (uint64_t)array->rows.limit;
    }
}

/* The table of addresses that a tensor is behind, of which the check has a copy. */
static void fill_table(struct lift_call *out, const struct check *check, int tensor,
                       const struct lift_view *view)
{
    const int index = check->binding.tensor_array[tensor];
    if (index < 0 || !view->listed)
        return;
    const int table = bound_ids(&check->binding.array[index]);
    const struct bound_array *array = &check->binding.array[table];
    const struct placement *placement = &check->placement[table];
    const int64_t offset = placement->before != NOT_COPIED ? placement->before : placement->after;
    const uint64_t at = check->room.at + (uint64_t)offset;
    if ((at ^ array->address) % 16 == 0)
        out->array[view->table] =
            (struct lift_array){array->address, at, at, array->bytes, 0, 0, LIFT_WHOLE};
}

struct blocks {
    uint32_t first, count;
};

/* The blocks of the check, by the entry's `first_block` and `last_block`. */
static struct blocks blocks_of(const struct check *check)
{
    uint64_t grid = check->how.grid[0];
    if (!check->binding.picks)
        return (struct blocks){0, (uint32_t)grid};
    uint64_t window = (uint64_t)check->binding.pick[0].value;
    uint64_t windows = (uint64_t)check->binding.pick[0].count;
    uint64_t first = window * grid / windows, end = (window + 1) * grid / windows;
    return (struct blocks){(uint32_t)first, (uint32_t)(end - first)};
}

static void fill_lift_call(struct lift_call *out, const struct check *check,
                           const struct ref_call *call, const struct lane *lane, CUdeviceptr places)
{
    const uint32_t *grid = check->how.grid, *block = check->how.block;
    struct blocks blocks = blocks_of(check);
    *out = (struct lift_call){.shared_bytes = (check->how.shared_bytes + 15) / 16 * 16};
    const struct lift_view *view;
    lift_views(check_spec(check)->lift, &view);
    for (int i = 0; i < check->binding.tensors; i++) {
        fill_array(&out->array[i], &check->binding, i, &call->tensor[i]);
        fill_table(out, check, i, &view[i]);
    }
    out->first_block = blocks.first;
    out->blocks = grid[0];
    out->threads = (uint64_t)blocks.count * grid[1] * grid[2] * block[0] * block[1] * block[2];
    out->figures = (struct lift_figures *)(uintptr_t)lane->partial;
    out->answer = (struct ref_verdict *)(uintptr_t)lane->answer_device;
    out->sequence = lane->sequence;
    out->store = call->store;
    out->store_first = call->store_first;
    out->store_count = call->store_count;
    out->store_tensor = call->store_tensor;
    out->slots = (struct lift_slot *)(uintptr_t)places;
    out->slot_bytes = PLACES_BYTES - LIFT_SLOTS * sizeof(struct lift_slot);
}

/* Whether the launch's shadows need places in device memory, which are made and zeroed. */
static enum status find_places(struct side *side, const struct side_lift *lift,
                               const struct check *check, CUdeviceptr *out, struct error *err)
{
    const struct lift *lifted = check_spec(check)->lift;
    CUdeviceptr *places = &side->refs.lifts->places;
    const size_t slots = LIFT_SLOTS * sizeof(struct lift_slot);
    *out = 0;
    if (lift_shared(lifted, check->how.shared_bytes, false) <= (size_t)lift->shared ||
        lift_cells(lifted, check->how.shared_bytes) > PLACES_BYTES - slots)
        return STATUS_OK;
    enum status status = STATUS_OK;
    if (!*places)
        status = cuda_check(err, cuda.cuMemAlloc(places, PLACES_BYTES), "cuMemAlloc");
    if (!status)
        status = cuda_check(err, cuda.cuMemsetD32Async(*places, 0, slots / 4, side->stream),
                            "cuMemsetD32Async");
    *out = status ? 0 : *places;
    return status;
}

/* The program's parameters and the address of the call behind them. */
static enum status start_lift(struct side *side, const struct side_lift *lift,
                              const struct check *check, CUdeviceptr call, bool apart,
                              struct error *err)
{
    const struct param_layout *layout = &check->kernel->layout;
    const struct launch packed = {.packed = check->params.packed,
                                  .packed_bytes = check->params.bytes};
    struct lift_params params;
    size_t shared = lift_shared(check_spec(check)->lift, check->how.shared_bytes, apart);
    if (!check->params.bytes || layout->count > LAYOUT_MAX || shared > (size_t)lift->shared)
        return error_set(err, STATUS_UNSUPPORTED,
                         "its lifted PTX cannot be launched: %zu bytes of shared memory where %d "
                         "are to be had, or too many parameters",
                         shared, lift->shared);
    if (lift_params_make(&params, check_spec(check)->lift, &packed, layout, err))
        return STATUS_UNSUPPORTED;
    params.param[layout->count] = &call;
    return cuda_check(err,
                      cuda.cuLaunchKernel(
                          lift->reference.function, blocks_of(check).count, check->how.grid[1],
                          check->how.grid[2], check->how.block[0], check->how.block[1],
                          check->how.block[2], (unsigned)shared, side->stream, params.param, NULL),
                      "launching lifted PTX");
}

enum status side_lift_launch(struct side *side, struct lane *lane, const struct check *check,
                             const struct ref_call *call, bool extremes, struct error *err)
{
    const struct side_lift *lift = side_lift_of(side, check_spec(check));
    struct lift_call *own = (void *)lane->calls;
    lane->sequence = atomic_fetch_add(&side->sequence, 1);
    CUdeviceptr places = 0;
    enum status status = find_places(side, lift, check, &places, err);
    fill_lift_call(own, check, call, lane, places);
    own->extremes = extremes;
    if (!status)
        status = cuda_check(
            err,
            cuda.cuMemsetD32Async(lane->partial, 0, sizeof(struct lift_figures) / 4, side->stream),
            "cuMemsetD32Async");
    if (!status)
        status = cuda_check(
            err, cuda.cuMemcpyHtoDAsync(lane->calls_device, own, sizeof *own, side->stream),
            "cuMemcpyHtoDAsync");
    return status ? status : start_lift(side, lift, check, lane->calls_device, places != 0, err);
}
