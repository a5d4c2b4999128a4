/* What a launch costs that is neither checked nor probed, with the outlier gate on: it ends in
 * the callback while the accounts are overdrawn, is counted and numbered all the same, and looks go
 * on as soon as they may be paid. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <malloc.h>
#include <pthread.h>
#include <time.h>
#include "base/clock.h"
/* The core archive holds nothing of hook/. */
#include "hook/graph_calls.c"
#include "hook/launch_decode.c"

#include "core/core.c"
#include "hook/cupti_router.c"
#include "report/counters.h"
#include "tests/unit/fakes/pipeline_fixture.h"
#include "gates/gates_list.h"

static const char registry_text[] =
    "version: 1\n"
    "kernels:\n"
    "  - kernel: add\n"
    "    signature: const f32 a[rows][cols], const f32 b[rows][cols], f32 y[rows][cols],"
    " i32 rows, i32 cols\n"
    "    reference: add\n";

enum { ROWS = 16, COLS = 8, PAUSE = 64 /* PAUSE_MOST of gates_budget.c */ };

/* ---- a pipeline behind the callback ---- */

static struct world {
    struct pipeline_fixture *fixture;
    struct counters *counters;
    CUpti_CallbackFunc callback;
    float *a, *b, *y;
    bool still; /* the kernel computes nothing */
} world;

static CUptiResult subscribe(CUpti_SubscriberHandle *handle, CUpti_CallbackFunc function,
                             void *user)
{
    (void)user;
    *handle = NULL;
    world.callback = function;
    return CUPTI_SUCCESS;
}

static CUptiResult enable_one(uint32_t on, CUpti_SubscriberHandle handle,
                              CUpti_CallbackDomain domain, CUpti_CallbackId id)
{
    (void)on, (void)handle, (void)domain, (void)id;
    return CUPTI_SUCCESS;
}

static struct tally *find_tallies_of(void *user, const struct kernel_spec *of)
{
    (void)user;
    if (of)
        counters_add_kernel(world.counters, of);
    return counters_tallies(world.counters, of ? (int64_t)of->number : -1);
}

static void on_ready(void *user)
{
    (void)user;
}

static int set_up(void **state)
{
    struct core_parts parts = {.ready = on_ready};
    (void)state;
    memset(&core, 0, sizeof(core));
    atomic_store(&passing.off, false);
    world.fixture = calloc(1, sizeof(*world.fixture));
    *world.fixture = (struct pipeline_fixture){
        .registry = registry_text,
        .params = {{3, 2}},
        .gate = {.sample = 0.5},
        .detector = OUTLIER_FINGERPRINT,
        .side = {.memory = 1 << 16, .queue = 16, .budget = 0.05, .outlier = true},
    };
    world.counters = counters_create();
    pipeline_fixture_open(world.fixture);
    world.fixture->sink.tallies = find_tallies_of;
    world.a = fake_alloc(ROWS * COLS * sizeof(float));
    world.b = fake_alloc(ROWS * COLS * sizeof(float));
    world.y = fake_alloc(ROWS * COLS * sizeof(float));
    cupti.subscribe = subscribe;
    cupti.enable = enable_one;
    parts.pipeline = &world.fixture->pipeline;
    core_start(&parts);
    assert_int_equal(router_start(NULL), STATUS_OK);
    tally_own();
    tally_let_pass(true);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    own_thread.here = NULL;
    own_thread.work = OWN_NONE;
    core_mute();
    pipeline_fixture_end(world.fixture);
    counters_destroy(world.counters);
    return 0;
}

static CUresult result; /* the driver's result for launches */

/* One launch through the callback; whether it ended there. */
static bool launch_of(int32_t rows)
{
    int32_t cols = COLS;
    void *list[] = {&world.a, &world.b, &world.y, &rows, &cols};
    cuLaunchKernel_params params = {.f = (CUfunction)1,
                                    .gridDimX = 1,
                                    .gridDimY = 1,
                                    .gridDimZ = 1,
                                    .blockDimX = 32,
                                    .blockDimY = 1,
                                    .blockDimZ = 1,
                                    .hStream = (CUstream)1,
                                    .kernelParams = list};
    CUpti_CallbackData data = {.callbackSite = CUPTI_API_ENTER,
                               .functionParams = &params,
                               .functionReturnValue = &result,
                               .symbolName = "add",
                               .context = (CUcontext)(uintptr_t)CONTEXT};
    world.callback(NULL, CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, &data);
    bool ends_there = own_thread.passed;
    for (int i = 0; i < rows * COLS && !world.still; i++)
        world.y[i] = world.a[i] + world.b[i];
    data.callbackSite = CUPTI_API_EXIT;
    world.callback(NULL, CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, &data);
    return ends_there;
}

