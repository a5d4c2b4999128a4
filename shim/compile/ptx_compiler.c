#include "compile/ptx_compiler.h"

#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/thread.h"
#include "compile/compile_client.h"
#include "compile/ref_cache.h"
#include "gate/own.h"
#include "system/helper.h"

enum { TEXT_MS = 300000, NAP_MS = 50, PROCESSORS_A_WORKER = 4 };

struct code_job {
    struct code_job *next;
    const struct lift *lift;
    struct lift_code *code;
};

/* A thread and its process. */
struct worker {
    struct ptx_compiler *compiler;
    pthread_t thread;
    struct compile_client client; /* the thread's */
};

struct ptx_compiler {
    char *tool, **env;
    const char *version;
    struct ref_cache cache; /* only its folder is used */
    int major;
    pid_t pid;
    void (*done)(void *user);
    void *user;
    atomic_uint results;
    atomic_bool missing; /* nothing can be compiled */
    atomic_bool stop;    /* written below the lock */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    /* Below the lock: */
    struct code_job *first, **last;
    unsigned queued, idle; /* jobs in the queue; workers that wait for one */
    unsigned started;      /* workers with a thread, the first ones */
    unsigned workers;      /* that may have one */
    struct worker worker[PTX_COMPILER_WORKERS];
};

static unsigned count_workers(unsigned wanted)
{
    cpu_set_t set;
    if (!wanted && !sched_getaffinity(0, sizeof set, &set))
        wanted = (unsigned)CPU_COUNT(&set) / PROCESSORS_A_WORKER;
    return wanted < 1 ? 1 : wanted > PTX_COMPILER_WORKERS ? PTX_COMPILER_WORKERS : wanted;
}

struct ptx_compiler *ptx_compiler_create(const struct ptx_compiler_settings *settings)
{
    struct ptx_compiler *compiler = calloc(1, sizeof *compiler);
    if (!compiler)
        return NULL;
    compiler->workers = count_workers(settings->workers);
    for (unsigned i = 0; i < compiler->workers; i++)
        compiler->worker[i] = (struct worker){.compiler = compiler, .client.socket = -1};
    compiler->pid = getpid();
    compiler->last = &compiler->first;
    compiler->version = settings->version;
    compiler->major = settings->hints.major;
    atomic_init(&compiler->missing, !settings->tool);
    compiler->tool = settings->tool ? strdup(settings->tool) : NULL;
    compiler->env = helper_environment(settings->env);
    pthread_mutex_init(&compiler->lock, NULL);
    pthread_cond_init(&compiler->changed, NULL);
    ref_cache_open(&compiler->cache, settings->cache, settings->version, &settings->hints);
    if ((compiler->tool || compiler->missing) && compiler->env)
        return compiler;
    ptx_compiler_destroy(compiler);
    return NULL;
}

void ptx_compiler_destroy(struct ptx_compiler *compiler)
{
    if (!compiler)
        return;
    pthread_cond_destroy(&compiler->changed);
    pthread_mutex_destroy(&compiler->lock);
    free(compiler->tool);
    free(compiler->env);
    free(compiler);
}

void ptx_compiler_on_result(struct ptx_compiler *compiler, void (*done)(void *user), void *user)
{
    compiler->done = done;
    compiler->user = user;
}

unsigned ptx_compiler_results(const struct ptx_compiler *compiler)
{
    return atomic_load(&compiler->results);
}

/* ---- the process ---- */

static enum status start_server(struct worker *worker, struct error *err)
{
    struct ptx_compiler *compiler = worker->compiler;
    const struct compile_server server = {.tool = compiler->tool,
                                          .version = compiler->version,
                                          .cache = compiler->cache.folder.folder,
                                          .library = "libnvJitLink.so",
                                          .major = compiler->major,
                                          .env = compiler->env};
    if (atomic_load(&compiler->missing))
        return error_set(err, STATUS_NOT_FOUND, "there is no program cuvet that compiles it");
    if (worker->client.socket >= 0)
        return STATUS_OK;
    enum status status = compile_client_start(&worker->client, &server, err);
    return status == STATUS_UNSUPPORTED ? STATUS_NOT_FOUND : status; /* in process 1 */
}

