/*
 * side_set_up.c - what the collector makes in a context: streams, memory, kernels. Each function
 * leaves what it made to the context, which frees it at its end.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "system/log.h"
#include "device/embedded.h"
#include "context/enqueue.h"
#include "context/side.h"

/* Pinned host memory that the GPU can write: `*device` is its address there. */
static enum status make_pinned(void **host, CUdeviceptr *device, size_t bytes, struct error *err)
{
    enum status status = cuda_check(
        err, cuda.cuMemHostAlloc(host, bytes, CU_MEMHOSTALLOC_DEVICEMAP), "cuMemHostAlloc");
    if (status)
        return status;
    memset(*host, 0, bytes);
    return cuda_check(err, cuda.cuMemHostGetDevicePointer(device, *host, 0),
                      "cuMemHostGetDevicePointer");
}

static enum status make_device(CUdeviceptr *out, size_t bytes, struct error *err)
{
    return cuda_check(err, cuda.cuMemAlloc(out, bytes), "cuMemAlloc");
}

/* Zeroed in the side stream's order: our own kernels follow it there or after its completion. */
static enum status make_zeroed(struct side *side, CUdeviceptr *out, size_t bytes, struct error *err)
{
    enum status status = make_device(out, bytes, err);
    return status ? status
                  : cuda_check(err, cuda.cuMemsetD8Async(*out, 0, bytes, side->stream),
                               "cuMemsetD8Async");
}

static enum status make_stream(struct side *side, struct error *err)
{
    int lowest = 0, highest = 0;
    cuda.cuCtxGetStreamPriorityRange(&lowest, &highest);
    return cuda_check(
        err, cuda.cuStreamCreateWithPriority(&side->stream, CU_STREAM_NON_BLOCKING, lowest),
        "cuStreamCreateWithPriority");
}

/* Loaded now: lazily it would happen inside a launch of the program's, which may need the whole
 * context to come to rest. */
static enum status load_function(CUfunction *out, CUmodule module, const char *name,
                                 struct error *err)
{
    enum status status = cuda_check(err, cuda.cuModuleGetFunction(out, module, name), name);
    if (!status && cuda.cuFuncLoad)
        status = cuda_check(err, cuda.cuFuncLoad(*out), name);
    return status;
}

static enum status make_kernels(struct side *side, struct error *err)
{
    const struct {
        const char *name;
        CUfunction *out;
#define KERNEL(name) "cuvet_" #name, &side->kernel.name
    } kernels[] = {{KERNEL(snapshot)},        {KERNEL(snapshot_few)}, {KERNEL(snapshot_rows)},
                   {KERNEL(touch_find)},      {KERNEL(touch_number)}, {KERNEL(project_before)},
                   {KERNEL(project_factors)}, {KERNEL(project_rows)}, {KERNEL(digest)},
                   {KERNEL(digest_items)}};
#undef KERNEL
    CUmodule snapshot;
    enum status status = cuda_check(err, cuda.cuModuleLoadData(&snapshot, cuvet_snapshot_fatbin),
                                    "loading the snapshot kernels");
    for (size_t i = 0; !status && i < sizeof(kernels) / sizeof(kernels[0]); i++)
        status = load_function(kernels[i].out, snapshot, kernels[i].name, err);
    side->kernel.waits =
        !status && enqueue_waits(side->kernel.snapshot); /* all are compiled alike */
    return status;
}

/* Memsets of the set-up must be over before the program's streams use what they zeroed. */
static enum status settle_side(struct side *side, struct error *err)
{
    const struct timespec pause = {.tv_nsec = 20000};
    CUresult result;
    for (int i = 0; i < 100000; i++) {
        result = cuda.cuStreamQuery(side->stream);
        if (result != CUDA_ERROR_NOT_READY)
            return cuda_check(err, result, "cuStreamQuery");
        nanosleep(&pause, NULL);
    }
    return error_set(err, STATUS_TIMEOUT, "the side stream did not come to rest");
}

