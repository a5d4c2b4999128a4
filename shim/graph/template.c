/* template.c - the nodes of the program's template, level by level, and the clone of it. */
#include <stdlib.h>
#include <string.h>
#include "gate/unregistered.h"
#include "graph/graph.h"
#include "plan/plan.h"

enum { MOST_LEVELS = 8, MOST_BEFORE = 16 /* nodes that one waits for */ };

/* What is read so far. */
struct reading {
    struct graph *graph;
    const struct graph_knowledge *known;
    uint32_t nodes_room, subjects_room;
    const void *last_function; /* equal kernels follow each other: the record is looked up once */
    struct known_kernel *last;
};

/* Room for one more. */
static bool grow_array(void *array, uint32_t count, uint32_t *room, size_t size)
{
    void *old, *more;
    memcpy(&old, array, sizeof(old));
    if (count < *room)
        return true;
    uint32_t wanted = *room ? *room * 2 : 32;
    more = realloc(old, wanted * size);
    if (!more)
        return false;
    memset((char *)more + *room * size, 0, (wanted - *room) * size);
    memcpy(array, &more, sizeof(more)); /* the caller's list */
    *room = wanted;
    /* cppcheck-suppress memleak */
    return true;
}

/* A CUfunction where there is one, else a CUkernel: both are what kernels are known by, and a
 * program may have cast the latter to the former. */
static enum status name_kernel(const CUDA_KERNEL_NODE_PARAMS_v2 *params, struct launch *launch,
                               struct error *err)
{
    launch->function = params->func ? (const void *)params->func : (const void *)params->kern;
    launch->symbol = kernels_symbol(launch);
    return *launch->symbol
               ? STATUS_OK
               : error_set(err, STATUS_DRIVER, "the driver has no name for the kernel of a node");
}

static struct known_kernel *find_kernel(struct reading *reading, CUgraphNode node,
                                        struct error *err)
{
    CUDA_KERNEL_NODE_PARAMS_v2 params = {0};
    struct launch launch = {0};
    if (cuda_check(err, cuda.cuGraphKernelNodeGetParams_v2(node, &params),
                   "cuGraphKernelNodeGetParams"))
        return NULL;
    if (params.func && params.func == (CUfunction)(uintptr_t)reading->last_function)
        return reading->last;
    if (name_kernel(&params, &launch, err))
        return NULL;
    struct known_kernel *known = kernels_find(reading->known->kernels, &launch);
    if (!known)
        error_set(err, STATUS_NO_MEMORY, "no memory");
    reading->last_function = launch.function;
    return reading->last = known;
}

/* One more node of the kernel, which goes unchecked for the reason `skip`, or may be checked: its
 * row, made at the first; -1 without memory. */
static int32_t count_one(struct graph *graph, struct known_kernel *kernel, enum skip skip)
{
    uint32_t row = 0;
    while (row < graph->counts &&
           (graph->count[row].kernel != kernel || graph->count[row].skip != skip))
        row++;
    if (row == graph->counts) {
        if (!grow_array(&graph->count, row, &graph->counts_room, sizeof(*graph->count)))
            return -1;
        graph->counts++;
        graph->count[row] = (struct graph_count){
            .kernel = kernel, .spec = kernel ? kernel->spec : NULL, .skip = skip};
    }
    graph->count[row].nodes++;
    return (int32_t)row;
}

static int32_t count_kernel(struct graph *graph, struct known_kernel *kernel)
{
    return count_one(graph, kernel, kernel->spec ? SKIP_NONE : kernel->skip);
}

/* The only node that a node waits for, or NULL. */
static CUgraphNode previous_of(CUgraphNode node)
{
    CUgraphNode previous;
    CUgraphEdgeData edge;
    size_t count = 0;
    if (cuda.cuGraphNodeGetDependencies_v2(node, NULL, NULL, &count) || count != 1 ||
        cuda.cuGraphNodeGetDependencies_v2(node, &previous, &edge, &count))
        return NULL;
    return previous;
}

