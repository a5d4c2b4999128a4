/*
 * test_random.c - random numbers on the host: the paper's known answers, numbers that PyTorch
 * prints, draws of two words, integers, what is turned round, and parts of a launch.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "lang/formals.h"
#include "refs/abi/ref_host.h"
#include "refs/abi/ref_list.h"
#include "refs/abi/ref_merge.h"
#include "tests/common/philox.h"

enum { COUNT = 4000, THREADS = 256 };

static struct formals formals;
static struct ref_verdict answer;
static struct ref_call call;
static double stored[COUNT];
static uint32_t words[2][2];
static bool wide;

static void set_int(const char *name, int64_t value)
{
    const struct formal *formal = formals_find(&formals, name);
    assert_non_null(formal);
    call.size[formal->slot] = value;
}

static void set_real(const char *name, double value)
{
    const struct formal *formal = formals_find(&formals, name);
    assert_non_null(formal);
    call.scalar[formal->slot] = value;
}

static void set_array(const char *name, enum dtype dtype, const void *in, void *got, int64_t count)
{
    const struct formal *formal = formals_find(&formals, name);
    struct ref_tensor *t = &call.tensor[formal->slot];
    *t = (struct ref_tensor){.in = in,
                             .got = got,
                             .dtype = (uint8_t)dtype,
                             .ndim = (uint8_t)formal->ndim,
                             .rule = RULE_BOUND,
                             .id = (uint32_t)formal->slot,
                             .bytes = count * 8};
    for (int d = 0; d < formal->ndim; d++) {
        t->dim[d] = d == formal->ndim - 1 ? count : 1;
        t->stride[d] = d == formal->ndim - 1 ? 1 : count;
    }
}

/* A launch of THREADS threads that makes `count` numbers; the dims are outer, planes, rows, cols.
 */
static void start(const char *name, int64_t seed, int64_t offset, int64_t count)
{
    size_t i = 0;
    while (strcmp(ref_builtins[i].name, name) != 0)
        i++;
    assert_int_equal(formals_parse(&formals, ref_builtins[i].formals, NULL), 0);
    wide = false;
    call = (struct ref_call){.lambda = 8,
                             .unit_roundoff = 0x1p-24,
                             .underflow = 0x1p-126,
                             .pieces = 1,
                             .group = 1,
                             .answer = &answer};
    for (int f = 0; f < formals.count; f++) {
        const struct formal *formal = &formals.formal[f];
        if (formal->kind == FORMAL_INT)
            call.size[formal->slot] = (int64_t)formal->fallback;
        else if (formal->kind == FORMAL_REAL)
            call.scalar[formal->slot] = formal->fallback;
    }
    for (int d = 0; d < formals.sizes; d++)
        if (!formals_find(&formals, formals.size_name[d]))
            call.size[d] = strcmp(formals.size_name[d], "cols") == 0 ? count : 1;
    set_real("seed_low", (double)(uint32_t)seed);
    set_real("seed_high", (double)(uint32_t)((uint64_t)seed >> 32));
    set_real("offset", (double)offset);
    set_int("threads", THREADS);
}

static void in_double(void)
{
    wide = true;
    call.unit_roundoff = 0x1p-53;
    call.underflow = 0x1p-1022;
    set_int("unroll", 2);
}

static void judge(const char *name)
{
    ref_verdict_clear(&answer);
    assert_int_equal(ref_host_run(name, &call, wide), 0);
    assert_int_equal(answer.refused, 0);
}

/* What the reference has for y. */
static void compute(const char *name, enum dtype dtype, int64_t count)
{
    set_array("y", dtype, NULL, NULL, count);
    call.store = stored;
    call.store_count = count;
    call.store_tensor = (uint32_t)formals_find(&formals, "y")->slot;
    judge(name);
    call.store = NULL;
}

/* ---- the words ---- */

