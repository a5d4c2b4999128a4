/* calls.c - the calls of worker.h, each one request. */
#include <stdio.h>
#include <string.h>
#include "refs/abi/ref_list.h"
#include "tools/worker/client.h"

enum status worker_load(struct worker *worker, const void *image, size_t bytes, uint32_t *module,
                        struct error *err)
{
    struct client_call call = {.op = WIRE_LOAD, .part = {{image, bytes}}};
    enum status status = client_call(worker, &call, err);
    *module = (uint32_t)call.answer;
    return status;
}

enum status worker_unload(struct worker *worker, uint32_t module, struct error *err)
{
    struct client_call call = {.op = WIRE_UNLOAD, .word = {module}};
    return client_call(worker, &call, err);
}

enum status worker_kernel(struct worker *worker, uint32_t module, const char *symbol,
                          struct worker_kernel *out, struct error *err)
{
    struct client_call call = {.op = WIRE_KERNEL,
                               .word = {module},
                               .part = {{symbol, strlen(symbol) + 1}},
                               .out = out,
                               .out_bytes = sizeof(*out)};
    return client_call(worker, &call, err);
}

enum status worker_variable(struct worker *worker, uint32_t kernel, const char *name,
                            const void *value, size_t bytes, struct error *err)
{
    struct client_call call = {
        .op = WIRE_VARIABLE, .word = {kernel}, .part = {{name, strlen(name) + 1}, {value, bytes}}};
    return client_call(worker, &call, err);
}

enum status worker_library(struct worker *worker, const char *name, const char *library,
                           struct worker_kernel *out, struct error *err)
{
    const char *file = library ? library : "";
    struct client_call call = {.op = WIRE_LIBRARY,
                               .part = {{name, strlen(name) + 1}, {file, strlen(file) + 1}},
                               .out = out,
                               .out_bytes = sizeof(*out)};
    return client_call(worker, &call, err);
}

enum status worker_allocate(struct worker *worker, const struct worker_array *array,
                            uint64_t *address, struct error *err)
{
    struct client_call call = {.op = WIRE_ALLOCATE, .part = {{array, sizeof(*array)}}};
    enum status status = client_call(worker, &call, err);
    *address = call.answer;
    return status;
}

enum status worker_free(struct worker *worker, uint64_t address, struct error *err)
{
    struct client_call call = {.op = WIRE_FREE, .word = {address}};
    return client_call(worker, &call, err);
}

enum status worker_free_all(struct worker *worker, struct error *err)
{
    struct client_call call = {.op = WIRE_FREE_ALL};
    return client_call(worker, &call, err);
}

enum status worker_write(struct worker *worker, uint64_t address, const void *bytes, size_t count,
                         struct error *err)
{
    struct client_call call = {.op = WIRE_WRITE, .word = {address}, .part = {{bytes, count}}};
    return client_call(worker, &call, err);
}

enum status worker_read(struct worker *worker, uint64_t address, void *bytes, size_t count,
                        struct error *err)
{
    struct client_call call = {
        .op = WIRE_READ, .word = {address, count}, .out = bytes, .out_bytes = count};
    return client_call(worker, &call, err);
}

enum status worker_fill(struct worker *worker, uint64_t address, size_t count, uint8_t value,
                        struct error *err)
{
    struct client_call call = {.op = WIRE_FILL, .word = {address, count, value}};
    return client_call(worker, &call, err);
}

enum status worker_copy(struct worker *worker, uint64_t to, uint64_t from, size_t count,
                        struct error *err)
{
    struct client_call call = {.op = WIRE_COPY, .word = {to, from, count}};
    return client_call(worker, &call, err);
}

enum status worker_guards(struct worker *worker, uint64_t address, struct worker_guard *out,
                          struct error *err)
{
    struct client_call call = {
        .op = WIRE_GUARDS, .word = {address}, .out = out, .out_bytes = sizeof(*out)};
    return client_call(worker, &call, err);
}

