#include "graph/captured.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include "base/uninterrupted.h"
#include "gate/kernels.h"
#include "system/log.h"

enum {
    MOST_ADDED = 64,   /* nodes of one call */
    MOST_BYTES = 1024, /* of a call's arguments */
    MOST_RANGES = 4096,
};

struct captured {
    pthread_mutex_t lock;
    struct captured_graph *first;
    atomic_uint graphs;
    char *range[MOST_RANGES]; /* paths of NVTX ranges; those further are left out */
    int32_t ranges;
};

struct captured_call *captured_call_hold(struct captured_call *call)
{
    atomic_fetch_add(&call->owners, 1);
    return call;
}

void captured_call_drop(struct captured_call *call)
{
    if (call && atomic_fetch_sub(&call->owners, 1) == 1)
        free(call);
}

struct captured *captured_create(void)
{
    struct captured *captured = calloc(1, sizeof(*captured));
    if (captured)
        pthread_mutex_init(&captured->lock, NULL);
    return captured;
}

static void free_graph(struct captured_graph *of)
{
    for (uint32_t i = 0; i < of->calls; i++)
        captured_call_drop(of->call[i]);
    node_map_free(&of->node);
    node_map_free(&of->range);
    free(of->call);
    free(of);
}

void captured_destroy(struct captured *captured)
{
    if (!captured)
        return;
    for (struct captured_graph *of = captured->first, *next; of; of = next) {
        next = of->next;
        free_graph(of);
    }
    for (int32_t i = 0; i < captured->ranges; i++)
        free(captured->range[i]);
    pthread_mutex_destroy(&captured->lock);
    free(captured);
}

bool captured_any(const struct captured *captured)
{
    return atomic_load_explicit(&captured->graphs, memory_order_relaxed) > 0;
}

/* ---- the list; lock held ---- */

static struct captured_graph *find_graph(struct captured *captured, CUgraph graph)
{
    struct captured_graph *of = captured->first;
    while (of && of->graph != graph)
        of = of->next;
    return of;
}

/* Frees those of one graph and of what is a child in it. */
static void drop_captured(struct captured *captured, CUgraph top)
{
    struct captured_graph **link = &captured->first;
    while (*link) {
        struct captured_graph *of = *link;
        if (of->graph != top && of->top != top) {
            link = &of->next;
            continue;
        }
        *link = of->next;
        free_graph(of);
        atomic_fetch_sub(&captured->graphs, 1);
    }
}

static struct captured_graph *add_captured(struct captured *captured, CUgraph graph, CUgraph top)
{
    struct captured_graph *of = calloc(1, sizeof(*of));
    if (!of)
        return NULL;
    of->graph = graph;
    of->top = top;
    of->ranges = captured->range;
    of->next = captured->first;
    captured->first = of;
    atomic_fetch_add(&captured->graphs, 1);
    return of;
}

/* The graph of a capture under way. What a capture that failed has left under the same handle is
 * dropped. */
static struct captured_graph *find_captured(struct captured *captured,
                                            const struct capture_point *point)
{
    struct captured_graph *of = find_graph(captured, point->graph);
    if (of && !of->ended && of->id != point->id) {
        drop_captured(captured, point->graph);
        of = NULL;
    }
    if (!of)
        of = add_captured(captured, point->graph, point->graph);
    if (of)
        of->id = point->id;
    return of;
}

static bool add_captured_call(struct captured_graph *of, struct captured_call *call)
{
    if (of->calls == of->room) {
        uint32_t room = of->room ? of->room * 2 : 16;
        struct captured_call **more = realloc(of->call, room * sizeof(struct captured_call *));
        if (!more)
            return false;
        of->call = more;
        of->room = room;
    }
    of->call[of->calls++] = call;
    return true;
}

/* ---- around a call ---- */

/* A call of which the nodes are not known is left out: its kernels are counted as any others. */
static void leave_out(const char *why)
{
    log_once(LOG_WARN, "some library calls in CUDA graphs are not checked: %s", why);
}

bool captured_is(const struct launch *launch)
{
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    CUresult result = cuda.cuStreamIsCapturing((CUstream)(uintptr_t)launch->stream, &status);
    if (result && result != CUDA_ERROR_STREAM_CAPTURE_IMPLICIT)
        leave_out("cuStreamIsCapturing failed");
    return !result && status == CU_STREAM_CAPTURE_STATUS_ACTIVE;
}

