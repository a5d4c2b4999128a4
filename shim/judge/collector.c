#include "judge/collector.h"

#include <errno.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include "base/clock.h"
#include "system/log.h"
#include "base/thread.h"
#include "judge/listed.h"
#include "gate/own.h"
#include "gate/recent.h"
#include "judge/replay.h"
#include "judge/seal.h"
#include "judge/waiting.h"
#include "lifted/side_lift.h"

enum {
    NAP_SHORTEST_US = 10,
    NAP_LONGEST_US = 500,
    NAP_IDLE_US = 100,
    LINGER = 20, /* idle naps before sleeping for good: waking costs a system
                    call on the program's thread */
    STALL_S = 1, /* after so long without progress the driver is queried for an error in the
                  * context */
};

static __thread bool here; /* on the collector's thread */

struct collector {
    struct collector_settings settings;
    pthread_t thread;
    sem_t wake;
    atomic_bool begun;    /* the thread is being started, or never will be */
    atomic_bool running;  /* `thread` is it */
    atomic_bool sleeping; /* or not begun yet */
    atomic_bool stop;
    atomic_int drains;      /* threads that wait until no check is under way */
    struct side *current;   /* whose context is pushed on the thread */
    struct waiting waiting; /* for a reference, in the side at hand */
    struct ending ending;
};

static double seconds_since(const struct timespec *then)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)(now.tv_sec - then->tv_sec) + 1e-9 * (double)(now.tv_nsec - then->tv_nsec);
}

static void note_progress(struct side *side)
{
    clock_gettime(CLOCK_MONOTONIC, &side->round.last_progress);
}

static bool make_current(struct collector *collector, struct side *side)
{
    CUcontext old;
    if (collector->current == side)
        return true;
    if (collector->current)
        cuda.cuCtxPopCurrent(&old);
    collector->current = NULL;
    if (cuda.cuCtxPushCurrent(side->context) != CUDA_SUCCESS)
        return false;
    collector->current = side;
    return true;
}

/* Everything under way in a side that can no longer answer. */
static void skip_all(struct collector *collector, struct side *side, enum skip skip)
{
    for (int slot; (slot = side_next_submitted(side, 0)) >= 0;)
        ending_skip(&collector->ending, side, &side->slot.check[slot], skip);
    for (int i = 0; i < SIDE_BATCHES; i++) {
        for (int j = 0; j < REF_BATCH; j++)
            side->batch[i].lane[j].check = NULL;
    }
}

static void abandon_side(struct collector *collector, struct side *side, const char *sentence)
{
    enum side_state ready = SIDE_READY;
    if (atomic_compare_exchange_strong(&side->state, &ready, SIDE_BROKEN))
        log_line(LOG_WARN, "checking ends on device %d: %s", side->device, sentence);
    skip_all(collector, side, SKIP_DRIVER);
}

static bool may_launch(const struct side *side)
{
    /* The program waits for the whole context: it would wait for a reference started now, too. */
    return atomic_load_explicit(&side->synchronising, memory_order_acquire) == 0;
}

/* True when something moved. */
static bool step_lane(struct collector *collector, struct side *side, struct lane *lane)
{
    struct error err = {{0}};
    switch (replay_poll(lane)) {
    case REPLAY_RUNNING:
        return false;
    case REPLAY_DONE:
        ending_judge(&collector->ending, side, lane);
        return true;
    case REPLAY_PIECE_DONE:
        if (replay_next(side, lane, &err))
            abandon_side(collector, side, err.text);
        return true;
    }
    return false;
}

/* A sealed check that needs no reference: its launch failed, was ordinary, or its copy found no
 * room in the arena. */
static void end_unchecked(struct collector *collector, struct side *side, struct check *check,
                          bool failed)
{
    if (!failed)
        gate_return(check->gate.turn);
    if (!failed && !check->seal.ordinary && check->gate.result != GATE_OUTLIER)
        refused_add(&side->arena.refused, check->gate.signature, check->room.bytes);
    ending_skip(&collector->ending, side, check,
                failed                 ? SKIP_LAUNCH_FAILED
                : check->seal.ordinary ? SKIP_ORDINARY
                                       : SKIP_ARENA_FULL);
}

