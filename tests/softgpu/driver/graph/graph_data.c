/* graph_data.c - graphs as data: nodes, edges, handles, and the lock that guards them all. */
#include "driver/graph/graph_data.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "driver/context/device.h"
#include "driver/graph/graph_conditional.h"
#include "driver/base/handles.h"
#include "driver/base/settings.h"

static pthread_mutex_t graph_lock = PTHREAD_MUTEX_INITIALIZER;
static struct handles graphs = HANDLES_INITIALIZER;
static struct handles nodes = HANDLES_INITIALIZER;
static struct handles execs = HANDLES_INITIALIZER;

void *must_allocate(size_t count, size_t size)
{
    void *memory = calloc(count ? count : 1, size);
    if (!memory)
        softgpu_abort("out of memory for a graph");
    return memory;
}

void *must_grow(void *items, size_t count, size_t *room, size_t size)
{
    if (count < *room)
        return items;
    size_t more = *room ? 2 * *room : 4;
    void *grown = reallocarray(items, more, size);
    if (!grown)
        softgpu_abort("out of memory for a graph");
    *room = more;
    return grown;
}

static void *must_add(struct handles *table, void *object)
{
    void *handle = handles_add(table, object);
    if (!handle)
        softgpu_abort("out of memory for a graph");
    return handle;
}

void section_begin(struct section *section, struct context *context)
{
    *section = (struct section){.context = context ? context_handle(context) : NULL};
    pthread_mutex_lock(&graph_lock);
}

CUresult section_end(struct section *section, CUresult result)
{
    pthread_mutex_unlock(&graph_lock);
    for (size_t i = 0; i < section->notice_count; i++)
        hooks_resource(&section->notices[i]);
    for (size_t i = 0; i < section->drop_count; i++)
        shared_work_drop(section->drops[i]);
    free(section->notices);
    free(section->drops);
    return result;
}

void section_wait(pthread_cond_t *condition)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += 20 * 1000000;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pthread_cond_timedwait(condition, &graph_lock, &until);
}

void section_note(struct section *section, struct hook_resource event)
{
    section->notices = must_grow(section->notices, section->notice_count, &section->notice_room,
                                 sizeof(*section->notices));
    event.context = section->context;
    section->notices[section->notice_count++] = event;
}

void section_drop(struct section *section, struct shared_work *work)
{
    if (!work)
        return;
    section->drops = must_grow(section->drops, section->drop_count, &section->drop_room,
                               sizeof(struct shared_work *));
    section->drops[section->drop_count++] = work;
}

struct graph *graph_find(CUgraph handle)
{
    return handles_find(&graphs, handle, NULL);
}

struct node *node_find(CUgraphNode handle)
{
    return handles_find(&nodes, handle, NULL);
}

struct exec *exec_find(CUgraphExec handle)
{
    return handles_find(&execs, handle, NULL);
}

CUgraphExec exec_handle_add(struct exec *exec)
{
    return must_add(&execs, exec);
}

void exec_handle_remove(CUgraphExec handle)
{
    handles_remove(&execs, handle);
}

struct shared_work *shared_work_new(struct work work)
{
    struct shared_work *shared = must_allocate(1, sizeof(*shared));
    atomic_init(&shared->owners, 1);
    shared->work = work;
    return shared;
}

struct shared_work *shared_work_hold(struct shared_work *work)
{
    if (work)
        atomic_fetch_add_explicit(&work->owners, 1, memory_order_relaxed);
    return work;
}

void shared_work_drop(struct shared_work *work)
{
    if (!work || atomic_fetch_sub_explicit(&work->owners, 1, memory_order_acq_rel) != 1)
        return;
    work->work.type->drop(work->work.data);
    free(work);
}

CUgraphNodeType node_type_of_work(enum work_kind kind)
{
    static const CUgraphNodeType types[] = {
        [WORK_KERNEL] = CU_GRAPH_NODE_TYPE_KERNEL,
        [WORK_COPY] = CU_GRAPH_NODE_TYPE_MEMCPY,
        [WORK_SET] = CU_GRAPH_NODE_TYPE_MEMSET,
        [WORK_HOST] = CU_GRAPH_NODE_TYPE_HOST,
        [WORK_ALLOC] = CU_GRAPH_NODE_TYPE_MEM_ALLOC,
        [WORK_FREE] = CU_GRAPH_NODE_TYPE_MEM_FREE,
        [WORK_EVENT_RECORD] = CU_GRAPH_NODE_TYPE_EVENT_RECORD,
        [WORK_EVENT_WAIT] = CU_GRAPH_NODE_TYPE_WAIT_EVENT,
        [WORK_MEMOP] = CU_GRAPH_NODE_TYPE_BATCH_MEM_OP,
        [WORK_OTHER] = CU_GRAPH_NODE_TYPE_EMPTY,
    };
    return types[kind];
}

