#include "pipeline.h"

#include <string.h>
#include "base/clock.h"
#include "system/log.h"
#include "base/uninterrupted.h"
#include "bind/extent.h"
#include "context/enqueue.h"
#include "copy/shrink.h"
#include "copy/snapshot_short.h"
#include "extra/digest.h"
#include "extra/outlier_launch.h"
#include "gate/gate_table.h"
#include "gate/passing.h"
#include "gate/tally.h"
#include "gate/unregistered.h"
#include "lifted/side_lift.h"
#include "paying.h"
#include "discover/recorder.h"
#include "pipeline_state.h"
#include "pipeline_trace.h"
#include "plan/plan.h"

void pipeline_warn(struct pipeline *pipeline, struct known_kernel *kernel, enum skip skip,
                   const char *sentence)
{
    if (!(atomic_fetch_or(&kernel->warned, 1u << skip) & 1u << skip))
        pipeline->sink->warned(pipeline->sink->user, kernel->symbol, skip, sentence);
}

/* Has the context set up and waits for it. A launch that is captured needs no set-up, as it is not
 * checked. */
static enum skip request_side(struct pipeline *pipeline, const struct launch *launch,
                              struct ticket *ticket, struct error *why)
{
    enum skip skip = pipeline_captures(launch, why);
    if (skip)
        return skip == SKIP_CAPTURED && ticket->gate == GATE_NO ? SKIP_NOT_SAMPLED : skip;
    if (side_request(ticket->side))
        collector_wake(pipeline->collector);
    bool ready = side_wait_ready(ticket->side, pipeline->ready_wait_ms);
    paying_waited(pipeline, ticket);
    return ready ? SKIP_NONE : SKIP_NOT_READY;
}

static enum skip find_side(struct pipeline *pipeline, const struct launch *launch,
                           struct ticket *ticket, struct error *why)
{
    CUcontext context = (CUcontext)(uintptr_t)launch->context;
    ticket->side = sides_find(pipeline->sides, context);
    if (!ticket->side && context)
        ticket->side = sides_open_unseen(pipeline->sides, context);
    if (!ticket->side)
        return SKIP_NOT_READY;
    if (atomic_load_explicit(&ticket->side->state, memory_order_acquire) == SIDE_READY)
        return SKIP_NONE;
    return request_side(pipeline, launch, ticket, why);
}

static enum skip check_extents(const struct ticket *ticket, struct error *why)
{
    for (int i = 0; i < ticket->binding.arrays; i++) {
        const struct bound_array *array = &ticket->binding.array[i];
        if (array->rows.listed) /* see ranges.h */
            continue;
        if (extent_check(array->address, bound_reach(array), ticket->side->device, why)) {
            error_prefix(why, "argument '%s'", array->name);
            return SKIP_EXTENT;
        }
    }
    return SKIP_NONE;
}

static enum skip too_large(const struct ticket *ticket, struct error *why)
{
    error_set(
        why, STATUS_FULL, "a snapshot of %llu bytes does not fit CUVET_MEMORY (%llu bytes for one)",
        (unsigned long long)ticket->plan.bytes, (unsigned long long)ticket->side->arena_bytes);
    return SKIP_TOO_LARGE;
}

enum { WHOLE_PART = 4 /* of CUVET_MEMORY, which a launch that is checked whole may take */ };

/*
 * The snapshot's plan. A launch that the random gate picked is checked on a subset of its items
 * where that is larger than CUVET_SUBSET; others, which were picked for being new or unusual, where
 * it takes too much of the arena. A kernel that is deterministic or has a contract is copied whole,
 * unless its entry limits that: only whole copies show that two launches had equal input.
 */
