/* The stand-in for CUPTI: one subscriber, only what is enabled, filled in as the real one does. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <cupti.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include "newer_calls.h"

static const char ptx[] = ".version 7.0\n.target sm_75\n.address_size 64\n"
                          ".visible .entry nothing(.param .u32 number)\n{\n    ret;\n}\n";

/* ---- what a subscriber got ------------------------------------------------------------------- */

enum { EVENTS = 64 };

struct event {
    CUpti_CallbackDomain domain;
    CUpti_CallbackId cbid;
    int has_data;
    CUpti_CallbackData api;      /* DRIVER_API */
    CUresult result;             /* at exit */
    CUpti_ResourceData resource; /* RESOURCE */
    CUpti_ModuleResourceData module;
    CUpti_GraphData graph;
    char symbol[32];
};

static struct {
    struct event event[EVENTS];
    int count;
    CUpti_SubscriberHandle leave; /* unsubscribed by the next callback */
    int nested;                   /* calls cuMemGetInfo from within the next callback */
} seen;

static int is_module(CUpti_CallbackId cbid)
{
    return cbid == CUPTI_CBID_RESOURCE_MODULE_LOADED ||
           cbid == CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING;
}

static void keep_api(struct event *event, const CUpti_CallbackData *data)
{
    event->api = *data;
    if (data->callbackSite == CUPTI_API_EXIT)
        event->result = *(const CUresult *)data->functionReturnValue;
    if (data->symbolName)
        strncpy(event->symbol, data->symbolName, sizeof(event->symbol) - 1);
}

static void keep_resource(struct event *event, const CUpti_ResourceData *data)
{
    event->resource = *data;
    if (data->resourceDescriptor && is_module(event->cbid))
        event->module = *(const CUpti_ModuleResourceData *)data->resourceDescriptor;
    else if (data->resourceDescriptor)
        event->graph = *(const CUpti_GraphData *)data->resourceDescriptor;
}

static void CUPTIAPI on_callback(void *user, CUpti_CallbackDomain domain, CUpti_CallbackId cbid,
                                 const void *data)
{
    assert_ptr_equal(user, &seen);
    if (seen.count < EVENTS) {
        struct event *event = &seen.event[seen.count++];
        memset(event, 0, sizeof(*event));
        event->domain = domain;
        event->cbid = cbid;
        event->has_data = data != NULL;
        if (data && domain == CUPTI_CB_DOMAIN_DRIVER_API)
            keep_api(event, data);
        else if (data)
            keep_resource(event, data);
    }
    if (seen.leave) {
        assert_int_equal(cuptiUnsubscribe(seen.leave), CUPTI_SUCCESS);
        seen.leave = NULL;
    }
    if (seen.nested) {
        size_t free_bytes, total;
        seen.nested = 0;
        assert_int_equal(cuMemGetInfo(&free_bytes, &total), CUDA_SUCCESS);
    }
}

static CUpti_SubscriberHandle subscribe(void)
{
    CUpti_SubscriberHandle handle = NULL;
    memset(&seen, 0, sizeof(seen));
    assert_int_equal(cuptiSubscribe(&handle, on_callback, &seen), CUPTI_SUCCESS);
    assert_non_null(handle);
    return handle;
}

static void enable_driver(CUpti_SubscriberHandle handle, CUpti_CallbackId cbid)
{
    assert_int_equal(cuptiEnableCallback(1, handle, CUPTI_CB_DOMAIN_DRIVER_API, cbid),
                     CUPTI_SUCCESS);
}

/* ---- the driver ------------------------------------------------------------------------------ */

static CUcontext context;
static CUmodule module;
static CUfunction function;
static int init_events, init_had_data;

