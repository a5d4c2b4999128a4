#include "tools/worker/serve.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tools/worker/image.h"
#include "tools/worker/library_call.h"
#include "tools/worker/oracle.h"
#include "tools/worker/space.h"
#include "tools/worker/wire.h"

enum { MODULES = 1024, KERNELS = 4096 };

struct module {
    void **piece; /* loaded modules of the device; NULL: unloaded */
    size_t count;
};

struct server {
    struct device *device;
    struct space space;
    struct oracle oracle;
    struct module module[MODULES];
    uint32_t modules;
    struct subject {
        void *kernel, *module; /* of the device, or ... */
        struct library_call *call;
    } subject[KERNELS];
    uint32_t kernels;
    uint64_t scratch, scratch_bytes; /* the workspace of library calls */
    bool lost;                       /* the device takes no more calls */
};

/* What one request gave. */
struct reply {
    uint64_t word;
    void *bytes; /* for free() */
    size_t count;
};

typedef enum status serve_function(struct server *server, const struct wire_request *head,
                                   const char *bytes, struct reply *reply, struct error *err);

static enum status damaged(struct error *err)
{
    return error_set(err, STATUS_INVALID, "a request to the worker is damaged");
}

static enum status reply_room(struct reply *reply, size_t count, struct error *err)
{
    reply->bytes = calloc(1, count ? count : 1);
    reply->count = reply->bytes ? count : 0;
    return reply->bytes
               ? STATUS_OK
               : error_set(err, STATUS_NO_MEMORY, "no memory for an answer of %zu bytes", count);
}

static enum status serve_open(struct server *server, const struct wire_request *head,
                              const char *bytes, struct reply *reply, struct error *err)
{
    enum worker_device wanted = (enum worker_device)head->word[0];
    enum status status = reply_room(reply, sizeof(struct worker_about), err);
    struct error why = {{0}};
    (void)bytes;
    if (status || server->device)
        return status ? status : damaged(err);
    if (wanted != WORKER_INTERPRETER) {
        status = device_gpu.open(&server->device, (int)head->word[1], reply->bytes, &why);
        if (!status || wanted == WORKER_GPU)
            return status ? error_set(err, status, "%s", why.text) : STATUS_OK;
    }
    return device_interpreter.open(&server->device, 0, reply->bytes, err);
}

/* ---- images ---- */

static void module_unload(struct server *server, struct module *module)
{
    for (size_t i = 0; i < module->count; i++) {
        if (module->piece[i])
            server->device->ops->unload(server->device, module->piece[i]);
    }
    free(module->piece);
    *module = (struct module){0};
}

/* A program holds fatbins for several architectures and libraries: what one piece lacks, another
 * may have. STATUS_OK where any could be loaded. */
static enum status module_load(struct server *server, const struct image_piece *piece, size_t count,
                               struct module *out, struct error *err)
{
    struct error first = {{0}};
    enum status status = STATUS_INVALID;
    out->piece = calloc(count, sizeof(*out->piece));
    out->count = out->piece ? count : 0;
    if (!out->piece)
        return error_set(err, STATUS_NO_MEMORY, "no memory for a module");
    for (size_t i = 0; i < count; i++) {
        char *copy = malloc(piece[i].count + 1); /* a driver reads text up to its NUL */
        if (!copy)
            continue;
        memcpy(copy, piece[i].bytes, piece[i].count);
        copy[piece[i].count] = '\0';
        if (!server->device->ops->load(server->device, copy, piece[i].count, &out->piece[i],
                                       &first))
            status = STATUS_OK;
        free(copy);
    }
    return status ? error_set(err, status, "%s", first.text) : STATUS_OK;
}

static enum status serve_load(struct server *server, const struct wire_request *head,
                              const char *bytes, struct reply *reply, struct error *err)
{
    struct image_piece *piece;
    struct module made = {0};
    if (server->modules == MODULES)
        return error_set(err, STATUS_FULL, "a worker loads %d images at most", MODULES);
    size_t count = image_split(bytes, head->bytes, &piece, err);
    if (!count)
        return STATUS_INVALID;
    enum status status = module_load(server, piece, count, &made, err);
    free(piece);
    if (status) {
        module_unload(server, &made);
        return status;
    }
    reply->word = server->modules;
    server->module[server->modules++] = made;
    return STATUS_OK;
}

