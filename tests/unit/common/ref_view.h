/*
 * ref_view.h - calls of references over dense arrays of up to four dims, and the values of bf16,
 * for unit tests. All of it is here.
 */
#ifndef TESTS_UNIT_REF_VIEW_H
#define TESTS_UNIT_REF_VIEW_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "tests/unit/common/random_values.h"
#include "refs/abi/ref_host.h"
#include "refs/abi/ref_list.h"
#include "refs/abi/ref_merge.h"

static inline uint16_t narrow(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    if (isnan(x))
        return 0x7fff;
    bits += 0x7fff + (bits >> 16 & 1);
    return (uint16_t)(bits >> 16);
}

static inline float widen(uint16_t half)
{
    uint32_t bits = (uint32_t)half << 16;
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static inline float round_bf16(float x)
{
    return widen(narrow(x));
}

static inline void fill(uint16_t *a, int64_t count, double mean, double spread)
{
    for (int64_t i = 0; i < count; i++)
        a[i] = narrow((float)(mean + spread * normal()));
}

static inline struct ref_tensor view(const void *data, enum dtype dtype, uint32_t id, int64_t a,
                                     int64_t b, int64_t c, int64_t d)
{
    struct ref_tensor t = {.in = data, .dtype = (uint8_t)dtype, .ndim = 4, .id = id};
    int64_t dim[4] = {a, b, c, d}, stride = 1;
    int bytes = dtype == DTYPE_BF16 ? 2 : dtype == DTYPE_I64 ? 8 : 4;
    int first = a > 0 ? 0 : b > 0 ? 1 : c > 0 ? 2 : 3; /* fewer dims: zeros in front */
    for (int i = 3; i >= first; i--) {
        t.dim[i - first] = dim[i];
        t.stride[i - first] = stride;
        stride *= dim[i];
    }
    t.ndim = (uint8_t)(4 - first);
    t.bytes = stride * bytes;
    return t;
}

static inline struct ref_tensor output(const void *data, enum dtype dtype, uint32_t id, int64_t a,
                                       int64_t b, int64_t c, int64_t d)
{
    struct ref_tensor t = view(data, dtype, id, a, b, c, d);
    t.got = t.in;
    t.in = NULL;
    return t;
}

static inline struct ref_call new_call(void)
{
    return (struct ref_call){.lambda = 8,
                             .unit_roundoff = 0x1p-24,
                             .underflow = 0x1p-126,
                             .pieces = 1,
                             .seed = 1,
                             .sequence = 1,
                             .group = 1};
}

static inline struct ref_verdict run(const char *name, struct ref_call *call)
{
    static struct ref_verdict answer;
    ref_verdict_clear(&answer);
    call->answer = &answer;
    assert_int_equal(ref_host_run(name, call, 0), 0);
    assert_int_equal(answer.refused, 0);
    return answer;
}

#endif
