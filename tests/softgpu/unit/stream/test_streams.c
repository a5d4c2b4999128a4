/* Streams, events, host functions: what orders works, and what does not. */
#include "stream_fixture.h"

#include <pthread.h>
#include "driver/call/hooks.h"

/* The per-thread default stream's own entry points; cuda.h names them only for code compiled for
 * them. */
CUresult cuLaunchHostFunc_ptsz(CUstream stream, CUhostFn function, void *user);
CUresult cuStreamSynchronize_ptsz(CUstream stream);

/* --- order --- */

enum { MANY = 200 };

struct sequence {
    unsigned count, seen[MANY];
};

struct step {
    struct sequence *sequence;
    unsigned number;
};

static void take_step(void *user)
{
    struct step *step = user;
    step->sequence->seen[step->sequence->count++] = step->number;
}

static void works_of_a_stream_run_in_order(void **state)
{
    (void)state;
    static struct sequence sequence;
    static struct step steps[MANY];
    CUstream stream = new_stream(CU_STREAM_NON_BLOCKING);
    for (unsigned i = 0; i < MANY; i++) {
        steps[i] = (struct step){&sequence, i};
        OK(cuLaunchHostFunc(stream, take_step, &steps[i]));
    }
    OK(cuStreamSynchronize(stream));
    assert_int_equal(sequence.count, MANY);
    for (unsigned i = 0; i < MANY; i++)
        assert_int_equal(sequence.seen[i], i);
    OK(cuStreamDestroy(stream));
}

static void works_of_two_streams_run_at_once(void **state)
{
    (void)state;
    struct gate first = {0};
    CUstream a = new_stream(0), b = new_stream(0);
    close_stream(a, &first);
    OK(cuLaunchHostFunc(b, set_flag, &first.open)); /* opens what a waits at */
    OK(cuCtxSynchronize());
    assert_true(first.passed);
    OK(cuStreamDestroy(a));
    OK(cuStreamDestroy(b));
}

/* One stream is held at a gate; does a work on the other wait for it? */
static void expect_order(CUstream held, CUstream other, bool waits)
{
    struct gate gate = {0};
    atomic_bool ran = false;
    close_stream(held, &gate);
    OK(cuLaunchHostFunc(other, set_flag, &ran));
    if (waits) {
        assert_true(stays_unset(&ran));
        FAILS(cuStreamQuery(other), CUDA_ERROR_NOT_READY);
    } else {
        OK(cuStreamSynchronize(other));
        assert_true(ran);
        OK(cuStreamQuery(other));
    }
    assert_false(gate.passed);
    open_gate(&gate);
    OK(cuStreamSynchronize(held));
    OK(cuStreamSynchronize(other));
    assert_true(gate.passed && ran);
}

static void the_legacy_stream_orders_blocking_streams(void **state)
{
    (void)state;
    CUstream blocking = new_stream(0), other = new_stream(0);
    expect_order(blocking, CU_STREAM_LEGACY, true);
    expect_order(blocking, NULL, true);
    expect_order(CU_STREAM_LEGACY, blocking, true);
    expect_order(CU_STREAM_PER_THREAD, CU_STREAM_LEGACY, true);
    expect_order(CU_STREAM_LEGACY, CU_STREAM_PER_THREAD, true);
    expect_order(blocking, other, false);
    expect_order(blocking, CU_STREAM_PER_THREAD, false);
    OK(cuStreamDestroy(blocking));
    OK(cuStreamDestroy(other));
}

static void non_blocking_streams_take_no_part(void **state)
{
    (void)state;
    CUstream stream = new_stream(CU_STREAM_NON_BLOCKING);
    expect_order(stream, CU_STREAM_LEGACY, false);
    expect_order(CU_STREAM_LEGACY, stream, false);
    OK(cuStreamDestroy(stream));
}

static void the_legacy_stream_orders_through_two_blocking_streams(void **state)
{
    (void)state;
    struct gate gate = {0};
    atomic_bool middle = false, last = false;
    CUstream a = new_stream(0), b = new_stream(0);
    close_stream(a, &gate);
    OK(cuLaunchHostFunc(NULL, set_flag, &middle));
    OK(cuLaunchHostFunc(b, set_flag, &last));
    assert_true(stays_unset(&last));
    open_gate(&gate);
    OK(cuStreamSynchronize(b));
    assert_true(middle && last);
    OK(cuStreamDestroy(a));
    OK(cuStreamDestroy(b));
}

