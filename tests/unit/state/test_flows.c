/* Arrays of a chain of kernels: at which stage a launch finds them, and what it left there. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "state/flows.h"
#include "tests/unit/common/says.h"

enum { GRAD = 0x20000, PLANS = 32 };

static struct flows *flows;
static uint8_t contents[2];

/* Plans live as long as what is kept of their launches. */
static struct plan_state chain[PLANS];
static struct plan_array array;
static struct binding_plan plan[PLANS];
static unsigned plans;

static const struct signature_item item = {.name = "grad", .role = ROLE_INOUT};
static const struct kernel_spec spec = {.label = "scale"};
static struct known_kernel kernel = {.spec = &spec};
static struct check check = {.kernel = &kernel};
static struct state_view view;
static struct state_report report;

#define FROM(stage_)                                                                               \
    {                                                                                              \
        .stages = 1, .stage = {stage_}, .same = true                                               \
    }
#define AFTER(stage_)                                                                              \
    {                                                                                              \
        .stages = 1, .stage = { stage_ }                                                           \
    }
#define TO(to_)                                                                                    \
    {                                                                                              \
        .to = to_                                                                                  \
    }
#define STEP(from_, to_)                                                                           \
    {                                                                                              \
        .stages = 1, .stage = {from_}, .same = true, .to = to_                                     \
    }
#define EITHER(one_, two_)                                                                         \
    {                                                                                              \
        .stages = 2, .stage = {one_, two_}, .same = true                                           \
    }

static struct state_case flow_case(const struct plan_flow *flow)
{
    assert_in_range(plans, 0, PLANS - 1);
    array.item = &item;
    chain[plans] = (struct plan_state){.flows = 1, .flow = {*flow}};
    plan[plans] = (struct binding_plan){.array = &array, .arrays = 1, .state = &chain[plans]};
    return (struct state_case){.check = &check, .plan = &plan[plans++], .view = &view};
}

/* A launch of turn `turn` that finds `before` and leaves `behind`. What is found, or NULL. */
static const char *launch_of(struct plan_flow flow, uint64_t turn, uint8_t before, uint8_t behind)
{
    contents[0] = before;
    contents[1] = behind;
    view = (struct state_view){.flow = {{&contents[0], &contents[1], 1, 4}}};
    struct state_case of = flow_case(&flow);
    check.place = (struct graph_place){0};
    check.moment_of_state = (struct state_moment){.flow = {{GRAD, turn}}};
    report = (struct state_report){0};
    return flows_rules(flows, &of, &report) ? report.rule : NULL;
}

/* The same in a graph: `replay` of all such graphs. */
static const char *node_of(struct plan_flow flow, uint64_t turn, uint64_t replay)
{
    view = (struct state_view){0};
    struct state_case of = flow_case(&flow);
    check.place = (struct graph_place){.graph = 1, .node = 1, .replay = replay};
    check.moment_of_state = (struct state_moment){.replays = replay, .flow = {{GRAD, turn}}};
    report = (struct state_report){0};
    return flows_rules(flows, &of, &report) ? report.rule : NULL;
}

static int open_flows(void **state)
{
    (void)state;
    flows = flows_create();
    plans = 0;
    return flows ? 0 : 1;
}

static int close_flows(void **state)
{
    (void)state;
    flows_destroy(flows);
    return 0;
}

static void a_chain_goes_from_stage_to_stage(void **state)
{
    (void)state;
    assert_null(launch_of((struct plan_flow)TO("summed"), 0, 1, 2));
    assert_null(launch_of((struct plan_flow)STEP("summed", "clipped"), 1, 2, 3));
    assert_null(launch_of((struct plan_flow)EITHER("clipped", "loaded"), 2, 3,
                          3)); /* the stage is not known behind */
    assert_null(launch_of((struct plan_flow)FROM("other"), 3, 9, 9));
    assert_null(launch_of((struct plan_flow)TO("summed"), 4, 0, 1)); /* expects nothing */
}

static void a_launch_that_was_left_out_is_found(void **state)
{
    (void)state;
    assert_null(launch_of((struct plan_flow)TO("summed"), 0, 1, 2));
    assert_string_equal(launch_of((struct plan_flow)STEP("clipped", "used"), 1, 2, 2), "stage");
    expect_says(report.sentence, "'grad' is at stage 'summed', at which ");
    expect_says(report.sentence, "left it; 'clipped' is due");
    assert_string_equal(launch_of((struct plan_flow)EITHER("clipped", "loaded"), 2, 2, 2), "stage");
    expect_says(report.sentence, "'clipped' or 'loaded' is due");
}

