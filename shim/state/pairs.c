#include "state/pairs.h"

#include <stdatomic.h>
#include <stdlib.h>
#include "gate/passing.h"
#include "value/contract.h"

/* Launches behind a checked one that go through the pipeline; of them are checked; and checks in
 * vain until half as many are followed. */
enum { WATCHED = 256, FOLLOWERS = 3, VAIN = 8, MOST_HALVINGS = 8 };

struct pairs {
    struct pair_watch {
        atomic_int watched, missing; /* launches left; followers left */
        atomic_bool again; /* behind a follower the first configuration is due once more */
        _Atomic(uint64_t) variant[FOLLOWERS + 1]; /* that were checked; 0: none */
        atomic_uint vain, picked;                 /* followers since the last meeting; picks */
    } of[CONTRACTS];
};

struct pairs *pairs_create(void)
{
    return calloc(1, sizeof(struct pairs));
}

void pairs_destroy(struct pairs *pairs)
{
    free(pairs);
}

/* What distinguishes configurations; never 0. */
static uint64_t launch_variant(const struct kernel_spec *spec, const struct launch *launch,
                               uint32_t build)
{
    uint64_t hash = (uint64_t)build << 32 | ((uint64_t)spec->number + 1);
    for (int i = 0; i < 3; i++) {
        hash = (hash ^ launch->grid[i]) * 0x9e3779b97f4a7c15u;
        hash = (hash ^ hash >> 29 ^ launch->block[i]) * 0x9e3779b97f4a7c15u;
    }
    return (hash ^ hash >> 31 ^ launch->shared_bytes) | 1;
}

static struct pair_watch *find_pair(struct pairs *pairs, const struct contract *contract)
{
    return pairs && contract && contract->number < CONTRACTS ? &pairs->of[contract->number] : NULL;
}

/* Programs repeat themselves: where the first was the last of its step, followers have the items of
 * the next step, and so has this one. */
static bool close_cycle(struct pair_watch *watch)
{
    bool due = atomic_exchange_explicit(&watch->again, false, memory_order_relaxed);
    if (due)
        atomic_store(&watch->missing, 0);
    return due;
}

bool pairs_launch(struct pairs *pairs, const struct kernel_spec *spec, const struct launch *launch,
                  uint32_t build)
{
    struct pair_watch *watch = find_pair(pairs, spec->contract);
    if (!watch || atomic_load_explicit(&watch->watched, memory_order_relaxed) <= 0)
        return false;
    uint64_t variant = launch_variant(spec, launch, build);
    for (int i = 0; i <= FOLLOWERS; i++) {
        uint64_t known = atomic_load_explicit(&watch->variant[i], memory_order_relaxed);
        if (known == variant)
            return i == 0 && close_cycle(watch);
        if (!known && atomic_compare_exchange_strong(&watch->variant[i], &known, variant)) {
            atomic_fetch_sub(&watch->missing, 1);
            atomic_store_explicit(&watch->again, true, memory_order_relaxed);
            atomic_fetch_add_explicit(&watch->vain, 1, memory_order_relaxed);
            return true;
        }
    }
    return false;
}

void pairs_picked(struct pairs *pairs, const struct kernel_spec *spec, const struct launch *launch,
                  uint32_t build)
{
    struct pair_watch *watch = find_pair(pairs, spec->contract);
    if (!watch || atomic_load_explicit(&watch->watched, memory_order_relaxed) > 0)
        return;
    unsigned halvings = atomic_load_explicit(&watch->vain, memory_order_relaxed) / VAIN;
    unsigned every = 1u << (halvings < MOST_HALVINGS ? halvings : MOST_HALVINGS);
    if (atomic_fetch_add_explicit(&watch->picked, 1, memory_order_relaxed) % every)
        return;
    for (int i = 1; i <= FOLLOWERS; i++)
        atomic_store_explicit(&watch->variant[i], 0, memory_order_relaxed);
    atomic_store(&watch->variant[0], launch_variant(spec, launch, build));
    atomic_store(&watch->again, false);
    atomic_store(&watch->missing, FOLLOWERS);
    atomic_store(&watch->watched, WATCHED);
    atomic_fetch_add(&passing.draws, 2); /* no launch is passed over by what was noted before */
}

bool pairs_settle(struct pairs *pairs, const struct kernel_spec *spec)
{
    struct pair_watch *watch = find_pair(pairs, spec->contract);
    if (!watch || atomic_load_explicit(&watch->watched, memory_order_relaxed) <= 0)
        return false;
    if (atomic_fetch_sub_explicit(&watch->watched, 1, memory_order_relaxed) > 1 &&
        atomic_load_explicit(&watch->missing, memory_order_relaxed) > 0)
        return true;
    atomic_store(&watch->watched, 0);
    return false;
}

void pairs_met(struct pairs *pairs, const struct contract *contract)
{
    struct pair_watch *watch = find_pair(pairs, contract);
    if (watch)
        atomic_store_explicit(&watch->vain, 0, memory_order_relaxed);
}
