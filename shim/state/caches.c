#include "state/caches.h"

#include <stdatomic.h>
#include <stdlib.h>
#include "gate/passing.h"
#include "context/enqueue.h"
#include "driver/cuda_api.h"
#include "plan/plan.h"

enum { CACHES = 256, FLOWS = 1024, PROBES = 16, WATCHED = 512 /* launches behind a checked one */ };
enum { LIVE = 64 };

/* The launches to check after a checked append. Where pages are owned, one more reader follows: the
 * one behind the next append that comes after the first reader. */
enum { NEEDS_APPEND = 1, NEEDS_READER = 2, NEEDS_BETWEEN = 4, NEEDS_LAST = 8 };

struct caches {
    _Atomic(uint64_t) breaks;  /* where launches may have gone unseen, replays among them */
    atomic_int watched, needs; /* launches that still go through the pipeline; sum of needs over all
                                * caches */
    struct cache {
        _Atomic(uint64_t) address, appends; /* address 0: empty */
        _Atomic(uint64_t) stream;           /* that the first append was launched on, plus 1 */
        atomic_bool shared;                 /* another one was, too */
        atomic_uint needs;
    } cache[CACHES], flow[FLOWS]; /* of `flow` an array each: `appends` are its launches */
    struct live {
        atomic_uint added;
        _Atomic(int64_t) row[LIVE]; /* the last that were found with sequences */
    } live[CACHES];
};

_Static_assert(CHECK_FLOWS == PLAN_FLOWS + 1, "one for named positions");

struct caches *caches_create(void)
{
    return calloc(1, sizeof(struct caches));
}

void caches_destroy(struct caches *caches)
{
    free(caches);
}

/* The entry of an address, made on first use; NULL: the neighbourhood is full. */
static struct cache *find_in(struct cache *table, unsigned size, uint64_t address)
{
    uint64_t place = (address >> 8) * 0x9e3779b97f4a7c15u >> 32;
    for (unsigned i = 0; address && i < PROBES; i++) {
        struct cache *cache = &table[(place + i) % size];
        uint64_t there = atomic_load_explicit(&cache->address, memory_order_relaxed);
        if (!there)
            atomic_compare_exchange_strong(&cache->address, &there, address);
        if (there == address || !there)
            return cache;
    }
    return NULL;
}

static struct cache *find_cache(struct caches *caches, uint64_t address)
{
    return find_in(caches->cache, CACHES, address);
}

/* 0: it is no parameter of the launch. */
static uint64_t array_address(const struct kernel_spec *spec, int number,
                              const struct launch *launch)
{
    const struct plan_array *array = &spec->plan->array[number];
    uint64_t address = 0;
    if (array->index || array->list ||
        !launch_read(launch, array->item->param, array->start, (size_t)array->item->offset,
                     sizeof(address), &address))
        return 0;
    return address;
}

/* The launch's first cache. */
static struct cache *cache_of(struct caches *caches, const struct kernel_spec *spec,
                              const struct launch *launch)
{
    const struct plan_state *state = spec->plan->state;
    if (!caches || !state->caches)
        return NULL;
    return find_cache(caches, array_address(spec, state->cache[0], launch));
}

static bool appends(const struct kernel_spec *spec)
{
    return role_writes(spec->plan->array[spec->plan->state->cache[0]].item->role);
}

/* From here on launches are passed over again by the hook, unseen. */
static void end_watch(struct caches *caches)
{
    for (int i = 0; i < CACHES; i++)
        atomic_store_explicit(&caches->cache[i].needs, 0, memory_order_relaxed);
    for (int i = 0; i < FLOWS; i++)
        atomic_store_explicit(&caches->flow[i].needs, 0, memory_order_relaxed);
    atomic_store(&caches->needs, 0);
    atomic_store(&caches->watched, 0);
    atomic_fetch_add(&caches->breaks, 1);
}

/* Whether this launch was due; clears the need. */
static bool take_cache(struct caches *caches, struct cache *cache, unsigned what)
{
    if (!(atomic_load_explicit(&cache->needs, memory_order_relaxed) & what) ||
        !(atomic_fetch_and(&cache->needs, ~what) & what))
        return false;
    atomic_fetch_sub(&caches->needs, 1);
    return true;
}

