#include "lifts/lifts.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>
#include "bind/tensor_maps.h"
#include "lift/lift.h"
#include "lifts/lifts_reader.h"
#include "lifts/own_ptx.h"
#include "system/log.h"

/* A kernel whose PTX was read, or is refused. */
struct lifted {
    struct lifted *next;
    uint64_t key; /* lifted_key() */
    struct lift *lift;
    const struct kernel_spec *spec; /* NULL: it is not lifted */
    enum lift_refusal counted;      /* as this; LIFT_LATE_PTX: until it is entered */
};

/* A kernel of one load of a fatbin. */
struct loaded {
    struct loaded *next;
    uint64_t symbol; /* a hash */
    uint64_t load;
    struct lifts_job *job; /* until it has ended; else NULL */
    struct lifted *lifted; /* NULL: it has not ended, or there was no memory */
};

enum { BUCKETS = 256 };

struct lifts {
    struct registry *registry;
    struct images *images;
    struct lifts_reader *reader;
    uint64_t window;
    struct loaded *loaded[BUCKETS]; /* by symbol; below the lock of `kernels` */
    pthread_mutex_t lock;           /* of the following table; their specs as `loaded` */
    struct lifted *bucket[BUCKETS];
    atomic_uint count[LIFT_REFUSALS]; /* LIFT_OK: lifted */
};

static uint64_t symbol_hash(const char *symbol)
{
    return XXH3_64bits(symbol, strlen(symbol));
}

/* Of a kernel: by its text, or by why there is none. */
static uint64_t lifted_key(const void *text, size_t bytes, enum lift_refusal refusal,
                           const char *symbol)
{
    return text ? XXH3_64bits_withSeed(text, bytes, symbol_hash(symbol))
                : XXH3_64bits_withSeed(&refusal, sizeof refusal, symbol_hash(symbol));
}

/* Counts one as the second, no longer as the first. */
static void move_refusal(struct lifts *lifts, enum lift_refusal from, enum lift_refusal to)
{
    atomic_fetch_sub(&lifts->count[from], 1);
    atomic_fetch_add(&lifts->count[to], 1);
}

/* Lock held. */
static struct lifted *search(const struct lifts *lifts, uint64_t key)
{
    struct lifted *known = lifts->bucket[key % BUCKETS];
    while (known && known->key != key)
        known = known->next;
    return known;
}

static struct lifted *find_lifted(struct lifts *lifts, uint64_t key)
{
    pthread_mutex_lock(&lifts->lock);
    struct lifted *known = search(lifts, key);
    pthread_mutex_unlock(&lifts->lock);
    return known;
}

/* The record of the key. One that was not there is counted; else `lift` is freed. NULL: no
 * memory. */
static struct lifted *note_lifted(struct lifts *lifts, uint64_t key, struct lift *lift,
                                  enum lift_refusal refusal)
{
    const enum lift_refusal counted = refusal ? refusal : LIFT_LATE_PTX;
    struct lifted *made = calloc(1, sizeof *made);
    pthread_mutex_lock(&lifts->lock);
    struct lifted *known = search(lifts, key);
    if (!known && made) {
        *made = (struct lifted){lifts->bucket[key % BUCKETS], key, lift, NULL, counted};
        lifts->bucket[key % BUCKETS] = made;
    }
    pthread_mutex_unlock(&lifts->lock);
    if (!known)
        atomic_fetch_add(&lifts->count[made ? counted : LIFT_OTHER], 1);
    if (!known && made)
        return made;
    lift_free(lift);
    free(made);
    return known;
}

/* Has the registry make a spec of what was lifted. */
static enum lift_refusal enter_lifted(struct lifts *lifts, struct lifted *made, const char *symbol,
                                      const struct param_layout *layout)
{
    struct error err = {{0}};
    if (registry_lift(lifts->registry, symbol, layout, made->lift, &made->spec, &err)) {
        log_line(LOG_INFO, "%s", err.text);
        return LIFT_OTHER;
    }
    log_line(LOG_DEBUG, "%s is held against its own PTX: %s", symbol, lift_signature(made->lift));
    return LIFT_OK;
}