/* What a subject takes from its kernel; of a kernel node from the function, too. */
static void cast_subject(struct graph *graph, const struct graph_knowledge *known,
                         struct graph_subject *subject, const struct graph_node *node,
                         struct known_kernel *kernel)
{
    subject->kernel = kernel;
    subject->build = node->function ? kernels_build(known->kernels, node->function) : 0;
    subject->has_state = kernel->spec->plan->state != NULL;
    graph->has_states |= subject->has_state;
}

/* The subject whose first node is `node`, the graph's next. */
static enum status add_subject(struct reading *reading, struct graph_node *node,
                               struct known_kernel *kernel, const struct graph_subject *subject,
                               struct error *err)
{
    struct graph *graph = reading->graph;
    if (!grow_array(&graph->subject, graph->subjects, &reading->subjects_room,
                    sizeof(*graph->subject)))
        return error_set(err, STATUS_NO_MEMORY, "no memory");
    node->subject = (int32_t)graph->subjects;
    graph->subject[graph->subjects] = *subject;
    graph->subject[graph->subjects].node = graph->nodes;
    graph->subject[graph->subjects].number = graph->kernels;
    cast_subject(graph, reading->known, &graph->subject[graph->subjects++], node, kernel);
    return STATUS_OK;
}

static enum status add_kernel_node(struct reading *reading, struct graph_node *node, CUgraph level,
                                   struct error *err)
{
    struct graph *graph = reading->graph;
    enum status status = STATUS_OK;
    struct known_kernel *kernel = find_kernel(reading, node->own ? node->own : node->program, err);
    if (!kernel)
        return STATUS_DRIVER;
    node->function = reading->last_function;
    node->count = count_kernel(graph, kernel);
    if (node->count < 0)
        return error_set(err, STATUS_NO_MEMORY, "no memory");
    if (kernel->spec) {
        const struct graph_subject subject = {
            .count = (uint32_t)node->count,
            .parts = 1,
            .previous = kernel->spec->after < 0 ? NULL : previous_of(node->program),
            .level = level};
        status = add_subject(reading, node, kernel, &subject, err);
    }
    graph->kernels++;
    return status;
}

/* ---- library calls ---- */

/* The call's subject, made at its first node. */
static enum status find_call(struct reading *reading, struct graph_node *node,
                             struct captured_call *call, CUgraph level, struct error *err)
{
    struct graph *graph = reading->graph;
    for (uint32_t i = graph->subjects; i-- > 0 && node->subject < 0;) {
        if (graph->subject[i].call == call && graph->subject[i].level == level)
            node->subject = (int32_t)i;
    }
    if (node->subject >= 0)
        return STATUS_OK;
    int32_t row = count_kernel(graph, call->kernel);
    struct graph_subject subject = {.count = (uint32_t)row, .call = call, .level = level};
    subject.part = calloc(call->nodes, sizeof(*subject.part));
    enum status status = row < 0 || !subject.part
                             ? error_set(err, STATUS_NO_MEMORY, "no memory")
                             : add_subject(reading, node, call->kernel, &subject, err);
    if (status)
        free(subject.part);
    else
        captured_call_hold(call);
    return status;
}

/* A node that a library call has added. */
static enum status add_part_node(struct reading *reading, struct graph_node *node,
                                 struct captured_call *call, bool is_kernel, CUgraph level,
                                 struct error *err)
{
    struct graph *graph = reading->graph;
    enum status status = find_call(reading, node, call, level, err);
    if (status)
        return status;
    struct graph_subject *subject = &graph->subject[node->subject];
    if (subject->parts < call->nodes)
        subject->part[subject->parts++] = graph->nodes;
    if (!is_kernel)
        return STATUS_OK;
    graph->kernels++;
    node->count = count_one(graph, NULL, SKIP_CALL);
    return node->count < 0 ? error_set(err, STATUS_NO_MEMORY, "no memory") : STATUS_OK;
}

