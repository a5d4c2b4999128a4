/*
 * image.h - what a user passes as device code, cut into the pieces that a device loads: PTX, a
 * cubin, or fatbins, which also lie in the sections .nv_fatbin and __nv_relfatbin of programs and
 * shared objects. All of the bytes are validated.
 */
#ifndef TOOLS_WORKER_IMAGE_H
#define TOOLS_WORKER_IMAGE_H

#include <stddef.h>
#include <stdint.h>
#include "base/error.h"

enum image_kind { IMAGE_PTX, IMAGE_CUBIN, IMAGE_FATBIN };

struct image_piece {
    enum image_kind kind;
    const uint8_t *bytes; /* of the image, not copied */
    size_t count;
};

/* Writes the pieces to *out, for free(), and returns how many; 0 and err where there is none. */
size_t image_split(const void *image, size_t bytes, struct image_piece **out, struct error *err);

/* The PTX text of a piece: its own, what a cubin carries (`nvcc -lineinfo`, Triton), or of a fatbin
 * the newest PTX, or else what its newest machine code carries. */
struct image_text {
    char *text; /* terminated; NULL: there is none */
    size_t length;
    uint8_t *code; /* the machine code of the fatbin that carries it, or NULL */
    size_t code_bytes;
};

/* To be released. `err` gets the reason where there is no text; NULL is fine. */
void image_text_read(struct image_text *out, const struct image_piece *piece, struct error *err);
void image_text_release(struct image_text *text);

#endif
