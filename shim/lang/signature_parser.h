/*
 * signature_parser.h - the parser of the signature language in the making, shared by
 * signature_words.c (letters), signature_dims.c (what stands in brackets) and signature_parse.c
 * (all else).
 */
#ifndef LANG_SIGNATURE_PARSER_H
#define LANG_SIGNATURE_PARSER_H

#include "lang/signature.h"

enum { WORD = 128, POINTER = 8 };

struct parser {
    const char *at;
    struct arena *arena;
    const struct captures *captures;
    struct error *err;
    struct signature *out;
};

/* "signature: at 'bf61': SENTENCE". */
enum status parser_fail(struct parser *p, const char *sentence);
enum status parser_no_memory(struct parser *p);

bool parser_letter(char c);

/* The length of the word at `at`: letters, digits, "::" and, inside names, dots. */
size_t parser_word_length(const char *at, bool dots);

/* These skip spaces first. The next three take what they name, if it comes next. */
void parser_space(struct parser *p);
bool parser_char(struct parser *p, char c);
bool parser_word(struct parser *p, const char *word);
bool parser_copy_word(struct parser *p, bool dots, char word[WORD]);
bool parser_next_is(struct parser *p, const char *word);
enum status parser_number(struct parser *p, const char *what, uint32_t *out);

/* A text without the spaces around it, the arena's; NULL: no memory. */
const char *parser_trimmed(struct parser *p, const char *start, const char *end);

/* Where the bracket behind `at` closes, or the end of the text. */
const char *parser_bracket(const char *at);

/* After '[': "extent]" or "extent:stride]" or "extent:stride bytes]". */
enum status parser_dim(struct parser *p, struct signature_item *item);

/* Where the dims of touched rows, and of all the rest, may stand. */
enum status parser_check_dims(const struct parser *p, const struct signature_item *item);

#endif
