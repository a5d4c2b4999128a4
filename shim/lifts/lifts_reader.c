#include "lifts/lifts_reader.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>
#define XXH_INLINE_ALL
#include <xxhash.h>
#include "base/thread.h"
#include "gate/own.h"
#include "image/image_text.h"
#include "system/log.h"

enum { REFUSED = 64 };

struct lifts_reader {
    struct lifts_reader_settings settings;
    pid_t pid;
    pthread_mutex_t lock; /* of what follows, up to `stop` */
    pthread_cond_t changed;
    pthread_t thread;
    bool started;
    struct lifts_job *first, **last;
    bool stop;
    /* The thread's: the text that it read last; loads without one, each at its remainder. */
    uint64_t load;
    unsigned arch;
    char *text;
    size_t length;
    struct refused {
        uint64_t load;
        unsigned arch;
        enum lift_refusal refusal;
    } refused[REFUSED];
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

static bool is_at_hand(const struct lifts_reader *reader, const struct lifts_job *job)
{
    return reader->load == job->load && reader->arch == job->arch;
}

static enum lift_refusal unpack_job(struct lifts_reader *reader, const struct lifts_job *job)
{
    struct copying copying = {.arch = job->arch, .refusal = LIFT_NO_IMAGE};
    images_read(reader->settings.images, job->load, copy_packed, &copying);
    if (copying.refusal)
        return copying.refusal;
    enum lift_refusal refusal = packed_text_read(&copying.packed, &reader->text, &reader->length);
    packed_text_free(&copying.packed);
    return refusal;
}

/* Puts the text of the job's fatbin into `text`, or returns the reason. */
static enum lift_refusal read_job_text(struct lifts_reader *reader, const struct lifts_job *job)
{
    struct refused *refused = &reader->refused[job->load % REFUSED];
    if (is_at_hand(reader, job))
        return LIFT_OK;
    if (refused->load == job->load && refused->arch == job->arch)
        return refused->refusal;
    forget_text(reader);
    enum lift_refusal refusal = unpack_job(reader, job);
    if (refusal) {
        *refused = (struct refused){job->load, job->arch, refusal};
    } else {
        reader->load = job->load;
        reader->arch = job->arch;
    }
    return refusal;
}

static enum lift_refusal lift_kernel(const struct lifts_reader *reader, struct lifts_job *job)
{
    struct error err = {{0}};
    size_t bytes = 0;
    char *own = text_of_kernel(reader->text, reader->length, job->symbol, &bytes);
    if (!own)
        return LIFT_OTHER;
    job->text = XXH3_64bits(own, bytes) | 1;
    enum lift_refusal refusal =
        bytes > IMAGE_KERNEL_BYTES
            ? LIFT_LONG_PTX
            : lift_make(&job->lift, own, bytes, job->symbol, reader->settings.window, &err);
    if (*err.text)
        log_line(LOG_INFO, "%s", err.text);
    free(own);
    return refusal;
}

/* The job may be freed as soon as it is done. */
static void finish_job(struct lifts_reader *reader, struct lifts_job *job)
{
    const void *function = job->refusal ? NULL : job->function;
    reader->settings.done(reader->settings.user, job);
    atomic_store(&job->done, true);
    if (function)
        kernels_resolve_again(reader->settings.kernels, function);
}

/* ---- the thread ---- */

/* The next job of the text at hand, else the first of all; NULL: there is none. Lock held. */
static struct lifts_job *take_job(struct lifts_reader *reader)
{
    struct lifts_job **at = &reader->first;
    while (*at && !is_at_hand(reader, *at))
        at = &(*at)->next;
    if (!*at)
        at = &reader->first;
    struct lifts_job *job = *at;
    if (!job)
        return NULL;
    *at = job->next;
    if (reader->last == &job->next)
        reader->last = at;
    return job;
}

/* The next job; NULL: the reader is to end. While it waits it keeps no text, which is freed without
 * the lock, since that takes long. */
static struct lifts_job *next_lifts_job(struct lifts_reader *reader)
{
    struct lifts_job *job = NULL;
    pthread_mutex_lock(&reader->lock);
    while (!reader->stop && !(job = take_job(reader))) {
        if (!reader->text) {
            pthread_cond_wait(&reader->changed, &reader->lock);
            continue;
        }
        pthread_mutex_unlock(&reader->lock);
        forget_text(reader);
        pthread_mutex_lock(&reader->lock);
    }
    pthread_mutex_unlock(&reader->lock);
    return job;
}

static void *run_reader(void *user)
{
    struct lifts_reader *reader = user;
    struct lifts_job *job;
    own_thread.work = OWN_WORK;
    prctl(PR_SET_NAME, "cuvet-ptx");
    while ((job = next_lifts_job(reader))) {
        job->refusal = read_job_text(reader, job);
        if (!job->refusal)
            job->refusal = lift_kernel(reader, job);
        finish_job(reader, job);
    }
    forget_text(reader);
    return NULL;
}

enum lift_refusal lifts_reader_add(struct lifts_reader *reader, struct lifts_job *job)
{
    enum lift_refusal refusal = LIFT_OK;
    pthread_mutex_lock(&reader->lock);
    if (!reader->started && !reader->stop)
        reader->started = !thread_start(&reader->thread, 0, run_reader, reader);
    if (reader->stop) {
        refusal = LIFT_UNREAD_PTX;
    } else if (!reader->started) {
        refusal = LIFT_OTHER;
    } else {
        job->next = NULL;
        *reader->last = job;
        reader->last = &job->next;
        pthread_cond_signal(&reader->changed);
    }
    pthread_mutex_unlock(&reader->lock);
    return refusal;
}

void lifts_reader_stop(struct lifts_reader *reader, int wait_ms)
{
    if (getpid() != reader->pid)
        return;
    pthread_mutex_lock(&reader->lock);
    bool started = reader->started && !reader->stop;
    reader->stop = true;
    pthread_cond_signal(&reader->changed);
    pthread_mutex_unlock(&reader->lock);
    if (started)
        thread_join_within(reader->thread, wait_ms);
}
