#include "pipeline/pipeline.h"

#include <string.h>
#include "base/clock.h"
#include "system/log.h"
#include "base/uninterrupted.h"
#include "context/enqueue.h"
#include "extra/digest.h"
#include "extra/outlier_launch.h"
#include "gate/unregistered.h"
#include "gates/gates.h"
#include "gates/paying.h"
#include "discover/recorder.h"
#include "judge/modules/module_variables.h"
#include "pipeline/pipeline_state.h"
#include "pipeline/pipeline_trace.h"
#include "plan/plan.h"

_Static_assert(SKIP_COUNT <= 64, "known_kernel.warned has a bit for each");

void pipeline_warn(struct pipeline *pipeline, struct known_kernel *kernel, enum skip skip,
                   const char *sentence)
{
    const uint64_t bit = (uint64_t)1 << skip;
    if (!(atomic_fetch_or(&kernel->warned, bit) & bit))
        pipeline->sink->warned(pipeline->sink->user, kernel->symbol, skip, sentence);
}

/* Where they are more than a check has room for, a bundle of it has them if a buffer is free. */
static void pack_params(struct side *side, struct check *check, const struct launch *launch,
                        const struct param_layout *layout)
{
    size_t bytes = param_layout_bytes(layout);
    uint8_t *large =
        bytes > CHECK_PARAMS && bytes <= CHECK_LARGE_PARAMS ? side_large_params(side, check) : NULL;
    uint8_t *out = large ? large : check->params.few;
    check->params.packed = out;
    check->params.bytes =
        launch_pack(launch, layout, out, large ? CHECK_LARGE_PARAMS : CHECK_PARAMS);
}

static void fill_ticket(struct ticket *ticket, const struct launch *launch)
{
    struct check *check = ticket->check;
    atomic_store_explicit(&check->state, CHECK_FILLING, memory_order_relaxed);
    check->sequence = atomic_fetch_add(&ticket->side->sequence, 1);
    check->kernel = ticket->kernel;
    check->typed = ticket->spec;
    check->launch = ticket->number;
    check->executed = ticket->executed;
    check->gate = ticket->gate;
    check->probe.found.input = NULL;
    check->seal.read = check->started = false;
    check->reference = NULL;
    check->projection.made = false;
    check->module.home =
        launch->call ? (struct kernel_home){NULL, NULL} : kernels_home(launch->function);
    check->module.unloads = module_unloads();
    if (check->gate.result == GATE_OUTLIER) {
        check->probe.index = ticket->outlier.index;
        check->probe.epoch = ticket->outlier.epoch;
        check->probe.centroid = ticket->outlier.detector == OUTLIER_CENTROID;
        memcpy(check->probe.input, ticket->outlier.name, sizeof(check->probe.input));
    }
    pipeline_trace_range(check, launch);
    check->moment_of_state = ticket->state.moment;
    check->place = launch->replayed ? launch->replayed->place : (struct graph_place){0};
    memcpy(check->how.grid, launch->grid, sizeof(check->how.grid));
    memcpy(check->how.block, launch->block, sizeof(check->how.block));
    check->how.shared_bytes = launch->shared_bytes;
    check->how.function = ticket->build;
    memcpy(check->cluster, launch->cluster, sizeof(check->cluster));
    check->cooperative = launch->cooperative;
    check->binding = ticket->binding;
    memcpy(check->placement, ticket->plan.placement, sizeof(check->placement));
    pack_params(ticket->side, check, launch, &ticket->kernel->layout);
}

/* Whether kernels of cuvet are enqueued before the launch. */
static bool goes_before(const struct ticket *ticket)
{
    return ticket->plan.has_before ||
           (ticket->gate.result == GATE_OUTLIER && outlier_probes_before(&ticket->plan));
}

/* Enqueues what has to be probed or copied before the launch overwrites it. *taken: some of that is
 * enqueued although the rest could not be. */
static enum status enqueue_before(struct ticket *ticket, const struct launch *launch, bool *taken,
                                  struct error *why)
{
    bool probes = ticket->gate.result == GATE_OUTLIER && goes_before(ticket);
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
    if (ticket->gate.result == GATE_OUTLIER && !goes_before(ticket))
        return outlier_enqueue(ticket->side, ticket->check, &ticket->plan, &ticket->outlier,
                               SNAPSHOT_AFTER, launch, why);
    return snapshot_after(ticket->side, ticket->check, &ticket->plan, launch, why);
}

