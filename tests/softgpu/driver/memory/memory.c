/* memory.c - the record of what is allocated, and where it lies. */
#include "driver/memory/memory.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "driver/context/device.h"
#include "driver/memory/memory_space.h"
#include "driver/memory/pool_table.h"
#include "driver/base/settings.h"
#include "driver/call/trace.h"

enum {
    ACCESS_READ = CU_MEM_ACCESS_FLAGS_PROT_READ,
    ACCESS_ALL = CU_MEM_ACCESS_FLAGS_PROT_READWRITE,
    CHARGE_UNIT = 512,
    MAX_PEERS = 16,
};
/* Fresh memory of a device is not zero; so much of it is made to show. */
static const size_t garbage_bytes = (size_t)1 << 22;
static const int garbage = 0xff; /* NaN, -1 and a wild pointer */

static pthread_rwlock_t lock = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;
static struct address_table table;              /* of struct allocation */
static struct space spaces[MEMORY_MAX_DEVICES]; /* device memory */
static struct space host_space;                 /* pinned and managed: one address for both sides */
static struct space virtual_space;
static _Atomic size_t used[MEMORY_MAX_DEVICES];
static uint64_t last_id;

static uint64_t round_up(uint64_t bytes, uint64_t unit)
{
    return (bytes + unit - 1) & ~(unit - 1);
}

/* Address space without memory; `twin`: and a second range of it for ourselves. */
static bool reserve(struct space *space, size_t bytes, bool twin)
{
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    void *view = mmap(NULL, bytes, PROT_NONE, flags, -1, 0);
    void *ours = twin ? mmap(NULL, bytes, PROT_NONE, flags, -1, 0) : view;
    if (view == MAP_FAILED || ours == MAP_FAILED)
        return false;
    /* 2 MiB: the granularity of the virtual memory API. */
    uint64_t begin = round_up((uint64_t)(uintptr_t)view, 2 << 20);
    *space = (struct space){
        .begin = begin,
        .bytes = bytes - (2 << 20),
        .cursor = begin,
        .shift = (int64_t)((uint64_t)(uintptr_t)ours - (uint64_t)(uintptr_t)view),
    };
    return true;
}

static void report(struct trace_report *to)
{
    static const char *const names[MEMORY_KINDS] = {
        [MEMORY_DEVICE] = "device",
        [MEMORY_PINNED] = "pinned",
        [MEMORY_REGISTERED] = "registered",
        [MEMORY_MANAGED] = "managed",
        [MEMORY_POOL] = "pool",
        [MEMORY_MODULE] = "module",
        [MEMORY_MAPPED] = "mapped",
    };
    size_t count[MEMORY_KINDS] = {0}, bytes[MEMORY_KINDS] = {0};
    pthread_rwlock_rdlock(&lock);
    for (size_t i = 0; i < table.count; i++) {
        const struct allocation *allocation = (const struct allocation *)table.items[i];
        count[allocation->kind]++;
        bytes[allocation->kind] += allocation->piece.bytes;
    }
    pthread_rwlock_unlock(&lock);
    for (int kind = 0; kind < MEMORY_KINDS; kind++)
        trace_leak(to, names[kind], count[kind], bytes[kind]);
}

CUresult memory_start(void)
{
    /* Room to go round: a freed address comes again only after so much else. */
    size_t bytes = 8 * settings()->memory, least = (size_t)16 << 30;
    if (bytes < least)
        bytes = least;
    for (unsigned i = 0; i < device_count(); i++)
        if (!reserve(&spaces[i], bytes, true))
            return CUDA_ERROR_OUT_OF_MEMORY;
    if (!reserve(&host_space, least, false) || !reserve(&virtual_space, bytes, true))
        return CUDA_ERROR_OUT_OF_MEMORY;
    trace_add_owner(report);
    return CUDA_SUCCESS;
}

struct space *memory_virtual_space(void)
{
    return &virtual_space;
}

CUresult memory_charge(const struct device *device, size_t bytes)
{
    _Atomic size_t *sum = &used[device_ordinal(device)];
    size_t total = settings()->memory, there = atomic_load(sum);
    do {
        if (bytes > total || there > total - bytes)
            return CUDA_ERROR_OUT_OF_MEMORY;
    } while (!atomic_compare_exchange_weak(sum, &there, there + bytes));
    return CUDA_SUCCESS;
}

void memory_refund(const struct device *device, size_t bytes)
{
    atomic_fetch_sub(&used[device_ordinal(device)], bytes);
}

void memory_info(const struct device *device, size_t *left, size_t *total)
{
    *total = settings()->memory;
    *left = *total - atomic_load(&used[device_ordinal(device)]);
}

static bool lies_on_device(enum memory_kind kind)
{
    return kind == MEMORY_DEVICE || kind == MEMORY_POOL || kind == MEMORY_MODULE;
}

/* Under the lock for writing. */
static struct allocation *place(const struct allocation *model, struct space *space)
{
    struct allocation *made = malloc(sizeof(*made));
    if (!made)
        return NULL;
    *made = *model;
    made->piece.begin = space_place(space, &table, model->piece.room, MEMORY_PAGE);
    if (!made->piece.begin || !table_insert(&table, &made->piece)) {
        free(made);
        return NULL;
    }
    made->host = space_host(space, made->piece.begin);
    made->id = ++last_id;
    return made;
}