static enum status serve_unload(struct server *server, const struct wire_request *head,
                                const char *bytes, struct reply *reply, struct error *err)
{
    (void)bytes, (void)reply;
    if (head->word[0] >= server->modules)
        return damaged(err);
    module_unload(server, &server->module[head->word[0]]);
    return STATUS_OK;
}

static enum status serve_kernel(struct server *server, const struct wire_request *head,
                                const char *bytes, struct reply *reply, struct error *err)
{
    enum status status = STATUS_NOT_FOUND;
    if (head->word[0] >= server->modules || !head->bytes || bytes[head->bytes - 1])
        return damaged(err);
    if (server->kernels == KERNELS)
        return error_set(err, STATUS_FULL, "a worker finds %d kernels at most", KERNELS);
    if (reply_room(reply, sizeof(struct worker_kernel), err))
        return STATUS_NO_MEMORY;
    const struct module *module = &server->module[head->word[0]];
    struct subject *subject = &server->subject[server->kernels];
    struct worker_kernel *about = reply->bytes;
    struct error why = {{0}};
    for (size_t i = 0; i < module->count && status == STATUS_NOT_FOUND; i++) {
        struct error each = {{0}};
        if (module->piece[i])
            status = server->device->ops->kernel(server->device, module->piece[i], bytes,
                                                 &subject->kernel, about, &each);
        subject->module = module->piece[i];
        why = each;
    }
    about->id = server->kernels;
    server->kernels += !status;
    return status == STATUS_NOT_FOUND ? error_set(err, status, "the image has no kernel %s", bytes)
           : status                   ? error_set(err, status, "%s", why.text)
                                      : STATUS_OK;
}

/* Writes a variable of the module that a kernel is of. */
static enum status serve_variable(struct server *server, const struct wire_request *head,
                                  const char *bytes, struct reply *reply, struct error *err)
{
    size_t name = head->bytes ? strnlen(bytes, head->bytes) + 1 : 1;
    uint64_t address, count, value = head->bytes - name;
    (void)reply;
    if (head->word[0] >= server->kernels || !head->bytes || name > head->bytes)
        return damaged(err);
    const struct subject *subject = &server->subject[head->word[0]];
    if (!subject->module)
        return error_set(err, STATUS_NOT_FOUND, "a library call has no variables");
    enum status status = server->device->ops->variable(server->device, subject->module, bytes,
                                                       &address, &count, err);
    if (!status && count != value)
        status = error_set(err, STATUS_INVALID, "the variable %s has %llu bytes in the image",
                           bytes, (unsigned long long)count);
    return status ? status
                  : server->device->ops->write(server->device, address, bytes + name, count, err);
}

/* A library call in a kernel's place. */
static enum status serve_library(struct server *server, const struct wire_request *head,
                                 const char *bytes, struct reply *reply, struct error *err)
{
    size_t length = head->bytes ? strnlen(bytes, head->bytes) : 0;
    if (length + 2 > head->bytes || bytes[head->bytes - 1])
        return damaged(err);
    if (server->kernels == KERNELS)
        return error_set(err, STATUS_FULL, "a worker finds %d kernels at most", KERNELS);
    if (!server->device->ops->finish)
        return error_set(err, STATUS_UNSUPPORTED,
                         "a library call is made again on a GPU alone; `--stored` needs none");
    if (reply_room(reply, sizeof(struct worker_kernel), err))
        return STATUS_NO_MEMORY;
    struct worker_kernel *about = reply->bytes;
    struct subject *subject = &server->subject[server->kernels];
    enum status status = library_call_find(bytes, bytes + length + 1, &subject->call, about, err);
    about->id = server->kernels;
    server->kernels += !status;
    return status;
}

/* ---- memory ---- */

