#include "hook/cupti_router.h"

#include <cupti.h>
#include <stdio.h>
#include "base/clock.h"
#include "base/hot.h"
#include "base/uninterrupted.h"
#include "driver/cupti_api.h"
#include "hook/launch_decode.h"
#include "gate/gate_table.h"
#include "gate/kernel_table.h"
#include "gate/own.h"
#include "gate/passing.h"
#include "gate/tally.h"

enum api_class { API_NONE, API_HANDLED, API_COUNTED, API_IGNORED, API_WAIT, API_END, API_MODULE };

/* What to do with a driver API, by its cbid. */
struct api_row {
    uint8_t class;
    uint8_t detail; /* enum launch_shape, enum skip or enum module_place */
};

enum { APIS = 1024, SHAPE_NONE = 0 };
enum module_place { MODULE_OUT, MODULE_IN };

#define DETAIL_HANDLED(x) SHAPE_##x
#define DETAIL_COUNTED(x) SKIP_##x
#define DETAIL_IGNORED(x) SHAPE_NONE

static const struct api_row apis[APIS] = {
#define LAUNCH_API(name, cbid, class, detail) [cbid] = {API_##class, DETAIL_##class(detail)},
#include "hook/launch_apis.def"
#undef LAUNCH_API
#define WAIT_API(name, cbid)          [cbid] = {API_WAIT, 0},
#define END_API(name, cbid)           [cbid] = {API_END, 0},
#define MODULE_API(name, cbid, where) [cbid] = {API_MODULE, MODULE_##where},
#include "hook/wait_apis.def"
#undef WAIT_API
#undef END_API
#undef MODULE_API
};