/* Where the capture is now. False: it is not known. */
static bool read_capture_point(struct capture_point *point, const struct launch *call)
{
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    const CUgraphNode *wait = NULL;
    const CUgraphEdgeData *edge = NULL;
    point->graph = NULL;
    if (!cuda.cuStreamGetCaptureInfo_v3 || !cuda.cuGraphGetNodes ||
        !cuda.cuGraphNodeGetDependencies_v2 ||
        cuda.cuStreamGetCaptureInfo_v3((CUstream)(uintptr_t)call->stream, &status, &point->id,
                                       &point->graph, &wait, &edge, &point->waits) ||
        status != CU_STREAM_CAPTURE_STATUS_ACTIVE || point->waits > CAPTURE_WAITS ||
        cuda.cuGraphGetNodes(point->graph, NULL, &point->nodes))
        return false;
    for (size_t i = 0; i < point->waits; i++) /* the list is the driver's */
        point->wait[i] = wait[i];
    return true;
}

void captured_enter(struct capture_point *point, const struct launch *call)
{
    if (read_capture_point(point, call))
        return;
    point->graph = NULL;
    leave_out("the state of a capture cannot be had");
}

/* Nodes that a call has added. */
struct added {
    CUgraphNode node[MOST_ADDED];
    size_t count;
};

static bool is_among(const CUgraphNode *nodes, size_t count, CUgraphNode node)
{
    for (size_t i = 0; i < count; i++) {
        if (nodes[i] == node)
            return true;
    }
    return false;
}

/* False: there are too many. */
static bool note_added(struct added *added, const struct capture_point *before,
                       const CUgraphNode *nodes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (is_among(before->wait, before->waits, nodes[i]) ||
            is_among(added->node, added->count, nodes[i]))
            continue;
        if (added->count == MOST_ADDED)
            return false;
        added->node[added->count++] = nodes[i];
    }
    return true;
}

/* From what the stream waits for now back to what it waited for before. These are the call's nodes
 * if the graph has grown by as many. */
static bool find_added(const struct capture_point *before, const struct capture_point *after,
                       struct added *added)
{
    CUgraphNode node[CAPTURE_WAITS];
    CUgraphEdgeData edge[CAPTURE_WAITS];
    added->count = 0;
    if (after->graph != before->graph || after->id != before->id ||
        !note_added(added, before, after->wait, after->waits))
        return false;
    for (size_t i = 0; i < added->count; i++) {
        size_t count = CAPTURE_WAITS;
        if (cuda.cuGraphNodeGetDependencies_v2(added->node[i], NULL, NULL, &count) ||
            count > CAPTURE_WAITS ||
            (count && cuda.cuGraphNodeGetDependencies_v2(added->node[i], node, edge, &count)) ||
            !note_added(added, before, node, count))
            return false;
    }
    return added->count == after->nodes - before->nodes;
}

static struct captured_call *make_call(const struct launch *call, size_t nodes)
{
    uint8_t argument[MOST_BYTES];
    size_t bytes = launch_pack(call, call->call, argument, sizeof(argument));
    struct captured_call *made = bytes ? calloc(1, sizeof(*made) + bytes) : NULL;
    if (!made)
        return NULL;
    atomic_init(&made->owners, 1);
    made->kernel = call->known;
    made->layout = call->call;
    made->nodes = (uint32_t)nodes;
    made->bytes = bytes;
    memcpy(made->argument, argument, bytes);
    return made;
}

static void keep_added(struct captured *captured, const struct capture_point *point,
                       struct captured_call *call, const struct added *added)
{
    pthread_mutex_lock(&captured->lock);
    struct captured_graph *of = find_captured(captured, point);
    if (of && add_captured_call(of, call)) {
        for (size_t i = 0; i < added->count; i++)
            call->changed |= !node_map_put(&of->node, added->node[i], (int32_t)of->calls - 1);
    } else {
        captured_call_drop(call);
    }
    pthread_mutex_unlock(&captured->lock);
}