static const struct kernel_spec *spec_of(struct lifts *lifts, struct lifted *known,
                                         const char *symbol, const struct param_layout *layout)
{
    if (known && known->counted == LIFT_LATE_PTX) {
        known->counted = enter_lifted(lifts, known, symbol, layout);
        move_refusal(lifts, LIFT_LATE_PTX, known->counted);
    }
    return known ? known->spec : NULL;
}

/* ---- kernels of fatbins ---- */

static uint64_t key_of_job(const struct lifts_job *job)
{
    return lifted_key(job->text ? &job->text : NULL, sizeof job->text, job->refusal, job->symbol);
}

/* Of struct lifts_reader_settings. */
static void on_done(void *user, const struct lifts_job *job)
{
    struct lifts *lifts = user;
    note_lifted(lifts, key_of_job(job), job->lift, job->refusal);
    atomic_fetch_sub(&lifts->count[LIFT_UNREAD_PTX], 1);
}

static struct lifts_job *new_job(uint64_t load, const struct launch *launch, const char *symbol)
{
    const size_t length = strlen(symbol) + 1;
    struct lifts_job *job = calloc(1, sizeof *job + length);
    if (!job)
        return NULL;
    job->load = load;
    job->arch = kernels_arch();
    job->symbol = memcpy(job + 1, symbol, length);
    job->function = launch->function;
    return job;
}

static bool is_gone(struct lifts *lifts, const struct loaded *known)
{
    return (!known->job || atomic_load(&known->job->done)) &&
           !images_read(lifts->images, known->load, NULL, NULL);
}

/* A record for the load: that of an earlier load which is gone, or a new one. NULL: no memory. */
static struct loaded *new_loaded(struct lifts *lifts, uint64_t symbol, uint64_t load)
{
    struct loaded **bucket = &lifts->loaded[symbol % BUCKETS], *made = *bucket;
    while (made && (made->symbol != symbol || !is_gone(lifts, made)))
        made = made->next;
    if (made) {
        free(made->job);
    } else if ((made = calloc(1, sizeof *made))) {
        made->next = *bucket;
        *bucket = made;
    } else {
        return NULL;
    }
    *made = (struct loaded){.next = made->next, .symbol = symbol, .load = load};
    return made;
}

static void start_job(struct lifts *lifts, struct loaded *made, const struct launch *launch,
                      const char *symbol)
{
    struct lifts_job *job = made ? new_job(made->load, launch, symbol) : NULL;
    atomic_fetch_add(&lifts->count[LIFT_UNREAD_PTX], 1);
    enum lift_refusal refusal = job ? lifts_reader_add(lifts->reader, job) : LIFT_OTHER;
    if (!refusal) {
        made->job = job;
        return;
    }
    free(job);
    move_refusal(lifts, LIFT_UNREAD_PTX, refusal);
}

static const struct kernel_spec *find_in_fatbin(struct lifts *lifts, uint64_t load,
                                                const struct launch *launch, const char *symbol,
                                                const struct param_layout *layout)
{
    const uint64_t hash = symbol_hash(symbol);
    struct loaded *known = lifts->loaded[hash % BUCKETS];
    while (known && (known->symbol != hash || known->load != load))
        known = known->next;
    if (!known) {
        start_job(lifts, new_loaded(lifts, hash, load), launch, symbol);
        return NULL;
    }
    if (known->job && atomic_load(&known->job->done)) {
        known->lifted = find_lifted(lifts, key_of_job(known->job));
        free(known->job);
        known->job = NULL;
    }
    return spec_of(lifts, known->lifted, symbol, layout);
}

/* ---- all ---- */