struct graph *graph_new(struct section *section, const struct graph *original)
{
    struct graph *graph = must_allocate(1, sizeof(*graph));
    graph->handle = must_add(&graphs, graph);
    section_note(section,
                 (struct hook_resource){.cbid = RESOURCE_GRAPH_CREATED, .graph = graph->handle});
    if (original) {
        graph->original = original->handle;
        section_note(section, (struct hook_resource){.cbid = RESOURCE_GRAPH_CLONED,
                                                     .graph = graph->handle,
                                                     .original_graph = original->handle});
    }
    return graph;
}

static struct hook_resource node_event(enum resource_id id, const struct node *node)
{
    return (struct hook_resource){
        .cbid = id, .graph = node->graph->handle, .node = node->handle, .node_type = node->type};
}

/* Without taking it out of the graph's list. */
static void release_node(struct section *section, struct node *node)
{
    handles_remove(&nodes, node->handle);
    section_drop(section, node->work);
    if (node->child)
        graph_free(section, node->child);
    if (node->conditional)
        conditional_free(section, node->conditional);
    free(node->in.at);
    free(node->out.at);
    free(node);
}

void graph_free(struct section *section, struct graph *graph)
{
    handles_remove(&graphs, graph->handle);
    for (size_t i = 0; i < graph->count; i++)
        release_node(section, graph->nodes[i]);
    free(graph->nodes);
    free(graph);
}

struct node *node_new(struct section *section, struct graph *graph, CUgraphNodeType type,
                      struct context *context, struct work work, struct graph *child)
{
    struct node *node = must_allocate(1, sizeof(*node));
    node->type = type;
    node->graph = graph;
    node->context = context;
    node->work = work.type ? shared_work_new(work) : NULL;
    node->child = child;
    if (child)
        child->owned = true;
    node->enabled = true;
    node->index = graph->count;
    section_note(section, node_event(RESOURCE_NODE_CREATE_STARTING, node));
    node->handle = must_add(&nodes, node);
    graph->nodes = must_grow(graph->nodes, graph->count, &graph->room, sizeof(struct node *));
    graph->nodes[graph->count++] = node;
    section_note(section, node_event(RESOURCE_NODE_CREATED, node));
    return node;
}

void node_set_work(struct section *section, struct node *node, struct work work)
{
    section_drop(section, node->work);
    node->work = shared_work_new(work);
}

static void push_edge(struct edges *edges, struct node *node, const CUgraphEdgeData *data)
{
    edges->at = must_grow(edges->at, edges->count, &edges->room, sizeof(*edges->at));
    edges->at[edges->count++] = (struct edge){.node = node, .data = *data};
}

static void pull_edge(struct edges *edges, const struct node *node)
{
    size_t i = 0;
    while (i < edges->count && edges->at[i].node != node)
        i++;
    if (i == edges->count)
        return;
    memmove(edges->at + i, edges->at + i + 1, (edges->count - i - 1) * sizeof(*edges->at));
    edges->count--;
}

struct edge *edge_find(const struct node *from, const struct node *to)
{
    for (size_t i = 0; i < to->in.count; i++) {
        if (to->in.at[i].node == from)
            return &to->in.at[i];
    }
    return NULL;
}

void edge_add(struct section *section, struct node *from, struct node *to,
              const CUgraphEdgeData *data)
{
    static const CUgraphEdgeData plain;
    push_edge(&from->out, to, data ? data : &plain);
    push_edge(&to->in, from, data ? data : &plain);
    struct hook_resource event = node_event(RESOURCE_DEPENDENCY_CREATED, to);
    event.dependency = from->handle;
    section_note(section, event);
}

void edge_remove(struct section *section, struct node *from, struct node *to)
{
    pull_edge(&from->out, to);
    pull_edge(&to->in, from);
    struct hook_resource event = node_event(RESOURCE_DEPENDENCY_DESTROY_STARTING, to);
    event.dependency = from->handle;
    section_note(section, event);
}

void node_free(struct section *section, struct node *node)
{
    while (node->in.count > 0)
        edge_remove(section, node->in.at[0].node, node);
    while (node->out.count > 0)
        edge_remove(section, node, node->out.at[0].node);
    struct graph *graph = node->graph;
    graph->count--;
    for (size_t i = node->index; i < graph->count; i++) {
        graph->nodes[i] = graph->nodes[i + 1];
        graph->nodes[i]->index = i;
    }
    release_node(section, node);
}

struct work node_copy_work(const struct node *node)
{
    if (!node->work)
        return (struct work){0};
    struct work work = {.type = node->work->work.type};
    work.data = work.type->copy(node->work->work.data);
    if (!work.data)
        softgpu_abort("out of memory for a graph");
    return work;
}

