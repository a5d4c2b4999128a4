/* queue.c - queues of works, the threads that serve them, and what orders them among each other. */
#include "driver/stream/queue.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#include "driver/context/device.h"
#include "driver/stream/host.h"
#include "driver/base/settings.h"

enum { EXIT_WAIT_MS = 100, LINGER_S = 2 };

struct mark {
    atomic_uint refs;
    bool done;
    int64_t time;
};

struct entry_item {
    struct entry_item *next;
    struct work work; /* type NULL: nothing to run */
    struct mark *mark;
    unsigned after_count;
    struct mark *after[];
};

struct queue {
    struct queue *next, *all_next; /* of the domain while it lives, of all that ever were */
    struct domain *domain;         /* NULL: ended */
    enum queue_kind kind;
    uint64_t id, random;
    double delay_ms;
    bool ending, has_worker;
    struct entry_item *head, **tail; /* the head stays in place while it runs */
    struct mark *last;
    pthread_cond_t filled;
};

struct domain {
    struct domain *next;
    struct context *context;
    struct queue *queues;
    unsigned workers;
    atomic_bool stop;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
/* Some mark is done, some worker has ended, or the process ends. */
static pthread_cond_t progress = PTHREAD_COND_INITIALIZER;
static struct domain *domains;
/* Keeps the queues reachable: they outlive their domain. */
static struct queue *all_queues;
static unsigned running; /* workers inside a work */
static atomic_bool ended;
static _Atomic(pid_t)
    owner; /* the process that the workers live in; a forked child has none of them */
static _Thread_local bool is_worker;

static int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* --- marks --- */

static struct mark *mark_create(void)
{
    struct mark *mark = calloc(1, sizeof(*mark));
    if (mark)
        atomic_init(&mark->refs, 1);
    return mark;
}

struct mark *mark_now(void)
{
    struct mark *mark = mark_create();
    if (mark) {
        mark->done = true;
        mark->time = now_ns();
    }
    return mark;
}

struct mark *mark_hold(struct mark *mark)
{
    if (mark)
        atomic_fetch_add_explicit(&mark->refs, 1, memory_order_relaxed);
    return mark;
}

void mark_drop(struct mark *mark)
{
    if (mark && atomic_fetch_sub_explicit(&mark->refs, 1, memory_order_acq_rel) == 1)
        free(mark);
}

bool mark_is_done(struct mark *mark)
{
    pthread_mutex_lock(&lock);
    bool done = mark->done;
    pthread_mutex_unlock(&lock);
    return done;
}

int64_t mark_time(struct mark *mark)
{
    pthread_mutex_lock(&lock);
    int64_t time = mark->time;
    pthread_mutex_unlock(&lock);
    return time;
}

/* With the lock held, as all functions of this name. */
static void wait_locked(struct mark *mark, const atomic_bool *stop)
{
    while (!mark->done && !atomic_load(&ended) && !(stop && atomic_load(stop)))
        pthread_cond_wait(&progress, &lock);
}

/*
 * For a thread of the program whose wait the end of the process cut short: what it would do next,
 * with the error, is not part of the program, so it is held until the process should be gone.
 * The hold has an end, so that a wait for that thread ends too.
 */
static void linger(bool done)
{
    if (!done && !is_worker && atomic_load(&ended))
        nanosleep(&(struct timespec){.tv_sec = LINGER_S}, NULL);
}

void mark_wait(struct mark *mark, const atomic_bool *stop)
{
    pthread_mutex_lock(&lock);
    wait_locked(mark, stop);
    bool done = mark->done;
    pthread_mutex_unlock(&lock);
    linger(done);
}

static void finish_locked(struct mark *mark)
{
    mark->done = true;
    mark->time = now_ns();
    pthread_cond_broadcast(&progress);
}

/* --- entries --- */

static void item_free(struct entry_item *item)
{
    for (unsigned i = 0; i < item->after_count; i++)
        mark_drop(item->after[i]);
    mark_drop(item->mark);
    free(item);
}

/* What an entry of `queue` has to wait for in queue `other`: legacy and blocking ones wait for each
 * other. */
static bool waits_for(const struct queue *queue, const struct queue *other)
{
    return other != queue && other->last && !other->last->done &&
           ((queue->kind == QUEUE_LEGACY && other->kind == QUEUE_BLOCKING) ||
            (queue->kind == QUEUE_BLOCKING && other->kind == QUEUE_LEGACY));
}

static struct entry_item *item_create_locked(struct queue *queue, const struct work *work,
                                             struct mark *after)
{
    unsigned count = 1;
    for (struct queue *other = queue->domain->queues; other; other = other->next)
        count += waits_for(queue, other);
    struct entry_item *item = calloc(1, sizeof(*item) + count * sizeof(item->after[0]));
    if (!item)
        return NULL;
    item->mark = mark_create();
    if (!item->mark) {
        free(item);
        return NULL;
    }
    if (work)
        item->work = *work;
    if (after && !after->done)
        item->after[item->after_count++] = mark_hold(after);
    for (struct queue *other = queue->domain->queues; other; other = other->next)
        if (waits_for(queue, other))
            item->after[item->after_count++] = mark_hold(other->last);
    return item;
}

/* --- workers --- */

static void sleep_ms(double ms, const atomic_bool *stop)
{
    int64_t until = now_ns() + (int64_t)(ms * 1e6);
    for (int64_t left; (left = until - now_ns()) > 0;) {
        if (atomic_load(&ended) || atomic_load(stop))
            return;
        if (left > 5000000)
            left = 5000000;
        nanosleep(&(struct timespec){.tv_nsec = (long)left}, NULL);
    }
}

bool queue_pause(const atomic_bool *stop)
{
    if (atomic_load(&ended) || atomic_load(stop))
        return false;
    nanosleep(&(struct timespec){.tv_nsec = 20000}, NULL);
    return true;
}

/* xorshift64: every queue has its own, so that its draws do not depend on the others. */
static uint64_t draw(struct queue *queue)
{
    uint64_t x = queue->random;
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    return queue->random = x;
}

/* What SOFTGPU_DELAY and SOFTGPU_SEED put before a work. */
static void hold_back(struct queue *queue)
{
    if (queue->delay_ms > 0)
        sleep_ms(queue->delay_ms, &queue->domain->stop);
    if (!queue->random)
        return;
    uint64_t number = draw(queue);
    if (number % 4 == 0)
        sched_yield();
    else if (number % 4 == 1)
        sleep_ms((double)(number >> 8 & 0xff) / 1000, &queue->domain->stop);
}

/* Without the lock. In a context with an error only works run that take the error. */
static void perform(struct queue *queue, struct work *work)
{
    struct domain *domain = queue->domain;
    hold_back(queue);
    if (context_sticky(domain->context) == CUDA_SUCCESS || host_wants_errors(work->type)) {
        CUresult error = work->type->run(domain->context, work->data);
        if (error != CUDA_SUCCESS && context_sticky(domain->context) == CUDA_SUCCESS)
            context_poison(domain->context, error, "a piece of work failed on its stream");
        /* After the poison: a work that stops now must find the reason. */
        if (error != CUDA_SUCCESS)
            atomic_store(&domain->stop, true);
    }
    work->type->drop(work->data);
}

/* The next entry that may run, NULL where the worker is to end. */
static struct entry_item *next_locked(struct queue *queue)
{
    while (!queue->head && !queue->ending && !atomic_load(&ended))
        pthread_cond_wait(&queue->filled, &lock);
    struct entry_item *item = queue->head;
    for (unsigned i = 0; item && i < item->after_count; i++)
        wait_locked(item->after[i], NULL);
    return atomic_load(&ended) ? NULL : item;
}

static void remove_locked(struct queue *queue, struct entry_item *item)
{
    queue->head = item->next;
    if (!queue->head)
        queue->tail = &queue->head;
    finish_locked(item->mark);
}

static void *serve(void *argument)
{
    struct queue *queue = argument;
    char name[16];
    snprintf(name, sizeof(name), "softgpu-%u", (unsigned)queue->id % 1000000);
    pthread_setname_np(pthread_self(), name);
    is_worker = true;
    pthread_mutex_lock(&lock);
    for (struct entry_item *item; (item = next_locked(queue));) {
        if (item->work.type) {
            running++;
            pthread_mutex_unlock(&lock);
            perform(queue, &item->work);
            pthread_mutex_lock(&lock);
            running--;
        }
        remove_locked(queue, item);
        item_free(item);
    }
    if (!atomic_load(&ended)) {
        queue->domain->workers--;
        queue->has_worker = false;
    }
    pthread_cond_broadcast(&progress);
    pthread_mutex_unlock(&lock);
    return NULL;
}

/* The program's signals are for the program's threads; faults of a host function stay its own. */
static void worker_signals(sigset_t *set)
{
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS};
    sigfillset(set);
    for (unsigned i = 0; i < sizeof(faults) / sizeof(*faults); i++)
        sigdelset(set, faults[i]);
}

