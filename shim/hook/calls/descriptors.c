#include "hook/calls/descriptors.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/uninterrupted.h"

/*
 * Records are kept as long as their descriptor lives or another record leads to them: a program
 * destroys its tensors once the operation that takes them is finalized. Without memory a record is
 * missing, and calls that depend on it are not recognised.
 */
struct attribute {
    struct attribute *next;
    int name, type;
    int64_t count;
    union value {
        int64_t integer;
        double real;
        struct descriptor *child;
    } value[];
};

struct descriptor {
    struct descriptor *next; /* in the bucket */
    const void *handle;
    int type, references;
    struct attribute *first;
    struct descriptor *graph; /* of a configuration that heuristics filled in */
    struct dnn_plan *plan;    /* of a finalized plan */
};

/* A pack: the addresses of one execution. */
enum { BUCKETS = 1 << 12, PACKS = 2, PACK_ARRAYS = 48, COUNT_MAX = 1 << 16 };
struct packs {
    int next;
    struct pack {
        const void *handle; /* NULL: free */
        int64_t uids, pointers, uid[PACK_ARRAYS];
        uint64_t pointer[PACK_ARRAYS];
        bool odd; /* it has attributes besides addresses, or too many */
    } pack[PACKS];
};

/* Of the thread, made with its first pack: the loader has little static thread-local storage for a
 * preloaded library. */
static __thread struct packs *packs;
static pthread_key_t packs_key;
static pthread_once_t packs_once = PTHREAD_ONCE_INIT;

static void packs_free(void *own)
{
    packs = NULL;
    free(own);
}

static void packs_make_key(void)
{
    pthread_key_create(&packs_key, packs_free);
}

/* NULL without memory. */
static struct packs *packs_of_thread(void)
{
    struct uninterrupted kept;
    if (packs)
        return packs;
    uninterrupted_begin(&kept);
    pthread_once(&packs_once, packs_make_key);
    struct packs *own = calloc(1, sizeof *own);
    if (own && pthread_setspecific(packs_key, own)) {
        free(own);
        own = NULL;
    }
    packs = own;
    uninterrupted_end(&kept);
    return own;
}

static struct {
    pthread_mutex_t lock;
    struct descriptor *bucket[BUCKETS];
    atomic_int records; /* in the buckets; 0 where calls were never seen */
    atomic_int process; /* that made them: in a forked child the lock may be held for good */
} all = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void lock(struct uninterrupted *kept)
{
    uninterrupted_begin(kept);
    pthread_mutex_lock(&all.lock);
}

static void unlock(struct uninterrupted *kept)
{
    pthread_mutex_unlock(&all.lock);
    uninterrupted_end(kept);
}

static struct descriptor **descriptor_place(const void *handle)
{
    uint64_t hash = (uint64_t)(uintptr_t)handle * 0x9E3779B97F4A7C15u;
    struct descriptor **place = &all.bucket[hash >> 52];
    while (*place && (*place)->handle != handle)
        place = &(*place)->next;
    return place;
}
_Static_assert(BUCKETS == 1 << 12, "the hash has 12 bits");

/* ---- records ---- */

static void let_go(struct descriptor *d);

static void free_attribute(struct attribute *a)
{
    for (int64_t i = 0; a->type == DNN_IS_DESCRIPTOR && i < a->count; i++)
        let_go(a->value[i].child);
    free(a);
}

static void let_go(struct descriptor *d)
{
    if (!d || --d->references > 0)
        return;
    while (d->first) {
        struct attribute *a = d->first;
        d->first = a->next;
        free_attribute(a);
    }
    let_go(d->graph);
    free(d->plan);
    free(d);
}

static struct descriptor *hold(struct descriptor *d)
{
    if (d)
        d->references++;
    return d;
}

static struct pack *pack_of(const void *handle)
{
    for (int i = 0; packs && i < PACKS; i++) {
        if (handle && packs->pack[i].handle == handle)
            return &packs->pack[i];
    }
    return NULL;
}

static void drop_descriptor(const void *handle)
{
    struct descriptor **place = descriptor_place(handle), *d = *place;
    if (!d)
        return;
    *place = d->next;
    atomic_fetch_sub(&all.records, 1);
    let_go(d);
}

