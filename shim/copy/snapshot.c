#include "copy/snapshot.h"

#include <string.h>
#include "lang/dtype.h"
#include "context/enqueue.h"
#include "bind/ranges.h"
#include "copy/touch.h"

enum { ALIGN = SNAPSHOT_ALIGN };
_Static_assert((int)SPEC_MAX_ARRAYS <= (int)SNAPSHOT_SEGMENTS, "each array may be a segment");
_Static_assert(sizeof(struct snapshot_call) <= 4096, "a launch carries no more");
_Static_assert(sizeof(struct snapshot_call_rows) <= 4096, "a launch carries no more");

static uint64_t round_to_step(uint64_t value, uint64_t step)
{
    return (value + step - 1) / step * step;
}

/* Whether the values that the kernel read are gone once it has run. */
static bool needs_before(const struct binding *binding, int index)
{
    const struct bound_array *array = &binding->array[index];
    if (array->role == ROLE_INOUT || array->role == ROLE_ACC)
        return true;
    if (array->role != ROLE_READ)
        return false;
    for (int i = 0; i < binding->arrays; i++) {
        const struct bound_array *other = &binding->array[i];
        bool unknown = array->rows.listed || other->rows.listed; /* where it lies */
        if (i != index && role_writes(other->role) && (unknown || bound_overlap(array, other)))
            return true;
    }
    return false;
}

uint64_t snapshot_item_pitch(int64_t run, int64_t stride)
{
    if (run == stride)
        return (uint64_t)stride;
    return round_to_step((uint64_t)run, SNAPSHOT_UNIT) + (uint64_t)stride % SNAPSHOT_UNIT;
}

/* The geometry where the chosen items of dim `axis` are gathered: [outer][items][run], see
 * shrink.c. Dense items are copied a block at a time. */
static void shape_gather(const struct bound_array *array, const struct subset *subset,
                         struct snapshot_pitch *shape, struct placement *placement)
{
    const struct snapshot_select *select = &subset->select;
    int64_t size = (int64_t)dtype_bytes(array->dtype), stride = array->stride[array->axis] * size;
    bool is_run = array->axis + 1 < array->ndim, has_outer = array->axis > 0;
    int64_t run = is_run ? array->dim[array->axis + 1] * size : size;
    uint64_t pitch = snapshot_item_pitch(run, stride), count = (uint64_t)subset->count;
    uint64_t last = count - select->length * (select->blocks - 1);
    uint64_t outer = has_outer ? (uint64_t)array->dim[0] : 1;
    uint64_t inner = (count - 1) * pitch + (uint64_t)run;

    *shape = (struct snapshot_pitch){.source_pitch = (uint64_t)stride, .target_pitch = pitch};
    shape->by_block = run == stride;
    shape->chosen = shape->by_block ? select->blocks : (uint32_t)count;
    shape->row_bytes = shape->by_block ? select->length * pitch : (uint64_t)run;
    shape->last_bytes = shape->by_block ? last * pitch : (uint64_t)run;
    shape->rows = outer * shape->chosen;
    placement->stride[array->axis] = (int64_t)pitch / size;
    if (has_outer) {
        shape->outer_source = (uint64_t)(array->stride[0] * size);
        shape->outer_target =
            round_to_step(inner, SNAPSHOT_UNIT) + shape->outer_source % SNAPSHOT_UNIT;
        placement->stride[0] = (int64_t)shape->outer_target / size;
    }
    placement->bytes = (outer - 1) * shape->outer_target + inner;
}

/* The copy's geometry. The target pitch equals the source pitch modulo a unit, so that whole units
 * move; both are multiples of the element size, as strides in elements need. */
static void shape_array(const struct binding *binding, int index, struct snapshot_pitch *shape,
                        struct placement *placement)
{
    const struct bound_array *array = &binding->array[index];
    uint64_t size = dtype_bytes(array->dtype);
    memcpy(placement->stride, array->stride, sizeof(placement->stride));
    if (binding_gathers(binding, index)) {
        shape_gather(array, &binding->subset, shape, placement);
        return;
    }
    *shape = (struct snapshot_pitch){0};
    if (bound_ids(array) < 0 && array->ndim == 2 && array->stride[1] == 1 &&
        array->stride[0] >= array->dim[1] && array->dim[0] > 1) {
        shape->rows = (uint64_t)array->dim[0];
        shape->row_bytes = (uint64_t)array->dim[1] * size;
        shape->source_pitch = (uint64_t)array->stride[0] * size;
        shape->target_pitch =
            round_to_step(shape->row_bytes, SNAPSHOT_UNIT) + shape->source_pitch % SNAPSHOT_UNIT;
        placement->stride[0] = (int64_t)(shape->target_pitch / size);
        placement->bytes = (shape->rows - 1) * shape->target_pitch + shape->row_bytes;
        return;
    }
    *shape = (struct snapshot_pitch){.rows = 1, .row_bytes = array->bytes};
    placement->bytes = array->bytes;
}

