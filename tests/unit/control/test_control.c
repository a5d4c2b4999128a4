/* The functions of cuvet.h: what each does, what it returns where nothing is checked, and that they
 * may be called at any time, from any thread, inside a callback, and in a forked child. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "control/control.h"
#include "tests/unit/fakes/control_world.h"
#include "cuvet.h"

static const struct gate_settings every = {.sample = 1}, first_only = {.first = 1};

static struct cuvet_counters counted(void)
{
    struct cuvet_counters counters = {.size = sizeof(counters)};
    assert_int_equal(cuvet_counters(&counters), CUVET_OK);
    return counters;
}

static uint64_t skipped(enum skip skip)
{
    struct counters_totals totals;
    counters_read(control_world_counters(), &totals);
    return totals.buckets.skip[skip];
}

static void nap_ms(int ms)
{
    const struct timespec time = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&time, NULL);
}

static int set_up(void **state)
{
    (void)state;
    control_world_open(&every);
    return 0;
}

static int set_up_first(void **state)
{
    (void)state;
    control_world_open(&first_only);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    return control_world_close() ? 0 : -1;
}

static int forget(void **state)
{
    (void)state;
    control_reset();
    return 0;
}

static void ignore(const struct cuvet_finding *finding, void *user)
{
    (void)finding, (void)user;
}

/* ---- without a session ---- */

static void assert_inactive(void)
{
    struct cuvet_counters counters = {.size = sizeof(counters), .seen = 7};
    assert_int_equal(cuvet_start(), CUVET_INACTIVE);
    assert_int_equal(cuvet_stop(0), CUVET_INACTIVE);
    assert_int_equal(cuvet_is_running(), 0);
    assert_int_equal(cuvet_set_sample(0.5), CUVET_INACTIVE);
    assert_int_equal(cuvet_flush(1000), CUVET_INACTIVE);
    assert_int_equal(cuvet_counters(&counters), CUVET_INACTIVE);
    assert_int_equal(cuvet_on_mismatch(ignore, NULL), CUVET_INACTIVE);
    assert_int_equal(cuvet_on_mismatch(NULL, NULL), CUVET_INACTIVE);
}

static void before_the_start_nothing_is_checked(void **state)
{
    (void)state;
    struct cuvet_counters counters = {.size = sizeof(counters), .seen = 7};
    assert_true(cuvet_get_sample() < 0);
    assert_inactive();
    assert_int_equal(cuvet_counters(&counters), CUVET_INACTIVE);
    assert_int_equal(counters.seen, 0);
    assert_int_equal(counters.size, sizeof(counters));
}

static atomic_int findings;

static void count_finding(const struct cuvet_finding *finding, void *user)
{
    (void)finding, (void)user;
    atomic_fetch_add(&findings, 1);
}

static void wishes_from_before_the_start_hold(void **state)
{
    (void)state;
    atomic_store(&findings, 0);
    cuvet_stop(0);
    cuvet_set_sample(0.25);
    cuvet_on_mismatch(count_finding, NULL);
    assert_true(cuvet_get_sample() == 0.25);
    control_world_open(&every);
    assert_int_equal(cuvet_is_running(), 0);
    assert_true(cuvet_get_sample() == 0.25);
    control_world_launch(true, true);
    assert_int_equal(skipped(SKIP_OFF), 1);
    assert_int_equal(cuvet_start(), CUVET_OK);
    control_world_launch(true, true);
    assert_int_equal(cuvet_flush(5000), CUVET_OK);
    assert_int_equal(findings, 1);
    assert_true(control_world_close());
}

static void bad_arguments_change_nothing(void **state)
{
    (void)state;
    double nan = strtod("nan", NULL);
    struct cuvet_counters small = {.size = 8}, huge = {.size = 1 << 20};
    assert_int_equal(cuvet_stop(-1), CUVET_INVALID);
    assert_int_equal(cuvet_is_running(), 1);
    assert_int_equal(cuvet_flush(-1), CUVET_INVALID);
    assert_int_equal(cuvet_set_sample(-0.1), CUVET_INVALID);
    assert_int_equal(cuvet_set_sample(1.1), CUVET_INVALID);
    assert_int_equal(cuvet_set_sample(nan), CUVET_INVALID);
    assert_true(cuvet_get_sample() == 1);
    assert_int_equal(cuvet_counters(NULL), CUVET_INVALID);
    assert_int_equal(cuvet_counters(&small), CUVET_INVALID);
    assert_int_equal(cuvet_counters(&huge), CUVET_INVALID);
    assert_int_equal(small.size, 8);
}

/* ---- start, stop, sample ---- */

