#include "gate/recent.h"

#include "gate/kernel_table.h"
#include "gate/kernels.h"

struct recent recent[TALLIES_OWNED];

void recent_slow(uintptr_t kernel, const void *stream)
{
    uint32_t thread = tally_own() + 1;
    if (thread <= TALLIES_OWNED)
        recent_note(thread, kernel, stream);
}

static const char *recent_name(uintptr_t kernel)
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
        const char *name = recent_name(atomic_load_explicit(&of->kernel[at], memory_order_relaxed));
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

static size_t add_recent(bool all, uint32_t stream, const char **names, size_t most)
{
    size_t count = 0;
    for (int i = 0; i < TALLIES_OWNED; i++)
        count = add_thread(&recent[i], all, stream, names, count, most);
    return count;
}

size_t recent_names(const void *stream, const char **names, size_t most)
{
    size_t count = stream ? add_recent(false, recent_stream(stream), names, most) : 0;
    return count ? count : add_recent(true, 0, names, most);
}

/* ---- errors of launches ---- */

/* Errors that work which was enqueued before leaves in its context. Other ones are the failed
 * call's own. The last three are by number: headers of older toolkits have no names for them. */
static const int faults[] = {
    CUDA_ERROR_ECC_UNCORRECTABLE,
    CUDA_ERROR_NVLINK_UNCORRECTABLE,
    CUDA_ERROR_ILLEGAL_ADDRESS,
    CUDA_ERROR_LAUNCH_TIMEOUT,
    CUDA_ERROR_ASSERT,
    CUDA_ERROR_HARDWARE_STACK_ERROR,
    CUDA_ERROR_ILLEGAL_INSTRUCTION,
    CUDA_ERROR_MISALIGNED_ADDRESS,
    CUDA_ERROR_INVALID_ADDRESS_SPACE,
    CUDA_ERROR_INVALID_PC,
    CUDA_ERROR_LAUNCH_FAILED,
    CUDA_ERROR_EXTERNAL_DEVICE,
    226, /* CUDA_ERROR_CONTAINED */
    721, /* CUDA_ERROR_TENSOR_MEMORY_LEAK */
    810, /* CUDA_ERROR_MPS_CLIENT_TERMINATED */
};
enum { FAULTS = sizeof(faults) / sizeof(*faults) };

/* The row of `faults`, or -1. */
static int fault_of(CUresult result)
{
    for (int i = 0; i < FAULTS; i++) {
        if (faults[i] == (int)result)
            return i;
    }
    return -1;
}

bool recent_is_fault(CUresult result)
{
    return fault_of(result) >= 0;
}

bool recent_new_fault(CUresult result)
{
    enum { DEVICES = 64 };
    static _Atomic(uint32_t) seen[DEVICES];
    CUdevice device = 0;
    int fault = fault_of(result);
    if (fault < 0)
        return false;
    if (cuda.cuCtxGetDevice(&device) || device < 0)
        device = 0;
    uint32_t bit = 1U << (unsigned)fault;
    return !(atomic_fetch_or(&seen[device % DEVICES], bit) & bit);
}

bool recent_fault(CUresult result, const void *stream, struct api_error *error)
{
    if (!recent_new_fault(result))
        return false;
    error->error = cuda_error_name(result);
    error->names = recent_names(stream, error->name, API_ERROR_NAMES);
    return true;
}
