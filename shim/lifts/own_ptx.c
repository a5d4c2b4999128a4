#include "lifts/own_ptx.h"

#include <stdlib.h>
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>
#include "image/carried_text.h"
#include "tools/facts/facts.h"

/* The types that a kernel's PTX shows. A handle is looked up again after each unload of a module,
 * so they are kept. */
struct shown {
    struct shown *next;
    uint64_t key; /* of its image and symbol */
    unsigned count;
    uint32_t dtype[]; /* by parameter */
};

enum { BUCKETS = 256 };

/* Used under the lock of `kernels` alone. */
struct types {
    struct images *images;
    struct shown *bucket[BUCKETS];
};

static char *own_text(const struct image *image, size_t *bytes)
{
    size_t image_bytes;
    const void *data = image_data(image, &image_bytes);
    return data ? carried_text_of(data, image_bytes, bytes) : NULL;
}

char *own_ptx(struct images *images, const struct image_query *query, size_t *bytes)
{
    const char *reason;
    const struct image *image = images_hold(images, query, &reason);
    char *text = own_text(image, bytes);
    images_release(images, image);
    return text;
}

/* Reads the types into `layout` and keeps them. */
static void read_types(struct types *types, uint64_t key, const struct image *image,
                       const char *symbol, struct param_layout *layout)
{
    const unsigned count = layout->count < LAYOUT_MAX ? layout->count : LAYOUT_MAX;
    size_t bytes = 0;
    char *text = own_text(image, &bytes);
    if (text)
        facts_layout(text, bytes, symbol, layout);
    free(text);
    struct shown *made = malloc(sizeof *made + count * sizeof made->dtype[0]);
    if (!made)
        return;
    made->key = key;
    made->count = count;
    for (unsigned i = 0; i < count; i++)
        made->dtype[i] = layout->param[i].dtype;
    made->next = types->bucket[key % BUCKETS];
    types->bucket[key % BUCKETS] = made;
}

/* A kernels_facts_fn. */
static void fill_types(void *user, const struct launch *launch, const char *symbol,
                       struct param_layout *layout)
{
    struct types *types = user;
    if (strncmp(symbol, "_Z", 2) == 0)
        return;
    const char *reason;
    const struct image_query query = images_query(types->images, launch, symbol, 0);
    const struct image *image = images_hold(types->images, &query, &reason);
    size_t bytes = 0;
    const void *data = image_data(image, &bytes);
    uint64_t key = XXH3_64bits_withSeed(data, bytes, XXH3_64bits(symbol, strlen(symbol)));
    const struct shown *known = data ? types->bucket[key % BUCKETS] : NULL;
    while (known && known->key != key)
        known = known->next;
    if (data && !known)
        read_types(types, key, image, symbol, layout);
    for (unsigned i = 0; known && i < known->count && i < layout->count; i++)
        layout->param[i].dtype = known->dtype[i];
    images_release(types->images, image);
}

void own_ptx_types(struct pipeline *pipeline)
{
    struct types *types = pipeline->images ? calloc(1, sizeof *types) : NULL;
    if (!types)
        return;
    types->images = pipeline->images;
    kernels_learn(pipeline->kernels, fill_types, types);
}