static void another_writer_is_found(void **state)
{
    (void)state;
    assert_null(launch_of((struct plan_flow)TO("summed"), 0, 1, 2));
    assert_string_equal(launch_of((struct plan_flow)FROM("summed"), 1, 5, 5), "altered");
    assert_null(launch_of((struct plan_flow)TO("summed"), 2, 1, 2));
    assert_null(launch_of((struct plan_flow)AFTER("summed"), 3, 5, 5)); /* it may be */
}

static void nothing_is_known_of_launches_that_are_not_in_a_row(void **state)
{
    (void)state;
    assert_null(launch_of((struct plan_flow)TO("summed"), 0, 1, 2));
    assert_null(launch_of((struct plan_flow)FROM("clipped"), 2, 9, 9));
    assert_null(node_of((struct plan_flow)TO("summed"), 10, 4));
    assert_null(node_of((struct plan_flow)FROM("clipped"), 11, 6));
    assert_string_equal(node_of((struct plan_flow)FROM("clipped"), 11, 5), "stage");
}

/* A launch at `position`, or a reader of sequences of `length` places where that is not 0. */
static const char *stand_of(uint64_t turn, int64_t position, const int32_t length[2])
{
    static int64_t at;
    at = position;
    view = (struct state_view){0};
    const struct state_ids ids = {.count = 2, .dim = {2}, .stride = {1}, .ndim = 1, .width = 4};
    chain[0] = (struct plan_state){
        .token = 9, .names = !length, .positions = -1, .table = -1, .indptr = -1, .last = -1};
    plan[0] = (struct binding_plan){.array = &array, .state = &chain[0]};
    if (length) {
        view.lengths = ids;
        view.lengths.bytes = (const uint8_t *)length;
    } else {
        view.positions = (struct state_ids){(const uint8_t *)&at, 1, {1}, {1}, 1, 8};
    }
    struct state_case of = {.check = &check, .plan = &plan[0], .view = &view, .page = 4};
    check.place = (struct graph_place){0};
    check.moment_of_state = (struct state_moment){.flow[PLAN_FLOWS] = {9, turn}};
    report = (struct state_report){0};
    return flows_rules(flows, &of, &report) ? report.rule : NULL;
}

static void a_reader_ends_at_the_position_before_it(void **state)
{
    static const int32_t same[] = {7, 7}, pads[] = {7, 0}, other[] = {7, 8};
    (void)state;
    assert_null(stand_of(0, 6, NULL));
    assert_null(stand_of(1, 0, same));
    assert_null(stand_of(2, 0, other)); /* behind a reader */
    assert_null(stand_of(3, 6, NULL));
    assert_null(stand_of(4, 0, pads));
    assert_null(stand_of(6, 0, other)); /* not in a row */
    assert_null(stand_of(7, 6, NULL));
    assert_string_equal(stand_of(8, 0, other), "apart");
    expect_says(report.sentence, "sequence 1 of scale, launch 0, ends at place 7");
    expect_says(report.sentence, "before it is 6");
}

/* Checks come in no order. */
static void the_launch_behind_may_be_judged_first(void **state)
{
    (void)state;
    assert_null(launch_of((struct plan_flow)FROM("clipped"), 1, 2, 2));
    assert_string_equal(launch_of((struct plan_flow)TO("summed"), 0, 1, 2), "stage");
    expect_says(report.sentence, "behind it ");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_chain_goes_from_stage_to_stage, open_flows, close_flows),
        cmocka_unit_test_setup_teardown(a_launch_that_was_left_out_is_found, open_flows,
                                        close_flows),
        cmocka_unit_test_setup_teardown(another_writer_is_found, open_flows, close_flows),
        cmocka_unit_test_setup_teardown(nothing_is_known_of_launches_that_are_not_in_a_row,
                                        open_flows, close_flows),
        cmocka_unit_test_setup_teardown(a_reader_ends_at_the_position_before_it, open_flows,
                                        close_flows),
        cmocka_unit_test_setup_teardown(the_launch_behind_may_be_judged_first, open_flows,
                                        close_flows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
