/*
 * catalogue_problem.h - one problem of test_catalogue.c: its arrays, and how the kernels of
 * catalogue_kernels.inc read and write them.
 */
#ifndef TESTS_UNIT_CATALOGUE_PROBLEM_H
#define TESTS_UNIT_CATALOGUE_PROBLEM_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tgmath.h>
#include <cmocka.h>

#include "tests/unit/common/random_values.h"
#include "refs/abi/ref_host.h"
#include "refs/abi/ref_list.h"
#include "refs/abi/ref_merge.h"
#include "tests/common/ref_codes.h"
#include "tests/common/ref_inputs.h"
#include "lang/formals.h"

enum { ELEMENTS_MAX = 1 << 16, ROOM = 1 << 12 /* of sums that a kernel keeps */ };

/* One array of a problem: elements before and after the launch, in f64 and in its dtype. */
struct array {
    enum dtype dtype;
    int64_t count;
    double before[ELEMENTS_MAX], after[ELEMENTS_MAX];
    double low[ELEMENTS_MAX], share[ELEMENTS_MAX]; /* of blocks: see ref_codes.h */
    uint64_t before_bits[ELEMENTS_MAX], after_bits[ELEMENTS_MAX];
};

struct problem {
    const struct ref_builtin *reference;
    struct formals formals;
    const char *sizes; /* "rows=5 cols=37" */
    bool wrong;
    struct array array[REF_MAX_TENSORS];
};

static struct problem problem;
static double coarse(double x)
{
    int exponent;
    double fraction = frexp(x, &exponent);
    return ldexp(rint(ldexp(fraction, 8)), exponent - 8);
}

static size_t bytes_of(enum dtype dtype)
{
    return dtype == DTYPE_F64 || dtype == DTYPE_I64 ? 8
           : dtype == DTYPE_F32                     ? 4
           : code_is_byte((int)dtype)               ? 1
                                                    : 2;
}

/* Bytes that an array takes. */
static int64_t length_of(const struct array *a)
{
    return code_is_block((int)a->dtype)
               ? a->count / block_elements((int)a->dtype) * block_bytes((int)a->dtype)
               : a->count * (int64_t)bytes_of(a->dtype);
}

/* Writes element i, and returns what it reads as. */
static double encode(enum dtype dtype, void *bits, int64_t i, double value)
{
    char *at = (char *)bits + i * (int64_t)bytes_of(dtype);
    float f = (float)(dtype == DTYPE_BF16 ? coarse(value) : value);
    _Float16 half = (_Float16)value;
    int64_t integer = isfinite(value) ? (int64_t)value : 0;
    uint32_t word;
    if (code_is_byte((int)dtype)) {
        *at = (char)code_byte((int)dtype, value);
        return code_value((int)dtype, (uint8_t)*at);
    }
    switch ((int)dtype) {
    case DTYPE_F64:
        memcpy(at, &value, 8);
        return value;
    case DTYPE_I64:
        memcpy(at, &integer, 8);
        return (double)integer;
    case DTYPE_F32:
        memcpy(at, &f, 4);
        return (double)f;
    case DTYPE_F16:
        memcpy(at, &half, 2);
        return (double)half;
    default:
        memcpy(&word, &f, 4);
        word >>= 16;
        memcpy(at, &word, 2);
        return (double)f;
    }
}

/* --------------------------------------------------- what the loops of the kernels see */

static const char *setting(const struct problem *p, const char *name)
{
    size_t length = strlen(name);
    for (const char *at = p->sizes; at; at = strchr(at, ' ')) {
        at += *at == ' ';
        if (strncmp(at, name, length) == 0 && at[length] == '=')
            return at + length + 1;
    }
    return NULL;
}

/* What a name stands for in a problem with this reference and these sizes. */
struct named {
    const char *name;
    const struct ref_builtin *reference;
    const char *sizes;
    const struct formal *formal;
    const char *setting;
    int64_t size;
};

/* The kernels find an element's array by its name, so what was found is kept, by the name's
 * address. */
static const struct named *look_up(const struct problem *p, const char *name)
{
    enum { KEPT_BITS = 7 };
    static struct named kept[1 << KEPT_BITS];
    struct named *n = &kept[(uint64_t)(uintptr_t)name * 0x9e3779b97f4a7c15u >> (64 - KEPT_BITS)];
    if (n->name == name && n->reference == p->reference && n->sizes == p->sizes)
        return n;
    *n = (struct named){.name = name, .reference = p->reference, .sizes = p->sizes};
    n->formal = formals_find(&p->formals, name);
    n->setting = setting(p, name);
    if (n->setting)
        n->size = atoll(n->setting);
    else if (n->formal && n->formal->kind == FORMAL_INT)
        n->size = (int64_t)n->formal->fallback;
    return n;
}

/* A dim, or an int formal, which has a default. */
static int64_t size_named(const struct problem *p, const char *name)
{
    const struct named *n = look_up(p, name);
    if (!n->setting && (!n->formal || n->formal->kind != FORMAL_INT))
        fail_msg("%s: no size '%s' in '%s'", p->reference->name, name, p->sizes);
    return n->size;
}

static const struct formal *formal_named(const struct problem *p, const char *name)
{
    const struct formal *formal = look_up(p, name)->formal;
    if (!formal)
        fail_msg("%s has no '%s'", p->reference->name, name);
    return formal;
}

static struct array *array_named(struct problem *p, const char *name)
{
    return &p->array[formal_named(p, name)->slot];
}

static bool is_input(const struct formal *formal)
{
    return formal->kind == FORMAL_IN || formal->kind == FORMAL_INOUT;
}

/* An input, or an output as far as it is written. */
static double element(struct problem *p, const char *name, int64_t i)
{
    const struct formal *formal = formal_named(p, name);
    const struct array *a = &p->array[formal->slot];
    return is_input(formal) ? a->before[i] : a->after[i];
}

static void set_element(struct problem *p, const char *name, int64_t i, double value)
{
    struct array *a = array_named(p, name);
    a->after[i] = encode(a->dtype, a->after_bits, i, value);
}

#define WRONG               (p->wrong)
#define N(name)             size_named(p, #name)
#define S(name)             ((REAL)scalar_named(p, #name))
#define IN(name, i)         ((REAL)element(p, #name, i))
#define GET(name, i)        ((REAL)element(p, #name, i))
#define OUT(name, i, value) set_element(p, #name, i, (double)(value))
#define LOW(name, i)        ((REAL)array_named(p, #name)->low[i])
#define SHARE(name, i)      ((REAL)array_named(p, #name)->share[i])
#define ARRAY(name)         array_named(p, #name)
#define JOIN_(a, b)         a##b
#define JOIN(a, b)          JOIN_(a, b)
#define R(number)           ((REAL)number##L)
#define KERNEL(op)          static void FUNCTION(op)(struct problem * p)

/* As a program passes it: an f32 argument. */
static double scalar_named(const struct problem *p, const char *name)
{
    formal_named(p, name);
    const char *text = look_up(p, name)->setting;
    return text ? atof(text) : (double)(float)ref_scalar(name);
}

#endif