bool graph_change_call(struct graph *graph, struct graph_subject *subject)
{
    int32_t row = count_one(graph, subject->kernel, SKIP_CALL_CHANGED);
    if (row < 0)
        return false;
    graph->count[subject->count].nodes--;
    subject->count = (uint32_t)row;
    subject->changed = true;
    return true;
}

/* Calls of which the program changed nodes before it instantiated the graph. */
static enum status leave_changed(struct graph *graph, struct error *err)
{
    for (uint32_t i = 0; i < graph->subjects; i++) {
        struct graph_subject *subject = &graph->subject[i];
        if (subject->call && (subject->call->changed || subject->parts < subject->call->nodes) &&
            !graph_change_call(graph, subject))
            return error_set(err, STATUS_NO_MEMORY, "no memory");
    }
    return STATUS_OK;
}

/* All nodes of one level, which the caller frees; NULL and why. Of an empty graph the driver
 * refuses to list them. */
static CUgraphNode *list_nodes(CUgraph level, size_t *count, struct error *err)
{
    *count = 0;
    if (cuda_check(err, cuda.cuGraphGetNodes(level, NULL, count), "cuGraphGetNodes"))
        return NULL;
    CUgraphNode *nodes = calloc(*count + 1, sizeof(*nodes));
    if (!nodes)
        error_set(err, STATUS_NO_MEMORY, "no memory");
    if (nodes && *count &&
        cuda_check(err, cuda.cuGraphGetNodes(level, nodes, count), "cuGraphGetNodes")) {
        free(nodes);
        return NULL;
    }
    return nodes;
}

static enum status read_level(struct reading *reading, CUgraph level, CUgraph clone, int depth,
                              struct error *err);

static enum status read_child(struct reading *reading, const struct graph_node *node, int depth,
                              struct error *err)
{
    CUgraph level = NULL, clone = NULL;
    if (depth == MOST_LEVELS)
        return error_set(err, STATUS_UNSUPPORTED, "child graphs are nested more than %d deep",
                         MOST_LEVELS);
    if (cuda_check(err, cuda.cuGraphChildGraphNodeGetGraph(node->program, &level),
                   "cuGraphChildGraphNodeGetGraph") ||
        (node->own && cuda_check(err, cuda.cuGraphChildGraphNodeGetGraph(node->own, &clone),
                                 "cuGraphChildGraphNodeGetGraph")))
        return STATUS_DRIVER;
    return read_level(reading, level, clone, depth + 1, err);
}

/* All bodies of a conditional node; each of their kernels counts once, however often it runs. */
static enum status read_bodies(struct reading *reading, CUgraphNode node, int depth,
                               struct error *err)
{
    enum status status = STATUS_OK;
    CUgraph body;
    reading->graph->has_conditions = true;
    if (depth == MOST_LEVELS)
        return error_set(err, STATUS_UNSUPPORTED, "its bodies are nested more than %d deep",
                         MOST_LEVELS);
    for (uint32_t i = 0; !status && (body = bodies_find(reading->known->bodies, node, i)); i++)
        status = read_level(reading, body, NULL, depth + 1, err);
    return status;
}

/* A level of the program's template, and the clone of it; NULL: there is none. */
struct level {
    CUgraph program, clone;
    const struct captured_graph *calls; /* in it; NULL: none */
    int depth;
};

