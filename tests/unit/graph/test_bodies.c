/* test_bodies.c - the body graphs of conditional nodes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "graph/bodies.h"

static CUgraph graph(uintptr_t i)
{
    return (CUgraph)(0x1000 + 16 * i);
}

static CUgraphNode node(uintptr_t i)
{
    return (CUgraphNode)(0x8000 + 16 * i);
}

/* Graph 0 has node 0 with bodies 1 and 2, and body 2 has node 1 with body 3; graph 4 has node 2. */
static struct bodies *nested(void)
{
    struct bodies *bodies = bodies_create();
    const CUgraph outer[] = {graph(1), graph(2)}, inner[] = {graph(3)}, other[] = {graph(5)};
    assert_non_null(bodies);
    assert_false(bodies_any(bodies));
    assert_null(bodies_find(bodies, node(0), 0));
    bodies_added(bodies, graph(0), node(0), outer, 2);
    bodies_added(bodies, graph(2), node(1), inner, 1);
    bodies_added(bodies, graph(4), node(2), other, 1);
    return bodies;
}

static void bodies_are_found(void **state)
{
    (void)state;
    struct bodies *bodies = nested();
    assert_true(bodies_any(bodies));
    assert_ptr_equal(bodies_find(bodies, node(0), 0), graph(1));
    assert_ptr_equal(bodies_find(bodies, node(0), 1), graph(2));
    assert_null(bodies_find(bodies, node(0), 2));
    assert_ptr_equal(bodies_find(bodies, node(1), 0), graph(3));
    assert_null(bodies_find(bodies, node(3), 0));
    bodies_destroy(bodies);
}

static void a_graph_goes_with_its_bodies(void **state)
{
    (void)state;
    struct bodies *bodies = nested();
    bodies_gone(bodies, graph(0));
    assert_null(bodies_find(bodies, node(0), 0));
    assert_null(bodies_find(bodies, node(1), 0));
    assert_ptr_equal(bodies_find(bodies, node(2), 0), graph(5));
    bodies_gone(bodies, graph(4));
    assert_false(bodies_any(bodies));
    bodies_destroy(bodies);
}

static void a_node_goes_with_its_bodies(void **state)
{
    (void)state;
    struct bodies *bodies = nested();
    const CUgraph again[] = {graph(6)};
    bodies_removed(bodies, node(1));
    assert_null(bodies_find(bodies, node(1), 0));
    assert_ptr_equal(bodies_find(bodies, node(0), 1), graph(2));
    bodies_added(bodies, graph(0), node(0), again, 1); /* its handle is another's now */
    assert_ptr_equal(bodies_find(bodies, node(0), 0), graph(6));
    assert_null(bodies_find(bodies, node(0), 1));
    bodies_destroy(bodies);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bodies_are_found),
        cmocka_unit_test(a_graph_goes_with_its_bodies),
        cmocka_unit_test(a_node_goes_with_its_bodies),
    };
    return cmocka_run_group_tests_name("bodies", tests, NULL, NULL);
}
