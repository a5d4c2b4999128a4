#include "lifts.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>
#include "lift/lift.h"
#include "own_ptx.h"
#include "system/log.h"

/* A kernel whose PTX was read. */
struct lifted {
    struct lifted *next;
    uint64_t key; /* of its PTX and symbol */
    struct lift *lift;
    const struct kernel_spec *spec; /* NULL: it is not lifted */
};

enum { BUCKETS = 256 };

struct lifts {
    struct registry *registry;
    struct images *images;
    uint64_t window;
    struct lifted *bucket[BUCKETS];
    atomic_uint count[LIFT_REFUSALS]; /* LIFT_OK: lifted */
};

/* Fills in what comes of the text. */
static enum lift_refusal lift(struct lifts *lifts, struct lifted *made, const char *text,
                              size_t bytes, const char *symbol, const struct param_layout *layout)
{
    struct error err = {{0}};
    enum lift_refusal refusal = lift_make(&made->lift, text, bytes, symbol, lifts->window, &err);
    if (!refusal && registry_lift(lifts->registry, symbol, layout, made->lift, &made->spec, &err))
        refusal = LIFT_OTHER;
    if (refusal)
        log_line(LOG_INFO, "%s", err.text);
    else
        log_line(LOG_DEBUG, "%s is held against its own PTX: %s", symbol,
                 lift_signature(made->lift));
    return refusal;
}

static const struct kernel_spec *add(struct lifts *lifts, uint64_t key, const char *text,
                                     size_t bytes, const char *symbol,
                                     const struct param_layout *layout)
{
    struct lifted *made = calloc(1, sizeof *made);
    if (!made)
        return NULL;
    made->key = key;
    made->next = lifts->bucket[key % BUCKETS];
    lifts->bucket[key % BUCKETS] = made;
    atomic_fetch_add(&lifts->count[lift(lifts, made, text, bytes, symbol, layout)], 1);
    return made->spec;
}

/* A kernels_lift_fn. */
static const struct kernel_spec *find(void *user, const struct launch *launch, const char *symbol,
                                      const struct param_layout *layout)
{
    struct lifts *lifts = user;
    size_t bytes = 0;
    char *text = own_ptx(lifts->images, launch, symbol, &bytes);
    if (!text) {
        atomic_fetch_add(&lifts->count[LIFT_NO_PTX], 1);
        return NULL;
    }
    uint64_t key = XXH3_64bits_withSeed(text, bytes, XXH3_64bits(symbol, strlen(symbol)));
    struct lifted *known = lifts->bucket[key % BUCKETS];
    while (known && known->key != key)
        known = known->next;
    const struct kernel_spec *spec =
        known ? known->spec : add(lifts, key, text, bytes, symbol, layout);
    free(text);
    return spec;
}

struct lifts *lifts_start(struct pipeline *pipeline, struct registry *registry)
{
    struct lifts *lifts = pipeline->eager ? NULL : calloc(1, sizeof *lifts);
    if (!lifts)
        return NULL;
    lifts->registry = registry;
    lifts->images = pipeline->images;
    lifts->window = pipeline->subset;
    images_keep_ptx(pipeline->images);
    kernels_lift(pipeline->kernels, find, lifts);
    return lifts;
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