/* Neither account can pay anything for `ns`. */
static void overdraw(int64_t ns)
{
    struct side *side = pipeline_fixture_side(world.fixture);
    atomic_store(&side->budget.paid_until, clock_ns() + ns);
    atomic_store(&side->probes.paid_until, clock_ns() + ns);
}

/* Launches in a bucket: those that reached the pipeline, and those that ended in the callback. */
static uint64_t skipped(enum skip skip)
{
    struct counters_kernel kernel = {0};
    counters_read_kernel(world.counters, 0, &kernel);
    return kernel.buckets.skip[skip] + (uint64_t)world.fixture->skip[skip];
}

static uint64_t checked_or_looked_at(void)
{
    return (uint64_t)world.fixture->verdict[VERDICT_MATCH] +
           (uint64_t)world.fixture->skip[SKIP_ORDINARY];
}

static const int64_t LONG = 1000000000000;

/* The first launch is checked or probed, and all is set up. */
static void begin_poor(void)
{
    assert_false(launch_of(ROWS));
    pipeline_fixture_settle(world.fixture);
    assert_int_equal(checked_or_looked_at(), 1);
    overdraw(LONG);
}

static void a_launch_that_no_account_pays_ends_in_the_callback(void **state)
{
    enum { LAUNCHES = 20000 };
    int asked = 0;
    (void)state;
    begin_poor();
    int before = fake.launches;
    for (int i = 0; i < LAUNCHES; i++)
        asked += !launch_of(ROWS);
    assert_in_range(asked, LAUNCHES / (PAUSE + 1), LAUNCHES / 24);
    assert_int_equal(fake.launches, before);
    assert_int_equal(skipped(SKIP_BUDGET), LAUNCHES);
    assert_int_equal(skipped(SKIP_NOT_SAMPLED), 0);
}

/* In place of base/clock.c's. */
static _Atomic(uint64_t) clock_reads;