enum status worker_launch(struct worker *worker, const struct worker_launch *launch,
                          struct worker_result *out, struct error *err)
{
    struct client_call call = {
        .op = WIRE_LAUNCH,
        .part = {{launch, sizeof(*launch)}, {launch->params, launch->param_bytes}},
        .out = out,
        .out_bytes = sizeof(*out)};
    struct error why = {{0}};
    enum status status = client_call(worker, &call, &why);
    if (!status && (out->outcome == WORKER_FAULTED || out->outcome == WORKER_HUNG))
        client_lose(worker);
    if (!status || !worker_lost(worker) || worker_killed(worker))
        return status ? error_set(err, status, "%s", why.text) : STATUS_OK;
    *out =
        (struct worker_result){.outcome = status == STATUS_TIMEOUT ? WORKER_HUNG : WORKER_FAULTED};
    snprintf(out->sentence, sizeof(out->sentence), "%s", why.text);
    return STATUS_OK;
}

static enum status call_reference(struct worker *worker, const char *reference,
                                  enum worker_oracle where, const struct ref_call *ref,
                                  enum wire_op op, void *out, size_t out_bytes, struct error *err)
{
    struct wire_reference wanted = {.call = *ref};
    struct client_call call = {.op = op,
                               .word = {where},
                               .part = {{&wanted, sizeof(wanted)}},
                               .out = out,
                               .out_bytes = out_bytes};
    if (!strcmp(reference, LIFTED_REFERENCE))
        return error_set(
            err, STATUS_NOT_FOUND,
            "the launch was held against its own PTX: cuvet lift BUNDLE does it again");
    if (strlen(reference) >= sizeof(wanted.name))
        return error_set(err, STATUS_NOT_FOUND, "there is no built-in reference %.60s", reference);
    strcpy(wanted.name, reference);
    return client_call(worker, &call, err);
}

enum status worker_reference(struct worker *worker, const char *reference, enum worker_oracle where,
                             const struct ref_call *call, struct ref_verdict *out,
                             struct error *err)
{
    return call_reference(worker, reference, where, call, WIRE_JUDGE, out, sizeof(*out), err);
}

enum status worker_expected(struct worker *worker, const char *reference, enum worker_oracle where,
                            const struct ref_call *call, int tensor, int64_t first, int64_t count,
                            double *out, struct error *err)
{
    struct ref_call with = *call;
    with.store_tensor = with.tensor[tensor].id;
    with.store_first = first;
    with.store_count = count;
    return call_reference(worker, reference, where, &with, WIRE_EXPECT, out,
                          (size_t)count * sizeof(double), err);
}

/* The reference's view of the arrays; role and place decide what is input and what is compared. */
static void call_fill(const struct binding *binding, const struct worker_view *views,
                      struct ref_call *call)
{
    for (int i = 0; i < binding->tensors; i++) {
        struct ref_tensor *tensor = &call->tensor[i];
        int index = binding->tensor_array[i];
        tensor->in = tensor->got = NULL;
        if (index < 0)
            continue;
        const struct bound_array *array = &binding->array[index];
        if (array->role != ROLE_WRITE)
            tensor->in = (const void *)(uintptr_t)views[index].before;
        if (role_writes(array->role))
            tensor->got = (const void *)(uintptr_t)views[index].after;
        tensor->bytes = (int64_t)array->bytes;
    }
}

enum status worker_judge(struct worker *worker, const struct ref_builtin *reference,
                         const struct binding *binding, const struct worker_view *views,
                         enum worker_oracle where, struct ref_verdict *numbers,
                         enum verdict *verdict, struct error *err)
{
    struct ref_call call = binding->call;
    if (reference->user)
        return error_set(err, STATUS_UNSUPPORTED,
                         "%s is a registry's own reference, which a worker does not run",
                         reference->name);
    for (int i = 0; i < binding->arrays; i++) {
        if (bound_ids(&binding->array[i]) >= 0)
            return error_set(err, STATUS_UNSUPPORTED,
                             "%s has rows that other memory names, which a worker does not gather",
                             binding->array[i].name);
    }
    call_fill(binding, views, &call);
    enum status status = worker_reference(worker, reference->name, where, &call, numbers, err);
    *verdict = status ? VERDICT_INCONCLUSIVE : verdict_of(numbers);
    return status;
}
