#include "compile/compiler.h"

#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>
#include "system/helper.h"
#include "system/log.h"
#include "base/thread.h"
#include "compile/compile_client.h"
#include "gate/own.h"
#include "compile/ref_cache.h"

enum { ROUND_MS = 10 /* how often the thread reads new requests while it waits for results */ };

struct job {
    _Atomic(enum compiler_state) state;
    unsigned order;         /* number of the request, from 1 */
    bool handed_out;        /* a process compiles it */
    struct ref_image image; /* from COMPILER_DONE on */
};

struct worker {
    struct compile_client client;
    struct job *job; /* NULL: idle */
    unsigned text;
    int arch;
};

struct compiler {
    struct compiler_settings settings;
    char tool[PATH_MAX];
    char **env;
    struct ref_cache cache; /* the thread's */
    void (*done)(void *user);
    void *done_user;
    pid_t pid;
    pthread_mutex_t lock; /* guards started, running, requests, and the adding to arch */
    pthread_t thread;
    bool started, running; /* there is a thread to join; it has not decided to end */
    unsigned requested;
    atomic_bool stop;
    atomic_uint results, compiled, cached, failed;
    atomic_int arch[COMPILER_ARCHS]; /* 0: free */
    atomic_bool reported[USER_TEXTS], reported_general;
    struct job job[COMPILER_ARCHS][USER_TEXTS];
    struct worker worker[COMPILER_PROCESSES];
    unsigned workers; /* that may run at once */
};

/* ---- results ---- */

void compiler_complain(struct compiler *compiler, unsigned text, enum status status,
                       const char *sentence)
{
    bool general = status == STATUS_NOT_FOUND;
    atomic_bool *reported = general ? &compiler->reported_general : &compiler->reported[text];
    if (!atomic_exchange(reported, true))
        compiler->settings.complain(compiler->settings.user, status, sentence);
}

static void note_result(struct compiler *compiler, struct job *job, enum compiler_state state)
{
    atomic_store_explicit(&job->state, state, memory_order_release);
    atomic_fetch_add(&compiler->results, 1);
    if (compiler->done)
        compiler->done(compiler->done_user);
}

static void fail_job(struct compiler *compiler, struct job *job, unsigned text, enum status status,
                     const char *sentence)
{
    compiler_complain(compiler, text, status, sentence);
    atomic_fetch_add(&compiler->failed, 1);
    note_result(compiler, job, COMPILER_FAILED);
}

static void complete_job(struct compiler *compiler, struct job *job, unsigned text, int arch,
                         bool cached)
{
    atomic_fetch_add(cached ? &compiler->cached : &compiler->compiled, 1);
    log_line(LOG_DEBUG, "%s: %s for compute capability %d.%d",
             compiler->settings.users->text[text]->where, cached ? "from the cache" : "compiled",
             arch / 10, arch % 10);
    note_result(compiler, job, COMPILER_DONE);
}

/* ---- jobs ---- */

/* The first in order that is in this state and, of those being compiled, that no process has. */
static struct job *first_job(struct compiler *compiler, enum compiler_state state, unsigned *text,
                             int *arch)
{
    struct job *first = NULL;
    for (int a = 0; a < COMPILER_ARCHS; a++) {
        if (!atomic_load(&compiler->arch[a]))
            continue;
        for (unsigned t = 0; t < compiler->settings.users->texts; t++) {
            struct job *job = &compiler->job[a][t];
            if (atomic_load(&job->state) != state || job->handed_out ||
                (first && first->order < job->order))
                continue;
            first = job;
            *text = t;
            *arch = atomic_load(&compiler->arch[a]);
        }
    }
    return first;
}

static void read_cache(struct compiler *compiler)
{
    char name[CACHE_NAME];
    unsigned text;
    int arch;
    for (struct job *job; !atomic_load(&compiler->stop) &&
                          (job = first_job(compiler, COMPILER_WANTED, &text, &arch));) {
        if (ref_cache_has_nvrtc(&compiler->cache) &&
            ref_cache_name(&compiler->cache, compiler->settings.users->text[text], arch, name) &&
            ref_cache_read(&compiler->cache, name, &job->image))
            complete_job(compiler, job, text, arch, true);
        else
            atomic_store(&job->state, COMPILER_COMPILING);
    }
}

/* ---- processes ---- */

static enum status start_worker(struct compiler *compiler, struct worker *worker, struct error *err)
{
    const struct compile_server server = {.tool = compiler->tool,
                                          .version = compiler->settings.version,
                                          .cache = compiler->cache.folder.folder,
                                          .library = "libnvrtc.so",
                                          .path = compiler->settings.nvrtc.path,
                                          .major = compiler->settings.nvrtc.major,
                                          .env = compiler->env};
    return compile_client_start(&worker->client, &server, err);
}