int64_t clock_ns(void)
{
    struct timespec now;
    clock_reads++;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Of a storm of launches that no account pays. */
static void few_launches_that_are_passed_over_read_a_clock(void **state)
{
    enum { LAUNCHES = 20000, EACH = 16 };
    (void)state;
    begin_poor();
    for (int i = 0; i < 1000; i++)
        launch_of(ROWS);
    uint64_t reads = clock_reads;
    size_t bytes = mallinfo2().uordblks;
    for (int i = 0; i < LAUNCHES; i++)
        launch_of(ROWS);
    assert_in_range(clock_reads - reads, 1, LAUNCHES / EACH);
    assert_int_equal(mallinfo2().uordblks, bytes);
}

static void looks_go_on_when_they_can_be_paid(void **state)
{
    (void)state;
    begin_poor();
    for (int i = 0; i < 5000; i++)
        launch_of(ROWS);
    overdraw(-1);
    int passed = 0;
    while (launch_of(ROWS))
        assert_true(++passed <= PAUSE);
    pipeline_fixture_settle(world.fixture);
    assert_int_equal(checked_or_looked_at(), 2);
    assert_int_equal(skipped(SKIP_BUDGET), 5000 + passed);
}

static void without_a_budget_none_is_passed_over(void **state)
{
    (void)state;
    pipeline_fixture_settle(world.fixture);
    launch_of(ROWS);
    pipeline_fixture_side(world.fixture)->budget.share = 0;
    pipeline_fixture_side(world.fixture)->probes.share = 0;
    for (int i = 0; i < 100; i++) {
        assert_false(launch_of(ROWS));
        pipeline_fixture_settle(world.fixture);
    }
    assert_int_equal(checked_or_looked_at(), 101);
}

static void launches_that_ended_in_the_callback_are_numbered(void **state)
{
    (void)state;
    begin_poor();
    for (uint64_t i = 1; i < 5000; i++) {
        if (i == 3000)
            gate_set_sample(world.fixture->pipeline.gate, 0.3); /* voids what is noted */
        if (!launch_of(i % 7 ? ROWS : ROWS / 2))
            assert_int_equal(own_thread.here->ticket.number, i);
    }
}

static void a_refused_launch_leaves_the_bucket_that_it_was_in(void **state)
{
    int passed = 0;
    (void)state;
    begin_poor();
    for (int i = 0; i < 100; i++)
        launch_of(ROWS);
    result = CUDA_ERROR_INVALID_VALUE;
    for (int i = 0; i < 100; i++)
        passed += launch_of(ROWS);
    result = CUDA_SUCCESS;
    assert_true(passed > 50);
    assert_int_equal(skipped(SKIP_BUDGET), 100);
    assert_int_equal(skipped(SKIP_LAUNCH_FAILED), 100);
    assert_int_equal(world.fixture->skip[SKIP_LAUNCH_FAILED], 100 - passed);
}

/* Launches of a signature that is being passed over; the next one would be, too. */
static void begin_pause(void)
{
    int asked = 0;
    begin_poor();
    for (int i = 0; i < 1000; i++)
        launch_of(ROWS);
    while (!launch_of(ROWS))
        assert_true(++asked < PAUSE);
}

static struct gate *one_first(void)
{
    struct pipeline *pipeline = &world.fixture->pipeline;
    struct gate *usual = pipeline->gate;
    world.fixture->gate.first = 1;
    pipeline->gate = gate_create(&world.fixture->gate);
    passing.notes = gate_all_notes(pipeline->gate);
    return usual;
}

static void back_to(struct gate *usual)
{
    struct pipeline *pipeline = &world.fixture->pipeline;
    gate_destroy(pipeline->gate);
    pipeline->gate = usual;
    passing.notes = gate_all_notes(usual);
}

/* Once its turn is back, the next launch of the signature is the one that is checked. */
static void a_returned_turn_ends_a_pause(void **state)
{
    struct gate *usual = one_first();
    (void)state;
    begin_pause();
    fake.capturing = true;
    gate_reset(world.fixture->pipeline.gate);
    assert_false(launch_of(ROWS)); /* its turn comes back: it is being captured */
    assert_int_equal(world.fixture->skip[SKIP_CAPTURED], 1);
    assert_false(launch_of(ROWS));
    assert_int_equal(world.fixture->skip[SKIP_CAPTURED], 2);
    fake.capturing = false;
    assert_false(launch_of(ROWS));
    pipeline_fixture_settle(world.fixture);
    assert_int_equal(checked_or_looked_at(), 2);
    back_to(usual);
}

/* Launches until one is checked or probed; below 0: none of so many is. */
static int until_selected(int32_t rows, int most)
{
    const uint64_t before = checked_or_looked_at();
    for (int i = 0; i < most; i++) {
        launch_of(rows);
        pipeline_fixture_settle(world.fixture);
        if (checked_or_looked_at() > before)
            return i;
    }
    return -1;
}

/* The first launches of a signature are charged and not refused. Where their checks are dear they
 * wait for the budget. */
static void dear_checks_wait_for_the_budget(void **state)
{
    struct gate *usual = one_first();
    (void)state;
    begin_poor();
    assert_int_equal(until_selected(ROWS / 2, 10), 0);
    struct kernel_spec *spec = (struct kernel_spec *)own_thread.here->ticket.kernel->spec;
    spec->guess = 50000000;
    overdraw(LONG);
    assert_int_equal(until_selected(ROWS / 4, 1000), -1);
    overdraw(-BUDGET_WINDOW_NS);
    assert_in_range(until_selected(ROWS / 4, 1000), 0, PAUSE);
    spec->guess = 0;
    back_to(usual);
}

/* What a check will cost is taken to be much as long as none has ended: the second of both waits.
 */
static void dear_checks_are_guessed(void **state)
{
    struct gate *usual = one_first();
    (void)state;
    begin_poor();
    struct known_kernel *kernel = own_thread.here->ticket.kernel;
    struct kernel_spec *spec = (struct kernel_spec *)kernel->spec;
    const struct costs none = {0}, known = kernel->costs;
    for (int dear = 0; dear < 2; dear++) {
        kernel->costs = none;
        spec->guess = dear ? 50000000 : 0;
        gate_reset(world.fixture->pipeline.gate);
        overdraw(-BUDGET_WINDOW_NS);
        const uint64_t before = checked_or_looked_at();
        launch_of(ROWS / 2);
        launch_of(ROWS / 4);
        pipeline_fixture_settle(world.fixture);
        assert_int_equal(checked_or_looked_at() - before, dear ? 1 : 2);
    }
    spec->guess = 0;
    kernel->costs = known;
    back_to(usual);
}

static void a_reset_ends_a_pause(void **state)
{
    (void)state;
    begin_pause();
    gate_reset(world.fixture->pipeline.gate);
    assert_false(launch_of(ROWS));
}

/* What the hook takes of a launch is timed now and then, ENTER and EXIT of one that ends there. */
static void the_hook_is_timed(void **state)
{
    (void)state;
    atomic_store(&passing.hook_ns, 0);
    begin_poor();
    for (int i = 0; i < 20000; i++)
        launch_of(ROWS);
    assert_in_range(core.timed, 20, 2000);
    assert_in_range(passing.hook_ns, 1, TIMED_MOST_NS);
}

enum { THREADS = 8, ROUNDS = 10000 };

static void *launch_many(void *user)
{
    atomic_int *asked = user;
    for (int i = 0; i < ROUNDS; i++)
        atomic_fetch_add(asked, !launch_of(ROWS));
    return NULL;
}

/* Of one kernel and signature: each thread has its own note of them. */
static void a_storm_on_eight_threads_ends_in_the_callback(void **state)
{
    pthread_t thread[THREADS];
    atomic_int asked = 0;
    (void)state;
    begin_poor();
    world.still = true;
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, launch_many, &asked), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    world.still = false;
    assert_true(asked < THREADS * ROUNDS / 16);
    assert_int_equal(skipped(SKIP_BUDGET), THREADS * ROUNDS);
}

