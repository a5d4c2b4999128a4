/* formals_cursor.c - a declaration's letters, words and numbers. Numbers are read here and not by
 * strtod, which would read "0.01" as 0 in a program whose locale writes a decimal comma. */
#include "lang/formals_cursor.h"

#include <math.h>
#include <string.h>

enum status cursor_fail(const struct cursor *in, const char *at, const char *what)
{
    return error_set(in->err, STATUS_INVALID, "formals: column %d: %s in \"%s\"",
                     (int)(at - in->text) + 1, what, in->text);
}

void cursor_space(struct cursor *in)
{
    while (*in->at == ' ' || *in->at == '\t' || *in->at == '\n' || *in->at == '\r')
        in->at++;
}

bool cursor_char(struct cursor *in, char c)
{
    cursor_space(in);
    if (*in->at != c)
        return false;
    in->at++;
    return true;
}

bool cursor_digit(char c)
{
    return c >= '0' && c <= '9';
}

bool cursor_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

enum status cursor_word(struct cursor *in, char word[FORMAL_NAME])
{
    cursor_space(in);
    const char *start = in->at;
    if (cursor_letter(*in->at))
        while (cursor_letter(*in->at) || cursor_digit(*in->at))
            in->at++;
    size_t length = (size_t)(in->at - start);
    if (length >= FORMAL_NAME)
        return cursor_fail(in, start, "name longer than 31 characters");
    memcpy(word, start, length);
    word[length] = '\0';
    return STATUS_OK;
}

bool cursor_keyword(struct cursor *in, const char *word)
{
    cursor_space(in);
    size_t length = strlen(word);
    if (strncmp(in->at, word, length) != 0 || cursor_letter(in->at[length]) ||
        cursor_digit(in->at[length]))
        return false;
    in->at += length;
    return true;
}

static double power_of_ten(int exponent)
{
    double power = 1;
    for (int i = exponent < 0 ? -exponent : exponent; i > 0; i--)
        power *= 10;
    return power;
}

/* Digits with an optional point; *scale is the power of ten that is still missing. */
static bool take_digits(struct cursor *in, double *value, int *scale)
{
    bool any = false, point = false;
    double mantissa = 0;
    int missing = 0;
    for (;; in->at++) {
        if (*in->at == '.' && !point) {
            point = true;
            continue;
        }
        if (!cursor_digit(*in->at))
            break;
        any = true;
        if (mantissa < 0x1p53 / 10 - 1) {
            mantissa = mantissa * 10 + (*in->at - '0');
            missing -= point;
        } else {
            missing += !point;
        }
    }
    *value = mantissa;
    *scale = missing;
    return any;
}

/* The power of ten after an e. */
static bool take_exponent(struct cursor *in, int *exponent)
{
    bool negative = *in->at == '-';
    if (*in->at == '-' || *in->at == '+')
        in->at++;
    if (!cursor_digit(*in->at))
        return false;
    int value = 0;
    for (; cursor_digit(*in->at); in->at++)
        value = value < 1000 ? value * 10 + (*in->at - '0') : value;
    *exponent = negative ? -value : value;
    return true;
}

enum status cursor_number(struct cursor *in, double *value)
{
    cursor_space(in);
    const char *start = in->at;
    bool negative = cursor_char(in, '-');
    int scale = 0, exponent = 0;
    if (strncmp(in->at, "inf", 3) == 0 && !cursor_letter(in->at[3]) && !cursor_digit(in->at[3])) {
        in->at += 3;
        *value = INFINITY;
    } else {
        if (!take_digits(in, value, &scale))
            return cursor_fail(in, start, "expected a number");
        if (*in->at == 'e' || *in->at == 'E') {
            in->at++;
            if (!take_exponent(in, &exponent))
                return cursor_fail(in, in->at, "expected digits of an exponent");
        }
        scale += exponent;
        if (scale < -400 || scale > 400)
            return cursor_fail(in, start, "number out of range");
        *value = scale < 0 ? *value / power_of_ten(scale) : *value * power_of_ten(scale);
        if (isinf(*value))
            return cursor_fail(in, start, "number out of range");
    }
    if (cursor_letter(*in->at))
        return cursor_fail(in, in->at, "unexpected letter after a number");
    if (negative)
        *value = -*value;
    return STATUS_OK;
}
