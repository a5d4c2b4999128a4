/*
 * Handles are found in the table of kernel_table.h. When it is full, further ones are resolved
 * under the lock each time: slower, never wrong.
 */
#include "gate/kernels.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>
#include "base/hot.h"
#include "base/uninterrupted.h"
#include "driver/cuda_api.h"
#include "gate/gate.h"
#include "gate/kernel_table.h"

enum { BUCKETS = 1 << 12, BUILDS = 1 << 10 /* of one kernel */ };

struct kernels {
    struct kernel_table table;
    _Atomic(uint32_t) build[KERNEL_TABLE]; /* of each entry of the table */
    void *memory;                          /* what all this lies in */
    struct registry *registry;
    kernels_seen_fn seen;
    void *user;
    kernels_lift_fn lift; /* or NULL */
    void *lift_user;
    kernels_facts_fn facts; /* or NULL */
    void *facts_user;
    kernels_sight_fn sight; /* or NULL */
    void *sight_user;
    kernels_image_fn image; /* or NULL */
    void *image_user;
    pthread_mutex_t lock;
    struct known_kernel *bucket[BUCKETS]; /* by symbol hash */
};

struct kernels *kernels_create(struct registry *registry, kernels_seen_fn seen, void *user)
{
    /* Its pages are not touched before there are kernels, so no aligned_alloc and memset. */
    size_t alignment = _Alignof(struct kernels);
    char *memory = calloc(1, sizeof(struct kernels) + alignment);
    if (!memory)
        return NULL;
    struct kernels *kernels = (void *)(memory + (alignment - (uintptr_t)memory % alignment));
    kernels->memory = memory;
    kernels->registry = registry;
    kernels->seen = seen;
    kernels->user = user;
    pthread_mutex_init(&kernels->lock, NULL);
    return kernels;
}

/* A record without a spec has no room for the list of its builds. */
static void free_record(struct known_kernel *kernel)
{
    struct kernel_build *build = kernel->spec ? kernel->build : NULL;
    while (build) {
        struct kernel_build *gone = build;
        build = gone->next;
        free(gone);
    }
    free(kernel);
}

void kernels_destroy(struct kernels *kernels)
{
    if (!kernels)
        return;
    for (unsigned i = 0; i < BUCKETS; i++) {
        while (kernels->bucket[i]) {
            struct known_kernel *gone = kernels->bucket[i];
            kernels->bucket[i] = gone->next;
            free_record(gone);
        }
    }
    pthread_mutex_destroy(&kernels->lock);
    free(kernels->memory);
}

void kernels_visit(struct kernels *kernels,
                   void (*visit)(void *user, const struct known_kernel *kernel), void *user)
{
    struct uninterrupted kept;
    uninterrupted_begin(&kept);
    pthread_mutex_lock(&kernels->lock);
    for (unsigned i = 0; i < BUCKETS; i++) {
        for (const struct known_kernel *kernel = kernels->bucket[i]; kernel;
             kernel = kernel->next) {
            if (kernel->spec)
                visit(user, kernel);
        }
    }
    pthread_mutex_unlock(&kernels->lock);
    uninterrupted_end(&kept);
}

void kernels_lift(struct kernels *kernels, kernels_lift_fn lift, void *user)
{
    kernels->lift = lift;
    kernels->lift_user = user;
}

void kernels_learn(struct kernels *kernels, kernels_facts_fn facts, void *user)
{
    kernels->facts = facts;
    kernels->facts_user = user;
}

void kernels_watch(struct kernels *kernels, kernels_sight_fn sight, void *user)
{
    kernels->sight = sight;
    kernels->sight_user = user;
}

void kernels_distinguish(struct kernels *kernels, kernels_image_fn image, void *user)
{
    kernels->image = image;
    kernels->image_user = user;
}

void kernels_revalidate(void)
{
    atomic_fetch_add_explicit(&passing.handles, 1, memory_order_release);
}

typedef CUresult (*param_info_fn)(const void *kernel, size_t index, size_t *offset, size_t *size);

/* What kernels_queried() returns. */
static __thread const void *queried;

const void *kernels_queried(void)
{
    return queried;
}

/* The CUfunction query fails for a CUkernel and the other way round, so both are tried. */
static bool query_layout(const void *function, struct param_layout *layout)
{
    param_info_fn query[2];
    memcpy(&query[0], &cuda.cuKernelGetParamInfo, sizeof(query[0]));
    memcpy(&query[1], &cuda.cuFuncGetParamInfo, sizeof(query[1]));
    memset(layout, 0, sizeof(*layout));
    for (int way = 0; way < 2; way++) {
        size_t offset = 0, size = 0;
        CUresult result = CUDA_SUCCESS;
        unsigned count = 0;
        if (!query[way])
            continue;
        while ((result = query[way](function, count, &offset, &size)) == CUDA_SUCCESS) {
            if (count < LAYOUT_MAX) {
                layout->param[count].offset = (uint32_t)offset;
                layout->param[count].size = (uint32_t)size;
            }
            count++;
        }
        if (count || result == CUDA_ERROR_INVALID_VALUE) {
            layout->count = count;
            return true;
        }
    }
    return false;
}

