#include "linter/linter.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>
#define XXH_INLINE_ALL
#include <xxhash.h>
#include "base/arena.h"
#include "base/thread.h"
#include "gate/own.h"
#include "linter/linter_client.h"
#include "system/helper.h"
#include "text/printable.h"

enum { KEYS = 2 * LINTER_KERNELS, JOIN_MS = 1000 };

/* A kernel whose handle is new. */
struct job {
    struct job *next;
    struct image_query query; /* its symbol is the known kernel's */
    struct lint_request head;
};

struct linter {
    struct linter_settings settings;
    char tool[PATH_MAX];
    char **env;
    pid_t pid;
    pthread_mutex_t lock; /* of what follows, up to `arena` */
    pthread_cond_t changed;
    pthread_t thread;
    bool started, busy;
    struct job *first, **last;
    unsigned queued;
    struct linter_counts counts;
    struct lint_note note[LINTER_NOTES];
    unsigned notes;     /* kept */
    struct arena arena; /* texts of the notes */
    atomic_bool stop;
    /* The thread's: */
    struct linter_client client;
    unsigned starts, keys;
    bool given_up;
    uint64_t key[KEYS]; /* of kernels that are done; 0: free. At most half is used */
};

const char *linter_miss_text(enum linter_miss miss)
{
    static const char *const texts[LINTER_MISSES] = {
#define MISS(name, text) [LINTER_MISS_##name] = (text),
        LINTER_MISS_LIST(MISS)
#undef MISS
    };
    return texts[miss];
}

/* ---- counts and notes ---- */

static void miss(struct linter *linter, enum linter_miss why)
{
    pthread_mutex_lock(&linter->lock);
    linter->counts.missed[why]++;
    pthread_mutex_unlock(&linter->lock);
}

static bool same_note(const struct lint_note *a, const struct lint_note *b)
{
    return a->line == b->line && !strcmp(a->kernel, b->kernel) && !strcmp(a->rule, b->rule) &&
           !strcmp(a->sentence, b->sentence) && !strcmp(a->source, b->source);
}

static const char *keep_text(struct linter *linter, const char *text)
{
    char *copy = arena_text(&linter->arena, text, strlen(text));
    if (copy)
        printable_text(copy);
    return copy ? copy : "";
}

/* False: it is a repetition, as the variants of one source give it. */
static bool keep_note(struct linter *linter, const struct lint_note *note)
{
    bool known = false;
    pthread_mutex_lock(&linter->lock);
    for (unsigned i = 0; i < linter->notes && !known; i++)
        known = same_note(&linter->note[i], note);
    linter->counts.notes += !known;
    if (!known && linter->notes < LINTER_NOTES) {
        struct lint_note *kept = &linter->note[linter->notes++];
        *kept = *note;
        kept->rule = keep_text(linter, note->rule);
        kept->severity = keep_text(linter, note->severity);
        kept->sentence = keep_text(linter, note->sentence);
        kept->source = keep_text(linter, note->source);
    }
    pthread_mutex_unlock(&linter->lock);
    return !known;
}

static void take_notes(struct linter *linter, const char *symbol, const struct lint_answer *answer,
                       const char *body)
{
    const char *at = body, *end = body + answer->bytes;
    struct lint_note note;
    for (uint32_t i = 0; i < answer->notes && lint_wire_take(&at, end, &note); i++) {
        note.kernel = symbol;
        if (keep_note(linter, &note))
            linter->settings.note(linter->settings.user, &note);
    }
}

/* ---- the process ---- */

static void give_up_linter(struct linter *linter, const char *sentence)
{
    if (!linter->given_up)
        linter->settings.complain(linter->settings.user, sentence);
    linter->given_up = true;
    linter_client_end(&linter->client);
}

/* Whether there is a process. */
static bool start_lint_process(struct linter *linter)
{
    const struct linter_settings *s = &linter->settings;
    const char *argv[] = {"cuvet",   "lint",        "--serve", s->version,
                          s->config, s->tolerances, s->tables, NULL};
    struct error err = {{0}};
    if (own_fd_get(&linter->client.socket) >= 0)
        return true;
    if (linter->given_up)
        return false;
    if (linter->starts == LINTER_STARTS) {
        error_set(&err, STATUS_IO, "the process that lints kernels ended or was late %d times",
                  LINTER_STARTS);
        give_up_linter(linter, err.text);
        return false;
    }
    linter->starts++;
    if (!linter_client_start(&linter->client, linter->tool, (char *const *)argv, linter->env, &err))
        return true;
    give_up_linter(linter, err.text);
    return false;
}