static enum status make_centroids(struct side *side, struct error *err)
{
    struct outlier_side *gate = &side->outlier;
    enum status status = make_zeroed(side, &gate->centroids,
                                     OUTLIER_CENTROIDS * sizeof(struct outlier_centroid), err);
    if (!status)
        status = make_pinned((void **)&gate->quantile, &gate->quantile_device,
                             OUTLIER_CENTROIDS * sizeof(*gate->quantile), err);
    for (int i = 0; !status && i < OUTLIER_CENTROIDS; i++)
        gate->quantile[i].value = -1;
    return status;
}

static enum status make_outlier(struct side *side, const struct side_settings *settings,
                                struct error *err)
{
    struct outlier_side *gate = &side->outlier;
    CUmodule module;
    gate->probes = side->slot.count < OUTLIER_LOOKS ? side->slot.count : OUTLIER_LOOKS;
    enum status status = cuda_check(err, cuda.cuModuleLoadData(&module, cuvet_outlier_fatbin),
                                    "loading the outlier kernels");
    if (!status)
        status = make_zeroed(side, &gate->slots, gate->probes * sizeof(struct outlier_slot), err);
    if (!status)
        status =
            make_zeroed(side, &gate->entries, OUTLIER_ENTRIES * sizeof(struct outlier_entry), err);
    if (!status)
        status = make_pinned((void **)&gate->answer, &gate->answer_device,
                             gate->probes * sizeof(struct outlier_answer), err);
    if (!status && settings->centroid)
        status = make_centroids(side, err);
    if (!status)
        status = load_function(&gate->few, module, "cuvet_outlier_few", err);
    if (!status)
        status = load_function(&gate->kernel, module, "cuvet_outlier", err);
    gate->waits = !status && enqueue_waits(gate->kernel) && enqueue_waits(gate->few);
    return status;
}

/* Without it the other gates go on. The tables are zero before the state is OUTLIER_READY. */
void side_set_up_probes(struct side *side, const struct side_settings *settings)
{
    struct error err = {{0}};
    enum status status = STATUS_OK;
    if (settings->outlier)
        status = make_outlier(side, settings, &err);
    if (settings->outlier && !status)
        status = settle_side(side, &err);
    if (status)
        log_line(LOG_WARN, "no outlier gate on device %d: %s", side->device, err.text);
    atomic_store_explicit(&side->outlier.state,
                          settings->outlier && !status ? OUTLIER_READY : OUTLIER_BROKEN,
                          memory_order_release);
}

/* Without them the built-in references go on. */
static void try_users(struct side *side, const struct side_settings *settings)
{
    struct error err = {{0}};
    if (side_users_open(side, settings->compiler, &err))
        log_line(LOG_WARN, "references of the registry's own are unchecked on device %d: %s",
                 side->device, err.text);
}

/* One allocation of each kind, for all lanes. Those of a batch share the blocks of its launch, and
 * so the blocks' partial results; ref_batch_share may assign some more than REF_MAX_BLOCKS. */
