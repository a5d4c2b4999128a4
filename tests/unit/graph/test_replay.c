/* test_replay.c - which kernels of a CUDA graph's replay are drawn, and the table of handles. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "graph/exec_table.h"
#include "graph/graph.h"

enum { KERNELS = 60, REPLAYS = 20000 };

/* A graph of two kernels in turn, each with an entry of its own. */
struct world {
    struct kernel_spec spec[2];
    struct known_kernel kernel[2];
    struct graph_count count[2];
    struct graph_node node[KERNELS];
    struct graph_subject subject[KERNELS];
    struct graph graph;
    struct pipeline pipeline;
};

static struct world *open_world(double sample, double own, uint64_t first)
{
    struct world *w = aligned_alloc(64, (sizeof(*w) + 63) / 64 * 64);
    memset(w, 0, sizeof(*w));
    w->pipeline.gate = gate_create(&(struct gate_settings){sample, first, 7, 0});
    for (int i = 0; i < 2; i++) {
        w->spec[i] = (struct kernel_spec){.sample = i ? own : -1, .first = -1};
        w->kernel[i].spec = &w->spec[i];
        w->count[i] = (struct graph_count){
            .kernel = &w->kernel[i], .spec = &w->spec[i], .nodes = KERNELS / 2};
    }
    for (int i = 0; i < KERNELS; i++) {
        w->node[i] = (struct graph_node){.subject = i, .count = i % 2};
        w->subject[i] = (struct graph_subject){
            .kernel = &w->kernel[i % 2], .node = (uint32_t)i, .count = (uint32_t)i % 2, .parts = 1};
    }
    w->graph = (struct graph){.number = 1,
                              .node = w->node,
                              .subject = w->subject,
                              .count = w->count,
                              .nodes = KERNELS,
                              .subjects = KERNELS,
                              .counts = 2,
                              .kernels = KERNELS};
    return w;
}

static void close_world(struct world *w)
{
    gate_destroy(w->pipeline.gate);
    free(w);
}

/* How often each subject was chosen. Returns the share of the replays that were picked. */
static double draw(struct world *w, unsigned *times)
{
    unsigned picked = 0;
    memset(times, 0, KERNELS * sizeof(*times));
    for (uint64_t replay = 0; replay < REPLAYS; replay++) {
        bool is_picked = replay_is_picked(&w->graph, &w->pipeline, replay);
        uint32_t chosen = 0, counted = 0;
        if (is_picked)
            chosen = replay_choose(&w->graph, &w->pipeline, replay, false, false);
        for (int i = 0; is_picked && i < KERNELS; i++) {
            times[i] += w->subject[i].chosen;
            counted += w->subject[i].chosen;
        }
        assert_int_equal(chosen, counted);
        if (is_picked)
            assert_int_equal(w->count[0].chosen + w->count[1].chosen, chosen);
        picked += is_picked;
    }
    return (double)picked / REPLAYS;
}

static void each_is_drawn_with_its_probability(void **state)
{
    static const double probabilities[] = {0.01, 0.2, 0.6};
    unsigned times[KERNELS];
    (void)state;
    for (size_t p = 0; p < sizeof(probabilities) / sizeof(*probabilities); p++) {
        struct world *w = open_world(probabilities[p], probabilities[p] / 4, 0);
        draw(w, times);
        double sum[2] = {0};
        for (int i = 0; i < KERNELS; i++) {
            double want = probabilities[p] * (i % 2 ? 0.25 : 1), got = (double)times[i] / REPLAYS;
            sum[i % 2] += got / (KERNELS / 2);
            assert_true(got > want * 0.6 && got < want * 1.4);
        }
        assert_true(sum[0] > probabilities[p] * 0.95 && sum[0] < probabilities[p] * 1.05);
        assert_true(sum[1] > probabilities[p] * 0.235 && sum[1] < probabilities[p] * 0.265);
        close_world(w);
    }
}

/* Each launch of the twin pays for all of its nodes. */
static void few_replays_have_many_checks(void **state)
{
    unsigned times[KERNELS];
    struct world *w = open_world(0.01, -1, 0);
    (void)state;
    double share = draw(w, times); /* of 0.6 checks a replay, 16 together */
    assert_true(share > 0.03 && share < 0.045);
    close_world(w);
}

static void nothing_is_drawn_at_zero(void **state)
{
    unsigned times[KERNELS];
    struct world *w = open_world(0, -1, 0);
    (void)state;
    assert_true(draw(w, times) == 0);
    assert_false(replay_may_pick(&w->graph, &w->pipeline));
    assert_int_equal(replay_choose(&w->graph, &w->pipeline, 3, true, false), 0);
    close_world(w);
}

