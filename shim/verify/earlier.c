#include "verify/earlier.h"

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

static void forget(struct earlier *earlier, const struct launch *launch)
{
    for (int i = 0; earlier->kept && i < EARLIER_STREAMS; i++) {
        struct earlier_launch *of = &earlier->of[i];
        if (of->kernel && same_stream(&of->launch, launch)) {
            of->kernel = NULL;
            earlier->kept--;
        }
    }
}

/* Parameters one by one become a packed list. */
static void copy_params(struct earlier_launch *of, const struct launch *launch)
{
    const struct param_layout *layout = &of->kernel->layout;
    size_t end = 0;
    of->launch.params = NULL;
    of->launch.packed = of->params;
    of->launch.packed_bytes = 0;
    if (layout->count > LAYOUT_MAX)
        return;
    for (unsigned i = 0; i < layout->count; i++) {
        size_t offset = layout->param[i].offset, size = layout->param[i].size;
        if (offset + size > EARLIER_PARAMS ||
            !launch_read(launch, i, offset, 0, size, of->params + offset))
            return;
        end = offset + size;
    }
    of->launch.packed_bytes = end;
}

void earlier_note(struct earlier *earlier, const struct known_kernel *kernel,
                  const struct launch *launch)
{
    forget(earlier, launch);
    if (!kernel || !kernel->after)
        return;
    struct earlier_launch *of = &earlier->of[earlier->next];
    earlier->next = (earlier->next + 1) % EARLIER_STREAMS;
    earlier->kept += !of->kernel;
    of->kernel = kernel;
    of->launch = *launch;
    copy_params(of, launch);
}
