#include "report/place.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "lang/formals.h"
#include "refs/abi/ref_list.h"
#include "text/textbuf.h"

const char *place_role_text(enum role role)
{
    switch (role) {
    case ROLE_READ:
        return "read";
    case ROLE_WRITE:
        return "write";
    case ROLE_INOUT:
        return "inout";
    case ROLE_ACC:
        return "acc";
    case ROLE_WS:
        return "ws";
    }
    return "unknown";
}

const char *place_kernel(const struct kernel_spec *spec)
{
    if (spec->label && *spec->label)
        return spec->label;
    return spec->symbol ? spec->symbol : "?";
}

static const struct ref_tensor *place_tensor(const struct binding *binding, uint32_t id,
                                             const char **name)
{
    for (int i = 0; i < binding->tensors && i < REF_MAX_TENSORS; i++) {
        int array = binding->tensor_array[i];

        if (array < 0 || array >= binding->arrays || binding->call.tensor[i].id != id)
            continue;
        *name = binding->array[array].name;
        return &binding->call.tensor[i];
    }
    return NULL;
}

/* The number, among all elements of array `ids`, of the one that has number `t` in the check. */
static int64_t listed_element(const struct binding *binding, int ids, int64_t t)
{
    const struct bound_array *array = &binding->array[ids];
    int64_t element = 0, stride = 1;

    for (int d = array->ndim - 1; d >= 0; d--) {
        int64_t seen = binding_seen(binding, ids, d), index = t % seen;

        if (seen != array->dim[d])
            index = subset_item(&binding->subset, index);
        t /= seen;
        element += index * stride;
        stride *= array->dim[d];
    }
    return element;
}

/* Touched rows are the first dim, or, where the reference has pages and places, the one of the
 * first two that is not 1. */
static void name_rows(const struct binding *binding, const struct ref_tensor *tensor,
                      struct place *out)
{
    int array = binding->tensor_array[tensor - binding->call.tensor];
    const struct bound_array *bound = &binding->array[array];

    if (bound_ids(bound) < 0 || bound->rows.listed)
        return;
    out->by = binding->array[bound_ids(bound)].name;
    out->by_dim = tensor->ndim > 1 && tensor->dim[0] == 1 && tensor->dim[1] == bound->dim[0];
    out->index[out->by_dim] = listed_element(binding, bound_ids(bound), out->index[out->by_dim]);
}

/* From the formal's dims, which `index` has, to those of the signature: dims of 1 were put in
 * front, or the outer ones were folded into one. */
static void name_by_signature(const struct binding *binding, int slot, struct place *out)
{
    int ndim = binding->own_ndim[slot], more = ndim - out->ndim;
    const int64_t *dim = binding->own_dim[slot];

    out->formal_ndim = out->ndim;
    memcpy(out->formal_index, out->index, sizeof out->formal_index);
    if (ndim == 0 || more == 0)
        return;
    if (more < 0) {
        memmove(out->index, out->index - more, (size_t)ndim * sizeof out->index[0]);
        out->by_dim = out->by_dim + more > 0 ? out->by_dim + more : 0;
    } else if (out->ndim > 0) {
        int64_t rest = out->index[0];

        memmove(out->index + more + 1, out->index + 1,
                (size_t)(out->ndim - 1) * sizeof out->index[0]);
        for (int d = more; d > 0; d--) {
            out->index[d] = dim[d] > 0 ? rest % dim[d] : 0;
            rest = dim[d] > 0 ? rest / dim[d] : 0;
        }
        out->index[0] = rest;
    }
    out->ndim = ndim;
}