/* NULL: no memory. */
static struct lifted *lift_text(struct lifts *lifts, uint64_t key, const char *text, size_t bytes,
                                const char *symbol)
{
    struct error err = {{0}};
    struct lift *lift = NULL;
    enum lift_refusal refusal = lift_make(&lift, text, bytes, symbol, lifts->window, &err);
    if (refusal)
        log_line(LOG_INFO, "%s", err.text);
    return note_lifted(lifts, key, lift, refusal);
}

/* A kernels_lift_fn. */
static const struct kernel_spec *find_spec(void *user, const struct launch *launch,
                                           const char *symbol, const struct param_layout *layout)
{
    struct lifts *lifts = user;
    size_t bytes = 0;
    const struct image_query query = images_query(lifts->images, launch, symbol, 0);
    uint64_t load = images_fatbin(lifts->images, &query);
    if (load)
        return find_in_fatbin(lifts, load, launch, symbol, layout);
    char *text = own_ptx(lifts->images, &query, &bytes);
    uint64_t key = lifted_key(text, bytes, LIFT_NO_IMAGE, symbol);
    struct lifted *known = find_lifted(lifts, key);
    if (!known)
        known = text ? lift_text(lifts, key, text, bytes, symbol)
                     : note_lifted(lifts, key, NULL, LIFT_NO_IMAGE);
    free(text);
    return spec_of(lifts, known, symbol, layout);
}

struct lifts *lifts_start(struct pipeline *pipeline, struct registry *registry)
{
    struct lifts *lifts = pipeline->eager ? NULL : calloc(1, sizeof *lifts);
    if (!lifts)
        return NULL;
    lifts->registry = registry;
    lifts->images = pipeline->images;
    lifts->window = pipeline->subset;
    pthread_mutex_init(&lifts->lock, NULL);
    const struct lifts_reader_settings settings = {pipeline->images, pipeline->kernels,
                                                   pipeline->subset, on_done, lifts};
    lifts->reader = lifts_reader_create(&settings);
    if (!lifts->reader) {
        free(lifts);
        return NULL;
    }
    images_keep_ptx(pipeline->images);
    tensor_maps_keep();
    kernels_lift(pipeline->kernels, find_spec, lifts);
    return lifts;
}

void lifts_stop(struct lifts *lifts, int wait_ms)
{
    if (lifts)
        lifts_reader_stop(lifts->reader, wait_ms);
}

/* Lifts of which no machine code was made. */
static unsigned not_compiled(struct lifts *lifts)
{
    unsigned count = 0;
    pthread_mutex_lock(&lifts->lock);
    for (unsigned i = 0; i < BUCKETS; i++) {
        for (const struct lifted *known = lifts->bucket[i]; known; known = known->next)
            count += known->spec && lift_code_failed(known->spec->lift);
    }
    pthread_mutex_unlock(&lifts->lock);
    return count;
}

void lifts_print(struct lifts *lifts, struct textbuf *out)
{
    unsigned refused = 0, count[LIFT_REFUSALS];
    for (unsigned i = 0; i < LIFT_REFUSALS; i++)
        count[i] = atomic_load(&lifts->count[i]);
    count[LIFT_NOT_COMPILED] = not_compiled(lifts);
    count[LIFT_OK] -= count[LIFT_NOT_COMPILED];
    for (unsigned i = LIFT_OK + 1; i < LIFT_REFUSALS; i++)
        refused += count[i];
    if (!count[LIFT_OK] && !refused)
        return;
    textbuf_printf(out, "precision: %u kernel%s held against %s own PTX", count[LIFT_OK],
                   count[LIFT_OK] == 1 ? " was" : "s were", count[LIFT_OK] == 1 ? "its" : "their");
    for (unsigned i = 0, first = 1; i < LIFT_REFUSALS; i++) {
        if (i == LIFT_OK || !count[i])
            continue;
        if (first)
            textbuf_printf(out, "; %u could not be: ", refused);
        textbuf_printf(out, "%s%s %u", first ? "" : ", ", lift_refusal_text(i), count[i]);
        first = 0;
    }
}
