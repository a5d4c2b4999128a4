#include "compile/ptx_compiler.h"

#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>
#include "base/thread.h"
#include "compile/compile_client.h"
#include "compile/ref_cache.h"
#include "gate/own.h"
#include "system/helper.h"

enum { TEXT_MS = 300000, NAP_MS = 50 };

struct code_job {
    struct code_job *next;
    const struct lift *lift;
    struct lift_code *code;
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
    atomic_bool stop; /* written below the lock */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    pthread_t thread;
    bool started;
    struct code_job *first, **last;
    /* The thread's: */
    bool missing; /* nothing can be compiled */
    struct compile_client client;
};

struct ptx_compiler *ptx_compiler_create(const struct ptx_compiler_settings *settings)
{
    struct ptx_compiler *compiler = calloc(1, sizeof *compiler);
    if (!compiler)
        return NULL;
    compiler->client.socket = -1;
    compiler->pid = getpid();
    compiler->last = &compiler->first;
    compiler->version = settings->version;
    compiler->major = settings->hints.major;
    compiler->missing = !settings->tool;
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

static enum status start_server(struct ptx_compiler *compiler, struct error *err)
{
    const struct compile_server server = {.tool = compiler->tool,
                                          .version = compiler->version,
                                          .cache = compiler->cache.folder.folder,
                                          .library = "libnvJitLink.so",
                                          .major = compiler->major,
                                          .env = compiler->env};
    if (compiler->missing)
        return error_set(err, STATUS_NOT_FOUND, "there is no program cuvet that compiles it");
    if (compiler->client.socket >= 0)
        return STATUS_OK;
    enum status status = compile_client_start(&compiler->client, &server, err);
    return status == STATUS_UNSUPPORTED ? STATUS_NOT_FOUND : status; /* in process 1 */
}

static enum compile_step wait_for_code(struct ptx_compiler *compiler)
{
    enum compile_step step;
    while ((step = compile_client_step(&compiler->client)) == COMPILE_UNDER_WAY &&
           !atomic_load(&compiler->stop)) {
        struct pollfd socket = {.fd = compiler->client.socket, .events = POLLIN};
        if (compiler->client.sent < compiler->client.length)
            socket.events |= POLLOUT;
        poll(&socket, 1, NAP_MS);
    }
    return step;
}

/* *again: the process ended without an answer, as one that is killed; another may have one. */
static enum status compile_in_process(struct ptx_compiler *compiler, const char *text, int arch,
                                      struct ref_image *image, bool *again, struct error *err)
{
    const struct user_text ptx = {.where = "", .file = "", .text = text};
    bool cached;
    enum status status = start_server(compiler, err);
    if (status)
        return status;
    if (!compile_client_request(&compiler->client, COMPILE_PTX, &ptx, arch, TEXT_MS))
        return error_set(err, STATUS_NO_MEMORY, "no memory for a text of PTX");
    enum compile_step step = wait_for_code(compiler);
    if (step == COMPILE_REPLIED)
        return compile_client_take(&compiler->client, image, &cached, err);
    compile_client_end(&compiler->client);
    *again = step == COMPILE_LOST;
    return error_set(err, STATUS_UNSUPPORTED, "%s",
                     step == COMPILE_UNDER_WAY ? "the program ended"
                     : step == COMPILE_LATE    ? "it was not compiled in time"
                                               : "the process that compiles it ended twice");
}

static enum status compile_lifted_text(struct ptx_compiler *compiler, const char *text, int arch,
                                       struct ref_image *image, struct error *err)
{
    struct error lost = {{0}};
    bool again = false;
    enum status status = compile_in_process(compiler, text, arch, image, &again, &lost);
    if (again)
        return compile_in_process(compiler, text, arch, image, &again, err);
    if (status)
        error_set(err, status, "%s", lost.text);
    return status;
}

/* ---- one lift ---- */

static enum status make_code(struct ptx_compiler *compiler, const struct code_job *job)
{
    struct lift_code *code = job->code;
    struct textbuf text;
    struct ref_image image = {0};
    textbuf_init(&text);
    enum status status = lift_write(job->lift, &text, &code->why);
    if (!status)
        status =
            compile_lifted_text(compiler, text.data, atomic_load(&code->arch), &image, &code->why);
    textbuf_release(&text);
    code->image = image.cubin;
    image.cubin = NULL;
    ref_image_release(&image);
    return status;
}

static void do_code_job(struct ptx_compiler *compiler, struct code_job *job)
{
    struct lift_code *code = job->code;
    enum status status = make_code(compiler, job);
    free(job);
    if (status && atomic_load(&compiler->stop))
        return;
    compiler->missing |= status == STATUS_NOT_FOUND;
    code->missing = status == STATUS_NOT_FOUND;
    atomic_store(&code->state, status || !code->image ? LIFT_CODE_FAILED : LIFT_CODE_READY);
    atomic_fetch_add(&compiler->results, 1);
    if (compiler->done)
        compiler->done(compiler->user);
}

/* ---- the thread ---- */

/* The next job; NULL: the thread is to end. While it waits there is no process. */
static struct code_job *next_code_job(struct ptx_compiler *compiler)
{
    pthread_mutex_lock(&compiler->lock);
    while (!compiler->first && !atomic_load(&compiler->stop)) {
        compile_client_end(&compiler->client);
        pthread_cond_wait(&compiler->changed, &compiler->lock);
    }
    struct code_job *job = atomic_load(&compiler->stop) ? NULL : compiler->first;
    if (job)
        compiler->first = job->next;
    if (!compiler->first)
        compiler->last = &compiler->first;
    pthread_mutex_unlock(&compiler->lock);
    return job;
}

static void *run_code_thread(void *user)
{
    struct ptx_compiler *compiler = user;
    struct code_job *job;
    own_thread.work = OWN_WORK;
    prctl(PR_SET_NAME, "cuvet-code");
    while ((job = next_code_job(compiler)))
        do_code_job(compiler, job);
    compile_client_end(&compiler->client);
    return NULL;
}

/* Takes the job. False: no thread can be started. A job that comes after the stop is dropped, which
 * is no failure. */
static bool queue_code_job(struct ptx_compiler *compiler, struct code_job *job)
{
    pthread_mutex_lock(&compiler->lock);
    bool stopped = atomic_load(&compiler->stop);
    if (!stopped && !compiler->started)
        compiler->started = !thread_start(&compiler->thread, 0, run_code_thread, compiler);
    bool taken = !stopped && compiler->started;
    if (taken) {
        *compiler->last = job;
        compiler->last = &job->next;
        pthread_cond_signal(&compiler->changed);
    }
    pthread_mutex_unlock(&compiler->lock);
    if (!taken)
        free(job);
    return taken || stopped;
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
    bool started = compiler->started && !atomic_load(&compiler->stop);
    atomic_store(&compiler->stop, true);
    pthread_cond_signal(&compiler->changed);
    pthread_mutex_unlock(&compiler->lock);
    return !started || thread_join_within(compiler->thread, timeout_ms);
}
