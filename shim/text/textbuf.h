/*
 * textbuf.h - text that grows as it is appended to, or fills a buffer of the caller's.
 *
 * Invariants: data is NUL-terminated once anything was added; an append that does not fit (fixed
 * buffer, no memory) sets `failed` and changes nothing else, and so does every later one: callers
 * append without checks and test `failed` once at the end.
 */
#ifndef TEXT_TEXTBUF_H
#define TEXT_TEXTBUF_H

#include <stdbool.h>
#include <stddef.h>

struct textbuf {
    char *data;
    size_t length, capacity;
    bool fixed, failed;
};

void textbuf_init(struct textbuf *text); /* grows on the heap */
void textbuf_init_fixed(struct textbuf *text, char *buffer, size_t size);
void textbuf_release(struct textbuf *text); /* frees what grew; usable again after init */
void textbuf_clear(struct textbuf *text);   /* empty again, keeps its memory */

void textbuf_add(struct textbuf *text, const char *bytes, size_t count);
void textbuf_printf(struct textbuf *text, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
