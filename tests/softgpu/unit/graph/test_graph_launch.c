/* Instances of graphs: what a launch does and in which order, what an update may change, and who
 * outlives whom. */
#include "graph_fixture.h"

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

/* A kernel that adds its second argument to each of WORDS words at its first. */
static const char add_ptx[] =
    ".version 7.0\n.target sm_75\n.address_size 64\n"
    ".visible .entry add(.param .u64 at, .param .u32 value)\n{\n"
    ".reg .b64 %rd<4>;\n.reg .b32 %r<4>;\n"
    "ld.param.u64 %rd1, [at];\nld.param.u32 %r1, [value];\n"
    "mov.u32 %r2, %tid.x;\nmul.wide.u32 %rd2, %r2, 4;\nadd.s64 %rd3, %rd1, %rd2;\n"
    "ld.global.u32 %r3, [%rd3];\nadd.u32 %r3, %r3, %r1;\nst.global.u32 [%rd3], %r3;\nret;\n}\n";

static CUDA_MEMSET_NODE_PARAMS set_of(CUdeviceptr at, uint32_t value)
{
    return (CUDA_MEMSET_NODE_PARAMS){
        .dst = at, .value = value, .elementSize = 4, .width = WORDS, .height = 1};
}

static CUDA_MEMCPY3D copy_of(CUdeviceptr to, CUdeviceptr from)
{
    return (CUDA_MEMCPY3D){.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                           .srcDevice = from,
                           .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                           .dstDevice = to,
                           .WidthInBytes = BYTES,
                           .Height = 1,
                           .Depth = 1};
}

/* x = value, then y = x. */
struct pair {
    CUgraph graph;
    CUgraphNode set, copy;
};

static struct pair new_pair(const struct fixture *f, uint32_t value)
{
    struct pair pair;
    CUDA_MEMSET_NODE_PARAMS set = set_of(f->x, value);
    CUDA_MEMCPY3D copy = copy_of(f->y, f->x);
    ok(cuGraphCreate(&pair.graph, 0));
    ok(cuGraphAddMemsetNode(&pair.set, pair.graph, NULL, 0, &set, f->context));
    ok(cuGraphAddMemcpyNode(&pair.copy, pair.graph, &pair.set, 1, &copy, f->context));
    return pair;
}

static uint32_t launched(const struct fixture *f, CUgraphExec exec)
{
    fill(f->x, 0);
    fill(f->y, 0);
    ok(cuGraphLaunch(exec, f->a));
    ok(cuStreamSynchronize(f->a));
    return first_word(f->y);
}

static void test_flags(void **state)
{
    struct fixture *f = *state;
    struct pair pair = new_pair(f, 1);
    CUgraphExec exec;
    cuuint64_t flags;
    fails(cuGraphInstantiate(&exec, pair.graph, 1 << 20), CUDA_ERROR_INVALID_VALUE);
    fails(cuGraphInstantiate(&exec, pair.graph, CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH),
          CUDA_ERROR_NOT_SUPPORTED);
    ok(cuGraphInstantiate(&exec, pair.graph, CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY));
    ok(cuGraphExecGetFlags(exec, &flags));
    assert_int_equal(flags, CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY);
    ok(cuGraphExecDestroy(exec));
    CUDA_GRAPH_INSTANTIATE_PARAMS params = {.flags = CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD,
                                            .hUploadStream = f->a};
    ok(cuGraphInstantiateWithParams(&exec, pair.graph, &params));
    assert_int_equal(params.result_out, CUDA_GRAPH_INSTANTIATE_SUCCESS);
    ok(cuGraphExecGetFlags(exec, &flags));
    assert_int_equal(flags, 0);
    ok(cuGraphUpload(exec, f->a));
    assert_int_equal(launched(f, exec), 1);
    ok(cuGraphExecDestroy(exec));
    fails(cuGraphLaunch(exec, f->a), CUDA_ERROR_INVALID_VALUE);
    fails(cuGraphUpload(exec, f->a), CUDA_ERROR_INVALID_VALUE);
    fails(cuGraphExecDestroy(exec), CUDA_ERROR_INVALID_VALUE);
    ok(cuGraphDestroy(pair.graph));
}