void captured_exit(struct captured *captured, const struct capture_point *point,
                   const struct launch *call)
{
    struct uninterrupted kept;
    struct capture_point now;
    struct added added;
    if (!point->graph || !call->known || !call->known->spec)
        return;
    if (!read_capture_point(&now, call) || !find_added(point, &now, &added)) {
        leave_out("the nodes that one has added are not known");
        return;
    }
    if (!added.count)
        return;
    uninterrupted_begin(&kept);
    struct captured_call *made = make_call(call, added.count);
    if (made)
        keep_added(captured, &now, made, &added);
    else
        leave_out("there is no memory");
    uninterrupted_end(&kept);
}

/* Lock held. NODE_MAP_NONE: there is no room. Kernels of a range follow each other. */
static int32_t range_number(struct captured *captured, const char *range)
{
    enum { RECENT = 128 };
    int32_t oldest = captured->ranges > RECENT ? captured->ranges - RECENT : 0;
    for (int32_t i = captured->ranges; i-- > oldest;) {
        if (strcmp(captured->range[i], range) == 0)
            return i;
    }
    if (captured->ranges == MOST_RANGES || !(captured->range[captured->ranges] = strdup(range)))
        return NODE_MAP_NONE;
    return captured->ranges++;
}

void captured_range(struct captured *captured, const struct launch *launch, const char *range)
{
    struct uninterrupted kept;
    struct capture_point point;
    if (!captured_is(launch) || !read_capture_point(&point, launch) || point.waits != 1)
        return;
    uninterrupted_begin(&kept);
    pthread_mutex_lock(&captured->lock);
    int32_t number = range_number(captured, range);
    struct captured_graph *of = number != NODE_MAP_NONE ? find_captured(captured, &point) : NULL;
    if (of)
        node_map_put(&of->range, point.wait[0], number);
    pthread_mutex_unlock(&captured->lock);
    uninterrupted_end(&kept);
}

/* ---- the program's graphs ---- */

void captured_ended(struct captured *captured, CUgraph graph)
{
    struct uninterrupted kept;
    uninterrupted_begin(&kept);
    pthread_mutex_lock(&captured->lock);
    struct captured_graph *of = find_graph(captured, graph);
    if (of)
        of->ended = true;
    pthread_mutex_unlock(&captured->lock);
    uninterrupted_end(&kept);
}

/* The nodes of both, in the same order; how many. NULL: they cannot be had. */
static CUgraphNode *list_both(CUgraph graph, CUgraph copy, size_t *count)
{
    size_t other = 0;
    if (cuda.cuGraphGetNodes(graph, NULL, count) || cuda.cuGraphGetNodes(copy, NULL, &other) ||
        other != *count)
        return NULL;
    CUgraphNode *nodes = calloc(2 * *count + 1, sizeof(CUgraphNode));
    if (nodes && *count &&
        (cuda.cuGraphGetNodes(graph, nodes, count) ||
         cuda.cuGraphGetNodes(copy, nodes + other, &other))) {
        free(nodes);
        return NULL;
    }
    return nodes;
}

/* `to` gets the calls of `from`. */
static void copy_calls(struct captured_graph *to, const struct captured_graph *from,
                       const CUgraphNode *nodes, size_t count)
{
    to->ended = from->ended;
    for (uint32_t i = 0; i < from->calls; i++) {
        struct captured_call *call = from->call[i];
        if (!add_captured_call(to, captured_call_hold(call))) {
            captured_call_drop(call);
            return;
        }
    }
    for (size_t i = 0; i < count; i++) {
        int32_t call = node_map_find(&from->node, nodes[i]);
        int32_t range = node_map_find(&from->range, nodes[i]);
        if (range != NODE_MAP_NONE)
            node_map_put(&to->range, nodes[count + i], range);
        if (call != NODE_MAP_NONE && !node_map_put(&to->node, nodes[count + i], call))
            return; /* a call without all of its nodes is not checked */
    }
}

/* Lock held. */
static void copy_level(struct captured *captured, CUgraph graph, CUgraph copy, CUgraph top)
{
    size_t count;
    CUgraphNode *nodes = list_both(graph, copy, &count);
    const struct captured_graph *from = find_graph(captured, graph);
    struct captured_graph *to = nodes && from ? add_captured(captured, copy, top) : NULL;
    if (!nodes)
        leave_out("the nodes of a graph cannot be listed");
    if (to)
        copy_calls(to, from, nodes, count);
    for (size_t i = 0; nodes && i < count; i++) {
        CUgraphNodeType type;
        CUgraph inner, own;
        if (!cuda.cuGraphNodeGetType(nodes[i], &type) && type == CU_GRAPH_NODE_TYPE_GRAPH &&
            !cuda.cuGraphChildGraphNodeGetGraph(nodes[i], &inner) &&
            !cuda.cuGraphChildGraphNodeGetGraph(nodes[count + i], &own))
            copy_level(captured, inner, own, top);
    }
    free(nodes);
}