/* The end of cuInit reaches each subscriber from before it. */
static int start(void **state)
{
    (void)state;
    CUpti_SubscriberHandle handle = subscribe();
    cuptiEnableCallback(1, handle, CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_CU_INIT_FINISHED);
    if (cuInit(0))
        return 1;
    for (int i = 0; i < seen.count; i++)
        if (seen.event[i].cbid == CUPTI_CBID_RESOURCE_CU_INIT_FINISHED) {
            init_events++;
            init_had_data += seen.event[i].has_data;
        }
    cuptiUnsubscribe(handle);
    return cuDevicePrimaryCtxRetain(&context, 0) || cuCtxSetCurrent(context) ||
           cuModuleLoadData(&module, ptx) || cuModuleGetFunction(&function, module, "nothing");
}

static int finish(void **state)
{
    (void)state;
    return cuModuleUnload(module) || cuDevicePrimaryCtxRelease(0);
}

static CUresult launch(void)
{
    unsigned number = 7;
    void *params[] = {&number};
    return cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, NULL, params, NULL);
}

static void call_mem_info(void)
{
    size_t free_bytes, total;
    assert_int_equal(cuMemGetInfo(&free_bytes, &total), CUDA_SUCCESS);
}

/* ---- tests ----------------------------------------------------------------------------------- */

static void the_end_of_cuinit_is_told_without_data(void **state)
{
    (void)state;
    assert_int_equal(init_events, 1);
    assert_int_equal(init_had_data, 0);
}

