#include "extra/repeats.h"

#include <stdlib.h>

struct repeats {
    struct repeat {
        uint64_t key, output, launch; /* key 0: empty */
    } repeat[REPEATS];
};

struct repeats *repeats_create(void)
{
    return calloc(1, sizeof(struct repeats));
}

void repeats_destroy(struct repeats *repeats)
{
    free(repeats);
}

bool repeats_differ(struct repeats *repeats, uint64_t key, uint64_t output, uint64_t launch,
                    uint64_t *earlier)
{
    if (!repeats)
        return false;
    key = key ? key : 1;
    struct repeat *repeat = &repeats->repeat[key % REPEATS];
    if (repeat->key != key) {
        *repeat = (struct repeat){key, output, launch};
        return false;
    }
    *earlier = repeat->launch;
    return repeat->output != output;
}