static CUresult allocate_in(struct space *space, const struct allocation *model,
                            CUdeviceptr *address)
{
    CUresult result = CUDA_SUCCESS;
    pthread_rwlock_wrlock(&lock);
    struct allocation *made = place(model, space);
    if (!made) {
        result = CUDA_ERROR_OUT_OF_MEMORY;
    } else if (mprotect(made->host, made->piece.room, PROT_READ | PROT_WRITE)) {
        table_remove(&table, &made->piece);
        free(made);
        result = CUDA_ERROR_OUT_OF_MEMORY;
    } else {
        *address = made->piece.begin;
    }
    pthread_rwlock_unlock(&lock);
    return result;
}

CUresult memory_allocate(struct context *context, enum memory_kind kind, size_t bytes, bool zero,
                         CUdeviceptr *address)
{
    struct device *device = context_device(context);
    struct allocation model = {
        .piece = {.bytes = bytes, .room = round_up(bytes, MEMORY_PAGE)},
        .kind = kind,
        .context = kind == MEMORY_POOL ? NULL : context,
        .device = device,
        .writable = true,
    };
    model.access[device_ordinal(device)] = ACCESS_ALL;
    bool charged = lies_on_device(kind);
    struct space *space = charged ? &spaces[device_ordinal(device)] : &host_space;
    if (!bytes)
        return CUDA_ERROR_INVALID_VALUE;
    if (bytes > space->bytes)
        return CUDA_ERROR_OUT_OF_MEMORY;
    size_t charge = charged ? round_up(bytes, CHARGE_UNIT) : 0;
    CUresult result = memory_charge(device, charge);
    if (result)
        return result;
    result = allocate_in(space, &model, address);
    if (result)
        memory_refund(device, charge);
    else if (charged && !zero)
        memset(space_host(space, *address), garbage, bytes < garbage_bytes ? bytes : garbage_bytes);
    return result;
}

/* The pages go back; what the program could touch, it no longer can. Ours stay, for a kernel that a
 * broken program has running on another stream. */
static void give_up_pages(const struct allocation *gone)
{
    if (gone->kind == MEMORY_REGISTERED || gone->kind == (enum memory_kind)MEMORY_MAPPED)
        return;
    madvise(gone->host, gone->piece.room, MADV_DONTNEED);
    if (lies_on_device(gone->kind))
        memory_refund(gone->device, round_up(gone->piece.bytes, CHARGE_UNIT));
    else
        mprotect(gone->host, gone->piece.room, PROT_NONE);
}

bool memory_remove(uint64_t begin, enum memory_kind kind, struct allocation *removed)
{
    pthread_rwlock_wrlock(&lock);
    struct allocation *found = (struct allocation *)table_at(&table, begin);
    bool ok = found && found->piece.begin == begin && found->kind == kind;
    if (ok) {
        *removed = *found;
        give_up_pages(found); /* before anyone else can get the place */
        table_remove(&table, &found->piece);
        free(found);
    }
    pthread_rwlock_unlock(&lock);
    return ok;
}