/* kat_vectors of Random123, the paper's library. */
static void the_tests_own_words_are_the_papers(void **state)
{
    (void)state;
    static const struct {
        uint32_t counter[4], key[2], want[4];
    } rows[] = {{{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
                {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
                 {0xffffffff, 0xffffffff},
                 {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
                {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
                 {0xa4093822, 0x299f31d0},
                 {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        uint32_t c[4];
        memcpy(c, rows[i].counter, sizeof c);
        philox_block(c, rows[i].key[0], rows[i].key[1]);
        assert_memory_equal(c, rows[i].want, sizeof c);
    }
}

/* Element i of a launch is word i / THREADS of thread i % THREADS, from the offset on. */
static void integers_are_the_words(void **state)
{
    (void)state;
    const int64_t seeds[] = {0, 42, 0x0123456789abcdef, -7};
    const int64_t offsets[] = {0, 4, 7, 10, 0x3fffffffd};
    for (size_t k = 0; k < 4 * 5; k++) {
        uint64_t seed = (uint64_t)seeds[k / 5], offset = (uint64_t)offsets[k % 5];
        start("random_integers", (int64_t)seed, (int64_t)offset, COUNT);
        compute("random_integers", DTYPE_I64, COUNT);
        for (int i = 0; i < COUNT; i++)
            assert_true(stored[i] == philox_word(seed, (uint64_t)(i % THREADS),
                                                 offset + (uint64_t)(i / THREADS)));
    }
}

/* In a CUDA graph seed and offset lie in memory, and some is added to the offset. */
static void words_in_memory_are_the_same(void **state)
{
    (void)state;
    static double want[COUNT];
    start("random_uniform", 0x7766554433221100, 0x500000024, COUNT);
    compute("random_uniform", DTYPE_F32, COUNT);
    memcpy(want, stored, sizeof want);
    start("random_uniform", 1, 2, COUNT);
    words[0][0] = 0x33221100;
    words[0][1] = 0x77665544;
    words[1][0] = 0x20;
    words[1][1] = 5;
    set_array("seed_at", DTYPE_U32, words[0], NULL, 2);
    set_array("offset_at", DTYPE_U32, words[1], NULL, 2);
    set_real("within", 4);
    compute("random_uniform", DTYPE_F32, COUNT);
    assert_memory_equal(want, stored, sizeof want);
}

/* ---- what PyTorch has ---- */

/* torch.rand(10) and torch.randn(10) on a GPU after torch.manual_seed(0), to four digits. */
static void numbers_are_pytorchs(void **state)
{
    (void)state;
    static const double uniform[] = {0.3990, 0.5167, 0.0249, 0.9401, 0.9459,
                                     0.7967, 0.4150, 0.8203, 0.2290, 0.9096};
    static const double normal[] = {-0.9247, -0.4253, -2.6438, 0.1452,  -0.1209,
                                    -0.5797, -0.6229, -0.3284, -1.0745, -0.3631};
    start("random_uniform", 0, 0, 10);
    compute("random_uniform", DTYPE_F32, 10);
    for (int i = 0; i < 10; i++)
        assert_true(fabs(stored[i] - uniform[i]) < 5.1e-5);
    start("random_normal", 0, 0, 10);
    set_real("std", 1);
    compute("random_normal", DTYPE_F32, 10);
    for (int i = 0; i < 10; i++)
        assert_true(fabs(stored[i] - normal[i]) < 5.1e-5);
}

/* f64 takes two words for each number: 53 bits. */
static void doubles_take_two_words(void **state)
{
    (void)state;
    start("random_uniform", 5, 8, COUNT);
    in_double();
    compute("random_uniform", DTYPE_F64, COUNT);
    for (int i = 0; i < COUNT; i++) {
        uint64_t thread = (uint64_t)(i % THREADS), at = 8 + (uint64_t)(i / THREADS * 2);
        assert_true(stored[i] ==
                    philox_double(philox_word(5, thread, at), philox_word(5, thread, at + 1)));
    }
    start("random_normal", 5, 8, COUNT);
    in_double();
    compute("random_normal", DTYPE_F64, COUNT);
    for (int i = 0; i < COUNT; i++) {
        uint64_t thread = (uint64_t)(i % THREADS), at = 8 + (uint64_t)(i / THREADS / 2 * 4);
        double u = philox_double(philox_word(5, thread, at), philox_word(5, thread, at + 1));
        double v = philox_double(philox_word(5, thread, at + 2), philox_word(5, thread, at + 3));
        double angle = 2 * M_PI * v, radius = sqrt(-2 * log(u));
        double want = radius * (i / THREADS % 2 ? cos(angle) : sin(angle));
        assert_true(fabs(stored[i] - want) < 1e-14);
    }
}

/* ---- integers ---- */

static void integers_of_64_bits_join_two_words(void **state)
{
    (void)state;
    start("random_integers", 9, 0, COUNT);
    set_int("unroll", 2);
    set_int("range", (int64_t)1 << 40);
    set_int("base", -5);
    compute("random_integers", DTYPE_I64, COUNT);
    for (int i = 0; i < COUNT; i++) {
        uint64_t thread = (uint64_t)(i % THREADS), at = (uint64_t)(i / THREADS * 2);
        uint64_t word = (uint64_t)philox_word(9, thread, at) << 32 | philox_word(9, thread, at + 1);
        assert_true(stored[i] == (double)(int64_t)(word % ((uint64_t)1 << 40)) - 5);
    }
}

/* A wrong modulus, or one off, is a mismatch: nothing is rounded. */
static void integers_are_exact(void **state)
{
    (void)state;
    static int32_t y[COUNT];
    for (int wrong = 0; wrong < 2; wrong++) {
        start("random_integers", 1, 0, COUNT);
        set_int("range", 100);
        for (int i = 0; i < COUNT; i++)
            y[i] =
                (int32_t)(philox_word(1, (uint64_t)(i % THREADS), (uint64_t)(i / THREADS)) % 100);
        y[COUNT / 3] += wrong;
        set_array("y", DTYPE_I32, NULL, y, COUNT);
        judge("random_integers");
        assert_int_equal(answer.checked, COUNT);
        assert_int_equal(answer.violations, wrong);
    }
}

/* ---- uniform numbers of 16 bits ---- */

static uint16_t as_bf16(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

/* Numbers that become 1 as bf16 are 0 in PyTorch; a kernel that leaves them 1 is wrong there. */
static void what_rounds_to_the_top_is_the_bottom(void **state)
{
    (void)state;
    static uint16_t y[COUNT];
    for (int wrong = 0; wrong < 2; wrong++) {
        uint64_t turned = 0;
        start("random_uniform", 3, 0, COUNT);
        for (int i = 0; i < COUNT; i++) {
            uint32_t w = philox_word(3, (uint64_t)(i % THREADS), (uint64_t)(i / THREADS));
            y[i] = as_bf16((float)philox_single(w));
            turned += y[i] == 0x3f80;
            y[i] = y[i] == 0x3f80 && !wrong ? 0 : y[i];
        }
        set_array("y", DTYPE_BF16, NULL, y, COUNT);
        set_real("range", 1);
        set_real("top", 1);
        judge("random_uniform");
        assert_true(turned > 2);
        assert_int_equal(answer.violations, wrong ? turned : 0);
    }
}

/* ---- parts of a launch ---- */

static void a_part_has_the_numbers_of_the_whole(void **state)
{
    (void)state;
    static double whole[COUNT];
    enum { FIRST = 1234 };
    start("random_normal", 11, 4, COUNT);
    compute("random_normal", DTYPE_F32, COUNT);
    memcpy(whole, stored, sizeof whole);
    start("random_normal", 11, 4, COUNT - FIRST);
    set_int("first", FIRST);
    compute("random_normal", DTYPE_F32, COUNT - FIRST);
    assert_memory_equal(whole + FIRST, stored, (COUNT - FIRST) * sizeof *whole);
}

/* Without threads, or with turns of another size, nothing is divided and nothing judged. */
static void what_makes_no_sense_is_refused(void **state)
{
    (void)state;
    static const char *const names[] = {"threads", "unroll", "first"};
    for (int i = 0; i < 3; i++) {
        start("random_uniform", 0, 0, COUNT);
        set_int(names[i], i == 2 ? -1 : 0);
        set_array("y", DTYPE_F32, NULL, stored, COUNT);
        ref_verdict_clear(&answer);
        assert_int_equal(ref_host_run("random_uniform", &call, 0), 0);
        assert_true(answer.refused > 0);
        assert_int_equal(answer.checked, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_tests_own_words_are_the_papers),
        cmocka_unit_test(integers_are_the_words),
        cmocka_unit_test(words_in_memory_are_the_same),
        cmocka_unit_test(numbers_are_pytorchs),
        cmocka_unit_test(doubles_take_two_words),
        cmocka_unit_test(integers_of_64_bits_join_two_words),
        cmocka_unit_test(integers_are_exact),
        cmocka_unit_test(what_rounds_to_the_top_is_the_bottom),
        cmocka_unit_test(a_part_has_the_numbers_of_the_whole),
        cmocka_unit_test(what_makes_no_sense_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