static enum skip lay_out_arrays(const struct pipeline *pipeline, struct ticket *ticket,
                                struct error *why)
{
    const struct kernel_spec *spec = ticket->kernel->spec;
    bool whole = spec->deterministic || spec->contract || spec->plan->state;
    uint64_t usual = whole ? 0 : pipeline->subset;
    uint64_t subset = spec->subset >= 0 ? (uint64_t)spec->subset : usual;
    uint64_t arena = ticket->side->arena_bytes, part = ticket->side->memory / WHOLE_PART;
    uint64_t bytes = ticket->plan.bytes, aim = ticket->gate == GATE_RANDOM ? subset : part;
    if (bytes > arena && aim > part)
        aim = part;
    if (!subset || bytes <= aim)
        return SKIP_NONE;
    struct shrink_limits limits = {.aim = aim, .most = bytes > arena ? arena : bytes / 4 * 3};
    uint64_t seed = gate_seed_of(pipeline->gate, ticket->kernel->key, ticket->number);
    if (!shrink_binding(&ticket->binding, spec->plan->formals, &ticket->plan, &limits, seed)) {
        if (bytes <= arena)
            return SKIP_NONE;
        too_large(ticket, why);
        shrink_explain(&ticket->binding, spec->plan->formals, why);
        return SKIP_TOO_LARGE;
    }
    return snapshot_plan_make(&ticket->binding, &ticket->plan, why);
}

/*
 * Whether all of the launch is to be projected, a product of which the check covers a part: each
 * that was picked for being new, a share of those that the random gate picked, for it costs as much
 * as reading the whole arrays. The decision of the outlier gate exists on the GPU alone.
 */
static void plan_projection(const struct pipeline *pipeline, struct ticket *ticket)
{
    const struct kernel_spec *spec = ticket->kernel->spec;
    double share = spec->freivalds >= 0 ? spec->freivalds : pipeline->freivalds;
    ticket->projection.wanted = false;
    if (!spec->plan->formals->has_product || share <= 0 || ticket->gate == GATE_OUTLIER)
        return;
    uint64_t seed = gate_seed_of(pipeline->gate, ticket->kernel->key, ticket->number);
    if (ticket->gate == GATE_FIRST || (double)(seed >> 11) * 0x1p-53 < share)
        project_plan_make(&ticket->projection, &ticket->binding, spec->plan->formals, &ticket->plan,
                          ~seed);
}

static enum skip lay_out(const struct pipeline *pipeline, struct ticket *ticket, struct error *why)
{
    enum skip skip = snapshot_plan_make(&ticket->binding, &ticket->plan, why);
    if (skip)
        return skip;
    plan_projection(pipeline, ticket); /* while the binding is the whole launch's */
    skip = lay_out_arrays(pipeline, ticket, why);
    if (!skip)
        skip = pipeline_guards(pipeline, ticket, why);
    if (!skip)
        project_take_room(&ticket->projection, &ticket->plan, ticket->side->arena_bytes);
    return skip;
}

/* Whether the launch leaves room for one that was refused and whose turn it is. */
static bool may_take_room(const struct ticket *ticket, uint64_t bytes)
{
    struct side *side = ticket->side;
    if (!refused_any(&side->refused) || ticket->gate == GATE_OUTLIER)
        return true;
    if (snapshot_may_be_short(&ticket->plan, ticket->gate, bytes) &&
        reserve_has(side->reserve, bytes))
        return true;
    const struct refused_ring ring = side_ring(side);
    return refused_admits(&side->refused, &ring, ticket->signature, bytes, clock_ns());
}

