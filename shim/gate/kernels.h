/*
 * kernels.h - from a kernel handle to what is known of it: one lock-free probe for a kernel seen
 * before, the registry's patterns and the layout check at its first launch.
 *
 * Handles (CUfunction, CUkernel) are keys only while their module is loaded: after an unload each
 * is validated again before use.
 */
#ifndef GATE_KERNELS_H
#define GATE_KERNELS_H

#include <stdatomic.h>
#include <stdint.h>
#include "value/kernel_spec.h"
#include "gate/budget.h"
#include "gate/costs.h"
#include "gate/gate_table.h"
#include "value/gpu_time.h"
#include "value/launch.h"
#include "registry/registry.h"
#include "value/skip.h"

struct kernels;
struct kernel_table;
struct tally;

/* One of several functions that have one symbol and one parameter layout, as those of an autotuner
 * may. */
struct kernel_build {
    struct kernel_build *next;
    uint64_t hash;   /* of its image */
    uint32_t number; /* from 0, in the order of their first launches */
};

/*
 * One kernel by (symbol, parameter layout); never freed before kernels_destroy. Of one that no
 * entry names, in no role, only what stands before `time` is there: programs have thousands of
 * them.
 */
struct known_kernel {
    /* What a launch that is passed over reads, on one line, unless it has very many parameters. The
     * tallies: where the hook counts such launches; NULL: they go to the pipeline. */
    _Alignas(64) _Atomic(struct tally *) tallies;
    _Atomic(uint32_t)
        idle; /* gate_stamp() when it was computed that none of its launches is taken ... */
    _Atomic(uint32_t) idle_as;      /* ... but counted as this */
    struct gate_recipe recipe;      /* where there is a spec */
    const struct kernel_spec *spec; /* NULL: not checkable, for the reason in `skip` */
    uint64_t key;                   /* hash of the symbol: the same in every run */
    _Atomic(uint64_t) launches;     /* of registered kernels: those that are not in `tallies` */
    _Atomic(uint64_t) next_number;  /* that no launch has */
    uint64_t after; /* entries that name it as the kernel before theirs: a bit for each */
    enum skip skip;
    _Atomic(uint64_t) warned;                     /* a bit for each enum skip that was reported */
    const char *symbol;                           /* owned copy */
    _Atomic(const struct known_kernel *) fitting; /* the last such before this one that fits */
    uint32_t new_memory_retries; /* launches that returned their turn for ranges that listed.h
                                  * added; the collector's */
    struct known_kernel *next;
    _Atomic(uint64_t) captured; /* launches that went into a graph; counted with digests alone */
    struct gpu_time time;       /* of its launches; where there is a spec */
    struct budget probes;       /* the outlier gate's share of `budget` */
    _Atomic(int64_t) probe;     /* recent cost of outlier probes on the GPU, ns */
    struct budget budget;       /* its own, where its entry has one */
    struct costs costs;         /* recent cost of its checks on the GPU */
    struct kernel_build *build; /* newest first; those of a kernel with a contract */
    struct param_layout layout; /* last: the parameters that it counts alone are allocated */
};

/* Called once for each kernel that the registry names, fit or not. `sentence` for misfits. */
typedef void (*kernels_seen_fn)(void *user, const struct known_kernel *kernel,
                                const char *sentence);

struct kernels *kernels_create(struct registry *registry, kernels_seen_fn seen, void *user);
void kernels_destroy(struct kernels *kernels);

/* Calls `visit` for each kernel with a spec; takes the lock of kernels_find. */
void kernels_visit(struct kernels *kernels,
                   void (*visit)(void *user, const struct known_kernel *kernel), void *user);

/* The spec of a kernel that no entry names, made of its own PTX; NULL: it has none. Called at a
 * handle's first launch, under the lock of `kernels`. The same kernel gives the same spec. */
typedef const struct kernel_spec *(*kernels_lift_fn)(void *user, const struct launch *launch,
                                                     const char *symbol,
                                                     const struct param_layout *layout);
/* Before the first launch. */
void kernels_lift(struct kernels *kernels, kernels_lift_fn lift, void *user);

/* Fills in what the kernel's code shows of its parameters: their `dtype`. Called at the first
 * launch of a handle that an entry names, under the lock of `kernels`. */
typedef void (*kernels_facts_fn)(void *user, const struct launch *launch, const char *symbol,
                                 struct param_layout *layout);
/* Before the first launch. */
void kernels_learn(struct kernels *kernels, kernels_facts_fn facts, void *user);

/* When a handle is new, and again after a module was unloaded, below the lock of `kernels`.
 * Not for handles past the table's room. */
typedef void (*kernels_sight_fn)(void *user, const struct launch *launch,
                                 const struct known_kernel *kernel);
/* Before the first launch. */
void kernels_watch(struct kernels *kernels, kernels_sight_fn sight, void *user);

/* A hash of the image that holds the launch's kernel; 0: not known. Called when a handle of a
 * kernel with a contract is new, and again after a module was unloaded, under the lock of
 * `kernels`. */
typedef uint64_t (*kernels_image_fn)(void *user, const struct launch *launch, const char *symbol);
/* Before the first launch. */
void kernels_distinguish(struct kernels *kernels, kernels_image_fn image, void *user);

/* Which function of its symbol and layout a handle is: kernel_build.number. 0 also where its image
 * is not known, and where the kernel has no contract. Behind kernels_find(); any thread, no lock.
 */
uint32_t kernels_build(struct kernels *kernels, const void *function);

/* Any thread. Known handle: one probe, no lock. New handle: takes a lock, queries the driver's
 * parameter list, may allocate. Never NULL except without memory. */
struct known_kernel *kernels_find(struct kernels *kernels, const struct launch *launch);

/* The launch's symbol, or where it has none the driver's name of the handle; "": unknown. A query
 * of the driver. */
const char *kernels_symbol(const struct launch *launch);

/* The kernel's parameters, from the driver. False: it has none (before 12.4, or a stale handle). */
bool kernels_layout(const void *function, struct param_layout *layout);

/* The handle is resolved again at its next launch. Takes the lock of kernels_find. */
void kernels_resolve_again(struct kernels *kernels, const void *function);

/* The compute capability of the current context's device, 90 for 9.0; 0: there is none. Queries of
 * the driver. */
unsigned kernels_arch(void);

/* Of a CUfunction or CUkernel that is about to be launched. A query of the driver. */
struct kernel_home kernels_home(const void *function);

/* The CUlibrary of the kernel that this thread's kernels_layout is about, which may make the driver
 * load its module; NULL: there is none, or it is not known. */
const void *kernels_queried(void);

/* For kernel_table_find(); lives as long as `kernels`. */
const struct kernel_table *kernels_table(const struct kernels *kernels);

/* A module was or is being unloaded: its handles may come back as other kernels. Any thread. */
void kernels_revalidate(void);

#endif
