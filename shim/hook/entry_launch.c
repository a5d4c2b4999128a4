/*
 * entry_launch.c - wrappers of the driver functions that launch kernels and graphs.
 *
 * Most launches are of kernels that no entry names: the wrapper probes, calls the driver and tests
 * the result, and no more. All others go through begin_entry() and end().
 */
#include "base/clock.h"
#include "hook/entry_table.h"
#include "hook/launch_decode.h"

/* What end() has to do behind the launch. */
enum way {
    WAY_COUNTED, /* the launch is counted: nothing, unless it fails */
    WAY_BEGUN,   /* the core has decided on it */
};

static bool decode_entry(const void *params, enum launch_shape shape, struct launch *out)
{
    bool whole = launch_decode(params, shape, out);
    out->context = (const void *)(uintptr_t)entry_context();
    return whole;
}

/* `kernel`: core_probe's answer, which is not CORE_COUNTED. */
APART static enum way begin_entry(uintptr_t kernel, const void *params, enum launch_shape shape)
{
    struct core_shape numbers = launch_numbers(params, shape);
    if (kernel && core_passes(kernel, &numbers))
        return WAY_COUNTED;
    entry_init_finished();
    struct launch *launch = core_launch();
    if (launch && decode_entry(params, shape, launch) && core_launch_enter(kernel))
        return WAY_COUNTED;
    return WAY_BEGUN;
}

/* A launch that is to be timed (core_take_timed). */
APART static enum way begin_timed(const void *handle, const void *params, enum launch_shape shape)
{
    int64_t start = clock_ns();
    uintptr_t kernel = core_probe(handle, NULL);
    if (kernel)
        recent_launch(kernel, launch_raw_stream(params, shape));
    enum way way = kernel & CORE_COUNTED ? WAY_COUNTED : begin_entry(kernel, params, shape);
    int64_t spent = clock_ns() - start;
    if (way == WAY_COUNTED)
        core_timed(spent);
    return way;
}

APART static void end(enum way way, const void *params, enum launch_shape shape, CUresult result)
{
    struct launch launch;
    if (way == WAY_BEGUN && core_launch_open()) {
        core_launch_exit(result);
        return;
    }
    decode_entry(params, shape, &launch);
    if (way == WAY_COUNTED)
        core_launch_refused(&launch, result);
    else
        core_launch_unread(&launch, result);
}