struct thread_case {
    CUcontext context;
    atomic_bool *opens;
    unsigned long long id;
};

static void *open_from_own_stream(void *user)
{
    struct thread_case *with = user;
    if (cuCtxSetCurrent(with->context) || cuLaunchHostFunc_ptsz(NULL, set_flag, with->opens) ||
        cuStreamSynchronize_ptsz(NULL) || cuStreamGetId(CU_STREAM_PER_THREAD, &with->id))
        with->id = 0;
    return NULL;
}

static void each_thread_has_its_own_default_stream(void **state)
{
    (void)state;
    struct gate gate = {0};
    struct thread_case with = {.opens = &gate.open};
    unsigned long long mine;
    pthread_t thread;
    OK(cuCtxGetCurrent(&with.context));
    OK(cuLaunchHostFunc_ptsz(NULL, pass_gate, &gate));
    assert_int_equal(pthread_create(&thread, NULL, open_from_own_stream, &with), 0);
    OK(cuStreamSynchronize_ptsz(NULL));
    pthread_join(thread, NULL);
    assert_true(gate.passed);
    OK(cuStreamGetId(CU_STREAM_PER_THREAD, &mine));
    assert_true(with.id && with.id != mine);
}

/* --- events --- */

static void an_event_orders_streams(void **state)
{
    (void)state;
    struct gate gate = {0};
    atomic_bool ran = false;
    CUstream a = new_stream(CU_STREAM_NON_BLOCKING), b = new_stream(CU_STREAM_NON_BLOCKING);
    CUevent event = new_event(CU_EVENT_DISABLE_TIMING);
    close_stream(a, &gate);
    OK(cuEventRecord(event, a));
    OK(cuStreamWaitEvent(b, event, 0));
    OK(cuLaunchHostFunc(b, set_flag, &ran));
    OK(cuEventDestroy(event)); /* what waits for it still does */
    assert_true(stays_unset(&ran));
    open_gate(&gate);
    OK(cuStreamSynchronize(b));
    assert_true(gate.passed && ran);
    FAILS(cuEventQuery(event), CUDA_ERROR_INVALID_HANDLE);
    FAILS(cuEventDestroy(event), CUDA_ERROR_INVALID_HANDLE);
    OK(cuStreamDestroy(a));
    OK(cuStreamDestroy(b));
}

static void waiting_takes_the_newest_record_of_its_time(void **state)
{
    (void)state;
    struct gate first = {0}, second = {0};
    atomic_bool early = false, ran = false;
    CUstream a = new_stream(CU_STREAM_NON_BLOCKING), b = new_stream(CU_STREAM_NON_BLOCKING);
    CUevent event = new_event(0);
    /* Never recorded: nothing to wait for, now and later. */
    OK(cuEventQuery(event));
    OK(cuEventSynchronize(event));
    OK(cuStreamWaitEvent(b, event, 0));
    close_stream(a, &first);
    OK(cuEventRecord(event, a));
    OK(cuLaunchHostFunc(b, set_flag, &early));
    OK(cuStreamSynchronize(b));
    assert_true(early);
    FAILS(cuEventQuery(event), CUDA_ERROR_NOT_READY);
    /* Recorded again behind a second gate: the wait is for the first record. */
    OK(cuStreamWaitEvent(b, event, 0));
    OK(cuLaunchHostFunc(b, set_flag, &ran));
    close_stream(a, &second);
    OK(cuEventRecord(event, a));
    open_gate(&first);
    OK(cuStreamSynchronize(b));
    assert_true(ran);
    FAILS(cuEventQuery(event), CUDA_ERROR_NOT_READY);
    open_gate(&second);
    OK(cuEventSynchronize(event));
    assert_true(second.passed);
    OK(cuEventQuery(event));
    OK(cuEventDestroy(event));
    OK(cuStreamDestroy(a));
    OK(cuStreamDestroy(b));
}

static void sleep_a_moment(void *user)
{
    (void)user;
    pause_ms(MOMENT_MS);
}

