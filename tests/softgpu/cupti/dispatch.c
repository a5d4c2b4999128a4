/* dispatch.c - fills CUpti_CallbackData and CUpti_ResourceData from the driver's data. */
#include "cupti/dispatch.h"

#include <cupti.h>
#include <stddef.h>
#include "cupti/driver.h"
#include "cupti/subscriber.h"

static __thread unsigned paused;

static bool wants_call(unsigned cbid)
{
    return !paused && subscriber_wants(CUPTI_CB_DOMAIN_DRIVER_API, cbid);
}

static void send_call(const struct hook_call *call)
{
    CUpti_CallbackData data = {
        .callbackSite = call->exit ? CUPTI_API_EXIT : CUPTI_API_ENTER,
        .functionName = call->name,
        .functionParams = call->params,
        .functionReturnValue = call->result,
        .symbolName = call->symbol,
        .context = call->context,
        .contextUid = call->context_uid,
        .correlationData = call->correlation_data,
        .correlationId = call->correlation,
    };
    if (!paused)
        subscriber_send(CUPTI_CB_DOMAIN_DRIVER_API, call->cbid, &data);
}

static bool wants_resource(unsigned cbid)
{
    return !paused && subscriber_wants(CUPTI_CB_DOMAIN_RESOURCE, cbid);
}

static bool is_module(unsigned cbid)
{
    return cbid == CUPTI_CBID_RESOURCE_MODULE_LOADED ||
           cbid == CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING;
}

static bool is_graph(unsigned cbid)
{
    return (cbid >= CUPTI_CBID_RESOURCE_GRAPH_CREATED &&
            cbid <= CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED) ||
           cbid > CUPTI_CBID_RESOURCE_STREAM_ATTRIBUTE_CHANGED;
}

static void send_resource(const struct hook_resource *event)
{
    CUpti_ModuleResourceData module = {event->module_id, event->image_bytes, event->image};
    CUpti_GraphData graph = {
        .graph = event->graph,
        .originalGraph = event->original_graph,
        .node = event->node,
        .originalNode = event->original_node,
        .nodeType = event->node_type,
        .dependency = event->dependency,
        .graphExec = event->graph_exec,
    };
    CUpti_ResourceData data = {.context = event->context, .resourceHandle.stream = event->stream};
    if (is_module(event->cbid))
        data.resourceDescriptor = &module;
    else if (is_graph(event->cbid))
        data.resourceDescriptor = &graph;
    if (!paused) /* the end of cuInit comes without data */
        subscriber_send(CUPTI_CB_DOMAIN_RESOURCE, event->cbid,
                        event->cbid == CUPTI_CBID_RESOURCE_CU_INIT_FINISHED ? NULL : &data);
}

bool dispatch_start(void)
{
    static const struct hooks hooks = {wants_call, send_call, wants_resource, send_resource};
    const struct driver *driver = driver_find();
    if (driver)
        driver->set_hooks(&hooks);
    return driver != NULL;
}

void dispatch_pause(void)
{
    paused++;
}

void dispatch_resume(void)
{
    paused--;
}
