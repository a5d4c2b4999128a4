/* constant.c - numbers, and what one can reckon with them. */
#include "ptx/text/constant.h"

#include <locale.h>
#include <stdlib.h>
#include <string.h>

enum { NESTED_MAX = 64 };

static int digit_of(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : 99;
}

/* 0f and 0d: the bits of the number, with a fixed count of digits. */
static enum status float_bits(struct cursor *c, unsigned digits, enum ptx_type type,
                              struct constant *value)
{
    uint64_t bits = 0;
    const char *at = c->at + 2;
    for (unsigned i = 0; i < digits; i++, at++) {
        if (digit_of(*at) > 15)
            return lex_fail(c, "%u hexadecimal digits after 0%c", digits, c->at[1]);
        bits = bits << 4 | (unsigned)digit_of(*at);
    }
    if (lex_is(*at, LEX_NAME))
        return lex_fail(c, "only %u hexadecimal digits after 0%c", digits, c->at[1]);
    c->at = at;
    *value = (struct constant){type, bits};
    return STATUS_OK;
}

/* The user's locale must not decide what '.' means. */
static enum status float_decimal(struct cursor *c, const char *end, struct constant *value)
{
    locale_t plain = newlocale(LC_ALL_MASK, "C", NULL);
    if (!plain)
        return lex_no_memory(c);
    double number = strtod_l(c->at, NULL, plain);
    freelocale(plain);
    value->type = PTX_F64;
    memcpy(&value->bits, &number, sizeof number);
    c->at = end;
    return STATUS_OK;
}

/* Where a decimal floating-point number ends, or NULL where it is a whole number. */
static const char *float_end(const char *at)
{
    bool is_float = false;
    while (lex_is(*at, LEX_DIGIT))
        at++;
    if (*at == '.') {
        is_float = true;
        for (at++; lex_is(*at, LEX_DIGIT); at++)
            continue;
    }
    if (*at == 'e' || *at == 'E') {
        const char *power = at + 1;
        if (*power == '+' || *power == '-')
            power++;
        if (!lex_is(*power, LEX_DIGIT))
            return is_float ? at : NULL;
        for (at = power; lex_is(*at, LEX_DIGIT); at++)
            continue;
        is_float = true;
    }
    return is_float ? at : NULL;
}

static enum status whole_number(struct cursor *c, struct constant *value)
{
    const char *at = c->at;
    unsigned base = 10;
    if (at[0] == '0' && (at[1] == 'x' || at[1] == 'X')) {
        base = 16;
        at += 2;
    } else if (at[0] == '0' && (at[1] == 'b' || at[1] == 'B')) {
        base = 2;
        at += 2;
    } else if (at[0] == '0') {
        base = 8;
    }
    uint64_t bits = 0;
    const char *first = at;
    for (; digit_of(*at) < (int)base; at++) {
        if (__builtin_mul_overflow(bits, base, &bits) ||
            __builtin_add_overflow(bits, (unsigned)digit_of(*at), &bits))
            return lex_fail(c, "a number of at most 64 bits");
    }
    bool is_unsigned = bits > INT64_MAX;
    const char *end = at;
    if (*end == 'U') {
        is_unsigned = true;
        end++;
    }
    if (at == first || lex_is(*end, LEX_NAME))
        return lex_fail(c, "a number");
    *value = (struct constant){is_unsigned ? PTX_U64 : PTX_S64, bits};
    c->at = end;
    return STATUS_OK;
}

enum status constant_number(struct cursor *c, struct constant *value)
{
    if (!lex_is(lex_peek(c), LEX_DIGIT))
        return lex_fail(c, "a number");
    if (c->at[0] == '0') {
        char kind = c->at[1];
        if (kind == 'f' || kind == 'F')
            return float_bits(c, 8, PTX_F32, value);
        if (kind == 'd' || kind == 'D')
            return float_bits(c, 16, PTX_F64, value);
    }
    const char *end = float_end(c->at);
    return end ? float_decimal(c, end, value) : whole_number(c, value);
}

enum status constant_count(struct cursor *c, uint64_t limit, const char *what, uint64_t *value)
{
    lex_peek(c);
    struct cursor before = *c;
    struct constant number = {0};
    enum status status =
        lex_is(*c->at, LEX_DIGIT) ? constant_number(c, &number) : lex_fail(c, "%s", what);
    if (status)
        return status;
    if (constant_is_float(&number) || number.bits > limit) {
        *c = before;
        return lex_fail(c, "%s of at most %llu", what, (unsigned long long)limit);
    }
    *value = number.bits;
    return STATUS_OK;
}