void descriptors_made(const void *handle, int type)
{
    struct uninterrupted kept;
    struct pack *pack = pack_of(handle);
    if (pack)
        pack->handle = NULL;
    if (type == DNN_PACK) {
        struct packs *own = packs_of_thread();
        if (!own)
            return;
        own->next = (own->next + 1) % PACKS;
        pack = &own->pack[own->next];
        pack->handle = handle;
        pack->uids = pack->pointers = 0;
        pack->odd = false;
        return;
    }
    lock(&kept);
    drop_descriptor(handle);
    struct descriptor *d = calloc(1, sizeof *d), **place = descriptor_place(handle);
    if (d) {
        d->handle = handle;
        d->type = type;
        d->references = 1;
        *place = d;
        atomic_store(&all.process, getpid());
        atomic_fetch_add(&all.records, 1);
    }
    unlock(&kept);
}

void descriptors_gone(const void *handle)
{
    struct uninterrupted kept;
    struct pack *pack = pack_of(handle);
    if (pack) {
        pack->handle = NULL;
        return;
    }
    if (!atomic_load(&all.records) || atomic_load(&all.process) != getpid())
        return;
    lock(&kept);
    drop_descriptor(handle);
    unlock(&kept);
}

/* ---- attributes ---- */

static int64_t attribute_bytes(int type)
{
    switch (type) {
    case DNN_IS_BOOLEAN:
    case DNN_IS_CHAR:
        return 1;
    case DNN_IS_HANDLE:
    case DNN_IS_INT64:
    case DNN_IS_DOUBLE:
    case DNN_IS_POINTER:
    case DNN_IS_DESCRIPTOR:
        return 8;
    case DNN_IS_FRACTION:
        return 16;
    default: /* enumerations, floats, 32-bit integers */
        return 4;
    }
}

static union value attribute_value(int type, const void *at)
{
    union value value = {0};
    int32_t small;
    float real;
    const void *handle;
    if (type == DNN_IS_BOOLEAN || type == DNN_IS_CHAR) {
        value.integer = *(const char *)at;
    } else if (type == DNN_IS_FLOAT) {
        memcpy(&real, at, sizeof real);
        value.real = (double)real;
    } else if (type == DNN_IS_DESCRIPTOR) {
        memcpy(&handle, at, sizeof handle);
        value.child = hold(*descriptor_place(handle));
    } else if (attribute_bytes(type) == 4) {
        memcpy(&small, at, sizeof small);
        value.integer = small;
    } else {
        memcpy(&value, at, sizeof value);
    }
    return value;
}

static void set_pack(struct pack *pack, int name, int64_t count, const void *values)
{
    bool uids = name == DNN_PACK_UIDS, pointers = name == DNN_PACK_POINTERS;
    pack->odd = pack->odd || count > PACK_ARRAYS || name >= DNN_PACK_OVERRIDES;
    if (count < 0 || count > PACK_ARRAYS || (!uids && !pointers))
        return;
    *(uids ? &pack->uids : &pack->pointers) = count;
    memcpy(uids ? (void *)pack->uid : (void *)pack->pointer, values, (size_t)count * 8);
}

static void set_record(struct descriptor *d, int name, int type, int64_t count, const void *values)
{
    struct attribute **place = &d->first, *a;
    while (*place && (*place)->name != name)
        place = &(*place)->next;
    a = *place;
    if (a) {
        *place = a->next;
        free_attribute(a);
    }
    if (count < 0 || count > COUNT_MAX || type == DNN_IS_CHAR ||
        !(a = calloc(1, sizeof *a + (size_t)count * sizeof *a->value)))
        return;
    *a = (struct attribute){.next = d->first, .name = name, .type = type, .count = count};
    for (int64_t i = 0; i < count; i++)
        a->value[i] = attribute_value(type, (const char *)values + i * attribute_bytes(type));
    d->first = a;
}

void descriptors_set(const void *handle, int name, int type, int64_t count, const void *values)
{
    struct uninterrupted kept;
    struct pack *pack = pack_of(handle);
    if (pack) {
        set_pack(pack, name, count, values);
        return;
    }
    lock(&kept);
    struct descriptor *d = *descriptor_place(handle);
    if (d && values)
        set_record(d, name, type, count, values);
    unlock(&kept);
}

void descriptors_listed(const void *heuristics, int64_t count, const void *const *configs)
{
    struct uninterrupted kept;
    lock(&kept);
    const struct descriptor *from = *descriptor_place(heuristics);
    const struct descriptor *graph = descriptor_child(from, DNN_HEURISTICS_GRAPH, 0);
    for (int64_t i = 0; graph && i < count; i++) {
        struct descriptor *config = *descriptor_place(configs[i]);
        if (!config)
            continue;
        let_go(config->graph);
        config->graph = hold((struct descriptor *)graph);
    }
    unlock(&kept);
}