static enum skip claim(struct ticket *ticket, struct error *why)
{
    struct side *side = ticket->side;
    uint64_t bytes = (ticket->plan.bytes + 255) / 256 * 256;
    if (bytes > side->arena_bytes)
        return too_large(ticket, why);
    if (!may_take_room(ticket, bytes))
        return SKIP_ARENA_FULL;
    int slot = slots_claim(side->free_slots);
    if (slot < 0)
        return SKIP_QUEUE_FULL;
    if (ticket->gate == GATE_OUTLIER && (uint32_t)slot >= side->outlier.probes) {
        slots_release(side->free_slots, slot); /* the lowest free one, so more are under way */
        return SKIP_QUEUE_FULL;
    }
    ticket->check = &side->check[slot];
    ticket->check->slot = (uint32_t)slot;
    ticket->check->arena_bytes = bytes;
    ticket->check->begin = ticket->check->end = 0;
    ticket->check->reserved = false;
    ticket->check->signature = ticket->signature;
    side_note_unsealed(side, ticket->check, ticket->gate == GATE_OUTLIER ? 0 : bytes);
    atomic_fetch_add(&side->pending, 1);
    return SKIP_NONE;
}

static void fill(struct ticket *ticket, const struct launch *launch)
{
    struct check *check = ticket->check;
    atomic_store_explicit(&check->state, CHECK_FILLING, memory_order_relaxed);
    check->sequence = atomic_fetch_add(&ticket->side->sequence, 1);
    check->kernel = ticket->kernel;
    check->typed = ticket->spec;
    check->launch = ticket->number;
    check->gate = ticket->gate;
    check->turn = ticket->turn;
    check->outlier.input = NULL;
    check->seal_read = check->started = false;
    check->reference = NULL;
    check->projection.made = false;
    check->module = launch->call ? NULL : kernels_module(launch->function);
    if (check->gate == GATE_OUTLIER) {
        check->probe.index = ticket->index;
        check->probe.epoch = ticket->outlier.epoch;
        check->probe.centroid = ticket->detector == OUTLIER_CENTROID;
        memcpy(check->probe.input, ticket->outlier.name, sizeof(check->probe.input));
    }
    if (UNUSUAL(digest_all))
        pipeline_trace_range(check);
    check->moment_of_state = ticket->moment;
    check->place = launch->replayed ? launch->replayed->place : (struct graph_place){0};
    memcpy(check->grid, launch->grid, sizeof(check->grid));
    memcpy(check->block, launch->block, sizeof(check->block));
    check->shared_bytes = launch->shared_bytes;
    memcpy(check->cluster, launch->cluster, sizeof(check->cluster));
    check->cooperative = launch->cooperative;
    check->binding = ticket->binding;
    memcpy(check->placement, ticket->plan.placement, sizeof(check->placement));
    memset(check->params, 0, sizeof(check->params)); /* for the bundle */
    check->params_bytes = launch_pack(launch, &ticket->kernel->layout, check->params, CHECK_PARAMS);
}

/* Lays out the launch's inputs for the outlier gate's probe, where it can read them. */
static enum skip lay_out_probe(struct ticket *ticket)
{
    if (ticket->gate != GATE_OUTLIER ||
        outlier_plan_make(&ticket->side->outlier, &ticket->spec->outlier, ticket->detector,
                          ticket->index, &ticket->binding, &ticket->outlier))
        return SKIP_NONE;
    paying_blind(ticket);
    return ticket->otherwise;
}

/* Whether kernels of cuvet are enqueued before the launch. */
static bool goes_before(const struct ticket *ticket)
{
    return ticket->plan.has_before ||
           (ticket->gate == GATE_OUTLIER && outlier_probes_before(&ticket->plan));
}

/* Enqueues what has to be probed or copied before the launch overwrites it. *taken: some of that is
 * enqueued although the rest could not be. */
static enum status enqueue_before(struct ticket *ticket, const struct launch *launch, bool *taken,
                                  struct error *why)
{
    bool probes = ticket->gate == GATE_OUTLIER && goes_before(ticket);
    enum status status = STATUS_OK;
    *taken = false;
    if (probes)
        status = outlier_enqueue(ticket->side, ticket->check, &ticket->plan, &ticket->outlier,
                                 SNAPSHOT_BEFORE, launch, why);
    if (status || !ticket->plan.has_before || (probes && !ticket->plan.touches))
        return status;
    *taken = probes;
    return snapshot_before(ticket->side, ticket->check, &ticket->plan, launch, why);
}