/* ---- one kernel ---- */

/* The place of this kernel of this image: free, or with its key. */
static uint64_t *place_of_key(struct linter *linter, uint64_t key)
{
    uint64_t at = key % KEYS;
    while (linter->key[at] && linter->key[at] != key)
        at = (at + 1) % KEYS;
    return &linter->key[at];
}

/* Whether it is to be linted. A kernel without an image is known by its symbol. */
static bool lint_is_new(struct linter *linter, const char *symbol, const void *image, size_t bytes)
{
    uint64_t key = XXH3_64bits_withSeed(image, bytes, XXH3_64bits(symbol, strlen(symbol)));
    uint64_t *place = place_of_key(linter, key ? key : 1);
    if (*place)
        return false;
    if (linter->keys == LINTER_KERNELS) {
        miss(linter, LINTER_MISS_FULL);
        return false;
    }
    *place = key ? key : 1;
    linter->keys++;
    return true;
}

static void take_answer(struct linter *linter, const char *symbol, const struct lint_answer *answer,
                        const char *body)
{
    switch ((enum lint_outcome)answer->outcome) {
    case LINT_DONE:
        pthread_mutex_lock(&linter->lock);
        linter->counts.linted++;
        pthread_mutex_unlock(&linter->lock);
        take_notes(linter, symbol, answer, body);
        return;
    case LINT_NO_PTX:
        miss(linter, LINTER_MISS_NO_PTX);
        return;
    case LINT_UNREAD:
        miss(linter, LINTER_MISS_UNREAD);
        return;
    case LINT_OTHER_BUILD:
        miss(linter, LINTER_MISS_LOST);
        give_up_linter(linter, "the program cuvet is of another version than the library");
    }
}

static void ask(struct linter *linter, struct job *job, const void *image, size_t bytes)
{
    const char *symbol = job->query.symbol;
    struct lint_answer answer = {0};
    char *body;
    if (!start_lint_process(linter)) {
        miss(linter, LINTER_MISS_LOST);
        return;
    }
    lint_wire_request(&job->head, strlen(symbol) + 1, bytes);
    switch (linter_client_ask(&linter->client, &job->head, symbol, image,
                              linter->settings.kernel_ms, &answer, &body)) {
    case LINTER_ANSWERED:
        take_answer(linter, symbol, &answer, body);
        break;
    case LINTER_LOST:
        miss(linter, LINTER_MISS_LOST);
        break;
    case LINTER_LATE:
        miss(linter, LINTER_MISS_LATE);
        break;
    case LINTER_STOPPED:
        miss(linter, LINTER_MISS_UNDONE);
    }
    free(body);
}

static void lint(struct linter *linter, struct job *job)
{
    const char *reason, *symbol = job->query.symbol;
    size_t bytes = 0;
    const struct image *image = images_hold(linter->settings.images, &job->query, &reason);
    const void *data = image_data(image, &bytes);
    bool fits = data && bytes <= LINTER_IMAGE_BYTES && strlen(symbol) < LINTER_SYMBOL_BYTES;
    if (lint_is_new(linter, symbol, fits ? data : "", fits ? bytes : 0)) {
        if (fits)
            ask(linter, job, data, bytes);
        else
            miss(linter, LINTER_MISS_NO_PTX);
    }
    images_release(linter->settings.images, image);
}

/* ---- the thread ---- */

/* The next job, for free(); NULL: the linter is to end. */
static struct job *next_lint_job(struct linter *linter)
{
    struct job *job = NULL;
    pthread_mutex_lock(&linter->lock);
    linter->busy = false;
    pthread_cond_broadcast(&linter->changed);
    while (!linter->first && !atomic_load(&linter->stop))
        pthread_cond_wait(&linter->changed, &linter->lock);
    if (!atomic_load(&linter->stop)) {
        job = linter->first;
        linter->first = job->next;
        linter->last = linter->first ? linter->last : &linter->first;
        linter->queued--;
        linter->busy = true;
    }
    pthread_mutex_unlock(&linter->lock);
    return job;
}