/* A kernel whose last node runs another kernel now, or is disabled, keeps its row. */
static void a_kernel_without_nodes_picks_no_replay(void **state)
{
    struct world *w = open_world(0, 0.5, 0);
    (void)state;
    assert_true(replay_may_pick(&w->graph, &w->pipeline));
    w->count[1].nodes = 0;
    assert_false(replay_may_pick(&w->graph, &w->pipeline));
    w->spec[1].first = 1;
    assert_false(replay_may_pick(&w->graph, &w->pipeline));
    w->spec[0].first = 1;
    assert_true(replay_may_pick(&w->graph, &w->pipeline));
    close_world(w);
}

static void everything_is_drawn_at_one(void **state)
{
    unsigned times[KERNELS];
    struct world *w = open_world(1, -1, 0);
    (void)state;
    assert_true(draw(w, times) == 1);
    for (int i = 0; i < KERNELS; i++)
        assert_int_equal(times[i], REPLAYS);
    close_world(w);
}

static void a_seed_draws_the_same_again(void **state)
{
    unsigned times[KERNELS], again[KERNELS];
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct world *w = open_world(0.1, -1, 0);
        draw(w, i ? again : times);
        close_world(w);
    }
    assert_memory_equal(times, again, sizeof(times));
}

static void a_forced_replay_has_checks(void **state)
{
    struct world *w = open_world(0.001, -1, 0);
    (void)state;
    for (uint64_t replay = 0; replay < 20; replay++)
        assert_int_equal(replay_choose(&w->graph, &w->pipeline, replay, true, false), 16);
    close_world(w);
}

static void new_nodes_are_due_some_at_a_time(void **state)
{
    struct world *w = open_world(0, -1, 2);
    uint64_t now = gate_generation(w->pipeline.gate);
    uint32_t left = KERNELS;
    (void)state;
    for (uint64_t replay = 0; left; replay++) {
        assert_true(replay_is_picked(&w->graph, &w->pipeline, replay));
        uint32_t chosen = replay_choose(&w->graph, &w->pipeline, replay, false, false);
        assert_int_equal(chosen, left < 16 ? left : 16);
        for (int i = 0; i < KERNELS; i++)
            w->subject[i].first = w->subject[i].chosen ? now : w->subject[i].first;
        left -= chosen;
    }
    assert_int_equal(replay_choose(&w->graph, &w->pipeline, 99, false, false), 0);
    assert_false(replay_is_picked(&w->graph, &w->pipeline, 100));
    gate_reset(w->pipeline.gate);
    assert_true(replay_is_picked(&w->graph, &w->pipeline, 101));
    close_world(w);
}

/* Counted as "budget", as if they had been drawn. */
static void what_is_not_paid_is_estimated(void **state)
{
    struct world *w = open_world(0.4, 0.1, 0);
    (void)state;
    replay_estimate(&w->graph, &w->pipeline, 3); /* 24 of 60 together, a quarter of the second's */
    assert_int_equal(w->count[0].chosen, 12);
    assert_int_equal(w->count[1].chosen, 3);
    close_world(w);
    w = open_world(1, -1, 0);
    replay_estimate(&w->graph, &w->pipeline, 3);
    assert_int_equal(w->count[0].chosen + w->count[1].chosen, KERNELS);
    close_world(w);
}

static void a_disabled_node_is_not_chosen(void **state)
{
    struct world *w = open_world(1, -1, 2);
    (void)state;
    w->node[5].off = true;
    assert_int_equal(replay_choose(&w->graph, &w->pipeline, 0, false, false), KERNELS - 1);
    assert_false(w->subject[5].chosen);
    close_world(w);
}

/* Only kernels whose inputs the outlier gate reads, and that are not checked anyway. */
static void other_kernels_are_probed(void **state)
{
    struct world *w = open_world(0, -1, 2);
    (void)state;
    w->count[1].detects = w->graph.detects = true;
    w->subject[33].blind = true;
    assert_int_equal(replay_choose(&w->graph, &w->pipeline, 0, false, false), 16);
    assert_int_equal(replay_choose(&w->graph, &w->pipeline, 0, false, true), 16 + 30 - 8 - 1);
    for (int i = 0; i < KERNELS; i++) {
        bool checked = i < 16;
        assert_true(w->subject[i].chosen == (checked || (i % 2 && i != 33)));
        assert_true(w->subject[i].probed == (!checked && i % 2 && i != 33));
    }
    assert_int_equal(replay_choose(&w->graph, &w->pipeline, 1, false, false), 16);
    assert_false(w->subject[KERNELS - 1].probed);
    close_world(w);
}