/* `pack`: the arguments in CUPTI's parameter struct, made where it is needed alone. */
#define ENTRY_LAUNCH(symbol, shape, handle, stream_of, params, args, pack)                         \
    ENTRY_WRAPPER(symbol) params;                                                                  \
    HOT ENTRY_WRAPPER(symbol) params                                                               \
    {                                                                                              \
        CUresult(*real) params = entry_real(ENTRY_##symbol);                                       \
        enum way way = WAY_COUNTED;                                                                \
        if (UNUSUAL(!real))                                                                        \
            return CUDA_ERROR_NOT_INITIALIZED;                                                     \
        if (UNUSUAL(!entry_on()) || UNUSUAL(core_own()))                                           \
            return real args;                                                                      \
        if (UNUSUAL(core_take_timed())) {                                                          \
            way = begin_timed(handle, &pack, shape);                                               \
        } else {                                                                                   \
            uintptr_t kernel = core_probe(handle, NULL);                                           \
            if (USUAL(kernel))                                                                     \
                recent_launch(kernel, stream_of);                                                  \
            if (UNUSUAL(!(kernel & CORE_COUNTED)))                                                 \
                way = begin_entry(kernel, &pack, shape);                                           \
        }                                                                                          \
        CUresult result = real args;                                                               \
        if (UNUSUAL(way != WAY_COUNTED) || UNUSUAL(result != CUDA_SUCCESS))                        \
            end(way, &pack, shape, result);                                                        \
        return result;                                                                             \
    }

#define PLAIN_PARAMS                                                                               \
    (CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,   \
     unsigned shared, CUstream stream, void **list, void **extra)
#define PLAIN_ARGS (f, gx, gy, gz, bx, by, bz, shared, stream, list, extra)
#define PLAIN_PACK                                                                                 \
    (cuLaunchKernel_params)                                                                        \
    {                                                                                              \
        f, gx, gy, gz, bx, by, bz, shared, stream, list, extra                                     \
    }
#define COOPERATIVE_PARAMS                                                                         \
    (CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,   \
     unsigned shared, CUstream stream, void **list)
#define COOPERATIVE_ARGS (f, gx, gy, gz, bx, by, bz, shared, stream, list)
#define COOPERATIVE_PACK                                                                           \
    (cuLaunchCooperativeKernel_params)                                                             \
    {                                                                                              \
        f, gx, gy, gz, bx, by, bz, shared, stream, list                                            \
    }
#define CONFIG_PARAMS (const CUlaunchConfig *config, CUfunction f, void **list, void **extra)
#define CONFIG_ARGS   (config, f, list, extra)
#define CONFIG_PACK                                                                                \
    (cuLaunchKernelEx_params)                                                                      \
    {                                                                                              \
        config, f, list, extra                                                                     \
    }

ENTRY_LAUNCH(cuLaunchKernel, SHAPE_PLAIN, f, stream, PLAIN_PARAMS, PLAIN_ARGS, PLAIN_PACK)
ENTRY_LAUNCH(cuLaunchKernel_ptsz, SHAPE_PLAIN_PTSZ, f, stream, PLAIN_PARAMS, PLAIN_ARGS, PLAIN_PACK)
ENTRY_LAUNCH(cuLaunchKernelEx, SHAPE_CONFIG, f, config ? config->hStream : NULL, CONFIG_PARAMS,
             CONFIG_ARGS, CONFIG_PACK)
ENTRY_LAUNCH(cuLaunchKernelEx_ptsz, SHAPE_CONFIG_PTSZ, f, config ? config->hStream : NULL,
             CONFIG_PARAMS, CONFIG_ARGS, CONFIG_PACK)
ENTRY_LAUNCH(cuLaunchCooperativeKernel, SHAPE_COOPERATIVE, f, stream, COOPERATIVE_PARAMS,
             COOPERATIVE_ARGS, COOPERATIVE_PACK)
ENTRY_LAUNCH(cuLaunchCooperativeKernel_ptsz, SHAPE_COOPERATIVE_PTSZ, f, stream, COOPERATIVE_PARAMS,
             COOPERATIVE_ARGS, COOPERATIVE_PACK)

/* ---- what hides its kernels' parameters ---- */

#define ENTRY_COUNTED(symbol, params, args)                                                        \
    ENTRY_CALL(symbol, params, args, (void)0, core_launch_counted(SKIP_LEGACY, result))

ENTRY_COUNTED(cuLaunchCooperativeKernelMultiDevice,
              (CUDA_LAUNCH_PARAMS * list, unsigned devices, unsigned flags), (list, devices, flags))
ENTRY_COUNTED(cuLaunch, (CUfunction f), (f))
ENTRY_COUNTED(cuLaunchGrid, (CUfunction f, int width, int height), (f, width, height))
ENTRY_COUNTED(cuLaunchGridAsync, (CUfunction f, int width, int height, CUstream stream),
              (f, width, height, stream))

/* ---- graphs ---- */

#define ENTRY_GRAPH_LAUNCH(symbol, per_thread)                                                     \
    ENTRY_WRAPPER(symbol)(CUgraphExec exec, CUstream stream);                                      \
    ENTRY_WRAPPER(symbol)(CUgraphExec exec, CUstream stream)                                       \
    {                                                                                              \
        CUresult (*real)(CUgraphExec, CUstream) = entry_real(ENTRY_##symbol);                      \
        if (UNUSUAL(!real))                                                                        \
            return CUDA_ERROR_NOT_INITIALIZED;                                                     \
        if (UNUSUAL(!entry_reports()))                                                             \
            return real(exec, stream);                                                             \
        CUstream on = launch_stream(stream, per_thread);                                           \
        CUresult result = real(core_graph_launch_enter(exec, on, entry_context()), stream);        \
        core_graph_launch_exit(result);                                                            \
        return result;                                                                             \
    }

ENTRY_GRAPH_LAUNCH(cuGraphLaunch, false)
ENTRY_GRAPH_LAUNCH(cuGraphLaunch_ptsz, true)