enum status pipeline_enqueue_after(struct ticket *ticket, const struct launch *launch,
                                   struct error *why)
{
    if (ticket->gate == GATE_OUTLIER && !goes_before(ticket))
        return outlier_enqueue(ticket->side, ticket->check, &ticket->plan, &ticket->outlier,
                               SNAPSHOT_AFTER, launch, why);
    return snapshot_after(ticket->side, ticket->check, &ticket->plan, launch, why);
}

/* Whether the kernel before this one has the parameter list of `after`. */
static bool fits(struct known_kernel *kernel, const struct known_kernel *earlier, struct error *why)
{
    if (atomic_load_explicit(&kernel->fitting, memory_order_relaxed) == earlier)
        return true;
    if (signature_fits(kernel->spec->signature->earlier, &earlier->layout, why)) {
        error_prefix(why, "after: %.200s", earlier->symbol);
        return false;
    }
    atomic_store_explicit(&kernel->fitting, earlier, memory_order_relaxed);
    return true;
}

static enum skip bind(const struct pipeline *pipeline, const struct launch *launch,
                      struct ticket *ticket, struct error *why)
{
    const struct kernel_spec *spec = ticket->kernel->spec;
    struct launch seeded = *launch;
    enum skip skip;
    ticket->spec = registry_typed(spec, launch, &skip, why);
    if (!ticket->spec)
        return skip;
    if (spec->plan->picks)
        seeded.seed = gate_seed_of(pipeline->gate, ticket->kernel->key, ticket->number);
    seeded.earlier = spec->after < 0 ? NULL : earlier_find(&ticket->earlier, launch);
    if (spec->after >= 0 &&
        (!seeded.earlier || !(seeded.earlier->kernel->after >> spec->after & 1)))
        return SKIP_NOT_AFTER;
    if (seeded.earlier && !fits(ticket->kernel, seeded.earlier->kernel, why))
        return SKIP_LAYOUT;
    return binding_make(ticket->spec, &seeded, &ticket->binding, why);
}

/* Everything that a sampled launch needs before it runs; on any reason not to, nothing is held. */
static enum skip prepare(struct pipeline *pipeline, const struct launch *launch,
                         struct ticket *ticket, struct error *why)
{
    enum skip skip = find_side(pipeline, launch, ticket, why);
    if (!skip)
        skip = pipeline_find_reference(pipeline, ticket);
    if (!skip)
        skip = paying_decide(pipeline, ticket);
    if (!skip)
        skip = pipeline_captures(launch, why);
    if (skip == SKIP_CAPTURED && ticket->gate == GATE_OUTLIER)
        skip = ticket->otherwise;
    if (!skip)
        skip = bind(pipeline, launch, ticket, why);
    if (!skip && ticket->spec->lift)
        skip = side_lift_clip(&ticket->binding, why);
    if (!skip)
        skip = check_extents(ticket, why);
    if (!skip)
        skip = lay_out_probe(ticket);
    if (!skip)
        skip = lay_out(pipeline, ticket, why);
    if (!skip)
        skip = claim(ticket, why);
    if (skip)
        return skip;
    fill(ticket, launch);
    ticket->check->binding.call.seed = pipeline->seed ^ ticket->kernel->key ^ ticket->number;
    if (enqueue_before(ticket, launch, &ticket->torn, why)) {
        if (!ticket->torn) {
            side_release(ticket->side, ticket->check);
            return SKIP_DRIVER;
        }
        pipeline_warn(pipeline, ticket->kernel, SKIP_DRIVER, why->text);
        return SKIP_NONE;
    }
    ticket->torn = false;
    if (ticket->projection.wanted &&
        project_before(ticket->side, ticket->check, &ticket->projection, launch, why)) {
        ticket->projection.wanted = false;
        pipeline_warn(pipeline, ticket->kernel, SKIP_DRIVER, why->text);
    }
    return SKIP_NONE;
}