enum status constant_whole(struct cursor *c, const char *what, int64_t *value)
{
    lex_peek(c);
    struct cursor before = *c;
    struct constant number = {0};
    enum status status = constant_read(c, what, &number);
    if (status)
        return status;
    if (constant_is_float(&number)) {
        *c = before;
        return lex_fail(c, "%s without a fraction", what);
    }
    *value = (int64_t)number.bits;
    return STATUS_OK;
}

/* Expressions. */

struct reckoning {
    struct cursor *c;
    const char *what;
    unsigned nested;
};

enum operator_id {
    OR,
    AND,
    BIT_OR,
    BIT_XOR,
    BIT_AND,
    EQUAL,
    UNEQUAL,
    AT_MOST,
    AT_LEAST,
    LESS,
    MORE,
    LEFT,
    RIGHT,
    PLUS,
    MINUS,
    TIMES,
    OVER,
    REST,
};

/* Two-letter signs stand before the one-letter signs that begin them. */
static const struct sign {
    char text[3];
    uint8_t rank;
    uint8_t id;
} signs[] = {
    {"||", 1, OR},       {"&&", 2, AND},  {"==", 6, EQUAL}, {"!=", 6, UNEQUAL}, {"<=", 7, AT_MOST},
    {">=", 7, AT_LEAST}, {"<<", 8, LEFT}, {">>", 8, RIGHT}, {"|", 3, BIT_OR},   {"^", 4, BIT_XOR},
    {"&", 5, BIT_AND},   {"<", 7, LESS},  {">", 7, MORE},   {"+", 9, PLUS},     {"-", 9, MINUS},
    {"*", 10, TIMES},    {"/", 10, OVER}, {"%", 10, REST},
};

static const struct sign *next_sign(struct cursor *c)
{
    lex_peek(c);
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++) {
        if (strncmp(c->at, signs[i].text, strlen(signs[i].text)) == 0)
            return &signs[i];
    }
    return NULL;
}

static enum status divide(struct reckoning *r, uint8_t id, struct constant *a,
                          const struct constant *b)
{
    if (b->bits == 0)
        return lex_refuse(r->c, r->c->line, "found a division by 0, expected another divisor");
    if (a->type == PTX_U64) {
        a->bits = id == OVER ? a->bits / b->bits : a->bits % b->bits;
    } else if ((int64_t)b->bits == -1) { /* the smallest number has no opposite */
        a->bits = id == OVER ? 0 - a->bits : 0;
    } else {
        int64_t x = (int64_t)a->bits, y = (int64_t)b->bits;
        a->bits = (uint64_t)(id == OVER ? x / y : x % y);
    }
    return STATUS_OK;
}

static uint64_t shift(uint8_t id, const struct constant *a, uint64_t count)
{
    if (count > 63)
        return id == RIGHT && a->type == PTX_S64 && (int64_t)a->bits < 0 ? UINT64_MAX : 0;
    if (id == LEFT)
        return a->bits << count;
    return a->type == PTX_S64 ? (uint64_t)((int64_t)a->bits >> count) : a->bits >> count;
}

static bool compare(uint8_t id, const struct constant *a, const struct constant *b,
                    bool is_unsigned)
{
    bool less = is_unsigned ? a->bits < b->bits : (int64_t)a->bits < (int64_t)b->bits;
    bool equal = a->bits == b->bits;
    switch (id) {
    case EQUAL:
        return equal;
    case UNEQUAL:
        return !equal;
    case LESS:
        return less;
    case AT_MOST:
        return less || equal;
    case MORE:
        return !less && !equal;
    default:
        return !less;
    }
}

/* a = a SIGN b */
static enum status apply(struct reckoning *r, uint8_t id, struct constant *a,
                         const struct constant *b)
{
    if (constant_is_float(a) || constant_is_float(b))
        return lex_refuse(r->c, r->c->line,
                          "found arithmetic on floating-point numbers, expected one number");
    bool is_unsigned = a->type == PTX_U64 || b->type == PTX_U64;
    if (id == LEFT || id == RIGHT) {
        a->bits = shift(id, a, b->bits);
        return STATUS_OK;
    }
    if (id >= EQUAL && id <= MORE) {
        *a = (struct constant){PTX_S64, compare(id, a, b, is_unsigned)};
        return STATUS_OK;
    }
    a->type = is_unsigned ? PTX_U64 : PTX_S64;
    switch (id) {
    case OR:
        *a = (struct constant){PTX_S64, a->bits || b->bits};
        break;
    case AND:
        *a = (struct constant){PTX_S64, a->bits && b->bits};
        break;
    case BIT_OR:
        a->bits |= b->bits;
        break;
    case BIT_XOR:
        a->bits ^= b->bits;
        break;
    case BIT_AND:
        a->bits &= b->bits;
        break;
    case PLUS:
        a->bits += b->bits;
        break;
    case MINUS:
        a->bits -= b->bits;
        break;
    case TIMES:
        a->bits *= b->bits;
        break;
    default:
        return divide(r, id, a, b);
    }
    return STATUS_OK;
}

