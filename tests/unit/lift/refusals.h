/* refusals.h - kernels of one PTX text each, all named k, and why each is refused: LIFT_OK where it
 * is not. */
#ifndef TESTS_UNIT_LIFT_REFUSALS_H
#define TESTS_UNIT_LIFT_REFUSALS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "base/error.h"
#include "lift/lift.h"

struct refusal_row {
    const char *text;
    enum lift_refusal refusal;
};

static inline void check_refusals(const struct refusal_row *row, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct error err = {{0}};
        struct lift *lift;
        enum lift_refusal refusal =
            lift_make(&lift, row[i].text, strlen(row[i].text), "k", 0, &err);
        if (refusal != row[i].refusal)
            fail_msg("kernel %zu: %s, %s; expected: %s", i, lift_refusal_text(refusal), err.text,
                     lift_refusal_text(row[i].refusal));
        lift_free(lift);
    }
}

#endif
