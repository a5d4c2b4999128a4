#include "lifts/own_image.h"

#include "judge/modules/images.h"

/* A kernels_image_fn. */
static uint64_t own_hash(void *user, const struct launch *launch, const char *symbol)
{
    struct images *images = user;
    if (symbol_is_call(symbol))
        return 0;
    struct image_query query = images_query(images, launch, symbol, 0);
    return images_hash(images, &query);
}

void own_image_distinguish(struct pipeline *pipeline)
{
    if (pipeline->images)
        kernels_distinguish(pipeline->kernels, own_hash, pipeline->images);
}
