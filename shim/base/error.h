/*
 * error.h - one full sentence for the user beside a status. It is printable (printable.h).
 *
 * Life: the caller owns a struct error whose sentence is empty and passes it down; the function
 * that detects a failure writes the sentence once (the first one stays) and returns its status. A
 * NULL error is allowed.
 */
#ifndef BASE_ERROR_H
#define BASE_ERROR_H

#include "base/status.h"

struct error {
    char text[640];
};

/* Writes the sentence unless one is there already, and returns `status`, so that
 * `return error_set(err, STATUS_INVALID, "...")` reads as one step. Any thread. */
enum status error_set(struct error *err, enum status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Puts "PREFIX: " before the sentence: a caller adds where, the callee has written what. */
void error_prefix(struct error *err, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