static void a_stop_ends_the_checking_and_a_start_begins_it(void **state)
{
    (void)state;
    assert_int_equal(cuvet_is_running(), 1);
    control_world_launch(false, false);
    assert_int_equal(cuvet_stop(5000), CUVET_OK);
    assert_string_equal(control_world_steered(), "stop");
    assert_int_equal(counted().match, 1); /* what was under way is finished */
    assert_int_equal(cuvet_is_running(), 0);
    control_world_launch(true, false);
    assert_int_equal(skipped(SKIP_OFF), 1);
    assert_int_equal(cuvet_start(), CUVET_OK);
    assert_string_equal(control_world_steered(), "start");
    assert_int_equal(cuvet_is_running(), 1);
    control_world_launch(true, false);
    assert_int_equal(cuvet_flush(5000), CUVET_OK);
    assert_int_equal(counted().mismatch, 1);
}

static void a_start_makes_first_launches_due_again(void **state)
{
    (void)state; /* only the first launch of a shape is checked */
    for (int i = 0; i < 3; i++)
        control_world_launch(false, false);
    assert_int_equal(cuvet_flush(5000), CUVET_OK);
    assert_int_equal(counted().match, 1);
    assert_int_equal(cuvet_start(), CUVET_OK);
    for (int i = 0; i < 3; i++)
        control_world_launch(false, false);
    assert_int_equal(cuvet_flush(5000), CUVET_OK);
    assert_int_equal(counted().match, 2);
    assert_int_equal(skipped(SKIP_NOT_SAMPLED), 4);
}

static void the_sample_is_that_of_entries_without_their_own(void **state)
{
    (void)state;
    assert_int_equal(cuvet_set_sample(0), CUVET_OK);
    assert_string_equal(control_world_steered(), "sample 0");
    assert_true(cuvet_get_sample() == 0);
    control_world_launch(false, false);
    control_world_launch(false, true);
    assert_int_equal(cuvet_flush(5000), CUVET_OK);
    assert_int_equal(skipped(SKIP_NOT_SAMPLED), 1);
    assert_int_equal(counted().match, 1);
    assert_int_equal(cuvet_set_sample(1), CUVET_OK);
    control_world_launch(false, false);
    assert_int_equal(cuvet_flush(5000), CUVET_OK);
    assert_int_equal(counted().match, 2);
}

static void waiting_has_its_limit(void **state)
{
    (void)state;
    control_world_hold();
    control_world_launch(false, false);
    assert_int_equal(cuvet_flush(20), CUVET_TIMEOUT);
    assert_int_equal(cuvet_stop(20), CUVET_TIMEOUT);
    assert_int_equal(cuvet_is_running(), 0);
    assert_int_equal(counted().under_way, 1);
    control_world_release();
    assert_int_equal(cuvet_flush(5000), CUVET_OK);
    assert_int_equal(counted().match, 1);
}

/* ---- counters ---- */

static void counters_agree_with_what_happened(void **state)
{
    (void)state;
    control_world_launch(false, false);
    control_world_launch(true, false);
    assert_int_equal(cuvet_stop(5000), CUVET_OK);
    control_world_launch(false, false);
    control_world_launch(false, false);
    struct cuvet_counters c = counted();
    assert_int_equal(c.size, sizeof(c));
    assert_int_equal(c.seen, 4);
    assert_int_equal(c.registered, 4);
    assert_int_equal(c.match, 1);
    assert_int_equal(c.mismatch, 1);
    assert_int_equal(c.inconclusive, 0);
    assert_int_equal(c.unchecked, 2);
    assert_int_equal(c.under_way, 0);
    assert_true(c.effective_rate == 0.5);
    assert_true(c.elapsed_seconds > 0 && c.cost_seconds > 0);
    assert_true(c.cost_seconds >= c.thread_seconds);
}

static void counters_serve_callers_of_other_versions(void **state)
{
    (void)state;
    struct {
        struct cuvet_counters known;
        uint64_t later;
    } newer = {.later = 9};
    struct {
        size_t size;
        uint64_t seen, behind;
    } older = {.size = 16, .behind = 5};
    control_world_launch(false, false);
    newer.known.size = sizeof(newer);
    assert_int_equal(cuvet_counters(&newer.known), CUVET_OK);
    assert_int_equal(newer.known.size, sizeof(newer.known));
    assert_int_equal(newer.known.seen, 1);
    assert_int_equal(newer.later, 0);
    assert_int_equal(cuvet_counters((struct cuvet_counters *)(void *)&older), CUVET_OK);
    assert_int_equal(older.size, 16);
    assert_int_equal(older.seen, 1);
    assert_int_equal(older.behind, 5);
}

/* ---- the callback ---- */

static struct {
    char kernel[32], label[32], reference[32], bundle[64];
    uint64_t launch, elements, violations;
    double worst;
    bool no_bundle;
    void *user;
} last;

