#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>
#include <cmocka.h>
#include "trace/trace.h"

enum { THREADS = 4, EACH = 5000 };

/* What the trace wrote. While `held`, it writes nothing. */
struct written {
    _Atomic uint64_t records, flushes;
    _Atomic bool held;
    uint64_t next[THREADS * 2]; /* of each thread, the launch that comes next: they are in order */
    bool disordered;
};

static void write_record(void *user, const struct trace_record *record)
{
    struct written *written = user;
    while (atomic_load(&written->held))
        usleep(1000);
    if (record->thread < THREADS * 2) {
        written->disordered |= record->launch < written->next[record->thread];
        written->next[record->thread] = record->launch + 1;
    }
    atomic_fetch_add(&written->records, 1);
}

static void flush(void *user)
{
    atomic_fetch_add(&((struct written *)user)->flushes, 1);
}

static struct trace *start(struct written *written)
{
    struct trace_settings settings = {write_record, flush, written};
    struct trace *trace;
    assert_int_equal(trace_create(&trace, &settings, NULL), STATUS_OK);
    return trace;
}

static uint64_t launch(struct trace *trace, int count)
{
    uint64_t noted = 0;
    for (int i = 0; i < count; i++) {
        struct trace_record *record = trace_begin(trace);
        if (!record)
            continue;
        record->launch = (uint64_t)i;
        trace_commit(trace);
        noted++;
    }
    return noted;
}

static void *run_thread(void *user)
{
    return (void *)(uintptr_t)launch(user, EACH);
}

static void every_launch_is_written_or_counted(void **state)
{
    struct written written = {0};
    struct trace *trace = start(&written);
    struct trace_counts counts;
    pthread_t thread[THREADS];
    uint64_t noted = 0;
    (void)state;
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, run_thread, trace), 0);
    for (int i = 0; i < THREADS; i++) {
        void *own;
        pthread_join(thread[i], &own);
        noted += (uintptr_t)own;
    }
    assert_int_equal(trace_stop(trace, 10000, &counts), STATUS_OK);
    assert_int_equal(counts.launches, THREADS * EACH);
    assert_int_equal(written.records, noted);
    assert_int_equal(counts.dropped, THREADS * EACH - noted);
    assert_false(written.disordered);
    assert_true(written.flushes > 0);
}

/* A writer that stands still costs records, and never the program's time. */
static void a_full_ring_drops_and_counts(void **state)
{
    struct written written = {.held = true};
    struct trace *trace = start(&written);
    struct trace_counts counts;
    (void)state;
    uint64_t noted = launch(trace, 100000);
    assert_true(noted < 100000);
    written.held = false;
    assert_int_equal(trace_stop(trace, 10000, &counts), STATUS_OK);
    assert_int_equal(counts.dropped, 100000 - noted);
    assert_int_equal(written.records, noted);
}

static void *launch_once(void *user)
{
    return (void *)(uintptr_t)launch(user, 1);
}

/* More threads than rings, one after the other: each finds the ring of one that ended. */
static void a_ring_outlives_its_thread(void **state)
{
    struct written written = {0};
    struct trace *trace = start(&written);
    struct trace_counts counts;
    (void)state;
    for (int i = 0; i < 200; i++) {
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, launch_once, trace), 0);
        pthread_join(thread, NULL);
    }
    assert_int_equal(trace_stop(trace, 10000, &counts), STATUS_OK);
    assert_int_equal(counts.dropped, 0);
    assert_int_equal(written.records, 200);
}

static void a_writer_that_hangs_is_left_behind(void **state)
{
    static struct written written = {.held = true}; /* its thread goes on */
    struct trace *trace = start(&written);
    struct trace_counts counts;
    (void)state;
    /* In a thread of its own: a ring of this trace does not serve another. */
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, launch_once, trace), 0);
    pthread_join(thread, NULL);
    usleep(50000);
    assert_int_equal(trace_stop(trace, 50, &counts), STATUS_TIMEOUT);
    atomic_store(&written.held, false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_launch_is_written_or_counted),
        cmocka_unit_test(a_ring_outlives_its_thread),
        cmocka_unit_test(a_writer_that_hangs_is_left_behind),
        cmocka_unit_test(a_full_ring_drops_and_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
