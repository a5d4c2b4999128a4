/* test_lift_scattered.c - kernels that store at rows from memory: a product of tokens with the
 * weights of experts, whose rows `order` names, and a copy to rows. */
#include "lift_bench.h"

#define PTX(name) "tests/unit/lift/ptx/" name ".ptx"

enum { SLOTS = 32, EXPERTS = 4, N = 80, K = 80, ROWS = 16, BLOCKS = 4 * 3 * 2 };
enum { A, B, C, WEIGHTS, ORDER, EXPERT, PADDED };

static uint16_t *left, *right; /* arrays of the launch */
static float *weights;
static bool half;  /* f16, else bf16 */
static bool small; /* weights of experts in 8 bits */

static uint32_t next_random(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

static float random_number(uint32_t *state)
{
    return (float)next_random(state) / 8388608.0f - 1.0f;
}

static uint16_t to_narrow(float value)
{
    uint32_t bits;
    uint16_t narrow;
    _Float16 h = (_Float16)value;
    memcpy(&bits, &value, 4);
    memcpy(&narrow, &h, 2);
    return half ? narrow : (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static float from_narrow(uint16_t narrow)
{
    uint32_t bits = (uint32_t)narrow << 16;
    float value;
    _Float16 h;
    memcpy(&value, &bits, 4);
    memcpy(&h, &narrow, 2);
    return half ? (float)h : value;
}

static unsigned expert_of(unsigned slot)
{
    return (slot * 7 + slot / 3) % EXPERTS;
}

/* The slots of each expert one behind the other, in whole tiles of ROWS; SLOTS stands for none. */
static uint32_t put_in_order(int32_t *order, int32_t *expert)
{
    uint32_t count = 0;
    for (unsigned e = 0; e < EXPERTS; e++) {
        const uint32_t first = count;
        for (unsigned slot = 0; slot < SLOTS; slot++) {
            if (expert_of(slot) == e && order)
                order[count] = (int32_t)slot;
            count += expert_of(slot) == e;
        }
        for (; count % ROWS; count++) {
            if (order)
                order[count] = SLOTS;
        }
        for (uint32_t at = first; at < count && expert; at += ROWS)
            expert[at / ROWS] = (int32_t)e;
    }
    return count;
}

static void fill_experts(unsigned param, void *array, uint64_t bytes)
{
    uint32_t state = param + 1;
    if (param == B && small) {
        for (uint64_t i = 0; i < bytes; i++)
            ((int8_t *)array)[i] = (int8_t)next_random(&state);
    } else if (param == A || param == B) {
        for (uint64_t i = 0; i < bytes / 2; i++)
            ((uint16_t *)array)[i] = to_narrow(random_number(&state));
        *(param == A ? &left : &right) = array;
    } else if (param == WEIGHTS) {
        weights = array;
        for (uint64_t i = 0; i < bytes / 4; i++)
            weights[i] = 0.5f + 0.25f * random_number(&state);
    } else if (param == ORDER) {
        put_in_order(array, NULL);
    } else if (param == EXPERT) {
        put_in_order(NULL, array);
    } else if (param == PADDED) {
        *(uint32_t *)array = put_in_order(NULL, NULL);
    }
}

static struct bench_launch experts_launch(void)
{
    return (struct bench_launch){.kernel = "experts",
                                 .grid = BLOCKS,
                                 .block = 128,
                                 .shared = 16384,
                                 .param = {[A] = {SLOTS / 2 * K * 2, 0},
                                           [B] = {EXPERTS * N * K * (small ? 1 : 2), 0},
                                           [C] = {SLOTS * N * 2, 0},
                                           [WEIGHTS] = {SLOTS * 4, 0},
                                           [ORDER] = {BLOCKS * ROWS * 4, 0},
                                           [EXPERT] = {BLOCKS * 4, 0},
                                           [PADDED] = {4, 0},
                                           {0, N},
                                           {0, K},
                                           {0, SLOTS},
                                           {0, N * K}}};
}

static struct bench_result check_experts(const char *path, bench_fill_fn damage)
{
    const struct bench_launch launch = experts_launch();
    return bench_check(&launch, path, fill_experts, damage);
}

static void check_quiet(const char *path)
{
    struct bench_result r = check_experts(path, NULL);
    assert_string_equal(r.refused, "");
    assert_int_equal(r.verdict.checked, SLOTS * N);
    assert_int_equal(r.verdict.refused, 0);
    assert_int_equal(r.verdict.violations, 0);
}

static void rows_that_are_right_are_quiet(void **state)
{
    (void)state;
    check_quiet(PTX("experts_bf16"));
    small = true;
    check_quiet(PTX("experts_i8"));
    small = false;
    half = true;
    check_quiet(PTX("experts_fp16"));
    half = false;
}

static void exchange_rows(unsigned param, void *array, uint64_t bytes)
{
    uint16_t row[N], *c = array;
    (void)bytes;
    if (param != C)
        return;
    memcpy(row, c + 3 * N, sizeof row);
    memcpy(c + 3 * N, c + 8 * N, sizeof row);
    memcpy(c + 8 * N, row, sizeof row);
}

/* The weight of the next slot. */
static void weigh_wrongly(unsigned param, void *array, uint64_t bytes)
{
    uint16_t *c = array;
    (void)bytes;
    for (unsigned i = 0; param == C && i < N; i++)
        c[5 * N + i] = to_narrow(from_narrow(c[5 * N + i]) / weights[5] * weights[6]);
}

/* The last turn of K is missing from one slot's sums. */
static void drop_the_end(unsigned param, void *array, uint64_t bytes)
{
    const unsigned slot = 9;
    uint16_t *c = array;
    (void)bytes;
    for (unsigned i = 0; param == C && i < N; i++) {
        const uint16_t *row = left + slot / 2 * K, *of = right + (expert_of(slot) * N + i) * K;
        float rest = 0;
        for (unsigned k = K - 16; k < K; k++)
            rest += from_narrow(row[k]) * from_narrow(of[k]);
        c[slot * N + i] = to_narrow(from_narrow(c[slot * N + i]) - rest * weights[slot]);
    }
}

/* The other expert's, of one slot. */
static void take_another_expert(unsigned param, void *array, uint64_t bytes)
{
    const unsigned slot = 17;
    uint16_t *c = array;
    (void)bytes;
    for (unsigned i = 0; param == C && i < N; i++) {
        const unsigned other = (expert_of(slot) + 1) % EXPERTS;
        float all = 0;
        for (unsigned k = 0; k < K; k++)
            all +=
                from_narrow(left[slot / 2 * K + k]) * from_narrow(right[(other * N + i) * K + k]);
        c[slot * N + i] = to_narrow(all * weights[slot]);
    }
}

static void leave_a_row_out(unsigned param, void *array, uint64_t bytes)
{
    (void)bytes;
    if (param == C)
        memset((uint16_t *)array + 30 * N, 0, N * 2);
}

/* Nearly all of the elements of the damaged rows, and no others. */
static void check_found(const char *path, bench_fill_fn damage, unsigned rows)
{
    struct bench_result r = check_experts(path, damage);
    assert_int_equal(r.verdict.checked, SLOTS * N);
    assert_true(r.verdict.violations <= rows * N);
    assert_true(r.verdict.violations > rows * N * 8 / 10);
}

static void rows_that_are_wrong_are_found(void **state)
{
    static const struct {
        bench_fill_fn damage;
        unsigned rows;
    } row[] = {{exchange_rows, 2},
               {weigh_wrongly, 1},
               {drop_the_end, 1},
               {take_another_expert, 1},
               {leave_a_row_out, 1}};
    (void)state;
    for (size_t i = 0; i < sizeof row / sizeof *row; i++)
        check_found(PTX("experts_bf16"), row[i].damage, row[i].rows);
    small = true;
    check_found(PTX("experts_i8"), exchange_rows, 2);
    small = false;
}

static void narrow_sums_are_found(void **state)
{
    (void)state;
    struct bench_result r = check_experts(PTX("experts_bf16_narrow"), NULL);
    assert_string_equal(r.refused, "");
    assert_true(r.verdict.violations > SLOTS * N / 10);
}

static const char *window_let(const struct lift_windows *windows, const char *name)
{
    for (unsigned i = 0; i < windows->lets; i++) {
        if (strcmp(windows->let[i].name, name) == 0)
            return windows->let[i].text;
    }
    return "";
}

/* A window is one block, of which one element names the expert, whose weights alone are copied. */
static void check_window(const char *path, const char *weight_rows)
{
    struct error err = {{0}};
    struct lift *lift;
    size_t bytes;
    char *text = read_file(path, &bytes);
    assert_int_equal(lift_make(&lift, text, bytes, "experts", 1 << 20, &err), LIFT_OK);
    const struct lift_windows *windows = lift_windows(lift);
    assert_non_null(windows);
    assert_string_equal(window_let(windows, "windows"), "grid.x");
    assert_string_equal(window_let(windows, "first5"),
                        "(((first_block / max(1, ((p7 + 31) / 32))) * 4)) / 4 * 4 / 4");
    assert_non_null(strstr(lift_signature(lift), weight_rows));
    assert_non_null(strstr(lift_signature(lift), "bf16 p2?[(((p7 * p9 * 2 - 2)"));
    assert_non_null(strstr(lift_signature(lift), " - first5 from first5], "));
    assert_non_null(strstr(lift_formals(lift), "in p1?[r5][n1]"));
    assert_non_null(strstr(lift_formals(lift), ", touch r5 by p5"));
    lift_free(lift);
    free(text);
}

static void one_expert_is_copied(void **state)
{
    (void)state;
    check_window(PTX("experts_bf16"), "u8 p1?[@p5: (p10 * 2) / 1][(min(");
    check_window(PTX("experts_i8"), "u8 p1?[@p5: (p10) / 1][(min(");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_that_are_right_are_quiet),
        cmocka_unit_test(rows_that_are_wrong_are_found),
        cmocka_unit_test(narrow_sums_are_found),
        cmocka_unit_test(one_expert_is_copied),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