/* Calls `visit` for each submitted check once, from next_slot on. */
static void each_submitted(struct collector *collector, struct side *side,
                           void (*visit)(struct collector *, struct side *, struct check *))
{
    uint32_t left = side->slot.count, from = side->round.next_slot;
    while (left) {
        int slot = side_next_submitted(side, from);
        uint32_t step =
            slot < 0 ? left : ((uint32_t)slot + side->slot.count - from) % side->slot.count + 1;
        if (slot < 0 || step > left)
            break; /* none, or once round */
        left -= step;
        from = ((uint32_t)slot + 1) % side->slot.count;
        visit(collector, side, &side->slot.check[slot]);
    }
}

static void end_if_unchecked(struct collector *collector, struct side *side, struct check *check)
{
    if (check->started || !seal_seen(side, check))
        return;
    bool failed = atomic_load_explicit(&check->state, memory_order_relaxed) == CHECK_ABANDONED;
    if (check->room.at)
        refused_served(&side->arena.refused, check->gate.signature);
    if (failed || !check->room.at) {
        end_unchecked(collector, side, check, failed);
        side->round.ended++;
    }
}

/* Ends checks that need no reference: mostly outlier probes that selected nothing, which would hold
 * their slots while the lanes are busy. True when there was any. */
static bool end_unchecked_ones(struct collector *collector, struct side *side)
{
    side->round.ended = 0;
    each_submitted(collector, side, end_if_unchecked);
    return side->round.ended > 0;
}

static void skip_for_driver(struct collector *collector, struct side *side, struct check *check,
                            const struct error *err)
{
    ending_warn(&collector->ending, check, SKIP_DRIVER, err->text);
    ending_skip(&collector->ending, side, check, SKIP_DRIVER);
}

/* What the reference's call has to take from the copies, once. */
static enum skip read_sealed_values(struct check *check, struct error *why)
{
    if (check->reference || !check->binding.values)
        return SKIP_NONE;
    return binding_read(check_spec(check), check->seal.value, &check->binding, why);
}

enum { MOST_RETRIES = 16 };

/* The copy kernel met addresses outside every known range. A launch that was picked for being new
 * returns its turn, and the next one finds the ranges known; at most MOST_RETRIES times, because
 * some programs move their arrays at each launch. */
static void end_missed(struct collector *collector, struct side *side, struct check *check)
{
    struct error err = {{0}};
    bool again;
    enum skip skip = listed_read(side, check, &again, &err);
    if (skip != SKIP_NEW_MEMORY)
        ending_warn(&collector->ending, check, skip, err.text);
    else if (again && check->kernel->new_memory_retries++ < MOST_RETRIES)
        gate_return(check->gate.turn);
    ending_skip(&collector->ending, side, check, skip);
}

/* What is sealed and needs no reference has ended by now. */
static void add_if_waiting(struct collector *collector, struct side *side, struct check *check)
{
    struct error err = {{0}};
    if (!check->seal.read || check->started)
        return;
    if (check->seal.missed) {
        end_missed(collector, side, check);
        return;
    }
    enum skip skip = read_sealed_values(check, &err);
    if (skip) {
        ending_warn(&collector->ending, check, skip, err.text);
        ending_skip(&collector->ending, side, check, skip);
    } else if (replay_prepare(side, check, &err)) {
        skip_for_driver(collector, side, check, &err);
    } else {
        waiting_add(&collector->waiting, check, replay_alone(check));
    }
}

/* Whether checks are not to wait for others: a thread waits for them, or the slots or memory that
 * they hold are needed. Launches that the GPU has not reached hold slots too, which no hurry
 * frees. */
static bool must_not_wait(struct collector *collector, const struct side *side)
{
    const struct side_arena *arena = &side->arena;
    uint32_t quarter = side->slot.count / 4;
    return atomic_load(&collector->drains) > 0 || collector->waiting.checks >= quarter ||
           atomic_load(&side->pending) >= quarter * 3 || refused_any(&arena->refused) ||
           atomic_load(&arena->newest) - *arena->tail >= arena->bytes / 4;
}

/* Starts checks whose copies are complete, where their time has come. True when there were any. */
static bool start_batch(struct collector *collector, struct side *side, struct batch *batch)
{
    struct error err = {{0}};
    if (!may_launch(side))
        return false;
    waiting_clear(&collector->waiting);
    each_submitted(collector, side, add_if_waiting);
    const struct group *group =
        waiting_due(&collector->waiting, clock_ns(), must_not_wait(collector, side));
    if (!group)
        return false;
    side->round.next_slot = (group->check[0]->slot + 1) % side->slot.count;
    if (replay_start(side, batch, group->check, group->count, &err)) {
        for (int i = 0; i < group->count; i++)
            skip_for_driver(collector, side, group->check[i], &err);
    }
    return true;
}

