#include "own_image.h"

struct image_query own_image_query(const struct images *images, const struct launch *launch,
                                   const char *symbol)
{
    return (struct image_query){.symbol = symbol,
                                .context = launch->context,
                                .home = kernels_home(launch->function),
                                .moment = images_moment(images)};
}

/* A kernels_image_fn. */
static uint64_t hash_of(void *user, const struct launch *launch, const char *symbol)
{
    struct images *images = user;
    if (symbol_is_call(symbol))
        return 0;
    struct image_query query = own_image_query(images, launch, symbol);
    return images_hash(images, &query);
}

void own_image_distinguish(struct pipeline *pipeline)
{
    if (pipeline->images)
        kernels_distinguish(pipeline->kernels, hash_of, pipeline->images);
}
