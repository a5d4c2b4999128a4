#include "gate/recent.h"

#include <stdbool.h>
#include "gate/kernel_table.h"
#include "gate/kernels.h"

struct recent recent[TALLIES_OWNED];

void recent_slow(uintptr_t kernel, const void *stream)
{
    uint32_t thread = tally_own() + 1;
    if (thread <= TALLIES_OWNED)
        recent_note(thread, kernel, stream);
}

static const char *name_of(uintptr_t kernel)
{
    if (kernel == RECENT_GRAPH)
        return "a CUDA graph";
    const struct known_kernel *known =
        (const struct known_kernel *)(kernel & ~(uintptr_t)KERNEL_PASSED);
    return known ? known->symbol : NULL;
}

static size_t add_thread(const struct recent *of, bool all, uint32_t stream, const char **names,
                         size_t count, size_t most)
{
    uint32_t next = atomic_load_explicit(&of->next, memory_order_relaxed);
    size_t first = count;
    for (uint32_t i = 1; i <= RECENT && i <= next && count < most; i++) {
        uint32_t at = (next - i) % RECENT;
        const char *name = name_of(atomic_load_explicit(&of->kernel[at], memory_order_relaxed));
        bool fits = all || atomic_load_explicit(&of->stream[at], memory_order_relaxed) == stream;
        if (!name || !fits)
            continue;
        if (count == first && first > 0) {
            names[count++] = "";
            if (count == most)
                break;
        }
        names[count++] = name;
    }
    return count;
}

static size_t add_all(bool all, uint32_t stream, const char **names, size_t most)
{
    size_t count = 0;
    for (int i = 0; i < TALLIES_OWNED; i++)
        count = add_thread(&recent[i], all, stream, names, count, most);
    return count;
}

size_t recent_names(const void *stream, const char **names, size_t most)
{
    size_t count = stream ? add_all(false, recent_stream(stream), names, most) : 0;
    return count ? count : add_all(true, 0, names, most);
}
