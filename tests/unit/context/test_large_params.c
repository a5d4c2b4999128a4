/* Buffers for parameters that a check has no room for: as many as there are, and again once checks
 * end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include "context/side.h"
#include "context/slots.h"

enum { CHECKS = LARGE_PARAMS + 1 };

static void each_buffer_is_one_checks_until_it_ends(void **state)
{
    static struct check check[CHECKS];
    _Atomic(uint64_t) submitted[1] = {0};
    struct side side = {.slot.check = check,
                        .slot.count = CHECKS,
                        .slot.free = slots_create(CHECKS),
                        .slot.free_large = slots_create(LARGE_PARAMS),
                        .slot.large_params = calloc(LARGE_PARAMS, CHECK_LARGE_PARAMS),
                        .slot.submitted = submitted};
    (void)state;
    for (int i = 0; i < CHECKS; i++)
        check[i].slot = (uint32_t)slots_claim(side.slot.free);
    for (int i = 0; i < LARGE_PARAMS; i++) {
        uint8_t *buffer = side_large_params(&side, &check[i]);
        assert_non_null(buffer);
        for (int byte = 0; byte < CHECK_LARGE_PARAMS; byte++) {
            assert_int_equal(buffer[byte], 0);
            buffer[byte] = 1;
        }
    }
    assert_null(side_large_params(&side, &check[LARGE_PARAMS]));
    side_release(&side, &check[LARGE_PARAMS]);
    assert_int_equal(slots_in_use(side.slot.free_large), LARGE_PARAMS);
    side_release(&side, &check[3]);
    assert_non_null(side_large_params(&side, &check[LARGE_PARAMS]));
    assert_int_equal(slots_in_use(side.slot.free_large), LARGE_PARAMS);
    slots_destroy(side.slot.free);
    slots_destroy(side.slot.free_large);
    free(side.slot.large_params);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_buffer_is_one_checks_until_it_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