/* A child that is the graph itself, which its parent took over. Lock held. */
static void move_captured(struct captured *captured, CUgraph graph, CUgraph top)
{
    for (struct captured_graph *of = captured->first; of; of = of->next) {
        if (of->graph == graph || of->top == graph)
            of->top = top;
    }
}

/* Whether it has calls, or a child graph of it may. */
static bool has_any(struct captured *captured, CUgraph graph)
{
    const struct captured_graph *of = captured->first;
    while (of && of->graph != graph && of->top != graph)
        of = of->next;
    return of != NULL;
}

void captured_copied(struct captured *captured, CUgraph graph, CUgraph copy, CUgraph top)
{
    struct uninterrupted kept;
    uninterrupted_begin(&kept);
    pthread_mutex_lock(&captured->lock);
    if (graph == copy)
        move_captured(captured, graph, top);
    else if (has_any(captured, graph))
        copy_level(captured, graph, copy, top);
    pthread_mutex_unlock(&captured->lock);
    uninterrupted_end(&kept);
}

void captured_gone(struct captured *captured, CUgraph graph)
{
    struct uninterrupted kept;
    uninterrupted_begin(&kept);
    pthread_mutex_lock(&captured->lock);
    drop_captured(captured, graph);
    pthread_mutex_unlock(&captured->lock);
    uninterrupted_end(&kept);
}

/* Lock held. */
static void change(struct captured *captured, CUgraphNode node, bool removed)
{
    for (struct captured_graph *of = captured->first; of; of = of->next) {
        int32_t call = node_map_find(&of->node, node);
        if (removed && node_map_find(&of->range, node) != NODE_MAP_NONE)
            node_map_put(&of->range, node, NODE_MAP_NONE);
        if (call == NODE_MAP_NONE)
            continue;
        of->call[call]->changed = true;
        if (removed) /* its handle may be another's next */
            node_map_put(&of->node, node, NODE_MAP_NONE);
    }
}

void captured_changed(struct captured *captured, CUgraphNode node)
{
    struct uninterrupted kept;
    uninterrupted_begin(&kept);
    pthread_mutex_lock(&captured->lock);
    change(captured, node, false);
    pthread_mutex_unlock(&captured->lock);
    uninterrupted_end(&kept);
}

void captured_removed(struct captured *captured, CUgraphNode node)
{
    struct uninterrupted kept;
    CUgraphNodeType type;
    CUgraph child;
    bool has_child = !cuda.cuGraphNodeGetType(node, &type) && type == CU_GRAPH_NODE_TYPE_GRAPH &&
                     !cuda.cuGraphChildGraphNodeGetGraph(node, &child);
    uninterrupted_begin(&kept);
    pthread_mutex_lock(&captured->lock);
    change(captured, node, true);
    if (has_child)
        drop_captured(captured, child);
    pthread_mutex_unlock(&captured->lock);
    uninterrupted_end(&kept);
}

const struct captured_graph *captured_find(struct captured *captured, CUgraph graph)
{
    if (!captured_any(captured))
        return NULL;
    pthread_mutex_lock(&captured->lock);
    const struct captured_graph *of = find_graph(captured, graph);
    pthread_mutex_unlock(&captured->lock);
    return of && of->ended ? of : NULL;
}

struct captured_call *captured_call_of(const struct captured_graph *calls, CUgraphNode node)
{
    int32_t call = calls ? node_map_find(&calls->node, node) : NODE_MAP_NONE;
    return call == NODE_MAP_NONE ? NULL : calls->call[call];
}

const char *captured_range_of(const struct captured_graph *calls, CUgraphNode node)
{
    int32_t range = calls ? node_map_find(&calls->range, node) : NODE_MAP_NONE;
    return range == NODE_MAP_NONE ? NULL : calls->ranges[range];
}