static bool start_worker_locked(struct queue *queue)
{
    if (queue->has_worker)
        return true;
    pthread_attr_t attributes;
    if (pthread_attr_init(&attributes) != 0)
        return false;
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    sigset_t blocked, old;
    worker_signals(&blocked);
    pthread_sigmask(SIG_SETMASK, &blocked, &old);
    pthread_t thread;
    queue->has_worker = pthread_create(&thread, &attributes, serve, queue) == 0;
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    pthread_attr_destroy(&attributes);
    if (queue->has_worker)
        queue->domain->workers++;
    return queue->has_worker;
}

/* --- queues --- */

static void set_last_locked(struct queue *queue, struct mark *mark)
{
    mark_drop(queue->last);
    queue->last = mark_hold(mark);
}

/* A mark on an idle queue is done at once and needs no thread. */
static bool is_done_at_once(const struct queue *queue, const struct entry_item *item)
{
    return !item->work.type && !queue->head && item->after_count == 0;
}

static CUresult put_locked(struct queue *queue, const struct work *work, struct mark *after,
                           struct mark **mark)
{
    if (!queue->domain || queue->ending)
        return CUDA_ERROR_INVALID_HANDLE;
    struct entry_item *item = item_create_locked(queue, work, after);
    if (!item)
        return CUDA_ERROR_OUT_OF_MEMORY;
    bool at_once = is_done_at_once(queue, item);
    if (!at_once && !start_worker_locked(queue)) {
        item_free(item);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    set_last_locked(queue, item->mark);
    if (mark)
        *mark = mark_hold(item->mark);
    if (at_once) {
        finish_locked(item->mark);
        item_free(item);
        return CUDA_SUCCESS;
    }
    *queue->tail = item;
    queue->tail = &item->next;
    pthread_cond_signal(&queue->filled);
    return CUDA_SUCCESS;
}

CUresult queue_put(struct queue *queue, const struct work *work, struct mark *after,
                   struct mark **mark)
{
    pthread_mutex_lock(&lock);
    CUresult error = put_locked(queue, work, after, mark);
    pthread_mutex_unlock(&lock);
    return error;
}

/* One that has ended is used again, so that a program which makes and destroys streams forever is
 * served. */
static struct queue *find_or_add_locked(struct domain *domain)
{
    for (struct queue *queue = domain->queues; queue; queue = queue->next)
        if (queue->ending && !queue->head && !queue->has_worker)
            return queue;
    struct queue *queue = calloc(1, sizeof(*queue));
    if (!queue)
        return NULL;
    pthread_cond_init(&queue->filled, NULL);
    queue->domain = domain;
    queue->tail = &queue->head;
    queue->next = domain->queues;
    domain->queues = queue;
    queue->all_next = all_queues;
    all_queues = queue;
    return queue;
}

struct queue *queue_create(struct domain *domain, enum queue_kind kind, bool low, uint64_t id)
{
    const struct settings *set = settings();
    pthread_mutex_lock(&lock);
    struct queue *queue = find_or_add_locked(domain);
    if (queue) {
        queue->ending = false;
        queue->kind = kind;
        queue->id = id;
        queue->delay_ms = low ? set->delay_low : set->delay_default;
        queue->random = set->seed ? (set->seed ^ (id * 0x9e3779b97f4a7c15u)) | 1 : 0;
        mark_drop(queue->last);
        queue->last = NULL;
    }
    pthread_mutex_unlock(&lock);
    return queue;
}

void queue_end(struct queue *queue)
{
    pthread_mutex_lock(&lock);
    queue->ending = true;
    pthread_cond_signal(&queue->filled);
    pthread_mutex_unlock(&lock);
}

/* Whether all that the queue holds is done; waits for it first where `wait` is set. */
static bool settle_locked(struct queue *queue, bool wait)
{
    if (!queue->domain)
        return true;
    struct mark *none = mark_hold(queue->last);
    bool idle = !none || none->done;
    if (wait && !idle) {
        wait_locked(none, NULL);
        idle = none->done;
    }
    mark_drop(none);
    return idle;
}

bool queue_is_idle(struct queue *queue)
{
    pthread_mutex_lock(&lock);
    bool idle = settle_locked(queue, false);
    if (queue->kind == QUEUE_LEGACY && queue->domain)
        for (struct queue *other = queue->domain->queues; other; other = other->next)
            idle = idle && !waits_for(queue, other);
    pthread_mutex_unlock(&lock);
    return idle;
}

void queue_wait(struct queue *queue)
{
    if (queue->kind == QUEUE_LEGACY) {
        /* A mark behind all that the legacy stream waits for. */
        struct mark *mark = NULL;
        if (queue_put(queue, NULL, NULL, &mark) == CUDA_SUCCESS)
            mark_wait(mark, NULL);
        mark_drop(mark);
        return;
    }
    pthread_mutex_lock(&lock);
    bool done = settle_locked(queue, true);
    pthread_mutex_unlock(&lock);
    linger(done);
}

/* --- domains --- */

struct domain *domain_create(struct context *context)
{
    struct domain *domain = calloc(1, sizeof(*domain));
    if (!domain)
        return NULL;
    domain->context = context;
    atomic_store(&owner, getpid());
    pthread_mutex_lock(&lock);
    domain->next = domains;
    domains = domain;
    pthread_mutex_unlock(&lock);
    return domain;
}

const atomic_bool *domain_stop_flag(const struct domain *domain)
{
    return &domain->stop;
}

/* Queues join at the front and leave only with the domain, so the list may be walked over a wait.
 */
static bool drain_locked(struct domain *domain)
{
    bool done = true;
    for (struct queue *queue = domain->queues; queue; queue = queue->next)
        done = settle_locked(queue, true) && done;
    return done;
}

void domain_drain(struct domain *domain)
{
    pthread_mutex_lock(&lock);
    bool done = drain_locked(domain);
    pthread_mutex_unlock(&lock);
    linger(done);
}

static void leave_list_locked(struct domain *domain)
{
    struct domain **at = &domains;
    while (*at && *at != domain)
        at = &(*at)->next;
    if (*at)
        *at = domain->next;
}

void domain_end(struct domain *domain)
{
    pthread_mutex_lock(&lock);
    drain_locked(domain);
    for (struct queue *queue = domain->queues; queue; queue = queue->next) {
        queue->ending = true;
        pthread_cond_signal(&queue->filled);
    }
    while (domain->workers && !atomic_load(&ended))
        pthread_cond_wait(&progress, &lock);
    if (domain->workers) { /* the process ends: its workers may still read the domain */
        pthread_mutex_unlock(&lock);
        return;
    }
    leave_list_locked(domain);
    for (struct queue *queue = domain->queues; queue; queue = queue->next) {
        queue->domain = NULL;
        mark_drop(queue->last);
        queue->last = NULL;
    }
    pthread_mutex_unlock(&lock);
    free(domain);
}

/* --- the end of the process --- */

bool streams_ended(void)
{
    return atomic_load(&ended);
}

/* Lets no worker begin anything, sets the running works' stop flag, and waits a moment. */
__attribute__((destructor)) static void end_of_process(void)
{
    if (atomic_load(&owner) != getpid())
        return; /* nothing was begun, or a forked child: no workers, and perhaps a copy of a held
                   lock */
    pthread_mutex_lock(&lock);
    atomic_store(&ended, true);
    for (struct domain *domain = domains; domain; domain = domain->next) {
        atomic_store(&domain->stop, true);
        for (struct queue *queue = domain->queues; queue; queue = queue->next)
            pthread_cond_broadcast(&queue->filled);
    }
    pthread_cond_broadcast(&progress);
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += EXIT_WAIT_MS * 1000000;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    while (running > (is_worker ? 1u : 0u) &&
           pthread_cond_timedwait(&progress, &lock, &until) != ETIMEDOUT) {
    }
    pthread_mutex_unlock(&lock);
}
