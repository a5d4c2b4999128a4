/* Capture: what becomes a node, which streams join, what breaks a capture and what does not. */
#include "graph_fixture.h"

#include <pthread.h>

static const CUstreamCaptureMode modes[] = {CU_STREAM_CAPTURE_MODE_GLOBAL,
                                            CU_STREAM_CAPTURE_MODE_THREAD_LOCAL,
                                            CU_STREAM_CAPTURE_MODE_RELAXED};

static void begin(CUstream stream)
{
    ok(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
}

static void test_nothing_runs_until_launched(void **state)
{
    struct fixture *f = *state;
    fill(f->x, 1);
    begin(f->a);
    ok(cuMemsetD32Async(f->x, 7, WORDS, f->a));
    ok(cuMemcpyDtoDAsync(f->y, f->x, BYTES, f->a));
    CUgraph graph = end_good(f->a);
    assert_int_equal(status_of(f->a), CU_STREAM_CAPTURE_STATUS_NONE);
    assert_int_equal(first_word(f->x), 1);
    assert_int_equal(count_nodes(graph), 2);
    assert_int_equal(count_edges(graph), 1);
    run_graph(graph, f->a);
    assert_int_equal(first_word(f->y), 7);
    ok(cuGraphDestroy(graph));
}

static void test_wrong_beginnings_and_ends(void **state)
{
    struct fixture *f = *state;
    CUgraph graph;
    fails(cuStreamBeginCapture(NULL, modes[0]), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    fails(cuStreamBeginCapture(f->a, 77), CUDA_ERROR_INVALID_VALUE);
    fails(cuStreamEndCapture(f->a, &graph), CUDA_ERROR_ILLEGAL_STATE);
    begin(f->a);
    fails(cuStreamBeginCapture(f->a, modes[0]), CUDA_ERROR_ILLEGAL_STATE);
    fails(cuStreamEndCapture(f->a, NULL), CUDA_ERROR_INVALID_VALUE);
    ok(cuGraphDestroy(end_good(f->a)));
    ok(cuStreamBeginCapture(CU_STREAM_PER_THREAD, modes[0]));
    ok(cuGraphDestroy(end_good(CU_STREAM_PER_THREAD)));
}

/* Forks b off a by an event. */
static CUevent fork_to(CUstream from, CUstream to)
{
    CUevent event;
    ok(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    ok(cuEventRecord(event, from));
    ok(cuStreamWaitEvent(to, event, 0));
    return event;
}

static void test_fork_and_join(void **state)
{
    struct fixture *f = *state;
    begin(f->a);
    ok(cuMemsetD32Async(f->x, 3, WORDS, f->a));
    CUevent forked = fork_to(f->a, f->c);
    assert_int_equal(status_of(f->c), CU_STREAM_CAPTURE_STATUS_ACTIVE);
    ok(cuMemcpyDtoDAsync(f->y, f->x, BYTES, f->c));
    ok(cuMemsetD32Async(f->x + BYTES / 2, 4, WORDS / 2, f->a));
    CUevent joined = fork_to(f->c, f->a);
    ok(cuMemcpyDtoHAsync(f->host, f->y, BYTES, f->a));
    CUgraph graph = end_good(f->a);
    assert_int_equal(status_of(f->c), CU_STREAM_CAPTURE_STATUS_NONE);
    assert_int_equal(count_nodes(graph), 4);
    assert_int_equal(count_edges(graph), 4);
    size_t roots;
    ok(cuGraphGetRootNodes(graph, NULL, &roots));
    assert_int_equal(roots, 1);
    run_graph(graph, f->b);
    assert_int_equal(f->host[0], 3);
    ok(cuGraphDestroy(graph));
    ok(cuEventDestroy(forked));
    ok(cuEventDestroy(joined));
}

static void test_unjoined(void **state)
{
    struct fixture *f = *state;
    CUgraph graph = (CUgraph)8;
    begin(f->a);
    CUevent forked = fork_to(f->a, f->c);
    ok(cuMemsetD32Async(f->x, 3, WORDS, f->c));
    fails(cuStreamEndCapture(f->a, &graph), CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
    assert_null(graph);
    assert_int_equal(status_of(f->a), CU_STREAM_CAPTURE_STATUS_NONE);
    assert_int_equal(status_of(f->c), CU_STREAM_CAPTURE_STATUS_NONE);
    /* The quiet twin: a stream that joined and added nothing owes nothing. */
    begin(f->a);
    ok(cuMemsetD32Async(f->x, 3, WORDS, f->a));
    ok(cuEventRecord(forked, f->a));
    ok(cuStreamWaitEvent(f->c, forked, 0));
    ok(cuMemsetD32Async(f->x, 3, WORDS, f->a));
    ok(cuGraphDestroy(end_good(f->a)));
    ok(cuEventDestroy(forked));
}

static void test_taken_out_by_hand_need_not_join(void **state)
{
    struct fixture *f = *state;
    begin(f->a);
    CUevent forked = fork_to(f->a, f->c);
    ok(cuMemsetD32Async(f->x, 3, WORDS, f->c));
    ok(cuStreamUpdateCaptureDependencies(f->c, NULL, NULL, 0, CU_STREAM_SET_CAPTURE_DEPENDENCIES));
    CUgraph graph = end_good(f->a);
    assert_int_equal(count_nodes(graph), 1);
    ok(cuGraphDestroy(graph));
    ok(cuEventDestroy(forked));
    fails(cuStreamUpdateCaptureDependencies(f->c, NULL, NULL, 0, 0), CUDA_ERROR_ILLEGAL_STATE);
}

static void test_unmatched(void **state)
{
    struct fixture *f = *state;
    CUgraph graph;
    begin(f->a);
    CUevent forked = fork_to(f->a, f->b);
    fails(cuStreamEndCapture(f->b, &graph), CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
    ok(cuGraphDestroy(end_good(f->a)));
    ok(cuEventDestroy(forked));
}

static void test_merge_and_isolation(void **state)
{
    struct fixture *f = *state;
    CUevent event;
    ok(cuEventCreate(&event, 0));
    begin(f->a);
    begin(f->b);
    ok(cuEventRecord(event, f->a));
    fails(cuStreamWaitEvent(f->b, event, 0), CUDA_ERROR_STREAM_CAPTURE_MERGE);
    end_broken(f->a);
    end_broken(f->b);

    ok(cuEventRecord(event, f->c));
    begin(f->a);
    fails(cuStreamWaitEvent(f->a, event, 0), CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
    fails(cuMemsetD32Async(f->x, 3, WORDS, f->a), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    end_broken(f->a);

    begin(f->a); /* the quiet twin: an event of the same capture, and of the same stream */
    ok(cuEventRecord(event, f->a));
    ok(cuStreamWaitEvent(f->a, event, 0));
    ok(cuGraphDestroy(end_good(f->a)));
    fails(cuStreamWaitEvent(f->b, event, 0), CUDA_ERROR_CAPTURED_EVENT);
    ok(cuEventRecord(event, f->a));
    ok(cuStreamWaitEvent(f->b, event, 0));
    ok(cuEventDestroy(event));
}

static void test_external_events_are_nodes(void **state)
{
    struct fixture *f = *state;
    CUevent event;
    ok(cuEventCreate(&event, 0));
    begin(f->a);
    ok(cuStreamWaitEvent(f->a, event, CU_EVENT_WAIT_EXTERNAL));
    ok(cuMemsetD32Async(f->x, 3, WORDS, f->a));
    ok(cuEventRecordWithFlags(event, f->a, CU_EVENT_RECORD_EXTERNAL));
    CUgraph graph = end_good(f->a);
    CUgraphNode nodes[3];
    size_t count = 3;
    ok(cuGraphGetNodes(graph, nodes, &count));
    assert_int_equal(count, 3);
    CUgraphNodeType type;
    ok(cuGraphNodeGetType(nodes[0], &type));
    assert_int_equal(type, CU_GRAPH_NODE_TYPE_WAIT_EVENT);
    CUevent back;
    ok(cuGraphEventRecordNodeGetEvent(nodes[2], &back));
    assert_ptr_equal(back, event);
    run_graph(graph, f->a);
    ok(cuEventSynchronize(event));
    ok(cuGraphDestroy(graph));
    ok(cuEventDestroy(event));
}

static void test_synchronising_breaks(void **state)
{
    struct fixture *f = *state;
    CUevent event;
    ok(cuEventCreate(&event, 0));
    begin(f->a);
    fails(cuStreamSynchronize(f->a), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    fails(cuStreamSynchronize(f->a), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    end_broken(f->a);
    begin(f->a);
    fails(cuStreamQuery(f->a), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    end_broken(f->a);
    begin(f->a);
    ok(cuEventRecord(event, f->a));
    fails(cuEventQuery(event), CUDA_ERROR_CAPTURED_EVENT);
    end_broken(f->a);
    begin(f->a);
    ok(cuEventRecord(event, f->a));
    fails(cuEventSynchronize(event), CUDA_ERROR_CAPTURED_EVENT);
    end_broken(f->a);
    begin(f->a); /* the quiet twin: another stream, another event */
    ok(cuStreamSynchronize(f->c));
    ok(cuEventRecord(event, f->c));
    ok(cuEventSynchronize(event));
    ok(cuGraphDestroy(end_good(f->a)));
    ok(cuEventDestroy(event));
}

static void test_waiting_for_the_context_breaks(void **state)
{
    struct fixture *f = *state;
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    ok(cuThreadExchangeStreamCaptureMode(&mode));
    begin(f->c);
    fails(cuCtxSynchronize(), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    end_broken(f->c);
    ok(cuThreadExchangeStreamCaptureMode(&mode));
    ok(cuCtxSynchronize());
}

static void test_legacy_stream(void **state)
{
    struct fixture *f = *state;
    CUstreamCaptureStatus status;
    begin(f->a);
    fails(cuStreamIsCapturing(NULL, &status), CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
    fails(cuStreamGetCaptureInfo(NULL, &status, NULL, NULL, NULL, NULL, NULL),
          CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
    assert_int_equal(status_of(f->a), CU_STREAM_CAPTURE_STATUS_ACTIVE);
    fails(cuMemsetD32Async(f->x, 3, WORDS, NULL), CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
    end_broken(f->a);
    begin(f->c); /* the quiet twin: a capture that the legacy stream has no order with */
    ok(cuStreamIsCapturing(NULL, &status));
    assert_int_equal(status, CU_STREAM_CAPTURE_STATUS_NONE);
    ok(cuMemsetD32Async(f->x, 3, WORDS, NULL));
    ok(cuStreamSynchronize(NULL));
    ok(cuGraphDestroy(end_good(f->c)));
}

/* --- threads --- */

struct elsewhere {
    struct fixture *f;
    CUstreamCaptureMode thread_mode;
    CUresult allocated, ended;
    CUgraph graph;
};

static CUresult allocate(CUstreamCaptureMode thread_mode)
{
    CUdeviceptr memory;
    CUstreamCaptureMode mode = thread_mode;
    ok(cuThreadExchangeStreamCaptureMode(&mode));
    CUresult result = cuMemAlloc(&memory, 16);
    ok(cuThreadExchangeStreamCaptureMode(&mode));
    assert_int_equal(mode, thread_mode);
    if (result == CUDA_SUCCESS) {
        mode = CU_STREAM_CAPTURE_MODE_RELAXED;
        ok(cuThreadExchangeStreamCaptureMode(&mode));
        ok(cuMemFree(memory));
        ok(cuThreadExchangeStreamCaptureMode(&mode));
    }
    return result;
}

static void *in_thread(void *data)
{
    struct elsewhere *e = data;
    ok(cuCtxSetCurrent(e->f->context));
    e->allocated = allocate(e->thread_mode);
    e->ended = cuStreamEndCapture(e->f->c, &e->graph);
    return NULL;
}

/* The table of cuThreadExchangeStreamCaptureMode: rows are the capture's mode, columns the
 * thread's. */
static const bool forbidden_here[3][3] = {
    {true, true, false}, {true, true, false}, {false, false, false}};
static const bool forbidden_there[3][3] = {
    {true, false, false}, {false, false, false}, {false, false, false}};

static void test_modes_in_the_capturing_thread(void **state)
{
    struct fixture *f = *state;
    for (int capture = 0; capture < 3; capture++) {
        for (int thread = 0; thread < 3; thread++) {
            ok(cuStreamBeginCapture(f->c, modes[capture]));
            CUresult result = allocate(modes[thread]);
            if (forbidden_here[capture][thread]) {
                assert_int_equal(result, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
                end_broken(f->c);
            } else {
                assert_int_equal(result, CUDA_SUCCESS);
                ok(cuGraphDestroy(end_good(f->c)));
            }
        }
    }
}

static void test_modes_in_another_thread(void **state)
{
    struct fixture *f = *state;
    for (int capture = 0; capture < 3; capture++) {
        for (int thread = 0; thread < 3; thread++) {
            struct elsewhere e = {.f = f, .thread_mode = modes[thread]};
            pthread_t id;
            ok(cuStreamBeginCapture(f->c, modes[capture]));
            assert_int_equal(pthread_create(&id, NULL, in_thread, &e), 0);
            pthread_join(id, NULL);
            bool forbidden = forbidden_there[capture][thread];
            assert_int_equal(e.allocated, forbidden ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED : 0);
            if (modes[capture] == CU_STREAM_CAPTURE_MODE_RELAXED) {
                assert_int_equal(e.ended, CUDA_SUCCESS);
                ok(cuGraphDestroy(e.graph));
                continue;
            }
            assert_int_equal(e.ended, CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
            if (forbidden)
                end_broken(f->c);
            else
                ok(cuGraphDestroy(end_good(f->c)));
        }
    }
    CUstreamCaptureMode bad = 9;
    fails(cuThreadExchangeStreamCaptureMode(&bad), CUDA_ERROR_INVALID_VALUE);
}

static void *capture_often(void *data)
{
    struct fixture *f = data;
    ok(cuCtxSetCurrent(f->context));
    CUstream stream, side;
    ok(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    ok(cuStreamCreate(&side, CU_STREAM_NON_BLOCKING));
    for (int i = 0; i < 40; i++) {
        ok(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
        CUevent forked = fork_to(stream, side);
        ok(cuMemsetD32Async(f->x, 3, 1, side));
        CUevent joined = fork_to(side, stream);
        CUgraph graph = end_good(stream);
        run_graph(graph, stream);
        ok(cuGraphDestroy(graph));
        ok(cuEventDestroy(forked));
        ok(cuEventDestroy(joined));
    }
    ok(cuStreamDestroy(stream));
    ok(cuStreamDestroy(side));
    return NULL;
}

static void test_captures_side_by_side(void **state)
{
    pthread_t id[4];
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&id[i], NULL, capture_often, *state), 0);
    for (int i = 0; i < 4; i++)
        pthread_join(id[i], NULL);
}

/* --- queries and changes --- */

static void test_capture_info(void **state)
{
    struct fixture *f = *state;
    CUstreamCaptureStatus status;
    cuuint64_t id[2];
    CUgraph graph;
    const CUgraphNode *nodes;
    const CUgraphEdgeData *data;
    size_t count;
    for (int i = 0; i < 2; i++) {
        begin(f->a);
        ok(cuMemsetD32Async(f->x, 3, WORDS, f->a));
        ok(cuStreamGetCaptureInfo(f->a, &status, &id[i], &graph, &nodes, &data, &count));
        assert_int_equal(status, CU_STREAM_CAPTURE_STATUS_ACTIVE);
        assert_int_equal(count, 1);
        CUgraphNode extra;
        ok(cuGraphAddEmptyNode(&extra, graph, nodes, count));
        fails(cuGraphDestroy(graph), CUDA_ERROR_INVALID_VALUE);
        fails(cuGraphDestroyNode(extra), CUDA_ERROR_INVALID_VALUE);
        ok(cuStreamUpdateCaptureDependencies(f->a, &extra, NULL, 1,
                                             CU_STREAM_ADD_CAPTURE_DEPENDENCIES));
        ok(cuStreamGetCaptureInfo(f->a, &status, NULL, NULL, &nodes, &data, &count));
        assert_int_equal(count, 2);
        ok(cuMemsetD32Async(f->x, 4, WORDS, f->a));
        CUgraph ended = end_good(f->a);
        assert_ptr_equal(ended, graph);
        assert_int_equal(count_edges(graph), 3);
        ok(cuGraphDestroy(graph));
    }
    assert_true(id[0] != id[1]);
    ok(cuStreamGetCaptureInfo(f->a, &status, NULL, NULL, NULL, NULL, NULL));
    assert_int_equal(status, CU_STREAM_CAPTURE_STATUS_NONE);
}

static void test_capture_to_graph(void **state)
{
    struct fixture *f = *state;
    CUgraph graph, ended;
    CUgraphNode first;
    CUgraphExec exec;
    ok(cuGraphCreate(&graph, 0));
    ok(cuGraphAddEmptyNode(&first, graph, NULL, 0));
    ok(cuStreamBeginCaptureToGraph(f->a, graph, &first, NULL, 1, modes[0]));
    ok(cuMemsetD32Async(f->x, 3, WORDS, f->a));
    fails(cuGraphInstantiate(&exec, graph, 0), CUDA_ERROR_INVALID_VALUE);
    ok(cuStreamEndCapture(f->a, &ended));
    assert_ptr_equal(ended, graph);
    assert_int_equal(count_nodes(graph), 2);
    assert_int_equal(count_edges(graph), 1);
    run_graph(graph, f->a);
    ok(cuStreamBeginCaptureToGraph(f->a, graph, NULL, NULL, 0, modes[0]));
    fails(cuStreamQuery(f->a), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    end_broken(f->a);
    assert_int_equal(count_nodes(graph), 2); /* the program's own stays */
    ok(cuGraphDestroy(graph));
    fails(cuStreamBeginCaptureToGraph(f->a, graph, NULL, NULL, 0, modes[0]),
          CUDA_ERROR_INVALID_VALUE);
}

static void test_stream_destroyed_in_capture(void **state)
{
    struct fixture *f = *state;
    CUstream stream, side;
    ok(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    ok(cuStreamCreate(&side, CU_STREAM_NON_BLOCKING));
    begin(stream);
    CUevent event = fork_to(stream, f->c);
    ok(cuStreamDestroy(stream)); /* the origin: no stream is left to end it */
    assert_int_equal(status_of(f->c), CU_STREAM_CAPTURE_STATUS_NONE);
    fails(cuEventQuery(event), CUDA_ERROR_CAPTURED_EVENT);
    begin(f->c);
    ok(cuEventRecord(event, f->c));
    ok(cuStreamWaitEvent(side, event, 0));
    ok(cuStreamDestroy(side));
    end_broken(f->c);
    ok(cuEventDestroy(event));
}

static void test_launch_in_capture_is_refused(void **state)
{
    struct fixture *f = *state;
    begin(f->a);
    ok(cuMemsetD32Async(f->x, 9, WORDS, f->a));
    CUgraph inner = end_good(f->a);
    CUgraphExec exec;
    ok(cuGraphInstantiate(&exec, inner, 0));
    fill(f->x, 1);
    begin(f->a);
    fails(cuGraphLaunch(exec, f->a), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    fails(cuGraphLaunch(exec, f->a), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    end_broken(f->a);
    assert_int_equal(first_word(f->x), 1);
    ok(cuGraphLaunch(exec, f->a));
    assert_int_equal(first_word(f->x), 9);
    ok(cuGraphExecDestroy(exec));
    ok(cuGraphDestroy(inner));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_runs_until_launched),
        cmocka_unit_test(test_wrong_beginnings_and_ends),
        cmocka_unit_test(test_fork_and_join),
        cmocka_unit_test(test_unjoined),
        cmocka_unit_test(test_taken_out_by_hand_need_not_join),
        cmocka_unit_test(test_unmatched),
        cmocka_unit_test(test_merge_and_isolation),
        cmocka_unit_test(test_external_events_are_nodes),
        cmocka_unit_test(test_synchronising_breaks),
        cmocka_unit_test(test_waiting_for_the_context_breaks),
        cmocka_unit_test(test_legacy_stream),
        cmocka_unit_test(test_modes_in_the_capturing_thread),
        cmocka_unit_test(test_modes_in_another_thread),
        cmocka_unit_test(test_captures_side_by_side),
        cmocka_unit_test(test_capture_info),
        cmocka_unit_test(test_capture_to_graph),
        cmocka_unit_test(test_stream_destroyed_in_capture),
        cmocka_unit_test(test_launch_in_capture_is_refused),
    };
    return cmocka_run_group_tests_name("captures", tests, fixture_open, fixture_close);
}