/* A node of the template with the one of the clone that stands for it (NULL: there is none). */
static enum status read_graph_node(struct reading *reading, const struct level *level,
                                   CUgraphNode program, CUgraphNode own, struct error *err)
{
    struct graph *graph = reading->graph;
    CUgraphNodeType type, same;
    if (cuda_check(err, cuda.cuGraphNodeGetType(program, &type), "cuGraphNodeGetType") ||
        (own && cuda_check(err, cuda.cuGraphNodeGetType(own, &same), "cuGraphNodeGetType")))
        return STATUS_DRIVER;
    if (own && same != type)
        return error_set(err, STATUS_UNSUPPORTED, "its clone has the nodes in another order");
    if (!grow_array(&graph->node, graph->nodes, &reading->nodes_room, sizeof(*graph->node)))
        return error_set(err, STATUS_NO_MEMORY, "no memory");
    struct graph_node node = {.program = program,
                              .own = own,
                              .level = level->clone,
                              .type = type,
                              .range = captured_range_of(level->calls, program),
                              .subject = -1,
                              .count = -1};
    struct captured_call *call = captured_call_of(level->calls, program);
    bool is_kernel = type == CU_GRAPH_NODE_TYPE_KERNEL;
    enum status status = call ? add_part_node(reading, &node, call, is_kernel, level->clone, err)
                         : is_kernel ? add_kernel_node(reading, &node, level->clone, err)
                                     : STATUS_OK;
    graph->node[graph->nodes++] = node;
    graph->has_memory |=
        type == CU_GRAPH_NODE_TYPE_MEM_ALLOC || type == CU_GRAPH_NODE_TYPE_MEM_FREE;
    if (!status && type == CU_GRAPH_NODE_TYPE_GRAPH)
        status = read_child(reading, &node, level->depth, err);
    else if (!status && type == CU_GRAPH_NODE_TYPE_CONDITIONAL)
        status = read_bodies(reading, program, level->depth, err);
    return status;
}

/* Both list their nodes in the order in which they were added, and a clone's are added in the order
 * of the original's. */
static enum status read_level(struct reading *reading, CUgraph template, CUgraph clone, int depth,
                              struct error *err)
{
    size_t count = 0, clones = 0;
    enum status status = STATUS_OK;
    const struct level level = {template, clone, captured_find(reading->known->captured, template),
                                depth};
    CUgraphNode *program = list_nodes(template, &count, err), *own = NULL;
    if (clone && program)
        own = list_nodes(clone, &clones, err);
    if (!program || (clone && !own))
        status = STATUS_DRIVER;
    else if (clone && clones != count)
        status = error_set(err, STATUS_UNSUPPORTED, "its clone has %zu nodes instead of %zu",
                           clones, count);
    for (size_t i = 0; i < count && !status; i++)
        status = read_graph_node(reading, &level, program[i], own ? own[i] : NULL, err);
    free(program);
    free(own);
    return status;
}

static void drop_subjects(struct graph *graph)
{
    for (uint32_t i = 0; i < graph->subjects; i++) {
        captured_call_drop(graph->subject[i].call);
        free(graph->subject[i].part);
    }
    free(graph->subject);
    graph->subject = NULL;
    graph->subjects = 0;
    graph->has_states = false;
}

void graph_drop(struct graph *graph)
{
    if (graph->clone)
        cuda.cuGraphDestroy(graph->clone);
    drop_subjects(graph);
    free(graph->node);
    free(graph->count);
    node_map_free(&graph->index);
    graph->clone = NULL;
    graph->node = NULL;
    graph->count = NULL;
    graph->behind = graph->nodes = graph->counts = graph->counts_room = graph->kernels = 0;
    graph->all_first = 0;
    graph->has_memory = graph->has_conditions = false;
}

/* ---- graphs that cannot have a twin ---- */

/* Whether kernels change parameters of its nodes: that reaches no second graph, and no host. */
static bool is_updated_on_gpu(const struct graph *graph)
{
    bool updated = false;
    for (uint32_t i = 0; i < graph->nodes && !updated && cuda.cuGraphKernelNodeGetAttribute; i++) {
        CUkernelNodeAttrValue value = {{0}};
        updated =
            graph->node[i].type == CU_GRAPH_NODE_TYPE_KERNEL &&
            !cuda.cuGraphKernelNodeGetAttribute(
                graph->node[i].program, CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE, &value) &&
            value.deviceUpdatableKernelNode.deviceUpdatable;
    }
    return updated;
}

/* The driver clones no graph with nodes of such kinds, and lets only one instance of it exist. */
static enum skip find_no_twin(const struct graph *graph)
{
    if (graph->has_memory || graph->has_conditions)
        return SKIP_NO_TWIN;
    return is_updated_on_gpu(graph) ? SKIP_DEVICE_UPDATES : SKIP_NONE;
}

