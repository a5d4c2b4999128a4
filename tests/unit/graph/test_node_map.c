/* test_node_map.c - numbers by node. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "graph/node_map.h"

enum { NODES = 5000 };

static CUgraphNode node_of(int i)
{
    return (CUgraphNode)(uintptr_t)(0x5000 + 16 * (uintptr_t)i);
}

static void nodes_are_found(void **state)
{
    struct node_map map = {0};
    (void)state;
    assert_int_equal(node_map_find(&map, node_of(0)), NODE_MAP_NONE);
    for (int i = 0; i < NODES; i++)
        assert_true(node_map_put(&map, node_of(i), i));
    for (int i = 0; i < NODES; i++)
        assert_int_equal(node_map_find(&map, node_of(i)), i);
    assert_int_equal(map.count, NODES);
    assert_int_equal(node_map_find(&map, node_of(NODES)), NODE_MAP_NONE);
    node_map_free(&map);
    assert_int_equal(node_map_find(&map, node_of(1)), NODE_MAP_NONE);
}

static void a_number_is_replaced(void **state)
{
    struct node_map map = {0};
    (void)state;
    assert_true(node_map_put(&map, node_of(1), 1));
    assert_true(node_map_put(&map, node_of(2), 2));
    assert_true(node_map_put(&map, node_of(1), NODE_MAP_NONE));
    assert_int_equal(node_map_find(&map, node_of(1)), NODE_MAP_NONE);
    assert_int_equal(node_map_find(&map, node_of(2)), 2);
    assert_int_equal(map.count, 2);
    node_map_free(&map);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nodes_are_found),
        cmocka_unit_test(a_number_is_replaced),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
