#include "hook/cupti_router.h"

#include <cupti.h>
#include <stdio.h>
#include "base/clock.h"
#include "base/hot.h"
#include "core/core.h"
#include "driver/cupti_api.h"
#include "hook/graph_calls.h"
#include "hook/launch_decode.h"

enum api_class {
    API_NONE,
    API_HANDLED,
    API_COUNTED,
    API_IGNORED,
    API_GRAPH, /* launches one */
    API_GRAPH_CALL,
    API_WAIT,
    API_UNLOAD, /* waits, too */
    API_SYNC,   /* waits for a stream, an event or a copy */
    API_END,
    API_MODULE,
    API_MAP
};

/* What to do with a driver API, by its cbid. */
struct api_row {
    uint8_t class;
    uint8_t detail; /* enum launch_shape, enum skip, enum graph_event, enum module_place */
};

enum { APIS = 1024, SHAPE_NONE = 0 };
enum module_place { MODULE_OUT, MODULE_IN };
enum sync_place { SYNC_STREAM /* the first parameter */, SYNC_ANY };

#define DETAIL_HANDLED(x) SHAPE_##x
#define DETAIL_COUNTED(x) SKIP_##x
#define DETAIL_IGNORED(x) SHAPE_NONE
#define DETAIL_GRAPH(x)   SHAPE_##x

static const struct api_row apis[APIS] = {
#define LAUNCH_API(name, cbid, class, detail) [cbid] = {API_##class, DETAIL_##class(detail)},
#include "hook/launch_apis.def"
#undef LAUNCH_API
#define WAIT_API(name, cbid)          [cbid] = {API_WAIT, 0},
#define UNLOAD_API(name, cbid)        [cbid] = {API_UNLOAD, 0},
#define SYNC_API(name, cbid, where)   [cbid] = {API_SYNC, SYNC_##where},
#define END_API(name, cbid)           [cbid] = {API_END, 0},
#define MODULE_API(name, cbid, where) [cbid] = {API_MODULE, MODULE_##where},
#define MAP_API(name, cbid)           [cbid] = {API_MAP, 0},
#include "hook/wait_apis.def"
#undef WAIT_API
#undef UNLOAD_API
#undef SYNC_API
#undef END_API
#undef MODULE_API
#undef MAP_API
#define GRAPH_API(name, cbid, event) [cbid] = {API_GRAPH_CALL, GRAPH_EVENT_##event},
#include "hook/graph_apis.def"
#undef GRAPH_API
};