/* Its kernels are counted for that reason. */
static void leave_unread(struct graph *graph, enum skip skip)
{
    for (uint32_t i = 0; i < graph->counts; i++) {
        if (graph->count[i].skip == SKIP_NONE)
            graph->count[i].skip = skip;
    }
    for (uint32_t i = 0; i < graph->nodes; i++)
        graph->node[i].subject = -1;
    drop_subjects(graph);
}

const char *graph_no_twin_sentence(const struct graph *graph)
{
    if (graph->no_twin == SKIP_DEVICE_UPDATES)
        return "kernels change the parameters of its nodes";
    return graph->has_memory ? "it allocates or frees memory" : "it has conditional nodes";
}

/* The template, or with `clone` both. */
static enum status read_template(struct graph *graph, const struct graph_knowledge *known,
                                 CUgraph template, CUgraph clone, struct error *err)
{
    struct reading reading = {.graph = graph, .known = known};
    enum status status = read_level(&reading, template, clone, 0, err);
    return status ? status : leave_changed(graph, err);
}

/* Most graphs have no registered kernel: those are read once, and not cloned. */
enum status graph_read(struct graph *graph, const struct graph_knowledge *known, CUgraph template,
                       struct error *err)
{
    enum status status = read_template(graph, known, template, NULL, err);
    if (status || !graph->subjects)
        return status;
    graph->no_twin = find_no_twin(graph);
    if (graph->no_twin) {
        leave_unread(graph, graph->no_twin);
        return STATUS_OK;
    }
    CUgraph clone = NULL;
    if (cuda_check(err, cuda.cuGraphClone(&clone, template), "cuGraphClone"))
        return STATUS_DRIVER;
    graph_drop(graph);
    graph->clone = clone;
    return read_template(graph, known, template, clone, err);
}

enum status graph_read_kept(struct graph *graph, const struct graph_knowledge *known, CUgraph kept,
                            struct error *err)
{
    graph->clone = kept;
    enum status status = read_template(graph, known, kept, kept, err);
    graph->no_twin = status ? SKIP_NONE : find_no_twin(graph);
    if (graph->no_twin)
        leave_unread(graph, graph->no_twin);
    return status;
}

/* Its nodes are the program's by handle, too. */
void graph_drop_clone(struct graph *graph)
{
    if (graph->clone)
        cuda.cuGraphDestroy(graph->clone);
    graph->clone = NULL;
    free(graph->node);
    graph->node = NULL;
    graph->behind = graph->nodes = 0;
    node_map_free(&graph->index);
}

/* ---- a node that gets another kernel ---- */

static struct graph_node *find_own(struct graph *graph, CUgraphNode own)
{
    uint32_t i = 0;
    while (i < graph->nodes && graph->node[i].own != own)
        i++;
    return i < graph->nodes ? &graph->node[i] : NULL;
}

/* As previous_of, in a clone that may have nodes for copies. */
static CUgraphNode previous_of_own(struct graph *graph, CUgraphNode own)
{
    CUgraphNode before[MOST_BEFORE], previous = NULL;
    CUgraphEdgeData edge[MOST_BEFORE];
    size_t count = 0;
    if (cuda.cuGraphNodeGetDependencies_v2(own, NULL, NULL, &count) || !count ||
        count > MOST_BEFORE || cuda.cuGraphNodeGetDependencies_v2(own, before, edge, &count))
        return NULL;
    for (size_t i = 0; i < count; i++) {
        const struct graph_node *node = find_own(graph, before[i]);
        if (node && previous)
            return NULL;
        previous = node ? node->program : previous;
    }
    return previous;
}