bool kernels_layout(const void *function, struct param_layout *layout)
{
    queried = kernels_home(function).library;
    bool known = query_layout(function, layout);
    queried = NULL;
    return known;
}

static size_t listed_params(const struct param_layout *layout)
{
    return layout->count < LAYOUT_MAX ? layout->count : LAYOUT_MAX;
}

/* Of the part of a layout that is filled in. */
static size_t filled_bytes(const struct param_layout *layout)
{
    return offsetof(struct param_layout, param) + listed_params(layout) * sizeof(layout->param[0]);
}

static bool same_layout(const struct param_layout *a, const struct param_layout *b)
{
    return a->count == b->count &&
           !memcmp(a->param, b->param, listed_params(a) * sizeof(a->param[0]));
}

/* A record of which so many bytes are there, with its symbol behind them, in the table; all zero
 * else. Lock held. */
static struct known_kernel *new_record(struct kernels *kernels, const char *symbol, uint64_t hash,
                                       size_t bytes)
{
    size_t line = _Alignof(struct known_kernel), length = strlen(symbol) + 1;
    size_t whole = (bytes + length + line - 1) / line * line;
    char *memory = aligned_alloc(line, whole);
    if (!memory)
        return NULL;
    memset(memory, 0, whole);
    struct known_kernel *kernel = (void *)memory;
    kernel->symbol = memcpy(memory + bytes, symbol, length);
    kernel->key = hash;
    kernel->next = kernels->bucket[hash % BUCKETS];
    kernels->bucket[hash % BUCKETS] = kernel;
    return kernel;
}

/* Whether no registry entry names it, in no role. */
static bool is_passed(const struct known_kernel *kernel)
{
    return !kernel->spec && kernel->skip == SKIP_UNREGISTERED && !kernel->after;
}

static struct known_kernel *add_passed(struct kernels *kernels, const char *symbol, uint64_t hash)
{
    struct known_kernel *kernel =
        new_record(kernels, symbol, hash, offsetof(struct known_kernel, time));
    if (kernel)
        kernel->skip = SKIP_UNREGISTERED;
    return kernel;
}

/* What the gates need of a kernel with a spec. */
static void open_spec(struct known_kernel *kernel)
{
    const struct param_layout *layout = &kernel->layout;
    uint64_t key = XXH3_64bits_withSeed(
        layout->param, listed_params(layout) * sizeof(*layout->param), kernel->key);
    gate_recipe_make(&kernel->recipe, kernel->spec, key);
    budget_open(&kernel->budget, kernel->spec->budget);
    budget_open(&kernel->probes, kernel->spec->budget * BUDGET_PROBES);
}

/* A record with room for the layout. */
static struct known_kernel *new_whole(struct kernels *kernels, const char *symbol, uint64_t hash,
                                      const struct param_layout *layout)
{
    const size_t layout_bytes = filled_bytes(layout);
    struct known_kernel *kernel =
        new_record(kernels, symbol, hash, offsetof(struct known_kernel, layout) + layout_bytes);
    if (kernel)
        memcpy(&kernel->layout, layout, layout_bytes);
    return kernel;
}

/* Resolves a symbol and layout that were not seen together before. NULL: no memory, or with
 * `*passed`: the entries that name it are for other kernels of this name. Lock held. */
static struct known_kernel *add_known_kernel(struct kernels *kernels, const char *symbol,
                                             uint64_t hash, const struct param_layout *layout,
                                             bool layout_known, bool *passed)
{
    const struct kernel_spec *spec = NULL;
    enum skip skip = SKIP_LAYOUT;
    struct error err = {{0}};
    uint64_t after = registry_after(kernels->registry, symbol);
    if (layout_known)
        spec = registry_resolve(kernels->registry, symbol, layout, &skip, &err);
    else
        error_set(&err, STATUS_UNSUPPORTED,
                  "the driver does not give its parameter list (needs a driver of CUDA 12.4)");
    *passed = !spec && skip == SKIP_UNREGISTERED && !after;
    struct known_kernel *kernel = *passed ? NULL : new_whole(kernels, symbol, hash, layout);
    if (!kernel)
        return NULL;
    kernel->after = after;
    kernel->spec = spec;
    kernel->skip = skip;
    if (spec)
        open_spec(kernel);
    if (skip != SKIP_UNREGISTERED || spec || err.text[0])
        kernels->seen(kernels->user, kernel, spec ? NULL : err.text);
    return kernel;
}

