#include "lifts.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>
#include "lift/lift.h"
#include "lifts_reader.h"
#include "own_ptx.h"
#include "system/log.h"

/* A kernel whose PTX was read. */
struct lifted {
    struct lifted *next;
    uint64_t key; /* of its PTX and symbol, or of its fatbin's load and symbol */
    struct lift *lift;
    const struct kernel_spec *spec; /* NULL: it is not lifted */
    struct lifts_job *job;          /* of a fatbin's, until it has ended; else NULL */
};

enum { BUCKETS = 256 };

struct lifts {
    struct registry *registry;
    struct images *images;
    struct lifts_reader *reader;
    uint64_t window;
    struct lifted *bucket[BUCKETS];
    atomic_uint count[LIFT_REFUSALS]; /* LIFT_OK: lifted */
};

/* Has the registry make a spec of what was lifted. */
static enum lift_refusal enter(struct lifts *lifts, struct lifted *made, const char *symbol,
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

/* Fills in what comes of the text. */
static enum lift_refusal lift(struct lifts *lifts, struct lifted *made, const char *text,
                              size_t bytes, const char *symbol, const struct param_layout *layout)
{
    struct error err = {{0}};
    enum lift_refusal refusal = lift_make(&made->lift, text, bytes, symbol, lifts->window, &err);
    if (refusal)
        log_line(LOG_INFO, "%s", err.text);
    return refusal ? refusal : enter(lifts, made, symbol, layout);
}

static struct lifted *find_lifted(const struct lifts *lifts, uint64_t key)
{
    struct lifted *known = lifts->bucket[key % BUCKETS];
    while (known && known->key != key)
        known = known->next;
    return known;
}

/* NULL: no memory. */
static struct lifted *new_lifted(struct lifts *lifts, uint64_t key)
{
    struct lifted *made = calloc(1, sizeof *made);
    if (!made)
        return NULL;
    made->key = key;
    made->next = lifts->bucket[key % BUCKETS];
    lifts->bucket[key % BUCKETS] = made;
    return made;
}

/* ---- kernels of fatbins ---- */

/* Until a kernel of a fatbin is entered or refused, it counts as LIFT_LATE_PTX. */
static void settle(struct lifts *lifts, enum lift_refusal refusal)
{
    atomic_fetch_sub(&lifts->count[LIFT_LATE_PTX], 1);
    atomic_fetch_add(&lifts->count[refusal], 1);
}

/* Of struct lifts_reader_settings. */
static void on_done(void *user, const struct lifts_job *job)
{
    if (job->refusal)
        settle(user, job->refusal);
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

static void start_job(struct lifts *lifts, uint64_t key, uint64_t load, const struct launch *launch,
                      const char *symbol)
{
    struct lifted *made = new_lifted(lifts, key);
    struct lifts_job *job = made ? new_job(load, launch, symbol) : NULL;
    atomic_fetch_add(&lifts->count[LIFT_LATE_PTX], 1);
    if (job && lifts_reader_add(lifts->reader, job)) {
        made->job = job;
        return;
    }
    free(job);
    settle(lifts, LIFT_OTHER);
}

/* The job is not freed: its thread may still use it. */
static void end_job(struct lifts *lifts, struct lifted *made, const char *symbol,
                    const struct param_layout *layout)
{
    const struct lifts_job *job = made->job;
    made->job = NULL;
    made->lift = job->lift;
    if (!job->refusal)
        settle(lifts, enter(lifts, made, symbol, layout));
}

static const struct kernel_spec *find_in_fatbin(struct lifts *lifts, uint64_t load,
                                                const struct launch *launch, const char *symbol,
                                                const struct param_layout *layout)
{
    uint64_t key = XXH3_64bits_withSeed(&load, sizeof load, XXH3_64bits(symbol, strlen(symbol)));
    struct lifted *known = find_lifted(lifts, key);
    if (!known) {
        start_job(lifts, key, load, launch, symbol);
        return NULL;
    }
    if (known->job && atomic_load(&known->job->done))
        end_job(lifts, known, symbol, layout);
    return known->spec;
}

/* ---- all ---- */

/* A kernels_lift_fn. */
static const struct kernel_spec *find(void *user, const struct launch *launch, const char *symbol,
                                      const struct param_layout *layout)
{
    struct lifts *lifts = user;
    size_t bytes = 0;
    const struct image_query query = images_query(lifts->images, launch, symbol, 0);
    uint64_t load = images_fatbin(lifts->images, &query);
    if (load)
        return find_in_fatbin(lifts, load, launch, symbol, layout);
    char *text = own_ptx(lifts->images, &query, &bytes);
    if (!text) {
        atomic_fetch_add(&lifts->count[LIFT_NO_IMAGE], 1);
        return NULL;
    }
    uint64_t key = XXH3_64bits_withSeed(text, bytes, XXH3_64bits(symbol, strlen(symbol)));
    struct lifted *known = find_lifted(lifts, key);
    if (!known && (known = new_lifted(lifts, key)))
        atomic_fetch_add(&lifts->count[lift(lifts, known, text, bytes, symbol, layout)], 1);
    free(text);
    return known ? known->spec : NULL;
}

struct lifts *lifts_start(struct pipeline *pipeline, struct registry *registry)
{
    struct lifts *lifts = pipeline->eager ? NULL : calloc(1, sizeof *lifts);
    if (!lifts)
        return NULL;
    lifts->registry = registry;
    lifts->images = pipeline->images;
    lifts->window = pipeline->subset;
    const struct lifts_reader_settings settings = {pipeline->images, pipeline->kernels,
                                                   pipeline->subset, on_done, lifts};
    lifts->reader = lifts_reader_create(&settings);
    if (!lifts->reader) {
        free(lifts);
        return NULL;
    }
    images_keep_ptx(pipeline->images);
    kernels_lift(pipeline->kernels, find, lifts);
    return lifts;
}

void lifts_stop(struct lifts *lifts, int wait_ms)
{
    if (lifts)
        lifts_reader_stop(lifts->reader, wait_ms);
}

void lifts_print(const struct lifts *lifts, struct textbuf *out)
{
    unsigned refused = 0, count[LIFT_REFUSALS];
    for (unsigned i = 0; i < LIFT_REFUSALS; i++) {
        count[i] = atomic_load(&lifts->count[i]);
        refused += i == LIFT_OK ? 0 : count[i];
    }
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