static void events_tell_the_time_between_them(void **state)
{
    (void)state;
    CUstream stream = new_stream(0);
    CUevent start = new_event(0), end = new_event(0), plain = new_event(CU_EVENT_DISABLE_TIMING);
    float ms = -1;
    struct gate gate = {0};
    FAILS(cuEventElapsedTime(&ms, start, end), CUDA_ERROR_INVALID_HANDLE);
    OK(cuEventRecord(start, stream));
    OK(cuLaunchHostFunc(stream, sleep_a_moment, NULL));
    OK(cuEventRecord(end, stream));
    OK(cuEventRecord(plain, stream));
    OK(cuStreamSynchronize(stream));
    OK(cuEventElapsedTime(&ms, start, end));
    assert_true(ms >= MOMENT_MS - 1 && ms < PATIENCE_MS);
    FAILS(cuEventElapsedTime(&ms, start, plain), CUDA_ERROR_INVALID_HANDLE);
    close_stream(stream, &gate);
    OK(cuEventRecord(end, stream));
    FAILS(cuEventElapsedTime(&ms, start, end), CUDA_ERROR_NOT_READY);
    open_gate(&gate);
    OK(cuEventSynchronize(end));
    FAILS(cuEventCreate(&start, 64), CUDA_ERROR_INVALID_VALUE);
    OK(cuEventDestroy(start));
    OK(cuEventDestroy(end));
    OK(cuEventDestroy(plain));
    OK(cuStreamDestroy(stream));
}

static void events_order_across_devices(void **state)
{
    (void)state;
    CUcontext first, second;
    CUdevice device;
    struct gate gate = {0};
    atomic_bool ran = false;
    OK(cuCtxGetCurrent(&first));
    CUstream a = new_stream(0);
    CUevent event = new_event(0);
    OK(cuDeviceGet(&device, 1));
    OK(cuDevicePrimaryCtxRetain(&second, device));
    OK(cuCtxPushCurrent(second));
    CUstream b = new_stream(0);
    FAILS(cuEventRecord(event, b), CUDA_ERROR_INVALID_HANDLE);
    close_stream(a, &gate);
    OK(cuEventRecord(event, a));
    OK(cuStreamWaitEvent(b, event, 0));
    OK(cuLaunchHostFunc(NULL, set_flag, &ran));
    assert_true(stays_unset(&ran));
    open_gate(&gate);
    OK(cuCtxSynchronize());
    assert_true(ran);
    OK(cuCtxPopCurrent(NULL));
    OK(cuEventDestroy(event));
    OK(cuStreamDestroy(a));
    OK(cuDevicePrimaryCtxRelease(1));
    FAILS(cuStreamQuery(b), CUDA_ERROR_INVALID_HANDLE); /* it went with its context */
}

/* --- streams --- */

static void a_stream_tells_what_it_is(void **state)
{
    (void)state;
    int least, greatest, priority;
    unsigned flags;
    unsigned long long id, other;
    CUstream stream;
    CUcontext context, current;
    OK(cuCtxGetStreamPriorityRange(&least, &greatest));
    assert_int_equal(least, 0);
    assert_int_equal(greatest, -5);
    OK(cuStreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING, -100));
    OK(cuStreamGetPriority(stream, &priority));
    OK(cuStreamGetFlags(stream, &flags));
    OK(cuStreamGetCtx(stream, &context));
    OK(cuCtxGetCurrent(&current));
    OK(cuStreamGetId(stream, &id));
    OK(cuStreamGetId(NULL, &other));
    assert_int_equal(priority, -5);
    assert_int_equal(flags, CU_STREAM_NON_BLOCKING);
    assert_ptr_equal(context, current);
    assert_true(id != other);
    OK(cuStreamDestroy(stream));
    FAILS(cuStreamCreate(&stream, 2), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuStreamDestroy(NULL), CUDA_ERROR_INVALID_HANDLE);
}

/* --- the callbacks of a tool --- */

static struct {
    unsigned created, destroyed;
    CUstream newest, gone;
} told_streams;

static bool wants_no_call(unsigned cbid)
{
    (void)cbid;
    return false;
}

static void see_no_call(const struct hook_call *call)
{
    (void)call;
}

static bool wants_streams(unsigned cbid)
{
    return cbid == 3 || cbid == 4; /* CUPTI_CBID_RESOURCE_STREAM_CREATED, _DESTROY_STARTING */
}

static void see_stream(const struct hook_resource *event)
{
    if (event->cbid == 3) {
        told_streams.created++;
        told_streams.newest = event->stream;
    } else {
        told_streams.destroyed++;
        told_streams.gone = event->stream;
        OK(cuStreamQuery(event->stream)); /* it is still there */
    }
}