/* ---- plans ---- */

static const struct descriptor *graph_of(const struct descriptor *plan)
{
    const struct descriptor *config = descriptor_child(plan, DNN_PLAN_CONFIG, 0);
    if (config && config->graph)
        return config->graph;
    const struct descriptor *engine = descriptor_child(config, DNN_CONFIG_ENGINE, 0);
    return descriptor_child(engine, DNN_ENGINE_GRAPH, 0);
}

const void *descriptors_finalized(const void *handle)
{
    struct uninterrupted kept;
    const void *config = NULL;
    lock(&kept);
    struct descriptor *d = *descriptor_place(handle);
    const struct descriptor *graph = d && d->type == DNN_PLAN ? graph_of(d) : NULL;
    if (graph && !d->plan && (d->plan = calloc(1, sizeof *d->plan))) {
        dnn_plan_make(d->plan, graph);
        const struct descriptor *from = descriptor_child(d, DNN_PLAN_CONFIG, 0);
        if (dnn_plan_may_reduce(d->plan) && from && *descriptor_place(from->handle) == from)
            config = from->handle;
    }
    unlock(&kept);
    return config;
}

void descriptors_reduced(const void *plan)
{
    struct uninterrupted kept;
    lock(&kept);
    struct descriptor *d = *descriptor_place(plan);
    if (d && d->plan)
        d->plan->call.words |= DNN_WORD_REDUCED;
    unlock(&kept);
}

/* An argument from what a pack has for it, which is not 0. */
static void set_argument(const struct dnn_plan_array *array, uint64_t pointer, uint64_t *out)
{
    const void *number = (const void *)(uintptr_t)pointer;
    double real;
    switch ((enum dnn_plan_value)array->kind) {
    case DNN_PLAN_REAL:
        real = (double)*(const float *)number;
        memcpy(out, &real, sizeof real);
        break;
    case DNN_PLAN_WHOLE_F32:
        *out = (uint64_t)((int64_t) * (const float *)number + array->more);
        break;
    case DNN_PLAN_WHOLE_I32:
        *out = (uint64_t)(*(const int32_t *)number + array->more);
        break;
    default:
        *out = pointer;
    }
}

/* Fills in one of the plan's arrays from the pack. */
static bool find_packed_array(const struct pack *pack, const struct dnn_plan_array *array,
                              struct dnn *out)
{
    for (int64_t i = 0; i < pack->uids && i < pack->pointers; i++) {
        if (pack->uid[i] != array->uid)
            continue;
        if (pack->pointer[i])
            set_argument(array, pack->pointer[i], &out->argument[array->argument]);
        return pack->pointer[i];
    }
    return false;
}

bool descriptors_execution(const void *plan, const void *pack, struct dnn *out)
{
    struct uninterrupted kept;
    const struct pack *from = pack_of(pack);
    lock(&kept);
    const struct descriptor *d = *descriptor_place(plan);
    bool known = d && d->plan;
    if (known) {
        *out = d->plan->call;
        out->words |= !from || from->odd ? DNN_WORD_OTHER : 0u;
        for (int i = 0; from && i < d->plan->arrays; i++) {
            if (!find_packed_array(from, &d->plan->array[i], out))
                out->words |= DNN_WORD_OTHER;
        }
    }
    unlock(&kept);
    return known;
}

/* ---- reading ---- */

static const struct attribute *find_attribute(const struct descriptor *d, int name)
{
    const struct attribute *a = d ? d->first : NULL;
    while (a && a->name != name)
        a = a->next;
    return a;
}

int64_t descriptor_count(const struct descriptor *d, int name)
{
    const struct attribute *a = find_attribute(d, name);
    return a ? a->count : 0;
}

int64_t descriptor_integer(const struct descriptor *d, int name, int64_t i, int64_t missing)
{
    const struct attribute *a = find_attribute(d, name);
    return a && i < a->count ? a->value[i].integer : missing;
}

double descriptor_real(const struct descriptor *d, int name, double missing)
{
    const struct attribute *a = find_attribute(d, name);
    bool real = a && (a->type == DNN_IS_FLOAT || a->type == DNN_IS_DOUBLE) && a->count > 0;
    return real ? a->value[0].real : missing;
}

const struct descriptor *descriptor_child(const struct descriptor *d, int name, int64_t i)
{
    const struct attribute *a = find_attribute(d, name);
    return a && a->type == DNN_IS_DESCRIPTOR && i < a->count ? a->value[i].child : NULL;
}

int descriptor_type(const struct descriptor *d)
{
    return d ? d->type : -1;
}
