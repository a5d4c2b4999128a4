/*
 * linter_wire.h - what goes over the socket between a program and `cuvet lint --serve`: one
 * request, one answer, again and again. Both ends are of one build and one machine.
 */
#ifndef LINTER_LINTER_WIRE_H
#define LINTER_LINTER_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "text/textbuf.h"
#include "value/lint_note.h"

enum {
    LINTER_IMAGE_BYTES = 32 << 20, /* of an image */
    LINTER_SYMBOL_BYTES = 64 << 10,
    LINTER_ANSWER_BYTES = 1 << 20 /* of what follows an answer's head */
};

/* What came of one kernel. */
enum lint_outcome {
    LINT_DONE,
    LINT_NO_PTX,     /* the image has none of this kernel */
    LINT_UNREAD,     /* the PTX could not be analysed */
    LINT_OTHER_BUILD /* the two ends are of different versions: the process ends */
};

/* Then the symbol, terminated, and the image. */
struct lint_request {
    uint32_t magic;
    uint32_t grid[3], block[3], shared; /* of the kernel's first launch */
    uint32_t symbol, image;             /* bytes of each */
};

/* Then the notes. */
struct lint_answer {
    uint32_t magic;
    uint32_t outcome; /* enum lint_outcome */
    uint32_t notes, bytes;
};

void lint_wire_request(struct lint_request *head, size_t symbol, size_t image);
void lint_wire_answer(struct lint_answer *head, enum lint_outcome outcome, uint32_t notes,
                      size_t bytes);

/* False: that is no head, or its sizes exceed the bounds above. */
bool lint_wire_is_request(const struct lint_request *head);
bool lint_wire_is_answer(const struct lint_answer *head);

/* Appends a note, without its kernel. */
void lint_wire_put(struct textbuf *out, const struct lint_note *note);
/* Takes the note at *at, which then points behind it; its texts lie in the bytes. False: the bytes
 * up to `end` hold none. */
bool lint_wire_take(const char **at, const char *end, struct lint_note *out);

#endif