CUresult memory_release(struct context *context, enum memory_kind kind, CUdeviceptr address)
{
    struct allocation removed;
    (void)context;
    return memory_remove(address, kind, &removed) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult memory_insert(const struct allocation *allocation)
{
    const struct piece *piece = &allocation->piece;
    struct allocation *made = malloc(sizeof(*made));
    CUresult result = CUDA_SUCCESS;
    if (!made)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *made = *allocation;
    pthread_rwlock_wrlock(&lock);
    size_t next = table_after(&table, piece->begin);
    if (next < table.count && table.items[next]->begin < piece->begin + piece->room)
        result = allocation->kind == MEMORY_REGISTERED ? CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED
                                                       : CUDA_ERROR_INVALID_VALUE;
    else if (!table_insert(&table, &made->piece))
        result = CUDA_ERROR_OUT_OF_MEMORY;
    else
        made->id = ++last_id;
    pthread_rwlock_unlock(&lock);
    if (result)
        free(made);
    return result;
}

bool memory_lookup(uint64_t address, struct allocation *found)
{
    pthread_rwlock_rdlock(&lock);
    const struct allocation *at = (const struct allocation *)table_at(&table, address);
    if (at)
        *found = *at;
    pthread_rwlock_unlock(&lock);
    return at != NULL;
}

bool memory_change(uint64_t address, void (*change)(struct allocation *found, const void *user),
                   const void *user)
{
    pthread_rwlock_wrlock(&lock);
    struct allocation *at = (struct allocation *)table_at(&table, address);
    if (at)
        change(at, user);
    pthread_rwlock_unlock(&lock);
    return at != NULL;
}

/* The contexts whose memory kernels of this one may touch. */
struct memory_state {
    _Atomic(struct context *) peers[MAX_PEERS];
};

static struct memory_state *state_of(const struct context *context)
{
    return context_state(context, &context_memory);
}

static bool is_peer(const struct context *context, const struct context *owner)
{
    struct memory_state *state = state_of(context);
    for (int i = 0; i < MAX_PEERS; i++)
        if (atomic_load_explicit(&state->peers[i], memory_order_acquire) == owner)
            return true;
    return false;
}

CUresult memory_add_peer(struct context *context, struct context *owner)
{
    struct memory_state *state = state_of(context);
    if (is_peer(context, owner))
        return CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED;
    for (int i = 0; i < MAX_PEERS; i++) {
        struct context *empty = NULL;
        if (atomic_compare_exchange_strong(&state->peers[i], &empty, owner))
            return CUDA_SUCCESS;
    }
    return CUDA_ERROR_TOO_MANY_PEERS;
}

CUresult memory_remove_peer(struct context *context, struct context *owner)
{
    struct memory_state *state = state_of(context);
    for (int i = 0; i < MAX_PEERS; i++) {
        struct context *there = owner;
        if (atomic_compare_exchange_strong(&state->peers[i], &there, NULL))
            return CUDA_SUCCESS;
    }
    return CUDA_ERROR_PEER_ACCESS_NOT_ENABLED;
}

unsigned memory_access(const struct context *context, const struct allocation *allocation)
{
    const struct device *device = context_device(context);
    if (allocation->kind == MEMORY_POOL && device != allocation->device) {
        struct pool *pool = pool_at(allocation->piece.begin);
        return pool ? pool_access(pool, device_ordinal(device)) : CU_MEM_ACCESS_FLAGS_PROT_NONE;
    }
    if (!allocation->context)
        return allocation->access[device_ordinal(device)];
    if (allocation->context != context && lies_on_device(allocation->kind) &&
        !is_peer(context, allocation->context))
        return CU_MEM_ACCESS_FLAGS_PROT_NONE;
    return allocation->writable ? ACCESS_ALL : ACCESS_READ;
}

bool memory_find(void *user, uint64_t address, struct exec_range *range)
{
    struct allocation found;
    unsigned access = memory_lookup(address, &found) ? memory_access(user, &found) : 0;
    if (!access)
        return false;
    *range = (struct exec_range){
        .begin = found.piece.begin,
        .bytes = found.piece.bytes,
        .host = found.host,
        .writable = access == ACCESS_ALL,
    };
    return true;
}

bool memory_is_device(CUdeviceptr address)
{
    for (unsigned i = 0; i < device_count(); i++)
        if (space_holds(&spaces[i], address))
            return true;
    return space_holds(&virtual_space, address);
}

bool memory_in_our_ranges(uint64_t address)
{
    return memory_is_device(address) || space_holds(&host_space, address);
}

/* The bytes from `address` on that are mapped and that `context` may use, as far as `bytes`. */
static bool mappings_cover(struct context *context, uint64_t address, size_t bytes)
{
    uint64_t at = address, end = address + bytes;
    struct allocation found;
    while (at < end) {
        if (!memory_lookup(at, &found) || !memory_access(context, &found))
            return false;
        at = found.piece.begin + found.piece.bytes;
    }
    return true;
}

uint8_t *memory_view(struct context *context, CUdeviceptr address, size_t bytes)
{
    struct allocation found;
    if (address + bytes < address)
        return NULL;
    if (!memory_in_our_ranges(address))
        return (uint8_t *)(uintptr_t)address;
    if (space_holds(&virtual_space, address))
        return mappings_cover(context, address, bytes) ? space_host(&virtual_space, address) : NULL;
    if (!memory_lookup(address, &found) || bytes > found.piece.begin + found.piece.bytes - address)
        return NULL;
    return found.host + (address - found.piece.begin);
}

bool memory_is_pinned(const void *address, size_t bytes)
{
    uint64_t begin = (uint64_t)(uintptr_t)address;
    struct allocation found;
    return memory_lookup(begin, &found) &&
           (found.kind == MEMORY_PINNED || found.kind == MEMORY_REGISTERED) &&
           bytes <= found.piece.begin + found.piece.bytes - begin;
}

static CUresult open_memory(struct context *context, void **state)
{
    (void)context;
    *state = calloc(1, sizeof(struct memory_state));
    return *state ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

static bool find_of(const struct context *context, struct allocation *found)
{
    bool ok = false;
    pthread_rwlock_rdlock(&lock);
    for (size_t i = 0; i < table.count && !ok; i++) {
        const struct allocation *at = (const struct allocation *)table.items[i];
        ok = at->context == context;
        if (ok)
            *found = *at;
    }
    pthread_rwlock_unlock(&lock);
    return ok;
}

/* The state stays: memory_find() of a context that is gone, by who held on to it, must find it. */
static void close_memory(struct context *context, void *state)
{
    struct allocation found;
    struct memory_state *mine = state;
    while (find_of(context, &found))
        memory_remove(found.piece.begin, found.kind, &found);
    for (int i = 0; i < MAX_PEERS; i++)
        atomic_store(&mine->peers[i], NULL);
}

const struct context_part context_memory = {open_memory, close_memory};
