/* Graphs made by hand: templates, their questions and changes, clones, and the callbacks that
 * announce of them. */
#include "graph_fixture.h"

#include <cupti_callbacks.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "driver/call/hooks.h"
#include "driver/base/resource_ids.h"

#define SAME(mine, real) _Static_assert((int)(mine) == (int)(real), #real)
SAME(RESOURCE_GRAPH_CREATED, CUPTI_CBID_RESOURCE_GRAPH_CREATED);
SAME(RESOURCE_GRAPH_DESTROY_STARTING, CUPTI_CBID_RESOURCE_GRAPH_DESTROY_STARTING);
SAME(RESOURCE_GRAPH_CLONED, CUPTI_CBID_RESOURCE_GRAPH_CLONED);
SAME(RESOURCE_NODE_CREATE_STARTING, CUPTI_CBID_RESOURCE_GRAPHNODE_CREATE_STARTING);
SAME(RESOURCE_NODE_CREATED, CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED);
SAME(RESOURCE_NODE_DESTROY_STARTING, CUPTI_CBID_RESOURCE_GRAPHNODE_DESTROY_STARTING);
SAME(RESOURCE_DEPENDENCY_CREATED, CUPTI_CBID_RESOURCE_GRAPHNODE_DEPENDENCY_CREATED);
SAME(RESOURCE_DEPENDENCY_DESTROY_STARTING,
     CUPTI_CBID_RESOURCE_GRAPHNODE_DEPENDENCY_DESTROY_STARTING);
SAME(RESOURCE_EXEC_CREATE_STARTING, CUPTI_CBID_RESOURCE_GRAPHEXEC_CREATE_STARTING);
SAME(RESOURCE_EXEC_CREATED, CUPTI_CBID_RESOURCE_GRAPHEXEC_CREATED);
SAME(RESOURCE_EXEC_DESTROY_STARTING, CUPTI_CBID_RESOURCE_GRAPHEXEC_DESTROY_STARTING);
SAME(RESOURCE_NODE_CLONED, CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED);
SAME(RESOURCE_NODE_UPDATED, CUPTI_CBID_RESOURCE_GRAPH_NODE_UPDATED);
SAME(RESOURCE_NODE_SET_PARAMS, CUPTI_CBID_RESOURCE_GRAPH_NODE_SET_PARAMS);

static const CUgraphEdgeData plain_edges[4];

static CUgraph new_graph(void)
{
    CUgraph graph;
    ok(cuGraphCreate(&graph, 0));
    return graph;
}

static CUgraphNode empty(CUgraph graph, const CUgraphNode *after, size_t count)
{
    CUgraphNode node;
    ok(cuGraphAddEmptyNode(&node, graph, after, count));
    return node;
}

/* Four empty nodes: 0 before 1 and 2, both before 3. */
static CUgraph diamond(CUgraphNode nodes[4])
{
    CUgraph graph = new_graph();
    nodes[0] = empty(graph, NULL, 0);
    nodes[1] = empty(graph, nodes, 1);
    nodes[2] = empty(graph, nodes, 1);
    nodes[3] = empty(graph, nodes + 1, 2);
    return graph;
}

static void test_lists(void **state)
{
    (void)state;
    CUgraphNode nodes[4], from[5], to[5];
    CUgraph graph = diamond(nodes);
    size_t count = 5;
    ok(cuGraphGetEdges(graph, from, to, NULL, &count));
    assert_int_equal(count, 4);
    assert_null(from[4]);
    assert_null(to[4]);
    assert_ptr_equal(from[0], nodes[0]);
    assert_ptr_equal(to[0], nodes[1]);
    count = 3;
    ok(cuGraphGetNodes(graph, from, &count));
    assert_int_equal(count, 3);
    assert_memory_equal(from, nodes, 3 * sizeof(*nodes));
    count = 5;
    ok(cuGraphNodeGetDependencies(nodes[3], from, NULL, &count));
    assert_int_equal(count, 2);
    assert_ptr_equal(from[1], nodes[2]);
    count = 0;
    ok(cuGraphNodeGetDependentNodes(nodes[0], NULL, NULL, &count));
    assert_int_equal(count, 2);
    CUgraphNodeType type;
    ok(cuGraphNodeGetType(nodes[0], &type));
    assert_int_equal(type, CU_GRAPH_NODE_TYPE_EMPTY);
    fails(cuGraphGetNodes(graph, NULL, NULL), CUDA_ERROR_INVALID_VALUE);
    ok(cuGraphDestroy(graph));
    fails(cuGraphNodeGetType(nodes[0], &type), CUDA_ERROR_INVALID_VALUE);
    fails(cuGraphDestroy(graph), CUDA_ERROR_INVALID_VALUE);
    fails(cuGraphCreate(&graph, 1), CUDA_ERROR_INVALID_VALUE);
}

