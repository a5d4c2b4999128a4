/* Launches between two events: which are timed, what comes of it, and how replays are split. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdatomic.h>
#include <time.h>
#include "base/clock.h"
#include "driver/cuda_api.h"
#include "timing/timing.h"

static struct fake {
    atomic_int events, records;
    atomic_bool busy; /* no event has happened yet */
    bool capturing;
    float ms;
} fake;

static const void *const context = &fake, *const stream = &fake.ms;

static CUresult create(CUevent *event, unsigned flags)
{
    (void)flags;
    *event = (CUevent)(uintptr_t)(0x100 + atomic_fetch_add(&fake.events, 1));
    return CUDA_SUCCESS;
}

static CUresult record(CUevent event, CUstream on)
{
    assert_ptr_equal(on, stream);
    assert_non_null(event);
    atomic_fetch_add(&fake.records, 1);
    return CUDA_SUCCESS;
}

static CUresult query(CUevent event)
{
    (void)event;
    return atomic_load(&fake.busy) ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS;
}

static CUresult elapsed(float *ms, CUevent from, CUevent to)
{
    (void)from, (void)to;
    *ms = fake.ms;
    return CUDA_SUCCESS;
}

static CUresult capturing(CUstream on, CUstreamCaptureStatus *status)
{
    (void)on;
    *status = fake.capturing ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_NONE;
    return CUDA_SUCCESS;
}

static CUresult push(CUcontext one)
{
    (void)one;
    return CUDA_SUCCESS;
}

static CUresult pop(CUcontext *one)
{
    *one = NULL;
    return CUDA_SUCCESS;
}

static CUresult exchange(CUstreamCaptureMode *mode)
{
    (void)mode;
    return CUDA_SUCCESS;
}

static struct timing *timing;

static int open_timing(void **state)
{
    struct error err = {{0}};
    (void)state;
    fake = (struct fake){.ms = 0.1f};
    cuda.cuEventCreate = create;
    cuda.cuEventRecord = record;
    cuda.cuEventQuery = query;
    cuda.cuEventElapsedTime = elapsed;
    cuda.cuStreamIsCapturing = capturing;
    cuda.cuCtxPushCurrent = push;
    cuda.cuCtxPopCurrent = pop;
    cuda.cuThreadExchangeStreamCaptureMode = exchange;
    return timing_create(&timing, &err);
}

static int close_timing(void **state)
{
    (void)state;
    timing_stop(timing, 1000);
    return 0;
}

static void nap(long ms)
{
    nanosleep(&(struct timespec){.tv_nsec = ms * 1000000}, NULL);
}

/* Whether it was timed. */
static bool launch(struct gpu_time *time)
{
    struct timing_pair pair;
    int before = atomic_load(&fake.records);
    timing_begin(timing, context, stream, clock_ns(), time, &pair);
    timing_end(timing, stream, &pair, true);
    return atomic_load(&fake.records) == before + 2;
}

/* The first launches of a context find no events. */
static void await_events(struct gpu_time *time)
{
    for (int i = 0; i < 2000 && !launch(time); i++)
        nap(2);
}

static void await_count(uint64_t count)
{
    for (int i = 0; i < 2000 && timing_count(timing) < count; i++)
        nap(2);
    assert_int_equal(timing_count(timing), count);
}

static void a_launch_that_keeps_the_host_is_not_timed(void **state)
{
    struct gpu_time time = {0};
    struct timing_pair pair;
    (void)state;
    await_events(&time);
    nap(2);
    int before = atomic_load(&fake.records);
    timing_begin(timing, context, stream, clock_ns(), &time, &pair);
    nap(1);
    timing_end(timing, stream, &pair, true);
    assert_int_equal(atomic_load(&fake.records), before + 1);
    nap(2);
    assert_true(launch(&time)); /* its events serve the next */
}

static void a_launch_is_timed(void **state)
{
    struct gpu_time time = {0};
    (void)state;
    assert_false(launch(&time));
    await_events(&time);
    await_count(1);
    /* The shortest so far, 0.1 ms, less the most that events may have taken of it. */
    assert_float_equal((float)gpu_time_mean(&time), 100000 - TIMING_FLOOR_NS, 100);
}

