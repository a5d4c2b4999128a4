#include "own_ptx.h"

#include <stdlib.h>
#include <string.h>
#include "lift/lift.h"
#include "tools/facts/facts.h"

char *own_ptx(struct images *images, const struct launch *launch, const char *symbol, size_t *bytes)
{
    const char *reason;
    size_t image_bytes;
    struct image_query query = {.symbol = symbol,
                                .context = launch->context,
                                .home = kernels_home(launch->function),
                                .moment = images_moment(images)};
    const struct image *image = images_hold(images, &query, &reason);
    const void *data = image_data(image, &image_bytes);
    char *text = data ? lift_text_of(data, image_bytes, bytes) : NULL;
    images_release(images, image);
    return text;
}

/* A kernels_facts_fn. */
static void read_types(void *user, const struct launch *launch, const char *symbol,
                       struct param_layout *layout)
{
    size_t bytes = 0;
    if (strncmp(symbol, "_Z", 2) == 0)
        return;
    char *text = own_ptx(user, launch, symbol, &bytes);
    if (text)
        facts_layout(text, bytes, symbol, layout);
    free(text);
}

void own_ptx_types(struct pipeline *pipeline)
{
    if (pipeline->images)
        kernels_learn(pipeline->kernels, read_types, pipeline->images);
}