/* The record of a kernel that is held against its own PTX; NULL: it cannot be. Several modules may
 * have different kernels of one symbol, so the record is found by its spec. Lock held. */
static struct known_kernel *find_lifted_kernel(struct kernels *kernels, const struct launch *launch,
                                               const char *symbol, uint64_t hash)
{
    struct param_layout layout;
    const struct kernel_spec *spec = NULL;
    if (kernels->lift && !launch->call && kernels_layout(launch->function, &layout))
        spec = kernels->lift(kernels->lift_user, launch, symbol, &layout);
    if (!spec)
        return NULL;
    struct known_kernel *k = kernels->bucket[hash % BUCKETS];
    while (k && k->spec != spec)
        k = k->next;
    if (k || !(k = new_whole(kernels, symbol, hash, &layout)))
        return k;
    k->spec = spec;
    open_spec(k);
    kernels->seen(kernels->user, k, NULL);
    return k;
}

/* The record of the symbol and layout; layout NULL: of one that no entry names. One that is held
 * against its own PTX is found by find_lifted_kernel() alone. Lock held. */
static struct known_kernel *find_record(const struct kernels *kernels, const char *symbol,
                                        uint64_t hash, const struct param_layout *layout)
{
    struct known_kernel *k = kernels->bucket[hash % BUCKETS];
    while (k && (k->key != hash || strcmp(k->symbol, symbol) != 0 || is_passed(k) != !layout ||
                 (layout && !same_layout(&k->layout, layout)) || (k->spec && k->spec->lift)))
        k = k->next;
    return k;
}

const char *kernels_symbol(const struct launch *launch)
{
    const char *name = NULL;
    void *handle = (void *)(uintptr_t)launch->function;
    if (launch->symbol)
        return launch->symbol;
    if (cuda.cuKernelGetName && !cuda.cuKernelGetName(&name, handle) && name)
        return name;
    return cuda.cuFuncGetName && !cuda.cuFuncGetName(&name, handle) && name ? name : "";
}

/* The record of a kernel without an entry. Lock held. */
static struct known_kernel *pass_entries(struct kernels *kernels, const struct launch *launch,
                                         const char *symbol, uint64_t hash)
{
    struct known_kernel *known = find_lifted_kernel(kernels, launch, symbol, hash);
    if (!known)
        known = find_record(kernels, symbol, hash, NULL);
    return known ? known : add_passed(kernels, symbol, hash);
}

/* Lock held. An unregistered kernel needs no layout: most kernels cost no driver call at all. */
static struct known_kernel *resolve_kernel(struct kernels *kernels, const struct launch *launch)
{
    const char *symbol = kernels_symbol(launch);
    uint64_t hash = XXH3_64bits(symbol, strlen(symbol));
    struct param_layout layout = {0};
    if (!registry_names(kernels->registry, symbol) && !registry_after(kernels->registry, symbol))
        return pass_entries(kernels, launch, symbol, hash);
    bool known = launch->call != NULL;
    if (known)
        layout = *launch->call;
    else if ((known = kernels_layout(launch->function, &layout)) && kernels->facts)
        kernels->facts(kernels->facts_user, launch, symbol, &layout);
    bool passed = false;
    struct known_kernel *found = find_record(kernels, symbol, hash, &layout);
    if (!found)
        found = add_known_kernel(kernels, symbol, hash, &layout, known, &passed);
    return passed ? pass_entries(kernels, launch, symbol, hash) : found;
}

/* The entry of the handle, or the first free one behind its place. NULL: there is none. */
static struct kernel_entry *entry_for(struct kernels *kernels, const void *function)
{
    uint64_t place = kernel_place(function);
    for (unsigned i = 0; i < KERNEL_PROBES; i++) {
        struct kernel_entry *entry = &kernels->table.entry[(place + i) % KERNEL_TABLE];
        const void *there = atomic_load_explicit(&entry->function, memory_order_acquire);
        if (!there || there == function)
            return entry;
    }
    return NULL;
}

/* The entry of the handle; NULL: it has none. */
static struct kernel_entry *known_entry(struct kernels *kernels, const void *function)
{
    struct kernel_entry *entry = entry_for(kernels, function);
    bool known = entry && atomic_load_explicit(&entry->function, memory_order_acquire) == function;
    return known ? entry : NULL;
}

/* The record of a table entry. */
static uintptr_t marked(const struct known_kernel *kernel)
{
    return (uintptr_t)kernel | (is_passed(kernel) ? KERNEL_PASSED : 0);
}

/* The number of the build, a new one where there is none; 0 also where its image is not known, and
 * for those past BUILDS. Lock held. */
