/*
 * printable.h - text of unknown origin (kernel names, labels, paths), made fit to be printed.
 *
 * The one filter for everything that reaches a terminal or a log: what comes out is one line of
 * valid UTF-8 without control characters and without characters that steer how text is shown
 * (utf8.h). Tabs and line ends become a blank; each other such character, and each byte that is not
 * UTF-8, becomes '?'. Text is never longer than before. Pure.
 */
#ifndef TEXT_PRINTABLE_H
#define TEXT_PRINTABLE_H

#include <stddef.h>

/* In place. */
void printable_text(char *text);

/* Into `out`, cut between two characters where it is too long; NULL is "". Returns `out`. */
char *printable_copy(char *out, size_t size, const char *text);

enum { PRINTABLE_SIZE = 1024 };

/* A copy that lives as long as the enclosing block, for the arguments of a printf. */
#define PRINTABLE(text) printable_copy((char[PRINTABLE_SIZE]){0}, PRINTABLE_SIZE, (text))

#endif