/* A replay with probes has to be paid for as a whole: with all of the twin's nodes. */
static void probes_wait_until_they_are_paid(void **state)
{
    struct world *w = open_world(0, -1, 0);
    struct side *side = calloc(1, sizeof(*side));
    const int64_t now = 1000000000000;
    (void)state;
    assert_false(replay_may_probe(&w->graph, now));
    w->graph.detects = true;
    assert_true(replay_may_probe(&w->graph, now)); /* there is no twin yet */
    w->graph.side = side;
    w->graph.spliced = 100;
    assert_true(replay_may_probe(&w->graph, now)); /* no limit */
    budget_open(&side->budget, 0.05);
    budget_open(&side->probes, 0.04);
    assert_true(replay_may_probe(&w->graph, now));
    budget_add(&side->probes, now, 8000000);
    assert_false(replay_may_probe(&w->graph, now));
    assert_false(replay_may_probe(&w->graph, now + 1000000)); /* a few probes are paid */
    assert_true(replay_may_probe(&w->graph, now + 3000000));
    budget_add(&side->budget, now, 1000000000);
    assert_false(replay_may_probe(&w->graph, now + 3000000));
    free(side);
    close_world(w);
}

static CUgraphExec handle(size_t number)
{
    return (CUgraphExec)(uintptr_t)(0x10000 + number * 0x40);
}

static void graphs_are_found_by_handle(void **state)
{
    struct exec_table *table = calloc(1, sizeof(*table));
    static struct graph graph[1000];
    (void)state;
    for (size_t i = 0; i < 1000; i++) {
        graph[i].exec = handle(i);
        assert_true(exec_table_add(table, &graph[i]));
    }
    for (size_t i = 0; i < 1000; i += 2)
        assert_ptr_equal(exec_table_remove(table, handle(i)), &graph[i]);
    for (size_t i = 0; i < 1000; i++)
        assert_ptr_equal(exec_table_find(table, handle(i)), i % 2 ? &graph[i] : NULL);
    assert_null(exec_table_remove(table, handle(0)));
    assert_int_equal(table->living, 500);
    assert_true(exec_table_add(table, &graph[0]));
    assert_ptr_equal(exec_table_find(table, handle(0)), &graph[0]);
    free(table);
}

/* Handles come and go for as long as a program runs. */
static void places_are_used_again(void **state)
{
    struct exec_table *table = calloc(1, sizeof(*table));
    struct graph graph = {0};
    (void)state;
    for (size_t i = 0; i < 200000; i++) {
        graph.exec = handle(i);
        assert_true(exec_table_add(table, &graph));
        assert_ptr_equal(exec_table_find(table, handle(i)), &graph);
        assert_ptr_equal(exec_table_remove(table, handle(i)), &graph);
    }
    assert_int_equal(table->living, 0);
    free(table);
}

static void too_many_are_refused(void **state)
{
    struct exec_table *table = calloc(1, sizeof(*table));
    struct graph *graph = calloc(EXEC_MOST + 1, sizeof(*graph));
    size_t added = 0;
    (void)state;
    for (size_t i = 0; i <= EXEC_MOST; i++) {
        graph[i].exec = handle(i);
        added += exec_table_add(table, &graph[i]);
    }
    assert_true(added > EXEC_MOST * 9 / 10 && added <= EXEC_MOST);
    free(graph);
    free(table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_is_drawn_with_its_probability),
        cmocka_unit_test(few_replays_have_many_checks),
        cmocka_unit_test(nothing_is_drawn_at_zero),
        cmocka_unit_test(a_kernel_without_nodes_picks_no_replay),
        cmocka_unit_test(everything_is_drawn_at_one),
        cmocka_unit_test(a_seed_draws_the_same_again),
        cmocka_unit_test(a_forced_replay_has_checks),
        cmocka_unit_test(new_nodes_are_due_some_at_a_time),
        cmocka_unit_test(what_is_not_paid_is_estimated),
        cmocka_unit_test(a_disabled_node_is_not_chosen),
        cmocka_unit_test(other_kernels_are_probed),
        cmocka_unit_test(probes_wait_until_they_are_paid),
        cmocka_unit_test(graphs_are_found_by_handle),
        cmocka_unit_test(places_are_used_again),
        cmocka_unit_test(too_many_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