static void keep(const struct cuvet_finding *finding, void *user)
{
    snprintf(last.kernel, sizeof(last.kernel), "%s", finding->kernel);
    snprintf(last.label, sizeof(last.label), "%s", finding->label);
    snprintf(last.reference, sizeof(last.reference), "%s", finding->reference);
    snprintf(last.bundle, sizeof(last.bundle), "%s", finding->bundle ? finding->bundle : "");
    last.no_bundle = !finding->bundle;
    last.launch = finding->launch;
    last.elements = finding->elements;
    last.violations = finding->violations;
    last.worst = finding->worst;
    last.user = user;
    atomic_fetch_add(&findings, 1);
}

static void a_mismatch_is_told_and_a_match_is_not(void **state)
{
    (void)state;
    int anything;
    atomic_store(&findings, 0);
    assert_int_equal(cuvet_on_mismatch(keep, &anything), CUVET_OK);
    control_world_launch(false, false);
    assert_int_equal(cuvet_flush(5000), CUVET_OK);
    assert_int_equal(findings, 0);
    control_world_launch(true, false);
    assert_int_equal(cuvet_flush(5000), CUVET_OK);
    assert_int_equal(findings, 1);
    assert_string_equal(last.kernel, "add");
    assert_string_equal(last.label, "add");
    assert_string_equal(last.reference, "add");
    assert_int_equal(last.launch, 1);
    assert_int_equal(last.elements, 32);
    assert_int_equal(last.violations, 1);
    assert_true(last.worst > 1 && last.no_bundle);
    assert_ptr_equal(last.user, &anything);
    control_world_bundle("report/add-1-2");
    control_world_launch(true, false);
    assert_int_equal(cuvet_flush(5000), CUVET_OK);
    assert_string_equal(last.bundle, "report/add-1-2");
    assert_int_equal(cuvet_on_mismatch(NULL, NULL), CUVET_OK);
    control_world_launch(true, false);
    assert_int_equal(cuvet_flush(5000), CUVET_OK);
    assert_int_equal(findings, 2);
}

static struct {
    int flush, stop, start, sample, replace, running;
} inside;

static void call_all(const struct cuvet_finding *finding, void *user)
{
    (void)finding, (void)user;
    struct cuvet_counters counters = {.size = sizeof(counters)};
    inside.flush = cuvet_flush(60000);
    inside.stop = cuvet_stop(60000);
    inside.running = cuvet_is_running();
    inside.start = cuvet_start();
    inside.sample = cuvet_set_sample(1);
    cuvet_counters(&counters);
    inside.replace = cuvet_on_mismatch(call_all, NULL);
    inside.replace |= cuvet_on_mismatch(count_finding, NULL);
}

static void a_callback_may_call_everything(void **state)
{
    (void)state;
    atomic_store(&findings, 0);
    cuvet_on_mismatch(call_all, NULL);
    control_world_launch(true, false);
    assert_int_equal(cuvet_flush(5000), CUVET_OK);
    assert_int_equal(inside.flush, CUVET_BUSY);
    assert_int_equal(inside.stop, CUVET_BUSY);
    assert_int_equal(inside.running, 0);
    assert_int_equal(inside.start, CUVET_OK);
    assert_int_equal(inside.sample, CUVET_OK);
    assert_int_equal(inside.replace, CUVET_OK);
    control_world_launch(true, false);
    assert_int_equal(cuvet_flush(5000), CUVET_OK);
    assert_int_equal(findings, 1);
}

static atomic_bool entered, left, go;

static void wait_for_go(const struct cuvet_finding *finding, void *user)
{
    (void)finding, (void)user;
    atomic_store(&entered, true);
    for (int i = 0; i < 5000 && !atomic_load(&go); i++)
        nap_ms(1);
    atomic_store(&left, true);
}

static void enter_callback(void)
{
    atomic_store(&entered, false);
    atomic_store(&left, false);
    atomic_store(&go, false);
    cuvet_on_mismatch(wait_for_go, NULL);
    control_world_launch(true, false);
    while (!atomic_load(&entered))
        nap_ms(1);
}

static void *let_go(void *user)
{
    (void)user;
    nap_ms(100);
    atomic_store(&go, true);
    return NULL;
}

static void a_removed_callback_is_not_running_any_more(void **state)
{
    (void)state;
    pthread_t thread;
    enter_callback();
    pthread_create(&thread, NULL, let_go, NULL);
    assert_int_equal(cuvet_on_mismatch(NULL, NULL), CUVET_OK);
    assert_true(left);
    pthread_join(thread, NULL);
}

static void a_callback_that_does_not_return_is_waited_for_a_second(void **state)
{
    (void)state;
    enter_callback();
    assert_int_equal(cuvet_flush(10), CUVET_TIMEOUT);
    assert_int_equal(cuvet_on_mismatch(count_finding, NULL), CUVET_TIMEOUT);
    assert_false(left);
    atomic_store(&go, true);
    atomic_store(&findings, 0);
    assert_int_equal(cuvet_flush(5000), CUVET_OK);
    control_world_launch(true, false);
    assert_int_equal(cuvet_flush(5000), CUVET_OK);
    assert_int_equal(findings, 1); /* the new one holds */
}

