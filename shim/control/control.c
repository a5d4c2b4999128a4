/* control.c - the functions of cuvet.h; see control.h. */
#include "control/control.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "text/json_out.h"
#include "cuvet.h"
#include "gate/passing.h"

enum { CALL_WAIT_MS = 1000, COUNTERS_MOST = 4096 };

/* One registration of a callback. */
struct listener {
    cuvet_mismatch_fn call;
    void *user;
};

static const double NO_SAMPLE = -1;

/* In the address's lowest bit: no thread waits for the call's end any more, the caller frees it. */
static const uintptr_t ORPHAN = 1;

/* The program's settings, which hold before there is a session too, and the session. */
static struct {
    atomic_bool off;
    _Atomic(double) sample; /* below 0: nothing was wished */
    _Atomic(struct listener *) listener;
    _Atomic(uintptr_t) calling; /* the one that the collector is using, and ORPHAN */
    _Atomic(const struct control_targets *) targets;
    atomic_bool ended, forked;
} control = {.sample = -1};

/* NULL where nothing can be steered. */
static const struct control_targets *live(void)
{
    return atomic_load(&control.ended) ? NULL : atomic_load(&control.targets);
}

/*
 * Passes the settings on; called after each change. Of several threads at once the last to store a
 * setting reads all of them, and one that passed on an older value repeats.
 */
static void apply_targets(const struct control_targets *targets)
{
    bool off;
    double sample;
    do {
        off = atomic_load(&control.off);
        sample = atomic_load(&control.sample);
        atomic_store(&passing.off, off);
        if (sample >= 0)
            gate_set_sample(targets->pipeline->gate, sample);
    } while (off != atomic_load(&control.off) || sample < atomic_load(&control.sample) ||
             sample > atomic_load(&control.sample));
}

void control_open(const struct control_targets *targets)
{
    atomic_store(&control.targets, targets);
    apply_targets(targets);
}

const struct control_targets *control_targets(void)
{
    return atomic_load(&control.targets);
}

void control_end(void)
{
    atomic_store(&control.ended, true);
}

void control_in_child(void)
{
    atomic_store(&control.forked, true);
    atomic_store(&control.ended, true);
    atomic_store(&control.targets, NULL);
}

void control_reset(void)
{
    free(atomic_exchange(&control.listener, NULL));
    atomic_store(&control.targets, NULL);
    atomic_store(&control.off, false);
    atomic_store(&control.sample, NO_SAMPLE);
    atomic_store(&control.ended, false);
    atomic_store(&control.forked, false);
}

static void notify_session(const struct control_targets *targets, const char *what)
{
    if (targets->steered)
        targets->steered(targets->user, what);
}

int cuvet_start(void)
{
    if (atomic_load(&control.ended))
        return CUVET_INACTIVE;
    atomic_store(&control.off, false);
    const struct control_targets *targets = live();
    if (!targets)
        return CUVET_INACTIVE;
    gate_reset(targets->pipeline->gate);
    outliers_reset(targets->pipeline->outliers);
    apply_targets(targets);
    notify_session(targets, "start");
    return CUVET_OK;
}

static int finish_checks(const struct control_targets *targets, int timeout_ms)
{
    if (collector_here())
        return CUVET_BUSY;
    return collector_drain(targets->pipeline->collector, timeout_ms) ? CUVET_OK : CUVET_TIMEOUT;
}

int cuvet_stop(int timeout_ms)
{
    if (timeout_ms < 0)
        return CUVET_INVALID;
    if (atomic_load(&control.ended))
        return CUVET_INACTIVE;
    atomic_store(&control.off, true);
    const struct control_targets *targets = live();
    if (!targets)
        return CUVET_INACTIVE;
    apply_targets(targets);
    notify_session(targets, "stop");
    return finish_checks(targets, timeout_ms);
}

int cuvet_is_running(void)
{
    return live() && !atomic_load(&control.off);
}

int cuvet_set_sample(double probability)
{
    char number[32], what[48];
    if (!(probability >= 0 && probability <= 1))
        return CUVET_INVALID;
    if (atomic_load(&control.ended))
        return CUVET_INACTIVE;
    atomic_store(&control.sample, probability);
    const struct control_targets *targets = live();
    if (!targets)
        return CUVET_INACTIVE;
    apply_targets(targets);
    json_format_double(number, probability);
    snprintf(what, sizeof(what), "sample %s", number);
    notify_session(targets, what);
    return CUVET_OK;
}

double cuvet_get_sample(void)
{
    const struct control_targets *targets = control_targets();
    if (targets)
        return gate_sample(targets->pipeline->gate);
    return atomic_load(&control.forked) ? NO_SAMPLE : atomic_load(&control.sample);
}

int cuvet_flush(int timeout_ms)
{
    const struct control_targets *targets = live();
    if (timeout_ms < 0)
        return CUVET_INVALID;
    return targets ? finish_checks(targets, timeout_ms) : CUVET_INACTIVE;
}

