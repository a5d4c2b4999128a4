/*
 * graph_calls.h - the parameters of driver APIs on graphs, passed on to core.h.
 */
#ifndef HOOK_GRAPH_CALLS_H
#define HOOK_GRAPH_CALLS_H

#include <cupti.h>
#include <stdbool.h>

enum graph_event {
    GRAPH_EVENT_MADE,
    GRAPH_EVENT_MADE_FLAGS,
    GRAPH_EVENT_MADE_PARAMS,
    GRAPH_EVENT_UPDATED,
    GRAPH_EVENT_GONE,
    GRAPH_EVENT_ENABLED,
    GRAPH_EVENT_SET_KERNEL_OLD,
    GRAPH_EVENT_SET_KERNEL,
    GRAPH_EVENT_SET_MEMCPY,
    GRAPH_EVENT_SET_MEMSET,
    GRAPH_EVENT_SET_HOST,
    GRAPH_EVENT_SET_EVENT_RECORD,
    GRAPH_EVENT_SET_EVENT_WAIT,
    GRAPH_EVENT_SET_MEMOPS,
    GRAPH_EVENT_SET_ANY,
    GRAPH_EVENT_SET_CHILD,
    GRAPH_EVENT_SET_OTHER,
    /* of templates */
    GRAPH_EVENT_CAPTURED,
    GRAPH_EVENT_DESTROYED,
    GRAPH_EVENT_CLONED,
    GRAPH_EVENT_CHILD,
    GRAPH_EVENT_NODE,
    GRAPH_EVENT_NODE_EDGES,
    GRAPH_EVENT_NODE_DESTROYED,
    GRAPH_EVENT_NODE_CHANGED,
};

/* ENTER and EXIT of an API of graph_apis.def. */
void graph_call(const CUpti_CallbackData *data, enum graph_event event);

/* ENTER and EXIT of cuGraphLaunch: at ENTER the parameters get what is to be launched. */
void graph_call_launch(const CUpti_CallbackData *data, bool per_thread);
/* The same for a launch of the library itself. */
void graph_call_trial(const CUpti_CallbackData *data);

#endif