struct graph *graph_copy(struct section *section, const struct graph *from)
{
    struct graph *graph = graph_new(section, from);
    for (size_t i = 0; i < from->count; i++) {
        const struct node *old = from->nodes[i];
        struct graph *child = old->child ? graph_copy(section, old->child) : NULL;
        struct node *node =
            node_new(section, graph, old->type, old->context, node_copy_work(old), child);
        node->original = old->handle;
        node->enabled = old->enabled;
        node->updatable = old->updatable;
        if (old->conditional)
            node->conditional = conditional_copy(section, old->conditional);
        struct hook_resource event = node_event(RESOURCE_NODE_CLONED, node);
        event.original_graph = from->handle;
        event.original_node = old->handle;
        section_note(section, event);
    }
    for (size_t i = 0; i < from->count; i++) {
        const struct edges *in = &from->nodes[i]->in;
        for (size_t k = 0; k < in->count; k++)
            edge_add(section, graph->nodes[in->at[k].node->index], graph->nodes[i],
                     &in->at[k].data);
    }
    return graph;
}

struct graph *node_inner(const struct node *node, unsigned i)
{
    if (node->conditional)
        return i < node->conditional->count ? node->conditional->body[i] : NULL;
    return i ? NULL : node->child;
}

/* Whether a node is of one of two types, in the graphs inside of nodes too. */
static bool has_type(const struct graph *graph, CUgraphNodeType type, CUgraphNodeType other)
{
    bool found = false;
    for (size_t i = 0; i < graph->count && !found; i++) {
        const struct node *node = graph->nodes[i];
        struct graph *inner;
        found = node->type == type || node->type == other;
        for (unsigned k = 0; !found && (inner = node_inner(node, k)); k++)
            found = has_type(inner, type, other);
    }
    return found;
}

bool graph_has_conditions(const struct graph *graph)
{
    return has_type(graph, CU_GRAPH_NODE_TYPE_CONDITIONAL, CU_GRAPH_NODE_TYPE_CONDITIONAL);
}

bool graph_is_single(const struct graph *graph)
{
    bool single = graph_has_memory_nodes(graph) || graph_has_conditions(graph);
    for (size_t i = 0; i < graph->count && !single; i++)
        single = graph->nodes[i]->updatable;
    return single;
}

bool graph_has_memory_nodes(const struct graph *graph)
{
    return has_type(graph, CU_GRAPH_NODE_TYPE_MEM_ALLOC, CU_GRAPH_NODE_TYPE_MEM_FREE);
}

void graph_unmark(struct graph *graph)
{
    for (size_t i = 0; i < graph->count; i++)
        graph->nodes[i]->mark = false;
}

/* With a stack of its own: a captured chain may be as long as the program likes. */
void graph_mark_ancestors(struct node *from)
{
    if (from->mark)
        return;
    struct node **stack = must_allocate(from->graph->count, sizeof(*stack));
    size_t depth = 0;
    from->mark = true;
    stack[depth++] = from;
    while (depth > 0) {
        const struct node *node = stack[--depth];
        for (size_t i = 0; i < node->in.count; i++) {
            struct node *before = node->in.at[i].node;
            if (before->mark)
                continue;
            before->mark = true;
            stack[depth++] = before;
        }
    }
    free(stack);
}

bool graph_sort(const struct graph *graph, struct node **order)
{
    size_t *missing = must_allocate(graph->count, sizeof(*missing)), done = 0, count = 0;
    for (size_t i = 0; i < graph->count; i++) {
        missing[i] = graph->nodes[i]->in.count;
        if (missing[i] == 0)
            order[count++] = graph->nodes[i];
    }
    while (done < count) {
        const struct edges *out = &order[done++]->out;
        for (size_t i = 0; i < out->count; i++) {
            if (--missing[out->at[i].node->index] == 0)
                order[count++] = out->at[i].node;
        }
    }
    free(missing);
    return count == graph->count;
}

bool edge_data_is_plain(const CUgraphEdgeData *data)
{
    static const CUgraphEdgeData plain;
    return !data || memcmp(data, &plain, sizeof(plain)) == 0;
}

bool edge_data_is_valid(const struct node *from, const CUgraphEdgeData *data)
{
    static const unsigned char zeros[sizeof(data->reserved)];
    if (edge_data_is_plain(data))
        return true;
    return from->type == CU_GRAPH_NODE_TYPE_KERNEL &&
           data->from_port <= CU_GRAPH_KERNEL_NODE_PORT_LAUNCH_ORDER && data->to_port == 0 &&
           data->type <= CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC &&
           memcmp(data->reserved, zeros, sizeof(zeros)) == 0;
}