/* What a launch that passed all gates needs before it runs. SKIP_DRIVER: nothing is held. */
static enum skip begin_ticket(struct pipeline *pipeline, const struct launch *launch,
                              struct ticket *ticket, struct error *why)
{
    fill_ticket(ticket, launch);
    ticket->check->binding.call.seed = pipeline->seed ^ ticket->kernel->key ^ ticket->number;
    if (enqueue_before(ticket, launch, &ticket->torn, why)) {
        if (!ticket->torn) {
            side_release(ticket->side, ticket->check);
            return SKIP_DRIVER;
        }
        if (why->text[0]) /* a graph's twin that lacks a node gives none */
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

static void sample(struct pipeline *pipeline, const struct launch *launch, struct ticket *ticket)
{
    struct error why;
    why.text[0] = '\0';
    ticket->skip = gates_admit(pipeline, launch, ticket, &why);
    if (!ticket->skip)
        ticket->skip = begin_ticket(pipeline, launch, ticket, &why);
    if (UNUSUAL(pipeline_has_state(ticket->kernel->spec)))
        pipeline_settle_state(pipeline, launch, ticket, ticket->skip);
    if (ticket->skip && why.text[0])
        pipeline_warn(pipeline, ticket->kernel, ticket->skip, why.text);
}

/* The launch's number among those of its kernel: of several threads' at once no two are equal. */
static uint64_t take_launch_number(struct known_kernel *kernel)
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

/* A launch that the first gates passed over is counted as the back end counts such launches, where
 * the kernel and the thread have tallies for it. */
static bool count_as_passed(const struct pipeline *pipeline, const struct ticket *ticket)
{
    struct known_kernel *kernel = ticket->kernel;
    bool passed = ticket->skip == SKIP_NOT_SAMPLED || ticket->skip == SKIP_BUDGET;
    if (!passed || !own_thread.passes)
        return false;
    struct tally *tallies = atomic_load_explicit(&kernel->tallies, memory_order_acquire);
    if (!tallies)
        return false;
    ledger_pass(tallies, own_thread.passes, ticket->skip);
    own_thread.passed_as = ticket->skip;
    gates_note_passed(pipeline, ticket);
    return true;
}

/* The launch's number among those of its kernel that run. With digests alone, by which two runs are
 * held against each other, it is known which do. Of several threads' at once it is near. */
static uint64_t executed_number(const struct launch *launch, const struct ticket *ticket)
{
    if (USUAL(!digest_all))
        return ticket->number;
    bool captured = gates_captures(launch, NULL) == SKIP_CAPTURED;
    uint64_t before =
        atomic_fetch_add_explicit(&ticket->kernel->captured, captured, memory_order_relaxed);
    return ticket->number > before ? ticket->number - before : 0;
}

enum skip pipeline_begin(struct pipeline *pipeline, const struct launch *launch,
                         struct ticket *ticket)
{
    ticket->number = take_launch_number(ticket->kernel);
    ticket->executed = executed_number(launch, ticket);
    if (!ticket->skip)
        sample(pipeline, launch, ticket);
    gates_note_passed(pipeline, ticket);
    return ticket->skip;
}

bool pipeline_enter(struct pipeline *pipeline, const struct launch *launch, struct ticket *ticket)
{
    struct known_kernel *kernel = launch->known;
    ticket->began = clock_ns();
    ticket->account.budget = ticket->account.probes = NULL;
    ticket->timed.slot = NULL;
    if (!kernel)
        kernel = kernels_find(pipeline->kernels, launch);
    ticket->kernel = kernel;
    bool may = kernel && kernel->spec;
    ticket->skip = gates_select(pipeline, launch, ticket);
    if (count_as_passed(pipeline, ticket))
        return true;
    struct gpu_time *time = NULL;
    ledger_seen(pipeline->sink);
    if (ticket->skip == SKIP_UNREGISTERED)
        time = timing_loaded(unregistered_seen(launch->function, launch->symbol));
    else if (may && timing_due(&kernel->time))
        time = &kernel->time;
    if (may && ticket->skip != SKIP_OFF)
        pipeline_begin(pipeline, launch, ticket);
    else
        gates_note_passed(pipeline, ticket);
    if (UNUSUAL(pipeline->recorder) && !may)
        time = pipeline_record(pipeline, launch, kernel);
    if (time)
        timing_begin(pipeline->timing, launch->context, launch->stream, ticket->began, time,
                     &ticket->timed);
    paying_begins(pipeline, launch, ticket);
    return false;
}

static void count_ticket(struct pipeline *pipeline, const struct ticket *ticket, enum skip skip)
{
    ledger_skip(pipeline->sink, ticket->kernel ? ticket->kernel->spec : NULL, skip);
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
        count_ticket(pipeline, ticket, SKIP_LAUNCH_FAILED);
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
        ticket->check->module.moment = images_moment(pipeline->images);
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
    count_ticket(pipeline, ticket, SKIP_DRIVER);
}

/* For the next launch on this stream. What went into a graph has not run. */
static void keep_earlier(struct ticket *ticket, const struct launch *launch)
{
    const struct known_kernel *kernel = ticket->kernel;
    if (kernel && kernel->after && gates_captures(launch, NULL))
        kernel = NULL;
    earlier_note(&ticket->earlier, kernel, launch);
    ticket->has_earlier = ticket->earlier.kept > 0;
}

static void wait_for_launch(const struct pipeline *pipeline, const struct launch *launch,
                            const struct known_kernel *kernel)
{
    struct api_error error = {.at = kernel ? kernel->symbol : kernels_symbol(launch)};
    pipeline_sync(pipeline, launch, &error);
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
            count_ticket(pipeline, ticket, SKIP_LAUNCH_FAILED);
        return;
    }
    if (ticket->skip == SKIP_NONE)
        hand_over(pipeline, launch, ticket);
    else
        count_ticket(pipeline, ticket, ticket->skip);
    if (UNUSUAL(pipeline->sync))
        wait_for_launch(pipeline, launch, ticket->kernel);
    if (ticket->has_earlier || (ticket->kernel && ticket->kernel->after))
        keep_earlier(ticket, launch);
}