static void *launch_some(void *user)
{
    for (int i = 0; i < 200; i++)
        launch_of(ROWS);
    *(uint32_t *)user = own_thread.passes;
    return NULL;
}

/* A thread that ends leaves its number to another. */
static void threads_that_come_and_go_are_passed_over(void **state)
{
    enum { TURNS = 40 };
    (void)state;
    begin_poor();
    for (int i = 0; i < TURNS; i++) {
        pthread_t thread;
        uint32_t passes = 0;
        assert_int_equal(pthread_create(&thread, NULL, launch_some, &passes), 0);
        pthread_join(thread, NULL);
        assert_int_not_equal(passes, 0);
    }
    assert_int_equal(skipped(SKIP_BUDGET), TURNS * 200);
}

/* ---- accounts and gates in simulated time ---- */

enum { NS_US = 1000, COMMON = 10, RARE = 77 };

struct simulation {
    int64_t launch_us, slower_us; /* between two launches, in the first and the second half */
    int every;                    /* each so manieth launch is the rare signature's */
    double share;
    int64_t look_us, ask_ns;                           /* that a probe costs, and a refused try */
    uint32_t hook_ns;                                  /* that the hook takes of each launch */
    uint64_t launches[2], probed[2], asked, halves[2]; /* out: common and rare; looks by half */
    double cost;                                       /* out: share of the time */
};

static struct side simulated_side;
static struct known_kernel simulated_kernel;

static void simulate(struct simulation *s)
{
    struct outliers *outliers = outliers_create(OUTLIER_FINGERPRINT);
    struct pipeline pipeline = {.gate = gate_create(&(struct gate_settings){.seed = 3}),
                                .outliers = outliers};
    /* A pointer and a size. */
    struct kernel_spec watched = {.budget = -1,
                                  .sample = -1,
                                  .first = -1,
                                  .outlier = {.detector = -1, .inputs = 1},
                                  .shape_params = 2,
                                  .shape_param = {{.index = 0, .size = 8, .pointer = true},
                                                  {.index = 1, .size = 4, .start = 8}}};
    int64_t now = (int64_t)1 << 40, spent = 0, begun = now, half = now + 5000000000ll;
    atomic_store(&passing.hook_ns, s->hook_ns);
    simulated_side.outlier.kernel = (CUfunction)1;
    atomic_store(&simulated_side.outlier.state, OUTLIER_READY);
    simulated_kernel.spec = &watched;
    budget_open(&simulated_side.budget, s->share);
    budget_open(&simulated_side.probes, s->share);
    gate_recipe_make(&simulated_kernel.recipe, &watched, 1);
    for (uint64_t i = 0; now < half + 5000000000ll; i++) {
        now += (now < half ? s->launch_us : s->slower_us) * NS_US;
        bool rare = s->every && i % (uint64_t)s->every == 0;
        uint64_t pointer = 0x1000;
        int32_t size = rare ? RARE : COMMON;
        void *params[] = {&pointer, &size};
        struct launch launch = {.params = params};
        struct gate_answer answer =
            gate_decide(pipeline.gate, &watched, &simulated_kernel.recipe, &launch, false);
        struct ticket ticket = {.kernel = &simulated_kernel,
                                .side = &simulated_side,
                                .gate = answer,
                                .account.use = answer.use,
                                .outlier.detector = OUTLIER_FINGERPRINT,
                                .began = now};
        s->launches[rare]++;
        spent += s->hook_ns;
        if (answer.skip)
            continue;
        struct gate_query query = {&pipeline, &launch, &ticket, NULL};
        bool probes = !gates_budget(&query) && !gates_outlier(&query);
        int64_t cost = probes ? s->look_us * NS_US : s->ask_ns;
        budget_add(&simulated_side.budget, now, cost);
        budget_add(&simulated_side.probes, now, cost);
        s->probed[rare] += probes;
        s->halves[now >= half] += probes;
        s->asked += !probes;
        spent += cost;
    }
    s->cost = (double)spent / (double)(now - begun);
    gate_destroy(pipeline.gate);
    outliers_destroy(outliers);
}

