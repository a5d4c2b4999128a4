#include "verify/compiler.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>
#include "base/thread.h"
#include "driver/nvrtc_api.h"
#include "verify/own.h"

enum { STACK_BYTES = 16 << 20 /* a compiler recurses; the default may be 2 MiB */ };

struct job {
    _Atomic(enum compiler_state) state;
    struct ref_image image; /* from COMPILER_DONE on */
};

struct compiler {
    struct compiler_settings settings;
    void (*done)(void *user);
    void *done_user;
    pid_t pid;
    pthread_mutex_t lock; /* of started, running, and of adding to arch */
    pthread_t thread;
    bool started, running; /* there is a thread to join; it has not decided to end */
    bool late;             /* it was waited for in vain */
    atomic_bool stop;
    atomic_uint results;
    atomic_int arch[COMPILER_ARCHS]; /* 0: free */
    atomic_bool told[USER_TEXTS];
    struct job job[COMPILER_ARCHS][USER_TEXTS];
};

/* ---- exit ---- */

/* The one whose thread may be inside NVRTC when the process ends. */
static _Atomic(struct compiler *) at_work;

static void stop_at_exit(void)
{
    struct compiler *compiler = atomic_load(&at_work);
    if (compiler)
        compiler_stop(compiler, COMPILER_STOP_MS);
}

/* Handlers run last first: this one is registered after NVRTC was opened, so it runs before NVRTC's
 * destructors. */
static void guard_exit(struct compiler *compiler)
{
    static atomic_flag registered = ATOMIC_FLAG_INIT;
    atomic_store(&at_work, compiler);
    if (!atomic_flag_test_and_set(&registered))
        atexit(stop_at_exit);
}

/* ---- the thread ---- */

void compiler_complain(struct compiler *compiler, unsigned text, const char *sentence)
{
    if (!atomic_exchange(&compiler->told[text], true))
        compiler->settings.complain(compiler->settings.user, sentence);
}

static void work(struct compiler *compiler, struct job *job, unsigned text, int arch)
{
    struct error err = {{0}};
    enum status status =
        ref_compile(compiler->settings.users->text[text], arch, &compiler->stop, &job->image, &err);
    enum compiler_state state = status ? COMPILER_FAILED : COMPILER_DONE;
    if (status && !atomic_load(&compiler->stop))
        compiler_complain(compiler, text, err.text);
    atomic_store_explicit(&job->state, state, memory_order_release);
    atomic_fetch_add(&compiler->results, 1);
    if (compiler->done)
        compiler->done(compiler->done_user);
}

/* The next text that waits, or false; then the thread has said that it ends. */
static bool next_job(struct compiler *compiler, unsigned *slot, unsigned *text)
{
    bool found = false;
    pthread_mutex_lock(&compiler->lock);
    for (unsigned a = 0; a < COMPILER_ARCHS && !found; a++) {
        for (unsigned t = 0; t < compiler->settings.users->texts && !found; t++) {
            found = atomic_load(&compiler->arch[a]) &&
                    atomic_load(&compiler->job[a][t].state) == COMPILER_WAITING;
            *slot = a;
            *text = t;
        }
    }
    found = found && !atomic_load(&compiler->stop);
    compiler->running = found;
    pthread_mutex_unlock(&compiler->lock);
    return found;
}

static void *run(void *user)
{
    struct compiler *compiler = user;
    unsigned slot, text;
    own_thread.work = OWN_WORK;
    prctl(PR_SET_NAME, "cuvet-nvrtc");
    while (next_job(compiler, &slot, &text))
        work(compiler, &compiler->job[slot][text], text, atomic_load(&compiler->arch[slot]));
    return NULL;
}

