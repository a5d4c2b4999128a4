/*
 * nearest.h - "did you mean ...?": the known name that lies closest to a misspelt one.
 *
 *     struct nearest nearest = {.word = "refrence"};
 *     for (each known name) nearest_offer(&nearest, name);
 *     nearest_text(&nearest, text, sizeof text)   ->  "; did you mean 'reference'?" or ""
 */
#ifndef TEXT_NEAREST_H
#define TEXT_NEAREST_H

#include <stddef.h>

struct nearest {
    const char *word;
    const char *name; /* the closest so far that is close enough to be suggested, or NULL */
    size_t distance;
};

/* Compares one known name, which must outlive *nearest. Any thread. */
void nearest_offer(struct nearest *nearest, const char *name);

/* Writes the question, or the empty string when nothing is near; returns `text`. */
const char *nearest_text(const struct nearest *nearest, char *text, size_t size);

#endif
