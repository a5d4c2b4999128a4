/* launch.h - one launch of a kernel by the program, as the hook decoded it. A value; it borrows the
 * program's memory and is valid only inside the callback. */
#ifndef VALUE_LAUNCH_H
#define VALUE_LAUNCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct earlier_launch;
struct replayed;
struct known_kernel;
struct param_layout;

/* What a kernel's code belongs to: at most one is known. */
struct kernel_home {
    const void *module;  /* CUmodule of a CUfunction */
    const void *library; /* CUlibrary of a CUkernel */
};

struct launch {
    const char *symbol;   /* mangled name, the module's memory; NULL: to be queried from the
                           * driver */
    const void *function; /* CUfunction or CUkernel, opaque here */
    const void *context;  /* CUcontext that the launch runs in */
    const void *stream;   /* explicit handle: never NULL, legacy and per-thread are spelt out */
    uint32_t grid[3], block[3];
    uint32_t shared_bytes;
    uint32_t cluster[3]; /* as the launch sets it; zeros: it does not */
    bool cooperative;
    void *const *params;   /* one pointer for each parameter; NULL when packed is used */
    const uint8_t *packed; /* all parameters in one buffer at their offsets */
    size_t packed_bytes;
    uint64_t seed; /* of what is drawn for a check; filled in where its plan has picks */
    struct known_kernel *known;           /* the result of kernels_find(); NULL: not looked up
                                           * yet */
    const struct param_layout *call;      /* of a library call: its arguments; NULL: a kernel */
    const struct earlier_launch *earlier; /* earlier.h; filled in where its plan has `after` */
    struct replayed *replayed; /* enqueue.h; NULL: the launch is no node of a CUDA graph */
};

/* Which node of which CUDA graph a launch is, and in which replay. */
struct graph_place {
    uint32_t graph;  /* from 1, in the order of instantiation; 0: no node of a graph */
    uint32_t node;   /* among the kernel nodes of the graph, from 0 */
    uint64_t replay; /* among the launches of the graph, from 0 */
};

/* What an autotuner varies of a launch. */
struct configuration {
    uint32_t grid[3], block[3], shared_bytes;
    uint32_t function; /* kernels_build(): which one of its symbol, from 0 */
};

/* Whether it is the name of a library call, such as "cublasGemmEx<f16, f16, f32, f32>": no kernel's
 * symbol has such brackets. */
static inline bool symbol_is_call(const char *symbol)
{
    return strchr(symbol, '<') != NULL;
}

/* Whether a device can run a launch of this grid and block, three numbers each, which lie side by
 * side. The driver refuses any other before it reads the parameters: they may be garbage. */
static inline bool launch_can_run(const uint32_t shape[6])
{
    const uint32_t *grid = shape, *block = shape + 3;
    /* No factor has more than 21 bits, so the product of three is whole, and 0 where one is. */
    bool small = !((block[0] | block[1] | block[2]) >> 21 | (grid[1] | grid[2]) >> 16);
    uint64_t threads = (uint64_t)block[0] * block[1] * block[2];
    uint64_t planes = (uint64_t)grid[1] * grid[2];
    return small && threads - 1 < 1024 && block[2] <= 64 && (int32_t)grid[0] > 0 && planes;
}

/* Copies parameter bytes [offset, offset + size) of parameter `index`, which starts at byte `start`
 * of the packed buffer. False when the launch does not carry them. */
static inline bool launch_read(const struct launch *launch, unsigned index, size_t start,
                               size_t offset, size_t size, void *out)
{
    if (launch->params) {
        memcpy(out, (const uint8_t *)launch->params[index] + offset, size);
        return true;
    }
    if (!launch->packed || start + offset + size > launch->packed_bytes)
        return false;
    memcpy(out, launch->packed + start + offset, size);
    return true;
}

/* The real parameter list of a kernel, from the driver, or the arguments of a library call. */
enum { LAYOUT_MAX = 96 };
struct param_layout {
    unsigned count; /* of all parameters; those past LAYOUT_MAX are not listed */
    struct {
        uint32_t offset, size;
        uint32_t
            dtype; /* enum dtype of what a pointer leads to, where the kernel's code shows it */
    } param[LAYOUT_MAX];
};

/* Bytes of the packed parameters; those past LAYOUT_MAX are not counted. */
static inline size_t param_layout_bytes(const struct param_layout *layout)
{
    unsigned listed = layout->count < LAYOUT_MAX ? layout->count : LAYOUT_MAX;
    return listed ? (size_t)layout->param[listed - 1].offset + layout->param[listed - 1].size : 0;
}

/* Packs the parameters at their offsets into `out`, which has room for `most` bytes; gaps between
 * them are zero. Returns how many bytes that are; 0 where they do not fit, or the launch does not
 * carry them all. */
static inline size_t launch_pack(const struct launch *launch, const struct param_layout *layout,
                                 uint8_t *out, size_t most)
{
    size_t end = 0;
    if (layout->count > LAYOUT_MAX)
        return 0;
    for (unsigned i = 0; i < layout->count; i++) {
        size_t offset = layout->param[i].offset, size = layout->param[i].size;
        if (offset + size > most || !launch_read(launch, i, offset, 0, size, out + offset))
            return 0;
        if (offset > end)
            memset(out + end, 0, offset - end);
        end = offset + size;
    }
    return end;
}

#endif