static void one_of_those_that_come_close_is_timed(void **state)
{
    struct gpu_time time = {0}, other = {0};
    (void)state;
    await_events(&time);
    await_count(1);
    nap(2);
    assert_true(launch(&time));
    await_count(2);
    nap(2);
    int timed = 0;
    for (int i = 0; i < 10; i++)
        timed += launch(&time);
    assert_in_range(timed, 1, 9);
    assert_true(launch(&other)); /* of which nothing is known */
    await_count(2 + (uint64_t)timed + 1);
}

static void nothing_is_recorded_in_a_capture_or_while_all_events_are_in_use(void **state)
{
    struct gpu_time time = {0}, fresh = {0};
    int timed = 0;
    (void)state;
    await_events(&time);
    await_count(1);
    fake.capturing = true;
    nap(2);
    assert_false(launch(&fresh));
    fake.capturing = false;
    atomic_store(&fake.busy, true);
    for (int i = 0; i < 200; i++)
        timed += launch(&fresh);
    assert_int_equal(timed, 64);
    atomic_store(&fake.busy, false);
    await_count(65);
}

static void a_context_that_ends_takes_its_events_with_it(void **state)
{
    struct gpu_time time = {0};
    (void)state;
    await_events(&time);
    await_count(1);
    int events = atomic_load(&fake.events);
    timing_context_going(timing, context);
    await_events(&time);
    await_count(2);
    assert_int_equal(atomic_load(&fake.events), 2 * events);
}

static void a_registered_kernels_first_launch_is_left_out(void **state)
{
    struct gpu_time time = {0};
    int due = 0;
    (void)state;
    assert_false(timing_due(&time));
    for (int i = 0; i < 4; i++)
        assert_true(timing_due(&time));
    for (int i = 0; i < 160; i++)
        due += timing_due(&time);
    assert_int_equal(due, 10);
    struct gpu_time other = {0};
    assert_null(timing_loaded(&other));
    for (int i = 0; i < 5; i++)
        assert_ptr_equal(timing_loaded(&other), &other);
    assert_null(timing_loaded(NULL));
}

/* One kernel takes three times as long as the other outside of graphs; of a third nothing is known.
 */
static void a_replay_is_split_among_its_kernels(void **state)
{
    static struct gpu_time kernel[3];
    const struct timed_part part[] = {{&kernel[0], 1}, {&kernel[1], 2}, {&kernel[2], 1}};
    struct timing_pair pair;
    (void)state;
    atomic_store(&kernel[0].timed, 1);
    atomic_store(&kernel[0].ns, 6000);
    atomic_store(&kernel[1].timed, 2);
    atomic_store(&kernel[1].ns, 4000);
    struct gpu_time other = {0};
    await_events(&other);
    await_count(1);
    struct timed_graph *graph = timing_graph(timing, part, 3);
    for (int i = 0; i < 10; i++) {
        timing_replay_begin(timing, graph, context, stream, &pair);
        timing_replay_end(timing, graph, stream, &pair, true, true);
        nap(2);
    }
    timing_stop(timing, 1000);
    double weights = 6000 + 2 * 2000 + (6000 + 2 * 2000) / 3.;
    double all = 10 * (100000. - TIMING_FLOOR_NS);
    assert_int_equal(atomic_load(&kernel[0].replayed), 10);
    assert_int_equal(atomic_load(&kernel[1].replayed), 20);
    assert_float_equal((float)atomic_load(&kernel[0].replayed_ns), (float)(all * 6000 / weights),
                       500);
    assert_float_equal((float)atomic_load(&kernel[1].replayed_ns), (float)(all * 4000 / weights),
                       500);
    assert_float_equal((float)atomic_load(&kernel[2].replayed_ns), (float)(all / 4), 500);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, open_timing, close_timing)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_launch_is_timed),
        CASE(a_launch_that_keeps_the_host_is_not_timed),
        CASE(one_of_those_that_come_close_is_timed),
        CASE(nothing_is_recorded_in_a_capture_or_while_all_events_are_in_use),
        CASE(a_context_that_ends_takes_its_events_with_it),
        CASE(a_registered_kernels_first_launch_is_left_out),
        CASE(a_replay_is_split_among_its_kernels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