static uint32_t build_of(struct kernels *kernels, struct known_kernel *kernel,
                         const struct launch *launch)
{
    uint64_t hash = kernels->image(kernels->image_user, launch, kernel->symbol);
    struct kernel_build *build = kernel->build, *made;
    uint32_t number = build ? build->number + 1 : 0;
    while (build && build->hash != hash)
        build = build->next;
    if (build)
        return build->number;
    if (!hash || number == BUILDS || !(made = malloc(sizeof(*made))))
        return 0;
    *made = (struct kernel_build){.next = kernel->build, .hash = hash, .number = number};
    kernel->build = made;
    return number;
}

/* Lock held. */
static void note_build(struct kernels *kernels, const struct kernel_entry *entry,
                       struct known_kernel *kernel, const struct launch *launch)
{
    if (kernels->image && kernel->spec && kernel->spec->contract)
        atomic_store_explicit(&kernels->build[entry - kernels->table.entry],
                              build_of(kernels, kernel, launch), memory_order_relaxed);
}

uint32_t kernels_build(struct kernels *kernels, const void *function)
{
    const struct kernel_entry *entry = known_entry(kernels, function);
    return entry ? atomic_load_explicit(&kernels->build[entry - kernels->table.entry],
                                        memory_order_relaxed)
                 : 0;
}

static const char no_symbol[] = "being written"; /* equal to no launch's, not even a NULL one */

static struct known_kernel *find_kernel_slowly(struct kernels *kernels, const struct launch *launch)
{
    struct uninterrupted kept;
    uninterrupted_begin(&kept);
    pthread_mutex_lock(&kernels->lock);
    uint64_t generation = atomic_load_explicit(&passing.handles, memory_order_acquire);
    struct known_kernel *kernel = resolve_kernel(kernels, launch);
    struct kernel_entry *entry = entry_for(kernels, launch->function);
    if (entry && kernel && kernels->sight)
        kernels->sight(kernels->sight_user, launch, kernel);
    if (entry && kernel) {
        note_build(kernels, entry, kernel, launch);
        /* In the order that kernel_entry_is() relies on; a new entry's `function` last of all. */
        atomic_store_explicit(&entry->symbol, no_symbol, memory_order_release);
        atomic_store_explicit(&entry->kernel, marked(kernel), memory_order_release);
        atomic_store_explicit(&entry->generation, generation, memory_order_release);
        atomic_store_explicit(&entry->symbol, launch->symbol, memory_order_release);
        atomic_store_explicit(&entry->function, launch->function, memory_order_release);
    }
    pthread_mutex_unlock(&kernels->lock);
    uninterrupted_end(&kept);
    return kernel;
}

HOT struct known_kernel *kernels_find(struct kernels *kernels, const struct launch *launch)
{
    uint64_t now = atomic_load_explicit(&passing.handles, memory_order_acquire);
    uint64_t place = kernel_place(launch->function);
    uintptr_t kernel;
    for (unsigned i = 0; i < KERNEL_PROBES; i++) {
        const struct kernel_entry *entry = &kernels->table.entry[(place + i) % KERNEL_TABLE];
        if (kernel_entry_is(entry, now, launch->function, launch->symbol, &kernel) && kernel)
            return (struct known_kernel *)(kernel & ~(uintptr_t)KERNEL_PASSED);
        const void *there = atomic_load_explicit(&entry->function, memory_order_acquire);
        if (!there || there == launch->function)
            break;
    }
    return find_kernel_slowly(kernels, launch);
}

struct kernel_home kernels_home(const void *function)
{
    CUmodule module = NULL;
    CUlibrary library = NULL;
    void *handle = (void *)(uintptr_t)function;
    if (cuda.cuFuncGetModule && !cuda.cuFuncGetModule(&module, handle))
        return (struct kernel_home){.module = module};
    if (cuda.cuKernelGetLibrary && !cuda.cuKernelGetLibrary(&library, handle))
        return (struct kernel_home){.library = library};
    return (struct kernel_home){NULL, NULL};
}

void kernels_resolve_again(struct kernels *kernels, const void *function)
{
    struct uninterrupted kept;
    uninterrupted_begin(&kept);
    pthread_mutex_lock(&kernels->lock);
    struct kernel_entry *entry = known_entry(kernels, function);
    if (entry)
        atomic_fetch_sub_explicit(&entry->generation, 1, memory_order_release);
    pthread_mutex_unlock(&kernels->lock);
    uninterrupted_end(&kept);
}

unsigned kernels_arch(void)
{
    CUdevice device;
    int major = 0, minor = 0;
    if (cuda.cuCtxGetDevice(&device) ||
        cuda.cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device) ||
        cuda.cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device))
        return 0;
    return (unsigned)(10 * major + minor);
}

const struct kernel_table *kernels_table(const struct kernels *kernels)
{
    return &kernels->table;
}