static unsigned busy_workers(const struct compiler *compiler)
{
    unsigned busy = 0;
    for (unsigned i = 0; i < compiler->workers; i++)
        busy += compiler->worker[i].job != NULL;
    return busy;
}

/* Without a process nothing is compiled at all; with one running, it takes its turn. */
static void fail_to_start(struct compiler *compiler, const struct error *why)
{
    struct error err = {{0}};
    unsigned text;
    int arch;
    struct job *job;
    if (busy_workers(compiler))
        return;
    error_set(&err, STATUS_NOT_FOUND, "%s", why->text);
    while ((job = first_job(compiler, COMPILER_COMPILING, &text, &arch)))
        fail_job(compiler, job, text, STATUS_NOT_FOUND, err.text);
}

static void hand_out_text(struct compiler *compiler)
{
    for (unsigned i = 0; i < compiler->workers && !atomic_load(&compiler->stop); i++) {
        struct worker *worker = &compiler->worker[i];
        struct error err = {{0}};
        struct job *job =
            worker->job ? NULL
                        : first_job(compiler, COMPILER_COMPILING, &worker->text, &worker->arch);
        if (!job)
            continue;
        if (worker->client.socket < 0 && start_worker(compiler, worker, &err)) {
            fail_to_start(compiler, &err);
            return;
        }
        const struct user_text *text = compiler->settings.users->text[worker->text];
        if (!compile_client_request(&worker->client, COMPILE_REFERENCE, text, worker->arch,
                                    COMPILER_TEXT_MS)) {
            fail_job(compiler, job, worker->text, STATUS_NO_MEMORY, "no memory for a compilation");
            continue;
        }
        job->handed_out = true;
        worker->job = job;
    }
}

static void end_job(struct compiler *compiler, struct worker *worker, enum compile_step step)
{
    const struct user_text *text = compiler->settings.users->text[worker->text];
    struct job *job = worker->job;
    struct error err = {{0}};
    bool cached = false;
    enum status status = STATUS_TIMEOUT;
    if (step == COMPILE_REPLIED)
        status = compile_client_take(&worker->client, &job->image, &cached, &err);
    else if (step == COMPILE_LATE)
        error_set(&err, status, "%.300s: the reference did not compile within %d s", text->where,
                  COMPILER_TEXT_MS / 1000);
    else
        error_set(&err, status,
                  "%.300s: the reference is unchecked: the process that compiles it ended without "
                  "an answer",
                  text->where);
    worker->job = NULL;
    job->handed_out = false;
    if (status)
        fail_job(compiler, job, worker->text, status, err.text);
    else
        complete_job(compiler, job, worker->text, worker->arch, cached);
}

static void take_results(struct compiler *compiler)
{
    struct pollfd row[COMPILER_PROCESSES];
    nfds_t rows = 0;
    for (unsigned i = 0; i < compiler->workers; i++) {
        const struct compile_client *client = &compiler->worker[i].client;
        short events = (short)(POLLIN | (client->sent < client->length ? POLLOUT : 0));
        if (compiler->worker[i].job)
            row[rows++] = (struct pollfd){.fd = client->socket, .events = events};
    }
    if (rows)
        poll(row, rows, ROUND_MS);
    for (unsigned i = 0; i < compiler->workers; i++) {
        struct worker *worker = &compiler->worker[i];
        enum compile_step step =
            worker->job ? compile_client_step(&worker->client) : COMPILE_UNDER_WAY;
        if (step != COMPILE_UNDER_WAY)
            end_job(compiler, worker, step);
    }
}

/* ---- the thread ---- */

/* False: nothing is left to do, `running` is false, and the thread is to return. */
static bool goes_on(struct compiler *compiler)
{
    unsigned text;
    int arch;
    pthread_mutex_lock(&compiler->lock);
    compiler->running =
        !atomic_load(&compiler->stop) &&
        (busy_workers(compiler) || first_job(compiler, COMPILER_WANTED, &text, &arch) ||
         first_job(compiler, COMPILER_COMPILING, &text, &arch));
    bool running = compiler->running;
    if (!running) {
        for (unsigned i = 0; i < compiler->workers; i++)
            compile_client_end(&compiler->worker[i].client);
    }
    pthread_mutex_unlock(&compiler->lock);
    return running;
}

static void *run_compiler(void *user)
{
    struct compiler *compiler = user;
    own_thread.work = OWN_WORK;
    prctl(PR_SET_NAME, "cuvet-compile");
    while (goes_on(compiler)) {
        read_cache(compiler);
        hand_out_text(compiler);
        take_results(compiler);
    }
    return NULL;
}

/* Under the lock. */
static bool start_compile_thread(struct compiler *compiler)
{
    if (compiler->started)
        pthread_join(compiler->thread, NULL); /* it has nothing left to do but to return */
    int result = thread_start(&compiler->thread, 0, run_compiler, compiler);
    compiler->started = compiler->running = result == 0;
    return result == 0;
}