/* The node counts for the kernel from now on; -1 without memory. */
static int32_t recount(struct graph *graph, struct graph_node *node, struct known_kernel *kernel)
{
    uint32_t rows = graph->counts;
    int32_t row = count_kernel(graph, kernel);
    if (row < 0)
        return row;
    graph->count[node->off ? row : node->count].nodes--;
    graph->has_new |= graph->counts > rows;
    node->count = row;
    return row;
}

/* A subject more: for a node that had none. The twin has no nodes for its copies. Unless its kernel
 * is new, it is as checked as the others. */
static struct graph_subject *append_subject(struct graph *graph, struct graph_node *node)
{
    enum graph_state ready = GRAPH_READY;
    struct graph_subject *more =
        realloc(graph->subject, (graph->subjects + 1) * sizeof(*graph->subject));
    if (!more)
        return NULL;
    uint32_t number = 0, at = (uint32_t)(node - graph->node);
    for (uint32_t i = 0; i < at; i++)
        number += graph->node[i].type == CU_GRAPH_NODE_TYPE_KERNEL;
    graph->subject = more;
    node->subject = (int32_t)graph->subjects;
    more[graph->subjects] = (struct graph_subject){
        .node = at, .number = number, .parts = 1, .level = node->level, .first = graph->all_first};
    atomic_compare_exchange_strong(&graph->state, &ready, GRAPH_CLONED);
    return &more[graph->subjects++];
}

/* The first check of a kernel that was in the graph before is not due again. */
static void recast_subject(struct graph *graph, const struct graph_knowledge *known,
                           const struct graph_node *node, struct graph_subject *subject,
                           struct known_kernel *kernel, bool is_new)
{
    const struct kernel_spec *spec = kernel->spec;
    subject->changed = !spec;
    if (!spec)
        return;
    cast_subject(graph, known, subject, node, kernel);
    subject->count = (uint32_t)node->count;
    subject->previous = spec->after < 0 ? NULL : previous_of_own(graph, node->own);
    subject->blind = false;
    subject->tries = 0;
    subject->follows = 0;
    if (is_new)
        subject->first = graph->all_first = 0;
}

bool graph_change_kernel(struct graph *graph, const struct graph_knowledge *known,
                         struct graph_node *node)
{
    struct reading reading = {.graph = graph, .known = known};
    struct known_kernel *kernel = find_kernel(&reading, node->own, NULL);
    uint32_t rows = graph->counts;
    if (!kernel || recount(graph, node, kernel) < 0)
        return false;
    node->function = reading.last_function;
    graph->recast = true;
    struct graph_subject *subject = NULL;
    if (node->subject >= 0)
        subject = &graph->subject[node->subject];
    else if (kernel->spec && !(subject = append_subject(graph, node)))
        return false;
    if (subject)
        recast_subject(graph, known, node, subject, kernel, graph->counts > rows);
    return true;
}

/* ---- by handle ---- */

static bool make_index(struct graph *graph)
{
    bool made = true;
    for (uint32_t i = 0; i < graph->nodes && made; i++)
        made = node_map_put(&graph->index, graph->node[i].program, (int32_t)i);
    if (!made)
        node_map_free(&graph->index);
    return made;
}

struct graph_node *graph_find_node(struct graph *graph, CUgraphNode program)
{
    if (!graph->index.count && !make_index(graph))
        return NULL;
    int32_t at = node_map_find(&graph->index, program);
    return at == NODE_MAP_NONE ? NULL : &graph->node[at];
}

void graph_time(struct graph *graph, struct timing *timing)
{
    struct timed_part *part = timing ? calloc(graph->counts + 1, sizeof(*part)) : NULL;
    uint32_t parts = 0;
    for (uint32_t i = 0; part && i < graph->counts; i++) {
        const struct graph_count *count = &graph->count[i];
        if (!count->kernel)
            continue; /* parts of calls: the calls stand for them */
        struct gpu_time *into =
            count->spec ? &count->kernel->time : unregistered_time(count->kernel->symbol);
        if (into)
            part[parts++] = (struct timed_part){into, count->nodes};
    }
    graph->time = timing_graph(timing, part, parts);
    free(part);
}