/* CUPTI's numbers never change; the newest names are unknown to the oldest headers. */
#define LAUNCH_API(name, cbid, class, detail)                                                      \
    _Static_assert(CUPTI_DRIVER_TRACE_CBID_##name == (cbid), #name);
#include "hook/launch_apis.def"
#undef LAUNCH_API
#if CUPTI_API_VERSION >= 130000
#define GRAPH_API(name, cbid, event)                                                               \
    _Static_assert(CUPTI_DRIVER_TRACE_CBID_##name == (cbid), #name);
#include "hook/graph_apis.def"
#undef GRAPH_API
#define WAIT_API(name, cbid)        _Static_assert(CUPTI_DRIVER_TRACE_CBID_##name == (cbid), #name);
#define UNLOAD_API(name, cbid)      _Static_assert(CUPTI_DRIVER_TRACE_CBID_##name == (cbid), #name);
#define SYNC_API(name, cbid, where) _Static_assert(CUPTI_DRIVER_TRACE_CBID_##name == (cbid), #name);
#define END_API(name, cbid)         _Static_assert(CUPTI_DRIVER_TRACE_CBID_##name == (cbid), #name);
#define MODULE_API(name, cbid, where)                                                              \
    _Static_assert(CUPTI_DRIVER_TRACE_CBID_##name == (cbid), #name);
#define MAP_API(name, cbid) _Static_assert(CUPTI_DRIVER_TRACE_CBID_##name == (cbid), #name);
#include "hook/wait_apis.def"
#undef WAIT_API
#undef UNLOAD_API
#undef SYNC_API
#undef END_API
#undef MODULE_API
#undef MAP_API
#endif

static const CUpti_CallbackId resource_ids[] = {
    CUPTI_CBID_RESOURCE_CONTEXT_CREATED, CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING,
    CUPTI_CBID_RESOURCE_CU_INIT_FINISHED, CUPTI_CBID_RESOURCE_MODULE_LOADED,
    CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING};

static struct router {
    int64_t clock_ns; /* that reading the clock twice takes */
} router;

static HOT_TLS int64_t enter_ns; /* that ENTER of a timed launch took */

static bool decode_callback(const CUpti_CallbackData *data, enum launch_shape shape,
                            struct launch *out)
{
    bool whole = launch_decode(data->functionParams, shape, out);
    out->symbol = data->symbolName;
    out->context = (const void *)(uintptr_t)data->context;
    return whole;
}

/* `kernel`: the kernel's record, where that was found already. */
static void on_enter(CUpti_CallbackId cbid, const CUpti_CallbackData *data, uintptr_t kernel)
{
    struct launch *launch = core_launch();
    if (launch && decode_callback(data, (enum launch_shape)apis[cbid].detail, launch) &&
        core_launch_enter(kernel))
        core_mark_passed(cbid);
}

static void on_exit_of_launch(const CUpti_CallbackData *data, enum launch_shape shape)
{
    CUresult result = *(const CUresult *)data->functionReturnValue;
    struct launch launch;
    if (core_launch_open()) {
        core_launch_exit(result);
    } else {
        decode_callback(data, shape, &launch);
        core_launch_unread(&launch, result);
    }
}

static void count_callback(const CUpti_CallbackData *data, enum skip skip)
{
    if (data->callbackSite == CUPTI_API_EXIT)
        core_launch_counted(skip, *(const CUresult *)data->functionReturnValue);
}

/* What a call that waits, or queries, returned. */
static void on_waited(const CUpti_CallbackData *data, enum sync_place place)
{
    CUresult result = *(const CUresult *)data->functionReturnValue;
    const cuStreamSynchronize_params *params = data->functionParams;
    if (UNUSUAL(result != CUDA_SUCCESS) && result != CUDA_ERROR_NOT_READY)
        core_api_failed(data->functionName, result, place == SYNC_STREAM ? params->hStream : NULL);
}

static void on_wait(const CUpti_CallbackData *data)
{
    if (data->callbackSite == CUPTI_API_ENTER) {
        core_wait_begins(data->context);
        return;
    }
    core_wait_ends(data->context);
    on_waited(data, SYNC_ANY);
}

static void on_map(const CUpti_CallbackData *data)
{
    const cuTensorMapEncodeTiled_params *p = data->functionParams;
    if (*(const CUresult *)data->functionReturnValue != CUDA_SUCCESS)
        return;
    core_tensor_map(&(struct tensor_map_call){
        p->tensorMap, p->tensorDataType, p->tensorRank, p->globalAddress, p->globalDim,
        p->globalStrides, p->boxDim, p->elementStrides, p->interleave, p->swizzle, p->oobFill});
}

/* A call that loads a module, or may load one that was put off. */
static void on_module_call(const CUpti_CallbackData *data, enum module_place place)
{
    const cuModuleLoadData_params *out = data->functionParams;
    const cuModuleGetFunction_params *in = data->functionParams;
    if (data->callbackSite == CUPTI_API_ENTER)
        core_module_call_begins();
    else if (*(const CUresult *)data->functionReturnValue != CUDA_SUCCESS)
        core_module_call_ends(NULL);
    else
        core_module_call_ends(place == MODULE_IN ? in->hmod : *out->module);
}

static void on_driver_api(CUpti_CallbackId cbid, const CUpti_CallbackData *data)
{
    struct api_row row = cbid < APIS ? apis[cbid] : (struct api_row){0};
    switch ((enum api_class)row.class) {
    case API_HANDLED:
        if (data->callbackSite == CUPTI_API_ENTER)
            on_enter(cbid, data, 0);
        else
            on_exit_of_launch(data, (enum launch_shape)row.detail);
        break;
    case API_COUNTED:
        count_callback(data, (enum skip)row.detail);
        break;
    case API_GRAPH:
        graph_call_launch(data, row.detail == SHAPE_PLAIN_PTSZ);
        break;
    case API_GRAPH_CALL:
        graph_call(data, (enum graph_event)row.detail);
        break;
    case API_MAP:
        if (data->callbackSite == CUPTI_API_EXIT)
            on_map(data);
        break;
    case API_MODULE:
        on_module_call(data, (enum module_place)row.detail);
        break;
    case API_UNLOAD:
        if (data->callbackSite == CUPTI_API_ENTER)
            core_unload_begins();
        on_wait(data);
        break;
    case API_WAIT:
        on_wait(data);
        break;
    case API_SYNC:
        if (data->callbackSite == CUPTI_API_EXIT)
            on_waited(data, (enum sync_place)row.detail);
        break;
    case API_END:
        if (data->callbackSite == CUPTI_API_ENTER)
            core_context_ending(data->context);
        break;
    case API_IGNORED:
    case API_NONE:
        break;
    }
}

static void on_module(const CUpti_ResourceData *data, bool loaded)
{
    const CUpti_ModuleResourceData *module = data->resourceDescriptor;
    if (module && loaded)
        core_module_loaded(data->context, module->moduleId, module->pCubin, module->cubinSize);
    else if (!loaded)
        core_module_unloading(data->context, module ? module->moduleId : UINT32_MAX);
}

/* `data` is NULL for the end of cuInit. */
static void on_resource(CUpti_CallbackId cbid, const CUpti_ResourceData *data)
{
    if (cbid == CUPTI_CBID_RESOURCE_CU_INIT_FINISHED)
        core_init_finished();
    if (!data)
        return;
    if (cbid == CUPTI_CBID_RESOURCE_CONTEXT_CREATED)
        core_context_created(data->context);
    else if (cbid == CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING)
        core_context_going(data->context);
    else if (cbid == CUPTI_CBID_RESOURCE_MODULE_LOADED)
        on_module(data, true);
    else if (cbid == CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING)
        on_module(data, false);
}

/* Everything but what on_callback ends itself. */
APART static void route(CUpti_CallbackDomain domain, CUpti_CallbackId cbid, const void *data)
{
    core_mark_passed(0);
    if (domain == CUPTI_CB_DOMAIN_DRIVER_API)
        on_driver_api(cbid, data);
    else if (domain == CUPTI_CB_DOMAIN_RESOURCE)
        on_resource(cbid, data);
}

/* The driver refused a launch that was passed over: so that is what it is counted as. */
APART static void on_passed_failed(CUpti_CallbackId cbid, const CUpti_CallbackData *data,
                                   CUresult result)
{
    struct launch launch;
    decode_callback(data, (enum launch_shape)apis[cbid].detail, &launch);
    core_launch_refused(&launch, result);
}

enum { NO_LAUNCH = -1 };

/* SHAPE_PLAIN or SHAPE_CONFIG, as the parameters of the launch API lie; NO_LAUNCH: another API. */
HOT static inline int shape_by_id(CUpti_CallbackId cbid)
{
    enum { LIES_PLAIN = SHAPE_PLAIN, LIES_PLAIN_PTSZ = SHAPE_PLAIN };
    enum { LIES_COOPERATIVE = SHAPE_PLAIN, LIES_COOPERATIVE_PTSZ = SHAPE_PLAIN };
    enum { LIES_CONFIG = SHAPE_CONFIG, LIES_CONFIG_PTSZ = SHAPE_CONFIG };
    switch (cbid) {
#define LIES_HANDLED(cbid, shape)                                                                  \
    case (cbid):                                                                                   \
        return LIES_##shape;
#define LIES_COUNTED(cbid, skip)
#define LIES_IGNORED(cbid, none)
#define LIES_GRAPH(cbid, shape)
#define LAUNCH_API(name, cbid, class, detail) LIES_##class(cbid, detail)
#include "hook/launch_apis.def"
#undef LAUNCH_API
    default:
        return NO_LAUNCH;
    }
}

/* A launch of a kernel that is known, and not of those that no entry names, begins. */
APART static void on_known(CUpti_CallbackId cbid, const CUpti_CallbackData *data, uintptr_t kernel)
{
    core_mark_passed(0);
    on_enter(cbid, data, kernel);
}

/* A launch of a registered kernel begins: most of those that are passed over end here. */
HOT APART __attribute__((aligned(64))) static void on_registered(CUpti_CallbackId cbid,
                                                                 const CUpti_CallbackData *data,
                                                                 uintptr_t kernel,
                                                                 struct core_shape launch)
{
    if (core_passes(kernel, &launch))
        core_mark_passed(cbid);
    else
        on_known(cbid, data, kernel);
}

/* Whether that is all that there is to do for a launch that begins. */
HOT_INLINE bool begin_launch(CUpti_CallbackId cbid, const CUpti_CallbackData *data,
                             enum launch_shape shape)
{
    const void *params = data->functionParams;
    uintptr_t kernel = core_probe(launch_raw_handle(params, shape), data->symbolName);
    if (UNUSUAL(!kernel))
        return false;
    recent_launch(kernel, launch_raw_stream(params, shape));
    if (USUAL(kernel & CORE_COUNTED))
        core_mark_passed(cbid);
    else
        on_registered(cbid, data, kernel, launch_numbers(params, shape));
    return true;
}

/* The same for any call. */
HOT_INLINE bool begin(CUpti_CallbackId cbid, const CUpti_CallbackData *data)
{
    int shape = shape_by_id(cbid);
    if (shape == SHAPE_PLAIN)
        return begin_launch(cbid, data, SHAPE_PLAIN);
    return shape == SHAPE_CONFIG && begin_launch(cbid, data, SHAPE_CONFIG);
}

static void CUPTIAPI on_callback(void *user, CUpti_CallbackDomain domain, CUpti_CallbackId cbid,
                                 const void *data);

/*
 * A callback inside a driver call that cuvet makes. At start one of these calls is the trial of
 * redirecting launches of graphs. With lazy loading the driver loads a module of the program at the
 * first query of one of its kernels, which cuvet makes before the launch.
 */
APART static void on_own(CUpti_CallbackDomain domain, CUpti_CallbackId cbid, const void *data)
{
    const CUpti_ResourceData *resource = data;
    const CUpti_ModuleResourceData *module;
    if (domain == CUPTI_CB_DOMAIN_RESOURCE && cbid == CUPTI_CBID_RESOURCE_MODULE_LOADED) {
        module = resource->resourceDescriptor;
        if (module)
            core_module_loaded_within(resource->context, module->moduleId, module->pCubin,
                                      module->cubinSize);
    }
    if (domain == CUPTI_CB_DOMAIN_DRIVER_API && cbid < APIS && apis[cbid].class == API_GRAPH)
        graph_call_trial(data);
}

/* Times the callback: ENTER of a launch that is passed over, then its EXIT. */
APART static void time_callback(void *user, CUpti_CallbackDomain domain, CUpti_CallbackId cbid,
                                const void *data)
{
    uint32_t before = core_passed_mark();
    int64_t start = clock_ns();
    on_callback(user, domain, cbid, data);
    int64_t spent = clock_ns() - start - router.clock_ns;
    if (core_occupied())
        return;
    if (before == cbid && before) {
        core_timed(enter_ns + spent);
    } else if (core_passed_mark()) {
        enter_ns = spent;
        core_time_next();
    }
}

/*
 * Most launches are of kernels that no entry names, and all code that they run is here: straight
 * code, on as few cache lines as can be, because each of them is cold again (base/hot.h). They are
 * counted at ENTER, when their handle's entry and the thread's tally are read anyway, so that EXIT
 * needs only the result.
 */
HOT __attribute__((aligned(64))) static void CUPTIAPI on_callback(void *user,
                                                                  CUpti_CallbackDomain domain,
                                                                  CUpti_CallbackId cbid,
                                                                  const void *data)
{
    const CUpti_CallbackData *api = data;
    if (core_occupied()) {
        if (core_take_timed())
            time_callback(user, domain, cbid, data);
        else
            on_own(domain, cbid, data);
        return;
    }
    if (USUAL(domain == CUPTI_CB_DOMAIN_DRIVER_API)) {
        if (api->callbackSite == CUPTI_API_ENTER) {
            if (USUAL(begin(cbid, api)))
                return;
        } else if (USUAL(core_passed_mark() == cbid)) {
            CUresult result = *(const CUresult *)api->functionReturnValue;
            core_mark_passed(0);
            if (UNUSUAL(result != CUDA_SUCCESS))
                on_passed_failed(cbid, api, result);
            return;
        }
    }
    route(domain, cbid, data);
}

static enum status enable(CUpti_SubscriberHandle subscriber, struct error *err)
{
    CUptiResult result = CUPTI_SUCCESS;
    for (uint32_t cbid = 0; cbid < APIS && !result; cbid++) {
        if (apis[cbid].class == API_NONE || apis[cbid].class == API_IGNORED)
            continue;
        CUptiResult one = cupti.enable(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API, cbid);
        /* A CUPTI older than the newest waits does not list them: then no program can call them. */
        if (one && (apis[cbid].class == API_HANDLED || apis[cbid].class == API_COUNTED ||
                    apis[cbid].class == API_GRAPH))
            result = one;
    }
    for (size_t i = 0; i < sizeof(resource_ids) / sizeof(*resource_ids) && !result; i++)
        result = cupti.enable(1, subscriber, CUPTI_CB_DOMAIN_RESOURCE, resource_ids[i]);
    if (result) {
        cupti.unsubscribe(subscriber);
        return error_set(err, STATUS_DRIVER, "cuptiEnableCallback: %s", cupti_error_text(result));
    }
    return STATUS_OK;
}

/* The least of some: the others were interrupted. */
static int64_t time_clock(void)
{
    enum { TIMES = 64 };
    int64_t least = INT64_MAX;
    for (int i = 0; i < TIMES; i++) {
        int64_t start = clock_ns(), spent = clock_ns() - start;
        least = spent < least ? spent : least;
    }
    return least;
}

enum status router_start(struct error *err)
{
    CUpti_SubscriberHandle subscriber;
    char holder[128];
    router.clock_ns = time_clock();
    CUptiResult result = cupti.subscribe(&subscriber, on_callback, NULL);
    if (result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED)
        result = cupti_share(&subscriber, on_callback);
    if (result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED) {
        cupti_holder(holder, sizeof(holder));
        return error_set(err, STATUS_DRIVER, "%s holds the only CUPTI subscription of this process",
                         holder);
    }
    if (result)
        return error_set(err, STATUS_DRIVER, "cuptiSubscribe: %s", cupti_error_text(result));
    return enable(subscriber, err);
}