static void *run_linter(void *user)
{
    struct linter *linter = user;
    struct job *job;
    own_thread.work = OWN_WORK;
    prctl(PR_SET_NAME, "cuvet-lint");
    while ((job = next_lint_job(linter))) {
        lint(linter, job);
        free(job);
    }
    linter_client_end(&linter->client);
    return NULL;
}

/* ---- for others ---- */

enum status linter_create(struct linter **out, const struct linter_settings *settings,
                          struct error *err)
{
    struct linter *linter = calloc(1, sizeof *linter);
    *out = NULL;
    if (linter)
        linter->env = helper_environment(settings->env);
    if (!linter || !linter->env) {
        free(linter);
        return error_set(err, STATUS_NO_MEMORY, "no memory for a linter");
    }
    linter->settings = *settings;
    if (!settings->kernel_ms)
        linter->settings.kernel_ms = LINTER_KERNEL_MS;
    snprintf(linter->tool, sizeof linter->tool, "%s", settings->tool);
    linter->pid = getpid();
    linter->last = &linter->first;
    linter_client_init(&linter->client, &linter->stop);
    pthread_mutex_init(&linter->lock, NULL);
    pthread_cond_init(&linter->changed, NULL);
    *out = linter;
    return STATUS_OK;
}

void linter_destroy(struct linter *linter)
{
    if (!linter)
        return;
    while (linter->first) {
        struct job *gone = linter->first;
        linter->first = gone->next;
        free(gone);
    }
    arena_release(&linter->arena);
    pthread_cond_destroy(&linter->changed);
    pthread_mutex_destroy(&linter->lock);
    free(linter->env);
    free(linter);
}

static struct job *make_job(const struct linter *linter, const struct launch *launch,
                            const struct known_kernel *kernel)
{
    struct job *job = calloc(1, sizeof *job);
    if (!job)
        return NULL;
    job->query = images_query(linter->settings.images, launch, kernel->symbol, kernels_arch());
    memcpy(job->head.grid, launch->grid, sizeof job->head.grid);
    memcpy(job->head.block, launch->block, sizeof job->head.block);
    job->head.shared = launch->shared_bytes;
    return job;
}

void linter_see(void *user, const struct launch *launch, const struct known_kernel *kernel)
{
    struct linter *linter = user;
    if (launch->call || !*kernel->symbol || atomic_load(&linter->stop))
        return;
    struct job *job = make_job(linter, launch, kernel);
    pthread_mutex_lock(&linter->lock);
    linter->started |=
        job && !linter->started && !thread_start(&linter->thread, 0, run_linter, linter);
    bool taken = linter->started && job && linter->queued < LINTER_KERNELS;
    linter->counts.missed[LINTER_MISS_FULL] += !taken;
    if (taken) {
        *linter->last = job;
        linter->last = &job->next;
        linter->queued++;
        pthread_cond_broadcast(&linter->changed);
    }
    pthread_mutex_unlock(&linter->lock);
    if (!taken)
        free(job);
}

bool linter_stop(struct linter *linter, int wait_ms)
{
    struct timespec until = thread_deadline(wait_ms);
    if (getpid() != linter->pid || atomic_load(&linter->stop))
        return true;
    pthread_mutex_lock(&linter->lock);
    while ((linter->first || linter->busy) &&
           !pthread_cond_timedwait(&linter->changed, &linter->lock, &until))
        ;
    atomic_store(&linter->stop, true);
    linter->counts.missed[LINTER_MISS_UNDONE] += linter->queued;
    pthread_cond_broadcast(&linter->changed);
    bool started = linter->started;
    pthread_mutex_unlock(&linter->lock);
    return !started || thread_join_within(linter->thread, JOIN_MS);
}

struct linter_counts linter_count(struct linter *linter)
{
    pthread_mutex_lock(&linter->lock);
    struct linter_counts counts = linter->counts;
    pthread_mutex_unlock(&linter->lock);
    return counts;
}

bool linter_note(struct linter *linter, unsigned number, struct lint_note *out)
{
    pthread_mutex_lock(&linter->lock);
    bool there = number < linter->notes;
    if (there)
        *out = linter->note[number];
    pthread_mutex_unlock(&linter->lock);
    return there;
}