bool place_of(const struct binding *binding, uint32_t tensor_id, uint64_t linear, struct place *out)
{
    const char *name = "?";
    const struct ref_tensor *tensor = binding ? place_tensor(binding, tensor_id, &name) : NULL;

    *out = (struct place){.array = name};
    if (!tensor || tensor->ndim > REF_MAX_DIMS)
        return false;
    int slot = (int)(tensor - binding->call.tensor);
    for (int d = tensor->ndim - 1; d >= 0; d--) {
        uint64_t dim = tensor->dim[d] > 0 ? (uint64_t)tensor->dim[d] : 0;

        if (dim == 0)
            return false;
        out->index[d] = (int64_t)(linear % dim);
        if (binding->subset.dim && binding->subset.axis[slot] == d)
            out->index[d] = subset_entry(&binding->subset, slot, out->index[d]);
        linear /= dim;
    }
    if (linear != 0)
        return false;
    out->ndim = tensor->ndim;
    name_rows(binding, tensor, out);
    name_by_signature(binding, slot, out);
    return true;
}

void place_text(const struct place *place, char *out, size_t size)
{
    size_t used = 0;

    if (size == 0)
        return;
    snprintf(out, size, "%s", place->array);
    used = strlen(out);
    for (int d = 0; d < place->ndim && used + 1 < size; d++) {
        if (place->by && d == place->by_dim)
            snprintf(out + used, size - used, "[%s[%" PRId64 "]]", place->by, place->index[d]);
        else
            snprintf(out + used, size - used, "[%" PRId64 "]", place->index[d]);
        used += strlen(out + used);
    }
}

/* Entries of the tensor's dim in the launch, where the check has some of them. */
static int64_t launch_dim(const struct binding *binding, int slot, int d)
{
    const struct subset *subset = &binding->subset;

    if (!subset->dim || subset->axis[slot] != d)
        return binding->call.tensor[slot].dim[d];
    return subset->linked[slot] ? subset->total * subset->share : subset->total;
}

/* "batch 1, queries 64": the formal's dims by their names. */
static void put_dims(const struct formals *formals, int slot, const struct binding *binding,
                     struct textbuf *text)
{
    for (int i = 0; i < formals->count; i++) {
        const struct formal *formal = &formals->formal[i];

        if (!formal_is_array(formal) || formal->slot != slot)
            continue;
        for (int d = 0; d < formal->ndim; d++) {
            const int size = formal->dim[d].size;

            textbuf_printf(text, "%s%s %" PRId64, d ? ", " : "",
                           size >= 0 ? formals->size_name[size] : "a dim of",
                           launch_dim(binding, slot, d));
        }
    }
}

bool place_dims_text(const struct check_report *report, char *out, size_t size)
{
    const struct binding *binding = report->binding;
    const struct ref_builtin *reference = report->spec->reference;
    struct formals formals;
    struct error err;
    struct textbuf text;
    int slot = 0;

    if (!binding || !reference || formals_parse(&formals, reference->formals, &err))
        return false;
    while (slot < binding->tensors && (binding->tensor_array[slot] < 0 || !binding->own_ndim[slot]))
        slot++;
    if (slot >= binding->tensors)
        return false;
    textbuf_init_fixed(&text, out, size);
    textbuf_printf(&text, "%s", binding->array[binding->tensor_array[slot]].name);
    for (int d = 0; d < binding->own_ndim[slot]; d++)
        textbuf_printf(&text, "[%" PRId64 "]", binding->own_dim[slot][d]);
    textbuf_printf(&text, " as ");
    put_dims(&formals, slot, binding, &text);
    return true;
}

uint64_t place_elements(const struct binding *binding)
{
    uint64_t sum = 0;
    bool counted[SPEC_MAX_ARRAYS] = {false};

    for (int i = 0; binding && i < binding->tensors; i++) {
        int index = binding->tensor_array[i];
        uint64_t elements = 1;

        if (index < 0 || counted[index] || !role_writes(binding->array[index].role))
            continue;
        counted[index] = true;
        for (int k = 0; k < binding->array[index].ndim; k++)
            elements *= (uint64_t)binding->array[index].dim[k];
        sum += elements;
    }
    return sum;
}