/* True when something moved. */
static bool step_batch(struct collector *collector, struct side *side, struct batch *batch)
{
    bool moved = false, idle = true;
    for (int i = 0; i < REF_BATCH; i++) {
        moved |= batch->lane[i].check && step_lane(collector, side, &batch->lane[i]);
        idle &= !batch->lane[i].check;
    }
    if (idle && atomic_load(&side->state) == SIDE_READY)
        moved |= start_batch(collector, side, batch);
    return moved;
}

/* A context in error never seals anything: the driver's word ends the wait. */
static void check_context(struct collector *collector, struct side *side)
{
    CUresult result;
    if (seconds_since(&side->round.last_progress) < STALL_S)
        return;
    note_progress(side);
    result = cuda.cuStreamQuery(side->stream);
    if (result != CUDA_SUCCESS && result != CUDA_ERROR_NOT_READY)
        abandon_side(collector, side, cuda_error_name(result));
}

/* Wide variants are left for their first use: only f64 needs them. After a failure so are all that
 * remain: what keeps one from loading, such as a context in error, keeps the next one too. */
static void preload(struct collector *collector, struct side *side)
{
    struct error err = {{0}};
    for (size_t i = 0; i < ref_builtin_count; i++) {
        for (int variant = 0; variant < REF_VARIANTS && collector->settings.preload[i]; variant++) {
            if (!ref_builtins[i].symbol[variant] || variant == REF_WIDE ||
                side_reference(side, &ref_builtins[i], (enum ref_variant)variant, &err))
                continue;
            if (atomic_load(&side->state) != SIDE_GONE) /* else its context is being destroyed */
                log_line(LOG_WARN, "reference %s: %s", ref_builtins[i].name, err.text);
            return;
        }
    }
}

static void set_up(struct collector *collector, struct side *side)
{
    struct error err = {{0}};
    enum side_state wanted = SIDE_WANTED;
    if (!make_current(collector, side)) {
        if (atomic_compare_exchange_strong(&side->state, &wanted, SIDE_BROKEN))
            log_line(LOG_WARN, "no checking in a context: it cannot be made current");
        return;
    }
    /* For life: our calls must never count as unsafe in a capture of the program's. */
    CUstreamCaptureMode relaxed = CU_STREAM_CAPTURE_MODE_RELAXED;
    cuda.cuThreadExchangeStreamCaptureMode(&relaxed);
    if (collector->settings.side.lift)
        side_lifts_open(side, collector->settings.side.lift);
    if (side_set_up(side, &collector->settings.side, &err))
        log_line(LOG_WARN, "no checking on device %d: %s", side->device, err.text);
    else if (collector->settings.preload)
        preload(collector, side);
    note_progress(side);
}

/* One step of work on a side. True when it has work under way, so that the thread naps and does not
 * sleep. */
static bool step_side(struct collector *collector, struct side *side, bool *moved)
{
    if (atomic_load(&side->state) == SIDE_WANTED)
        set_up(collector, side);
    if (atomic_load(&side->state) == SIDE_BROKEN && atomic_load(&side->pending))
        skip_all(collector, side, SKIP_DRIVER); /* handed over just as the side broke */
    bool pending = atomic_load(&side->pending), due = side_users_due(side);
    bool lifts = side_lifts_due(side);
    bool probes = atomic_load(&side->outlier.state) == OUTLIER_WANTED;
    bool chore = atomic_load(&side->chore);
    if (atomic_load(&side->state) != SIDE_READY ||
        (!pending && !due && !lifts && !probes && !chore))
        return false;
    if (!make_current(collector, side)) {
        abandon_side(collector, side, "its context cannot be made current");
        return false;
    }
    if (probes)
        side_set_up_probes(side, &collector->settings.side);
    if (due)
        side_users_load(side);
    if (lifts)
        side_lifts_load(side);
    if (chore && atomic_exchange(&side->chore, false))
        collector->settings.chore.work(collector->settings.chore.user, side);
    if (!pending)
        return false;
    bool ended = end_unchecked_ones(collector, side), progress = false;
    if (side->arena.refused.waiting || side->arena.refused.since)
        refused_step(&side->arena.refused, clock_ns());
    for (int i = 0; i < SIDE_BATCHES && atomic_load(&side->state) == SIDE_READY; i++)
        progress |= step_batch(collector, side, &side->batch[i]);
    if (progress || ended)
        note_progress(side);
    else
        check_context(collector, side);
    /* Probes that selected nothing need no early step while there are slots. */
    uint32_t room = side->outlier.probes ? side->outlier.probes : side->slot.count;
    *moved |= progress || (ended && atomic_load(&side->pending) >= room / 4);
    return true;
}