/* An arena offset that equals the source address modulo a unit (the arena is 256-aligned). */
static int64_t take_address(struct snapshot_plan *plan, uint64_t address, uint64_t bytes)
{
    int64_t offset = (int64_t)(plan->bytes + address % SNAPSHOT_UNIT);
    plan->bytes = round_to_step((uint64_t)offset + bytes, ALIGN);
    return offset;
}

/* Where indices that name rows are numbered anew. */
static void take_scratch(struct snapshot_plan *plan, const struct binding *binding, int index)
{
    plan->placement[index].scratch = 0; /* no place for it: its indices come first */
    for (int i = 0; i < binding->arrays; i++) {
        const struct bound_array *array = &binding->array[i];
        if (!array->rows.listed && !array->rows.kept && bound_ids(array) == index &&
            !plan->placement[index].scratch)
            plan->placement[index].scratch =
                take_address(plan, 0, touch_scratch((uint64_t)array->dim[0]));
    }
}

enum skip snapshot_plan_make(const struct binding *binding, struct snapshot_plan *plan,
                             struct error *why)
{
    int plain = 0;
    plan->bytes = 0;
    plan->has_before = plan->touches = plan->listed = plan->projected = false;
    plan->gathers = binding->subset.dim != NULL;
    for (int i = 0; i < binding->arrays; i++) {
        const struct bound_array *array = &binding->array[i];
        struct placement *placement = &plan->placement[i];
        shape_array(binding, i, &plan->shape[i], placement);
        placement->before = placement->after = NOT_COPIED;
        bool before = needs_before(binding, i), is_touched = bound_ids(array) >= 0;
        uint64_t skew = is_touched ? 0 : array->address; /* rows by index have none in common */
        if (before)
            placement->before = take_address(plan, skew, placement->bytes);
        if (!before || role_writes(array->role))
            placement->after = take_address(plan, skew, placement->bytes);
        take_scratch(plan, binding, i);
        plan->has_before |= before;
        plan->touches |= is_touched;
        plan->listed |= array->rows.listed;
        plain += !is_touched;
        bool countable = !plan->shape[i].chosen || plan->shape[i].rows <= UINT32_MAX;
        if (plan->bytes > (uint64_t)1 << 48 || !countable) {
            error_set(why, STATUS_INVALID, "argument '%s' spans %llu bytes", array->name,
                      (unsigned long long)array->bytes);
            return SKIP_TOO_LARGE;
        }
    }
    if (plain > SNAPSHOT_BESIDE && plan->touches) {
        error_set(why, STATUS_INVALID,
                  "%d arrays are copied beside rows by index or address, more than %d", plain,
                  SNAPSHOT_BESIDE);
        return SKIP_TOO_LARGE;
    }
    return SKIP_NONE;
}

void snapshot_header_of(const struct side *side, const struct check *check,
                        struct snapshot_header *header)
{
    uint64_t slot = check->slot;
    *header = (struct snapshot_header){
        .sequence = check->sequence,
        .seal = (struct snapshot_seal *)(uintptr_t)(side->slot.seal_device +
                                                    slot * sizeof(struct snapshot_seal)),
        .ticket = (uint32_t *)(uintptr_t)(side->slot.ticket + slot * sizeof(uint32_t)),
        .arena = (struct snapshot_arena *)(uintptr_t)side->arena.head,
        .place = (struct snapshot_place *)(uintptr_t)(side->slot.place +
                                                      slot * sizeof(struct snapshot_place)),
        .base = side->arena.base,
        .bytes = check->room.bytes,
        .seals = 1,
        .values = check->binding.values,
    };
    for (uint32_t i = 0; i < header->values; i++) {
        int index = check->binding.value_array[i];
        if (index < 0)
            continue;
        const struct placement *placement = &check->placement[index];
        int64_t at = placement->before != NOT_COPIED ? placement->before : placement->after;
        header->value[i] = (uint64_t)at << 4 | dtype_bytes(check->binding.array[index].dtype);
    }
}