bool pipeline_may_pass(enum skip skip)
{
    return skip == SKIP_CAPTURED || skip == SKIP_QUEUE_FULL || skip == SKIP_ARENA_FULL ||
           skip == SKIP_NOT_READY || skip == SKIP_NOT_COMPILED || skip == SKIP_NOT_AFTER ||
           skip == SKIP_WHEN;
}

/* Why not, or SKIP_NONE. */
static enum skip sample(struct pipeline *pipeline, const struct launch *launch,
                        struct ticket *ticket)
{
    struct error why;
    why.text[0] = '\0';
    ticket->skip = prepare(pipeline, launch, ticket, &why);
    if (pipeline_may_pass(ticket->skip))
        gate_return(ticket->turn);
    if (UNUSUAL(ticket->kernel->spec->plan->state != NULL))
        pipeline_settle_state(pipeline, ticket, ticket->skip);
    if (ticket->skip && why.text[0])
        pipeline_warn(pipeline, ticket->kernel, ticket->skip, why.text);
    return ticket->skip;
}

/*
 * A launch was passed over: notes where those of its kernel are counted from now on, by the hook
 * already, unless no signature's note can be had of them, or another launch is completed by them.
 */
static void find_tallies(const struct pipeline *pipeline, struct known_kernel *kernel)
{
    const struct sink *sink = pipeline->sink;
    if (atomic_load_explicit(&kernel->tallies, memory_order_relaxed) || kernel->after ||
        kernel->recipe.odd || !sink->tallies)
        return;
    struct tally *tallies = sink->tallies(sink->user, kernel->spec);
    if (tallies != sink->tallies(sink->user, NULL)) /* without a row of its own */
        atomic_store_explicit(&kernel->tallies, tallies, memory_order_release);
}

/* A launch was passed over: notes it where all of its kernel are. */
static void note_idle(const struct pipeline *pipeline, struct known_kernel *kernel)
{
    uint32_t stamp = gate_stamp();
    if (!gate_idle(pipeline->gate, kernel->spec))
        return;
    atomic_store_explicit(&kernel->idle_as, SKIP_NOT_SAMPLED, memory_order_relaxed);
    atomic_store_explicit(&kernel->idle, stamp, memory_order_release);
}

/* A kernel that an entry names and that cannot be checked: its launches are all passed over, and
 * are counted as those of unregistered kernels are. */
static void note_unfit(const struct pipeline *pipeline, struct known_kernel *kernel)
{
    const struct sink *sink = pipeline->sink;
    if (kernel->after || !sink->tallies)
        return;
    atomic_store_explicit(&kernel->idle_as, kernel->skip, memory_order_relaxed);
    atomic_store_explicit(&kernel->tallies, sink->tallies(sink->user, NULL), memory_order_relaxed);
    atomic_store_explicit(&kernel->idle, gate_stamp(), memory_order_release);
}

/* The launch's number among those of its kernel: of several threads' at once no two are equal. */
static uint64_t take_number(struct known_kernel *kernel)
{
    const struct tally *tallies = atomic_load_explicit(&kernel->tallies, memory_order_acquire);
    uint64_t before = atomic_fetch_add_explicit(&kernel->launches, 1, memory_order_relaxed) +
                      (tallies ? tally_passed(tallies) : 0);
    uint64_t next = atomic_load_explicit(&kernel->next_number, memory_order_relaxed), number;
    do
        number = before > next ? before : next;
    while (!atomic_compare_exchange_weak_explicit(&kernel->next_number, &next, number + 1,
                                                  memory_order_relaxed, memory_order_relaxed));
    return number;
}

/* The decision of the gates on the host for a launch of a registered kernel. True: it was passed
 * over, and is counted. */