/* ---- the end ---- */

static void after_the_end_only_counters_speak(void **state)
{
    (void)state;
    struct cuvet_counters counters = {.size = sizeof(counters)};
    control_world_launch(false, false);
    assert_int_equal(cuvet_flush(5000), CUVET_OK);
    control_end();
    assert_inactive();
    assert_int_equal(cuvet_counters(&counters), CUVET_INACTIVE);
    assert_int_equal(counters.match, 1);
    assert_true(cuvet_get_sample() == 1);
}

/* Whether every function returns so in a child; nothing there may wait for a thread. */
static int in_child(void)
{
    struct cuvet_counters counters = {.size = sizeof(counters)};
    control_in_child();
    return cuvet_start() == CUVET_INACTIVE && cuvet_stop(1000) == CUVET_INACTIVE &&
           cuvet_flush(1000) == CUVET_INACTIVE && !cuvet_is_running() &&
           cuvet_set_sample(0.5) == CUVET_INACTIVE && cuvet_get_sample() < 0 &&
           cuvet_counters(&counters) == CUVET_INACTIVE && counters.seen == 0 &&
           cuvet_on_mismatch(ignore, NULL) == CUVET_INACTIVE &&
           cuvet_on_mismatch(NULL, NULL) == CUVET_INACTIVE;
}

static void a_forked_child_is_not_checked(void **state)
{
    (void)state;
    int status = 0;
    enter_callback(); /* the child is made while the callback runs */
    pid_t child = fork();
    if (child == 0)
        _exit(in_child() ? 0 : 1);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    atomic_store(&go, true);
    assert_int_equal(cuvet_is_running(), 1);
    assert_int_equal(cuvet_flush(5000), CUVET_OK);
}

/* ---- several at once ---- */

enum { THREADS = 4, ROUNDS = 200 };

static void *steer(void *user)
{
    struct cuvet_counters counters = {.size = sizeof(counters)};
    int *held = user;
    for (int i = 0; i < ROUNDS; i++) {
        cuvet_stop(i % 3 ? 0 : 50);
        cuvet_set_sample(i % 5 ? 1 : 0.5);
        cuvet_counters(&counters);
        cuvet_on_mismatch(i % 4 ? count_finding : NULL, held);
        cuvet_start();
        cuvet_flush(i % 7 ? 0 : 20);
        cuvet_is_running();
    }
    return NULL;
}

static void *launch_many(void *user)
{
    for (int i = 0; i < 4 * ROUNDS; i++)
        control_world_launch(i % 3 == 0, false);
    return user;
}

static void several_threads_may_steer_at_once(void **state)
{
    (void)state;
    pthread_t steering[THREADS], launching;
    int held = 0;
    pthread_create(&launching, NULL, launch_many, NULL);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&steering[i], NULL, steer, &held);
    for (int i = 0; i < THREADS; i++)
        pthread_join(steering[i], NULL);
    pthread_join(launching, NULL);
    assert_int_equal(cuvet_is_running(), 1); /* each ended with a start */
    assert_int_equal(cuvet_stop(5000), CUVET_OK);
    uint64_t off = skipped(SKIP_OFF);
    control_world_launch(false, false);
    assert_int_equal(skipped(SKIP_OFF), off + 1); /* the last word holds */
    assert_int_equal(cuvet_on_mismatch(NULL, NULL), CUVET_OK);
}

#define TEST(name)       cmocka_unit_test_setup_teardown(name, set_up, tear_down)
#define TEST_FIRST(name) cmocka_unit_test_setup_teardown(name, set_up_first, tear_down)
#define TEST_ALONE(name) cmocka_unit_test_setup_teardown(name, forget, forget)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST_ALONE(before_the_start_nothing_is_checked),
        TEST_ALONE(wishes_from_before_the_start_hold),
        TEST(bad_arguments_change_nothing),
        TEST(a_stop_ends_the_checking_and_a_start_begins_it),
        TEST_FIRST(a_start_makes_first_launches_due_again),
        TEST(the_sample_is_that_of_entries_without_their_own),
        TEST(waiting_has_its_limit),
        TEST(counters_agree_with_what_happened),
        TEST(counters_serve_callers_of_other_versions),
        TEST(a_mismatch_is_told_and_a_match_is_not),
        TEST(a_callback_may_call_everything),
        TEST(a_removed_callback_is_not_running_any_more),
        TEST(a_callback_that_does_not_return_is_waited_for_a_second),
        TEST(after_the_end_only_counters_speak),
        TEST(a_forked_child_is_not_checked),
        TEST(several_threads_may_steer_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