/* Fills one array's part of the copy and returns the chunk where the next one starts. */
static uint64_t fill_segment(struct snapshot_segment *segment, const struct snapshot_pitch *shape,
                             uint64_t source, uint64_t target, uint64_t first_chunk)
{
    bool last_is_longer = shape->chosen && shape->last_bytes > shape->row_bytes;
    uint64_t longest = last_is_longer ? shape->last_bytes : shape->row_bytes;
    uint64_t units = round_to_step(source % SNAPSHOT_UNIT + longest, SNAPSHOT_UNIT);
    segment->source = source;
    segment->target = target;
    segment->row_bytes = shape->row_bytes;
    segment->rows = shape->rows;
    segment->source_pitch = shape->source_pitch;
    segment->target_pitch = shape->target_pitch;
    segment->outer_source = shape->outer_source;
    segment->outer_target = shape->outer_target;
    segment->last_bytes = shape->last_bytes;
    segment->chosen = shape->chosen;
    segment->by_block = shape->by_block;
    segment->first_chunk = first_chunk;
    segment->rows_per_chunk = segment->chunks_per_row = 1;
    if (shape->rows > 1 && units * 2 <= SNAPSHOT_CHUNK) {
        segment->rows_per_chunk = (uint32_t)(SNAPSHOT_CHUNK / units);
        return first_chunk + (shape->rows + segment->rows_per_chunk - 1) / segment->rows_per_chunk;
    }
    /* One unit more than the first row's need where rows start at other offsets in their unit. */
    uint64_t apart = shape->source_pitch | (shape->chosen ? shape->outer_source : 0);
    bool shifted = shape->rows > 1 && apart % SNAPSHOT_UNIT;
    uint64_t per_row =
        (units + (shifted ? SNAPSHOT_UNIT : 0) + SNAPSHOT_CHUNK - 1) / SNAPSHOT_CHUNK;
    segment->chunks_per_row = (uint32_t)per_row;
    return first_chunk + shape->rows * per_row;
}

uint64_t snapshot_describe(const struct side *side, const struct check *check,
                           const struct snapshot_plan *plan, enum snapshot_part part,
                           struct snapshot_header *header, struct snapshot_select *select,
                           struct snapshot_segment *segment)
{
    uint64_t chunks = 0;
    snapshot_header_of(side, check, header);
    if (plan->gathers)
        *select = check->binding.subset.select;
    for (int i = 0; i < check->binding.arrays; i++) {
        const struct placement *placement = &plan->placement[i];
        int64_t target = snapshot_target(placement, part);
        if (target != NOT_COPIED && bound_ids(&check->binding.array[i]) < 0)
            chunks = fill_segment(&segment[header->segments++], &plan->shape[i],
                                  check->binding.array[i].address, (uint64_t)target, chunks);
    }
    return chunks;
}

static enum status enqueue_copy(const struct side *side, CUfunction function, void *call,
                                uint64_t chunks, const struct launch *launch, struct error *err)
{
    if (chunks > INT32_MAX)
        return error_set(err, STATUS_INVALID, "a copy of %llu chunks", (unsigned long long)chunks);
    const struct own_kernel kernel = {.function = function,
                                      .waits = side->kernel.waits,
                                      .blocks = chunks ? (unsigned)chunks : 1,
                                      .threads = SNAPSHOT_THREADS + SNAPSHOT_CLERKS,
                                      .doing = "launching the snapshot kernel"};
    return enqueue_kernel(&kernel, call, launch, err);
}

/* The device word with the outlier gate's decision, written before the launch; NULL: none. */
static const uint64_t *word_of(const struct side *side, const struct check *check)
{
    const struct outlier_slot *slots = (const struct outlier_slot *)(uintptr_t)side->outlier.slots;
    return check->gate.result == GATE_OUTLIER ? &slots[check->slot].decision : NULL;
}

/* Fills in what follows from the part: the copies before the launch do not seal, and all may wait
 * for the outlier gate's decision. */
static void finish_header(const struct side *side, const struct check *check,
                          enum snapshot_part part, struct snapshot_header *header)
{
    header->when = word_of(side, check);
    if (part == SNAPSHOT_BEFORE)
        header->seals = 0;
}

/* The widest word in which these all can be moved. */
static uint32_t common_unit(uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
    uint64_t all = a | b | c | d | SNAPSHOT_UNIT;
    return (uint32_t)(all & -all);
}

