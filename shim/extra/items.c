#include "extra/items.h"

#include <string.h>
#include "extra/digest.h"
#include "lang/dtype.h"
#include "plan/plan.h"

/* ---- which ---- */

static bool promised(const struct formal_each *each, const struct check *check)
{
    return each->by < 0 && (each->given < 0 || check->binding.tensor_array[each->given] >= 0);
}

/* The `each` clause that the contract applies to, or NULL. */
static const struct formal_each *find_each(const struct check *check, const char *name)
{
    const struct formals *formals = check_spec(check)->plan->formals;
    for (int i = 0; i < formals->eaches; i++) {
        const struct formal_each *each = &formals->each[i];
        if (promised(each, check) && (!name || !strcmp(name, formals->size_name[each->size])))
            return each;
    }
    return NULL;
}

/* How many entries of the linked dim an item has; false where the clause does not cover so many.
 * *common: there is one entry for all items. */
static bool find_share(const struct formal_each *each, const struct ref_call *call,
                       struct items *items, bool *common)
{
    int64_t entries = each->with >= 0 ? call->size[each->with] : 0;
    *common = each->like && entries <= 1;
    items->share = 1;
    if (each->with < 0 || *common)
        return true;
    if (each->like)
        return entries == items->total;
    items->share = entries / items->total;
    return items->share > 0 && entries % items->total == 0;
}

static void find_axes(const struct check *check, const struct formal_each *each, bool common,
                      struct items *items)
{
    const struct formals *formals = check_spec(check)->plan->formals;
    for (int i = 0; i < formals->count; i++) {
        const struct formal *formal = &formals->formal[i];
        if (!formal_is_array(formal))
            continue;
        int axis = formals_each_axis(formal, each);
        bool linked = axis >= 0 && formal->dim[axis].size == each->with;
        items->axis[formal->slot] = (int8_t)(linked && common ? -1 : axis);
        items->linked[formal->slot] = linked;
    }
}

void items_find(const struct check *check, struct items *items)
{
    const struct contract *contract = check_spec(check)->contract;
    const struct ref_call *call = &check->binding.call;
    bool common, whole = contract->item && !*contract->item;
    const struct formal_each *each = whole ? NULL : find_each(check, contract->item);
    *items = (struct items){.total = 1, .share = 1, .size = -1, .with = -1};
    memset(items->axis, -1, sizeof(items->axis));
    if (!each) { /* without an `each` clause a launch is one item, unless a dim was named */
        items->count = whole || !contract->item;
        return;
    }
    items->total = call->size[each->size];
    if (items->total < 1 || !find_share(each, call, items, &common))
        return;
    items->size = each->size;
    items->with = each->with;
    find_axes(check, each, common, items);
    items->count = items->total < DIGEST_ITEMS ? (uint32_t)items->total : DIGEST_ITEMS;
}

/* ---- hashes ---- */

/* One item of the tensor, or all of it. False: a block format is cut inside its blocks. */
static bool lay_out_item(const struct ref_tensor *tensor, int axis, int64_t share,
                         struct digest_items_call *out, uint64_t *elements)
{
    struct digest_call *one = &out->one;
    bool coded = dtype_block((enum dtype)tensor->dtype) > 0;
    unsigned bytes = dtype_bytes((enum dtype)tensor->dtype);
    one->element = coded ? 1 : bytes;
    one->ndim = tensor->ndim;
    *elements = 1;
    for (int i = 0; i < tensor->ndim; i++) {
        one->dim[i] = (uint64_t)(i == axis ? share : tensor->dim[i]);
        one->stride[i] = (uint64_t)tensor->stride[i];
    }
    if (coded && axis == tensor->ndim - 1)
        return false;
    if (coded) {
        one->dim[one->ndim - 1] /= dtype_block((enum dtype)tensor->dtype);
        one->dim[one->ndim] = bytes;
        one->stride[one->ndim++] = 1;
    }
    for (uint32_t i = 0; i < one->ndim; i++)
        *elements *= one->dim[i];
    out->stride = axis < 0 ? 0 : (uint64_t)(tensor->stride[axis] * share) * one->element;
    return true;
}

/* Bytes from the tensor's base to the end of the last item. */
static uint64_t items_reach(const struct digest_items_call *call, uint64_t total)
{
    uint64_t last = 0;
    for (uint32_t i = 0; i < call->one.ndim; i++)
        last += (call->one.dim[i] - 1) * call->one.stride[i];
    return (last + 1) * call->one.element + (total - 1) * call->stride;
}

static bool item_is_output(const struct check *check, int tensor)
{
    return formals_array(check_spec(check)->plan->formals, tensor)->kind != FORMAL_IN;
}