static enum compile_step wait_for_code(struct worker *worker)
{
    enum compile_step step;
    while ((step = compile_client_step(&worker->client)) == COMPILE_UNDER_WAY &&
           !atomic_load(&worker->compiler->stop)) {
        struct pollfd socket = {.fd = worker->client.socket, .events = POLLIN};
        if (worker->client.sent < worker->client.length)
            socket.events |= POLLOUT;
        poll(&socket, 1, NAP_MS);
    }
    return step;
}

/* *again: the process ended without an answer, as one that is killed; another may have one. */
static enum status compile_in_process(struct worker *worker, const char *text, int arch,
                                      struct ref_image *image, bool *again, struct error *err)
{
    const struct user_text ptx = {.where = "", .file = "", .text = text};
    bool cached;
    enum status status = start_server(worker, err);
    if (status)
        return status;
    if (!compile_client_request(&worker->client, COMPILE_PTX, &ptx, arch, TEXT_MS))
        return error_set(err, STATUS_NO_MEMORY, "no memory for a text of PTX");
    enum compile_step step = wait_for_code(worker);
    if (step == COMPILE_REPLIED)
        return compile_client_take(&worker->client, image, &cached, err);
    compile_client_end(&worker->client);
    *again = step == COMPILE_LOST;
    return error_set(err, STATUS_UNSUPPORTED, "%s",
                     step == COMPILE_UNDER_WAY ? "the program ended"
                     : step == COMPILE_LATE    ? "it was not compiled in time"
                                               : "the process that compiles it ended twice");
}

static enum status compile_lifted_text(struct worker *worker, const char *text, int arch,
                                       struct ref_image *image, struct error *err)
{
    struct error lost = {{0}};
    bool again = false;
    enum status status = compile_in_process(worker, text, arch, image, &again, &lost);
    if (again)
        return compile_in_process(worker, text, arch, image, &again, err);
    if (status)
        error_set(err, status, "%s", lost.text);
    return status;
}

/* ---- one lift ---- */

static enum status make_code(struct worker *worker, const struct code_job *job)
{
    struct lift_code *code = job->code;
    struct textbuf text;
    struct ref_image image = {0};
    textbuf_init(&text);
    enum status status = lift_write(job->lift, &text, &code->why);
    if (!status)
        status =
            compile_lifted_text(worker, text.data, atomic_load(&code->arch), &image, &code->why);
    textbuf_release(&text);
    code->image = image.cubin;
    image.cubin = NULL;
    ref_image_release(&image);
    return status;
}

static void do_code_job(struct worker *worker, struct code_job *job)
{
    struct ptx_compiler *compiler = worker->compiler;
    struct lift_code *code = job->code;
    enum status status = make_code(worker, job);
    free(job);
    if (status && atomic_load(&compiler->stop))
        return;
    code->missing = status == STATUS_NOT_FOUND;
    if (code->missing)
        atomic_store(&compiler->missing, true);
    atomic_store(&code->state, status || !code->image ? LIFT_CODE_FAILED : LIFT_CODE_READY);
    atomic_fetch_add(&compiler->results, 1);
    if (compiler->done)
        compiler->done(compiler->user);
}

/* ---- the threads ---- */

/* Takes the job out of the queue whose kernel was launched most while it waited; of several that
 * which was queued first. NULL: the queue is empty. Below the lock. */
