/*
 * signature_words.c - the letters of the signature language: words, numbers, and where it went
 * wrong.
 */
#include "lang/signature_parser.h"

#include <ctype.h>
#include <string.h>
#include "text/number.h"

void parser_space(struct parser *p)
{
    while (isspace((unsigned char)*p->at))
        p->at++;
}

bool parser_letter(char c)
{
    return isalpha((unsigned char)c) || c == '_';
}

size_t parser_word_length(const char *at, bool dots)
{
    size_t length = 0;
    if (!parser_letter(at[0]))
        return 0;
    for (;;) {
        char c = at[length];
        if (parser_letter(c) || isdigit((unsigned char)c))
            length++;
        else if (c == ':' && at[length + 1] == ':' && parser_letter(at[length + 2]))
            length += 2;
        else if (dots && c == '.' && parser_letter(at[length + 1]))
            length++;
        else
            return length;
    }
}

enum status parser_fail(struct parser *p, const char *sentence)
{
    parser_space(p);
    size_t length = parser_word_length(p->at, true);
    if (length == 0 && *p->at)
        length = 1;
    if (length == 0)
        return error_set(p->err, STATUS_INVALID, "signature: at the end: %s", sentence);
    return error_set(p->err, STATUS_INVALID, "signature: at '%.*s': %s",
                     length > 40 ? 40 : (int)length, p->at, sentence);
}

enum status parser_no_memory(struct parser *p)
{
    return error_set(p->err, STATUS_NO_MEMORY, "no memory");
}

bool parser_char(struct parser *p, char c)
{
    parser_space(p);
    if (*p->at != c)
        return false;
    p->at++;
    return true;
}

bool parser_next_is(struct parser *p, const char *word)
{
    parser_space(p);
    size_t length = parser_word_length(p->at, false);
    return length == strlen(word) && memcmp(p->at, word, length) == 0;
}

bool parser_word(struct parser *p, const char *word)
{
    if (!parser_next_is(p, word))
        return false;
    p->at += strlen(word);
    return true;
}

bool parser_copy_word(struct parser *p, bool dots, char word[WORD])
{
    parser_space(p);
    size_t length = parser_word_length(p->at, dots);
    if (length == 0 || length >= WORD)
        return false;
    memcpy(word, p->at, length);
    word[length] = '\0';
    p->at += length;
    return true;
}

enum status parser_number(struct parser *p, const char *what, uint32_t *out)
{
    parser_space(p);
    char digits[16];
    size_t length = 0;
    while (isalnum((unsigned char)p->at[length]) && length < sizeof digits - 1)
        length++;
    memcpy(digits, p->at, length);
    digits[length] = '\0';
    uint64_t value;
    if (!number_unsigned(digits, &value) || value > (1u << 20))
        return parser_fail(p, what);
    p->at += length;
    *out = (uint32_t)value;
    return STATUS_OK;
}

const char *parser_trimmed(struct parser *p, const char *start, const char *end)
{
    while (start < end && isspace((unsigned char)*start))
        start++;
    while (end > start && isspace((unsigned char)end[-1]))
        end--;
    return arena_text(p->arena, start, (size_t)(end - start));
}

const char *parser_bracket(const char *at)
{
    for (int depth = 1; *at; at++) {
        depth += (*at == '[') - (*at == ']');
        if (depth == 0)
            return at;
    }
    return at;
}
