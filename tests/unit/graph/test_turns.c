/* test_turns.c - whose turn it is where twins of graphs take turns. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "graph/graphs_state.h"

enum { TURN = 16, BYTES = 4096 };

/* A graph that counts as one with a twin; there is no driver. */
struct world {
    struct graphs graphs;
    struct graph graph;
};

static struct world *open_world(void)
{
    struct world *w = calloc(1, sizeof(*w));
    w->graph.twin_bytes = BYTES;
    w->graphs.memory = BYTES;
    return w;
}

static void serve(struct world *w, int launches)
{
    for (int i = 0; i < launches; i++)
        twin_served(&w->graphs, &w->graph);
}

static void a_turn_counts_once(void **state)
{
    struct world *w = open_world();
    (void)state;
    serve(w, TURN - 1);
    assert_int_equal(w->graphs.turns, 0);
    serve(w, 2);
    assert_int_equal(w->graphs.turns, 1);
    twin_release(&w->graphs, &w->graph);
    assert_int_equal(w->graphs.turns, 1);
    assert_int_equal(w->graphs.memory, 0);
    free(w);
}

static void a_twin_that_goes_early_ends_its_turn(void **state)
{
    struct world *w = open_world();
    (void)state;
    serve(w, 3);
    twin_release(&w->graphs, &w->graph);
    assert_int_equal(w->graphs.turns, 1);
    twin_release(&w->graphs, &w->graph); /* it has none */
    assert_int_equal(w->graphs.turns, 1);
    free(w);
}

static void a_graph_without_room_waits_for_a_turn(void **state)
{
    struct world *w = open_world();
    struct graph waiting = {.no_room = true};
    (void)state;
    assert_false(twin_has_turn(&w->graphs, &waiting));
    serve(w, TURN);
    assert_true(twin_has_turn(&w->graphs, &waiting));
    assert_false(twin_has_turn(&w->graphs, &waiting));
    free(w);
}

/* Of the first twin of a graph nothing is paid, unless there was no room for it. */
static void a_try_without_room_is_paid(void **state)
{
    struct graph graph = {.exec = NULL};
    (void)state;
    assert_false(twin_is_paid(&graph));
    graph.no_room = true;
    assert_true(twin_is_paid(&graph));
    graph.no_room = false;
    graph.had_twin = true;
    assert_true(twin_is_paid(&graph));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_turn_counts_once),
        cmocka_unit_test(a_twin_that_goes_early_ends_its_turn),
        cmocka_unit_test(a_graph_without_room_waits_for_a_turn),
        cmocka_unit_test(a_try_without_room_is_paid),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