static struct code_job *take_code_job(struct ptx_compiler *compiler)
{
    struct code_job **best = &compiler->first;
    unsigned most = 0;
    for (struct code_job **at = &compiler->first; *at; at = &(*at)->next) {
        unsigned missed = atomic_load_explicit(&(*at)->code->missed, memory_order_relaxed);
        if (missed <= most)
            continue;
        best = at;
        most = missed;
    }
    struct code_job *job = *best;
    if (!job)
        return NULL;
    *best = job->next;
    if (!job->next)
        compiler->last = best;
    compiler->queued--;
    return job;
}

/* The next job; NULL: the thread is to end. While it waits it has no process. */
static struct code_job *next_code_job(struct worker *worker)
{
    struct ptx_compiler *compiler = worker->compiler;
    struct code_job *job = NULL;
    pthread_mutex_lock(&compiler->lock);
    while (!atomic_load(&compiler->stop) && !(job = take_code_job(compiler))) {
        compile_client_end(&worker->client);
        compiler->idle++;
        pthread_cond_wait(&compiler->changed, &compiler->lock);
        compiler->idle--;
    }
    pthread_mutex_unlock(&compiler->lock);
    return job;
}

static void *run_code_thread(void *user)
{
    struct worker *worker = user;
    struct code_job *job;
    own_thread.work = OWN_WORK;
    prctl(PR_SET_NAME, "cuvet-code");
    while ((job = next_code_job(worker)))
        do_code_job(worker, job);
    compile_client_end(&worker->client);
    return NULL;
}

/* Wakes an idle worker, or starts one more where more jobs are queued than workers are idle: one
 * that was woken counts as idle until it has its job. Below the lock. */
static void find_worker(struct ptx_compiler *compiler)
{
    pthread_cond_signal(&compiler->changed);
    if (compiler->queued <= compiler->idle || compiler->started == compiler->workers)
        return;
    struct worker *worker = &compiler->worker[compiler->started];
    compiler->started += !thread_start(&worker->thread, 0, run_code_thread, worker);
}

/* Takes the job. False: there is no thread, and none can be started. A job that comes after the
 * stop is dropped, which is no failure. */
static bool queue_code_job(struct ptx_compiler *compiler, struct code_job *job)
{
    pthread_mutex_lock(&compiler->lock);
    bool stopped = atomic_load(&compiler->stop);
    if (!stopped) {
        *compiler->last = job;
        compiler->last = &job->next;
        compiler->queued++;
        find_worker(compiler);
    }
    bool dropped = stopped || !compiler->started;
    if (!stopped && dropped)
        take_code_job(compiler); /* the only one */
    pthread_mutex_unlock(&compiler->lock);
    if (dropped)
        free(job);
    return stopped || !dropped;
}

void ptx_compiler_request(struct ptx_compiler *compiler, const struct lift *lift,
                          struct lift_code *code)
{
    struct code_job *job = malloc(sizeof *job);
    if (job) {
        *job = (struct code_job){NULL, lift, code};
        if (queue_code_job(compiler, job))
            return;
    }
    error_set(&code->why, STATUS_NO_MEMORY, "no memory, or no thread, to compile it");
    atomic_store(&code->state, LIFT_CODE_FAILED);
    atomic_fetch_add(&compiler->results, 1);
}

bool ptx_compiler_stop(struct ptx_compiler *compiler, int timeout_ms)
{
    if (!compiler || getpid() != compiler->pid)
        return true;
    pthread_mutex_lock(&compiler->lock);
    unsigned started = atomic_load(&compiler->stop) ? 0 : compiler->started;
    atomic_store(&compiler->stop, true);
    pthread_cond_broadcast(&compiler->changed);
    pthread_mutex_unlock(&compiler->lock);
    const int64_t end = clock_ns() + (int64_t)timeout_ms * 1000000;
    bool ended = true;
    for (unsigned i = 0; i < started; i++) {
        int64_t left = (end - clock_ns()) / 1000000;
        ended &= thread_join_within(compiler->worker[i].thread, left > 0 ? (int)left : 0);
    }
    return ended;
}
