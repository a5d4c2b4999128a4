/* formals_cursor.h - where the parser of formals.h stands in its text: letters, words and numbers;
 * for formals.c. */
#ifndef LANG_FORMALS_CURSOR_H
#define LANG_FORMALS_CURSOR_H

#include "lang/formals.h"

struct cursor {
    const char *text;
    const char *at;
    struct error *err;
};

/* "formals: column C: WHAT in TEXT", C being that of `at`. */
enum status cursor_fail(const struct cursor *in, const char *at, const char *what);

bool cursor_letter(char c);
bool cursor_digit(char c);

/* These skip spaces first. The next two take what they name, if it comes next. */
void cursor_space(struct cursor *in);
bool cursor_char(struct cursor *in, char c);
bool cursor_keyword(struct cursor *in, const char *word);
/* An identifier into `word`; an empty one where none comes next. */
enum status cursor_word(struct cursor *in, char word[FORMAL_NAME]);
enum status cursor_number(struct cursor *in, double *value);

#endif