/* Under the lock. */
static void start_thread(struct compiler *compiler)
{
    if (compiler->started)
        pthread_join(compiler->thread, NULL); /* it has nothing left to do but to return */
    int result = thread_start(&compiler->thread, STACK_BYTES, run, compiler);
    compiler->started = compiler->running = result == 0;
    if (result)
        compiler->settings.complain(compiler->settings.user,
                                    "references of the registry's own are unchecked: no thread to "
                                    "compile them on");
}

/* ---- for others ---- */

enum status compiler_create(struct compiler **out, const struct compiler_settings *settings,
                            struct error *err)
{
    *out = NULL;
    enum status status = nvrtc_api_load(&settings->nvrtc, err);
    if (status)
        return status;
    struct compiler *compiler = calloc(1, sizeof *compiler);
    if (!compiler)
        return error_set(err, STATUS_NO_MEMORY, "no memory for a compiler");
    compiler->settings = *settings;
    compiler->pid = getpid();
    pthread_mutex_init(&compiler->lock, NULL);
    guard_exit(compiler);
    *out = compiler;
    return STATUS_OK;
}

void compiler_destroy(struct compiler *compiler)
{
    if (!compiler)
        return;
    struct compiler *self = compiler;
    atomic_compare_exchange_strong(&at_work, &self, NULL);
    for (unsigned a = 0; a < COMPILER_ARCHS; a++) {
        for (unsigned t = 0; t < USER_TEXTS; t++)
            ref_image_release(&compiler->job[a][t].image);
    }
    pthread_mutex_destroy(&compiler->lock);
    free(compiler);
}

const struct user_references *compiler_users(const struct compiler *compiler)
{
    return compiler->settings.users;
}

void compiler_tell(struct compiler *compiler, void (*done)(void *user), void *user)
{
    compiler->done_user = user;
    compiler->done = done;
}

static int slot_of(const struct compiler *compiler, int arch)
{
    for (int a = 0; a < COMPILER_ARCHS; a++) {
        if (atomic_load_explicit(&((struct compiler *)compiler)->arch[a], memory_order_acquire) ==
            arch)
            return a;
    }
    return -1;
}

void compiler_want(struct compiler *compiler, int arch)
{
    pthread_mutex_lock(&compiler->lock);
    int slot = slot_of(compiler, arch) < 0 ? slot_of(compiler, 0) : -1;
    if (slot >= 0 && !atomic_load(&compiler->stop)) {
        atomic_store_explicit(&compiler->arch[slot], arch, memory_order_release);
        if (!compiler->running)
            start_thread(compiler);
    }
    pthread_mutex_unlock(&compiler->lock);
}

unsigned compiler_results(const struct compiler *compiler)
{
    return atomic_load(&((struct compiler *)compiler)->results);
}

enum compiler_state compiler_look(const struct compiler *compiler, unsigned text, int arch,
                                  const struct ref_image **out)
{
    int slot = slot_of(compiler, arch);
    if (slot < 0)
        return COMPILER_FAILED; /* more architectures than there is room for */
    const struct job *job = &compiler->job[slot][text];
    *out = &job->image;
    return atomic_load_explicit(&((struct job *)job)->state, memory_order_acquire);
}

bool compiler_stop(struct compiler *compiler, int timeout_ms)
{
    struct timespec until;
    if (getpid() != compiler->pid)
        return true;
    atomic_store(&compiler->stop, true);
    pthread_mutex_lock(&compiler->lock);
    bool started = compiler->started, late = compiler->late;
    pthread_mutex_unlock(&compiler->lock);
    if (!started || late)
        return !started;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += timeout_ms / 1000;
    until.tv_nsec += timeout_ms % 1000 * 1000000L;
    until.tv_sec += until.tv_nsec / 1000000000L;
    until.tv_nsec %= 1000000000L;
    bool ended = pthread_timedjoin_np(compiler->thread, NULL, &until) == 0;
    pthread_mutex_lock(&compiler->lock);
    compiler->started = !ended;
    compiler->late = !ended;
    pthread_mutex_unlock(&compiler->lock);
    return ended;
}
