#include "tools/fuzz/store.h"

#include <string.h>
#include "bundle/bundle.h"
#include "refs/abi/ref_list.h"
#include "tools/fuzz/case/lists.h"

enum { MOST_BYTES = 1 << 30, POINTERS = 512 };

struct storing {
    struct fuzz_subject *subject;
    bool ended;           /* the launch did: its outputs and those of the reference are there */
    struct ref_call call; /* with the arrays' addresses */
};

/* Where element `index`, row major over the array's dims, lies behind its first. */
static uint64_t dense_at(const struct bound_array *array, uint64_t index)
{
    uint64_t at = 0;
    for (int d = array->ndim - 1; d >= 0; d--) {
        at += index % (uint64_t)array->dim[d] * (uint64_t)array->stride[d];
        index /= (uint64_t)array->dim[d];
    }
    return at * dtype_bytes(array->dtype);
}

static enum status read_array(void *user, int number, int after, uint64_t offset, void *out,
                              size_t size)
{
    const struct fuzz_subject *s = ((struct storing *)user)->subject;
    const struct bound_array *array = &s->binding.array[number];
    const uint8_t *pool = (after ? s->is : s->was) + (array->address - s->pool);
    uint64_t element = dtype_bytes(array->dtype);
    for (size_t i = 0; i < size; i++)
        ((uint8_t *)out)[i] =
            pool[dense_at(array, (offset + i) / element) + (offset + i) % element];
    return STATUS_OK;
}

static int has_array(void *user, int number, int after)
{
    const struct storing *storing = user;
    bool writes = role_writes(storing->subject->binding.array[number].role);
    return !after || (writes && storing->ended); /* outputs held a poison before */
}

static int has_reference(void *user, int tensor)
{
    const struct storing *storing = user;
    const struct fuzz_subject *s = storing->subject;
    int array = s->binding.tensor_array[tensor];
    return storing->ended && array >= 0 && role_writes(s->binding.array[array].role) &&
           storing->call.tensor[tensor].got;
}

static enum status read_reference(void *user, int tensor, int64_t first, int64_t count, double *out)
{
    struct storing *storing = user;
    struct fuzz_subject *s = storing->subject;
    return worker_expected(s->worker, s->spec->reference->name, s->oracle, &storing->call, tensor,
                           first, count, out, NULL);
}

static void fill_call(struct storing *storing)
{
    const struct fuzz_subject *s = storing->subject;
    storing->call = s->binding.call;
    for (int i = 0; i < s->binding.tensors; i++) {
        struct ref_tensor *tensor = &storing->call.tensor[i];
        int index = s->binding.tensor_array[i];
        tensor->in = tensor->got = NULL;
        if (index < 0)
            continue;
        const struct bound_array *array = &s->binding.array[index];
        uint64_t before = s->before + (array->address - s->pool);
        tensor->bytes = (int64_t)array->bytes;
        if (array->role != ROLE_WRITE)
            tensor->in = (const void *)(uintptr_t)before;
        if (role_writes(array->role))
            tensor->got = (const void *)(uintptr_t)array->address;
    }
}

/* The addresses among the parameters: all lie in the pool. */
static size_t list_pointers(const struct fuzz_subject *s, const struct fuzz_case *c,
                            struct param_pointer out[POINTERS])
{
    size_t count = 0;
    for (unsigned i = 0; i < c->rule->arrays; i++) {
        const struct signature_item *item = c->rule->array[i].item;
        if (!item || !c->array[i].there)
            continue;
        bool scratch = item->role == ROLE_WS; /* an allocation of its own: no bytes of others */
        for (unsigned n = 0; n < fuzz_lists_addresses(c, item) && count < POINTERS; n++)
            out[count++] = (struct param_pointer){
                .offset =
                    c->layout.param[item->param].offset + item->offset + n * item->index_stride,
                .address = s->pool + c->array[i].at + fuzz_lists_at(&c->array[i], n),
                .base = s->pool + (scratch ? c->array[i].at : 0),
                .bytes = scratch ? c->array[i].bytes : c->pool_bytes};
    }
    return count;
}

enum status fuzz_store(struct fuzz_subject *s, const struct fuzz_case *c,
                       const struct fuzz_result *result, uint64_t number, const char *folder,
                       char *path, struct error *err)
{
    struct quota quota;
    struct bundles *bundles;
    struct storing storing = {.subject = s, .ended = result->judged};
    struct param_pointer pointer[POINTERS];
    const struct worker_about *about = worker_about(s->worker);
    const struct check_report report = fuzz_report_of(s, c, number, result);
    struct bundle_source source = {.user = &storing,
                                   .read_array = read_array,
                                   .has_array = has_array,
                                   .has_reference = has_reference,
                                   .read_reference = read_reference,
                                   .image = s->module->image,
                                   .image_bytes = s->module->bytes,
                                   .layout = &s->kernel.layout,
                                   .params = c->params,
                                   .params_bytes = c->param_bytes,
                                   .pointer = pointer,
                                   .pointers = list_pointers(s, c, pointer),
                                   .around = s->was,
                                   .around_address = s->pool,
                                   .around_bytes = (size_t)c->pool_bytes,
                                   .machine = {about->sm, about->driver, about->multiprocessors}};
    quota_init(&quota, MOST_BYTES);
    fill_call(&storing);
    const struct bundles_settings settings = {
        .folder = folder, .limit = 1, .size = MOST_BYTES, .seed = c->choices.seed, .quota = &quota};
    enum status status = bundles_create(&bundles, &settings, err);
    if (!status)
        status = bundles_write(bundles, &report, &source, path, BUNDLE_PATH);
    if (status)
        error_set(err, status, "the bundle could not be written into %s", folder);
    bundles_destroy(bundles);
    return status;
}