/* ---- for others ---- */

static unsigned usable_cores(void)
{
    cpu_set_t set;
    int cores = sched_getaffinity(0, sizeof set, &set) ? 1 : CPU_COUNT(&set);
    return cores < 1 ? 1 : cores > COMPILER_PROCESSES ? COMPILER_PROCESSES : (unsigned)cores;
}

enum status compiler_create(struct compiler **out, const struct compiler_settings *settings,
                            struct error *err)
{
    *out = NULL;
    struct compiler *compiler = calloc(1, sizeof *compiler);
    if (compiler)
        compiler->env = helper_environment(settings->env);
    if (!compiler || !compiler->env) {
        free(compiler);
        return error_set(err, STATUS_NO_MEMORY, "no memory for a compiler");
    }
    compiler->settings = *settings;
    snprintf(compiler->tool, sizeof compiler->tool, "%s", settings->tool);
    ref_cache_open(&compiler->cache, settings->cache, settings->version, &settings->nvrtc);
    compiler->pid = getpid();
    compiler->workers = usable_cores();
    for (unsigned i = 0; i < COMPILER_PROCESSES; i++)
        compiler->worker[i].client.socket = -1;
    pthread_mutex_init(&compiler->lock, NULL);
    *out = compiler;
    return STATUS_OK;
}

void compiler_destroy(struct compiler *compiler)
{
    if (!compiler)
        return;
    for (unsigned a = 0; a < COMPILER_ARCHS; a++) {
        for (unsigned t = 0; t < USER_TEXTS; t++)
            ref_image_release(&compiler->job[a][t].image);
    }
    pthread_mutex_destroy(&compiler->lock);
    free(compiler->env);
    free(compiler);
}

const struct user_references *compiler_users(const struct compiler *compiler)
{
    return compiler->settings.users;
}

void compiler_on_result(struct compiler *compiler, void (*done)(void *user), void *user)
{
    compiler->done_user = user;
    compiler->done = done;
}

static int arch_slot(const struct compiler *compiler, int arch)
{
    for (int a = 0; a < COMPILER_ARCHS; a++) {
        if (atomic_load_explicit(&((struct compiler *)compiler)->arch[a], memory_order_acquire) ==
            arch)
            return a;
    }
    return -1;
}

void compiler_request(struct compiler *compiler, unsigned text, int arch)
{
    pthread_mutex_lock(&compiler->lock);
    int slot = arch_slot(compiler, arch);
    if (slot < 0 && (slot = arch_slot(compiler, 0)) >= 0)
        atomic_store_explicit(&compiler->arch[slot], arch, memory_order_release);
    struct job *job = slot < 0 ? NULL : &compiler->job[slot][text];
    if (job && atomic_load(&job->state) == COMPILER_UNWANTED && !atomic_load(&compiler->stop)) {
        job->order = ++compiler->requested;
        atomic_store(&job->state, COMPILER_WANTED);
        if (!compiler->running && !start_compile_thread(compiler))
            fail_job(compiler, job, text, STATUS_NOT_FOUND, "there is no thread for it");
    }
    pthread_mutex_unlock(&compiler->lock);
}

unsigned compiler_results(const struct compiler *compiler)
{
    return atomic_load(&((struct compiler *)compiler)->results);
}

enum compiler_state compiler_find(const struct compiler *compiler, unsigned text, int arch,
                                  const struct ref_image **out)
{
    int slot = arch_slot(compiler, arch);
    if (slot < 0) /* not requested yet, or more architectures than there is room for */
        return arch_slot(compiler, 0) < 0 ? COMPILER_FAILED : COMPILER_UNWANTED;
    const struct job *job = &compiler->job[slot][text];
    *out = &job->image;
    return atomic_load_explicit(&((struct job *)job)->state, memory_order_acquire);
}

struct compiler_counts compiler_count(const struct compiler *compiler)
{
    struct compiler *c = (struct compiler *)compiler;
    struct compiler_counts counts = {.compiled = atomic_load(&c->compiled),
                                     .cached = atomic_load(&c->cached),
                                     .failed = atomic_load(&c->failed)};
    for (int a = 0; a < COMPILER_ARCHS; a++) {
        for (unsigned t = 0; t < USER_TEXTS; t++) {
            enum compiler_state state = atomic_load(&c->job[a][t].state);
            counts.waiting += state == COMPILER_WANTED || state == COMPILER_COMPILING;
        }
    }
    return counts;
}

bool compiler_stop(struct compiler *compiler, int timeout_ms)
{
    if (getpid() != compiler->pid)
        return true;
    atomic_store(&compiler->stop, true);
    pthread_mutex_lock(&compiler->lock);
    bool started = compiler->started;
    compiler->started = false;
    pthread_mutex_unlock(&compiler->lock);
    if (!started)
        return true;
    return thread_join_within(compiler->thread, timeout_ms);
}