static void test_edges_come_and_go(void **state)
{
    (void)state;
    CUgraphNode nodes[4], other_nodes[4], twice[2];
    CUgraph graph = diamond(nodes), other = diamond(other_nodes);
    ok(cuGraphAddDependencies(graph, &nodes[0], &nodes[3], NULL, 1));
    fails(cuGraphAddDependencies(graph, &nodes[0], &nodes[3], NULL, 1), CUDA_ERROR_INVALID_VALUE);
    fails(cuGraphAddDependencies(graph, &nodes[0], &nodes[0], NULL, 1), CUDA_ERROR_INVALID_VALUE);
    fails(cuGraphAddDependencies(graph, &nodes[0], &other_nodes[0], NULL, 1),
          CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(count_edges(graph), 5);
    const CUgraphNode from[2] = {nodes[0], nodes[3]}, to[2] = {nodes[3], nodes[0]};
    fails(cuGraphRemoveDependencies(graph, from, to, NULL, 2), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(count_edges(graph), 5); /* all or none */
    ok(cuGraphRemoveDependencies(graph, from, to, plain_edges, 1));
    assert_int_equal(count_edges(graph), 4);
    twice[0] = twice[1] = nodes[0];
    CUgraphNode node;
    fails(cuGraphAddEmptyNode(&node, graph, twice, 2), CUDA_ERROR_INVALID_VALUE);
    fails(cuGraphAddEmptyNode(&node, graph, other_nodes, 1), CUDA_ERROR_INVALID_VALUE);
    CUgraphEdgeData odd = {.from_port = 1, .type = CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC};
    fails(cuGraphAddDependencies(graph, &nodes[0], &nodes[3], &odd, 1), CUDA_ERROR_INVALID_VALUE);
    ok(cuGraphDestroyNode(nodes[1]));
    assert_int_equal(count_edges(graph), 2);
    assert_int_equal(count_nodes(graph), 3);
    fails(cuGraphDestroyNode(nodes[1]), CUDA_ERROR_INVALID_VALUE);
    ok(cuGraphDestroy(graph));
    ok(cuGraphDestroy(other));
}

static void test_clone(void **state)
{
    (void)state;
    CUgraphNode nodes[4], child_node, twin;
    CUgraph inner = diamond(nodes), outer = new_graph(), clone, child;
    ok(cuGraphAddChildGraphNode(&child_node, outer, NULL, 0, inner));
    ok(cuGraphDestroyNode(nodes[3])); /* the child is a copy */
    ok(cuGraphChildGraphNodeGetGraph(child_node, &child));
    assert_int_equal(count_nodes(child), 4);
    ok(cuGraphClone(&clone, outer));
    ok(cuGraphNodeFindInClone(&twin, child_node, clone));
    assert_ptr_not_equal(twin, child_node);
    fails(cuGraphNodeFindInClone(&twin, nodes[0], clone), CUDA_ERROR_INVALID_VALUE);
    fails(cuGraphNodeFindInClone(&twin, child_node, inner), CUDA_ERROR_INVALID_VALUE);
    ok(cuGraphDestroy(outer));
    fails(cuGraphDestroy(child), CUDA_ERROR_INVALID_VALUE); /* it went with the node */
    ok(cuGraphNodeFindInClone(&twin, child_node, clone));
    ok(cuGraphChildGraphNodeGetGraph(twin, &child));
    assert_int_equal(count_edges(child), 4);
    ok(cuGraphDestroy(clone));
    ok(cuGraphDestroy(inner));
}

static void test_child_moved_in(void **state)
{
    (void)state;
#if CUDA_VERSION < 13000
    skip(); /* its headers have clones alone */
#else
    CUgraphNode nodes[4], node;
    CUgraph inner = diamond(nodes), outer = new_graph(), child;
    CUgraphNodeParams params = {.type = CU_GRAPH_NODE_TYPE_GRAPH};
    params.graph.graph = inner;
    params.graph.ownership = CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE;
    fails(cuGraphAddNode(&node, inner, NULL, NULL, 0, &params), CUDA_ERROR_INVALID_VALUE);
    ok(cuGraphAddNode(&node, outer, NULL, NULL, 0, &params));
    ok(cuGraphChildGraphNodeGetGraph(node, &child));
    assert_ptr_equal(child, inner);
    fails(cuGraphDestroy(inner), CUDA_ERROR_INVALID_VALUE);
    CUgraphExec exec;
    fails(cuGraphInstantiate(&exec, inner, 0), CUDA_ERROR_INVALID_VALUE);
    ok(cuGraphDestroy(outer));
    fails(cuGraphNodeGetDependencies(nodes[0], NULL, NULL, &(size_t){0}), CUDA_ERROR_INVALID_VALUE);
#endif
}

static CUDA_MEMCPY3D copy_of(CUdeviceptr to, CUdeviceptr from, size_t bytes)
{
    return (CUDA_MEMCPY3D){.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                           .srcDevice = from,
                           .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                           .dstDevice = to,
                           .WidthInBytes = bytes,
                           .Height = 1,
                           .Depth = 1};
}

static void CUDA_CB count_up(void *data)
{
    ++*(int *)data;
}

static void test_parameters(void **state)
{
    struct fixture *f = *state;
    CUgraph graph = new_graph();
    CUgraphNode copy, set, host;
    CUDA_MEMCPY3D copy_params = copy_of(f->y, f->x, BYTES), copy_back;
    CUDA_MEMSET_NODE_PARAMS set_params = {.dst = f->x,
                                          .value = 5,
                                          .elementSize = 4,
                                          .width = WORDS,
                                          .height = 1},
                            set_back;
    int count = 0;
    CUDA_HOST_NODE_PARAMS host_params = {.fn = count_up, .userData = &count}, host_back;
    ok(cuGraphAddMemsetNode(&set, graph, NULL, 0, &set_params, f->context));
    ok(cuGraphAddMemcpyNode(&copy, graph, &set, 1, &copy_params, f->context));
    ok(cuGraphAddHostNode(&host, graph, &copy, 1, &host_params));
    ok(cuGraphMemcpyNodeGetParams(copy, &copy_back));
    assert_int_equal(copy_back.dstDevice, f->y);
    assert_int_equal(copy_back.WidthInBytes, BYTES);
    ok(cuGraphMemsetNodeGetParams(set, &set_back));
    assert_int_equal(set_back.value, 5);
    assert_int_equal(set_back.elementSize, 4);
    ok(cuGraphHostNodeGetParams(host, &host_back));
    assert_ptr_equal(host_back.userData, &count);
    fails(cuGraphHostNodeGetParams(copy, &host_back), CUDA_ERROR_INVALID_VALUE);
    fails(cuGraphMemsetNodeSetParams(copy, &set_params), CUDA_ERROR_INVALID_VALUE);
    set_params.value = 6;
    ok(cuGraphMemsetNodeSetParams(set, &set_params));
    run_graph(graph, f->a);
    assert_int_equal(first_word(f->y), 6);
    assert_int_equal(count, 1);
    copy_params.WidthInBytes = 1 << 20; /* runs out of the allocation */
    fails(cuGraphMemcpyNodeSetParams(copy, &copy_params), CUDA_ERROR_INVALID_VALUE);
    fails(cuGraphAddMemsetNode(&set, graph, NULL, 0, NULL, f->context), CUDA_ERROR_INVALID_VALUE);
    fails(cuGraphAddMemsetNode(&set, (CUgraph)16, NULL, 0, &set_params, f->context),
          CUDA_ERROR_INVALID_VALUE);
    CUgraphNodeParams semaphores = {.type = CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL};
    fails(cuGraphAddNode(&set, graph, NULL, NULL, 0, &semaphores), CUDA_ERROR_NOT_SUPPORTED);
    ok(cuGraphDestroy(graph));
}

static void test_general_parameters(void **state)
{
    struct fixture *f = *state;
    CUgraph graph = new_graph();
    CUgraphNode node;
    CUgraphNodeParams params = {.type = CU_GRAPH_NODE_TYPE_MEMSET};
    params.memset.dst = f->x;
    params.memset.value = 8;
    params.memset.elementSize = 4;
    params.memset.width = WORDS;
    params.memset.height = 1;
    ok(cuGraphAddNode(&node, graph, NULL, NULL, 0, &params));
    params.memset.value = 9;
    ok(cuGraphNodeSetParams(node, &params));
    run_graph(graph, f->c);
    assert_int_equal(first_word(f->x), 9);
    params.reserved0[1] = 1;
    fails(cuGraphNodeSetParams(node, &params), CUDA_ERROR_INVALID_VALUE);
    fails(cuGraphAddNode(&node, graph, NULL, NULL, 0, &params), CUDA_ERROR_INVALID_VALUE);
    ok(cuGraphDestroy(graph));
}

static void test_dot(void **state)
{
    (void)state;
    CUgraphNode nodes[4], child;
    CUgraph inner = diamond(nodes), outer = diamond(nodes);
    ok(cuGraphAddChildGraphNode(&child, outer, nodes, 1, inner));
    char path[] = "/tmp/softgpu-dot-XXXXXX", text[4096] = "";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    ok(cuGraphDebugDotPrint(outer, path, 0));
    assert_true(read(fd, text, sizeof(text) - 1) > 0);
    assert_non_null(strstr(text, "digraph"));
    assert_non_null(strstr(text, "\"graph_0_node_0\" -> \"graph_0_node_4\""));
    assert_non_null(strstr(text, "\"graph_0_node_4_node_0\" -> \"graph_0_node_4_node_1\""));
    close(fd);
    unlink(path);
    fails(cuGraphDebugDotPrint(outer, "/no/such/folder/dot", 0), CUDA_ERROR_OPERATING_SYSTEM);
    ok(cuGraphDestroy(inner));
    ok(cuGraphDestroy(outer));
}

/* --- callbacks --- */

enum { SEEN = 64 };
static struct hook_resource seen[SEEN];
static size_t seen_count;

static bool wants_no_call(unsigned cbid)
{
    (void)cbid;
    return false;
}

static void no_call(const struct hook_call *call)
{
    (void)call;
}

static bool wants_graphs(unsigned cbid)
{
    return cbid >= RESOURCE_GRAPH_CREATED;
}

static void see(const struct hook_resource *event)
{
    CUgraphNodeType type;
    assert_true(seen_count < SEEN);
    seen[seen_count++] = *event;
    /* The graph may be queried from here. */
    if (event->cbid == RESOURCE_NODE_CREATED) {
        ok(cuGraphNodeGetType(event->node, &type));
        assert_int_equal(type, event->node_type);
    }
}

static const struct hooks hooks = {wants_no_call, no_call, wants_graphs, see};

static void expect_seen(const enum resource_id *ids, size_t count)
{
    for (size_t i = 0; i < count && i < seen_count; i++)
        assert_int_equal(seen[i].cbid, ids[i]);
    assert_int_equal(seen_count, count);
    seen_count = 0;
}
#define EXPECT(...)                                                                                \
    do {                                                                                           \
        const enum resource_id ids_[] = {__VA_ARGS__};                                             \
        expect_seen(ids_, sizeof(ids_) / sizeof(*ids_));                                           \
    } while (0)

static void test_callbacks_of_templates(void **state)
{
    (void)state;
    softgpu_set_hooks(&hooks);
    CUgraph graph = new_graph(), clone;
    EXPECT(RESOURCE_GRAPH_CREATED);
    CUgraphNode first = empty(graph, NULL, 0);
    EXPECT(RESOURCE_NODE_CREATE_STARTING, RESOURCE_NODE_CREATED);
    CUgraphNode second = empty(graph, &first, 1);
    assert_ptr_equal(seen[2].node, second);
    assert_ptr_equal(seen[2].dependency, first);
    EXPECT(RESOURCE_NODE_CREATE_STARTING, RESOURCE_NODE_CREATED, RESOURCE_DEPENDENCY_CREATED);
    ok(cuGraphClone(&clone, graph));
    assert_ptr_equal(seen[1].original_graph, graph);
    assert_ptr_equal(seen[4].original_node, first);
    assert_ptr_equal(seen[4].graph, clone);
    EXPECT(RESOURCE_GRAPH_CREATED, RESOURCE_GRAPH_CLONED, RESOURCE_NODE_CREATE_STARTING,
           RESOURCE_NODE_CREATED, RESOURCE_NODE_CLONED, RESOURCE_NODE_CREATE_STARTING,
           RESOURCE_NODE_CREATED, RESOURCE_NODE_CLONED, RESOURCE_DEPENDENCY_CREATED);
    ok(cuGraphDestroyNode(second));
    EXPECT(RESOURCE_NODE_DESTROY_STARTING, RESOURCE_DEPENDENCY_DESTROY_STARTING);
    ok(cuGraphDestroy(graph));
    EXPECT(RESOURCE_GRAPH_DESTROY_STARTING, RESOURCE_NODE_DESTROY_STARTING);
    softgpu_set_hooks(NULL);
    ok(cuGraphDestroy(clone));
    assert_int_equal(seen_count, 0);
}

static void test_callbacks_of_instances_and_captures(void **state)
{
    struct fixture *f = *state;
    CUgraphExec exec;
    softgpu_set_hooks(&hooks);
    ok(cuStreamBeginCapture(f->a, CU_STREAM_CAPTURE_MODE_RELAXED));
    EXPECT(RESOURCE_GRAPH_CREATED);
    ok(cuMemsetD32Async(f->x, 1, WORDS, f->a));
    assert_int_equal(seen[1].node_type, CU_GRAPH_NODE_TYPE_MEMSET);
    assert_ptr_equal(seen[1].context, f->context);
    EXPECT(RESOURCE_NODE_CREATE_STARTING, RESOURCE_NODE_CREATED);
    CUgraph graph = end_good(f->a);
    assert_int_equal(seen_count, 0);
    ok(cuGraphInstantiate(&exec, graph, 0));
    assert_ptr_equal(seen[6].graph_exec, exec);
    assert_ptr_equal(seen[6].original_graph, graph);
    EXPECT(RESOURCE_EXEC_CREATE_STARTING, RESOURCE_GRAPH_CREATED, RESOURCE_GRAPH_CLONED,
           RESOURCE_NODE_CREATE_STARTING, RESOURCE_NODE_CREATED, RESOURCE_NODE_CLONED,
           RESOURCE_EXEC_CREATED);
    CUgraphExecUpdateResultInfo info;
    ok(cuGraphLaunch(exec, f->a));
    assert_int_equal(seen_count, 0);
    ok(cuGraphExecUpdate(exec, graph, &info));
    EXPECT(RESOURCE_NODE_UPDATED);
    ok(cuGraphExecDestroy(exec));
    assert_ptr_equal(seen[0].graph_exec, exec);
    EXPECT(RESOURCE_EXEC_DESTROY_STARTING);
    softgpu_set_hooks(NULL);
    ok(cuGraphDestroy(graph));
}

/* A conditional node behind `after`, which may be NULL, with the handle's value by default. */
static CUgraphNode conditional(CUgraph graph, const CUgraphNode *after, int type, unsigned size,
                               unsigned value, CUgraph **bodies)
{
    CUgraphNode node;
    CUgraphNodeParams params;
    memset(&params, 0, sizeof(params));
    params.type = CU_GRAPH_NODE_TYPE_CONDITIONAL;
    params.conditional.type = (CUgraphConditionalNodeType)type;
    params.conditional.size = size;
    ok(cuGraphConditionalHandleCreate(&params.conditional.handle, graph, NULL, value,
                                      CU_GRAPH_COND_ASSIGN_DEFAULT));
    ok(cuGraphAddNode(&node, graph, after, NULL, after != NULL, &params));
    *bodies = params.conditional.phGraph_out;
    fails(cuGraphAddNode(&node, graph, NULL, NULL, 0, &params), CUDA_ERROR_INVALID_VALUE);
    return node;
}

/* Bodies that leave their number in a word each. */
static void fill_bodies(const struct fixture *f, CUgraph *bodies, unsigned count, unsigned word)
{
    for (unsigned i = 0; i < count; i++) {
        CUgraphNode node;
        CUDA_MEMSET_NODE_PARAMS set = {
            .dst = f->x + 4 * word, .value = 10 + i, .elementSize = 4, .width = 1, .height = 1};
        ok(cuGraphAddMemsetNode(&node, bodies[i], NULL, 0, &set, f->context));
    }
}

static void test_conditions(void **state)
{
    enum { IF, WHILE, SWITCH };
    static const struct {
        int type;
        unsigned size, value, left; /* 0: no body is run */
    } rows[] = {{IF, 1, 1, 10},   {IF, 1, 0, 0},      {IF, 2, 7, 10},   {IF, 2, 0, 11},
                {WHILE, 1, 0, 0}, {SWITCH, 3, 2, 12}, {SWITCH, 3, 3, 0}};
    enum { ROWS = sizeof(rows) / sizeof(*rows) };
    const struct fixture *f = *state;
    CUgraph graph = new_graph(), copy, *bodies;
    CUgraphExec exec, second;
    CUgraphNode last, child;
    for (unsigned i = 0; i < ROWS; i++) {
        last = conditional(graph, i ? &last : NULL, rows[i].type, rows[i].size, rows[i].value,
                           &bodies);
        fill_bodies(f, bodies, rows[i].size, i);
    }
    fails(cuGraphClone(&copy, graph), CUDA_ERROR_NOT_SUPPORTED);
    fails(cuGraphDestroy(bodies[0]), CUDA_ERROR_INVALID_VALUE);
    CUgraph outer = new_graph();
    fails(cuGraphAddChildGraphNode(&child, outer, NULL, 0, graph), CUDA_ERROR_NOT_SUPPORTED);
    ok(cuGraphInstantiate(&exec, graph, 0));
    fails(cuGraphInstantiate(&second, graph, 0), CUDA_ERROR_INVALID_VALUE);
    for (int round = 0; round < 2; round++) {
        ok(cuMemsetD8Async(f->x, 0, BYTES, f->c));
        ok(cuGraphLaunch(exec, f->c));
        ok(cuStreamSynchronize(f->c));
        ok(cuMemcpyDtoH(f->host, f->x, BYTES));
        for (unsigned i = 0; i < ROWS; i++)
            assert_int_equal(f->host[i], rows[i].left);
    }
    ok(cuGraphExecDestroy(exec));
    ok(cuGraphDestroy(outer));
    ok(cuGraphDestroy(graph));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lists),
        cmocka_unit_test(test_edges_come_and_go),
        cmocka_unit_test(test_clone),
        cmocka_unit_test(test_child_moved_in),
        cmocka_unit_test(test_parameters),
        cmocka_unit_test(test_general_parameters),
        cmocka_unit_test(test_dot),
        cmocka_unit_test(test_conditions),
        cmocka_unit_test(test_callbacks_of_templates),
        cmocka_unit_test(test_callbacks_of_instances_and_captures),
    };
    return cmocka_run_group_tests_name("graphs", tests, fixture_open, fixture_close);
}
