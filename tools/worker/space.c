#include "tools/worker/space.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>

/* References read whole packs of 32 bytes, and an array may be empty. */
enum { SLACK = 64, MOST_ARRAYS = 1 << 20 };

static struct space_array *space_find(const struct space *space, uint64_t address)
{
    for (size_t i = space->count; i-- > 0;) {
        if (space->array[i].address == address)
            return &space->array[i];
    }
    return NULL;
}

static enum status space_grow(struct space *space, struct error *err)
{
    if (space->count < space->room)
        return STATUS_OK;
    size_t room = 2 * space->room + 16;
    struct space_array *more =
        room <= MOST_ARRAYS ? realloc(space->array, room * sizeof(*more)) : NULL;
    if (!more)
        return error_set(err, STATUS_NO_MEMORY, "no memory for another array");
    space->array = more;
    space->room = room;
    return STATUS_OK;
}

/* Mixes an array's number and a place into 64 bits (splitmix64). */
static uint64_t space_mix(uint64_t number, uint64_t place)
{
    uint64_t x = number * 0x9e3779b97f4a7c15 + place;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
    x = (x ^ x >> 27) * 0x94d049bb133111eb;
    return x ^ x >> 31;
}

/* The guard byte `place` bytes from the array's first: it depends on the array and the place. Two
 * bytes are large and finite in bf16 and the upper half of f32, and a NaN in f16. */
static uint8_t space_guard(const struct space_array *array, int64_t place)
{
    uint64_t bits = space_mix(array->number, (uint64_t)place);
    bool upper = (array->address + (uint64_t)place) % 2;
    return (uint8_t)(upper ? 0xfc | (bits & 1) : 0x80 | (bits & 0x7f));
}

/* One guard: `base` is where it begins, seen from the array. */
static enum status space_paint_at(struct space *space, const struct space_array *array,
                                  int64_t base, struct error *err)
{
    uint8_t *bytes = malloc(array->guard);
    if (!bytes)
        return error_set(err, STATUS_NO_MEMORY, "no memory for guard bytes");
    for (uint64_t i = 0; i < array->guard; i++)
        bytes[i] = space_guard(array, base + (int64_t)i);
    enum status status = space->device->ops->write(space->device, array->address + (uint64_t)base,
                                                   bytes, array->guard, err);
    free(bytes);
    return status;
}

static enum status space_paint(struct space *space, const struct space_array *array,
                               struct error *err)
{
    if (!array->guard)
        return STATUS_OK;
    enum status status = space_paint_at(space, array, -(int64_t)array->guard, err);
    return status ? status : space_paint_at(space, array, (int64_t)array->bytes, err);
}

/* The address in the piece, behind the guard, that has the alignment. */
static uint64_t space_place(uint64_t piece, const struct worker_array *wanted, uint64_t align)
{
    uint64_t least = piece + wanted->guard;
    uint64_t at = (least & ~(align - 1)) + wanted->skew % align;
    return at < least ? at + align : at;
}

enum status space_allocate(struct space *space, const struct worker_array *wanted,
                           uint64_t *address, struct error *err)
{
    const struct device_ops *ops = space->device->ops;
    uint64_t align = wanted->align ? wanted->align : 256, most = UINT64_C(1) << 46;
    struct space_array made = {
        .bytes = wanted->bytes, .guard = wanted->guard, .number = space->made};
    if (align & (align - 1) || align > 1 << 20 || wanted->bytes > most || wanted->guard > most)
        return error_set(err, STATUS_INVALID,
                         "an array of %" PRIu64 " bytes with %" PRIu64
                         " guard bytes, aligned to %" PRIu64 ", cannot be placed",
                         wanted->bytes, wanted->guard, align);
    enum status status = space_grow(space, err);
    if (!status)
        status = ops->allocate(space->device, wanted->bytes + 2 * wanted->guard + align + SLACK,
                               &made.piece, err);
    if (status)
        return status;
    made.address = space_place(made.piece, wanted, align);
    if (!wanted->sparse)
        status = ops->fill(space->device, made.address, made.bytes, wanted->fill, err);
    if (!status)
        status = space_paint(space, &made, err);
    if (status) {
        ops->release(space->device, made.piece);
        return status;
    }
    space->array[space->count++] = made;
    space->made++;
    *address = made.address;
    return STATUS_OK;
}

static enum status no_array(uint64_t address, struct error *err)
{
    return error_set(err, STATUS_INVALID, "no array begins at 0x%" PRIx64, address);
}

enum status space_free(struct space *space, uint64_t address, struct error *err)
{
    struct space_array *array = space_find(space, address);
    if (!array)
        return no_array(address, err);
    space->device->ops->release(space->device, array->piece);
    *array = space->array[--space->count];
    return STATUS_OK;
}

void space_free_all(struct space *space)
{
    for (size_t i = 0; i < space->count; i++)
        space->device->ops->release(space->device, space->array[i].piece);
    free(space->array);
    space->array = NULL;
    space->count = space->room = 0;
    space->made = 0;
}

enum status space_check(const struct space *space, uint64_t address, uint64_t count,
                        struct error *err)
{
    for (size_t i = space->count; i-- > 0;) {
        const struct space_array *array = &space->array[i];
        uint64_t offset = address - array->address;
        if (address >= array->address && offset <= array->bytes && count <= array->bytes - offset)
            return STATUS_OK;
    }
    return error_set(err, STATUS_INVALID,
                     "%" PRIu64 " bytes at 0x%" PRIx64 " do not lie inside one array", count,
                     address);
}

/* One guard: `base` is where it begins, seen from the array. */
static enum status space_count(struct space *space, const struct space_array *array, int64_t base,
                               struct worker_guard *out, struct error *err)
{
    uint8_t *bytes = malloc(array->guard);
    if (!bytes)
        return error_set(err, STATUS_NO_MEMORY, "no memory for guard bytes");
    enum status status = space->device->ops->read(space->device, array->address + (uint64_t)base,
                                                  bytes, array->guard, err);
    for (uint64_t i = 0; !status && i < array->guard; i++) {
        if (bytes[i] == space_guard(array, base + (int64_t)i))
            continue;
        if (!out->changed++)
            out->first = base + (int64_t)i;
    }
    free(bytes);
    return status;
}

enum status space_guards(struct space *space, uint64_t address, struct worker_guard *out,
                         struct error *err)
{
    const struct space_array *array = space_find(space, address);
    *out = (struct worker_guard){0};
    if (!array)
        return no_array(address, err);
    if (!array->guard)
        return STATUS_OK;
    enum status status = space_count(space, array, -(int64_t)array->guard, out, err);
    if (!status)
        status = space_count(space, array, (int64_t)array->bytes, out, err);
    return !status && out->changed ? space_paint(space, array, err) : status;
}