struct pass {
    struct collector *collector;
    bool busy, moved;
};

static void visit_side(struct side *side, void *user)
{
    struct pass *pass = user;
    atomic_store(&side->held, true);
    if (atomic_load(&side->state) != SIDE_GONE)
        pass->busy |= step_side(pass->collector, side, &pass->moved);
    if (atomic_load(&side->state) == SIDE_GONE && pass->collector->current == side) {
        CUcontext old;
        cuda.cuCtxPopCurrent(&old);
        pass->collector->current = NULL;
    }
    atomic_store(&side->held, false);
}

static bool any_pending(struct collector *collector);

static void add_chore(struct side *side, void *user)
{
    bool *any = user;
    *any |= atomic_load(&side->state) == SIDE_READY && atomic_load(&side->chore);
}

/* A chore keeps the thread awake, but no thread waits for it. */
static bool any_chore(struct collector *collector)
{
    bool any = false;
    sides_each(collector->settings.sides, add_chore, &any);
    return any;
}

/* Sleeps until woken, unless work came in meanwhile. */
static void sleep_for_good(struct collector *collector)
{
    atomic_store(&collector->sleeping, true);
    if (!any_pending(collector) && !any_chore(collector) && !atomic_load(&collector->stop)) {
        while (sem_wait(&collector->wake) && errno == EINTR)
            ;
    }
    atomic_store(&collector->sleeping, false);
}

static void nap(long us)
{
    struct timespec time = {.tv_nsec = us * 1000};
    nanosleep(&time, NULL);
}

/* A fault that no call of the program has shown to cuvet. */
static void report_fault(struct side *side, void *user)
{
    struct collector *collector = user;
    struct api_error error = {.device = side->device};
    enum side_state state = atomic_load(&side->state);
    if ((state == SIDE_READY || state == SIDE_BROKEN) && make_current(collector, side) &&
        recent_fault(cuda.cuStreamQuery(side->stream), NULL, &error))
        collector->settings.sink->api_failed(collector->settings.sink->user, &error);
}

static void *run_collector(void *user)
{
    struct collector *collector = user;
    own_thread.work = OWN_WORK;
    here = true;
    long nap_us = NAP_SHORTEST_US;
    int idle = 0;
    prctl(PR_SET_NAME, "cuvet");
    prctl(PR_SET_TIMERSLACK, 1000UL); /* naps of tens of microseconds, not of the default 50 more */
    while (!atomic_load(&collector->stop)) {
        struct pass pass = {.collector = collector};
        sides_each(collector->settings.sides, visit_side, &pass);
        idle = pass.moved || pass.busy ? 0 : idle + 1;
        if (pass.moved) {
            nap_us = NAP_SHORTEST_US;
        } else if (idle > LINGER) {
            sleep_for_good(collector);
            idle = 0;
        } else {
            nap(idle ? NAP_IDLE_US : nap_us);
            nap_us = nap_us * 3 / 2 < NAP_LONGEST_US ? nap_us * 3 / 2 : NAP_LONGEST_US;
        }
    }
    sides_each(collector->settings.sides, report_fault, collector);
    return NULL;
}

enum status collector_create(struct collector **out, const struct collector_settings *settings,
                             struct error *err)
{
    struct collector *collector = calloc(1, sizeof(*collector));
    if (!collector)
        return error_set(err, STATUS_NO_MEMORY, "no memory for the collector");
    collector->settings = *settings;
    collector->ending = (struct ending){.sink = settings->sink, .images = settings->images};
    if (settings->hardware)
        collector->ending.hardware = hardware_create();
    sem_init(&collector->wake, 0, 0);
    atomic_init(&collector->sleeping, true);
    *out = collector;
    return STATUS_OK;
}