static enum status expression(struct reckoning *r, struct constant *value);

/* (x), (.s64)x, (.u64)x; the '(' is passed. */
static enum status parenthesis(struct reckoning *r, struct constant *value);

static enum status unary(struct reckoning *r, struct constant *value)
{
    struct cursor *c = r->c;
    char sign = lex_peek(c);
    if (lex_is(sign, LEX_DIGIT))
        return constant_number(c, value);
    if (!sign || !strchr("+-!~(", sign))
        return lex_fail(c, "%s", r->what);
    if (r->nested == NESTED_MAX)
        return lex_fail(c, "an expression with at most %d signs and parentheses inside each other",
                        NESTED_MAX);
    r->nested++;
    c->at++;
    enum status status = sign == '(' ? parenthesis(r, value) : unary(r, value);
    r->nested--;
    if (status || sign == '(' || sign == '+')
        return status;
    if (sign == '-' && constant_is_float(value)) {
        value->bits ^= value->type == PTX_F32 ? UINT64_C(1) << 31 : UINT64_C(1) << 63;
        return STATUS_OK;
    }
    if (constant_is_float(value))
        return lex_refuse(c, c->line, "found '%c' before a floating-point number, expected %s",
                          sign, r->what);
    if (sign == '!')
        *value = (struct constant){PTX_S64, !value->bits};
    else
        value->bits = sign == '-' ? 0 - value->bits : ~value->bits;
    return STATUS_OK;
}

static enum status parenthesis(struct reckoning *r, struct constant *value)
{
    struct cursor *c = r->c;
    if (lex_peek(c) == '.' && !lex_is(c->at[1], LEX_DIGIT)) {
        struct slice cast = lex_directive(c);
        if (!slice_is(cast, "s64") && !slice_is(cast, "u64"))
            return lex_fail(c, "'s64' or 'u64' after '(.'");
        enum status status = lex_expect(c, ')', "')' after a cast");
        if (!status)
            status = unary(r, value);
        if (!status && !constant_is_float(value))
            value->type = *cast.begin == 's' ? PTX_S64 : PTX_U64;
        return status;
    }
    enum status status = expression(r, value);
    return status ? status : lex_expect(c, ')', "an operator or ')' in an expression");
}

/* Operators of at least `rank`: the usual climb, which recurses once a rank. */
static enum status binary(struct reckoning *r, unsigned rank, struct constant *value)
{
    enum status status = unary(r, value);
    while (!status) {
        const struct sign *sign = next_sign(r->c);
        if (!sign || sign->rank < rank)
            break;
        r->c->at += strlen(sign->text);
        struct constant right = {0};
        status = binary(r, sign->rank + 1u, &right);
        if (!status)
            status = apply(r, sign->id, value, &right);
    }
    return status;
}

static enum status expression(struct reckoning *r, struct constant *value)
{
    enum status status = binary(r, 1, value);
    if (status || !lex_accept(r->c, '?'))
        return status;
    if (r->nested == NESTED_MAX)
        return lex_fail(r->c, "an expression with at most %d conditions inside each other",
                        NESTED_MAX);
    r->nested++;
    struct constant yes = {0}, no = {0};
    status = expression(r, &yes);
    if (!status)
        status = lex_expect(r->c, ':', "':' after '?'");
    if (!status)
        status = expression(r, &no);
    r->nested--;
    if (!status)
        *value = value->bits ? yes : no;
    return status;
}

enum status constant_read(struct cursor *c, const char *what, struct constant *value)
{
    if (lex_is(lex_peek(c), LEX_DIGIT)) { /* nearly all are one number */
        struct cursor before = *c;
        enum status status = constant_number(c, value);
        if (status || (*c->at && strchr(",;]})", *c->at)))
            return status;
        *c = before;
    }
    struct reckoning r = {.c = c, .what = what};
    return expression(&r, value);
}