/* Touched rows of array `index`: from where, by which indices. Returns the next one's chunk. */
static uint64_t fill_touch(struct snapshot_touch *touch, const struct binding *binding, int index,
                           uint64_t target, uint64_t first_chunk)
{
    const struct bound_array *array = &binding->array[index];
    const struct bound_rows *rows = &array->rows;
    const struct bound_array *ids = &binding->array[bound_ids(array)];
    uint64_t size = dtype_bytes(array->dtype);
    int ahead = SNAPSHOT_IDS_DIMS - ids->ndim;
    *touch = (struct snapshot_touch){
        .source = array->address,
        .target = target,
        .rows = (uint64_t)array->dim[0],
        .pitch = {(uint64_t)rows->stride[0] * size, (uint64_t)rows->stride[1] * size},
        .run_pitch = (uint64_t)rows->run_stride * size,
        .limit = (uint64_t)rows->limit,
        .ids = ids->address,
        .first_chunk = first_chunk,
        .page = (uint32_t)rows->page,
        .runs = (uint32_t)rows->runs,
        .run = (uint32_t)((uint64_t)rows->run * size),
        .id_bytes = dtype_bytes(ids->dtype),
        .axis = binding_gathers(binding, bound_ids(array)) ? ids->axis + ahead : -1,
    };
    for (int i = 0; i < SNAPSHOT_IDS_DIMS; i++) {
        touch->dim[i] =
            i < ahead ? 1 : (uint32_t)binding_seen(binding, bound_ids(array), i - ahead);
        touch->stride[i] = i < ahead ? 0 : (uint64_t)ids->stride[i - ahead];
    }
    touch->unit =
        common_unit(touch->source | touch->run, touch->pitch[0], touch->pitch[1], touch->run_pitch);
    if (rows->listed) {
        touch->align = (uint32_t)size;
        touch->limit = rows->reach;
        touch->unit = common_unit(touch->run, touch->run_pitch, 0, 0);
    }
    uint64_t bytes = touch->rows * touch->runs * touch->run;
    return first_chunk + (bytes + SNAPSHOT_CHUNK - 1) / SNAPSHOT_CHUNK;
}

/* The ranges that the GPU may follow are read as late as possible: right before each of the
 * copies. */
static enum status copy_touch(struct side *side, const struct check *check,
                              const struct snapshot_plan *plan, enum snapshot_part part,
                              const struct launch *launch, struct error *err)
{
    struct snapshot_call_rows call; /* large: segments are written as they are added */
    uint64_t chunks =
        snapshot_describe(side, check, plan, part, &call.header, &call.select, call.segment);
    call.touches = 0;
    call.touch[0].first_chunk = chunks; /* also where this part has none */
    for (int i = 0; i < check->binding.arrays; i++) {
        int64_t target = snapshot_target(&plan->placement[i], part);
        if (target != NOT_COPIED && bound_ids(&check->binding.array[i]) >= 0)
            chunks = fill_touch(&call.touch[call.touches++], &check->binding, i, (uint64_t)target,
                                chunks);
    }
    finish_header(side, check, part, &call.header);
    call.ranges = plan->listed ? ranges_take(&side->ranges, side->device, call.range) : 0;
    return enqueue_copy(side, side->kernel.snapshot_rows, &call, chunks, launch, err);
}

static enum status copy_snapshot(struct side *side, const struct check *check,
                                 const struct snapshot_plan *plan, enum snapshot_part part,
                                 const struct launch *launch, struct error *err)
{
    struct snapshot_call call; /* large: segments are written as they are added */
    uint64_t chunks =
        snapshot_describe(side, check, plan, part, &call.header, &call.select, call.segment);
    bool few = call.header.segments <= SNAPSHOT_FEW;
    finish_header(side, check, part, &call.header);
    return enqueue_copy(side, few ? side->kernel.snapshot_few : side->kernel.snapshot, &call,
                        chunks, launch, err);
}

static enum status copy_part(struct side *side, const struct check *check,
                             const struct snapshot_plan *plan, enum snapshot_part part,
                             const struct launch *launch, struct error *err)
{
    return plan->touches ? copy_touch(side, check, plan, part, launch, err)
                         : copy_snapshot(side, check, plan, part, launch, err);
}

enum status snapshot_before(struct side *side, const struct check *check,
                            const struct snapshot_plan *plan, const struct launch *launch,
                            struct error *err)
{
    return copy_part(side, check, plan, SNAPSHOT_BEFORE, launch, err);
}

enum status snapshot_after(struct side *side, const struct check *check,
                           const struct snapshot_plan *plan, const struct launch *launch,
                           struct error *err)
{
    return copy_part(side, check, plan, SNAPSHOT_AFTER, launch, err);
}

enum status snapshot_seal(struct side *side, const struct check *check, const struct launch *launch,
                          struct error *err)
{
    struct snapshot_call call;
    snapshot_header_of(side, check, &call.header);
    call.header.when = word_of(side, check);
    return enqueue_copy(side, side->kernel.snapshot_few, &call, 0, launch, err);
}
