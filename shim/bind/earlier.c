#include "bind/earlier.h"

#include <string.h>

static bool same_stream(const struct launch *a, const struct launch *b)
{
    return a->stream == b->stream && a->context == b->context;
}

const struct earlier_launch *earlier_find(const struct earlier *earlier,
                                          const struct launch *launch)
{
    for (int i = 0; earlier->kept && i < EARLIER_STREAMS; i++) {
        const struct earlier_launch *of = &earlier->of[i];
        if (of->kernel && same_stream(&of->launch, launch))
            return of;
    }
    return NULL;
}

static void drop_earlier(struct earlier *earlier, const struct launch *launch)
{
    for (int i = 0; earlier->kept && i < EARLIER_STREAMS; i++) {
        struct earlier_launch *of = &earlier->of[i];
        if (of->kernel && same_stream(&of->launch, launch)) {
            of->kernel = NULL;
            earlier->kept--;
        }
    }
}

void earlier_note(struct earlier *earlier, const struct known_kernel *kernel,
                  const struct launch *launch)
{
    drop_earlier(earlier, launch);
    if (!kernel || !kernel->after)
        return;
    struct earlier_launch *of = &earlier->of[earlier->next];
    earlier->next = (earlier->next + 1) % EARLIER_STREAMS;
    earlier->kept += !of->kernel;
    of->kernel = kernel;
    of->launch = *launch;
    of->launch.params = NULL;
    of->launch.packed = of->params;
    of->launch.packed_bytes = launch_pack(launch, &kernel->layout, of->params, EARLIER_PARAMS);
}