static void give_up_wanted(struct side *side, void *user)
{
    enum side_state wanted = SIDE_WANTED;
    (void)user;
    atomic_compare_exchange_strong(&side->state, &wanted, SIDE_BROKEN);
}

/* Without a thread nothing is checked in this context; the next one tries again. */
static void start_collector(struct collector *collector)
{
    int result = thread_start(&collector->thread, 0, run_collector, collector);
    if (!result) {
        atomic_store(&collector->running, true);
        return;
    }
    log_once(LOG_WARN, "nothing is checked: no thread: %s", strerror(result));
    sides_each(collector->settings.sides, give_up_wanted, NULL);
    atomic_store(&collector->begun, false);
    atomic_store(&collector->sleeping, true);
}

void collector_wake(struct collector *collector)
{
    if (!atomic_load(&collector->sleeping) || !atomic_exchange(&collector->sleeping, false))
        return;
    if (!atomic_exchange(&collector->begun, true))
        start_collector(collector);
    else
        sem_post(&collector->wake);
}

static void add_pending(struct side *side, void *user)
{
    enum side_state state = atomic_load(&side->state);
    if (state == SIDE_WANTED)
        *(bool *)user = true;
    if (state == SIDE_READY && atomic_load(&side->outlier.state) == OUTLIER_WANTED)
        *(bool *)user = true;
    if ((state == SIDE_READY || state == SIDE_BROKEN) && atomic_load(&side->pending))
        *(bool *)user = true;
    if (state == SIDE_READY && (side_users_due(side) || side_lifts_due(side)))
        *(bool *)user = true;
}

static bool any_pending(struct collector *collector)
{
    bool pending = false;
    sides_each(collector->settings.sides, add_pending, &pending);
    return pending;
}

bool collector_idle(struct collector *collector)
{
    return !any_pending(collector);
}

bool collector_here(void)
{
    return here;
}

/* Nothing is held back meanwhile. */
static bool wait_for_rest(struct collector *collector, int timeout_ms)
{
    const struct timespec nap = {.tv_nsec = 200000};
    struct timespec start;
    clock_gettime(CLOCK_MONOTONIC, &start);
    while (any_pending(collector)) {
        if (seconds_since(&start) * 1000 > timeout_ms)
            return false;
        collector_wake(collector);
        nanosleep(&nap, NULL);
    }
    return true;
}

bool collector_drain(struct collector *collector, int timeout_ms)
{
    if (here)
        return !any_pending(collector);
    atomic_fetch_add(&collector->drains, 1);
    bool drained = wait_for_rest(collector, timeout_ms);
    atomic_fetch_sub(&collector->drains, 1);
    return drained;
}

bool collector_stop(struct collector *collector, int timeout_ms)
{
    const struct timespec nap = {.tv_nsec = 1000000};
    atomic_store(&collector->stop, true);
    atomic_store(&collector->sleeping, false);
    if (!atomic_exchange(&collector->begun, true))
        return true;
    for (int i = 0; i < timeout_ms && !atomic_load(&collector->running); i++)
        nanosleep(&nap, NULL); /* another thread is starting it */
    if (!atomic_load(&collector->running))
        return false;
    sem_post(&collector->wake);
    return thread_join_within(collector->thread, timeout_ms + 1000);
}

void collector_destroy(struct collector *collector)
{
    sem_destroy(&collector->wake);
    judges_close(&collector->ending.judges);
    hardware_destroy(collector->ending.hardware);
    free(collector);
}

static void skip_side(struct side *side, void *user)
{
    if (atomic_load(&side->state) == SIDE_READY && atomic_load(&side->pending))
        skip_all(user, side, SKIP_EXIT);
}

void collector_skip_rest(struct collector *collector)
{
    sides_each(collector->settings.sides, skip_side, collector);
}

void collector_let_go(struct collector *collector, struct side *side, int timeout_ms)
{
    const struct timespec nap = {.tv_nsec = 100000};
    enum side_state was = atomic_exchange(&side->state, SIDE_GONE);
    for (int i = 0; i < timeout_ms * 10 && atomic_load(&side->held); i++)
        nanosleep(&nap, NULL);
    /* Not let go in time: its counts stay out of the balance, which the summary reports. */
    if (was == SIDE_READY && !atomic_load(&side->held))
        skip_all(collector, side, SKIP_EXIT);
}