static double looked_at(const struct simulation *s, int rare)
{
    return (double)s->probed[rare] / (double)s->launches[rare];
}

/* What the budget pays for is spent on probes, few launches are refused, and a rare signature is
 * probed as often as a common one. */
static void the_budget_is_spent_on_looks(void **state)
{
    static const struct simulation rows[] = {
        {.launch_us = 4, .every = 100, .share = 0.03, .look_us = 10, .ask_ns = 400},
        {.launch_us = 4, .every = 5000, .share = 0.03, .look_us = 10, .ask_ns = 400},
        {.launch_us = 20, .every = 1000, .share = 0.03, .look_us = 10, .ask_ns = 400},
        {.launch_us = 200, .every = 24, .share = 0.03, .look_us = 10, .ask_ns = 400},
        {.launch_us = 200, .every = 24, .share = 0.03, .look_us = 100, .ask_ns = 1000},
        {.launch_us = 4, .every = 100, .share = 0.04, .look_us = 10, .ask_ns = 400, .hook_ns = 60},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct simulation s = rows[i];
        s.slower_us = s.launch_us;
        simulate(&s);
        uint64_t launches = s.launches[0] + s.launches[1], probes = s.probed[0] + s.probed[1];
        double spent_on_looks = (double)probes * (double)(s.look_us * NS_US) / 1e10;
        double wanted = (double)launches * (double)(s.look_us * NS_US) / 1e10;
        double left = s.share - (double)launches * s.hook_ns / 1e10;
        double paid = wanted < left ? wanted : left;
        if (spent_on_looks < 0.85 * paid || s.cost > s.share * 1.25)
            fail_msg("row %zu: looks take %g, all %g of %g", i, spent_on_looks, s.cost, s.share);
        if (s.asked > launches / 20 + 2 * probes)
            fail_msg("row %zu: %zu of %zu launches ask in vain", i, (size_t)s.asked,
                     (size_t)launches);
        if (looked_at(&s, 1) < 0.7 * looked_at(&s, 0))
            fail_msg("row %zu: rare %g, common %g", i, looked_at(&s, 1), looked_at(&s, 0));
    }
}

/* A pause is counted in launches: it ends soon even when there are far fewer of them. */
static void a_program_that_becomes_slow_is_looked_at_soon(void **state)
{
    struct simulation s = {
        .launch_us = 4, .slower_us = 10000, .share = 0.03, .look_us = 10, .ask_ns = 400};
    (void)state;
    simulate(&s);
    assert_true(s.halves[1] >= 500 - PAUSE - 1); /* of 500 launches */
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_launch_that_no_account_pays_ends_in_the_callback),
        CASE(few_launches_that_are_passed_over_read_a_clock),
        CASE(looks_go_on_when_they_can_be_paid),
        CASE(without_a_budget_none_is_passed_over),
        CASE(launches_that_ended_in_the_callback_are_numbered),
        CASE(a_refused_launch_leaves_the_bucket_that_it_was_in),
        CASE(a_returned_turn_ends_a_pause),
        CASE(dear_checks_wait_for_the_budget),
        CASE(dear_checks_are_guessed),
        CASE(a_reset_ends_a_pause),
        CASE(the_hook_is_timed),
        CASE(a_storm_on_eight_threads_ends_in_the_callback),
        CASE(threads_that_come_and_go_are_passed_over),
        cmocka_unit_test(the_budget_is_spent_on_looks),
        cmocka_unit_test(a_program_that_becomes_slow_is_looked_at_soon),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