static void need(struct caches *caches, struct cache *cache, unsigned what)
{
    if (!(atomic_fetch_or(&cache->needs, what) & what))
        atomic_fetch_add(&caches->needs, 1);
}

/* Whether an append was due. */
static bool take_append(struct caches *caches, struct cache *cache)
{
    bool between = take_cache(caches, cache, NEEDS_BETWEEN),
         next = take_cache(caches, cache, NEEDS_APPEND);
    if (between)
        need(caches, cache, NEEDS_LAST);
    return between || next;
}

static bool take_reader(struct caches *caches, struct cache *cache, bool owned)
{
    bool last = take_cache(caches, cache, NEEDS_LAST),
         next = take_cache(caches, cache, NEEDS_READER);
    if (next && owned)
        need(caches, cache, NEEDS_BETWEEN);
    return last || next;
}

static bool caches_watched(const struct caches *caches)
{
    return caches && atomic_load_explicit(&caches->watched, memory_order_relaxed) > 0;
}

/* The launch's turn at an array, or at named positions. True: it was due. */
static bool take_flow_turn(struct caches *caches, uint64_t address, struct flow_moment *out)
{
    struct cache *flow = find_in(caches->flow, FLOWS, address);
    if (!flow)
        return false;
    out->array = address;
    out->turn = atomic_fetch_add_explicit(&flow->appends, 1, memory_order_relaxed);
    return take_cache(caches, flow, NEEDS_APPEND);
}

static bool take_turns(struct caches *caches, const struct kernel_spec *spec,
                       const struct launch *launch, struct state_moment *out)
{
    const struct plan_state *state = spec->plan->state;
    bool due = take_flow_turn(caches, state->token, &out->flow[PLAN_FLOWS]);
    for (unsigned i = 0; i < state->flows; i++)
        due |= take_flow_turn(caches, array_address(spec, state->flow[i].array, launch),
                              &out->flow[i]);
    return due;
}

/* Each thread has a stream of its own behind that handle. */
static uint64_t stream_number(const struct launch *launch)
{
    static __thread char own;
    const void *stream = launch->stream;
    return (uint64_t)(uintptr_t)(stream == (const void *)CU_STREAM_PER_THREAD ? &own : stream) + 1;
}

/* A capture launches nothing, and its stream may never run the graph. */
static bool append_is_captured(const struct launch *launch)
{
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    return !launch->replayed && cuda.cuStreamIsCapturing &&
           !cuda.cuStreamIsCapturing((CUstream)(uintptr_t)launch->stream, &status) &&
           status != CU_STREAM_CAPTURE_STATUS_NONE;
}

static void note_stream(struct cache *cache, const struct launch *launch)
{
    uint64_t stream = stream_number(launch);
    uint64_t first = atomic_load_explicit(&cache->stream, memory_order_relaxed);
    if (first == stream || atomic_load_explicit(&cache->shared, memory_order_relaxed) ||
        append_is_captured(launch))
        return;
    if (first ||
        (!atomic_compare_exchange_strong(&cache->stream, &first, stream) && first != stream))
        atomic_store_explicit(&cache->shared, true, memory_order_relaxed);
}

static bool launch_of_cache(struct caches *caches, const struct kernel_spec *spec,
                            const struct launch *launch, struct cache *cache,
                            struct state_moment *out)
{
    bool writes = appends(spec), watched = caches_watched(caches);
    if (writes)
        note_stream(cache, launch);
    out->cache = atomic_load_explicit(&cache->address, memory_order_relaxed);
    out->shared = &cache->shared;
    out->appends = writes ? atomic_fetch_add_explicit(&cache->appends, 1, memory_order_relaxed)
                          : atomic_load_explicit(&cache->appends, memory_order_relaxed);
    if (!watched)
        return false;
    return writes ? take_append(caches, cache)
                  : take_reader(caches, cache, spec->plan->state->owned != OWNED_NO);
}

