#include "tools/fuzz/case/lists.h"

#include <stdio.h>
#include <string.h>
#include "lang/dtype.h"
#include "plan/plan.h"
#include "tools/fuzz/case/random.h"

/* ---- tables ---- */

/* Bytes that the field's elements may take: up to the next field of its struct, where they lie side
 * by side, else up to the struct's end. */
static int64_t room_of(const struct fuzz_case *c, const struct signature_item *item, unsigned bytes)
{
    const struct signature *signature = c->rule->plan->signature;
    int64_t end = c->layout.param[item->param].size;
    for (unsigned i = 0; item->index_stride == bytes && i < signature->items; i++) {
        const struct signature_item *other = &signature->item[i];
        if (other->param == item->param && other->offset > item->offset && other->offset < end)
            end = other->offset;
    }
    return end - item->offset;
}

/* Element `at` of a field at an index. */
static enum status put(struct fuzz_case *c, const struct signature_item *item, int64_t at,
                       int64_t value, struct error *err)
{
    unsigned bytes = dtype_bytes(item->type.dtype);
    int64_t offset = at * item->index_stride;
    if (offset + bytes > room_of(c, item, bytes))
        return error_set(err, STATUS_INVALID, "'%s' has no place for number %lld", item->name,
                         (long long)at);
    if (bytes < sizeof value && value >> (8 * bytes) != 0)
        return error_set(err, STATUS_INVALID, "'%s' holds no %lld", item->name, (long long)value);
    memcpy(c->params + c->layout.param[item->param].offset + item->offset + offset, &value, bytes);
    return STATUS_OK;
}

/* One array of four is as long as the longest, and the first always. */
static int64_t length_of(const struct fuzz_case *c, unsigned number, int64_t longest)
{
    char name[SPEC_NAME + 16];
    snprintf(name, sizeof name, "%.*s lengths", SPEC_NAME, c->rule->lists.length->name);
    struct fuzz_block block = fuzz_random(c->choices.seed, fuzz_hash(name), number);
    uint64_t bits = (uint64_t)block.v[1] << 32 | block.v[0];
    if (number == 0 || block.v[2] % 4 == 0)
        return longest;
    return 1 + (int64_t)((unsigned __int128)bits * (uint64_t)longest >> 64);
}

/* Lengths and tables of array `number`. */
static enum status put_array(struct fuzz_case *c, unsigned number, struct error *err)
{
    const struct fuzz_lists *lists = &c->rule->lists;
    int64_t parts;
    c->choices.value[lists->length_slot] = c->length[number];
    if (!expr_eval(lists->parts, c->choices.value, &parts) || parts < 1 || parts > FUZZ_PARTS)
        return error_set(err, STATUS_INVALID, "an array of %lld elements has no parts",
                         (long long)c->length[number]);
    enum status status = put(c, lists->length, number, c->length[number], err);
    for (int64_t part = 0; !status && part < parts; part++) {
        status = put(c, lists->tensor, c->blocks, number, err);
        if (!status)
            status = put(c, lists->part, c->blocks++, part, err);
    }
    return status;
}

/* Whether the struct has room for the addresses of all arrays. */
static enum status check_addresses(const struct fuzz_case *c, struct error *err)
{
    const unsigned size = sizeof(uint64_t);
    for (unsigned i = 0; i < c->rule->arrays; i++) {
        const struct signature_item *item = c->rule->array[i].item;
        if (item && item->index &&
            (c->tensors - 1) * (int64_t)item->index_stride + size > room_of(c, item, size))
            return error_set(err, STATUS_INVALID, "'%s' has no place for %u addresses", item->name,
                             c->tensors);
    }
    return STATUS_OK;
}

enum status fuzz_lists_make(struct fuzz_case *c, struct error *err)
{
    const struct fuzz_lists *lists = &c->rule->lists;
    int64_t *value = c->choices.value, count, longest;
    c->tensors = c->blocks = 0;
    if (!lists->count)
        return STATUS_OK;
    longest = value[lists->length_slot];
    if (!expr_eval(lists->count, value, &count) || count < 1 || count > FUZZ_LISTED)
        return error_set(err, STATUS_INVALID, "a struct lists 1 to %d arrays", FUZZ_LISTED);
    if (longest < 1 || longest > c->rule->elements)
        return error_set(err, STATUS_INVALID, "the longest array has %lld of %lld elements",
                         (long long)longest, (long long)c->rule->elements);
    c->tensors = (unsigned)count;
    enum status status = STATUS_OK;
    for (unsigned i = 0; !status && i < c->tensors; i++) {
        c->length[i] = length_of(c, i, longest);
        status = put_array(c, i, err);
    }
    value[lists->length_slot] = longest;
    value[lists->blocks_slot] = c->blocks;
    return status ? status : check_addresses(c, err);
}

/* ---- arrays ---- */

void fuzz_lists_shape(const struct fuzz_case *c, struct fuzz_extent *out)
{
    int64_t bytes = dtype_bytes(out->dtype), longest = c->length[0];
    int64_t row = (longest * bytes + 2 * FUZZ_ALIGN - 1) / FUZZ_ALIGN * FUZZ_ALIGN;
    out->ndim = 2;
    out->dim[0] = c->tensors;
    out->dim[1] = longest;
    out->stride[0] = row / bytes;
    out->stride[1] = 1;
    out->count = out->dim[0] * longest;
    out->bytes = (uint64_t)((out->dim[0] - 1) * row + longest * bytes);
}

bool fuzz_lists_has(const struct fuzz_case *c, const struct fuzz_extent *array, int64_t index)
{
    return !array->item->index || index % array->dim[1] < c->length[index / array->dim[1]];
}

unsigned fuzz_lists_addresses(const struct fuzz_case *c, const struct signature_item *item)
{
    return item->index ? c->tensors : 1;
}

uint64_t fuzz_lists_at(const struct fuzz_extent *array, unsigned number)
{
    return number * (uint64_t)array->stride[0] * dtype_bytes(array->dtype);
}
