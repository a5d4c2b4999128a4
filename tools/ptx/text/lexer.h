/*
 * lexer.h - the characters of a PTX text as words, numbers, strings and punctuation.
 *
 * A cursor walks a text that ends with NUL, one token at a time and only forward. Every function
 * skips white space and comments first. Errors are "NAME:LINE: found X, expected Y".
 */
#ifndef PTX_LEXER_H
#define PTX_LEXER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/error.h"

struct cursor {
    const char *at;
    unsigned line;
    const char *name; /* of the module, for messages */
    struct error *err;
};

/* Part of the text; length 0 where there was none. */
struct slice {
    const char *begin;
    size_t length;
};

enum { LEX_SPACE = 1, LEX_NAME = 2, LEX_DIGIT = 4, LEX_FIRST = 8 };
extern const uint8_t lex_class[256];

static inline bool lex_is(char c, unsigned classes)
{
    return lex_class[(unsigned char)c] & classes;
}

void lex_skip(struct cursor *c);

/* The next character that means something; NUL at the end. */
static inline char lex_peek(struct cursor *c)
{
    while (*c->at == ' ' || *c->at == '\t')
        c->at++;
    if (lex_is(*c->at, LEX_SPACE) || *c->at == '/')
        lex_skip(c);
    return *c->at;
}

static inline bool lex_accept(struct cursor *c, char wanted)
{
    if (lex_peek(c) != wanted)
        return false;
    c->at++;
    return true;
}

/* Fails as lex_fail() does, with `expected` for the sentence ("',' or ')'"). */
enum status lex_expect(struct cursor *c, char wanted, const char *expected);

/* A name: letters, digits, _ and $, with a % before where there is one. */
struct slice lex_name(struct cursor *c);
/* What follows a '.': the name of a directive or a type. Takes nothing where there is none. */
struct slice lex_directive(struct cursor *c);
/* An instruction's word with its dots, "ld.shared::cta.v2.u32". */
struct slice lex_word(struct cursor *c);
/* "..." without its quotes; no escapes, as in PTX. */
enum status lex_string(struct cursor *c, struct slice *string);
/* Goes past the '}' that closes a '{' passed before; strings and comments may hold braces. */
enum status lex_skip_braces(struct cursor *c);

bool slice_is(struct slice slice, const char *text);

/* "NAME:LINE: found <the next token>, expected ..." */
enum status lex_fail(struct cursor *c, const char *expected, ...)
    __attribute__((format(printf, 2, 3)));
/* "NAME:LINE: ..." for what is known before the cursor; `line` as noted there. */
enum status lex_refuse(struct cursor *c, unsigned line, const char *sentence, ...)
    __attribute__((format(printf, 3, 4)));
enum status lex_no_memory(struct cursor *c);

/* How messages show part of a text: cut, and without control characters. */
enum { LEX_SHOWN = 64 };
const char *lex_show(struct slice slice, char text[LEX_SHOWN]);

#endif