static bool decide(struct pipeline *pipeline, const struct launch *launch, struct ticket *ticket)
{
    struct known_kernel *kernel = ticket->kernel;
    struct tally *tallies = atomic_load_explicit(&kernel->tallies, memory_order_acquire);
    ticket->detector = outliers_detector(pipeline->outliers, &kernel->spec->outlier);
    bool alone = ticket->detector == OUTLIER_OFF;
    struct gate_answer answer =
        gate_decide(pipeline->gate, kernel->spec, &kernel->recipe, launch, alone);
    if (UNUSUAL(kernel->spec->plan->state != NULL))
        pipeline_decide_state(pipeline, launch, &answer, ticket);
    ticket->skip = answer.skip;
    ticket->gate = answer.result;
    ticket->turn = answer.turn;
    ticket->note = answer.note;
    ticket->use = answer.use;
    ticket->signature = answer.signature;
    if (!answer.skip || !tallies || !own_thread.passes)
        return false;
    tally_pass(tallies, own_thread.passes, answer.skip);
    own_thread.passed_as = answer.skip;
    if (alone)
        note_idle(pipeline, kernel);
    return true;
}

enum skip pipeline_begin(struct pipeline *pipeline, const struct launch *launch,
                         struct ticket *ticket)
{
    ticket->number = take_number(ticket->kernel);
    enum skip skip = ticket->skip ? ticket->skip : sample(pipeline, launch, ticket);
    if (skip == SKIP_NOT_SAMPLED || skip == SKIP_BUDGET)
        find_tallies(pipeline, ticket->kernel);
    return skip;
}

bool pipeline_enter(struct pipeline *pipeline, const struct launch *launch, struct ticket *ticket)
{
    struct known_kernel *kernel = launch->known;
    ticket->began = clock_ns();
    ticket->budget = ticket->probes = NULL;
    ticket->timed.slot = NULL;
    if (!kernel)
        kernel = kernels_find(pipeline->kernels, launch);
    ticket->kernel = kernel;
    bool may = kernel && kernel->spec;
    if (!may)
        ticket->skip = kernel ? kernel->skip : SKIP_UNREGISTERED;
    else if (atomic_load_explicit(&passing.off, memory_order_relaxed))
        ticket->skip = SKIP_OFF;
    else if (decide(pipeline, launch, ticket))
        return true;
    struct gpu_time *time = NULL;
    pipeline->sink->seen(pipeline->sink->user);
    if (ticket->skip == SKIP_UNREGISTERED)
        time = unregistered_seen(launch->function, launch->symbol);
    else if (may && timing_due(&kernel->time))
        time = &kernel->time;
    if (may && ticket->skip != SKIP_OFF)
        ticket->skip = pipeline_begin(pipeline, launch, ticket);
    else if (kernel && !may)
        note_unfit(pipeline, kernel);
    if (UNUSUAL(pipeline->recorder) && !may)
        time = pipeline_record(pipeline, launch, kernel);
    if (time)
        timing_begin(pipeline->timing, launch->context, launch->stream, ticket->began, time,
                     &ticket->timed);
    paying_begins(pipeline, launch, ticket);
    return false;
}

static void count(struct pipeline *pipeline, const struct ticket *ticket, enum skip skip)
{
    pipeline->sink->skipped(pipeline->sink->user, ticket->kernel ? ticket->kernel->spec : NULL,
                            skip);
}

/*
 * A copy before the launch is enqueued and the driver refuses the rest: the slot will never be
 * sealed. Checking ends in this context, and the collector counts what is under way.
 */
static void break_side(struct pipeline *pipeline, struct ticket *ticket)
{
    enum side_state ready = SIDE_READY;
    side_submit(ticket->side, ticket->check, CHECK_ABANDONED);
    atomic_compare_exchange_strong(&ticket->side->state, &ready, SIDE_BROKEN);
    collector_wake(pipeline->collector);
}