static void tools_are_told_of_streams(void **state)
{
    (void)state;
    static const struct hooks hooks = {wants_no_call, see_no_call, wants_streams, see_stream};
    CUstream stream;
    unsigned long long id;
    softgpu_set_hooks(&hooks);
    OK(cuStreamCreateWithPriority(&stream, 0, -1));
    assert_int_equal(told_streams.created, 1);
    assert_ptr_equal(told_streams.newest, stream);
    OK(cuStreamGetId(stream, &id));
    assert_int_equal(softgpu_stream_uid(stream, false), id);
    OK(cuStreamDestroy(stream));
    softgpu_set_hooks(NULL);
    assert_int_equal(told_streams.destroyed, 1);
    assert_ptr_equal(told_streams.gone, stream);
    assert_int_equal(softgpu_stream_uid(stream, false), 0);
    OK(cuStreamDestroy(new_stream(0)));
    assert_int_equal(told_streams.created, 1);
}

static void a_destroyed_stream_finishes_its_work(void **state)
{
    (void)state;
    struct gate gate = {0};
    atomic_bool ran = false;
    CUstream stream = new_stream(CU_STREAM_NON_BLOCKING);
    close_stream(stream, &gate);
    OK(cuLaunchHostFunc(stream, set_flag, &ran));
    OK(cuStreamDestroy(stream));
    FAILS(cuStreamQuery(stream), CUDA_ERROR_INVALID_HANDLE);
    FAILS(cuLaunchHostFunc(stream, set_flag, &ran), CUDA_ERROR_INVALID_HANDLE);
    CUstream next = new_stream(CU_STREAM_NON_BLOCKING);
    assert_ptr_not_equal(next, stream);
    assert_false(ran);
    open_gate(&gate);
    OK(cuCtxSynchronize());
    assert_true(ran);
    OK(cuStreamDestroy(next));
}

static void many_streams_come_and_go(void **state)
{
    (void)state;
    static atomic_bool ran[1000];
    for (unsigned i = 0; i < 1000; i++) {
        CUstream stream = new_stream(i % 2);
        OK(cuLaunchHostFunc(stream, set_flag, &ran[i]));
        OK(cuStreamDestroy(stream));
    }
    OK(cuCtxSynchronize());
    for (unsigned i = 0; i < 1000; i++)
        assert_true(ran[i]);
}

/* --- host functions --- */

struct told {
    atomic_int count;
    CUstream stream;
    CUresult status, inner;
};

static void be_called(void *user)
{
    struct told *told = user;
    CUdeviceptr address;
    told->inner = cuMemAlloc(&address, 16);
    atomic_fetch_add(&told->count, 1);
}

static void CUDA_CB be_called_back(CUstream stream, CUresult status, void *user)
{
    struct told *told = user;
    told->stream = stream;
    told->status = status;
    be_called(user);
}

static void host_functions_may_not_call_the_driver(void **state)
{
    (void)state;
    struct told function = {0}, callback = {.status = CUDA_ERROR_UNKNOWN};
    CUstream stream = new_stream(0);
    OK(cuLaunchHostFunc(stream, be_called, &function));
    OK(cuStreamAddCallback(stream, be_called_back, &callback, 0));
    OK(cuStreamSynchronize(stream));
    assert_int_equal(function.count, 1);
    assert_int_equal(function.inner, CUDA_ERROR_NOT_PERMITTED);
    assert_int_equal(callback.count, 1);
    assert_ptr_equal(callback.stream, stream);
    assert_int_equal(callback.status, CUDA_SUCCESS);
    assert_int_equal(callback.inner, CUDA_ERROR_NOT_PERMITTED);
    FAILS(cuStreamAddCallback(stream, NULL, NULL, 0), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuLaunchHostFunc(stream, NULL, NULL), CUDA_ERROR_INVALID_VALUE);
    OK(cuStreamDestroy(stream));
}

