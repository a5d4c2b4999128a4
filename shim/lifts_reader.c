#include "lifts_reader.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>
#include "base/thread.h"
#include "gate/own.h"
#include "image/image_text.h"
#include "system/log.h"

struct lifts_reader {
    struct lifts_reader_settings settings;
    pid_t pid;
    pthread_mutex_t lock; /* of what follows, up to `stop` */
    pthread_cond_t changed;
    pthread_t thread;
    bool started;
    struct lifts_job *first, **last;
    bool stop;
    /* The thread's: the text that it read last. */
    uint64_t load;
    unsigned arch;
    char *text;
    size_t length;
    enum lift_refusal refusal;
};

struct lifts_reader *lifts_reader_create(const struct lifts_reader_settings *settings)
{
    struct lifts_reader *reader = calloc(1, sizeof *reader);
    if (!reader)
        return NULL;
    reader->settings = *settings;
    reader->pid = getpid();
    reader->last = &reader->first;
    pthread_mutex_init(&reader->lock, NULL);
    pthread_cond_init(&reader->changed, NULL);
    return reader;
}

/* ---- a job ---- */

struct copying {
    struct packed_text packed;
    unsigned arch;
    enum lift_refusal refusal;
};

/* An images_read_fn. */
static void copy_packed(void *user, const void *fatbin, size_t bytes)
{
    struct copying *copying = user;
    copying->refusal = packed_text_copy(fatbin, bytes, copying->arch, &copying->packed);
}

static void forget_text(struct lifts_reader *reader)
{
    free(reader->text);
    reader->text = NULL;
    reader->load = 0;
}

/* Has the job's fatbin in `text`, or the reason in `refusal`. */
static void read_text(struct lifts_reader *reader, const struct lifts_job *job)
{
    struct copying copying = {.arch = job->arch, .refusal = LIFT_NO_IMAGE};
    if (reader->load == job->load && reader->arch == job->arch)
        return;
    forget_text(reader);
    reader->load = job->load;
    reader->arch = job->arch;
    images_read(reader->settings.images, job->load, copy_packed, &copying);
    reader->refusal = copying.refusal;
    if (!copying.refusal)
        reader->refusal = packed_text_read(&copying.packed, &reader->text, &reader->length);
    if (!copying.refusal)
        packed_text_free(&copying.packed);
}

static enum lift_refusal lift_kernel(const struct lifts_reader *reader, struct lifts_job *job)
{
    struct error err = {{0}};
    size_t bytes = 0;
    char *own = text_of_kernel(reader->text, reader->length, job->symbol, &bytes);
    if (!own)
        return LIFT_OTHER;
    enum lift_refusal refusal =
        bytes > IMAGE_KERNEL_BYTES
            ? LIFT_LONG_PTX
            : lift_make(&job->lift, own, bytes, job->symbol, reader->settings.window, &err);
    if (*err.text)
        log_line(LOG_INFO, "%s", err.text);
    free(own);
    return refusal;
}

static void finish(struct lifts_reader *reader, struct lifts_job *job)
{
    reader->settings.done(reader->settings.user, job);
    atomic_store(&job->done, true);
    if (!job->refusal)
        kernels_again(reader->settings.kernels, job->function);
}

/* ---- the thread ---- */

/* The next job; NULL: the reader is to end. */
static struct lifts_job *next_job(struct lifts_reader *reader)
{
    pthread_mutex_lock(&reader->lock);
    if (!reader->first)
        forget_text(reader);
    while (!reader->first && !reader->stop)
        pthread_cond_wait(&reader->changed, &reader->lock);
    struct lifts_job *job = reader->stop ? NULL : reader->first;
    if (job) {
        reader->first = job->next;
        reader->last = reader->first ? reader->last : &reader->first;
    }
    pthread_mutex_unlock(&reader->lock);
    return job;
}

static void *run(void *user)
{
    struct lifts_reader *reader = user;
    struct lifts_job *job;
    own_thread.work = OWN_WORK;
    prctl(PR_SET_NAME, "cuvet-ptx");
    while ((job = next_job(reader))) {
        read_text(reader, job);
        job->refusal = reader->text ? lift_kernel(reader, job) : reader->refusal;
        finish(reader, job);
    }
    forget_text(reader);
    return NULL;
}

bool lifts_reader_add(struct lifts_reader *reader, struct lifts_job *job)
{
    pthread_mutex_lock(&reader->lock);
    if (!reader->started && !reader->stop)
        reader->started = !thread_start(&reader->thread, 0, run, reader);
    bool taken = reader->started && !reader->stop;
    if (taken) {
        job->next = NULL;
        *reader->last = job;
        reader->last = &job->next;
        pthread_cond_signal(&reader->changed);
    }
    pthread_mutex_unlock(&reader->lock);
    return taken;
}

void lifts_reader_stop(struct lifts_reader *reader, int wait_ms)
{
    struct timespec until;
    if (getpid() != reader->pid)
        return;
    pthread_mutex_lock(&reader->lock);
    bool started = reader->started && !reader->stop;
    reader->stop = true;
    pthread_cond_signal(&reader->changed);
    pthread_mutex_unlock(&reader->lock);
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += wait_ms / 1000;
    if (started)
        pthread_timedjoin_np(reader->thread, NULL, &until);
}