/* A sampled launch that the driver refused: what was copied before it is waited for, not used. */
static void abandon(struct pipeline *pipeline, const struct launch *launch, struct ticket *ticket)
{
    if (ticket->torn) {
        break_side(pipeline, ticket);
    } else if (!goes_before(ticket)) {
        paying_back(pipeline, ticket->check);
        side_release(ticket->side, ticket->check);
        count(pipeline, ticket, SKIP_LAUNCH_FAILED);
    } else if (!snapshot_seal(ticket->side, ticket->check, launch, NULL)) {
        side_submit(ticket->side, ticket->check, CHECK_ABANDONED);
        collector_wake(pipeline->collector); /* which counts it */
    } else {
        break_side(pipeline, ticket);
    }
}

static void hand_over(struct pipeline *pipeline, const struct launch *launch, struct ticket *ticket)
{
    struct error why;
    int64_t began = clock_ns();
    bool taken = goes_before(ticket); /* room in the arena, perhaps */
    why.text[0] = '\0';
    if (ticket->torn) {
        break_side(pipeline, ticket);
        return;
    }
    if (ticket->projection.wanted &&
        project_enqueue(ticket->side, ticket->check, &ticket->projection, launch, &taken, &why))
        pipeline_warn(pipeline, ticket->kernel, SKIP_DRIVER, why.text);
    if (!pipeline_enqueue_after(ticket, launch, &why)) {
        int64_t enqueued = clock_ns();
        paying_thread(ticket, enqueued - began);
        ticket->check->moment = images_moment(pipeline->images);
        side_submit(ticket->side, ticket->check, CHECK_SUBMITTED);
        collector_wake(pipeline->collector); /* the check is the collector's */
        paying_after(pipeline, ticket, clock_ns() - enqueued);
        return;
    }
    pipeline_warn(pipeline, ticket->kernel, SKIP_DRIVER, why.text);
    if (taken) {
        break_side(pipeline, ticket);
        return;
    }
    paying_back(pipeline, ticket->check);
    side_release(ticket->side, ticket->check);
    count(pipeline, ticket, SKIP_DRIVER);
}

/* For the next launch on this stream. What went into a graph has not run. */
static void keep_earlier(struct ticket *ticket, const struct launch *launch)
{
    const struct known_kernel *kernel = ticket->kernel;
    if (kernel && kernel->after && pipeline_captures(launch, NULL))
        kernel = NULL;
    earlier_note(&ticket->earlier, kernel, launch);
    ticket->has_earlier = ticket->earlier.kept > 0;
}

void pipeline_exit(struct pipeline *pipeline, const struct launch *launch, struct ticket *ticket,
                   CUresult result)
{
    timing_end(pipeline->timing, launch->stream, &ticket->timed, result == CUDA_SUCCESS);
    if (UNUSUAL(pipeline->recorder))
        recorder_end(pipeline->recorder, launch, result == CUDA_SUCCESS);
    if (UNUSUAL(pipeline->trace))
        pipeline_trace(pipeline, launch, ticket, result != CUDA_SUCCESS);
    if (result != CUDA_SUCCESS) {
        pipeline->sink->launch_failed(pipeline->sink->user, launch, cuda_error_name(result));
        if (ticket->skip == SKIP_NONE)
            abandon(pipeline, launch, ticket);
        else
            count(pipeline, ticket, SKIP_LAUNCH_FAILED);
        return;
    }
    if (ticket->skip == SKIP_NONE)
        hand_over(pipeline, launch, ticket);
    else
        count(pipeline, ticket, ticket->skip);
    if (UNUSUAL(pipeline->sync))
        pipeline_sync(pipeline, launch,
                      ticket->kernel ? ticket->kernel->symbol : kernels_symbol(launch));
    if (ticket->has_earlier || (ticket->kernel && ticket->kernel->after))
        keep_earlier(ticket, launch);
}