static enum status make_lanes(struct side *side, struct error *err)
{
    enum { LANES = SIDE_BATCHES * REF_BATCH, PARTIALS = REF_MAX_BLOCKS + REF_BATCH };
    CUdeviceptr partial, calls_device = 0, ticket = 0, answer_device = 0, digest = 0, unused;
    struct ref_verdict *answer = NULL;
    struct digest_sums *digest_host = NULL;
    struct ref_product_answer *projection = NULL;
    struct ref_call *calls = NULL;
    enum status status =
        make_device(&partial, SIDE_BATCHES * PARTIALS * sizeof(struct ref_verdict), err);
    if (!status)
        status = make_pinned((void **)&calls, &unused, LANES * sizeof(*calls), err);
    if (!status)
        status = make_device(&calls_device, LANES * sizeof(*calls), err);
    if (!status)
        status = make_zeroed(side, &ticket, LANES * sizeof(uint32_t), err);
    if (!status)
        status = make_pinned((void **)&answer, &answer_device, LANES * sizeof(*answer), err);
    if (!status)
        status = make_device(&digest, LANES * sizeof(*digest_host), err);
    if (!status)
        status = make_pinned((void **)&digest_host, &unused, LANES * sizeof(*digest_host), err);
    if (!status)
        status = make_pinned((void **)&projection, &unused, LANES * sizeof(*projection), err);
    for (unsigned i = 0; !status && i < LANES; i++)
        side->batch[i / REF_BATCH].lane[i % REF_BATCH] = (struct lane){
            .partial = partial + i / REF_BATCH * PARTIALS * sizeof(struct ref_verdict),
            .calls = calls + i / REF_BATCH * REF_BATCH,
            .calls_device = calls_device + i / REF_BATCH * REF_BATCH * sizeof(*calls),
            .ticket = ticket + i * sizeof(uint32_t),
            .answer = answer + i,
            .answer_device = answer_device + i * sizeof(*answer),
            .digest = digest + i * sizeof(*digest_host),
            .digest_host = digest_host + i,
            .projection = projection + i};
    return status;
}

/* Of what the device has left the program keeps three quarters, if that leaves enough for some
 * checks. */
static uint64_t arena_size(uint64_t most)
{
    const uint64_t least = (uint64_t)16 << 20;
    size_t left = 0, total = 0;
    if (cuda.cuMemGetInfo(&left, &total) != CUDA_SUCCESS || left / 4 >= most)
        return most;
    uint64_t part = left / 4 > least ? left / 4 : least;
    return part < most ? part : most;
}

/* Head and arena in one allocation. */
static enum status make_arena(struct side *side, uint64_t bytes, struct error *err)
{
    enum {
        HEAD = SNAPSHOT_ALIGN,
        BEHIND = 256 /* ref_tensor.bytes: references read whole packs */
    };
    _Static_assert(sizeof(struct snapshot_arena) <= HEAD, "the arena begins behind its head");
    uint64_t most = bytes < SNAPSHOT_MOST_ARENA ? bytes : SNAPSHOT_MOST_ARENA;
    struct snapshot_arena head = {.bytes = most / SNAPSHOT_ALIGN * SNAPSHOT_ALIGN, .lap = 1};
    struct side_arena *arena = &side->arena;
    CUdeviceptr tail = 0;
    while (head.lap < head.bytes)
        head.lap *= 2;
    enum status status = make_pinned((void **)&arena->tail, &tail, sizeof(*arena->tail), err);
    if (!status)
        status = make_device(&arena->head, HEAD + head.bytes + BEHIND, err);
    if (status)
        return status;
    arena->bytes = head.bytes;
    arena->lap = head.lap;
    arena->base = arena->head + HEAD;
    head.tail = (uint64_t *)(uintptr_t)tail;
    return cuda_check(err, cuda.cuMemcpyHtoDAsync(arena->head, &head, sizeof(head), side->stream),
                      "cuMemcpyHtoDAsync");
}

static enum status make_memory(struct side *side, const struct side_settings *settings,
                               struct error *err)
{
    side->slot.count = settings->queue;
    side->slot.free = slots_create(side->slot.count);
    side->arena.reclaim = reclaim_create(side->slot.count);
    side->slot.free_large = slots_create(LARGE_PARAMS);
    side->slot.large_params = calloc(LARGE_PARAMS, CHECK_LARGE_PARAMS);
    side->slot.check = calloc(side->slot.count, sizeof(*side->slot.check));
    size_t users = settings->compiler ? compiler_users(settings->compiler)->references : 0;
    side->refs.each = calloc((ref_builtin_count + users) * REF_VARIANTS, sizeof(*side->refs.each));
    side->slot.submitted = calloc((side->slot.count + 63) / 64, sizeof(*side->slot.submitted));
    if (!side->slot.free_large || !side->slot.large_params || !side->slot.free ||
        !side->arena.reclaim || !side->slot.check || !side->refs.each || !side->slot.submitted)
        return error_set(err, STATUS_NO_MEMORY, "no memory for %u checks", side->slot.count);
    enum status status = make_arena(side, arena_size(settings->memory), err);
    if (!status)
        status = make_zeroed(side, &side->slot.ticket, side->slot.count * sizeof(uint32_t), err);
    if (!status)
        status = make_zeroed(side, &side->slot.place,
                             side->slot.count * sizeof(struct snapshot_place), err);
    if (!status)
        status = make_pinned((void **)&side->slot.seal, &side->slot.seal_device,
                             side->slot.count * sizeof(struct snapshot_seal), err);
    return status ? status : make_lanes(side, err);
}

