/*
 * lane_fixture.h - one instruction of lane.h, upon values of the test's choice.
 *
 * An instruction is written as its words and the letters of lane_loop.h for its operands:
 * find_lane("add.rz.f32", "www").
 */
#ifndef TEST_LANE_FIXTURE_H
#define TEST_LANE_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "exec/lane/lane.h"
#include "exec/lane/lane_loop.h"

struct lane_op {
    const char *words, *operands;
    lane_fn *fn;
};

static inline unsigned letter_width(char letter)
{
    return letter == 'h' ? 16 : letter == 'w' ? 32 : letter == 'd' ? 64 : letter == 'q' ? 128 : 0;
}

static inline enum ptx_type type_of(const char *word)
{
    for (unsigned t = PTX_NO_TYPE + 1; t <= PTX_S16X2; t++)
        if (strcmp(ptx_type_name((enum ptx_type)t), word) == 0)
            return (enum ptx_type)t;
    return PTX_NO_TYPE;
}

/* Splits `words` into an instruction; `copy` holds its pieces. */
static inline void split_words(const char *words, const char *operands, char copy[128],
                               struct ptx_instruction *ins)
{
    memset(ins, 0, sizeof *ins);
    snprintf(copy, 128, "%s", words);
    ins->text = words;
    ins->opcode = strtok(copy, ".");
    for (const char *word; (word = strtok(NULL, "."));) {
        enum ptx_type type = type_of(word);
        if (type)
            ins->types[ins->type_count++] = type;
        else
            ins->modifiers[ins->modifier_count++] = word;
    }
    ins->operand_count = (unsigned)strlen(operands);
}

static inline lane_fn *try_lane(const char *words, const char *operands, struct error *err)
{
    char copy[128];
    unsigned widths[8];
    struct ptx_instruction ins;
    split_words(words, operands, copy, &ins);
    for (unsigned i = 0; operands[i]; i++)
        widths[i] = letter_width(operands[i]);
    return lane_find(&ins, widths, err);
}

static inline struct lane_op find_lane(const char *words, const char *operands)
{
    struct error err = {0};
    struct lane_op op = {words, operands, try_lane(words, operands, &err)};
    if (!op.fn)
        fail_msg("%s", err.text);
    return op;
}

/* 32 values for each source; a predicate's is the lowest bit. The result's 32 values (p + 2q for a
 * predicate) come back in `out`. */
struct lane_values {
    uint64_t in[LANE_SOURCES][LANES];
    uint64_t out[LANES];
    uint32_t carry;
};

static inline void run_fn(lane_fn *fn, const char *operands, struct lane_values *values)
{
    _Alignas(64) static uint8_t sources[LANE_SOURCES][LANES * 16], result[LANES * 16];
    uint32_t q = 0;
    struct lane_args args = {.d = result, .carry = &values->carry};
    args.q = operands[0] == 'p' || strlen(operands) == LANE_SOURCES + 1 ? &q : NULL;
    memset(result, 0xcc, sizeof result);
    for (unsigned s = 0; operands[s + 1]; s++) {
        size_t bytes = letter_width(operands[s + 1]) / 8;
        uint32_t mask = 0;
        for (unsigned i = 0; i < LANES; i++) {
            mask |= (uint32_t)(values->in[s][i] & 1) << i;
            memcpy(sources[s] + i * bytes, &values->in[s][i], bytes < 8 ? bytes : 8);
        }
        if (!bytes)
            memcpy(sources[s], &mask, sizeof mask);
        args.s[s] = sources[s];
    }
    fn(&args);
    size_t bytes = letter_width(operands[0]) / 8;
    for (unsigned i = 0; i < LANES; i++) {
        uint32_t p;
        memcpy(&p, result, sizeof p);
        values->out[i] = 0;
        if (bytes)
            memcpy(&values->out[i], result + i * bytes, bytes < 8 ? bytes : 8);
        else
            values->out[i] = (p >> i & 1) + 2 * (q >> i & 1);
    }
}

/* One lane; the sources are a, b, c and e. */
static inline uint64_t one(const struct lane_op *op, uint64_t a, uint64_t b, uint64_t c, uint64_t e)
{
    struct lane_values values = {0};
    for (unsigned i = 0; i < LANES; i++) {
        values.in[0][i] = a;
        values.in[1][i] = b;
        values.in[2][i] = c;
        values.in[3][i] = e;
    }
    run_fn(op->fn, op->operands, &values);
    for (unsigned i = 1; i < LANES; i++)
        assert_int_equal(values.out[i], values.out[0]);
    return values.out[0];
}

/* splitmix64. */
static inline uint64_t next_random(uint64_t *state)
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
}

#define COUNT_OF(list) (sizeof(list) / sizeof(list)[0])

static inline uint64_t bits_of_double(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}
static inline double double_of_bits(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}
static inline uint32_t bits_of_float(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}
static inline float float_of_bits(uint64_t bits)
{
    uint32_t low = (uint32_t)bits;
    float value;
    memcpy(&value, &low, sizeof value);
    return value;
}

/* Runs `op` over tuples until `next` has no more, 32 at a time, and compares each
 * with the expected one. */
struct lane_check {
    struct lane_op op;
    struct lane_values values;
    unsigned filled;
    uint64_t (*want)(const void *how, const uint64_t in[LANE_SOURCES]);
    const void *how;
};

static inline void check_filled(struct lane_check *check)
{
    unsigned sources = (unsigned)strlen(check->op.operands) - 1;
    run_fn(check->op.fn, check->op.operands, &check->values);
    for (unsigned i = 0; i < check->filled; i++) {
        uint64_t in[LANE_SOURCES] = {0};
        for (unsigned s = 0; s < sources; s++)
            in[s] = check->values.in[s][i];
        uint64_t want = check->want(check->how, in);
        if (check->values.out[i] != want)
            fail_msg("%s of %llx, %llx, %llx, %llx is %llx, expected %llx", check->op.words,
                     (unsigned long long)in[0], (unsigned long long)in[1],
                     (unsigned long long)in[2], (unsigned long long)in[3],
                     (unsigned long long)check->values.out[i], (unsigned long long)want);
    }
    check->filled = 0;
}

static inline void check_tuple(struct lane_check *check, uint64_t a, uint64_t b, uint64_t c,
                               uint64_t e)
{
    uint64_t in[4] = {a, b, c, e};
    for (unsigned s = 0; s < 4; s++)
        check->values.in[s][check->filled] = in[s];
    if (++check->filled == LANES)
        check_filled(check);
}

/* All tuples of `edges` (of `count` values) for as many sources as there are, and `random` ones. */
static inline void check_edges(struct lane_check *check, const uint64_t *edges, unsigned count,
                               unsigned random)
{
    unsigned sources = (unsigned)strlen(check->op.operands) - 1, total = 1;
    for (unsigned s = 0; s < sources; s++)
        total *= count;
    for (unsigned i = 0; i < total; i++)
        check_tuple(check, edges[i % count], edges[i / count % count],
                    edges[i / count / count % count], edges[i / count / count / count % count]);
    uint64_t state = 1;
    for (unsigned i = 0; i < random; i++) {
        uint64_t a = next_random(&state), b = next_random(&state), c = next_random(&state);
        check_tuple(check, a, i % 3 ? b : a ^ (b & 0xfff), c, next_random(&state));
    }
    if (check->filled)
        check_filled(check);
}

#endif