static enum status serve_allocate(struct server *server, const struct wire_request *head,
                                  const char *bytes, struct reply *reply, struct error *err)
{
    struct worker_array wanted;
    if (head->bytes != sizeof(wanted))
        return damaged(err);
    memcpy(&wanted, bytes, sizeof(wanted));
    return space_allocate(&server->space, &wanted, &reply->word, err);
}

static enum status serve_free(struct server *server, const struct wire_request *head,
                              const char *bytes, struct reply *reply, struct error *err)
{
    (void)bytes, (void)reply;
    return space_free(&server->space, head->word[0], err);
}

static enum status serve_free_all(struct server *server, const struct wire_request *head,
                                  const char *bytes, struct reply *reply, struct error *err)
{
    (void)head, (void)bytes, (void)reply, (void)err;
    space_free_all(&server->space);
    return STATUS_OK;
}

static enum status serve_write(struct server *server, const struct wire_request *head,
                               const char *bytes, struct reply *reply, struct error *err)
{
    enum status status = space_check(&server->space, head->word[0], head->bytes, err);
    (void)reply;
    return status
               ? status
               : server->device->ops->write(server->device, head->word[0], bytes, head->bytes, err);
}

static enum status serve_read(struct server *server, const struct wire_request *head,
                              const char *bytes, struct reply *reply, struct error *err)
{
    enum status status = space_check(&server->space, head->word[0], head->word[1], err);
    (void)bytes;
    if (!status)
        status = reply_room(reply, head->word[1], err);
    return status ? status
                  : server->device->ops->read(server->device, head->word[0], reply->bytes,
                                              head->word[1], err);
}

static enum status serve_fill(struct server *server, const struct wire_request *head,
                              const char *bytes, struct reply *reply, struct error *err)
{
    enum status status = space_check(&server->space, head->word[0], head->word[1], err);
    (void)bytes, (void)reply;
    return status ? status
                  : server->device->ops->fill(server->device, head->word[0], head->word[1],
                                              (uint8_t)head->word[2], err);
}

static enum status serve_copy(struct server *server, const struct wire_request *head,
                              const char *bytes, struct reply *reply, struct error *err)
{
    uint64_t to = head->word[0], from = head->word[1], count = head->word[2];
    enum status status = space_check(&server->space, to, count, err);
    (void)bytes, (void)reply;
    if (!status)
        status = space_check(&server->space, from, count, err);
    return status ? status : server->device->ops->copy(server->device, to, from, count, err);
}

static enum status serve_guards(struct server *server, const struct wire_request *head,
                                const char *bytes, struct reply *reply, struct error *err)
{
    enum status status = reply_room(reply, sizeof(struct worker_guard), err);
    (void)bytes;
    return status ? status : space_guards(&server->space, head->word[0], reply->bytes, err);
}

/* ---- launches ---- */

static void run_call(struct server *server, struct library_call *call,
                     const struct worker_launch *launch, struct worker_result *out)
{
    uint64_t bytes = library_call_workspace(launch);
    struct error err = {{0}};
    if (launch->one_sm || launch->noise) {
        *out = (struct worker_result){.outcome = WORKER_REFUSED};
        snprintf(out->sentence, sizeof(out->sentence),
                 "a library call is not held to one multiprocessor, nor run beside busy blocks");
        return;
    }
    if (bytes > server->scratch_bytes) {
        if (server->scratch)
            server->device->ops->release(server->device, server->scratch);
        server->scratch_bytes = 0;
        if (!server->device->ops->allocate(server->device, bytes, &server->scratch, &err))
            server->scratch_bytes = bytes;
        else
            server->scratch = 0;
    }
    library_call_run(call, launch, bytes <= server->scratch_bytes ? server->scratch : 0, out);
    if (out->outcome == WORKER_RAN)
        server->device->ops->finish(server->device, out);
}