bool caches_launch(struct caches *caches, const struct kernel_spec *spec,
                   const struct launch *launch, struct state_moment *out)
{
    *out = (struct state_moment){0};
    if (!caches)
        return false;
    struct cache *cache = cache_of(caches, spec, launch);
    bool watched = caches_watched(caches);
    if (!cache && !spec->plan->state->flows && !spec->plan->state->token)
        return false;
    if (!watched) /* launches before this one may have been passed over */
        atomic_fetch_add(&caches->breaks, 1);
    out->replays = atomic_load_explicit(&caches->breaks, memory_order_relaxed);
    bool turns = take_turns(caches, spec, launch, out);
    bool due = cache && launch_of_cache(caches, spec, launch, cache, out);
    return watched && (turns || due);
}

bool caches_settle(struct caches *caches)
{
    if (!caches_watched(caches))
        return false;
    if (atomic_fetch_sub_explicit(&caches->watched, 1, memory_order_relaxed) > 1 &&
        atomic_load_explicit(&caches->needs, memory_order_relaxed) > 0)
        return true;
    end_watch(caches);
    return false;
}

void caches_picked(struct caches *caches, const struct kernel_spec *spec,
                   const struct state_moment *moment)
{
    struct cache *cache = moment->cache ? find_cache(caches, moment->cache) : NULL;
    bool writes = cache && appends(spec), flows = false;
    for (int i = 0; caches && i < CHECK_FLOWS; i++) {
        struct cache *flow = find_in(caches->flow, FLOWS, moment->flow[i].array);
        if (flow)
            need(caches, flow, NEEDS_APPEND);
        flows |= flow != NULL;
    }
    bool owned = cache && !writes && spec->plan->state->owned != OWNED_NO;
    if (!writes && !flows && !owned)
        return;
    if (writes) {
        need(caches, cache, NEEDS_APPEND);
        need(caches, cache, NEEDS_READER);
    }
    if (owned) /* an append that no longer comes makes none follow */
        need(caches, cache, NEEDS_LAST);
    if (atomic_exchange(&caches->watched, WATCHED) <= 0)
        atomic_fetch_add(&passing.draws, 2); /* no launch is passed over by what was noted before */
}

void caches_node(struct caches *caches, const struct kernel_spec *spec, const struct launch *launch,
                 struct state_moment *out)
{
    *out = (struct state_moment){0};
    if (!caches)
        return;
    struct cache *cache = cache_of(caches, spec, launch);
    out->replays = atomic_load_explicit(&caches->breaks, memory_order_relaxed);
    if (launch->replayed && launch->replayed->whole)
        take_turns(caches, spec, launch, out);
    if (!cache)
        return;
    if (appends(spec))
        note_stream(cache, launch);
    out->cache = atomic_load_explicit(&cache->address, memory_order_relaxed);
    out->shared = &cache->shared;
    out->appends = atomic_load_explicit(&cache->appends, memory_order_relaxed);
}

void caches_replay(struct caches *caches)
{
    if (caches)
        atomic_fetch_add_explicit(&caches->breaks, 1, memory_order_relaxed);
}

void caches_found(struct caches *caches, const struct state_live *found)
{
    struct cache *cache = caches && found->count ? find_cache(caches, found->cache) : NULL;
    for (int i = 0; cache && i < found->count; i++) {
        struct live *live = &caches->live[cache - caches->cache];
        unsigned at = atomic_load_explicit(&live->added, memory_order_relaxed);
        atomic_store_explicit(&live->row[at % LIVE], found->row[i], memory_order_relaxed);
        atomic_store_explicit(&live->added, at + 1, memory_order_release);
    }
}

void caches_draw(struct caches *caches, uint64_t address, uint64_t seed, int count, int64_t *row)
{
    struct cache *cache = caches ? find_cache(caches, address) : NULL;
    struct live *live = cache ? &caches->live[cache - caches->cache] : NULL;
    unsigned added = live ? atomic_load_explicit(&live->added, memory_order_acquire) : 0;
    unsigned known = added < LIVE ? added : LIVE;
    for (int i = 0; i < count; i++, seed = seed * 0x9e3779b97f4a7c15u + 1)
        row[i] = known
                     ? atomic_load_explicit(&live->row[(seed >> 32) % known], memory_order_relaxed)
                     : -1;
}