/* Adds one side of a tensor to the sums. *fits: it lies in its snapshot. */
static enum status add_side(struct side *side, struct lane *lane, const struct items *items,
                            const struct ref_tensor *tensor, int number, bool out, bool *fits,
                            struct error *err)
{
    struct digest_sums *sums = (struct digest_sums *)(uintptr_t)lane->digest;
    struct digest_items_call call = {.items = items->count, .total = (uint64_t)items->total};
    int axis = items->axis[number];
    uint64_t elements;
    *fits = lay_out_item(tensor, axis, items->linked[number] ? items->share : 1, &call, &elements);
    if (!*fits || !elements)
        return STATUS_OK;
    *fits = items_reach(&call, axis < 0 ? 1 : call.total) <= (uint64_t)tensor->bytes;
    if (!*fits)
        return STATUS_OK;
    call.one.base = (uint64_t)(uintptr_t)(out ? tensor->got : tensor->in);
    call.one.seed = digest_mix(0, (uint64_t)number + 1);
    call.one.sums = sums;
    call.one.sum = out ? sums->item_out : axis < 0 ? &sums->shared : sums->item_in;
    if (axis < 0 && !out)
        return digest_enqueue(side, &call.one, elements, err);
    call.one.end = elements;
    void *params[] = {&call};
    return cuda_check(err,
                      cuda.cuLaunchKernel(side->kernel.digest_items, items->count, 1, 1,
                                          DIGEST_THREADS, 1, 1, 0, side->stream, params, NULL),
                      "launching digests of items");
}

enum status items_start(struct side *side, struct lane *lane, const struct ref_call *call,
                        struct error *err)
{
    struct items items;
    enum status status = STATUS_OK;
    bool fits = true;
    items_find(lane->check, &items);
    for (int i = 0; !status && fits && items.count && i < lane->check->binding.tensors; i++) {
        const struct ref_tensor *tensor = &call->tensor[i];
        if (tensor->in)
            status = add_side(side, lane, &items, tensor, i, false, &fits, err);
        if (!status && fits && tensor->got && item_is_output(lane->check, i))
            status = add_side(side, lane, &items, tensor, i, true, &fits, err);
    }
    lane->items = fits ? items.count : 0;
    return status;
}

/* ---- keys ---- */

static uint64_t hash_item_text(uint64_t hash, const char *text)
{
    for (; *text; text++)
        hash = digest_mix(hash, (unsigned char)*text);
    return hash;
}

static uint64_t add_tensor(uint64_t hash, const struct check *check, const struct items *items,
                           int number)
{
    const struct ref_tensor *tensor = &check->binding.call.tensor[number];
    if (check->binding.tensor_array[number] < 0)
        return digest_mix(hash, UINT64_MAX);
    hash = digest_mix(hash, (uint64_t)tensor->dtype << 1 | item_is_output(check, number));
    for (int i = 0; i < tensor->ndim; i++)
        hash = digest_mix(hash, i == items->axis[number] ? 0 : (uint64_t)tensor->dim[i]);
    return hash;
}

uint64_t items_key(const struct check *check, const struct items *items,
                   const struct digest_sums *sums, uint32_t i)
{
    const struct kernel_spec *spec = check_spec(check);
    const struct formals *formals = spec->plan->formals;
    const struct ref_call *call = &check->binding.call;
    uint64_t hash = hash_item_text(digest_mix(0, spec->contract->number), spec->reference->name);
    hash = digest_mix(hash, spec->contract->within ? (uint64_t)spec->number + 1 : 0);
    hash = digest_mix(hash, spec->reference->user ? (uint64_t)(uintptr_t)spec->reference : 0);
    for (int k = 0; k < check->binding.tensors; k++)
        hash = add_tensor(hash, check, items, k);
    for (int k = 0; k < formals->scalars; k++) {
        uint64_t bits;
        memcpy(&bits, &call->scalar[k], sizeof(bits));
        hash = digest_mix(hash, bits);
    }
    for (int k = 0; k < formals->sizes; k++)
        hash = digest_mix(hash, k == items->size   ? 0
                                : k == items->with ? (uint64_t)items->share
                                                   : (uint64_t)call->size[k]);
    hash = digest_mix(hash, sums->shared);
    return digest_mix(hash, sums->item_in[i]);
}

bool items_output(const struct ref_call *call, const struct items *items, int tensor,
                  struct digest_items_call *out, uint64_t *elements)
{
    const struct ref_tensor *of = &call->tensor[tensor];
    if (!of->got)
        return false;
    *out = (struct digest_items_call){.items = items->count, .total = (uint64_t)items->total};
    return lay_out_item(of, items->axis[tensor], items->linked[tensor] ? items->share : 1, out,
                        elements) &&
           *elements > 0 &&
           items_reach(out, items->axis[tensor] < 0 ? 1 : out->total) <= (uint64_t)of->bytes;
}