static void there_is_one_subscriber(void **state)
{
    (void)state;
    CUpti_SubscriberHandle first = subscribe(), second = NULL;
    assert_int_equal(cuptiSubscribe(&second, on_callback, &seen),
                     CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
    assert_null(second);
    assert_int_equal(cuptiUnsubscribe(first), CUPTI_SUCCESS);
    assert_int_equal(cuptiUnsubscribe(first), CUPTI_ERROR_INVALID_PARAMETER);
    assert_int_equal(cuptiSubscribe(&second, on_callback, &seen), CUPTI_SUCCESS);
    assert_int_equal(
        cuptiEnableCallback(1, first, CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuInit),
        CUPTI_ERROR_INVALID_PARAMETER);
    assert_int_equal(cuptiFinalize(), CUPTI_SUCCESS);
    assert_int_equal(cuptiUnsubscribe(second), CUPTI_ERROR_INVALID_PARAMETER);
}

static void the_holder_is_named(void **state)
{
    (void)state;
#if CUPTI_API_VERSION >= 130000
    char holder[64] = "?", few[8] = "";
    CUpti_SubscriberHandle first = NULL, second = NULL;
    CUpti_SubscriberParams wish = {.structSize = CUpti_SubscriberParams_STRUCT_SIZE,
                                   .subscriberName = "first tool"};
    assert_int_equal(cuptiSubscribe_v2(&first, on_callback, &seen, &wish), CUPTI_SUCCESS);
    wish.subscriberName = "second";
    wish.oldSubscriberName = holder;
    wish.oldSubscriberSize = sizeof(holder);
    assert_int_equal(cuptiSubscribe_v2(&second, on_callback, &seen, &wish),
                     CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
    assert_string_equal(holder, "CUPTI for first tool");
    wish.oldSubscriberName = few;
    wish.oldSubscriberSize = sizeof(few);
    cuptiSubscribe_v2(&second, on_callback, &seen, &wish);
    assert_string_equal(few, "CUPTI f");
    wish.structSize = 0;
    assert_int_equal(cuptiSubscribe_v2(&second, on_callback, &seen, &wish),
                     CUPTI_ERROR_INVALID_PARAMETER);
    cuptiUnsubscribe(first);
    first = subscribe(); /* without a name */
    wish.structSize = CUpti_SubscriberParams_STRUCT_SIZE;
    cuptiSubscribe_v2(&second, on_callback, &seen, &wish);
    assert_string_equal(few, "");
    cuptiUnsubscribe(first);
#else
    skip();
#endif
}

static void bad_arguments_are_refused(void **state)
{
    (void)state;
    uint32_t on = 0;
    const char *name;
    CUpti_SubscriberHandle handle = NULL;
    assert_int_equal(cuptiSubscribe(NULL, on_callback, NULL), CUPTI_ERROR_INVALID_PARAMETER);
    assert_int_equal(cuptiSubscribe(&handle, NULL, NULL), CUPTI_ERROR_INVALID_PARAMETER);
    assert_int_equal(cuptiUnsubscribe(NULL), CUPTI_ERROR_INVALID_PARAMETER);
    handle = subscribe();
    const struct {
        unsigned domain, cbid;
        CUptiResult result;
    } ids[] = {
        {CUPTI_CB_DOMAIN_INVALID, 1, CUPTI_ERROR_INVALID_PARAMETER},
        {CUPTI_CB_DOMAIN_SIZE, 1, CUPTI_ERROR_INVALID_PARAMETER},
        {CUPTI_CB_DOMAIN_DRIVER_API, 0, CUPTI_ERROR_INVALID_PARAMETER},
        {CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_SIZE, CUPTI_ERROR_INVALID_PARAMETER},
        {CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_SIZE, CUPTI_ERROR_INVALID_PARAMETER},
        {CUPTI_CB_DOMAIN_RUNTIME_API, 1, CUPTI_ERROR_NOT_SUPPORTED},
        {CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_SIZE - 1, CUPTI_SUCCESS},
        {CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_SIZE - 1, CUPTI_SUCCESS},
    };
    for (size_t i = 0; i < sizeof(ids) / sizeof(*ids); i++) {
        assert_int_equal(cuptiEnableCallback(1, handle, ids[i].domain, ids[i].cbid), ids[i].result);
        assert_int_equal(cuptiGetCallbackState(&on, handle, ids[i].domain, ids[i].cbid),
                         ids[i].result);
        assert_int_equal(on, !ids[i].result);
    }
    assert_int_equal(cuptiGetCallbackState(NULL, handle, CUPTI_CB_DOMAIN_DRIVER_API, 1),
                     CUPTI_ERROR_INVALID_PARAMETER);
    assert_int_equal(cuptiEnableDomain(1, handle, CUPTI_CB_DOMAIN_SIZE),
                     CUPTI_ERROR_INVALID_PARAMETER);
    assert_int_equal(cuptiEnableAllDomains(1, NULL), CUPTI_ERROR_INVALID_PARAMETER);
    assert_int_equal(cuptiGetCallbackName(CUPTI_CB_DOMAIN_RESOURCE, 1, &name),
                     CUPTI_ERROR_INVALID_PARAMETER);
    assert_int_equal(cuptiGetContextId(NULL, &on), CUPTI_ERROR_INVALID_CONTEXT);
    assert_int_equal(cuptiGetContextId(context, NULL), CUPTI_ERROR_INVALID_PARAMETER);
    assert_int_equal(cuptiGetTimestamp(NULL), CUPTI_ERROR_INVALID_PARAMETER);
    cuptiUnsubscribe(handle);
}

static void only_what_is_enabled_is_sent(void **state)
{
    (void)state;
    CUpti_SubscriberHandle handle = subscribe();
    call_mem_info();
    assert_int_equal(seen.count, 0);
    enable_driver(handle, CUPTI_DRIVER_TRACE_CBID_cuMemGetInfo_v2);
    assert_int_equal(launch(), CUDA_SUCCESS);
    assert_int_equal(seen.count, 0);
    call_mem_info();
    assert_int_equal(seen.count, 2);
    cuptiEnableCallback(0, handle, CUPTI_CB_DOMAIN_DRIVER_API,
                        CUPTI_DRIVER_TRACE_CBID_cuMemGetInfo_v2);
    call_mem_info();
    assert_int_equal(seen.count, 2);
    assert_int_equal(cuptiEnableDomain(1, handle, CUPTI_CB_DOMAIN_DRIVER_API), CUPTI_SUCCESS);
    call_mem_info();
    assert_int_equal(seen.count, 4);
    assert_int_equal(cuptiEnableAllDomains(0, handle), CUPTI_SUCCESS);
    call_mem_info();
    assert_int_equal(seen.count, 4);
    cuptiEnableAllDomains(1, handle);
    cuptiUnsubscribe(handle);
    call_mem_info();
    assert_int_equal(seen.count, 4);
}

static void a_launch_is_told_in_full(void **state)
{
    (void)state;
    CUpti_SubscriberHandle handle = subscribe();
    uint32_t uid = 0;
    enable_driver(handle, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel);
    assert_int_equal(launch(), CUDA_SUCCESS);
    assert_int_equal(cuptiGetContextId(context, &uid), CUPTI_SUCCESS);
    assert_int_equal(seen.count, 2);
    for (int i = 0; i < 2; i++) {
        const CUpti_CallbackData *data = &seen.event[i].api;
        assert_int_equal(seen.event[i].cbid, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel);
        assert_int_equal(data->callbackSite, i ? CUPTI_API_EXIT : CUPTI_API_ENTER);
        assert_string_equal(data->functionName, "cuLaunchKernel");
        assert_string_equal(seen.event[i].symbol, "nothing");
        assert_ptr_equal(data->context, context);
        assert_int_equal(data->contextUid, uid);
        assert_non_null(data->functionParams);
    }
    assert_int_equal(seen.event[0].api.correlationId, seen.event[1].api.correlationId);
    assert_ptr_equal(seen.event[0].api.correlationData, seen.event[1].api.correlationData);
    assert_int_equal(seen.event[1].result, CUDA_SUCCESS);
    cuptiUnsubscribe(handle);
}

static void a_refused_call_tells_its_error(void **state)
{
    (void)state;
    CUpti_SubscriberHandle handle = subscribe();
    void *params[] = {&handle};
    enable_driver(handle, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel);
    CUresult result = cuLaunchKernel(function, 1, 1, 1, 4096, 1, 1, 0, NULL, params, NULL);
    assert_int_equal(result, CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(seen.count, 2);
    assert_int_equal(seen.event[1].result, result);
    assert_true(seen.event[1].api.correlationId > 0);
    cuptiUnsubscribe(handle);
}

static void calls_from_within_a_callback_are_told_too(void **state)
{
    (void)state;
    CUpti_SubscriberHandle handle = subscribe();
    enable_driver(handle, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel);
    enable_driver(handle, CUPTI_DRIVER_TRACE_CBID_cuMemGetInfo_v2);
    seen.nested = 1;
    assert_int_equal(launch(), CUDA_SUCCESS);
    assert_int_equal(seen.count, 4);
    assert_int_equal(seen.event[1].cbid, CUPTI_DRIVER_TRACE_CBID_cuMemGetInfo_v2);
    assert_int_equal(seen.event[2].cbid, CUPTI_DRIVER_TRACE_CBID_cuMemGetInfo_v2);
    assert_int_not_equal(seen.event[1].api.correlationId, seen.event[0].api.correlationId);
    assert_int_equal(seen.event[3].api.correlationId, seen.event[0].api.correlationId);
    cuptiUnsubscribe(handle);
}

static void a_callback_may_unsubscribe(void **state)
{
    (void)state;
    CUpti_SubscriberHandle handle = subscribe();
    enable_driver(handle, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel);
    seen.leave = handle;
    assert_int_equal(launch(), CUDA_SUCCESS);
    assert_int_equal(seen.count, 1);
    assert_int_equal(launch(), CUDA_SUCCESS);
    assert_int_equal(seen.count, 1);
}

static const struct event *find_resource(CUpti_CallbackId cbid)
{
    for (int i = 0; i < seen.count; i++)
        if (seen.event[i].domain == CUPTI_CB_DOMAIN_RESOURCE && seen.event[i].cbid == cbid)
            return &seen.event[i];
    fail_msg("no resource callback %u", cbid);
    return NULL;
}

static void contexts_streams_and_modules_are_told(void **state)
{
    (void)state;
    CUpti_SubscriberHandle handle = subscribe();
    CUcontext other;
    CUstream stream;
    CUmodule again;
    CUfunction entry;
    cuptiEnableDomain(1, handle, CUPTI_CB_DOMAIN_RESOURCE);
    assert_int_equal(cuCtxCreate(&other, NULL, 0, 0), CUDA_SUCCESS);
    assert_int_equal(cuStreamCreate(&stream, 0), CUDA_SUCCESS);
    assert_int_equal(cuModuleLoadData(&again, ptx), CUDA_SUCCESS);
    assert_int_equal(cuModuleGetFunction(&entry, again, "nothing"), CUDA_SUCCESS);
    assert_int_equal(cuModuleUnload(again), CUDA_SUCCESS);
    assert_int_equal(cuStreamDestroy(stream), CUDA_SUCCESS);
    assert_int_equal(cuCtxDestroy(other), CUDA_SUCCESS);
    assert_int_equal(cuCtxSetCurrent(context), CUDA_SUCCESS);
    cuptiUnsubscribe(handle);

    assert_ptr_equal(find_resource(CUPTI_CBID_RESOURCE_CONTEXT_CREATED)->resource.context, other);
    assert_ptr_equal(
        find_resource(CUPTI_CBID_RESOURCE_STREAM_CREATED)->resource.resourceHandle.stream, stream);
    assert_non_null(find_resource(CUPTI_CBID_RESOURCE_STREAM_DESTROY_STARTING));
    const struct event *loaded = find_resource(CUPTI_CBID_RESOURCE_MODULE_LOADED);
    const struct event *gone = find_resource(CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING);
    assert_ptr_equal(loaded->resource.context, other);
    assert_true(loaded->module.cubinSize > 0);
    assert_non_null(loaded->module.pCubin);
    assert_int_equal(gone->module.moduleId, loaded->module.moduleId);
    assert_ptr_equal(find_resource(CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING)->resource.context,
                     other);
}

static void graph_nodes_are_told(void **state)
{
    (void)state;
    CUpti_SubscriberHandle handle = subscribe();
    CUgraph graph;
    CUgraphNode node;
    cuptiEnableDomain(1, handle, CUPTI_CB_DOMAIN_RESOURCE);
    assert_int_equal(cuGraphCreate(&graph, 0), CUDA_SUCCESS);
    assert_int_equal(cuGraphAddEmptyNode(&node, graph, NULL, 0), CUDA_SUCCESS);
    assert_int_equal(cuGraphDestroy(graph), CUDA_SUCCESS);
    cuptiUnsubscribe(handle);
    assert_ptr_equal(find_resource(CUPTI_CBID_RESOURCE_GRAPH_CREATED)->graph.graph, graph);
    const struct event *made = find_resource(CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED);
    assert_ptr_equal(made->graph.graph, graph);
    assert_ptr_equal(made->graph.node, node);
    assert_int_equal(made->graph.nodeType, CU_GRAPH_NODE_TYPE_EMPTY);
    assert_non_null(find_resource(CUPTI_CBID_RESOURCE_GRAPH_DESTROY_STARTING));
}

static void names_are_those_of_the_headers(void **state)
{
    (void)state;
    const char *name = NULL;
    uint32_t version = 0, device = 7, stream = 0;
    assert_int_equal(cuptiGetCallbackName(CUPTI_CB_DOMAIN_DRIVER_API, 307, &name), CUPTI_SUCCESS);
    assert_string_equal(name, "cuLaunchKernel");
    assert_int_equal(cuptiGetCallbackName(CUPTI_CB_DOMAIN_RUNTIME_API, 1, &name), CUPTI_SUCCESS);
    assert_string_equal(name, "cudaDriverGetVersion_v3020");
    assert_int_equal(cuptiGetResultString(CUPTI_ERROR_NOT_READY, &name), CUPTI_SUCCESS);
    assert_string_equal(name, "CUPTI_ERROR_NOT_READY");
    assert_int_equal(cuptiGetResultString((CUptiResult)47, &name), CUPTI_ERROR_INVALID_PARAMETER);
    assert_string_equal(name, "<unknown>");
    assert_int_equal(cuptiGetVersion(&version), CUPTI_SUCCESS);
    assert_int_equal(version, CUPTI_API_VERSION);
    assert_int_equal(cuptiGetDeviceId(context, &device), CUPTI_SUCCESS);
    assert_int_equal(device, 0);
    device = 7;
    assert_int_equal(cuptiGetDeviceId(NULL, &device), CUPTI_SUCCESS);
    assert_int_equal(device, 0);
    assert_int_equal(cuptiGetStreamId(context, NULL, &stream), CUPTI_SUCCESS);
    assert_true(stream > 0);
}

/* ---- many threads ---------------------------------------------------------------------------- */

enum { THREADS = 4, CALLS = 2000 };

static atomic_int enters, exits;

static void CUPTIAPI count_callback(void *user, CUpti_CallbackDomain domain, CUpti_CallbackId cbid,
                                    const void *data)
{
    (void)user;
    (void)domain;
    (void)cbid;
    const CUpti_CallbackData *call = data;
    atomic_fetch_add(call->callbackSite == CUPTI_API_ENTER ? &enters : &exits, 1);
}

static void *call_often(void *user)
{
    size_t free_bytes, total;
    (void)user;
    cuCtxSetCurrent(context);
    for (int i = 0; i < CALLS; i++)
        cuMemGetInfo(&free_bytes, &total);
    return NULL;
}

static void run_threads(void (*meanwhile)(void))
{
    pthread_t thread[THREADS];
    for (int i = 0; i < THREADS; i++)
        pthread_create(&thread[i], NULL, call_often, NULL);
    meanwhile();
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
}

static void do_nothing(void)
{
}

static void come_and_go(void)
{
    for (int i = 0; i < 200; i++) {
        CUpti_SubscriberHandle handle = NULL;
        assert_int_equal(cuptiSubscribe(&handle, count_callback, NULL), CUPTI_SUCCESS);
        enable_driver(handle, CUPTI_DRIVER_TRACE_CBID_cuMemGetInfo_v2);
        assert_int_equal(cuptiUnsubscribe(handle), CUPTI_SUCCESS);
    }
}

static void no_call_of_any_thread_is_lost(void **state)
{
    (void)state;
    CUpti_SubscriberHandle handle = NULL;
    assert_int_equal(cuptiSubscribe(&handle, count_callback, NULL), CUPTI_SUCCESS);
    enable_driver(handle, CUPTI_DRIVER_TRACE_CBID_cuMemGetInfo_v2);
    run_threads(do_nothing);
    cuptiUnsubscribe(handle);
    assert_int_equal(enters, THREADS * CALLS);
    assert_int_equal(exits, THREADS * CALLS);
}

static void subscribers_come_and_go_beside_calls(void **state)
{
    (void)state;
    run_threads(come_and_go);
    int before = enters + exits;
    call_mem_info();
    assert_int_equal(enters + exits, before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_end_of_cuinit_is_told_without_data),
        cmocka_unit_test(there_is_one_subscriber),
        cmocka_unit_test(the_holder_is_named),
        cmocka_unit_test(bad_arguments_are_refused),
        cmocka_unit_test(only_what_is_enabled_is_sent),
        cmocka_unit_test(a_launch_is_told_in_full),
        cmocka_unit_test(a_refused_call_tells_its_error),
        cmocka_unit_test(calls_from_within_a_callback_are_told_too),
        cmocka_unit_test(a_callback_may_unsubscribe),
        cmocka_unit_test(contexts_streams_and_modules_are_told),
        cmocka_unit_test(graph_nodes_are_told),
        cmocka_unit_test(names_are_those_of_the_headers),
        cmocka_unit_test(no_call_of_any_thread_is_lost),
        cmocka_unit_test(subscribers_come_and_go_beside_calls),
    };
    return cmocka_run_group_tests(tests, start, finish);
}