/* ---- counters ---- */

static void fill_counters(struct cuvet_counters *out, const struct counters_totals *totals)
{
    const struct check_cost *cost = &totals->cost;
    uint64_t accounted = counters_sum(&totals->buckets);
    uint64_t checked = counters_checked(&totals->buckets);
    out->seen = totals->seen;
    out->registered = accounted - counters_sum(&totals->other);
    out->match = totals->buckets.verdict[VERDICT_MATCH];
    out->mismatch = totals->buckets.verdict[VERDICT_MISMATCH];
    out->inconclusive = totals->buckets.verdict[VERDICT_INCONCLUSIVE];
    out->unchecked = accounted - checked;
    out->under_way = totals->seen > accounted ? totals->seen - accounted : 0;
    out->effective_rate = out->registered ? (double)checked / (double)out->registered : 0;
    out->elapsed_seconds = (double)totals->elapsed / 1e9;
    out->thread_seconds = (double)cost->thread / 1e9;
    out->copy_seconds = (double)cost->copy / 1e9;
    out->reference_seconds = (double)cost->reference / 1e9;
    out->look_seconds = (double)cost->probe / 1e9;
    out->hook_seconds = (double)totals->seen *
                        (double)atomic_load_explicit(&passing.hook_ns, memory_order_relaxed) / 1e9;
    out->cost_seconds =
        (double)(cost->thread + cost->copy + cost->reference + cost->probe - cost->overlap) / 1e9;
}

int cuvet_counters(struct cuvet_counters *out)
{
    const size_t least = offsetof(struct cuvet_counters, registered);
    struct cuvet_counters all = {0};
    if (!out || out->size < least || out->size > COUNTERS_MOST)
        return CUVET_INVALID;
    const struct control_targets *targets = control_targets();
    if (targets) {
        struct counters_totals totals;
        counters_read(targets->counters, &totals);
        fill_counters(&all, &totals);
    }
    size_t room = out->size;
    memset(out, 0, room);
    all.size = room < sizeof(all) ? room : sizeof(all);
    memcpy(out, &all, all.size);
    return live() ? CUVET_OK : CUVET_INACTIVE;
}

/* ---- findings ---- */

/*
 * `calling` is a hazard pointer: the collector publishes the listener that it is about to use and
 * compares it with the current one again. A thread that removes a listener frees it when it is not
 * in use, or marks it as an orphan for the collector to free.
 */
static struct listener *borrow(void)
{
    struct listener *listener;
    do {
        listener = atomic_load(&control.listener);
        atomic_store(&control.calling, (uintptr_t)listener);
    } while (listener != atomic_load(&control.listener));
    return listener;
}

static void give_back(struct listener *listener)
{
    if (atomic_exchange(&control.calling, 0) & ORPHAN)
        free(listener);
}

void control_found(const struct check_report *report, const char *bundle)
{
    struct listener *listener = borrow();
    if (!listener)
        return;
    const struct kernel_spec *spec = report->spec;
    const struct cuvet_finding finding = {
        .size = sizeof(finding),
        .kernel = spec->symbol,
        .label = spec->label ? spec->label : spec->symbol,
        .reference = spec->reference ? spec->reference->name : "",
        .launch = report->launch,
        .elements = report->numbers.checked,
        .violations = report->numbers.violations,
        .worst = report->numbers.max_ratio,
        .bundle = bundle,
    };
    listener->call(&finding, listener->user);
    give_back(listener);
}

/* Frees a listener that can no longer be borrowed, once it is not in use. */
static int retire(struct listener *old)
{
    const struct timespec nap = {.tv_nsec = 1000000};
    const bool here = collector_here(); /* then its own call is the only one that can be running */
    uintptr_t in_use = (uintptr_t)old;
    if (!old)
        return CUVET_OK;
    for (int ms = 0; ms < CALL_WAIT_MS && !here && atomic_load(&control.calling) == in_use; ms++)
        nanosleep(&nap, NULL);
    if (atomic_compare_exchange_strong(&control.calling, &in_use, in_use | ORPHAN))
        return here ? CUVET_OK : CUVET_TIMEOUT;
    free(old);
    return CUVET_OK;
}

int cuvet_on_mismatch(cuvet_mismatch_fn callback, void *user)
{
    struct listener *fresh = NULL;
    if (atomic_load(&control.forked))
        return CUVET_INACTIVE;
    if (callback) {
        fresh = calloc(1, sizeof(*fresh));
        if (!fresh)
            return CUVET_NO_MEMORY;
        fresh->call = callback;
        fresh->user = user;
    }
    int status = retire(atomic_exchange(&control.listener, fresh));
    if (status)
        return status;
    return live() ? CUVET_OK : CUVET_INACTIVE;
}