/* A copy whose source is gone when its turn comes breaks its context, and no other. */
static void a_failed_work_poisons_its_context(void **state)
{
    (void)state;
    CUcontext primary, broken;
    CUdeviceptr from, to;
    struct gate gate = {0};
    struct told function = {0}, callback = {0};
    OK(cuCtxGetCurrent(&primary));
    OK(cuCtxCreate(&broken, NULL, 0, 0));
    CUstream stream = new_stream(CU_STREAM_NON_BLOCKING),
             other = new_stream(CU_STREAM_NON_BLOCKING);
    OK(cuMemAlloc(&to, 4096));
    OK(cuMemAllocAsync(&from, 4096, other));
    close_stream(stream, &gate);
    OK(cuMemcpyDtoDAsync(to, from, 4096, stream));
    OK(cuLaunchHostFunc(stream, be_called, &function));
    OK(cuStreamAddCallback(stream, be_called_back, &callback, 0));
    OK(cuMemFreeAsync(from, other));
    OK(cuStreamSynchronize(other));
    open_gate(&gate);
    FAILS(cuStreamSynchronize(stream), CUDA_ERROR_ILLEGAL_ADDRESS);
    FAILS(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
    FAILS(cuMemAlloc(&from, 16), CUDA_ERROR_ILLEGAL_ADDRESS);
    FAILS(cuLaunchHostFunc(other, be_called, &function), CUDA_ERROR_ILLEGAL_ADDRESS);
    assert_int_equal(function.count, 0);
    assert_int_equal(callback.count, 1);
    assert_int_equal(callback.status, CUDA_ERROR_ILLEGAL_ADDRESS);
    cuCtxDestroy(broken);
    OK(cuCtxSetCurrent(primary));
    OK(cuCtxSynchronize());
}

/* --- many threads --- */

enum { THREADS = 4, ROUNDS = 60 };

struct ring {
    CUcontext context;
    CUevent events[THREADS];
    unsigned number;
    bool failed;
};

static void *go_round(void *user)
{
    struct ring *ring = user;
    CUstream stream;
    bool failed = cuCtxSetCurrent(ring->context) || cuStreamCreate(&stream, ring->number % 2);
    for (unsigned i = 0; i < ROUNDS && !failed; i++) {
        atomic_bool ran = false;
        failed = cuStreamWaitEvent(stream, ring->events[(ring->number + 1) % THREADS], 0) ||
                 cuLaunchHostFunc(stream, set_flag, &ran) ||
                 cuEventRecord(ring->events[ring->number], stream) ||
                 cuLaunchHostFunc_ptsz(i % 8 ? NULL : CU_STREAM_LEGACY, set_flag, &ran) ||
                 cuStreamSynchronize(stream) || cuStreamSynchronize(CU_STREAM_PER_THREAD) ||
                 (i % 8 == 0 && cuStreamSynchronize(NULL)) || !atomic_load(&ran);
        if (i % 16 == 15 && !failed)
            failed = cuStreamDestroy(stream) || cuStreamCreate(&stream, i / 16 % 2);
    }
    ring->failed = failed || cuStreamDestroy(stream);
    return NULL;
}

static void threads_use_streams_and_events_together(void **state)
{
    (void)state;
    struct ring rings[THREADS];
    pthread_t threads[THREADS];
    struct ring all;
    OK(cuCtxGetCurrent(&all.context));
    for (unsigned i = 0; i < THREADS; i++)
        all.events[i] = new_event(0);
    for (unsigned i = 0; i < THREADS; i++) {
        rings[i] = all;
        rings[i].number = i;
        assert_int_equal(pthread_create(&threads[i], NULL, go_round, &rings[i]), 0);
    }
    for (unsigned i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        assert_false(rings[i].failed);
    }
    for (unsigned i = 0; i < THREADS; i++)
        OK(cuEventDestroy(all.events[i]));
}

int main(void)
{
    setenv("SOFTGPU_DEVICES", "2", 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(works_of_a_stream_run_in_order),
        cmocka_unit_test(works_of_two_streams_run_at_once),
        cmocka_unit_test(the_legacy_stream_orders_blocking_streams),
        cmocka_unit_test(non_blocking_streams_take_no_part),
        cmocka_unit_test(the_legacy_stream_orders_through_two_blocking_streams),
        cmocka_unit_test(each_thread_has_its_own_default_stream),
        cmocka_unit_test(an_event_orders_streams),
        cmocka_unit_test(waiting_takes_the_newest_record_of_its_time),
        cmocka_unit_test(events_tell_the_time_between_them),
        cmocka_unit_test(events_order_across_devices),
        cmocka_unit_test(a_stream_tells_what_it_is),
        cmocka_unit_test(tools_are_told_of_streams),
        cmocka_unit_test(a_destroyed_stream_finishes_its_work),
        cmocka_unit_test(many_streams_come_and_go),
        cmocka_unit_test(host_functions_may_not_call_the_driver),
        cmocka_unit_test(a_failed_work_poisons_its_context),
        cmocka_unit_test(threads_use_streams_and_events_together),
    };
    return cmocka_run_group_tests_name("streams", tests, use_primary, NULL);
}