static enum status serve_launch(struct server *server, const struct wire_request *head,
                                const char *bytes, struct reply *reply, struct error *err)
{
    struct worker_launch launch;
    if (head->bytes < sizeof(launch))
        return damaged(err);
    memcpy(&launch, bytes, sizeof(launch));
    if (launch.kernel >= server->kernels || head->bytes - sizeof(launch) != launch.param_bytes)
        return damaged(err);
    launch.params = bytes + sizeof(launch);
    enum status status = reply_room(reply, sizeof(struct worker_result), err);
    if (status)
        return status;
    struct worker_result *result = reply->bytes;
    const struct subject *subject = &server->subject[launch.kernel];
    if (subject->call)
        run_call(server, subject->call, &launch, result);
    else
        server->device->ops->launch(server->device, subject->kernel, &launch, result);
    server->lost = result->outcome == WORKER_FAULTED || result->outcome == WORKER_HUNG;
    return STATUS_OK;
}

static enum status serve_reference(struct server *server, const struct wire_request *head,
                                   const char *bytes, struct reply *reply, struct error *err)
{
    struct wire_reference wanted;
    bool stores = head->op == WIRE_EXPECT;
    if (head->bytes != sizeof(wanted))
        return damaged(err);
    memcpy(&wanted, bytes, sizeof(wanted));
    if (stores && (wanted.call.store_count < 0 || wanted.call.store_count > 1 << 30))
        return damaged(err);
    enum status status = reply_room(
        reply, stores ? (size_t)wanted.call.store_count * 8 : sizeof(struct ref_verdict), err);
    return status ? status
                  : oracle_run(&server->oracle, &server->space, &wanted,
                               (enum worker_oracle)head->word[0], stores ? NULL : reply->bytes,
                               stores ? reply->bytes : NULL, err);
}

/* ---- the socket ---- */

static serve_function *const functions[WIRE_OPS] = {
    [WIRE_OPEN] = serve_open,         [WIRE_LOAD] = serve_load,
    [WIRE_UNLOAD] = serve_unload,     [WIRE_KERNEL] = serve_kernel,
    [WIRE_VARIABLE] = serve_variable, [WIRE_LIBRARY] = serve_library,
    [WIRE_ALLOCATE] = serve_allocate, [WIRE_FREE] = serve_free,
    [WIRE_FREE_ALL] = serve_free_all, [WIRE_WRITE] = serve_write,
    [WIRE_READ] = serve_read,         [WIRE_FILL] = serve_fill,
    [WIRE_COPY] = serve_copy,         [WIRE_GUARDS] = serve_guards,
    [WIRE_LAUNCH] = serve_launch,     [WIRE_JUDGE] = serve_reference,
    [WIRE_EXPECT] = serve_reference,
};

static bool serve_answer(int socket, enum status status, const struct reply *reply,
                         const struct error *err)
{
    const struct wire_answer head = {.magic = WIRE_MAGIC,
                                     .status = status,
                                     .word = reply->word,
                                     .sentence = (uint32_t)strlen(err->text),
                                     .bytes = status ? 0 : reply->count};
    return wire_send(socket, &head, sizeof(head)) && wire_send(socket, err->text, head.sentence) &&
           wire_send(socket, reply->bytes, head.bytes);
}

/* False: the verb is gone, or the device is. */
static bool serve_one(struct server *server, int socket)
{
    struct wire_request head;
    struct error err = {{0}};
    struct reply reply = {0};
    if (!wire_receive(socket, &head, sizeof(head)) || head.magic != WIRE_MAGIC ||
        head.op >= WIRE_OPS || head.bytes > WIRE_BYTES)
        return false;
    char *bytes = malloc(head.bytes + 1);
    if (!bytes || !wire_receive(socket, bytes, head.bytes)) {
        free(bytes);
        return false;
    }
    bytes[head.bytes] = '\0';
    enum status status = !server->device && head.op != WIRE_OPEN
                             ? damaged(&err)
                             : functions[head.op](server, &head, bytes, &reply, &err);
    free(bytes);
    bool sent = serve_answer(socket, status, &reply, &err);
    free(reply.bytes);
    return sent && !server->lost;
}

int worker_serve(int socket)
{
    struct server *server = calloc(1, sizeof(*server));
    if (!server)
        return 1;
    while (serve_one(server, socket))
        server->space.device = server->device;
    return server->lost ? 1 : 0;
}
