/* lexer.c - words, strings, counts, comments and messages. */
#include "ptx/text/lexer.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* clang-format off */
const uint8_t lex_class[256] = {
    [' '] = LEX_SPACE, ['\t'] = LEX_SPACE, ['\n'] = LEX_SPACE,
    ['\r'] = LEX_SPACE, ['\v'] = LEX_SPACE, ['\f'] = LEX_SPACE,
    ['a' ... 'z'] = LEX_NAME | LEX_FIRST,
    ['A' ... 'Z'] = LEX_NAME | LEX_FIRST,
    ['_'] = LEX_NAME | LEX_FIRST, ['$'] = LEX_NAME | LEX_FIRST,
    ['%'] = LEX_FIRST,
    ['0' ... '9'] = LEX_NAME | LEX_DIGIT,
};
/* clang-format on */

static void skip_line(struct cursor *c)
{
    while (*c->at && *c->at != '\n')
        c->at++;
}

/* A comment that nothing closes goes on to the end of the text. */
static void skip_comment(struct cursor *c)
{
    for (c->at += 2; *c->at; c->at++) {
        if (c->at[0] == '*' && c->at[1] == '/') {
            c->at += 2;
            return;
        }
        c->line += *c->at == '\n';
    }
}

void lex_skip(struct cursor *c)
{
    for (;;) {
        if (lex_is(*c->at, LEX_SPACE)) {
            c->line += *c->at == '\n';
            c->at++;
        } else if (c->at[0] == '/' && c->at[1] == '/') {
            skip_line(c);
        } else if (c->at[0] == '/' && c->at[1] == '*') {
            skip_comment(c);
        } else {
            return;
        }
    }
}

struct slice lex_name(struct cursor *c)
{
    struct slice name = {c->at, 0};
    if (!lex_is(lex_peek(c), LEX_FIRST))
        return name;
    const char *end = c->at + 1;
    while (lex_is(*end, LEX_NAME))
        end++;
    if (*c->at == '%' && end == c->at + 1)
        return name; /* the operator */
    name = (struct slice){c->at, (size_t)(end - c->at)};
    c->at = end;
    return name;
}

struct slice lex_directive(struct cursor *c)
{
    struct slice name = {c->at, 0};
    if (lex_peek(c) != '.' || !lex_is(c->at[1], LEX_NAME))
        return name;
    const char *end = ++c->at;
    while (lex_is(*end, LEX_NAME))
        end++;
    name = (struct slice){c->at, (size_t)(end - c->at)};
    c->at = end;
    return name;
}

struct slice lex_word(struct cursor *c)
{
    struct slice word = {c->at, 0};
    char first = lex_peek(c);
    if (!lex_is(first, LEX_FIRST) || first == '%')
        return word;
    const char *end = c->at;
    for (;;) {
        if (lex_is(*end, LEX_NAME) || *end == '.')
            end++;
        else if (end[0] == ':' && end[1] == ':')
            end += 2;
        else
            break;
    }
    word = (struct slice){c->at, (size_t)(end - c->at)};
    c->at = end;
    return word;
}

enum status lex_expect(struct cursor *c, char wanted, const char *expected)
{
    if (lex_accept(c, wanted))
        return STATUS_OK;
    return lex_fail(c, "%s", expected);
}

enum status lex_string(struct cursor *c, struct slice *string)
{
    if (lex_peek(c) != '"')
        return lex_fail(c, "a string in quotes");
    const char *end = c->at + 1;
    while (*end && *end != '"' && *end != '\n')
        end++;
    if (*end != '"')
        return lex_refuse(c, c->line, "found a string without an end, expected '\"' on its line");
    *string = (struct slice){c->at + 1, (size_t)(end - c->at - 1)};
    c->at = end + 1;
    return STATUS_OK;
}

/* The lines of a body are counted apart from the search for its end: both loops stay short. */
enum status lex_skip_braces(struct cursor *c)
{
    unsigned opened_at = c->line;
    size_t depth = 1;
    while (depth) {
        c->at += strcspn(c->at, "{}\"/\n");
        switch (*c->at) {
        case '{':
            depth++;
            break;
        case '}':
            depth--;
            break;
        case '\n':
            c->line++;
            break;
        case '"': {
            struct slice string;
            enum status status = lex_string(c, &string);
            if (status)
                return status;
            continue;
        }
        case '/':
            if (c->at[1] == '/' || c->at[1] == '*') {
                lex_skip(c);
                continue;
            }
            break;
        default:
            return lex_refuse(c, c->line,
                              "found the end of the text, expected the '}' of the '{' in line %u",
                              opened_at);
        }
        c->at++;
    }
    return STATUS_OK;
}

bool slice_is(struct slice slice, const char *text)
{
    return strncmp(slice.begin, text, slice.length) == 0 && text[slice.length] == '\0';
}

const char *lex_show(struct slice slice, char text[LEX_SHOWN])
{
    size_t length = slice.length < LEX_SHOWN ? slice.length : LEX_SHOWN - 1;
    for (size_t i = 0; i < length; i++)
        text[i] = slice.begin[i] >= ' ' && slice.begin[i] <= '~' ? slice.begin[i] : '?';
    text[length] = '\0';
    if (length < slice.length)
        memcpy(text + length - 3, "...", 3);
    return text;
}

/* The token at the cursor, as people see it. */
static struct slice next_token(struct cursor *c)
{
    lex_peek(c);
    const char *end = c->at;
    while (lex_is(*end, LEX_NAME | LEX_FIRST) || *end == '.')
        end++;
    if (end == c->at && *end)
        end++;
    return (struct slice){c->at, (size_t)(end - c->at)};
}

static enum status set_message(struct cursor *c, unsigned line, const char *found,
                               const char *format, va_list args)
{
    char sentence[400];
    vsnprintf(sentence, sizeof sentence, format, args);
    return error_set(c->err, STATUS_INVALID, "%.120s:%u: %s%s", c->name, line, found, sentence);
}

enum status lex_fail(struct cursor *c, const char *expected, ...)
{
    char shown[LEX_SHOWN], found[LEX_SHOWN + 32];
    struct slice token = next_token(c);
    if (token.length)
        snprintf(found, sizeof found, "found '%s', expected ", lex_show(token, shown));
    else
        snprintf(found, sizeof found, "found the end of the text, expected ");
    va_list args;
    va_start(args, expected);
    enum status status = set_message(c, c->line, found, expected, args);
    va_end(args);
    return status;
}

enum status lex_refuse(struct cursor *c, unsigned line, const char *sentence, ...)
{
    va_list args;
    va_start(args, sentence);
    enum status status = set_message(c, line, "", sentence, args);
    va_end(args);
    return status;
}

enum status lex_no_memory(struct cursor *c)
{
    return error_set(c->err, STATUS_NO_MEMORY, "%.120s:%u: no memory left to read the module",
                     c->name, c->line);
}