/* CUPTI's numbers never change; the newest names are unknown to the oldest headers. */
#define LAUNCH_API(name, cbid, class, detail)                                                      \
    _Static_assert(CUPTI_DRIVER_TRACE_CBID_##name == (cbid), #name);
#include "hook/launch_apis.def"
#undef LAUNCH_API
#if CUPTI_API_VERSION >= 130000
#define WAIT_API(name, cbid) _Static_assert(CUPTI_DRIVER_TRACE_CBID_##name == (cbid), #name);
#define END_API(name, cbid)  _Static_assert(CUPTI_DRIVER_TRACE_CBID_##name == (cbid), #name);
#define MODULE_API(name, cbid, where)                                                              \
    _Static_assert(CUPTI_DRIVER_TRACE_CBID_##name == (cbid), #name);
#include "hook/wait_apis.def"
#undef WAIT_API
#undef END_API
#undef MODULE_API
#endif

static const CUpti_CallbackId resource_ids[] = {
    CUPTI_CBID_RESOURCE_CONTEXT_CREATED, CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING,
    CUPTI_CBID_RESOURCE_CU_INIT_FINISHED, CUPTI_CBID_RESOURCE_MODULE_LOADED,
    CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING};

static struct router {
    atomic_bool muted;
    struct router_targets target;
    int64_t clock_ns;                 /* that reading the clock twice takes */
    _Atomic(int64_t) timed_ns, timed; /* launches that were passed over and timed: ns, number */
} router;

/* Of a thread. */
struct here {
    bool decoded;     /* launch and ticket belong to the launch between ENTER and EXIT */
    uint32_t routed;  /* calls that went to route() */
    int64_t enter_ns; /* that ENTER of a timed launch took */
    struct launch launch;
    struct ticket ticket;
};

static struct here *find_here(void)
{
    static __thread struct here here;
    return own_thread.here = &here;
}

/* What is between these two is not the program's, and its thread is not cancelled there. */
static int begin_work(void)
{
    int state = uncancelled_begin();
    own_thread.work = OWN_WORK;
    return state;
}

static void end_work(int state, enum own_work next)
{
    own_thread.work = next;
    uncancelled_end(state);
}

/* `known`: the kernel's record, where that was found already. */
static void on_enter(CUpti_CallbackId cbid, const CUpti_CallbackData *data, enum launch_shape shape,
                     struct known_kernel *known)
{
    struct here *h = own_thread.here;
    if (!h)
        h = find_here();
    h->decoded = launch_decode(data, shape, &h->launch);
    h->launch.known = known;
    if (h->decoded && pipeline_enter(router.target.pipeline, &h->launch, &h->ticket)) {
        h->decoded = false;
        own_thread.passed = cbid;
    }
}

/* Of a launch whose parameters were not read: the driver has refused it. */
static void on_exit_unread(const CUpti_CallbackData *data, enum launch_shape shape, CUresult result)
{
    struct launch launch;
    launch_decode(data, shape, &launch);
    if (result != CUDA_SUCCESS)
        pipeline_refused(router.target.pipeline, &launch, result);
    else
        pipeline_count(router.target.pipeline, SKIP_LEGACY);
}

static void on_exit_of_launch(const CUpti_CallbackData *data, enum launch_shape shape)
{
    struct here *h = own_thread.here;
    CUresult result = *(const CUresult *)data->functionReturnValue;
    if (h && h->decoded) {
        h->decoded = false;
        pipeline_exit(router.target.pipeline, &h->launch, &h->ticket, result);
        tally_let_pass(!h->ticket.remembers);
    } else {
        on_exit_unread(data, shape, result);
    }
}

static void on_counted(const CUpti_CallbackData *data, enum skip skip)
{
    if (data->callbackSite == CUPTI_API_EXIT)
        pipeline_count(router.target.pipeline,
                       *(const CUresult *)data->functionReturnValue ? SKIP_LAUNCH_FAILED : skip);
}

static void on_wait(const CUpti_CallbackData *data)
{
    if (data->callbackSite == CUPTI_API_ENTER)
        pipeline_wait_begins(router.target.pipeline, data->context);
    else
        pipeline_wait_ends(router.target.pipeline, data->context);
}

/* A call that loads a module, or may load one that was put off. */
static void on_module_call(const CUpti_CallbackData *data, enum module_place place)
{
    struct uninterrupted kept;
    const cuModuleLoadData_params *out = data->functionParams;
    const cuModuleGetFunction_params *in = data->functionParams;
    bool done = data->callbackSite == CUPTI_API_EXIT &&
                *(const CUresult *)data->functionReturnValue == CUDA_SUCCESS;
    uninterrupted_begin(&kept);
    if (!done)
        images_call_begins();
    else if (place == MODULE_IN)
        images_call_ends(router.target.images, in->hmod);
    else
        images_call_ends(router.target.images, *out->module);
    uninterrupted_end(&kept);
}

static void on_driver_api(CUpti_CallbackId cbid, const CUpti_CallbackData *data)
{
    struct api_row row = cbid < APIS ? apis[cbid] : (struct api_row){0};
    switch ((enum api_class)row.class) {
    case API_HANDLED:
        if (data->callbackSite == CUPTI_API_ENTER)
            on_enter(cbid, data, (enum launch_shape)row.detail, NULL);
        else
            on_exit_of_launch(data, (enum launch_shape)row.detail);
        break;
    case API_COUNTED:
        on_counted(data, (enum skip)row.detail);
        break;
    case API_MODULE:
        on_module_call(data, (enum module_place)row.detail);
        break;
    case API_WAIT:
        on_wait(data);
        break;
    case API_END:
        if (data->callbackSite == CUPTI_API_ENTER)
            collector_drain(router.target.pipeline->collector, router.target.end_wait_ms);
        break;
    case API_IGNORED:
    case API_NONE:
        break;
    }
}

static void on_module(const CUpti_ResourceData *data, bool loaded)
{
    const CUpti_ModuleResourceData *module = data->resourceDescriptor;
    struct uninterrupted kept;
    uninterrupted_begin(&kept);
    if (!loaded)
        kernels_doubt();
    if (module && loaded)
        images_loaded(router.target.images, data->context, module->moduleId, module->pCubin,
                      module->cubinSize);
    else if (module)
        images_unloading(router.target.images, data->context, module->moduleId);
    uninterrupted_end(&kept);
}

static void on_context_going(CUcontext context)
{
    struct uninterrupted kept;
    pipeline_context_going(router.target.pipeline, context);
    uninterrupted_begin(&kept);
    images_context_going(router.target.images, context);
    uninterrupted_end(&kept);
}

/* `data` is NULL for the end of cuInit. */
static void on_resource(CUpti_CallbackId cbid, const CUpti_ResourceData *data)
{
    if (cbid == CUPTI_CBID_RESOURCE_CU_INIT_FINISHED)
        router.target.ready(router.target.user);
    if (!data)
        return;
    if (cbid == CUPTI_CBID_RESOURCE_CONTEXT_CREATED)
        pipeline_context_created(router.target.pipeline, data->context);
    else if (cbid == CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING)
        on_context_going(data->context);
    else if (cbid == CUPTI_CBID_RESOURCE_MODULE_LOADED)
        on_module(data, true);
    else if (cbid == CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING)
        on_module(data, false);
}

/* TIMED_MOST_NS: a callback that takes longer was interrupted. */
enum { TIME_EVERY = 8, TIMED_MOST_NS = 5000 };

/* Whether the next launch is timed: behind one in TIME_EVERY of the calls that come here, so that
 * the others need no test for it. */
static enum own_work time_next(CUpti_CallbackDomain domain, const void *data)
{
    struct here *here = own_thread.here;
    return here && domain == CUPTI_CB_DOMAIN_DRIVER_API &&
                   ((const CUpti_CallbackData *)data)->callbackSite == CUPTI_API_EXIT &&
                   here->routed++ % TIME_EVERY == 0
               ? OWN_TIMED
               : OWN_NONE;
}

/* Everything but what on_callback ends itself. */
APART static void route(CUpti_CallbackDomain domain, CUpti_CallbackId cbid, const void *data)
{
    const struct here *here = own_thread.here;
    own_thread.passed = 0;
    /* A launch whose ENTER was seen is still counted at its EXIT. */
    if (atomic_load_explicit(&router.muted, memory_order_relaxed) && !(here && here->decoded))
        return;
    int state = begin_work();
    if (domain == CUPTI_CB_DOMAIN_DRIVER_API)
        on_driver_api(cbid, data);
    else if (domain == CUPTI_CB_DOMAIN_RESOURCE)
        on_resource(cbid, data);
    end_work(state, time_next(domain, data));
}

/* The driver refused a launch that was passed over: so that is what it is counted as. */
APART static void on_passed_failed(CUpti_CallbackId cbid, const CUpti_CallbackData *data,
                                   CUresult result)
{
    struct launch launch;
    int state = begin_work();
    launch_decode(data, (enum launch_shape)apis[cbid].detail, &launch);
    pipeline_passed_failed(router.target.pipeline, &launch, result);
    end_work(state, OWN_NONE);
}

/* The handle that a launch API is called with, which is all that is needed of most launches; NULL
 * for other APIs. */
HOT static inline const void *handle_of(CUpti_CallbackId cbid, const void *params)
{
    enum { WORD_PLAIN = 0, WORD_PLAIN_PTSZ = 0, WORD_CONFIG = 1, WORD_CONFIG_PTSZ = 1 };
    enum { WORD_COOPERATIVE = 0, WORD_COOPERATIVE_PTSZ = 0 };
    switch (cbid) {
#define HANDLE_HANDLED(cbid, shape)                                                                \
    case (cbid):                                                                                   \
        return ((const void *const *)params)[WORD_##shape];
#define HANDLE_COUNTED(cbid, skip)
#define HANDLE_IGNORED(cbid, none)
#define LAUNCH_API(name, cbid, class, detail) HANDLE_##class(cbid, detail)
#include "hook/launch_apis.def"
#undef LAUNCH_API
    default:
        return NULL;
    }
}

/* A launch of a kernel that is known, and not of those that no entry names, begins. */
APART static void on_known(CUpti_CallbackId cbid, const CUpti_CallbackData *data,
                           struct known_kernel *kernel)
{
    own_thread.passed = 0;
    int state = begin_work();
    on_enter(cbid, data, (enum launch_shape)apis[cbid].detail, kernel);
    end_work(state, OWN_NONE);
}

/* The launch's numbers, GATE_SHAPE_WORDS of them, and its parameters, which are NULL where the gate
 * cannot read them so; of a handled API. */
HOT static inline const uint32_t *shape_of(CUpti_CallbackId cbid, const void *params,
                                           void *const **list)
{
    _Static_assert(offsetof(cuLaunchKernel_params, sharedMemBytes) ==
                           offsetof(cuLaunchKernel_params, gridDimX) + 6 * sizeof(uint32_t) &&
                       offsetof(CUlaunchConfig, gridDimX) == 0 &&
                       offsetof(CUlaunchConfig, sharedMemBytes) == 6 * sizeof(uint32_t),
                   "the numbers of a launch lie side by side");
    _Static_assert(offsetof(cuLaunchCooperativeKernel_params, gridDimX) ==
                           offsetof(cuLaunchKernel_params, gridDimX) &&
                       offsetof(cuLaunchCooperativeKernel_params, sharedMemBytes) ==
                           offsetof(cuLaunchKernel_params, sharedMemBytes) &&
                       offsetof(cuLaunchCooperativeKernel_params, kernelParams) ==
                           offsetof(cuLaunchKernel_params, kernelParams),
                   "a cooperative launch has its parameters where others have them");
    if (cbid == CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx ||
        cbid == CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz) {
        const cuLaunchKernelEx_params *with_config = params;
        *list = with_config->config ? with_config->kernelParams : NULL;
        return (const void *)with_config->config;
    }
    const cuLaunchKernel_params *plain = params;
    *list = plain->kernelParams;
    return &plain->gridDimX;
}

/* What the launch is counted as, where it is known that it is neither checked nor looked at; else
 * SKIP_NONE. */
HOT_INLINE enum skip passed_as(CUpti_CallbackId cbid, const void *params,
                               struct known_kernel *kernel, uint32_t passes)
{
    void *const *list;
    if (atomic_load_explicit(&kernel->idle, memory_order_acquire) == gate_stamp())
        return (enum skip)atomic_load_explicit(&kernel->idle_as, memory_order_relaxed);
    const uint32_t *shape = shape_of(cbid, params, &list);
    if (UNUSUAL(!list) || UNUSUAL(!launch_can_run(shape)))
        return SKIP_NONE;
    return gate_passes(gate_notes(passing.notes, passes), &kernel->recipe, shape, list);
}

/* A launch of a registered kernel begins: most of those that are passed over end here. */
HOT APART __attribute__((aligned(64))) static void on_registered(CUpti_CallbackId cbid,
                                                                 const CUpti_CallbackData *data,
                                                                 struct known_kernel *kernel,
                                                                 uint32_t passes)
{
    struct tally *tallies = atomic_load_explicit(&kernel->tallies, memory_order_acquire);
    if (USUAL(tallies) && !UNUSUAL(atomic_load_explicit(&passing.off, memory_order_relaxed))) {
        __builtin_prefetch(tally_at(tallies, passes - 1), 1);
        enum skip skip = passed_as(cbid, data->functionParams, kernel, passes);
        if (skip) {
            tally_pass(tallies, passes, skip);
            own_thread.passed = cbid;
            own_thread.passed_as = skip;
            return;
        }
    }
    on_known(cbid, data, kernel);
}

/* Whether that is all that there is to do for a launch that begins, or for another call. */
HOT static inline bool begin(CUpti_CallbackId cbid, const CUpti_CallbackData *data)
{
    struct tally *tallies = atomic_load_explicit(&passing.unregistered, memory_order_relaxed);
    const void *handle = handle_of(cbid, data->functionParams);
    uint32_t passes = own_thread.passes;
    if (UNUSUAL(!handle) || UNUSUAL(!passes) || UNUSUAL(!tallies))
        return false;
    uintptr_t kernel = kernel_table_first(passing.kernels, handle, data->symbolName);
    if (USUAL(kernel & KERNEL_PASSED)) {
        tally_pass(tallies, passes, SKIP_UNREGISTERED);
        own_thread.passed = cbid;
        return true;
    }
    if (USUAL(kernel))
        on_registered(cbid, data, (struct known_kernel *)kernel, passes);
    return kernel != 0;
}

static void CUPTIAPI on_callback(void *user, CUpti_CallbackDomain domain, CUpti_CallbackId cbid,
                                 const void *data);

static void add_timed(int64_t ns)
{
    if (ns > TIMED_MOST_NS)
        return;
    int64_t sum = atomic_fetch_add_explicit(&router.timed_ns, ns, memory_order_relaxed) + ns;
    int64_t count = atomic_fetch_add_explicit(&router.timed, 1, memory_order_relaxed) + 1;
    atomic_store_explicit(&passing.hook_ns, sum > 0 ? (uint32_t)(sum / count) : 0,
                          memory_order_relaxed);
}

/* Times the callback: ENTER of a launch that is passed over, then its EXIT. */
APART static void time_callback(void *user, CUpti_CallbackDomain domain, CUpti_CallbackId cbid,
                                const void *data)
{
    struct here *here = own_thread.here;
    uint32_t before = own_thread.passed;
    own_thread.work = OWN_NONE;
    int64_t start = clock_ns();
    on_callback(user, domain, cbid, data);
    int64_t spent = clock_ns() - start - router.clock_ns;
    if (!here || own_thread.work)
        return;
    if (before == cbid && before) {
        add_timed(here->enter_ns + spent);
    } else if (own_thread.passed) {
        here->enter_ns = spent;
        own_thread.work = OWN_TIMED;
    }
}

/*
 * Most launches are of kernels that no entry names, and all that they meet is here: straight code,
 * on as few cache lines as can be, because each of them is cold again (base/hot.h). They are
 * counted at ENTER, when their handle's entry and the thread's tally are looked at anyway, so that
 * EXIT needs only the result.
 */
HOT __attribute__((aligned(64))) static void CUPTIAPI on_callback(void *user,
                                                                  CUpti_CallbackDomain domain,
                                                                  CUpti_CallbackId cbid,
                                                                  const void *data)
{
    const CUpti_CallbackData *api = data;
    if (UNUSUAL(own_thread.work)) {
        if (own_thread.work == OWN_TIMED)
            time_callback(user, domain, cbid, data);
        return;
    }
    if (USUAL(domain == CUPTI_CB_DOMAIN_DRIVER_API)) {
        if (api->callbackSite == CUPTI_API_ENTER) {
            if (USUAL(begin(cbid, api)))
                return;
        } else if (USUAL(own_thread.passed == cbid)) {
            CUresult result = *(const CUresult *)api->functionReturnValue;
            own_thread.passed = 0;
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
        /* A CUPTI older than the newest waits does not know them: then nobody can call them. */
        if (one && (apis[cbid].class == API_HANDLED || apis[cbid].class == API_COUNTED))
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

enum status router_start(const struct router_targets *targets, struct error *err)
{
    CUpti_SubscriberHandle subscriber;
    char holder[128];
    router.target = *targets;
    router.clock_ns = time_clock();
    passing.kernels = kernels_table(targets->pipeline->kernels);
    passing.notes = gate_all_notes(targets->pipeline->gate);
    const struct sink *sink = targets->pipeline->sink;
    atomic_store(&passing.unregistered, sink->tallies ? sink->tallies(sink->user, NULL) : NULL);
    CUptiResult result = cupti.subscribe(&subscriber, on_callback, NULL);
    if (result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED) {
        cupti_holder(holder, sizeof(holder));
        return error_set(err, STATUS_DRIVER, "%s holds the only CUPTI subscription of this process",
                         holder);
    }
    if (result)
        return error_set(err, STATUS_DRIVER, "cuptiSubscribe: %s", cupti_error_text(result));
    return enable(subscriber, err);
}

bool router_launching(void)
{
    return own_thread.here && own_thread.here->decoded;
}

void router_mute(void)
{
    atomic_store(&router.muted, true);
    atomic_store(&passing.unregistered, NULL);
}