enum status side_set_up(struct side *side, const struct side_settings *settings, struct error *err)
{
    CUdevice device = 0;
    enum status status = cuda_check(err, cuda.cuCtxGetDevice(&device), "cuCtxGetDevice");
    side->device = device;
    atomic_store(&side->sequence, 1);
    double share = settings->budget * (1 - BUDGET_HOOKS);
    budget_open(&side->budget, share);
    budget_open(&side->probes, share * BUDGET_PROBES);
    if (!status)
        status =
            cuda_check(err,
                       cuda.cuDeviceGetAttribute(&side->multiprocessors,
                                                 CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device),
                       "cuDeviceGetAttribute");
    if (!status)
        status = make_stream(side, err);
    if (!status)
        status = make_kernels(side, err);
    if (!status)
        status = make_memory(side, settings, err);
    if (!status)
        try_users(side, settings);
    if (!status)
        status = settle_side(side, err);
    enum side_state wanted = SIDE_WANTED; /* the context may have gone meanwhile */
    atomic_compare_exchange_strong(&side->state, &wanted, status ? SIDE_BROKEN : SIDE_READY);
    return status;
}

enum status side_staging(struct side *side, struct error *err)
{
    return side->staging ? STATUS_OK : make_device(&side->staging, STAGING_BYTES, err);
}

enum status side_staging_host(struct side *side, struct error *err)
{
    CUdeviceptr unused;
    return side->staging_host ? STATUS_OK
                              : make_pinned(&side->staging_host, &unused, STAGING_BYTES, err);
}

/* The module of built-in references, of the wide ones or of all others; NULL when the driver
 * refuses it. */
static CUmodule refs_module(struct side *side, bool wide, struct error *err)
{
    CUmodule *module = wide ? &side->refs.wide : &side->refs.module;
    const void *image = wide ? cuvet_refs_wide_fatbin : cuvet_refs_fatbin;
    if (!*module && cuda_check(err, cuda.cuModuleLoadData(module, image),
                               wide ? "loading the wide references" : "loading the references"))
        *module = NULL;
    return *module;
}

const struct side_reference *side_reference(struct side *side, const struct ref_builtin *reference,
                                            enum ref_variant variant, struct error *err)
{
    const struct user_reference *user = reference->user;
    size_t index = user ? ref_builtin_count + user->number : (size_t)(reference - ref_builtins);
    struct side_reference *there = &side->refs.each[index * REF_VARIANTS + variant];
    const char *symbol = reference->symbol[variant];
    bool wide = !strcmp(symbol, reference->symbol[REF_WIDE]);
    CUfunction function;
    int resident = 0;
    if (there->function)
        return there;
    CUmodule module =
        user ? side->refs.users.module[user->text->number] : refs_module(side, wide, err);
    if (!module || load_function(&function, module, symbol, err) ||
        cuda_check(
            err,
            cuda.cuOccupancyMaxActiveBlocksPerMultiprocessor(&resident, function, REF_THREADS, 0),
            symbol))
        return NULL;
    there->blocks = (unsigned)(side->multiprocessors * (resident > 0 ? resident : 1));
    there->function = function;
    return there;
}