static void test_cycle(void **state)
{
    struct fixture *f = *state;
    struct pair pair = new_pair(f, 1);
    CUgraphExec exec;
    ok(cuGraphAddDependencies(pair.graph, &pair.copy, &pair.set, NULL, 1));
    CUDA_GRAPH_INSTANTIATE_PARAMS params = {0};
    fails(cuGraphInstantiateWithParams(&exec, pair.graph, &params), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(params.result_out, CUDA_GRAPH_INSTANTIATE_INVALID_STRUCTURE);
    assert_non_null(params.hErrNode_out);
    ok(cuGraphRemoveDependencies(pair.graph, &pair.copy, &pair.set, NULL, 1));
    run_graph(pair.graph, f->a);
    ok(cuGraphDestroy(pair.graph));
}

/* --- order --- */

struct trail {
    int step[64];
    atomic_int count;
};

struct mark {
    struct trail *trail;
    int number;
};

static void CUDA_CB leave_mark(void *data)
{
    struct mark *mark = data;
    int at = atomic_fetch_add(&mark->trail->count, 1);
    if (at < 64)
        mark->trail->step[at] = mark->number;
}

static int place_of(const struct trail *trail, int number)
{
    for (int i = 0; i < atomic_load(&trail->count); i++) {
        if (trail->step[i] == number)
            return i;
    }
    return -1;
}

static CUgraphNode add_mark(CUgraph graph, struct mark *mark, const CUgraphNode *after,
                            size_t count)
{
    CUgraphNode node;
    CUDA_HOST_NODE_PARAMS params = {.fn = leave_mark, .userData = mark};
    ok(cuGraphAddHostNode(&node, graph, after, count, &params));
    return node;
}

/* Nodes made in the wrong order, and a child graph between two of them. */
static void test_nodes_run_in_order_of_edges(void **state)
{
    struct fixture *f = *state;
    struct trail trail = {0};
    struct mark marks[5];
    for (int i = 0; i < 5; i++)
        marks[i] = (struct mark){&trail, i};
    CUgraph graph, inner;
    CUgraphNode last, first, middle;
    ok(cuGraphCreate(&graph, 0));
    ok(cuGraphCreate(&inner, 0));
    CUgraphNode inside = add_mark(inner, &marks[2], NULL, 0);
    add_mark(inner, &marks[3], &inside, 1);
    last = add_mark(graph, &marks[4], NULL, 0);
    ok(cuGraphAddChildGraphNode(&middle, graph, NULL, 0, inner));
    first = add_mark(graph, &marks[1], NULL, 0);
    add_mark(graph, &marks[0], NULL, 0);
    const CUgraphNode from[2] = {first, middle}, to[2] = {middle, last};
    ok(cuGraphAddDependencies(graph, from, to, NULL, 2));
    run_graph(graph, f->a);
    assert_int_equal(atomic_load(&trail.count), 5);
    for (int i = 1; i < 4; i++)
        assert_true(place_of(&trail, i) < place_of(&trail, i + 1));
    assert_true(place_of(&trail, 0) >= 0);
    ok(cuGraphDestroy(graph));
    ok(cuGraphDestroy(inner));
}

static atomic_int inside, together, runs;

static void CUDA_CB be_alone(void *data)
{
    (void)data;
    if (atomic_fetch_add(&inside, 1) > 0)
        atomic_store(&together, 1);
    usleep(1000);
    atomic_fetch_sub(&inside, 1);
    atomic_fetch_add(&runs, 1);
}

/* On three streams, from two threads' worth of launches: one at a time, none lost. */
static void test_instance_never_runs_twice_at_once(void **state)
{
    struct fixture *f = *state;
    CUgraph graph;
    CUgraphExec exec;
    CUgraphNode node;
    CUDA_HOST_NODE_PARAMS params = {.fn = be_alone};
    ok(cuGraphCreate(&graph, 0));
    ok(cuGraphAddHostNode(&node, graph, NULL, 0, &params));
    ok(cuGraphInstantiate(&exec, graph, 0));
    for (int i = 0; i < 10; i++) {
        ok(cuGraphLaunch(exec, f->a));
        ok(cuGraphLaunch(exec, f->b));
        ok(cuGraphLaunch(exec, f->c));
    }
    /* In flight: destroyed all the same, and still run to the end. */
    ok(cuGraphExecDestroy(exec));
    ok(cuGraphDestroy(graph));
    ok(cuCtxSynchronize());
    assert_int_equal(atomic_load(&runs), 30);
    assert_int_equal(atomic_load(&together), 0);
}

struct launcher {
    const struct fixture *f;
    CUgraphExec exec;
};

static void *launch_often(void *data)
{
    const struct launcher *launcher = data;
    ok(cuCtxSetCurrent(launcher->f->context));
    for (int i = 0; i < 300; i++)
        ok(cuGraphLaunch(launcher->exec, i % 3 ? launcher->f->a : launcher->f->c));
    return NULL;
}

static void test_threads_launch_one_instance(void **state)
{
    struct fixture *f = *state;
    struct trail trail = {0};
    struct mark mark = {&trail, 1};
    pthread_t id[3];
    struct launcher launcher = {.f = f};
    CUgraph graph;
    ok(cuGraphCreate(&graph, 0));
    add_mark(graph, &mark, NULL, 0);
    ok(cuGraphInstantiate(&launcher.exec, graph, 0));
    for (int i = 0; i < 3; i++)
        assert_int_equal(pthread_create(&id[i], NULL, launch_often, &launcher), 0);
    for (int i = 0; i < 3; i++)
        pthread_join(id[i], NULL);
    ok(cuCtxSynchronize());
    assert_int_equal(atomic_load(&trail.count), 900);
    ok(cuGraphExecDestroy(launcher.exec));
    ok(cuGraphDestroy(graph));
}

static void test_many_launches(void **state)
{
    struct fixture *f = *state;
    struct pair pair = new_pair(f, 42);
    CUgraphExec exec;
    ok(cuGraphInstantiate(&exec, pair.graph, 0));
    ok(cuGraphDestroy(pair.graph)); /* the instance needs it no more */
    for (int i = 0; i < 2000; i++)
        ok(cuGraphLaunch(exec, f->c));
    ok(cuStreamSynchronize(f->c));
    assert_int_equal(first_word(f->y), 42);
    ok(cuGraphExecDestroy(exec));
}

/* --- changes --- */

static void test_enabled(void **state)
{
    struct fixture *f = *state;
    struct pair pair = new_pair(f, 5);
    CUgraphExec exec;
    unsigned enabled = 7;
    ok(cuGraphInstantiate(&exec, pair.graph, 0));
    ok(cuGraphNodeSetEnabled(exec, pair.set, 0));
    ok(cuGraphNodeGetEnabled(exec, pair.set, &enabled));
    assert_int_equal(enabled, 0);
    assert_int_equal(launched(f, exec), 0);
    ok(cuGraphNodeSetEnabled(exec, pair.set, 1));
    assert_int_equal(launched(f, exec), 5);
    CUgraphNode other;
    ok(cuGraphAddEmptyNode(&other, pair.graph, NULL, 0));
    fails(cuGraphNodeSetEnabled(exec, other, 0), CUDA_ERROR_INVALID_VALUE);
    ok(cuGraphDestroyNode(pair.set));
    fails(cuGraphNodeSetEnabled(exec, pair.set, 0), CUDA_ERROR_INVALID_VALUE);
    ok(cuGraphExecDestroy(exec));
    ok(cuGraphDestroy(pair.graph));
}

static void test_one_node_changed(void **state)
{
    struct fixture *f = *state;
    struct pair pair = new_pair(f, 5);
    CUgraphExec exec;
    ok(cuGraphInstantiate(&exec, pair.graph, 0));
    CUDA_MEMSET_NODE_PARAMS set = set_of(f->x, 6);
    ok(cuGraphExecMemsetNodeSetParams(exec, pair.set, &set, f->context));
    assert_int_equal(launched(f, exec), 6);
    CUDA_MEMSET_NODE_PARAMS back;
    ok(cuGraphMemsetNodeGetParams(pair.set, &back));
    assert_int_equal(back.value, 5); /* the template is as it was */
    set.height = 2;
    set.width = WORDS / 2;
    set.pitch = BYTES / 2;
    fails(cuGraphExecMemsetNodeSetParams(exec, pair.set, &set, f->context),
          CUDA_ERROR_INVALID_VALUE);
    fails(cuGraphExecMemsetNodeSetParams(exec, pair.copy, &set, f->context),
          CUDA_ERROR_INVALID_VALUE);
    CUDA_MEMCPY3D copy = copy_of(f->y, f->x);
    copy.dstMemoryType = CU_MEMORYTYPE_HOST;
    copy.dstHost = f->host;
    fails(cuGraphExecMemcpyNodeSetParams(exec, pair.copy, &copy, f->context),
          CUDA_ERROR_INVALID_VALUE);
    copy = copy_of(f->y, f->x);
    copy.WidthInBytes = 0;
    fails(cuGraphExecMemcpyNodeSetParams(exec, pair.copy, &copy, f->context),
          CUDA_ERROR_INVALID_VALUE);
    copy.WidthInBytes = BYTES / 2;
    copy.dstDevice = f->y + BYTES / 2;
    ok(cuGraphExecMemcpyNodeSetParams(exec, pair.copy, &copy, f->context));
    assert_int_equal(launched(f, exec), 0);
    assert_int_equal(first_word(f->y + BYTES / 2), 6);
    ok(cuGraphExecDestroy(exec));
    ok(cuGraphDestroy(pair.graph));
}

static atomic_int gate;

static void CUDA_CB wait_at_gate(void *data)
{
    (void)data;
    while (!atomic_load(&gate))
        usleep(100);
}

static void test_changes_come_after_what_is_enqueued(void **state)
{
    struct fixture *f = *state;
    struct pair pair = new_pair(f, 1);
    CUgraphExec exec;
    ok(cuGraphInstantiate(&exec, pair.graph, 0));
    atomic_store(&gate, 0);
    ok(cuLaunchHostFunc(f->a, wait_at_gate, NULL));
    ok(cuGraphLaunch(exec, f->a));
    ok(cuMemcpyDtoHAsync(f->host, f->y, 4, f->a));
    CUDA_MEMSET_NODE_PARAMS set = set_of(f->x, 2);
    ok(cuGraphExecMemsetNodeSetParams(exec, pair.set, &set, f->context));
    ok(cuGraphLaunch(exec, f->a));
    ok(cuMemcpyDtoHAsync(f->host + 1, f->y, 4, f->a));
    atomic_store(&gate, 1);
    ok(cuStreamSynchronize(f->a));
    assert_int_equal(f->host[0], 1);
    assert_int_equal(f->host[1], 2);
    ok(cuGraphExecDestroy(exec));
    ok(cuGraphDestroy(pair.graph));
}

static void expect_refused(CUgraphExec exec, CUgraph graph, CUgraphExecUpdateResult why,
                           CUgraphNode node)
{
    CUgraphExecUpdateResultInfo info;
    fails(cuGraphExecUpdate(exec, graph, &info), CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
    assert_int_equal(info.result, why);
    assert_ptr_equal(info.errorNode, node);
}

static void test_update(void **state)
{
    struct fixture *f = *state;
    struct pair pair = new_pair(f, 1), same = new_pair(f, 2), more = new_pair(f, 3),
                loose = new_pair(f, 4);
    CUgraphExecUpdateResultInfo info;
    CUgraphExec exec;
    CUgraphNode extra;
    ok(cuGraphInstantiate(&exec, pair.graph, 0));
    assert_int_equal(launched(f, exec), 1);
    ok(cuGraphExecUpdate(exec, same.graph, &info));
    assert_int_equal(info.result, CU_GRAPH_EXEC_UPDATE_SUCCESS);
    assert_int_equal(launched(f, exec), 2);
    ok(cuGraphAddEmptyNode(&extra, more.graph, NULL, 0));
    expect_refused(exec, more.graph, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED, NULL);
    ok(cuGraphRemoveDependencies(loose.graph, &loose.set, &loose.copy, NULL, 1));
    /* Its first exit is paired with the body's only one, which depends on something. */
    expect_refused(exec, loose.graph, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED, loose.set);
    assert_int_equal(launched(f, exec), 2);
    fails(cuGraphExecUpdate(exec, (CUgraph)16, &info), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(info.result, CU_GRAPH_EXEC_UPDATE_ERROR);
    ok(cuGraphExecDestroy(exec));
    ok(cuGraphDestroy(pair.graph));
    ok(cuGraphDestroy(same.graph));
    ok(cuGraphDestroy(more.graph));
    ok(cuGraphDestroy(loose.graph));
}

static void test_update_of_types_and_parameters(void **state)
{
    struct fixture *f = *state;
    struct pair pair = new_pair(f, 1), changed = new_pair(f, 2);
    CUgraphExec exec;
    CUgraphNode empty;
    ok(cuGraphInstantiate(&exec, pair.graph, 0));
    CUDA_MEMCPY3D copy = copy_of(f->y, f->x);
    copy.dstMemoryType = CU_MEMORYTYPE_HOST;
    copy.dstHost = f->host;
    ok(cuGraphMemcpyNodeSetParams(changed.copy, &copy));
    expect_refused(exec, changed.graph, CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED,
                   changed.copy);
    ok(cuGraphDestroyNode(changed.copy));
    ok(cuGraphAddEmptyNode(&empty, changed.graph, &changed.set, 1));
    expect_refused(exec, changed.graph, CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED, empty);
    assert_int_equal(launched(f, exec), 1);
    ok(cuGraphExecDestroy(exec));
    ok(cuGraphDestroy(pair.graph));
    ok(cuGraphDestroy(changed.graph));
}

static void test_child_changed(void **state)
{
    struct fixture *f = *state;
    struct pair pair = new_pair(f, 1), other = new_pair(f, 2);
    CUgraph outer, child;
    CUgraphNode node, inner[2];
    CUgraphExec exec;
    size_t count = 2;
    ok(cuGraphCreate(&outer, 0));
    ok(cuGraphAddChildGraphNode(&node, outer, NULL, 0, pair.graph));
    ok(cuGraphInstantiate(&exec, outer, 0));
    assert_int_equal(launched(f, exec), 1);
    ok(cuGraphExecChildGraphNodeSetParams(exec, node, other.graph));
    assert_int_equal(launched(f, exec), 2);
    ok(cuGraphChildGraphNodeGetGraph(node, &child));
    ok(cuGraphGetNodes(child, inner, &count));
    CUDA_MEMSET_NODE_PARAMS set = set_of(f->x, 3);
    ok(cuGraphExecMemsetNodeSetParams(exec, inner[0], &set, f->context));
    assert_int_equal(launched(f, exec), 3);
    ok(cuGraphDestroyNode(other.copy));
    fails(cuGraphExecChildGraphNodeSetParams(exec, node, other.graph), CUDA_ERROR_INVALID_VALUE);
    ok(cuGraphExecDestroy(exec));
    ok(cuGraphDestroy(outer));
    ok(cuGraphDestroy(pair.graph));
    ok(cuGraphDestroy(other.graph));
}

/* --- memory --- */

static CUgraph new_allocation(CUdeviceptr *address, CUgraphNode *node)
{
    CUgraph graph;
    CUDA_MEM_ALLOC_NODE_PARAMS params = {
        .poolProps = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                      .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0}},
        .bytesize = BYTES};
    ok(cuGraphCreate(&graph, 0));
    ok(cuGraphAddMemAllocNode(node, graph, NULL, 0, &params));
    *address = params.dptr;
    assert_true(*address != 0);
    return graph;
}

static void test_memory_of_graphs(void **state)
{
    struct fixture *f = *state;
    CUdeviceptr memory;
    CUgraphNode alloc, set, freed;
    CUgraph graph = new_allocation(&memory, &alloc), clone;
    CUDA_MEMSET_NODE_PARAMS params = set_of(memory, 4);
    ok(cuGraphAddMemsetNode(&set, graph, &alloc, 1, &params, f->context));
    fails(cuGraphClone(&clone, graph), CUDA_ERROR_NOT_SUPPORTED);
    fails(cuGraphDestroyNode(set), CUDA_ERROR_INVALID_VALUE);
    CUgraphExec exec, second;
    ok(cuGraphInstantiate(&exec, graph, 0));
    fails(cuGraphInstantiate(&second, graph, 0), CUDA_ERROR_INVALID_VALUE);
    ok(cuGraphLaunch(exec, f->a));
    fails(cuGraphLaunch(exec, f->a), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal((ok(cuStreamSynchronize(f->a)), first_word(memory)), 4);
    ok(cuMemFreeAsync(memory, f->a));
    ok(cuStreamSynchronize(f->a));
    ok(cuGraphLaunch(exec, f->a));
    ok(cuMemFreeAsync(memory, f->a)); /* at once, before it has run */
    ok(cuStreamSynchronize(f->a));
    ok(cuGraphExecDestroy(exec));
    ok(cuGraphAddMemFreeNode(&freed, graph, &set, 1, memory));
    ok(cuGraphInstantiate(&exec, graph, 0));
    for (int i = 0; i < 20; i++)
        ok(cuGraphLaunch(exec, f->a));
    ok(cuStreamSynchronize(f->a));
    ok(cuGraphExecDestroy(exec));
    ok(cuGraphDestroy(graph));
}

/* What may be freed and launched again is decided by the calls, however late the stream is. */
static void test_memory_is_free_once_the_call_says_so(void **state)
{
    struct fixture *f = *state;
    CUdeviceptr memory;
    CUgraphNode alloc, freed;
    CUgraph graph = new_allocation(&memory, &alloc), other;
    CUgraphExec exec, freeing;
    ok(cuGraphInstantiate(&exec, graph, 0));
    ok(cuGraphCreate(&other, 0));
    ok(cuGraphAddMemFreeNode(&freed, other, NULL, 0, memory));
    ok(cuGraphInstantiate(&freeing, other, 0));
    f->host[0] = 0;
    ok(cuStreamWaitValue32(f->a, (CUdeviceptr)f->host, 1, CU_STREAM_WAIT_VALUE_EQ));
    fails(cuMemFreeAsync(memory, f->a), CUDA_ERROR_INVALID_VALUE);
    for (int i = 0; i < 3; i++) { /* none of which has run yet */
        ok(cuGraphLaunch(exec, f->a));
        fails(cuGraphLaunch(exec, f->a), CUDA_ERROR_INVALID_VALUE);
        ok(cuMemFreeAsync(memory, f->a));
        fails(cuMemFreeAsync(memory, f->a), CUDA_ERROR_INVALID_VALUE);
        ok(cuGraphLaunch(exec, f->a));
        ok(cuGraphLaunch(freeing, f->a));
        fails(cuMemFreeAsync(memory, f->a), CUDA_ERROR_INVALID_VALUE);
    }
    ok(cuGraphLaunch(exec, f->a));
    __atomic_store_n(f->host, 1, __ATOMIC_RELEASE);
    ok(cuStreamSynchronize(f->a)); /* what was freed in between does not free the last */
    fails(cuGraphLaunch(exec, f->a), CUDA_ERROR_INVALID_VALUE);
    ok(cuMemFree(memory));
    fails(cuMemFree(memory), CUDA_ERROR_INVALID_VALUE);
    ok(cuGraphExecDestroy(freeing));
    ok(cuGraphExecDestroy(exec));
    ok(cuGraphDestroy(other));
    ok(cuGraphDestroy(graph));
}

static void test_auto_free(void **state)
{
    struct fixture *f = *state;
    CUdeviceptr memory;
    CUgraphNode alloc;
    CUgraph graph = new_allocation(&memory, &alloc);
    CUgraphExec exec;
    ok(cuGraphInstantiate(&exec, graph, CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH));
    for (int i = 0; i < 5; i++)
        ok(cuGraphLaunch(exec, f->a));
    ok(cuStreamSynchronize(f->a));
    ok(cuMemFreeAsync(memory, f->a));
    fails(cuMemFreeAsync(memory, f->a), CUDA_ERROR_INVALID_VALUE);
    ok(cuStreamSynchronize(f->a));
    ok(cuGraphExecDestroy(exec));
    ok(cuGraphDestroy(graph));
}

/* --- kernels --- */

static void test_kernels(void **state)
{
    struct fixture *f = *state;
    CUmodule module;
    CUfunction add;
    ok(cuModuleLoadData(&module, add_ptx));
    ok(cuModuleGetFunction(&add, module, "add"));
    unsigned value = 1;
    void *args[] = {&f->x, &value};
    ok(cuStreamBeginCapture(f->a, CU_STREAM_CAPTURE_MODE_GLOBAL));
    ok(cuLaunchKernel(add, 1, 1, 1, WORDS, 1, 1, 0, f->a, args, NULL));
    CUgraph graph = end_good(f->a);
    CUgraphNode captured, made;
    size_t count = 1;
    ok(cuGraphGetNodes(graph, &captured, &count));
    value = 10; /* the captured launch has its own copy */
    CUDA_KERNEL_NODE_PARAMS params = {0};
    ok(cuGraphKernelNodeGetParams(captured, &params));
    assert_int_equal(params.blockDimX, WORDS);
    assert_int_equal(*(unsigned *)params.kernelParams[1], 1);
    params.kernelParams = args;
    ok(cuGraphAddKernelNode(&made, graph, &captured, 1, &params));
    value = 100;
    CUgraphExec exec;
    ok(cuGraphInstantiate(&exec, graph, 0));
    fill(f->x, 0);
    ok(cuGraphLaunch(exec, f->a));
    ok(cuStreamSynchronize(f->a));
    assert_int_equal(first_word(f->x), 11);
    ok(cuGraphExecKernelNodeSetParams(exec, made, &params));
    ok(cuGraphNodeSetEnabled(exec, captured, 0));
    ok(cuGraphLaunch(exec, f->a));
    ok(cuStreamSynchronize(f->a));
    assert_int_equal(first_word(f->x), 111);
    ok(cuGraphKernelNodeSetParams(made, &params));
    CUgraphExecUpdateResultInfo info;
    ok(cuGraphExecUpdate(exec, graph, &info));
    ok(cuGraphExecDestroy(exec));
    ok(cuGraphDestroy(graph));
    ok(cuModuleUnload(module));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_flags),
        cmocka_unit_test(test_cycle),
        cmocka_unit_test(test_nodes_run_in_order_of_edges),
        cmocka_unit_test(test_instance_never_runs_twice_at_once),
        cmocka_unit_test(test_threads_launch_one_instance),
        cmocka_unit_test(test_many_launches),
        cmocka_unit_test(test_enabled),
        cmocka_unit_test(test_one_node_changed),
        cmocka_unit_test(test_changes_come_after_what_is_enqueued),
        cmocka_unit_test(test_update),
        cmocka_unit_test(test_update_of_types_and_parameters),
        cmocka_unit_test(test_child_changed),
        cmocka_unit_test(test_memory_of_graphs),
        cmocka_unit_test(test_memory_is_free_once_the_call_says_so),
        cmocka_unit_test(test_auto_free),
        cmocka_unit_test(test_kernels),
    };
    return cmocka_run_group_tests_name("graph launches", tests, fixture_open, fixture_close);
}
