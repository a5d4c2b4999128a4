/*
 * device_interpreter.c - runs PTX on the CPU: memory is this process's own, so addresses of the
 * device are addresses of the process.
 */
#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#include "tests/softgpu/driver/module/fatbin.h"
#include "tests/softgpu/exec/exec.h"
#include "tools/worker/device/device.h"
#include "tools/worker/image.h"

enum { NEWEST_ARCH = 121, ALIGN = 256, SPARSE = 1 << 30 };

struct piece {
    uint64_t begin, bytes;
    uint64_t mapped; /* bytes from mmap; 0: from the heap */
};

struct interpreter {
    struct device device;
    struct exec_host host;
    struct piece *piece; /* sorted by begin */
    size_t count, room;
};

struct interpreter_module {
    char *text;
    struct ptx_module *ptx;
    struct exec_module *exec;
};

static struct interpreter *interpreter_of(struct device *device)
{
    return (struct interpreter *)device;
}

/* ---- memory ---- */

/* The first piece that begins behind `address`. */
static size_t interpreter_after(const struct interpreter *in, uint64_t address)
{
    size_t low = 0, high = in->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (in->piece[middle].begin <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool interpreter_find(void *user, uint64_t address, struct exec_range *range)
{
    const struct interpreter *in = user;
    size_t after = interpreter_after(in, address);
    const struct piece *piece = after ? &in->piece[after - 1] : NULL;
    if (!piece || address - piece->begin >= piece->bytes)
        return false;
    *range =
        (struct exec_range){piece->begin, piece->bytes, (uint8_t *)(uintptr_t)piece->begin, true};
    return true;
}

/* Large pieces take memory only where they are touched. */
static void *piece_memory(uint64_t bytes, uint64_t *mapped)
{
    *mapped = bytes >= SPARSE ? bytes : 0;
    if (!*mapped)
        return aligned_alloc(ALIGN, bytes);
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

static void piece_free(const struct piece *piece)
{
    void *memory = (void *)(uintptr_t)piece->begin;
    if (piece->mapped)
        munmap(memory, piece->mapped);
    else
        free(memory);
}

static enum status interpreter_allocate(struct device *device, uint64_t bytes, uint64_t *address,
                                        struct error *err)
{
    struct interpreter *in = interpreter_of(device);
    uint64_t whole = (bytes + ALIGN - 1) / ALIGN * ALIGN, mapped;
    if (in->count == in->room) {
        size_t room = 2 * in->room + 64;
        struct piece *more = realloc(in->piece, room * sizeof(*more));
        if (!more)
            return error_set(err, STATUS_NO_MEMORY, "no memory for a list of arrays");
        in->piece = more;
        in->room = room;
    }
    void *memory = piece_memory(whole, &mapped);
    if (!memory)
        return error_set(err, STATUS_FULL, "no room for an array of %llu bytes",
                         (unsigned long long)bytes);
    *address = (uint64_t)(uintptr_t)memory;
    size_t at = interpreter_after(in, *address);
    memmove(in->piece + at + 1, in->piece + at, (in->count - at) * sizeof(*in->piece));
    in->piece[at] = (struct piece){*address, bytes, mapped};
    in->count++;
    return STATUS_OK;
}

static void interpreter_release(struct device *device, uint64_t address)
{
    struct interpreter *in = interpreter_of(device);
    size_t after = interpreter_after(in, address);
    if (!after || in->piece[after - 1].begin != address)
        return;
    piece_free(&in->piece[after - 1]);
    memmove(in->piece + after - 1, in->piece + after, (in->count - after) * sizeof(*in->piece));
    in->count--;
}

/* A module's variable: freed with the process. */
static bool interpreter_place(void *user, const struct ptx_variable *variable, uint64_t *address)
{
    struct interpreter *in = user;
    uint64_t bytes = variable->bytes ? variable->bytes : 1;
    if (interpreter_allocate(&in->device, bytes, address, NULL))
        return false;
    memset((void *)(uintptr_t)*address, 0, bytes);
    return true;
}

static enum status interpreter_write(struct device *device, uint64_t to, const void *bytes,
                                     uint64_t count, struct error *err)
{
    (void)device, (void)err;
    memcpy((void *)(uintptr_t)to, bytes, count);
    return STATUS_OK;
}

static enum status interpreter_read(struct device *device, uint64_t from, void *bytes,
                                    uint64_t count, struct error *err)
{
    (void)device, (void)err;
    memcpy(bytes, (const void *)(uintptr_t)from, count);
    return STATUS_OK;
}

static enum status interpreter_fill(struct device *device, uint64_t to, uint64_t count,
                                    uint8_t value, struct error *err)
{
    (void)device, (void)err;
    memset((void *)(uintptr_t)to, value, count);
    return STATUS_OK;
}

static enum status interpreter_copy(struct device *device, uint64_t to, uint64_t from,
                                    uint64_t count, struct error *err)
{
    (void)device, (void)err;
    memmove((void *)(uintptr_t)to, (const void *)(uintptr_t)from, count);
    return STATUS_OK;
}

/* ---- code ---- */

static void interpreter_unload(struct device *device, void *user)
{
    struct interpreter_module *module = user;
    (void)device;
    exec_module_free(module->exec);
    ptx_free(module->ptx);
    free(module->text);
    free(module);
}

/* The PTX that machine code carries, its own or that of the newest in a fatbin. */
static bool interpreter_carried(const uint8_t *bytes, size_t count, enum image_kind kind,
                                char **text, size_t *length)
{
    const struct image_piece piece = {kind, bytes, count};
    struct image_text carried;
    image_text_read(&carried, &piece, NULL);
    bool found = carried.text && (kind == IMAGE_CUBIN || carried.code);
    if (found) {
        *text = carried.text;
        *length = carried.length;
        carried.text = NULL;
    }
    image_text_release(&carried);
    return found;
}

/* The PTX of a piece, ended by a NUL. */
static enum status interpreter_text(const uint8_t *bytes, size_t count, char **text, size_t *length,
                                    struct error *err)
{
    struct error why = {{0}};
    uint64_t whole;
    if (fatbin_elf_arch(bytes, count)) {
        if (interpreter_carried(bytes, count, IMAGE_CUBIN, text, length))
            return STATUS_OK;
        return error_set(err, STATUS_INVALID,
                         "the interpreter runs PTX, and the image is sm_%u machine code without "
                         "any: compile with -lineinfo, or pass PTX or a fatbin built with "
                         "-gencode arch=compute_75,code=compute_75",
                         fatbin_elf_arch(bytes, count));
    }
    if (fatbin_measure(bytes, count, &whole)) {
        if (fatbin_choose(bytes, count, NEWEST_ARCH, text, length, &why) == CUDA_SUCCESS ||
            interpreter_carried(bytes, count, IMAGE_FATBIN, text, length))
            return STATUS_OK;
        return error_set(err, STATUS_INVALID, "%s",
                         *why.text ? why.text : "the fatbin cannot be read");
    }
    *length = strnlen((const char *)bytes, count);
    *text = malloc(*length + 1);
    if (!*text)
        return error_set(err, STATUS_NO_MEMORY, "no memory for the image");
    memcpy(*text, bytes, *length);
    (*text)[*length] = '\0';
    return STATUS_OK;
}

static enum status interpreter_load(struct device *device, const void *bytes, size_t count,
                                    void **out, struct error *err)
{
    struct interpreter *in = interpreter_of(device);
    struct interpreter_module *module = calloc(1, sizeof(*module));
    size_t length = 0;
    if (!module)
        return error_set(err, STATUS_NO_MEMORY, "no memory for a module");
    enum status status = interpreter_text(bytes, count, &module->text, &length, err);
    if (!status)
        status = ptx_read(module->text, length, "image", &module->ptx, err);
    if (!status)
        status = exec_module_create(module->ptx, &in->host, &module->exec, err);
    if (status) {
        ptx_free(module->ptx);
        free(module->text);
        free(module);
        return status == STATUS_NO_MEMORY ? status : STATUS_INVALID;
    }
    *out = module;
    return STATUS_OK;
}

static enum status interpreter_kernel(struct device *device, void *user, const char *symbol,
                                      void **kernel, struct worker_kernel *about, struct error *err)
{
    struct interpreter_module *module = user;
    struct exec_function *function = exec_find_kernel(module->exec, symbol);
    (void)device;
    if (!function)
        return error_set(err, STATUS_NOT_FOUND, "the image has no kernel %s", symbol);
    enum status status = exec_prepare(function, err);
    if (status)
        return status == STATUS_INVALID ? STATUS_INVALID : STATUS_UNSUPPORTED;
    const struct exec_info *info = exec_describe(function);
    about->max_threads = info->max_threads;
    about->static_shared = (uint32_t)info->static_shared;
    about->param_bytes = (uint32_t)info->param_bytes;
    about->layout.count = info->param_count;
    for (unsigned i = 0; i < info->param_count && i < LAYOUT_MAX; i++) {
        about->layout.param[i].offset = (uint32_t)info->params[i].offset;
        about->layout.param[i].size = (uint32_t)info->params[i].bytes;
    }
    *kernel = function;
    return STATUS_OK;
}

static enum status interpreter_variable(struct device *device, void *user, const char *name,
                                        uint64_t *address, uint64_t *bytes, struct error *err)
{
    const struct interpreter_module *module = user;
    (void)device;
    return exec_find_variable(module->exec, name, address, bytes)
               ? STATUS_OK
               : error_set(err, STATUS_NOT_FOUND, "the image has no variable %s", name);
}

/* Why the device does not take the launch; NULL: it does. */
static const char *interpreter_refuses(const struct exec_info *info,
                                       const struct worker_launch *launch)
{
    uint64_t cluster = 1;
    for (int i = 0; i < 3; i++)
        cluster *= launch->cluster[i] ? launch->cluster[i] : 1;
    const uint32_t shape[6] = {launch->grid[0],  launch->grid[1],  launch->grid[2],
                               launch->block[0], launch->block[1], launch->block[2]};
    if (!launch_can_run(shape))
        return "no device runs a grid and block of these sizes";
    if ((uint64_t)shape[3] * shape[4] * shape[5] > info->max_threads)
        return "the block has more threads than the kernel allows";
    if (launch->one_sm)
        return "the interpreter has no multiprocessors to choose from";
    if (launch->param_bytes < info->param_bytes)
        return "the launch has fewer parameter bytes than the kernel declares";
    if (launch->shared_bytes > 227u << 10)
        return "the launch needs more shared memory than a block can have";
    return cluster > 1 ? "the interpreter runs no clusters of more than one block" : NULL;
}

static void interpreter_launch(struct device *device, void *kernel,
                               const struct worker_launch *launch, struct worker_result *out)
{
    struct exec_fault fault = {0};
    struct timespec begin, end;
    struct exec_launch run = {.kernel = kernel,
                              .dynamic_shared = launch->shared_bytes,
                              .params = launch->params,
                              .cooperative = launch->cooperative != 0,
                              .seed = launch->seed,
                              .holds = launch->noise,
                              .step_limit = launch->steps};
    (void)device;
    const char *refused = interpreter_refuses(exec_describe(kernel), launch);
    out->outcome = refused ? WORKER_REFUSED : WORKER_RAN;
    snprintf(out->sentence, sizeof(out->sentence), "%s", refused ? refused : "");
    if (refused)
        return;
    memcpy(run.grid, launch->grid, sizeof(run.grid));
    memcpy(run.block, launch->block, sizeof(run.block));
    clock_gettime(CLOCK_MONOTONIC, &begin);
    enum exec_outcome outcome = exec_run(&run, &fault);
    clock_gettime(CLOCK_MONOTONIC, &end);
    out->ms =
        (double)(end.tv_sec - begin.tv_sec) * 1e3 + (double)(end.tv_nsec - begin.tv_nsec) / 1e6;
    if (outcome == EXEC_DONE)
        return;
    out->outcome = outcome == EXEC_STOPPED ? WORKER_HUNG : WORKER_FAULTED;
    snprintf(out->sentence, sizeof(out->sentence), "%s",
             outcome == EXEC_STOPPED ? "the launch passed its limit of instructions" : fault.text);
}

static enum status interpreter_open(struct device **out, int ordinal, struct worker_about *about,
                                    struct error *err)
{
    struct interpreter *in = calloc(1, sizeof(*in));
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    (void)ordinal;
    if (!in)
        return error_set(err, STATUS_NO_MEMORY, "no memory for the interpreter");
    in->device.ops = &device_interpreter;
    in->host = (struct exec_host){in, interpreter_find, interpreter_place};
    *about = (struct worker_about){
        .kind = "interpreter", .name = "PTX interpreter", .sm = NEWEST_ARCH, .multiprocessors = 1};
    about->memory = pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page / 2 : 0;
    *out = &in->device;
    return STATUS_OK;
}

const struct device_ops device_interpreter = {
    .open = interpreter_open,
    .allocate = interpreter_allocate,
    .release = interpreter_release,
    .write = interpreter_write,
    .read = interpreter_read,
    .fill = interpreter_fill,
    .copy = interpreter_copy,
    .load = interpreter_load,
    .unload = interpreter_unload,
    .kernel = interpreter_kernel,
    .variable = interpreter_variable,
    .launch = interpreter_launch,
    .host_memory = true,
};
